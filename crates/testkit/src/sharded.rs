//! Files with shards, as the index of the corpus lists them.

use std::path::PathBuf;

use zten::Options;

use crate::corpus::{Expected, corpus, options};

/// A root, and what it ends in when its shards are looked for beside it.
#[derive(Clone, Debug)]
pub struct Sharded {
    /// Where it is.
    pub path: PathBuf,
    /// What refuses it, or keeps it from being read; none if it is valid.
    pub expected: Option<Expected>,
    /// The options, as the index spells them.
    pub given: String,
    /// The options.
    pub options: Options,
    /// The valid one that it differs from, if it breaks a rule.
    pub neighbour: Option<PathBuf>,
}

/// Every line of the index.
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
            neighbour: (near != "-").then(|| folder.join(near).with_extension("zt")),
        }
    })
}
