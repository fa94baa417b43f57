//! Cases of the corpus about files that are not canonical because their version is not `1.2.0`, or because the encoding of
//! one CBOR item is not the canonical one: of a head, a length or a float.

use super::canonical::reject;
use super::canonical_values::DEEP;
use crate::base::{DATA_SHA256, dense_v0, v0};
use crate::canonical::{attribute, one};
use crate::cbor::{Head, Item, chunked, marked, marked_at, raw, tag, text, wide_text};
use crate::file::File;
use crate::table::Table;

const RULE: &str = "canonical-cbor";

pub(crate) fn cases(t: &mut Table) {
    generations(t);
    fields(t);
    containers(t);
    values(t);
    lengths(t);
    floats(t);
    places(t);
}

fn generations(t: &mut Table) {
    let rule = "canonical-generation";
    for version in ["1.2", "1.2.1", "1.2.10", "1.1.0", "1.1", "1.0.0", "1.3.0", "1.20.0"] {
        reject(t, rule, format!("version-{version}"), one().bad("version", text(version)), "dense");
    }
    reject(t, rule, "v01", dense_v0(), "dense");
    reject(t, rule, "v01-empty", v0(vec![]), "empty");
}

/// Adds cases about heads that are too long, in interpreted keys and values.
fn fields(t: &mut Table) {
    let integers: [(&str, &str, &[u8]); 9] = [
        ("shape-18", "w:/shape/#0", &[0x18, 2]),
        ("shape-19", "w:/shape/#1", &[0x19, 0, 2]),
        ("shape-1a", "w:/shape/#1", &[0x1a, 0, 0, 0, 2]),
        ("shape-1b", "w:/shape/#0", &[0x1b, 0, 0, 0, 0, 0, 0, 0, 2]),
        ("offset-19", "w:data/offset", &[0x19, 0, 64]),
        ("offset-1b", "w:data/offset", &[0x1b, 0, 0, 0, 0, 0, 0, 0, 64]),
        ("length-18", "w:data/length", &[0x18, 16]),
        ("length-19", "w:data/length", &[0x19, 0, 16]),
        ("length-1a", "w:data/length", &[0x1a, 0, 0, 0, 16]),
    ];
    for (case, path, bytes) in integers {
        reject(t, RULE, case, one().bad(path, raw(bytes)), "dense");
    }
    let digest = [&[0x79, 0, 71], DATA_SHA256.as_bytes()].concat();
    let texts: [(&str, &str, &[u8]); 5] = [
        ("version-78", "version", b"\x78\x051.2.0"),
        ("format-78", "w:/format", b"\x78\x05dense"),
        ("dtype-79", "w:data/dtype", b"\x79\0\x03f32"),
        ("dtype-7b", "w:data/dtype", b"\x7b\0\0\0\0\0\0\0\x03f32"),
        ("digest-79", "w:data/digest", &digest),
    ];
    for (case, path, bytes) in texts {
        reject(t, RULE, case, one().bad(path, raw(bytes)), "dense");
    }
    let keys: [(&str, &str, usize, &[u8]); 9] = [
        ("key-of-root", "", 2, b"\x78\x0aattributes"),
        ("name-78", "objects", 0, b"\x78\x01w"),
        ("name-79", "objects", 0, b"\x79\0\x01w"),
        ("name-7a", "objects", 0, b"\x7a\0\0\0\x01w"),
        ("key-of-object", "w:", 3, b"\x78\x0acomponents"),
        ("role", "w:/components", 0, b"\x78\x04data"),
        ("key-of-component", "w:data", 3, b"\x78\x06offset"),
        ("key-of-attributes", "attributes", 0, b"\x79\0\x01x"),
        ("key-of-object-attributes", "w:/attributes", 0, b"\x78\x01x"),
    ];
    for (case, path, index, bytes) in keys {
        let file = attribute().edit(path, |item| rekeyed(item, index, raw(bytes)));
        reject(t, RULE, case, file, "attribute");
    }
    let name = attribute().edit("objects", |item| rekeyed(item, 0, wide_text("w")));
    reject(t, RULE, "name-7b", name, "attribute");
}

/// Returns the map `item` with `key` in place of its key number `index`, and expects the error at this key.
fn rekeyed(item: Item, index: usize, key: Item) -> Item {
    let Item::Map(head, mut pairs) = item else { panic!("not a map") };
    pairs[index].0 = marked(key);
    Item::Map(head, pairs)
}

/// Adds cases about heads that are too long or indefinite, in the interpreted maps and arrays.
fn containers(t: &mut Table) {
    for (place, path) in [
        ("root", ""),
        ("objects", "objects"),
        ("object", "w:"),
        ("shape", "w:/shape"),
        ("components", "w:/components"),
        ("component", "w:data"),
        ("attributes", "attributes"),
        ("object-attributes", "w:/attributes"),
    ] {
        for (case, head) in [("wide", Head::Wide), ("indefinite", Head::Indefinite)] {
            let file = attribute().head(path, head).mark(path);
            reject(t, RULE, format!("{case}-{place}"), file, "attribute");
        }
    }
}

/// Rejects `bytes` as the value of an attribute of the file. The error is expected `skip` bytes into the value.
fn reject_value(t: &mut Table, case: &str, bytes: &[u8], skip: usize) {
    let file = attribute().set("attributes/x", marked_at(skip, raw(bytes)));
    reject(t, RULE, case, file, "attribute");
}

/// Adds cases about heads of the major types 0 to 6 whose number would fit in fewer bytes. Integers and tags have heads of
/// every width, each with 0 and with the largest number that would fit in fewer bytes. Strings, arrays and maps have some
/// widths and lengths.
fn values(t: &mut Table) {
    for (kind, major) in [("unsigned", 0), ("negative", 1), ("tag", 6)] {
        for info in 24..28_u8 {
            let width = 1_usize << (info - 24);
            let largest = match info {
                24 => vec![23],
                _ => [vec![0; width / 2], vec![0xff; width / 2]].concat(),
            };
            for (size, number) in [("0", vec![0; width]), ("largest", largest)] {
                let content: &[u8] = if major == 6 { &[0] } else { &[] };
                let bytes = [&[major << 5 | info], &number[..], content].concat();
                reject_value(t, &format!("{kind}-{:02x}-{size}", bytes[0]), &bytes, 0);
            }
        }
    }
    let lengths: [(&str, &[u8]); 12] = [
        ("bytes-58-0", &[0x58, 0]),
        ("bytes-58-23", &[&[0x58, 23], &[7; 23][..]].concat()),
        ("bytes-59-255", &[&[0x59, 0, 255], &[7; 255][..]].concat()),
        ("text-78-0", &[0x78, 0]),
        ("text-78-23", &[&[0x78, 23], &[b't'; 23][..]].concat()),
        ("text-79-255", &[&[0x79, 0, 255], &[b't'; 255][..]].concat()),
        ("text-7b-1", &[0x7b, 0, 0, 0, 0, 0, 0, 0, 1, b't']),
        ("array-98-0", &[0x98, 0]),
        ("array-98-23", &[&[0x98, 23], &[0; 23][..]].concat()),
        ("array-9a-1", &[0x9a, 0, 0, 0, 1, 0]),
        ("map-b8-0", &[0xb8, 0]),
        ("map-b9-1", &[0xb9, 0, 1, 0, 0]),
    ];
    for (case, bytes) in lengths {
        reject_value(t, case, bytes, 0);
    }
}

/// Adds cases about strings, arrays and maps of indefinite length.
fn lengths(t: &mut Table) {
    let values = [
        ("indefinite-array-of-0", raw(&[0x9f, 0xff])),
        ("indefinite-array-of-1", raw(&[0x9f, 0, 0xff])),
        ("indefinite-map-of-0", raw(&[0xbf, 0xff])),
        ("indefinite-map-of-1", raw(&[0xbf, 0, 0, 0xff])),
        ("bytes-without-chunks", chunked(2, &[])),
        ("bytes-in-1-chunk", chunked(2, &[b"a"])),
        ("bytes-in-2-chunks", chunked(2, &[b"a", b"b"])),
        ("text-without-chunks", chunked(3, &[])),
        ("text-in-1-chunk", chunked(3, &[b"a"])),
        ("text-in-2-chunks", chunked(3, &[b"a", b"b"])),
    ];
    for (case, value) in values {
        reject(t, RULE, case, attribute().bad("attributes/x", value), "attribute");
    }
}

fn floats(t: &mut Table) {
    let floats: [(&str, u64); 16] = [
        ("0", 0),
        ("negative-0", 0x8000_0000_0000_0000),
        ("1", 0x3ff0_0000_0000_0000),
        ("negative-1", 0xbff0_0000_0000_0000),
        ("65504", 0x40ef_fc00_0000_0000),
        ("half-with-all-bits", 0x3f55_5400_0000_0000),
        ("least-normal-half", 0x3f10_0000_0000_0000),
        ("largest-subnormal-half", 0x3f0f_f800_0000_0000),
        ("least-half", 0x3e70_0000_0000_0000),
        ("negative-least-half", 0xbe70_0000_0000_0000),
        ("infinity", 0x7ff0_0000_0000_0000),
        ("negative-infinity", 0xfff0_0000_0000_0000),
        ("nan", 0x7ff8_0000_0000_0000),
        ("negative-nan", 0xfff8_0000_0000_0000),
        ("signalling-nan", 0x7ff4_0000_0000_0000),
        ("nan-of-half-payload", 0x7ff8_0400_0000_0000),
    ];
    // Each of these floats can be represented as a half, so its encodings as a double and as a single are not canonical.
    for (case, bits) in floats {
        let double = [&[0xfb], &bits.to_be_bytes()[..]].concat();
        reject_value(t, &format!("double-{case}"), &double, 0);
        let single = [&[0xfa], &single(bits).to_be_bytes()[..]].concat();
        reject_value(t, &format!("single-{case}"), &single, 0);
    }
    let singles: [(&str, u64); 9] = [
        ("65536", 0x40f0_0000_0000_0000),
        ("65520", 0x40ef_fe00_0000_0000),
        ("half-and-1-bit", 0x3ff0_0200_0000_0000),
        ("half-of-least-half", 0x3e60_0000_0000_0000),
        ("largest-single", 0x47ef_ffff_e000_0000),
        ("least-normal-single", 0x3810_0000_0000_0000),
        ("largest-subnormal-single", 0x380f_ffff_c000_0000),
        ("least-single", 0x36a0_0000_0000_0000),
        ("nan-of-single-payload", 0x7ff8_0000_2000_0000),
    ];
    for (case, bits) in singles {
        let double = [&[0xfb], &bits.to_be_bytes()[..]].concat();
        reject_value(t, &format!("double-{case}"), &double, 0);
    }
    // These NaNs have no shorter encoding, but differ from the canonical NaN.
    let nans: [(&str, &[u8]); 7] = [
        ("half-nan-7e01", &[0xf9, 0x7e, 1]),
        ("half-nan-7c01", &[0xf9, 0x7c, 1]),
        ("half-nan-7fff", &[0xf9, 0x7f, 0xff]),
        ("half-nan-fe00", &[0xf9, 0xfe, 0]),
        ("single-nan-7fc00001", &[0xfa, 0x7f, 0xc0, 0, 1]),
        ("single-nan-7f800001", &[0xfa, 0x7f, 0x80, 0, 1]),
        ("double-nan-7ff8000000000001", &[0xfb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 1]),
    ];
    for (case, bytes) in nans {
        reject_value(t, case, bytes, 0);
    }
}

/// Returns the bits of the single-precision float that equals the double with the bits `bits`, which is representable
/// as a half.
fn single(bits: u64) -> u32 {
    let [sign, exponent, fraction] = [bits >> 63, bits >> 52 & 0x7ff, bits >> 29 & 0x7f_ffff];
    let exponent = match exponent {
        0 => 0,
        0x7ff => 0xff,
        _ => exponent - (1023 - 127),
    };
    u32::try_from(sign << 31 | exponent << 23 | fraction).expect("32 bits")
}

/// Adds cases in which an encoding that is not canonical is in another position than directly in an attribute of the
/// file.
fn places(t: &mut Table) {
    let long: [(&str, &[u8], usize); 9] = [
        ("array", &[0x82, 0, 0x18, 1], 2),
        ("map", &[0xa1, 0, 0x18, 1], 2),
        ("key", &[0xa1, 0x18, 1, 0], 1),
        ("array-in-key", &[0xa1, 0x81, 0x18, 1, 0], 2),
        ("map-in-key", &[0xa1, 0xa1, 0x18, 1, 0, 0], 2),
        ("tag", &[0xc1, 0x18, 1], 1),
        ("inner-tag", &[0xc1, 0xd8, 1, 0], 1),
        ("nested", &[0x81, 0xa1, 0x61, b'a', 0x81, 0xc0, 0x78, 0], 6),
        ("after-others", &[0x84, 0x81, 0xa0, 0x60, 0xf9, 0x7e, 0, 0x58, 0], 7),
    ];
    for (case, bytes, skip) in long {
        reject_value(t, &format!("long-in-{case}"), bytes, skip);
    }
    let indefinite: [(&str, &[u8], usize); 6] = [
        ("array", &[0x82, 0, 0x9f, 0xff], 2),
        ("map", &[0xa1, 0, 0xbf, 0xff], 2),
        ("key", &[0xa1, 0x7f, 0x61, b'a', 0xff, 0], 1),
        ("array-in-key", &[0xa1, 0x81, 0x5f, 0xff, 0], 2),
        ("tag", &[0xc1, 0x5f, 0xff], 1),
        ("array-as-key", &[0xa1, 0x9f, 0, 0xff, 0], 1),
    ];
    for (case, bytes, skip) in indefinite {
        reject_value(t, &format!("indefinite-in-{case}"), bytes, skip);
    }
    let single = [0xfa, 0x3f, 0x80, 0, 0];
    let nested = [
        ("array", raw(&[&[0x81], &single[..]].concat()), 1),
        ("key", raw(&[&[0xa1], &single[..], &[0]].concat()), 1),
        ("tag", tag(1, raw(&single)), 1),
    ];
    for (case, value, skip) in nested {
        let file = attribute().set("attributes/x", marked_at(skip, value));
        reject(t, RULE, format!("float-in-{case}"), file, "attribute");
    }
    let object = |bytes: &[u8]| attribute().bad("w:/attributes/x", raw(bytes));
    reject(t, RULE, "long-in-object", object(&[0x18, 1]), "attribute");
    reject(t, RULE, "indefinite-in-object", object(&[0x5f, 0xff]), "attribute");
    reject(t, RULE, "float-in-object", object(&single), "attribute");
    deepest(t);
}

/// Adds cases about items at the maximum depth: an item in the innermost of 62 nested arrays, and the innermost of 62 nested
/// maps.
fn deepest(t: &mut Table) {
    let arrays = |inner: &[u8]| {
        let bytes = [&[0x81].repeat(DEEP), inner].concat();
        attribute().set("attributes/x", marked_at(DEEP, raw(&bytes)))
    };
    reject(t, RULE, "long-at-depth-64", arrays(&[0x18, 0]), "deep-arrays");
    reject(t, RULE, "text-in-chunks-at-depth-64", arrays(&[0x7f, 0xff]), "deep-arrays");
    let maps = |open: &[u8], close: &[u8]| -> File {
        let outer = [0xa1, 0].repeat(DEEP - 1);
        let value = raw(&[&outer, open, close].concat());
        attribute().set("attributes/x", marked_at(outer.len(), value))
    };
    reject(t, RULE, "map-at-depth-64", maps(&[0xb8, 1, 0, 0], &[]), "deep-maps");
    reject(t, RULE, "indefinite-map-at-depth-64", maps(&[0xbf, 0, 0], &[0xff]), "deep-maps");
}
