//! Destinations of written bytes.

use alloc::vec::Vec;

use crate::error::{Error, OutOfMemory};

/// Takes the bytes of a file, in order; nothing is ever asked to be written again.
pub trait Sink {
    /// The result of having written all of the file.
    type Output;

    /// Takes all of `bytes`.
    ///
    /// # Errors
    /// Whatever keeps it from taking them: with `std` [`Error::from_write`], without [`Error::writing`]. The file is
    /// then not whole, and never becomes so.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error>;

    /// Comes after the last byte: what is held back is passed on.
    ///
    /// # Errors
    /// Whatever keeps it from doing so.
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

/// Whoever has the sink finishes it.
impl<S: Sink> Sink for &mut S {
    type Output = ();

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        (**self).write(bytes)
    }

    fn finish(self) -> Result<(), Error> {
        Ok(())
    }
}

/// Any [`std::io::Write`] as a [`Sink`]. Padding and manifests come in small pieces: wrap files
/// in a [`std::io::BufWriter`], which passes large pieces on as they are.
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
