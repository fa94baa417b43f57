//! Cases of the corpus about fields of records, names, and their values.

use super::two;
use crate::cbor::{array, map, marked, raw, text, uint, uints};
use crate::table::Table;
use crate::v2::{FileV2, dense, full, part, typed};

pub(super) fn fields_of_records(t: &mut Table) {
    let null = || raw(&[0xf6]);
    let mut reject = |rule, case: &str, file| t.reject_v2(rule, case, file, "dense");
    reject("root-type", "array", FileV2::new(marked(array(vec![]))));
    reject("objects-missing", "root", full().lacks("objects"));
    reject("objects-type", "null", full().bad("objects", null()));
    reject("attributes-type", "null", full().bad("attributes", null()));
    reject("attributes-type", "of-the-object", full().bad("w:/attributes", uint(1)));
    reject("object-type", "uint", full().bad("w:", uint(1)));
    reject("shape-missing", "object", full().lacks("w:/shape"));
    reject("shape-type", "null", full().bad("w:/shape", null()));
    reject("shape-type", "negative", full().set("w:/shape", array(vec![marked(raw(&[0x20]))])));
    reject("format-missing", "object", full().lacks("w:/layout"));
    reject("format-type", "null", full().bad("w:/layout", null()));
    reject("components-missing", "object", full().lacks("w:/parts"));
    reject("components-type", "array", full().bad("w:/parts", array(vec![])));
    reject("components-empty", "object", full().bad("w:/parts", map(vec![])));
    reject("component-type", "uint", full().bad("w:data", uint(1)));
    reject("dtype-missing", "part", full().lacks("w:data/dtype"));
    reject("dtype-type", "null", full().bad("w:data/dtype", null()));
    reject("dtype-unknown", "bool", full().bad("w:data/dtype", text("bool")));
    reject("dtype-unknown", "other-case", full().bad("w:data/dtype", text("F32")));
    reject("blob-missing", "part", full().lacks("w:data/blob"));
    reject("blob-type", "one", full().bad("w:data/blob", uints(&[4096])));
    reject("blob-type", "three", full().bad("w:data/blob", uints(&[4096, 16, 0])));
    reject("blob-type", "text", full().bad("w:data/blob", text("x")));
    reject(
        "blob-type",
        "of-text",
        full().set("w:data/blob", array(vec![uint(4096), marked(text("x"))])),
    );
    reject("type-type", "null", full().bad("w:data/type", null()));
    reject("encoding-type", "null", full().bad("w:data/encoding", null()));
    reject("uncompressed-length-type", "null", full().bad("w:data/decoded_length", null()));
    reject(
        "uncompressed-length-missing",
        "part",
        full().set("w:data/encoding", text("x/1")).mark("w:data"),
    );
    reject("decoded-length-alone", "part", full().bad("w:data/decoded_length", uint(16)));
    reject("digest-type", "null", full().bad("w:data/digest", null()));
    reject("shard-reference-type", "null", full().bad("w:data/shard", null()));
    reject("key-type", "objects", full().pairs("objects", vec![(marked(uint(1)), uint(2))]));
    reject("key-type", "attributes", full().pairs("attributes", vec![(marked(uint(1)), uint(2))]));
    for (case, digest) in [
        ("short", "xxh3:0"),
        ("capitals", "xxh3:28A0BA9C345D3723"),
        ("prefix", "xxh3:0x28a0ba9c345d37"),
        ("sha256", "sha256:00"),
        ("none", "xxh3:"),
        ("no-algorithm", ":00"),
        ("algorithm", "XXH3:28a0ba9c345d3723"),
        ("other-digits", "other:0g"),
    ] {
        reject("digest-form", case, full().bad("w:data/digest", text(digest)));
    }
    let long = |name: &str| map(vec![(marked(text(name)), uint(1))]);
    reject("name-form", "attribute-empty", full().set("attributes", long("")));
    reject("name-form", "attribute-nul", full().set("attributes", long("a\0")));
    reject("name-form", "attribute-of-the-object", full().set("w:/attributes", long("\0")));
    let named = |name: &str| (marked(text(name)), part("f32", 4096, 16));
    reject("name-form", "part-empty", full().pairs("w:/parts", vec![named("")]));
    reject("name-form", "object-empty", full().pairs("objects", vec![(marked(text("")), uint(1))]));
    reject("name-form", "part-nul", full().pairs("w:/parts", vec![named("a\0")]));
    for (case, name) in [("object-nul", "a\0"), ("object-nul-of-many", "a.longer\0name")] {
        let pairs = vec![(marked(text(name)), uint(1))];
        reject("name-form", case, full().pairs("objects", pairs));
    }
    let long = (marked(text(&"n".repeat(1025))), uint(1));
    t.reject_v2("name-form", "1025", full().pairs("objects", vec![long]), "name-of-1024");
}

pub(super) fn values(t: &mut Table) {
    let bad = |offset: u64, length: u64| {
        full().set("w:data/blob", array(vec![marked(uint(offset)), uint(length)]))
    };
    let bad_length = |offset: u64, length: u64| {
        full().set("w:data/blob", array(vec![uint(offset), marked(uint(length))]))
    };
    t.reject_v2("blob-alignment", "64", bad(64, 16), "dense");
    t.reject_v2("blob-header", "0", bad(0, 16), "dense");
    t.reject_v2("blob-bounds", "footer", bad_length(4096, 1 << 20), "dense");
    t.reject_v2("blob-bounds", "wraps", bad_length(0u64.wrapping_sub(4096), 4096), "dense");
    t.reject_v2("dense-size", "short", bad_length(4096, 15), "dense");
    let of_shape = |shape: &[u64]| full().set("w:/shape", uints(shape));
    t.reject_v2("dense-size", "overflow", of_shape(&[(1 << 61) + 1]).mark_length(), "dense");
    t.reject_v2(
        "shape-overflow",
        "product",
        of_shape(&[1 << 32, 1 << 32]).mark("w:/shape"),
        "dense",
    );
    t.reject_v2("shape-rank", "65", of_shape(&[1; 65]).mark("w:/shape"), "rank-64");
    let data = typed("u8", "f4_e2m1", 4096, 3);
    t.reject_v2("dense-size", "nibbles", dense(&[3], data, &[1, 2, 0]).mark_length(), "nibbles");
    let more = full().pairs(
        "w:/parts",
        vec![(text("more"), part("u8", 4096, 0)), (text("data"), part("f32", 4096, 16))]
            .into_iter()
            .rev()
            .collect(),
    );
    t.reject_v2("dense-roles", "more", more.mark("w:/parts"), "dense");
    let other = full().pairs("w:/parts", vec![(text("more"), part("f32", 4096, 16))]);
    t.reject_v2("dense-roles", "other", other.mark("w:/parts"), "dense");
    for (case, dtype, logical) in
        [("bool", "i8", "bool"), ("f4", "i8", "f4_e2m1"), ("complex", "f64", "complex64")]
    {
        let file = full().set("w:data/dtype", text(dtype)).bad("w:data/type", text(logical));
        t.reject_v2("type-storage", case, file, "dense");
    }
    let empty = full().set("w:/shape", uints(&[0]));
    let empty = empty.set("w:data/blob", array(vec![marked(uint(0)), uint(0)]));
    t.reject_v2("blob-header", "empty", empty, "no-elements");
    t.reject_v2("blob-overlap", "longer", two((4096, 16), (4096, 17)).mark_offset("w"), "tied");
    t.reject_v2(
        "blob-overlap",
        "over-the-next",
        two((4096, 4097), (8192, 8)).mark_offset("w"),
        "disjoint",
    );
    let over = dense(&[1], part("u8", 8192, 1), &[]).mark_offset("w");
    t.reject_v2("blob-overlap", "manifest", over, "the-manifest-as-a-part");
}
