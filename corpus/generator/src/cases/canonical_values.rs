//! Cases of the corpus about files in canonical form: names, attributes, and the heads of everything.

use super::canonical::accept;
use crate::canonical::{attribute, bare, canonical, dense, part, tensor};
use crate::cbor::{Item, array, bytes, head, nested, raw, sorted_map, tag, text, uint};
use crate::table::Table;

/// The smallest and the largest number for each width of a head.
const EDGES: [u64; 10] =
    [0, 23, 24, 0xff, 0x100, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, u64::MAX];

/// The number of levels that may be nested in an attribute of the file.
pub(crate) const DEEP: usize = 62;

/// Floats that are representable in two bytes.
const HALVES: [u16; 16] = [
    0, 0x8000, 0x3c00, 0xbc00, 1, 0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
    0x3c01, 0x3555, 0xc000,
];
/// Floats that need four bytes. Most of them are close to a limit of the floats that fit in two bytes, or of those that fit in
/// four.
const SINGLES: [u32; 12] = [
    0x3300_0000,
    0x33c0_0000,
    0x387f_e000,
    0x477f_f000,
    0x4780_0000,
    0xc780_0000,
    0x3f80_1000,
    0x3dcc_cccd,
    0x7f7f_ffff,
    0x0000_0001,
    0x007f_ffff,
    0x0080_0000,
];
/// Floats that need eight bytes. Most of them are close to a limit of the floats that fit in four bytes, or of those that fit in
/// eight.
const DOUBLES: [u64; 10] = [
    0x3690_0000_0000_0000,
    0x36a8_0000_0000_0000,
    0x380f_ffff_f000_0000,
    0x47ef_ffff_e000_0001,
    0x47f0_0000_0000_0000,
    0x3ff0_0000_1000_0000,
    0x3ff1_9999_9999_999a,
    0xbff1_9999_9999_999a,
    0x7fef_ffff_ffff_ffff,
    1,
];

pub(crate) fn cases(t: &mut Table) {
    attributes(t);
    numbers(t);
    keys(t);
    names(t);
    counts(t);
    // These attributes are nested as deep as a manifest may be.
    let arrays = attribute().set("attributes/x", nested(DEEP, &[0x81], &[0], &[]));
    accept(t, "deep-arrays", arrays);
    let maps = attribute().set("attributes/x", nested(DEEP, &[0xa1, 0], &[0], &[]));
    accept(t, "deep-maps", maps);
}

/// Returns a CBOR map with text keys, which are sorted as the canonical form requires.
fn sorted<const N: usize>(pairs: [(&str, Item); N]) -> Item {
    sorted_map(pairs.into_iter().map(|(key, value)| (text(key), value)).collect())
}

fn attributes(t: &mut Table) {
    let training = || {
        sorted([
            ("rates", array(vec![raw(&[0xf9, 0x3c, 0]), raw(&[0xfa, 0x3d, 0xcc, 0xcc, 0xcd])])),
            ("by_layer", sorted([("b", uint(2)), ("aa", uint(1)), ("", raw(&[0xf6]))])),
            ("date", tag(0, text("2024-01-01T00:00:00Z"))),
        ])
    };
    let file = sorted([
        ("training", training()),
        ("license", text("MIT")),
        ("vocabulary", bytes(&[0, 0xff])),
        ("none", raw(&[0xf6])),
        ("undefined", raw(&[0xf7])),
        ("simple", raw(&[0x85, 0xe0, 0xf3, 0xf8, 32, 0xf8, 255, 0xf4])),
        ("bias", raw(&[0x20])),
        ("empty", array(vec![sorted([]), array(vec![]), text(""), bytes(&[])])),
        ("big", tag(2, bytes(&[1, 0, 0, 0, 0, 0, 0, 0, 0]))),
        // The canonical form keeps a tag, even if the number in it has a shorter encoding without the tag.
        ("small", tag(2, bytes(&[0, 1]))),
    ]);
    let object = sorted([
        ("training", training()),
        ("eps", raw(&[0xfb, 0x3e, 0xb0, 0xc6, 0xf7, 0xa0, 0xb5, 0xed, 0x8d])),
        ("naïve", raw(&[0xf5])),
    ]);
    let all = vec![dense("w", &[1], "u8", &[7]).attributes(object), bare("x")];
    accept(t, "attributes", canonical(Some(file), all));
    // A file without objects may have attributes.
    accept(t, "only-attributes", canonical(Some(sorted([("a", uint(0))])), Vec::new()));
}

fn numbers(t: &mut Table) {
    let of = |major: u8| array(EDGES.iter().map(|&edge| raw(&head(major, edge))).collect());
    let lengths = [0, 1, 23, 24, 255, 256];
    let tags = EDGES.iter().map(|&number| tag(number, uint(0))).collect();
    let integers = sorted([
        ("unsigned", of(0)),
        ("negative", of(1)),
        ("bytes", array(lengths.map(|length| bytes(&[0xff].repeat(length))).into())),
        ("texts", array(lengths.map(|length| text(&"t".repeat(length))).into())),
        ("arrays", array(lengths.map(|length| array(vec![uint(0); length])).into())),
        (
            "maps",
            array(
                [0, 1, 23, 24, 256]
                    .map(|length| sorted_map((0..length).map(|key| (uint(key), uint(0))).collect()))
                    .into(),
            ),
        ),
        ("tags", array(tags)),
    ]);
    accept(t, "heads", canonical(Some(integers), Vec::new()));
    let float = |info: u8, bits: &[u8]| raw(&[&[0xe0 + info], bits].concat());
    let floats = sorted([
        ("half", array(HALVES.map(|bits| float(25, &bits.to_be_bytes())).into())),
        ("single", array(SINGLES.map(|bits| float(26, &bits.to_be_bytes())).into())),
        ("double", array(DOUBLES.map(|bits| float(27, &bits.to_be_bytes())).into())),
    ]);
    accept(t, "floats", canonical(None, vec![dense("w", &[1], "u8", &[7]).attributes(floats)]));
}

/// Adds cases about keys of every kind in the value of an attribute.
fn keys(t: &mut Table) {
    let mut keys: Vec<Item> = EDGES.iter().map(|&edge| uint(edge)).collect();
    keys.extend([raw(&[0x20]), raw(&[0x37]), raw(&[0x38, 24])]);
    keys.extend([&[][..], &[0], &[0xff], &[0, 0]].map(bytes));
    keys.extend(["", "b", "z", "aa", "é"].map(text));
    keys.extend([
        array(vec![]),
        array(vec![uint(1)]),
        array(vec![uint(0), uint(0)]),
        sorted([]),
        sorted([("b", uint(0)), ("aa", uint(0))]),
        tag(0, text("")),
        tag(1, uint(0)),
        tag(24, uint(0)),
    ]);
    let simple: [&[u8]; 12] = [
        &[0xe0],
        &[0xf4],
        &[0xf5],
        &[0xf6],
        &[0xf7],
        &[0xf8, 32],
        &[0xf9, 0, 0],
        &[0xf9, 0x3c, 0],
        &[0xf9, 0x7e, 0],
        &[0xf9, 0xbc, 0],
        &[0xfa, 0x47, 0x80, 0, 0],
        &[0xfb, 0x3f, 0xf1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a],
    ];
    keys.extend(simple.map(raw));
    let all = sorted_map(keys.into_iter().map(|key| (key, uint(0))).collect());
    accept(t, "keys", canonical(Some(sorted([("x", all)])), Vec::new()));
}

/// Adds cases about names: short names sort before long names, whatever their letters are.
fn names(t: &mut Table) {
    let long = |letter: &str, length| letter.repeat(length);
    let names = [
        String::new(),
        "b".to_owned(),
        "aa".to_owned(),
        "ab".to_owned(),
        "a\0".to_owned(),
        "é".to_owned(),
        long("z", 23),
        long("a", 24),
        long("z", 255),
        long("a", 256),
    ];
    let all = names.iter().zip(1..).map(|(name, byte)| dense(name, &[1], "u8", &[byte]));
    accept(t, "names", canonical(None, all.collect()));
}

/// Adds cases about numbers of entries that do not fit in the first byte of a head.
fn counts(t: &mut Table) {
    let attributes = (0..24).map(|n| (text(&format!("a{n}")), uint(n))).collect();
    let parts = (0..24).map(|n| part(&format!("part-{n}"), "u8", &[])).collect();
    let mut objects: Vec<_> = (0..24).map(|n| bare(&format!("bare-{n}"))).collect();
    objects.push(tensor("shape", &EDGES, "x", Vec::new()));
    objects.push(tensor("rank", &[1; 24], "x", Vec::new()));
    objects.push(tensor("parts", &[], "x", parts));
    accept(t, "counts", canonical(Some(sorted_map(attributes)), objects));
}
