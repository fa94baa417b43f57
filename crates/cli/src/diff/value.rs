//! Comparing attributes by what they say, and not by how their CBOR is spelled.
//!
//! Lengths of heads and floats, chunks and the order of a map's entries are spelling; `1` and
//! `1.0` are two values, and so are floats whose bits differ as doubles. Each value is summed in a form of its own, in
//! which the entries of a map are sorted by the sums of their keys: memory follows neither the attributes nor their depth.

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use zten::attributes::{Attributes, Item, Value};

use super::paired::{Pair, paired};
use crate::escape::Quoted;
use crate::json::to_writer;
use crate::value::{Json, nan};

/// Major types, as they stand in heads.
const UINT: u8 = 0;
const NEGATIVE: u8 = 1 << 5;
const BYTES: u8 = 2 << 5;
const TEXT: u8 = 3 << 5;
const MAP: u8 = 5 << 5;
const TAG: u8 = 6 << 5;
/// The bytes that begin and end arrays and maps whose entries are not counted.
const ARRAY: u8 = 0x9f;
const LONG_MAP: u8 = 0xbf;
const BREAK: u8 = 0xff;
/// The first byte of a double.
const DOUBLE: u8 = 0xfb;

/// Entries that are sorted, at most, of a map and those that it stands in: what takes memory. In a
/// map with more, the order counts, so that files may be told apart that say the same.
const ENTRIES: usize = 1 << 19;

type Sum = [u8; 32];

/// An attribute that is not the same in both files.
#[derive(Serialize)]
pub(super) struct AttributeChange<'a> {
    key: &'a str,
    /// None where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<Json<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<Json<'a>>,
}

/// Compares two maps of attributes, key by key.
pub(super) fn attributes<'a>(
    old: &Attributes<'a>,
    new: &Attributes<'a>,
) -> Vec<AttributeChange<'a>> {
    // Items are equal that are spelled the same, and most are.
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
    /// `+` where it was added, `-` where it was removed, else nothing.
    pub(super) fn sign(&self) -> &'static str {
        match (&self.old, &self.new) {
            (None, _) => "+",
            (_, None) => "-",
            _ => "",
        }
    }
}

/// `attribute "key" 1 -> 2`, or the one value that there is. Long values are cut.
impl fmt::Display for AttributeChange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "attribute {} ", Quoted(self.key))?;
        let values = [&self.old, &self.new].into_iter().flatten();
        let values: Vec<_> = values.map(Beginning::of).collect();
        f.write_str(&values.join(" -> "))
    }
}

/// The beginning of a value as JSON.
struct Beginning(Vec<u8>);

impl Beginning {
    /// Characters of it, at most.
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
        // A character takes 4 bytes at most. What follows need not be written.
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

/// The sum of a value.
fn of_item(item: &Item<'_>) -> Sum {
    sum(|form| item.write(ENTRIES, form))
}

/// The sum of a form.
fn sum(write: impl FnOnce(&mut Sha256)) -> Sum {
    let mut form = Sha256::new();
    write(&mut form);
    form.finalize().into()
}

/// A value that has a form.
trait Form {
    /// Adds it. Of its maps, so many entries may be sorted.
    fn write(&self, left: usize, form: &mut Sha256);
}

impl Form for &str {
    fn write(&self, _: usize, form: &mut Sha256) {
        string(TEXT, || std::iter::once(self.as_bytes()), form);
    }
}

/// No reader lets items nest deeper than 64 levels.
impl Form for Item<'_> {
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
            // Simple values have one spelling.
            _ => form.update(self.as_bytes()),
        }
    }
}

/// Adds the form of a map.
fn map<'a, K: Form>(
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
    // Of entries of the same key, the last may be the one that counts: they stay in their order.
    sums.sort_by_key(|(key, _)| *key);
    number(MAP, u64::try_from(count).unwrap_or(u64::MAX), form);
    for (key, value) in sums {
        form.update(key);
        form.update(value);
    }
}

/// Adds a number, and what it is of.
fn number(of: u8, number: u64, form: &mut Sha256) {
    form.update([of]);
    form.update(number.to_be_bytes());
}

fn string<'a, P: Iterator<Item = &'a [u8]>>(of: u8, pieces: impl Fn() -> P, form: &mut Sha256) {
    let length: usize = pieces().map(<[u8]>::len).sum();
    number(of, u64::try_from(length).unwrap_or(u64::MAX), form);
    pieces().for_each(|piece| form.update(piece));
}
