//! Comparison of attributes by their values instead of their CBOR encoding.
//!
//! Two encodings of one value may differ in the lengths of heads and floats, in the chunks of strings, and in the order of the
//! entries of a map. `1` and `1.0` are different values, and so are two floats that differ in any bit as doubles. Each value is
//! hashed in a normal form, in which the entries of a map are sorted by the hashes of their keys, so that memory does not grow with
//! the size or depth of attributes.

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use zten::attributes::{Attributes, Item, Value};
use zten::escape::Quoted;
use zten::json::to_writer;
use zten::json::value::{Json, nan};

use super::paired::{Pair, paired};

// The major types of CBOR, each in the three high bits of the first byte of an item. The normal form begins with the same bytes.
/// The first byte of an unsigned integer in the normal form: major type 0 of CBOR.
const UINT: u8 = 0;
/// The first byte of a negative integer in the normal form: major type 1 of CBOR.
const NEGATIVE: u8 = 1 << 5;
/// The first byte of a byte string in the normal form: major type 2 of CBOR.
const BYTES: u8 = 2 << 5;
/// The first byte of a text in the normal form: major type 3 of CBOR.
const TEXT: u8 = 3 << 5;
/// The first byte of a map with sorted entries in the normal form: major type 5 of CBOR.
const MAP: u8 = 5 << 5;
/// The first byte of a tag in the normal form: major type 6 of CBOR.
const TAG: u8 = 6 << 5;
/// The first byte of an array of indefinite length in CBOR, with which every array begins in the normal form.
const ARRAY: u8 = 0x9f;
/// The first byte of a map of indefinite length in CBOR. In the normal form, a map begins with this byte if its entries are
/// hashed in the order of the file, because sorting them would exceed the limit [`ENTRIES`].
const LONG_MAP: u8 = 0xbf;
/// The byte that ends an array or map of indefinite length in CBOR.
const BREAK: u8 = 0xff;
/// The first byte of an `f64` in CBOR, with which every float begins in the normal form.
const DOUBLE: u8 = 0xfb;

/// The largest number of map entries that are sorted at one time, which bounds memory. The entries of a map and of all maps that
/// contain it count together. The entries of larger maps are hashed in the order of the file, so that maps with the same entries in
/// another order are reported as different.
const ENTRIES: usize = 1 << 19;

type Sum = [u8; 32];

/// An attribute whose value differs between two files, or that only one of the files has.
#[derive(Debug, Serialize)]
pub struct AttributeChange<'a> {
    key: &'a str,
    /// The value in the old file, or `None` if the attribute was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<Json<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<Json<'a>>,
}

/// Compares the attributes `old` with the attributes `new`, key by key, and returns those that differ or that only one side has.
pub(super) fn attributes<'a>(
    old: &Attributes<'a>,
    new: &Attributes<'a>,
) -> Vec<AttributeChange<'a>> {
    // Equal encodings have equal values, and most files have the same encoding.
    if old == new {
        return Vec::new();
    }
    let [old, new] = [old, new].map(|attributes| {
        let mut entries: Vec<_> = attributes.clone().collect();
        entries.sort_by_key(|(key, _)| *key);
        entries
    });
    let change = |pair| {
        let (key, old, new) = match pair {
            Pair::Old((key, old)) => (key, Some(old), None),
            Pair::New((key, new)) => (key, None, Some(new)),
            Pair::Both((key, old), (_, new)) => (key, Some(old), Some(new)),
        };
        let is_same = |old: Item<'_>, new: Item<'_>| {
            old.as_bytes() == new.as_bytes() || of_item(&old) == of_item(&new)
        };
        let same = old.zip(new).is_some_and(|(old, new)| is_same(old, new));
        (!same).then(|| AttributeChange { key, old: old.map(Json), new: new.map(Json) })
    };
    paired(old, new, |(one, _), (other, _)| one.cmp(other)).filter_map(change).collect()
}

impl AttributeChange<'_> {
    /// Returns `+` for an attribute that was added, `-` for one that was removed, and an empty text otherwise.
    pub fn sign(&self) -> &'static str {
        match (&self.old, &self.new) {
            (None, _) => "+",
            (_, None) => "-",
            _ => "",
        }
    }
}

/// Formats the change as `attribute "key" 1 -> 2`, or with one value if the attribute was added or removed. Long values are
/// cut.
impl fmt::Display for AttributeChange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "attribute {} ", Quoted(self.key))?;
        let values = [&self.old, &self.new].into_iter().flatten();
        let values: Vec<_> = values.map(Beginning::of).collect();
        f.write_str(&values.join(" -> "))
    }
}

/// An output that keeps the beginning of the JSON that is written to it.
struct Beginning(Vec<u8>);

impl Beginning {
    /// The largest number of characters of the JSON of a value that output shows.
    const LENGTH: usize = 60;

    fn of(value: &impl Serialize) -> String {
        let mut begun = Self(Vec::new());
        let complete = to_writer(&mut begun, value).is_ok();
        let text = String::from_utf8_lossy(&begun.0);
        match text.char_indices().nth(Self::LENGTH) {
            None if complete => text.into_owned(),
            cut => {
                let end = cut.map_or(text.len(), |(at, _)| at);
                format!("{}…", text.get(..end).unwrap_or_default())
            }
        }
    }
}

impl Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A character takes at most 4 bytes, so these bytes hold enough characters. The error ends serialization, which could be
        // long.
        if self.0.len() > 4 * Self::LENGTH {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let now = bytes.get(..bytes.len().min(4 * Self::LENGTH)).unwrap_or_default();
        self.0.extend_from_slice(now);
        Ok(now.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the hash of the normal form of the CBOR `item`. Items of equal value have the same normal form, unless a map is too
/// large to be sorted (see [`ENTRIES`]).
fn of_item(item: &Item<'_>) -> Sum {
    sum(|form| item.write(ENTRIES, form))
}

/// Returns the SHA-256 of the bytes that the function `write` feeds to a hash.
fn sum(write: impl FnOnce(&mut Sha256)) -> Sum {
    let mut form = Sha256::new();
    write(&mut form);
    form.finalize().into()
}

/// A CBOR value that has a normal form: bytes that are the same for equal values, whatever their encoding, unless a map is too
/// large to be sorted (see [`ENTRIES`]).
trait NormalForm {
    /// Feeds the normal form to the hash `form`. Maps are sorted while they have at most `left` entries in total.
    fn write(&self, left: usize, form: &mut Sha256);
}

impl NormalForm for &str {
    fn write(&self, _: usize, form: &mut Sha256) {
        string(TEXT, || std::iter::once(self.as_bytes()), form);
    }
}

/// Recursion is bounded, because readers reject items nested deeper than 64 levels.
impl NormalForm for Item<'_> {
    fn write(&self, left: usize, form: &mut Sha256) {
        match self.value() {
            Value::Uint(value) => number(UINT, value, form),
            Value::Negative(value) => number(NEGATIVE, value, form),
            Value::Bytes(chunks) => string(BYTES, || chunks.pieces(), form),
            Value::Text(chunks) => string(TEXT, || chunks.pieces(), form),
            Value::Array(array) => {
                form.update([ARRAY]);
                array.for_each(|item| item.write(left, form));
                form.update([BREAK]);
            }
            Value::Map(entries) => map(entries, left, form),
            Value::Tag(tag, item) => {
                number(TAG, tag, form);
                item.write(left, form);
            }
            Value::Float(float) => {
                let bits = if float.is_nan() { nan(self.as_bytes()) } else { float.to_bits() };
                form.update([DOUBLE]);
                form.update(bits.to_be_bytes());
            }
            // A simple value, such as a bool, has only one encoding, so its bytes are its normal form.
            _ => form.update(self.as_bytes()),
        }
    }
}

/// Feeds the normal form of a map with these `entries` to the hash `form`. The entries are sorted if the map has at most `left`
/// entries. Maps inside of the map are then sorted while they have no more entries than remain of `left`.
fn map<'a, K: NormalForm>(
    entries: impl Iterator<Item = (K, Item<'a>)> + Clone,
    left: usize,
    form: &mut Sha256,
) {
    let count = entries.clone().take(left.saturating_add(1)).count();
    let Some(left) = left.checked_sub(count) else {
        form.update([LONG_MAP]);
        for (key, value) in entries {
            key.write(left, form);
            value.write(left, form);
        }
        form.update([BREAK]);
        return;
    };
    let mut sums: Vec<(Sum, Sum)> = Vec::with_capacity(count);
    let entry = |(key, value): (K, Item<'a>)| {
        (sum(|form| key.write(left, form)), sum(|form| value.write(left, form)))
    };
    sums.extend(entries.map(entry));
    // The sort is stable: of entries with the same key a program may use the last, so their order counts.
    sums.sort_by_key(|(key, _)| *key);
    number(MAP, u64::try_from(count).unwrap_or(u64::MAX), form);
    for (key, value) in sums {
        form.update(key);
        form.update(value);
    }
}

/// Feeds the byte `of`, a first byte of CBOR that says what the number is, and then `number` as 8 big-endian bytes, to the hash
/// `form`.
fn number(of: u8, number: u64, form: &mut Sha256) {
    form.update([of]);
    form.update(number.to_be_bytes());
}

fn string<'a, P: Iterator<Item = &'a [u8]>>(of: u8, pieces: impl Fn() -> P, form: &mut Sha256) {
    let length: usize = pieces().map(<[u8]>::len).sum();
    number(of, u64::try_from(length).unwrap_or(u64::MAX), form);
    pieces().for_each(|piece| form.update(piece));
}
