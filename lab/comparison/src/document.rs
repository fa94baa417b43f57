//! The document: prose from a template, and tables of what was found.

mod named;
mod rules;
mod summary;
mod translated;

use anyhow::{Context as _, Result, ensure};

use crate::run::{Results, Round};
use crate::subjects::Subject;

/// The prose. Tables stand where it says `{{name}}`.
const TEMPLATE: &str = include_str!("document/template.md");
/// What follows is Rust's words, which change with its version.
const NOT_COMPARED: &str = "\n## Messages\n";

/// The document on these results.
pub(crate) fn whole(results: &Results) -> Result<String> {
    let Results { up_to_1, of_2, translated } = results;
    let faults = translated.iter().filter(|one| one.case.rule.is_some()).count();
    let numbers = [("", up_to_1), ("2-", of_2)].into_iter().flat_map(|(of, round)| {
        let [canonical, limits] = round.left_out;
        [
            (format!("{of}refused"), round.refused.len()),
            (format!("{of}canonical"), canonical),
            (format!("{of}limits"), limits),
            (format!("{of}valid"), round.valid.len()),
            (format!("{of}opens-only"), round.opens_only),
        ]
    });
    let cases = [("cases", faults), ("valid-cases", translated.len() - faults)];
    let numbers = numbers.chain(cases.map(|(name, number)| (name.to_owned(), number)));
    let tables = [
        ("summary", summary::outcomes(up_to_1)),
        ("sources", summary::sources(up_to_1, "a later specification")),
        ("groups", summary::groups(up_to_1)),
        ("control", summary::control(up_to_1)),
        ("control-files", named::control(up_to_1)),
        ("rules", rules::table(up_to_1)),
        ("named", named::worst(up_to_1)),
        ("2-summary", summary::outcomes(of_2)),
        ("2-sources", summary::sources(of_2, "a layout that it does not know")),
        ("2-groups", summary::groups(of_2)),
        ("2-control", summary::control(of_2)),
        ("2-control-files", named::refused(of_2)),
        ("translated", translated::table(results)),
        ("messages", named::messages(up_to_1)),
    ];
    let parts = numbers
        .map(|(name, number)| (name, number.to_string()))
        .chain(tables.map(|(name, table)| (name.to_owned(), table)));
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
    let mut lines = Vec::new();
    for round in [&results.up_to_1, &results.of_2] {
        let refused = round.refused.iter().map(|file| (&*file.file, file.row.id, &file.outcomes));
        let valid = round.valid.iter().map(|file| (&*file.file, "valid", &file.outcomes));
        for (file, rule, outcomes) in refused.chain(valid) {
            for (subject, outcome) in round.readers.iter().zip(outcomes) {
                let (kind, words) = (outcome.kind.name(), outcome.words());
                lines.push(format!("{file}\t{rule}\t{}\t{kind}\t{words}\n", subject.key()));
            }
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
fn peers(round: &Round) -> impl Iterator<Item = (usize, Subject)> {
    let readers = round.readers.iter().copied().enumerate();
    readers.filter(|(_, subject)| *subject != Subject::Zten)
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
