//! Tests of dense arrays as views of `ndarray`: every file of the corpus, and the errors of arrays that cannot be viewed.

use std::fs;
use std::path::PathBuf;

use zten::element::{ByteOrder, Complex};
use zten::error::Misuse;
use zten::{Archive, DType, Element, Error, Tensor};
use zten_testkit::{placed, read};

fn misuse<T>(result: Result<T, Error>) -> Misuse {
    zten_testkit::misuse(result.err().unwrap())
}

fn files(at: PathBuf) -> Vec<PathBuf> {
    let entries = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(path) } else { vec![path] }).collect()
}

/// How many arrays the test has compared, and how many of them are scalars or empty.
#[derive(Default)]
struct Seen {
    arrays: usize,
    scalars: usize,
    empty: usize,
}

/// Borrows the tensor `dense` as an array, and checks that the array has the shape of the tensor and its elements in row-major
/// order. Counts the array in `seen`. Does nothing if the elements are not of the type `T`, or cannot be borrowed.
fn same<T: Element + std::fmt::Debug>(dense: &Tensor<'_>, seen: &mut Seen) {
    let Ok(array) = dense.array::<T>() else { return };
    let shape: Vec<u64> = dense.shape().to_vec();
    assert!(array.shape().iter().map(|dimension| *dimension as u64).eq(shape.iter().copied()));
    let elements = dense.dense().unwrap().view().unwrap().elements::<T>().unwrap();
    assert_eq!(array.len(), elements.len());
    // A NaN does not equal itself, so the elements are compared as text.
    let written = |element: T| format!("{element:?}");
    assert!(array.iter().copied().map(written).eq(elements.map(written)));
    assert!(array.is_standard_layout());
    seen.arrays += 1;
    seen.scalars += usize::from(shape.is_empty());
    seen.empty += usize::from(array.is_empty());
}

#[test]
fn every_dense_array_of_the_corpus_is_an_ndarray_view() {
    let mut seen = Seen::default();
    for folder in ["accept", "v2/accept", "v2/2.1"] {
        for path in files(zten_testkit::corpus().join(folder)) {
            let file = fs::read(&path).unwrap();
            let file = placed(&file, 0);
            let Ok(archive) = Archive::from_bytes(&file[..]) else { continue };
            for dense in archive.tensors().filter(|tensor| tensor.dense().is_ok()) {
                same::<f64>(&dense, &mut seen);
                same::<f32>(&dense, &mut seen);
                same::<half::f16>(&dense, &mut seen);
                same::<half::bf16>(&dense, &mut seen);
                same::<i64>(&dense, &mut seen);
                same::<u32>(&dense, &mut seen);
                same::<u8>(&dense, &mut seen);
                same::<bool>(&dense, &mut seen);
                same::<Complex<f32>>(&dense, &mut seen);
            }
        }
    }
    assert!(seen.arrays > 500, "{}", seen.arrays);
    assert!(seen.scalars > 0 && seen.empty > 0, "{} {}", seen.scalars, seen.empty);
}

#[test]
fn arrays_that_cannot_be_views_are_errors() {
    let of = |path: &str, at: usize| placed(&read(path), at);
    let odd = of("accept/1.2.3/dense_all.zt", 1);
    let archive = Archive::from_bytes(&odd[..]).unwrap();
    let dense = archive.tensor("t_f32").unwrap();
    assert_eq!(misuse(dense.array::<f32>()), Misuse::Alignment);
    let bytes = archive.tensor("t_u8").unwrap();
    assert_eq!(bytes.array::<u8>().unwrap().shape(), [2, 3]);
    assert!(dense.array::<u8>().is_err());

    let even = of("accept/1.2.3/dense_all.zt", 0);
    let archive = Archive::from_bytes(&even[..]).unwrap();
    let dense = archive.tensor("t_f32").unwrap();
    assert_eq!(dense.array::<f32>().unwrap()[[1, 2]].to_bits(), 1.25_f32.to_bits());

    let big = of("accept/0.1.0/big_endian.zt", 0);
    let archive = Archive::from_bytes(&big[..]).unwrap();
    let wide = archive.tensors().find(|tensor| {
        tensor.dense().is_ok_and(|data| data.byte_order() == ByteOrder::Big)
            && tensor.dtype() == DType::F32
    });
    let why = if ByteOrder::NATIVE == ByteOrder::Big { None } else { Some(Misuse::ByteOrder) };
    assert_eq!(wide.unwrap().array::<f32>().err().map(Err::<(), _>).map(misuse), why);

    let zstd = of("accept/1.2.3/zstd.zt", 0);
    let archive = Archive::from_bytes(&zstd[..]).unwrap();
    let compressed = archive.tensors().filter(|tensor| tensor.dense().is_ok());
    assert!(
        compressed.map(|dense| misuse(dense.array::<f32>())).any(|why| why == Misuse::Compressed)
    );
}

/// Two packed elements share a byte, so they cannot be the elements of an `ndarray` view.
#[test]
fn packed_elements_are_not_an_array() {
    let mut packed = 0;
    for path in files(zten_testkit::corpus().join("v2/accept")) {
        let file = placed(&fs::read(&path).unwrap(), 0);
        let Ok(archive) = Archive::from_bytes(&file[..]) else { continue };
        for tensor in &archive {
            let Ok(component) = tensor.dense() else { continue };
            if component.packed_elements().is_some_and(|count| count > 1)
                && component.view().is_ok_and(|view| view.as_slice::<u8>().is_ok())
            {
                assert_eq!(misuse(tensor.array::<u8>()), Misuse::Type);
                packed += 1;
            }
        }
    }
    assert!(packed > 0);
}
