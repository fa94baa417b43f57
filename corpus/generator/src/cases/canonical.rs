//! Cases of the corpus about files in canonical form: layouts, formats and types.

use crate::base::{DATA, ramp, words};
use crate::canonical::{
    Tensor, attribute, bare, canonical, csr_parts, dense, one, part, tensor, two,
};
use crate::cbor::{fields, text, uint};
use crate::file::File;
use crate::table::Table;

/// The option with which a reader rejects all files that are not canonical.
const OPTION: &str = "canonical=yes";

/// Adds a file in canonical form, which must be accepted.
pub(crate) fn accept(t: &mut Table, name: &str, file: File) {
    t.accept(format!("canonical--{name}"), file);
}

/// Adds a file that is not canonical, which must be rejected. Its neighbor is canonical.
pub(crate) fn reject(
    t: &mut Table,
    rule: &'static str,
    case: impl Into<String>,
    file: File,
    neighbor: &str,
) {
    t.reject_with(rule, case, file, &format!("canonical--{neighbor}"), OPTION);
}

/// Returns objects without elements before, between and after other objects.
pub(crate) fn with_empty() -> Vec<Tensor> {
    vec![
        dense("a", &[0], "f32", &[]),
        dense("b", &[2], "u8", &[1, 2]),
        dense("c", &[0, 3], "i16", &[]),
        dense("d", &[2], "u8", &[3, 4]),
        dense("e", &[4, 0], "f64", &[]),
    ]
}

pub(crate) fn cases(t: &mut Table) {
    layouts(t);
    formats(t);
    types(t);
}

fn layouts(t: &mut Table) {
    accept(t, "empty", canonical(None, Vec::new()));
    accept(t, "dense", one());
    accept(t, "attribute", attribute());
    accept(t, "two", canonical(None, two()));
    accept(t, "only-an-empty-blob", canonical(None, vec![dense("w", &[0], "f32", &[])]));
    accept(t, "empty-blobs", canonical(None, with_empty()));
    let whole = [64, 128, 65, 63]
        .map(|length| dense(&format!("bytes_{length}"), &[length as u64], "u8", &ramp(length)));
    accept(t, "whole-blocks", canonical(None, whole.into()));
}

fn formats(t: &mut Table) {
    let csr = tensor("w", &[2, 3], "sparse_csr", csr_parts());
    accept(t, "csr", canonical(None, vec![csr]));
    let coo = |name, coords: &[u64], values| {
        let coords = part("coords", "u64", &words(coords));
        tensor(name, &[2, 3], "sparse_coo", vec![coords, values])
    };
    let values = || part("values", "f32", &DATA[..8]);
    let complex = coo("v", &[1, 2], values().of_type("complex64"));
    let plain = coo("w", &[0, 1, 2, 1], values());
    accept(t, "coo", canonical(None, vec![complex, plain]));
    let quantized = tensor(
        "w",
        &[8, 2],
        "quantized_group",
        vec![
            part("packed_weight", "i32", &ramp(8)),
            part("scales", "f16", &[0, 0x3c, 0, 0x40]),
            part("zeros", "f16", &[0, 0, 0, 0x3c]),
        ],
    )
    .attributes(fields([
        ("bits", uint(4)),
        ("packing", text("8_per_i32")),
        ("group_size", uint(8)),
    ]));
    accept(t, "quantized", canonical(None, vec![quantized]));
    let blocks = || vec![part("blocks", "f16", &ramp(6)), part("mask", "bool", &[1, 0, 1])];
    let unknown = vec![bare("none"), tensor("some", &[7, u64::MAX], "block_sparse", blocks())];
    accept(t, "unknown-format", canonical(None, unknown));
    let mut extra = blocks();
    extra.extend([part("", "u8", &[9]), part("é", "i64", &[]), part("data", "f32", &DATA)]);
    accept(t, "extra-roles", canonical(None, vec![tensor("w", &[4], "dense", extra)]));
}

fn types(t: &mut Table) {
    let dtypes = [
        ("f64", 8),
        ("f32", 4),
        ("f16", 2),
        ("bf16", 2),
        ("i64", 8),
        ("i32", 4),
        ("i16", 2),
        ("i8", 1),
        ("u64", 8),
        ("u32", 4),
        ("u16", 2),
        ("u8", 1),
    ];
    let dtypes = dtypes.map(|(dtype, width)| dense(dtype, &[3], dtype, &ramp(3 * width)));
    accept(t, "dtypes", canonical(None, dtypes.into()));
    let bools = vec![
        dense("all", &[2, 4], "bool", &[0, 1, 0, 1, 1, 0, 0, 1]),
        dense("scalar", &[], "bool", &[1]),
    ];
    accept(t, "bool", canonical(None, bools));
    let scalars = vec![dense("half", &[], "f16", &[0, 0x3c]), dense("w", &[], "f64", &ramp(8))];
    accept(t, "scalar", canonical(None, scalars));
    let of = |name: &str, dtype, shape: &[u64], bytes: &[u8]| {
        tensor(name, shape, "dense", vec![part("data", dtype, bytes).of_type(name)])
    };
    let types = vec![
        of("f8_e4m3fn", "u8", &[2, 2], &ramp(4)),
        of("f8_e5m2", "u8", &[2, 2], &ramp(4)),
        of("f8_e4m3fnuz", "u8", &[2, 2], &ramp(4)),
        of("f8_e5m2fnuz", "u8", &[2, 2], &ramp(4)),
        of("complex64", "f32", &[2], &DATA),
        of("complex128", "f64", &[], &ramp(16)),
    ];
    accept(t, "types", canonical(None, types));
    // The length of data of a type that zten does not know need not follow from the shape: here, two elements of the type
    // `nf4` share a byte.
    let unknown = vec![of("nf4", "u8", &[2, 4], &ramp(4)), of("", "i32", &[1], &ramp(4))];
    accept(t, "unknown-type", canonical(None, unknown));
}
