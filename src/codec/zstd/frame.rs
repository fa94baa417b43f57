//! The framing of zstd: RFC 8878 §3.1.1. Where frames and blocks begin and end, and every rule
//! that can be judged without decoding.

use nom::combinator::{map, map_opt};
use nom::number::complete::{le_u8, le_u16, le_u24, le_u32, le_u64};
use nom::{IResult, Parser as _};

use crate::codec::{ReadAt, ReadError};
use crate::error::Error;
use crate::manifest::Extent;
use crate::num::wide;
use crate::rules::{Limit, Rule};

const MAGIC: u32 = 0xfd2f_b528;
/// Skippable frames have any of 16 magic numbers: §3.1.2.
const SKIPPABLE: core::ops::RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;
/// The longest frame header: magic, descriptor, window, dictionary, content size.
const LONGEST_HEADER: usize = 4 + 1 + 1 + 4 + 8;
/// The largest block: §3.1.1.2.4.
const LARGEST_BLOCK: u64 = 128 << 10;
/// Bytes of a block header: §3.1.1.2.
pub(super) const BLOCK_HEADER: usize = 3;
const CHECKSUM: u64 = 4;

/// A frame header: §3.1.1.1.
#[derive(Clone, Copy)]
pub(super) struct Header {
    /// Where in the file it stands.
    pub(super) at: u64,
    pub(super) window: u64,
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

/// What stands at the front of a frame, before it is judged.
struct Front {
    descriptor: Descriptor,
    window: Option<u64>,
    dictionary: u32,
    content_size: Option<u64>,
}

/// Window size from its descriptor: §3.1.1.1.2.
fn window(input: &[u8]) -> IResult<&[u8], u64> {
    map_opt(le_u8, |byte: u8| {
        let base = 1_u64.checked_shl(u32::from(byte >> 3).checked_add(10)?)?;
        (base >> 3).checked_mul(u64::from(byte & 7))?.checked_add(base)
    })
    .parse(input)
}

/// The header after the magic.
fn front(input: &[u8]) -> IResult<&[u8], Front> {
    let (input, descriptor) = map(le_u8, Descriptor).parse(input)?;
    let (input, window) =
        if descriptor.single_segment() { (input, None) } else { map(window, Some).parse(input)? };
    let (input, dictionary) = match descriptor.0 & 3 {
        0 => (input, 0),
        1 => map(le_u8, u32::from).parse(input)?,
        2 => map(le_u16, u32::from).parse(input)?,
        _ => le_u32(input)?,
    };
    let (input, content_size) = match descriptor.0 >> 6 {
        0 if descriptor.single_segment() => map(le_u8, |size| Some(size.into())).parse(input)?,
        0 => (input, None),
        1 => map(le_u16, |size| Some(u64::from(size).saturating_add(256))).parse(input)?,
        2 => map(le_u32, |size| Some(size.into())).parse(input)?,
        _ => map(le_u64, Some).parse(input)?,
    };
    Ok((input, Front { descriptor, window, dictionary, content_size }))
}

impl Header {
    /// The largest block that a frame of this window may have, stored and decoded: §3.1.1.2.4.
    pub(super) fn largest_block(&self) -> u64 {
        self.window.min(LARGEST_BLOCK)
    }

    /// A header for a decoder that reads its own, and its window: no larger than `most` bytes and a
    /// block need. It asks for no dictionary, and gives no content size, which is compared here.
    #[cfg(any(feature = "zstd-fast", feature = "zstd-ruzstd"))]
    pub(super) fn for_decoder(&self, most: u64) -> ([u8; 6], u64) {
        let wanted = self.window.min(most.max(LARGEST_BLOCK));
        let [m0, m1, m2, m3] = MAGIC.to_le_bytes();
        let size = |byte: u8| window(&[byte]).map_or(0, |(_, size)| size);
        let byte = (0..=u8::MAX).find(|byte| size(*byte) >= wanted).unwrap_or(u8::MAX);
        ([m0, m1, m2, m3, u8::from(self.checksum) << 2, byte], size(byte))
    }
}

/// A block: §3.1.1.2.
pub(super) struct Block {
    pub(super) last: bool,
}

/// Bytes that are read at once where headers stand: blocks may be as small as their headers, and
/// a source be asked over a system call.
const AHEAD: usize = 256;

/// What was read last.
struct Ahead {
    /// Where in the file its first byte stands.
    at: u64,
    /// How many bytes of it there are.
    length: usize,
    bytes: [u8; AHEAD],
}

/// A walk over the frames of a component, by position.
pub(super) struct Walk {
    start: u64,
    next: u64,
    end: u64,
    window: u64,
    ahead: Ahead,
}

impl Walk {
    /// A walk that lets no frame ask for a larger `window`.
    pub(super) fn new(extent: Extent, window: u64) -> Self {
        let start = extent.offset();
        let ahead = Ahead { at: start, length: 0, bytes: [0; AHEAD] };
        Self { start, next: start, end: extent.end(), window, ahead }
    }

    /// So many bytes from `at` on, as far as they have been read ahead.
    pub(super) fn held(&self, at: u64, count: usize) -> Option<&[u8]> {
        let from = usize::try_from(at.checked_sub(self.ahead.at)?).ok()?;
        let bytes = self.ahead.bytes.get(..self.ahead.length)?;
        bytes.get(from..from.checked_add(count)?)
    }

    /// So many bytes from where the walk has come to, or as many as are left.
    fn peek<R: ReadAt>(&mut self, source: &R, most: usize) -> Result<&[u8], ReadError<R::Error>> {
        let fitting = |most: usize, left: u64| most.min(usize::try_from(left).unwrap_or(most));
        let (at, left) = (self.next, self.left());
        let count = fitting(most, left);
        if self.held(at, count).is_none() {
            (self.ahead.at, self.ahead.length) = (at, 0);
            let more = fitting(AHEAD, left);
            let bytes = self.ahead.bytes.get_mut(..more).unwrap_or_default();
            source.read_at(at, bytes).map_err(ReadError::Source)?;
            self.ahead.length = more;
        }
        Ok(self.held(at, count).unwrap_or_default())
    }

    /// Where the component begins.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Where the walk has come to.
    pub(super) fn position(&self) -> u64 {
        self.next
    }

    /// A block that ends where the walk has come to cannot be decoded.
    #[cold]
    pub(super) fn corrupt(&self) -> Error {
        Error::new(Rule::ZstdCorrupt, self.next)
    }

    fn left(&self) -> u64 {
        self.end.saturating_sub(self.next)
    }

    /// Goes on by `bytes`, which must be there; `at` is where their header stands.
    fn advance(&mut self, bytes: u64, at: u64) -> Result<(), Error> {
        if bytes > self.left() {
            return Err(Error::new(Rule::ZstdTruncated, at));
        }
        self.next = self.next.saturating_add(bytes);
        Ok(())
    }

    /// The header of the next frame, if there is one. A component has one at least.
    pub(super) fn header<R: ReadAt>(
        &mut self,
        source: &R,
    ) -> Result<Option<Header>, ReadError<R::Error>> {
        let at = self.next;
        if at == self.end && at > self.start {
            return Ok(None);
        }
        let bytes = self.peek(source, LONGEST_HEADER)?;
        match le_u32::<_, nom::error::Error<&[u8]>>(bytes) {
            Ok((rest, MAGIC)) => {
                let truncated = |_| Error::new(Rule::ZstdTruncated, at);
                let (rest, front) = front(rest).map_err(truncated)?;
                let length = bytes.len().saturating_sub(rest.len());
                self.advance(wide(length), at)?;
                Ok(Some(self.judge(&front, at)?))
            }
            Ok((_, magic)) if SKIPPABLE.contains(&magic) => {
                Err(Error::new(Rule::ZstdSkippable, at).into())
            }
            _ => Err(Error::new(Rule::ZstdMagic, at).found(self.left()).into()),
        }
    }

    fn judge(&self, front: &Front, at: u64) -> Result<Header, Error> {
        if front.descriptor.reserved() {
            return Err(Error::new(Rule::ZstdReserved, at));
        }
        if front.dictionary != 0 {
            return Err(Error::new(Rule::ZstdDictionary, at).found(front.dictionary.into()));
        }
        let window = front.window.or(front.content_size).unwrap_or_default();
        if window > self.window {
            return Err(Error::new(Limit::Window, at).found(window));
        }
        let Front { content_size, descriptor, .. } = *front;
        Ok(Header { at, window, content_size, checksum: descriptor.checksum() })
    }

    /// Passes over the next block of a frame.
    pub(super) fn block<R: ReadAt>(
        &mut self,
        source: &R,
        header: &Header,
    ) -> Result<Block, ReadError<R::Error>> {
        let at = self.next;
        let truncated = |_| Error::new(Rule::ZstdTruncated, at);
        let bytes = self.peek(source, BLOCK_HEADER)?;
        let (_, bits) = le_u24::<_, nom::error::Error<&[u8]>>(bytes).map_err(truncated)?;
        self.advance(wide(BLOCK_HEADER), at)?;
        let size = u64::from(bits >> 3);
        if size > header.largest_block() {
            return Err(Error::new(Rule::ZstdBlock, at).found(size).into());
        }
        // Raw, one byte that repeats, compressed: §3.1.1.2.2.
        let stored = match bits >> 1 & 3 {
            0 | 2 => size,
            1 => 1,
            _ => return Err(Error::new(Rule::ZstdReserved, at).into()),
        };
        self.advance(stored, at)?;
        Ok(Block { last: bits & 1 == 1 })
    }

    /// Passes over the checksum after the last block, if the frame has one.
    pub(super) fn checksum(&mut self, header: &Header) -> Result<(), Error> {
        if header.checksum { self.advance(CHECKSUM, header.at) } else { Ok(()) }
    }
}
