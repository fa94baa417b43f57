//! `index.json`, which lists all files of the corpus that readers should be tested with, one file a line.
//!
//! Generated files are listed with the facts of their case, and files from elsewhere with the facts that follow from their folder.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry::Vacant;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use zten::finding::{Verdict, clause_of};
use zten::rules::{Generation, Row, Source};
use zten::{ErrorKind, State};

use crate::{Entry, accepted, other};

/// The version of the schema of `index.json`.
const VERSION: u32 = 1;

/// The folders with files for readers, and the generation of the files in them that are not generated; `-` if their content tells
/// it.
const FOLDERS: [(&str, &str); 13] = [
    ("accept", "-"),
    ("accept/0.1.0", "0.1"),
    ("accept/1.0.2", "1.1"),
    ("accept/1.1.1", "1.1"),
    ("accept/1.2.0", "1.2"),
    ("accept/1.2.3", "1.2"),
    ("reject", "-"),
    ("reject/interop", "-"),
    ("quantized", "-"),
    ("v2/2.1", "2"),
    ("v2/accept", "2"),
    ("v2/reject", "2"),
    ("v2/shards", "2"),
];

/// The suffixes of files that describe other files.
const LISTS: [&str; 5] = ["tsv", "ls", "sha256", "md", "py"];

/// A line of `index.json`. Fields without a value are left out.
#[derive(Serialize)]
struct Line<'e> {
    file: &'e str,
    format: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<&'e str>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clause: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    component: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    neighbor: Option<&'e str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    opaque: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<String>,
    sentence: String,
}

/// What opening a file shows in addition to whether the file is valid.
#[derive(Default)]
struct Opened {
    /// The ids of the rules by which the file has notes.
    notes: Vec<&'static str>,
    /// The names of the tensors whose bytes can be read, but are not interpreted.
    opaque: Vec<String>,
    /// The names of the tensors whose bytes are not handed out.
    unread: Vec<String>,
}

impl Opened {
    /// Opens the file at `path`. A file that does not open has neither notes nor tensors.
    fn new(path: &Path) -> Self {
        let Ok(archive) = zten::open(path) else { return Self::default() };
        let findings = archive.findings().iter().map(zten::Finding::error);
        let report = zten::verify::check(&archive, &mut ());
        let findings = findings.chain(report.notes().iter().map(zten::Finding::error));
        let notes = findings.filter(|error| matches!(error.kind(), ErrorKind::Note(_)));
        let mut opened =
            Self { notes: notes.filter_map(zten::Error::rule).collect(), ..Self::default() };
        for tensor in archive.tensors() {
            match tensor.state() {
                State::Opaque => opened.opaque.push(tensor.name().to_owned()),
                State::Unread(_) => opened.unread.push(tensor.name().to_owned()),
                _ => {}
            }
        }
        opened
    }
}

/// Returns the text of `index.json` for the corpus in a folder.
///
/// # Errors
/// Fails if the folder or a file in it cannot be read.
///
/// # Panics
/// Panics if a file breaks a rule that no catalog has, or if a list names a file that is not there.
pub fn index(corpus: &Path) -> io::Result<String> {
    let mut text = format!("{{\"$schema\":\"index.schema.json\",\"version\":{VERSION},\"files\":[");
    let mut separator = "\n";
    for (path, entry) in &all(corpus)? {
        text.push_str(separator);
        let opened = Opened::new(&corpus.join(path));
        text.push_str(&serde_json::to_string(&line(path, entry, opened))?);
        separator = ",\n";
    }
    text.push_str("\n]}\n");
    Ok(text)
}

/// Returns the entry of each file of the corpus in a folder, by its path: those of cases, and those of other origin.
///
/// # Errors
/// Fails if the folder cannot be read.
///
/// # Panics
/// Panics if a list names a file that is not there.
pub fn all(corpus: &Path) -> io::Result<BTreeMap<String, Entry>> {
    let mut entries = crate::entries();
    let formats = fs::read_dir(corpus.join("other"))?.collect::<io::Result<Vec<_>>>()?;
    let formats = formats.iter().map(fs::DirEntry::path).filter(|path| path.is_dir());
    let others = formats.flat_map(|format| [format.join("accept"), format.join("reject")]);
    let others = others.filter(|folder| folder.is_dir()).map(|folder| (folder, "-"));
    let folders = FOLDERS.iter().map(|(folder, generation)| (corpus.join(folder), *generation));
    for (folder, generation) in folders.chain(others) {
        for path in files_in(&folder)? {
            let relative = path.strip_prefix(corpus).expect("it is in the folder");
            let relative = relative.to_str().expect("names are text").replace('\\', "/");
            if let Vacant(place) = entries.entry(relative) {
                let entry = other_format_entry(place.key(), generation, &fs::read(&path)?);
                place.insert(entry);
            }
        }
    }
    for line in fs::read_to_string(corpus.join("reject/interop/index.tsv"))?.lines().skip(1) {
        interop(&line.split('\t').collect::<Vec<_>>(), &mut entries);
    }
    Ok(entries)
}

/// Returns the paths of the files in a folder, without lists that describe other files.
fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let is_list = |path: &Path| {
        let suffix = path.extension().and_then(|suffix| suffix.to_str());
        suffix.is_some_and(|suffix| LISTS.contains(&suffix))
    };
    let paths = entries.iter().map(fs::DirEntry::path);
    Ok(paths.filter(|path| path.is_file() && !is_list(path)).collect())
}

/// Returns the entry of a file that is not generated. Its folder and its content tell the facts.
fn other_format_entry(path: &str, generation: &'static str, bytes: &[u8]) -> Entry {
    let Some(below) = path.strip_prefix("other/") else {
        let sniffed = || crate::generation(path, bytes);
        let generation = if generation == "-" { sniffed() } else { generation };
        let given = path == "quantized/symmetric.zt";
        let options = if given { "tolerate=missing-zeros" } else { "-" };
        return Entry { options: options.to_owned(), ..accepted(generation, None) };
    };
    let (folder, name) = below.split_once('/').expect("it is in a folder");
    let name = name.rsplit('/').next().unwrap_or_default();
    let rule = name.split_once("--").map(|(rule, _)| rule).filter(|_| path.contains("/reject/"));
    Entry {
        format: other::format(folder, name).to_owned(),
        rule: rule.map(str::to_owned),
        options: "-".to_owned(),
        part: rule.is_some_and(|rule| other::is_part(rule, name)),
        ..Entry::default()
    }
}

/// Parses a line of the list of files in which reference writers broke a rule, and replaces the entry of its file in `entries`.
fn interop(columns: &[&str], entries: &mut BTreeMap<String, Entry>) {
    let [file, rule, offset, object, component, stage, options, neighbor] = columns[..] else {
        panic!("{columns:?} are not the columns of a list")
    };
    let neighbor = format!("accept/{neighbor}");
    let generation = entries.get(&neighbor).and_then(|near| near.generation);
    let entry = entries.get_mut(&format!("reject/interop/{file}"));
    let entry = entry.unwrap_or_else(|| panic!("{file} is not there"));
    *entry = Entry {
        format: "ztensor".to_owned(),
        generation,
        rule: Some(rule.to_owned()),
        offset: offset.parse().ok(),
        object: object.parse().ok(),
        component: component.parse().ok(),
        in_content: stage == "content",
        options: options.to_owned(),
        neighbor: Some(neighbor),
        part: false,
    };
}

fn line<'e>(file: &'e str, entry: &'e Entry, opened: Opened) -> Line<'e> {
    let row = entry.rule.as_deref().map(|rule| {
        let mut rows = zten::rules::rows().chain(zten::formats::rules::rows());
        rows.find(|row| row.id() == rule).unwrap_or_else(|| panic!("{file}: no rule {rule}"))
    });
    let staged = entry.format == "ztensor" && row.is_some();
    Line {
        file,
        format: &entry.format,
        generation: entry.generation,
        verdict: match row {
            _ if entry.part => "part",
            Some(row) => Verdict::from(row.class()).as_str(),
            None => "valid",
        },
        rule: entry.rule.as_deref().filter(|_| !entry.part),
        source: row.filter(|_| !entry.part).map(|row| source(row.source())),
        clause: row.filter(|_| !entry.part).map(|row| clause(row, entry.generation)),
        stage: staged.then_some(if entry.in_content { "content" } else { "open" }),
        offset: entry.offset,
        object: entry.object,
        component: entry.component,
        options: Some(&*entry.options).filter(|options| *options != "-"),
        neighbor: entry.neighbor.as_deref().filter(|_| !entry.part),
        notes: opened.notes,
        opaque: opened.opaque,
        unread: opened.unread,
        sentence: match row {
            _ if entry.part => "belongs to another file of its folder".to_owned(),
            // The message of a rule may contain a number that differs from file to file. It is written as N.
            Some(row) => row.broken().replace("{}", "N").replace('`', ""),
            None => "breaks no rule".to_owned(),
        },
    }
}

/// Returns the word of `index.json` for where a rule comes from, such as a specification.
fn source(source: Source) -> &'static str {
    match source {
        Source::Spec(_) => "specification",
        Source::Implied(_) => "implied",
        Source::Fault(_) => "fault",
        _ => "policy",
    }
}

/// Returns the clause of a rule. For a zTensor file it is the clause of the file's generation.
fn clause(row: &Row, generation: Option<&str>) -> String {
    let all = [Generation::V0_1, Generation::V1_1, Generation::V1_2, Generation::V2];
    let generation = all.into_iter().find(|one| Some(one.as_str()) == generation);
    let clauses = row.source().clause();
    generation.map_or_else(|| clauses.to_owned(), |generation| clause_of(clauses, generation))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{LISTS, all, index};

    fn corpus() -> PathBuf {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).to_owned()
    }

    #[test]
    #[cfg_attr(miri, ignore = "it needs the whole corpus")]
    fn the_index_describes_the_corpus() {
        let found = fs::read_to_string(corpus().join("index.json")).unwrap();
        assert!(found == index(&corpus()).unwrap(), "index.json: run zten-corpus");
    }

    /// Collects all files in a folder and below, relative to the corpus.
    fn below(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, found);
            } else {
                let relative = path.strip_prefix(corpus()).unwrap().to_str().unwrap();
                found.insert(relative.replace('\\', "/"));
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it needs the whole corpus")]
    fn index_lists_every_file_and_nothing_else() {
        let mut there = BTreeSet::new();
        below(&corpus(), &mut there);
        let is_list = |path: &str| LISTS.iter().any(|end| path.ends_with(&format!(".{end}")));
        let given = |path: &&String| {
            let aside = ["conventions/", "generator/", "gguf-blocks/", "index."].iter();
            !is_list(path) && !aside.clone().any(|start| path.starts_with(start))
        };
        let there: BTreeSet<&String> = there.iter().filter(given).collect();
        let entries = all(&corpus()).unwrap();
        assert_eq!(entries.keys().collect::<BTreeSet<_>>(), there);
        for (path, entry) in &entries {
            if let Some(near) = &entry.neighbor {
                assert!(entries.contains_key(near), "{path} has no neighbor {near}");
            }
        }
    }
}
