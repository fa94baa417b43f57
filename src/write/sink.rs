//! Destinations of written bytes.

use alloc::vec::Vec;

use crate::error::{Error, OutOfMemory};

/// A destination for the bytes of a file, which come in order. No byte is written twice.
pub trait Sink {
    /// The value that `finish` returns once all bytes of the file have been written.
    type Output;

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// The error of the destination: [`Error::from_write`] with `std`, and [`Error::writing`] without. The file is then
    /// incomplete, and stays so.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error>;

    /// Completes the file after its last byte, and writes bytes that are still buffered.
    ///
    /// # Errors
    /// The error of the destination.
    fn finish(self) -> Result<Self::Output, Error>;
}

impl Sink for Vec<u8> {
    type Output = Self;

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.try_reserve(bytes.len()).map_err(|_| OutOfMemory)?;
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self) -> Result<Self, Error> {
        Ok(self)
    }
}

/// Writes to a borrowed sink, which its owner must finish.
impl<S: Sink> Sink for &mut S {
    type Output = ();

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        (**self).write(bytes)
    }

    fn finish(self) -> Result<(), Error> {
        Ok(())
    }
}

/// A [`Sink`] that writes to any [`std::io::Write`]. Padding and manifests are written in small pieces, so wrap files
/// in a [`std::io::BufWriter`], which passes large pieces through.
#[cfg(feature = "std")]
#[derive(Clone, Debug, Default)]
pub struct IoSink<W>(pub W);

#[cfg(feature = "std")]
impl<W: std::io::Write> Sink for IoSink<W> {
    type Output = W;

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.0.write_all(bytes).map_err(Error::from_write)
    }

    fn finish(mut self) -> Result<W, Error> {
        self.0.flush().map_err(Error::from_write)?;
        Ok(self.0)
    }
}
