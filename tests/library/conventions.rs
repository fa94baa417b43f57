//! Tensors that programs quantize and store as several tensors. `corpus/conventions/conventions.py` made the files and the values.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use zten::conventions::{Convention, QuantizedForm};
use zten::{Archive, InMemory};

fn folder() -> PathBuf {
    std::env::var_os("ZTEN_CONVENTIONS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/conventions")),
        PathBuf::from,
    )
}

/// The cases, and the bytes of the file of each.
fn cases() -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "safetensors"));
    let case = |path: PathBuf| {
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())
    };
    files.map(case).collect()
}

fn open(file: Vec<u8>) -> Archive<InMemory<Vec<u8>>> {
    Archive::from_bytes(file).unwrap().with_conventions().unwrap()
}

/// The values of each case are those that the package that defines the convention computes, bit by bit.
#[test]
fn values_are_those_of_the_packages() {
    let mut conventions = BTreeMap::new();
    for (case, file) in cases() {
        let archive = open(file);
        let tensors: Vec<_> = archive.tensors().collect();
        let [tensor] = &tensors[..] else { panic!("{case}: {tensors:?}") };
        let form = QuantizedForm::of(tensor).unwrap();
        *conventions.entry(form.convention.layout()).or_insert(0) += 1;
        let wanted = fs::read(folder().join(case.clone() + ".f32")).unwrap();
        let wanted: Vec<f32> =
            wanted.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
        let values = tensor.to_f32().unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(values.len() as u64, tensor.element_count().unwrap(), "{case}");
        assert_eq!(values.len(), wanted.len(), "{case}");
        for (at, (value, wanted)) in values.iter().zip(&wanted).enumerate() {
            assert_eq!(value.to_bits(), wanted.to_bits(), "{case} [{at}]: {value} {wanted}");
        }
    }
    assert_eq!(conventions.len(), Convention::ALL.len(), "{conventions:?}");
}
