//! Tests of files with shards, which the command finds in the same folder.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use zten_testkit::sharded;

use crate::{
    command, corpus_folder, ended, failed, json_lines, succeeded_json, succeeded_text, zten,
};

fn folder() -> PathBuf {
    corpus_folder().join("v2/shards")
}

/// Copies a root of the corpus and its shards as `m.zt` and `m-NAME.zt`.
fn copied(root: &str, to: &Path) -> PathBuf {
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let rest = name.strip_prefix(root).filter(|rest| rest.starts_with(['-', '.']));
        if let Some(rest) = rest.filter(|rest| !rest.contains("--")) {
            fs::copy(folder().join(&name), to.join(format!("m{rest}"))).unwrap();
        }
    }
    to.join("m.zt")
}

fn line(path: &Path, more: &[&str]) -> Value {
    let output = command().arg("check").arg("--json").args(more).arg(path).output().unwrap();
    let [line] = json_lines(&output.stdout).try_into().unwrap();
    line
}

#[test]
fn every_root_of_the_corpus_has_the_verdict_of_the_index() {
    unless_emulated!();
    for row in sharded() {
        let name = row.path.display();
        let limit = if row.options == zten::OpenOptions::default() {
            &[][..]
        } else {
            &["--limit=shards=1"]
        };
        let found = line(&row.path, limit);
        assert_eq!(found, line(&row.path, &[limit, &["--no-sandbox"]].concat()), "{name}");
        let rule = row.expected.as_ref().map(|expected| expected.rule.as_str());
        assert_eq!(found["rule"].as_str(), rule, "{name}: {found}");
        match rule {
            None => assert_eq!(found["verdict"], "valid", "{name}"),
            Some(rule) if rule.starts_with("unsupported-") => {
                assert_eq!(
                    (&found["verdict"], &found["shard"]),
                    (&"unsupported".into(), &"s".into())
                );
            }
            Some("limit-shards") => assert_eq!(found["shard"], "t", "{name}"),
            Some(_) => {
                let root = row.path.file_stem().unwrap().to_str().unwrap();
                let is_of_two = ["index", "behind", "version"].iter().any(|it| root.contains(it));
                let shard = if root.ends_with("v2-version") {
                    "a"
                } else if is_of_two {
                    "bb"
                } else {
                    "s"
                };
                assert_eq!(
                    (&found["verdict"], &found["shard"]),
                    (&"invalid".into(), &shard.into())
                );
                assert_eq!(found["more"].as_u64().unwrap_or_default(), 0, "{name}: {found}");
            }
        }
    }
}

#[test]
fn shards_are_found_beside_the_file_or_by_their_digests() {
    unless_emulated!();
    let to = tempfile::tempdir().unwrap();
    let root = copied("dense", to.path());
    let sibling = to.path().join("m-s.zt");
    let digest = line(&root, &[]);
    assert_eq!(digest["verdict"], "valid");
    let listed = succeeded_json(zten(["ls".as_ref(), "--json".as_ref(), root.as_os_str()]));
    let shard = &listed["shards"][0];
    assert_eq!((&shard["name"], &shard["size"]), (&"s".into(), &4152.into()));
    assert_eq!(listed["objects"][0]["components"][0]["shard"], "s");
    let (algorithm, digits) = shard["digest"]["text"].as_str().unwrap().split_once(':').unwrap();
    let blobs = to.path().join("blobs").join(algorithm);
    fs::create_dir_all(&blobs).unwrap();
    fs::rename(&sibling, blobs.join(digits)).unwrap();
    assert_eq!(line(&root, &[])["verdict"], "valid");
    for flag in [&["--no-shards"][..], &["--no-shards", "--no-sandbox"]] {
        let found = line(&root, flag);
        assert_eq!((&found["rule"], &found["shard"]), (&"unsupported-shard".into(), &"s".into()));
    }
    assert_eq!(line(&root, &["--manifest-only"])["verdict"], "manifest-valid");
    // The command also works from within the folder.
    let here = command().args(["check", "m.zt"]).current_dir(to.path()).output().unwrap();
    assert_eq!(ended(&here).0, Some(0));
    let one = command().args(["cat", "m.zt", "w"]).current_dir(to.path()).output().unwrap();
    assert_eq!(ended(&one), (Some(0), "[1.0, -2.0, 0.5, 3.25]\n", ""));
}

#[test]
fn every_command_reads_shards() {
    unless_emulated!();
    let root = folder().join("dense.zt");
    let root = root.to_str().unwrap();
    assert_eq!(succeeded_text(zten(["cat", root, "w"])), "[1.0, -2.0, 0.5, 3.25]\n");
    assert_eq!(succeeded_text(zten(["cat", root, "w", "--slice", "1:3"])), "[-2.0, 0.5]\n");
    assert_eq!(
        succeeded_text(zten(["cat", root, "w", "--no-sandbox"])),
        "[1.0, -2.0, 0.5, 3.25]\n"
    );
    let csr = folder().join("csr.zt");
    let csr = csr.to_str().unwrap();
    assert_eq!(succeeded_text(zten(["cat", csr, "w", "--component", "indptr"])), "[0, 2, 3]\n");
    assert_eq!(
        succeeded_text(zten(["cat", csr, "w", "--component", "values"])),
        "[1.0, -2.0, 0.5]\n"
    );
    #[cfg(target_os = "linux")]
    if crate::sandbox::FILTERED {
        let text = succeeded_text(zten(["cat", root, "w", "--require-sandbox"]));
        assert_eq!(text, "[1.0, -2.0, 0.5, 3.25]\n");
    }
    let whole = corpus_folder().join("v2/accept/csr.zt");
    let whole = whole.to_str().unwrap();
    assert_eq!(succeeded_text(zten(["hash", csr])), succeeded_text(zten(["hash", whole])));
    assert_eq!(succeeded_text(zten(["diff", "-q", csr, whole])), "");
    assert_eq!(succeeded_text(zten(["stat", csr])), succeeded_text(zten(["stat", whole])));
    assert_eq!(ended(&zten(["diff", csr, root])).0, Some(1));
    let missing = folder().join("unsupported-shard--v2-missing.zt");
    for command in
        [&["cat", missing.to_str().unwrap(), "w"][..], &["hash", missing.to_str().unwrap()]]
    {
        let error = failed(zten(command), 3);
        assert!(
            error.contains("shard not found (rule unsupported-shard")
                && error.contains("in the shard \"s\""),
            "{error}"
        );
    }
}

/// Returns the exit status for a file with a finding of this rule.
fn status_of(rule: &str) -> i32 {
    if rule.starts_with("unsupported-") { 3 } else { 1 }
}

/// Checks that a component without its own digest is printed only after the digest of its shard was verified.
#[test]
fn nothing_is_printed_of_a_shard_with_another_digest() {
    unless_emulated!();
    for root in ["shard-digest--v2-xxh3", "shard-digest--v2-sha256", "unsupported-digest--v2-shard"]
    {
        let path = folder().join(root).with_extension("zt");
        let path = path.to_str().unwrap();
        for more in [&[][..], &["--raw"], &["--slice", "1:3"], &["--no-sandbox"]] {
            let output = zten([&["cat", path, "w"], more].concat());
            let (status, text, error) = ended(&output);
            let rule = root.split("--").next().unwrap();
            assert_eq!((status, text), (Some(status_of(rule)), ""), "{root} {more:?}");
            assert!(error.contains(rule), "{root} {more:?}: {error}");
        }
    }
}

/// Checks that the content of shards is written into the one output file, a zTensor or NumPy file, and that a missing or different
/// shard is reported before anything is written.
#[test]
fn convert_reads_shards_in() {
    unless_emulated!();
    let to = tempfile::tempdir().unwrap();
    let (csr, whole) = (folder().join("csr.zt"), corpus_folder().join("v2/accept/csr.zt"));
    let convert = |more: &[&str], from: &Path, name: &str| {
        let out = to.path().join(name);
        let output =
            command().arg("convert").args(more).arg("--force").arg(from).arg(&out).output();
        (output.unwrap(), out)
    };
    let written = |more: &[&str], from: &Path, name: &str| {
        let (output, out) = convert(more, from, name);
        succeeded_text(output);
        fs::read(out).unwrap()
    };
    for more in [&["--to=2", "--canonical"][..], &["--to=2", "--zstd"], &["--to=1.2"]] {
        let one = written(more, &whole, "whole.zt");
        assert_eq!(written(more, &csr, "out.zt"), one, "{more:?}");
        let more = [more, &["--no-sandbox"]].concat();
        assert_eq!(written(&more, &csr, "out.zt"), one, "{more:?}");
        #[cfg(target_os = "linux")]
        if crate::sandbox::FILTERED {
            let more = [&more[..more.len() - 1], &["--require-sandbox"]].concat();
            assert_eq!(written(&more, &csr, "out.zt"), one, "{more:?}");
        }
    }
    let dense = folder().join("dense.zt");
    let out = written(&["--no-sandbox"], &dense, "w.npz");
    assert_eq!(out, written(&[], &dense, "w.npz"));
    // The array in the `.npz` file has the elements that `cat` prints for the sharded file.
    let values = to.path().join("values.zt");
    written(&[], &to.path().join("w.npz"), "values.zt");
    let text = succeeded_text(zten(["cat".as_ref(), values.as_os_str(), "w".as_ref()]));
    assert_eq!(text, "[1.0, -2.0, 0.5, 3.25]\n");
    // `convert` reports missing and different shards as `check` does, and writes nothing.
    for row in sharded().filter(|row| row.options == zten::OpenOptions::default()) {
        let Some(expected) = &row.expected else { continue };
        for (name, more) in [("a.zt", &[][..]), ("a.zt", &["--no-sandbox"]), ("a.npz", &[])] {
            // NumPy files cannot contain sparse objects, which is reported first.
            if name == "a.npz" && expected.rule == "csr-index-order" {
                continue;
            }
            let (output, out) = convert(more, &row.path, name);
            let (status, text, error) = ended(&output);
            let ended = (Some(status_of(&expected.rule)), "");
            assert_eq!((status, text), ended, "{} {name}: {error}", row.path.display());
            assert!(error.contains(&expected.rule), "{} {name}: {error}", row.path.display());
            assert!(!out.exists());
        }
    }
    let (output, _) = convert(&["--no-shards"], &dense, "a.zt");
    let (status, _, error) = ended(&output);
    assert_eq!(status, Some(3));
    assert!(error.contains("unsupported-shard") && error.contains("in the shard \"s\""), "{error}");
}

#[cfg(unix)]
#[test]
fn no_link_leads_out_of_the_folder() {
    use std::os::unix::fs::symlink;

    unless_emulated!();
    let to = tempfile::tempdir().unwrap();
    let root = copied("dense", to.path());
    let sibling = to.path().join("m-s.zt");
    let other_folder = tempfile::tempdir().unwrap();
    let target = other_folder.path().join("s");
    fs::rename(&sibling, &target).unwrap();
    symlink(&target, &sibling).unwrap();
    let is_missing = || {
        for more in [&[][..], &["--no-sandbox"]] {
            assert_eq!(line(&root, more)["rule"], "unsupported-shard");
        }
    };
    is_missing();
    fs::remove_file(&sibling).unwrap();
    // A folder with the name of the shard is not used either.
    fs::create_dir(&sibling).unwrap();
    is_missing();
    fs::remove_dir(&sibling).unwrap();
    let listed = succeeded_json(zten(["ls".as_ref(), "--json".as_ref(), root.as_os_str()]));
    let digest = listed["shards"][0]["digest"]["text"].as_str().unwrap().to_owned();
    let (algorithm, digits) = digest.split_once(':').unwrap();
    fs::create_dir(other_folder.path().join(algorithm)).unwrap();
    fs::rename(&target, other_folder.path().join(algorithm).join(digits)).unwrap();
    symlink(other_folder.path(), to.path().join("blobs")).unwrap();
    is_missing();
    fs::remove_file(to.path().join("blobs")).unwrap();
    fs::create_dir(to.path().join("blobs")).unwrap();
    symlink(other_folder.path().join(algorithm), to.path().join("blobs").join(algorithm)).unwrap();
    is_missing();
    // When a real folder replaces the link, the shard is found.
    fs::remove_file(to.path().join("blobs").join(algorithm)).unwrap();
    fs::rename(other_folder.path().join(algorithm), to.path().join("blobs").join(algorithm))
        .unwrap();
    assert_eq!(line(&root, &[])["verdict"], "valid");
}

#[test]
fn a_data_shard_by_itself_says_so() {
    let shard = corpus_folder().join("v2/accept/data-shard.zt");
    let text = succeeded_text(zten(["check".as_ref(), shard.as_os_str()]));
    assert!(text.ends_with(": a data shard with a valid frame (2, 4.0 KiB)\n"), "{text}");
    assert_eq!(line(&shard, &[])["verdict"], "valid");
    assert_eq!(line(&shard, &["--manifest-only"])["verdict"], "manifest-valid");
    let listed = succeeded_text(zten(["ls".as_ref(), shard.as_os_str()]));
    assert!(listed.starts_with("a data shard, which another file describes\n"), "{listed}");
    let listed = succeeded_json(zten(["ls".as_ref(), "--json".as_ref(), shard.as_os_str()]));
    assert_eq!((&listed["data_shard"], &listed["objects"]), (&true.into(), &Value::Array(vec![])));
}
