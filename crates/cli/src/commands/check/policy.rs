//! The policy of the command line, applied to files and their problems.

use std::path::Path;

use zten::finding::Verdict;
use zten_report::policy::{Policy, to_error};
use zten_report::stores::Role;

use crate::input::file::FileWithShards;
use crate::output::kind::Outcome;
use crate::output::report::{Flaw, More, Problem};

/// Checks a file whose manifest is valid against the requirements of `policy`.
pub(super) fn check(
    policy: &Policy,
    path: &Path,
    archive: &FileWithShards,
) -> Result<(), Box<Problem>> {
    policy.check(archive.manifest(), archive.file_len()).map_err(|violations| {
        let problem = Problem::found(path, violations.finding);
        let Some(others) = violations.others else { return Box::new(problem) };
        let mut more = More::default();
        for tensor in others {
            more.add(tensor.name(), Flaw::AgainstPolicy);
        }
        Box::new(problem.and_more(more))
    })
}

/// Applies `policy` to a file of `length` bytes that zten does not read because of `problem`.
pub(super) fn check_unread(policy: &Policy, problem: Box<Problem>, length: u64) -> Box<Problem> {
    match policy.check_unread(problem.finding(), length) {
        Some(finding) => Box::new(problem.with_finding(finding)),
        None => problem,
    }
}

/// Applies `policy` to the outcome of a check. A tolerated finding gets the verdict `Tolerated`. A denied note becomes the error of
/// a file that is valid, or whose finding is tolerated. If the finding is not tolerated, the outcome stays the same, whatever its
/// notes are.
pub(super) fn apply(policy: &Policy, path: &Path, outcome: Outcome) -> Outcome {
    match outcome {
        Ok(mut valid) => {
            let Some(denied) = policy.denied(&valid.notes) else { return Ok(valid) };
            let finding = to_error(valid.notes.remove(denied));
            Err(Box::new(Problem::found(path, finding).with_notes(valid.notes)))
        }
        Err(problem)
            if policy.tolerates(problem.finding().row)
                || problem.finding().verdict == Verdict::Tolerated =>
        {
            let denied = policy.denied(problem.notes()).and_then(|at| problem.notes().get(at));
            match denied.cloned() {
                None => Err(Box::new(problem.tolerated())),
                Some(note) => Err(Box::new(problem.with_finding(to_error(note)))),
            }
        }
        Err(problem) => Err(problem),
    }
}

/// Applies the requirement of `policy` that files in stores are compared with their digests: the file at `path`, whose role in its
/// store is `role`, fails if it was not compared. A problem stays the same, unless it says that the file is unsupported or
/// tolerated.
pub(super) fn check_store(
    policy: &Policy,
    (path, role): (&Path, &Role),
    outcome: Outcome,
) -> Outcome {
    let holds_no_tensors = outcome.as_ref().is_ok_and(|valid| valid.verdict == Verdict::Other);
    match (policy.check_store(role, holds_no_tensors), outcome) {
        (None, outcome) => outcome,
        (Some(finding), Ok(valid)) => {
            Err(Box::new(Problem::found(path, finding).with_notes(valid.notes)))
        }
        (Some(finding), Err(problem)) => match problem.finding().verdict {
            Verdict::Unsupported | Verdict::Tolerated => {
                Err(Box::new(problem.with_finding(finding)))
            }
            _ => Err(problem),
        },
    }
}
