//! Cases of the corpus about magics, size fields, and the bytes around the manifest.

use crate::base::{DATA, NONE, component, dense, dense_object, dense_v0, v0, v1};
use crate::cbor::{array, fields, marked, raw, tag, text, uint};
use crate::file::{File, MAGIC_V0, MAGIC_V1, MAGIC_V2};
use crate::table::Table;

const GIB: u64 = 1 << 30;

pub(crate) fn cases(t: &mut Table) {
    t.accept("v12-dense", dense("1.2.0"));
    t.accept("v11-dense", dense("1.1.0"));
    t.accept("v01-dense", dense_v0());
    t.accept("v01-empty", v0(vec![]));
    t.accept("v11-smallest", v1("1.1", NONE));
    t.accept("v12-smallest", v1("1.2", NONE));
    lengths(t);
    magics(t);
    footers(t);
    sizes(t);
    leftovers(t);
    roots(t);
}

fn lengths(t: &mut Table) {
    t.reject("file-size", "empty", v1("1.2", NONE).keep(0), "v12-smallest");
    t.reject("file-size", "seven-bytes", v1("1.2", NONE).keep(7), "v12-smallest");
    t.reject(
        "file-size",
        "seven-bytes-of-v2",
        v1("1.2", NONE).header(MAGIC_V2).keep(7),
        "v12-smallest",
    );
    t.reject("file-size", "v12-header-only", v1("1.2", NONE).keep(8), "v12-smallest");
    t.reject("file-size", "v12-header-as-footer", File::v1(raw(b"")).keep(16), "v12-smallest");
    // The file has 23 bytes: both magics are complete, but the size field between them lacks one byte.
    let magic_as_size = u64::from_le_bytes(*MAGIC_V1);
    let short = File::v1(raw(&[0; 7])).footer(b"").size(magic_as_size);
    t.reject("file-size", "v12-23-bytes", short, "v12-smallest");
    t.reject("file-size", "v01-header-only", v0(vec![]).keep(8), "v01-empty");
    t.reject("file-size", "v01-15-bytes", v0(vec![]).keep(15), "v01-empty");
    // The size of the manifest is 0. In the first two files, the header and the footer have no manifest between them.
    t.reject("cbor-truncated", "v12-manifest-of-0", File::v1(marked(raw(b""))), "v12-smallest");
    t.reject("cbor-truncated", "v01-manifest-of-0", File::v0(marked(raw(b""))), "v01-empty");
    let unused = dense("1.2.0").size(0).at_size_field();
    t.reject("cbor-truncated", "v12-size-0-after-manifest", unused, "v12-dense");
    let unused = dense_v0().size(0).at_size_field();
    t.reject("cbor-truncated", "v01-size-0-after-manifest", unused, "v01-dense");
    // After an additional zero, the last 8 bytes of the file, which are the size of the manifest, are all 0.
    let moved = v0(vec![]).tail(&[0]).at_size_field();
    t.reject("cbor-truncated", "v01-byte-after-file", moved, "v01-empty");
}

fn magics(t: &mut Table) {
    let headers: [(&str, &[u8]); 9] = [
        ("zeros", &[0; 8]),
        ("lower-case", b"zten1000"),
        ("v0-of-0", b"ZTEN0000"),
        ("v0-of-2", b"ZTEN0002"),
        ("v1-of-1", b"ZTEN1001"),
        ("v2-as-text", b"ZTEN2000"),
        ("nul-for-last-digit", b"ZTEN100\0"),
        ("reversed", b"0001NETZ"),
        ("byte-order-mark", b"\xef\xbb\xbfZTEN1"),
    ];
    for (name, header) in headers {
        t.reject("header-magic", name, dense("1.2.0").header(header), "v12-dense");
    }
    t.reject("header-magic", "v01-lower-case", dense_v0().header(b"zten0001"), "v01-dense");
    // This file is no zTensor file, and too short for one. The magic is validated first, so the error is about the magic.
    t.reject(
        "header-magic",
        "ten-bytes",
        v1("1.2", NONE).header(b"PK\x03\x04....").keep(10),
        "v12-smallest",
    );
}

fn footers(t: &mut Table) {
    let footers: [(&str, &[u8]); 7] = [
        ("absent-as-in-1-0", b""),
        ("v0", MAGIC_V0),
        ("v2", MAGIC_V2),
        ("zeros", &[0; 8]),
        ("lower-case", b"zten1000"),
        ("last-bit-flipped", b"ZTEN1001"),
        ("reversed", b"0001NETZ"),
    ];
    for (name, footer) in footers {
        t.reject("footer-magic", name, dense("1.2.0").footer(footer), "v12-dense");
    }
    t.reject("footer-magic", "v11-absent-as-in-1-0", dense("1.1.0").footer(b""), "v11-dense");
    t.reject("footer-magic", "line-feed-after-file", dense("1.2.0").tail(b"\n"), "v12-dense");
    t.reject("footer-magic", "zeros-after-file", dense("1.2.0").tail(&[0; 64]), "v12-dense");
    let whole = dense("1.2.0").build("").bytes.len();
    for less in [1, 8, 16, 40, 100] {
        let cut = dense("1.2.0").keep(whole - less);
        t.reject("footer-magic", format!("cut-{less}"), cut, "v12-dense");
    }
    // 0.1 has no footer magic, so a reader of 0.1 takes the footer magic of 1.x for the size of the manifest.
    t.reject("manifest-cap", "v01-header-on-v12", dense("1.2.0").header(MAGIC_V0), "v12-dense");
    t.reject("footer-magic", "v12-header-on-v01", dense_v0().header(MAGIC_V1), "v01-dense");
}

fn sizes(t: &mut Table) {
    let over = [
        ("1-gib-and-1", GIB + 1),
        ("2-pow-32", 1 << 32),
        ("2-pow-63", 1 << 63),
        ("2-pow-64-minus-16", u64::MAX - 15),
        ("2-pow-64-minus-1", u64::MAX),
    ];
    for (name, size) in over {
        t.reject("manifest-cap", format!("v12-{name}"), dense("1.2.0").size(size), "v12-dense");
        t.reject("manifest-cap", format!("v01-{name}"), dense_v0().size(size), "v01-dense");
    }
    t.reject("manifest-bounds", "v12-1-gib", dense("1.2.0").size(GIB), "v12-dense");
    t.reject("manifest-bounds", "v01-1-gib", dense_v0().size(GIB), "v01-dense");
    // The largest size that is possible is the file's length minus 24 (in 0.1 minus 16), so all of these sizes are too
    // large.
    for (name, less) in
        [("file", 0), ("file-less-16", 16), ("file-less-17", 17), ("file-less-23", 23)]
    {
        let file = v1("1.2", NONE).size_from_end(less);
        t.reject("manifest-bounds", format!("v12-{name}"), file, "v12-smallest");
    }
    for (name, less) in [("file", 0), ("file-less-8", 8), ("file-less-15", 15)] {
        let file = v0(vec![]).size_from_end(less);
        t.reject("manifest-bounds", format!("v01-{name}"), file, "v01-empty");
    }
    t.reject("manifest-bounds", "v01-cut-1", v0(vec![]).keep(16), "v01-empty");
    t.reject("manifest-bounds", "v11-file-less-16", dense("1.1.0").size_from_end(16), "v11-dense");
}

fn leftovers(t: &mut Table) {
    let leftovers: [(&str, &[u8]); 5] = [
        ("zero", &[0]),
        ("break", &[0xff]),
        ("reserved-head", &[0x1c]),
        ("padding", &[0; 61]),
        ("second-root", &[0xa0]),
    ];
    for (name, bytes) in leftovers {
        t.reject(
            "manifest-trailing",
            format!("v12-{name}"),
            dense("1.2.0").after_item(bytes),
            "v12-dense",
        );
        t.reject(
            "manifest-trailing",
            format!("v01-{name}"),
            dense_v0().after_item(bytes),
            "v01-dense",
        );
    }
    let footer = dense("1.2.0").after_item(MAGIC_V1);
    t.reject("manifest-trailing", "v12-footer-magic-in-manifest", footer, "v12-dense");
}

fn roots(t: &mut Table) {
    let bad = |item| dense("1.2.0").bad("", item);
    for (name, item) in [
        ("array", array(vec![])),
        ("text", text("objects")),
        ("integer", uint(0)),
        ("bytes", raw(&[0x41, 0xa0])),
        ("null", raw(&[0xf6])),
        ("undefined", raw(&[0xf7])),
        ("float", raw(&[0xf9, 0x3c, 0])),
    ] {
        t.reject("root-type", format!("v12-{name}"), bad(item), "v12-dense");
    }
    // The tag 55799 says only that its content is CBOR. As any other tag, it is not allowed at the root.
    let tagged = dense("1.2.0").edit("", |root| marked(tag(55799, root)));
    t.reject("root-type", "v12-self-described", tagged, "v12-dense");
    let pairs = dense("1.2.0").edit("", |root| marked(array(vec![root])));
    t.reject("root-type", "v12-map-in-array", pairs, "v12-dense");
    let tagged = dense_v0().edit("", |root| marked(tag(55799, root)));
    t.reject("root-type", "v01-self-described", tagged, "v01-dense");
    t.reject("root-type", "v01-map", dense_v0().bad("", fields([])), "v01-dense");
    t.reject("root-type", "v01-null", dense_v0().bad("", raw(&[0xf6])), "v01-dense");
    let wrapped = dense_v0().edit("", |root| marked(fields([("tensors", root)])));
    t.reject("root-type", "v01-array-in-map", wrapped, "v01-dense");
    // Each of these files has the manifest of one generation in the container of another.
    let manifest = dense_v0().edit("", marked).header(MAGIC_V1).footer(MAGIC_V1);
    t.reject("root-type", "v01-manifest-in-v12", manifest, "v01-dense");
    let manifest = dense("1.2.0").edit("", marked).header(MAGIC_V0).footer(b"");
    t.reject("root-type", "v12-manifest-in-v01", manifest, "v12-dense");
    // The declared size of the manifest is one byte too small, so the manifest begins at its first key, which is no map.
    let late = v1("1.2", NONE);
    let size = late.manifest_len() as u64;
    let key = late.mark_key("version").size(size - 1);
    t.reject("root-type", "v12-size-one-less", key, "v12-smallest");
    // The declared size is 1, so the manifest is the last byte of the file's only object. The error must not name the
    // object, because the object is not parsed.
    let shape = vec![("w", dense_object(&[2, 2], component("f32", 64, 16)))];
    let one = v1("1.2.0", shape).blob(64, &DATA).size(1).at_last_manifest_byte();
    t.reject("root-type", "v12-size-1", one, "v12-dense");
}
