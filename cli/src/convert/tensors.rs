//! zTensor files of any generation.

use std::io;

use zten::ReadError;
use zten::source::FileArchive;
use zten::write::{Copier, CopyError, Sink, WriteError};

use super::plan::Plan;
use crate::args::Convert;
use crate::file::stored;
use crate::progress::Watched;
use crate::report::Problem;

/// Copies all of a file.
pub(super) fn convert<S: Sink<Error = io::Error>>(
    args: &Convert,
    archive: &FileArchive,
    sink: S,
    plan: &Plan,
) -> Result<S, Box<Problem>> {
    let source = Watched::new(archive, stored(archive));
    let options = args.strictness.options();
    let copier = Copier::new(archive.file_len(), options.limit());
    let copier = match plan.level {
        Some(level) => copier.compressed(level),
        None => copier,
    };
    let written = copier.file(archive, &source, sink, &plan.settings);
    drop(source);
    written.map_err(|error| Box::new(problem(args, archive, error)))
}

fn problem(
    args: &Convert,
    archive: &FileArchive,
    error: CopyError<io::Error, io::Error>,
) -> Problem {
    match error {
        CopyError::Read(error) => Problem::reading(&args.input, archive, &error),
        CopyError::Write(WriteError::Sink(error)) => Problem::io(&args.output, &error),
        CopyError::Write(WriteError::Refused(error)) => {
            Problem::reading(&args.input, archive, &ReadError::Refused(error))
        }
        CopyError::Inexpressible(what) => Problem::inexpressible(&args.input, &what.sentence())
            .named(archive, what.error().place()),
    }
}
