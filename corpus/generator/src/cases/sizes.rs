//! Cases of the corpus about the sizes that follow from shapes and types.

use crate::base::{
    DATA, NONE, component, csr, dense, dense_object, dense_zstd, entry, object, quantized, v0, v1,
    zstd_component, zstd_frame,
};
use crate::cbor::{text, uint, uints};
use crate::file::File;
use crate::table::Table;

pub(crate) fn cases(t: &mut Table) {
    overflow(t);
    whole_elements(t);
    dense_size(t);
    dense_size_overflow(t);
}

/// Returns a 1.x file with a dense object whose blob has `length` bytes, whatever its shape requires.
fn sized(dtype: &str, shape: &[u64], length: u64) -> File {
    v1("1.2.0", vec![("w", dense_object(shape, component(dtype, 64, length)))]).blob(64, &DATA)
}

/// Returns a 0.1 file with a dense object whose blob has `length` bytes, whatever its shape requires.
fn sized_v0(dtype: &str, shape: &[u64], length: u64) -> File {
    v0(vec![entry("w", dtype, shape, 64, length)]).blob(64, &DATA)
}

fn overflow(t: &mut Table) {
    let max = u64::MAX;
    for (case, shape) in [
        ("huge-and-0", vec![max, max, 0]),
        ("0-and-huge", vec![0, max]),
        ("0-among-huge", vec![1 << 63, 0, 1 << 63]),
    ] {
        t.accept(format!("v12-shape-{case}"), sized("f32", &shape, 0));
        t.accept(format!("v01-shape-{case}"), sized_v0("float32", &shape, 0));
    }
    let sixteen = (1 << 60) + 1;
    // Modulo 2^64, the product of each shape is the number of bytes, so a reader that ignores the overflow would accept
    // the file.
    for (case, shape, length) in [
        ("wraps-to-0", vec![1 << 32, 1 << 32], 0),
        ("wraps-to-0-by-2", vec![1 << 63, 2], 0),
        ("wraps-to-0-in-64-steps", vec![2; 64], 0),
        ("wraps-to-1", vec![max, max], 1),
        ("wraps-to-16", vec![sixteen, 16], 16),
        ("wraps-and-on", vec![1 << 32, 1 << 32, 3], 0),
    ] {
        let neighbor = if length == 0 { "shape-0-and-huge" } else { "u8" };
        let file = sized("u8", &shape, length).mark("w:/shape");
        t.reject("shape-overflow", format!("v12-{case}"), file, &format!("v12-{neighbor}"));
        let file = sized_v0("uint8", &shape, length).mark("#0/shape");
        let neighbor = if length == 0 { "shape-0-and-huge" } else { "uint8" };
        t.reject("shape-overflow", format!("v01-{case}"), file, &format!("v01-{neighbor}"));
    }
    // If 0.1 does not define a type, layout or encoding, the shape says nothing about the size.
    for (field, value, why) in [
        ("encoding", "lz4", "unsupported-encoding"),
        ("dtype", "float8", "unsupported-dtype"),
        ("layout", "blocked", "unsupported-layout"),
    ] {
        let file = sized_v0("uint8", &[1 << 32, 1 << 32], 16);
        let file = file.set(&format!("#0/{field}"), text(value));
        t.opens_only(format!("{why}--v01-huge-shape"), file, why);
    }
    let zstd = zstd_of(&[]).bad("w:/shape", uints(&[1 << 32, 1 << 32]));
    t.accept("v12-zstd-of-nothing", zstd_of(&[]));
    t.reject("shape-overflow", "v12-zstd", zstd, "v12-zstd-of-nothing");
    // The number of elements fits in 64 bits, but the number of their bytes does not. The manifest does not state the
    // decoded size.
    let bytes = dense_zstd("1.1.0").without("w:data/uncompressed_length");
    let bytes = bytes.bad("w:/shape", uints(&[1 << 62]));
    t.reject("shape-overflow", "v11-zstd-bytes", bytes, "v11-dense");
    let v11 = dense("1.1.0").bad("w:/shape", uints(&[1 << 62, 16, 1 << 62]));
    t.reject("shape-overflow", "v11", v11, "v11-dense");
    let group = quantized("1.2.0").bad("w:/shape", uints(&[1 << 40, 1 << 40]));
    t.reject("shape-overflow", "v12-quantized", group, "v12-quantized");
    let fits = quantized("1.2.0").set("w:/shape", uints(&[1 << 40, 1 << 23]));
    t.accept("v12-quantized-of-2-pow-63", fits);
    // The dimensions of an object of an unknown format are not multiplied, so their product may exceed 64 bits.
    let unknown = object(&[1 << 40, 1 << 40], "x", NONE);
    t.accept("unsupported-format--v12-huge-shape", v1("1.2.0", vec![("w", unknown)]));
}

/// Returns a compressed vector of `u8`.
fn zstd_of(content: &[u8]) -> File {
    let frame = zstd_frame(content);
    let decoded = content.len() as u64;
    let data = zstd_component("u8", 64, frame.len() as u64, decoded);
    v1("1.2.0", vec![("w", dense_object(&[decoded], data))]).blob(64, &frame)
}

fn whole_elements(t: &mut Table) {
    let unknown = |dtype: &str, length: u64| {
        let item = object(&[], "x", vec![("blob", component(dtype, 64, length))]);
        v1("1.2.0", vec![("w", item)]).blob(64, &DATA)
    };
    for (dtype, length) in [
        ("f64", 15),
        ("f32", 15),
        ("f16", 15),
        ("bf16", 1),
        ("i64", 12),
        ("i32", 2),
        ("i16", 3),
        ("u64", 4),
        ("u32", 7),
        ("u16", 15),
    ] {
        let file = unknown(dtype, length).mark("w:blob/length");
        t.reject("whole-elements", format!("v12-{dtype}"), file, "unsupported-format--v12-unknown");
    }
    let v11 = unknown("complex64", 12).set("version", text("1.1.0")).mark("w:blob/length");
    t.reject("whole-elements", "v11-complex64", v11, "unsupported-format--v12-unknown");
    let typed = sized("f32", &[2, 2], 15).set("w:data/type", text("x")).mark("w:data/length");
    t.reject("whole-elements", "v12-unknown-type", typed, "unsupported-type--v12-unknown");
    // In 1.1 the dtype says that the elements are pairs of floats, whatever their `type` is.
    for (dtype, length) in
        [("complex64", 12), ("complex64", 4), ("complex64", 15), ("complex128", 8)]
    {
        let file = sized(dtype, &[1], length).set("version", text("1.1.0"));
        let file = file.set("w:data/type", text("complex28")).mark("w:data/length");
        let neighbor = format!("unsupported-type--v11-on-{dtype}");
        t.reject("whole-elements", format!("v11-{length}-of-{dtype}"), file, &neighbor);
    }
    for (case, role, length) in
        [("csr-values", "values", 11), ("csr-indices", "indices", 23), ("csr-indptr", "indptr", 20)]
    {
        let file = csr("1.2.0").bad(&format!("w:{role}/length"), uint(length));
        t.reject("whole-elements", format!("v12-{case}"), file, "v12-csr");
    }
    for (role, length) in [("packed_weight", 7), ("scales", 3), ("zeros", 1)] {
        let file = quantized("1.2.0").bad(&format!("w:{role}/length"), uint(length));
        t.reject("whole-elements", format!("v12-quantized-{role}"), file, "v12-quantized");
    }
    let extra =
        |length| dense("1.2.0").set("w:extra", component("u16", 128, length)).blob(128, &[1, 2]);
    t.accept("v12-extra-role", extra(2));
    let odd = extra(1).mark("w:extra/length");
    t.reject("whole-elements", "v12-extra-role", odd, "v12-extra-role");
    let decoded =
        dense_zstd("1.2.0").set("w:/format", text("x")).bad("w:data/uncompressed_length", uint(15));
    t.reject("whole-elements", "v12-zstd", decoded, "v12-zstd");
}

fn dense_size(t: &mut Table) {
    for (case, shape, length) in [
        ("short", vec![2, 2], 12),
        ("long", vec![2, 1], 16),
        ("empty", vec![2, 2], 0),
        ("scalar-of-2", vec![], 8),
        ("scalar-of-0", vec![], 0),
        ("0-with-data", vec![0, 4], 16),
        ("elements-for-bytes", vec![16], 16),
        ("rank-1", vec![3], 16),
    ] {
        let file = sized("f32", &shape, length).mark("w:data/length");
        t.reject("dense-size", format!("v12-{case}"), file, "v12-dense");
        let file = sized_v0("float32", &shape, length).mark("#0/size");
        t.reject("dense-size", format!("v01-{case}"), file, "v01-dense");
    }
    t.accept("v12-scalar", sized("f32", &[], 4));
    t.accept("v01-scalar", sized_v0("float32", &[], 4));
    for (case, dtype, logical, shape, neighbor) in [
        ("complex64-without-ratio", "f32", "complex64", 4, "v12-type-complex64"),
        ("complex64-half", "f32", "complex64", 1, "v12-type-complex64"),
        ("complex128-without-ratio", "f64", "complex128", 2, "v12-type-complex128"),
        ("f8-as-f16", "u8", "f8_e5m2", 8, "v12-type-f8_e5m2"),
        ("type-equal-to-dtype", "f32", "f32", 2, "v12-type-equal-to-dtype"),
    ] {
        let file =
            sized(dtype, &[shape], 16).set("w:data/type", text(logical)).mark("w:data/length");
        t.reject("dense-size", format!("v12-{case}"), file, neighbor);
    }
    for (dtype, shape) in
        [("complex64", 4), ("complex64", 1), ("complex128", 2), ("f8_e4m3", 4), ("f8_e5m2", 32)]
    {
        let file = sized(dtype, &[shape], 16).set("version", text("1.1.0")).mark("w:data/length");
        t.reject("dense-size", format!("v11-{dtype}-of-{shape}"), file, &format!("v11-{dtype}"));
    }
    for (case, decoded) in [("less", 12), ("more", 20), ("nothing", 0), ("2-pow-40", 1 << 40)] {
        let file = dense_zstd("1.2.0").bad("w:data/uncompressed_length", uint(decoded));
        t.reject("dense-size", format!("v12-zstd-{case}"), file, "v12-zstd");
        // A 1.1 file keeps its version when something is appended to it. It may then have the field
        // `uncompressed_length`, which only 1.2 requires.
        let file = dense_zstd("1.1.0").bad("w:data/uncompressed_length", uint(decoded));
        t.reject("dense-size", format!("v11-zstd-{case}"), file, "v11-zstd-with-length");
    }
    t.accept("v11-zstd-with-length", dense_zstd("1.1.0"));
}

/// Adds cases about products that fit in 64 bits although the number of bytes does not.
fn dense_size_overflow(t: &mut Table) {
    for (case, dtype, logical, shape, length) in [
        ("f64-wraps-to-0", "f64", "f64", 1 << 61, 0),
        ("f64-wraps-to-16", "f64", "f64", (1 << 61) + 2, 16),
        ("f32-wraps-to-16", "f32", "f32", (1 << 62) + 4, 16),
        ("u16-wraps-to-0", "u16", "u16", 1 << 63, 0),
        ("complex64-wraps-to-16", "f32", "complex64", (1 << 61) + 2, 16),
        ("complex128-wraps-to-16", "f64", "complex128", (1 << 60) + 1, 16),
        ("f64-does-not-wrap-to-16", "f64", "f64", u64::MAX, 16),
    ] {
        let file = sized(dtype, &[shape], length).set("w:data/type", text(logical));
        let neighbor = if logical == "complex128" { "v12-type-complex128" } else { "v12-dense" };
        t.reject("dense-size", format!("v12-{case}"), file.mark("w:data/length"), neighbor);
    }
    let file = sized_v0("float64", &[1 << 61], 0).mark("#0/size");
    t.reject("dense-size", "v01-float64-wraps-to-0", file, "v01-float64");
    let file = sized_v0("float32", &[(1 << 62) + 4], 16).mark("#0/size");
    t.reject("dense-size", "v01-float32-wraps-to-16", file, "v01-float32");
}
