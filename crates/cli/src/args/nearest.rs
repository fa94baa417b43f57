//! Messages about names that do not exist, with the name that the user may have meant.

use zten_report::glob::literal;

use crate::escape;

/// The largest number of existing names that are compared with a missing name to suggest a similar one.
const NAMES: usize = 1 << 16;
/// The largest length in bytes of a name that is compared: the missing name, and each existing name.
const LONG: usize = 128;

/// Returns the sentence that no tensor matches `pattern`, with the most similar of `names` if one is similar.
pub(crate) fn no_match<'n>(pattern: &str, names: impl Iterator<Item = &'n str>) -> String {
    let bare = pattern.replace(['*', '?', '\\'], "");
    let near = nearest(&bare, names, 0.6);
    // The suggestion is a pattern, too: in a name such as `w[0]`, the bracket needs a backslash.
    let near = near.map(|near| format!("; did you mean \"{}\"?", literal(near)));
    let (pattern, near) = (escape::quoted(pattern), near.unwrap_or_default());
    format!("no tensor matches the pattern {pattern}{near}")
}

/// Returns the sentence that there is no attribute `key`, with the most similar of `keys` if one is similar.
pub(crate) fn no_attribute<'n>(key: &str, keys: impl Iterator<Item = &'n str>) -> String {
    let near = nearest(key, keys, 0.8);
    let near = near.map(|near| format!("; did you mean {}?", escape::quoted(near)));
    format!("no attribute named {}{}", escape::quoted(key), near.unwrap_or_default())
}

/// Returns the one of `names` that is most similar to `wanted`, or `None` if no name has a similarity (0 to 1) above `least`, or if
/// `wanted` has more than [`LONG`] bytes. Names of more than [`LONG`] bytes, and names after the first [`NAMES`], are not compared.
pub(crate) fn nearest<'n>(
    wanted: &str,
    names: impl Iterator<Item = &'n str>,
    least: f64,
) -> Option<&'n str> {
    if wanted.len() > LONG {
        return None;
    }
    let short = names.take(NAMES).filter(|name| name.len() <= LONG);
    let likeness = short.map(|name| (strsim::jaro_winkler(wanted, name), name));
    let near = likeness.filter(|(likeness, _)| *likeness > least);
    near.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, name)| name)
}
