//! Tests of the output and the exit status of the command.
#![cfg_attr(
    not(target_os = "linux"),
    expect(unused_imports, reason = "some tests are of Linux alone")
)]

/// Returns from a test under an emulator, which cannot start other programs and does not support confinement.
macro_rules! unless_emulated {
    () => {
        if crate::emulated() {
            return;
        }
    };
}

mod blocks;
mod cat;
mod check;
#[cfg(unix)]
mod colors;
mod conventions;
mod convert;
mod corpus;
mod diff;
mod edit;
mod explain;
mod exports;
mod files;
mod floors;
mod gate;
mod hash;
#[cfg(target_os = "linux")]
mod hooks;
mod indices;
mod ls;
#[cfg(unix)]
mod magic;
#[cfg(target_os = "linux")]
mod memory;
mod messages;
mod numpy;
mod opaque;
mod options;
mod other;
mod pages;
mod patch;
mod policy;
mod profiles;
mod remote;
mod safetensors;
mod sandbox;
mod sarif;
mod schema;
#[cfg(unix)]
mod sessions;
mod sharded;
mod shards;
mod stat;
mod stores;
#[cfg(unix)]
mod terminal;
mod threads;
mod torch;
mod walk;
#[cfg(target_os = "linux")]
mod worker_pool;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use zten_testkit::process;

/// Returns a command that runs `zten`.
fn command() -> Command {
    process::command(env!("CARGO_BIN_EXE_zten"))
}

/// Runs `zten` with `args`.
fn zten<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Output {
    command().args(args).output().unwrap()
}

/// Runs `zten` in the folder of the corpus, so that its files have short names.
fn in_corpus(args: &[&str]) -> Output {
    command().args(args).current_dir(corpus_folder()).output().unwrap()
}

/// Returns the folder of the corpus.
fn corpus_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// Runs a subcommand on a file.
fn run(command: &str, path: &Path, options: &[&str]) -> Output {
    zten([&[command, path.to_str().unwrap()], options].concat())
}

/// Returns the path of a valid file of another format.
fn other_format(name: &str) -> PathBuf {
    let (_, format) = name.rsplit_once('.').unwrap();
    corpus_folder().join("other").join(format).join("accept").join(name)
}

/// Returns what `zten hash` prints about the objects of a file.
fn hash_of(path: &Path) -> serde_json::Value {
    succeeded_json(run("hash", path, &["--json"]))["objects"].clone()
}

/// Returns the names in a folder that begin with `start`, sorted.
fn names_in(folder: &Path, start: &str) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.starts_with(start));
    names.sort();
    names
}

/// Returns the exit status, standard output and standard error.
fn ended(output: &Output) -> (Option<i32>, &str, &str) {
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Returns the standard output of a command, followed by its standard error.
fn both_streams(output: &Output) -> String {
    let (_, out, complaint) = ended(output);
    format!("{out}{complaint}")
}

/// Returns what a command that ended with status `wanted` printed. Only one of its streams may have text: `check` prints
/// verdicts on standard output, and every command prints errors on standard error.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "every caller has run it in the argument")]
fn failed(output: Output, wanted: i32) -> String {
    let (status, out, complaint) = ended(&output);
    assert_eq!(status, Some(wanted), "{out}{complaint}");
    assert!(out.is_empty() || complaint.is_empty(), "{out}{complaint}");
    format!("{out}{complaint}")
}

/// Returns whether an emulator runs the command.
fn emulated() -> bool {
    let emulated = std::env::var_os("ZTEN_TEST_RUNNER").is_some();
    if emulated {
        eprintln!("NOT TESTED: emulated");
    }
    emulated
}

/// Returns the standard output of a command, after checking that it succeeded without messages.
fn succeeded(output: Output) -> Vec<u8> {
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*complaint), (Some(0), ""));
    output.stdout
}

/// Returns the standard output of a command that succeeded as text.
fn succeeded_text(output: Output) -> String {
    String::from_utf8(succeeded(output)).unwrap()
}

/// Returns the standard output of a command that succeeded as JSON.
fn succeeded_json(output: Output) -> serde_json::Value {
    serde_json::from_slice(&succeeded(output)).unwrap()
}

/// Parses the lines of JSON on standard output.
fn json_lines(output: &[u8]) -> Vec<serde_json::Value> {
    let text = std::str::from_utf8(output).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
