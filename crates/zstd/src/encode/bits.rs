//! A buffer that is filled bit by bit: RFC 8878 §4. Streams of codes are written from the front, and will be read from the
//! back.

use crate::num::usize_from_u32;

/// The number of bits that may be pending after a call of [`Bits::settle`]: less than a byte.
const HELD: u32 = 7;
/// The largest number of bits that may be put between two calls of [`Bits::settle`], so that together with the
/// pending bits they are fewer than 64.
pub(super) const AT_ONCE: usize = 56;
/// The number of bytes at the end of a buffer that cannot be filled, because eight bytes are written at once.
pub(super) const SLACK: usize = 8;

/// A writer of bits and bytes into a buffer that does not grow. Bytes that do not fit are counted and dropped; the caller
/// compares the count with the size.
pub(super) struct Bits<'a> {
    buffer: &'a mut [u8],
    /// The number of whole bytes that have been written.
    at: usize,
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    /// Creates a writer to `buffer`, whose last [`SLACK`] bytes cannot be filled.
    pub(super) fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, at: 0, held: 0, count: 0 }
    }

    /// Appends the low `count` bits of `bits`, whose other bits must be 0. Between two calls of [`settle`](Self::settle),
    /// at most [`AT_ONCE`] bits may be put.
    #[inline(always)]
    pub(super) fn put(&mut self, bits: u64, count: u32) {
        self.held |= bits.wrapping_shl(self.count);
        self.count = self.count.wrapping_add(count);
    }

    /// Writes the pending whole bytes to the buffer.
    #[inline(always)]
    pub(super) fn settle(&mut self) {
        let room = self.buffer.get_mut(self.at..).and_then(<[u8]>::first_chunk_mut::<SLACK>);
        if let Some(room) = room {
            *room = self.held.to_le_bytes();
        }
        self.at = self.at.saturating_add(usize_from_u32(self.count >> 3));
        self.held = self.held.wrapping_shr(self.count & !HELD);
        self.count &= HELD;
    }

    /// Fills the rest of an incomplete last byte with zero bits.
    pub(super) fn align(&mut self) {
        self.settle();
        self.count = self.count.next_multiple_of(8);
        self.settle();
    }

    /// Ends a stream that will be read from the back: appends a 1, and zeros to the end of the byte.
    pub(super) fn end(&mut self) {
        self.put(1, 1);
        self.align();
    }

    /// Appends whole bytes. The bits before must end at a byte.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let end = self.at.saturating_add(bytes.len());
        if let Some(room) = self.buffer.get_mut(self.at..end) {
            room.copy_from_slice(bytes);
        }
        self.at = end;
    }

    /// Skips `bytes` bytes that will be known later, and returns their position.
    pub(super) fn leave(&mut self, bytes: usize) -> usize {
        let at = self.at;
        self.at = self.at.saturating_add(bytes);
        at
    }

    /// Writes `bytes` at a position that was skipped before.
    pub(super) fn fill(&mut self, at: usize, bytes: &[u8]) {
        let room = self.buffer.get_mut(at..at.saturating_add(bytes.len()));
        if let Some(room) = room {
            room.copy_from_slice(bytes);
        }
    }

    /// Returns the number of whole bytes that have been put, including those that did not fit.
    pub(super) fn length(&self) -> usize {
        self.at
    }

    /// Drops everything that was written after the position `at`.
    pub(super) fn back_to(&mut self, at: usize) {
        (self.at, self.held, self.count) = (at, 0, 0);
    }
}
