//! Encoding a frame. Blocks are cut at fixed positions of the content, so the frame does not depend on the pieces in which
//! the content is passed.
//!
//! Most content of tensors is noise in which some bytes are more frequent than others, so most savings come from the codes
//! of literals. Matches serve the content that is not noise.

mod bits;
mod block;
mod fse;
mod huffman;
mod literals;
mod matches;
mod seekable;
mod sequences;

use alloc::vec::Vec;
use core::fmt;

use self::block::Blocks;
use self::matches::Effort;
pub use self::seekable::Seekable;
use crate::CallbackFailure;
use crate::format::{LARGEST_BLOCK, MAGIC};
use crate::num::{DebugExpect as _, u64_from_usize};
use crate::xxh64::Xxh64;

/// The largest distance of a match in bytes: the window that a reader must keep.
const WINDOW: usize = 1 << WINDOW_LOG;
const WINDOW_LOG: u8 = 18;
/// The largest number of content bytes that are kept. It is larger than a window and a block, so that old bytes need not be
/// dropped after every block.
const KEPT: usize = 2 * WINDOW;
/// The size in bytes of the longest frame header: magic, descriptor, window, content size.
const LONGEST_HEADER: usize = 4 + 1 + 1 + 8;

/// A compression level: from 1, the fastest, to 5, the smallest. The default is 2.
///
/// The levels are not those of other encoders. Each level looks for repetitions at twice as many positions as the level
/// below. On weights all levels give about the same size, because weights hardly repeat, and only the frequencies of bytes
/// can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(u8);

impl Level {
    /// Creates the level with the number `level`. Returns `None` if it is not from 1 to 5.
    pub fn new(level: u8) -> Option<Self> {
        matches!(level, 1..=5).then_some(Self(level))
    }

    fn effort(self) -> Effort {
        match self.0 {
            1 => Effort { log: 15, places: 1, passed: 2, lazy: false },
            2 => Effort { log: 16, places: 2, passed: 16, lazy: true },
            3 => Effort { log: 17, places: 4, passed: 16, lazy: true },
            4 => Effort { log: 17, places: 8, passed: 16, lazy: true },
            _ => Effort { log: 18, places: 16, passed: 16, lazy: true },
        }
    }
}

impl Default for Level {
    fn default() -> Self {
        Self(2)
    }
}

/// The reason why content cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EncodeError {
    /// The content has more or fewer bytes than were announced.
    Length,
    /// An allocation failed.
    Memory,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "the bytes are more or fewer than were declared",
            Self::Memory => "an allocation failed",
        })
    }
}

impl core::error::Error for EncodeError {}

impl<C> From<EncodeError> for CallbackFailure<C, EncodeError> {
    fn from(error: EncodeError) -> Self {
        Self::Codec(error)
    }
}

/// An encoder of content, whose length is announced, as one frame.
pub struct Encoder {
    decoded: u64,
    taken: u64,
    begun: bool,
    /// The bytes to which matches may refer, and from `start` on the block that is being filled.
    kept: Vec<u8>,
    start: usize,
    blocks: Blocks,
    /// The checksum of the content so far, if the frame ends with one.
    sum: Option<Xxh64>,
}

impl Encoder {
    /// Creates an encoder of exactly `decoded` bytes. All memory is allocated here: up to 2.2 MiB, at the default level 1.4
    /// MiB, and less for little content.
    ///
    /// # Errors
    /// [`EncodeError::Memory`].
    pub fn new(level: Level, decoded: u64) -> Result<Self, EncodeError> {
        let bytes = usize::try_from(decoded).unwrap_or(KEPT).min(KEPT);
        let mut kept = Vec::new();
        kept.try_reserve_exact(bytes).map_err(|_| EncodeError::Memory)?;
        let blocks = Blocks::new(level.effort(), bytes, WINDOW).ok_or(EncodeError::Memory)?;
        Ok(Self { decoded, taken: 0, begun: false, kept, start: 0, blocks, sum: None })
    }

    /// Returns the encoder for a frame that ends with a checksum of its content.
    #[must_use]
    pub fn with_checksum(mut self) -> Self {
        self.sum = Some(Xxh64::new());
        self
    }

    /// Begins another frame in the same memory. `decoded` must not exceed the size of the first frame.
    fn restart(&mut self, decoded: u64) {
        (self.decoded, self.taken, self.begun, self.start) = (decoded, 0, false, 0);
        self.kept.clear();
        self.blocks.clear();
        self.sum = self.sum.as_ref().map(|_| Xxh64::new());
    }

    /// Encodes `bytes`, and passes complete blocks to `out`.
    ///
    /// # Errors
    /// The errors of `out`; [`EncodeError::Length`] for more bytes than were announced.
    pub fn write<E>(
        &mut self,
        mut bytes: &[u8],
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), CallbackFailure<E, EncodeError>> {
        if u64_from_usize(bytes.len()) > self.decoded.saturating_sub(self.taken) {
            return Err(EncodeError::Length.into());
        }
        while !bytes.is_empty() {
            let filled = self.kept.len().saturating_sub(self.start);
            let room = LARGEST_BLOCK.saturating_sub(filled);
            // A full block is written only when more bytes come, because the last block must be marked.
            if room == 0 {
                self.flush(false, out).map_err(CallbackFailure::Callback)?;
                continue;
            }
            let (now, later) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
            self.kept.extend_from_slice(now);
            if let Some(sum) = &mut self.sum {
                sum.update(now);
            }
            self.taken = self.taken.saturating_add(u64_from_usize(now.len()));
            bytes = later;
        }
        Ok(())
    }

    /// Passes the last block and the checksum to `out`.
    ///
    /// # Errors
    /// The errors of `out`; [`EncodeError::Length`] for fewer bytes than were announced.
    pub fn finish<E>(
        mut self,
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), CallbackFailure<E, EncodeError>> {
        self.end(out).map(drop)
    }

    /// Ends the frame as [`finish`](Self::finish) does, but keeps the encoder. Returns the checksum, or zeros without one.
    fn end<E>(
        &mut self,
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<[u8; 4], CallbackFailure<E, EncodeError>> {
        if self.taken != self.decoded {
            return Err(EncodeError::Length.into());
        }
        self.flush(true, out).map_err(CallbackFailure::Callback)?;
        let Some(sum) = &self.sum else { return Ok([0; 4]) };
        let sum = sum.low().to_le_bytes();
        out(&sum).map_err(CallbackFailure::Callback)?;
        Ok(sum)
    }

    /// Writes the block that has been filled, and makes room for the next.
    fn flush<E>(
        &mut self,
        last: bool,
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.begun {
            self.begun = true;
            begin(self.decoded, self.sum.is_some(), out)?;
        }
        self.blocks.write(&self.kept, self.start, last, out)?;
        if self.kept.len().saturating_add(LARGEST_BLOCK) > KEPT {
            let old = self.kept.len().saturating_sub(WINDOW);
            self.kept.drain(..old);
            self.blocks.forget(old);
        }
        self.start = self.kept.len();
        Ok(())
    }
}

/// Writes the frame header: §3.1.1.1. It has the content size, and says whether a checksum follows the content.
fn begin<E>(
    decoded: u64,
    checksum: bool,
    out: &mut impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let (flag, size, length) = match decoded {
        0..0x100 => (0, decoded, 1),
        0x100..0x1_0100 => (1, decoded.wrapping_sub(0x100), 2),
        0x1_0100..0x1_0000_0000 => (2, decoded, 4),
        _ => (3, decoded, 8),
    };
    // The header of a frame with a single segment has no window: the window is the content.
    let single = decoded <= u64_from_usize(WINDOW);
    let window = (WINDOW_LOG.wrapping_sub(10)) << 3;
    let bytes = MAGIC.to_le_bytes().into_iter();
    let bytes = bytes.chain([flag << 6 | u8::from(single) << 5 | u8::from(checksum) << 2]);
    let bytes = bytes.chain((!single).then_some(window));
    let bytes = bytes.chain(size.to_le_bytes().into_iter().take(length));
    let mut header = [0; LONGEST_HEADER];
    let mut length = 0_usize;
    for (place, byte) in header.iter_mut().zip(bytes) {
        *place = byte;
        length = length.saturating_add(1);
    }
    out(header.get(..length).debug_expect())
}

/// Encodes `content` as one frame.
///
/// # Errors
/// [`EncodeError::Memory`].
pub fn encode(content: &[u8], level: Level) -> Result<Vec<u8>, EncodeError> {
    let mut frame = Vec::new();
    let mut out = |bytes: &[u8]| {
        frame.try_reserve(bytes.len()).map_err(|_| EncodeError::Memory)?;
        frame.extend_from_slice(bytes);
        Ok(())
    };
    let mut encoder = Encoder::new(level, u64_from_usize(content.len()))?;
    encoder.write(content, &mut out).map_err(CallbackFailure::either)?;
    encoder.finish(&mut out).map_err(CallbackFailure::either)?;
    Ok(frame)
}
