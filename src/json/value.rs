//! Attribute values as exact JSON: different values are written differently, and each value can be restored from its JSON. See
//! `docs/json.md`.
//!
//! A value that JSON cannot express is written as an object whose first key begins with `$`. A map that has such a key itself,
//! or keys that JSON cannot distinguish, is therefore not written as an object.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use crate::cbor::{Attributes, Chunks, Item, Map as CborMap, Value};
use serde::ser::{Error as _, SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};

use crate::element::name_of_not_finite;
use crate::json::{EXACT, Integer, Negative, Text, integer, single_key};

/// The largest number of entries of a map that is written as an object. It bounds the memory for finding duplicate keys,
/// whatever the file contains.
pub const ENTRIES: usize = 4096;

/// The bits, as a double, of the canonical NaN, which has no sign and no payload.
pub const ONE_NAN: u64 = 0x7ff8_0000_0000_0000;

/// A wrapper that serializes a map of attributes in the JSON form of `docs/json.md`.
#[derive(Clone, Debug)]
pub struct Map<'a>(pub Attributes<'a>);

impl Serialize for Map<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = || self.0.clone().map(|(key, item)| (key, Json(item)));
        // Keys need no check for duplicates, because they were checked when the manifest was opened. Only a key that
        // begins with a dollar sign needs another form.
        if entries().any(|(key, _)| key.starts_with('$')) {
            return single_key("$map", &Pairs(entries), serializer);
        }
        serializer.collect_map(entries())
    }
}

/// A wrapper that serializes an attribute value in the JSON form of `docs/json.md`. It recurses at most 64 levels, the
/// limit of every reader.
#[derive(Clone, Debug)]
pub struct Json<'a>(pub Item<'a>);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.value() {
            Value::Uint(number) => integer(&number, serializer),
            Value::Negative(below) => match i64::try_from(below) {
                Ok(below) if below < EXACT.cast_signed() => serializer.serialize_i64(!below),
                _ => single_key("$int", &Text(Negative { below }), serializer),
            },
            Value::Bytes(chunks) => single_key("$bytes", &Text(Hex(chunks)), serializer),
            Value::Text(chunks) => string(&chunks, serializer),
            Value::Array(array) => serializer.collect_seq(array.map(Json)),
            Value::Map(map) => self::map(&map, serializer),
            Value::Tag(tag, item) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("$tag", &Integer(tag))?;
                map.serialize_entry("$value", &Json(item))?;
                map.end()
            }
            Value::Bool(value) => serializer.serialize_bool(value),
            Value::Null => serializer.serialize_unit(),
            Value::Float(float) if float.is_finite() => serializer.serialize_f64(float),
            Value::Float(float) if float.is_nan() => {
                let bits = nan(self.0.as_bytes());
                single_key("$nan", &Text(format_args!("{bits:016x}")), serializer)
            }
            Value::Float(float) => single_key("$float", name_of_not_finite(float), serializer),
            Value::Simple(number) => single_key("$simple", &number, serializer),
            Value::Invalid => Err(S::Error::custom("internal error: a value is not CBOR")),
            // `undefined` is the simple value 23.
            _ => single_key("$simple", &23, serializer),
        }
    }
}

/// Serializes a CBOR text as a JSON string. A text in one chunk is not copied.
fn string<S: Serializer>(chunks: &Chunks<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    match chunks.as_str() {
        Some(text) => serializer.serialize_str(text),
        None => serializer.collect_str(&Joined(chunks)),
    }
}

/// A wrapper that displays the chunks of a CBOR text one after the other. Each chunk was checked to be UTF-8 when the
/// manifest was opened.
struct Joined<'c, 'a>(&'c Chunks<'a>);

impl fmt::Display for Joined<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.pieces().try_for_each(|piece| f.write_str(&String::from_utf8_lossy(piece)))
    }
}

/// A wrapper that displays a CBOR byte string, all of its chunks one after the other, as lower-case hexadecimal digits
/// without separators.
struct Hex<'a>(Chunks<'a>);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.pieces().flatten().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A wrapper that serializes the entries of a map as one JSON array: key, value, key, value. The field is a function that
/// returns the entries.
struct Pairs<F>(F);

impl<F: Fn() -> I, I: Iterator<Item = (K, V)>, K: Serialize, V: Serialize> Serialize for Pairs<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for (key, value) in (self.0)() {
            list.serialize_element(&key)?;
            list.serialize_element(&value)?;
        }
        list.end()
    }
}

fn map<S: Serializer>(map: &CborMap<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    let entries = || map.clone().map(|(key, item)| (Json(key), Json(item)));
    if is_object(map) {
        serializer.collect_map(entries())
    } else {
        single_key("$map", &Pairs(entries), serializer)
    }
}

/// Returns whether a CBOR map can be written as a JSON object: all keys are unique texts that do not begin with `$`, and there
/// are at most [`ENTRIES`] of them.
fn is_object(map: &CborMap<'_>) -> bool {
    let mut keys = Vec::new();
    for (key, _) in map.clone() {
        match key.value() {
            Value::Text(chunks) if keys.len() < ENTRIES && !is_own(&chunks) => {
                keys.push(chunks);
            }
            _ => return false,
        }
    }
    keys.sort_unstable_by(compare);
    keys.windows(2).all(|two| matches!(two, [one, other] if compare(one, other) == Ordering::Less))
}

fn is_own(key: &Chunks<'_>) -> bool {
    key.pieces().flatten().next() == Some(&b'$')
}

fn compare(one: &Chunks<'_>, other: &Chunks<'_>) -> Ordering {
    match (one.as_bytes(), other.as_bytes()) {
        (Some(one), Some(other)) => one.cmp(other),
        _ => one.pieces().flatten().cmp(other.pieces().flatten()),
    }
}

/// Returns the bits, as a double, of the NaN that `spelled` encodes, a CBOR float of 2, 4 or 8 bytes. The bits are widened
/// without arithmetic, which could change them. Returns [`ONE_NAN`] if `spelled` is no CBOR float.
pub fn nan(spelled: &[u8]) -> u64 {
    let (fraction, sign) = match spelled {
        [0xf9, half @ ..] => {
            let Ok(half) = half.try_into() else { return ONE_NAN };
            let bits = u64::from(u16::from_be_bytes(half));
            ((bits & 0x3ff) << 42, bits >> 15)
        }
        [0xfa, single @ ..] => {
            let Ok(single) = single.try_into() else { return ONE_NAN };
            let bits = u64::from(u32::from_be_bytes(single));
            ((bits & 0x7f_ffff) << 29, bits >> 31)
        }
        [0xfb, double @ ..] => return double.try_into().map_or(ONE_NAN, u64::from_be_bytes),
        _ => return ONE_NAN,
    };
    sign << 63 | 0x7ff0_0000_0000_0000 | fraction
}
