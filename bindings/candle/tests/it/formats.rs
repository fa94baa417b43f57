//! Checks that files of other formats load as candle loads them, and that an index loads as the files that it names.

use std::path::{Path, PathBuf};

use candle_core::safetensors::BufferedSafetensors;
use candle_core::{DType, Device, Tensor};
use zten::OpenOptions;
use zten_candle::{Weights, var_builder};

use crate::corpus;
use crate::corpus::bytes;

fn open(path: &Path) -> Weights {
    Weights::open(&[path], &OpenOptions::default()).unwrap()
}

fn accepted(folder: &str, suffix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(corpus(folder)).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|own| own == suffix)).collect()
}

/// Checks that the tensor `ours`, which zten has loaded, equals the tensor that candle loads when `theirs` is called, if both
/// could be loaded. Returns whether both could. Candle panics on shapes whose elements it cannot count, so `theirs` is called
/// only if zten has loaded the tensor.
fn compare(
    ours: candle_core::Result<Tensor>,
    theirs: impl FnOnce() -> candle_core::Result<Tensor>,
) -> bool {
    let Some((ours, theirs)) = ours.ok().and_then(|ours| Some((ours, theirs().ok()?))) else {
        return false;
    };
    assert_eq!((ours.dtype(), ours.dims()), (theirs.dtype(), theirs.dims()));
    assert_eq!(bytes(&ours), bytes(&theirs));
    true
}

#[test]
fn safetensors_files_load_as_candle_loads_them() {
    let (mut equal, mut types) = (0, std::collections::HashSet::new());
    for folder in ["other/safetensors/accept", "other/index/accept"] {
        for path in accepted(folder, "safetensors") {
            let theirs = BufferedSafetensors::new(std::fs::read(&path).unwrap());
            let (ours, Ok(theirs)) = (open(&path), theirs) else { continue };
            for (name, _) in theirs.tensors() {
                let loaded = ours.load(&name, &Device::Cpu);
                types.extend(loaded.iter().map(|tensor| tensor.dtype().as_str()));
                equal += usize::from(compare(loaded, || theirs.load(&name, &Device::Cpu)));
            }
        }
    }
    assert!(equal > 15 && types.len() == 10, "{equal} {types:?}");
}

#[test]
fn numpy_files_load_as_candle_loads_them() {
    let mut equal = 0;
    for path in accepted("other/npy/accept", "npy") {
        let ours = open(&path);
        let name = ours.names().next().unwrap();
        // Candle misreads arrays in column-major order, so `columns.npy` is left out.
        if path.file_stem().is_none_or(|stem| stem != "columns") {
            equal +=
                usize::from(compare(ours.load(name, &Device::Cpu), || Tensor::read_npy(&path)));
        }
    }
    for path in accepted("other/npz/accept", "npz") {
        let (ours, Ok(theirs)) = (open(&path), Tensor::read_npz(&path)) else { continue };
        for (name, theirs) in theirs {
            equal += usize::from(compare(ours.load(&name, &Device::Cpu), || Ok(theirs)));
        }
    }
    assert!(equal > 5, "{equal}");
}

#[test]
fn column_major_arrays_become_row_major() {
    let columns = open(&corpus("other/npy/accept/columns.npy"));
    let columns = columns.load("columns", &Device::Cpu).unwrap();
    assert_eq!((columns.dtype(), columns.dims()), (DType::I16, [2, 3, 4].as_slice()));
    let all = columns.flatten_all().unwrap().to_vec1::<i16>().unwrap();
    assert!(all.into_iter().eq(0..24));
    let stored = var_builder(&[corpus("other/npz/accept/stored.npz")], DType::F32, &Device::Cpu);
    let columns = stored.unwrap().get((2, 3), "columns").unwrap();
    assert_eq!(columns.to_vec2::<f32>().unwrap(), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]);
}

#[test]
fn an_index_loads_the_files_that_it_names() {
    let folder = corpus("other/index/accept");
    let index = open(&folder.join("two.index.json"));
    let files = ["a.safetensors", "b.safetensors"].map(|name| folder.join(name));
    let files = Weights::open(&files, &OpenOptions::default()).unwrap();
    let sorted = |weights: &Weights| {
        let mut names: Vec<_> = weights.names().map(str::to_owned).collect();
        names.sort();
        names
    };
    let names = sorted(&files);
    assert_eq!(sorted(&index), names);
    let equal =
        |name: &String| compare(index.load(name, &Device::Cpu), || files.load(name, &Device::Cpu));
    assert!(names.len() > 1 && names.iter().all(equal));
    // An index that names a missing file is rejected when it is opened.
    let error = Weights::open(
        &[corpus("other/index/reject/index-file--missing.index.json")],
        &OpenOptions::default(),
    );
    let error = error.unwrap_err().to_string();
    assert!(error.contains("index-file") && error.contains("missing.index.json"), "{error}");
}

/// Checks that invalid files are rejected by the rules in their names, either on opening or on loading all tensors, except for the
/// rules that are named below.
#[test]
fn invalid_files_are_rejected() {
    let mut rejected = 0;
    for format in ["safetensors", "gguf", "npy", "npz", "index", "named"] {
        for entry in std::fs::read_dir(corpus("other").join(format).join("reject")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let Some((rule, _)) = name.split_once("--") else { continue };
            if name.contains("-00002-of-") {
                // The second file of a split model does not break the rule in its name. The first file, which refers to
                // it, does.
                continue;
            }
            // Only `check` compares tensors that an index does not select, and only `check` inspects pickled arrays.
            if ["index-overlay", "torch-global", "torch-pickle"].contains(&rule) {
                continue;
            }
            // Findings that zten notes on opening, but for which only `check` rejects a file, do not prevent tensors from
            // loading.
            let archive = zten::open(&path);
            let findings = archive.as_ref().map(zten::Archive::findings).unwrap_or_default();
            if findings.iter().any(|found| found.error().rule() == Some(rule)) {
                rejected += 1;
                continue;
            }
            let error = match Weights::open(&[&path], &OpenOptions::default()) {
                Err(error) => Some(error),
                Ok(weights) => {
                    let mut names: Vec<_> = weights.names().collect();
                    names.sort_unstable();
                    names.into_iter().find_map(|name| weights.load(name, &Device::Cpu).err())
                }
            };
            let error = error.unwrap_or_else(|| panic!("{name}")).to_string();
            // Candle has no booleans, so tensors of booleans do not load.
            let has_rule =
                error.contains(rule) || error.contains("candle has no dtype for elements");
            assert!(has_rule && error.contains(name), "{name}: {error}");
            rejected += 1;
        }
    }
    assert!(rejected > 150, "{rejected}");
}
