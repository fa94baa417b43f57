//! Tests that each command in the terminal sessions of `docs/sessions` prints exactly the output recorded there, except for
//! durations.
//!
//! `RECORD_SESSIONS=1 cargo test -p zten-cli --test cli sessions` records the output again.

use std::fs;
use std::path::Path;
use std::process::Command;

use zten_corpus::other::safetensors;

use crate::corpus_folder;

/// Writes the files that the sessions use.
fn prepare(folder: &Path) {
    let corpus = corpus_folder();
    for (from, to) in [
        ("other/gguf/accept/blocks.gguf", "model.gguf"),
        ("other/safetensors/reject/safetensors-extent--overflow.safetensors", "broken.safetensors"),
        ("reject/blob-alignment--v12-72.zt", "unaligned.zt"),
        ("other/npz/accept/two.npz", "arrays.npz"),
        ("conventions/mxfp4.safetensors", "quantized.safetensors"),
    ] {
        fs::copy(corpus.join(from), folder.join(to)).unwrap();
    }
    fs::write(folder.join("model.safetensors"), model(0.5)).unwrap();
    fs::write(folder.join("tuned.safetensors"), model(0.25)).unwrap();
}

/// Returns a small safetensors file with two tensors in each of twelve layers, an embedding, and a last norm whose elements are all
/// `last`.
fn model(last: f32) -> Vec<u8> {
    let (mut entries, mut data) = (Vec::new(), Vec::<u8>::new());
    let mut add = |name: &str, shape: &[usize], values: &mut dyn Iterator<Item = f32>| {
        let start = data.len();
        data.extend(values.flat_map(f32::to_le_bytes));
        let end = data.len();
        entries.push(format!(
            r#""{name}":{{"dtype":"F32","shape":{shape:?},"data_offsets":[{start},{end}]}}"#
        ));
    };
    let values = |count: u16| (0..count).map(|n| f32::from(n % 17) / 8.0 - 1.0);
    add("embed.weight", &[32, 8], &mut values(256));
    for layer in 0..12 {
        add(&format!("layers.{layer}.attn.weight"), &[8, 8], &mut values(64));
        add(&format!("layers.{layer}.norm.weight"), &[8], &mut values(8));
    }
    add("norm.weight", &[8], &mut std::iter::repeat_n(last, 8));
    let header = format!(r#"{{"__metadata__":{{"format":"pt"}},{}}}"#, entries.join(","));
    let padded = format!("{header:width$}", width = header.len().next_multiple_of(8));
    safetensors::file(&padded, &data)
}

/// Runs a command in a shell, and returns its whole output, with each duration replaced by `0 ms`, and with its exit status if that
/// is not 0.
fn run(folder: &Path, command: &str) -> String {
    let zten = Path::new(env!("CARGO_BIN_EXE_zten")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", zten.display()))
        .env_remove("RUST_BACKTRACE")
        .output()
        .unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    // Only the duration of a command differs between runs.
    let time = regex_lite::Regex::new(r"\b[0-9.]+ m?s\b").unwrap();
    text = time.replace_all(&text, "0 ms").into_owned();
    match output.status.code() {
        Some(0) => text,
        code => format!("{text}[exit status {}]\n", code.unwrap()),
    }
}

#[test]
fn sessions_are_what_the_command_prints() {
    unless_emulated!();
    let records = std::env::var_os("RECORD_SESSIONS").is_some();
    let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sessions");
    let mut paths: Vec<_> =
        fs::read_dir(sessions).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        let recorded = fs::read_to_string(&path).unwrap();
        let mut again = String::new();
        for command in recorded.lines().filter_map(|line| line.strip_prefix("$ ")) {
            if !again.is_empty() {
                again.push('\n');
            }
            again.extend(["$ ", command, "\n", &run(folder.path(), command)]);
        }
        if records {
            fs::write(&path, again).unwrap();
        } else {
            assert_eq!(recorded, again, "{}", path.display());
        }
    }
}
