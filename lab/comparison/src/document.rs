//! The document: prose from a template, and tables of what was found.

mod named;
mod rules;
mod summary;
mod translated;

use anyhow::{Context as _, Result, ensure};

use crate::run::Results;
use crate::subjects::Subject;

/// The prose. Tables stand where it says `{{name}}`.
const TEMPLATE: &str = include_str!("document/template.md");
/// What follows is Rust's words, which change with its version.
const NOT_COMPARED: &str = "\n## Messages\n";

/// The document on these results.
pub(crate) fn whole(results: &Results) -> Result<String> {
    let [canonical, limits] = results.left_out;
    let bad = results.translated.iter().filter(|one| one.case.rule.is_some()).count();
    let parts = [
        ("refused", results.refused.len().to_string()),
        ("canonical", canonical.to_string()),
        ("limits", limits.to_string()),
        ("valid", results.valid.len().to_string()),
        ("opens-only", results.opens_only.to_string()),
        ("cases", bad.to_string()),
        ("valid-cases", (results.translated.len() - bad).to_string()),
        ("summary", summary::outcomes(results)),
        ("sources", summary::sources(results)),
        ("groups", summary::groups(results)),
        ("control", summary::control(results)),
        ("control-files", named::control(results)),
        ("rules", rules::table(results)),
        ("named", named::worst(results)),
        ("translated", translated::table(results)),
        ("messages", named::messages(results)),
    ];
    let mut document = TEMPLATE.to_owned();
    for (name, text) in parts {
        let place = format!("{{{{{name}}}}}");
        ensure!(document.contains(&place), "the template has no {place}");
        document = document.replace(&place, text.trim_end());
    }
    ensure!(!document.contains("{{"), "the template asks for what there is not");
    Ok(document)
}

/// A line for each file and reader: file, rule, reader, outcome, words.
pub(crate) fn list(results: &Results) -> String {
    let refused = results.refused.iter().map(|file| (&*file.file, file.row.id, &file.outcomes));
    let valid = results.valid.iter().map(|file| (&*file.file, "valid", &file.outcomes));
    let mut lines = Vec::new();
    for (file, rule, outcomes) in refused.chain(valid) {
        for (subject, outcome) in Subject::ZTENSOR.iter().zip(outcomes) {
            let (kind, words) = (outcome.kind.name(), outcome.words());
            lines.push(format!("{file}\t{rule}\t{}\t{kind}\t{words}\n", subject.key()));
        }
    }
    for one in &results.translated {
        let (kind, words) = (one.outcome.kind.name(), one.outcome.words());
        let rule = one.case.rule.unwrap_or("valid");
        lines.push(format!("{}\t{rule}\tsafetensors\t{kind}\t{words}\n", one.case.name));
    }
    lines.concat()
}

/// The part of a document that is the same wherever it is made.
pub(crate) fn compared(document: &str) -> Result<&str> {
    Ok(document.split_once(NOT_COMPARED).context("no messages")?.0)
}

/// The readers of zTensor files that are not ours, and where their outcomes are.
fn peers() -> impl Iterator<Item = (usize, Subject)> {
    Subject::ZTENSOR.into_iter().enumerate().filter(|(_, subject)| *subject != Subject::Zten)
}

/// A table, of a head and rows of as many cells. The columns from `numbers` on are numbers.
fn table(head: &[&str], numbers: usize, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rule: Vec<_> =
        (0..head.len()).map(|at| if at < numbers { "---" } else { "--:" }.to_owned()).collect();
    let head = head.iter().map(|cell| (*cell).to_owned()).collect();
    let lines = [head, rule].into_iter().chain(rows);
    lines.fold(String::new(), |text, row| text + "| " + &row.join(" | ") + " |\n")
}

/// As code, whatever is in it.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'").replace('|', "\\|"))
}
