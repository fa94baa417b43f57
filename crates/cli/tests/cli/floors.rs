//! Tests that the `crate::` paths in the command's sources follow the table of floors in ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Returns the texts between backticks.
fn names(cell: &str) -> BTreeSet<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Returns all source files in `folder`.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "rs"))
        .collect()
}

/// Returns the first name of a path or of a file's path.
fn first(path: &str) -> &str {
    path.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap()
}

#[test]
fn no_floor_uses_one_above_it() {
    let document = include_str!("../../../../ARCHITECTURE.md");
    let section = document.split("<!-- floors -->").nth(1).expect("the table is marked");
    let (mut below, mut table) = (BTreeSet::new(), BTreeMap::new());
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').collect();
        let uses = names(cells[3]);
        let above: Vec<_> = uses.difference(&below).copied().collect();
        assert!(above.is_empty(), "{} uses floors that no row above lists: {above:?}", cells[1]);
        let floor = *names(cells[1]).first().unwrap();
        below.insert(floor);
        table.insert(floor, uses);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let main = std::fs::read_to_string(root.join("main.rs")).unwrap();
    // `main.rs` imports modules of other packages for all floors.
    let imports = main.lines().filter(|line| line.starts_with("use zten"));
    let packages: BTreeSet<&str> =
        imports.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).collect();
    let mut checked = 0;
    for file in sources(&root) {
        let path = file.strip_prefix(&root).unwrap().to_str().unwrap();
        let floor = first(path);
        if floor == "main" {
            continue;
        }
        let allowed = table.get(floor).unwrap_or_else(|| panic!("{floor} is not in the table"));
        let text = std::fs::read_to_string(&file).unwrap();
        // Unit tests may import from any floor.
        let is_test = path.ends_with("tests.rs");
        let code = text.split("#[cfg(test)]\nmod tests {").next().filter(|_| !is_test);
        let code = code.unwrap_or_default().lines();
        let code = code.filter(|line| !line.trim_start().starts_with("//"));
        for used in code.flat_map(|line| line.split("crate::").skip(1)).map(first) {
            // A list in braces would hide its modules from this test.
            assert!(!used.is_empty(), "{path} has a list after crate::");
            let is_allowed = used == floor || allowed.contains(used) || packages.contains(used);
            assert!(is_allowed, "{path} uses crate::{used}, which the table does not let it");
            checked += 1;
        }
    }
    assert!(checked > 200, "only {checked} uses were found");
}
