//! The test corpus of `zten`: small files that each break one rule, and their valid neighbours.
//!
//! Every file is a small change of a right one. [`files`] gives them all, with the index that says
//! which rule a file breaks and where the error points; the program writes them into the corpus.
//!
//! The builders that cases are made of serve other tests, too: they share no code with the library.
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
pub mod other;
pub mod sha256;
mod table;
pub mod v2;
pub mod zstd;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use table::{Reject, RejectV2, Sharded, Table};

/// The largest file that the corpus may hold, lists apart.
const LARGEST: usize = 1 << 20;

/// The first line of the index.
const HEADER: &str = "file\trule\toffset\tobject\tcomponent\tstage\toptions\tneighbour\n";

/// One file of the corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its path, relative to the corpus.
    pub path: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// Every file of the corpus in order of path, `reject/index.tsv` and `accept/opens-only.tsv` among
/// them.
///
/// # Panics
///
/// If the tables contradict themselves: two files of one name, a neighbour that does not exist, or
/// a rule whose offset nothing says.
pub fn files() -> Vec<Output> {
    let mut table = Table::default();
    cases::all(&mut table);

    let mut files = BTreeMap::new();
    let mut add = |path: String, bytes: Vec<u8>| {
        assert!(
            bytes.len() <= LARGEST || !is_case(&path),
            "{path} is too large: {} bytes",
            bytes.len()
        );
        assert!(files.insert(path.clone(), bytes).is_none(), "{path} is there twice");
    };
    for (name, file) in &table.accept {
        add(format!("accept/{name}.zt"), file.build("").bytes);
    }
    let mut lines = BTreeMap::new();
    for reject in &table.reject {
        let known = table.accept.iter().any(|(name, _)| *name == reject.neighbour);
        assert!(known, "{}--{} has no neighbour {}", reject.rule, reject.case, reject.neighbour);
        let name = format!("{}--{}.zt", reject.rule, reject.case);
        let (bytes, columns) = refuse(reject);
        lines.insert(name.clone(), columns);
        add(format!("reject/{name}"), bytes);
    }
    let mut index = String::from(HEADER);
    for (name, columns) in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(index, "{name}\t{columns}");
    }
    add("reject/index.tsv".to_owned(), index.into_bytes());
    table.opens_only.sort();
    let mut list = String::from("file\twhy\n");
    for (name, why) in &table.opens_only {
        let _ = writeln!(list, "{name}.zt\t{why}");
    }
    add("accept/opens-only.tsv".to_owned(), list.into_bytes());
    files_v2(&table, &mut add);
    sharded(&table, &mut add);
    for case in other::all() {
        add(case.path(), case.bytes);
    }
    files.into_iter().map(|(path, bytes)| Output { path, bytes }).collect()
}

/// The files of generation 2 and their lists, in folders of their own.
fn files_v2(table: &Table, add: &mut impl FnMut(String, Vec<u8>)) {
    let mut list = String::from("file\twhy\n");
    for (name, file, why) in &table.accept_v2 {
        if let Some(why) = why {
            let _ = writeln!(list, "{name}.zt\t{why}");
        }
        add(format!("v2/accept/{name}.zt"), file.build("").bytes);
    }
    add("v2/accept/opens-only.tsv".to_owned(), list.into_bytes());
    let mut lines = BTreeMap::new();
    for RejectV2 { rule, case, file, neighbour } in &table.reject_v2 {
        let known = table.accept_v2.iter().any(|(name, ..)| name == neighbour);
        assert!(known, "{rule}--v2-{case} has no neighbour {neighbour}");
        let built = file.build(rule);
        let stage = if built.in_content { "content" } else { "open" };
        let number = |value: Option<usize>| value.map_or("-".to_owned(), |value| value.to_string());
        let offset = number(built.offset);
        assert!(offset != "-" || built.in_content, "nothing says where {rule}--v2-{case} points");
        let (object, component) = (number(built.object), number(built.component));
        let options = if rule.starts_with("canonical-") { "canonical=yes" } else { "-" };
        let columns =
            format!("{rule}\t{offset}\t{object}\t{component}\t{stage}\t{options}\t{neighbour}.zt");
        let name = format!("{rule}--v2-{case}.zt");
        lines.insert(name.clone(), columns);
        add(format!("v2/reject/{name}"), built.bytes);
    }
    let mut index = String::from(HEADER);
    for (name, columns) in lines {
        let _ = writeln!(index, "{name}\t{columns}");
    }
    add("v2/reject/index.tsv".to_owned(), index.into_bytes());
}

/// The roots of generation 2 whose shards are there, `STEM-NAME.zt` beside `STEM.zt`, and their list.
fn sharded(table: &Table, add: &mut impl FnMut(String, Vec<u8>)) {
    let mut index = String::from("file\trule\toffset\tobject\tcomponent\toptions\tneighbour\n");
    for Sharded { name, root, files, rule, options, neighbour } in &table.sharded {
        let known = table.sharded.iter().any(|near| near.rule.is_none() && near.name == *neighbour);
        assert!(known || *neighbour == "-", "{name} has no neighbour {neighbour}");
        let built = root.build("");
        let number = |value: Option<usize>| value.map_or("-".to_owned(), |value| value.to_string());
        let (object, component) = (number(built.object), number(built.component));
        let (rule, offset) = (rule.unwrap_or("-"), number(built.offset));
        let _ = writeln!(
            index,
            "{name}.zt\t{rule}\t{offset}\t{object}\t{component}\t{options}\t{neighbour}"
        );
        add(format!("v2/shards/{name}.zt"), built.bytes);
        for (shard, bytes) in files {
            add(format!("v2/shards/{name}-{shard}.zt"), bytes.clone());
        }
    }
    add("v2/shards/index.tsv".to_owned(), index.into_bytes());
}

/// Whether that path is of a file that a case makes, and not of a list.
fn is_case(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "zt")
}

/// The bytes of a file to be refused, and its columns of the index after the name.
fn refuse(reject: &Reject) -> (Vec<u8>, String) {
    let Reject { rule, case, neighbour, options, .. } = reject;
    let built = reject.file.build(rule);
    let stage = if built.in_content { "content" } else { "open" };
    let number = |value: Option<usize>| value.map_or("-".to_owned(), |value| value.to_string());
    let offset = number(built.offset);
    assert!(offset != "-" || built.in_content, "nothing says where {rule}--{case} points");
    let (object, component) = (number(built.object), number(built.component));
    let columns =
        format!("{rule}\t{offset}\t{object}\t{component}\t{stage}\t{options}\t{neighbour}.zt");
    (built.bytes, columns)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{cbor, files};
    use crate::sha256::sha256;

    #[test]
    fn corpus_is_what_the_tables_say() {
        let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        for output in files() {
            let found = fs::read(corpus.join(&output.path)).ok();
            assert!(found.as_ref() == Some(&output.bytes), "{}: run zten-corpus", output.path);
        }
    }

    /// The bytes of a listing: an offset, bytes or `00 × n`, and after three spaces what they are.
    fn listed(listing: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        for line in listing.lines() {
            let (offset, rest) = line.split_once("  ").unwrap();
            assert_eq!(usize::from_str_radix(offset, 16).unwrap(), bytes.len(), "{line}");
            let these = rest.split("   ").next().unwrap();
            if let Some(count) = these.strip_prefix("00 × ") {
                bytes.resize(bytes.len() + count.trim().parse::<usize>().unwrap(), 0);
            } else {
                let these = these.split_whitespace();
                bytes.extend(these.map(|byte| u8::from_str_radix(byte, 16).unwrap()));
            }
        }
        bytes
    }

    #[test]
    fn examples_of_the_canonical_form_are_in_the_corpus() {
        let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/canonical.md");
        let document = fs::read_to_string(document).unwrap();
        let listings = document.split("```hex\n").skip(1);
        let listings: Vec<_> = listings.filter_map(|text| text.split_once("```")).collect();
        let files = files();
        let examples = ["accept/canonical--dense.zt", "v2/accept/canonical--dense.zt"];
        assert_eq!(listings.len(), examples.len());
        for ((listing, _), path) in listings.into_iter().zip(examples) {
            let example = files.iter().find(|file| file.path == path).unwrap();
            assert_eq!(listed(listing), example.bytes);
            assert!(document.contains(&sha256(&example.bytes)["sha256:".len()..]));
        }
    }

    #[test]
    fn marks_know_their_way() {
        let inner = cbor::array(vec![cbor::uint(300), cbor::marked_at(1, cbor::text("ab"))]);
        let encoded = cbor::fields([("k", inner)]).encode();
        assert_eq!(encoded.bytes, b"\xa1\x61k\x82\x19\x01\x2c\x62ab");
        let mark = encoded.mark.unwrap();
        assert_eq!(mark.offset, 8);
        assert_eq!(mark.path.iter().map(|step| step.index).collect::<Vec<_>>(), [0, 1]);
    }
}
