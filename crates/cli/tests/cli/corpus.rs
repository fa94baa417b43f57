//! Tests that `zten check` gives each file of the corpus the verdict that the index of the corpus lists.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::schema::Schema;
use crate::{corpus_folder, ended, in_corpus, json_lines, succeeded_text};

/// Returns the paths of all zTensor files below `accept` in the corpus, which are the accepted files of generations before 2.
pub(super) fn accepted() -> Vec<String> {
    let mut files = Vec::new();
    let root = corpus_folder().join("accept");
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "zt") {
                let relative = path.strip_prefix(corpus_folder()).unwrap();
                files.push(relative.to_str().unwrap().to_owned());
            }
        }
    }
    assert!(files.len() > 300);
    files
}

/// Returns the rule that makes the accepted file `file` unsupported, or `None` if zten can read all of it. An unsupported
/// file is listed in `opens-only.tsv` or has the rule in its name.
pub(super) fn expected_rule(file: &str) -> Option<&'static str> {
    if file.contains("-unverifiable-") {
        return Some("unsupported-digest");
    }
    let rules =
        ["unsupported-dtype", "unsupported-encoding", "unsupported-layout", "unsupported-digest"];
    let listed = OPENS_ONLY.lines().find_map(|row| {
        let (listed, rule) = row.split_once('\t')?;
        (file.strip_prefix("accept/") == Some(listed)).then_some(rule)
    });
    rules.into_iter().find(|rule| listed == Some(*rule) || file.contains(&format!("/{rule}--")))
}

/// The accepted files that open although part of their content cannot be read. Each line contains a file and a rule.
const OPENS_ONLY: &str = include_str!("../../../../corpus/accept/opens-only.tsv");

#[test]
fn rules_of_writers_are_reported() {
    let files = accepted();
    let unsupported: Vec<_> =
        files.iter().filter_map(|file| Some((file.as_str(), expected_rule(file)?))).collect();
    assert!(!unsupported.is_empty());
    for (file, rule) in &unsupported {
        let output = in_corpus(&["check", "--json", file]);
        let (status, _, complaint) = ended(&output);
        assert_eq!((status, complaint), (Some(3), ""), "{file}");
        let line = &json_lines(&output.stdout)[0];
        assert_eq!((&line["rule"], &line["verdict"]), (&(*rule).into(), &"unsupported".into()));
        assert!(line["object"].is_string());
        assert_eq!(in_corpus(&["ls", file]).status.code(), Some(0));
    }
    let manifests = ["check", "--manifest-only"].into_iter();
    let args: Vec<&str> = manifests.chain(unsupported.iter().map(|(file, _)| *file)).collect();
    let text = succeeded_text(in_corpus(&args));
    assert!(text.lines().all(|line| line.contains(": manifest valid (")));
}

/// Checks that the command gives each file the verdict, rule and offset that the index of the corpus lists.
#[test]
fn check_gives_the_verdicts_of_the_index() {
    let index = fs::read_to_string(corpus_folder().join("index.json")).unwrap();
    let index: Value = serde_json::from_str(&index).unwrap();
    assert!(Schema::at("../../corpus/index.schema.json").allows_whole(&index));
    let mut by_options: BTreeMap<Option<&str>, Vec<&Value>> = BTreeMap::new();
    for entry in index["files"].as_array().unwrap() {
        if entry["verdict"] != "part" {
            by_options.entry(entry["options"].as_str()).or_default().push(entry);
        }
    }
    assert!(by_options[&None].len() > 3000 && by_options.len() > 10);
    let mut wrong = Vec::new();
    for (options, entries) in by_options {
        let option = options.map(|options| match options.split_once('=').unwrap() {
            ("canonical", _) => "--canonical".to_owned(),
            (name, value) => format!("--{name}={}", value.replace(':', "=")),
        });
        for entries in entries.chunks(1000) {
            let files = entries.iter().map(|entry| entry["file"].as_str().unwrap());
            let args: Vec<&str> =
                ["check", "--json"].into_iter().chain(option.as_deref()).chain(files).collect();
            let lines = json_lines(&in_corpus(&args).stdout);
            assert_eq!(lines.len(), entries.len());
            let differ = entries.iter().zip(&lines).filter(|(entry, line)| !agrees(entry, line));
            wrong.extend(differ.map(|(entry, line)| format!("{entry}\n  {line}")));
        }
    }
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns whether a line of the command agrees with the fields that the index has for a file.
fn agrees(entry: &Value, line: &Value) -> bool {
    let rule = &entry["rule"];
    let same = |key: &str| entry[key] == line[key];
    // The oracle gives no offsets for files of other formats, and an unsupported feature may occur in several positions.
    let is_placed = entry["format"] == "ztensor" && entry["verdict"] != "unsupported";
    let generation = entry["generation"].as_str().unwrap_or_default();
    let is_valid = entry["verdict"] == "valid";
    let message = line["message"].as_str().unwrap();
    // If the name of the object is itself invalid, the finding has only the object's ordinal.
    let is_named = !entry["object"].is_null() || line["object"].is_null();
    same("file")
        && same("verdict")
        && *rule == line["rule"]
        && (!is_placed || same("offset") && is_named)
        && (!is_valid || same("format"))
        && (!is_valid || message.contains(&format!("({generation}, ")) || generation.is_empty())
        && (is_valid || message.contains(&format!("(rule {}, ", rule.as_str().unwrap())))
}

#[test]
fn accepts_the_canonical_ones_as_such() {
    let files = accepted();
    let canonical: Vec<&str> =
        files.iter().map(String::as_str).filter(|file| file.contains("/canonical--")).collect();
    assert!(canonical.len() > 20);
    let text =
        succeeded_text(in_corpus(&[&["check", "--canonical"], canonical.as_slice()].concat()));
    for (line, file) in text.lines().zip(&canonical) {
        assert!(line.starts_with(&format!("{file}: valid and canonical (1.2, ")), "{line}");
    }
    assert_eq!(text.lines().count(), canonical.len());
}
