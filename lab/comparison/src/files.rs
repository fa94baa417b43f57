//! The files that are put to the readers, as the lists of the corpus name them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use zten_testkit::{
    Accepted, Expected, Reject, Sharded, accepted, accepted_v2, corpus, reject_index,
    reject_index_v2, sharded,
};

/// A file that breaks a rule.
pub(crate) struct Broken {
    /// Relative to the corpus.
    pub(crate) file: String,
    pub(crate) path: PathBuf,
    pub(crate) rule: String,
    /// The options, as the corpus spells them.
    pub(crate) options: String,
    /// The valid file that it differs from.
    pub(crate) neighbour: PathBuf,
}

/// A valid file.
pub(crate) struct Unbroken {
    /// As the document names it.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// Those of some generations.
pub(crate) struct Files {
    pub(crate) broken: Vec<Broken>,
    pub(crate) valid: Vec<Unbroken>,
    /// How many more are valid, and hold what no reader has to know.
    pub(crate) opens_only: usize,
}

impl Files {
    /// Of generations 0.1 and 1.x.
    pub(crate) fn up_to_1() -> Result<Self> {
        let root = corpus().join("accept");
        let broken = reject_index().map(|row| broken(row, &root)).collect::<Result<_>>()?;
        let mut files = Self { broken, valid: Vec::new(), opens_only: 0 };
        for file in accepted() {
            files.accepted(file.name.clone(), &root, file);
        }
        Ok(files)
    }

    /// Of generation 2, with shards beside them and without.
    pub(crate) fn of_2() -> Result<Self> {
        let root = corpus().join("v2/accept");
        let broken = reject_index_v2().map(|row| broken(row, &root)).collect::<Result<_>>()?;
        let mut files = Self { broken, valid: Vec::new(), opens_only: 0 };
        for file in accepted_v2() {
            let name = file.name.strip_prefix("../").map(|beside| format!("v2/{beside}"));
            let name = name.unwrap_or_else(|| format!("v2/accept/{}", file.name));
            files.accepted(name, &root, file);
        }
        for row in sharded() {
            let Sharded { path, expected, given: options, neighbour, .. } = row;
            let file = relative(&path)?;
            match (expected, neighbour) {
                (None, _) => files.valid.push(Unbroken { name: file, path }),
                (Some(_), None) => files.opens_only += 1,
                (Some(Expected { rule, .. }), Some(neighbour)) => {
                    files.broken.push(Broken { file, path, rule, options, neighbour });
                }
            }
        }
        Ok(files)
    }

    fn accepted(&mut self, name: String, root: &Path, file: Accepted) {
        let path = root.join(file.name);
        match file.opens_only {
            None => self.valid.push(Unbroken { name, path }),
            Some(_) => self.opens_only += 1,
        }
    }
}

fn broken(row: Reject, accepted: &Path) -> Result<Broken> {
    let file = relative(&row.path)?;
    let neighbour = accepted.join(row.neighbour);
    Ok(Broken { file, path: row.path, rule: row.expected.rule, options: row.given, neighbour })
}

fn relative(path: &Path) -> Result<String> {
    Ok(path.strip_prefix(corpus())?.display().to_string())
}
