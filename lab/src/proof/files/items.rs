//! CBOR items of any size, in a field that is ignored or as an attribute.

use zten_corpus::cbor::{Item, fields, head, map, text};
use zten_corpus::file::File;

/// Levels that an item in an ignored field, or as an attribute, may have.
const LEVELS: usize = 62;

/// A file without objects, its manifest where the canonical form has it.
fn around(key: &str, item: Item) -> Vec<u8> {
    let objects = (text("objects"), fields([]));
    let version = (text("version"), text("1.2.0"));
    File::v1(map(vec![objects, version, (text(key), item)])).start(64).build("").bytes
}

/// Returns a file with that item in a field that is ignored.
pub(super) fn ignored(item: Vec<u8>) -> Vec<u8> {
    around("x", Item::Raw(item))
}

/// Returns a file with that item as an attribute.
pub(super) fn attribute(item: Vec<u8>) -> Vec<u8> {
    around("attributes", fields([("a", Item::Raw(item))]))
}

/// An array of what is as deep as may be: levels that open, what is innermost, and their ends.
pub(super) fn towers(size: usize, open: &[u8], inner: &[u8], close: &[u8]) -> Vec<u8> {
    let depth = LEVELS - 1;
    let tower = [open.repeat(depth), inner.to_vec(), close.repeat(depth)].concat();
    array_of(size, &tower)
}

fn array_of(size: usize, item: &[u8]) -> Vec<u8> {
    let count = super::count(size, item.len());
    [head(4, count as u64), item.repeat(count)].concat()
}

/// One tower, of arrays without a count, that holds a wide one.
pub(super) fn endless(size: usize) -> Vec<u8> {
    let depth = LEVELS - 1;
    [vec![0x9f; depth], array_of(size, &[0]), vec![0xff; depth]].concat()
}

pub(super) fn wide_array(size: usize) -> Vec<u8> {
    array_of(size, &[0])
}

/// Many of the same item.
pub(super) fn many(size: usize, item: &[u8]) -> Vec<u8> {
    array_of(size, item)
}

/// A map of numbers to numbers.
pub(super) fn wide_map(size: usize) -> Vec<u8> {
    map_of((0..keys(size)).map(key))
}

/// The same, its keys descending.
pub(super) fn reversed_map(size: usize) -> Vec<u8> {
    map_of((0..keys(size)).rev().map(key))
}

/// The same, the last key being the first once more.
pub(super) fn twice_map(size: usize) -> Vec<u8> {
    map_of((0..keys(size)).rev().chain([keys(size) - 1]).map(key))
}

fn keys(size: usize) -> u64 {
    super::count(size, 6) as u64
}

/// Numbers of five bytes, so that those that are greater come later.
fn key(n: u64) -> Vec<u8> {
    head(0, n + 0x1_0000)
}

fn map_of(keys: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let keys: Vec<_> = keys.collect();
    let entries = keys.iter().flat_map(|key| [key.as_slice(), &[0]].concat());
    head(5, keys.len() as u64).into_iter().chain(entries).collect()
}

/// A text of many chunks.
pub(super) fn chunks(size: usize, chunk: &[u8]) -> Vec<u8> {
    [vec![0x7f], chunk.repeat(size / chunk.len()), vec![0xff]].concat()
}

/// An array whose last item is none.
pub(super) fn reserved(size: usize) -> Vec<u8> {
    [head(4, size as u64 + 1), vec![0; size], vec![0x1c]].concat()
}

/// Maps of two keys, which are such maps and differ in their last byte, over and over.
pub(super) fn alike_keys(size: usize) -> Vec<u8> {
    let mut item = vec![0];
    let mut depth = 0;
    while 2 * item.len() + 3 < size && depth < LEVELS - 1 {
        let mut other = item.clone();
        *other.last_mut().expect("a byte") += 1;
        item = [vec![0xa2], item, vec![0], other, vec![0]].concat();
        depth += 1;
    }
    array_of(size, &item)
}

/// Maps as deep as may be, at each level of two keys in the wrong order.
pub(super) fn reversed_levels(size: usize) -> Vec<u8> {
    let depth = LEVELS - 1;
    let level = [0xa2, 1];
    let filler = array_of(size, &[0]);
    [level.repeat(depth), filler, [0, 0].repeat(depth)].concat()
}
