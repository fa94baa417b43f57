//! Writes the document: text from a template, and tables of the results.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use crate::group::{GROUPS, group};
use crate::outcome::Kind;
use crate::readers::{READERS, Reader, ZTEN};
use crate::run::Given;
use crate::suite::Expected;

/// The text of the document, in which each `{{name}}` is replaced by a table.
const TEMPLATE: &str = include_str!("template.md");

/// The formats, in the order of the rows that begin with them.
const KINDS: [&str; 11] = [
    "ztensor 0.1",
    "ztensor 1.1",
    "ztensor 1.2",
    "ztensor 2",
    "safetensors",
    "safetensors-index",
    "gguf",
    "npy",
    "npz",
    "torch",
    "other",
];

/// Returns the document about these results.
///
/// # Errors
/// A file has a format that no table has.
pub(crate) fn document(results: &[Given]) -> Result<String> {
    for one in results {
        ensure!(KINDS.contains(&&*one.entry.kind()), "{}: a new format", one.entry.file);
    }
    let compared = results.iter().filter(|one| !one.outcomes.is_empty()).count();
    let parts = [
        ("files", results.len().to_string()),
        ("ours-alone", (results.len() - compared).to_string()),
        ("readers", readers()),
        ("outcomes", outcomes(results)),
        ("groups", groups(results)),
    ];
    Ok(parts.iter().fold(TEMPLATE.to_owned(), |text, (name, part)| {
        text.replace(&format!("{{{{{name}}}}}"), part.trim_end())
    }))
}

/// Returns a line for each file and reader: the file, the expected outcome, the reader, the outcome, and the message.
pub(crate) fn list(results: &[Given]) -> String {
    let lines = results.iter().flat_map(|Given { entry, outcomes }| {
        outcomes.iter().map(|(reader, outcome)| {
            let expected = entry.rule.as_deref().unwrap_or("valid");
            let (kind, words) = (outcome.kind.name(), outcome.description());
            format!("{}\t{expected}\t{}\t{kind}\t{words}\n", entry.file, reader.key)
        })
    });
    lines.collect()
}

/// Returns the table of readers and the functions that they call.
fn readers() -> String {
    let rows = READERS.iter().chain([&ZTEN]);
    let rows = rows.map(|reader| vec![reader.name.to_owned(), reader.calls.to_owned()]);
    table(&["reader", "calls"], 2, rows)
}

/// Returns a table of the number of files with each outcome, by format, expected outcome and reader.
fn outcomes(results: &[Given]) -> String {
    let mut counts: BTreeMap<(usize, Expected, usize), [usize; Kind::COLUMNS.len()]> =
        BTreeMap::new();
    for Given { entry, outcomes } in results {
        let format = KINDS.iter().position(|kind| *kind == entry.kind()).unwrap_or_default();
        for (reader, outcome) in outcomes {
            let reader = position(reader);
            let row = counts.entry((format, entry.expected(), reader)).or_default();
            for (count, column) in row.iter_mut().zip(Kind::COLUMNS) {
                *count += usize::from(column == outcome.kind.column());
            }
        }
    }
    let head = [&["format", "files that are", "reader"][..], &Kind::COLUMNS].concat();
    let rows = counts.iter().map(|((format, expected, reader), counts)| {
        let name = READERS.get(*reader).unwrap_or(&ZTEN).name;
        let first = [KINDS[*format], expected.name(), name].map(str::to_owned).into_iter();
        first.chain(counts.iter().map(|count| cell(*count))).collect()
    });
    table(&head, 3, rows)
}

/// Returns a section for each family of formats, with a table of how many of the invalid files each reader did not reject, by the
/// subject of the rule. A family has only the readers that were given its files.
fn groups(results: &[Given]) -> String {
    let families: [(&str, &[&str]); 6] = [
        ("zTensor 0.1 and 1.x", &["ztensor 0.1", "ztensor 1.1", "ztensor 1.2"]),
        ("zTensor 2", &["ztensor 2"]),
        ("safetensors", &["safetensors"]),
        ("GGUF", &["gguf"]),
        ("NumPy", &["npy", "npz"]),
        ("PyTorch", &["torch"]),
    ];
    families.iter().fold(String::new(), |text, (family, kinds)| {
        let is_of = |one: &&Given| {
            kinds.contains(&&*one.entry.kind()) && one.entry.expected().is_rejected()
        };
        let of: Vec<&Given> = results.iter().filter(is_of).collect();
        let is_given = |reader: &&Reader| of.iter().any(|one| outcome(one, reader).is_some());
        let readers: Vec<&Reader> = READERS.iter().filter(is_given).collect();
        let head: Vec<&str> =
            std::iter::once("group").chain(readers.iter().map(|reader| reader.name)).collect();
        let rows = GROUPS.iter().filter_map(|name| {
            let is_in = |one: &&&Given| {
                let Given { entry, outcomes } = one;
                let rule = entry.rule.as_deref().unwrap_or_default();
                !outcomes.is_empty() && group(&entry.format, rule) == *name
            };
            let of: Vec<&Given> = of.iter().filter(is_in).copied().collect();
            let cells = readers.iter().map(|reader| {
                let kinds: Vec<Kind> = of.iter().filter_map(|one| outcome(one, reader)).collect();
                let passed = kinds.iter().filter(|kind| !kind.is_rejection()).count();
                if kinds.is_empty() {
                    "-".to_owned()
                } else {
                    format!("{passed} of {}", kinds.len())
                }
            });
            let row = std::iter::once((*name).to_owned()).chain(cells).collect();
            (!of.is_empty()).then_some(row)
        });
        text + &format!("### {family}\n\n{}\n", table(&head, 1, rows))
    })
}

/// Returns the outcome of a file with a reader, or `None` if the reader was not given the file.
fn outcome(given: &Given, reader: &Reader) -> Option<Kind> {
    let (_, outcome) = given.outcomes.iter().find(|(other, _)| *other == reader)?;
    Some(outcome.kind)
}

/// Returns the position of a reader in the tables. zten is the last one.
fn position(reader: &Reader) -> usize {
    READERS.iter().position(|other| other == reader).unwrap_or(READERS.len())
}

/// Returns a number as text, or a dot for 0.
fn cell(count: usize) -> String {
    if count == 0 { "·".to_owned() } else { count.to_string() }
}

/// Returns a table with a head, and rows of as many cells. The columns from `numbers` on are numbers.
fn table(head: &[&str], numbers: usize, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rule: Vec<_> =
        (0..head.len()).map(|at| if at < numbers { "---" } else { "--:" }.to_owned()).collect();
    let head = head.iter().map(|cell| (*cell).to_owned()).collect();
    let lines = [head, rule].into_iter().chain(rows);
    lines.fold(String::new(), |text, row| text + "| " + &row.join(" | ") + " |\n")
}
