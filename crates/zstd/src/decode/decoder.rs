//! A decoder of blocks: RFC 8878 §3.1.1.2 to §4. Its memory is bounded by the window and the block size, and a failed
//! allocation is an error. Every number in a block is checked against these bounds before it is used.

use super::block::{Block, BlockContent, LiteralsSection, SequencesSection};
use super::header::FrameHeader;
use super::literals::Literals;
use super::output::Output;
use super::sequences::{BlockBounds, Sequences};
use super::{BlockDecoder, Flaw};
use crate::num::u64_from_usize;

/// A decoder of blocks in safe Rust. Its memory is at most a window and a block (or the largest decoded size of the frame if that
/// is smaller), a block of literals, and 15 KiB of tables. While the buffer of decoded bytes grows, its old memory may exist
/// together with the new.
#[derive(Default)]
pub struct Decoder {
    output: Output,
    literals: Literals,
    sequences: Sequences,
    bounds: BlockBounds,
}

impl BlockDecoder for Decoder {
    fn begin(&mut self, header: &FrameHeader, most: u64) -> Result<(), Flaw> {
        let sized = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let block = sized(header.largest_block());
        self.output.begin(sized(header.window().min(most)), block);
        self.literals.clear();
        self.sequences.clear();
        self.bounds = BlockBounds { left: sized(most), block, window: sized(header.window()) };
        Ok(())
    }

    // Never inlined: the test `panics` allows calls that can panic, such as those of `copy_from_slice`, by the name of the function
    // that makes them, and knows this function.
    #[inline(never)]
    fn block(&mut self, block: &Block<'_>) -> Result<(), Flaw> {
        match block.content {
            BlockContent::Raw(bytes) => {
                self.room(bytes.len())?;
                self.output.push(bytes);
            }
            BlockContent::Repeated(byte, count) => {
                self.room(count)?;
                self.output.fill(byte, count);
            }
            BlockContent::Compressed(literals, sequences) => {
                self.compressed(literals, sequences)?;
            }
        }
        let made = self.output.pending().len();
        self.bounds.left = self.bounds.left.saturating_sub(made);
        Ok(())
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Flaw> {
        let pending = self.output.pending();
        let count = pending.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), pending.get(..count)) {
            to.copy_from_slice(from);
        }
        self.output.pass(count);
        Ok(count)
    }

    fn pending(&self) -> u64 {
        u64_from_usize(self.output.pending().len())
    }
}

impl Decoder {
    /// Reserves room in the output for a block that decodes to exactly `size` bytes. Returns [`Flaw::Decoded`] if the
    /// frame may not decode to that many more bytes.
    fn room(&mut self, size: usize) -> Result<(), Flaw> {
        if size > self.bounds.left {
            return Err(Flaw::Decoded);
        }
        self.output.room(size, self.bounds.left)
    }

    /// Decodes a compressed block: RFC 8878 §3.1.1.3.
    // Never inlined, so that its large stack frame is not set up for other types of blocks.
    #[inline(never)]
    fn compressed(
        &mut self,
        literals: LiteralsSection<'_>,
        sequences: SequencesSection<'_>,
    ) -> Result<(), Flaw> {
        let BlockBounds { left, block, .. } = self.bounds;
        if sequences.count == 0 && literals.decoded <= left {
            self.output.room(literals.decoded, left)?;
            return self.literals.write(literals, self.output.add(literals.decoded));
        }
        let literals = self.literals.read(literals)?;
        if sequences.count == 0 {
            return Err(Flaw::Decoded);
        }
        self.output.room(block.min(left), left)?;
        self.sequences.run(sequences, literals, &mut self.output, self.bounds)
    }
}
