//! Tests of shards, and of files that an index names, over the network.

use std::fs;
use std::path::Path;

use serde_json::Value;
use zten_testkit::server::{Reply, Server, honest};
use zten_testkit::sharded;

use crate::{corpus_folder, ended, json_lines, succeeded, succeeded_text, zten};

fn server() -> Server {
    Server::of_folder(&corpus_folder().join("v2/shards"), 404)
}

/// Returns the output of `check --json` for a file, without its name.
fn line(name: &str, more: &[&str]) -> Value {
    let output = zten([&["check", "--json"], more, &[name]].concat());
    let [mut line] = json_lines(&output.stdout).try_into().unwrap();
    line["file"] = Value::Null;
    line
}

#[test]
fn every_root_of_the_corpus_ends_as_in_its_folder() {
    unless_emulated!();
    let server = server();
    for row in sharded() {
        let name = row.path.file_name().unwrap().to_str().unwrap();
        let is_usual = row.options == zten::OpenOptions::default();
        let limit = if is_usual { &[][..] } else { &["--limit=shards=1"] };
        let wanted = line(row.path.to_str().unwrap(), limit);
        assert_eq!(line(&server.at(name), limit), wanted, "{name}");
        let more = [limit, &["--no-sandbox"]].concat();
        assert_eq!(line(&server.at(name), &more), wanted, "{name}");
    }
}

/// Checks that names that lead out of the folder are rejected as names of shards.
#[test]
fn a_root_that_lies_is_rejected_as_in_its_folder() {
    let folder = corpus_folder().join("v2/reject");
    let server = Server::of_folder(&folder, 200);
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("shard-name--") {
            let found = line(&server.at(&name), &[]);
            assert_eq!(found, line(folder.join(&name).to_str().unwrap(), &[]));
            assert_eq!(found["rule"], "shard-name");
            count += 1;
        }
    }
    assert_eq!((server.asked().len(), server.paths().len()), (count, count));
    // The loop tries each other byte for a name of one character.
    let root = fs::read(corpus_folder().join("v2/shards/dense.zt")).unwrap();
    for byte in *b"./\\%?#:@ ~+&;=\0\n" {
        let mut lying = root.clone();
        let mut names = 0;
        for at in 1..lying.len() {
            // The byte 0x61 begins a text of one byte.
            if lying[at - 1] == 0x61 && lying[at] == b's' {
                lying[at] = byte;
                names += 1;
            }
        }
        assert_eq!(names, 2, "the table and the component");
        let server = Server::of(lying.clone());
        let path = tempfile::tempdir().unwrap();
        let path = path.path().join("file.zt");
        fs::write(&path, &lying).unwrap();
        let found = line(&server.url(), &[]);
        assert_eq!(found, line(path.to_str().unwrap(), &[]), "{byte:#x}");
        assert_ne!(found["verdict"], "valid", "{byte:#x}");
        assert_eq!(server.paths(), ["/file.zt"], "{byte:#x}");
    }
}

#[test]
fn only_needed_shards_are_requested() {
    let server = server();
    let csr = server.at("csr.zt");
    succeeded(zten(["ls", &csr]));
    succeeded(zten(["check", "--manifest-only", &csr]));
    let status = zten(["check", "--no-shards", &csr]).status.code();
    assert_eq!((status, server.paths()), (Some(3), vec!["/csr.zt".to_owned()]));
    for options in [&[][..], &["--no-sandbox"]] {
        let before = server.asked().len();
        let args = [&["cat", &csr, "w", "--component", "indptr"], options].concat();
        assert_eq!(succeeded_text(zten(args)), "[0, 2, 3]\n");
        let asked: Vec<_> = server.asked().split_off(before).into_iter().map(|r| r.path).collect();
        assert_eq!(asked, ["/csr.zt", "/csr-a.zt"]);
    }
    // The last 64 KiB contain both files completely.
    let before = server.asked().len();
    succeeded(zten(["check", &csr]));
    let asked: Vec<_> = server.asked().split_off(before).into_iter().map(|r| r.path).collect();
    assert_eq!(asked, ["/csr.zt", "/csr-a.zt", "/csr-bb.zt"]);
}

#[test]
fn shards_are_beside_the_file_or_where_their_digests_say() {
    let folder = tempfile::tempdir().unwrap();
    let from = corpus_folder().join("v2/shards");
    let root = folder.path().join("a folder");
    fs::create_dir(&root).unwrap();
    fs::copy(from.join("dense.zt"), root.join("m.zt")).unwrap();
    let listed = crate::succeeded_json(zten([
        "ls".as_ref(),
        "--json".as_ref(),
        root.join("m.zt").as_os_str(),
    ]));
    let digest = listed["shards"][0]["digest"]["text"].as_str().unwrap().replace(':', "/");
    let blob = root.join("blobs").join(&digest);
    fs::create_dir_all(blob.parent().unwrap()).unwrap();
    fs::copy(from.join("dense-s.zt"), &blob).unwrap();
    let top = folder.path().to_owned();
    let server = Server::start(move |_, request| {
        let path = request.path.trim_start_matches('/').replace("%20", " ");
        match fs::read(top.join(path)) {
            Ok(content) => honest(&content, request),
            Err(_) => Reply::status(404),
        }
    });
    let url = server.at("a folder/m.zt");
    assert_eq!(line(&url, &[])["verdict"], "valid");
    let blob = format!("/a%20folder/blobs/{digest}");
    assert_eq!(server.paths(), ["/a%20folder/m.zt", "/a%20folder/m-s.zt", &blob]);
    fs::copy(from.join("dense-s.zt"), root.join("m-s.zt")).unwrap();
    assert_eq!(line(&url, &[])["verdict"], "valid");
    assert_eq!(server.asked().iter().filter(|request| request.path == blob).count(), 1);
}

#[test]
fn a_query_is_for_one_file_alone() {
    let server = server();
    let name = format!("{}?X-Signature=hidden", server.at("dense.zt"));
    for options in [&[][..], &["--no-sandbox"]] {
        let output = zten([&["check", &name], options].concat());
        let (status, complaint, _) = ended(&output);
        assert!(status == Some(3) && complaint.contains("unsupported-shard"), "{complaint}");
        assert!(
            complaint.contains("may be a signature") && !complaint.contains("hidden"),
            "{complaint}"
        );
    }
    assert_eq!(server.paths(), ["/dense.zt?X-Signature=hidden"]);
}

/// Checks that an answer that denies access is an error, although servers may give it for a file that does not exist.
#[test]
fn a_shard_without_an_address_is_an_error() {
    let server = Server::of_folder(&corpus_folder().join("v2/shards"), 403);
    for command in ["check", "hash"] {
        let output = zten([command, &server.at("unsupported-shard--v2-missing.zt")]);
        let (status, _, complaint) = ended(&output);
        assert_eq!(status, Some(2), "{complaint}");
        assert!(complaint.contains("\"s\": the server denied access (status 403)"), "{complaint}");
    }
}

#[test]
fn every_command_reads_shards() {
    unless_emulated!();
    let server = server();
    let folder = corpus_folder().join("v2/shards");
    let (here, there) = (folder.join("csr.zt"), server.at("csr.zt"));
    let here = here.to_str().unwrap();
    assert_eq!(succeeded_text(zten(["hash", &there])), succeeded_text(zten(["hash", here])));
    assert_eq!(succeeded_text(zten(["diff", "-q", here, &there])), "");
    let dense = server.at("dense.zt");
    assert_eq!(succeeded_text(zten(["cat", &dense, "w"])), "[1.0, -2.0, 0.5, 3.25]\n");
    assert_eq!(succeeded_text(zten(["cat", &dense, "w", "--slice", "1:3"])), "[-2.0, 0.5]\n");
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("out.zt");
    let converted = |from: &str, options: &[&str]| {
        let out = out.to_str().unwrap();
        succeeded(zten([&["convert", "--force", "--to=2", from, out], options].concat()));
        fs::read(out).unwrap()
    };
    let wanted = converted(here, &[]);
    assert_eq!(converted(&there, &[]), wanted);
    assert_eq!(converted(&there, &["--no-sandbox"]), wanted);
}

#[test]
fn the_files_of_an_index_are_read() {
    unless_emulated!();
    let folder = corpus_folder().join("other/index");
    let server = Server::of_folder(&folder, 404);
    let mut indices = 0;
    for kind in ["accept", "reject"] {
        for entry in fs::read_dir(folder.join(kind)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if !name.ends_with(".index.json") {
                continue;
            }
            indices += 1;
            let path = folder.join(kind).join(&name);
            let wanted = line(path.to_str().unwrap(), &[]);
            let url = server.at(&format!("{kind}/{name}"));
            assert_eq!(line(&url, &[]), wanted, "{name}");
            assert_eq!(line(&url, &["--no-sandbox"]), wanted, "{name}");
        }
    }
    assert!(indices > 10);
    let two = server.at("accept/two.index.json");
    let listed = |name: &str| {
        let mut listed = crate::succeeded_json(zten(["ls", "--json", name]));
        listed["file"] = Value::Null;
        listed
    };
    assert_eq!(listed(&two), listed(folder.join("accept/two.index.json").to_str().unwrap()));
    let out = tempfile::tempdir().unwrap();
    let converted = |from: &Path, name: &str| {
        let out = out.path().join(name);
        succeeded(zten(["convert".as_ref(), from.as_os_str(), out.as_os_str()]));
        fs::read(out).unwrap()
    };
    let here = converted(&folder.join("accept/two.index.json"), "here.zt");
    assert_eq!(converted(two.as_ref(), "there.zt"), here);
}
