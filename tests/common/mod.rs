//! The corpus, as tests see it.
#![allow(
    dead_code,
    unused_imports,
    clippy::allow_attributes,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "each test uses some of this, and one that panics has failed"
)]

mod check;
mod packed;
pub(crate) mod sample;

use std::fmt::Debug;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};

pub(crate) use check::check;
pub(crate) use packed::packed;
use zten::{ByteOrder, Error, ErrorKind, Limits, Misuse, Options};

/// Where the corpus is: beside the package, or beside a folder that the package is in.
pub(crate) fn corpus() -> PathBuf {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.map(|folder| folder.join("corpus")).find(|corpus| corpus.is_dir()).unwrap()
}

/// What an error should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) rule: String,
    pub(crate) offset: Option<u64>,
    pub(crate) object: Option<u32>,
    pub(crate) component: Option<u32>,
}

impl Expected {
    pub(crate) fn of(error: &Error) -> Self {
        Self {
            rule: error.id().unwrap_or("misuse").to_owned(),
            offset: error.offset(),
            object: error.place().object(),
            component: error.place().component(),
        }
    }
}

/// A line of an index of reject files.
#[derive(Clone, Debug)]
pub(crate) struct Reject {
    pub(crate) file: String,
    pub(crate) path: PathBuf,
    pub(crate) expected: Expected,
    /// Whether it opens, and is refused when its content is read.
    pub(crate) content: bool,
    /// The options, as the index spells them.
    pub(crate) given: String,
    pub(crate) options: Options,
    pub(crate) neighbour: String,
}

impl Reject {
    pub(crate) fn read(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap_or_else(|error| panic!("{}: {error}", self.file))
    }
}

/// What the index says in its column of options.
pub(crate) fn options(text: &str) -> Options {
    let (mut limits, mut options) = (Limits::default(), Options::default());
    for option in text.split(' ').filter(|option| *option != "-") {
        match option.split_once('=').unwrap() {
            #[cfg(feature = "write")]
            ("canonical", "yes") => options = options.canonical(),
            ("tolerate", name) => options = options.tolerate_named(name).unwrap(),
            ("limit", limit) => {
                let (name, value) = limit.split_once(':').unwrap();
                limits = limits.with(name, value.parse().unwrap()).unwrap();
            }
            other => panic!("unknown option {other:?}"),
        }
    }
    options.limits(limits)
}

/// Every line of the indices; under Miri a sample of them.
pub(crate) fn reject_index() -> impl Iterator<Item = Reject> {
    let mut lines = Vec::new();
    for folder in ["reject", "reject/interop"] {
        let folder = corpus().join(folder);
        let index = std::fs::read_to_string(folder.join("index.tsv")).unwrap();
        for line in index.lines().skip(1) {
            let (file, rest) = line.split_once('\t').unwrap();
            lines.push((folder.join(file), rest.to_owned()));
        }
    }
    let rule = |(_, rest): &(PathBuf, String)| rest.split('\t').next().unwrap().to_owned();
    let lines = sample::of(lines, rule, |(path, _)| path);
    lines.into_iter().map(|(path, rest)| {
        let [rule, offset, object, component, stage, option, neighbour]: [&str; 7] =
            rest.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let expected = Expected {
            rule: rule.to_owned(),
            offset: offset.parse().ok(),
            object: object.parse().ok(),
            component: component.parse().ok(),
        };
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
            neighbour: neighbour.to_owned(),
        }
    })
}

/// An accepted file.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    /// Relative to `corpus/accept`.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    /// The feature that keeps its content from being read, if one does.
    pub(crate) opens_only: Option<String>,
}

/// Every accepted file; under Miri a sample of them.
pub(crate) fn accepted() -> impl Iterator<Item = Accepted> {
    let root = corpus().join("accept");
    let list = std::fs::read_to_string(root.join("opens-only.tsv")).unwrap();
    let opens_only: Vec<(String, String)> = list
        .lines()
        .skip(1)
        .map(|line| {
            let (file, why) = line.split_once('\t').unwrap();
            (file.to_owned(), why.to_owned())
        })
        .collect();
    let folders = ["", "0.1.0", "1.0.2", "1.1.1", "1.2.0", "1.2.3"];
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
    let files = sample::of(files, |path| sample::kind(&named(path)), |path| path);
    files.into_iter().map(move |path| {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        let opens_only = opens_only.iter().find(|(file, _)| *file == name);
        Accepted {
            bytes: std::fs::read(&path).unwrap(),
            opens_only: opens_only.map(|(_, why)| why.clone()),
            name,
        }
    })
}

/// A copy of a file, at an address of the tests' choice.
pub(crate) struct Placed {
    buffer: Vec<u8>,
    range: Range<usize>,
}

/// Copies a file to where its first byte has that remainder by 64.
pub(crate) fn placed(file: &[u8], remainder: usize) -> Placed {
    let mut buffer = vec![0; file.len() + 128];
    let start = (64 + remainder - buffer.as_ptr().addr() % 64) % 64;
    let range = start..start + file.len();
    buffer[range.clone()].copy_from_slice(file);
    Placed { buffer, range }
}

impl Deref for Placed {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[self.range.clone()]
    }
}

/// Holds what was borrowed of aligned elements, of more than one byte each, against those that it
/// should be: where their byte order is not the machine's, nothing can be.
pub(crate) fn borrows<T: Debug + PartialEq>(
    found: Result<&[T], Error>,
    order: ByteOrder,
    wanted: &[T],
) {
    match found {
        Ok(slice) => assert_eq!((slice, order), (wanted, ByteOrder::NATIVE)),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Misuse(Misuse::ByteOrder));
            assert_ne!(order, ByteOrder::NATIVE);
        }
    }
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}
