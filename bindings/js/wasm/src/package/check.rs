//! Validates a whole file, object by object, with the report of `zten check`.

use std::io;
use std::sync::Mutex;

use crate::border::Answer;
use crate::opening::check_name;
use crate::problem;
use crate::session::{self, File};
use zten::Error;
use zten::finding::{Finding, format_name};
use zten::json;
use zten::verify::Verifier;
use zten_report::check::{Report, Scope, Valid, summary, with_notes};

/// The state of a validation that has begun.
struct Checking {
    verifier: Verifier,
    /// The first unsupported feature. The other objects are validated nevertheless: a broken rule is the better report.
    unsupported: Option<Error>,
}

/// The validation that [`begin`] has begun, until [`end`].
static CHECKING: Mutex<Option<Checking>> = Mutex::new(None);

/// Begins to validate `file`. If its name has the suffix of another format, writes the finding to `out`, and does not begin.
pub(crate) fn begin(file: &File, out: &mut Answer) -> io::Result<()> {
    if !check_name(file, out)? {
        return Ok(());
    }
    let Ok(mut checking) = CHECKING.try_lock() else {
        return Err(io::ErrorKind::WouldBlock.into());
    };
    let verifier = Verifier::new(file.manifest());
    *checking = Some(Checking { verifier, unsupported: None });
    Ok(())
}

/// Validates object `ordinal` of `file`. Writes the finding to `out` if the object breaks a rule.
pub(crate) fn object(file: &File, ordinal: u32, out: &mut Answer) -> io::Result<()> {
    let Ok(mut checking) = CHECKING.try_lock() else {
        return Err(io::ErrorKind::WouldBlock.into());
    };
    let (Some(checking), Ok(tensor)) = (checking.as_mut(), session::tensor(file, ordinal)) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    match checking.verifier.check(&tensor) {
        Ok(()) => Ok(()),
        Err(error) if error.is_unsupported() => {
            checking.unsupported.get_or_insert(error);
            Ok(())
        }
        Err(error) => problem::reading(file, &error, out),
    }
}

/// Ends the validation of `file`, and writes the report to `out`.
pub(crate) fn end(file: &'static File, out: &mut Answer) -> io::Result<()> {
    let Ok(mut checking) = CHECKING.try_lock() else {
        return Err(io::ErrorKind::WouldBlock.into());
    };
    let Some(checking) = checking.take() else { return Err(io::ErrorKind::NotFound.into()) };
    let alone = checking.verifier.require_unsharded(file.manifest()).err();
    if let Some(error) = checking.unsupported.or(alone) {
        return problem::reading(file, &error, out);
    }
    let (error, notes) = Finding::split(Finding::of_open(file.manifest()));
    if let Some(error) = error {
        return json::to_writer(out, &Report::found(&error, None).with_notes(&notes));
    }
    let (verdict, message) = summary(file.manifest(), Scope::All, false, file.file_len());
    let message = with_notes(message, notes.len());
    let format = format_name(file.manifest());
    json::to_writer(
        out,
        &Report::valid(&Valid { verdict, format, message: &message, notes: &notes }),
    )
}
