//! Writing zstd: RFC 8878. One frame, whose blocks are cut by the bytes alone, so that what comes
//! out does not depend on how they came in.
//!
//! Most of what tensors hold is noise, of which some bytes come more often than others: what
//! there is to save are bits of the literals. Matches are for what is not noise.

mod bits;
mod block;
mod fse;
mod huffman;
mod literals;
mod matches;
mod sequences;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use self::block::{BLOCK, Blocks};
use self::matches::Effort;
use crate::error::{Error, Misuse, OutOfMemory};
use crate::num::wide;

const MAGIC: u32 = 0xfd2f_b528;
/// How far back a match may be: what a reader has to keep.
const WINDOW: usize = 1 << WINDOW_LOG;
const WINDOW_LOG: u8 = 18;
/// Decoded bytes that are kept at most: so many more than a window and a block that the oldest
/// are not dropped at every block.
const KEPT: usize = 2 * WINDOW;
/// The longest frame header: magic, descriptor, window, content size.
const LONGEST_HEADER: usize = 4 + 1 + 1 + 8;

/// How hard to compress: from 1, the fastest, to 5, the smallest. By default 2.
///
/// They are not the levels of other encoders. All are much the same on weights, where a level
/// cannot save more than the frequencies of bytes allow; each looks at twice as many places as
/// the one below for what repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(u8);

impl Level {
    /// The level of that number.
    pub fn new(level: u8) -> Result<Self, Error> {
        match level {
            1..=5 => Ok(Self(level)),
            _ => Err(Error::misuse(Misuse::Level)),
        }
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

/// The content of one component, being compressed into one frame.
pub(super) struct Encoder {
    decoded: u64,
    taken: u64,
    begun: bool,
    /// What matches may refer to, and from `start` on the block that is being filled.
    kept: Vec<u8>,
    start: usize,
    blocks: Blocks,
}

impl Encoder {
    /// An encoder of exactly `decoded` bytes. All memory that it needs is taken here: up to
    /// 2.2 MiB, at the default level 1.4 MiB, and less for few bytes.
    pub(super) fn new(level: Level, decoded: u64) -> Result<Self, Error> {
        let memory = || Error::from(OutOfMemory);
        let bytes = usize::try_from(decoded).unwrap_or(KEPT).min(KEPT);
        let mut kept = Vec::new();
        kept.try_reserve_exact(bytes).map_err(|_| memory())?;
        let blocks = Blocks::new(level.effort(), bytes, WINDOW).ok_or_else(memory)?;
        Ok(Self { decoded, taken: 0, begun: false, kept, start: 0, blocks })
    }

    /// Takes bytes, and hands to `out` what can be written.
    pub(super) fn write<E: From<Error>>(
        &mut self,
        mut bytes: &[u8],
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if wide(bytes.len()) > self.decoded.saturating_sub(self.taken) {
            return Err(Error::misuse(Misuse::Supply).into());
        }
        while !bytes.is_empty() {
            let filled = self.kept.len().saturating_sub(self.start);
            let room = BLOCK.saturating_sub(filled);
            // The last block is known only when nothing comes after it.
            if room == 0 {
                self.flush(false, out)?;
                continue;
            }
            let (now, later) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
            self.kept.extend_from_slice(now);
            self.taken = self.taken.saturating_add(wide(now.len()));
            bytes = later;
        }
        Ok(())
    }

    /// Hands the end of the frame to `out`.
    pub(super) fn finish<E: From<Error>>(
        mut self,
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.taken != self.decoded {
            return Err(Error::misuse(Misuse::Supply).into());
        }
        self.flush(true, out)
    }

    /// Writes the block that has been filled, and makes room for the next.
    fn flush<E>(
        &mut self,
        last: bool,
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.begun {
            self.begun = true;
            begin(self.decoded, out)?;
        }
        self.blocks.write(&self.kept, self.start, last, out)?;
        if self.kept.len().saturating_add(BLOCK) > KEPT {
            let old = self.kept.len().saturating_sub(WINDOW);
            self.kept.drain(..old);
            self.blocks.forget(old);
        }
        self.start = self.kept.len();
        Ok(())
    }
}

/// Writes the frame header: §3.1.1.1. It gives the content size, and no checksum.
fn begin<E>(decoded: u64, out: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let (flag, size, length) = match decoded {
        0..0x100 => (0, decoded, 1),
        0x100..0x1_0100 => (1, decoded.wrapping_sub(0x100), 2),
        0x1_0100..0x1_0000_0000 => (2, decoded, 4),
        _ => (3, decoded, 8),
    };
    // In a single segment, the content is the window.
    let single = decoded <= wide(WINDOW);
    let window = (WINDOW_LOG.wrapping_sub(10)) << 3;
    let bytes = MAGIC.to_le_bytes().into_iter();
    let bytes = bytes.chain([flag << 6 | u8::from(single) << 5]);
    let bytes = bytes.chain((!single).then_some(window));
    let bytes = bytes.chain(size.to_le_bytes().into_iter().take(length));
    let mut header = [0; LONGEST_HEADER];
    let mut length = 0_usize;
    for (place, byte) in header.iter_mut().zip(bytes) {
        *place = byte;
        length = length.saturating_add(1);
    }
    out(header.get(..length).unwrap_or_default())
}
