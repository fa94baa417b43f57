//! The outcome of checking a file.

use zten::rules::Row;

use crate::catalog;
use crate::report::{Problem, Verdict};

/// The outcome of checking a file: that it is valid, in a sentence, or what is wrong with it.
pub(crate) type Outcome = Result<Valid, Box<Problem>>;

/// The description of a valid file.
#[derive(Debug)]
pub(crate) struct Valid {
    pub(crate) verdict: Verdict,
    pub(crate) summary: String,
    pub(crate) format: &'static str,
}

/// The verdict and the rule of an outcome, without its words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) verdict: Verdict,
    pub(crate) row: Option<&'static Row>,
}

/// All verdicts, in the order of their numbers in messages, in which they are listed.
pub(crate) const VERDICTS: [Verdict; 7] = [
    Verdict::Valid,
    Verdict::ManifestValid,
    Verdict::Invalid,
    Verdict::Tolerated,
    Verdict::Unsupported,
    Verdict::Limit,
    Verdict::Error,
];

impl Kind {
    /// Returns the numbers of the verdict and of the rule.
    pub(crate) fn numbers(self) -> (u8, Option<u16>) {
        let verdict = VERDICTS.iter().position(|verdict| *verdict == self.verdict);
        let verdict = verdict.and_then(|number| u8::try_from(number).ok());
        (verdict.unwrap_or(u8::MAX), self.row.and_then(catalog::number))
    }

    /// Returns the verdict and the rule of these numbers; none where there are no such.
    pub(crate) fn from_numbers(verdict: u8, rule: Option<u16>) -> Option<Self> {
        let verdict = *VERDICTS.get(usize::from(verdict))?;
        let row = match rule {
            Some(rule) => Some(catalog::rows().nth(rule.into())?),
            None => None,
        };
        Some(Self { verdict, row })
    }

    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Ok(valid) => Self { verdict: valid.verdict, row: None },
            Err(problem) => {
                let finding = problem.finding();
                Self { verdict: finding.verdict, row: finding.row }
            }
        }
    }
}
