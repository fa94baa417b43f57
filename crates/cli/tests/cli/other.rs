//! Tests of the command on files of other formats than zTensor: their verdicts, listings and messages.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use zten::formats::rules;
use zten::rules::Class;
use zten_testkit::other_formats;

use crate::{corpus_folder, ended, json_lines, succeeded_text, zten};

fn checked(options: &[&str], files: &[PathBuf]) -> Vec<Value> {
    let options = ["check", "--json"].iter().chain(options).map(PathBuf::from);
    json_lines(&zten(options.chain(files.iter().cloned())).stdout)
}

#[test]
fn processes_and_the_sandbox_make_no_difference() {
    let all = [other_formats("accept"), other_formats("reject")].concat();
    let here = checked(&["--no-sandbox"], &all);
    assert_eq!(here.len(), all.len());
    for (path, found) in all.iter().zip(&here) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let verdict = found["verdict"].as_str().unwrap();
        match name.split_once("--") {
            // The rule in this name is broken by another file of the same model, so no verdict on this file is expected.
            _ if name.contains("-00002-of-") => {}
            // The names of these files begin with a rule that their content breaks, and end in the suffix of another
            // format. `check` compares the suffix with the content, and reports the contradiction.
            Some(_) if found["rule"] == "format-name" => assert_eq!(verdict, "invalid"),
            Some((rule, _)) => {
                assert_eq!(found["rule"], rule, "{found}");
                let is_invalid = ["format-empty", "format-joblib", "format-name"].contains(&rule);
                let is_unsupported = rule.starts_with("format-") && !is_invalid;
                assert!(!is_unsupported || verdict == "unsupported", "{found}");
                assert_ne!(verdict, "valid");
            }
            // These files of an index break a rule themselves, although their names do not begin with a rule.
            None if ["twice.safetensors", "damaged.bin", "system.bin"].contains(&name) => {
                assert_eq!(verdict, "invalid");
            }
            None if name.starts_with("pointer.") => assert_eq!(verdict, "unsupported"),
            None => assert_eq!(verdict, "valid", "{found}"),
        }
    }
    if cfg!(target_os = "linux") {
        assert_eq!(checked(&[], &all), here);
        assert_eq!(checked(&["--jobs=2"], &all), here);
        let few: Vec<_> =
            all.chunks(8).flat_map(|few| checked(&["--require-sandbox"], few)).collect();
        assert_eq!(few, here);
    }
}

#[test]
fn all_commands_reject_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.zt");
    for (format, least) in [("safetensors", 20), ("torch", 80)] {
        let mut tried = 0;
        let files = corpus_folder().join("other").join(format).join("reject");
        for entry in fs::read_dir(files).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let Some((id, _)) = name.split_once("--") else { continue };
            let class = rules::rows().find(|row| row.id() == id).map(zten::rules::Row::class);
            let wanted = if class == Some(Class::Unsupported) { 3 } else { 1 };
            // The commands that accept this file. They do not read the bytes that break the rule, or do not check the rule.
            let unread: &[&str] = match name {
                "zip-crc--storage.pt"
                | "zip-crc--strided.pt"
                | "zip-crc--zero.pt"
                | "tensor-bool-value--2.pt" => &["ls"],
                "zip-crc--part.pt" => &["ls", "cat"],
                // The file's tensor repeats a storage so often that `convert` refuses to write it, and so does not read it.
                "tensor-bool-value--repeated.pt" => &["ls", "cat", "convert"],
                // Only `check` rejects a file for a program in it or for a tensor that is not read. The other tensors can
                // be read.
                _ if ["torch-script", "torch-value", "torch-dtype"].contains(&id) => {
                    &["ls", "stat", "hash", "diff", "cat", "convert"]
                }
                // `cat` prints a component of a sparse tensor only with `--component`, which this test does not pass.
                "csr-indptr-order--sparse.pt"
                | "index-range--sparse-coo.pt"
                | "index-range--sparse-csr.pt" => &["ls", "cat"],
                _ if id == "tensor-bool-value" => &["ls", "cat"],
                // Only `check` compares the tensors of a quantized group with each other. Other commands show or copy the tensors.
                _ if id.starts_with("quant-") => &["ls", "stat", "hash", "diff", "cat", "convert"],
                _ => &[],
            };
            for (command, options) in [
                ("check", &[][..]),
                ("ls", &[]),
                ("stat", &[]),
                ("hash", &[]),
                ("diff", &[path.to_str().unwrap()]),
                ("cat", &["--index=0"]),
                ("convert", &[out.to_str().unwrap()]),
            ] {
                if unread.contains(&command) {
                    continue;
                }
                let output = zten([&[command, path.to_str().unwrap()], options].concat());
                let (status, text, why) = ended(&output);
                // `check` prints the finding as its verdict on standard output. For other commands the finding is an error.
                let (why, other_stream) =
                    if command == "check" { (text, why) } else { (why, text) };
                assert_eq!((status, other_stream), (Some(wanted), ""), "{command} {name}: {why}");
                assert!(why.contains(&format!("(rule {id}, ")), "{command} {name}: {why}");
            }
            tried += 1;
        }
        assert!(tried > least, "{format}: {tried}");
    }
    assert!(!out.exists());
}

#[test]
fn headers_alone() {
    let found = checked(&["--manifest-only"], &other_formats("accept"));
    assert!(found.iter().all(|file| file["verdict"] == "manifest-valid"), "{found:#?}");
    let damaged = other_formats("reject");
    // Opening a file reads headers of arrays, pickles and notes.
    let opened = ["dtype.npz", "pickle.pt", "byteorder.pt", "version.pt", "zeros.pt"]
        .map(|name| format!("zip-crc--{name}"));
    let is_damaged =
        |name: &str| name.starts_with("zip-crc") && !opened.iter().any(|own| own == name);
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let damaged: Vec<_> = damaged.into_iter().filter(|path| is_damaged(&name(path))).collect();
    let found = checked(&["--manifest-only"], &damaged);
    assert!(damaged.len() > 1 && found.iter().all(|file| file["verdict"] == "manifest-valid"));
}

#[test]
fn a_folder_of_models() {
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in [
        ("accept/1.2.3/dense_all.zt", "a.zt"),
        ("other/safetensors/accept/two.safetensors", "b.safetensors"),
        ("other/named/reject/format-pickle--protocol-4.bin", "c.bin"),
        ("other/named/reject/format-unknown--text.bin", "d.bin"),
        ("other/gguf/accept/tiny.gguf", "sub/e.gguf"),
    ] {
        let to = folder.path().join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(corpus_folder().join(from), to).unwrap();
    }
    let found = checked(&["-r"], &[folder.path().to_owned()]);
    let verdicts: BTreeMap<_, _> = found
        .iter()
        .map(|file| (file["format"].as_str().unwrap(), file["verdict"].as_str().unwrap()))
        .collect();
    let wanted = [
        ("gguf", "valid"),
        ("pickle", "unsupported"),
        ("safetensors", "valid"),
        ("text", "other"),
        ("ztensor", "valid"),
    ];
    assert_eq!(verdicts, BTreeMap::from(wanted));
    assert_eq!(found.len(), 5);
}

#[test]
fn a_line_says_what_it_is() {
    let file = corpus_folder().join("other/safetensors/accept/types.safetensors");
    let text = succeeded_text(zten(["check".as_ref(), file.as_os_str()]));
    assert!(text.ends_with(": valid safetensors file: 18 tensors, 118 B\n"), "{text}");
    let pickle = corpus_folder().join("other/named/reject/format-pickle--protocol-2.pkl");
    let output = zten(["check".as_ref(), pickle.as_os_str()]);
    let (status, complaint, errors) = ended(&output);
    assert_eq!((status, errors), (Some(3), ""));
    assert!(
        complaint.contains("this is a pickle") && complaint.contains("Do not load the file"),
        "{complaint}"
    );
    let canonical = zten(["check".as_ref(), "--canonical".as_ref(), file.as_os_str()]);
    assert_eq!(canonical.status.code(), Some(1));
}

#[test]
fn tensors_are_listed() {
    let folder = corpus_folder().join("other");
    let list = |file: &str, json: &[&str]| {
        let path = folder.join(file);
        let arguments = [&["ls"], json, &[path.to_str().unwrap()]].concat();
        succeeded_text(zten(arguments))
    };
    let text = list("gguf/accept/tiny.gguf", &[]);
    for part in ["Q4_0", "general.alignment = 64", "4 tensors, 4 components, 278 B,"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let document = list("index/accept/two.index.json", &["--json"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(
        (&document["format"], &document["generation"]),
        (&"safetensors-index".into(), &Value::Null)
    );
    let component = &document["objects"][1]["components"][0];
    assert_eq!((&component["shard"], &component["dtype"]), (&"b.safetensors".into(), &"u8".into()));
    let document = list("npz/accept/compressed.npz", &["--json"]);
    assert!(
        document.contains(r#""encoding":"deflate""#) && document.contains(r#""byte_order":"big""#),
        "{document}"
    );
}

#[test]
fn rules_are_explained() {
    let text = succeeded_text(zten(["explain"]));
    let (own, other) = text.split_once("\nOf other formats:\n").unwrap();
    assert!(
        own.contains("header-magic") && other.contains("\nzip-crc ") && !own.contains("zip-crc")
    );
    let text = succeeded_text(zten(["explain", "zip-crc"]));
    assert!(text.contains("formats") && text.contains(".npz"), "{text}");
}
