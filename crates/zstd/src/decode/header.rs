//! Frame headers: RFC 8878 §3.1.1.1.

use super::{DecodeError, Flaw};
use crate::format::{LARGEST_BLOCK, MAGIC};
use crate::num::u64_from_usize;

/// The size in bytes of the longest frame header: magic, descriptor, window, dictionary, content size.
pub(super) const LONGEST_HEADER: usize = 4 + 1 + 1 + 4 + 8;
/// The magic numbers of skippable frames: RFC 8878 §3.1.2.
const SKIPPABLE: core::ops::RangeInclusive<u64> = 0x184d_2a50..=0x184d_2a5f;

/// Parses a little-endian number of `bytes` bytes, at most 8. Returns the number and the input after it.
pub(super) fn number(input: &[u8], bytes: usize) -> Option<(u64, &[u8])> {
    let (own, rest) = input.split_at_checked(bytes)?;
    Some((own.iter().rfold(0, |number, byte| number << 8 | u64::from(*byte)), rest))
}

/// A frame header: RFC 8878 §3.1.1.1.
#[derive(Clone, Copy, Debug)]
pub struct FrameHeader {
    pub(super) at: u64,
    window: u64,
    pub(super) content_size: Option<u64>,
    pub(super) checksum: bool,
}

/// The frame header descriptor: RFC 8878 §3.1.1.1.1.
#[derive(Clone, Copy)]
struct Descriptor(u8);

impl Descriptor {
    fn single_segment(self) -> bool {
        self.0 & 0x20 != 0
    }

    fn reserved(self) -> bool {
        self.0 & 0x08 != 0
    }

    fn checksum(self) -> bool {
        self.0 & 0x04 != 0
    }
}

/// The fields of a frame header before they are validated.
struct Front {
    descriptor: Descriptor,
    window: Option<u64>,
    dictionary: u64,
    content_size: Option<u64>,
}

impl Front {
    /// Parses the fields after the magic. Returns the fields and the input after them, or `None` if the input is too
    /// short.
    fn parse(input: &[u8]) -> Option<(Self, &[u8])> {
        let (first, input) = input.split_first()?;
        let descriptor = Descriptor(*first);
        let single = descriptor.single_segment();
        let (window, input) = match input.split_first() {
            _ if single => (None, input),
            Some((byte, rest)) => (Some(window(*byte)), rest),
            None => return None,
        };
        let dictionary = match first & 3 {
            3 => 4,
            bytes => bytes,
        };
        let (dictionary, input) = number(input, dictionary.into())?;
        let size = match first >> 6 {
            0 => usize::from(single),
            1 => 2,
            2 => 4,
            _ => 8,
        };
        let (content, input) = number(input, size)?;
        // A content size of two bytes is stored less 256, because smaller sizes fit in one byte.
        let content = if size == 2 { content.saturating_add(256) } else { content };
        let content_size = (size > 0).then_some(content);
        Some((Self { descriptor, window, dictionary, content_size }, input))
    }
}

/// Returns the window size in bytes that the window descriptor `byte` gives: RFC 8878 §3.1.1.1.2.
fn window(byte: u8) -> u64 {
    let base = 1_u64.wrapping_shl(u32::from(byte >> 3).wrapping_add(10));
    (base >> 3).wrapping_mul(u64::from(byte & 7)).wrapping_add(base)
}

impl FrameHeader {
    /// Parses the frame header at the start of `bytes`, and returns its length, too. `at` is the position of the header,
    /// and `left` the number of bytes from there to the end, for errors.
    ///
    /// # Errors
    /// The flaw in the header. A header that is cut is [`Flaw::Truncated`], or [`Flaw::Magic`] if it is cut within its first four
    /// bytes.
    pub(super) fn parse(bytes: &[u8], at: u64, left: u64) -> Result<(Self, usize), DecodeError> {
        let wrong = |flaw: Flaw| DecodeError::new(flaw, at);
        let rest = match number(bytes, 4) {
            Some((magic, rest)) if magic == u64::from(MAGIC) => rest,
            Some((magic, _)) if SKIPPABLE.contains(&magic) => return Err(wrong(Flaw::Skippable)),
            _ => return Err(wrong(Flaw::Magic).found(left)),
        };
        let (front, rest) = Front::parse(rest).ok_or(wrong(Flaw::Truncated))?;
        let Front { descriptor, window, dictionary, content_size } = front;
        if descriptor.reserved() {
            return Err(wrong(Flaw::Reserved));
        }
        if dictionary != 0 {
            return Err(wrong(Flaw::Dictionary).found(dictionary));
        }
        // A frame of a single segment has no window descriptor: its content is its window.
        let window = window.or(content_size).unwrap_or_default();
        let header = Self { at, window, content_size, checksum: descriptor.checksum() };
        Ok((header, bytes.len().saturating_sub(rest.len())))
    }

    /// Returns the size of the window in bytes, which is the largest distance of a match.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Returns the number of bytes that the frame decodes to according to its header, if the header gives it.
    pub fn content_size(&self) -> Option<u64> {
        self.content_size
    }

    /// Returns whether a checksum ends the frame.
    pub fn has_checksum(&self) -> bool {
        self.checksum
    }

    /// Returns the largest size in bytes of a block in this frame, both stored and decoded: §3.1.1.2.4.
    pub fn largest_block(&self) -> u64 {
        self.window.min(u64_from_usize(LARGEST_BLOCK))
    }

    /// Returns a frame header for a decoder that parses headers itself, and the window that this header asks for: no larger
    /// than `most` bytes and one block need. The header has no dictionary, checksum or content size, because these are
    /// checked in this crate.
    pub fn for_decoder(&self, most: u64) -> ([u8; 6], u64) {
        let wanted = self.window.min(most.max(u64_from_usize(LARGEST_BLOCK)));
        let [m0, m1, m2, m3] = MAGIC.to_le_bytes();
        let byte = (0..=u8::MAX).find(|byte| window(*byte) >= wanted).unwrap_or(u8::MAX);
        ([m0, m1, m2, m3, 0, byte], window(byte))
    }
}

#[cfg(test)]
mod tests {
    use super::FrameHeader;

    #[test]
    fn what_a_header_says() {
        for (rest, content_size, checksum, length) in [
            (&[0x24, 5][..], Some(5), true, 6),
            (&[0x20, 7], Some(7), false, 6),
            (&[0x04, 0], None, true, 6),
            (&[0x40, 0, 1, 0], Some(257), false, 8),
        ] {
            let bytes = [&[0x28, 0xb5, 0x2f, 0xfd], rest].concat();
            let left = u64::try_from(bytes.len()).unwrap();
            let (header, read) = FrameHeader::parse(&bytes, 0, left).unwrap();
            assert_eq!((header.content_size(), header.has_checksum()), (content_size, checksum));
            assert_eq!(read, length);
        }
    }
}
