//! Whether one file is valid.

use std::path::Path;

use zten::{ErrorKind, Limits, Object, Options, ReadError, verify::Verifier};
use zten_present::finding::{Scope, summary};
use zten_shards::Wanted;

use super::kind::Outcome;
use crate::args::Check;
use crate::file::{FileWithShards, Opened, stored};
use crate::objects::{Failure, Work};
use crate::progress::Watched;
use crate::report::Problem;
use crate::sandbox::Task;
use crate::sources::Sources;

/// What is valid about a file, or what is wrong with it.
pub(super) fn validate(path: &Path, file: Opened, args: &Check) -> Outcome {
    let archive = open(file, args)?;
    validate_content(path, &archive, args)
}

/// The work on each file.
pub(super) fn task(args: &Check) -> Task {
    if args.manifest_only { Task::Look } else { Task::Decode }
}

/// Validates the manifest of a file.
pub(super) fn open(file: Opened, args: &Check) -> Result<FileWithShards, Box<Problem>> {
    file.archive(&options(args))
}

/// The shards that a file is to be given before its content is validated.
pub(super) fn wanted(archive: &FileWithShards, args: &Check) -> Vec<Wanted> {
    let looks = !args.manifest_only && args.strictness.looks_for_shards();
    if looks { zten_shards::wanted(archive, &options(args)) } else { Vec::new() }
}

fn options(args: &Check) -> Options {
    let options = args.strictness.options();
    if args.canonical { options.canonical() } else { options }
}

/// Validates the content of a file whose manifest is valid.
pub(super) fn validate_content(path: &Path, archive: &FileWithShards, args: &Check) -> Outcome {
    let scope = if args.manifest_only { Scope::Manifest } else { Scope::All };
    if scope == Scope::All && !archive.is_data_shard() {
        read(path, archive, options(args).limit(), args.canonical)?;
    }
    Ok(summary(archive.manifest(), scope, args.canonical, archive.file_len()))
}

/// Reads all content. What is not supported does not keep the rest from being validated: a broken
/// rule further on says more about the file. Padding comes last, where it is asked for.
fn read(
    path: &Path,
    archive: &FileWithShards,
    limits: &Limits,
    canonical: bool,
) -> Result<(), Box<Problem>> {
    let source = Watched::new(archive, stored(archive));
    let failed = |failure| Box::new(Problem::reading(path, archive, &failure));
    let files = Sources::bind(archive, &source, limits).map_err(failed)?;
    let validate =
        |verifier: &mut Verifier, object: &Object<'_>| files.object(verifier, object, |_, _| ());
    let results = Work { archive, limits, passes: is_unsupported, validate }.run();
    let failures: Vec<&Failure> =
        results.iter().filter_map(|result| result.as_ref().err()).collect();
    let problem = |failure| Box::new(Problem::reading(path, archive, failure));
    if let Some(failure) = failures.iter().find(|failure| !is_unsupported(failure)) {
        return Err(problem(failure));
    }
    let whole = files.whole(limits);
    if let Err(failure) = whole
        && (failures.is_empty() || !is_unsupported(&failure))
    {
        return Err(failed(failure));
    }
    match failures.split_first() {
        Some((first, more)) => {
            let mut problem = problem(first);
            problem.and_more(u64::try_from(more.len()).unwrap_or(u64::MAX));
            Err(problem)
        }
        None if canonical => {
            let padding = Verifier::new(archive.file_len(), limits).padding(archive, &source);
            padding.map_err(|failure| Box::new(Problem::reading(path, archive, &failure)))
        }
        None => Ok(()),
    }
}

/// Whether the file may be valid for another reader.
fn is_unsupported(failure: &Failure) -> bool {
    matches!(failure, ReadError::Refused(error) if matches!(error.kind(), ErrorKind::Unsupported(_)))
}
