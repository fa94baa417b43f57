//! Tests of messages about common faults. The advice in a message must fit the cause and blame nobody.

use std::fs;

use zten_corpus::other::npy;
use zten_corpus::other::safetensors::file as safetensors;

use crate::{both_streams, ended, failed, succeeded_text, zten};

const HEADER: &str = r#"{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}"#;

/// Returns an npy file of version 1.0 of `header` and `data`.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    npy::versioned(1, &format!("{header}\n"), data)
}

const ARRAY: &str = "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }";

/// Checks a file with the name `name` and the content `bytes`. Returns the message, without the path, and the advice.
fn complaint(name: &str, bytes: &[u8]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    let output = zten(["check".as_ref(), path.as_os_str()]);
    let (status, why) = (output.status.code(), both_streams(&output));
    assert!(matches!(status, Some(1 | 3)), "{why}");
    let why = why.strip_prefix(&format!("{}: ", path.display())).unwrap();
    let (message, advice) = why.trim_end().split_once("\n  ").unwrap();
    (message.to_owned(), advice.to_owned())
}

#[test]
fn a_file_that_is_too_long_is_not_called_cut() {
    for (name, bytes, message, advice) in [
        (
            "long.safetensors",
            safetensors(HEADER, &[0; 9]),
            "5 bytes follow the last tensor (rule safetensors-data-length, ",
            "Another program appended them, or the header is wrong.",
        ),
        (
            "one.safetensors",
            safetensors(HEADER, &[0; 5]),
            "1 byte follows the last tensor (",
            "Another program appended them, or the header is wrong.",
        ),
        (
            "cut.safetensors",
            safetensors(HEADER, &[0; 3]),
            "expected 4 bytes of data, found 3 (",
            "The file was cut or damaged.",
        ),
        (
            "text.safetensors",
            b"A text that is no tensor file of any format.".to_vec(),
            "the name is that of a safetensors file, but this is text (rule format-name, ",
            "Give the file the name of its format",
        ),
        (
            "long.npy",
            npy(ARRAY, &[0; 7]),
            "3 bytes follow the array (rule npy-size, ",
            "Another program appended them",
        ),
        (
            "cut.npy",
            npy(ARRAY, &[0; 3]),
            "expected 4 bytes of data, found 3 (",
            "The file was cut or damaged.",
        ),
        (
            "two.npy",
            npy(ARRAY, &[&[0; 4][..], &npy(ARRAY, &[0; 4])].concat()),
            "a second array follows the first (rule npy-size, ",
            "`numpy.save` was called again on the same open file.",
        ),
    ] {
        let (found, found_advice) = complaint(name, &bytes);
        assert!(found.starts_with(message), "{found}");
        assert!(found_advice.starts_with(advice), "{found_advice}");
        assert!(!found_advice.contains("cut") || advice.contains("cut"), "{found_advice}");
        // `--trim` has no effect on a NumPy file.
        assert_eq!(found_advice.contains("--trim"), message.contains("the last tensor"));
    }
}

#[test]
fn a_header_with_scalars_of_numpy_says_so() {
    let headers = [
        ("{'descr': '|u1', 'fortran_order': False, 'shape': (np.int64(4),), }", "np.int64(4)"),
        ("{'descr': '|u1', 'fortran_order': False, 'shape': (2, np.int32(2)), }", "np.int32(2)"),
        ("{'descr': '|u1', 'fortran_order': np.False_, 'shape': (4,), }", "np.False_, 'shape'"),
        ("{'descr': np.str_('|u1'), 'fortran_order': False, 'shape': (4,), }", "np.str_('|u1')"),
        (
            "{'descr': '|u1', 'fortran_order': False, 'shape': (numpy.int64(4),), }",
            "numpy.int64(4)",
        ),
    ];
    for (header, value) in headers {
        let (message, advice) = complaint("a.npy", &npy(header, &[0; 4]));
        assert!(message.starts_with(&format!("the NumPy header has \"{value}")), "{message}");
        assert!(advice.ends_with("Save the array again with `numpy.save`."), "{advice}");
    }
    // A download does not lose a key of the header, so the advice is not to download the file again.
    let (message, advice) = complaint("a.npy", &npy("{'descr': '|u1', 'shape': (4,), }", &[0; 4]));
    assert!(message.starts_with("the NumPy header lacks \"fortran_order\""), "{message}");
    assert!(!advice.contains("Fetch"), "{advice}");
}

#[test]
fn advice_on_object_arrays_warns_of_code_in_pickles() {
    let array = |descr: &str, data: &[u8]| {
        npy(&format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,), }}"), data)
    };
    let (_, advice) = complaint("objects.npy", &array("|O", b"\x80\x04N."));
    assert!(advice.contains("unpickling can run code"), "{advice}");
}

#[test]
fn a_message_about_a_tensor_begins_with_its_name() {
    let entry = |shape: &str, offsets: &str| {
        format!(r#"{{"w":{{"dtype":"F32","shape":{shape},"data_offsets":{offsets}}}}}"#)
    };
    for (header, message) in [
        (entry("[1]", "[0,5]"), "\"w\" has 5 bytes of data, but its shape and dtype need 4 (rule"),
        (entry("[1]", "[0,1]"), "\"w\" has 1 byte of data, but its shape and dtype need 4 (rule"),
        (entry("[1]", "[4,0]"), "\"w\" has data_offsets [4, 0], which end before they begin (rule"),
        (
            entry("[1]", "[1,5]"),
            "\"w\" begins at data offset 1, expected 0, where the tensor before it ends (rule",
        ),
    ] {
        let (found, _) = complaint("a.safetensors", &safetensors(&header, &[0; 5]));
        assert!(found.starts_with(message), "{found}");
        // The location at the end of a message does not repeat the name.
        assert_eq!(found.matches("\"w\"").count(), 1, "{found}");
    }
}

#[test]
fn no_advice_accuses() {
    for row in zten::rules::rows().chain(zten::formats::rules::rows()) {
        let advice = row.advice().to_lowercase();
        for word in ["honest", "at fault", "malicious", "attacker"] {
            assert!(!advice.contains(word), "{}: {advice}", row.id());
        }
    }
}

/// Writes an index of one shard into `folder`, and returns its path.
#[cfg(unix)]
fn index(folder: &std::path::Path) -> std::path::PathBuf {
    let path = folder.join("model.safetensors.index.json");
    fs::write(&path, r#"{"metadata":{},"weight_map":{"w":"model-00001-of-00001.safetensors"}}"#)
        .unwrap();
    path
}

#[cfg(unix)]
#[test]
fn a_shard_that_is_a_link_is_not_called_missing() {
    let folder = tempfile::tempdir().unwrap();
    let (store, variant) = (folder.path().join("store"), folder.path().join("variant"));
    fs::create_dir(&store).unwrap();
    fs::create_dir(&variant).unwrap();
    let shard = "model-00001-of-00001.safetensors";
    fs::write(store.join(shard), safetensors(HEADER, &[1, 2, 3, 4])).unwrap();
    let index = index(&variant);
    let run = |args: &[&str]| {
        let mut all: Vec<_> = args.iter().map(std::ffi::OsStr::new).collect();
        all.insert(1, index.as_os_str());
        zten(all)
    };
    let why = failed(run(&["check"]), 1);
    assert!(
        why.contains(&format!("\"{shard}\" is not in the folder of the index (rule index-file"))
    );
    std::os::unix::fs::symlink(format!("../store/{shard}"), variant.join(shard)).unwrap();
    for sandbox in ["--color=auto", "--no-sandbox"] {
        for args in [&["check"][..], &["ls"], &["stat"], &["hash"], &["cat", "w"]] {
            let args = [args, &[sandbox]].concat();
            let why = failed(run(&args), 1);
            let wanted = format!(
                "\"{shard}\" is a link to ../store/{shard} (rule index-file, implied)\n  `--follow` follows the link. Or put the file itself in the place of the link.\n"
            );
            assert!(why.contains(&wanted) && !why.contains("is not in the folder"), "{why}");
            succeeded_text(run(&[&args[..], &["--follow"]].concat()));
        }
    }
    // A dangling link is an error even with `--follow`.
    fs::remove_file(store.join(shard)).unwrap();
    let why = failed(run(&["check", "--follow"]), 1);
    assert!(why.contains("index-file"), "{why}");
}

#[test]
fn a_folder_with_one_model_is_read_as_that_model() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().to_str().unwrap();
    let model = folder.path().join("model.safetensors");
    fs::write(&model, safetensors(HEADER, &[1, 2, 3, 4])).unwrap();
    fs::write(folder.path().join("config.json"), "{}").unwrap();
    for sandbox in ["--color=auto", "--no-sandbox"] {
        let valid = succeeded_text(zten(["check", sandbox, name]));
        assert_eq!(valid, format!("{}: valid safetensors file: 1 tensor, 4 B\n", model.display()));
        assert!(succeeded_text(zten(["ls", sandbox, name])).contains("\nw "));
        assert_eq!(succeeded_text(zten(["cat", sandbox, name, "w"])), "[1, 2, 3, 4]\n");
        let out = folder.path().join("out");
        fs::create_dir_all(&out).unwrap();
        let out = out.join("written.zt");
        succeeded_text(zten(["convert", sandbox, "--force", name, out.to_str().unwrap()]));
        assert!(out.exists());
        // `edit` replaces a file, so it requires the file's own name.
        let why = failed(zten(["edit", sandbox, name, "--rename=s/w/v/"]), 2);
        assert!(why.contains("directory"), "{why}");
    }
    let archive = zten::open(folder.path()).unwrap();
    assert!(archive.contains("w"));
    fs::copy(&model, folder.path().join("other.safetensors")).unwrap();
    let several = "is a folder with 2 models: model.safetensors, other.safetensors";
    let output = zten(["check", name]);
    let wanted = format!("{name}: {several}; -r checks all files in it\n");
    assert_eq!(ended(&output), (Some(2), "", &*wanted));
    let output = zten(["ls", name]);
    assert_eq!(ended(&output), (Some(2), "", &*format!("{name}: {several}\n")));
    let error = zten::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains(several), "{error}");
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::IsADirectory);
}

#[test]
fn lists_of_several_files_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (a, b, list) = (at("a.safetensors"), at("b.safetensors"), at("list"));
    fs::write(&a, safetensors(HEADER, &[1, 2, 3, 4])).unwrap();
    fs::write(&b, safetensors(&HEADER.replace("\"w\"", "\"v\""), &[5, 6, 7, 8])).unwrap();
    fs::write(&list, succeeded_text(zten(["hash", &a, &b]))).unwrap();
    let both = succeeded_text(zten(["hash", "--check", &list, &a, &b]));
    assert_eq!(both, format!("{a}: 1 of 1 component matches\n{b}: 1 of 1 component matches\n"));
    assert_eq!(
        succeeded_text(zten(["hash", "--check", &list, &b])),
        both.lines().nth(1).unwrap().to_owned() + "\n"
    );
    // A changed file is reported, and so is a file for which the list has no digests.
    fs::write(&b, safetensors(&HEADER.replace("\"w\"", "\"v\""), &[5, 6, 7, 9])).unwrap();
    let output = zten(["hash", "--check", &list, &a, &b]);
    let (status, out, _) = ended(&output);
    assert_eq!(status, Some(1));
    assert!(out.contains("changed  v/data\n"), "{out}");
    let other = at("c.safetensors");
    fs::copy(&a, &other).unwrap();
    let why = failed(zten(["hash", "--check", &list, &other]), 2);
    assert!(why.contains(&format!("no digests for {other}, only for {a}, {b}\n")), "{why}");
}

#[test]
fn json_in_metadata_is_readable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.safetensors");
    let header =
        r#"{"__metadata__":{"config":"{\"lr\": 0.1, \"name\": \"a\\nb\"}","quote":"it's \"x\""}}"#;
    fs::write(&path, safetensors(header, &[])).unwrap();
    let text = succeeded_text(zten(["ls".as_ref(), path.as_os_str()]));
    assert!(text.contains("config = '{\"lr\": 0.1, \"name\": \"a\\nb\"}'\n"), "{text}");
    assert!(text.contains("quote = \"it's \\u{22}x\\u{22}\"\n"), "{text}");
}
