//! Decoding bytes that a text spells in Latin-1: each character of the UTF-8 text is one byte. Python 3 writes bytes in this way in
//! pickles of protocol 2.

use alloc::vec::Vec;

use crate::error::{BareError, Error};
use crate::manifest::Extent;
use crate::num::u64_from_usize;
use crate::read_at::{ReadAt, extend};
use crate::rules::StreamRules;

/// The largest number of stored bytes that are read at once.
const INPUT: usize = 64 << 10;

/// The decoder of a UTF-8 text in a pickle, each of whose characters stands for one byte of a component.
pub(super) struct Latin1 {
    /// The range of the file with the stored bytes that have not been read.
    stored: Extent,
    /// The stored bytes that were read last.
    input: Vec<u8>,
    /// The number of bytes at the front of `input` that have been decoded.
    taken: usize,
    /// The number of decoded bytes that are still to be returned.
    left: u64,
    rules: &'static StreamRules,
    /// The offset of the text in the file.
    offset: u64,
}

impl Latin1 {
    /// Creates a decoder of the text at `stored`, which must spell `length` bytes.
    pub(super) fn open(stored: Extent, length: u64, rules: &'static StreamRules) -> Self {
        let offset = stored.offset();
        Self { stored, input: Vec::new(), taken: 0, left: length, rules, offset }
    }

    /// Decodes content into `room`, and returns the number of bytes. The number is less than the size of `room` only at
    /// the end. Calls `seen` with all decoded bytes.
    pub(super) fn read<R: ReadAt>(
        &mut self,
        source: &R,
        room: &mut [u8],
        mut seen: impl FnMut(&[u8]),
    ) -> Result<usize, Error> {
        let mut filled = 0_usize;
        for slot in room.iter_mut() {
            let Some(byte) = self.next(source)? else { break };
            *slot = byte;
            filled = filled.saturating_add(1);
        }
        seen(room.get(..filled).ok_or(BareError::internal())?);
        if filled < room.len() && self.left > 0 {
            return Err(self.wrong_length());
        }
        Ok(filled)
    }

    /// Returns the next decoded byte, or `None` at the end of the text.
    #[inline]
    fn next<R: ReadAt>(&mut self, source: &R) -> Result<Option<u8>, Error> {
        let Some(first) = self.next_stored(source)? else { return Ok(None) };
        // The characters from U+0080 to U+00FF take two bytes: 0xC2 or 0xC3, and a byte that continues the character.
        let byte = match first {
            0..=0x7f => first,
            0xc2 | 0xc3 => match self.next_stored(source)? {
                Some(next @ 0x80..=0xbf) => (first & 3) << 6 | (next & 0x3f),
                _ => return Err(self.wrong_length()),
            },
            _ => return Err(self.wrong_length()),
        };
        self.left = self.left.checked_sub(1).ok_or_else(|| self.wrong_length())?;
        Ok(Some(byte))
    }

    /// Returns the next byte of the UTF-8 text as it is stored, or `None` at the end of the text.
    #[inline]
    fn next_stored<R: ReadAt>(&mut self, source: &R) -> Result<Option<u8>, Error> {
        if self.taken == self.input.len() {
            if self.stored.length() == 0 {
                return Ok(None);
            }
            self.read_input(source)?;
        }
        let byte = self.input.get(self.taken).copied();
        self.taken = self.taken.saturating_add(1);
        Ok(byte)
    }

    /// Reads the next stored bytes.
    #[cold]
    fn read_input<R: ReadAt>(&mut self, source: &R) -> Result<(), Error> {
        let length = usize::try_from(self.stored.length()).unwrap_or(INPUT).min(INPUT);
        self.input.clear();
        extend(&mut self.input, length)?;
        let offset = self.stored.offset();
        source.read_at(offset, &mut self.input)?;
        let read = u64_from_usize(length);
        let rest = self.stored.length().saturating_sub(read);
        self.stored = Extent::part(offset.saturating_add(read), rest);
        self.taken = 0;
        Ok(())
    }

    /// Returns the error for a text that does not spell the declared number of bytes, or that has a character that is no byte. The
    /// parser of the header counted the bytes that the text spells, so the file has changed since.
    fn wrong_length(&self) -> Error {
        BareError::new(self.rules.length, self.offset).into()
    }
}
