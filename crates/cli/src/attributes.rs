//! Attributes of a file, changed.

use zten::attributes::{Attributes, Encoder};
use zten::num::u64_from_usize;
use zten::write::Encoded;

use crate::escape;

/// An attribute, and its new value: `KEY=JSON`.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    key: String,
    value: Encoded,
}

impl Set {
    /// Checks the form of one.
    pub(crate) fn check(text: &str) -> Result<String, String> {
        Self::parse(text).map(|_| text.to_owned())
    }

    fn parse(text: &str) -> Result<Self, String> {
        let (key, json) = text.split_once('=').ok_or("expected KEY=JSON")?;
        let value: serde_json::Value = serde_json::from_str(json).map_err(|error| {
            format!("invalid JSON: {error}; text is put between quotes, as in '{key}=\"text\"'")
        })?;
        let value = Encoded::from_value(&value).map_err(|error| error.to_string())?;
        Ok(Self { key: key.to_owned(), value })
    }
}

/// Returns attributes with those changes: what is set stays where it was, or comes last. Of two values for one key, the
/// later counts.
pub(crate) fn changed(
    old: &Attributes<'_>,
    set: &[String],
    unset: &[String],
) -> Result<Encoded, String> {
    let set: Vec<_> = set.iter().map(|text| Set::parse(text)).collect::<Result<_, _>>()?;
    let has = |key: &str| old.clone().any(|(own, _)| own == key);
    if let Some(missing) = unset.iter().find(|key| !has(key)) {
        return Err(format!("no attribute named {}", escape::quoted(missing)));
    }
    let value = |key: &str| set.iter().rfind(|set| set.key == key).map(|set| set.value.as_bytes());
    let kept = old.clone().filter(|(key, _)| !unset.iter().any(|unset| unset == key));
    let kept = kept.map(|(key, item)| (key, value(key).unwrap_or(item.as_bytes())));
    let is_new = |(at, own): &(usize, &Set)| {
        let again = set.iter().take(*at).any(|before| before.key == own.key);
        !again && (!has(&own.key) || unset.contains(&own.key))
    };
    let new = set.iter().enumerate().filter(is_new);
    let new = new.filter_map(|(_, own)| Some((own.key.as_str(), value(&own.key)?)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_stays_where_it_was_or_comes_last() {
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
        assert!(Set::parse("a=word").unwrap_err().starts_with("invalid JSON: expected value"));
        assert_eq!(Set::parse("a").unwrap_err(), "expected KEY=JSON");
    }
}
