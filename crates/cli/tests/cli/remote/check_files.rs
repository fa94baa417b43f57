//! Tests of checking more files over the network than are open at the same time.

use std::fs;

use zten_testkit::server::Server;

use crate::{command, corpus_folder, ended, json_lines};

#[test]
fn lists_of_remote_files_are_checked_in_order() {
    let server = Server::of_folder(&corpus_folder(), 404);
    let folder = tempfile::tempdir().unwrap();
    let local = corpus_folder().join("accept/1.2.3/dense_all.zt");
    let files = [
        ("v2/shards/dense.zt", "valid"),
        ("v2/shards/csr.zt", "valid"),
        ("none.zt", "error"),
        ("v2/shards/shard-digest--v2-xxh3.zt", "invalid"),
        ("v2/shards/unsupported-shard--v2-missing.zt", "unsupported"),
        ("reject/blob-alignment--v12-72.zt", "invalid"),
        ("other/npz/accept/compressed.npz", "valid"),
        ("other/index/accept/two.index.json", "valid"),
    ];
    let mut names = Vec::new();
    let mut verdicts = Vec::new();
    for (name, verdict) in files.iter().chain(&files) {
        names.push(server.at(name));
        verdicts.push(*verdict);
        names.push(local.to_str().unwrap().to_owned());
        verdicts.push("valid");
    }
    let list = folder.path().join("list");
    fs::write(&list, names.join("\n")).unwrap();
    let list = format!("--files-from={}", list.to_str().unwrap());
    #[cfg(target_os = "linux")]
    let options: &[&[&str]] =
        &[&[], &["--jobs=3"], &["--no-sandbox"], &["--no-sandbox", "--jobs=2"]];
    #[cfg(not(target_os = "linux"))]
    let options: &[&[&str]] = &[&[]];
    for options in options {
        let output = command().args(["check", "--json", &list]).args(*options).output().unwrap();
        let (status, _, complaint) = ended(&output);
        assert_eq!((status, complaint), (Some(2), ""), "{options:?}");
        let lines = json_lines(&output.stdout);
        let said: Vec<_> = lines.iter().map(|line| line["verdict"].as_str().unwrap()).collect();
        assert_eq!(said, verdicts, "{options:?}");
        let files: Vec<_> = lines.iter().map(|line| line["file"].as_str().unwrap()).collect();
        assert_eq!(files, names, "{options:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn many_files_may_be_named_and_confined() {
    if !crate::sandbox::FILTERED || crate::emulated() {
        return;
    }
    let server = Server::of_folder(&corpus_folder(), 404);
    let names = vec![server.at("v2/shards/dense.zt"); 20];
    let output = command()
        .args(["check", "--require-sandbox", "--summary", "--jobs=4"])
        .args(names)
        .output();
    let output = output.unwrap();
    let (status, text, complaint) = ended(&output);
    assert_eq!((status, complaint), (Some(0), ""), "{text}");
    assert_eq!(text.matches(": valid (2, 1 tensor").count(), 20, "{text}");
    // For each of the 20 names, the file and its shard are requested once.
    assert_eq!(server.asked().len(), 40);
}
