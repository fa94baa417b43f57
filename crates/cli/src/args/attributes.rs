//! Changes of the attributes of a file, as `--set`, `--unset` and `--tied keep-first` make them.

use std::collections::{HashMap, HashSet};

use zten::attributes::{Attributes, Encoder};
use zten::num::u64_from_usize;
use zten::write::Encoded;

use crate::args::nearest::no_attribute;
use crate::escape;

/// An attribute and its new value: `KEY=VALUE` of the command line. A value that is no JSON is text.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    key: String,
    value: Encoded,
}

impl Set {
    /// Checks that `text`, a value of `--set`, is `KEY=VALUE` with a value that can be encoded, and returns `text` unchanged.
    pub(crate) fn check(text: &str) -> Result<String, String> {
        Self::parse(text).map(|_| text.to_owned())
    }

    fn parse(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
        // Chat templates begin with a brace, so a value that only begins as JSON does is text, too.
        let value = serde_json::from_str(value)
            .unwrap_or_else(|_| serde_json::Value::String(value.to_owned()));
        let value = Encoded::from_value(&value).map_err(|error| error.to_string())?;
        Ok(Self { key: key.to_owned(), value })
    }
}

/// Returns the attributes `old` with the values of `set` (each `KEY=VALUE`) and without the keys of `unset`. A key that is set
/// keeps its position if it exists, and is appended otherwise. If a key is set twice, the later value counts. A key that is
/// unset and set is appended.
///
/// # Errors
/// A text of `set` is not `KEY=VALUE`, a key of `unset` does not exist, a value cannot be encoded, or memory runs out.
pub(crate) fn changed(
    old: &Attributes<'_>,
    set: &[String],
    unset: &[String],
) -> Result<Encoded, String> {
    let set: Vec<_> = set.iter().map(|text| Set::parse(text)).collect::<Result<_, _>>()?;
    // Look-ups are hashed: both a command line and a file may have tens of thousands of keys.
    let values: HashMap<&str, &[u8]> =
        set.iter().map(|set| (set.key.as_str(), set.value.as_bytes())).collect();
    let removed: HashSet<&str> = unset.iter().map(String::as_str).collect();
    // Only keys that the command line names are held in memory: a file may have millions of other keys.
    let named = |key: &str| values.contains_key(key) || removed.contains(key);
    let present: HashSet<&str> = old.clone().map(|(key, _)| key).filter(|key| named(key)).collect();
    if let Some(missing) = unset.iter().find(|key| !present.contains(key.as_str())) {
        return Err(no_attribute(missing, old.clone().map(|(key, _)| key)));
    }
    let kept = old.clone().filter(|(key, _)| !removed.contains(key));
    let kept = kept.map(|(key, item)| (key, values.get(key).copied().unwrap_or(item.as_bytes())));
    let mut added = HashSet::new();
    let new: Vec<_> = set
        .iter()
        .map(|own| own.key.as_str())
        .filter(|key| !present.contains(key) || removed.contains(key))
        .filter(|key| added.insert(*key))
        .filter_map(|key| Some((key, *values.get(key)?)))
        .collect();
    let (entries, mut out) = (kept.chain(new), Encoder::default());
    let encoded = out.map(u64_from_usize(entries.clone().count())).and_then(|()| {
        for (key, value) in entries {
            out.text(key)?;
            out.raw(value)?;
        }
        Ok(())
    });
    encoded.map_err(|_| "out of memory".to_owned())?;
    Ok(Encoded::from_cbor(out.into_bytes()))
}

/// Returns the attributes `old` followed by `texts`, pairs of a key and a text. The keys of `texts` differ from each other.
///
/// # Errors
/// A key of `texts` exists in `old`, or memory runs out.
pub(crate) fn with_texts<'t>(
    old: &Attributes<'_>,
    texts: impl Iterator<Item = (&'t str, &'t str)> + Clone,
) -> Result<Encoded, String> {
    let mut keys = HashSet::new();
    let count = old.clone().count();
    keys.try_reserve(count).map_err(|_| "out of memory".to_owned())?;
    keys.extend(old.clone().map(|(key, _)| key));
    if let Some((twice, _)) = texts.clone().find(|(key, _)| keys.contains(key)) {
        let key = escape::quoted(twice);
        return Err(format!(
            "--tied keep-first would write an attribute {key} for the tensor of this name, but the file already has an attribute {key}"
        ));
    }
    let count = count.saturating_add(texts.clone().count());
    let mut out = Encoder::default();
    let encoded = out.map(u64_from_usize(count)).and_then(|()| {
        for (key, item) in old.clone() {
            out.text(key)?;
            out.raw(item.as_bytes())?;
        }
        for (key, text) in texts {
            out.text(key)?;
            out.text(text)?;
        }
        Ok(())
    });
    encoded.map_err(|_| "out of memory".to_owned())?;
    Ok(Encoded::from_cbor(out.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_keys_keep_their_position_or_come_last() {
        let set =
            |texts: &[&str]| -> Vec<_> { texts.iter().map(|&text| text.to_owned()).collect() };
        let old = changed(&Attributes::default(), &set(&["a=1", "b=[true,null]", "a=1.5"]), &[]);
        let old = old.unwrap();
        assert_eq!(old.as_bytes(), b"\xa2\x61a\xf9\x3e\x00\x61b\x82\xf5\xf6");
        let new = |set_: &[&str], unset: &[&str]| {
            let unset: Vec<_> = unset.iter().map(|key| (*key).to_owned()).collect();
            changed(&old.entries(), &set(set_), &unset).map(|new| new.as_bytes().to_vec())
        };
        assert_eq!(new(&[], &["a", "b"]).unwrap(), b"\xa0");
        let text = r#"b={"x":"=y"}"#;
        assert_eq!(new(&[text, "c=-1"], &["a"]).unwrap(), b"\xa2\x61b\xa1\x61x\x62=y\x61c\x20");
        assert_eq!(new(&["a=2"], &["a"]).unwrap(), b"\xa2\x61b\x82\xf5\xf6\x61a\x02");
        assert_eq!(new(&[], &["x"]).unwrap_err(), "no attribute named \"x\"");
        assert_eq!(new(&["a=me too", "b="], &[]).unwrap(), b"\xa2\x61a\x66me too\x61b\x60");
        assert_eq!(new(&["a={% x"], &["b"]).unwrap(), b"\xa1\x61a\x64{% x");
        assert_eq!(Set::parse("a").unwrap_err(), "expected KEY=VALUE");
    }
}
