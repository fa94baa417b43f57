//! Decoding deflate streams (RFC 1951), which other formats use and zTensor does not.

use alloc::vec::Vec;

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use crate::error::{BareError, Error, OutOfMemory};
use crate::manifest::Extent;
use crate::num::u64_from_usize;
use crate::read_at::{ReadAt, extend};
use crate::rules::{Row, StreamRules};

/// The largest number of bytes that a match of a deflate stream may reach back: RFC 1951.
const WINDOW: usize = 32 << 10;
/// The largest number of stored bytes that are read at once.
const INPUT: usize = 64 << 10;

/// A deflate stream that is being decoded. It takes 107 KiB of memory.
pub(super) struct Inflate {
    /// The decoder. It is in a vector, because 10 KiB are too many to move with a reader, and a `Box` aborts without
    /// memory.
    decoder: Vec<DecompressorOxide>,
    /// A ring of the last decoded bytes, to which matches refer.
    window: Vec<u8>,
    /// The index in the window of the next byte to decode.
    next: usize,
    /// The number of bytes before `next` in the window that have been decoded but not handed out.
    ready: usize,
    /// The stored bytes that were read last.
    input: Vec<u8>,
    /// The number of bytes at the front of `input` that have been decoded.
    taken: usize,
    /// The range of the file with the stored bytes that have not been read.
    stored: Extent,
    /// The number of decoded bytes that are still to be skipped before the content of the component begins.
    prefix: u64,
    /// The number of declared content bytes that have not been handed out.
    left: u64,
    has_ended: bool,
    rules: &'static StreamRules,
    /// The offset of the stream in the file.
    offset: u64,
}

impl Inflate {
    /// Creates a decoder of the stream at `stored`, which must decode to `prefix` bytes and then to `length` bytes of
    /// content.
    pub(super) fn open(
        stored: Extent,
        prefix: u64,
        length: u64,
        rules: &'static StreamRules,
    ) -> Result<Self, BareError> {
        let mut decoder = Vec::new();
        decoder.try_reserve_exact(1).map_err(|_| BareError::from(OutOfMemory))?;
        decoder.push(DecompressorOxide::new());
        let mut window = Vec::new();
        extend(&mut window, WINDOW)?;
        Ok(Self {
            decoder,
            window,
            next: 0,
            ready: 0,
            input: Vec::new(),
            taken: 0,
            stored,
            prefix,
            left: length,
            has_ended: false,
            rules,
            offset: stored.offset(),
        })
    }

    /// Returns the error of a stream that breaks `rule`.
    fn error(&self, rule: &'static Row) -> BareError {
        BareError::new(rule, self.offset)
    }

    /// Decodes content into `room`, and returns the number of bytes. The number is less than the size of `room` only at
    /// the end, when the whole stream has been validated. Calls `seen` with all decoded bytes, including the prefix.
    pub(super) fn read<R: ReadAt>(
        &mut self,
        source: &R,
        room: &mut [u8],
        mut seen: impl FnMut(&[u8]),
    ) -> Result<usize, Error> {
        let mut filled = 0_usize;
        loop {
            let internal = BareError::internal();
            let start = self.next.wrapping_sub(self.ready) % WINDOW;
            let straight = self.ready.min(WINDOW.saturating_sub(start));
            let end = start.saturating_add(straight);
            let bytes = self.window.get(start..end).ok_or(internal)?;
            if self.prefix > 0 && straight > 0 {
                let length = usize::try_from(self.prefix).unwrap_or(straight).min(straight);
                seen(bytes.get(..length).ok_or(internal)?);
                self.prefix = self.prefix.saturating_sub(u64_from_usize(length));
                self.ready = self.ready.saturating_sub(length);
            } else if straight > 0 {
                if self.left == 0 {
                    return Err(self.error(self.rules.length).into());
                }
                let rest = room.get_mut(filled..).ok_or(internal)?;
                let left = usize::try_from(self.left).unwrap_or(usize::MAX);
                let length = straight.min(rest.len()).min(left);
                if length == 0 {
                    return Ok(filled);
                }
                let bytes = bytes.get(..length).ok_or(internal)?;
                rest.get_mut(..length).ok_or(internal)?.copy_from_slice(bytes);
                seen(bytes);
                filled = filled.saturating_add(length);
                self.left = self.left.saturating_sub(u64_from_usize(length));
                self.ready = self.ready.saturating_sub(length);
            } else if self.has_ended {
                if self.left > 0 || self.prefix > 0 {
                    return Err(self.error(self.rules.length).into());
                }
                return Ok(filled);
            } else if self.left > 0 && filled == room.len() {
                return Ok(filled);
            } else {
                self.decode(source)?;
            }
        }
    }

    /// Decodes as much as the window has room for. All bytes decoded before must have been handed out, because they are
    /// overwritten.
    fn decode<R: ReadAt>(&mut self, source: &R) -> Result<(), Error> {
        let internal = BareError::internal();
        if self.taken == self.input.len() {
            let length = usize::try_from(self.stored.length()).unwrap_or(INPUT).min(INPUT);
            self.input.clear();
            extend(&mut self.input, length)?;
            let offset = self.stored.offset();
            source.read_at(offset, &mut self.input)?;
            let read = u64_from_usize(length);
            self.stored = Extent::part(
                offset.saturating_add(read),
                self.stored.length().saturating_sub(read),
            );
            self.taken = 0;
        }
        let decoder = self.decoder.first_mut().ok_or(internal)?;
        let input = self.input.get(self.taken..).ok_or(internal)?;
        let flags = if self.stored.length() > 0 { TINFL_FLAG_HAS_MORE_INPUT } else { 0 };
        let (status, taken, written) =
            decompress(decoder, input, &mut self.window, self.next, flags);
        self.taken = self.taken.saturating_add(taken);
        self.next = self.next.wrapping_add(written) % WINDOW;
        self.ready = written;
        match status {
            TINFLStatus::HasMoreOutput => Ok(()),
            TINFLStatus::NeedsMoreInput if self.stored.length() > 0 => Ok(()),
            // Bytes after the end of the stream are rejected.
            TINFLStatus::Done if self.taken == self.input.len() && self.stored.length() == 0 => {
                self.has_ended = true;
                Ok(())
            }
            _ => Err(self.error(self.rules.compression).into()),
        }
    }
}
