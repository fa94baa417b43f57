//! Tests that the `crate::` paths in the library follow the table in ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};

/// Returns the texts between backticks in a cell of a Markdown table.
fn names(cell: &str) -> BTreeSet<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Returns the module whose row of the table in ARCHITECTURE.md covers `path`: `formats::ztensor` for paths in that
/// module, or the first segment of any other path. The parser of zTensor files and the search for groups of quantized
/// tensors have rows of their own, because they may use modules that other parts of `formats` and `conventions` may
/// not use.
fn row_of(path: &str) -> &str {
    const OWN: [&str; 2] = ["formats::ztensor", "conventions::find"];
    let is_within = |own: &&str| {
        path.strip_prefix(*own).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    OWN.into_iter().find(is_within).unwrap_or_else(|| path.split("::").next().unwrap())
}

#[test]
#[cfg_attr(miri, ignore = "it reads the sources alone")]
fn modules_use_what_the_table_lets_them() {
    let document = include_str!("../../ARCHITECTURE.md");
    let section = document.split("<!-- layers -->").nth(1).expect("the table is marked");
    let mut table = BTreeMap::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').collect();
        table.extend(names(cells[1]).into_iter().map(|module| (module, names(cells[3]))));
    }
    // There are no circles if each module uses only modules in rows above its own.
    let mut above = BTreeSet::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').collect();
        let circle: Vec<_> = names(cells[3]).difference(&above).copied().collect();
        assert!(circle.is_empty(), "{} uses modules that no row above lists: {circle:?}", cells[1]);
        above.extend(names(cells[1]));
    }
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/src/");
    let mut checked = 0;
    for file in glob::glob(&format!("{root}**/*.rs")).unwrap() {
        let file = file.unwrap().into_os_string().into_string().unwrap();
        let path = file[root.len()..].trim_end_matches(".rs").replace('/', "::");
        let module = row_of(&path);
        if module == "lib" {
            continue;
        }
        let allowed = table.get(module).unwrap_or_else(|| panic!("{module} is not in the table"));
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for path in code.flat_map(|line| line.split("crate::").skip(1)) {
            let end = path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
            let used = row_of(&path[..end.unwrap_or(path.len())]);
            // A list in braces would hide its modules from this test.
            assert!(!used.is_empty(), "{file} has a list after crate::");
            let is_allowed = used == module || allowed.contains(used);
            assert!(is_allowed, "{file} uses crate::{used}, which the table does not let it");
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} uses were found");
}
