//! Files of any format that is read as safetensors and NumPy files.

mod archived;
mod foreign;

#[cfg(test)]
mod tests;

use super::output::{self, Failure, Output, Source, Target};
use crate::args::Convert;
use crate::file::{FileWithShards, stored};
use crate::progress::Watched;
use crate::report::Problem;
use archived::Archived;
use foreign::Foreign;
use zten_formats::Input;

/// Writes all of a zTensor or safetensors file, and returns where it was written.
pub(super) fn archive<S: Output>(
    args: &Convert,
    archive: &FileWithShards,
    sink: S,
    target: Target,
) -> Result<S, Box<Problem>> {
    let watched = Watched::new(archive, stored(archive));
    let mut source =
        Archived::new(args, archive, &watched).map_err(|failure| problem(args, failure))?;
    write(args, &mut source, sink, target)
}

/// The same of a file of a format that has no archives.
pub(super) fn foreign<S: Output>(
    args: &Convert,
    input: Input,
    sink: S,
    target: Target,
) -> Result<S, Box<Problem>> {
    write(args, &mut Foreign::new(args, input)?, sink, target)
}

fn write<S: Output>(
    args: &Convert,
    source: &mut dyn Source,
    mut sink: S,
    target: Target,
) -> Result<S, Box<Problem>> {
    match output::write(target, source, &mut sink) {
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
