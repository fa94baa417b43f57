//! Reads the files of the corpus, and the indices that say what each file is expected to do: accepted files, rejected
//! files, and files with shards. Tests of all crates use this module.

use std::path::{Path, PathBuf};

use zten::{Error, Limits, OpenOptions};

use crate::sample;

/// Returns the path of the folder `corpus` of the repository.
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// Returns the paths of all files of other formats than zTensor in folders named `folder` (`accept` or `reject`), sorted.
pub fn other_formats(folder: &str) -> Vec<PathBuf> {
    let formats = std::fs::read_dir(corpus().join("other")).expect("the corpus");
    let folders = formats.map(|format| format.expect("a folder").path().join(folder));
    let files = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files
}

/// Reads the file at `path`, which is relative to the folder `corpus`.
pub fn read(path: &str) -> Vec<u8> {
    std::fs::read(corpus().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Reads the accepted file of a generation before 2 at the path `name` in the folder `corpus/accept`.
pub fn read_accepted(name: &str) -> Vec<u8> {
    read(&format!("accept/{name}"))
}

/// The error that a file of the corpus is expected to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The id of the rule that the error is reported under.
    pub rule: String,
    /// The offset of the fault in the file, if the error has one.
    pub offset: Option<u64>,
    /// The ordinal of the object, if the fault is in an object.
    pub object: Option<u32>,
    /// The ordinal of the component in its object, if the fault is in a component.
    pub component: Option<u32>,
}

impl Expected {
    /// Parses four columns of an index: the id of a rule, and the offset, object and component of the error, each of
    /// which is a number, or `-` if there is none.
    pub(crate) fn parse(rule: &str, [offset, object, component]: [&str; 3]) -> Self {
        Self {
            rule: rule.to_owned(),
            offset: offset.parse().ok(),
            object: object.parse().ok(),
            component: component.parse().ok(),
        }
    }

    /// Returns the rule and the position of `error`. An error without a rule gets the rule `misuse`.
    pub fn from_error(error: &Error) -> Self {
        Self {
            rule: error.rule().unwrap_or("misuse").to_owned(),
            offset: error.offset(),
            object: error.location().object(),
            component: error.location().component(),
        }
    }
}

/// A line of an index of rejected files.
#[derive(Clone, Debug)]
pub struct Reject {
    /// The name of the file, without folders.
    pub file: String,
    /// The path of the file.
    pub path: PathBuf,
    /// The error with which the file is rejected.
    pub expected: Expected,
    /// Whether the file opens, and is rejected only when its content is read.
    pub content: bool,
    /// The options with which the file is opened, as the index spells them.
    pub given: String,
    /// The options with which the file is opened.
    pub options: OpenOptions,
    /// The path of the most similar accepted file, relative to `corpus/accept`, or to `corpus/v2/accept` for a file
    /// of generation 2.
    pub neighbor: String,
}

impl Reject {
    /// Reads the bytes of the file.
    pub fn read(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap_or_else(|error| panic!("{}: {error}", self.file))
    }
}

/// Parses the column of an index that gives the options to open a file with: `-` for the default options, or words
/// such as `canonical=yes`, `tolerate=NAME` and `limit=NAME:VALUE`.
pub fn options(text: &str) -> OpenOptions {
    let (mut limits, mut options) = (Limits::default(), OpenOptions::default());
    for option in text.split(' ').filter(|option| *option != "-") {
        match option.split_once('=').unwrap() {
            ("canonical", "yes") => options = options.canonical(),
            ("tolerate", name) => options = options.tolerate_named(name).unwrap(),
            ("limit", limit) => {
                let (name, value) = limit.split_once(':').unwrap();
                limits = limits.with_named(name, value.parse().unwrap()).unwrap();
            }
            other => panic!("unknown option {other:?}"),
        }
    }
    options.limits(limits)
}

/// Returns one [`Reject`] for each rejected file of the generations before 2, from their indices; under Miri for a
/// sample of them.
pub fn reject_index() -> impl Iterator<Item = Reject> {
    reject_index_of(&["reject", "reject/interop"])
}

/// Returns one [`Reject`] for each rejected file of generation 2, from its index; under Miri for a sample of them.
pub fn reject_index_v2() -> impl Iterator<Item = Reject> {
    reject_index_of(&["v2/reject"])
}

fn reject_index_of(folders: &[&str]) -> impl Iterator<Item = Reject> + use<> {
    let mut lines = Vec::new();
    for folder in folders {
        let folder = corpus().join(folder);
        let index = std::fs::read_to_string(folder.join("index.tsv")).unwrap();
        for line in index.lines().skip(1) {
            let (file, rest) = line.split_once('\t').unwrap();
            lines.push((folder.join(file), rest.to_owned()));
        }
    }
    let rule = |(_, rest): &(PathBuf, String)| rest.split('\t').next().unwrap().to_owned();
    let lines = sample::smallest(lines, rule, |(path, _)| path);
    lines.into_iter().map(|(path, rest)| {
        let [rule, offset, object, component, stage, option, neighbor]: [&str; 7] =
            rest.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let expected = Expected::parse(rule, [offset, object, component]);
        Reject {
            file: path.file_name().unwrap().to_str().unwrap().to_owned(),
            path,
            expected,
            content: match stage {
                "open" => false,
                "content" => true,
                other => panic!("unknown stage {other:?}"),
            },
            given: option.to_owned(),
            options: options(option),
            neighbor: neighbor.to_owned(),
        }
    })
}

/// An accepted file of the corpus.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// The path, relative to `corpus/accept`, or to `corpus/v2/accept` for a file of generation 2.
    pub name: String,
    /// The path of the file.
    pub path: PathBuf,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// The unsupported feature that keeps the content from being read although the file opens, if there is one.
    pub opens_only: Option<String>,
}

/// Returns all accepted files of the generations before 2; under Miri a sample of them.
pub fn accepted() -> impl Iterator<Item = Accepted> {
    let folders = ["", "0.1.0", "1.0.2", "1.1.1", "1.2.0", "1.2.3"];
    accepted_of(corpus().join("accept"), &folders)
}

/// Returns all accepted files of generation 2; under Miri a sample of them.
pub fn accepted_v2() -> impl Iterator<Item = Accepted> {
    accepted_of(corpus().join("v2/accept"), &["", "../2.1"])
}

fn accepted_of(root: PathBuf, folders: &[&str]) -> impl Iterator<Item = Accepted> + use<> {
    let list = std::fs::read_to_string(root.join("opens-only.tsv")).unwrap();
    let opens_only: Vec<(String, String)> = list
        .lines()
        .skip(1)
        .map(|line| {
            let (file, why) = line.split_once('\t').unwrap();
            (file.to_owned(), why.to_owned())
        })
        .collect();
    let mut files = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "zt") {
                files.push(path);
            }
        }
    }
    files.sort();
    let named = |path: &PathBuf| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    let files = sample::smallest(files, |path| sample::kind(&named(path)), |path| path);
    files.into_iter().map(move |path| {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        let opens_only = opens_only.iter().find(|(file, _)| *file == name);
        Accepted {
            bytes: std::fs::read(&path).unwrap(),
            opens_only: opens_only.map(|(_, why)| why.clone()),
            name,
            path,
        }
    })
}

/// Opens `file` with `options` and validates its header and its content, but no shards, as `zten check --no-shards`
/// does.
///
/// # Errors
/// The first fault of the file.
pub fn check(file: &[u8], options: &OpenOptions) -> Result<(), Error> {
    options.from_bytes(file)?.verify().map(drop)
}

/// Returns whether the feature `zstd-ruzstd` decodes the rejected corpus file of the name `file` although its zstd blocks are
/// invalid: they have four streams of fewer than six literals, Huffman codes of more than 11 bits, a Huffman tree without a code
/// of the longest length, or a table that names Huffman weights above 11. Must not be called for an accepted file, because the
/// names of some have the same form.
pub fn is_lax(file: &str) -> bool {
    let cases = ["huffman-of-4-of-4.zt", "tree-of-12-bits.zt", "tree-without-longest.zt"];
    cases.iter().any(|case| file.ends_with(case)) || file.contains("-weights-up-to-")
}

/// A line of the index of files with shards: a file, and the expected result if its shards are looked for in the same
/// folder.
#[derive(Clone, Debug)]
pub struct Sharded {
    /// The path of the file.
    pub path: PathBuf,
    /// The error that the file has, or the unsupported feature that it needs; `None` if the file is valid.
    pub expected: Option<Expected>,
    /// The options with which the file is opened, as the index spells them.
    pub given: String,
    /// The options with which the file is opened.
    pub options: OpenOptions,
    /// The path of the most similar valid file, if the index names one.
    pub neighbor: Option<PathBuf>,
}

/// Returns one [`Sharded`] for each line of the index of files with shards.
pub fn sharded() -> impl Iterator<Item = Sharded> {
    let folder = corpus().join("v2/shards");
    let index = std::fs::read_to_string(folder.join("index.tsv")).unwrap();
    let lines: Vec<String> = index.lines().skip(1).map(str::to_owned).collect();
    lines.into_iter().map(move |line| {
        let [file, rule, offset, object, component, given, near]: [&str; 7] =
            line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let expected = Expected::parse(rule, [offset, object, component]);
        Sharded {
            path: folder.join(file),
            expected: (rule != "-").then_some(expected),
            options: options(given),
            given: given.to_owned(),
            neighbor: (near != "-").then(|| folder.join(near).with_extension("zt")),
        }
    })
}
