//! A source of bytes that lends some ranges and copies others in pieces, and may fail.

use core::sync::atomic::{AtomicUsize, Ordering};

use zten::{Error, ReadAt};

/// A source of the bytes of a file that lends some ranges, copies others in several steps, and fails from a given
/// read on.
pub(crate) struct Pieces<'d> {
    file: &'d [u8],
    splits: &'d [u8],
    reads: AtomicUsize,
    /// The number of reads that succeed. All later reads fail.
    valid: usize,
}

impl<'d> Pieces<'d> {
    pub(crate) fn new(file: &'d [u8], splits: &'d [u8]) -> Self {
        Self { file, splits, reads: AtomicUsize::new(0), valid: usize::MAX }
    }

    /// Creates a source whose first `valid` reads succeed, and whose later reads fail, and which lends no bytes.
    pub(crate) fn failing(file: &'d [u8], splits: &'d [u8], valid: usize) -> Self {
        Self { valid, ..Self::new(file, splits) }
    }

    /// Returns the number of reads so far.
    pub(crate) fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    /// Returns the size in bytes of the pieces in which read number `read` copies its bytes.
    fn piece(&self, read: usize) -> u8 {
        self.splits.get(read % self.splits.len().max(1)).copied().unwrap_or(3)
    }
}

impl ReadAt for Pieces<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let read = self.reads.fetch_add(1, Ordering::Relaxed);
        let piece = self.piece(read);
        if read >= self.valid {
            // If a caller uses the buffer in spite of the error, these bytes show up in its result.
            buffer.fill(0xa5);
            return Err(Error::reading());
        }
        let start = usize::try_from(offset).ok();
        let bytes = start.and_then(|start| self.file.get(start..)?.get(..buffer.len()));
        let bytes = bytes.ok_or_else(Error::reading)?;
        let piece = usize::from(piece).max(1);
        for (to, from) in buffer.chunks_mut(piece).zip(bytes.chunks(piece)) {
            to.copy_from_slice(from);
        }
        Ok(())
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        // Whether a range is lent depends only on its offset, because a source must give the same answer to the same
        // range each time.
        let split = self.splits.get(start / 64 % self.splits.len().max(1)).copied();
        if split.is_none_or(|split| split.is_multiple_of(2)) || self.valid != usize::MAX {
            return None;
        }
        self.file.get(start..)?.get(..length)
    }
}
