//! `zten check` on every file of the corpus.

use std::fs;

use crate::{corpus_folder, ended, in_corpus, json_lines, succeeded_text};

/// All accepted files, by their path in the corpus.
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

/// Whether an accepted file holds what only its writer knows, and which rule says so.
pub(super) fn foreign(file: &str) -> Option<&'static str> {
    if file.contains("-unverifiable-") {
        return Some("unsupported-digest");
    }
    ["unsupported-dtype", "unsupported-encoding", "unsupported-layout"]
        .into_iter()
        .find(|rule| file.contains(&format!("/{rule}--")))
}

#[test]
fn accepts_the_good_ones() {
    let files = accepted();
    let (foreign, plain): (Vec<_>, Vec<_>) = files.iter().partition(|file| foreign(file).is_some());
    let plain: Vec<&str> = plain.into_iter().map(String::as_str).collect();
    let text = succeeded_text(in_corpus(&[&["check"], plain.as_slice()].concat()));
    assert_eq!(text.lines().count(), plain.len());
    for (line, file) in text.lines().zip(&plain) {
        assert!(line.starts_with(&format!("{file}: valid (")), "{line}");
    }
    let foreign: Vec<&str> = foreign.into_iter().map(String::as_str).collect();
    assert!(!foreign.is_empty());
    let manifest_only = [&["check", "--manifest-only"], foreign.as_slice()].concat();
    let text = succeeded_text(in_corpus(&manifest_only));
    assert!(text.lines().all(|line| line.contains(": manifest valid (")));
}

#[test]
fn reports_what_only_the_writer_knows() {
    for file in accepted() {
        let Some(rule) = foreign(&file) else { continue };
        let output = in_corpus(&["check", "--json", &file]);
        let (status, _, complaint) = ended(&output);
        assert_eq!((status, complaint), (Some(3), ""), "{file}");
        let line = &json_lines(&output.stdout)[0];
        assert_eq!((&line["rule"], &line["verdict"]), (&rule.into(), &"unsupported".into()));
        assert!(line["object"].is_string());
        assert_eq!(in_corpus(&["ls", &file]).status.code(), Some(0));
    }
}

/// One row of the index of refused files.
struct Row {
    file: String,
    rule: String,
    offset: Option<u64>,
    object: bool,
    options: String,
}

fn refused() -> Vec<Row> {
    let index = fs::read_to_string(corpus_folder().join("reject/index.tsv")).unwrap();
    let rows: Vec<_> = index
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<_> = line.split('\t').collect();
            Row {
                file: format!("reject/{}", cells[0]),
                rule: cells[1].to_owned(),
                offset: cells[2].parse().ok(),
                object: cells[3] != "-",
                options: cells[6].to_owned(),
            }
        })
        .collect();
    assert!(rows.len() > 1000);
    rows
}

#[test]
fn refuses_the_others_by_the_right_rule() {
    let rows = refused();
    let plain: Vec<_> = rows.iter().filter(|row| row.options == "-").collect();
    let mut args = vec!["check", "--json"];
    args.extend(plain.iter().map(|row| row.file.as_str()));
    let output = in_corpus(&args);
    assert_eq!((output.status.code(), ended(&output).2), (Some(1), ""));
    let lines = json_lines(&output.stdout);
    assert_eq!(lines.len(), plain.len());
    let mut named = 0;
    let mut wrong = Vec::new();
    for (line, row) in lines.iter().zip(&plain) {
        let verdict = match row.rule.split_once('-') {
            Some(("unsupported", _)) => "unsupported",
            Some(("limit", _)) => "limit",
            _ => "refused",
        };
        assert_eq!(line["file"], *row.file);
        if line["rule"] != *row.rule
            || line["verdict"] != verdict
            || line["offset"].as_u64() != row.offset
        {
            wrong.push(format!("{} {}: {line}", row.file, row.rule));
        }
        let message = line["message"].as_str().unwrap();
        if let Some(rule) = line["rule"].as_str() {
            assert!(message.contains(&format!("(rule {rule}, ")), "{message}");
        }
        // The name itself may be what is wrong: then there is only its number.
        assert!(row.object || line["object"].is_null(), "{}", row.file);
        named += usize::from(line["object"].is_string());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let objects = plain.iter().filter(|row| row.object).count();
    assert!(named * 100 > objects * 95, "{named} of {objects} objects have names");
}

#[test]
fn refuses_with_options() {
    let mut tried = 0;
    for row in refused().iter().filter(|row| row.options != "-") {
        let (name, value) = row.options.split_once('=').unwrap();
        let option = match name {
            "canonical" => "--canonical".to_owned(),
            _ => format!("--{name}={}", value.replace(':', "=")),
        };
        let output = in_corpus(&["check", "--json", &option, &row.file]);
        assert_eq!(output.status.code(), Some(1), "{}", row.file);
        let line = &json_lines(&output.stdout)[0];
        assert_eq!(line["rule"], *row.rule, "{}", row.file);
        assert_eq!(line["offset"].as_u64(), row.offset, "{}", row.file);
        assert_eq!(line["object"].is_string(), row.object, "{}", row.file);
        tried += 1;
    }
    assert!(tried > 10);
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
