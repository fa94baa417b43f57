//! The literals section of a block: RFC 8878 §3.1.1.3.1.

use alloc::vec::Vec;

use super::Flaw;
use super::block::LiteralsSection;
use super::huffman::Huffman;

/// Decodes literals.
#[derive(Default)]
pub(super) struct Literals {
    huffman: Huffman,
    /// Those of the current block, where they are not stored as they are.
    bytes: Vec<u8>,
}

impl Literals {
    /// Forgets the frame before.
    pub(super) fn clear(&mut self) {
        self.huffman.clear();
    }

    /// The literals of a section.
    pub(super) fn read<'s>(&'s mut self, section: LiteralsSection<'s>) -> Result<&'s [u8], Flaw> {
        let LiteralsSection { kind, four, decoded, stored } = section;
        if kind == 0 {
            return Ok(stored);
        }
        self.bytes.clear();
        self.bytes.try_reserve_exact(decoded).map_err(|_| Flaw::Memory)?;
        if let (1, [byte]) = (kind, stored) {
            self.bytes.resize(decoded, *byte);
            return Ok(&self.bytes);
        }
        self.bytes.resize(decoded, 0);
        let stream = if kind == 2 { self.huffman.describe(stored)? } else { stored };
        if four {
            let streams = streams(stream).ok_or(Flaw::Corrupt)?;
            self.huffman.four(streams, &mut self.bytes)?;
        } else {
            self.huffman.one(stream, &mut self.bytes)?;
        }
        Ok(&self.bytes)
    }
}

/// Four streams by the table of their lengths, of which the last goes without saying:
/// §3.1.1.3.1.6.
fn streams(stream: &[u8]) -> Option<[&[u8]; 4]> {
    let (jumps, rest) = stream.split_first_chunk::<6>()?;
    let [first, second, third] = *jumps.as_chunks::<2>().0 else { return None };
    let length = |jump| usize::from(u16::from_le_bytes(jump));
    let (first, rest) = rest.split_at_checked(length(first))?;
    let (second, rest) = rest.split_at_checked(length(second))?;
    let (third, fourth) = rest.split_at_checked(length(third))?;
    Some([first, second, third, fourth])
}
