//! Writes the memory file of all decoded components.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::fs::fcntl_add_seals;

use crate::answer::ALIGNMENT;
use crate::sealed::SEALS;

/// A memory file to which decoded components are appended.
#[derive(Debug)]
pub(super) struct Content {
    file: BufWriter<File>,
    /// The number of bytes in the file.
    length: u64,
    /// The largest number of bytes.
    most: u64,
    /// The first error, which [`seal`](Self::seal) returns.
    failed: Option<io::Error>,
}

impl Content {
    pub(super) fn new(file: File, most: u64) -> Self {
        Self { file: BufWriter::with_capacity(64 << 10, file), length: 0, most, failed: None }
    }

    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.file.get_ref().as_fd()
    }

    /// Appends the next `bytes` of a component, and updates `place`, the offset and length of the component. After an error it
    /// does nothing, and [`seal`](Self::seal) returns the error.
    pub(super) fn append(&mut self, place: &mut (u64, u64), bytes: &[u8]) {
        if self.failed.is_none()
            && let Err(error) = self.try_append(place, bytes)
        {
            self.failed = Some(error);
        }
    }

    fn try_append(&mut self, place: &mut (u64, u64), bytes: &[u8]) -> io::Result<()> {
        if place.1 == 0 {
            let padding = self.length.next_multiple_of(ALIGNMENT) - self.length;
            self.write(&[0; 64][..usize::try_from(padding).unwrap_or_default()])?;
            place.0 = self.length;
        }
        self.write(bytes)?;
        place.1 = self.length - place.0;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = self.length.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        if length > self.most {
            let why = format!("the components decode to more than {} bytes", self.most);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        self.length = length;
        self.file.write_all(bytes)
    }

    /// Seals the file, after which no process can change it.
    ///
    /// # Errors
    /// The first error of [`append`](Self::append), or the error of sealing.
    pub(super) fn seal(&mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => return Err(error),
            None => self.file.flush()?,
        }
        Ok(fcntl_add_seals(self.file.get_ref(), SEALS)?)
    }
}
