//! Converting errors of the builder, to which the readers of all formats add tensors.

use alloc::string::String;
use alloc::string::ToString as _;

use crate::error::{Error, ErrorKind};
use crate::escape::Short;

use super::error::FormatError;
use super::rules::Rule;

/// Converts an error of the builder. `duplicate` is the rule that names are unique. `nth` returns the name of a tensor and its
/// offset in the file for the ordinal of the tensor.
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
        // The caller requires a canonical file, and only zTensor files can be canonical.
        (ErrorKind::Malformed(crate::rules::Rule::CanonicalGeneration), _) => error.into(),
        // The reader of the format has checked all other rules of the builder, so any other error is a fault of this package.
        _ => FormatError::internal(&error.to_string()),
    }
}
