//! Tests that no two different names are displayed alike.

use std::collections::HashMap;

use zten::escape::{Name, Quoted, quoted, word};

/// Each name in this test is a concatenation of three of these pieces: separators, quotes, invisible characters, and texts that
/// spell the escape of such a character. A name that spells an escape must be displayed differently from a name that has the
/// character itself.
const PIECES: [&str; 16] = [
    "",
    "a",
    "b",
    "/",
    " ",
    "  ",
    "\"",
    "\\",
    "…",
    "\\u{2f}",
    "\u{200b}",
    "\\u{200b}",
    "\"/\"",
    "\n",
    "=",
    "重",
];

fn names() -> Vec<String> {
    let mut names: Vec<String> = PIECES
        .iter()
        .flat_map(|one| {
            PIECES
                .iter()
                .flat_map(move |two| PIECES.iter().map(move |three| [*one, *two, *three].concat()))
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn no_two_names_look_alike() {
    let names = names();
    // All names are compared with a few of them as roles, because comparing all pairs would take too long.
    let few: Vec<_> = names.iter().step_by(37).collect();
    let mut seen: HashMap<String, (&str, &str)> = HashMap::new();
    let pairs = names.iter().flat_map(|name| few.iter().map(move |role| (name, *role)));
    let others = few.iter().flat_map(|name| names.iter().map(|role| (*name, role)));
    for (name, role) in pairs.chain(others) {
        let line = format!("{}/{}", Name(name), Name(role));
        let pair = (name.as_str(), role.as_str());
        let before = seen.entry(line).or_insert(pair);
        assert_eq!(*before, pair);
    }
    assert!(seen.len() > 100_000, "{}", seen.len());
}

#[test]
fn no_two_names_look_alike_in_tables_and_sentences() {
    let names = names();
    let mut seen: HashMap<String, &str> = HashMap::new();
    for name in &names {
        for text in [Name(name).to_string(), format!("  {}", Name(name))] {
            assert!(seen.insert(text, name).is_none(), "{name:?}");
        }
        assert!(!Name(name).to_string().starts_with(' '), "{name:?}");
    }
    seen.clear();
    for name in &names {
        // A name may be displayed without quotes in one message and with quotes in another. Both displays belong to the same name.
        assert_eq!(*seen.entry(Quoted(name).to_string()).or_insert(name), name);
        assert_eq!(*seen.entry(Name(name).to_string()).or_insert(name), name);
    }
}

#[test]
fn a_shortened_name_differs_from_every_name() {
    for name in &names() {
        for text in [Name(name).to_string(), Quoted(name).to_string()] {
            assert!(text.matches('"').count() <= 2, "{text}");
        }
        let long = format!("{}{name}", "a".repeat(90));
        for text in [quoted(&long), word(&long, 24)] {
            assert_eq!(text.matches('"').count(), 4, "{text}");
        }
    }
}
