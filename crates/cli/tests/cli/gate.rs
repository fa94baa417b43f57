//! Tests of `check -r` as a gate for downloads: every file of a downloaded folder gets an answer, including the files that
//! hold no tensors.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use zten_corpus::other::safetensors;

use crate::walk::each_way;
use crate::{both_streams, corpus_folder, ended, json_lines, zten};

const SAFETENSORS: &str = "other/safetensors/accept/two.safetensors";
const PICKLE: &str = "other/named/reject/format-pickle--protocol-4.bin";
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:\
    4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8\nsize 12345\n";

/// Writes `files` below `root`: names with their content. Content that begins with a colon is the path of a corpus file to
/// copy.
fn write(root: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match content.strip_prefix(':') {
            Some(from) => drop(fs::copy(corpus_folder().join(from), path).unwrap()),
            None => fs::write(path, content).unwrap(),
        }
    }
}

/// Returns the verdict, the format, the rule and the rules of the notes of each JSON line, by the file's path below `root`.
fn documents(output: &Output, root: &Path) -> BTreeMap<String, Value> {
    let lines = json_lines(&output.stdout).into_iter().filter(|line| line["summary"].is_null());
    lines
        .map(|line| {
            let path = Path::new(line["file"].as_str().unwrap());
            let path = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            let notes = line["notes"].as_array().unwrap().iter().map(|note| note["rule"].clone());
            let notes = notes.collect::<Value>();
            (path, json!([line["verdict"], line["format"], line["rule"], notes]))
        })
        .collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a table of files and their verdicts")]
fn every_file_of_a_cloned_model_repository_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let safetensors = format!(":{SAFETENSORS}");
    let pickle = format!(":{PICKLE}");
    write(
        root,
        &[
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/objects/00/11", "\u{1}\u{2}\u{3}"),
            (".gitattributes", "*.safetensors filter=lfs diff=lfs merge=lfs -text\n"),
            ("README.md", "# A model\n"),
            ("config.json", "{\"hidden_size\": 8}\n"),
            ("tokenizer.json", "{\"version\": \"1.0\"}\n"),
            ("merges.txt", "#version: 0.2\na b\n"),
            ("modeling.py", "import os\n"),
            ("code/setup.py", "import os\n"),
            ("code/__init__.py", ""),
            ("model.safetensors", &safetensors),
            ("tf/model-2.safetensors", POINTER),
            ("weights", &pickle),
            ("x.PT", &pickle),
        ],
    );
    // Files without weights: those that macOS and Windows add to folders, an image, a program, and bytes of an unknown
    // format.
    let apple_double = b"\0\x05\x16\x07\0\x02\0\0Mac OS X        \0\x02\0\0\0\x09";
    fs::write(root.join(".DS_Store"), b"\0\0\0\x01Bud1\0\0\x10\0").unwrap();
    fs::write(root.join("._model.safetensors"), apple_double).unwrap();
    fs::write(root.join("Thumbs.db"), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0").unwrap();
    fs::write(root.join("logo.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01").unwrap();
    fs::write(root.join("helper.so"), b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0").unwrap();
    fs::write(root.join("noise.dat"), [0xc1, 0xff, 0x07, 0xfe, 0x00, 0x9d].repeat(99)).unwrap();
    let name = root.to_str().unwrap();
    each_way(&["-r", "--json", "--summary", name], |output| {
        let found = documents(output, root);
        let other = |kind: &str| json!(["other", kind, null, []]);
        let note = |kind: &str| json!(["other", kind, null, ["program-file"]]);
        for (path, wanted) in [
            (".DS_Store", other("os-metadata")),
            ("._model.safetensors", other("os-metadata")),
            (".gitattributes", other("text")),
            ("README.md", other("text")),
            ("Thumbs.db", other("os-metadata")),
            ("code/__init__.py", other("empty")),
            ("code/setup.py", other("python")),
            ("config.json", other("json")),
            ("helper.so", note("elf")),
            ("logo.png", other("image")),
            ("merges.txt", other("text")),
            ("model.safetensors", json!(["valid", "safetensors", null, []])),
            ("modeling.py", note("python")),
            ("tokenizer.json", other("json")),
            ("weights", json!(["unsupported", "pickle", "format-pickle", []])),
            ("x.PT", json!(["unsupported", "pickle", "format-pickle", []])),
        ] {
            assert_eq!(found[path], wanted, "{path}");
        }
        assert_eq!(found["noise.dat"][2], "format-unknown");
        assert_eq!(found["noise.dat"][0], "unsupported");
        assert_eq!(found["tf/model-2.safetensors"][2], "format-lfs-pointer");
        assert_eq!(found.len(), 18, "{found:#?}");
        let summary = &json_lines(&output.stdout).pop().unwrap()["summary"];
        let kinds = json!({
            "text": 3, "json": 2, "image": 1, "python": 2, "elf": 1, "empty": 1, "os-metadata": 3,
        });
        assert_eq!((&summary["kinds"], &summary["notes"]), (&kinds, &json!({"program-file": 2})));
        assert_eq!(summary["skipped"]["version_control"], 1);
        assert_eq!(summary["skipped_folders"], json!([root.join(".git").to_str().unwrap()]));
    });
    each_way(&["-r", name], |output| {
        let (_, out, errors) = ended(output);
        let counted = "13 files without tensors: 1 elf, 1 empty, 1 image, 2 json, 3 os-metadata, 2 python, 3 text\n";
        assert!(out.ends_with(counted), "{out}");
        assert!(
            out.contains("modeling.py: Python source, which holds no tensors, 1 note\n  note: "),
            "{out}"
        );
        assert!(
            !out.contains("README") && errors.contains("1 of version control: "),
            "{out}{errors}"
        );
    });
    // SARIF has one result for each note and one artifact for each file.
    each_way(&["-r", "--sarif", name], |output| {
        let document = &json_lines(&output.stdout)[0];
        let results = document["runs"][0]["results"].as_array().unwrap();
        let notes = results.iter().filter(|result| result["level"] == "note");
        assert_eq!(
            (notes.count(), document["runs"][0]["artifacts"].as_array().unwrap().len()),
            (2, 18)
        );
    });
    // Without the files that are unsupported or invalid, the policy alone decides the status.
    for (text, status) in [
        ("deny = ['program-file']\nmax-tensors = 100", 1),
        ("forbid-formats = ['python']", 1),
        ("max-file-size = 8", 1),
        ("max-file-size = '1MiB'", 0),
        ("tolerate = ['format-unknown']", 0),
    ] {
        for name in ["noise.dat", "weights", "x.PT", "tf/model-2.safetensors"] {
            let _ = fs::remove_file(root.join(name));
        }
        let policy = tempfile::NamedTempFile::new().unwrap();
        fs::write(policy.path(), text).unwrap();
        each_way(&["-r", "-q", name, "--policy", policy.path().to_str().unwrap()], |output| {
            assert_eq!(output.status.code(), Some(status), "{text}: {}", both_streams(output));
        });
    }
}

#[test]
fn content_that_nothing_recognizes_is_unsupported_unless_it_is_tolerated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noise");
    fs::write(&path, [0xc1, 0xff, 0x07, 0xfe, 0x00, 0x9d].repeat(99)).unwrap();
    let name = path.to_str().unwrap();
    let policy = tempfile::NamedTempFile::new().unwrap();
    let policy_path = policy.path().to_str().unwrap();
    let status = |text: &str, options: &[&str]| {
        fs::write(policy.path(), text).unwrap();
        zten([&["check", name, "--policy", policy_path], options].concat()).status.code()
    };
    assert_eq!(zten(["check", name]).status.code(), Some(3));
    assert_eq!(zten(["check", "--allow-unsupported", name]).status.code(), Some(0));
    assert_eq!(status("tolerate = ['format-unknown']", &[]), Some(0));
    // `allow-formats` rejects a file whose format is unknown.
    assert_eq!(status("allow-formats = ['npy']", &["--allow-unsupported"]), Some(1));
}

#[test]
fn a_name_that_promises_another_format_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for (name, from, wanted) in [
        ("a.pkl", SAFETENSORS, json!(["invalid", "safetensors", "format-name", []])),
        ("b.safetensors", PICKLE, json!(["invalid", "pickle", "format-name", []])),
        ("c.bin", SAFETENSORS, json!(["valid", "safetensors", null, []])),
        ("d", SAFETENSORS, json!(["valid", "safetensors", null, []])),
    ] {
        write(folder.path(), &[(name, &format!(":{from}"))]);
        for options in [&["-r"][..], &[]] {
            let path =
                if options.is_empty() { folder.path().join(name) } else { folder.path().into() };
            each_way(&[&["--json", path.to_str().unwrap()], options].concat(), |output| {
                assert_eq!(documents(output, folder.path())[name], wanted, "{name}");
            });
        }
        // Commands other than `check` go by the content and ignore the name.
        if from == SAFETENSORS {
            assert!(zten(["ls", folder.path().join(name).to_str().unwrap()]).status.success());
        }
        fs::remove_file(folder.path().join(name)).unwrap();
    }
}

#[test]
fn a_file_named_as_an_argument_must_be_a_tensor_file() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("LICENSE", "All rights reserved.\n")]);
    let name = folder.path().join("LICENSE");
    let name = name.to_str().unwrap();
    each_way(&[name], |output| {
        let (status, out, errors) = ended(output);
        assert_eq!((status, errors), (Some(3), ""));
        assert!(out.contains("this is text, not a tensor file"), "{out}");
    });
    each_way(&["--any-kind", name], |output| {
        let wanted = format!("{name}: text, which holds no tensors\n");
        assert_eq!(ended(output), (Some(0), &*wanted, ""));
    });
}

/// Some model stores name each file by its digest, so only the content of a file says its format. The folder is no store
/// whose digests zten compares.
#[test]
fn files_of_a_blob_store_are_recognized_by_their_content() {
    let folder = tempfile::tempdir().unwrap();
    let blob = |digit: &str| format!("files/sha256-{}", digit.repeat(64));
    let (model, license, parameters, evil) = (blob("1"), blob("2"), blob("3"), blob("4"));
    write(
        folder.path(),
        &[
            ("manifests/registry/library/m/latest", "{\"schemaVersion\":2,\"layers\":[]}"),
            (&model, ":other/gguf/accept/tiny.gguf"),
            (&license, "A license.\n"),
            (&parameters, "{\"stop\":[\"x\"]}"),
            (&evil, &format!(":{PICKLE}")),
        ],
    );
    each_way(&["-r", "--json", folder.path().to_str().unwrap()], |output| {
        let found = documents(output, folder.path());
        let wanted = [
            (evil.as_str(), json!(["unsupported", "pickle", "format-pickle", []])),
            (&license, json!(["other", "text", null, []])),
            ("manifests/registry/library/m/latest", json!(["other", "json", null, []])),
            (&model, json!(["valid", "gguf", null, []])),
            (&parameters, json!(["other", "json", null, []])),
        ];
        assert_eq!(found, wanted.map(|(path, found)| (path.to_owned(), found)).into());
        assert_eq!(output.status.code(), Some(3));
    });
}

#[cfg(unix)]
#[test]
fn a_blob_of_a_hub_is_checked_once_under_all_names() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path().join("models--x--y");
    write(
        &repository,
        &[
            ("blobs/00aa", &format!(":{SAFETENSORS}")),
            ("blobs/00bb", &format!(":{SAFETENSORS}")),
            ("blobs/00cc.incomplete", "\u{1}\u{2}"),
            ("refs/main", "r1"),
        ],
    );
    for (link, target) in [
        ("r1/model.safetensors", "../../blobs/00aa"),
        ("r2/model.safetensors", "../../blobs/00aa"),
        ("r2/deep/again.safetensors", "../../../blobs/00aa"),
        ("r1/other.pkl", "../../blobs/00bb"),
        ("r2/other.safetensors", "../../blobs/00bb"),
    ] {
        let link = repository.join("snapshots").join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
    }
    let path = |name: &str| repository.join("snapshots").join(name).to_str().unwrap().to_owned();
    each_way(&["-r", "--json", folder.path().to_str().unwrap()], |output| {
        let lines = json_lines(&output.stdout);
        let find = |name: &str| lines.iter().find(|line| line["file"] == path(name));
        let first = find("r1/model.safetensors").unwrap();
        let also = json!([path("r2/deep/again.safetensors"), path("r2/model.safetensors")]);
        assert_eq!((&first["verdict"], &first["also"]), (&json!("valid"), &also));
        // The blob 00bb has two names, and the name other.pkl contradicts its content.
        let second = find("r1/other.pkl").unwrap();
        assert_eq!(
            (&second["rule"], &second["also"]),
            (&json!("format-name"), &json!([path("r2/other.safetensors")]))
        );
        // The four lines are of the two models, of refs/main and of 00cc.incomplete, to which no link leads.
        assert_eq!(lines.len(), 4, "{lines:#?}");
        assert!(ended(output).2.is_empty(), "{}", both_streams(output));
    });
    each_way(&["-r", &path("r2")], |output| {
        let (_, out, _) = ended(output);
        let line = format!("  also {}\n", path("r2/model.safetensors"));
        assert!(out.contains(&line) && out.lines().count() == 3, "{out}");
    });
    // The name that contradicts the content is found even if it is the last one.
    fs::rename(path("r1/other.pkl"), path("r1/other.safetensors")).unwrap();
    fs::rename(path("r2/other.safetensors"), path("r2/other.pkl")).unwrap();
    each_way(&["-r", "-q", folder.path().to_str().unwrap()], |output| {
        assert!(both_streams(output).contains("format-name"), "{}", both_streams(output));
    });
}

/// The content of a file that an index names is read for the file itself, and not a second time for the index. An index that
/// the user names is checked with all content, and so is one whose files `--suffix` leaves out.
#[test]
fn the_files_of_an_index_in_a_folder_are_read_once() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        &[
            ("two.index.json", ":other/index/accept/two.index.json"),
            ("b.safetensors", ":other/index/accept/b.safetensors"),
        ],
    );
    let header = r#"{"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}} "#;
    fs::write(folder.path().join("a.safetensors"), safetensors::file(header, &[0, 2])).unwrap();
    let root = folder.path().to_str().unwrap();
    let index = folder.path().join("two.index.json");
    let verdicts = |arguments: &[&str], expected: &[(&str, &str)]| {
        each_way(&[&["--json"], arguments].concat(), |output| {
            let found = documents(output, folder.path()).into_iter();
            let found: Vec<_> = found.map(|(name, document)| (name, document[0].clone())).collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|(name, verdict)| ((*name).to_owned(), json!(verdict)))
                .collect();
            assert_eq!(found, expected);
        });
    };
    verdicts(
        &["-r", root],
        &[("a.safetensors", "invalid"), ("b.safetensors", "valid"), ("two.index.json", "valid")],
    );
    verdicts(&["-r", "--suffix=.index.json", root], &[("two.index.json", "invalid")]);
    verdicts(&["-r", index.to_str().unwrap()], &[("two.index.json", "invalid")]);
    verdicts(&[index.to_str().unwrap()], &[("two.index.json", "invalid")]);
}

/// An attacker who replaces a folder with a symbolic link during a check cannot make the command read files outside of the
/// checked folder.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_becomes_a_link_does_not_lead_the_walk_outside() {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let index = ":other/index/accept/two.index.json";
    let parts = [":other/safetensors/accept/two.safetensors", ":other/index/accept/b.safetensors"];
    let broken = ":other/safetensors/reject/safetensors-extent--long.safetensors";
    for number in 0..20 {
        write(&path("root"), &[(&format!("a/{number}.safetensors"), parts[0])]);
        write(&path("outside"), &[(&format!("{number}.safetensors"), broken)]);
    }
    write(
        &path("root"),
        &[
            ("a/z.index.json", index),
            ("a/a.safetensors", ":other/index/accept/a.safetensors"),
            ("a/b.safetensors", parts[1]),
        ],
    );
    write(
        &path("outside"),
        &[("z.index.json", index), ("a.safetensors", broken), ("b.safetensors", broken)],
    );
    symlink(path("outside"), path("link")).unwrap();
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                // The name "root/a" is first the link to the folder outside, and then the real folder again.
                fs::rename(path("root/a"), path("kept")).unwrap();
                fs::rename(path("link"), path("root/a")).unwrap();
                fs::rename(path("root/a"), path("link")).unwrap();
                fs::rename(path("kept"), path("root/a")).unwrap();
                // The pause is long enough for some of the walks to enter the real folder.
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
        });
        // A busy machine may suspend the other thread for a long time while "root/a" does not exist, so the rounds go on
        // until one of them has seen a file.
        let mut seen = 0;
        for round in 0..3000 {
            if round >= 30 && seen > 0 {
                break;
            }
            let way = ["--no-sandbox", "--jobs=2"][round % 2];
            let output = zten(["check", "-r", "--json", way, path("root").to_str().unwrap()]);
            for line in json_lines(&output.stdout) {
                assert_ne!(line["verdict"], "invalid", "{line}");
                seen += usize::from(line["verdict"] == "valid");
            }
        }
        ends.store(true, Ordering::Relaxed);
        assert!(seen > 0);
    });
}
