//! Whether attributes are the same: by what they say, and not by how their CBOR is spelled.
//!
//! Lengths of heads and floats, chunks and the order of a map's entries are spelling; `1` and
//! `1.0` are two values. Each side is summed in a form of its own, in which the entries of a map are
//! sorted by the sums of their keys: memory follows neither the attributes nor their depth.

use sha2::{Digest as _, Sha256};
use zten::attributes::{Chunks, Item, Map, Value};

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
/// What begins a double, and the one NaN.
const DOUBLE: u8 = 0xfb;
const NAN: [u8; 3] = [0xf9, 0x7e, 0];

/// Entries that are sorted, at most, of a map and those that it stands in: what takes memory. In a
/// map with more, the order counts, so that files may be told apart that say the same.
const ENTRIES: usize = 1 << 19;

type Sum = [u8; 32];

/// Whether two maps of attributes are the same. Having none is the same as not having them.
pub(super) fn same(old: Option<Item<'_>>, new: Option<Item<'_>>) -> bool {
    // Items are equal that are spelled the same, and most are.
    old == new || of_attributes(old) == of_attributes(new)
}

/// The sum of a map, or of none.
fn of_attributes(item: Option<Item<'_>>) -> Sum {
    let mut form = Sha256::new();
    match item {
        Some(item) if item.value() != Value::Null => write(&item, ENTRIES, &mut form),
        _ => number(MAP, 0, &mut form),
    }
    form.finalize().into()
}

fn sum(item: &Item<'_>, left: usize) -> Sum {
    let mut form = Sha256::new();
    write(item, left, &mut form);
    form.finalize().into()
}

/// Adds the form of an item, which no reader lets nest deeper than 64 levels. Of its maps, so many
/// entries may be sorted.
fn write(item: &Item<'_>, left: usize, form: &mut Sha256) {
    match item.value() {
        Value::Uint(value) => number(UINT, value, form),
        Value::Negative(value) => number(NEGATIVE, value, form),
        Value::Bytes(chunks) => string(BYTES, &chunks, form),
        Value::Text(chunks) => string(TEXT, &chunks, form),
        Value::Array(array) => {
            form.update([ARRAY]);
            array.for_each(|item| write(&item, left, form));
            form.update([BREAK]);
        }
        Value::Map(map) => self::map(&map, left, form),
        Value::Tag(tag, item) => {
            number(TAG, tag, form);
            write(&item, left, form);
        }
        Value::Float(float) if float.is_nan() => form.update(NAN),
        Value::Float(float) => {
            form.update([DOUBLE]);
            form.update(float.to_bits().to_be_bytes());
        }
        // Simple values have one spelling.
        _ => form.update(item.as_bytes()),
    }
}

fn map(map: &Map<'_>, left: usize, form: &mut Sha256) {
    let count = map.clone().take(left.saturating_add(1)).count();
    let Some(left) = left.checked_sub(count) else {
        form.update([LONG_MAP]);
        for (key, value) in map.clone() {
            write(&key, left, form);
            write(&value, left, form);
        }
        form.update([BREAK]);
        return;
    };
    let mut entries: Vec<(Sum, Sum)> = Vec::with_capacity(count);
    entries.extend(map.clone().map(|(key, value)| (sum(&key, left), sum(&value, left))));
    // Of entries of the same key, the last may be the one that counts: they stay in their order.
    entries.sort_by_key(|(key, _)| *key);
    number(MAP, u64::try_from(count).unwrap_or(u64::MAX), form);
    for (key, value) in entries {
        form.update(key);
        form.update(value);
    }
}

/// What a number is of, and the number.
fn number(of: u8, number: u64, form: &mut Sha256) {
    form.update([of]);
    form.update(number.to_be_bytes());
}

fn string(of: u8, chunks: &Chunks<'_>, form: &mut Sha256) {
    let length: usize = chunks.pieces().map(<[u8]>::len).sum();
    number(of, u64::try_from(length).unwrap_or(u64::MAX), form);
    chunks.pieces().for_each(|piece| form.update(piece));
}
