//! `zten check`: checks whether files are valid.

#[cfg(target_os = "linux")]
mod about;
mod entries;
mod output;
mod policy;
mod record;
mod sarif;
mod tally;
mod validate;

use std::io::{self, Write as _};

#[cfg(target_os = "linux")]
use zten_worker::process::PART;

use crate::args::Check;
use crate::escape;
#[cfg(target_os = "linux")]
use crate::input::file::Opened;
use crate::output::app::App;
#[cfg(target_os = "linux")]
use crate::output::kind::{Kind, Outcome};
use crate::output::report::Problem;
#[cfg(target_os = "linux")]
use crate::output::report::remove_names;
pub(crate) use entries::Entries;
#[cfg(target_os = "linux")]
pub(crate) use entries::Entry;
pub(crate) use output::Output;
#[cfg(target_os = "linux")]
use record::Form;
#[cfg(target_os = "linux")]
pub(crate) use record::Record;
use validate::validate;

/// Checks all files in this process.
pub(crate) fn run(app: &mut App, args: &Check) -> io::Result<()> {
    let mut output = Output::begin(app, args)?;
    let mut entries = match Entries::of(args) {
        Ok(entries) => entries,
        Err(error) => return app.usage(list_error(args, &error)),
    };
    output.count_skipped(&entries);
    loop {
        let entry = match entries.next() {
            Ok(Some(entry)) => entry,
            Ok(None) => return output.end(app),
            Err(error) => return app.usage(list_error(args, &error)),
        };
        let path = &entry.path;
        let file = entry.opened(&args.strictness);
        let file = file.map_err(|error| Box::new(Problem::io(path, &error)));
        let outcome = file.and_then(|file| validate(path, file, args));
        output.outcome(app, &entry, &outcome)?;
        app.out.flush()?;
    }
}

/// Checks one file in a worker, and renders the text that the broker prints.
#[cfg(target_os = "linux")]
pub(crate) fn job(
    app: &mut App,
    args: &Check,
    file: Result<Opened, Box<Problem>>,
) -> io::Result<Kind> {
    let path = match &file {
        Ok(file) => file.path.clone(),
        Err(problem) => problem.path().to_owned(),
    };
    let form = Form::of(args);
    let outcome = file.and_then(|file| validate(&path, file, args));
    let mut record = Record::new(form, &path, &outcome);
    if record.text.len() > PART {
        record = Record::new(form, &path, &without_names(outcome));
    }
    app.out.write_all(record.text.as_bytes())?;
    Ok(record.kind)
}

/// Removes the names that the file holds from `outcome`: they may be longer than a message of a worker.
#[cfg(target_os = "linux")]
fn without_names(outcome: Outcome) -> Outcome {
    match outcome {
        Ok(mut valid) => {
            remove_names(&mut valid.notes);
            Ok(valid)
        }
        Err(problem) => Err(Box::new(problem.without_names())),
    }
}

/// Returns the message that the list of files cannot be read, because of `error`.
pub(crate) fn list_error(args: &Check, error: &io::Error) -> String {
    let list = args.files_from.as_deref().unwrap_or_else(|| "-".as_ref());
    format!("--files-from {}: {error}", escape::path(list))
}
