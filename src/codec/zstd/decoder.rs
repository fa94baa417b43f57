//! A decoder of blocks: RFC 8878 §3.1.1.2 to §4. Its memory is bounded by the window and the block,
//! and all of it can fail to be had; nothing that a block says is believed before it has been held
//! against those.

mod bits;
mod fse;
mod huffman;
mod literals;
mod output;
mod sequences;
mod xxh64;

use self::literals::Literals;
use self::output::Output;
use self::sequences::{Bounds, Sequences};
use self::xxh64::Xxh64;
use super::Broken;
use super::block;
use super::frame::{BLOCK_HEADER, Header};

/// Decodes one frame after the other. Never used after an error.
pub(super) struct Decoder {
    output: Output,
    literals: Literals,
    sequences: Sequences,
    /// How far back matches may reach, and what of that there can be.
    window: usize,
    kept: usize,
    block: usize,
    /// Bytes that may still be made.
    left: usize,
    sum: Option<Xxh64>,
    /// The checksum that stands after the frame.
    stored: Option<u32>,
    finished: bool,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self {
            output: Output::new(),
            literals: Literals::new(),
            sequences: Sequences::new(),
            window: 0,
            kept: 0,
            block: 0,
            left: 0,
            sum: None,
            stored: None,
            finished: false,
        }
    }

    /// Begins a frame of that header, which may decode to at most `most` bytes.
    #[expect(clippy::unnecessary_wraps, reason = "the other decoder can fail here")]
    pub(super) fn begin(&mut self, header: &Header, most: u64) -> Result<(), Broken> {
        let sized = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        self.output.clear();
        self.literals.clear();
        self.sequences.clear();
        self.window = sized(header.window);
        self.kept = sized(header.window.min(most));
        self.block = sized(header.largest_block());
        self.left = sized(most);
        self.sum = header.checksum.then(Xxh64::new);
        (self.stored, self.finished) = (None, false);
        Ok(())
    }

    /// Decodes one block, and takes the frame's checksum if it follows the last.
    ///
    /// Never inlined: what it copies is looked for here by whoever searches images for panics.
    #[inline(never)]
    pub(super) fn block(&mut self, block: &[u8]) -> Result<(), Broken> {
        let (header, content) = block.split_first_chunk::<BLOCK_HEADER>().ok_or(Broken::Corrupt)?;
        let [low, middle, high] = *header;
        let bits = u32::from_le_bytes([low, middle, high, 0]);
        let size = crate::num::index(bits >> 3);
        let last = bits & 1 == 1;
        let kind = bits >> 1 & 3;
        let stored = if kind == 1 { 1 } else { size };
        let (content, rest) = content.split_at_checked(stored).ok_or(Broken::Corrupt)?;
        match (kind, content) {
            (0, _) => {
                self.room(size)?;
                self.output.push(content);
            }
            (1, [byte]) => {
                self.room(size)?;
                self.output.fill(*byte, size);
            }
            (2, _) => self.compressed(content)?,
            _ => return Err(Broken::Corrupt),
        }
        let made = self.output.pending();
        self.left = self.left.saturating_sub(made.len());
        if let Some(sum) = &mut self.sum {
            sum.update(made);
            if last {
                self.stored = rest.first_chunk().map(|sum| u32::from_le_bytes(*sum));
            }
        }
        self.finished = last;
        Ok(())
    }

    /// Makes room for a block of exactly so many bytes.
    fn room(&mut self, size: usize) -> Result<(), Broken> {
        if size > self.left {
            return Err(Broken::TooLong);
        }
        self.output.room((size, self.left), (self.kept, self.block))
    }

    /// §3.1.1.3.
    fn compressed(&mut self, content: &[u8]) -> Result<(), Broken> {
        let (rest, header) = block::literals(content).map_err(|_| Broken::Corrupt)?;
        let (literals, rest) = self.literals.read(header, rest, self.block)?;
        let (rest, sequences) = block::sequences(rest).map_err(|_| Broken::Corrupt)?;
        let bounds = Bounds { left: self.left, block: self.block, window: self.window };
        match sequences {
            Some(sequences) => {
                let made = (self.left.min(self.block), self.left);
                self.output.room(made, (self.kept, self.block))?;
                self.sequences.run(rest, sequences, literals, &mut self.output, bounds)
            }
            None if rest.is_empty() => {
                let made = (literals.len().min(self.left), self.left);
                self.output.room(made, (self.kept, self.block))?;
                sequences::last(literals, 0, &mut self.output, bounds)
            }
            None => Err(Broken::Corrupt),
        }
    }

    /// Takes decoded bytes.
    #[expect(clippy::unnecessary_wraps, reason = "the other decoder can fail here")]
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Broken> {
        let pending = self.output.pending();
        let count = pending.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), pending.get(..count)) {
            to.copy_from_slice(from);
        }
        self.output.pass(count);
        Ok(count)
    }

    /// How many bytes could be read now.
    pub(super) fn pending(&self) -> u64 {
        crate::num::wide(self.output.pending().len())
    }

    /// Whether the last block has been decoded.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Whether the checksum that stands after the frame is that of its bytes.
    pub(super) fn matches_checksum(&self) -> bool {
        let sum = self.sum.as_ref().map(|sum| sum.finish() & u64::from(u32::MAX));
        sum.is_some() && sum == self.stored.map(u64::from)
    }
}
