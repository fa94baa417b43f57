//! Cases of the corpus about fields of the right type with a value that the tables do not list.

use crate::base::{
    DATA, component, dense, dense_object, dense_v0, dense_zstd, entry, full, full_v0, v0, v1,
    zstd_frame,
};
use crate::cbor::{text, uint, uints};
use crate::file::File;
use crate::table::Table;

pub(crate) fn cases(t: &mut Table) {
    versions(t);
    dtypes(t);
    logical_types(t);
    encodings(t);
    endianness(t);
}

fn versions(t: &mut Table) {
    for version in ["1.0", "1.1", "1.2", "1.0.0", "1.9.12", "1.4294967295.4294967295"] {
        t.accept(format!("version-{version}"), dense(version));
    }
    for (case, version) in [
        ("empty", ""),
        ("one-number", "1"),
        ("dot-at-end", "1.2."),
        ("dot-at-end-of-three", "1.2.0."),
        ("dot-at-start", ".1.2"),
        ("two-dots", "1..2"),
        ("only-dots", ".."),
        ("four-numbers", "1.2.0.0"),
        ("leading-zero-major", "01.2.0"),
        ("leading-zero-minor", "1.02.0"),
        ("leading-zero-patch", "1.2.00"),
        ("plus", "+1.2.0"),
        ("minus", "1.-2.0"),
        ("suffix", "1.2.0-rc"),
        ("build", "1.2.0+1"),
        ("letter-v", "v1.2.0"),
        ("word", "one.two"),
        ("hexadecimal", "1.0x2.0"),
        ("exponent", "1.2e0"),
        ("space-before", " 1.2.0"),
        ("space-after", "1.2.0 "),
        ("space-within", "1. 2.0"),
        ("nul-after", "1.2.0\0"),
        ("line-feed-after", "1.2.0\n"),
        ("comma", "1,2,0"),
        ("colon", "1.2.:"),
        ("minor-2-pow-32", "1.4294967296"),
        ("patch-2-pow-32", "1.2.4294967296"),
        ("major-2-pow-32-and-1", "4294967297.2.0"),
        ("minor-of-30-digits", "1.100000000000000000000000000002"),
        ("arabic-digits", "\u{661}.\u{662}"),
        ("full-width-digit", "1.\u{ff12}"),
    ] {
        let file = dense("1.2.0").bad("version", text(version));
        t.reject("version-syntax", case, file, "v12-dense");
    }
    for version in ["2.0.0", "0.1.0", "0.1", "10.0.0", "11.2", "4294967295.0"] {
        let file = dense("1.2.0").bad("version", text(version));
        t.reject("unsupported-version", version, file, "v12-dense");
    }
}

fn dtypes(t: &mut Table) {
    for (case, dtype) in [
        ("empty", ""),
        ("upper-case", "F32"),
        ("v01-name", "float32"),
        ("space-after", "f32 "),
        ("nul-after", "f32\0"),
        ("prefix", "f3"),
        ("u128", "u128"),
        ("f8-e4m3fn", "f8_e4m3fn"),
        ("f8-e4m3", "f8_e4m3"),
        ("f8-e5m2", "f8_e5m2"),
        ("complex64", "complex64"),
        ("complex128", "complex128"),
    ] {
        let file = dense("1.2.0").bad("w:data/dtype", text(dtype));
        t.reject("dtype-unknown", format!("v12-{case}"), file, "v12-dense");
    }
    for (case, dtype) in [
        ("f8-e4m3fn", "f8_e4m3fn"),
        ("f8-e4m3fnuz", "f8_e4m3fnuz"),
        ("v01-name", "uint8"),
        ("complex32", "complex32"),
    ] {
        let file = dense("1.1.0").bad("w:data/dtype", text(dtype));
        t.reject("dtype-unknown", format!("v11-{case}"), file, "v11-dense");
    }
    let ten = dense("1.10").bad("w:data/dtype", text("complex64"));
    t.reject("dtype-unknown", "v1-10-complex64", ten, "v12-dense");
    let unknown = dense("1.2.0").set("w:/format", text("x")).bad("w:data/dtype", text("q4_0"));
    t.reject("dtype-unknown", "v12-in-unknown-format", unknown, "unsupported-format--v12-unknown");

    let eight = |version, dtype: &str, shape: &[u64]| {
        v1(version, vec![("w", dense_object(shape, component(dtype, 64, 16)))]).blob(64, &DATA)
    };
    for (dtype, shape) in [("f8_e4m3", 16), ("f8_e5m2", 16), ("complex64", 2), ("complex128", 1)] {
        t.accept(format!("v11-{dtype}"), eight("1.1.0", dtype, &[shape]));
    }
    for (dtype, shape) in [
        ("f64", 2),
        ("f32", 4),
        ("f16", 8),
        ("bf16", 8),
        ("i64", 2),
        ("i32", 4),
        ("i16", 8),
        ("i8", 16),
        ("u64", 2),
        ("u32", 4),
        ("u16", 8),
        ("u8", 16),
    ] {
        t.accept(format!("v12-{dtype}"), eight("1.2.0", dtype, &[shape]));
    }
    for (dtype, shape) in [
        ("float64", 2),
        ("float32", 4),
        ("float16", 8),
        ("bfloat16", 8),
        ("int64", 2),
        ("int32", 4),
        ("int16", 8),
        ("int8", 16),
        ("uint64", 2),
        ("uint32", 4),
        ("uint16", 8),
        ("uint8", 16),
        ("bool", 16),
    ] {
        let file = v0(vec![entry("w", dtype, &[shape], 64, 16)]).blob(64, &DATA);
        t.accept(format!("v01-{dtype}"), file);
    }
}

/// Returns a file with a dense object of the logical type `logical`, whose size fits its type and shape.
fn typed(version: &str, dtype: &str, logical: &str, shape: u64) -> File {
    v1(version, vec![("w", dense_object(&[shape], component(dtype, 64, 16)))])
        .set("w:data/type", text(logical))
        .blob(64, &DATA)
}

fn logical_types(t: &mut Table) {
    for (logical, dtype, shape) in [
        ("f8_e4m3fn", "u8", 16),
        ("f8_e5m2", "u8", 16),
        ("f8_e4m3fnuz", "u8", 16),
        ("f8_e5m2fnuz", "u8", 16),
        ("complex64", "f32", 2),
        ("complex128", "f64", 1),
    ] {
        for (version, prefix) in [("1.2.0", "v12"), ("1.1.0", "v11")] {
            let neighbor = format!("{prefix}-type-{logical}");
            t.accept(neighbor.as_str(), typed(version, dtype, logical, shape));
        }
    }
    for (logical, dtype, shape) in [
        ("f8_e4m3fn", "i8", 16),
        ("f8_e4m3fn", "f32", 4),
        ("f8_e5m2", "u16", 8),
        ("f8_e4m3fnuz", "i8", 16),
        ("f8_e5m2fnuz", "i8", 16),
        ("complex64", "f64", 1),
        ("complex64", "f16", 4),
        ("complex64", "u64", 1),
        ("complex128", "f32", 2),
        ("complex128", "u64", 1),
    ] {
        for (version, prefix) in [("1.2.0", "v12"), ("1.1.0", "v11")] {
            let file = typed(version, dtype, logical, shape).mark("w:data/type");
            let case = format!("{prefix}-{logical}-on-{dtype}");
            t.reject("type-storage", case, file, &format!("{prefix}-type-{logical}"));
        }
    }
    // A dtype of 1.1 that is itself a logical type cannot be changed to another logical type by `type`.
    let twice = full("1.1.0").set("w:data/dtype", text("f8_e4m3"));
    let twice = twice.bad("w:data/type", text("f8_e5m2"));
    t.reject("type-storage", "v11-f8_e5m2-on-f8_e4m3", twice, "v11-all-fields");
    t.accept("v12-type-equal-to-dtype", dense("1.2.0").set("w:data/type", text("f32")));
    let equal = typed("1.1.0", "complex64", "complex64", 2);
    t.accept("v11-type-equal-to-dtype", equal);
    let unknown = dense("1.2.0").set("w:data/type", text("posit32"));
    t.accept("unsupported-type--v12-unknown", unknown);
    let unknown = dense("1.2.0").set("w:data/type", text("f16"));
    t.accept("unsupported-type--v12-storage-type-on-another", unknown);
    let unknown = dense("1.1.0").set("w:data/type", text("Complex64"));
    t.accept("unsupported-type--v11-other-case", unknown);
    // An unknown `type` is also accepted with the dtypes of 1.1 that are logical types in 1.2.
    for dtype in ["complex64", "complex128", "f8_e4m3", "f8_e5m2"] {
        let unknown = dense("1.1.0").set("w:data/type", text("complex28"));
        let unknown = unknown.set("w:data/dtype", text(dtype));
        t.accept(format!("unsupported-type--v11-on-{dtype}"), unknown);
    }
    t.accept("unsupported-type--v12-empty", dense("1.2.0").set("w:data/type", text("")));
    // For an unknown type, the shape does not determine the size.
    let packed = dense("1.2.0").set("w:data/type", text("int4")).set("w:/shape", uints(&[32]));
    t.accept("unsupported-type--v12-other-size", packed);
}

fn encodings(t: &mut Table) {
    for (case, encoding) in [
        ("empty", ""),
        ("lz4", "lz4"),
        ("upper-case", "RAW"),
        ("space-after", "raw "),
        ("zstandard", "zstandard"),
        ("none", "none"),
    ] {
        let file = full("1.2.0").bad("w:data/encoding", text(encoding));
        t.reject("encoding-unknown", format!("v12-{case}"), file, "v12-all-fields");
    }
    let file = dense_zstd("1.1.0")
        .without("w:data/uncompressed_length")
        .bad("w:data/encoding", text("gzip"));
    t.reject("encoding-unknown", "v11-gzip", file, "v11-zstd");

    for length in [0, 15, 17, 1 << 32, u64::MAX] {
        let path = "w:data/uncompressed_length";
        let file = full("1.2.0").bad(path, uint(length));
        t.reject("uncompressed-length-raw", format!("v12-{length}"), file, "v12-all-fields");
        let file = full("1.1.0").bad(path, uint(length));
        t.reject("uncompressed-length-raw", format!("v11-{length}"), file, "v11-all-fields");
    }
}

fn endianness(t: &mut Table) {
    for (case, value) in [
        ("empty", ""),
        ("upper-case", "LITTLE"),
        ("capital", "Big"),
        ("native", "native"),
        ("word", "little-endian"),
        ("space", "big "),
        ("sign", ">"),
    ] {
        let file = full_v0().bad("#0/data_endianness", text(value));
        t.reject("endianness-value", case, file, "v01-all-fields");
    }
    let big: Vec<u8> = DATA.chunks(4).flat_map(|word| word.iter().rev().copied()).collect();
    let file = v0(vec![entry("w", "float32", &[2, 2], 64, 16)]).blob(64, &big);
    t.accept("v01-big-endian", file.set("#0/data_endianness", text("big")));
    t.accept("v01-little-endian", dense_v0().set("#0/data_endianness", text("little")));

    let frame = zstd_frame(&DATA);
    let zstd = |dtype: &str, shape: u64, order: &str| {
        v0(vec![entry("w", dtype, &[shape], 64, frame.len() as u64)])
            .set("#0/encoding", text("zstd"))
            .set("#0/data_endianness", text(order))
            .blob(64, &frame)
    };
    t.accept("v01-zstd-little-endian", zstd("float32", 4, "little"));
    t.accept("v01-zstd-big-endian-bytes", zstd("uint8", 16, "big"));
    t.accept("v01-zstd-big-endian-bool", zstd("bool", 16, "big"));
    for (dtype, shape) in [("float32", 4), ("int16", 8), ("bfloat16", 8), ("uint64", 2)] {
        let file = zstd(dtype, shape, "big").mark("#0/data_endianness");
        t.reject("endianness-compressed", dtype, file, "v01-zstd-little-endian");
    }
}
