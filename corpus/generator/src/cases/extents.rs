//! Cases of the corpus about the positions of blobs: alignment, bounds, and empty blobs.

use crate::base::{
    DATA, component, csr, dense, dense_object, dense_v0, entry, object, ramp, v0, v1,
};
use crate::cbor::{text, uint};
use crate::file::File;
use crate::table::Table;

/// Returns a file with a `u8` vector for each name, offset and length, in this order, whose manifest begins at `start`.
pub(super) fn vectors(extents: &[(&str, u64, u64)], start: usize) -> File {
    let objects = extents.iter().map(|&(name, offset, length)| {
        (name, dense_object(&[length], component("u8", offset, length)))
    });
    v1("1.2.0", objects).blob(64, &ramp(start - 64)).start(start)
}

/// Returns the file of [`vectors`] in generation 0.1.
pub(super) fn vectors_v0(extents: &[(&str, u64, u64)], start: usize) -> File {
    let entries = extents
        .iter()
        .map(|&(name, offset, length)| entry(name, "uint8", &[length], offset, length));
    v0(entries.collect()).blob(64, &ramp(start - 64)).start(start)
}

pub(crate) fn cases(t: &mut Table) {
    alignment(t);
    bounds(t);
    empty(t);
}

fn alignment(t: &mut Table) {
    t.accept("v12-vector", vectors(&[("w", 64, 16)], 144));
    t.accept("v01-vector", vectors_v0(&[("w", 64, 16)], 144));
    for offset in [65, 68, 72, 80, 96, 127] {
        let file = vectors(&[("w", offset, 16)], 144).mark("w:data/offset");
        t.reject("blob-alignment", format!("v12-{offset}"), file, "v12-vector");
        let file = vectors_v0(&[("w", offset, 16)], 144).mark("#0/offset");
        t.reject("blob-alignment", format!("v01-{offset}"), file, "v01-vector");
    }
    // An empty blob has no bytes, so it cannot overlap another blob, but its offset must be aligned.
    t.accept("v12-empty-vector", vectors(&[("w", 128, 0)], 144));
    t.accept("v01-empty-vector", vectors_v0(&[("w", 128, 0)], 144));
    for offset in [1, 8, 63, 144] {
        let file = vectors(&[("w", offset, 0)], 144).mark("w:data/offset");
        t.reject("blob-alignment", format!("v12-empty-at-{offset}"), file, "v12-empty-vector");
        let file = vectors_v0(&[("w", offset, 0)], 144).mark("#0/offset");
        t.reject("blob-alignment", format!("v01-empty-at-{offset}"), file, "v01-empty-vector");
    }
    let v11 = dense("1.1.0").bad("w:data/offset", uint(72)).start(96);
    t.reject("blob-alignment", "v11-72", v11, "v11-dense");
    let index = csr("1.2.0").bad("w:indptr/offset", uint(196)).start(256);
    t.reject("blob-alignment", "v12-indptr", index, "v12-csr");

    for (case, length) in [("one-byte", 1), ("magic", 8), ("up-to-64", 64), ("to-manifest", 144)] {
        let file = vectors(&[("w", 0, length)], 144).mark("w:data/offset");
        t.reject("blob-header", format!("v12-{case}"), file, "v12-vector");
        let file = vectors_v0(&[("w", 0, length)], 144).mark("#0/offset");
        t.reject("blob-header", format!("v01-{case}"), file, "v01-vector");
    }
    let second = vectors(&[("w", 64, 16), ("v", 0, 16)], 144).mark("v:data/offset");
    t.reject("blob-header", "v12-second", second, "v12-vector");
}

fn bounds(t: &mut Table) {
    let top = u64::MAX - 63;
    for (case, offset, length) in [
        ("one-past", 64, 81),
        ("into-footer", 64, 200),
        ("far-past", 64, 1 << 40),
        ("wraps-to-0", 64, top),
        ("wraps-to-64", 64, u64::MAX),
        ("wraps-from-top", top, 128),
        ("wraps-from-top-to-0", top, 64),
        ("fits-in-64-bits-only", top, 63),
        ("fits-in-63-bits-only", 1 << 62, 1 << 62),
        ("offset-past-manifest", 192, 16),
        ("offset-past-file", 1 << 20, 16),
        ("offset-past-2-pow-32", 1 << 32 | 64, 16),
        ("empty-past-manifest", 192, 0),
        ("empty-at-top", top, 0),
    ] {
        let neighbor = if length == 0 { "empty-vector" } else { "vector" };
        let file = vectors(&[("w", offset, length)], 144).mark("w:data/length");
        t.reject("blob-bounds", format!("v12-{case}"), file, &format!("v12-{neighbor}"));
        let file = vectors_v0(&[("w", offset, length)], 144).mark("#0/size");
        t.reject("blob-bounds", format!("v01-{case}"), file, &format!("v01-{neighbor}"));
    }
    let whole = vectors(&[("w", 64, 80)], 144);
    t.accept("v12-vector-up-to-manifest", whole);
    let extra = dense("1.2.0").set("w:extra", component("u8", 64 << 10, 1)).mark("w:extra/length");
    t.reject("blob-bounds", "v12-extra-role", extra, "v12-dense");
    let unknown = object(&[], "x", vec![("blob", component("u8", 64, 81))]);
    let unknown = v1("1.2.0", vec![("w", unknown)]).blob(64, &ramp(80)).mark("w:blob/length");
    t.reject("blob-bounds", "v12-unknown-format", unknown, "unsupported-format--v12-unknown");
    let layout = dense_v0().set("#0/layout", text("sparse")).bad("#0/size", uint(17));
    let layout = layout.set("#0/dtype", text("uint8"));
    t.reject("blob-bounds", "v01-unknown-layout", layout, "unsupported-layout--v01-sparse");
    let dtype = dense_v0().set("#0/dtype", text("float8")).bad("#0/size", uint(17));
    t.reject("blob-bounds", "v01-unknown-dtype", dtype, "unsupported-dtype--v01-unknown");
}

fn empty(t: &mut Table) {
    t.accept("v12-empty-blob-at-0", vectors(&[("w", 0, 0)], 144));
    t.accept("v12-empty-blob-at-manifest", vectors(&[("w", 64, 64), ("e", 128, 0)], 128));
    t.accept("v01-empty-blob-at-manifest", vectors_v0(&[("w", 64, 64), ("e", 128, 0)], 128));
    t.accept("v12-empty-blob-inside-another", vectors(&[("w", 64, 128), ("e", 128, 0)], 192));
    t.accept("v01-empty-blob-inside-another", vectors_v0(&[("e", 128, 0), ("w", 64, 128)], 192));
    t.accept("v12-empty-blobs-shared", vectors(&[("d", 64, 0), ("e", 64, 0), ("w", 64, 16)], 80));
    // The file was appended to: the manifest of its first edition is left in a gap between the blobs, which is allowed.
    let first = dense("1.2.0").build("").bytes;
    let appended = dense("1.2.0")
        .push("objects", text("v"), dense_object(&[2, 2], component("f32", 256, 16)))
        .blob(64, &first[64..first.len() - 16])
        .blob(256, &DATA);
    t.accept("v12-orphan-bytes-in-gap", appended);
    t.accept("v12-padding-not-zero", vectors(&[("w", 64, 16), ("v", 128, 16)], 144));
    t.accept("v12-gap-before-first-blob", vectors(&[("w", 128, 16)], 144));
    t.accept("v12-manifest-after-padding", vectors(&[("w", 64, 16)], 128));
}
