//! Decoding the literals section of a block: RFC 8878 §3.1.1.3.1.

use alloc::vec::Vec;

use super::Flaw;
use super::block::LiteralsSection;
use super::huffman::Huffman;
use super::streams;

/// A decoder of literals.
#[derive(Default)]
pub(super) struct Literals {
    huffman: Huffman,
    /// The decoded literals of the current block. Raw literals are not copied here, but borrowed from the block.
    bytes: Vec<u8>,
}

impl Literals {
    /// Forgets the Huffman codes of the previous frame.
    pub(super) fn clear(&mut self) {
        self.huffman.clear();
    }

    /// Returns the literals of `section`, decoded or borrowed.
    pub(super) fn read<'s>(&'s mut self, section: LiteralsSection<'s>) -> Result<&'s [u8], Flaw> {
        if section.kind == 0 {
            return Ok(section.stored);
        }
        self.bytes.clear();
        self.bytes.try_reserve_exact(section.decoded).map_err(|_| Flaw::Memory)?;
        self.bytes.resize(section.decoded, 0);
        decode(section, &mut self.huffman, &mut self.bytes)?;
        Ok(&self.bytes)
    }

    /// Decodes the literals of a section into `out`, whose length is the number of literals.
    pub(super) fn write(
        &mut self,
        section: LiteralsSection<'_>,
        out: &mut [u8],
    ) -> Result<(), Flaw> {
        decode(section, &mut self.huffman, out)
    }
}

fn decode(section: LiteralsSection<'_>, huffman: &mut Huffman, out: &mut [u8]) -> Result<(), Flaw> {
    let LiteralsSection { kind, four, stored, .. } = section;
    match (kind, stored) {
        (0, _) => out.iter_mut().zip(stored).for_each(|(to, from)| *to = *from),
        (1, [byte]) => out.fill(*byte),
        _ => {
            let stream = if kind == 2 { huffman.describe(stored)? } else { stored };
            let codes = huffman.codes()?;
            if four {
                streams::four(codes, quartered(stream).ok_or(Flaw::Corrupt)?, out)?;
            } else {
                streams::one(codes, stream, out)?;
            }
        }
    }
    Ok(())
}

/// Splits `stream` into four streams by the table of their lengths at its start. The length of the last is not stored:
/// §3.1.1.3.1.6.
fn quartered(stream: &[u8]) -> Option<[&[u8]; 4]> {
    let (jumps, rest) = stream.split_first_chunk::<6>()?;
    let [first, second, third] = *jumps.as_chunks::<2>().0 else { return None };
    let length = |jump| usize::from(u16::from_le_bytes(jump));
    let (first, rest) = rest.split_at_checked(length(first))?;
    let (second, rest) = rest.split_at_checked(length(second))?;
    let (third, fourth) = rest.split_at_checked(length(third))?;
    Some([first, second, third, fourth])
}
