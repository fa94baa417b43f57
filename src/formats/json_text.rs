//! Decoding of attributes that a safetensors writer stored as JSON text.
//!
//! The values of safetensors metadata are texts. The writers of this project store other attributes as JSON text and list
//! their keys in the entry `zten.json-keys`. Only listed values are decoded, so that a text that looks like JSON stays a
//! text. The entry itself does not become an attribute. If the list is not a JSON array of texts, all metadata is kept
//! unchanged. A listed value that is not JSON is kept as a text, since any text is valid there. A listed value that is JSON and
//! has a map with a duplicate key is an error: readers differ on which of the two values they use.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

use serde::de::IgnoredAny;

use crate::cbor::Encoder;
use crate::num::{sort_by, usize_from_u32};

use super::cbor::{Map, int};
use super::error::FormatError;

/// The metadata key whose value lists the keys of JSON texts. The list is a JSON array of texts.
pub(crate) const JSON_KEYS: &str = "zten.json-keys";

/// Decodes the values of `metadata` whose keys are listed under [`JSON_KEYS`]. `depth` is the limit of nesting for the whole
/// manifest, the two levels around each attribute included.
///
/// # Errors
/// The error that `twice` makes of the key of the metadata and a duplicate key in its value; out of memory.
pub(crate) fn decode(
    metadata: &mut Map,
    depth: u8,
    twice: impl Fn(&str, &str) -> FormatError,
) -> Result<(), FormatError> {
    check_listed(metadata, twice)?;
    let Some(list) = metadata.text(JSON_KEYS) else { return Ok(()) };
    let Some(keys) = keys(list, metadata.len())? else { return Ok(()) };
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

/// Checks that no map has a duplicate key in those values of `metadata` whose keys are listed under [`JSON_KEYS`]. Values that are
/// not JSON pass.
///
/// # Errors
/// The error that `twice` makes of the key of the metadata and the duplicate key in its value; out of memory.
pub(crate) fn check_listed(
    metadata: &Map,
    twice: impl Fn(&str, &str) -> FormatError,
) -> Result<(), FormatError> {
    let Some(list) = metadata.text(JSON_KEYS) else { return Ok(()) };
    let Some(keys) = keys(list, metadata.len())? else { return Ok(()) };
    for (key, value) in metadata.texts() {
        let is_listed = keys.binary_search_by(|listed| listed.as_ref().cmp(key)).is_ok();
        if is_listed && key != JSON_KEYS && is_json(value)? {
            check_unique(value, |duplicate| twice(key, duplicate))?;
        }
    }
    Ok(())
}

/// Checks that the keys of each map in `text`, a valid JSON text, are unique. Escapes in keys are resolved before keys are
/// compared.
///
/// # Errors
/// The error that `twice` makes of a duplicate key; out of memory.
pub(crate) fn check_unique(
    text: &str,
    twice: impl FnOnce(&str) -> FormatError,
) -> Result<(), FormatError> {
    // The positions in `text` of the keys of all open maps, in quotes, with one `MAP` before the keys of each map. The keys of
    // a map are sorted and removed where the map ends. A deeply nested text therefore takes no stack, and a long one no
    // quadratic time.
    let mut keys: Vec<(u32, u32)> = Vec::new();
    let key_at = |(start, end): (u32, u32)| {
        text.get(usize_from_u32(start).saturating_add(1)..usize_from_u32(end).saturating_sub(1))
            .unwrap_or_default()
    };
    let position = |left: &str| {
        u32::try_from(text.len().saturating_sub(left.len())).map_err(|_| FormatError::memory())
    };
    let mut tokens = Tokens(text);
    while let Some(token) = tokens.next() {
        let pushed = match token {
            Token::Open(b'{') => MAP,
            Token::Text(token) if tokens.is_at_colon() => {
                let end = position(tokens.0)?;
                (end.saturating_sub(u32::try_from(token.len()).unwrap_or(u32::MAX)), end)
            }
            Token::Close(b'}') => {
                let start = keys.iter().rposition(|key| *key == MAP).unwrap_or_default();
                let of_map = keys.get_mut(start.saturating_add(1)..).unwrap_or_default();
                sort_by(of_map, |a, b| compare(key_at(*a), key_at(*b)));
                let mut pairs = of_map.iter().zip(of_map.iter().skip(1));
                if let Some((key, _)) =
                    pairs.find(|(a, b)| compare(key_at(**a), key_at(**b)).is_eq())
                {
                    let key = key_at(*key);
                    return Err(twice(&unescaped(key)?.unwrap_or(Cow::Borrowed(key))));
                }
                keys.truncate(start);
                continue;
            }
            _ => continue,
        };
        keys.try_reserve(1).map_err(|_| FormatError::memory())?;
        keys.push(pushed);
    }
    Ok(())
}

/// Begins the keys of a map in the list of [`check_unique`]. No key has these positions, because a key takes two bytes or more.
const MAP: (u32, u32) = (0, 0);

/// Compares two JSON strings, given without their quotes, by their code points after escapes are resolved.
///
/// The comparison ends at the first difference. If it first searched both strings for escapes, sorting many short keys and
/// one long key could read the long one for each short one, which is quadratic.
fn compare(one: &str, other: &str) -> Ordering {
    CodePoints(one).cmp(CodePoints(other))
}

/// An iterator over the code points of a valid JSON string, given without its quotes. An escaped half of a surrogate pair
/// without the other half is a code point of its own, although no Rust string can hold it.
struct CodePoints<'t>(&'t str);

impl Iterator for CodePoints<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let mut rest = self.0.chars();
        let mut code = u32::from(rest.next()?);
        if code == u32::from('\\') {
            code = match rest.next()? {
                'b' => 0x8,
                'f' => 0xc,
                'n' => 0xa,
                'r' => 0xd,
                't' => 0x9,
                'u' => {
                    let (first, after) = code_unit(rest.as_str())?;
                    rest = after.chars();
                    let second = after.strip_prefix("\\u").and_then(code_unit);
                    match second {
                        Some((second @ 0xdc00..0xe000, after)) if first & 0xfc00 == 0xd800 => {
                            rest = after.chars();
                            // Each half has 10 bits of the code point less 0x10000.
                            0x1_0000_u32.saturating_add((first & 0x3ff) << 10 | (second & 0x3ff))
                        }
                        _ => first,
                    }
                }
                other => other.into(),
            };
        }
        self.0 = rest.as_str();
        Some(code)
    }
}

/// Reads the four hexadecimal digits of a JSON escape at the start of `text`. Returns the UTF-16 code unit that they mean, and
/// the text after them.
fn code_unit(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    Some((u32::from_str_radix(digits, 16).ok()?, rest))
}

/// Appends the JSON `text`, the value of an attribute, to `out`. A value that CBOR attributes cannot hold is kept as JSON text:
/// a value that nests too deeply, a number that is not finite as a double, a text with half of a surrogate pair. So is a value
/// that cannot be converted because memory is out. `depth` is as for [`decode`].
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

/// Parses `list` as a JSON array of texts, and returns the texts sorted. Returns `None` if `list` is another value, if a text
/// has half of a surrogate pair, or if there are more than `entries` items: keys beyond the number of metadata entries have no
/// use, and could exhaust memory.
///
/// # Errors
/// Out of memory.
fn keys(list: &str, entries: usize) -> Result<Option<Vec<Cow<'_, str>>>, FormatError> {
    if !is_json(list)? {
        return Ok(None);
    }
    let mut tokens = Tokens(list);
    let Some(Token::Open(b'[')) = tokens.next() else { return Ok(None) };
    let mut keys = Vec::new();
    for token in tokens {
        match token {
            Token::Text(text) if keys.len() < entries => {
                keys.try_reserve(1).map_err(|_| FormatError::memory())?;
                let Some(key) = unquoted(text)? else { return Ok(None) };
                keys.push(key);
            }
            Token::Close(_) => break,
            _ => return Ok(None),
        }
    }
    keys.sort_unstable();
    Ok(Some(keys))
}

/// Decodes `string`, a valid JSON string with its quotes. The text is borrowed if the string has no escapes. Returns `None` if an
/// escape is half of a surrogate pair.
///
/// # Errors
/// Out of memory.
fn unquoted(string: &str) -> Result<Option<Cow<'_, str>>, FormatError> {
    string.get(1..string.len().saturating_sub(1)).map_or(Ok(None), unescaped)
}

/// Resolves the escapes in `text`, the text between the quotes of a valid JSON string, as [`unquoted`] does.
fn unescaped(text: &str) -> Result<Option<Cow<'_, str>>, FormatError> {
    if !text.contains('\\') {
        return Ok(Some(Cow::Borrowed(text)));
    }
    let mut plain = String::new();
    // No character takes more bytes than its escape, so this is the only allocation.
    plain.try_reserve(text.len()).map_err(|_| FormatError::memory())?;
    for code in CodePoints(text) {
        let Some(code) = char::from_u32(code) else { return Ok(None) };
        plain.push(code);
    }
    Ok(Some(Cow::Owned(plain)))
}

/// What may follow at a position in a JSON text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// A value.
    Value,
    /// The first item of an array, or the end of the array.
    FirstItem,
    /// The first key of a map, or the end of the map.
    FirstKey,
    /// A key of a map.
    Key,
    /// The colon after a key.
    Colon,
    /// A comma or the end of the innermost array or map; outside of all of them, the end of the text.
    End,
}

/// Returns whether `text` is one valid JSON value. Nesting takes one byte of heap for each level and no stack.
///
/// `serde_json` checks only the strings, numbers and words. It would check nested values, too, but its list of open arrays and maps
/// aborts the process if memory runs out.
///
/// # Errors
/// Out of memory.
fn is_json(text: &str) -> Result<bool, FormatError> {
    // The opening brackets of all arrays and maps that are open.
    let mut open = Vec::new();
    let (mut expected, mut rest) = (Expected::Value, text);
    loop {
        rest = rest.trim_start_matches(SPACES);
        let is_complete = open.is_empty() && expected == Expected::End;
        if rest.is_empty() || is_complete {
            return Ok(rest.is_empty() && is_complete);
        }
        let Some((token, after)) = split_token(rest) else { return Ok(false) };
        rest = after;
        let innermost = open.last().copied();
        expected = match (expected, token) {
            (Expected::Value | Expected::FirstItem, "[" | "{") => {
                let is_map = token == "{";
                open.try_reserve(1).map_err(|_| FormatError::memory())?;
                open.push(if is_map { b'{' } else { b'[' });
                if is_map { Expected::FirstKey } else { Expected::FirstItem }
            }
            (Expected::FirstItem | Expected::End, "]") if innermost == Some(b'[') => {
                open.pop();
                Expected::End
            }
            (Expected::FirstKey | Expected::End, "}") if innermost == Some(b'{') => {
                open.pop();
                Expected::End
            }
            (Expected::End, ",") if innermost == Some(b'{') => Expected::Key,
            (Expected::End, ",") | (Expected::Colon, ":") => Expected::Value,
            (Expected::FirstKey | Expected::Key, _)
                if token.starts_with('"') && is_scalar(token) =>
            {
                Expected::Colon
            }
            (Expected::Value | Expected::FirstItem, _) if is_scalar(token) => Expected::End,
            _ => return Ok(false),
        };
    }
}

/// Returns whether `token` is a valid JSON string or number, `true`, `false` or `null`.
fn is_scalar(token: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(token).is_ok()
}

/// The characters that may stand between the tokens of a JSON text.
const SPACES: [char; 4] = [' ', '\t', '\n', '\r'];

/// Splits the JSON text `text`, which begins with a token, after this token. A string keeps its quotes, and each bracket, comma
/// and colon is a token of its own. The token of an invalid text may be invalid. Returns `None` if `text` is empty or a string
/// has no end.
fn split_token(text: &str) -> Option<(&str, &str)> {
    let length = match *text.as_bytes().first()? {
        b'"' => {
            let mut escaped = false;
            let end = text.bytes().skip(1).position(|byte| {
                let ends = byte == b'"' && !escaped;
                escaped = byte == b'\\' && !escaped;
                ends
            });
            end?.checked_add(2)?
        }
        b'[' | b'{' | b']' | b'}' | b',' | b':' => 1,
        _ => text.find([' ', '\t', '\n', '\r', ',', ']', '}']).unwrap_or(text.len()),
    };
    text.split_at_checked(length)
}

/// A token of a valid JSON text.
enum Token<'t> {
    /// The start of a map or an array: `{` or `[`.
    Open(u8),
    /// The end of a map or an array: `}` or `]`.
    Close(u8),
    /// A string in its quotes, with its escapes.
    Text(&'t str),
    /// A number, `true`, `false` or `null`.
    Other(&'t str),
}

/// An iterator over the tokens of a valid JSON text, without commas and colons. The field is the text after the last token.
struct Tokens<'t>(&'t str);

impl Tokens<'_> {
    /// Returns whether a colon follows the last token, which is then the key of a map.
    fn is_at_colon(&self) -> bool {
        self.0.trim_start_matches(SPACES).starts_with(':')
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        let rest = self.0.trim_start_matches([' ', '\t', '\n', '\r', ',', ':']);
        let (token, rest) = split_token(rest)?;
        let first = *token.as_bytes().first()?;
        self.0 = rest;
        Some(match first {
            b'[' | b'{' => Token::Open(first),
            b']' | b'}' => Token::Close(first),
            b'"' => Token::Text(token),
            _ => Token::Other(token),
        })
    }
}

/// Converts the JSON `text` to CBOR and appends the result to `out`. Returns `None` if `text` is not JSON, has more than
/// `depth` nesting levels, has half of a surrogate pair, or has a number that is infinite as a double. Also returns `None` if
/// memory runs out.
fn transcode(text: &str, depth: usize, out: &mut Encoder) -> Option<()> {
    is_json(text).ok().filter(|is_json| *is_json)?;
    // A CBOR container begins with the number of its items. A first pass over the tokens counts the items of each container,
    // in the order in which the containers open.
    let (mut counts, mut open) = (Vec::<u32>::new(), Vec::<usize>::new());
    for token in Tokens(text) {
        if matches!(token, Token::Close(_)) {
            open.pop()?;
            continue;
        }
        if let Some(count) = open.last().and_then(|at| counts.get_mut(*at)) {
            *count = count.checked_add(1)?;
        }
        if matches!(token, Token::Open(_)) {
            if open.len() >= depth {
                return None;
            }
            open.try_reserve(1).ok()?;
            open.push(counts.len());
            counts.try_reserve(1).ok()?;
            counts.push(0);
        }
    }
    let mut counts = counts.into_iter();
    for token in Tokens(text) {
        match token {
            Token::Close(_) => {}
            Token::Open(b'{') => out.map((counts.next()? / 2).into()).ok()?,
            Token::Open(_) => out.array(counts.next()?.into()).ok()?,
            Token::Text(text) => {
                out.text(&unquoted(text).ok()??).ok()?;
            }
            Token::Other("true") => out.bool(true).ok()?,
            Token::Other("false") => out.bool(false).ok()?,
            Token::Other("null") => out.null().ok()?,
            Token::Other(number) => self::number(number, out)?,
        }
    }
    Some(())
}

/// Appends the JSON number `text` to `out`: as an integer if it is written without a fraction or exponent, is not `-0`, and
/// fits into 64 bits (signed if negative), and as a float otherwise. Returns `None` if the number is not finite as a double, or
/// if memory is out.
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
    use alloc::format;

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
        decode(&mut map, 6, |_, key| FormatError::internal(key)).unwrap();
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
    fn values_are_json_exactly_if_serde_json_reads_them() {
        let tokens = [
            "[",
            "]",
            "{",
            "}",
            ",",
            ":",
            "\"a\"",
            "1",
            "true",
            " ",
            "-",
            "\"\\u12\"",
            "nul",
            "1.5e3",
        ];
        let mut valid = 0;
        for number in 0..tokens.len().pow(5) {
            let mut rest = number;
            let text: String = core::iter::repeat_with(|| {
                let token = tokens[rest % tokens.len()];
                rest /= tokens.len();
                token
            })
            .take(5)
            .collect();
            let expected = serde_json::from_str::<IgnoredAny>(&text).is_ok();
            assert_eq!(is_json(&text).unwrap(), expected, "{text}");
            valid += usize::from(expected);
        }
        assert!(valid > 100, "{valid}");
        let deep = ["[".repeat(100_000), "]".repeat(100_000)].concat();
        assert!(is_json(&deep).unwrap() && !is_json(&deep[1..]).unwrap());
    }

    /// Returns whether a map in `text` has a duplicate key.
    fn has_duplicate(text: &str) -> bool {
        assert!(is_json(text).unwrap(), "{text}");
        check_unique(text, FormatError::internal).is_err()
    }

    #[test]
    fn duplicate_keys_of_every_map_are_found_with_escapes_resolved() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"b":2,"a" : 3}"#,
            r#"[0,{"x":{"a":[],"\u0061":{}}}]"#,
            r#"{"a":{"b":1},"c":"a","a":0}"#,
            r#"{"\ud83d\uDE00":1,"😀":2}"#,
            r#"{"\ud800":1,"\uD800":2}"#,
            r#"{"/":1,"\/":2}"#,
            r#"{"\n":1,"\u000a":2}"#,
            r#"{"":0,"":1}"#,
            r#"{"a":1e999,"a":1}"#,
        ] {
            assert!(has_duplicate(text), "{text}");
        }
        for text in [
            "{}",
            "1",
            r#"["a","a"]"#,
            r#"{"a":"a","b":"a"}"#,
            r#"{"a":{"a":{"a":"b"}},"b":{"a":1}}"#,
            r#"[{"a":1},{"a":1}]"#,
            r#"{"a":1,"\\u0061":2,"A":3}"#,
            r#"{"\ud83d":1,"😀":2,"\ude00":3,"\ude00\ud83d":4}"#,
            r#"{"a:":1,"a":":"}"#,
        ] {
            assert!(!has_duplicate(text), "{text}");
        }
    }

    #[test]
    fn deep_and_large_maps_are_checked_without_recursion_or_quadratic_time() {
        let deep = [r#"{"":"#.repeat(1 << 18), "0".into(), "}".repeat(1 << 18)].concat();
        assert!(!has_duplicate(&deep));
        let mut wide = (0..1 << 18).map(|key| format!("\"{key}\":0")).collect::<Vec<_>>().join(",");
        wide = format!("{{{wide},\"x\":[]");
        assert!(!has_duplicate(&format!("{wide}}}")));
        assert!(has_duplicate(&format!("{wide},\"7\":1}}")));
    }

    #[test]
    fn comparing_a_short_key_with_a_long_one_reads_little() {
        let long = "x".repeat(1 << 20);
        // If each comparison read the whole long key, these would read 2^40 bytes.
        for _ in 0..1 << 20 {
            assert_eq!(compare("a", core::hint::black_box(&long)), Ordering::Less);
        }
    }

    #[test]
    fn a_duplicate_key_is_an_error_only_in_listed_values_that_are_json() {
        let check = |key: &str, text: &str| {
            let map = map(&[(key, text), (JSON_KEYS, r#"["x"]"#)]);
            check_listed(&map, |key, duplicate| {
                FormatError::internal(&format!("{key} {duplicate}"))
            })
        };
        assert!(check("x", r#"[{"b":1,"b":2}]"#).is_err());
        for (key, text) in
            [("y", r#"{"b":1,"b":2}"#), ("x", r#"{"b":1,"b":2"#), ("x", r#"{"b":1}"#)]
        {
            check(key, text).unwrap();
        }
    }

    #[test]
    fn a_million_nested_arrays_are_rejected_without_recursion() {
        let deep = ["[".repeat(1 << 20), "]".repeat(1 << 20)].concat();
        assert_eq!(cbor(&deep), None);
    }
}
