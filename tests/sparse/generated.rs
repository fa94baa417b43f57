//! Matrices and tensors of a deterministic generator, in files written here.

use std::collections::BTreeSet;

pub(super) struct Random(pub(super) u64);

impl Random {
    /// Below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % bound.max(1)
    }
}

pub(super) struct Part {
    pub(super) role: &'static str,
    pub(super) dtype: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) zstd: bool,
}

fn head(cbor: &mut Vec<u8>, major: u8, argument: u64) {
    // 27: eight bytes follow.
    cbor.push(major << 5 | 0x1b);
    cbor.extend(argument.to_be_bytes());
}

fn text(cbor: &mut Vec<u8>, text: &str) {
    head(cbor, 3, text.len() as u64);
    cbor.extend(text.as_bytes());
}

/// Raw blocks in one frame of an unknown size.
fn compressed(content: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    let blocks: Vec<&[u8]> = content.chunks(1000).collect();
    for (at, block) in blocks.iter().enumerate() {
        let last = u32::from(at + 1 == blocks.len());
        let header = last | u32::try_from(block.len()).unwrap() << 3;
        frame.extend(&header.to_le_bytes()[..3]);
        frame.extend(*block);
    }
    if blocks.is_empty() {
        frame.extend([1, 0, 0]);
    }
    frame
}

/// A 1.1 file of one object `w`.
pub(super) fn file(format: &str, shape: &[u64], parts: &[Part]) -> Vec<u8> {
    let mut file = b"ZTEN1000".to_vec();
    let mut cbor = Vec::new();
    head(&mut cbor, 5, 2);
    text(&mut cbor, "version");
    text(&mut cbor, "1.1.0");
    text(&mut cbor, "objects");
    head(&mut cbor, 5, 1);
    text(&mut cbor, "w");
    head(&mut cbor, 5, 3);
    text(&mut cbor, "shape");
    head(&mut cbor, 4, shape.len() as u64);
    for dimension in shape {
        head(&mut cbor, 0, *dimension);
    }
    text(&mut cbor, "format");
    text(&mut cbor, format);
    text(&mut cbor, "components");
    head(&mut cbor, 5, parts.len() as u64);
    for part in parts {
        file.resize(file.len().next_multiple_of(64), 0);
        let blob = if part.zstd { compressed(&part.bytes) } else { part.bytes.clone() };
        text(&mut cbor, part.role);
        head(&mut cbor, 5, if part.zstd { 4 } else { 3 });
        text(&mut cbor, "dtype");
        text(&mut cbor, part.dtype);
        text(&mut cbor, "offset");
        head(&mut cbor, 0, file.len() as u64);
        text(&mut cbor, "length");
        head(&mut cbor, 0, blob.len() as u64);
        if part.zstd {
            text(&mut cbor, "encoding");
            text(&mut cbor, "zstd");
        }
        file.extend(blob);
    }
    file.extend(&cbor);
    file.extend((cbor.len() as u64).to_le_bytes());
    file.extend(b"ZTEN1000");
    file
}

const TYPES: [&str; 8] = ["u64", "u32", "u16", "u8", "i64", "i32", "i16", "i8"];

/// Indices as a type that holds them all, and compressed or not.
pub(super) fn indices(random: &mut Random, role: &'static str, of: &[u64]) -> Part {
    let most = of.iter().max().copied().unwrap_or(0);
    let index = usize::try_from(random.below(8)).unwrap();
    let fits = |dtype: &str| {
        let bits: u32 = dtype[1..].parse().unwrap();
        let bits = bits - u32::from(dtype.starts_with('i'));
        bits >= u64::BITS - most.leading_zeros()
    };
    let dtype = if fits(TYPES[index]) { TYPES[index] } else { "u64" };
    let width = dtype[1..].parse::<usize>().unwrap() / 8;
    let bytes = of.iter().flat_map(|index| index.to_le_bytes()[..width].to_vec()).collect();
    Part { role, dtype, bytes, zstd: cfg!(feature = "zstd") && random.below(3) == 0 }
}

pub(super) fn values(random: &mut Random, nnz: u64) -> (Vec<i16>, Part) {
    let values: Vec<i16> =
        (0..nnz).map(|_| i16::try_from(random.below(60_000)).unwrap_or(-7)).collect();
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let zstd = cfg!(feature = "zstd") && random.below(3) == 0;
    (values, Part { role: "values", dtype: "i16", bytes, zstd })
}

/// Row, column, value.
pub(super) type Entries = Vec<(u64, u64, i16)>;
/// Coordinate in each dimension, value.
pub(super) type Places = Vec<(Vec<u64>, i16)>;

/// A matrix as its rows, columns and entries, and the file that holds it.
pub(super) fn matrix(random: &mut Random) -> (u64, u64, Entries, Vec<u8>) {
    let (rows, columns) = (random.below(40), random.below(300));
    let (mut indptr, mut columns_of) = (vec![0], Vec::new());
    let sorted = random.below(2) == 0;
    for _ in 0..rows {
        let length = if columns == 0 { 0 } else { random.below(12) };
        let mut row: Vec<u64> = (0..length).map(|_| random.below(columns)).collect();
        if sorted {
            row.sort_unstable();
        }
        if random.below(4) > 0 {
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
    parts.rotate_left(usize::try_from(random.below(3)).unwrap());
    (rows, columns, entries, file("sparse_csr", &[rows, columns], &parts))
}

/// A tensor as its shape and entries, and the file that holds it.
pub(super) fn tensor(random: &mut Random) -> (Vec<u64>, Places, Vec<u8>) {
    let rank = 1 + random.below(4);
    let shape: Vec<u64> = (0..rank).map(|_| 1 + random.below(9)).collect();
    let mut places: Vec<Vec<u64>> = (0..random.below(60))
        .map(|_| shape.iter().map(|dimension| random.below(*dimension)).collect())
        .collect();
    if random.below(2) == 0 {
        places.sort_unstable();
    }
    if random.below(2) == 0 {
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
