//! Tests of slices of dense arrays: a slice has the same bytes as an element-by-element copy, and nothing else is read.
#![expect(clippy::cast_possible_truncation, reason = "a test that panics has failed")]
#![expect(clippy::single_range_in_vec_init, reason = "one dimension of an array is a range")]

mod made;
mod vast;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fastrand::Rng;
use made::{KINDS, Kind, file};
use zten::element::StorageType;
use zten::view::Slice;
use zten::{Archive, Error, ReadAt, Tensor, error::Misuse};
use zten_testkit::sample::{least, rounds};
use zten_testkit::{misuse, read};

/// Returns the little-endian bytes of the elements in `ranges`, copied one by one.
fn naive(blob: &[u8], kind: Kind, shape: &[u64], ranges: &[Range<u64>]) -> Vec<u8> {
    let (.., big, width, ratio) = kind;
    let mut bytes = Vec::new();
    'elements: for element in 0..shape.iter().product() {
        let mut rest = element;
        for (dimension, range) in shape.iter().zip(ranges).rev() {
            if !range.contains(&(rest % dimension)) {
                continue 'elements;
            }
            rest /= dimension;
        }
        let start = element as usize * width * ratio;
        for part in blob[start..start + width * ratio].chunks(width) {
            if big {
                bytes.extend(part.iter().rev());
            } else {
                bytes.extend(part);
            }
        }
    }
    bytes
}

/// Returns the little-endian bytes of the elements of a slice, which are read as the type in which they are stored.
fn bytes_of_elements(slice: &Slice<'_>, storage: StorageType) -> Vec<u8> {
    macro_rules! of {
        ($($type:ty: $storage:ident),+) => {
            match storage {
                $( StorageType::$storage => {
                    let elements = slice.to_vec::<$type>().unwrap();
                    elements.into_iter().flat_map(|element| element.to_le_bytes()).collect()
                } )+
                other => panic!("{other}"),
            }
        };
    }
    of!(u8: U8, half::bf16: Bf16, f32: F32, f64: F64, i16: I16, i64: I64, u64: U64)
}

/// Compares a slice of `tensor` with a copy of the same elements of `file`: its bytes, its elements, its view and its ranges in
/// the file. Returns the number of these ranges.
fn check(file: &[u8], kind: Kind, tensor: &Tensor<'_>, ranges: &[Range<u64>]) -> u64 {
    let shape: Vec<u64> = tensor.shape().to_vec();
    let data = tensor.dense().unwrap();
    let blob = &file[64..64 + data.extent().length() as usize];
    let mut all = ranges.to_vec();
    all.extend(shape[ranges.len()..].iter().map(|dimension| 0..*dimension));
    let expected = naive(blob, kind, &shape, &all);

    let slice = tensor.slice(ranges).unwrap();
    let what = format!("{kind:?} {shape:?} {ranges:?}");
    assert_eq!(slice.byte_len(), expected.len() as u64, "{what}");
    let element = (kind.4 * kind.5) as u64;
    assert_eq!(slice.elements() * element, slice.byte_len(), "{what}");
    let mut bytes = vec![0xaa; expected.len()];
    slice.read(&mut bytes).unwrap();
    assert_eq!(bytes, expected, "{what}");
    match data.storage_type().unwrap() {
        // In 0.1, any byte except 0 is true.
        StorageType::Bool => {
            let bools = expected.iter().map(|byte| *byte != 0);
            assert!(slice.to_vec::<bool>().unwrap().into_iter().eq(bools), "{what}");
        }
        storage => assert_eq!(bytes_of_elements(&slice, storage), expected, "{what}"),
    }

    // The slice is read piece by piece, and once more from the decoded component.
    let mut pieces = Vec::new();
    let take = |part: &[u8]| {
        pieces.extend_from_slice(part);
        Ok::<(), Error>(())
    };
    slice.parts(take).unwrap();
    assert_eq!(pieces, expected, "{what}");
    let decoded = data.read().unwrap();
    for length in [1, 7, decoded.len().max(1)] {
        let (mut cut, mut bytes) = (slice.cut(), Vec::new());
        for chunk in decoded.chunks(length) {
            cut.parts(chunk).for_each(|part| bytes.extend_from_slice(part));
        }
        assert_eq!(bytes, expected, "{what}, {length} bytes at a time");
    }

    // Runs are ascending, do not touch, and are all within the blob.
    let runs: Vec<Range<u64>> = slice.file_ranges().unwrap().collect();
    assert_eq!(slice.file_ranges().unwrap().len(), runs.len() as u64, "{what}");
    assert_eq!(slice.file_ranges().unwrap().size_hint(), (runs.len(), Some(runs.len())));
    assert_eq!(slice.file_ranges().unwrap().is_empty(), expected.is_empty(), "{what}");
    assert!(runs.windows(2).all(|pair| pair[0].end < pair[1].start), "{what} {runs:?}");
    assert!(runs.iter().all(|run| run.start < run.end), "{what} {runs:?}");
    let extent = data.extent().range();
    assert!(runs.iter().all(|run| extent.start <= run.start && run.end <= extent.end), "{what}");
    let mut backwards: Vec<_> = slice.file_ranges().unwrap().rev().collect();
    backwards.reverse();
    assert_eq!(backwards, runs);
    let middle = runs.len() / 2;
    assert_eq!(slice.file_ranges().unwrap().nth(middle), runs.get(middle).cloned());

    let view = slice.view().unwrap();
    assert_eq!(slice.is_contiguous(), runs.len() <= 1, "{what}");
    assert_eq!(view.is_some(), slice.is_contiguous(), "{what}");
    if let Some(view) = view {
        let there = runs.first().map_or(&[][..], |run| &file[run.start as usize..run.end as usize]);
        assert_eq!(view.as_bytes(), there, "{what}");
        assert_eq!(view.len() * kind.4, expected.len(), "{what}");
    }
    let other = vec![0; expected.len() + 1];
    for length in [expected.len().wrapping_sub(1), expected.len() + 1] {
        if let Some(buffer) = other.get(..length) {
            let error = slice.read(&mut buffer.to_vec()).unwrap_err();
            assert_eq!(misuse(error), Misuse::Buffer);
        }
    }
    runs.len() as u64
}

#[test]
fn slices_equal_element_by_element_copies() {
    let mut random = Rng::with_seed(0x5eed_0f5e_ed5e_ed01);
    let (mut runs, mut whole) = (0, 0);
    for round in 0..rounds(3000) {
        let kind = KINDS[round % KINDS.len()];
        // Sometimes a dimension is 0; most of the time no dimension is.
        let rank = random.u64(..6);
        let least = u64::from(random.u64(..4) > 0);
        let shape: Vec<u64> = (0..rank).map(|_| least + random.u64(..5)).collect();
        let length = shape.iter().product::<u64>() as usize * kind.4 * kind.5;
        let blob: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
        let file = file(kind, &shape, &blob);
        let archive = Archive::from_bytes(&file).unwrap();
        let tensor = archive.tensor("t").unwrap();
        for _ in 0..4 {
            let given = random.u64(..=rank) as usize;
            let given = if random.u64(..2) == 0 { shape.len() } else { given };
            let ranges: Vec<Range<u64>> = shape[..given]
                .iter()
                .map(|dimension| match random.u64(..16) {
                    0..6 => 0..*dimension,
                    6 => random.u64(..=*dimension)..*dimension,
                    _ if *dimension == 0 => 0..0,
                    _ => {
                        let start = random.u64(..*dimension);
                        start..start + 1 + random.u64(..dimension - start)
                    }
                })
                .collect();
            let count = check(&file, kind, &tensor, &ranges);
            whole += u64::from(count == 1);
            runs += count;
        }
    }
    assert!(
        runs >= least(20_001) && whole >= least(1001),
        "{runs} runs, {whole} slices of one run"
    );
}

#[test]
#[cfg_attr(miri, ignore = "there are 900 of them")]
fn every_slice_of_a_small_array_is_correct() {
    let kind = KINDS[1];
    let blob: Vec<u8> = (0..2 * 3 * 4 * 2).collect();
    let file = file(kind, &[2, 3, 4], &blob);
    let archive = Archive::from_bytes(&file).unwrap();
    let tensor = archive.tensor("t").unwrap();
    let all = |end: u64| (0..=end).flat_map(move |a| (a..=end).map(move |b| a..b));
    for first in all(2) {
        for second in all(3) {
            for third in all(4) {
                let ranges = [first.clone(), second.clone(), third];
                check(&file, kind, &tensor, &ranges);
                let listed = tensor.slice(&ranges[..]).unwrap();
                let [first, second, third] = ranges;
                let tuple = tensor.slice((first, second, third)).unwrap();
                assert!(tuple.ranges().eq(listed.ranges()));
            }
        }
        let rows = tensor.slice(first.clone()).unwrap();
        let ranges: Vec<_> = rows.file_ranges().unwrap().collect();
        let start = 64 + first.start * 24;
        let wanted = start..64 + first.end * 24;
        assert_eq!(ranges, if first.is_empty() { vec![] } else { vec![wanted] });
    }
}

#[test]
fn ranges_of_every_type_are_accepted() {
    let file = file(KINDS[0], &[4, 5], &[0; 20]);
    let archive = Archive::from_bytes(&file).unwrap();
    let tensor = archive.tensor("t").unwrap();
    let listed = |rows: Range<u64>, columns: Range<u64>| {
        let slice = tensor.slice(&[rows, columns][..]).unwrap();
        slice.ranges().collect::<Vec<_>>()
    };
    let same = |slice: Result<Slice<'_>, Error>, rows, columns| {
        assert!(slice.unwrap().ranges().eq(listed(rows, columns)));
    };
    same(tensor.slice(..), 0..4, 0..5);
    same(tensor.slice(1..), 1..4, 0..5);
    same(tensor.slice(..2), 0..2, 0..5);
    same(tensor.slice(..=2), 0..3, 0..5);
    same(tensor.slice(1..=2), 1..3, 0..5);
    same(tensor.slice((1..3,)), 1..3, 0..5);
    same(tensor.slice((2..=2, ..)), 2..3, 0..5);
    same(tensor.slice((.., 4..)), 0..4, 4..5);
    same(tensor.slice((..3, ..=1)), 0..3, 0..2);
    for wrong in [
        tensor.slice(..5),
        tensor.slice(..=4),
        tensor.slice((.., ..=5)),
        tensor.slice((.., 6..)),
        tensor.slice((.., .., ..)),
        tensor.slice((.., .., 0..0)),
    ] {
        assert_eq!(misuse(wrong.unwrap_err()), Misuse::Slice);
    }
}

#[test]
fn impossible_slices_are_errors() {
    let shape = [2, 3];
    let file_2_3 = file(KINDS[0], &shape, &[0; 6]);
    let archive = Archive::from_bytes(&file_2_3).unwrap();
    let tensor = archive.tensor("t").unwrap();
    #[expect(clippy::reversed_empty_ranges, reason = "what is rejected")]
    let wrong = [
        vec![0..3],
        vec![2..1],
        vec![0..2, 0..4],
        vec![0..0, 4..4],
        vec![0..2, 3..2],
        vec![0..u64::MAX],
        vec![u64::MAX..u64::MAX],
        vec![u64::MAX..0],
        vec![0..2, 0..3, 0..1],
    ];
    for ranges in wrong {
        let error = tensor.slice(&ranges[..]).unwrap_err();
        assert_eq!(error.location().component(), Some(0));
        assert_eq!((error.tensor(), error.component()), (Some("t"), Some("data")));
        assert_eq!(misuse(error), Misuse::Slice, "{ranges:?}");
    }
    assert_eq!(misuse(tensor.slice(1..3).unwrap_err()), Misuse::Slice);
    // An empty slice may begin at the end of a dimension.
    assert_eq!(tensor.slice(2..2).unwrap().elements(), 0);
    // The file is cut after it was opened, so that the slice cannot be read.
    let cut = &file_2_3[..69];
    let slice = archive.manifest().tensor("t").unwrap().read_from(&cut).slice(0..2).unwrap();
    for error in [slice.read(&mut [0; 6]).unwrap_err(), slice.to_vec::<u8>().unwrap_err()] {
        assert_eq!(error.tensor(), Some("t"));
        assert_eq!(misuse(error), Misuse::Size);
    }

    let scalar = file(KINDS[0], &[], &[7]);
    let archive = Archive::from_bytes(&scalar).unwrap();
    let tensor = archive.tensor("t").unwrap();
    assert_eq!(misuse(tensor.slice(0..1).unwrap_err()), Misuse::Slice);
    let mut byte = [0];
    tensor.slice(&[][..]).unwrap().read(&mut byte).unwrap();
    assert_eq!(byte, [7]);

    // This tensor is empty, because one of its dimensions is 0, although the others are huge.
    let vast = [0, u64::MAX, u64::MAX];
    let empty = file(KINDS[2], &vast, &[]);
    let archive = Archive::from_bytes(&empty).unwrap();
    let tensor = archive.tensor("t").unwrap();
    let slice = tensor.slice((0..0, 5..u64::MAX)).unwrap();
    assert_eq!((slice.elements(), slice.file_ranges().unwrap().next()), (0, None));
    assert_eq!(slice.view().unwrap().map(|view| view.len()), Some(0));
    assert!(slice.to_vec::<f32>().unwrap().is_empty());
    assert_eq!(misuse(tensor.slice(0..1).unwrap_err()), Misuse::Slice);

    let zstd = read("accept/1.2.3/zstd.zt");
    let archive = Archive::from_bytes(&zstd).unwrap();
    let tensor = archive.tensors().find(|tensor| tensor.dense().is_ok()).unwrap();
    let slice = tensor.slice(..).unwrap();
    assert_eq!(misuse(slice.file_ranges().unwrap_err()), Misuse::Compressed);
    assert_eq!(misuse(slice.view().unwrap_err()), Misuse::Compressed);

    // Two elements share a byte, so a slice could end within a byte. A slice of such a tensor can be neither read nor
    // borrowed.
    let packed = read("v2/accept/nibbles.zt");
    let archive = Archive::from_bytes(&packed).unwrap();
    let tensor = archive.tensors().next().unwrap();
    let slice = tensor.slice(0..2).unwrap();
    assert_eq!((slice.elements(), slice.cut().parts(&[1, 2, 3]).next()), (2, Some(&[1, 2][..])));
    assert_eq!(misuse(slice.file_ranges().unwrap_err()), Misuse::Type);
    assert_eq!(misuse(slice.view().unwrap_err()), Misuse::Type);
    assert_eq!(misuse(slice.read(&mut [0; 2]).unwrap_err()), Misuse::Type);
    assert_eq!(misuse(slice.to_vec::<u8>().unwrap_err()), Misuse::Type);

    // The type is unknown, and the number of storage elements is not the number of elements.
    let unknown = read("accept/unsupported-type--v12-other-size.zt");
    let archive = Archive::from_bytes(&unknown).unwrap();
    let tensor = archive.tensors().next().unwrap();
    assert_eq!(misuse(tensor.slice(..).unwrap_err()), Misuse::Type);
    let unknown = read("accept/unsupported-dtype--v01-unknown.zt");
    let archive = Archive::from_bytes(&unknown).unwrap();
    let tensor = archive.tensors().next().unwrap();
    assert_eq!(tensor.slice(..).unwrap_err().rule(), Some("unsupported-dtype"));
}

#[test]
fn only_bools_that_are_read_are_validated() {
    let kind = (false, "bool", "", false, 1, 1);
    let bools = file(kind, &[2, 2], &[0, 1, 2, 1]);
    let archive = Archive::from_bytes(&bools).unwrap();
    let tensor = archive.tensor("t").unwrap();
    let slice = |column: u64| {
        let mut buffer = [9; 2];
        let slice = tensor.slice((.., column..column + 1)).unwrap();
        let read = slice.read(&mut buffer);
        let elements = slice.to_vec::<bool>();
        assert_eq!(elements.as_ref().err(), read.as_ref().err());
        assert!(elements.is_err() || elements == Ok(buffer.map(|byte| byte == 1).to_vec()));
        read.map(|_| buffer)
    };
    assert_eq!(slice(1), Ok([1, 1]));
    let error = slice(0).unwrap_err();
    assert_eq!((error.rule(), error.offset()), (Some("bool-value"), Some(66)));
    // Borrowed elements are validated when the view hands them out.
    let view = tensor.slice(1..2).unwrap().view().unwrap().unwrap();
    let error = view.as_slice::<bool>().unwrap_err();
    assert_eq!((error.rule(), error.offset()), (Some("bool-value"), Some(66)));
    let view = tensor.slice(0..1).unwrap().view().unwrap().unwrap();
    assert_eq!(view.as_slice::<bool>(), Ok(&[false, true][..]));
}

/// A source that tells up to which gap one read is as fast as two, and counts reads and bytes.
struct Gapped<'f> {
    bytes: &'f [u8],
    /// The answer of [`ReadAt::gap`], in bytes.
    gap: u64,
    /// The number of calls of `read_at` so far.
    reads: AtomicU64,
    /// The number of bytes that have been read so far.
    read: AtomicU64,
}

impl<'f> Gapped<'f> {
    fn new(bytes: &'f [u8], gap: u64) -> Self {
        Self { bytes, gap, reads: AtomicU64::new(0), read: AtomicU64::new(0) }
    }
}

impl ReadAt for Gapped<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.reads.fetch_add(1, Relaxed);
        self.read.fetch_add(buffer.len() as u64, Relaxed);
        self.bytes.read_at(offset, buffer)
    }

    fn gap(&self) -> u64 {
        self.gap
    }
}

/// Runs of a slice are read together if the gap between them is small enough, and one by one otherwise. Both ways give
/// the same elements.
#[test]
fn runs_that_are_close_are_read_together() {
    let kind = (false, "u16", "", false, 2, 1);
    let (rows, columns) = (300, 700);
    let content: Vec<u8> = (0..rows * columns).flat_map(|at| (at as u16).to_le_bytes()).collect();
    let bytes = file(kind, &[rows, columns], &content);
    let in_memory = Archive::from_bytes(&bytes).unwrap();
    for (from, to, gap, reads) in [
        // A row is 1,400 bytes, and one read takes at most 64 KiB. That is 46 rows, so 300 rows take 7 reads.
        (3, 5, 4096, 7),
        (3, 5, 1396, 7),
        (3, 5, 1395, 300),
        (3, 5, 0, 300),
        (0, 699, 2, 7),
        (0, 699, 1, 300),
        (0, 700, 4096, 1),
        (10, 10, 4096, 0),
    ] {
        let length = bytes.len() as u64;
        let source = Gapped::new(&bytes, gap);
        let archive = zten::OpenOptions::default().open_source(source, length).unwrap();
        let reads_of_opening = archive.source().reads.swap(0, Relaxed);
        assert!(reads_of_opening > 0);
        archive.source().read.store(0, Relaxed);
        let slice = |tensor: &Tensor<'_>| {
            let slice = tensor.slice((.., from..to)).unwrap();
            let mut bytes = vec![0; slice.byte_len() as usize];
            slice.read(&mut bytes).unwrap();
            bytes
        };
        let tensor = archive.tensor("t").unwrap();
        let wanted = slice(&in_memory.tensor("t").unwrap());
        assert_eq!(slice(&tensor), wanted, "{from}..{to}, {gap}");
        assert_eq!(archive.source().reads.load(Relaxed), reads, "{from}..{to}, {gap}");
        let most = if reads == rows { wanted.len() } else { content.len() };
        assert!(archive.source().read.load(Relaxed) <= most as u64, "{from}..{to}, {gap}");
        let elements = tensor.slice((.., from..to)).unwrap().to_vec::<u16>().unwrap();
        let elements: Vec<u8> = elements.into_iter().flat_map(u16::to_le_bytes).collect();
        assert_eq!(elements, wanted, "{from}..{to}, {gap}");
    }
    // These slices have three dimensions, and their runs have several lengths.
    for ranges in
        [[0..3, 1..9, 2..3], [1..3, 0..10, 0..70], [2..3, 9..10, 0..1], [0..3, 0..1, 5..6]]
    {
        let bytes = file(kind, &[3, 10, 700], &content[..3 * 10 * 700 * 2]);
        let source = Gapped::new(&bytes, 3000);
        let archive = zten::OpenOptions::default().open_source(source, bytes.len() as u64).unwrap();
        let wanted = naive(&content, kind, &[3, 10, 700], &ranges);
        let tensor = archive.tensor("t").unwrap();
        let slice = tensor.slice(&ranges[..]).unwrap();
        let mut read = vec![0; slice.byte_len() as usize];
        slice.read(&mut read).unwrap();
        assert_eq!(read, wanted, "{ranges:?}");
    }
}
