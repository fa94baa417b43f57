//! Where written bytes go.

use alloc::vec::Vec;

use crate::error::{Error, OutOfMemory, or_refused};

/// Takes the bytes of a file, in order; nothing is ever asked to be written again.
pub trait Sink {
    /// Why bytes could not be written.
    type Error;

    /// Takes all of `bytes`.
    ///
    /// # Errors
    /// Whatever keeps it from taking them. The file is then not whole, and never becomes so.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Comes after the last byte: what is held back should be passed on.
    ///
    /// # Errors
    /// Whatever keeps it from doing so.
    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

impl Sink for Vec<u8> {
    type Error = Error;

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.try_reserve(bytes.len()).map_err(|_| Error::from(OutOfMemory))?;
        self.extend_from_slice(bytes);
        Ok(())
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    type Error = S::Error;

    fn write(&mut self, bytes: &[u8]) -> Result<(), S::Error> {
        (**self).write(bytes)
    }

    fn flush(&mut self) -> Result<(), S::Error> {
        (**self).flush()
    }
}

/// Any [`std::io::Write`] as a [`Sink`]. Padding and manifests come in small pieces: wrap files
/// in a [`std::io::BufWriter`], which passes large pieces on as they are.
#[cfg(feature = "std")]
#[derive(Clone, Debug, Default)]
pub struct IoSink<W>(pub W);

#[cfg(feature = "std")]
impl<W: std::io::Write> Sink for IoSink<W> {
    type Error = std::io::Error;

    fn write(&mut self, bytes: &[u8]) -> Result<(), std::io::Error> {
        self.0.write_all(bytes)
    }

    fn flush(&mut self) -> Result<(), std::io::Error> {
        self.0.flush()
    }
}

/// Why nothing, or no more, could be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError<E> {
    /// The sink could not take the bytes.
    Sink(E),
    /// What was to be written breaks a rule or goes beyond a limit, or the call was wrong.
    Refused(Error),
}

or_refused! { WriteError, Sink }

impl<E: core::fmt::Display> core::fmt::Display for WriteError<E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Sink(_) => f.write_str("the bytes could not be written"),
            Self::Refused(error) => error.fmt(f),
        }
    }
}
