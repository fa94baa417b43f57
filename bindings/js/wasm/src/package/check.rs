//! Validates a whole file, object by object, with the report of `zten check`.

use std::io;
use std::sync::Mutex;

use crate::border::Answer;
use crate::opening::check_name;
use crate::problem;
use crate::session::File;
use zten::ErrorKind;
use zten::finding::format_name;
use zten::json;
use zten::verify::{Check, Subject};
use zten_report::check::{Report, Scope, Valid, summary, with_notes};

/// The check in progress: set by [`begin`], removed by [`end`], or by [`object`] if no other object can change the verdict.
static CHECK: Mutex<Option<Check<'static>>> = Mutex::new(None);

/// Begins to validate `file`. If the suffix of the file's name is that of another format, writes the finding to `out` instead.
pub(crate) fn begin(file: &'static File, out: &mut Answer) -> io::Result<()> {
    if !check_name(file, out)? {
        return Ok(());
    }
    let Ok(mut check) = CHECK.try_lock() else {
        return Err(io::ErrorKind::WouldBlock.into());
    };
    // Only `full.wasm` and the page have sibling files. The code for them would make the modules for single formats larger.
    let subject = if cfg!(feature = "siblings") {
        Subject::from(file)
    } else {
        Subject::alone(file.manifest(), file.source())
    };
    *check = Some(Check::new(subject, &()));
    Ok(())
}

/// Reads and verifies the content of object `ordinal` of `file`. If no other object can change the verdict, ends the validation,
/// and writes the report to `out`.
pub(crate) fn object(file: &'static File, ordinal: u32, out: &mut Answer) -> io::Result<()> {
    let Ok(mut checking) = CHECK.try_lock() else {
        return Err(io::ErrorKind::WouldBlock.into());
    };
    let check = checking.as_mut().filter(|_| file.manifest().tensor_at(ordinal).is_some());
    let Some(check) = check else { return Err(io::ErrorKind::NotFound.into()) };
    if check.object(ordinal, &mut ()).is_continue() {
        return Ok(());
    }
    match checking.take() {
        Some(check) => report(file, check, out),
        None => Ok(()),
    }
}

/// Compares the tensors of which two files that the index `file` names have a copy. Does nothing if `file` is no index. Writes a
/// finding to `out` if these files could not be read. The host may then call again.
#[cfg(feature = "siblings")]
pub(crate) fn copies(file: &'static File, out: &mut Answer) -> io::Result<()> {
    let Ok(mut checking) = CHECK.try_lock() else {
        return Err(io::ErrorKind::WouldBlock.into());
    };
    let Some(check) = checking.as_mut() else { return Err(io::ErrorKind::NotFound.into()) };
    match check.compare_copies(&()) {
        Ok(()) => Ok(()),
        Err(error) => problem::reading(file, &error, out),
    }
}

/// Ends the validation of `file`, after its last object, and writes the report to `out`.
pub(crate) fn end(file: &'static File, out: &mut Answer) -> io::Result<()> {
    let Ok(mut check) = CHECK.try_lock() else {
        return Err(io::ErrorKind::WouldBlock.into());
    };
    let Some(check) = check.take() else { return Err(io::ErrorKind::NotFound.into()) };
    report(file, check, out)
}

/// Finishes `check`, and writes the report on `file` to `out`.
fn report(file: &'static File, check: Check<'static>, out: &mut Answer) -> io::Result<()> {
    let report = check.finish(&());
    let notes = || report.all_notes(file.manifest());
    match report.fault() {
        Some(fault) if fault.error().kind() == ErrorKind::Read => {
            problem::reading(file, fault.error(), out)
        }
        Some(fault) => {
            let finding = fault.finding(file.manifest());
            json::to_writer(out, &Report::found(&finding, None).with_notes(&notes()))
        }
        None => {
            let notes = notes();
            let (verdict, message) = summary(file.manifest(), Scope::All, false, file.file_len());
            let message = with_notes(message, notes.len());
            let format = format_name(file.manifest());
            let valid = Valid { verdict, format, message: &message, notes: &notes };
            json::to_writer(out, &Report::valid(&valid))
        }
    }
}
