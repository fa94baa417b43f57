//! The ranges of an object that were fetched into memory, as a source of bytes for the library.

use std::collections::BTreeMap;
use std::io;
use std::mem;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use zten::ReadAt;
use zten::num::u64_from_usize;

/// The fetched ranges of an object. Clones share the bytes and the list of missing ranges. Reading a range that was not fetched
/// fails, and adds the range to this list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    /// The fetched bytes, each piece by its offset in the object.
    pieces: BTreeMap<u64, Bytes>,
    missing: Arc<Mutex<Vec<Range<u64>>>>,
}

impl Pieces {
    /// Creates pieces from pairs of an offset in the object and the bytes that were fetched from there.
    pub(crate) fn new(pieces: Vec<(u64, Bytes)>) -> Self {
        Self { pieces: pieces.into_iter().collect(), missing: Arc::default() }
    }

    /// Adds the pieces of `other`, which were fetched later from the same object. A piece of `other` replaces the piece that begins
    /// at the same offset.
    pub(crate) fn add(&mut self, other: Self) {
        self.pieces.extend(other.pieces);
    }

    /// Returns the ranges that reads asked for and that had not been fetched, so that the caller can fetch them. Clears the list of
    /// these ranges.
    pub(crate) fn take_missing(&self) -> Vec<Range<u64>> {
        mem::take(&mut self.missing.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the number of bytes in memory, of all pieces together.
    pub(crate) fn bytes(&self) -> u64 {
        let lengths = self.pieces.values().map(|piece| u64_from_usize(piece.len()));
        lengths.fold(0, u64::saturating_add)
    }
}

impl ReadAt for Pieces {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), zten::Error> {
        if let Some(bytes) = self.bytes_at(offset, buffer.len()) {
            buffer.copy_from_slice(bytes);
            return Ok(());
        }
        let end = offset.saturating_add(u64_from_usize(buffer.len()));
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).push(offset..end);
        Err(io::Error::other(format!("bytes {offset} to {end} were not fetched")).into())
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let (start, piece) = self.pieces.range(..=offset).next_back()?;
        let skipped = usize::try_from(offset.saturating_sub(*start)).ok()?;
        piece.get(skipped..)?.get(..length)
    }

    fn is_immutable(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fetched_bytes_are_read() {
        let mut pieces =
            Pieces::new(vec![(10, Bytes::from_static(b"abcd")), (20, Bytes::from_static(b"xy"))]);
        assert_eq!(pieces.bytes_at(10, 4), Some(&b"abcd"[..]));
        assert_eq!(pieces.bytes_at(12, 1), Some(&b"c"[..]));
        for (offset, length) in [(9, 1), (10, 5), (14, 1), (20, 3), (0, 1), (u64::MAX, 1)] {
            assert_eq!(pieces.bytes_at(offset, length), None, "{offset} {length}");
            assert!(pieces.read_at(offset, &mut vec![0; length]).is_err());
            let missing = offset..offset.saturating_add(u64_from_usize(length));
            assert_eq!(pieces.take_missing(), std::slice::from_ref(&missing));
        }
        assert!(pieces.take_missing().is_empty());
        // A later piece that begins at the same offset and is longer takes the place of the shorter one.
        pieces.add(Pieces::new(vec![(20, Bytes::from_static(b"xyz"))]));
        assert_eq!(pieces.bytes_at(20, 3), Some(&b"xyz"[..]));
        assert_eq!(pieces.bytes(), 7);
    }
}
