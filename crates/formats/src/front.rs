//! Errors of the index that front ends fill.

use zten::{Error, ErrorKind};
use zten_report::escape::Short;

use super::error::FormatError;
use super::rules::Rule;

/// The error for a header that its index rejected. `duplicate` is the rule that names are unique, and `nth` gives the name
/// of a tensor by its ordinal, and the byte of the file at which it stands.
#[cold]
pub(super) fn format_error(
    error: Error,
    duplicate: Rule,
    nth: impl FnOnce(u32) -> Result<(String, u64), FormatError>,
) -> FormatError {
    match (error.kind(), error.location().object()) {
        (ErrorKind::OutOfMemory, _) => FormatError::memory(),
        (ErrorKind::Limit(limit), _) => FormatError::violation(limit, error.sentence()),
        (ErrorKind::Format(row), Some(ordinal)) if row.id == duplicate.row().id => {
            match nth(ordinal) {
                Ok((name, at)) => {
                    let name = Short(&name);
                    let sentence = format_args!("duplicate tensor name {name}");
                    FormatError::violation_at(duplicate, sentence, at)
                }
                Err(error) => error,
            }
        }
        // Canonical files are of zTensor.
        (ErrorKind::Malformed(zten::rules::Rule::CanonicalGeneration), _) => error.into(),
        // What else the index rejects has been found before: this package is at fault.
        _ => FormatError::internal(&error.to_string()),
    }
}
