//! The reasons why a patch is not made or not applied.

use std::{fmt, io};

use zten::formats::write::{self, Inexpressible};
use zten::rules::Row;
use zten::{Error, ErrorKind};

/// The reason why making or applying a patch failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum PatchFailure {
    /// The old model, which is the base of a patch, cannot be read, is not valid, or is not the base of the patch.
    Old(Error),
    /// The new model, to which the patch leads, cannot be read or is not valid.
    New(Error),
    /// The patch with this index, counted from 0, cannot be read, is not valid, or does not follow the patch before it.
    Patch(usize, Error),
    /// The output cannot be written.
    Output(io::Error),
    /// The format of the output cannot represent a tensor or attribute.
    Inexpressible(Inexpressible),
}

impl PatchFailure {
    /// Converts `error`, an error of a writer of zTensor files: into [`Output`](Self::Output) if writing failed or memory ran out, and
    /// otherwise into [`Inexpressible`](Self::Inexpressible), because the format cannot hold a tensor or attribute.
    pub(crate) fn of_writing(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Write | ErrorKind::NotDurable | ErrorKind::OutOfMemory => {
                Self::Output(error.into())
            }
            _ => Self::Inexpressible(Inexpressible::file(error.to_string())),
        }
    }

    /// Converts the failure of a writer into a failure of patches. The writer wrote arrays that a chain of patches produced.
    pub(crate) fn of_writer(failure: write::WriteFailure<Self>) -> Self {
        match failure {
            write::WriteFailure::Source(failure) => failure,
            write::WriteFailure::Output(error) => Self::Output(error),
            write::WriteFailure::Inexpressible(why) => Self::Inexpressible(why),
        }
    }

    /// Returns the error of the model or patch at fault. Returns `None` if the output is at fault.
    pub fn error(&self) -> Option<&Error> {
        match self {
            Self::Old(error) | Self::New(error) | Self::Patch(_, error) => Some(error),
            Self::Output(_) | Self::Inexpressible(_) => None,
        }
    }
}

impl fmt::Display for PatchFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Old(error) => write!(f, "the old model: {error}"),
            Self::New(error) => write!(f, "the new model: {error}"),
            Self::Patch(number, error) => {
                write!(f, "patch {}: {error}", number.saturating_add(1))
            }
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
            Self::Inexpressible(why) => write!(f, "the output cannot hold the result: {why}"),
        }
    }
}

impl std::error::Error for PatchFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Old(error) | Self::New(error) | Self::Patch(_, error) => Some(error),
            Self::Output(error) => Some(error),
            Self::Inexpressible(why) => Some(why),
        }
    }
}

/// Returns the error of a file that breaks the rule `row`, described by `sentence`.
pub(crate) fn broken(row: &'static Row, sentence: impl Into<String>) -> Error {
    Error::of_format(row.into(), sentence.into(), None)
}

/// Returns the error of a file that breaks the rule `row` in the tensor `name`, described by `sentence`.
pub(crate) fn broken_in(name: &str, row: &'static Row, sentence: impl Into<String>) -> Error {
    broken(row, sentence).about(Some(name.to_owned()), None)
}

/// Returns the error that this package has a defect, or that a file changed while it was read: an invariant does not hold.
pub(crate) fn internal() -> Error {
    let sentence = "an invariant of patches does not hold: zten has a defect, or the file changed while it was read";
    Error::of_format(ErrorKind::Internal, sentence.to_owned(), None)
}

/// Returns the error of memory that has run out.
pub(crate) fn no_memory() -> Error {
    zten::error::OutOfMemory.into()
}
