//! Cases of the corpus about the container, and deterministic CBOR.

use crate::base::NONE;
use crate::cbor::{
    Head, Item, array, chunked, fields, map, marked, raw, tag, text, text_of, uint, wide_text,
};
use crate::table::Table;
use crate::v2::{FileV2, file, full};

pub(super) fn container(t: &mut Table) {
    t.reject_v2("file-size", "47", file(NONE).keep(47), "empty");
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

pub(super) fn cbor(t: &mut Table) {
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
    reject("cbor-tag", "0-of-2", bad(raw(&[0xd8, 0, 0x61, b'a'])));
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
