//! What has been found of a file.

use zten::rules::Row;

use crate::report::{Problem, Verdict};

/// What has been found of a file: that it is valid, in a sentence, or what is wrong with it.
pub(super) type Outcome = Result<Valid, Box<Problem>>;

/// What is said of a file that nothing is wrong with.
#[derive(Debug)]
pub(super) struct Valid {
    pub(super) verdict: Verdict,
    pub(super) summary: String,
    pub(super) format: &'static str,
}

/// What is known of an outcome without its words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) verdict: Verdict,
    pub(super) row: Option<&'static Row>,
}

impl Kind {
    pub(super) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Ok(valid) => Self { verdict: valid.verdict, row: None },
            Err(problem) => {
                let finding = problem.finding();
                Self { verdict: finding.verdict, row: finding.row }
            }
        }
    }
}
