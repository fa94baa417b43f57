//! Attribute values as JSON, exact: no two values are written alike, and each can be made again from
//! what is written. `docs/json.md` says how.
//!
//! What JSON has no word for is an object whose first key begins with `$`. A map with such a key is
//! therefore no object, and neither is one whose keys JSON cannot tell apart.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Write};

use zten::attributes::{Attributes, Chunks, Item, Map, Value};

use crate::json::{Json, Negative};

/// Entries of a map that is written as an object, at most: so many keys are looked at for one that
/// stands there twice, in memory that follows no file.
pub const ENTRIES: usize = 4096;

/// The bits of the NaN that has no sign and says nothing.
pub(crate) const ONE_NAN: u64 = 0x7ff8_0000_0000_0000;

/// Writes attributes as the map that they are.
pub fn attributes<W: Write>(attributes: &Attributes<'_>, json: &mut Json<'_, W>) -> io::Result<()> {
    // Keys have been found to stand there once.
    if attributes.clone().any(|(key, _)| key.starts_with('$')) {
        return listed(json, |json| {
            for (key, item) in attributes.clone() {
                json.string(key)?;
                value(&item, json)?;
            }
            Ok(())
        });
    }
    json.open('{')?;
    for (key, item) in attributes.clone() {
        json.key(key)?;
        value(&item, json)?;
    }
    json.close('}')
}

/// Writes a value, which no reader lets nest deeper than 64 levels.
pub fn value<W: Write>(item: &Item<'_>, json: &mut Json<'_, W>) -> io::Result<()> {
    match item.value() {
        Value::Uint(number) => json.integer(number),
        Value::Negative(below) => json.negative(Negative { below }),
        Value::Bytes(chunks) => alone("$bytes", json, |json| json.hex(chunks.pieces())),
        Value::Text(chunks) => json.pieces(chunks.pieces()),
        Value::Array(mut array) => {
            json.open('[')?;
            array.try_for_each(|item| value(&item, json))?;
            json.close(']')
        }
        Value::Map(map) => self::map(&map, json),
        Value::Tag(tag, item) => {
            json.open('{')?;
            json.key("$tag")?;
            json.integer(tag)?;
            json.key("$value")?;
            value(&item, json)?;
            json.close('}')
        }
        Value::Bool(value) => json.plain(value),
        Value::Null => json.null(),
        Value::Float(float) if float.is_nan() => {
            let bits = nan(item.as_bytes());
            alone("$nan", json, |json| json.display(&format_args!("{bits:016x}")))
        }
        // A number that is whole is an integer to some readers of JSON.
        Value::Float(float) if float.is_finite() && float.fract() != 0.0 => {
            json.plain(format_args!("{float:?}"))
        }
        Value::Float(float) => {
            let name = match float {
                f64::INFINITY => "Infinity",
                f64::NEG_INFINITY => "-Infinity",
                _ => return alone("$float", json, |json| json.display(&format_args!("{float:?}"))),
            };
            alone("$float", json, |json| json.string(name))
        }
        Value::Simple(number) => alone("$simple", json, |json| json.plain(number)),
        Value::Invalid => Err(io::Error::other("internal error: a value is no CBOR")),
        // `undefined`, which is one of the simple values.
        _ => alone("$simple", json, |json| json.plain(23)),
    }
}

/// An object of one key, for what JSON has no word for.
fn alone<'w, W: Write>(
    key: &str,
    json: &mut Json<'w, W>,
    write: impl FnOnce(&mut Json<'w, W>) -> io::Result<()>,
) -> io::Result<()> {
    json.open('{')?;
    json.key(key)?;
    write(json)?;
    json.close('}')
}

/// A map as a list: key, value, key, value.
fn listed<'w, W: Write>(
    json: &mut Json<'w, W>,
    write: impl FnOnce(&mut Json<'w, W>) -> io::Result<()>,
) -> io::Result<()> {
    alone("$map", json, |json| {
        json.open('[')?;
        write(json)?;
        json.close(']')
    })
}

fn map<W: Write>(map: &Map<'_>, json: &mut Json<'_, W>) -> io::Result<()> {
    if !is_object(map) {
        return listed(json, |json| {
            for (key, item) in map.clone() {
                value(&key, json)?;
                value(&item, json)?;
            }
            Ok(())
        });
    }
    json.open('{')?;
    for (key, item) in map.clone() {
        if let Value::Text(chunks) = key.value() {
            json.pieces(chunks.pieces())?;
            json.colon()?;
            value(&item, json)?;
        }
    }
    json.close('}')
}

/// Whether all keys are texts that are not taken for our own, stand there once, and are not too many.
fn is_object(map: &Map<'_>) -> bool {
    let mut keys = Vec::new();
    for (key, _) in map.clone() {
        match key.value() {
            Value::Text(chunks) if keys.len() < ENTRIES && !is_own(&chunks) => {
                keys.push((hash(&chunks), chunks));
            }
            _ => return false,
        }
    }
    let order = |(hash, text): &(u64, Chunks<'_>), (other, another): &(u64, Chunks<'_>)| {
        hash.cmp(other).then_with(|| compare(text, another))
    };
    keys.sort_unstable_by(order);
    keys.windows(2).all(|two| matches!(two, [one, other] if order(one, other) == Ordering::Less))
}

fn is_own(key: &Chunks<'_>) -> bool {
    key.pieces().flatten().next() == Some(&b'$')
}

/// Keys whose hashes differ need not be compared.
fn hash(text: &Chunks<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    // Byte by byte: a hasher may tell one piece from two.
    text.pieces().flatten().for_each(|byte| hasher.write_u8(*byte));
    hasher.finish()
}

fn compare(one: &Chunks<'_>, other: &Chunks<'_>) -> Ordering {
    match (one.as_bytes(), other.as_bytes()) {
        (Some(one), Some(other)) => one.cmp(other),
        _ => one.pieces().flatten().cmp(other.pieces().flatten()),
    }
}

/// The bits, as a double, of the NaN that is spelled so in CBOR. Widening by arithmetic may change them.
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
