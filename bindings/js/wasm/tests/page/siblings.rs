//! Tests of models in several files: indices, split GGUF models, and zTensor files with shards.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use zten::verify::check;
use zten_js::page::{describe, values};
use zten_js::session::{File, Session};

use super::{answer, everything, files, leaked, opened_with};

/// Opens the file at `path` with its sibling files, except those that `hidden` names.
fn with_siblings(path: &Path, hidden: &dyn Fn(&str) -> bool) -> (Session, Value) {
    let bytes = fs::read(path).unwrap();
    let folder = path.parent().unwrap().to_owned();
    let (name, stem) = (path.file_name().unwrap().to_str().unwrap(), path.file_stem().unwrap());
    let find = |name: &str, asked: &Value| {
        if hidden(name) {
            return None;
        }
        let below = asked["path"].as_array().unwrap().iter().map(|step| step.as_str().unwrap());
        let below: PathBuf = below.collect();
        let beside = asked["suffix"].as_str().map(|end| format!("{}{end}", stem.to_str().unwrap()));
        let places = beside.map(PathBuf::from).into_iter().chain([below]);
        places
            .filter(|place| place != Path::new(""))
            .find_map(|place| fs::read(folder.join(place)).ok())
    };
    opened_with(name, &bytes, leaked(bytes.clone()), &find)
}

/// Returns all indices, GGUF files and zTensor files in the folders of the corpus with models in several files. Some of them, such
/// as shards, have no sibling files themselves.
fn roots() -> Vec<PathBuf> {
    let folders = [
        "other/index/accept",
        "other/index/reject",
        "other/gguf/accept",
        "other/gguf/reject",
        "v2/shards",
    ];
    let all = folders.iter().flat_map(|folder| files(folder));
    let is_root = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        [".json", ".gguf", ".zt"].iter().any(|end| name.ends_with(end))
    };
    all.filter(is_root).collect()
}

#[test]
fn the_verdict_on_a_model_is_that_of_the_library() {
    let (mut valid, mut rejected) = (0, 0);
    for path in roots() {
        let rule = match zten::open(&path) {
            Ok(archive) => check(&archive, &mut ()).fault().and_then(|fault| fault.error().rule()),
            Err(error) => error.rule(),
        };
        let said = match with_siblings(&path, &|_| false) {
            (Session::Open(file), _) => everything(file),
            (_, said) => said,
        };
        assert_eq!(said["verdict"] == "valid", rule.is_none(), "{}: {said}", path.display());
        assert_eq!(said["rule"].as_str(), rule, "{}", path.display());
        if rule.is_none() { valid += 1 } else { rejected += 1 }
    }
    assert!(valid > 30 && rejected > 30, "{valid} {rejected}");
}

/// The rules that say that a sibling file is missing.
const MISSING: [&str; 3] = ["index-file", "gguf-split-file", "unsupported-shard"];

#[test]
fn a_missing_sibling_is_named() {
    let mut missing = 0;
    for path in roots() {
        let Ok(archive) = zten::open(&path) else { continue };
        // If the file breaks another rule, this rule may be reported before the missing sibling file is.
        if !check(&archive, &mut ()).verdict().is_valid() {
            continue;
        }
        for shard in archive.manifest().shards() {
            let said = match with_siblings(&path, &|name| name == shard.name()) {
                (Session::Open(file), _) => everything(file),
                (_, said) => said,
            };
            let rule = said["rule"].as_str().unwrap();
            assert!(MISSING.contains(&rule), "{}: {said}", path.display());
            if rule != "unsupported-shard" {
                assert_eq!(said["shard"], shard.name(), "{}", path.display());
            }
            missing += 1;
        }
    }
    assert!(missing > 30, "{missing}");
}

/// Returns the answer about the first element of a tensor with `rank` dimensions.
fn first(file: &File, ordinal: u32, rank: usize) -> Value {
    values::select(
        &[0_u64, 1].repeat(rank).iter().flat_map(|index| index.to_le_bytes()).collect::<Vec<_>>(),
    );
    answer(|out| values::object(file, ordinal, out).unwrap())
}

#[test]
fn tensors_of_sibling_files_are_listed_and_shown() {
    for (file, shard) in
        [("other/index/accept/two.index.json", "a.safetensors"), ("v2/shards/dense.zt", "s")]
    {
        let path = files(Path::new(file).parent().unwrap().to_str().unwrap());
        let path = path.into_iter().find(|path| path.ends_with(file)).unwrap();
        let (Session::Open(file), _) = with_siblings(&path, &|_| false) else { panic!("valid") };
        let listed = answer(|out| describe::list(file, 0, u32::MAX, out).unwrap());
        let objects = listed.as_array().unwrap();
        let own = |object: &&Value| object[0]["components"][0]["shard"] == shard;
        let object = &objects.iter().find(own).unwrap()[0];
        let rank = object["shape"].as_array().unwrap().len();
        let said = first(file, u32::try_from(object["ordinal"].as_u64().unwrap()).unwrap(), rank);
        assert_eq!(said["values"].as_array().unwrap().len(), 1, "{said}");
    }
}
