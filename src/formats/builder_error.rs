//! Converting errors of the index builder to errors of the readers of file formats.

use alloc::string::ToString as _;

use crate::error::{Error, ErrorKind};
use crate::escape::Short;
use crate::index::{Builder, Parsed, Rejection};

use super::error::FormatError;
use super::rules::Rule;

/// Converts an error of the builder to an error of a format's reader. Errors about duplicate names do not come here: they
/// occur only when the index is completed, and [`finish`] converts them.
#[cold]
pub(super) fn format_error(error: Error) -> FormatError {
    match error.kind() {
        ErrorKind::OutOfMemory => FormatError::memory(),
        ErrorKind::Limit(limit) => FormatError::violation(limit, error.sentence()),
        // The caller requires a canonical file, and only zTensor files can be canonical.
        kind if kind == crate::rules::Rule::CanonicalGeneration => error.into(),
        // The reader of the format has checked all other rules of the builder, so any other error is a defect of this library.
        _ => FormatError::internal(&error.to_string()),
    }
}

/// Completes the index of `builder`, and returns the parsed header. `duplicate` is the rule that the error names if two
/// tensors have the same name.
pub(super) fn finish(builder: Builder<'_>, duplicate: Rule) -> Result<Parsed, FormatError> {
    builder.try_finish().map_err(|rejection| finish_error(rejection, duplicate))
}

/// Converts `rejection`, the error of a builder that could not complete its index. Two tensors with the same name are reported as a
/// violation of the rule `duplicate`.
#[cold]
fn finish_error(rejection: Rejection, duplicate: Rule) -> FormatError {
    match (rejection.kind(), rejection.tensor()) {
        (ErrorKind::Invalid(row), Some(name)) if row == duplicate.row() => {
            if let Some(file) = rejection.file() {
                return FormatError::violation(duplicate, row.broken()).about(name).in_part(file);
            }
            let name = Short(name);
            let sentence = format_args!("duplicate tensor name {name}");
            let error = FormatError::violation(duplicate, sentence);
            match rejection.offset() {
                Some(offset) => error.or_at(offset),
                None => error,
            }
        }
        _ => format_error(rejection.into()),
    }
}
