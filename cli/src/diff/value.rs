//! Comparing attributes by what they say, and not by how their CBOR is spelled.
//!
//! Lengths of heads and floats, chunks and the order of a map's entries are spelling; `1` and
//! `1.0` are two values, and so are floats whose bits differ as doubles. Each side is summed in a form of its own, in
//! which the entries of a map are sorted by the sums of their keys: memory follows neither the attributes nor their depth.

use sha2::{Digest as _, Sha256};
use zten::attributes::{Attributes, Item, Value};

use crate::value::nan;

/// Major types, as they stand in heads.
const UINT: u8 = 0;
const NEGATIVE: u8 = 1 << 5;
const BYTES: u8 = 2 << 5;
const TEXT: u8 = 3 << 5;
const MAP: u8 = 5 << 5;
const TAG: u8 = 6 << 5;
/// What begins and ends arrays and maps whose entries are not counted.
const ARRAY: u8 = 0x9f;
const LONG_MAP: u8 = 0xbf;
const BREAK: u8 = 0xff;
/// The first byte of a double.
const DOUBLE: u8 = 0xfb;

/// Entries that are sorted, at most, of a map and those that it stands in: what takes memory. In a
/// map with more, the order counts, so that files may be told apart that say the same.
const ENTRIES: usize = 1 << 19;

type Sum = [u8; 32];

/// Returns whether two maps of attributes are the same.
pub(super) fn same(old: &Attributes<'_>, new: &Attributes<'_>) -> bool {
    // Items are equal that are spelled the same, and most are.
    old == new || of_attributes(old) == of_attributes(new)
}

/// The sum of attributes.
fn of_attributes(attributes: &Attributes<'_>) -> Sum {
    sum(|form| map(attributes.clone(), ENTRIES, form))
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

/// What a number is of, and the number.
fn number(of: u8, number: u64, form: &mut Sha256) {
    form.update([of]);
    form.update(number.to_be_bytes());
}

fn string<'a, P: Iterator<Item = &'a [u8]>>(of: u8, pieces: impl Fn() -> P, form: &mut Sha256) {
    let length: usize = pieces().map(<[u8]>::len).sum();
    number(of, u64::try_from(length).unwrap_or(u64::MAX), form);
    pieces().for_each(|piece| form.update(piece));
}
