//! `zten check`: whether files are valid.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use zten::{ErrorKind, Limits, Object, ReadError, verify::Verifier};
use zten_present::finding::{Scope, summary};

use crate::app::App;
use crate::args::Check;
use crate::escape;
use crate::file::{FileWithShards, Opened, stored};
use crate::mode::Mode;
use crate::objects::{Failure, Work};
use crate::progress::Watched;
use crate::report::{Problem, Verdict, good_json};
use crate::sandbox::{self, Access, Task};
use crate::sources::Sources;

/// Checks all the files.
pub(crate) fn run(app: &mut App, args: &Check, mode: Mode) -> io::Result<()> {
    let paths = args.files.iter().map(PathBuf::as_path);
    let task = if args.manifest_only { Task::Look } else { Task::Decode };
    let access = Access { mode, task, strictness: &args.strictness };
    let Some(files) = sandbox::files(app, paths, access)? else {
        return Ok(());
    };
    for (path, file) in args.files.iter().zip(files) {
        match file.and_then(|file| validate(path, file, args)) {
            Ok((verdict, summary)) if args.json => {
                good_json(&mut app.out, path, verdict, &summary)?;
            }
            Ok((_, summary)) => writeln!(app.out, "{}: {summary}", escape::path(path))?,
            Err(problem) if args.json => {
                app.worsen(problem.status());
                problem.json(&mut app.out)?;
            }
            Err(problem) => app.problem(&problem)?,
        }
        // What is known of one file is not held back by the work on the next.
        app.out.flush()?;
    }
    Ok(())
}

/// What is valid about a file, or what is wrong with it.
fn validate(path: &Path, file: Opened, args: &Check) -> Result<(Verdict, String), Box<Problem>> {
    let mut options = args.strictness.options();
    if args.canonical {
        options = options.canonical();
    }
    let archive = file.archive(&options)?;
    let scope = if args.manifest_only { Scope::Manifest } else { Scope::All };
    if scope == Scope::All && !archive.is_data_shard() {
        read(path, &archive, options.limit(), args.canonical)?;
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
