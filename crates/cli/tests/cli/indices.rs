//! Tests that `zten convert` reads exactly those safetensors files that an index (`*.index.json`) names.

use std::fs;
use std::path::{Path, PathBuf};

use zten_testkit::safetensors;

use super::{ended, failed, succeeded_json, succeeded_text, zten};

/// Returns a safetensors file with one tensor of bytes.
fn file(name: &str, data: &[u8]) -> Vec<u8> {
    let length = data.len() as u64;
    safetensors::file([(name, "U8", [length], length)], data)
}

fn index(folder: &Path, entries: &[(&str, &str)]) -> PathBuf {
    let entries: Vec<_> =
        entries.iter().map(|(tensor, file)| format!("{tensor:?}:{file:?}")).collect();
    let path = folder.join("model.safetensors.index.json");
    fs::write(&path, format!("{{\"weight_map\":{{{}}}}}", entries.join(","))).unwrap();
    path
}

const TWO: [(&str, &str); 2] = [("a", "m-1-of-2.safetensors"), ("b", "m-2-of-2.safetensors")];

fn two(folder: &Path) -> PathBuf {
    for ((tensor, name), byte) in TWO.iter().zip([1, 2]) {
        fs::write(folder.join(name), file(tensor, &[byte; 3])).unwrap();
    }
    index(folder, &TWO)
}

fn rejected(index: &Path, wanted: &str) {
    let out = index.with_file_name("out.zt");
    for options in [&[][..], &["--no-sandbox"]] {
        let args = ["convert", index.to_str().unwrap(), out.to_str().unwrap()];
        let why = failed(zten([&args, options].concat()), 1);
        assert!(why.contains(wanted), "{why}");
        assert!(!out.exists());
    }
}

#[test]
fn several_files_become_one() {
    let folder = tempfile::tempdir().unwrap();
    let from = two(folder.path());
    // A file that the index does not name is not read.
    fs::write(folder.path().join("other.safetensors"), "nothing of the kind").unwrap();
    for suffix in ["zt", "safetensors", "npz"] {
        for options in [&[][..], &["--no-sandbox"]] {
            let out = folder.path().join(format!("out.{suffix}"));
            let args = ["convert", "--force", from.to_str().unwrap(), out.to_str().unwrap()];
            let text = succeeded_text(zten([&args, options].concat()));
            assert!(text.contains(", 2 tensors, "), "{text}");
            let again = folder.path().join("again.zt");
            let again = again.to_str().unwrap();
            succeeded_text(zten(["convert", "--force", out.to_str().unwrap(), again]));
            let hash = succeeded_json(zten(["hash", "--json", again]));
            let names: Vec<_> = hash["objects"].as_array().unwrap().iter().collect();
            assert_eq!((names[0]["name"].as_str(), names.len()), (Some("a"), 2));
            assert_eq!(succeeded_text(zten(["cat", again, "b"])), "[2, 2, 2]\n");
            fs::remove_file(out).unwrap();
        }
    }
    // The command also works from within the folder.
    let args = ["convert", "model.safetensors.index.json", "here.zt"];
    let output = super::command().args(args).current_dir(folder.path()).output().unwrap();
    let (status, text, why) = ended(&output);
    assert_eq!((status, why), (Some(0), ""));
    assert!(text.starts_with("here.zt: written (1.2, 2 tensors, "), "{text}");
}

#[test]
fn missing_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let from = two(folder.path());
    let second = folder.path().join(TWO[1].1);
    let missing =
        "\"m-2-of-2.safetensors\" is not in the folder of the index (rule index-file, implied)";
    fs::remove_file(&second).unwrap();
    rejected(&from, missing);
    fs::create_dir(&second).unwrap();
    rejected(&from, missing);
    #[cfg(unix)]
    {
        fs::remove_dir(&second).unwrap();
        let other_folder = tempfile::tempdir().unwrap();
        let target = other_folder.path().join("b");
        fs::write(&target, file("b", &[2; 3])).unwrap();
        std::os::unix::fs::symlink(&target, &second).unwrap();
        rejected(&from, "\"m-2-of-2.safetensors\" is a link to ");
        fs::remove_file(&second).unwrap();
        fs::rename(&target, &second).unwrap();
        let out = folder.path().join("out.zt");
        succeeded_text(zten(["convert", from.to_str().unwrap(), out.to_str().unwrap()]));
    }
}

/// Writes two files and their index, and returns the path of the index. Both files contain the tensor `b`, which the index finds in
/// the first one. In the second file the last byte of `b` is `copy`, and the index does not name its tensor `extra`.
fn two_with_copy(folder: &Path, copy: u8) -> PathBuf {
    let tensors = |names: &[&'static str]| names.iter().map(|name| (*name, "U8", [2], 2)).collect();
    let (first, second): (Vec<_>, Vec<_>) = (tensors(&["a", "b"]), tensors(&["b", "c", "extra"]));
    fs::write(folder.join(TWO[0].1), safetensors::file(first, &[1, 1, 2, 2])).unwrap();
    fs::write(folder.join(TWO[1].1), safetensors::file(second, &[2, copy, 3, 3, 4, 4])).unwrap();
    index(folder, &[("a", TWO[0].1), ("b", TWO[0].1), ("c", TWO[1].1)])
}

#[test]
fn the_index_decides_and_check_compares_the_other_copies() {
    let folder = tempfile::tempdir().unwrap();
    let copy = "note: \"b\" is in this file and in \"m-1-of-2.safetensors\", where the index says that it is (rule index-copy, policy) in the shard \"m-2-of-2.safetensors\"\n";
    let unnamed = "note: \"extra\" is in this file, but the index does not name it (rule index-unnamed, policy) in the shard \"m-2-of-2.safetensors\"\n";
    for options in [&[][..], &["--no-sandbox"]] {
        let run = |command: &str, from: &Path| {
            zten([&[command, from.to_str().unwrap()], options].concat())
        };
        let from = two_with_copy(folder.path(), 2);
        let text = succeeded_text(run("check", &from));
        assert!(text.contains(copy) && text.contains(unnamed), "{text}");
        let from = two_with_copy(folder.path(), 9);
        let output = run("check", &from);
        let (status, text, why) = ended(&output);
        let wanted = "\"b\" has other bytes in this file than in \"m-1-of-2.safetensors\", where the index says that it is (rule index-overlay, implied) in the shard \"m-2-of-2.safetensors\" at byte ";
        assert!(status == Some(1) && format!("{text}{why}").contains(wanted), "{text}{why}");
        // The files themselves are valid, but the index compares the copies.
        let output = zten([&["check", "-r", folder.path().to_str().unwrap()], options].concat());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        // Other commands read the tensors that the index selects.
        let cat = zten([&["cat", from.to_str().unwrap(), "b"], options].concat());
        assert_eq!(succeeded_text(cat), "[2, 2]\n");
        let out = folder.path().join("out.zt");
        let args = ["convert", "--force", from.to_str().unwrap(), out.to_str().unwrap()];
        let text = succeeded_text(zten([&args, options].concat()));
        assert!(text.contains(", 3 tensors, "), "{text}");
        fs::remove_file(out).unwrap();
    }
}

#[test]
fn no_name_leads_out_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(folder.path().join("x.safetensors"), file("a", &[1])).unwrap();
    let whole = folder.path().join("x.safetensors");
    for name in ["../x.safetensors", whole.to_str().unwrap(), "./x.safetensors"] {
        rejected(
            &index(&inner, &[("a", name)]),
            "invalid file name: expected a name without a folder",
        );
    }
}

#[test]
fn too_many_files_beside_it_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let from = two(folder.path());
    let out = folder.path().join("out.zt");
    let args = ["convert", "--limit=shards=1", from.to_str().unwrap(), out.to_str().unwrap()];
    let why = failed(zten(args), 1);
    assert!(why.contains("limit-shards"), "{why}");
}
