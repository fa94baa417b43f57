//! Decoding of attributes that a safetensors writer stored as JSON text.
//!
//! The values of safetensors metadata are texts. The writers of this project store other attributes as JSON text and list
//! their keys in the entry `zten.json-keys`. Only listed values are decoded, so that a text that looks like JSON stays a
//! text. The entry itself does not become an attribute. If the list is not a JSON array of texts, all metadata is kept
//! unchanged. A listed value that is not JSON is kept as a text, since any text is valid there.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use serde::de::IgnoredAny;

use crate::cbor::Encoder;

use super::cbor::{Map, int};
use super::error::FormatError;

/// The metadata key whose value lists the keys of JSON texts. The list is a JSON array of texts.
pub(crate) const JSON_KEYS: &str = "zten.json-keys";

/// Decodes the values of `metadata` whose keys are listed under [`JSON_KEYS`], and removes this list. `depth` is the largest
/// number of nesting levels of a whole manifest, including the two levels around each attribute.
pub(crate) fn decode(metadata: &mut Map, depth: u8) -> Result<(), FormatError> {
    let Some(list) = metadata.text(JSON_KEYS) else { return Ok(()) };
    let Some(keys) = keys(list, metadata.len()) else { return Ok(()) };
    let depth = usize::from(depth).saturating_sub(OUTSIDE);
    // Keys without escapes borrow from `metadata`, so the decoded map is built beside it.
    let rewritten = metadata.rewritten(|key, value, out| {
        if key == JSON_KEYS {
            return Some(false);
        }
        if keys.binary_search_by(|listed| listed.as_ref().cmp(key)).is_err() {
            return None;
        }
        transcode(value, depth, out).map(|()| true)
    })?;
    *metadata = rewritten;
    Ok(())
}

/// Appends the JSON `text`, the value of an attribute, to `out`. A value that CBOR attributes cannot hold is appended as a
/// text in JSON: a value that nests too deeply, a number that is not finite as a double, a text with half of a surrogate
/// pair. `depth` is the largest number of nesting levels of a whole manifest, as in [`decode`].
pub(crate) fn put(text: &str, depth: u8, out: &mut Encoder) -> Result<(), FormatError> {
    let mut value = Encoder::default();
    let depth = usize::from(depth).saturating_sub(OUTSIDE);
    match transcode(text, depth, &mut value) {
        Some(()) => Ok(out.raw(value.as_bytes())?),
        None => Ok(out.text(text)?),
    }
}

/// The number of nesting levels of a manifest around the value of an attribute.
const OUTSIDE: usize = 2;

/// Parses `list` as a JSON array of texts, and returns the texts sorted. Returns `None` if `list` is another value, or has
/// more than `entries` items: keys beyond the number of metadata entries have no use, and could exhaust memory.
fn keys(list: &str, entries: usize) -> Option<Vec<Cow<'_, str>>> {
    serde_json::from_str::<IgnoredAny>(list).ok()?;
    let mut tokens = Tokens(list);
    let Some(Token::Open(b'[')) = tokens.next() else { return None };
    let mut keys = Vec::new();
    for token in tokens {
        match token {
            Token::Text(text) if keys.len() < entries => {
                keys.try_reserve(1).ok()?;
                keys.push(unquoted(text)?);
            }
            Token::Close => break,
            _ => return None,
        }
    }
    keys.sort_unstable();
    Some(keys)
}

/// Decodes `string`, a JSON string with its quotes. The text is borrowed if the string has no escapes. Returns `None` if an
/// escape is invalid.
fn unquoted(string: &str) -> Option<Cow<'_, str>> {
    match string.get(1..string.len().saturating_sub(1)) {
        Some(text) if !text.contains('\\') => Some(Cow::Borrowed(text)),
        _ => serde_json::from_str::<String>(string).ok().map(Cow::Owned),
    }
}

/// A token of a valid JSON text.
enum Token<'t> {
    /// The opening bracket or brace of an array or object.
    Open(u8),
    /// A closing bracket or brace.
    Close,
    /// A string, with its quotes.
    Text(&'t str),
    /// A number, `true`, `false` or `null`.
    Other(&'t str),
}

/// An iterator over the tokens of a valid JSON text, without commas and colons.
struct Tokens<'t>(&'t str);

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        let rest = self.0.trim_start_matches([' ', '\t', '\n', '\r', ',', ':']);
        let first = *rest.as_bytes().first()?;
        let length = match first {
            b'"' => {
                let mut escaped = false;
                let end = rest.bytes().skip(1).position(|byte| {
                    let ends = byte == b'"' && !escaped;
                    escaped = byte == b'\\' && !escaped;
                    ends
                });
                end?.checked_add(2)?
            }
            b'[' | b'{' | b']' | b'}' => 1,
            _ => rest.find([' ', '\t', '\n', '\r', ',', ']', '}']).unwrap_or(rest.len()),
        };
        let (token, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(match first {
            b'[' | b'{' => Token::Open(first),
            b']' | b'}' => Token::Close,
            b'"' => Token::Text(token),
            _ => Token::Other(token),
        })
    }
}

/// Converts the JSON `text` to CBOR and appends the result to `out`. Returns `None` if `text` is not JSON, has more than
/// `depth` nesting levels, has a number that is not finite as a double or half of a surrogate pair, or if memory is out.
fn transcode(text: &str, depth: usize, out: &mut Encoder) -> Option<()> {
    // `IgnoredAny` validates the text without recursion, so that deep nesting cannot overflow the stack.
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    // A CBOR container begins with the number of its items. A first pass over the tokens counts the items of each container,
    // in the order in which the containers open.
    let (mut counts, mut open) = (Vec::<u32>::new(), Vec::<usize>::new());
    for token in Tokens(text) {
        if matches!(token, Token::Close) {
            open.pop()?;
            continue;
        }
        if let Some(count) = open.last().and_then(|at| counts.get_mut(*at)) {
            *count = count.checked_add(1)?;
        }
        if matches!(token, Token::Open(_)) {
            open.push(counts.len());
            if open.len() > depth {
                return None;
            }
            counts.try_reserve(1).ok()?;
            counts.push(0);
        }
    }
    let mut counts = counts.into_iter();
    for token in Tokens(text) {
        match token {
            Token::Close => {}
            Token::Open(b'{') => out.map((counts.next()? / 2).into()).ok()?,
            Token::Open(_) => out.array(counts.next()?.into()).ok()?,
            Token::Text(text) => {
                out.text(&unquoted(text)?).ok()?;
            }
            Token::Other("true") => out.bool(true).ok()?,
            Token::Other("false") => out.bool(false).ok()?,
            Token::Other("null") => out.null().ok()?,
            Token::Other(number) => self::number(number, out)?,
        }
    }
    Some(())
}

/// Appends the JSON number `text` to `out`: as an integer if it is written without a fraction or exponent and fits into 64
/// bits, and as a float otherwise. Returns `None` if the number is not finite as a double, or if
/// memory is out.
fn number(text: &str, out: &mut Encoder) -> Option<()> {
    if let Ok(number) = text.parse::<u64>() {
        return out.uint(number).ok();
    }
    // "-0" becomes a float, since no integer is a negative zero.
    if let Some(number) = text.parse::<i64>().ok().filter(|number| *number != 0) {
        return int(out, number).ok();
    }
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite())?;
    out.float(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, &str)]) -> Map {
        let mut map = Map::default();
        for (key, text) in entries {
            map.put(key, |out| Ok(out.text(text)?)).unwrap();
        }
        map.check_unique(FormatError::internal).unwrap();
        map
    }

    fn decoded(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut map = map(entries);
        decode(&mut map, 6).unwrap();
        map.finish(FormatError::internal).unwrap()
    }

    fn cbor(text: &str) -> Option<Vec<u8>> {
        let mut out = Encoder::default();
        transcode(text, 4, &mut out).map(|()| out.into_bytes())
    }

    #[test]
    fn json_values_become_the_cbor_values_that_were_written() {
        for (text, wanted) in [
            ("0", &b"\x00"[..]),
            ("-1", b"\x20"),
            ("18446744073709551615", b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff"),
            ("-9223372036854775808", b"\x3b\x7f\xff\xff\xff\xff\xff\xff\xff"),
            ("1.5", b"\xf9\x3e\x00"),
            ("-0", b"\xf9\x80\x00"),
            (" [ ] ", b"\x80"),
            (r#"{"a":[1,{}],"":null}"#, b"\xa2\x61a\x82\x01\xa0\x60\xf6"),
            (r#"["\"],[\\","\u00e4",true,false]"#, b"\x84\x65\"],[\\\x62\xc3\xa4\xf5\xf4"),
            ("[[[[1]]]]", b"\x81\x81\x81\x81\x01"),
        ] {
            assert_eq!(cbor(text).as_deref(), Some(wanted), "{text}");
        }
        for text in ["", "x", "[1", "[1 2]", "1,2", "1e999", "[[[[[]]]]]", "\"", "nan", "{\"a\"}"] {
            assert_eq!(cbor(text), None, "{text}");
        }
    }

    #[test]
    fn only_values_of_listed_keys_are_decoded() {
        let entries = [("n", "3"), ("t", "4"), ("bad", "{")];
        let list = (JSON_KEYS, r#"["n","bad","none"]"#);
        let with = decoded(&[&entries[..], &[list]].concat());
        let all = map(&[("t", "4")]);
        assert_eq!(all.text("t"), Some("4"));
        assert_eq!(with, b"\xa3\x61n\x03\x61t\x614\x63bad\x61{");
        for list in ["", "3", "[3]", "{}", r#"["n""#] {
            let all = [&entries[..], &[(JSON_KEYS, list)]].concat();
            assert_eq!(decoded(&all), map(&all).finish(FormatError::internal).unwrap(), "{list}");
        }
    }

    #[test]
    fn a_million_nested_arrays_are_rejected_without_recursion() {
        let deep = ["[".repeat(1 << 20), "]".repeat(1 << 20)].concat();
        assert_eq!(cbor(&deep), None);
    }
}
