//! Makes random matrices and tensors from a seed, and the files that hold them.

use std::collections::BTreeSet;

use fastrand::Rng;
use zten_corpus::base::object;
use zten_corpus::zstd::{Frame, WINDOW_128_KIB};
use zten_testkit::Layout;

pub(super) struct Part {
    pub(super) role: &'static str,
    pub(super) dtype: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) zstd: bool,
}

/// Returns a zstd frame of raw blocks without a content size.
fn compressed(content: &[u8]) -> Vec<u8> {
    let blocks = content.chunks(1000).chain(content.is_empty().then_some(content));
    let frame = blocks.fold(Frame::windowed(WINDOW_128_KIB, 0), Frame::raw);
    frame.end().bytes
}

/// Returns a file of 1.1 with one object, `w`, of the layout `format` with the components `parts`.
pub(super) fn file(format: &str, shape: &[u64], parts: &[Part]) -> Vec<u8> {
    let mut layout = Layout::new(64);
    let component = |part: &Part| {
        let stored = if part.zstd {
            layout.packed(part.dtype, compressed(&part.bytes))
        } else {
            layout.raw(part.dtype, part.bytes.clone())
        };
        (part.role, stored)
    };
    let components: Vec<_> = parts.iter().map(component).collect();
    layout.named("w", object(shape, format, components));
    layout.v1("1.1.0").build("").bytes
}

const TYPES: [&str; 8] = ["u64", "u32", "u16", "u8", "i64", "i32", "i16", "i8"];

/// Returns a component whose elements are the indices `of`, in any type that can hold all of them, sometimes
/// compressed.
pub(super) fn indices(random: &mut Rng, role: &'static str, of: &[u64]) -> Part {
    let most = of.iter().max().copied().unwrap_or(0);
    let index = usize::try_from(random.u64(..8)).unwrap();
    let fits = |dtype: &str| {
        let bits: u32 = dtype[1..].parse().unwrap();
        let bits = bits - u32::from(dtype.starts_with('i'));
        bits >= u64::BITS - most.leading_zeros()
    };
    let dtype = if fits(TYPES[index]) { TYPES[index] } else { "u64" };
    let width = dtype[1..].parse::<usize>().unwrap() / 8;
    let bytes = of.iter().flat_map(|index| index.to_le_bytes()[..width].to_vec()).collect();
    Part { role, dtype, bytes, zstd: cfg!(feature = "zstd") && random.u64(..3) == 0 }
}

pub(super) fn values(random: &mut Rng, nnz: u64) -> (Vec<i16>, Part) {
    let values: Vec<i16> =
        (0..nnz).map(|_| i16::try_from(random.u64(..60_000)).unwrap_or(-7)).collect();
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let zstd = cfg!(feature = "zstd") && random.u64(..3) == 0;
    (values, Part { role: "values", dtype: "i16", bytes, zstd })
}

/// The entries of a CSR matrix: row, column, value.
pub(super) type Entries = Vec<(u64, u64, i16)>;
/// The entries of a COO tensor: the coordinate in each dimension, and the value.
pub(super) type Places = Vec<(Vec<u64>, i16)>;

/// Returns a random CSR matrix as its rows, columns and entries, and the file that holds it.
pub(super) fn matrix(random: &mut Rng) -> (u64, u64, Entries, Vec<u8>) {
    let (rows, columns) = (random.u64(..40), random.u64(..300));
    let (mut indptr, mut columns_of) = (vec![0], Vec::new());
    let sorted = random.u64(..2) == 0;
    for _ in 0..rows {
        let length = if columns == 0 { 0 } else { random.u64(..12) };
        let mut row: Vec<u64> = (0..length).map(|_| random.u64(..columns)).collect();
        if sorted {
            row.sort_unstable();
        }
        if random.u64(..4) > 0 {
            let mut seen = BTreeSet::new();
            row.retain(|column| seen.insert(*column));
        }
        columns_of.extend(row);
        indptr.push(columns_of.len() as u64);
    }
    let (values, part) = values(random, columns_of.len() as u64);
    let mut entries = Vec::new();
    for row in 0..rows {
        let row_at = usize::try_from(row).unwrap();
        for at in indptr[row_at]..indptr[row_at + 1] {
            let at = usize::try_from(at).unwrap();
            entries.push((row, columns_of[at], values[at]));
        }
    }
    let mut parts =
        [part, indices(random, "indices", &columns_of), indices(random, "indptr", &indptr)];
    parts.rotate_left(usize::try_from(random.u64(..3)).unwrap());
    (rows, columns, entries, file("sparse_csr", &[rows, columns], &parts))
}

/// Returns a random COO tensor as its shape and entries, and the file that holds it.
pub(super) fn tensor(random: &mut Rng) -> (Vec<u64>, Places, Vec<u8>) {
    let rank = 1 + random.u64(..4);
    let shape: Vec<u64> = (0..rank).map(|_| 1 + random.u64(..9)).collect();
    let mut places: Vec<Vec<u64>> = (0..random.u64(..60))
        .map(|_| shape.iter().map(|dimension| random.u64(..*dimension)).collect())
        .collect();
    if random.u64(..2) == 0 {
        places.sort_unstable();
    }
    if random.u64(..2) == 0 {
        let mut seen = BTreeSet::new();
        places.retain(|place| seen.insert(place.clone()));
    }
    let (values, part) = values(random, places.len() as u64);
    let coords: Vec<u64> = (0..shape.len())
        .flat_map(|dimension| places.iter().map(move |place| place[dimension]))
        .collect();
    let parts = [part, indices(random, "coords", &coords)];
    let file = file("sparse_coo", &shape, &parts);
    (shape, places.into_iter().zip(values).collect(), file)
}
