//! `zten check`: whether files are valid.

mod entries;
#[cfg(target_os = "linux")]
mod fleet;
mod here;
mod kind;
mod output;
mod record;
mod sarif;
mod tally;
mod validate;

use std::io::{self, Write as _};
use std::path::PathBuf;

use crate::app::App;
use crate::args::Check;
use crate::mode::Mode;
use crate::sandbox::{self, Access};
use entries::Entries;
#[cfg(target_os = "linux")]
use fleet::Fleet;
#[cfg(target_os = "linux")]
pub(crate) use fleet::work;
use output::Output;
use validate::{task, validate};

/// Files that are opened before the first is read, at most.
const AT_ONCE: usize = 8;

/// Checks all the files.
pub(crate) fn run(app: &mut App, args: &Check, mode: Mode) -> io::Result<()> {
    let mut output = Output::begin(app, args)?;
    if are_few(args) && mode.confines() {
        few(app, &mut output, args, mode)?;
    } else {
        many(app, &mut output, args, mode)?;
    }
    output.end(app)
}

/// Whether all files can be opened before the first is read.
fn are_few(args: &Check) -> bool {
    let named = !args.recursive && args.files_from.is_none() && args.jobs.is_none();
    named && args.files.len() <= AT_ONCE
}

/// Checks files in this process, which is confined when they are open.
fn few(app: &mut App, output: &mut Output, args: &Check, mode: Mode) -> io::Result<()> {
    let paths = args.files.iter().map(PathBuf::as_path);
    let access = Access { mode, task: task(args), strictness: &args.strictness };
    let Some(files) = sandbox::files(app, paths, access)? else {
        return Ok(());
    };
    for (path, file) in args.files.iter().zip(files) {
        let outcome = file.and_then(|file| validate(path, file, args));
        output.outcome(app, path, &outcome)?;
        // What is known of one file is not held back by the work on the next.
        app.out.flush()?;
    }
    Ok(())
}

/// Checks any number of files, in other processes if any is to be confined.
fn many(app: &mut App, output: &mut Output, args: &Check, mode: Mode) -> io::Result<()> {
    let entries = match Entries::of(args) {
        Ok(entries) => entries,
        Err(error) => return app.usage(here::list_error(args, &error)),
    };
    #[cfg(target_os = "linux")]
    if mode.confines() || args.jobs.is_some() {
        return Fleet::new(args, mode, entries).run(app, output);
    }
    if mode == Mode::Require || args.jobs.is_some_and(|jobs| jobs > 1) {
        return app.usage("--require-sandbox and --jobs: only Linux has what they need");
    }
    here::run(app, args, entries, output)
}
