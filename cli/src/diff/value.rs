//! Whether attributes are the same: by what they say, and not by how their CBOR is spelled.
//!
//! Lengths of heads and floats, chunks and the order of a map's entries are spelling; `1` and
//! `1.0` are two values. Each side is written down once in a form of its own, maps sorted, and
//! the forms are compared: comparing trees would sort the maps in keys again and again.

use zten::{Chunks, Item, Value};

use crate::head::head;

/// Major types. Heads are the shortest, lest the form be much longer than what it stands for.
const UINT: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const TAG: u8 = 6;
/// What begins and ends arrays and maps, their entries not being counted.
const ARRAY: u8 = 0x9f;
const MAP: u8 = 0xbf;
const BREAK: u8 = 0xff;
/// What begins a double, and the one NaN.
const DOUBLE: u8 = 0xfb;
const NAN: [u8; 3] = [0xf9, 0x7e, 0];

/// Whether two maps of attributes are the same. Having none is the same as not having them.
pub(super) fn same(old: Option<Item<'_>>, new: Option<Item<'_>>) -> bool {
    // Items are equal that are spelled the same, and most are.
    old == new || form(old) == form(new)
}

/// The form of a map, or of none.
fn form(item: Option<Item<'_>>) -> Vec<u8> {
    let mut out = Vec::new();
    match item {
        Some(item) if item.value() != Value::Null => write(&item, &mut out),
        _ => out.extend([MAP, BREAK]),
    }
    out
}

/// Adds the form of an item, which no reader lets nest deeper than 64 levels.
fn write(item: &Item<'_>, out: &mut Vec<u8>) {
    match item.value() {
        Value::Uint(number) => head(out, UINT, number),
        Value::Negative(number) => head(out, NEGATIVE, number),
        Value::Bytes(chunks) => string(BYTES, &chunks, out),
        Value::Text(chunks) => string(TEXT, &chunks, out),
        Value::Array(array) => {
            out.push(ARRAY);
            array.for_each(|item| write(&item, out));
            out.push(BREAK);
        }
        Value::Map(map) => {
            out.push(MAP);
            let mut entries = Vec::new();
            for (key, value) in map {
                let start = out.len();
                write(&key, out);
                entries.push(Entry { start, value: out.len() });
                write(&value, out);
            }
            sort(&entries, out);
            out.push(BREAK);
        }
        Value::Tag(tag, item) => {
            head(out, TAG, tag);
            write(&item, out);
        }
        Value::Float(float) if float.is_nan() => out.extend(NAN),
        Value::Float(float) => {
            out.push(DOUBLE);
            out.extend(float.to_bits().to_be_bytes());
        }
        // Simple values have one spelling.
        _ => out.extend_from_slice(item.as_bytes()),
    }
}

fn string(major: u8, chunks: &Chunks<'_>, out: &mut Vec<u8>) {
    let length: usize = chunks.pieces().map(<[u8]>::len).sum();
    head(out, major, u64::try_from(length).unwrap_or(u64::MAX));
    chunks.pieces().for_each(|piece| out.extend_from_slice(piece));
}

/// Where an entry of a map and its value begin.
struct Entry {
    start: usize,
    value: usize,
}

/// Sorts the entries of a map, the last thing that was written, by their keys. Of entries of the
/// same key, the last may be the one that counts: they stay in their order.
fn sort(entries: &[Entry], out: &mut Vec<u8>) {
    let key = |entry: &Entry| out.get(entry.start..entry.value).unwrap_or_default();
    if entries.is_sorted_by_key(key) {
        return;
    }
    let first = entries.first().map_or(out.len(), |entry| entry.start);
    let ends = entries.iter().skip(1).map(|entry| entry.start).chain([out.len()]);
    let mut ranges: Vec<_> = entries.iter().zip(ends).collect();
    ranges.sort_by_key(|(entry, _)| key(entry));
    let mut sorted = Vec::new();
    for (entry, end) in ranges {
        sorted.extend_from_slice(out.get(entry.start..end).unwrap_or_default());
    }
    out.truncate(first);
    out.append(&mut sorted);
}
