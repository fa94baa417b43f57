//! Accepted files that no rejected file is derived from: content that the specifications allow and few writers use.

use crate::base::{
    DATA, NONE, component, coo, dense, dense_object, dense_v0, entry, full, ignored, ignored_v0,
    object, v0, v1, words,
};
use crate::cbor::{
    Head, Item, array, bytes, chunked, fields, map, raw, tag, text, uint, uints, wide_head,
    wide_text,
};
use crate::file::File;
use crate::table::Table;

pub(crate) fn cases(t: &mut Table) {
    heads(t);
    orders(t);
    ignored_values(t);
    nulls(t);
    names(t);
    sparse(t);
}

fn wide(value: u64) -> Item {
    Item::Raw(wide_head(0, value))
}

fn heads(t: &mut Table) {
    let v1_maps = ["", "objects", "w:", "w:/shape", "w:/components", "w:data"];
    let v0_maps = ["", "#0", "#0/shape"];
    for (case, head) in [("indefinite", Head::Indefinite), ("wide", Head::Wide)] {
        let all = v1_maps.into_iter().fold(dense("1.2.0"), |file, path| file.head(path, head));
        t.accept(format!("v12-{case}-heads"), all);
        let all = v0_maps.into_iter().fold(dense_v0(), |file, path| file.head(path, head));
        t.accept(format!("v01-{case}-heads"), all);
    }
    let integers = dense("1.2.0")
        .set("w:data/offset", raw(&[0x1a, 0, 0, 0, 64]))
        .set("w:data/length", raw(&[0x19, 0, 16]))
        .set("w:/shape", array(vec![raw(&[0x18, 2]), wide(2)]));
    t.accept("v12-wide-integers", integers);
    let integers = dense_v0()
        .set("#0/offset", wide(64))
        .set("#0/size", wide(16))
        .set("#0/shape", array(vec![raw(&[0x19, 0, 2]), raw(&[0x1a, 0, 0, 0, 2])]));
    t.accept("v01-wide-integers", integers);
    let strings = dense("1.2.0")
        .set("version", wide_text("1.2.0"))
        .set("w:/format", raw(b"\x79\0\x05dense"))
        .set("w:data/dtype", raw(b"\x78\x03f32"));
    t.accept("v12-wide-strings", strings);
    let component = map(vec![
        (wide_text("dtype"), text("f32")),
        (raw(b"\x78\x06offset"), uint(64)),
        (raw(b"\x79\0\x06length"), uint(16)),
    ]);
    t.accept("v12-wide-keys", dense("1.2.0").set("w:data", component));
    t.accept("v01-empty-indefinite", v0(vec![]).head("", Head::Indefinite));
    t.accept("v12-smallest-indefinite", v1("1.2", NONE).head("", Head::Indefinite));
}

fn orders(t: &mut Table) {
    let objects = dense("1.2.0").take("objects");
    let root = fields([("objects", objects), ("version", text("1.2.0"))]);
    t.accept("v12-objects-before-version", File::v1(root).blob(64, &DATA));
    // The objects depend on the version, but may come before the version in the manifest.
    let complex = dense_object(&[2], component("complex64", 64, 16));
    let root = fields([("objects", fields([("w", complex)])), ("version", text("1.1"))]);
    t.accept("v11-objects-before-version", File::v1(root).blob(64, &DATA));
    let data = fields([("length", uint(16)), ("offset", uint(64)), ("dtype", text("f32"))]);
    let object = fields([
        ("components", fields([("data", data)])),
        ("format", text("dense")),
        ("shape", uints(&[2, 2])),
    ]);
    t.accept("v12-fields-reversed", dense("1.2.0").set("w:", object));
}

fn ignored_values(t: &mut Table) {
    let values: [(&str, Item); 22] = [
        ("negative", raw(&[0x3b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])),
        ("bytes", bytes(&[0xff, 0xfe])),
        ("text", text("naïve")),
        ("chunked-bytes", chunked(2, &[b"a", b"", b"b"])),
        ("chunked-text", chunked(3, &["na".as_bytes(), "ïve".as_bytes()])),
        ("no-chunks", chunked(3, &[])),
        ("array", array(vec![uint(1), text("a"), array(vec![])])),
        ("indefinite-array", Item::Array(Head::Indefinite, vec![uint(1), raw(&[0xf6])])),
        ("map-with-duplicate-keys", map(vec![(text("a"), uint(1)), (text("a"), uint(2))])),
        (
            "map-with-other-keys",
            map(vec![(uint(1), uint(1)), (raw(&[0xf6]), uint(2)), (uints(&[1]), uint(3))]),
        ),
        ("map-with-chunked-key", map(vec![(chunked(3, &[b"a"]), uint(1))])),
        ("indefinite-map", Item::Map(Head::Indefinite, vec![(bytes(b"k"), uint(1))])),
        ("tag", tag(0, text("2024-01-01T00:00:00Z"))),
        ("tag-of-64-bits", tag(u64::MAX, uint(0))),
        ("bignum", tag(2, bytes(&[1, 0, 0, 0, 0, 0, 0, 0, 0]))),
        ("negative-bignum", tag(3, bytes(&[1, 0, 0, 0, 0, 0, 0, 0, 0]))),
        ("true-and-false", raw(&[0x82, 0xf5, 0xf4])),
        ("null-and-undefined", raw(&[0x82, 0xf6, 0xf7])),
        ("simple-values", raw(&[0x85, 0xe0, 0xf3, 0xf8, 32, 0xf8, 128, 0xf8, 255])),
        ("half-floats", raw(&[0x83, 0xf9, 0x3c, 0, 0xf9, 0x7e, 0, 0xf9, 0, 1])),
        ("floats", raw(&[0x82, 0xfa, 0x7f, 0xc0, 0, 1, 0xfa, 0xff, 0x80, 0, 0])),
        ("doubles", raw(&[0x81, 0xfb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 1])),
    ];
    for (case, value) in values {
        let paths = ["x", "attributes/x", "w:/x", "w:/attributes/x", "w:data/x"];
        let file = paths.into_iter().fold(ignored(), |file, path| file.set(path, value.clone()));
        t.accept(format!("v12-ignored-{case}"), file);
        t.accept(format!("v01-ignored-{case}"), ignored_v0().set("#0/x", value));
    }
    // A keyword of one map is an unknown field in another map, where it may have any value.
    let words = dense("1.2.0")
        .set("shape", text("none"))
        .set("w:/offset", text("none"))
        .set("w:data/checksum", uint(0))
        .set("w:data/size", raw(&[0xf6]));
    t.accept("v12-known-words-elsewhere", words);
    let words = dense_v0().set("#0/length", raw(&[0xf6])).set("#0/sparse_format", uint(0));
    t.accept("v01-known-words-elsewhere", words);
    let later = dense_v0().set("#0/attributes", fields([])).set("#0/format", text("sparse_csr"));
    t.accept("v01-fields-named-as-later", later);
    t.accept(
        "v12-empty-attributes",
        full("1.2.0").set("attributes", fields([])).set("w:/attributes", fields([])),
    );
}

fn nulls(t: &mut Table) {
    for field in ["type", "uncompressed_length", "digest"] {
        let path = format!("w:data/{field}");
        t.accept(format!("v12-null-{field}"), dense("1.2.0").set(&path, raw(&[0xf6])));
        t.accept(format!("v11-null-{field}"), dense("1.1.0").set(&path, raw(&[0xf6])));
    }
    t.accept("v12-encoding-raw", dense("1.2.0").set("w:data/encoding", text("raw")));
    t.accept(
        "v12-uncompressed-length-raw",
        dense("1.2.0").set("w:data/uncompressed_length", uint(16)),
    );
    t.accept("v01-layout-dense", dense_v0().set("#0/layout", text("dense")));
}

fn names(t: &mut Table) {
    let kilobytes = "long".repeat(2000);
    let all = [
        "z",
        "",
        "a\0b",
        "a",
        "né",
        "ne\u{301}",
        "\u{1f600}",
        "\u{feff}",
        "a/b",
        " ",
        "\u{202e}",
        &kilobytes,
    ];
    let objects = all.iter().enumerate().map(|(index, &name)| {
        (name, dense_object(&[1], component("u8", 64 * (index as u64 + 1), 1)))
    });
    t.accept("v12-names", v1("1.2.0", objects).blob(64, &[5; 64 * 11 + 1]));
    let entries = all
        .iter()
        .enumerate()
        .map(|(index, name)| entry(name, "uint8", &[1], 64 * (index as u64 + 1), 1));
    t.accept("v01-names", v0(entries.collect()).blob(64, &[5; 64 * 11 + 1]));
    let role = dense("1.2.0").set(
        "w:",
        object(
            &[2, 2],
            "dense",
            vec![
                ("", component("u8", 0, 0)),
                ("data", component("f32", 64, 16)),
                ("é\0", component("u8", 0, 0)),
            ],
        ),
    );
    t.accept("v12-role-names", role);
    // These roles have the names of fields of a component. They are roles nevertheless, and not fields of the component
    // before them.
    let roles = ["data", "digest", "encoding", "uncompressed_length", "type"];
    let parts = roles.into_iter().zip(1..).map(|(role, at)| (role, component("u8", 64 * at, 1)));
    let fields = v1("1.2.0", vec![("w", object(&[1], "dense", parts))]);
    t.accept("v12-roles-named-as-fields", fields.blob(64, &[5; 64 * 4 + 1]));
}

fn sparse(t: &mut Table) {
    let values = || component("f32", 64, 8);
    for (case, shape, coords) in [
        ("rank-1", vec![3], vec![0, 2]),
        ("rank-3", vec![2, 3, 4], vec![0, 1, 2, 0, 3, 1]),
        ("huge-shape", vec![1 << 40, 1 << 40], vec![0, (1 << 40) - 1, 1 << 39, 7]),
        ("repeated", vec![2, 3], vec![1, 1, 2, 2]),
        ("falling", vec![2, 3], vec![1, 0, 2, 2]),
    ] {
        let data = words(&coords);
        let item = object(
            &shape,
            "sparse_coo",
            vec![("values", values()), ("coords", component("u64", 128, data.len() as u64))],
        );
        let file = v1("1.2.0", vec![("w", item)]).blob(64, &DATA[..8]).blob(128, &data);
        t.accept(format!("v12-coo-{case}"), file);
    }
    let csr = |shape: &[u64], indices: &[u64], indptr: &[u64]| {
        let (indices, indptr) = (words(indices), words(indptr));
        let item = object(
            shape,
            "sparse_csr",
            vec![
                ("values", values()),
                ("indices", component("u64", 128, indices.len() as u64)),
                ("indptr", component("u64", 192, indptr.len() as u64)),
            ],
        );
        v1("1.2.0", vec![("w", item)]).blob(64, &DATA[..8]).blob(128, &indices).blob(192, &indptr)
    };
    t.accept("v12-csr-huge-columns", csr(&[2, u64::MAX], &[u64::MAX - 1, 0], &[0, 1, 2]));
    t.accept("v12-csr-unsorted-columns", csr(&[1, 3], &[2, 0], &[0, 2]));
    t.accept("v12-csr-repeated-column", csr(&[1, 3], &[1, 1], &[0, 2]));
    t.accept("v12-csr-empty-rows", csr(&[4, 3], &[0, 1], &[0, 0, 2, 2, 2]));
    let none = object(
        &[0, 3],
        "sparse_csr",
        vec![
            ("values", component("f32", 64, 0)),
            ("indices", component("u64", 64, 0)),
            ("indptr", component("u64", 64, 8)),
        ],
    );
    t.accept("v12-csr-no-rows", v1("1.2.0", vec![("w", none)]).blob(64, &words(&[0])));
    let typed = coo("1.2.0")
        .set("w:values/dtype", text("u8"))
        .set("w:values/length", uint(2))
        .set("w:values/type", text("f8_e5m2"));
    t.accept("v12-coo-of-f8", typed);
    // A complex value consists of two floats, so the 8 bytes of `values` are one value.
    let complex = coo("1.2.0")
        .set("w:values/type", text("complex64"))
        .set("w:coords/length", uint(16))
        .blob(128, &words(&[1, 2]));
    t.accept("v12-coo-of-complex64", complex);
}
