//! Tests of saving tensors to a file in one call, in each format.

use std::fs;
use std::path::Path;

use zten::error::Misuse;
use zten::formats::write::{NamedTensor, WriteFailure};
use zten::{DType, ErrorKind};

fn named<'a>(tensors: &'a [(&'a str, Vec<u64>, Vec<f32>)]) -> Vec<NamedTensor<'a>> {
    tensors.iter().map(|(name, shape, values)| (*name, &shape[..], values.into())).collect()
}

fn saved(path: &Path, tensors: &[(&str, Vec<u64>, Vec<f32>)]) {
    zten::save(path, &named(tensors)).unwrap();
    let archive = zten::open(path).unwrap();
    archive.verify().unwrap();
    assert_eq!(archive.len(), tensors.len());
    for (name, shape, values) in tensors {
        let name = if path.extension().is_some_and(|end| end == "npy") { "one" } else { name };
        let tensor = archive.tensor(name).unwrap();
        assert_eq!((tensor.shape(), tensor.dtype()), (&shape[..], DType::F32));
        assert_eq!(tensor.to_vec::<f32>().unwrap(), *values);
    }
}

#[test]
fn the_suffix_decides_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let tensors = [
        ("b", vec![2, 3], vec![1.5, f32::NEG_INFINITY, 0.0, -0.0, 2.0, 3.0]),
        ("a", vec![], vec![7.0]),
        ("none", vec![0, 3], vec![]),
    ];
    for (name, format) in [("x.zt", "zTensor"), ("x.safetensors", "safetensors"), ("X.NPZ", ".npz")]
    {
        let path = folder.path().join(name);
        saved(&path, &tensors);
        assert_eq!(zten::open(&path).unwrap().format(), format);
        // Saving replaces an old file. A file without tensors is valid.
        saved(&path, &tensors[1..]);
        saved(&path, &[]);
    }
    saved(&folder.path().join("one.npy"), &tensors[..1]);
}

#[test]
fn elements_of_any_type_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, wide, packed) = ([1_u8, 2], [i64::MIN, i64::MAX], [0x21_u8, 0x43]);
    for name in ["x.zt", "x.safetensors"] {
        let path = folder.path().join(name);
        let mut tensors: Vec<NamedTensor<'_>> =
            vec![("u8", &[2], (&bytes).into()), ("i64", &[1, 2], (&wide).into())];
        if name == "x.safetensors" {
            tensors.push((
                "f4",
                &[4],
                zten::write::ComponentData::of_bytes(DType::F4E2M1, &packed),
            ));
        }
        zten::save(&path, &tensors).unwrap();
        let archive = zten::open(&path).unwrap();
        assert_eq!(archive.tensor("u8").unwrap().to_vec::<u8>().unwrap(), bytes);
        assert_eq!(archive.tensor("i64").unwrap().to_vec::<i64>().unwrap(), wide);
    }
}

#[test]
fn a_failed_save_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let one = ("w", vec![2], vec![1.0, 2.0]);
    for name in ["x.zt", "x.safetensors", "x.npz", "x.npy"] {
        let path = folder.path().join(name);
        let before = {
            zten::save(&path, &named(std::slice::from_ref(&one))).unwrap();
            fs::read(&path).unwrap()
        };
        let twice = [one.clone(), one.clone()];
        let error = zten::save(&path, &named(&twice)).unwrap_err();
        let is_told = matches!(&error, WriteFailure::Inexpressible(why) if why.to_string().contains("\"w\": another tensor"));
        assert!(is_told, "{name}: {error}");
        for values in [vec![1.0], vec![1.0, 2.0, 3.0]] {
            let wrong = [("w", vec![2], values)];
            let error = zten::save(&path, &named(&wrong)).unwrap_err();
            let is_length = matches!(&error, WriteFailure::Source(error) if error.kind() == ErrorKind::Misuse(Misuse::Length));
            assert!(is_length, "{name}: {error}");
        }
        assert!(fs::read(&path).unwrap() == before, "{name}");
    }
    let two = [one.clone(), ("v", vec![0], vec![])];
    for (name, wanted) in [
        ("x.npy", "2 tensors"),
        ("x.pt", "unknown suffix"),
        ("x", "expected one of .zt, .safetensors"),
    ] {
        let error = zten::save(folder.path().join(name), &named(&two)).unwrap_err();
        assert!(
            matches!(&error, WriteFailure::Inexpressible(_)) && error.to_string().contains(wanted),
            "{error}"
        );
    }
    assert!(!folder.path().join("x.pt").exists());
    let error = zten::save(folder.path().join("none/x.zt"), &named(&two)).unwrap_err();
    assert!(matches!(error, WriteFailure::Output(_)));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}
