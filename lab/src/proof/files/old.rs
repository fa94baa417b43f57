//! Files of generation 0.1 that are expensive to read.

use super::Made;
use zten_corpus::base::{entry, v0};
use zten_corpus::cbor::{Item, text, uint};
use zten_corpus::file::File;
use zten_corpus::zstd::Frame;

/// The number of bytes of an entry in the manifest.
const ENTRY: usize = 72;
/// The number of bytes that a blob takes in the file, including padding.
const BLOB: usize = 64;

/// Returns an entry of one element of one byte.
fn small(name: &str, at: usize, dtype: &str) -> Item {
    entry(name, dtype, &[1], at as u64, 1)
}

/// Returns the same entry with more fields.
fn with(mut entry: Item, more: impl IntoIterator<Item = (Item, Item)>) -> Item {
    entry.pairs("").extend(more);
    entry
}

fn file(entries: Vec<Item>, end: usize) -> File {
    v0(entries).start(end.next_multiple_of(BLOB))
}

/// Returns a 0.1 file of about `size` bytes, whose entries have one byte of data each. The names of the entries ascend, or
/// descend if `reversed` is true.
pub(super) fn entries(size: usize, reversed: bool) -> Vec<u8> {
    let count = super::count(size, ENTRY + BLOB);
    let name = |n| if reversed { format!("{:08}", count - n) } else { format!("{n:08}") };
    let entries = (1..=count).map(|n| small(&name(n), n * BLOB, "uint8")).collect();
    file(entries, (count + 1) * BLOB).build("").bytes
}

/// Returns a 0.1 file of about `size` bytes, whose entries have one byte of data each. The last entry has the name of the first.
pub(super) fn twice(size: usize) -> Vec<u8> {
    let count = super::count(size, ENTRY + BLOB);
    let name = |n| format!("{:08}", (count - n) % (count - 1));
    let entries = (1..=count).map(|n| small(&name(n), n * BLOB, "uint8")).collect();
    file(entries, (count + 1) * BLOB).build("").bytes
}

/// Returns a 0.1 file of one big-endian array.
pub(super) fn big_endian(size: usize) -> Vec<u8> {
    let big = [(text("data_endianness"), text("big"))];
    let elements = size / 2;
    let entry = entry("w", "uint16", &[elements as u64], 64, 2 * elements as u64);
    v0(vec![with(entry, big)]).blob(64, &vec![7; 2 * elements]).build("").bytes
}

/// Returns a 0.1 file of about `size` bytes, whose entries have one byte of data each, compressed with zstd.
pub(super) fn zstd(size: usize) -> Made {
    let frame = Frame::single(1, 0).raw(&[7]).end().bytes;
    let count = super::count(size, ENTRY + BLOB);
    let entries = (1..=count).map(|n| {
        let length = frame.len() as u64;
        let mut entry = entry(&format!("{n:08}"), "uint8", &[1], (n * BLOB) as u64, length);
        *entry.find("encoding") = text("zstd");
        entry
    });
    let file = file(entries.collect(), (count + 1) * BLOB);
    let file = (1..=count).fold(file, |file, n| file.blob(n * BLOB, &frame));
    Made { file: file.build("").bytes, decoded: count as u64 }
}

/// Returns a 0.1 file of about `size` bytes, whose entries have a thousand unknown fields each. A copy of the file has these fields
/// as attributes.
pub(super) fn fields(size: usize) -> Vec<u8> {
    let fields = || (0..1000).rev().map(|n| (text(&format!("x{n:03}")), uint(n)));
    let count = super::count(size, ENTRY + 1000 * 8);
    let entries =
        (1..=count).map(|n| with(small(&format!("{n:04}"), n * BLOB, "uint8"), fields())).collect();
    file(entries, (count + 1) * BLOB).build("").bytes
}
