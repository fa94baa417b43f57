//! UTF-8, and strings in chunks.

use super::cbor::{IGNORED, MAPS, reject_ignored};
use crate::base::{component, dense, dense_v0, empty_object, full, full_v0, ignored, ignored_v0};
use crate::cbor::{chunked, map, marked, raw, text, text_of, uint};
use crate::table::Table;

/// Byte strings that are not UTF-8.
const NOT_UTF8: [(&str, &[u8]); 13] = [
    ("overlong-nul", &[0xc0, 0x80]),
    ("overlong-slash", &[0xe0, 0x80, 0xaf]),
    ("overlong-in-4", &[0xf0, 0x80, 0x80, 0xaf]),
    ("surrogate", &[0xed, 0xa0, 0x80]),
    ("surrogate-pair", &[0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]),
    ("over-10ffff", &[0xf4, 0x90, 0x80, 0x80]),
    ("cut-in-2", &[b'a', 0xc3]),
    ("cut-in-3", &[b'a', 0xe2, 0x82]),
    ("cut-in-4", &[b'a', 0xf0, 0x9f, 0x98]),
    ("lone-continuation", &[b'a', 0x80, b'b']),
    // A reader that checks eight bytes at once may be misled by bytes that cancel each other, or that equal its mask.
    ("eight-continuations", &[0x80; 8]),
    ("ff", &[0xff]),
    ("latin-1", b"caf\xe9 noir"),
];

/// The fields of 1.x that hold interpreted text.
const TEXTS: [(&str, &str); 6] = [
    ("version", "version"),
    ("format", "w:/format"),
    ("dtype", "w:data/dtype"),
    ("type", "w:data/type"),
    ("encoding", "w:data/encoding"),
    ("digest", "w:data/digest"),
];

/// The fields of 0.1 that hold interpreted text.
const TEXTS_V0: [(&str, &str); 6] = [
    ("name", "#0/name"),
    ("dtype", "#0/dtype"),
    ("encoding", "#0/encoding"),
    ("layout", "#0/layout"),
    ("checksum", "#0/checksum"),
    ("endianness", "#0/data_endianness"),
];

pub(crate) fn cases(t: &mut Table) {
    t.accept("v12-all-fields", full("1.2.0"));
    t.accept("v11-all-fields", full("1.1.0"));
    t.accept("v01-all-fields", full_v0());
    utf8(t);
    chunks(t);
    interpreted_chunks(t);
}

fn utf8(t: &mut Table) {
    for (case, bytes) in NOT_UTF8 {
        reject_ignored(t, "cbor-utf8", case, IGNORED[0], (text_of(bytes), 0));
        let file = dense("1.2.0");
        let object = file.clone().take("w:");
        let name = file.set("objects", map(vec![(marked(text_of(bytes)), object)]));
        t.reject("cbor-utf8", format!("{case}-in-name"), name, "v12-dense");
        let name = dense_v0().bad("#0/name", text_of(bytes));
        t.reject("cbor-utf8", format!("{case}-in-v01-name"), name, "v01-dense");
    }
    for place in &IGNORED[1..] {
        reject_ignored(t, "cbor-utf8", "ff", *place, (text_of(&[0xff]), 0));
    }
    for (map, path) in MAPS.into_iter().filter(|(map, _)| !matches!(*map, "objects" | "components"))
    {
        let file = ignored().push(path, marked(text_of(b"k\xc3")), uint(0));
        t.reject("cbor-utf8", format!("key-in-{map}"), file, "v12-ignored-fields");
    }
    let role = dense("1.2.0").take("w:data");
    let components =
        map(vec![(text("data"), role), (marked(text_of(b"extra\xff")), component("u8", 0, 0))]);
    t.reject("cbor-utf8", "role", dense("1.2.0").set("w:/components", components), "v12-dense");
    let key = ignored_v0().push("#0", marked(text_of(b"k\xc3")), uint(0));
    t.reject("cbor-utf8", "key-in-v01-entry", key, "v01-ignored-fields");
    let key = raw(&[0xa1, 0x61, 0xff, 0]);
    reject_ignored(t, "cbor-utf8", "key-of-ignored-map", IGNORED[1], (key, 1));
    // The key is a known one with one more byte, which is not UTF-8.
    let known = dense("1.2.0").push("w:data", marked(text_of(b"digest\xff")), uint(0));
    t.reject("cbor-utf8", "known-key-and-ff", known, "v12-dense");
    for (name, path) in TEXTS {
        t.reject(
            "cbor-utf8",
            format!("value-of-{name}"),
            full("1.2.0").bad(path, text_of(b"raw\xff")),
            "v12-all-fields",
        );
    }
    for (name, path) in TEXTS_V0 {
        t.reject(
            "cbor-utf8",
            format!("v01-value-of-{name}"),
            full_v0().bad(path, text_of(b"raw\xff")),
            "v01-all-fields",
        );
    }
}

fn chunks(t: &mut Table) {
    // In the first case, a character is divided between two chunks, so that no chunk by itself is UTF-8. In the others,
    // the second chunk is not UTF-8.
    let cut: [(&str, &[u8], usize); 3] = [
        ("chunk-cuts-character", &[0x7f, 0x62, b'a', 0xc3, 0x61, 0xa9, 0xff], 1),
        ("second-chunk-is-bad", &[0x7f, 0x61, b'a', 0x61, 0xff, 0xff], 3),
        ("chunk-in-array", &[0x81, 0x7f, 0x60, 0x62, 0xc0, 0x80, 0xff], 3),
    ];
    for (case, bytes, skip) in cut {
        for place in [IGNORED[0], IGNORED[3], IGNORED[5]] {
            reject_ignored(t, "cbor-utf8", case, place, (raw(bytes), skip));
        }
    }
    let bad: [(&str, &[u8], usize); 12] = [
        ("bytes-in-text", &[0x7f, 0x41, b'a', 0xff], 1),
        ("text-in-bytes", &[0x5f, 0x61, b'a', 0xff], 1),
        ("nested-in-text", &[0x7f, 0x7f, 0x61, b'a', 0xff, 0xff], 1),
        ("nested-in-bytes", &[0x5f, 0x5f, 0x41, b'a', 0xff, 0xff], 1),
        ("integer", &[0x7f, 0x01, 0xff], 1),
        ("negative", &[0x5f, 0x20, 0xff], 1),
        ("array", &[0x7f, 0x80, 0xff], 1),
        ("map", &[0x7f, 0xa0, 0xff], 1),
        ("tagged-text", &[0x7f, 0xc0, 0x61, b'a', 0xff], 1),
        ("null", &[0x5f, 0xf6, 0xff], 1),
        ("second-is-bytes", &[0x7f, 0x61, b'a', 0x41, b'b', 0xff], 3),
        ("empty-bytes-in-text", &[0x7f, 0x40, 0xff], 1),
    ];
    for (case, bytes, skip) in bad {
        reject_ignored(t, "cbor-chunk", case, IGNORED[0], (raw(bytes), skip));
        reject_ignored(t, "cbor-chunk", case, IGNORED[5], (raw(bytes), skip));
    }
    for place in &IGNORED[1..5] {
        reject_ignored(
            t,
            "cbor-chunk",
            "bytes-in-text",
            *place,
            (raw(&[0x7f, 0x41, b'a', 0xff]), 1),
        );
    }
    let key = raw(&[0xa1, 0x7f, 0x41, b'a', 0xff, 0]);
    reject_ignored(t, "cbor-chunk", "bytes-in-key-of-ignored-map", IGNORED[1], (key, 2));
}

fn interpreted_chunks(t: &mut Table) {
    let texts: [(&str, &str, &[&[u8]]); 6] = [
        ("version", "version", &[b"1.2.0"]),
        ("format", "w:/format", &[b"den", b"se"]),
        ("dtype", "w:data/dtype", &[b"u8"]),
        ("type", "w:data/type", &[b"f8_", b"e4m3fn"]),
        ("encoding", "w:data/encoding", &[b"", b"raw"]),
        ("digest", "w:data/digest", &[b"crc32c:", b"0xC30D4189"]),
    ];
    for (name, path, pieces) in texts {
        let file = full("1.2.0").bad(path, chunked(3, pieces));
        t.reject("string-chunked", format!("value-of-{name}"), file, "v12-all-fields");
    }
    let texts: [(&str, &str, &[&[u8]]); 6] = [
        ("name", "#0/name", &[b"w"]),
        ("dtype", "#0/dtype", &[b"float", b"32"]),
        ("encoding", "#0/encoding", &[b"raw"]),
        ("layout", "#0/layout", &[b"dense"]),
        ("checksum", "#0/checksum", &[b"crc32c:", b"0xC30D4189"]),
        ("endianness", "#0/data_endianness", &[b"lit", b"tle"]),
    ];
    for (name, path, pieces) in texts {
        let file = full_v0().bad(path, chunked(3, pieces));
        t.reject("string-chunked", format!("v01-value-of-{name}"), file, "v01-all-fields");
    }
    for (map, path) in MAPS {
        // The value of each key is valid, so that the key in chunks is the only error, also for a reader that joins the
        // chunks.
        let value = match map {
            "objects" => empty_object(),
            "components" => component("u8", 0, 0),
            _ => uint(0),
        };
        let file = ignored().push(path, marked(chunked(3, &[b"ke", b"y"])), value);
        t.reject("string-chunked", format!("key-in-{map}"), file, "v12-ignored-fields");
    }
    let key = ignored_v0().push("#0", marked(chunked(3, &[b"ke", b"y"])), uint(0));
    t.reject("string-chunked", "key-in-v01-entry", key, "v01-ignored-fields");
    let empty = dense("1.2.0").push("", marked(chunked(3, &[])), uint(0));
    t.reject("string-chunked", "key-without-chunks", empty, "v12-dense");
    let known = dense("1.2.0").push("w:data", marked(chunked(3, &[b"digest"])), raw(&[0xf6]));
    t.reject("string-chunked", "known-key", known, "v12-dense");
}
