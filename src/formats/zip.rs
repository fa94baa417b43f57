//! Reading of zip archives: the central directory, and the members with their content. An archive is rejected if two zip
//! readers may find different members in it.

mod cursor;
mod directory;
mod entry;
mod extra;
mod member;

use alloc::vec::Vec;

use crate::limits::Limits;
use crate::rules::Limit;

use super::error::FormatError;
use super::rules::Rule;

pub(super) use cursor::Window;
pub(super) use directory::Directory;
pub(super) use entry::ZipEntry;
pub(super) use member::{Content, Member, damage, read_whole};

/// The program that is expected to have written a zip archive. It decides which constructs are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// NumPy and zip programs: members are arrays, and extra fields may contain times and owners.
    NumPy,
    /// PyTorch: an extra field pads each member, and the archive always has zip64 end records.
    Torch,
}

/// The number of bytes to which all compressed members so far decompress according to the directory, for the limits of
/// decompression.
#[derive(Debug, Default)]
pub(super) struct Decoded(u64);

impl Decoded {
    /// Adds the size of the member of `entry`, if the member is compressed. Checks this size against the limit `decoded`,
    /// and the sum against the limit `decoded_total` for a file of `length` bytes.
    pub(super) fn add(
        &mut self,
        entry: &ZipEntry<'_>,
        length: u64,
        limits: &Limits,
    ) -> Result<(), FormatError> {
        let Some(size) = entry.decompressed() else { return Ok(()) };
        self.0 = self.0.saturating_add(size);
        let (most, total) = (limits.decoded(), limits.decoded_total(length));
        if size > most {
            let sentence =
                format_args!("decompresses to {size} bytes, which exceeds the limit of {most}");
            return Err(FormatError::predicate(Limit::Decoded, sentence));
        }
        if self.0 > total {
            let sum = self.0;
            let sentence = format_args!(
                "decompresses, together with the members before it, to {sum} bytes, which exceeds the limit of {total}"
            );
            return Err(FormatError::predicate(Limit::DecodedTotal, sentence));
        }
        Ok(())
    }
}

/// The byte ranges of the members of a zip archive (local header, data and data descriptor). Together they must cover the
/// file up to the central directory exactly.
#[derive(Debug)]
pub(super) struct Extents {
    /// The offsets in the file at which each member begins and ends, in the order in which the members were added.
    ranges: Vec<(u64, u64)>,
    /// The sum of the lengths of all ranges in bytes.
    covered: u64,
    /// The offset in the file at which the central directory begins, and the last member must end.
    end: u64,
}

impl Extents {
    /// Creates an empty list for an archive whose central directory begins at offset `end` of the file.
    pub(super) fn new(end: u64) -> Self {
        Self { ranges: Vec::new(), covered: 0, end }
    }

    /// Adds a member that takes the bytes from offset `start` to offset `end` of the file. Fails if the members so far take
    /// more bytes than lie before the directory.
    pub(super) fn add(&mut self, start: u64, end: u64) -> Result<(), FormatError> {
        self.ranges.try_reserve(1).map_err(|_| FormatError::memory())?;
        self.ranges.push((start, end));
        self.covered = self.covered.saturating_add(end.saturating_sub(start));
        if self.covered > self.end {
            // The members take more bytes than the file has, so they overlap. Stopping here bounds the work for a
            // directory with many entries for the same bytes.
            self.check()?;
            return Err(FormatError::internal(
                "the members of an archive must overlap, because they take more bytes than lie before the directory, but no overlap was found",
            ));
        }
        Ok(())
    }

    /// Returns the number of members that have been added.
    pub(super) fn count(&self) -> usize {
        self.ranges.len()
    }

    /// Checks that the members lie one after the other, from the first byte of the file to the directory, without gaps or
    /// overlaps.
    pub(super) fn check(&mut self) -> Result<(), FormatError> {
        self.ranges.sort_unstable();
        let mut from = 0;
        for (start, after) in self.ranges.iter().copied().chain([(self.end, self.end)]) {
            if start != from {
                let sentence =
                    "a member of the archive does not begin where the member before it ends";
                return Err(FormatError::violation_at(Rule::ZipContiguous, sentence, start));
            }
            from = after;
        }
        Ok(())
    }
}

/// Stores an error about bytes that have not been supplied yet in `pending`, and returns `None` then. Returns any other result
/// unchanged.
pub(super) fn defer<T>(
    read: Result<T, FormatError>,
    pending: &mut Option<FormatError>,
) -> Result<Option<T>, FormatError> {
    match read {
        Err(error) if error.is_pending() => {
            *pending = Some(error);
            Ok(None)
        }
        read => read.map(Some),
    }
}
