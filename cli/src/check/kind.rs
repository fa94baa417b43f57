//! What has been found of a file.

use zten::rules::Row;

use crate::report::{Problem, Verdict};

/// What has been found of a file: that it is valid, in a sentence, or what is wrong with it.
pub(super) type Outcome = Result<(Verdict, String), Box<Problem>>;

/// What is known of an outcome without its words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) verdict: Verdict,
    pub(super) row: Option<&'static Row>,
}

impl Kind {
    pub(super) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Ok((verdict, _)) => Self { verdict: *verdict, row: None },
            Err(problem) => {
                let finding = problem.finding();
                Self { verdict: finding.verdict, row: finding.row }
            }
        }
    }
}
