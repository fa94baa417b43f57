//! Cases of the corpus about the requirements of each layout: roles, index types, ranks and sizes.

use crate::base::{
    DATA, component, coo, csr, dense, object, quantized, v1, words, zstd_component, zstd_frame,
};
use crate::cbor::{fields, marked, text, uint, uints};
use crate::file::File;
use crate::table::Table;

const NARROW: &str = "tolerate=narrow-indices";

pub(crate) fn cases(t: &mut Table) {
    t.accept("v12-csr", csr("1.2.0"));
    t.accept("v11-csr", csr("1.1.0"));
    t.accept("v12-coo", coo("1.2.0"));
    t.accept("v11-coo", coo("1.1.0"));
    t.accept("v12-quantized", quantized("1.2.0"));
    t.accept("v11-quantized", quantized("1.1.0"));
    roles(t);
    index_dtypes(t);
    ranks(t);
    csr_sizes(t);
    coo_sizes(t);
    overflow(t);
}

fn roles(t: &mut Table) {
    for version in ["1.2.0", "1.1.0"] {
        let prefix = if version == "1.2.0" { "v12" } else { "v11" };
        let none = dense(version).bad("w:/components", fields([]));
        t.reject("dense-roles", format!("{prefix}-none"), none, &format!("{prefix}-dense"));
        for role in ["values", "indices", "indptr"] {
            let file = csr(version).lacks(&format!("w:{role}"));
            t.reject("csr-roles", format!("{prefix}-no-{role}"), file, &format!("{prefix}-csr"));
        }
        for role in ["values", "coords"] {
            let file = coo(version).lacks(&format!("w:{role}"));
            t.reject("coo-roles", format!("{prefix}-no-{role}"), file, &format!("{prefix}-coo"));
        }
        for role in ["packed_weight", "scales"] {
            let file = quantized(version).lacks(&format!("w:{role}"));
            let neighbor = format!("{prefix}-quantized");
            t.reject("quantized-roles", format!("{prefix}-no-{role}"), file, &neighbor);
        }
        let file = quantized(version).lacks("w:zeros");
        t.reject("quantized-zeros", prefix, file, &format!("{prefix}-quantized"));
    }
    for name in ["Data", "data ", "data\0", "values", "", "dat"] {
        let file = dense("1.2.0").push("w:/components", text(name), component("f32", 64, 16));
        let case = match name {
            "" => "empty",
            "data " => "space-after",
            "data\0" => "nul-after",
            "Data" => "capital",
            other => other,
        };
        t.reject("dense-roles", format!("v12-{case}"), file.lacks("w:data"), "v12-dense");
    }
    let coords = coo("1.2.0").set("w:/format", text("sparse_csr")).mark("w:/components");
    t.reject("csr-roles", "v12-roles-of-coo", coords, "v12-coo");
    let indices = csr("1.2.0").set("w:/format", text("sparse_coo")).mark("w:/components");
    t.reject("coo-roles", "v12-roles-of-csr", indices, "v12-csr");
    let weight = dense("1.2.0").set("w:/format", text("quantized_group")).mark("w:/components");
    t.reject("quantized-roles", "v12-roles-of-dense", weight, "v12-dense");
    let only_zeros = quantized("1.2.0").without("w:scales").lacks("w:packed_weight");
    t.reject("quantized-roles", "v12-only-zeros", only_zeros, "v12-quantized");
    // The component `data` is an empty map. The key `dtype` after it is another role, and not a field of `data`.
    let parts = vec![("data", marked(fields([]))), ("dtype", component("f32", 64, 16))];
    let empty = v1("1.2.0", vec![("w", object(&[2, 2], "dense", parts))]).blob(64, &DATA);
    t.reject("dtype-missing", "v12-before-a-role-of-that-name", empty, "v12-dense");
    // The second object has no components. Those of the first object, which are right for the format, do not count for
    // it.
    for (format, rule, before) in [
        ("dense", "dense-roles", dense("1.2.0")),
        ("sparse_csr", "csr-roles", csr("1.2.0")),
        ("sparse_coo", "coo-roles", coo("1.2.0")),
        ("quantized_group", "quantized-roles", quantized("1.2.0")),
    ] {
        let shape = before.clone().take("w:/shape");
        let next = fields([
            ("shape", shape),
            ("format", text(format)),
            ("components", marked(fields([]))),
        ]);
        let neighbor = format!("v12-{}", format.trim_start_matches("sparse_"));
        let neighbor = neighbor.trim_end_matches("_group");
        t.reject(
            rule,
            "v12-after-one-that-has-them",
            before.push("objects", text("x"), next),
            neighbor,
        );
    }
    // This file lacks the scales, so it breaks a rule even with the tolerance for missing zero points.
    let scales = quantized("1.2.0").lacks("w:scales");
    let case = "v12-no-scales-where-zeros-may-lack";
    t.reject_with("quantized-roles", case, scales, "v12-quantized", "tolerate=missing-zeros");
}

/// Returns a sparse file whose index component `role` has the type `dtype` with `width` bytes and the same number of
/// entries as before.
fn narrow(version: &str, role: &str, dtype: &str, width: u64) -> File {
    let (file, entries) = match role {
        "coords" => (coo(version), 4),
        _ => (csr(version), 3),
    };
    let data: &[u64] = match role {
        "coords" => &[0, 1, 2, 1],
        "indices" => &[0, 2, 1],
        _ => &[0, 2, 3],
    };
    let width_of = usize::try_from(width).expect("a width");
    let offset = if role == "indptr" { 192 } else { 128 };
    let bytes: Vec<u8> = data.iter().flat_map(|n| n.to_le_bytes()[..width_of].to_vec()).collect();
    // Before the narrow entries are written, the wide ones are replaced by zeros, so that a reader of wide entries does
    // not find them.
    file.set(&format!("w:{role}/dtype"), text(dtype))
        .set(&format!("w:{role}/length"), uint(entries * width))
        .blob(offset, &words(&[0; 4][..usize::try_from(entries).expect("an entry count")]))
        .blob(offset, &bytes)
}

fn index_dtypes(t: &mut Table) {
    let integers =
        [("i64", 8), ("i32", 4), ("i16", 2), ("i8", 1), ("u32", 4), ("u16", 2), ("u8", 1)];
    for role in ["indices", "indptr", "coords"] {
        let format = if role == "coords" { "coo" } else { "csr" };
        for (dtype, width) in integers {
            t.accept(format!("v11-{role}-{dtype}"), narrow("1.1.0", role, dtype, width));
            let file = narrow("1.2.0", role, dtype, width).mark(&format!("w:{role}/dtype"));
            let neighbor = format!("v11-{role}-{dtype}");
            t.reject("index-dtype", format!("v12-{role}-{dtype}"), file, &neighbor);
        }
        for (dtype, width) in [("f64", 8), ("f32", 4), ("bf16", 2), ("bool", 1)] {
            for (version, prefix) in [("1.2.0", "v12"), ("1.1.0", "v11")] {
                let file = narrow(version, role, dtype, width).mark(&format!("w:{role}/dtype"));
                let neighbor = format!("{prefix}-{format}");
                t.reject("index-dtype", format!("{prefix}-{role}-{dtype}"), file, &neighbor);
            }
        }
        let file = narrow("1.2.0", role, "f64", 8).mark(&format!("w:{role}/dtype"));
        let case = format!("v12-{role}-f64-where-narrow-is-tolerated");
        t.reject_with("index-dtype", case, file, &format!("v12-{format}"), NARROW);

        for (version, prefix) in [("1.2.0", "v12"), ("1.1.0", "v11")] {
            let path = format!("w:{role}/type");
            let file = if role == "coords" { coo(version) } else { csr(version) };
            let neighbor = format!("{prefix}-{format}-type-equal-to-dtype-of-{role}");
            t.accept(neighbor.as_str(), file.clone().set(&path, text("u64")));
            let typed = file.bad(&path, text("row_id"));
            t.reject("index-type", format!("{prefix}-{role}-unknown"), typed, &neighbor);
        }
        let typed = narrow("1.1.0", role, "u8", 1).bad(&format!("w:{role}/type"), text("f8_e5m2"));
        t.reject("index-type", format!("v11-{role}-f8_e5m2"), typed, &format!("v11-{role}-u8"));
    }
    // Complex numbers, which consist of floats, are not integers either.
    let complex = narrow("1.1.0", "indices", "complex64", 8).mark("w:indices/dtype");
    t.reject("index-dtype", "v11-indices-complex64", complex, "v11-csr");
    let values = csr("1.2.0").set("w:values/type", text("logits"));
    t.accept("unsupported-type--v12-csr-values", values);
}

fn ranks(t: &mut Table) {
    for (case, shape) in
        [("0", vec![]), ("1", vec![2]), ("3", vec![2, 3, 1]), ("3-of-1", vec![1, 2, 3])]
    {
        let file = csr("1.2.0").bad("w:/shape", uints(&shape));
        t.reject("csr-rank", format!("v12-{case}"), file, "v12-csr");
        let file = csr("1.1.0").bad("w:/shape", uints(&shape));
        t.reject("csr-rank", format!("v11-{case}"), file, "v11-csr");
    }
    t.reject("coo-rank", "v12-0", coo("1.2.0").bad("w:/shape", uints(&[])), "v12-coo");
    t.reject("coo-rank", "v11-0", coo("1.1.0").bad("w:/shape", uints(&[])), "v11-coo");
    // The shape is empty, so the rank is 0, and so is rank × nnz, the number of coordinates. A reader that compares only
    // this product would accept the file.
    let empty = coo("1.2.0").set("w:coords/length", uint(0)).bad("w:/shape", uints(&[]));
    t.reject("coo-rank", "v12-0-without-coords", empty, "v12-coo");
}

fn csr_sizes(t: &mut Table) {
    for (case, length) in [("rows", 16), ("rows-and-2", 32), ("none", 0), ("one", 8)] {
        let file = csr("1.2.0").bad("w:indptr/length", uint(length)).start(256);
        t.reject("csr-indptr-size", format!("v12-{case}"), file, "v12-csr");
        let file = csr("1.1.0").bad("w:indptr/length", uint(length)).start(256);
        t.reject("csr-indptr-size", format!("v11-{case}"), file, "v11-csr");
    }
    let columns = csr("1.2.0").set("w:/shape", uints(&[3, 2])).mark("w:indptr/length");
    t.reject("csr-indptr-size", "v12-columns-for-rows", columns, "v12-csr");
    for (case, length) in [("fewer", 16), ("more", 32), ("none", 0), ("bytes-of-values", 8)] {
        let file = csr("1.2.0").bad("w:indices/length", uint(length));
        t.reject("csr-nnz", format!("v12-{case}"), file, "v12-csr");
    }
    let v11 = csr("1.1.0").bad("w:indices/length", uint(16));
    t.reject("csr-nnz", "v11-fewer", v11, "v11-csr");
    let narrow = narrow("1.1.0", "indices", "u16", 2).bad("w:indices/length", uint(8));
    t.reject("csr-nnz", "v11-u16-more", narrow, "v11-indices-u16");

    // The decoded length of a compressed component decides how many entries the component has.
    let zstd = |role: &str, data: &[u64], decoded: u64| {
        let frame = zstd_frame(&words(data));
        let (offset, at) = if role == "indptr" { (192, 192) } else { (128, 128) };
        let item = zstd_component("u64", offset, frame.len() as u64, decoded);
        csr("1.2.0").set(&format!("w:{role}"), item).blob(at, &frame)
    };
    t.accept("v12-csr-zstd-indptr", zstd("indptr", &[0, 2, 3], 24));
    t.accept("v12-csr-zstd-indices", zstd("indices", &[0, 2, 1], 24));
    let file = zstd("indptr", &[0, 2, 3], 32).mark("w:indptr/uncompressed_length");
    t.reject("csr-indptr-size", "v12-zstd", file, "v12-csr-zstd-indptr");
    let file = zstd("indices", &[0, 2, 1], 16).mark("w:indices/uncompressed_length");
    t.reject("csr-nnz", "v12-zstd", file, "v12-csr-zstd-indices");
    // In these files, the row pointers come before the values and indices in the manifest.
    let order = |indptr: u64| {
        let components = vec![
            ("indptr", component("u64", 192, indptr)),
            ("values", component("f32", 64, 12)),
            ("indices", component("u64", 128, 24)),
        ];
        csr("1.2.0").set("w:", object(&[2, 3], "sparse_csr", components))
    };
    t.accept("v12-csr-other-order", order(24));
    let file = order(16).mark("w:indptr/length");
    t.reject("csr-indptr-size", "v12-other-order", file, "v12-csr-other-order");
}

fn coo_sizes(t: &mut Table) {
    for (case, length) in [("nnz", 16), ("fewer", 24), ("more", 40), ("none", 0)] {
        let file = coo("1.2.0").bad("w:coords/length", uint(length)).start(192);
        t.reject("coo-nnz", format!("v12-{case}"), file, "v12-coo");
    }
    let v11 = coo("1.1.0").bad("w:coords/length", uint(24));
    t.reject("coo-nnz", "v11-fewer", v11, "v11-coo");
    let rank = coo("1.2.0").set("w:/shape", uints(&[2, 3, 1])).mark("w:coords/length");
    t.reject("coo-nnz", "v12-rank-3", rank, "v12-coo");
    let rank = coo("1.2.0").set("w:/shape", uints(&[3])).mark("w:coords/length");
    t.reject("coo-nnz", "v12-rank-1", rank, "v12-coo");
    let decoded = |length| {
        let frame = zstd_frame(&words(&[0, 1, 2, 1]));
        let item = zstd_component("u64", 128, frame.len() as u64, length);
        coo("1.2.0").set("w:coords", item).blob(128, &frame)
    };
    t.accept("v12-coo-zstd", decoded(32));
    let file = decoded(16).mark("w:coords/uncompressed_length");
    t.reject("coo-nnz", "v12-zstd", file, "v12-coo-zstd");
    coo_tuples(t);
}

/// Adds cases about coordinates whose number is not a multiple of the rank, whatever the number of values is.
fn coo_tuples(t: &mut Table) {
    let typed = coo("1.2.0").set("w:values/type", text("x"));
    let zstd = |version| {
        let frame = zstd_frame(&DATA[..8]);
        let item = zstd_component("f32", 64, frame.len() as u64, 8);
        coo(version).set("w:values", item).blob(64, &frame)
    };
    let unsized_ = zstd("1.1.0").without("w:values/uncompressed_length");
    for (case, file, neighbor) in [
        ("v12-of-unknown-type", typed, "unsupported-type--v12-coo"),
        ("v11-of-zstd", unsized_, "v11-coo-of-zstd"),
    ] {
        t.accept(neighbor, file.clone());
        for (part, length) in [("part-of-a-tuple", 24), ("one", 8)] {
            let file = file.clone().bad("w:coords/length", uint(length)).start(192);
            t.reject("coo-nnz", format!("{case}-{part}"), file, neighbor);
        }
        let rank = file.set("w:/shape", uints(&[2, 3, 4])).mark("w:coords/length");
        t.reject("coo-nnz", format!("{case}-rank-3"), rank, neighbor);
    }
}

/// Adds cases about sizes that do not fit in 64 bits. In all but one, the sizes are right modulo 2^64.
fn overflow(t: &mut Table) {
    let none = |shape: &[u64], format: &str, index: &str| {
        let mut components =
            vec![("values", component("u8", 64, 0)), (index, component("u64", 64, 0))];
        if format == "sparse_csr" {
            components.insert(1, ("indices", component("u64", 64, 0)));
        }
        v1("1.2.0", vec![("w", object(shape, format, components))]).start(64)
    };
    let max = none(&[u64::MAX, 1], "sparse_csr", "indptr").mark("w:/shape");
    t.reject("sparse-overflow", "v12-csr-rows", max, "v12-csr");
    let eight = none(&[(1 << 61) - 1, 1], "sparse_csr", "indptr").mark("w:indptr/length");
    t.reject("csr-indptr-size", "v12-bytes-wrap-to-0", eight, "v12-csr");
    t.accept("v12-coo-without-values", none(&[3, 4], "sparse_coo", "coords"));
    // The manifest may claim any decoded size for compressed values. A reader that multiplies in 64 bits gets 0 for 2 ×
    // 2^63 and for 8 × 2^61.
    let frame = zstd_frame(&[]);
    let claim = |shape: &[u64], decoded| {
        let values = zstd_component("u8", 64, frame.len() as u64, decoded);
        none(shape, "sparse_coo", "coords").set("w:values", values).blob(64, &frame).start(74)
    };
    t.accept("v12-coo-zstd-without-values", claim(&[3, 4], 0));
    let file = claim(&[3, 4], 1 << 63).mark("w:/shape");
    t.reject("sparse-overflow", "v12-coo-wraps-to-0", file, "v12-coo-zstd-without-values");
    let file = claim(&[3, 4, 5], u64::MAX).mark("w:/shape");
    t.reject("sparse-overflow", "v12-coo-of-2-pow-64-minus-1", file, "v12-coo-zstd-without-values");
    let file = claim(&[3], 1 << 61).mark("w:coords/length");
    t.reject("coo-nnz", "v12-bytes-wrap-to-0", file, "v12-coo-zstd-without-values");
}
