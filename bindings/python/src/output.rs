//! The file on disk or in memory to which Python writes, and passing arrays to it piece by piece.

use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::Path;

use zten::Error;
use zten::error::OutOfMemory;
use zten::write::{FileSink, Sink};

use crate::interrupt::Cancel;

/// The destination of a new file.
pub(crate) enum Output {
    /// A file on disk, which gets its name when it is finished.
    File(FileSink),
    /// A file in memory, whose bytes are returned to Python.
    Memory(Cursor<Vec<u8>>),
}

impl Output {
    /// Creates a file on disk, which replaces the file at `path` when it is finished, or a file in memory if there is no path.
    pub(crate) fn new(path: Option<&Path>) -> Result<Self, Error> {
        Ok(match path {
            Some(path) => Self::File(FileSink::create(path)?),
            None => Self::Memory(Cursor::default()),
        })
    }
}

impl Sink for Output {
    /// The bytes of a file in memory; `None` for a file on disk.
    type Output = Option<Vec<u8>>;

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Memory(memory) => {
                // Without this check, `Cursor` would abort the process of Python if there is no memory.
                memory.get_mut().try_reserve(bytes.len()).map_err(|_| OutOfMemory)?;
                memory.write_all(bytes).map_err(Error::from_write)
            }
        }
    }

    fn finish(self) -> Result<Self::Output, Error> {
        match self {
            Self::File(file) => file.publish().map(|()| None),
            Self::Memory(memory) => Ok(Some(memory.into_inner())),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Sink::write(self, bytes)?;
        Ok(bytes.len())
    }

    /// Does nothing: [`Sink::finish`] writes bytes that are still buffered.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Memory(memory) => memory.seek(to),
        }
    }
}

/// The maximum number of bytes that one system call writes when an array is written without a copy. A larger array takes several
/// calls, because an interrupt is noticed only between two calls.
const UNCOPIED: usize = 8 << 20;

/// The number of bytes of an array that are copied before they are written. So few bytes stay in the processor's cache until then.
pub(crate) const PIECE: usize = 256 << 10;

/// The number of bytes of an array that are copied before they are written while a second thread hashes them. The two threads
/// wait for each other after each copy, which on a busy machine takes milliseconds, as long as hashing a few MiB.
pub(crate) const HASHED_PIECE: usize = 8 << 20;

/// The alignment of copies, in bytes: copying into and out of memory that starts at a page takes half the time.
const ALIGNMENT: usize = 4096;

/// Passes the bytes of an array on piece by piece, usually as copies.
///
/// Another Python thread may write to the array at any moment. Each byte of the array is read once, so the bytes that are
/// validated, hashed and written are the same.
pub(crate) struct Pieces<'b> {
    /// The buffer into which each piece is copied.
    pub(crate) buffer: &'b mut Vec<u8>,
    /// The largest size of a copied piece in bytes.
    pub(crate) size: usize,
    pub(crate) cancel: &'b Cancel,
}

impl Pieces<'_> {
    /// Divides `bytes` into pieces of at most `size` bytes, and calls `take` with a copy of each piece, in order. Fails before a
    /// piece if `cancel` is set.
    pub(crate) fn copied(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for piece in bytes.chunks(self.size.max(1)) {
            self.cancel.check()?;
            self.buffer.clear();
            let most = piece.len().saturating_add(ALIGNMENT);
            self.buffer.try_reserve_exact(most).map_err(|_| OutOfMemory)?;
            let begin = self.buffer.as_ptr().align_offset(ALIGNMENT);
            self.buffer.resize(begin, 0);
            self.buffer.extend_from_slice(piece);
            take(self.buffer.get(begin..).unwrap_or_default())?;
        }
        Ok(())
    }

    /// Calls `take` with copies of the pieces of `bytes` as [`copied`](Self::copied) does or, if `only_stores` is true, with
    /// pieces of `bytes` itself. `only_stores` says that `take` reads each byte only once, to write it. Copying 400 MiB would
    /// take a quarter of the time that writing them to the system's cache takes.
    pub(crate) fn pass(
        &mut self,
        bytes: &[u8],
        only_stores: bool,
        mut take: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !only_stores {
            return self.copied(bytes, take);
        }
        for piece in bytes.chunks(UNCOPIED) {
            self.cancel.check()?;
            take(piece)?;
        }
        Ok(())
    }
}
