//! Files of any format that is read as zTensor files.

use std::io;

use zten::write::{Copier, CopyError, Sink, WriteError};
use zten::{Generation, ReadError};
use zten_formats::{find_without_profile, profile};

use super::plan::Plan;
use crate::args::Convert;
use crate::file::{FileWithShards, TensorFile, stored};
use crate::progress::Watched;
use crate::report::Problem;
use crate::sources::Sources;

/// Copies all of a file.
pub(super) fn convert<S: Sink<Error = io::Error>>(
    args: &Convert,
    archive: &FileWithShards,
    sink: S,
    plan: &Plan,
) -> Result<S, Box<Problem>> {
    if plan.generation == Generation::V2
        && let Some(finding) = find_without_profile(archive)
    {
        return Err(Box::new(Problem::found(&args.input, finding)));
    }
    let source = Watched::new(archive, stored(archive));
    let options = args.strictness.options();
    let limits = options.limit();
    let failed = |failure| Box::new(Problem::reading(&args.input, archive, &failure));
    let mut files = Sources::bind(archive, &source, limits).map_err(failed)?;
    files.require(limits).map_err(failed)?;
    let copier = Copier::new(archive.all_bytes(), limits);
    let copier = match plan.level {
        Some(level) => copier.compressed(level),
        None => copier,
    };
    let copier = match plan.generation {
        Generation::V2 => copier.layouts(profile),
        _ => copier,
    };
    let written = copier.file(archive, files.all(), sink, &plan.settings);
    let written = written.map_err(|error| match error {
        CopyError::Read(failure) => CopyError::Read(files.settle(failure, limits)),
        other => other,
    });
    written.map_err(|error| Box::new(problem(args, archive, error)))
}

fn problem(
    args: &Convert,
    archive: &TensorFile,
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
