//! The boundaries of frames and blocks, and every rule that can be validated without decoding.

use core::ops::Range;

use super::block::BlockHeader;
use super::header::{Header, LONGEST_HEADER};
use super::{DecodeError, Flaw};
use crate::Failure;
use crate::format::BLOCK_HEADER;
use crate::num::u64_from_usize;

const CHECKSUM: u64 = 4;

/// Bytes that are read at once where headers stand: blocks may be as small as their headers, and
/// a source be asked over a system call.
const AHEAD: usize = 256;

/// The bytes that were read ahead.
struct Ahead {
    /// The position of the first byte.
    at: u64,
    /// The number of bytes.
    length: usize,
    bytes: [u8; AHEAD],
}

/// A walk over frames, by position.
pub(super) struct FrameWalk {
    start: u64,
    next: u64,
    end: u64,
    window: u64,
    ahead: Ahead,
}

impl FrameWalk {
    /// A walk that lets no frame ask for a larger `window`.
    pub(super) fn new(stored: &Range<u64>, window: u64) -> Self {
        let Range { start, end } = *stored;
        let ahead = Ahead { at: start, length: 0, bytes: [0; AHEAD] };
        Self { start, next: start, end, window, ahead }
    }

    /// The same walk, from its beginning on.
    pub(super) fn anew(&self) -> Self {
        Self::new(&(self.start..self.end), self.window)
    }

    /// Returns the bytes from `at` on that have been read ahead, at most `most` of them.
    pub(super) fn ahead(&self, at: u64, most: usize) -> &[u8] {
        let from = at.checked_sub(self.ahead.at).and_then(|from| usize::try_from(from).ok());
        let bytes = from.and_then(|from| self.ahead.bytes.get(from..self.ahead.length));
        let bytes = bytes.unwrap_or_default();
        bytes.get(..most).unwrap_or(bytes)
    }

    /// Returns `count` bytes from `at` on, if they have been read ahead.
    fn held(&self, at: u64, count: usize) -> Option<&[u8]> {
        Some(self.ahead(at, count)).filter(|bytes| bytes.len() == count)
    }

    /// Returns the next bytes of the walk, as many as are wanted or left.
    fn peek<E>(
        &mut self,
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
        most: usize,
    ) -> Result<&[u8], Failure<E, DecodeError>> {
        let fitting = |most: usize, left: u64| most.min(usize::try_from(left).unwrap_or(most));
        let (at, left) = (self.next, self.left());
        let count = fitting(most, left);
        if self.held(at, count).is_none() {
            (self.ahead.at, self.ahead.length) = (at, 0);
            let more = fitting(AHEAD, left);
            let bytes = self.ahead.bytes.get_mut(..more);
            let bytes = bytes.ok_or(DecodeError::new(Flaw::Truncated, at))?;
            source(at, bytes).map_err(Failure::Callback)?;
            self.ahead.length = more;
        }
        Ok(self.held(at, count).ok_or(DecodeError::new(Flaw::Truncated, at))?)
    }

    /// Returns the position of the first frame.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Returns the current position.
    pub(super) fn position(&self) -> u64 {
        self.next
    }

    fn left(&self) -> u64 {
        self.end.saturating_sub(self.next)
    }

    /// Goes on by `bytes`, which must be there; `at` is where their header stands.
    fn advance(&mut self, bytes: u64, at: u64) -> Result<(), DecodeError> {
        if bytes > self.left() {
            return Err(DecodeError::new(Flaw::Truncated, at));
        }
        self.next = self.next.saturating_add(bytes);
        Ok(())
    }

    /// The header of the next frame, if there is one. There is one at least.
    pub(super) fn header<E>(
        &mut self,
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<Option<Header>, Failure<E, DecodeError>> {
        let (at, left, most) = (self.next, self.left(), self.window);
        if at == self.end && at > self.start {
            return Ok(None);
        }
        let bytes = self.peek(source, LONGEST_HEADER)?;
        let (header, length) = Header::parse(bytes, at, left)?;
        if header.window() > most {
            return Err(DecodeError::new(Flaw::Window, at).found(header.window()).into());
        }
        self.advance(u64_from_usize(length), at)?;
        Ok(Some(header))
    }

    /// Passes over the next block of a frame; whether it is the last. The checksum after that is
    /// passed over, too.
    pub(super) fn block<E>(
        &mut self,
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
        frame: &Header,
    ) -> Result<bool, Failure<E, DecodeError>> {
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
