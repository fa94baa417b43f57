//! The reviewed list of all messages and help texts: `data/messages.txt`.
//!
//! It has the string literals of each package that read as text, and the help of every command.
//! `RECORD_MESSAGES=1 cargo test -p zten-cli --test cli messages` writes it again.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use regex_lite::Regex;

use crate::{pages::COMMANDS, succeeded_text, zten};

/// Folders without messages for users: tests, tools and build output.
const SKIPPED: [&str; 10] = [
    "target",
    "node_modules",
    "tests",
    "benches",
    "fuzz",
    "lab",
    "corpus",
    "testkit",
    "docs",
    ".ci",
];

/// Collects the packages below `folder`: each folder with a manifest and a `src`.
fn packages(folder: &Path, found: &mut Vec<(String, PathBuf)>) {
    if let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml"))
        && let Some(name) = manifest.lines().find_map(|line| line.strip_prefix("name = \""))
        && folder.join("src").is_dir()
    {
        found.push((name.trim_end_matches('"').to_owned(), folder.join("src")));
    }
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let is_skipped = name.starts_with('.') || SKIPPED.contains(&&*name) || name == "src";
        if entry.file_type().unwrap().is_dir() && !is_skipped {
            packages(&entry.path(), found);
        }
    }
}

/// Adds the texts of the files in `folder` to `texts`, but those of unit tests.
fn texts(folder: &Path, scanner: &Scanner, texts: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if path.is_dir() && name != "tests" {
            self::texts(&path, scanner, texts);
        } else if path.extension().is_some_and(|end| end == "rs") && !name.ends_with("tests.rs") {
            let source = fs::read_to_string(path).unwrap();
            scanner.scan(source.split("#[cfg(test)]\nmod ").next().unwrap(), texts);
        }
    }
}

/// The patterns of Rust's tokens and of sentences.
struct Scanner {
    /// Comments, strings and characters; the content of a string that is not raw is the first group.
    token: Regex,
    /// The end of a line that goes on in the next one.
    continued: Regex,
    /// Matches the text in front of a literal that users do not see, such as the reason of a lint.
    internal: Regex,
    /// Two words, or a value and a word.
    sentence: Regex,
}

impl Scanner {
    fn new() -> Self {
        let token = concat!(
            r###"//[^\n]*|(?s:/\*.*?\*/|\bb?r#+".*?"#+)|\bb?r"[^"]*"|"###,
            r###""((?:\\(?s:.)|[^"\\])*)"|'(?:\\[^'\n]+|\\'|[^\\'\n])'"###
        );
        let sentence = r"[A-Za-z]{2,}[,;:]? [a-zA-Z{]|\w\} [a-z]|[a-z] \w";
        Self {
            token: Regex::new(token).unwrap(),
            continued: Regex::new(r"\\\n\s*").unwrap(),
            internal: Regex::new(r"(?:reason|doc|path|feature|note) = $|(?:expect|assert!?)\($")
                .unwrap(),
            sentence: Regex::new(sentence).unwrap(),
        }
    }

    fn scan(&self, source: &str, texts: &mut BTreeSet<String>) {
        for token in self.token.captures_iter(source) {
            let Some(literal) = token.get(1) else { continue };
            let before = &source[..literal.start() - 1];
            let text = self.continued.replace_all(literal.as_str(), "").replace('\n', "\\n");
            if self.sentence.is_match(&text)
                && !self.internal.is_match(before.lines().last().unwrap_or_default())
            {
                texts.insert(text);
            }
        }
    }
}

#[test]
fn the_list_of_messages_is_complete() {
    let (root, data) = (env!("CARGO_MANIFEST_DIR"), "tests/data/messages.txt");
    let path = Path::new(root).join(data);
    let root = Path::new(root).ancestors().find(|folder| folder.join("Cargo.lock").exists());
    let (mut found, mut list) = (Vec::new(), String::new());
    packages(root.unwrap(), &mut found);
    found.sort();
    let scanner = Scanner::new();
    for (name, folder) in found {
        let mut all = BTreeSet::new();
        texts(&folder, &scanner, &mut all);
        if !all.is_empty() {
            let lines: String = all.iter().flat_map(|text| [text, "\n"]).collect();
            write!(list, "# {name}\n\n{lines}\n").unwrap();
        }
    }
    for command in std::iter::once(None).chain(COMMANDS.map(Some)) {
        let args: Vec<_> = command.into_iter().chain(["--help"]).collect();
        let help = succeeded_text(zten(&args));
        let lines = help.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: String = lines.flat_map(|line| [line, "\n"]).collect();
        write!(list, "# zten {}\n\n{lines}\n", args.join(" ")).unwrap();
    }
    if std::env::var_os("RECORD_MESSAGES").is_some() {
        fs::write(&path, &list).unwrap();
    }
    let recorded = fs::read_to_string(&path).unwrap();
    let differing = list.lines().zip(recorded.lines()).find(|(now, then)| now != then);
    assert!(recorded == list, "{data} differs: {differing:?}; RECORD_MESSAGES=1 writes it");
}

/// Finds phrases that the style of messages replaces.
#[test]
fn messages_keep_to_the_glossary() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/messages.txt");
    let replaced = concat!(
        r"stands? (?:there )?twice|is said to|known here|and \{\w*\} can be|as it should be|(?:is|are) not known|",
        "has no place|over the (?:limit|bound)|beyond the limit|than it may be|colour|behaviour",
    );
    let replaced = Regex::new(replaced).unwrap();
    let list = fs::read_to_string(path).unwrap();
    let found: Vec<_> = list.lines().filter(|line| replaced.is_match(line)).collect();
    assert!(found.is_empty(), "{found:#?}");
}
