//! `zten check`: checks whether files are valid.

#[cfg(target_os = "linux")]
mod about;
mod entries;
mod output;
mod policy;
mod record;
mod sarif;
mod store;
mod tally;
mod validate;

use crate::args::Check;
use crate::input::file::Opened;
use crate::output::kind::Outcome;
use crate::output::report::{Problem, remove_names};
pub(crate) use entries::{CheckedFile, Entries};
pub(crate) use output::Output;
use record::OutputForm;
pub(crate) use record::RenderedOutcome;
use validate::validate;

/// Checks one file, and returns the rendered outcome. If its text is longer than `longest` bytes, the outcome is rendered
/// without the names that the file holds.
pub(crate) fn run(
    args: &Check,
    file: Result<Opened, Box<Problem>>,
    longest: usize,
) -> RenderedOutcome {
    let path = match &file {
        Ok(file) => file.path.clone(),
        Err(problem) => problem.path().to_owned(),
    };
    let form = OutputForm::of(args);
    let outcome = file.and_then(|file| validate(&path, file, args));
    let record = RenderedOutcome::new(form, &path, &outcome);
    if record.text.len() <= longest {
        return record;
    }
    RenderedOutcome::new(form, &path, &without_names(outcome))
}

/// Removes the names of objects and components, which the file chooses, from `outcome`, so that its text fits in a message.
fn without_names(outcome: Outcome) -> Outcome {
    match outcome {
        Ok(mut valid) => {
            remove_names(&mut valid.notes);
            Ok(valid)
        }
        Err(problem) => Err(Box::new(problem.without_names())),
    }
}
