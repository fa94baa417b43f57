//! The test corpus of `zten`: small files that each break one rule, and their valid neighbors.
//!
//! Every invalid file is a small change of a valid one. [`files`] returns all files, together with the index that lists the rule
//! that each file breaks and the location of the error. The program writes them into the corpus.
//!
//! Other tests use the builders, too. They share no code with the library.
#![expect(
    clippy::missing_panics_doc,
    clippy::return_self_not_must_use,
    reason = "a builder that contradicts itself panics, and none is of use alone"
)]

pub mod base;
mod canonical;
mod cases;
pub mod cbor;
pub mod file;
mod hosts;
#[cfg(feature = "index")]
pub mod index;
pub mod other;
pub mod sha256;
mod table;
pub mod v2;
pub mod zstd;

use std::collections::BTreeMap;
use std::fmt::Write;

use file::Built;
use other::Case;
use table::{Reject, RejectV2, Sharded, Table};

/// The largest size of a file in the corpus, except for lists.
const LARGEST: usize = 1 << 20;

/// One file of the corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The path, relative to the corpus.
    pub path: String,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

/// The facts about one file that its line in `index.json` gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The name of the format, as in `zten check --json`; `other` for a format that zten does not read.
    pub format: String,
    /// The generation of a zTensor file.
    pub generation: Option<&'static str>,
    /// The rule that the file breaks, or the feature that zten does not support; `None` for a valid file.
    pub rule: Option<String>,
    /// The offset at which the error is expected.
    pub offset: Option<usize>,
    /// The ordinal of the object that the error names.
    pub object: Option<usize>,
    /// The ordinal in its object of the component that the error names.
    pub component: Option<usize>,
    /// True if the file opens, and is rejected only when its content is read.
    pub in_content: bool,
    /// The options with which a reader rejects the file; `-` for the defaults.
    pub options: String,
    /// The path of the valid file that it differs from.
    pub neighbor: Option<String>,
    /// True if the file exists only for another file, and has no verdict of its own.
    pub part: bool,
}

/// The files by their paths, and the entries of the files for readers.
#[derive(Default)]
struct Corpus {
    files: BTreeMap<String, Vec<u8>>,
    entries: BTreeMap<String, Entry>,
}

/// Returns every generated file of the corpus in order of path, including the lists, such as `reject/index.tsv` and
/// `accept/opens-only.tsv`.
///
/// # Panics
///
/// Panics if the tables contradict themselves: two files of one name, a neighbor that does not exist, or
/// a rule whose offset nothing says.
pub fn files() -> Vec<Output> {
    let files = Corpus::new().files.into_iter();
    files.map(|(path, bytes)| Output { path, bytes }).collect()
}

/// Returns the entry of each generated file, by its path.
///
/// # Panics
///
/// Panics where [`files`] does.
pub fn entries() -> BTreeMap<String, Entry> {
    Corpus::new().entries
}

impl Corpus {
    fn new() -> Self {
        let mut table = Table::default();
        cases::all(&mut table);
        let mut corpus = Self::default();
        corpus.ztensor_1(&mut table);
        corpus.ztensor_2(&table);
        corpus.sharded(&table);
        let cases = other::all();
        for case in &cases {
            let neighbor = nearest(case, &cases).map(Case::path);
            let entry = Entry {
                format: other::format(case.folder, &case.name).to_owned(),
                rule: case.rule.filter(|rule| !rule.is_empty()).map(str::to_owned),
                options: "-".to_owned(),
                neighbor,
                part: case.is_part(),
                ..Entry::default()
            };
            corpus.add(case.path(), case.bytes.clone(), Some(entry));
        }
        corpus
    }

    /// Adds a file, and its entry unless it is a list.
    fn add(&mut self, path: String, bytes: Vec<u8>, entry: Option<Entry>) {
        let is_case = entry.is_some();
        assert!(bytes.len() <= LARGEST || !is_case, "{path} is too large: {} bytes", bytes.len());
        assert!(self.files.insert(path.clone(), bytes).is_none(), "{path} is there twice");
        if let Some(entry) = entry {
            self.entries.insert(path, entry);
        }
    }

    /// Adds a zTensor file that breaks a rule, with the format and the generation of its neighbor, which must have been added
    /// before.
    fn reject(&mut self, path: String, bytes: Vec<u8>, mut entry: Entry) {
        let near = entry.neighbor.as_ref().and_then(|path| self.entries.get(path));
        let near = near.unwrap_or_else(|| panic!("{path} has no neighbor {:?}", entry.neighbor));
        assert!(near.rule.is_none() || near.in_content, "{path} has a neighbor that is none");
        assert!(entry.offset.is_some() || entry.in_content, "nothing says where {path} points");
        (entry.format, entry.generation) = (near.format.clone(), near.generation);
        self.add(path, bytes, Some(entry));
    }

    /// Adds the files of generations 0.1 and 1.x, and their lists.
    fn ztensor_1(&mut self, table: &mut Table) {
        table.opens_only.sort();
        let mut list = String::from("file\twhy\n");
        for (name, why) in &table.opens_only {
            // Writing to a string cannot fail.
            let _ = writeln!(list, "{name}.zt\t{why}");
        }
        self.add("accept/opens-only.tsv".to_owned(), list.into_bytes(), None);
        for (name, file) in &table.accept {
            let why = table.opens_only.iter().find(|(other, _)| other == name).map(|(_, why)| *why);
            let bytes = file.build("").bytes;
            let entry = accepted(generation(name, &bytes), why);
            self.add(format!("accept/{name}.zt"), bytes, Some(entry));
        }
        for Reject { rule, case, file, neighbor, options } in &table.reject {
            let built = file.build(rule);
            let neighbor = Some(format!("accept/{neighbor}.zt"));
            let entry = Entry { options: options.clone(), neighbor, ..broken(rule, &built) };
            self.reject(format!("reject/{rule}--{case}.zt"), built.bytes, entry);
        }
        self.list("reject/", true);
    }

    /// Adds the files of generation 2 and their lists, in folders of their own.
    fn ztensor_2(&mut self, table: &Table) {
        let mut list = String::from("file\twhy\n");
        for (name, file, why) in &table.accept_v2 {
            if let Some(why) = why {
                let _ = writeln!(list, "{name}.zt\t{why}");
            }
            let entry = accepted("2", *why);
            self.add(format!("v2/accept/{name}.zt"), file.build("").bytes, Some(entry));
        }
        self.add("v2/accept/opens-only.tsv".to_owned(), list.into_bytes(), None);
        for RejectV2 { rule, case, file, neighbor } in &table.reject_v2 {
            let built = file.build(rule);
            let options = if rule.starts_with("canonical-") { "canonical=yes" } else { "-" };
            let neighbor = Some(format!("v2/accept/{neighbor}.zt"));
            let entry = Entry { options: options.to_owned(), neighbor, ..broken(rule, &built) };
            self.reject(format!("v2/reject/{rule}--v2-{case}.zt"), built.bytes, entry);
        }
        self.list("v2/reject/", true);
    }

    /// Adds the roots of generation 2 with their shards, which are named `STEM-NAME.zt` next to `STEM.zt`, and their list.
    fn sharded(&mut self, table: &Table) {
        let folder = "v2/shards/";
        for Sharded { name, root, files, rule, options, neighbor } in &table.sharded {
            let valid = |near: &&Sharded| near.rule.is_none() && near.name == *neighbor;
            let known = table.sharded.iter().any(|near| valid(&near));
            assert!(known || *neighbor == "-", "{name} has no neighbor {neighbor}");
            let built = root.build("");
            let entry = Entry {
                offset: built.offset,
                object: built.object,
                component: built.component,
                options: (*options).to_owned(),
                neighbor: known.then(|| format!("{folder}{neighbor}.zt")),
                ..accepted("2", *rule)
            };
            self.add(format!("{folder}{name}.zt"), built.bytes, Some(entry));
            for (shard, bytes) in files {
                let part = Entry { part: true, ..accepted("2", None) };
                self.add(format!("{folder}{name}-{shard}.zt"), bytes.clone(), Some(part));
            }
        }
        self.list(folder, false);
    }

    /// Adds the list of the files in a folder. If `staged` is true, the list says at which stage each error appears.
    fn list(&mut self, folder: &str, staged: bool) {
        let stage = |of: &'static str| if staged { of } else { "" };
        let mut list = format!(
            "file\trule\toffset\tobject\tcomponent{}\toptions\tneighbor\n",
            stage("\tstage")
        );
        let number = |value: Option<usize>| value.map_or("-".to_owned(), |value| value.to_string());
        for (path, entry) in &self.entries {
            let Some(name) = path.strip_prefix(folder).filter(|_| !entry.part) else { continue };
            let (rule, options) = (entry.rule.as_deref().unwrap_or("-"), &entry.options);
            let place = [entry.offset, entry.object, entry.component].map(number).join("\t");
            let stage = stage(if entry.in_content { "\tcontent" } else { "\topen" });
            let near = entry.neighbor.as_deref().and_then(|path| path.rsplit('/').next());
            let near = near.unwrap_or("-");
            let _ = writeln!(list, "{name}\t{rule}\t{place}{stage}\t{options}\t{near}");
        }
        self.add(format!("{folder}index.tsv"), list.into_bytes(), None);
    }
}

/// Returns the entry of a zTensor file that breaks a rule, without its options and its neighbor.
fn broken(rule: &str, built: &Built) -> Entry {
    Entry {
        rule: Some(rule.to_owned()),
        offset: built.offset,
        object: built.object,
        component: built.component,
        in_content: built.in_content,
        ..Entry::default()
    }
}

/// Returns the entry of a zTensor file that is valid, or that needs a feature that readers may lack.
fn accepted(generation: &'static str, why: Option<&str>) -> Entry {
    Entry {
        format: "ztensor".to_owned(),
        generation: Some(generation),
        rule: why.map(str::to_owned),
        in_content: why.is_some(),
        options: "-".to_owned(),
        ..Entry::default()
    }
}

/// Returns the generation of a valid file that is older than generation 2. The magic and the version in the manifest tell the
/// generation. If the version is not encoded in the usual way, the name of the file tells it.
fn generation(name: &str, bytes: &[u8]) -> &'static str {
    if bytes.starts_with(file::MAGIC_V0) {
        return "0.1";
    }
    let versions = bytes.windows(12).filter_map(|window| window.strip_prefix(b"\x67version"));
    let minor = versions.filter_map(|value| value.get(1..4)).find(|value| value.starts_with(b"1."));
    match minor {
        Some(b"1.0" | b"1.1") => "1.1",
        None if name.contains("v11-") => "1.1",
        _ => "1.2",
    }
}

/// Returns the valid file in the same folder from which `case` differs in the fewest bytes, if equal bytes are counted from both
/// ends. Returns `None` if `case` is valid, or exists only for another file, or if the folder has no valid file.
fn nearest<'c>(case: &Case, cases: &'c [Case]) -> Option<&'c Case> {
    case.rule.filter(|rule| !rule.is_empty())?;
    let common = |one: &&Case| {
        let equal = |(a, b): &(&u8, &u8)| a == b;
        let start = case.bytes.iter().zip(&one.bytes).take_while(equal).count();
        let end = case.bytes.iter().rev().zip(one.bytes.iter().rev()).take_while(equal).count();
        let shorter = case.bytes.len().min(one.bytes.len());
        let differ = case.bytes.len().max(one.bytes.len()) - shorter.min(start + end);
        (differ, one.name.clone())
    };
    let valid = |one: &&Case| one.rule.is_none() && one.folder == case.folder && !one.is_part();
    cases.iter().filter(valid).min_by_key(common)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{cbor, files};

    #[test]
    fn the_corpus_is_what_the_generator_writes() {
        let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        for output in files() {
            let found = fs::read(corpus.join(&output.path)).ok();
            assert!(found.as_ref() == Some(&output.bytes), "{}: run zten-corpus", output.path);
        }
    }

    #[test]
    fn marks_are_found_in_every_file() {
        let inner = cbor::array(vec![cbor::uint(300), cbor::marked_at(1, cbor::text("ab"))]);
        let encoded = cbor::fields([("k", inner)]).encode();
        assert_eq!(encoded.bytes, b"\xa1\x61k\x82\x19\x01\x2c\x62ab");
        let mark = encoded.mark.unwrap();
        assert_eq!(mark.offset, 8);
        assert_eq!(mark.path.iter().map(|step| step.index).collect::<Vec<_>>(), [0, 1]);
    }
}
