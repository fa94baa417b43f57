//! Cases of the corpus about heads, simple values, breaks and counts.

use crate::base::{dense, dense_v0, ignored, ignored_v0, v0};
use crate::cbor::{Head, Item, head, marked_at, raw};
use crate::file::File;
use crate::table::Table;

/// The positions at which cases put an ignored field: the name of each position in the names of files, and its path.
pub(crate) const IGNORED: [(&str, &str); 6] = [
    ("root", "x"),
    ("attribute", "attributes/x"),
    ("object", "w:/x"),
    ("object-attribute", "w:/attributes/x"),
    ("component", "w:data/x"),
    ("v01-entry", "#0/x"),
];

/// The maps of 1.x whose fields zten interprets: the name of each in the names of files, and its path.
pub(crate) const MAPS: [(&str, &str); 7] = [
    ("root", ""),
    ("attributes", "attributes"),
    ("objects", "objects"),
    ("object", "w:"),
    ("object-attributes", "w:/attributes"),
    ("components", "w:/components"),
    ("component", "w:data"),
];

/// Returns the file with ignored fields in the generation of `path`, and the name of that file.
pub(crate) fn base_of(path: &str) -> (File, &'static str) {
    if path.starts_with('#') {
        (ignored_v0(), "v01-ignored-fields")
    } else {
        (ignored(), "v12-ignored-fields")
    }
}

/// Rejects `item` as an ignored field. It breaks `rule` `skip` bytes after its start.
pub(crate) fn reject_ignored(
    t: &mut Table,
    rule: &'static str,
    case: &str,
    (place, path): (&str, &str),
    (item, skip): (Item, usize),
) {
    let (file, neighbor) = base_of(path);
    let file = file.set(path, marked_at(skip, item));
    t.reject(rule, format!("{case}-in-{place}"), file, neighbor);
}

pub(crate) fn cases(t: &mut Table) {
    t.accept("v12-ignored-fields", ignored());
    t.accept("v01-ignored-fields", ignored_v0());
    reserved(t);
    simple(t);
    breaks(t);
    break_keys(t);
    counts(t);
}

fn reserved(t: &mut Table) {
    for major in 0..8_u8 {
        for additional in 28..32 {
            // In the major types 2 to 5 and 7, the additional information 31 means an indefinite length or the break, and
            // is not reserved.
            if additional == 31 && !matches!(major, 0 | 1 | 6) {
                continue;
            }
            let byte = major << 5 | additional;
            // The reserved head of a tag is followed by a 0: a reader that takes the head for a tag without a number
            // would find its content.
            let bytes = if major == 6 { vec![byte, 0] } else { vec![byte] };
            let case = format!("head-{byte:02x}");
            reject_ignored(t, "cbor-reserved", &case, IGNORED[0], (Item::Raw(bytes), 0));
        }
    }
    for place in &IGNORED[1..] {
        reject_ignored(t, "cbor-reserved", "head-1c", *place, (raw(&[0x1c]), 0));
    }
    for (name, path) in
        [("version", "version"), ("objects", "objects"), ("offset", "w:data/offset")]
    {
        let file = ignored().bad(path, raw(&[0x1e]));
        t.reject("cbor-reserved", format!("head-1e-for-{name}"), file, "v12-ignored-fields");
    }
    // A reader that uses only the two low bits of the additional information as the width of the argument would read the
    // bytes after the head as a complete argument.
    let offset = ignored().bad("w:data/offset", raw(&[0x1c]));
    t.reject("cbor-reserved", "head-1c-for-offset", offset, "v12-ignored-fields");
    t.reject(
        "cbor-reserved",
        "v01-head-1d-for-size",
        dense_v0().bad("#0/size", raw(&[0x1d])),
        "v01-dense",
    );
    t.reject(
        "cbor-reserved",
        "v01-head-9e-for-root",
        v0(vec![]).bad("", raw(&[0x9e])),
        "v01-empty",
    );
    t.reject(
        "cbor-reserved",
        "head-bd-for-root",
        dense("1.2.0").bad("", raw(&[0xbd])),
        "v12-dense",
    );
    let key = dense("1.2.0").push("w:data", raw(&[0x7c]), raw(&[0])).mark_key("w:data/#3");
    t.reject("cbor-reserved", "head-7c-for-key", key, "v12-dense");
    let deep = raw(&[0x82, 0, 0xa1, 0x61, b'a', 0x3f]);
    reject_ignored(t, "cbor-reserved", "nested-3f", IGNORED[1], (deep, 5));
}

fn simple(t: &mut Table) {
    for value in [0, 19, 20, 22, 23, 24, 31] {
        let case = format!("f8-{value:02x}");
        reject_ignored(t, "cbor-simple", &case, IGNORED[0], (raw(&[0xf8, value]), 0));
    }
    for place in &IGNORED[1..] {
        reject_ignored(t, "cbor-simple", "f8-00", *place, (raw(&[0xf8, 0]), 0));
    }
    reject_ignored(t, "cbor-simple", "nested-f8-18", IGNORED[2], (raw(&[0x81, 0xf8, 0x18]), 1));
    // The digest is null, which is allowed there, but is encoded in two bytes.
    let null = dense("1.2.0").bad("w:data/digest", raw(&[0xf8, 22]));
    t.reject("cbor-simple", "null-as-digest", null, "v12-dense");
}

fn breaks(t: &mut Table) {
    let items: [(&str, &[u8], usize); 9] = [
        ("value", &[0xff], 0),
        ("array-item", &[0x82, 0, 0xff], 2),
        ("first-array-item", &[0x81, 0xff], 1),
        ("map-key", &[0xa1, 0xff, 0], 1),
        ("map-value", &[0xa1, 0x61, b'a', 0xff], 3),
        ("indefinite-map-value", &[0xbf, 0x61, b'a', 0xff], 3),
        ("tag-content", &[0xc1, 0xff], 1),
        ("tag-content-in-indefinite-array", &[0x9f, 0xc1, 0xff, 0xff], 2),
        ("after-indefinite-array", &[0x82, 0x9f, 0xff, 0xff], 3),
    ];
    for (case, bytes, skip) in items {
        reject_ignored(t, "cbor-break", case, IGNORED[0], (raw(bytes), skip));
        reject_ignored(t, "cbor-break", case, IGNORED[5], (raw(bytes), skip));
    }
    for place in &IGNORED[1..5] {
        reject_ignored(t, "cbor-break", "value", *place, (raw(&[0xff]), 0));
    }
    t.reject("cbor-break", "root", dense("1.2.0").bad("", raw(&[0xff])), "v12-dense");
    t.reject("cbor-break", "v01-root", v0(vec![]).bad("", raw(&[0xff])), "v01-empty");
    for path in ["version", "objects", "w:/shape", "w:/format", "w:data/dtype", "w:data/length"] {
        let name = path.rsplit('/').next().unwrap_or(path);
        t.reject(
            "cbor-break",
            format!("for-{name}"),
            dense("1.2.0").bad(path, raw(&[0xff])),
            "v12-dense",
        );
    }
    // The array declares two dimensions, but a break follows the first one.
    let shape = dense("1.2.0").set("w:/shape", marked_at(2, raw(&[0x82, 4, 0xff])));
    t.reject("cbor-break", "in-definite-shape", shape, "v12-dense");
    let entries = dense_v0().edit("", |root| match root {
        Item::Array(style, mut items) => {
            items.push(marked_at(0, raw(&[0xff])));
            Item::Array(style, items)
        }
        other => other,
    });
    t.reject("cbor-break", "v01-for-entry", entries, "v01-dense");
}

/// Adds cases about a break as a key of a map with a count, and as a value of a map without one.
fn break_keys(t: &mut Table) {
    for (name, path) in MAPS {
        let file = ignored().push(path, marked_at(0, raw(&[0xff])), raw(&[]));
        t.reject("cbor-break", format!("key-in-definite-{name}"), file, "v12-ignored-fields");
    }
    let entry = ignored_v0().push("#0", marked_at(0, raw(&[0xff])), raw(&[]));
    t.reject("cbor-break", "v01-key-in-definite-entry", entry, "v01-ignored-fields");
    for (name, path) in [MAPS[0], MAPS[3], MAPS[6]] {
        let file = ignored().head(path, Head::Indefinite).bad(&format!("{path}/x"), raw(&[0xff]));
        t.reject("cbor-break", format!("value-in-indefinite-{name}"), file, "v12-ignored-fields");
    }
    let entry = ignored_v0().head("#0", Head::Indefinite).bad("#0/x", raw(&[0xff]));
    t.reject("cbor-break", "v01-value-in-indefinite-entry", entry, "v01-ignored-fields");
}

fn counts(t: &mut Table) {
    let claims = [
        ("2-pow-32", 1 << 32),
        ("2-pow-60", 1 << 60),
        // Twice 2^63 is 0 in 64 bits, so a reader that doubles the count of a map would find an empty map.
        ("2-pow-63", 1 << 63),
        ("2-pow-64-minus-1", u64::MAX),
    ];
    for (name, claim) in claims {
        for (kind, major) in [("array", 4), ("map", 5)] {
            let item = || (Item::Raw(head(major, claim)), 0);
            for place in [IGNORED[0], IGNORED[3], IGNORED[5]] {
                reject_ignored(t, "cbor-count", &format!("{kind}-of-{name}"), place, item());
            }
        }
        for (map, path) in MAPS {
            let file = ignored().head(path, Head::Claim(claim)).mark(path);
            t.reject("cbor-count", format!("{map}-of-{name}"), file, "v12-ignored-fields");
        }
        let shape = dense("1.2.0").head("w:/shape", Head::Claim(claim)).mark("w:/shape");
        t.reject("cbor-count", format!("shape-of-{name}"), shape, "v12-dense");
        for (place, path) in [("root", ""), ("entry", "#0"), ("shape", "#0/shape")] {
            let file = dense_v0().head(path, Head::Claim(claim)).mark(path);
            t.reject("cbor-count", format!("v01-{place}-of-{name}"), file, "v01-dense");
        }
    }
    // The array or map claims more items than there are bytes left in the manifest. An entry of a map consists of two
    // items.
    let items: [(&str, &[u8]); 5] = [
        ("array-of-1-in-0-bytes", &[0x81]),
        ("array-of-3-in-2-bytes", &[0x83, 0, 0]),
        ("map-of-1-in-1-byte", &[0xa1, 0]),
        ("map-of-2-in-3-bytes", &[0xa2, 0, 0, 0]),
        ("map-of-3-in-3-bytes", &[0xa3, 0, 0, 0]),
    ];
    for (case, bytes) in items {
        reject_ignored(t, "cbor-count", case, IGNORED[0], (raw(bytes), 0));
    }
    t.reject(
        "cbor-count",
        "v01-root-of-1-in-0-bytes",
        v0(vec![]).bad("", raw(&[0x81])),
        "v01-empty",
    );
}
