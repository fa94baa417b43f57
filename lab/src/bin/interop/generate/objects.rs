//! Makes objects of every format, with elements of every type.

use fastrand::Rng;
use zten::element::{LogicalType, StorageType};

use super::{Taste, bytes};
use crate::content::{Object, Part, le};

/// Returns an object. If `many` is true and the object is dense, it is small.
pub(super) fn object(rng: &mut Rng, taste: Taste, name: String, many: bool) -> Object {
    let (format, shape, parts) = match rng.u8(..12) {
        0 | 1 => sparse_csr(rng, taste),
        2 | 3 => sparse_coo(rng, taste),
        4 => quantized_group(rng),
        5 if taste != Taste::OldPython => custom(rng),
        _ => dense(rng, taste, many),
    };
    let packed = rng.u8(..3) == 0;
    Object { name, shape, format: format.to_owned(), attributes: None, parts, packed }
}

type Made = (&'static str, Vec<u64>, Vec<Part>);

fn part(role: &str, (storage, logical): Type, bytes: Vec<u8>) -> Part {
    Part { role: role.to_owned(), storage, logical, bytes }
}

type Type = (StorageType, Option<String>);

/// Returns a storage type alone, a logical type on its storage type, or an unknown type.
fn element(rng: &mut Rng, taste: Taste) -> Type {
    match rng.u8(..8) {
        0 | 1 => {
            let logical = LogicalType::V1_2[rng.usize(..LogicalType::V1_2.len())];
            (logical.storage(), Some(logical.name().to_owned()))
        }
        2 if taste != Taste::OldPython => {
            let storage = StorageType::ALL[rng.usize(..StorageType::ALL.len())];
            (storage, Some(["f4_e2m1", "posit", "x"][rng.usize(..3)].to_owned()))
        }
        _ => (StorageType::ALL[rng.usize(..StorageType::ALL.len())], None),
    }
}

/// Generates the bytes of `count` logical elements.
fn bytes(rng: &mut Rng, element: &Type, count: u64) -> Vec<u8> {
    let empty = part("", element.clone(), Vec::new());
    let each = u64::from(element.0.width()) * u64::from(empty.ratio());
    let mut bytes = bytes::bytes(rng, usize::try_from(count * each).unwrap_or_default());
    if element.0 == StorageType::Bool {
        for byte in &mut bytes {
            *byte &= 1;
        }
    }
    bytes
}

fn dense(rng: &mut Rng, taste: Taste, many: bool) -> Made {
    let shape: Vec<u64> = match rng.u8(..40) {
        0..4 => Vec::new(),
        4 => vec![1; rng.usize(..=64)],
        // So many elements take more than one zstd block, and possibly more than a window.
        5 if !many => vec![rng.u64(20_000..120_000)],
        6 if taste != Taste::OldPython => vec![0, u64::MAX],
        7 => vec![rng.u64(..3), 0, rng.u64(..1000)],
        _ => (0..rng.usize(1..6)).map(|_| rng.u64(..7)).collect(),
    };
    let count = if shape.contains(&0) { 0 } else { shape.iter().product() };
    let element = element(rng, taste);
    let bytes = bytes(rng, &element, count);
    let mut parts = vec![part("data", element, bytes)];
    if taste != Taste::OldPython && rng.u8(..20) == 0 {
        parts.push(part("extra", (StorageType::U16, None), vec![7; 6]));
    }
    ("dense", shape, parts)
}

/// Returns a random size for a dimension of a sparse tensor: usually small, and sometimes 2^40 or 2^64 − 1.
fn side(rng: &mut Rng, taste: Taste) -> u64 {
    match rng.u8(..8) {
        0 => 1 << 40,
        1 if taste != Taste::OldPython => u64::MAX,
        2 => 1,
        _ => rng.u64(1..30),
    }
}

fn sparse_csr(rng: &mut Rng, taste: Taste) -> Made {
    let columns = side(rng, taste);
    let mut indptr = vec![0];
    let mut nnz = 0;
    for _ in 0..rng.usize(..20) {
        nnz += rng.u64(..6);
        indptr.push(nnz);
    }
    let shape = vec![indptr.len() as u64 - 1, columns];
    let indices: Vec<u64> = (0..nnz).map(|_| rng.u64(..columns)).collect();
    let element = element(rng, taste);
    let values = bytes(rng, &element, nnz);
    let parts = vec![
        part("indptr", (StorageType::U64, None), le(&indptr)),
        part("values", element, values),
        part("indices", (StorageType::U64, None), le(&indices)),
    ];
    ("sparse_csr", shape, parts)
}

fn sparse_coo(rng: &mut Rng, taste: Taste) -> Made {
    let shape: Vec<u64> = (0..rng.usize(1..6)).map(|_| side(rng, taste)).collect();
    let nnz = rng.u64(..60);
    let mut coords = Vec::new();
    for side in &shape {
        coords.extend((0..nnz).map(|_| rng.u64(..*side)));
    }
    let element = element(rng, taste);
    let values = bytes(rng, &element, nnz);
    let parts = vec![
        part("coords", (StorageType::U64, None), le(&coords)),
        part("values", element, values),
    ];
    ("sparse_coo", shape, parts)
}

fn quantized_group(rng: &mut Rng) -> Made {
    let (groups, outputs) = (rng.u64(1..6), rng.u64(1..9));
    let shape = vec![groups * 32, outputs];
    // Each `i32` has eight codes of four bits, and groups have 32 codes.
    let types = [StorageType::F16, StorageType::F32, StorageType::Bf16];
    let scale = (types[rng.usize(..3)], None);
    let zero = if rng.bool() { scale.clone() } else { (StorageType::U8, None) };
    let packed = (StorageType::I32, None);
    let parts = vec![
        part("zeros", zero.clone(), bytes(rng, &zero, groups * outputs)),
        part("scales", scale.clone(), bytes(rng, &scale, groups * outputs)),
        part("packed_weight", packed.clone(), bytes(rng, &packed, groups * 4 * outputs)),
    ];
    ("quantized_group", shape, parts)
}

fn custom(rng: &mut Rng) -> Made {
    let roles = ["a", "blocks", "重み", "", "data", "a longer role than the others"];
    let count = rng.usize(..=roles.len());
    let parts = roles[..count].iter().map(|role| {
        let element = element(rng, Taste::Everything);
        let count = rng.u64(..40);
        let bytes = bytes(rng, &element, count);
        part(role, element, bytes)
    });
    let parts = parts.collect();
    let shape = (0..rng.usize(..4)).map(|_| rng.u64(..)).collect();
    (["mine", "block_sparse", "dense2"][rng.usize(..3)], shape, parts)
}
