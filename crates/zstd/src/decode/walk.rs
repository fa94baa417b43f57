//! The walk over frames and blocks: their boundaries, and every rule that can be checked without decoding.

use core::ops::Range;

use super::block::BlockHeader;
use super::header::{FrameHeader, LONGEST_HEADER};
use super::{DecodeError, Flaw};
use crate::CallbackFailure;
use crate::format::BLOCK_HEADER;
use crate::num::u64_from_usize;

const CHECKSUM: u64 = 4;

/// The number of bytes that are read at once for headers. Blocks may be as small as their headers, and each read may be a
/// system call.
const AHEAD: usize = 256;

/// Bytes that were read ahead of the walk.
struct Ahead {
    /// The position in the source of the first of these bytes.
    at: u64,
    /// The number of bytes of `bytes` that have been read from the source.
    length: usize,
    bytes: [u8; AHEAD],
}

/// A position in frames that follow one another, which moves from block to block.
pub(super) struct FrameWalk {
    start: u64,
    next: u64,
    end: u64,
    window: u64,
    ahead: Ahead,
}

impl FrameWalk {
    /// Creates a walk at the start of `stored`. A frame with a larger window than `window` is an error.
    pub(super) fn new(stored: &Range<u64>, window: u64) -> Self {
        let Range { start, end } = *stored;
        let ahead = Ahead { at: start, length: 0, bytes: [0; AHEAD] };
        Self { start, next: start, end, window, ahead }
    }

    /// Returns a walk over the same frames from their start.
    pub(super) fn anew(&self) -> Self {
        Self::new(&(self.start..self.end), self.window)
    }

    /// Returns the bytes at the position `at` that have been read ahead, at most `most` of them.
    pub(super) fn ahead(&self, at: u64, most: usize) -> &[u8] {
        let from = at.checked_sub(self.ahead.at).and_then(|from| usize::try_from(from).ok());
        let bytes = from.and_then(|from| self.ahead.bytes.get(from..self.ahead.length));
        let bytes = bytes.unwrap_or_default();
        bytes.get(..most).unwrap_or(bytes)
    }

    /// Returns `count` bytes at the position `at`, or `None` if they have not been read ahead.
    fn held(&self, at: u64, count: usize) -> Option<&[u8]> {
        Some(self.ahead(at, count)).filter(|bytes| bytes.len() == count)
    }

    /// Returns the next bytes of the walk without moving: at most `most`, fewer at the end.
    fn peek<E>(
        &mut self,
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
        most: usize,
    ) -> Result<&[u8], CallbackFailure<E, DecodeError>> {
        let fitting = |most: usize, left: u64| most.min(usize::try_from(left).unwrap_or(most));
        let (at, left) = (self.next, self.left());
        let count = fitting(most, left);
        if self.held(at, count).is_none() {
            (self.ahead.at, self.ahead.length) = (at, 0);
            let more = fitting(AHEAD, left);
            let bytes = self.ahead.bytes.get_mut(..more);
            let bytes = bytes.ok_or(DecodeError::new(Flaw::Truncated, at))?;
            source(at, bytes).map_err(CallbackFailure::Callback)?;
            self.ahead.length = more;
        }
        Ok(self.held(at, count).ok_or(DecodeError::new(Flaw::Truncated, at))?)
    }

    /// Returns the position of the first frame.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Returns the position in the source that the walk has reached.
    pub(super) fn position(&self) -> u64 {
        self.next
    }

    fn left(&self) -> u64 {
        self.end.saturating_sub(self.next)
    }

    /// Moves the position of the walk forward by `bytes`.
    ///
    /// # Errors
    /// [`Flaw::Truncated`] at `at`, the position of the header that gives this length, if fewer bytes are left.
    fn advance(&mut self, bytes: u64, at: u64) -> Result<(), DecodeError> {
        if bytes > self.left() {
            return Err(DecodeError::new(Flaw::Truncated, at));
        }
        self.next = self.next.saturating_add(bytes);
        Ok(())
    }

    /// Parses the header of the next frame, and moves past it. Returns `None` after the last frame. If the bytes hold
    /// no frame at all, this is an error.
    pub(super) fn header<E>(
        &mut self,
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<Option<FrameHeader>, CallbackFailure<E, DecodeError>> {
        let (at, left, most) = (self.next, self.left(), self.window);
        if at == self.end && at > self.start {
            return Ok(None);
        }
        let bytes = self.peek(source, LONGEST_HEADER)?;
        let (header, length) = FrameHeader::parse(bytes, at, left)?;
        if header.window() > most {
            return Err(DecodeError::new(Flaw::Window, at).found(header.window()).into());
        }
        self.advance(u64_from_usize(length), at)?;
        Ok(Some(header))
    }

    /// Moves over the next block of a frame. After the last block, also moves over the checksum of the frame, if it has one.
    /// Returns whether the block is the last.
    pub(super) fn block<E>(
        &mut self,
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
        frame: &FrameHeader,
    ) -> Result<bool, CallbackFailure<E, DecodeError>> {
        let at = self.next;
        let bytes = self.peek(source, BLOCK_HEADER)?;
        let header = BlockHeader::parse(bytes).ok_or(DecodeError::new(Flaw::Truncated, at))?;
        if header.size() > frame.largest_block() {
            return Err(DecodeError::new(Flaw::Block, at).found(header.size()).into());
        }
        let stored = header.stored().ok_or(DecodeError::new(Flaw::Reserved, at))?;
        self.advance(u64_from_usize(BLOCK_HEADER.saturating_add(stored)), at)?;
        if header.last && frame.checksum {
            self.advance(CHECKSUM, frame.at)?;
        }
        Ok(header.last)
    }
}
