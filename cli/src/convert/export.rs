//! Files of any format that is read as safetensors and NumPy files.

mod archived;

#[cfg(test)]
mod tests;

use std::io::{Seek, Write};

use super::output::{self, Failure, Target};
use crate::args::Convert;
use crate::file::{FileWithShards, stored};
use crate::progress::Progress;
use crate::report::Problem;
use archived::Archived;

/// Writes all of a file.
pub(super) fn archive(
    args: &Convert,
    archive: &FileWithShards,
    mut out: impl Write + Seek,
    target: Target,
) -> Result<(), Box<Problem>> {
    let progress = Progress::new(stored(archive.manifest()));
    let written = Archived::new(args, archive, &progress)
        .and_then(|mut source| output::write(target, &mut source, &mut out));
    written.map_err(|failure| problem(args, failure))
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
