//! Blocks, and the headers inside compressed blocks: RFC 8878 §3.1.1.2 and §3.1.1.3. They are validated before the block is
//! passed to a decoder, so every decoder gets only blocks with valid headers.

use super::header::number;
use super::{DecodeError, Flaw};
use crate::format::{BLOCK_HEADER, COMPRESSED, RAW, REPEATED};
use crate::num::{u64_from_usize, usize_from_u32};

/// The header of a block: RFC 8878 §3.1.1.2.
#[derive(Clone, Copy)]
pub(super) struct BlockHeader {
    pub(super) last: bool,
    kind: u32,
    /// The number of stored bytes, or for an RLE block the number of times that its one byte is repeated.
    size: u32,
}

impl BlockHeader {
    /// Parses the block header at the start of `input`. Returns `None` if `input` is too short.
    pub(super) fn parse(input: &[u8]) -> Option<Self> {
        let [low, middle, high] = *input.first_chunk::<BLOCK_HEADER>()?;
        let bits = u32::from_le_bytes([low, middle, high, 0]);
        Some(Self { last: bits & 1 == 1, kind: bits >> 1 & 3, size: bits >> 3 })
    }

    pub(super) fn size(self) -> u64 {
        self.size.into()
    }

    /// Returns the number of bytes that follow the header, or `None` if the type is reserved.
    pub(super) fn stored(self) -> Option<usize> {
        match self.kind {
            RAW | COMPRESSED => Some(usize_from_u32(self.size)),
            REPEATED => Some(1),
            _ => None,
        }
    }
}

/// A block whose headers are valid.
#[derive(Clone, Copy)]
pub struct Block<'s> {
    bytes: &'s [u8],
    pub(super) content: BlockContent<'s>,
}

/// The content of a block by its type.
#[derive(Clone, Copy)]
pub(super) enum BlockContent<'s> {
    Raw(&'s [u8]),
    Repeated(u8, usize),
    Compressed(LiteralsSection<'s>, SequencesSection<'s>),
}

impl<'s> Block<'s> {
    /// Parses the block at the start of `input`. `at` is its position, for errors, and `most` the largest number of bytes that it
    /// may decode to, which is compared with the number of its literals only.
    pub(super) fn parse(input: &'s [u8], at: u64, most: u64) -> Result<Self, DecodeError> {
        let corrupt =
            DecodeError::new(Flaw::Corrupt, at.saturating_add(u64_from_usize(input.len())));
        let header = BlockHeader::parse(input).ok_or(corrupt)?;
        let end = BLOCK_HEADER.saturating_add(header.stored().ok_or(corrupt)?);
        // The block must be parsed without the bytes after it, which may be the checksum of the frame.
        let bytes = input.get(..end).ok_or(corrupt)?;
        let content = match bytes.get(BLOCK_HEADER..).ok_or(corrupt)? {
            content if header.kind == COMPRESSED => {
                let (sizes, rest) = LiteralsSizes::parse(content).ok_or(corrupt)?;
                if sizes.decoded > most {
                    return Err(DecodeError::new(Flaw::Block, at).found(sizes.decoded));
                }
                let (literals, rest) = sizes.split(rest).ok_or(corrupt)?;
                let sequences = sequences(rest).ok_or(corrupt)?;
                if sequences.modes & 3 != 0 {
                    return Err(DecodeError::new(Flaw::Reserved, at));
                }
                BlockContent::Compressed(literals, sequences)
            }
            [byte] if header.kind == REPEATED => {
                BlockContent::Repeated(*byte, usize_from_u32(header.size))
            }
            content => BlockContent::Raw(content),
        };
        Ok(Self { bytes, content })
    }

    /// Returns the stored bytes of the block, including its header.
    pub fn bytes(&self) -> &'s [u8] {
        self.bytes
    }
}

/// The literals section of a compressed block, before the literals are decoded: RFC 8878 §3.1.1.3.1.
#[derive(Clone, Copy)]
pub(super) struct LiteralsSection<'s> {
    /// The type of the literals: 0 for raw, 1 for RLE, 2 for compressed, 3 for treeless.
    pub(super) kind: u64,
    /// Whether the Huffman codes are in four streams instead of one.
    pub(super) four: bool,
    /// The number of bytes that the literals decode to.
    pub(super) decoded: usize,
    pub(super) stored: &'s [u8],
}

/// The sequences section: §3.1.1.3.2. If the number of sequences is 0, the section has no other field.
#[derive(Clone, Copy)]
pub(super) struct SequencesSection<'s> {
    pub(super) count: u32,
    /// The compression modes of the tables for literals lengths, offsets and match lengths, two bits each from the highest bit on.
    pub(super) modes: u8,
    /// The descriptions of the tables, followed by the bit stream of the sequences.
    pub(super) stream: &'s [u8],
}

/// The sizes in the header of the literals section: RFC 8878 §3.1.1.3.1.1.
struct LiteralsSizes {
    kind: u64,
    four: bool,
    decoded: u64,
    stored: u64,
}

impl LiteralsSizes {
    fn parse(input: &[u8]) -> Option<(Self, &[u8])> {
        let (first, _) = number(input, 1)?;
        let (kind, format) = (first & 3, first >> 2 & 3);
        // The header has the decoded size, and for coded literals also the stored size.
        let (bytes, bits) = match (kind, format) {
            (0 | 1, 0 | 2) => (1, 5),
            (0 | 1, 1) => (2, 12),
            (0 | 1, _) => (3, 20),
            (_, 0 | 1) => (3, 10),
            (_, 2) => (4, 14),
            _ => (5, 18),
        };
        let (header, rest) = number(input, bytes)?;
        let sizes = header >> if bytes == 1 { 3 } else { 4 };
        let mask = 1_u64.wrapping_shl(bits).wrapping_sub(1);
        let decoded = sizes & mask;
        let stored = match kind {
            0 => decoded,
            1 => 1,
            _ => sizes.wrapping_shr(bits) & mask,
        };
        Some((Self { kind, four: kind > 1 && format > 0, decoded, stored }, rest))
    }

    fn split(self, input: &[u8]) -> Option<(LiteralsSection<'_>, &[u8])> {
        let Self { kind, four, decoded, stored } = self;
        let (stored, rest) = input.split_at_checked(usize::try_from(stored).ok()?)?;
        let decoded = usize::try_from(decoded).ok()?;
        Some((LiteralsSection { kind, four, decoded, stored }, rest))
    }
}

/// Parses the sequences section, which takes all of `input`: RFC 8878 §3.1.1.3.2.1.
fn sequences(input: &[u8]) -> Option<SequencesSection<'_>> {
    let (first, rest) = number(input, 1)?;
    let (count, rest) = match first {
        0..=127 => (first, rest),
        128..=254 => {
            let (low, rest) = number(rest, 1)?;
            ((first & 0x7f) << 8 | low, rest)
        }
        _ => {
            let (more, rest) = number(rest, 2)?;
            (more.wrapping_add(0x7f00), rest)
        }
    };
    let count = u32::try_from(count).ok()?;
    if count == 0 {
        return rest.is_empty().then_some(SequencesSection { count, modes: 0, stream: rest });
    }
    let (modes, stream) = rest.split_first()?;
    Some(SequencesSection { count, modes: *modes, stream })
}
