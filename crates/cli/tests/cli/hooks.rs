//! Tests of the integrations that run the command: `action.yml` and `.pre-commit-hooks.yaml`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::{command, corpus_folder, json_lines};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Runs the script of the action with the given inputs.
fn act(paths: &str, options: &str, to: &Path) -> Output {
    let own = Path::new(command().get_program()).parent().unwrap().to_owned();
    let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap());
    Command::new(root().join(".ci/action"))
        .env("PATH", path)
        .env("ZTEN_PATHS", paths)
        .env("ZTEN_OPTIONS", options)
        .env("ZTEN_SARIF", to.join("zten.sarif"))
        .env("GITHUB_OUTPUT", to.join("output"))
        .current_dir(corpus_folder())
        .output()
        .unwrap()
}

#[test]
fn the_action_writes_sarif_and_ends_as_the_command_does() {
    unless_emulated!();
    let folder = tempfile::tempdir().unwrap();
    let results = || {
        let written = fs::read(folder.path().join("zten.sarif")).unwrap();
        let [document] = json_lines(&written).try_into().unwrap();
        document["runs"][0]["results"].as_array().unwrap().len()
    };
    let valid = act("accept/1.2.3\nv2/accept/dense.zt\n", "--limit\nwindow=1G", folder.path());
    assert_eq!((valid.status.code(), results()), (Some(0), 0), "{valid:?}");
    let rejected = act("reject/blob-alignment--v12-72.zt", "", folder.path());
    assert_eq!((rejected.status.code(), results()), (Some(1), 1), "{rejected:?}");
    assert!(String::from_utf8_lossy(&rejected.stdout).ends_with("  blob-alignment: 1\n"));
    let unread = "accept/unsupported-dtype--v01-unknown.zt";
    let unsupported = act(unread, "", folder.path());
    assert_eq!((unsupported.status.code(), results()), (Some(3), 1), "{unsupported:?}");
    let allowed = act(unread, "--allow-unsupported", folder.path());
    assert_eq!((allowed.status.code(), results()), (Some(0), 1), "{allowed:?}");
    // A path is never parsed as an option, nor as more than one path.
    let missing = act("--no such; $(file)", "", folder.path());
    assert_eq!((missing.status.code(), results()), (Some(2), 1), "{missing:?}");
    let output = fs::read_to_string(folder.path().join("output")).unwrap();
    assert!(output.lines().all(|line| line.starts_with("sarif=/")), "{output}");
}

#[test]
fn the_hook_and_action_files_name_what_exists() {
    let action = fs::read_to_string(root().join("action.yml")).unwrap();
    for name in [
        "ZTEN_PATHS: ${{ inputs.paths }}",
        "ZTEN_POLICY: ${{ inputs.policy }}",
        "/.ci/action",
        "using: composite",
    ] {
        assert!(action.contains(name), "{name}");
    }
    // The script reads its inputs only from the environment.
    let script = action.split("run:").nth(1).unwrap();
    assert!(!script.contains("${{"), "{script}");
    let hook = fs::read_to_string(root().join(".pre-commit-hooks.yaml")).unwrap();
    let entry = hook.lines().find_map(|line| line.trim().strip_prefix("entry: ")).unwrap();
    // pre-commit passes the files that match `files` to the hook. They include every file that may contain weights, even
    // without a suffix.
    let files = hook.lines().find_map(|line| line.trim().strip_prefix("files: ")).unwrap();
    let pattern = regex_lite::Regex::new(files).unwrap();
    for name in [
        "a.zt",
        "a/b.safetensors",
        "pytorch_model.bin",
        "x.PT",
        "x.pth.tar",
        "x.dill",
        "x.p",
        "x.dat",
        "weights",
        "a.b/blob",
        "m.index.json",
        "x.onnx",
        "LICENSE",
    ] {
        assert!(pattern.is_match(name), "{name}");
    }
    for name in ["README.md", "src/main.rs", "config.json", ".gitignore"] {
        assert!(!pattern.is_match(name), "{name}");
    }
    let mut words = entry.split(' ');
    assert_eq!(words.next(), Some("zten"));
    let files = ["accept/1.2.3/scalar.zt", "accept/1.2.3/dense_all.zt"];
    let output = command().args(words).args(files).current_dir(corpus_folder()).output().unwrap();
    assert!(output.status.success());
}
