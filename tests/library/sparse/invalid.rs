//! Tests of files with false indices: each is rejected at the byte of the false index.

use zten::{Archive, OpenOptions};

#[cfg(feature = "zstd")]
use super::generated::{Part, file};
use super::{read, validate, verify};
use zten_corpus::base::words;
use zten_testkit::corpus;
use zten_testkit::sample::least;
#[cfg(feature = "zstd")]
use zten_testkit::{Expected, reject_index};

/// The rules that are checked when a sparse object is bound. Other rules need its digest or its values.
#[cfg(feature = "zstd")]
const SPARSE: [&str; 7] = [
    "csr-indptr-start",
    "csr-indptr-order",
    "csr-indptr-end",
    "csr-indptr-size",
    "csr-nnz",
    "coo-nnz",
    "index-range",
];

#[cfg(feature = "zstd")]
#[test]
fn rejected_sparse_files_are_rejected_at_the_recorded_byte() {
    let mut count = 0;
    for row in reject_index().filter(|row| SPARSE.contains(&row.expected.rule.as_str())) {
        let found =
            validate(&row.read(), &row.options).map_err(|error| Expected::from_error(&error));
        assert_eq!(found, Err(row.expected), "{}", row.file);
        count += 1;
    }
    assert!(count >= least(25), "the corpus has only {count} such files");
}

#[test]
fn accepted_sparse_files_are_accepted() {
    let mut count = 0;
    let folder = std::fs::read_dir(corpus().join("accept")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    for name in names.filter(|name| name.contains(".zt")) {
        let layouts = [zten::Layout::SparseCsr, zten::Layout::SparseCoo];
        let file = read(&name);
        let archive = Archive::from_bytes(&file).unwrap();
        if !archive.tensors().any(|tensor| layouts.contains(&tensor.layout())) {
            continue;
        }
        if cfg!(feature = "zstd") {
            assert_eq!(validate(&file, &OpenOptions::default()), Ok(()), "{name}");
        }
        count += 1;
    }
    assert!(count >= 40, "the corpus has only {count} such files");
}

/// Returns the file `name`, with `bytes` in place of the indices at `offset`.
fn patched(name: &str, offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = read(name);
    file[offset..offset + bytes.len()].copy_from_slice(bytes);
    file
}

#[test]
fn every_wrong_index_is_named() {
    let rejected = |file: Vec<u8>| {
        let options = OpenOptions::default();
        let error = validate(&file, &options).unwrap_err();
        let verified = verify(&file, &options).unwrap_err();
        assert_eq!(verified, error);
        let roles = [&verified, &error].map(|error| error.component().map(str::to_owned));
        assert!(roles[0].is_some() && roles[0] == roles[1] && error.tensor() == Some("w"));
        let place = error.location();
        (error.rule().unwrap(), error.offset(), place.object(), place.component())
    };
    // The shape is [2, 3], with indices at offset 128 and indptr at offset 192.
    let indptr = |pointers: [u64; 3]| rejected(patched("v12-csr.zt", 192, &words(&pointers)));
    assert_eq!(indptr([1, 2, 3]), ("csr-indptr-start", Some(192), Some(0), Some(2)));
    assert_eq!(indptr([0, 3, 2]), ("csr-indptr-order", Some(208), Some(0), Some(2)));
    assert_eq!(indptr([0, u64::MAX, 3]), ("csr-indptr-order", Some(208), Some(0), Some(2)));
    assert_eq!(indptr([0, 2, 2]), ("csr-indptr-end", Some(208), Some(0), Some(2)));
    assert_eq!(indptr([0, 2, 4]), ("csr-indptr-end", Some(208), Some(0), Some(2)));
    assert_eq!(indptr([0, 2, u64::MAX]), ("csr-indptr-end", Some(208), Some(0), Some(2)));
    let indices = |indices: [u64; 3]| rejected(patched("v12-csr.zt", 128, &words(&indices)));
    assert_eq!(indices([3, 2, 1]), ("index-range", Some(128), Some(0), Some(1)));
    assert_eq!(indices([0, 2, u64::MAX]), ("index-range", Some(144), Some(0), Some(1)));
    // The coordinates are at offset 128, two for each of the two dimensions.
    let coords = |coords: [u64; 4]| rejected(patched("v12-coo.zt", 128, &words(&coords)));
    assert_eq!(coords([0, 2, 2, 1]), ("index-range", Some(136), Some(0), Some(1)));
    assert_eq!(coords([0, 1, 2, 3]), ("index-range", Some(152), Some(0), Some(1)));
    // The first coordinate is less than the second dimension, but not less than its own.
    assert_eq!(coords([2, 1, 0, 0]), ("index-range", Some(128), Some(0), Some(1)));

    // Negative indices.
    let negative = |name: &str, offset, bytes: &[i8]| {
        let bytes: Vec<u8> = bytes.iter().map(|byte| byte.cast_unsigned()).collect();
        rejected(patched(name, offset, &bytes))
    };
    let indptr = |bytes| negative("v11-indptr-i8.zt", 192, bytes);
    assert_eq!(indptr(&[-1, 2, 3]), ("csr-indptr-start", Some(192), Some(0), Some(2)));
    assert_eq!(indptr(&[0, -1, 3]), ("csr-indptr-order", Some(193), Some(0), Some(2)));
    assert_eq!(indptr(&[0, 2, -1]), ("csr-indptr-order", Some(194), Some(0), Some(2)));
    let indices = |bytes| negative("v11-indices-i8.zt", 128, bytes);
    assert_eq!(indices(&[0, -1, 1]), ("index-range", Some(129), Some(0), Some(1)));
    let coords = |bytes| negative("v11-coords-i8.zt", 128, bytes);
    assert_eq!(coords(&[0, 1, 2, -128]), ("index-range", Some(131), Some(0), Some(1)));
}

#[cfg(feature = "zstd")]
#[test]
#[cfg_attr(miri, ignore = "decoding zstd takes minutes there")]
fn sizes_that_only_decoding_shows_are_checked() {
    let part = |role, dtype, bytes, zstd| Part { role, dtype, bytes, zstd };
    let id = |values: usize, indices: &[u64], indptr: &[u64], cut: usize| {
        let mut indices = words(indices);
        indices.truncate(indices.len() - cut);
        let parts = [
            part("values", "u8", vec![1; values], true),
            part("indices", "u64", indices, true),
            part("indptr", "u64", words(indptr), true),
        ];
        let file = file("sparse_csr", &[2, 3], &parts);
        validate(&file, &OpenOptions::default())
            .map_err(|error| (error.rule().unwrap(), error.location().component()))
    };
    assert_eq!(id(3, &[0, 2, 1], &[0, 2, 3], 0), Ok(()));
    assert_eq!(id(2, &[0, 2, 1], &[0, 2, 3], 0), Err(("csr-nnz", Some(1))));
    assert_eq!(id(3, &[0, 2, 1], &[0, 2, 3], 1), Err(("whole-elements", Some(1))));
    assert_eq!(id(3, &[0, 2, 1], &[0, 2, 2], 0), Err(("csr-indptr-end", Some(2))));
    assert_eq!(id(3, &[0, 3, 1], &[0, 2, 3], 0), Err(("index-range", Some(1))));

    let id = |values: usize, coords: &[u64]| {
        let parts = [
            part("values", "u8", vec![1; values], true),
            part("coords", "u64", words(coords), true),
        ];
        let file = file("sparse_coo", &[2, 3], &parts);
        validate(&file, &OpenOptions::default()).map_err(|error| error.rule().unwrap())
    };
    assert_eq!(id(2, &[0, 1, 2, 1]), Ok(()));
    assert_eq!(id(2, &[0, 1, 2]), Err("coo-nnz"));
    assert_eq!(id(1, &[0, 1, 2, 1]), Err("coo-nnz"));
    assert_eq!(id(2, &[0, 2, 2, 1]), Err("index-range"));
    assert_eq!(id(0, &[]), Ok(()));
}
