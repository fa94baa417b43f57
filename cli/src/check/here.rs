//! Checking files one after another in a process that may open them, and is not confined.

use std::io::{self, Write as _};

use super::entries::{Entries, Entry};
use super::kind::Outcome;
use super::output::Output;
use super::validate::begin;
use crate::app::App;
use crate::args::Check;
use crate::companion::Companion;
use crate::escape;
use crate::report::Problem;

/// Checks all files.
pub(super) fn run(
    app: &mut App,
    args: &Check,
    mut entries: Entries<'_>,
    output: &mut Output,
) -> io::Result<()> {
    loop {
        match entries.next() {
            Ok(Some(entry)) => {
                output.outcome(app, &entry.path, &outcome(&entry, args))?;
                app.out.flush()?;
            }
            Ok(None) => return Ok(()),
            Err(error) => return app.usage(list_error(args, &error)),
        }
    }
}

/// Checks one file, with the shards that are found.
pub(super) fn outcome(entry: &Entry, args: &Check) -> Outcome {
    let path = &entry.path;
    let problem = |error| Box::new(Problem::io(path, &error));
    let mut begun = begin(entry.open(args).map_err(problem)?, args)?;
    for want in begun.wants(args) {
        begun.add(want.open(path).map_err(problem)?.map(Companion::from));
    }
    begun.validate(path, args)
}

/// That the list of files cannot be read.
pub(super) fn list_error(args: &Check, error: &io::Error) -> String {
    let list = args.files_from.as_deref().unwrap_or_else(|| "-".as_ref());
    format!("--files-from {}: {error}", escape::path(list))
}
