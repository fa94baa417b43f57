//! A buffer that is filled bit by bit: RFC 8878 §4. Its streams are written from the front and
//! read from the back.

use crate::num::usize_from_u32;

/// Bits that may be held between two calls of [`Bits::settle`]: less than a byte.
const HELD: u32 = 7;
/// The most bits that may be put between two such calls: with those held, fewer than 64.
pub(super) const AT_ONCE: usize = 56;
/// Bytes that a buffer must have beyond those that it can be filled with.
pub(super) const SLACK: usize = 8;

/// Bytes and bits, put one after the other into a buffer that does not grow: what does not fit is
/// counted and lost.
pub(super) struct Bits<'a> {
    buffer: &'a mut [u8],
    /// Whole bytes written.
    at: usize,
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    /// A writer that has written nothing. The last [`SLACK`] bytes of the buffer cannot be filled.
    pub(super) fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, at: 0, held: 0, count: 0 }
    }

    /// Puts `count` bits, the low ones of `bits`, which has no others. Between two calls of
    /// [`settle`](Self::settle), there may be [`AT_ONCE`].
    #[inline(always)]
    pub(super) fn put(&mut self, bits: u64, count: u32) {
        self.held |= bits.wrapping_shl(self.count);
        self.count = self.count.wrapping_add(count);
    }

    /// Writes the whole bytes of what is held.
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

    /// Fills the last byte with zeros.
    pub(super) fn align(&mut self) {
        self.settle();
        self.count = self.count.next_multiple_of(8);
        self.settle();
    }

    /// Ends a stream that will be read from the back: with a one, and zeros up to the byte.
    pub(super) fn end(&mut self) {
        self.put(1, 1);
        self.align();
    }

    /// Writes whole bytes. The bits before must fill theirs.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let end = self.at.saturating_add(bytes.len());
        if let Some(room) = self.buffer.get_mut(self.at..end) {
            room.copy_from_slice(bytes);
        }
        self.at = end;
    }

    /// Leaves room for bytes that are known later; where it is.
    pub(super) fn leave(&mut self, bytes: usize) -> usize {
        let at = self.at;
        self.at = self.at.saturating_add(bytes);
        at
    }

    /// Fills the room that was left.
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

    /// Takes back all that was written from there on.
    pub(super) fn back_to(&mut self, at: usize) {
        (self.at, self.held, self.count) = (at, 0, 0);
    }
}
