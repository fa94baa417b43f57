//! CBOR items of any size, in an ignored field or as an attribute.

use zten_corpus::cbor::{Item, fields, head, map, text};
use zten_corpus::file::File;

/// The number of levels that an item may have in an ignored field or as an attribute.
const LEVELS: usize = 62;

/// Returns a file without objects, with its manifest at the canonical offset.
fn around(key: &str, item: Item) -> Vec<u8> {
    let objects = (text("objects"), fields([]));
    let version = (text("version"), text("1.2.0"));
    File::v1(map(vec![objects, version, (text(key), item)])).start(64).build("").bytes
}

/// Returns a file with this item in an ignored field.
pub(super) fn ignored(item: Vec<u8>) -> Vec<u8> {
    around("x", Item::Raw(item))
}

/// Returns a file with this item as an attribute.
pub(super) fn attribute(item: Vec<u8>) -> Vec<u8> {
    around("attributes", fields([("a", Item::Raw(item))]))
}

/// Returns an array of equal items, each of the largest allowed depth: opening bytes, the innermost bytes, and closing bytes.
pub(super) fn towers(size: usize, open: &[u8], inner: &[u8], close: &[u8]) -> Vec<u8> {
    let depth = LEVELS - 1;
    let tower = [open.repeat(depth), inner.to_vec(), close.repeat(depth)].concat();
    array_of(size, &tower)
}

fn array_of(size: usize, item: &[u8]) -> Vec<u8> {
    let count = super::count(size, item.len());
    [head(4, count as u64), item.repeat(count)].concat()
}

/// Returns one tower of arrays of indefinite length around a wide one.
pub(super) fn endless(size: usize) -> Vec<u8> {
    let depth = LEVELS - 1;
    [vec![0x9f; depth], array_of(size, &[0]), vec![0xff; depth]].concat()
}

pub(super) fn wide_array(size: usize) -> Vec<u8> {
    array_of(size, &[0])
}

/// Returns an array of many equal items.
pub(super) fn many(size: usize, item: &[u8]) -> Vec<u8> {
    array_of(size, item)
}

/// Returns a map of numbers to numbers.
pub(super) fn wide_map(size: usize) -> Vec<u8> {
    map_of((0..keys(size)).map(key))
}

/// Returns the map of [`wide_map`] with its keys in descending order.
pub(super) fn reversed_map(size: usize) -> Vec<u8> {
    map_of((0..keys(size)).rev().map(key))
}

/// Returns the map of [`reversed_map`] with its first key again as the last one.
pub(super) fn twice_map(size: usize) -> Vec<u8> {
    map_of((0..keys(size)).rev().chain([keys(size) - 1]).map(key))
}

fn keys(size: usize) -> u64 {
    super::count(size, 6) as u64
}

/// Returns a number in five bytes, so that larger numbers sort later.
fn key(n: u64) -> Vec<u8> {
    head(0, n + 0x1_0000)
}

fn map_of(keys: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let keys: Vec<_> = keys.collect();
    let entries = keys.iter().flat_map(|key| [key.as_slice(), &[0]].concat());
    head(5, keys.len() as u64).into_iter().chain(entries).collect()
}

/// Returns a text of many chunks.
pub(super) fn chunks(size: usize, chunk: &[u8]) -> Vec<u8> {
    [vec![0x7f], chunk.repeat(size / chunk.len()), vec![0xff]].concat()
}

/// Returns an array whose last item is invalid.
pub(super) fn reserved(size: usize) -> Vec<u8> {
    [head(4, size as u64 + 1), vec![0; size], vec![0x1c]].concat()
}

/// Returns nested maps of two keys, which are again such maps, and which differ only in their last byte.
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

/// Returns maps of the largest allowed depth. At each level, two keys are in the wrong order.
pub(super) fn reversed_levels(size: usize) -> Vec<u8> {
    let depth = LEVELS - 1;
    let level = [0xa2, 1];
    let filler = array_of(size, &[0]);
    [level.repeat(depth), filler, [0, 0].repeat(depth)].concat()
}
