//! Sequential reading of a file, or of a stored or deflated member of an archive, for the search for pickles.

use alloc::boxed::Box;
use alloc::vec::Vec;

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use crate::formats::error::FormatError;
use crate::num::u64_from_usize;
use crate::read_at::ReadAt;

/// The length of the first read in bytes. Each later read is twice as long as the read before, up to [`LONGEST`].
const FIRST: usize = 512;
/// The largest length of a read in bytes.
const LONGEST: usize = 32 << 10;
/// The size in bytes of the window of a deflated member, which RFC 1951 prescribes.
const WINDOW: usize = 32 << 10;

/// A source of bytes that are read in order. Bytes that are skipped may remain unread.
pub(crate) trait Input {
    /// Returns the next bytes: at least one, unless the input has ended.
    fn fill(&mut self) -> Result<&[u8], FormatError>;

    /// Moves past the first `length` of the bytes that [`fill`](Self::fill) returned.
    fn consume(&mut self, length: usize);

    /// Moves past the next `length` bytes. Returns false if the input has fewer bytes left.
    fn skip(&mut self, length: u64) -> Result<bool, FormatError>;

    /// Reads the next byte; `None` at the end of the input.
    fn byte(&mut self) -> Result<Option<u8>, FormatError> {
        let byte = self.fill()?.first().copied();
        if byte.is_some() {
            self.consume(1);
        }
        Ok(byte)
    }

    /// Reads the next `N` bytes. Returns `None` if fewer bytes are left.
    fn array<const N: usize>(&mut self) -> Result<Option<[u8; N]>, FormatError>
    where
        Self: Sized,
    {
        let mut array = [0; N];
        for place in &mut array {
            let Some(byte) = self.byte()? else { return Ok(None) };
            *place = byte;
        }
        Ok(Some(array))
    }
}

/// An input that reads a range of a source.
pub(crate) struct Stored<'s> {
    source: &'s dyn ReadAt,
    /// The offset in the source of the bytes that will be read into the buffer next.
    next: u64,
    /// The offset in the source at which the input ends.
    end: u64,
    /// The bytes that were read last.
    buffer: Vec<u8>,
    /// The number of bytes at the start of the buffer that have been consumed.
    used: usize,
    /// The length of the next read in bytes.
    wanted: usize,
    /// The number of bytes that may still be read from the source.
    left: u64,
    /// The number of bytes that have been read from the source, without skipped bytes.
    taken: u64,
}

impl<'s> Stored<'s> {
    /// Creates an input that reads the bytes of `source` from offset `start` to offset `end`.
    pub(crate) fn new(source: &'s dyn ReadAt, start: u64, end: u64) -> Self {
        let (left, taken) = (u64::MAX, 0);
        Self { source, next: start, end, buffer: Vec::new(), used: 0, wanted: FIRST, left, taken }
    }

    /// Ends the input after `most` bytes have been read from the source. Bytes that are skipped without being read do not
    /// count.
    pub(crate) fn limit(&mut self, most: u64) {
        self.left = most;
    }

    /// Returns the number of bytes that have been read from the source, without skipped bytes.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }
}

impl Input for Stored<'_> {
    fn fill(&mut self) -> Result<&[u8], FormatError> {
        if self.used >= self.buffer.len() {
            let length = u64_from_usize(self.wanted).min(self.left);
            let end = self.next.saturating_add(length).min(self.end);
            let length = end.saturating_sub(self.next);
            self.left = self.left.saturating_sub(length);
            self.taken = self.taken.saturating_add(length);
            self.buffer.clear();
            self.used = 0;
            self.source.append_range(self.next..end, &mut self.buffer)?;
            self.next = end;
            self.wanted = self.wanted.saturating_mul(2).min(LONGEST);
        }
        Ok(self.buffer.get(self.used..).unwrap_or_default())
    }

    fn consume(&mut self, length: usize) {
        self.used = self.used.saturating_add(length).min(self.buffer.len());
    }

    fn skip(&mut self, length: u64) -> Result<bool, FormatError> {
        let buffered = u64_from_usize(self.buffer.len().saturating_sub(self.used));
        if length <= buffered {
            // `length` is at most the length of the buffer here.
            self.consume(usize::try_from(length).unwrap_or(usize::MAX));
            return Ok(true);
        }
        self.used = self.buffer.len();
        let next = self.next.saturating_add(length.saturating_sub(buffered));
        self.next = next.min(self.end);
        Ok(next <= self.end)
    }
}

/// An input that decompresses a deflated range of a source, up to a limit.
pub(crate) struct Deflated<'s> {
    packed: Stored<'s>,
    state: Box<DecompressorOxide>,
    /// The last decompressed bytes, to which the compressed data may refer.
    window: Vec<u8>,
    /// The start of the bytes in the window that have not been consumed.
    used: usize,
    /// The end of the decompressed bytes in the window.
    filled: usize,
    /// The number of bytes that may still be decompressed. Deflated data may expand a thousandfold, so this limit bounds the
    /// time that a small member costs.
    left: u64,
    /// Whether the data has ended or cannot be decompressed.
    is_done: bool,
}

impl<'s> Deflated<'s> {
    /// Creates an input that decompresses `packed` and ends after `most` decompressed bytes. The last step may exceed `most` by
    /// at most the size of the window.
    pub(crate) fn new(packed: Stored<'s>, most: u64) -> Result<Self, FormatError> {
        let mut window = Vec::new();
        window.try_reserve_exact(WINDOW).map_err(|_| FormatError::memory())?;
        window.resize(WINDOW, 0);
        let state = Box::default();
        Ok(Self { packed, state, window, used: 0, filled: 0, left: most, is_done: false })
    }

    /// Returns the number of bytes that may still be decompressed.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Returns the number of compressed bytes that have been read.
    pub(crate) fn taken(&self) -> u64 {
        self.packed.taken()
    }
}

impl Input for Deflated<'_> {
    fn fill(&mut self) -> Result<&[u8], FormatError> {
        while self.used >= self.filled && !self.is_done && self.left > 0 {
            if self.filled >= self.window.len() {
                (self.used, self.filled) = (0, 0);
            }
            let packed = self.packed.fill()?;
            let flags = if packed.is_empty() { 0 } else { TINFL_FLAG_HAS_MORE_INPUT };
            let (status, read, written) =
                decompress(&mut self.state, packed, &mut self.window, self.filled, flags);
            self.packed.consume(read);
            self.filled = self.filled.saturating_add(written).min(self.window.len());
            self.left = self.left.saturating_sub(u64_from_usize(written));
            self.is_done =
                !matches!(status, TINFLStatus::NeedsMoreInput | TINFLStatus::HasMoreOutput)
                    || read == 0 && written == 0;
        }
        Ok(self.window.get(self.used..self.filled).unwrap_or_default())
    }

    fn consume(&mut self, length: usize) {
        self.used = self.used.saturating_add(length).min(self.filled);
    }

    fn skip(&mut self, mut length: u64) -> Result<bool, FormatError> {
        while length > 0 {
            let available = self.fill()?.len();
            if available == 0 {
                return Ok(false);
            }
            let skipped = usize::try_from(length).unwrap_or(usize::MAX).min(available);
            self.consume(skipped);
            length = length.saturating_sub(u64_from_usize(skipped));
        }
        Ok(true)
    }
}
