//! The objects that are written, and their names.

use std::borrow::Cow;

use regex_lite::{Regex, RegexBuilder};
use zten::num::u64_from_usize;
use zten_report::glob::Glob;

use crate::args::Select;
use crate::escape;
use crate::file::TensorFile;

const NO_MEMORY: &str = "out of memory";
/// Memory that a regular expression may take.
const MOST: usize = 1 << 20;

/// A change of names.
#[derive(Clone, Debug)]
pub(crate) enum Rename {
    /// One name becomes another.
    Exact(String, String),
    /// The part that a regular expression matches is replaced: once, or `all` of them.
    Pattern { regex: Regex, replacement: String, all: bool },
}

impl Rename {
    /// Checks the form of one: `OLD=NEW` or `s/PATTERN/REPLACEMENT/`.
    pub(crate) fn check(text: &str) -> Result<String, String> {
        Self::parse(text).map(|_| text.to_owned())
    }

    fn parse(text: &str) -> Result<Self, String> {
        if let Some((pattern, replacement, all)) = text.strip_prefix("s/").and_then(split) {
            let regex = RegexBuilder::new(&pattern).size_limit(MOST).build();
            let regex = regex.map_err(|error| format!("invalid regular expression: {error}"))?;
            return Ok(Self::Pattern { regex, replacement: template(&replacement), all });
        }
        match text.split_once('=') {
            Some((old, new)) => Ok(Self::Exact(old.to_owned(), new.to_owned())),
            None => Err("expected OLD=NEW or s/PATTERN/REPLACEMENT/".to_owned()),
        }
    }

    /// The new name; none if it does not change that one.
    fn apply(&self, name: &str) -> Option<String> {
        match self {
            Self::Exact(old, new) => (name == old).then(|| new.clone()),
            Self::Pattern { regex, replacement, all } => {
                let most = usize::from(!*all);
                let is_match = regex.is_match(name);
                is_match.then(|| regex.replacen(name, most, replacement.as_str()).into_owned())
            }
        }
    }
}

/// Splits what follows `s/` at its slashes that have no backslash: pattern, replacement, and whether a `g` ends it.
fn split(text: &str) -> Option<(String, String, bool)> {
    let (mut parts, mut part, mut chars) = (Vec::new(), String::new(), text.chars());
    while let Some(own) = chars.next() {
        match own {
            '/' => parts.push(std::mem::take(&mut part)),
            '\\' => match chars.next() {
                Some('/') => part.push('/'),
                next => part.extend(['\\'].into_iter().chain(next)),
            },
            own => part.push(own),
        }
    }
    match (<[String; 2]>::try_from(parts), part.as_str()) {
        (Ok([pattern, replacement]), flag @ ("" | "g")) => {
            Some((pattern, replacement, !flag.is_empty()))
        }
        _ => None,
    }
}

/// The replacement of `sed` as that of the regular expressions: `&` is all that matched, `\1` the first group.
fn template(replacement: &str) -> String {
    let (mut out, mut chars) = (String::new(), replacement.chars());
    while let Some(own) = chars.next() {
        match own {
            '&' => out.push_str("${0}"),
            '$' => out.push_str("$$"),
            '\\' => match chars.next() {
                Some(group @ '0'..='9') => out.extend(["${", group.to_string().as_str(), "}"]),
                next => out.push(next.unwrap_or('\\')),
            },
            own => out.push(own),
        }
    }
    out
}

/// An object that is written.
struct Pick {
    ordinal: u32,
    /// The new name, if there is one.
    name: Option<Box<str>>,
}

/// The objects that are written, in the order of the file; none where those are all, by their own names.
pub(crate) struct Selection(Option<Vec<Pick>>);

impl Selection {
    /// Selects objects of a file, or says what is in the way.
    pub(crate) fn new(select: &Select, archive: &TensorFile) -> Result<Self, String> {
        let Select { only, except, rename } = select;
        if only.is_empty() && except.is_empty() && rename.is_empty() {
            return Ok(Self(None));
        }
        let globs = |patterns: &[String]| -> Vec<_> {
            patterns.iter().map(|pattern| Glob::new(pattern)).collect()
        };
        let (only_globs, except) = (globs(only), globs(except));
        let rename: Vec<_> =
            rename.iter().map(|text| Rename::parse(text)).collect::<Result<_, _>>()?;
        let (mut used, mut renamed) = (vec![false; only.len()], vec![false; rename.len()]);
        let (mut picks, mut bytes) = (Vec::new(), 0_u64);
        let most = archive.manifest().limits().manifest();
        for object in archive.tensors() {
            let mut wanted = only.is_empty();
            for (only, used) in only_globs.iter().zip(&mut used) {
                let matches = only.matches(object.name());
                (wanted, *used) = (wanted | matches, *used | matches);
            }
            if !wanted || except.iter().any(|except| except.matches(object.name())) {
                continue;
            }
            let mut name = Cow::Borrowed(object.name());
            for (rename, renamed) in rename.iter().zip(&mut renamed) {
                if let Some(new) = rename.apply(&name) {
                    (name, *renamed) = (Cow::Owned(new), true);
                }
            }
            let name = match name {
                Cow::Owned(name) => Some(name.into_boxed_str()),
                Cow::Borrowed(_) => None,
            };
            bytes = bytes.saturating_add(u64_from_usize(name.as_deref().map_or(0, str::len)));
            if bytes > most {
                return Err(format!("the new names exceed the maximum of {most} bytes"));
            }
            picks.try_reserve(1).map_err(|_| NO_MEMORY.to_owned())?;
            picks.push(Pick { ordinal: object.ordinal(), name });
        }
        if let Some((unused, _)) = only.iter().zip(&used).find(|(_, used)| !**used) {
            let pattern = escape::quoted(unused);
            return Err(format!("no object matches {pattern}, which --only names"));
        }
        for (rename, _) in rename.iter().zip(&renamed).filter(|(_, renamed)| !**renamed) {
            if let Rename::Exact(old, _) = rename {
                archive.tensor(old).map_err(|error| error.to_string())?;
                let old = escape::quoted(old);
                return Err(format!("the object {old}, which --rename names, is not selected"));
            }
        }
        let selection = Self(Some(picks));
        if renamed.contains(&true) {
            selection.check_unique(archive)?;
        }
        Ok(selection)
    }

    /// Checks that no two objects get one name.
    fn check_unique(&self, archive: &TensorFile) -> Result<(), String> {
        let old = |ordinal| archive.manifest().tensor_at(ordinal).map_or("", |own| own.name());
        let (mut names, picks) = (Vec::new(), self.0.as_deref().unwrap_or_default());
        names.try_reserve_exact(picks.len()).map_err(|_| NO_MEMORY.to_owned())?;
        names.extend(picks.iter().map(|Pick { ordinal, name }| {
            (name.as_deref().unwrap_or_else(|| old(*ordinal)), *ordinal)
        }));
        names.sort_unstable();
        let twice = names.windows(2).find(|two| matches!(two, [(a, _), (b, _)] if a == b));
        if let Some([(name, one), (_, other)]) = twice {
            let [name, one, other] = [*name, old(*one), old(*other)].map(escape::quoted);
            return Err(format!("two objects would be named {name}: {one} and {other}"));
        }
        Ok(())
    }

    /// The number of objects that are written of a file.
    pub(crate) fn len(&self, archive: &TensorFile) -> usize {
        self.0.as_ref().map_or(archive.len(), Vec::len)
    }

    /// The place in the file of an object that is written.
    pub(crate) fn ordinal(&self, at: usize) -> u32 {
        match &self.0 {
            Some(picks) => picks.get(at).map_or(u32::MAX, |pick| pick.ordinal),
            None => u32::try_from(at).unwrap_or(u32::MAX),
        }
    }

    /// Returns whether the object at that place in the file is written.
    pub(crate) fn holds(&self, ordinal: u32) -> bool {
        self.0.is_none() || self.pick(ordinal).is_some()
    }

    /// The other name of the object at that place in the file, if it has one.
    pub(crate) fn new_name(&self, ordinal: u32) -> Option<&str> {
        self.pick(ordinal)?.name.as_deref()
    }

    fn pick(&self, ordinal: u32) -> Option<&Pick> {
        let picks = self.0.as_ref()?;
        picks.get(picks.binary_search_by_key(&ordinal, |pick| pick.ordinal).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(rename: &str, name: &str) -> Option<String> {
        Rename::parse(rename).unwrap().apply(name)
    }

    #[test]
    fn names_are_changed_as_sed_does() {
        for (rename, name, new) in [
            ("a=b", "a", Some("b")),
            ("a=b", "aa", None),
            ("a=b=c", "a", Some("b=c")),
            ("s/a=b", "s/a", Some("b")),
            (r"s/^model\.//", "model.layers.model.", Some("layers.model.")),
            (r"s/^model\.//", "models.x", None),
            ("s/a/b/", "aaa", Some("baa")),
            ("s/a/b/g", "aXa", Some("bXb")),
            (r"s/(\d+)\.(w)/\2.\1/", "l.12.w", Some("l.w.12")),
            ("s/b/[&]/", "abc", Some("a[b]c")),
            (r"s/b/\&$1/", "abc", Some("a&$1c")),
            (r"s/\//./g", "a/b/c", Some("a.b.c")),
            (r"s/\./\//", "a.b", Some("a/b")),
            ("s/x/x/", "x", Some("x")),
            ("s/$/.weight/", "a", Some("a.weight")),
        ] {
            assert_eq!(renamed(rename, name).as_deref(), new, "{rename} {name}");
        }
        for wrong in ["a", "s/a", "s/a/b", "s/a/b/c", "s/(/x/", "s/a/b/gg"] {
            Rename::parse(wrong).unwrap_err();
        }
        let large = format!("s/{}/x/", "(a{1000}){1000}");
        assert!(Rename::parse(&large).unwrap_err().starts_with("invalid regular expression: "));
    }
}
