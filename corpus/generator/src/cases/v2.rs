//! Generation 2: each rule, and the smallest change that breaks it.

use crate::cbor::{Head, Item, array, chunked, fields, map, marked, raw, tag, text, text_of, uint};
use crate::cbor::{bytes, uints, wide_text};
use crate::table::Table;
use crate::v2::{
    FileV2, coo, csr, dense, encoded, file, frame, full, nested, object, part, sharded, table,
    typed,
};

pub(crate) fn cases(t: &mut Table) {
    accepted(t);
    container(t);
    cbor(t);
    fields_of_records(t);
    values(t);
    shards(t);
    sparse(t);
    content(t);
    frames(t);
}

fn accepted(t: &mut Table) {
    t.accept_v2("dense", full());
    t.accept_v2("reserved-of-the-footer", full().reserved(7));
    t.accept_v2("empty", file(vec![]));
    t.accept_v2("data-shard", FileV2::shard().blob(4096, &[1, 2, 3, 4]));
    t.accept_v2("scalar", dense(&[], part("f32", 4096, 4), &[0, 0, 128, 63]));
    t.accept_v2("no-elements", dense(&[1 << 40, 1 << 40, 0], part("f32", 4096, 0), &[]));
    t.accept_v2("bool", dense(&[3], typed("u8", "bool", 4096, 3), &[0, 1, 1]));
    t.accept_v2("nibbles", dense(&[3], typed("u8", "f4_e2m1", 4096, 2), &[0x21, 0x03]));
    t.accept_v2("scales", dense(&[2], typed("u8", "f8_e8m0", 4096, 2), &[0x7f, 0xff]));
    t.accept_v2("complex", dense(&[2], typed("f32", "complex64", 4096, 16), &[0; 16]));
    t.accept_v2("csr", csr());
    t.accept_v2("coo", coo());
    t.accept_v2("depth-32", full().set("attributes", fields([("a", nested(30))])));
    t.accept_v2(
        "keys-that-are-not-text",
        full().pairs("w:", {
            vec![
                (uint(1), uint(2)),
                (raw(&[0x20]), uint(2)),
                (bytes(b"x"), uint(2)),
                (text("parts"), fields([("data", part("f32", 4096, 16))])),
                (text("shape"), uints(&[2, 2])),
                (text("layout"), text("dense")),
                (array(vec![]), uint(2)),
            ]
        }),
    );
    t.accept_v2(
        "floats",
        full().set(
            "attributes",
            fields([
                ("a", raw(&[0xf9, 0x3c, 0])),
                ("b", raw(&[0xfa, 0x3d, 0xcc, 0xcc, 0xcd])),
                ("c", raw(&[0xfb, 0x3f, 0xb9, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a])),
                ("d", raw(&[0xf9, 0x7e, 0])),
            ]),
        ),
    );
    t.accept_v2("name-of-1024", dense_named(&"n".repeat(1024)));
    t.accept_v2(
        "names-by-length",
        file(
            ["b", "aa", "ab", "aaa"]
                .map(|name| (name, object(&[0], "dense", vec![("data", part("u8", 4096, 0))])))
                .into(),
        )
        .blob(4096, &[]),
    );
    t.accept_v2("tied", two((4096, 16), (4096, 16)));
    t.accept_v2("disjoint", two((4096, 16), (8192, 8)));
    t.accept_v2("the-manifest-as-a-part", manifest_as_part());
    t.accept_v2("rank-64", dense(&[1; 64], part("u8", 4096, 1), &[1]));
    t.opens_only_v2(
        "unsupported-type--v2",
        dense(&[3], typed("u8", "x", 4096, 5), &[0; 5]),
        "unsupported-type",
    );
    let unknown = file(vec![("w", object(&[3], "x", vec![("a", part("f64", 4096, 3))]))]);
    t.opens_only_v2("unsupported-format--v2", unknown.blob(4096, &[1, 2, 3]), "unsupported-format");
    let encoded = full().set("w:data/encoding", text("x/1")).set("w:data/decoded_length", uint(16));
    t.opens_only_v2("unsupported-encoding--v2", encoded, "unsupported-encoding");
    t.opens_only_v2("unsupported-shard--v2", sharded(), "unsupported-shard");
}

fn dense_named(name: &str) -> FileV2 {
    file(vec![(name, object(&[1], "dense", vec![("data", part("u8", 4096, 1))]))]).blob(4096, &[1])
}

/// Two objects with their data there.
fn two(first: (u64, u64), second: (u64, u64)) -> FileV2 {
    let dense =
        |(offset, length)| object(&[length], "dense", vec![("data", part("u8", offset, length))]);
    file(vec![("v", dense(first)), ("w", dense(second))]).blob(4096, &[1; 32]).start(12288)
}

/// A part whose blob is the manifest itself, of as many bytes as it has.
fn manifest_as_part() -> FileV2 {
    let of = |length| {
        file(vec![("w", object(&[length], "dense", vec![("data", part("u8", 8192, length))]))])
    };
    let length = of(60).build("").bytes.len() - 8192 - 40;
    of(length as u64)
}

fn container(t: &mut Table) {
    t.reject_v2("file-size", "47", file(vec![]).keep(47), "empty");
    t.reject_v2("header-magic", "other", full().header(b"\x89ZT3\r\n\x1a\n"), "dense");
    t.reject_v2("footer-magic", "other", full().footer_magic(b"ZTEN1000"), "dense");
    t.reject_v2("unsupported-version", "3", full().version(3), "dense");
    t.reject_v2("unsupported-version", "1", full().version(1), "dense");
    t.reject_v2(
        "data-shard",
        "offset",
        FileV2::shard().blob(4096, &[1]).manifest_offset(4096),
        "data-shard",
    );
    t.reject_v2(
        "data-shard",
        "hash",
        FileV2::shard().blob(4096, &[1]).hash(1).at_end(40),
        "data-shard",
    );
    t.reject_v2("manifest-cap", "over", full().manifest_length((1 << 30) + 1), "dense");
    t.reject_v2("manifest-alignment", "64", full().manifest_offset(64), "dense");
    t.reject_v2("manifest-alignment", "0", full().manifest_offset(0), "dense");
    t.reject_v2("manifest-bounds", "one-more", full().manifest_length(1 << 20), "dense");
    t.reject_v2(
        "manifest-bounds",
        "wraps",
        full().manifest_offset(0u64.wrapping_sub(4096)).at_end(32),
        "dense",
    );
    t.reject_v2("manifest-hash", "other", full().hash(1), "dense");
    t.reject_v2("manifest-trailing", "one", full().after_item(&[0]), "dense");
}

fn cbor(t: &mut Table) {
    let attribute = |item: Item| full().set("attributes", fields([("a", item)]));
    let bad = |item: Item| attribute(marked(item));
    let mut reject = |rule, case: &str, file| t.reject_v2(rule, case, file, "dense");
    reject("cbor-truncated", "string", bad(crate::cbor::last(raw(&[0x43, 1]))));
    reject("cbor-count", "array", bad(raw(&[0x9b, 0x10, 0, 0, 0, 0, 0, 0, 0])));
    reject("cbor-reserved", "28", bad(raw(&[0x1c])));
    reject("cbor-simple", "two-bytes", bad(raw(&[0xf8, 20])));
    reject("cbor-break", "alone", bad(raw(&[0xff])));
    reject("cbor-utf8", "value", bad(text_of(&[0xff])));
    reject(
        "cbor-utf8",
        "key",
        full().set("attributes", map(vec![(marked(text_of(&[0xff])), uint(1))])),
    );
    reject("cbor-shortest", "uint", bad(raw(&[0x18, 23])));
    reject("cbor-shortest", "uint-of-2", bad(raw(&[0x19, 0, 255])));
    reject("cbor-shortest", "uint-of-4", bad(raw(&[0x1a, 0, 0, 255, 255])));
    reject("cbor-shortest", "uint-of-8", bad(raw(&[0x1b, 0, 0, 0, 0, 255, 255, 255, 255])));
    reject("cbor-shortest", "text", bad(wide_text("a")));
    reject("cbor-shortest", "array", bad(Item::Array(Head::Wide, vec![uint(1)])));
    reject("cbor-shortest", "map", bad(Item::Map(Head::Wide, vec![])));
    reject("cbor-indefinite", "array", bad(Item::Array(Head::Indefinite, vec![uint(1)])));
    reject("cbor-indefinite", "map", bad(Item::Map(Head::Indefinite, vec![])));
    reject("cbor-indefinite", "text", bad(chunked(3, &[b"a"])));
    reject("cbor-indefinite", "bytes", bad(chunked(2, &[b"a"])));
    reject("cbor-tag", "0", bad(tag(0, text("a"))));
    reject("cbor-value", "undefined", bad(raw(&[0xf7])));
    reject("cbor-value", "16", bad(raw(&[0xf0])));
    reject("cbor-value", "255", bad(raw(&[0xf8, 255])));
    let twice = |key: Item| vec![(text("a"), uint(1)), (key, uint(2))];
    reject("duplicate-key", "attributes", full().set("attributes", map(twice(marked(text("a"))))));
    reject(
        "key-order",
        "attributes",
        full().set("attributes", map(vec![(text("aa"), uint(1)), (marked(text("b")), uint(2))])),
    );
    let inner = map(vec![(text("b"), uint(1)), (marked(text("a")), uint(2))]);
    reject("key-order", "within-a-value", attribute(inner));
    let mut reject = |rule, case: &str, file| t.reject_v2(rule, case, file, "floats");
    reject("cbor-float", "one-of-4", bad(raw(&[0xfa, 0x3f, 0x80, 0, 0])));
    reject("cbor-float", "one-of-8", bad(raw(&[0xfb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0])));
    reject("cbor-float", "nan", bad(raw(&[0xf9, 0x7e, 1])));
    let single = &[0xfb, 0x3f, 0xb9, 0x99, 0x99, 0xa0, 0, 0, 0];
    reject("cbor-float", "single-of-8", bad(raw(single)));
    let deep = |inner| fields([("a", (0..30).fold(inner, |inner, _| array(vec![inner])))]);
    let file = full().set("attributes", deep(marked(array(vec![uint(0)]))));
    t.reject_v2("cbor-depth", "33", file, "depth-32");
}

fn fields_of_records(t: &mut Table) {
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
    let long = (marked(text(&"n".repeat(1025))), uint(1));
    t.reject_v2("name-form", "1025", full().pairs("objects", vec![long]), "name-of-1024");
}

fn values(t: &mut Table) {
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

fn shards(t: &mut Table) {
    let null = || raw(&[0xf6]);
    let near = "unsupported-shard--v2";
    let mut reject = |rule, case: &str, file| t.reject_v2(rule, case, file, near);
    reject("shards-type", "null", sharded().bad("shards", null()));
    reject("shard-type", "null", sharded().bad("shards/s", null()));
    reject("shard-size-missing", "shard", sharded().lacks("shards/s/size"));
    reject("shard-size-type", "null", sharded().bad("shards/s/size", null()));
    reject("shard-size", "47", sharded().bad("shards/s/size", uint(47)));
    reject("shard-digest-missing", "shard", sharded().lacks("shards/s/digest"));
    reject("digest-type", "shard", sharded().bad("shards/s/digest", null()));
    reject("digest-form", "shard", sharded().bad("shards/s/digest", text("xxh3:0")));
    reject("shard-reference", "other", sharded().bad("w:data/shard", text("t")));
    reject("shard-reference", "no-table", sharded().without("shards").mark("w:data/shard"));
    let table = |name: Item| {
        let shard = fields([("size", uint(8192)), ("digest", text("xxh3:0123456789abcdef"))]);
        sharded().pairs("shards", vec![(marked(name), shard)])
    };
    reject("shard-name", "empty", table(text("")));
    reject("shard-name", "dot", table(text(".s")));
    reject("shard-name", "path", table(text("a/b")));
    reject("shard-name", "long", table(text(&"s".repeat(65))));
    reject("key-type", "shards", table(uint(1)));
    let length = |length| array(vec![uint(4096), marked(uint(length))]);
    let beyond = sharded().set("w:/shape", uints(&[1015])).set("w:data/blob", length(4060));
    reject("blob-bounds", "shard", beyond);
    let second = |offset: u64, length: u64| {
        let data = part("u8", offset, length);
        let object = object(&[length], "dense", vec![("data", data)]);
        sharded().set("objects/x", object).set("x:data/shard", text("s"))
    };
    t.opens_only_v2("tied-in-a-shard", second(4096, 16), "unsupported-shard");
    let longer = second(4096, 17).mark_offset("x");
    t.reject_v2("blob-overlap", "shard", longer, "tied-in-a-shard");
}

fn sparse(t: &mut Table) {
    let mut reject = |rule, case: &str, file: FileV2| t.reject_v2(rule, case, file, "csr");
    reject("csr-roles", "lacks", csr().without("w:indptr").mark("w:/parts"));
    reject("csr-roles", "more", csr().set("w:more", part("u8", 4096, 0)).mark("w:/parts"));
    reject("csr-rank", "1", csr().bad("w:/shape", uints(&[6])));
    reject("index-dtype", "signed", csr().bad("w:indices/dtype", text("i32")));
    reject("index-dtype", "differ", {
        csr().set("w:indptr/blob", uints(&[12288, 24])).bad("w:indptr/dtype", text("u64"))
    });
    reject("index-type", "indices", csr().bad("w:indices/type", text("x")));
    reject(
        "csr-indptr-size",
        "rows",
        csr().set("w:/shape", uints(&[3, 3])).mark_length_of("w:indptr"),
    );
    let blob = |offset, length| array(vec![uint(offset), marked(uint(length))]);
    reject("csr-nnz", "indices", csr().set("w:indices/blob", blob(8192, 8)));
    reject("whole-elements", "indices", csr().set("w:indices/blob", blob(8192, 11)));
    reject("whole-elements", "values", csr().set("w:values/blob", blob(4096, 11)));
    let huge = array(vec![uint(u64::MAX), uint(0)]);
    reject("sparse-overflow", "rows", csr().bad("w:/shape", huge));
    let mut reject = |rule, case: &str, file: FileV2| t.reject_v2(rule, case, file, "coo");
    reject("coo-roles", "lacks", coo().without("w:coords").mark("w:/parts"));
    reject("coo-roles", "more", coo().set("w:more", part("u8", 4096, 0)).mark("w:/parts"));
    reject("coo-rank", "0", coo().bad("w:/shape", uints(&[])));
    reject("coo-nnz", "coords", coo().set("w:coords/blob", blob(8192, 12)));
}

fn content(t: &mut Table) {
    let digest = full().set("w:data/digest", text("xxh3:0000000000000000"));
    t.reject_v2("digest-mismatch", "xxh3", digest.at_data(4096, 0, 0), "dense");
    let sum = format!("sha256:{}", "0".repeat(64));
    let digest = full().set("w:data/digest", text(&sum));
    t.reject_v2("digest-mismatch", "sha256", digest.at_data(4096, 0, 0), "dense");
    let digest = full().set("w:data/digest", text("crc32c:00000000"));
    t.reject_v2("unsupported-digest", "crc32c", digest.at_data(4096, 0, 0), "dense");
    let bools = dense(&[3], typed("u8", "bool", 4096, 3), &[0, 2, 1]);
    t.reject_v2("bool-value", "2", bools.at_data(4097, 0, 0), "bool");
    let nibbles = dense(&[3], typed("u8", "f4_e2m1", 4096, 2), &[0x21, 0x13]);
    t.reject_v2("nibble-value", "odd", nibbles.at_data(4097, 0, 0), "nibbles");
    let with = |indices: [u32; 3], indptr: [u32; 3]| {
        csr().blob(8192, &crate::v2::words(&indices)).blob(12288, &crate::v2::words(&indptr))
    };
    let mut reject = |rule, case: &str, file: FileV2| t.reject_v2(rule, case, file, "csr");
    reject("csr-indptr-start", "1", with([0, 2, 1], [1, 2, 3]).at_data(12288, 0, 0));
    reject("csr-indptr-order", "falls", with([0, 2, 1], [0, 3, 2]).at_data(12296, 0, 0));
    reject("csr-indptr-end", "short", with([0, 2, 1], [0, 2, 2]).at_data(12296, 0, 0));
    reject("index-range", "column", with([0, 3, 1], [0, 2, 3]).at_data(8196, 0, 2));
    reject("csr-index-order", "equal", with([2, 2, 1], [0, 2, 3]).at_data(8196, 0, 2));
    reject("csr-index-order", "falls", with([2, 0, 1], [0, 2, 3]).at_data(8196, 0, 2));
    let coords = coo().blob(8192, &crate::v2::words(&[0, 2, 2, 1]));
    t.reject_v2("index-range", "row", coords.at_data(8196, 0, 0), "coo");
}

/// `zt.zstd-seekable/1`.
fn frames(t: &mut Table) {
    let (one, two) = (frame(&[1, 2, 3, 4]), frame(&[5, 6]));
    let lengths = (one.len(), two.len());
    let both = [one.as_slice(), &two].concat();
    let right = [(lengths.0, 4), (lengths.1, 2)];
    let of = |entries: &[(usize, usize)], descriptor| {
        encoded(6, &[both.as_slice(), &table(entries, descriptor)].concat())
    };
    t.accept_v2("frames", of(&right, 0));
    t.accept_v2("frames-and-unused-bits", of(&right, 3));
    t.accept_v2("no-frames", encoded(0, &table(&[], 0)));
    let at = |file: FileV2| file.at_data(4096, 0, 0);
    let mut reject = |rule, case: &str, file: FileV2| t.reject_v2(rule, case, at(file), "frames");
    reject("seek-table", "short", encoded(6, &both[..8]));
    reject("seek-table", "none", encoded(6, &both));
    reject("seek-table", "reserved", of(&right, 4));
    reject("seek-table", "count", {
        let mut stored = [both.as_slice(), &table(&right, 0)].concat();
        let length = stored.len();
        stored[length - 9] = 3;
        encoded(6, &stored)
    });
    reject("seek-sizes", "stored", of(&[(lengths.0, 4), (lengths.1 - 1, 2)], 0));
    reject("seek-sizes", "decoded", of(&[(lengths.0, 4), (lengths.1, 1)], 0));
    reject("zstd-frame-size", "17-mib", of(&[(lengths.0, 17 << 20), (lengths.1, 2)], 0));
    reject("decoded-size", "frame", of(&[(lengths.0, 3), (lengths.1, 3)], 0));
    reject("zstd-frame-single", "two", of(&[(both.len(), 6)], 0));
    let plain = crate::base::zstd_frame(&[1, 2, 3, 4, 5, 6]);
    let entry = [(plain.len(), 6)];
    let without = encoded(6, &[plain.as_slice(), &table(&entry, 0)].concat());
    reject("zstd-frame-single", "no-checksum", without);
    let mut wrong = one.clone();
    wrong[10] ^= 1;
    let wrong = [wrong.as_slice(), &two, &table(&right, 0)].concat();
    reject("zstd-checksum", "frame", encoded(6, &wrong));
}
