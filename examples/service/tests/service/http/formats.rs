//! Tests that the service reports the same about a file of each format as the command reports about the same bytes, alone
//! in a folder and under the same name or under a name without a known suffix.
//!
//! `ZTEN_COMMAND` is the path of the command. Without it, answers are compared with the findings of the library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use zten::finding::{Finding, Verdict, format_name};
use zten::formats::{Detected, recognize};
use zten::verify::check;
use zten::{Error, InMemory};
use zten_report::check::{Report, Scope, Valid, summary, with_notes};
use zten_testkit::{other_formats, read};

use super::client::{post, put};
use super::served::{Served, plenty};

/// A file name that tells no format. A NumPy archive gives this name to an array without a name.
const NAMELESS: &str = "arr_0";

/// Checks the file at `path` with the command, and returns the report without the name of the file.
fn of_command(command: &Path, path: &Path) -> Value {
    let output = Command::new(command).args(["check", "--json"]).arg(path).output().unwrap();
    let mut found: Value = serde_json::from_slice(&output.stdout).unwrap();
    found["file"] = Value::Null;
    found
}

/// Checks the file at `path` with the library only.
fn of_library(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap();
    let recognized = recognize(&InMemory(&bytes[..]), bytes.len() as u64, path).unwrap();
    let detected = recognized.detected(path);
    let misnamed = recognized.misnamed(path).map(Box::new);
    let not_opened = |error: Error| {
        let format = detected.and_then(Detected::name);
        let found = Finding { format, ..Finding::from_error(&error) };
        match &misnamed {
            Some(misnamed) if found.verdict == Verdict::Unsupported => misnamed.clone(),
            _ => Box::new(found),
        }
    };
    let found = zten::open(path).map_err(not_opened).and_then(|archive| {
        if let Some(misnamed) = &misnamed {
            return Err(misnamed.clone());
        }
        let manifest = archive.manifest();
        let report = check(&archive, &mut ());
        match report.fault() {
            None => {
                let (verdict, message) = summary(manifest, Scope::All, false, archive.file_len());
                let notes = report.all_notes(manifest);
                let message = with_notes(message, notes.len());
                Ok((verdict, message, format_name(manifest), notes))
            }
            Some(fault) => Err(Box::new(fault.finding(manifest))),
        }
    });
    let report = match &found {
        Ok((verdict, message, format, notes)) => {
            Report::valid(&Valid { verdict: *verdict, format, message, notes })
        }
        Err(finding) => Report::found(finding, None),
    };
    serde_json::to_value(report).unwrap()
}

#[test]
fn the_verdict_is_that_of_the_command() {
    let command = std::env::var_os("ZTEN_COMMAND").map(PathBuf::from);
    let served = Served::honest(plenty());
    let folder = tempfile::tempdir().unwrap();
    let files = [other_formats("accept"), other_formats("reject")].concat();
    let (mut valid, mut as_named) = (0, 0);
    for (file, is_named) in files.iter().flat_map(|file| [(file, false), (file, true)]) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let path = folder.path().join(if is_named { name } else { NAMELESS });
        fs::copy(file, &path).unwrap();
        let bytes = fs::read(file).unwrap();
        let answer =
            if is_named { put(served.address, name, &bytes) } else { post(served.address, &bytes) };
        let mut answer = answer.body;
        let mut wanted = match &command {
            Some(command) => of_command(command, &path),
            None => of_library(&path),
        };
        fs::remove_file(&path).unwrap();
        if command.is_none() {
            // The library reports only the first finding, so the number of further findings is not compared, nor are
            // the notes of a file that is not valid.
            wanted["more"] = answer["more"].take();
            answer["more"] = wanted["more"].clone();
            if answer["verdict"] != "valid" {
                wanted["notes"] = answer["notes"].clone();
            }
        }
        assert_eq!(answer, wanted, "{}", file.display());
        valid += usize::from(answer["verdict"] == "valid");
        as_named +=
            usize::from(name.split_once("--").is_some_and(|(rule, _)| answer["rule"] == rule));
    }
    assert!(valid > 90 && as_named > 280, "{valid} valid, {as_named} as named, {}", files.len());
}

/// Checks that the file name identifies an index (`*.index.json`), and that the files that it names are reported as missing. An
/// index that names no files is valid, and an index without its file name is a file of an unknown format.
#[test]
fn an_index_is_told_by_its_name() {
    let served = Served::honest(plenty());
    let index = read("other/index/accept/two.index.json");
    let answer = post(served.address, &index);
    assert_eq!(answer.status, 200);
    let wanted = json!({
        "schema": 2, "file": null, "verdict": "unsupported", "format": null, "rule": "format-unknown",
    });
    for (key, value) in wanted.as_object().unwrap() {
        assert_eq!(&answer.body[key], value, "{answer:?}");
    }
    let named = put(served.address, "two.index.json", &index).body;
    assert_eq!(
        (&named["rule"], &named["format"]),
        (&json!("index-file"), &json!("safetensors-index"))
    );
    let empty = read("other/index/accept/none.index.json");
    assert_eq!(put(served.address, "none.index.json", &empty).text("verdict"), "valid");
}
