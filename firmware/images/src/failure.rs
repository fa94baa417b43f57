//! Why an image gives no result.

use core::fmt;

use embedded_storage::nor_flash::NorFlashErrorKind;
use zten::ReadError;

use crate::network::NotThatNetwork;

/// Why an image gives no result.
#[derive(Debug)]
pub enum Failure {
    /// The file was refused.
    Refused(zten::Error),
    /// A component has no digest, or none that can be verified.
    Unverified,
    /// The file is valid, but holds something else.
    NotThatNetwork,
    /// The flash could not be read.
    Flash(NorFlashErrorKind),
    /// Nothing can be printed.
    Silent,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Unverified => f.write_str("a component has no digest that can be verified"),
            Self::NotThatNetwork => f.write_str("the file holds another network"),
            Self::Flash(kind) => write!(f, "the flash could not be read: {kind}"),
            Self::Silent => f.write_str("nothing can be printed"),
        }
    }
}

impl From<zten::Error> for Failure {
    fn from(error: zten::Error) -> Self {
        Self::Refused(error)
    }
}

impl From<NotThatNetwork> for Failure {
    fn from(_: NotThatNetwork) -> Self {
        Self::NotThatNetwork
    }
}

impl From<NorFlashErrorKind> for Failure {
    fn from(kind: NorFlashErrorKind) -> Self {
        Self::Flash(kind)
    }
}

impl<E: Into<Self>> From<ReadError<E>> for Failure {
    fn from(error: ReadError<E>) -> Self {
        match error {
            ReadError::Source(error) => error.into(),
            ReadError::Refused(error) => error.into(),
        }
    }
}

impl From<fmt::Error> for Failure {
    fn from(_: fmt::Error) -> Self {
        Self::Silent
    }
}
