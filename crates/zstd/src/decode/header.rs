//! Frame headers: RFC 8878 §3.1.1.1.

use super::{DecodeError, Flaw};
use crate::format::{LARGEST_BLOCK, MAGIC};
use crate::num::u64_from_usize;

/// The longest frame header: magic, descriptor, window, dictionary, content size.
pub(super) const LONGEST_HEADER: usize = 4 + 1 + 1 + 4 + 8;
/// Skippable frames have any of 16 magic numbers: §3.1.2.
const SKIPPABLE: core::ops::RangeInclusive<u64> = 0x184d_2a50..=0x184d_2a5f;

/// A little-endian number of so many bytes, at most 8, and what follows it.
pub(super) fn number(input: &[u8], bytes: usize) -> Option<(u64, &[u8])> {
    let (own, rest) = input.split_at_checked(bytes)?;
    Some((own.iter().rfold(0, |number, byte| number << 8 | u64::from(*byte)), rest))
}

/// A frame header: §3.1.1.1.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    pub(super) at: u64,
    window: u64,
    pub(super) content_size: Option<u64>,
    pub(super) checksum: bool,
}

/// The frame header descriptor: §3.1.1.1.1.
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

/// The fields of a frame header, before they are validated.
struct Front {
    descriptor: Descriptor,
    window: Option<u64>,
    dictionary: u64,
    content_size: Option<u64>,
}

impl Front {
    /// Parses the fields behind the magic. Returns them and the rest of the input.
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
        // Sizes of two bytes begin where those of one byte end.
        let content = if size == 2 { content.saturating_add(256) } else { content };
        let content_size = (size > 0).then_some(content);
        Some((Self { descriptor, window, dictionary, content_size }, input))
    }
}

/// Window size from its descriptor: §3.1.1.1.2.
fn window(byte: u8) -> u64 {
    let base = 1_u64.wrapping_shl(u32::from(byte >> 3).wrapping_add(10));
    (base >> 3).wrapping_mul(u64::from(byte & 7)).wrapping_add(base)
}

impl Header {
    /// The header that stands at the front of `bytes`, which are at `at`, and its length. None
    /// where it is cut.
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
        // A single segment has no window but its content.
        let window = window.or(content_size).unwrap_or_default();
        let header = Self { at, window, content_size, checksum: descriptor.checksum() };
        Ok((header, bytes.len().saturating_sub(rest.len())))
    }

    /// Returns the size of the window: the largest distance of a match.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// The bytes that the frame says it decodes to.
    pub fn content_size(&self) -> Option<u64> {
        self.content_size
    }

    /// Returns whether a checksum ends the frame.
    pub fn has_checksum(&self) -> bool {
        self.checksum
    }

    /// The largest block that a frame of this window may have, stored and decoded: §3.1.1.2.4.
    pub fn largest_block(&self) -> u64 {
        self.window.min(u64_from_usize(LARGEST_BLOCK))
    }

    /// A header for a decoder that reads its own, and its window: no larger than `most` bytes and a
    /// block need. It asks for no dictionary and no checksum, and gives no content size, which are
    /// validated here.
    pub fn for_decoder(&self, most: u64) -> ([u8; 6], u64) {
        let wanted = self.window.min(most.max(u64_from_usize(LARGEST_BLOCK)));
        let [m0, m1, m2, m3] = MAGIC.to_le_bytes();
        let byte = (0..=u8::MAX).find(|byte| window(*byte) >= wanted).unwrap_or(u8::MAX);
        ([m0, m1, m2, m3, 0, byte], window(byte))
    }
}

#[cfg(test)]
mod tests {
    use super::Header;

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
            let (header, read) = Header::parse(&bytes, 0, left).unwrap();
            assert_eq!((header.content_size(), header.has_checksum()), (content_size, checksum));
            assert_eq!(read, length);
        }
    }
}
