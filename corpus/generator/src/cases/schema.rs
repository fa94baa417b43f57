//! Cases of the corpus about missing required fields, and fields of the wrong type.

use crate::base::{dense, dense_v0, dense_zstd, full, full_v0};
use crate::cbor::{Item, array, bytes, fields, marked, raw, tag, text, uint, uints, wide_head};
use crate::table::Table;

/// The type of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Uint,
    Map,
    Shape,
}

/// A field in the tables: its path, its type, and the rule about its type.
type Field = (&'static str, Kind, &'static str);

const FIELDS: [Field; 15] = [
    ("version", Kind::Text, "version-type"),
    ("attributes", Kind::Map, "attributes-type"),
    ("objects", Kind::Map, "objects-type"),
    ("w:", Kind::Map, "object-type"),
    ("w:/shape", Kind::Shape, "shape-type"),
    ("w:/format", Kind::Text, "format-type"),
    ("w:/components", Kind::Map, "components-type"),
    ("w:data", Kind::Map, "component-type"),
    ("w:data/dtype", Kind::Text, "dtype-type"),
    ("w:data/type", Kind::Text, "type-type"),
    ("w:data/offset", Kind::Uint, "offset-type"),
    ("w:data/length", Kind::Uint, "length-type"),
    ("w:data/uncompressed_length", Kind::Uint, "uncompressed-length-type"),
    ("w:data/encoding", Kind::Text, "encoding-type"),
    ("w:data/digest", Kind::Text, "digest-type"),
];

const FIELDS_V0: [Field; 10] = [
    ("#0", Kind::Map, "object-type"),
    ("#0/name", Kind::Text, "name-type"),
    ("#0/offset", Kind::Uint, "offset-type"),
    ("#0/size", Kind::Uint, "length-type"),
    ("#0/dtype", Kind::Text, "dtype-type"),
    ("#0/shape", Kind::Shape, "shape-type"),
    ("#0/encoding", Kind::Text, "encoding-type"),
    ("#0/layout", Kind::Text, "layout-type"),
    ("#0/data_endianness", Kind::Text, "endianness-type"),
    ("#0/checksum", Kind::Text, "digest-type"),
];

/// The rules about the types of the fields whose default in the tables is null.
const NULLABLE: [&str; 3] = ["type-type", "uncompressed-length-type", "digest-type"];

pub(crate) fn cases(t: &mut Table) {
    missing(t);
    for (path, kind, rule) in FIELDS {
        let right = full("1.2.0").take(path);
        for (case, item) in wrong(kind, &right) {
            if case == "null" && NULLABLE.contains(&rule) {
                continue;
            }
            let file = full("1.2.0").bad(path, item);
            t.reject(rule, format!("v12-{case}"), file, "v12-all-fields");
        }
    }
    for (path, kind, rule) in FIELDS_V0 {
        let right = full_v0().take(path);
        for (case, item) in wrong(kind, &right) {
            let file = full_v0().bad(path, item);
            t.reject(rule, format!("v01-{case}"), file, "v01-all-fields");
        }
    }
    others(t);
    shapes(t);
}

/// Adds cases about wrong types that the loop over all fields does not reach: fields of 1.1 and of objects, and
/// numbers in place of texts.
fn others(t: &mut Table) {
    let attributes = full("1.2.0").bad("w:/attributes", array(vec![]));
    t.reject("attributes-type", "v12-array-in-object", attributes, "v12-all-fields");
    let attributes = full("1.2.0").bad("w:/attributes", raw(&[0xf6]));
    t.reject("attributes-type", "v12-null-in-object", attributes, "v12-all-fields");
    t.reject(
        "offset-type",
        "v11-text",
        full("1.1.0").bad("w:data/offset", text("64")),
        "v11-all-fields",
    );
    t.reject(
        "encoding-type",
        "v11-null",
        full("1.1.0").bad("w:data/encoding", raw(&[0xf6])),
        "v11-all-fields",
    );
    // Each text is replaced by a number that equals its length, followed by the bytes of the text, as if the type bits
    // of the text's head were lost.
    let format = dense("1.2.0").bad("w:/format", raw(b"\x05dense"));
    t.reject("format-type", "v12-number-before-name", format, "v12-dense");
    let dtype = dense("1.2.0").bad("w:data/dtype", raw(b"\x03f32"));
    t.reject("dtype-type", "v12-number-before-name", dtype, "v12-dense");
    let data = dense("1.2.0").take("w:data");
    let role = dense("1.2.0").without("w:data");
    let role = role.push("w:/components", marked(raw(b"\x04data")), data);
    t.reject("key-type", "v12-number-before-role", role, "v12-dense");
    t.reject(
        "version-type",
        "v12-number",
        full("1.2.0").bad("version", raw(&[0xfb, 0x3f, 0xf3, 0x33, 0x33, 0x33, 0x33, 0x33, 0x33])),
        "v12-all-fields",
    );
}

fn missing(t: &mut Table) {
    for (path, rule) in [
        ("version", "version-missing"),
        ("objects", "objects-missing"),
        ("w:/shape", "shape-missing"),
        ("w:/format", "format-missing"),
        ("w:/components", "components-missing"),
        ("w:data/dtype", "dtype-missing"),
        ("w:data/offset", "offset-missing"),
        ("w:data/length", "length-missing"),
    ] {
        t.reject(rule, "v12", dense("1.2.0").lacks(path), "v12-dense");
        t.reject(rule, "v11", dense("1.1.0").lacks(path), "v11-dense");
        // The field exists under a key whose first letter is in upper case, so the right key is missing.
        let (parent, key) = path.rsplit_once('/').unwrap_or(("", path));
        let value = dense("1.2.0").take(path);
        let upper = key[..1].to_uppercase() + &key[1..];
        let file = dense("1.2.0").push(parent, text(&upper), value).lacks(path);
        t.reject(rule, "v12-upper-case", file, "v12-dense");
    }
    for (key, rule) in [
        ("name", "name-missing"),
        ("shape", "shape-missing"),
        ("dtype", "dtype-missing"),
        ("offset", "offset-missing"),
        ("size", "length-missing"),
        ("encoding", "encoding-missing"),
    ] {
        let path = format!("#0/{key}");
        t.reject(rule, "v01", dense_v0().lacks(&path), "v01-dense");
    }
    // The field has the keyword of the other generation: `length` for `size`, or `size` for `length`.
    let size = dense_v0().push("#0", text("length"), uint(16)).lacks("#0/size");
    t.reject("length-missing", "v01-length-for-size", size, "v01-dense");
    let size = dense("1.2.0").push("w:data", text("size"), uint(16)).lacks("w:data/length");
    t.reject("length-missing", "v12-size-for-length", size, "v12-dense");

    let path = "w:data/uncompressed_length";
    t.accept("v12-zstd", dense_zstd("1.2.0"));
    t.accept("v11-zstd", dense_zstd("1.1.0").without(path));
    t.accept("v1-9-zstd", dense_zstd("1.9"));
    for version in ["1.2.0", "1.2", "1.10.0", "1.4294967295"] {
        let case = format!("version-{version}");
        t.reject("uncompressed-length-missing", case, dense_zstd(version).lacks(path), "v12-zstd");
    }
    let null = dense_zstd("1.2.0").set(path, raw(&[0xf6])).mark("w:data");
    t.reject("uncompressed-length-missing", "null", null, "v12-zstd");
}

/// Returns values of other CBOR types than a field of the kind `kind` has, each with a name for the test file. `right` is a
/// valid value of the field. Some of the values mean the same as `right` (a float for an integer, for example), so that a
/// reader rejects them only if it checks the type.
fn wrong(kind: Kind, right: &Item) -> Vec<(&'static str, Item)> {
    let mut items = vec![
        ("null", raw(&[0xf6])),
        ("undefined", raw(&[0xf7])),
        ("true", raw(&[0xf5])),
        ("tagged", tag(22, right.clone())),
        ("simple-value", raw(&[0xe0])),
    ];
    let encoded = right.encode().bytes;
    match kind {
        Kind::Text => {
            // `same` is the text as a byte string: major type 2 instead of 3.
            let first = encoded[0] & 0x1f | 0x40;
            let same = [&[first], &encoded[1..]].concat();
            let in_chunk = [&[0x5f], same.as_slice(), &[0xff]].concat();
            items.extend([
                ("integer", uint(1)),
                ("bytes", raw(&same)),
                ("bytes-in-chunks", raw(&in_chunk)),
                ("array", array(vec![right.clone()])),
                ("map", fields([])),
            ]);
        }
        Kind::Uint => {
            // The base files have numbers below 256, whose last byte is their value.
            let value = encoded[encoded.len() - 1];
            let float = [&[0xfa], &f32::from(value).to_be_bytes()[..]].concat();
            let double = [&[0xfb], &f64::from(value).to_be_bytes()[..]].concat();
            items.extend([
                ("negative", raw(&[0x20])),
                ("negative-of-64-bits", Item::Raw(wide_head(1, u64::MAX))),
                ("bignum", tag(2, bytes(&[value]))),
                ("bignum-of-65-bits", tag(2, bytes(&[1, 0, 0, 0, 0, 0, 0, 0, value]))),
                ("float", raw(&float)),
                ("double", raw(&double)),
                ("text", text(&value.to_string())),
                ("bytes", bytes(&[value])),
                ("array", array(vec![right.clone()])),
                ("map", fields([])),
            ]);
        }
        Kind::Map => items.extend([
            ("integer", uint(1)),
            ("text", text("map")),
            ("bytes", bytes(&[0xa0])),
            ("array", array(vec![])),
            ("array-around", array(vec![right.clone()])),
        ]),
        Kind::Shape => items.extend([
            ("integer", uint(4)),
            ("text", text("[2]")),
            ("bytes", bytes(&[2])),
            ("map", fields([])),
        ]),
    }
    items
}

/// Adds cases about shapes with a dimension of the wrong type. The error is expected at the dimension.
fn shapes(t: &mut Table) {
    let dimensions = [
        ("negative", raw(&[0x21])),
        ("bignum", tag(2, bytes(&[2]))),
        ("float", raw(&[0xf9, 0x40, 0])),
        ("text", text("2")),
        ("null", raw(&[0xf6])),
        ("undefined", raw(&[0xf7])),
        ("true", raw(&[0xf5])),
        ("tagged", tag(0, uint(2))),
        ("array", uints(&[2])),
    ];
    for (case, item) in dimensions {
        let file = full("1.2.0").set("w:/shape", array(vec![uint(8), marked(item.clone())]));
        t.reject("shape-type", format!("v12-{case}-dimension"), file, "v12-all-fields");
        let file = full_v0().set("#0/shape", array(vec![uint(2), marked(item)]));
        t.reject("shape-type", format!("v01-{case}-dimension"), file, "v01-all-fields");
    }
}
