//! Nested CBOR items, described by numbers: the bytes that open each level, the depth, and the innermost bytes.

use zten_corpus::cbor::{Item, fields, head, map, text};
use zten_corpus::file::File;

use super::{Description, Kind, Trait, traits};

/// The traits of an item.
pub(super) const VALUES: &[Trait] = &traits([
    ("open", LEVELS.len() as u64 - 1),
    ("other", LEVELS.len() as u64 - 1),
    // Each `every`-th level is opened by the bytes of `other` instead of those of `open`. If it is 0, no level is.
    ("every", 9),
    ("depth", 61),
    ("inner", INNERMOST.len() as u64 - 1),
]);

/// The bytes that open a level of nesting, and those that end it.
const LEVELS: &[(&[u8], &[u8])] = &[
    (&[0x81], &[]),
    (&[0x9f], &[0xff]),
    (&[0xa1, 0], &[]),
    (&[0xa1], &[0]),
    (&[0xbf, 0], &[0xff]),
    (&[0xbf], &[0, 0xff]),
    (&[0xc0], &[]),
    (&[0xd8, 0x40], &[]),
    (&[0x98, 1], &[]),
    (&[0x82, 0], &[]),
    (&[0x82], &[0]),
    (&[0x82, 0x80], &[]),
    (&[0xb8, 1, 0], &[]),
    (&[0xda, 0, 1, 0, 0], &[]),
    (&[0x9f, 0], &[0xff]),
];

const INNERMOST: &[&[u8]] = &[
    &[0],
    &[0x80],
    &[0xa0],
    &[0x60],
    &[0x40],
    &[0x7f, 0xff],
    &[0x5f, 0xff],
    &[0x7f, 0x60, 0xff],
    &[0x9f, 0xff],
    &[0xbf, 0xff],
    &[0xf4],
    &[0xf9, 0, 0],
    &[0x18, 0],
    &[0x1b, 0, 0, 0, 0, 0, 0, 0, 0],
    &[0x62, 0xc3, 0xa9],
    &[0x63, 0xe2, 0x82, 0xac],
    &[0x61, b'a'],
    &[0x78, 1, b'a'],
    &[0xf8, 32],
    &[0x7f, 0x60, 0x60, 0x60, 0x60, 0x60, 0x60, 0x60, 0xff],
    &[0x9f, 0, 0, 0, 0, 0, 0, 0, 0xff],
    &[0xfb, 0, 0, 0, 0, 0, 0, 0, 0],
];

/// Returns the bytes of one item that the traits of [`VALUES`] describe.
pub(super) fn value(of: &Description) -> Vec<u8> {
    let level = |at: usize| {
        let other = of.get("every") > 0 && at.is_multiple_of(of.get("every"));
        LEVELS[of.get(if other { "other" } else { "open" })]
    };
    let depth = of.get("depth");
    let opened = (0..depth).flat_map(|at| level(at).0).copied();
    let closed = (0..depth).rev().flat_map(|at| level(at).1).copied();
    opened.chain(INNERMOST[of.get("inner")].iter().copied()).chain(closed).collect()
}

/// Creates an array of values that has about `bytes` bytes.
pub(super) fn array_of(of: &Description, bytes: usize) -> Item {
    let value = value(of);
    let count = (bytes / value.len()).max(1);
    Item::Raw([head(4, count as u64), value.repeat(count)].concat())
}

/// Items in an ignored field.
pub(super) const ITEMS: Kind = Kind { name: "items", traits: &[VALUES], make: items };

fn items(of: &Description) -> Vec<u8> {
    let pairs = vec![
        (text("version"), text("1.2.0")),
        (text("objects"), fields([])),
        (text("x"), array_of(of, of.size())),
    ];
    File::v1(map(pairs)).build("").bytes
}
