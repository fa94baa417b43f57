//! Cases of the corpus about items that run past the end of the manifest.

use super::cbor::{IGNORED, base_of};
use crate::base::{dense, dense_v0, ignored, ignored_v0, v0};
use crate::cbor::{Head, Item, last, marked_at, raw, wide_head};
use crate::file::File;
use crate::table::Table;

const RULE: &str = "cbor-truncated";

pub(crate) fn cases(t: &mut Table) {
    at_the_end(t);
    claims(t);
    fields(t);
}

/// Adds manifests that end in the middle of the value of an unknown field, which readers pass over, with a value for each kind
/// of CBOR item. Also adds manifests that end before this value, and manifests whose root has an indefinite length and no end.
fn at_the_end(t: &mut Table) {
    let items: [(&str, &[u8], usize); 22] = [
        ("uint-of-2", &[0x19, 1], 0),
        ("uint-of-4", &[0x1a, 0, 0, 1], 0),
        ("uint-of-8", &[0x1b, 0, 0, 0, 0, 0, 0, 1], 0),
        ("uint-of-1", &[0x18], 0),
        ("negative-of-8", &[0x3b, 0], 0),
        ("bytes", &[0x42, 0], 0),
        ("text", &[0x63, b'a', b'b'], 0),
        ("text-without-length", &[0x79, 0], 0),
        ("array-without-count", &[0x98], 0),
        ("map-without-count", &[0xb9, 0], 0),
        ("tag-without-number", &[0xd9, 0xd9], 0),
        ("half-float", &[0xf9, 0x3c], 0),
        ("float", &[0xfa, 0, 0, 0], 0),
        ("double", &[0xfb, 0, 0, 0, 0, 0, 0, 0], 0),
        ("simple-value", &[0xf8], 0),
        ("tag-without-content", &[0xc1], 1),
        ("indefinite-array", &[0x9f, 0], 2),
        ("indefinite-map", &[0xbf, 0x61, b'a', 0], 4),
        ("indefinite-map-after-key", &[0xbf, 0x61, b'a'], 3),
        ("indefinite-text", &[0x7f, 0x61, b'a'], 3),
        ("indefinite-bytes", &[0x5f], 1),
        ("nested", &[0x82, 0, 0x81, 0x62, b'a'], 3),
    ];
    for (case, bytes, skip) in items {
        let file = ignored().set("x", last(marked_at(skip, raw(bytes))));
        t.reject(RULE, format!("{case}-at-end"), file, "v12-ignored-fields");
        if bytes.len() < 4 {
            let file = ignored_v0().set("#0/x", last(marked_at(skip, raw(bytes))));
            t.reject(RULE, format!("v01-{case}-at-end"), file, "v01-ignored-fields");
        }
    }
    let value = ignored().set("x", last(marked_at(0, raw(&[]))));
    t.reject(RULE, "key-without-value-at-end", value, "v12-ignored-fields");
    let value = ignored_v0().set("#0/x", last(marked_at(0, raw(&[]))));
    t.reject(RULE, "v01-key-without-value-at-end", value, "v01-ignored-fields");
    // These roots of indefinite length end without a break. The error is expected at the end of the manifest.
    let root = v0(vec![last(marked_at(0, raw(&[])))]).head("", Head::Indefinite);
    t.reject(RULE, "v01-indefinite-root-without-break", root, "v01-empty");
    let root = File::v1(marked_at(1, raw(&[0xbf])));
    t.reject(RULE, "v12-indefinite-root-only", root, "v12-smallest");
    let root = dense("1.2.0").head("", Head::Indefinite).edit("", |root| {
        let length = root.encode().bytes.len() - 1;
        marked_at(length, Item::Raw(root.encode().bytes[..length].to_vec()))
    });
    t.reject(RULE, "v12-indefinite-root-without-break", root, "v12-dense");
}

/// Adds cases about strings that claim more bytes than there are, before the end of the manifest.
fn claims(t: &mut Table) {
    let claims = [
        ("2-pow-32", 1 << 32),
        ("2-pow-60", 1 << 60),
        ("2-pow-63", 1 << 63),
        ("2-pow-64-minus-1", u64::MAX),
    ];
    for (name, claim) in claims {
        for (kind, major) in [("bytes", 2), ("text", 3)] {
            let string = wide_head(major, claim);
            for (place, path) in [IGNORED[0], IGNORED[1], IGNORED[4], IGNORED[5]] {
                let (file, neighbor) = base_of(path);
                let file = file.bad(path, raw(&string));
                t.reject(RULE, format!("{kind}-of-{name}-in-{place}"), file, neighbor);
            }
            let chunks = [&[major << 5 | 31], string.as_slice()].concat();
            let file = ignored().set("x", marked_at(1, raw(&chunks)));
            t.reject(RULE, format!("{kind}-chunk-of-{name}"), file, "v12-ignored-fields");
        }
        let string = raw(&wide_head(3, claim));
        for (place, path) in [("name", "objects"), ("role", "w:/components"), ("key", "w:data")] {
            let file = dense("1.2.0").push_front(path, marked_at(0, string.clone()), raw(&[]));
            t.reject(RULE, format!("{place}-of-{name}"), file, "v12-dense");
        }
        let file = dense_v0().bad("#0/name", string);
        t.reject(RULE, format!("v01-name-of-{name}"), file, "v01-dense");
    }
}

/// Adds cases in which the manifest ends within an interpreted field.
fn fields(t: &mut Table) {
    let texts = ["version", "w:/format", "w:data/dtype"];
    for path in texts {
        let file = dense("1.2.0").set(path, last(marked_at(0, raw(&[0x66, b'd']))));
        t.reject(RULE, format!("value-of-{}", name(path)), file, "v12-dense");
    }
    for path in ["w:data/offset", "w:data/length"] {
        let file = dense("1.2.0").set(path, last(marked_at(0, raw(&[0x18]))));
        t.reject(RULE, format!("value-of-{}", name(path)), file, "v12-dense");
    }
    let shape = dense("1.2.0").set("w:/shape", last(marked_at(2, raw(&[0x82, 2, 0x19]))));
    t.reject(RULE, "value-of-shape", shape, "v12-dense");
    for path in ["#0/dtype", "#0/encoding"] {
        let file = dense_v0().set(path, last(marked_at(0, raw(&[0x66, b'd']))));
        t.reject(RULE, format!("v01-value-of-{}", name(path)), file, "v01-dense");
    }
    let size = dense_v0().set("#0/size", last(marked_at(0, raw(&[0x1b, 0, 0]))));
    t.reject(RULE, "v01-value-of-size", size, "v01-dense");
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
