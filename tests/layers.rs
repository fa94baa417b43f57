//! Who may call whom: the `use crate::` lines of the library follow ARCHITECTURE.md's table.
#![allow(
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a test that panics has failed, and its numbers are small"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use zten_testkit::layout;

/// The table: a module and what it may use, itself aside.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let text = include_str!("../ARCHITECTURE.md");
    let section = text.split("<!-- layers -->").nth(1).expect("the table is marked");
    let mut table = BTreeMap::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let names = |cell: &str| {
            let names = cell.split('`').skip(1).step_by(2).map(str::to_owned);
            names.collect::<BTreeSet<_>>()
        };
        for module in names(cells[1]) {
            table.insert(module, names(cells[3]));
        }
    }
    table
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "it reads the sources alone")]
fn modules_use_what_the_table_lets_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (table, mut files) = (table(), Vec::new());
    sources(&root, &mut files);
    let mut checked = 0;
    for file in files {
        let relative = file.strip_prefix(&root).unwrap();
        let module = relative.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let allowed = table.get(module).unwrap_or_else(|| panic!("{module} is not in the table"));
        let text = std::fs::read_to_string(&file).unwrap();
        for (at, _) in text.match_indices("crate::") {
            let line = text[..at].lines().last().unwrap_or_default();
            if line.trim_start().starts_with("//") {
                continue;
            }
            let rest = &text[at + "crate::".len()..];
            let used: String =
                rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            // In macros and doc links.
            if used.is_empty() || used == module {
                continue;
            }
            assert!(
                allowed.contains(&used),
                "{} uses crate::{used}, which the table does not let it",
                relative.display()
            );
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} uses were found");
}

#[test]
#[cfg_attr(miri, ignore = "it reads the sources alone")]
fn modules_form_no_circles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    let uses = layout::uses(&root);
    assert!(uses.len() > 80, "only {} modules were found", uses.len());
    let mut found = Vec::new();
    for parent in uses.keys() {
        found.extend(layout::circles(&layout::siblings(&uses, parent)));
    }
    assert!(found.is_empty(), "{found:#?}");
}
