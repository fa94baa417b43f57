//! What publishing can fail with: before a file has its name, and after.

use std::error::Error;
use std::fmt;
use std::io;

/// Why a file is not published, or is not known to stay so.
#[derive(Debug)]
pub enum PublishError {
    /// It is not: what was there, if anything, is still there, and the temporary file is removed.
    NotPublished(io::Error),
    /// It is: opening the target gives the new file. But the system has not confirmed that its
    /// name is durable: if the machine stops soon, what was there before may be there again.
    NotDurable(io::Error),
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPublished(error) => error.fmt(f),
            Self::NotDurable(error) => {
                write!(f, "the file is published, but not confirmed to be durable: {error}")
            }
        }
    }
}

impl Error for PublishError {}

impl From<PublishError> for io::Error {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::NotPublished(error) => error,
            PublishError::NotDurable(ref reason) => Self::new(reason.kind(), error),
        }
    }
}
