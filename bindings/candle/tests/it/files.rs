//! Tests of several files, of shards, and of files that are rejected.

use std::path::Path;

use candle_core::{DType, Device};
use zten::write::{Level, NewObject, WriteOptions};
use zten::{DType as Own, Limits, OpenOptions, Writer};
use zten_candle::{Weights, var_builder};

use crate::corpus;

fn one(path: &Path, name: &str, value: f32) {
    let mut writer = Writer::create(path).unwrap();
    writer.add(name, &[1], &[value]).unwrap();
    writer.finish().unwrap();
}

#[test]
fn several_files_load_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    one(&path("a.zt"), "a", 1.0);
    one(&path("b.zt"), "b", 2.0);
    one(&path("again.zt"), "a", 3.0);
    let both = var_builder(&[path("a.zt"), path("b.zt")], DType::F64, &Device::Cpu).unwrap();
    assert_eq!(both.get(1, "a").unwrap().to_vec1::<f64>().unwrap(), [1.0]);
    assert_eq!(both.get(1, "b").unwrap().to_vec1::<f64>().unwrap(), [2.0]);
    assert!(both.contains_tensor("a") && !both.contains_tensor("c"));
    let error = both.get(1, "c").unwrap_err().to_string();
    assert!(error.contains("cannot find tensor c"), "{error}");
    let error = both.get((1, 1), "a").unwrap_err().to_string();
    assert!(error.contains("shape mismatch for a"), "{error}");
    let twice = Weights::open(&[path("a.zt"), path("again.zt")], &OpenOptions::default());
    let error = twice.unwrap_err().to_string();
    assert!(error.contains("the tensor \"a\" is also in") && error.contains("again.zt"), "{error}");
}

#[test]
fn invalid_content_is_rejected() {
    let error =
        |path: &Path| Weights::open(&[path], &OpenOptions::default()).unwrap_err().to_string();
    let rejected = error(&corpus("reject/blob-alignment--v12-72.zt"));
    assert!(rejected.contains("blob-alignment"), "{rejected}");
    assert!(error(Path::new("nothing.zt")).contains("nothing.zt"));
    // The damage of a tensor is detected only when the tensor is read.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.zt");
    one(&path, "a", 1.0);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[64] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let weights = Weights::open(&[&path], &OpenOptions::default()).unwrap();
    let damaged = weights.load("a", &Device::Cpu).unwrap_err().to_string();
    assert!(damaged.contains("digest-mismatch") && damaged.contains("damaged.zt"), "{damaged}");
}

#[test]
fn shards_are_read_as_sibling_files() {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(corpus("v2/shards")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_file() && name.starts_with("dense") {
            std::fs::copy(&path, folder.path().join(name)).unwrap();
        }
    }
    let root = folder.path().join("dense.zt");
    let weights = Weights::open(&[&root], &OpenOptions::default()).unwrap();
    let names: Vec<String> = weights.names().map(str::to_owned).collect();
    let loaded = names.iter().filter(|name| weights.load(name, &Device::Cpu).is_ok()).count();
    assert_eq!(weights.load_all(&Device::Cpu).unwrap().len(), loaded);
    // After a byte of the shard has changed, the tensor in it does not load, because the shard does not match its digest.
    // It makes no difference whether the file was opened before or after the change.
    let shard = folder.path().join("dense-s.zt");
    let mut other = std::fs::read(&shard).unwrap();
    other[4096] ^= 1;
    std::fs::write(&shard, other).unwrap();
    let again = Weights::open(&[&root], &OpenOptions::default()).unwrap();
    for weights in [&weights, &again] {
        let error = weights.load("w", &Device::Cpu).unwrap_err().to_string();
        assert!(error.contains("shard-digest"), "{error}");
        let error = weights.load_all(&Device::Cpu).unwrap_err().to_string();
        assert!(error.contains("shard-digest"), "{error}");
    }
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path != root {
            std::fs::remove_file(path).unwrap();
        }
    }
    let alone = Weights::open(&[&root], &OpenOptions::default()).unwrap();
    let missing = names.iter().filter_map(|name| alone.load(name, &Device::Cpu).err());
    let missing: Vec<String> = missing.map(|error| error.to_string()).collect();
    assert!(missing.iter().any(|error| error.contains("unsupported-shard")), "{missing:?}");
}

/// Checks that loading a tensor fails if it exceeds a limit that the file was opened with.
#[test]
fn limits_apply_to_reading() {
    let folder = tempfile::tempdir().unwrap();
    let zten = folder.path().join("compressed.zt");
    let options = WriteOptions::default();
    let mut writer = options.create(&zten).unwrap();
    let new = NewObject::dense("a", &[1000], Own::F32).compressed(Level::new(1).unwrap());
    writer.add_object(&new, &[("data", &[0; 4000])]).unwrap();
    writer.finish().unwrap();
    let others = ["npz/accept/compressed.npz", "gguf/accept/blocks.gguf"];
    let others = others.map(|name| corpus("other").join(name));
    for path in [zten].into_iter().chain(others) {
        let small = Limits::default().with_decoded(1);
        let options = OpenOptions::default().limits(small);
        let all = Weights::open(&[&path], &OpenOptions::default()).unwrap();
        let names: Vec<_> =
            all.names().filter(|name| all.load(name, &Device::Cpu).is_ok()).collect();
        assert!(!names.is_empty());
        let rejected = match Weights::open(&[&path], &options) {
            Err(error) => vec![error],
            Ok(weights) => {
                names.iter().map(|name| weights.load(name, &Device::Cpu).unwrap_err()).collect()
            }
        };
        for error in rejected {
            assert!(error.to_string().contains("limit-decoded"), "{error}");
        }
    }
}

#[test]
fn names_shapes_and_attributes_are_returned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zt");
    let mut writer = Writer::create(&path).unwrap();
    writer.attributes(&std::collections::BTreeMap::from([("version", 3)])).unwrap();
    writer.add("a", &[2, 1], &[1.0_f32, 2.0]).unwrap();
    writer.finish().unwrap();
    let weights = Weights::open(&[&path], &OpenOptions::default()).unwrap();
    assert_eq!(weights.names().collect::<Vec<_>>(), ["a"]);
    let tensor = weights.tensor("a").unwrap();
    assert_eq!((tensor.dtype(), tensor.shape().to_vec()), (Own::F32, vec![2, 1]));
    assert!(tensor.attributes().next().is_none() && weights.tensor("b").is_err());
    let (own, archive) = weights.files().next().unwrap();
    assert_eq!((own, archive.attributes().get::<u32>("version").unwrap()), (&*path, Some(3)));
}
