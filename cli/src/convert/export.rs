//! Files of any format that is read as safetensors and NumPy files.

mod archived;

#[cfg(test)]
mod tests;

use super::output::{self, Failure, Output, Target};
use crate::args::Convert;
use crate::file::{FileWithShards, stored};
use crate::progress::Watched;
use crate::report::Problem;
use archived::Archived;

/// Writes all of a file, and returns where it was written.
pub(super) fn archive<S: Output>(
    args: &Convert,
    archive: &FileWithShards,
    mut sink: S,
    target: Target,
) -> Result<S, Box<Problem>> {
    let watched = Watched::new(archive, stored(archive));
    let mut source =
        Archived::new(args, archive, &watched).map_err(|failure| problem(args, failure))?;
    match output::write(target, &mut source, &mut sink) {
        Ok(()) => Ok(sink),
        Err(failure) => Err(problem(args, failure)),
    }
}

fn problem(args: &Convert, failure: Failure) -> Box<Problem> {
    match failure {
        Failure::Input(problem) => problem,
        Failure::Output(error) => Box::new(Problem::io(&args.output, &error)),
        Failure::Inexpressible { object, sentence } => {
            let sentence = format!("it can be read, and not be written: {sentence}");
            Box::new(Problem::inexpressible(&args.input, &sentence).in_object(object))
        }
    }
}
