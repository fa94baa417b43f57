//! Tests that all commands read safetensors files.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zten_corpus::other::safetensors::file;

use crate::{
    corpus_folder, ended, failed, json_lines, other_format, run, succeeded, succeeded_json,
    succeeded_text,
};

/// Writes a file whose header lists its tensors in another order than that of their data.
fn unordered(folder: &Path) -> PathBuf {
    let header = r#"{"__metadata__":{"b":"2","a":"1"},
        "w":{"dtype":"F32","shape":[2,2],"data_offsets":[3,19]},
        "flags":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}}"#;
    let floats = [1.5_f32, -2.0, 0.25, f32::INFINITY].map(f32::to_le_bytes).concat();
    let path = folder.join("unordered.safetensors");
    fs::write(&path, file(header, &[&[1, 0, 1], &floats[..]].concat())).unwrap();
    path
}

#[test]
fn elements_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = unordered(folder.path());
    let printed = |options: &[&str]| succeeded_text(run("cat", &path, options));
    for sandbox in ["--no-sandbox", "--color=auto"] {
        assert_eq!(printed(&["w", sandbox]), "[[1.5, -2.0],\n [0.25, inf]]\n");
    }
    assert_eq!(printed(&["flags"]), "[true, false, true]\n");
    assert_eq!(printed(&["--index=1"]), printed(&["flags", "--component=data"]));
    assert_eq!(printed(&["w", "--slice=1,:1"]), "[0.25]\n");
    assert_eq!(printed(&["flags", "--slice=::2"]), "[true, true]\n");
    let document = succeeded_json(run("cat", &path, &["w", "--json"]));
    assert_eq!(document["elements"], json!([[1.5, -2.0], [0.25, { "$float": "Infinity" }]]));
    assert_eq!(succeeded(run("cat", &path, &["flags", "--raw"])), [1, 0, 1]);
    assert!(succeeded(run("cat", &path, &["w", "--npy"])).starts_with(b"\x93NUMPY"));
    let why = failed(run("cat", &path, &["flag"]), 2);
    assert!(why.contains("no tensor named \"flag\"; did you mean \"flags\"?"), "{why}");
    // The file has tensors of all dtypes, also of one whose elements share bytes. Each tensor is printed.
    let types = other_format("types.safetensors");
    let listed = succeeded_json(run("ls", &types, &["--json"]));
    for object in listed["objects"].as_array().unwrap() {
        succeeded(run("cat", &types, &[object["name"].as_str().unwrap()]));
    }
}

#[test]
fn files_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = unordered(folder.path());
    let original = fs::read(&path).unwrap();
    let at = |part: &str| {
        original.windows(part.len()).position(|bytes| bytes == part.as_bytes()).unwrap()
    };
    let other = folder.path().join("other.safetensors");
    for (place, byte, wanted) in [
        (original.len() - 1, b'?', "~ \"w\": 1 of "),
        (at("\"2\"") + 1, b'3', "~ attribute "),
        (at("F32"), b'I', "~ \"w\": dtype f32 -> i32\n"),
        (at("flags"), b'F', "> \"flags\" -> \"Flags\"\n"),
    ] {
        let mut bytes = original.clone();
        bytes[place] = byte;
        fs::write(&other, bytes).unwrap();
        let output = run("diff", &path, &[other.to_str().unwrap()]);
        let (status, out, complaint) = ended(&output);
        assert_eq!((status, out.starts_with(wanted), complaint), (Some(1), true, ""), "{out}");
        assert_eq!(out.lines().count(), 2, "{out}");
    }
}

#[test]
fn objects_are_listed_as_the_header_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = unordered(folder.path());
    let start = fs::metadata(&path).unwrap().len() - 19;
    let document = succeeded_json(run("ls", &path, &["--json"]));
    assert_eq!(document["format"], "safetensors");
    assert_eq!((&document["generation"], &document["version"]), (&Value::Null, &Value::Null));
    assert_eq!(document["attributes"], json!({ "a": "1", "b": "2" }));
    let object = |name: &str, ordinal: u32, shape: Value, dtype: &str, at: u64, length: u64| {
        json!({
            "name": name, "ordinal": ordinal, "layout": "dense", "layout_known": true,
            "state": "readable", "reason": null, "shape": shape,
            "bits": null, "group_size": null, "attributes": null,
            "components": [{
                "role": "data", "dtype": dtype, "storage": dtype, "dtype_known": true, "offset": start + at,
                "length": length, "decoded_length": length, "encoding": "raw", "encoding_known": true,
                "byte_order": "little", "digest": null, "shard": null,
            }],
        })
    };
    let objects = json!([
        object("w", 0, json!([2, 2]), "f32", 3, 16),
        object("flags", 1, json!([3]), "bool", 0, 3)
    ]);
    assert_eq!(document["objects"], objects);
    let text = succeeded_text(run("ls", &path, &[]));
    assert!(text.contains("2 tensors, 2 components, 19 B, safetensors\n"), "{text}");
}

#[test]
fn bools_are_validated_by_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.safetensors");
    let header = r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"flags":{"dtype":"BOOL","shape":[3],"data_offsets":[1,4]}}"#;
    let bytes = file(header, &[7, 0, 1, 2]);
    fs::write(&path, &bytes).unwrap();
    let offset = bytes.len() - 1;
    let found = &json_lines(&run("check", &path, &["--json"]).stdout)[0];
    let wanted = json!({
        "schema": 2, "file": path, "verdict": "invalid", "level": "error", "format": "safetensors",
        "rule": "tensor-bool-value", "clause": "policy", "offset": offset, "object": "flags",
        "component": "data", "shard": null, "more": 0, "message": found["message"],
        "advice": zten::formats::rules::Rule::TensorBoolValue.row().advice(),
        "page": zten_report::page::page_of("tensor-bool-value"), "notes": [],
    });
    assert_eq!(*found, wanted);
    let out = folder.path().join("out.zt");
    let (path_again, out) = (path.to_str().unwrap(), out.to_str().unwrap());
    for (command, options) in [
        ("check", &[][..]),
        ("hash", &[]),
        ("diff", &[path_again]),
        ("cat", &["flags"]),
        ("cat", &["flags", "--slice=2:"]),
        ("convert", &[out]),
        ("convert", &[out, "--canonical"]),
    ] {
        let why = failed(run(command, &path, options), 1);
        let wanted = format!(
            "a bool is 2: expected 0 or 1 (rule tensor-bool-value, policy) in \"flags\"/data at byte {offset:#x}\n"
        );
        assert!(why.contains(&wanted), "{command}: {why}");
    }
    assert!(!Path::new(out).exists());
    // The bool is the only fault: another tensor is printed, and the headers are valid.
    assert_eq!(succeeded_text(run("cat", &path, &["a"])), "[7]\n");
    assert!(succeeded_text(run("check", &path, &["--manifest-only"])).contains("valid headers"));
}

/// Checks that all commands read an `*.index.json` file as one archive of the tensors in the files that it names, and reject it if
/// these files are missing.
#[test]
fn an_index_is_read_by_all_commands() {
    let index = corpus_folder().join("other/index/accept/two.index.json");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.zt");
    for sandbox in ["--no-sandbox", "--color=auto"] {
        assert_eq!(succeeded_text(run("cat", &index, &["b", sandbox])), "[1, 2]\n");
        let sums = succeeded_json(run("hash", &index, &["--json", sandbox]));
        succeeded(run("convert", &index, &[out.to_str().unwrap(), "--force", sandbox]));
        let again = succeeded_json(run("hash", &out, &["--json", sandbox]));
        assert_eq!(again["objects"], sums["objects"]);
        assert_eq!(
            succeeded_text(run("diff", &index, &["-q", out.to_str().unwrap(), sandbox])),
            ""
        );
    }
    let document = succeeded_json(run("ls", &index, &["--json"]));
    assert_eq!(document["format"], "safetensors-index");
    assert_eq!(document["shards"][1]["name"], "b.safetensors");
    assert_eq!(document["objects"][1]["components"][0]["shard"], "b.safetensors");
    // If its files are missing, an index cannot be read.
    let alone = folder.path().join("two.index.json");
    fs::copy(&index, &alone).unwrap();
    for (command, options) in [
        ("check", &[][..]),
        ("ls", &[]),
        ("stat", &[]),
        ("hash", &[]),
        ("cat", &["b"]),
        ("diff", &[out.to_str().unwrap()]),
    ] {
        let why = failed(run(command, &alone, options), 1);
        assert!(
            why.contains("is not in the folder of the index") && why.contains("index-file"),
            "{command}: {why}"
        );
    }
}

#[test]
fn no_safetensors_file_is_canonical() {
    let path = other_format("two.safetensors");
    let found = &json_lines(&run("check", &path, &["--json", "--canonical"]).stdout)[0];
    assert_eq!(
        (&found["verdict"], &found["rule"]),
        (&"invalid".into(), &"canonical-generation".into())
    );
    assert_eq!(found["format"], "safetensors");
}
