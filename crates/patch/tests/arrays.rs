//! Tests that arrays in memory can be models, and that patches change them in place.

use std::io;
use std::sync::Mutex;

use zten::error::Misuse;
use zten::formats::write::{Array, DeclaredArrays};
use zten::{Archive, DType, Error, Generation, ReadAt as _};
use zten_patch::{
    ArrayFile, ArrayUpdate, Chain, Model, Patch, PatchFailure, ReadArray, Settings, make,
};

/// An array of a test: its name, dtype, shape and bytes.
type Own = (String, DType, Vec<u64>, Vec<u8>);

const DTYPES: [DType; 8] = [
    DType::F64,
    DType::F32,
    DType::BF16,
    DType::F8E4M3Fn,
    DType::Bool,
    DType::F4E2M1,
    DType::I16,
    DType::Complex64,
];

fn arbitrary(seed: u64) -> Vec<Own> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut all = Vec::new();
    for (at, dtype) in DTYPES.into_iter().enumerate() {
        for rows in [0, 1, 7, random.u64(100..3000)] {
            let shape = vec![rows, 30];
            let bits = rows * 30 * u64::from(dtype.bits().unwrap());
            let bytes = (0..bits.div_ceil(8)).map(|_| match dtype {
                DType::Bool => random.u8(..2),
                _ => random.u8(..),
            });
            all.push((format!("{at}.{rows}"), dtype, shape, bytes.collect()));
        }
    }
    all
}

/// Returns copies of the arrays `all`, in each of which some elements are changed.
fn changed(all: &[Own], seed: u64) -> Vec<Own> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut all = all.to_vec();
    for (_, _, _, bytes) in &mut all {
        let one_in = [1, 10, 1000][random.usize(..3)];
        for byte in bytes.iter_mut().filter(|_| random.usize(..one_in) == 0) {
            *byte ^= 1;
        }
    }
    all
}

fn list(all: &[Own]) -> DeclaredArrays {
    let one = |(name, dtype, shape, _): &Own| {
        (name.clone(), Array { shape: shape.clone(), dtype: *dtype })
    };
    DeclaredArrays { arrays: all.iter().map(one).collect(), attributes: None }
}

/// Returns a zTensor file of generation 2, in memory, that a writer made of the arrays `all`.
fn written(all: &[Own]) -> Archive<zten::InMemory<Vec<u8>>> {
    let options = zten::write::WriteOptions::default().generation(Generation::V2);
    let mut writer = zten::write::Writer::new(Vec::new(), &options).unwrap();
    for (name, dtype, shape, bytes) in all {
        let mut out = writer.begin(name, shape, *dtype).unwrap();
        out.write_part("data", bytes).unwrap();
        out.finish().unwrap();
    }
    Archive::from_bytes(writer.finish().unwrap()).unwrap()
}

fn patch(old: &[Own], new: &[Own]) -> Archive<zten::InMemory<Vec<u8>>> {
    let slices = |all: &'_ [Own]| all.iter().map(|own| own.3.clone()).collect::<Vec<_>>();
    let (before, after) = (slices(old), slices(new));
    let before: Vec<_> = before.iter().map(Vec::as_slice).collect();
    let after: Vec<_> = after.iter().map(Vec::as_slice).collect();
    let old_file = ArrayFile::open(&list(old), before.as_slice()).unwrap();
    let new_file = ArrayFile::open(&list(new), after.as_slice()).unwrap();
    let old = Model::of_arrays(&list(old), &old_file).unwrap();
    let new = Model::of_arrays(&list(new), &new_file).unwrap();
    let (bytes, _) = make(&old, &new, Vec::new(), &Settings::default()).unwrap();
    Archive::from_bytes(bytes).unwrap()
}

/// The bytes of arrays in memory, which are read and changed in place, and the names of these arrays.
struct Memory(Vec<Mutex<Vec<u8>>>, Vec<String>);

impl Memory {
    fn new(all: &[Own]) -> Self {
        let names = all.iter().map(|own| own.0.clone()).collect();
        Self(all.iter().map(|own| Mutex::new(own.3.clone())).collect(), names)
    }

    fn write(&self, name: &str, offset: u64, bytes: &[u8]) {
        let number = self.1.iter().position(|own| own == name).unwrap();
        let mut own = self.0[number].lock().unwrap();
        own[usize::try_from(offset).unwrap()..][..bytes.len()].copy_from_slice(bytes);
    }

    fn has(&self, all: &[Own]) -> bool {
        self.0.iter().zip(all).all(|(own, (.., bytes))| *own.lock().unwrap() == *bytes)
    }
}

impl ReadArray for Memory {
    fn read_array(&self, number: usize, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.0[number].lock().unwrap().read_at(offset, buffer)
    }
}

/// Applies `patch` in place to `memory`, which holds the arrays `all`. The names in each pair of `twins` are arrays of one memory.
fn update(
    memory: &Memory,
    all: &[Own],
    patch: &Archive<zten::InMemory<Vec<u8>>>,
    twins: &[(&str, &str)],
) -> Result<(), PatchFailure> {
    let file = ArrayFile::open(&list(all), memory).unwrap();
    let base = Model::of_arrays(&list(all), &file).unwrap();
    let patches = [Patch::open(patch.manifest(), patch).unwrap()];
    let chain = Chain::new(&base, &patches)?;
    let update = ArrayUpdate::new(&chain, twins)?;
    update.check()?;
    update.write(&mut |name, offset, bytes| {
        memory.write(name, offset, bytes);
        Ok(())
    })
}

#[test]
fn arrays_are_the_file_that_holds_them() {
    for seed in 0..8 {
        let all = arbitrary(seed);
        let bytes: Vec<_> = all.iter().map(|own| own.3.as_slice()).collect();
        let file = ArrayFile::open(&list(&all), bytes.as_slice()).unwrap();
        let other = written(&all);
        file.verify().unwrap();
        assert_eq!(file.tensors().len(), other.tensors().len());
        for (own, other) in file.tensors().zip(other.tensors()) {
            assert_eq!((own.name(), own.dtype()), (other.name(), other.dtype()));
            assert_eq!(own.shape(), other.shape());
            let content = |tensor: &zten::Tensor<'_>| {
                let mut bytes = Vec::new();
                let data = tensor.component("data").unwrap();
                let mut reader = data.reader().unwrap();
                while let Some(chunk) = reader.next_chunk().unwrap() {
                    bytes.extend_from_slice(chunk);
                }
                bytes
            };
            assert_eq!(content(&own), content(&other), "{}", own.name());
        }
    }
}

#[test]
fn arrays_change_in_place() {
    for seed in 0..8 {
        let old = arbitrary(seed);
        let new = changed(&old, seed);
        let (patch, memory) = (patch(&old, &new), Memory::new(&old));
        update(&memory, &old, &patch, &[]).unwrap();
        assert!(memory.has(&new));
        // Applying the same patch a second time is an error, and changes nothing.
        let again = update(&memory, &old, &patch, &[]).unwrap_err();
        assert!(matches!(again, PatchFailure::Old(_)), "{again}");
        assert!(memory.has(&new));
    }
}

#[test]
fn nothing_changes_if_a_patch_does_more_than_change_elements() {
    let old = arbitrary(1);
    let mut variants = Vec::new();
    for (at, own) in old.iter().enumerate().step_by(5) {
        let mut new = old.clone();
        new[at].0 = "renamed".to_owned();
        variants.push(new.clone());
        new.remove(at);
        variants.push(new.clone());
        new.push(("added".to_owned(), DType::U8, vec![3], vec![1, 2, 3]));
        variants.push(new);
        let mut new = old.clone();
        new[at].2 = own.2.iter().rev().copied().chain([1]).collect();
        variants.push(new);
    }
    for new in variants {
        let memory = Memory::new(&old);
        let failed = update(&memory, &old, &patch(&old, &new), &[]).unwrap_err();
        assert!(matches!(failed, PatchFailure::Inexpressible(_)), "{failed}");
        assert!(memory.has(&old));
    }
}

#[test]
fn memory_of_two_tensors_changes_once() {
    let tensor = |name: &str, bytes: &[u8]| {
        (name.to_owned(), DType::U8, vec![u64::try_from(bytes.len()).unwrap()], bytes.to_vec())
    };
    let old = [tensor("a", &[1, 2, 3]), tensor("b", &[1, 2, 3])];
    let new = [tensor("a", &[1, 2, 9]), tensor("b", &[1, 2, 9])];
    let (alike, memory) = (patch(&old, &new), Memory::new(&old));
    update(&memory, &old, &alike, &[("a", "b")]).unwrap();
    assert_eq!(*memory.0[0].lock().unwrap(), [1, 2, 9]);
    assert_eq!(*memory.0[1].lock().unwrap(), [1, 2, 3], "the second name is not written");
    for b in [[1, 2, 3], [7, 7, 7]] {
        let new = [tensor("a", &[1, 2, 9]), tensor("b", &b)];
        let (other, memory) = (patch(&old, &new), Memory::new(&old));
        let failed = update(&memory, &old, &other, &[("a", "b")]).unwrap_err();
        assert!(matches!(failed, PatchFailure::Inexpressible(_)), "{failed}");
        assert!(memory.has(&old));
    }
}

/// However the pairs connect the tensors of one memory, exactly one of the tensors is written.
#[test]
fn memory_of_several_tensors_changes_once() {
    let all = |bytes: [u8; 3]| {
        ["a", "b", "c"].map(|name| (name.to_owned(), DType::U8, vec![3], bytes.to_vec()))
    };
    let (old, new) = (all([1, 2, 3]), all([1, 2, 9]));
    let patch = patch(&old, &new);
    for twins in [
        &[("a", "b"), ("a", "c")][..],
        &[("a", "c"), ("b", "c")],
        &[("c", "a"), ("c", "b")],
        &[("b", "a"), ("c", "b")],
        &[("a", "b"), ("b", "c"), ("c", "a")],
        &[("a", "b"), ("b", "a"), ("a", "c"), ("c", "c")],
    ] {
        let memory = Memory::new(&old);
        update(&memory, &old, &patch, twins).unwrap();
        let is_written = |own: &&Mutex<Vec<u8>>| *own.lock().unwrap() == [1, 2, 9];
        assert_eq!(memory.0.iter().filter(is_written).count(), 1, "{twins:?}");
    }
}

/// A source of arrays of zeros. Reading the array whose number is in the field fails, as if its connection broke.
struct Broken(usize);

impl ReadArray for Broken {
    fn read_array(&self, number: usize, _: u64, buffer: &mut [u8]) -> Result<(), Error> {
        if number == self.0 {
            return Err(io::Error::from(io::ErrorKind::ConnectionReset).into());
        }
        buffer.fill(0);
        Ok(())
    }
}

#[test]
fn an_array_that_cannot_be_read_is_the_error_of_its_model() {
    let all = arbitrary(3);
    let zeros: Vec<_> = all.iter().map(|own| vec![0; own.3.len()]).collect();
    let zeros: Vec<_> = zeros.iter().map(Vec::as_slice).collect();
    for (number, own) in all.iter().enumerate() {
        let broken = ArrayFile::open(&list(&all), Broken(number)).unwrap();
        let whole = ArrayFile::open(&list(&all), zeros.as_slice()).unwrap();
        let broken = Model::of_arrays(&list(&all), &broken).unwrap();
        let whole = Model::of_arrays(&list(&all), &whole).unwrap();
        let old = make(&broken, &whole, Vec::new(), &Settings::default());
        let new = make(&whole, &broken, Vec::new(), &Settings::default());
        if own.3.is_empty() {
            assert!(old.is_ok() && new.is_ok());
        } else {
            assert!(matches!(old, Err(PatchFailure::Old(_))), "{}", own.0);
            assert!(matches!(new, Err(PatchFailure::New(_))), "{}", own.0);
        }
    }
}

#[test]
fn lists_that_no_file_can_hold_are_errors() {
    let twice = list(&[arbitrary(1), arbitrary(1)].concat());
    let error = ArrayFile::open(&twice, Broken(0)).unwrap_err();
    assert_eq!(error.rule(), Some("duplicate-name"));
    let unknown = Array { shape: vec![1], dtype: DType::Unknown };
    let arrays = vec![("w".to_owned(), unknown)];
    assert!(ArrayFile::open(&DeclaredArrays { arrays, attributes: None }, Broken(0)).is_err());
    let none: &[&[u8]] = &[];
    let error = none.read_array(0, 0, &mut [0]).unwrap_err();
    assert!(error.kind() == Misuse::NoTensor);
}
