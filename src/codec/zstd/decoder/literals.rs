//! The literals section of a block: RFC 8878 §3.1.1.3.1.

use alloc::vec::Vec;

use super::huffman::Huffman;
use crate::codec::zstd::Broken;
use crate::codec::zstd::block;

/// Decodes literals.
pub(super) struct Literals {
    huffman: Huffman,
    /// Those of the block at hand, where they are not stored as they are.
    bytes: Vec<u8>,
}

impl Literals {
    pub(super) fn new() -> Self {
        Self { huffman: Huffman::new(), bytes: Vec::new() }
    }

    /// Forgets the frame before.
    pub(super) fn clear(&mut self) {
        self.huffman.clear();
    }

    /// The literals of a section with that header, of which there are at most `most`, and what
    /// follows it.
    pub(super) fn read<'s>(
        &'s mut self,
        header: block::Literals,
        content: &'s [u8],
        most: usize,
    ) -> Result<(&'s [u8], &'s [u8]), Broken> {
        let sized = |bytes: u64| usize::try_from(bytes).ok();
        let made = sized(header.made).filter(|made| *made <= most).ok_or(Broken::Corrupt)?;
        let split = sized(header.stored).and_then(|stored| content.split_at_checked(stored));
        let (stored, rest) = split.ok_or(Broken::Corrupt)?;
        if header.kind == 0 {
            return Ok((stored, rest));
        }
        self.bytes.clear();
        self.bytes.try_reserve_exact(made).map_err(|_| Broken::Memory)?;
        if let (1, [byte]) = (header.kind, stored) {
            self.bytes.resize(made, *byte);
            return Ok((&self.bytes, rest));
        }
        self.bytes.resize(made, 0);
        let stream = if header.kind == 2 { self.huffman.describe(stored)? } else { stored };
        if header.four {
            let streams = four(stream).ok_or(Broken::Corrupt)?;
            self.huffman.four(streams, &mut self.bytes)?;
        } else {
            self.huffman.one(stream, &mut self.bytes)?;
        }
        Ok((&self.bytes, rest))
    }
}

/// Four streams by the table of their lengths, of which the last goes without saying:
/// §3.1.1.3.1.6.
fn four(stream: &[u8]) -> Option<[&[u8]; 4]> {
    let (jumps, rest) = stream.split_first_chunk::<6>()?;
    let [first, second, third] = *jumps.as_chunks::<2>().0 else { return None };
    let length = |jump| usize::from(u16::from_le_bytes(jump));
    let (first, rest) = rest.split_at_checked(length(first))?;
    let (second, rest) = rest.split_at_checked(length(second))?;
    let (third, fourth) = rest.split_at_checked(length(third))?;
    Some([first, second, third, fourth])
}
