//! Cases of the corpus about sizes of 1.1 that are known only once compressed components have been decoded.

use super::indices::{FORMS, Form, Part, sparse};
use crate::base::{
    DATA, component, dense, dense_object, object, v1, words, zstd_component, zstd_frame,
};
use crate::cbor::text;
use crate::file::File;
use crate::table::Table;

/// The form of the files: generation 1.1 with compressed index components.
const FORM: Form = FORMS[3];

pub(crate) fn cases(t: &mut Table) {
    csr(t);
    coo(t);
    values(t);
    whole_elements(t);
}

fn part<'a>(role: &'a str, indices: &[u64]) -> Part<'a> {
    Part { role, dtype: "u64", bytes: words(indices) }
}

fn csr(t: &mut Table) {
    let neighbor = "v11-zstd-indptr-of-2";
    let of = |indices: &[u64], indptr: &[u64]| {
        let parts = [part("indices", indices), part("indptr", indptr)];
        sparse(FORM, "sparse_csr", &[2, 3], 3, &parts)
    };
    for (case, indices) in [
        ("fewer", &[0, 2][..]),
        ("more", &[0, 2, 1, 1]),
        ("none", &[]),
        ("twice", &[0, 2, 1, 0, 2, 1]),
    ] {
        let file = of(indices, &[0, 2, 3]).at_decoded(0, 1);
        t.reject("csr-nnz", format!("v11-zstd-{case}"), file, neighbor);
    }
    for (case, indptr) in
        [("rows", &[0, 3][..]), ("rows-and-2", &[0, 2, 3, 3]), ("one", &[0]), ("none", &[])]
    {
        // The shape determines the number of row pointers, and each of these components decodes to another number of
        // them.
        let file = of(&[0, 2, 1], indptr).at_data(256, 0, 2);
        t.reject("decoded-size", format!("v11-zstd-indptr-{case}"), file, neighbor);
    }
}

fn coo(t: &mut Table) {
    let of = |shape: &[u64], nnz, coords: &[u64]| {
        sparse(FORM, "sparse_coo", shape, nnz, &[part("coords", coords)])
    };
    for (case, shape, nnz, coords, neighbor) in [
        ("fewer", &[2, 3][..], 2, &[0, 1, 2][..], "rank-2"),
        ("more", &[2, 3], 2, &[0, 1, 2, 1, 1], "rank-2"),
        ("one-value-less", &[2, 3], 2, &[0, 2], "rank-2"),
        ("none", &[2, 3], 2, &[], "rank-2"),
        ("for-no-values", &[2, 3], 0, &[0, 2], "none-of-none"),
        ("rank-1", &[3], 2, &[0, 1, 2], "rank-1"),
        ("rank-3", &[2, 3, 4], 2, &[0, 1, 2, 1], "rank-3"),
    ] {
        let file = of(shape, nnz, coords).at_decoded(0, 1);
        let neighbor = format!("v11-zstd-coords-{neighbor}");
        t.reject("coo-nnz", format!("v11-zstd-{case}"), file, &neighbor);
    }
}

/// Adds cases whose values are compressed, and whose indices are raw.
fn values(t: &mut Table) {
    let form = FORMS[1];
    let zstd = |file: File, bytes: usize| {
        let stored = zstd_frame(&[0; 64][..bytes]);
        let item = zstd_component("f32", 64, stored.len() as u64, 0);
        file.set("w:values", item).without("w:values/uncompressed_length").blob(64, &stored)
    };
    let csr = |bytes| {
        let parts = [part("indices", &[0, 2, 1]), part("indptr", &[0, 2, 3])];
        zstd(sparse(form, "sparse_csr", &[2, 3], 3, &parts), bytes)
    };
    let coo = |bytes| {
        let parts = [part("coords", &[0, 1, 2, 1])];
        zstd(sparse(form, "sparse_coo", &[2, 3], 2, &parts), bytes)
    };
    t.accept("v11-csr-zstd-values", csr(12));
    t.accept("v11-coo-zstd-values", coo(8));
    for (case, for_csr, for_coo) in [("fewer", 8, 4), ("more", 16, 12), ("twice", 24, 16)] {
        let file = csr(for_csr).at_decoded(0, 1);
        t.reject("csr-nnz", format!("v11-zstd-values-{case}"), file, "v11-csr-zstd-values");
        let file = coo(for_coo).at_decoded(0, 1);
        t.reject("coo-nnz", format!("v11-zstd-values-{case}"), file, "v11-coo-zstd-values");
    }
    let file = csr(0).at_decoded(0, 1);
    t.reject("csr-nnz", "v11-zstd-values-none", file, "v11-csr-zstd-values");
    for (case, bytes) in [("a-byte-more", 13), ("a-byte-less-than-one-more", 15)] {
        let file = csr(bytes).at_decoded(0, 0);
        let case = format!("v11-zstd-csr-values-{case}");
        t.reject("whole-elements", case, file, "v11-csr-zstd-values");
    }
    let file = coo(9).at_decoded(0, 0);
    t.reject("whole-elements", "v11-zstd-coo-values", file, "v11-coo-zstd-values");
}

fn whole_elements(t: &mut Table) {
    const RULE: &str = "whole-elements";
    let zstd = |bytes: usize, offset| {
        let stored = zstd_frame(&[1; 8][..bytes]);
        let item = zstd_component("u16", offset, stored.len() as u64, 0);
        (item, stored)
    };
    let extra = |bytes| {
        let (item, stored) = zstd(bytes, 128);
        dense("1.1.0")
            .set("w:extra", item)
            .without("w:extra/uncompressed_length")
            .blob(128, &stored)
    };
    t.accept("v11-extra-zstd", extra(4));
    let file = extra(3).at_decoded(0, 1);
    t.reject(RULE, "v11-zstd-extra-role", file, "v11-extra-zstd");
    // Here the manifest does not state the decoded size of the component, and the `type` is unknown. The dtype
    // `complex64` still requires a whole number of complex numbers.
    let complex = |bytes: usize| {
        let stored = zstd_frame(&DATA[..bytes]);
        let item = zstd_component("complex64", 64, stored.len() as u64, 0);
        v1("1.1.0", vec![("w", dense_object(&[2], item))])
            .set("w:data/type", text("x"))
            .without("w:data/uncompressed_length")
            .blob(64, &stored)
    };
    let neighbor = "unsupported-type--v11-zstd-on-complex64";
    t.accept(neighbor, complex(16));
    for bytes in [12, 15] {
        let file = complex(bytes).at_decoded(0, 0);
        t.reject(RULE, format!("v11-zstd-{bytes}-of-complex64"), file, neighbor);
    }
    let unknown = |bytes| {
        let (item, stored) = zstd(bytes, 64);
        let components = vec![("blob", item), ("raw", component("u8", 0, 0))];
        v1("1.1.0", vec![("w", object(&[], "x", components))])
            .without("w:blob/uncompressed_length")
            .blob(64, &stored)
    };
    let neighbor = "unsupported-format--v11-zstd";
    t.accept(neighbor, unknown(4));
    for (case, bytes) in [("1", 1), ("5", 5)] {
        let file = unknown(bytes).at_decoded(0, 0);
        t.reject(RULE, format!("v11-zstd-unknown-format-{case}"), file, neighbor);
    }
}
