//! Errors that do not keep the rest of a file from being validated.

use super::ReadError;
use crate::error::Error;

/// The error of a file so far: the first one that makes it invalid, or else the first that makes it unsupported.
#[derive(Debug, Default)]
pub(crate) struct Deferred(Option<Error>);

impl Deferred {
    /// Keeps an error, if there is one and it says more than the one before.
    pub(crate) fn note(&mut self, error: impl Into<Option<Error>>) {
        let Some(error) = error.into() else { return };
        if self.0.is_none_or(|first| first.is_unsupported() && !error.is_unsupported()) {
            self.0 = Some(error);
        }
    }

    /// Keeps the error of what is not supported; any other one ends the work.
    pub(crate) fn pass<T, E: Refusal>(&mut self, result: Result<T, E>) -> Result<Option<T>, E> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => match error.refusal().filter(Error::is_unsupported) {
                Some(unsupported) => {
                    self.note(unsupported);
                    Ok(None)
                }
                None => Err(error),
            },
        }
    }

    /// The value, or the error that was kept.
    pub(crate) fn finish<T, E>(self, value: T) -> Result<T, ReadError<E>> {
        self.0.map_or(Ok(value), |error| Err(error.into()))
    }
}

/// An error that may be one of the file.
pub(crate) trait Refusal {
    /// The error of the file.
    fn refusal(&self) -> Option<Error>;
}

impl Refusal for Error {
    fn refusal(&self) -> Option<Error> {
        Some(*self)
    }
}

impl<E> Refusal for ReadError<E> {
    fn refusal(&self) -> Option<Error> {
        match self {
            Self::Refused(error) => Some(*error),
            Self::Source(_) => None,
        }
    }
}
