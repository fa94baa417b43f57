//! Tests of reading files from the Hugging Face Hub, for which a server in the test process stands in.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use zten_corpus::other::safetensors;
use zten_testkit::server::{COMMIT, Reply, Request, Server, honest};

use crate::{command, corpus_folder, ended, failed, succeeded, succeeded_json, succeeded_text};

/// Returns the command with `hub` as its hub and with a token.
fn at(hub: &Server) -> Command {
    let mut command = command();
    command.env("HF_ENDPOINT", hub.at("")).env("HF_TOKEN", "hidden");
    command
}

fn zten(hub: &Server, args: &[&str]) -> Output {
    at(hub).args(args).output().unwrap()
}

/// Writes a safetensors file with two tensors, of 200,000 and 100,000 bytes, to `folder`, and returns its content.
fn large(folder: &Path) -> Vec<u8> {
    let header = r#"{"b":{"dtype":"U8","shape":[200000],"data_offsets":[100000,300000]},"a":{"dtype":"I8","shape":[100000],"data_offsets":[0,100000]}}"#;
    let content = safetensors::file(header, &vec![1; 300_000]);
    fs::write(folder.join("x.safetensors"), &content).unwrap();
    content
}

/// A command reads only the ranges that it needs, at one commit, from the hub or from a storage server that sees no token.
#[test]
fn commands_request_ranges_of_one_commit() {
    let folder = tempfile::tempdir().unwrap();
    let content = large(folder.path());
    let path = folder.path().join("x.safetensors");
    let out = folder.path().join("out.zt");
    let [path, out] = [&path, &out].map(|path| path.to_str().unwrap());
    let whole = content.len() as u64;
    // Each command fetches the last 64 KiB before the format is known, and the first bytes by which it is recognized.
    let opened = 72_000;
    for (command, options, most) in [
        ("ls", &[][..], opened),
        ("cat", &["a", "--slice=:3"], opened),
        ("cat", &["a"], opened + 100_000),
        ("stat", &["a"], opened + 100_000),
        ("check", &[], opened + whole),
        ("hash", &[], opened + whole),
        ("hash", &["--only=a"], opened + 100_000),
        ("diff", &[path], opened + whole),
        ("convert", &["--force", out], opened + whole),
    ] {
        for is_redirected in [false, true] {
            let storage = Server::of_folder(folder.path(), 404);
            let hub = Server::of_hub(folder.path(), is_redirected.then_some(&storage));
            let args = [command, "--require-sandbox", "--remote-redirects"];
            let args = [&args[..], &["hf://o/m/x.safetensors"], options].concat();
            let output = zten(&hub, &args);
            let (status, _, complaint) = ended(&output);
            assert_eq!((status, complaint), (Some(0), ""), "{command}");
            let sent = hub.sent() + storage.sent();
            println!("{command} {options:?}: {sent} bytes, at most {most}");
            assert!(sent <= most, "{command}: {sent}");
            let [first, later @ ..] = &hub.asked()[..] else { panic!("{command}") };
            assert_eq!(first.path, "/o/m/resolve/main/x.safetensors");
            let pinned = format!("/o/m/resolve/{COMMIT}/x.safetensors");
            assert!(later.iter().all(|request| request.path == pinned), "{command}");
            assert!(
                hub.asked().iter().all(|asked| asked.headers["authorization"] == "Bearer hidden")
            );
            assert_eq!(storage.asked().is_empty(), !is_redirected, "{command}");
            let is_without = |request: &Request| !request.headers.contains_key("authorization");
            assert!(storage.asked().iter().all(is_without), "{command}");
        }
    }
}

/// Checks that the files that an `*.index.json` file names, and the shards of a zTensor file, are read at the commit and in the
/// folder of the first file.
#[test]
fn the_other_files_of_a_model_are_of_the_same_commit() {
    unless_emulated!();
    for (folder, name, others) in [
        ("other/index/accept", "two.index.json", ["a.safetensors", "b.safetensors"]),
        ("v2/shards", "csr.zt", ["csr-a.zt", "csr-bb.zt"]),
    ] {
        let folder = corpus_folder().join(folder);
        let wanted =
            succeeded_text(command().args(["hash", name]).current_dir(&folder).output().unwrap());
        for options in [&[][..], &["--no-sandbox"]] {
            let hub = Server::of_hub(&folder, None);
            let name = format!("hf://models/o/m@refs%2Fpr%2F3/{name}");
            let found = succeeded_text(zten(&hub, &[&["hash", &name], options].concat()));
            // The lists may differ in the name of the file only, so just the first word of each line, the sum, is compared.
            let sums = |text: &str| -> Vec<String> {
                text.lines()
                    .map(|line| line.split_whitespace().next().unwrap().to_owned())
                    .collect()
            };
            assert_eq!(sums(&found), sums(&wanted));
            let at_commit = |name: &str| format!("/o/m/resolve/{COMMIT}/{name}");
            let name = name.rsplit('/').next().unwrap();
            let first = format!("/o/m/resolve/refs%2Fpr%2F3/{name}");
            let mut paths = hub.paths();
            paths.retain(|path| *path != at_commit(name));
            assert_eq!(paths, [first, at_commit(others[0]), at_commit(others[1])]);
        }
    }
}

/// Checks that all files of one repository in a call are read at one commit, although the branch advances with each request. Files
/// of two revisions are read at two commits.
#[test]
fn the_files_of_a_call_are_of_one_commit() {
    let hub = Server::start(|number, request| {
        let path = request.path.strip_prefix("/o/m/resolve/").unwrap();
        let (revision, _) = path.split_once('/').unwrap();
        let commit = match revision {
            "main" | "v1" => format!("{number:040x}"),
            commit => commit.to_owned(),
        };
        let header = r#"{"a":{"dtype":"U8","shape":[40],"data_offsets":[0,40]}}"#;
        let content = safetensors::file(header, commit.as_bytes());
        honest(&content, request).with("X-Repo-Commit", &commit)
    });
    let names = ["a", "b", "c"].map(|name| format!("hf://o/m/{name}.safetensors"));
    let [a, b, c] = names.each_ref().map(String::as_str);
    for option in ["--require-sandbox", "--no-sandbox"] {
        for _ in 0..5 {
            let printed = succeeded_text(zten(&hub, &["hash", a, b, c, option]));
            let sums: Vec<_> =
                printed.lines().filter_map(|line| line.split_whitespace().next()).collect();
            assert!(sums.len() >= 3 && sums.len() % 3 == 0, "{printed}");
            let (one, others) = sums.split_at(sums.len() / 3);
            assert!(others.chunks(one.len()).all(|other| other == one), "{printed}");
            succeeded(zten(&hub, &["diff", a, b, option]));
        }
        // Two revisions are read at two commits.
        let other = c.replace("o/m", "o/m@v1");
        assert_eq!(zten(&hub, &["diff", a, &other, option]).status.code(), Some(1));
    }
}

#[test]
fn errors_name_the_file_and_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    large(folder.path());
    let storage = Server::of_folder(folder.path(), 404);
    let hub = Server::of_hub(folder.path(), Some(&storage));
    let gated = Server::start(|_, _| Reply::status(401).with("X-Error-Code", "GatedRepo"));
    for (hub, name, said) in [
        (&hub, "hf://o/m/x.safetensors", "the server redirects to a private or local address"),
        (&hub, "hf://o/m/y.safetensors", "the server has no such file"),
        (&hub, "hf://o/m@v9/x.safetensors", "the repository has no such revision: "),
        (&hub, "hf://o/other/x.safetensors", "the repository is private or does not exist: "),
        (&hub, "hf://gpt2/x.safetensors", "the name is not hf://ORG/MODEL[@REVISION]/PATH: "),
        (&gated, "hf://o/m/x.safetensors", "the repository is gated: "),
    ] {
        for command in ["ls", "check", "hash"] {
            for option in ["--require-sandbox", "--no-sandbox"] {
                let complaint = failed(zten(hub, &[command, name, option]), 2);
                assert!(complaint.starts_with(name) && complaint.contains(said), "{complaint}");
                assert!(!complaint.contains("hidden"), "{complaint}");
            }
        }
    }
    for (variable, value) in [("HF_ENDPOINT", "ftp://h"), ("HF_TOKEN", "two words")] {
        let output = at(&hub).env(variable, value).args(["ls", "hf://o/m/x"]).output().unwrap();
        let complaint = failed(output, 2);
        assert!(complaint.contains(&format!("invalid setting {variable}")), "{complaint}");
        assert!(!complaint.contains(value), "{complaint}");
    }
    // Settings of the hub do not affect other addresses.
    let name = storage.at("x.safetensors");
    succeeded(at(&hub).env("HF_ENDPOINT", "ftp://h").args(["ls", &name]).output().unwrap());
}

#[test]
fn a_token_is_read_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    large(folder.path());
    fs::write(folder.path().join("token"), "hidden\n").unwrap();
    let hub = Server::of_hub(folder.path(), None);
    let mut command = at(&hub);
    let command = command.env_remove("HF_TOKEN").env_remove("HF_TOKEN_PATH");
    let listed =
        command.env("HF_HOME", folder.path()).args(["ls", "--json", "hf://o/m/x.safetensors"]);
    let listed: Value = succeeded_json(listed.output().unwrap());
    assert_eq!(listed["file"], "hf://o/m/x.safetensors");
    assert_eq!(hub.asked()[0].headers["authorization"], "Bearer hidden");
}

/// Checks that the environment of the process that fetches has the token of the hub and the secret key of S3, and that of the
/// process that parses has neither.
#[cfg(target_os = "linux")]
#[test]
fn only_the_process_that_connects_has_the_token() {
    unless_emulated!();
    let folder = tempfile::tempdir().unwrap();
    large(folder.path());
    // The server does not answer, so the processes keep waiting.
    let hub = Server::start(|_, _| Reply { silent: true, ..Reply::status(200) });
    let mut process = at(&hub)
        .env("AWS_SECRET_ACCESS_KEY", "hidden")
        .args(["ls", "hf://o/m/x.safetensors"])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let id = process.id();
    let read = |path: &str| fs::read(path).unwrap_or_default();
    // Returns the environment of the child whose first argument is `argument`. It is empty until the child executes its
    // program.
    let environment_of = |argument: &str| {
        let children = String::from_utf8(read(&format!("/proc/{id}/task/{id}/children"))).unwrap();
        let mut children = children.split_whitespace();
        let child = children.find(|child| {
            let line = read(&format!("/proc/{child}/cmdline"));
            line.split(|byte| *byte == 0).nth(1) == Some(argument.as_bytes())
        });
        child.map(|child| read(&format!("/proc/{child}/environ"))).unwrap_or_default()
    };
    let mut found = None;
    for _ in 0..500 {
        let [fetcher, worker] = ["--fetch", "--worker"].map(environment_of);
        if !hub.asked().is_empty() && !fetcher.is_empty() && !worker.is_empty() {
            found = Some((fetcher, worker));
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    process.kill().unwrap();
    process.wait().unwrap();
    let (fetcher, worker) = found.expect("both processes run");
    let count =
        |environment: &[u8]| environment.windows(6).filter(|part| part == b"hidden").count();
    assert_eq!((count(&fetcher), count(&worker)), (2, 0));
}
