//! The error type of this package, and its messages.

use std::error;
use std::fmt;

use zten::escape::Quoted;

/// The reason why a file in an object store could not be opened or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The object store returned an error, for example because the network failed or the object does not exist.
    Store(object_store::Error),
    /// The file breaks a rule, is not supported or exceeds a limit, or has no tensor of the requested name. The field is the error
    /// of the library.
    File(zten::Error),
    /// The store answered a request for a range of an object with more or fewer bytes, or with another range.
    Answer {
        /// The location in the store of the object that was requested.
        location: String,
        /// What is wrong with the answer: a phrase that completes the sentence "the object store answered with … of
        /// LOCATION".
        what: String,
    },
    /// The object store denies access to a sibling file or shard (status 401 or 403). Some stores, such as S3, also answer so about
    /// an object that does not exist, if the credentials may not list the bucket.
    Denied {
        /// The location in the store of the object. Of several locations at which a shard may be, the first one to which the store
        /// denied access.
        location: String,
    },
    /// A tensor, or a shard that has to be fetched as a whole, is stored in more bytes than the limit `decoded` allows. No bytes
    /// were fetched.
    TooLarge {
        /// The name of the tensor or of the shard.
        name: String,
        /// The number of bytes that the tensor or shard takes in its file.
        stored: u64,
        /// The limit `decoded`, in bytes.
        most: u64,
    },
    /// Memory for the fetched bytes could not be reserved.
    OutOfMemory,
    /// This package has a defect: it needs bytes of a file that it has not opened, or still lacks bytes after the largest number of
    /// rounds of requests.
    Unread,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => write!(f, "{error}"),
            Self::File(error) => write!(f, "{error}"),
            Self::Answer { location, what } => {
                write!(f, "the object store answered with {what} of {}", Quoted(location))
            }
            Self::Denied { location } => write!(
                f,
                "the object store has no such object, or denies access to it: {}",
                Quoted(location)
            ),
            Self::TooLarge { name, stored, most } => write!(
                f,
                "the stored size of {stored} bytes exceeds the limit decoded of {most} bytes, in {}",
                Quoted(name)
            ),
            Self::OutOfMemory => f.write_str("out of memory"),
            Self::Unread => {
                f.write_str("internal error: bytes of the file are needed that were not requested")
            }
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::File(error) => Some(error),
            Self::Answer { .. }
            | Self::Denied { .. }
            | Self::TooLarge { .. }
            | Self::OutOfMemory
            | Self::Unread => None,
        }
    }
}

impl From<object_store::Error> for Error {
    fn from(error: object_store::Error) -> Self {
        Self::Store(error)
    }
}

impl From<zten::Error> for Error {
    fn from(error: zten::Error) -> Self {
        Self::File(error)
    }
}
