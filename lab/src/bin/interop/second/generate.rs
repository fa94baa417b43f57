//! Makes pseudorandom objects from a seed.

use fastrand::Rng;
use zten::element::{LogicalType, StorageType};

use super::{Object, Part};

/// Returns some objects with different names.
pub(super) fn objects(rng: &mut Rng) -> Vec<Object> {
    let count = if rng.u8(..20) == 0 { 200 } else { rng.usize(..12) };
    (0..count).map(|ordinal| object(rng, ordinal, count > 100)).collect()
}

fn object(rng: &mut Rng, ordinal: usize, many: bool) -> Object {
    let stem = ["", "layers.", "重み ", "a/b.", "a longer name than the others "][rng.usize(..5)];
    let (layout, shape, parts) = match rng.u8(..8) {
        0 | 1 => csr(rng),
        2 => custom(rng),
        _ => dense(rng, many),
    };
    let texts = ["", "text", "a text of more than twenty-three bytes"];
    let mut attributes = Vec::new();
    for at in 0..rng.usize(..6).saturating_sub(3) {
        let key = format!("{}{at}", ["k", "ключ", "longer "][rng.usize(..3)]);
        attributes.push((key, texts[rng.usize(..3)].to_owned()));
    }
    attributes.sort();
    let compressed = rng.u8(..3) == 0;
    Object { name: format!("{stem}{ordinal}"), layout, shape, attributes, parts, compressed }
}

type Made = (&'static str, Vec<u64>, Vec<Part>);

/// Returns a type, and the number of bits of an element.
fn element(rng: &mut Rng) -> (StorageType, Option<LogicalType>, u64) {
    if rng.u8(..3) == 0 {
        let logical = LogicalType::ALL[rng.usize(..LogicalType::ALL.len())];
        let width = u64::from(logical.storage().width()) * u64::from(logical.ratio());
        let bits = if logical == LogicalType::F4E2M1 { 4 } else { width * 8 };
        return (logical.storage(), Some(logical), bits);
    }
    let storage = StorageType::ALL[rng.usize(..StorageType::ALL.len())];
    (storage, None, u64::from(storage.width()) * 8)
}

fn part(rng: &mut Rng, role: &'static str, elements: u64) -> Part {
    let (storage, logical, bits) = element(rng);
    let length = (elements * bits).div_ceil(8);
    let noise = rng.bool();
    let mut byte = || if noise { rng.u8(..) } else { 7 };
    let mut bytes: Vec<u8> = (0..length).map(|_| byte()).collect();
    if storage == StorageType::Bool {
        for byte in &mut bytes {
            *byte &= 1;
        }
    }
    if !(elements * bits).is_multiple_of(8)
        && let Some(last) = bytes.last_mut()
    {
        *last &= 0x0f;
    }
    Part { role, storage, logical, elements, bytes }
}

fn dense(rng: &mut Rng, many: bool) -> Made {
    let shape: Vec<u64> = match rng.u8(..30) {
        0..4 => Vec::new(),
        // So many elements take more than one zstd frame.
        4 if !many => vec![rng.u64(200_000..400_000)],
        5 => vec![rng.u64(..3), 0, rng.u64(..1000)],
        _ => (0..rng.usize(1..5)).map(|_| rng.u64(..7)).collect(),
    };
    let parts = vec![part(rng, "data", shape.iter().product())];
    ("dense", shape, parts)
}

fn csr(rng: &mut Rng) -> Made {
    let columns = rng.u64(1..40);
    let (mut indptr, mut indices) = (vec![0_u64], Vec::new());
    for _ in 0..rng.usize(..12) {
        indices.extend((0..columns).filter(|_| rng.u8(..5) == 0));
        indptr.push(indices.len() as u64);
    }
    let wide = rng.bool();
    let numbers = |role, numbers: &[u64]| {
        let narrow = |number: &u64| u32::try_from(*number).unwrap_or_default().to_le_bytes();
        let bytes = if wide {
            numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
        } else {
            numbers.iter().flat_map(narrow).collect()
        };
        let storage = if wide { StorageType::U64 } else { StorageType::U32 };
        Part { role, storage, logical: None, elements: numbers.len() as u64, bytes }
    };
    let values = part(rng, "values", indices.len() as u64);
    let shape = vec![indptr.len() as u64 - 1, columns];
    (
        "zt.sparse_csr/1",
        shape,
        vec![numbers("indptr", &indptr), values, numbers("indices", &indices)],
    )
}

fn custom(rng: &mut Rng) -> Made {
    let mut parts = Vec::new();
    for role in ["a", "blocks", "重み"].into_iter().take(rng.usize(1..4)) {
        let elements = rng.u64(..40);
        parts.push(part(rng, role, elements));
    }
    ("mine.layout/1", vec![rng.u64(..9), 3], parts)
}
