//! Reading the content of a component, wherever its bytes come from: in chunks, verified on
//! the way, in memory that does not depend on its size.

mod hasher;
mod reader;
#[cfg(feature = "zstd")]
mod zstd;

pub use reader::{Content, Verified};

#[cfg(feature = "zstd")]
use crate::error::Place;
use crate::error::{Error, Misuse};

/// Where the bytes of a file come from, at positions: a slice, a file, flash, an object store.
pub trait ReadAt {
    /// Why bytes could not be read.
    type Error;

    /// Fills `buffer` with the bytes of the file from `offset` on.
    ///
    /// # Errors
    /// Whatever keeps it from filling all of `buffer`.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Self::Error>;
}

impl ReadAt for [u8] {
    type Error = Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let bytes = usize::try_from(offset).ok().and_then(|start| self.get(start..));
        let bytes = bytes.and_then(|bytes| bytes.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(Error::misuse(Misuse::Size))?);
        Ok(())
    }
}

impl<R: ReadAt + ?Sized> ReadAt for &R {
    type Error = R::Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), R::Error> {
        (**self).read_at(offset, buffer)
    }
}

/// Why content could not be read: its source failed, or it was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError<E> {
    /// The source could not give the bytes.
    Source(E),
    /// The content breaks a rule.
    Refused(Error),
}

impl<E> ReadError<E> {
    /// The error, if it is a refusal, in that place.
    #[cfg(feature = "zstd")]
    fn at(self, place: Place) -> Self {
        match self {
            Self::Refused(error) => Self::Refused(error.at(place)),
            source @ Self::Source(_) => source,
        }
    }
}

impl<E> From<Error> for ReadError<E> {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<ReadError<Self>> for Error {
    fn from(error: ReadError<Self>) -> Self {
        match error {
            ReadError::Source(error) | ReadError::Refused(error) => error,
        }
    }
}

impl<E: core::fmt::Display> core::fmt::Display for ReadError<E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for ReadError<E> {}
