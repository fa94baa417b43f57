//! What came of a mutant.

use serde::{Deserialize, Serialize};

/// What came of a mutant.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    /// It is not compiled: with other features only.
    Absent,
    /// It does not compile.
    Unviable,
    /// It cannot be switched while the program runs: it is in a constant, or its type is `impl Trait`.
    Fixed,
    /// A test failed.
    Caught,
    /// A test ran out of time.
    Timeout,
    /// No test failed.
    Missed,
}

impl Outcome {
    /// All, in the order of the table.
    pub(crate) const ALL: [Self; 6] =
        [Self::Absent, Self::Unviable, Self::Fixed, Self::Caught, Self::Timeout, Self::Missed];

    /// What the table calls it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Absent => "not compiled with the default features",
            Self::Unviable => "unviable: they do not compile",
            Self::Fixed => "cannot be switched while the program runs",
            Self::Caught => "caught by a failing test",
            Self::Timeout => "caught by running out of time",
            Self::Missed => "missed",
        }
    }
}

/// A line of the results.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Line {
    pub(crate) mutant: String,
    pub(crate) outcome: Outcome,
    /// The test that saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
}
