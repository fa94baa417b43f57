//! A cursor for reading the fields of a record of a zip archive in order, and a buffer for a part of the file.

use alloc::vec::Vec;
use core::ops::Range;

use crate::formats::error::FormatError;
use crate::formats::rules::Rule;
use crate::num::u64_from_usize;
use crate::read_at::ReadAt;

/// The smallest number of bytes that a window reads at once, unless the range that it may read ends before. It is small because
/// members may lie far from each other.
const WINDOW: u64 = 512;
/// The largest number of bytes of a compressed stream that are read at once.
const STEP: u64 = 4 << 10;

/// A position in a structure of a zip archive (such as a local header), at which the next field is read.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'b> {
    /// The bytes of the record that have not been read.
    rest: &'b [u8],
    /// The offset of the next byte in the file.
    at: u64,
    /// The offset in the file at which the record must end at the latest.
    end: u64,
    /// The rule that is broken if the record is cut off.
    rule: Rule,
}

impl<'b> Cursor<'b> {
    /// Creates a cursor at the start of `bytes`, a record at the offset `at` of a file. The record must end at or before the
    /// offset `end`; a record that is cut off breaks `rule`.
    pub(super) fn new(bytes: &'b [u8], at: u64, end: u64, rule: Rule) -> Self {
        Self { rest: bytes, at, end, rule }
    }

    /// Returns the offset of the next byte in the file.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Returns whether all bytes of the record have been read.
    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads the next `length` bytes of the record. Fails if the record has fewer bytes left.
    pub(super) fn bytes(&mut self, length: usize) -> Result<&'b [u8], FormatError> {
        let Some((bytes, rest)) = self.rest.split_at_checked(length) else {
            let end = self.end;
            let sentence = format_args!(
                "a record of the zip archive extends beyond offset {end}, where it must end"
            );
            return Err(FormatError::violation_at(self.rule, sentence, self.at));
        };
        self.rest = rest;
        self.at = self.at.saturating_add(u64_from_usize(length));
        Ok(bytes)
    }

    /// Skips `length` bytes of the record. Fails if the record has fewer bytes left.
    pub(super) fn skip(&mut self, length: u64) -> Result<(), FormatError> {
        self.bytes(usize::try_from(length).unwrap_or(usize::MAX)).map(drop)
    }

    /// Reads the next `N` bytes of the record. Fails if the record has fewer bytes left.
    fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let bytes = self.bytes(N)?.first_chunk().copied();
        bytes.ok_or_else(|| {
            FormatError::internal(
                "the zip cursor returned fewer bytes than it was asked for, instead of an error",
            )
        })
    }

    /// Reads a little-endian number of two bytes.
    pub(super) fn u16(&mut self) -> Result<u16, FormatError> {
        self.array().map(u16::from_le_bytes)
    }

    /// Reads a little-endian number of four bytes.
    pub(super) fn u32(&mut self) -> Result<u32, FormatError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads a little-endian number of eight bytes.
    pub(super) fn u64(&mut self) -> Result<u64, FormatError> {
        self.array().map(u64::from_le_bytes)
    }
}

/// A buffer that holds the range of a file that was read most recently, so that neighboring fields take one read.
pub(crate) struct Window<'s> {
    source: &'s dyn ReadAt,
    /// The length of the file in bytes.
    length: u64,
    /// The bytes in the window.
    bytes: Vec<u8>,
    /// The offset in the file at which the window begins.
    start: u64,
}

impl<'s> Window<'s> {
    /// Creates an empty window over a source of `length` bytes.
    pub(crate) fn new(source: &'s dyn ReadAt, length: u64) -> Self {
        Self { source, length, bytes: Vec::new(), start: 0 }
    }

    /// Returns a cursor over the record of `length` bytes at offset `at`, which may lie beyond the file. The record must end at
    /// or before offset `end`, which lies within the file: if it does not, reading beyond `end` through the cursor breaks
    /// `rule`.
    pub(super) fn cursor(
        &mut self,
        at: u64,
        length: u64,
        (end, rule): (u64, Rule),
    ) -> Result<Cursor<'_>, FormatError> {
        let file = self.length;
        let bytes = self.get(at..at.saturating_add(length), end)?;
        Ok(Cursor::new(bytes, at.min(file), end, rule))
    }

    /// Returns the bytes of the file in the range `wanted`, without bytes at or beyond offset `end`, which lies within the file.
    pub(crate) fn get(&mut self, wanted: Range<u64>, end: u64) -> Result<&[u8], FormatError> {
        let until = wanted.end.min(end).max(wanted.start);
        let held = self.start.saturating_add(u64_from_usize(self.bytes.len()));
        if wanted.start < self.start || until > held {
            self.bytes.clear();
            self.start = wanted.start;
            let more = wanted.start.saturating_add(WINDOW).min(end);
            self.source.append_range(wanted.start..until.max(more), &mut self.bytes)?;
        }
        let place = |at: u64| usize::try_from(at.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let bytes = self.bytes.get(place(wanted.start)..place(until));
        bytes.ok_or_else(|| {
            FormatError::internal("the zip reader's buffer lacks bytes that it has just read")
        })
    }

    /// Returns bytes of the file that begin at offset `at` and end at or before offset `end`: as many as are at hand, or
    /// else up to 4 KiB. No bytes are returned if `at` is at or beyond `end`.
    pub(super) fn some(&mut self, at: u64, end: u64) -> Result<&[u8], FormatError> {
        let held = self.start.saturating_add(u64_from_usize(self.bytes.len()));
        let until = if (self.start..held).contains(&at) { held } else { at.saturating_add(STEP) };
        self.get(at..until, end)
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::brief;

    use super::*;

    /// Checks that a window returns the bytes of the file for any range, whichever range it has buffered before.
    #[test]
    fn windows_do_not_show() {
        let bytes: Vec<u8> = (0..251).cycle().take(5_000).collect();
        let mut window = Window::new(&bytes, 5_000);
        for (start, end) in [(0, 1), (1, 500), (3, 3), (511, 514), (400, 4_000), (4_990, 9_000)] {
            let wanted = &bytes[start..end.min(4_996)];
            let range = u64_from_usize(start)..u64_from_usize(end);
            assert_eq!(window.get(range, 4_996).unwrap(), wanted, "{start}");
            let some = window.some(u64_from_usize(start), 4_996).unwrap();
            assert!(!some.is_empty() && bytes[start..4_996].starts_with(some), "{start}");
        }
        assert!(window.some(4_996, 4_996).unwrap().is_empty());
        assert!(window.get(4_998..5_000, 4_996).unwrap().is_empty());
    }

    #[test]
    fn nothing_is_read_from_beyond_the_end() {
        let mut cursor = Cursor::new(&[1; 6], 100, 300, Rule::ZipBounds);
        assert_eq!(cursor.u32().unwrap(), 0x0101_0101);
        let sentence = brief(&cursor.u32().unwrap_err().into());
        assert!(
            sentence.contains("extends beyond offset 300, where it must end at byte 0x68"),
            "{sentence}"
        );
        assert_eq!(cursor.u16().unwrap(), 0x0101);
        assert!(cursor.is_at_end() && cursor.at() == 106);
    }
}
