//! A header, read in order from its first byte to its last.

use std::ops::Range;

use zten::num::u64_from_usize;

use super::rules::Rule;
use super::source::{Source, buffer};
use super::trouble::Trouble;
use zten::ReadAt as _;

/// Bytes that are read at once of a header that is long.
const WINDOW: u64 = 64 << 10;

/// A place in a header. Nothing is read from beyond its end.
#[derive(Debug)]
pub(super) struct Cursor<'s> {
    source: &'s Source,
    at: u64,
    end: u64,
    /// The bytes before `at` that have been read at once, and those after it.
    window: Vec<u8>,
    start: u64,
    /// Bytes of the window, at most.
    most: u64,
    blames: Blames,
}

/// The rules that are broken where there are fewer bytes than are asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blames {
    /// The file ends.
    pub(super) cut: Rule,
    /// The part ends that is read here.
    pub(super) longer: Rule,
}

impl Blames {
    /// Those of the directory of an archive.
    pub(super) const DIRECTORY: Self = Self { cut: Rule::NpzDirectory, longer: Rule::NpzDirectory };
    /// Those of the end records of an archive.
    pub(super) const END: Self = Self { cut: Rule::NpzEndRecord, longer: Rule::NpzEndRecord64 };
    /// Those of a member of an archive.
    pub(super) const MEMBER: Self = Self { cut: Rule::NpzBounds, longer: Rule::NpzBounds };
}

impl<'s> Cursor<'s> {
    /// The bytes of a range, as far as the file has them.
    pub(super) fn new(source: &'s Source, range: Range<u64>, blames: Blames) -> Self {
        let (at, end) = (range.start, range.end.min(source.len()));
        Self { source, at, end, window: Vec::new(), start: at, most: WINDOW, blames }
    }

    /// The same, reading no more than so many bytes at once.
    pub(super) fn small(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// The byte that comes next.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Bytes that there are from here to the end.
    pub(super) fn left(&self) -> u64 {
        self.end.saturating_sub(self.at)
    }

    /// Passes over bytes that are of no interest.
    pub(super) fn skip(&mut self, length: u64) -> Result<(), Trouble> {
        self.at = self.reach(length)?;
        Ok(())
    }

    /// Where the next `length` bytes end.
    fn reach(&self, length: u64) -> Result<u64, Trouble> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.end);
        end.ok_or_else(|| {
            let (rule, sentence) = if self.end < self.source.len() {
                let end = self.end;
                (
                    self.blames.longer,
                    format!("the header is longer than the {end} bytes that it may take"),
                )
            } else {
                (self.blames.cut, "the file ends before its header does".to_owned())
            };
            Trouble::refused_at(rule, sentence, self.at.min(self.source.len()))
        })
    }

    /// The next bytes, of which there are few.
    pub(super) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Trouble> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Appends the next `length` bytes, which a length in the file merely claims to be there.
    pub(super) fn append(&mut self, length: u64, out: &mut Vec<u8>) -> Result<(), Trouble> {
        let end = self.reach(length)?;
        let first = usize::try_from(length.min(self.most)).map_err(|_| Trouble::memory())?;
        // Twice what was there before, so that many of them are not moved again and again.
        out.try_reserve(first).map_err(|_| Trouble::memory())?;
        if length > self.most {
            self.source.append(self.at..end, out)?;
            self.at = end;
            return Ok(());
        }
        let start = out.len();
        out.resize(start.saturating_add(first), 0);
        self.fill(out.get_mut(start..).unwrap_or_default())
    }

    fn fill(&mut self, out: &mut [u8]) -> Result<(), Trouble> {
        let end = self.reach(u64_from_usize(out.len()))?;
        if u64_from_usize(out.len()) > self.most {
            self.source.read_at(self.at, out)?;
        } else {
            if end > self.start.saturating_add(u64_from_usize(self.window.len())) {
                let length = self.end.saturating_sub(self.at).min(self.most);
                let length = usize::try_from(length).unwrap_or_default();
                if self.window.len() != length {
                    self.window = buffer(length, 0_u8)?;
                }
                self.source.read_at(self.at, &mut self.window)?;
                self.start = self.at;
            }
            let from = usize::try_from(self.at.saturating_sub(self.start)).unwrap_or(usize::MAX);
            let held = self.window.get(from..).unwrap_or_default();
            // All that is wanted has been read into the window.
            for (out, byte) in out.iter_mut().zip(held) {
                *out = *byte;
            }
        }
        self.at = end;
        Ok(())
    }

    /// A little-endian number of two bytes.
    pub(super) fn u16(&mut self) -> Result<u16, Trouble> {
        self.bytes().map(u16::from_le_bytes)
    }

    /// A little-endian number of four bytes.
    pub(super) fn u32(&mut self) -> Result<u32, Trouble> {
        self.bytes().map(u32::from_le_bytes)
    }

    /// A little-endian number of eight bytes.
    pub(super) fn u64(&mut self) -> Result<u64, Trouble> {
        self.bytes().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Scratch;

    #[test]
    fn windows_do_not_show() {
        let bytes: Vec<u8> = (0..251).cycle().take(300_000).collect();
        let mut file = Scratch::new().unwrap();
        file.write_at(0, &bytes).unwrap();
        let source = file.into_source();
        let mut all = Vec::new();
        let mut cursor = Cursor::new(&source, 0..u64::MAX, Blames::END);
        for step in [1, 7, 8, 3, 65_000, 0, 70_000, 2, 65_536] {
            cursor.append(step, &mut all).unwrap();
            all.extend(cursor.bytes::<5>().unwrap());
            let at = usize::try_from(cursor.at()).unwrap();
            assert!(all == bytes[..at], "{step}");
        }
        cursor.skip(90_000).unwrap();
        let at = usize::try_from(cursor.at()).unwrap();
        assert_eq!(cursor.u64().unwrap().to_le_bytes(), bytes[at..at + 8]);
        assert!(cursor.skip(300_000).is_err());
    }

    #[test]
    fn nothing_is_read_from_beyond_the_end() {
        let mut file = Scratch::new().unwrap();
        file.write_at(0, &[1; 100]).unwrap();
        let source = file.into_source();
        for (end, why) in [(10, "longer than the 10 bytes"), (100, "the file ends before")] {
            let mut cursor = Cursor::new(&source, 0..end, Blames::END);
            cursor.skip(end - 4).unwrap();
            assert_eq!(cursor.u32().unwrap(), 0x0101_0101);
            let sentence = cursor.bytes::<1>().unwrap_err().to_string();
            assert!(sentence.contains(why), "{sentence}");
            for length in [1, u64::MAX] {
                assert!(cursor.append(length, &mut Vec::new()).is_err());
                assert!(cursor.skip(length).is_err());
            }
        }
    }
}
