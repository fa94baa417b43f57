//! Tests that all commands read checkpoints of PyTorch like other files, and never execute code from them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zten_corpus::other::torch::{dict, file, storage, tensor};

use crate::schema::Schema;
use crate::{
    corpus_folder, ended, failed, hash_of, json_lines, run, succeeded, succeeded_json,
    succeeded_text, zten,
};

/// A file with a global that may run code, after a value that is not read.
const EVIL: &str = "reject/torch-global--behind-unread.pt";

fn data(name: &str) -> PathBuf {
    corpus_folder().join("other/torch").join(name)
}

/// Returns a checkpoint with the state of a module. Its embedding is tied to its last layer, and one buffer is in
/// column-major order.
fn module() -> PathBuf {
    data("accept/module.pt")
}

/// Returns a checkpoint with the states of a module and of its optimizer, including values that are not tensors.
fn training() -> PathBuf {
    data("accept/training.pt")
}

#[test]
fn elements_are_those_that_were_saved() {
    let path = module();
    let cat = |options: &[&str]| succeeded_text(run("cat", &path, options));
    let weight = "[[0.5, -1.0],\n [2.0, inf],\n [0.0, 3.25]]\n";
    for sandbox in ["--no-sandbox", "--require-sandbox"] {
        assert_eq!(cat(&["embed.weight", sandbox]), weight);
        assert_eq!(cat(&["head.weight", sandbox]), weight);
        assert_eq!(cat(&["turned", sandbox]), "[[0.0, 3.0],\n [1.0, 4.0],\n [2.0, 5.0]]\n");
    }
    assert_eq!(cat(&["head.weight", "--slice=1:,1"]), "[inf, 3.25]\n");
    assert_eq!(cat(&["turned", "--slice=1"]), "[1.0, 4.0]\n");
    assert_eq!(cat(&["mask"]), "[true, false, true]\n");
    assert_eq!(cat(&["norm.num_batches_tracked"]), "0\n");
    let raw = succeeded(run("cat", &path, &["turned", "--raw"]));
    let rows = [0x0000_u16, 0x4040, 0x3f80, 0x4080, 0x4000, 0x40a0];
    assert_eq!(raw, rows.map(u16::to_le_bytes).concat());
    let document = succeeded_json(run("cat", &training(), &["views.1", "--json"]));
    assert_eq!(document["elements"], json!([3.0, 4.0, 5.0]));
}

#[test]
fn tensors_are_listed_with_what_is_saved_beside_them() {
    let document = succeeded_json(run("ls", &module(), &["--json"]));
    assert_eq!((&document["format"], &document["generation"]), (&"torch".into(), &Value::Null));
    let part = |name: &str| {
        let objects = document["objects"].as_array().unwrap();
        objects.iter().find(|object| object["name"] == name).unwrap()["components"][0].clone()
    };
    let (embed, head) = (part("embed.weight"), part("head.weight"));
    assert_eq!(embed, head);
    assert_eq!((&embed["dtype"], &embed["length"]), (&"f32".into(), &24.into()));
    let path = module();
    let text = succeeded_text(run("ls", &path, &["norm.*"]));
    assert!(text.contains("norm.running_var") && !text.contains("embed"), "{text}");
    let document = succeeded_json(run("ls", &training(), &["--json"]));
    let attributes = &document["attributes"];
    assert_eq!((&attributes["epoch"], &attributes["note"]), (&7.into(), &"x".into()));
    assert_eq!(attributes["optimizer.param_groups.0.betas"], json!([0.9, 0.999]));
    assert_eq!(attributes["optimizer.param_groups.0.fused"], Value::Null);
}

#[test]
fn statistics_see_the_elements_of_each_tensor() {
    let output = run("stat", &module(), &["--json", "--fail-on=nan,inf"]);
    assert_eq!(output.status.code(), Some(1));
    let document = &json_lines(&output.stdout)[0];
    let infinite: Vec<_> = document["objects"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|object| object["statistics"]["infinities"] == 1)
        .map(|object| object["name"].as_str().unwrap())
        .collect();
    assert_eq!(infinite, ["embed.weight", "head.weight"], "{document}");
    succeeded(run("stat", &training(), &["--fail-on=nan,inf"]));
}

/// Checks that a converted checkpoint has the same tensors under the same names, and that its attributes are the same unless they
/// are dropped. A checkpoint that may run code, and attributes that an `.npz` file cannot hold, are rejected.
#[test]
fn contents_are_those_of_the_file_that_it_becomes() {
    let folder = tempfile::tempdir().unwrap();
    let texts = &["--drop-attributes"][..];
    for (from, name, options) in [
        (module(), "out.safetensors", &[][..]),
        (module(), "out.zt", &[]),
        (module(), "out.zt", &["--zstd", "--digest=sha256"]),
        (module(), "out.zt", &["--to=2", "--canonical"]),
        (training(), "out.safetensors", texts),
        (training(), "out.safetensors", &[]),
        (training(), "out.npz", texts),
        (training(), "out.zt", &[]),
        (data("accept/types-2.pt"), "out.zt", &["--to=2"]),
        (data("accept/types-5.pt"), "out.zt", &["--to=2"]),
        (data("accept/views.pt"), "out.safetensors", &[]),
    ] {
        let out = folder.path().join(name);
        let to = [&[out.to_str().unwrap(), "--force"], options].concat();
        succeeded(run("convert", &from, &to));
        succeeded(run("check", &out, &[]));
        assert_eq!(hash_of(&out), hash_of(&from), "{name} {options:?}");
        let attributes = if options == texts { Some(1) } else { Some(0) };
        for (one, other) in [(&from, &out), (&out, &from)] {
            let output = run("diff", one, &[other.to_str().unwrap()]);
            let (status, text, why) = ended(&output);
            assert_eq!((status, why), (attributes, ""), "{text}");
            assert!(text.contains("tensors: 0 changed, 0 added, 0 removed, 0 renamed, "), "{text}");
        }
    }
    let out = folder.path().join("never.safetensors");
    for options in [&[][..], texts] {
        let to = [&[out.to_str().unwrap()], options].concat();
        let complaint = failed(run("convert", &data(EVIL), &to), 1);
        assert!(complaint.contains("torch-global") && !out.exists(), "{complaint}");
    }
    let out = folder.path().join("never.npz");
    let complaint = failed(run("convert", &training(), &[out.to_str().unwrap()]), 2);
    assert!(complaint.contains("--drop-attributes") && !out.exists(), "{complaint}");
}

/// Tensors that share a storage are reported. safetensors stores each of them, or only the first with `--tied=keep-first`, which
/// records the other names as metadata; zTensor 2 stores one blob for all. An `.npz` file cannot record names, so
/// `--tied=keep-first` is rejected for it.
#[test]
fn tied_tensors_are_reported_and_may_be_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name);
    let convert = |name: &str, options: &[&str]| {
        let path = out(name);
        let to = [&[path.to_str().unwrap(), "--force"], options].concat();
        run("convert", &module(), &to)
    };
    let text = succeeded_text(convert("a.safetensors", &[]));
    assert!(text.contains("\n  2 names share one storage: written 2 times\n"), "{text}");
    let text = succeeded_text(convert("a.zt", &["--to=2"]));
    assert!(text.contains("\n  2 names share one storage: written once\n"), "{text}");
    for options in [&["--tied=keep-first"][..], &["--tied=keep-first", "--rename=head.weight=h"]] {
        let text = succeeded_text(convert("b.safetensors", options));
        assert!(!text.contains("share"), "{text}");
        let document = succeeded_json(run("ls", &out("b.safetensors"), &["--json"]));
        let name = if options.len() == 1 { "head.weight" } else { "h" };
        assert_eq!(document["attributes"][name], "embed.weight");
        let objects = document["objects"].as_array().unwrap();
        let has = |name: &str| objects.iter().any(|own| own["name"] == name);
        assert!(has("embed.weight") && !has(name), "{objects:?}");
    }
    let why = failed(convert("b.npz", &["--tied=keep-first"]), 2);
    assert!(why.contains("--tied keep-first is for an OUT that ends in"), "{why}");
    succeeded_text(convert("c.safetensors", &["--tied=copy"]));
}

/// Checks that views of another shape or order between two tied tensors do not hide the tie.
#[test]
fn tied_tensors_are_written_once_with_other_views_between_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.pt");
    let view =
        |shape: &[u8], strides: &[u8]| tensor(storage("FloatStorage", "0", 6), 0, shape, strides);
    let tensors = [
        ("a", view(&[2, 3], &[3, 1])),
        ("b", view(&[3, 2], &[1, 3])),
        ("c", view(&[6], &[1])),
        ("d", view(&[2, 3], &[3, 1])),
    ];
    fs::write(&path, file(&dict(&tensors), &[&[0; 24]])).unwrap();
    let out = folder.path().join("model.safetensors");
    let options = [out.to_str().unwrap(), "--tied=keep-first"];
    let text = succeeded_text(run("convert", &path, &options));
    assert!(text.contains("\n  3 names share one storage: written 3 times\n"), "{text}");
    let document = succeeded_json(run("ls", &out, &["--json"]));
    assert_eq!(document["attributes"], json!({ "d": "a" }));
    let objects = document["objects"].as_array().unwrap();
    let names: Vec<_> = objects.iter().map(|own| own["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

/// Tensors that repeat the elements of a small storage could expand to many times its bytes, so the command writes them only if the
/// user asks for it. Up to four times the bytes are written without an option, because most models with tied tensors need twice the
/// bytes.
#[test]
fn a_conversion_to_more_than_four_times_the_storage_names_the_option() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.safetensors");
    let convert = |name: &str, options: &[&str]| {
        run("convert", &data(name), &[&[out.to_str().unwrap()], options].concat())
    };
    for sandbox in ["--no-sandbox", "--require-sandbox"] {
        let why = failed(convert("accept/repeated-bools.pt", &[sandbox]), 2);
        assert!(why.contains("share or repeat 4 B of storage"), "{why}");
        assert!(why.contains("--tied copy writes all of it") && !out.exists(), "{why}");
    }
    succeeded_text(convert("accept/repeated-bools.pt", &["--tied=copy"]));
    fs::remove_file(&out).unwrap();
    succeeded_text(convert("accept/tied.pt", &[]));
}

#[test]
fn checkpoints_of_a_folder_are_found_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["a.pt", "b.pth", "c.ckpt", "d/pytorch_model.bin", "e.txt", "evil.pt", "old.pt"];
    for name in names {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let from = match name {
            "evil.pt" => data(EVIL),
            "old.pt" => data("accept/stream-vector.pth"),
            _ => module(),
        };
        fs::copy(from, path).unwrap();
    }
    let output = run("check", folder.path(), &["-r", "--json"]);
    let mut found: Vec<_> = json_lines(&output.stdout)
        .iter()
        .map(|line| {
            assert_eq!(line["format"], "torch");
            let path = Path::new(line["file"].as_str().unwrap());
            let name = path.strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned();
            (name, line["verdict"].as_str().unwrap().to_owned())
        })
        .collect();
    let wanted = [
        ("a.pt", "valid"),
        ("b.pth", "valid"),
        ("c.ckpt", "valid"),
        ("evil.pt", "invalid"),
        ("old.pt", "valid"),
        ("d/pytorch_model.bin", "valid"),
        ("e.txt", "valid"),
    ];
    let mut wanted = wanted.map(|(name, verdict)| (name.to_owned(), verdict.to_owned()));
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    // A checkpoint whose pickle imports a global that is not allowed is invalid, so `--allow-unsupported` does not admit it.
    let output = run("check", folder.path(), &["-r", "--allow-unsupported"]);
    let (status, why, _) = ended(&output);
    assert_eq!(status, Some(1), "{why}");
    assert!(why.contains("Do not load the file"), "{why}");
}

#[test]
fn policies_know_their_format() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &str, file: &Path| {
        let path = folder.path().join("policy.toml");
        fs::write(&path, text).unwrap();
        let output = run("check", file, &["--json", "--policy", path.to_str().unwrap()]);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        json_lines(&output.stdout)[0]["rule"].as_str().map(str::to_owned)
    };
    for (text, rule) in [
        ("allow-formats = ['torch']", None),
        ("forbid-formats = ['pickle']", None),
        ("allow-dtypes = ['f32', 'bf16', 'bool', 'i64']", None),
        ("max-decoded-size = 103", None),
        ("forbid-compression = true", None),
        ("forbid-formats = ['torch']", Some("policy-format")),
        ("allow-formats = ['safetensors']", Some("policy-format")),
        ("allow-dtypes = ['f32']", Some("policy-dtype")),
        ("max-decoded-size = 102", Some("policy-size")),
        ("require-digests = ['sha256']", Some("policy-digest")),
    ] {
        assert_eq!(check(text, &module()).as_deref(), rule, "{text}");
    }
    let packed = data("accept/deflated.pt");
    assert_eq!(check("forbid-compression = true", &packed).as_deref(), Some("policy-compression"));
    // The rule of the format takes precedence over the policy.
    assert_eq!(check("max-tensors = 9", &data(EVIL)).as_deref(), Some("torch-global"));
    let path = folder.path().join("policy.toml");
    fs::write(&path, "tolerate = ['torch-global']").unwrap();
    let why = failed(run("check", &data(EVIL), &["--policy", path.to_str().unwrap()]), 2);
    assert!(why.contains("torch-global cannot be tolerated"), "{why}");
}

/// A policy tolerates the classes that it names, also in a checkpoint in which values of these classes are left out, and no other
/// classes.
#[test]
fn a_policy_allows_classes_whose_values_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.toml");
    for (name, verdict) in [("os.system", "tolerated"), ("os.popen", "invalid")] {
        fs::write(&path, format!("allow-globals = ['{name}']")).unwrap();
        let options = ["--json", "--policy", path.to_str().unwrap()];
        let output = run("check", &data("reject/torch-global--stacked.pt"), &options);
        let document = &json_lines(&output.stdout)[0];
        assert_eq!(document["verdict"], verdict, "{document}");
        assert!(document["notes"].to_string().contains("torch-left-out"), "{document}");
    }
}

#[test]
fn findings_are_reported_as_json_and_sarif() {
    let files = [data(EVIL), data("reject/torch-opcode--inst.pt"), module()];
    let files = files.each_ref().map(|path| path.to_str().unwrap());
    let printed = |form: &str| {
        let output = zten([&["check", form], &files[..]].concat());
        assert_eq!((output.status.code(), &*output.stderr), (Some(1), &b""[..]));
        json_lines(&output.stdout)
    };
    let lines = printed("--json");
    let wanted = [("torch-global", "error"), ("torch-opcode", "error")];
    let [sarif] = printed("--sarif").try_into().unwrap();
    assert!(Schema::at("tests/data/sarif-2.1.0.schema.json").allows_whole(&sarif));
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), wanted.len());
    for (((rule, level), line), result) in wanted.iter().zip(&lines).zip(results) {
        assert_eq!((&line["rule"], &line["level"]), (&json!(rule), &json!(level)));
        assert_eq!((&result["ruleId"], &result["level"]), (&json!(rule), &json!(level)));
        assert_eq!(result["message"]["text"], line["message"]);
        let region = &result["locations"][0]["physicalLocation"]["region"];
        assert_eq!(region["byteOffset"], line["offset"]);
        assert!(line["offset"].is_u64(), "{line}");
        assert!(line["advice"].as_str().unwrap().contains("Do not load the file"), "{line}");
    }
    assert_eq!((&lines[2]["verdict"], &lines[2]["format"]), (&"valid".into(), &"torch".into()));
}
