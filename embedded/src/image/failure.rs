//! Failures of an image.

use core::fmt;

/// The reason why an image gives no result.
#[derive(Debug)]
pub enum Failure {
    /// The file was rejected, or could not be read.
    Rejected(zten::Error),
    /// A component has no digest, or none that can be verified.
    Unverified,
    /// The file is valid, but its tensors are not those of the network.
    NotThatNetwork,
    /// The output of the image could not be written.
    Silent,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(error) => error.fmt(f),
            Self::Unverified => f.write_str("a component has no digest that can be verified"),
            Self::NotThatNetwork => {
                f.write_str("the file holds the weights of another neural network")
            }
            Self::Silent => f.write_str("nothing can be printed"),
        }
    }
}

impl From<zten::Error> for Failure {
    fn from(error: zten::Error) -> Self {
        Self::Rejected(error)
    }
}

impl From<fmt::Error> for Failure {
    fn from(_: fmt::Error) -> Self {
        Self::Silent
    }
}
