//! The outcome of checking a file.

use zten::finding::Finding;
use zten::formats::KINDS;
use zten::rules::Row;

use crate::catalog;
use crate::link::verdict::KindNumbers;
use crate::output::report::{Problem, Verdict};

/// The outcome of checking a file: the description of a valid file, or the problem.
pub(crate) type Outcome = Result<Valid, Box<Problem>>;

/// The description of a valid file, or of a file of a kind that holds no tensors.
#[derive(Debug)]
pub(crate) struct Valid {
    pub(crate) verdict: Verdict,
    pub(crate) summary: String,
    pub(crate) format: &'static str,
    pub(crate) notes: Vec<Finding>,
}

/// The verdict and the rules of an outcome, without the text.
#[derive(Clone, Debug)]
pub(crate) struct OutcomeKind {
    pub(crate) verdict: Verdict,
    /// The rule of the finding that decided the verdict.
    pub(crate) row: Option<&'static Row>,
    /// The rules of the notes.
    pub(crate) notes: Vec<&'static Row>,
    /// The name in [`KINDS`] of a file that holds no tensors.
    pub(crate) other: Option<&'static str>,
}

/// All verdicts, in the order of their numbers in messages, which is also the order of lists.
pub(crate) const VERDICTS: [Verdict; 8] = [
    Verdict::Valid,
    Verdict::ManifestValid,
    Verdict::Invalid,
    Verdict::Tolerated,
    Verdict::Unsupported,
    Verdict::Limit,
    Verdict::Error,
    Verdict::Other,
];

impl OutcomeKind {
    /// Returns the verdict and the rules as numbers.
    pub(crate) fn numbers(&self) -> KindNumbers {
        let verdict = VERDICTS.iter().position(|verdict| *verdict == self.verdict);
        let verdict = verdict.and_then(|number| u8::try_from(number).ok()).unwrap_or(u8::MAX);
        let notes = self.notes.iter().copied().filter_map(catalog::number).collect();
        let number = |other| {
            let place = KINDS.iter().position(|kind| *kind == other);
            place.and_then(|number| u8::try_from(number).ok()).unwrap_or(u8::MAX)
        };
        let (rule, other) = (self.row.and_then(catalog::number), self.other.map(number));
        KindNumbers { verdict, rule, notes, other }
    }

    /// Returns the verdict and the rules of these numbers; `None` if a number has no meaning.
    pub(crate) fn from_numbers(numbers: &KindNumbers) -> Option<Self> {
        let verdict = *VERDICTS.get(usize::from(numbers.verdict))?;
        let row = |rule: u16| catalog::rows().nth(rule.into());
        let rule = match numbers.rule {
            Some(rule) => Some(row(rule)?),
            None => None,
        };
        let notes = numbers.notes.iter().map(|rule| row(*rule)).collect::<Option<_>>()?;
        let other = match numbers.other {
            Some(other) => Some(*KINDS.get(usize::from(other))?),
            None => None,
        };
        Some(Self { verdict, row: rule, notes, other })
    }

    /// Returns the verdict and the rules of `outcome`.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        let (verdict, row, notes) = match outcome {
            Ok(valid) => (valid.verdict, None, &valid.notes),
            Err(problem) => {
                let finding = problem.finding();
                (finding.verdict, finding.row, problem.notes())
            }
        };
        let other = outcome.as_ref().ok().filter(|valid| valid.verdict == Verdict::Other);
        let other = other.map(|valid| valid.format);
        Self { verdict, row, notes: notes.iter().filter_map(|note| note.row).collect(), other }
    }

    /// Returns whether the file has no finding, not even a note.
    pub(crate) fn has_no_finding(&self) -> bool {
        self.verdict.is_valid() && self.notes.is_empty()
    }
}
