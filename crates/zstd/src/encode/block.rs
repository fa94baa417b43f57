//! Encoding blocks: RFC 8878 §3.1.1.2.

use alloc::vec::Vec;

use super::bits::{Bits, SLACK};
use super::matches::{Effort, Finder, SHORTEST};
use super::sequences::{self, Sequence};
use super::{huffman, literals};
use crate::format::offsets::Repeats;
use crate::format::{BLOCK_HEADER, COMPRESSED, LARGEST_BLOCK, RAW, REPEATED};
use crate::num::{DebugExpect as _, len_u32, u64_from_usize};

/// The estimated size in bytes of the description of Huffman codes.
const CODES: usize = 128;

/// A writer of one block after another.
pub(super) struct Blocks {
    finder: Finder,
    repeats: Repeats,
    sequences: Vec<Sequence>,
    literals: Vec<u8>,
    written: Vec<u8>,
}

impl Blocks {
    /// Creates a writer of the blocks of a frame. At most `bytes` bytes are passed to [`write`](Self::write) at once, and
    /// matches are at most `window` bytes back. All memory is allocated here. Returns `None` if memory is out.
    pub(super) fn new(effort: Effort, bytes: usize, window: usize) -> Option<Self> {
        let block = bytes.min(LARGEST_BLOCK);
        let finder = Finder::new(effort, bytes, window)?;
        let (mut sequences, mut literals, mut written) = (Vec::new(), Vec::new(), Vec::new());
        sequences.try_reserve_exact(block / SHORTEST).ok()?;
        literals.try_reserve_exact(block).ok()?;
        let room = block.saturating_add(BLOCK_HEADER).saturating_add(SLACK);
        written.try_reserve_exact(room).ok()?;
        written.resize(room, 0);
        Some(Self { finder, repeats: Repeats::FIRST, sequences, literals, written })
    }

    /// Forgets the data of the previous frame, so that another frame can be written in the same memory.
    pub(super) fn clear(&mut self) {
        self.finder.clear();
        self.repeats = Repeats::FIRST;
    }

    /// Tells the writer that the caller has dropped the first `bytes` bytes of the data that it passes to [`write`](Self::write).
    pub(super) fn forget(&mut self, bytes: usize) {
        self.finder.forget(bytes);
    }

    /// Writes the block whose content is `data` from the index `start` on. Matches may refer to earlier bytes of `data`.
    pub(super) fn write<E>(
        &mut self,
        data: &[u8],
        start: usize,
        last: bool,
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let block = data.get(start..).debug_expect();
        let header = |kind: u32, size: usize| {
            let [a, b, c, _] = (len_u32(size) << 3 | kind << 1 | u32::from(last)).to_le_bytes();
            [a, b, c]
        };
        if let [first, rest @ ..] = block
            && rest.iter().all(|byte| byte == first)
        {
            let [a, b, c] = header(REPEATED, block.len());
            return out(&[a, b, c, *first]);
        }
        if let Some(size) = self.compress(data, start)
            && let Some(written) = self.written.get_mut(..size.saturating_add(BLOCK_HEADER))
            && let Some(room) = written.first_chunk_mut()
        {
            *room = header(COMPRESSED, size);
            return out(written);
        }
        out(&header(RAW, block.len()))?;
        out(block)
    }

    /// Compresses a block, and returns the number of bytes, or `None` if compression is not worth it. The block must not
    /// consist of one repeated byte.
    fn compress(&mut self, data: &[u8], start: usize) -> Option<usize> {
        let Self { finder, sequences, literals, .. } = self;
        let block = data.get(start..)?;
        let counts = huffman::count(block);
        let lengths = huffman::lengths(&counts)?;
        sequences.clear();
        literals.clear();
        finder.divide(data, start, &lengths, sequences, literals);
        let mut bits = Bits::new(&mut self.written);
        bits.leave(BLOCK_HEADER);
        // A reader does not see the distances of a block that is stored raw, so they are kept only if the block is written.
        let mut repeats = self.repeats;
        if !sequences.is_empty() {
            let counts = huffman::count(literals);
            literals::write(literals, &counts, huffman::lengths(&counts).as_ref(), &mut bits);
            sequences::write(sequences, &mut repeats, &mut bits);
        }
        let alone =
            u64_from_usize(BLOCK_HEADER).saturating_add(huffman::cost(&counts, &lengths) / 8);
        if sequences.is_empty()
            || u64_from_usize(bits.length()) > alone.saturating_add(u64_from_usize(CODES))
        {
            repeats = self.repeats;
            bits.back_to(BLOCK_HEADER);
            literals::write(block, &counts, Some(&lengths), &mut bits);
            sequences::write(&mut [], &mut repeats, &mut bits);
        }
        let size = bits.length().saturating_sub(BLOCK_HEADER);
        if !literals::pays(block.len(), u64_from_usize(size)) {
            return None;
        }
        self.repeats = repeats;
        Some(size)
    }
}
