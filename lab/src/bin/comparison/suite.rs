//! The files of the suite, as `corpus/index.json` lists them.

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use zten_testkit::corpus;

/// The entry of a file in the index.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Entry {
    /// The path in the corpus.
    pub(crate) file: String,
    pub(crate) format: String,
    generation: Option<String>,
    pub(crate) verdict: String,
    pub(crate) rule: Option<String>,
    source: Option<String>,
    pub(crate) stage: Option<String>,
    pub(crate) options: Option<String>,
}

#[derive(Deserialize)]
struct Index {
    version: u32,
    files: Vec<Entry>,
}

/// The outcome that a file should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Expected {
    Valid,
    /// The file breaks a clause of a specification.
    Specification,
    /// The file contradicts itself, or can be read in two different ways.
    Implied,
    /// The file breaks a rule that zten has decided on.
    Policy,
    /// The file has a value on which readers have crashed.
    Fault,
    /// The file may be accepted or rejected.
    Either,
}

impl Expected {
    /// Returns the name of the expected outcome in the tables of the document.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Specification => "invalid: specification",
            Self::Implied => "invalid: implied",
            Self::Policy => "invalid: policy",
            Self::Fault => "invalid: fault",
            Self::Either => "unsupported",
        }
    }

    /// Returns whether a reader should reject a file with this expected outcome, including files that only break a
    /// policy.
    pub(crate) fn is_rejected(self) -> bool {
        !matches!(self, Self::Valid | Self::Either)
    }
}

impl Entry {
    /// Returns the format, and the generation of a zTensor file.
    pub(crate) fn kind(&self) -> String {
        match &self.generation {
            Some(generation) => format!("{} {generation}", self.format),
            None => self.format.clone(),
        }
    }

    pub(crate) fn expected(&self) -> Expected {
        match (&*self.verdict, self.source.as_deref()) {
            ("valid", _) => Expected::Valid,
            ("invalid", Some("policy")) => Expected::Policy,
            ("invalid", Some("implied")) => Expected::Implied,
            ("invalid", Some("fault")) => Expected::Fault,
            ("invalid", _) => Expected::Specification,
            _ => Expected::Either,
        }
    }

    /// Returns the option of the corpus with which the file has its verdict; `-` if it has the verdict without options.
    pub(crate) fn options(&self) -> &str {
        self.options.as_deref().unwrap_or("-")
    }

    /// Returns whether other readers can judge the file: they have neither the canonical form nor our limits. A file that is
    /// rejected with a tolerance is also rejected without.
    pub(crate) fn is_compared(&self) -> bool {
        self.options.as_deref().is_none_or(|options| options.starts_with("tolerate="))
    }
}

/// Returns every file that has a verdict.
pub(crate) fn entries() -> Result<Vec<Entry>> {
    let index = std::fs::read(corpus().join("index.json")).context("corpus/index.json")?;
    let Index { version, files } = serde_json::from_slice(&index)?;
    ensure!(version == 1, "corpus/index.json has version {version}, expected 1");
    Ok(files.into_iter().filter(|entry| entry.verdict != "part").collect())
}
