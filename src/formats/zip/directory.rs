//! Finding the central directory of a zip archive, where all zip readers find the same directory.
//!
//! Zip readers search for the end record from the back. Some trust its count of members, some trust the size of the
//! directory, and some accept data in front of the archive. All readers agree on a file whose end record is at the very
//! end, whose directory lies right before it, and whose directory has exactly the counted number of members.

use alloc::vec::Vec;
use core::ops::Range;

use crate::finding::counted;
use crate::formats::error::{FormatError, follow};
use crate::formats::limits::check_length;
use crate::formats::rules::{APPENDED, Rule, WRITER};
use crate::limits::Limits;
use crate::num::u64_from_usize;
use crate::read_at::ReadAt;

use super::Writer;
use super::cursor::Cursor;
use super::entry::ZipEntry;

/// The length in bytes of the end record, the last record of a zip archive.
const END: u64 = 22;
/// The length of the zip64 end record in bytes.
const END64: u64 = 56;
/// The length in bytes of the locator, which gives the offset of the zip64 end record.
const LOCATOR: u64 = 20;
/// The signature of the end record.
const END_SIGNATURE: u32 = 0x0605_4b50;
/// The signature of the zip64 end record.
const END64_SIGNATURE: u32 = 0x0606_4b50;
/// The signature of the locator.
const LOCATOR_SIGNATURE: u32 = 0x0706_4b50;
/// The length in bytes of the longest central directory that zten reads.
const DIRECTORY: u64 = 64 << 20;

/// The central directory of a zip archive, which lists all members.
#[derive(Debug)]
pub(crate) struct Directory {
    /// The number of members, according to the end record.
    members: u64,
    /// The range of the directory in the file. The last member ends where the directory begins.
    pub(crate) range: Range<u64>,
    /// The bytes of the directory.
    bytes: Vec<u8>,
    /// The program that is expected to have written the archive.
    writer: Writer,
}

/// The position and size of the central directory, as the end record or zip64 end record states them.
struct Claim {
    /// The number of members.
    members: u64,
    /// The length of the directory in bytes.
    length: u64,
    /// The offset in the file at which the directory begins.
    start: u64,
    /// The offset in the file of the record that states these numbers. The directory must end there.
    end: u64,
}

impl Directory {
    /// Finds and reads the directory of a zip archive of `length` bytes, which `writer` is expected to have written. Rejects
    /// an archive in which another zip reader may find a different directory.
    pub(crate) fn find(
        source: &dyn ReadAt,
        length: u64,
        limits: &Limits,
        writer: Writer,
    ) -> Result<Self, FormatError> {
        let Claim { members, length, start, end } = claimed(source, length, writer)?;
        if start.checked_add(length) != Some(end) {
            let sentence = "the directory of the archive does not end where its end record begins";
            return Err(FormatError::violation_at(Rule::ZipDirectory, sentence, end));
        }
        if length > DIRECTORY {
            let sentence =
                format_args!("the directory of the archive is longer than {DIRECTORY} bytes");
            return Err(FormatError::violation_at(Rule::LimitHeader, sentence, start));
        }
        check_length(length, limits, "the directory of the archive")
            .map_err(|error| error.or_at(start))?;
        let mut bytes = Vec::new();
        source.append_range(start..end, &mut bytes)?;
        Ok(Self { members, range: start..end, bytes, writer })
    }

    /// Returns the entries of the members, in the order of the directory. After an error, the iterator may return further
    /// errors without end, so callers stop at the first one.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Result<ZipEntry<'_>, FormatError>> {
        let (Range { start, end }, writer) = (self.range.clone(), self.writer);
        let mut cursor = Cursor::new(&self.bytes, start, end, Rule::ZipDirectory);
        core::iter::from_fn(move || {
            (!cursor.is_at_end()).then(|| ZipEntry::read(&mut cursor, writer))
        })
    }

    /// Returns the number of bytes from the start of the directory to `entry`.
    pub(crate) fn position(&self, entry: &ZipEntry<'_>) -> u32 {
        // The offset fits, because a directory has at most 64 MiB.
        u32::try_from(entry.at.saturating_sub(self.range.start)).unwrap_or(u32::MAX)
    }

    /// Checks that `found`, the number of entries in the directory, is the number of members that the end record gives.
    pub(crate) fn check_count(&self, found: usize) -> Result<(), FormatError> {
        let (found, given) = (u64_from_usize(found), self.members);
        if found == given {
            return Ok(());
        }
        let found = counted(found, "member");
        let sentence = format_args!("the archive has {found}, but its end record gives {given}");
        Err(FormatError::violation_at(Rule::ZipCount, sentence, self.range.end))
    }
}

/// Reads the end record of a file of `length` bytes, and the zip64 end record if the archive has one. Returns what they
/// state about the central directory.
fn claimed(source: &dyn ReadAt, length: u64, writer: Writer) -> Result<Claim, FormatError> {
    let Some(at) = length.checked_sub(END) else {
        return Err(FormatError::violation_at(
            Rule::ZipEndRecord,
            "the file is shorter than the end record of a zip archive",
            length,
        ));
    };
    // These last bytes of the file hold the zip64 end record, its locator and the end record, if the archive has all of them.
    let first = at.saturating_sub(LOCATOR).saturating_sub(END64);
    let mut tail = Vec::new();
    source.append_range(first..length, &mut tail)?;
    let from = |offset: u64, rule| {
        let place = usize::try_from(offset.saturating_sub(first)).unwrap_or(usize::MAX);
        Cursor::new(tail.get(place..).unwrap_or_default(), offset, length, rule)
    };
    let mut cursor = from(at, Rule::ZipEndRecord);
    if cursor.u32()? != END_SIGNATURE {
        return Err(no_end_record(&tail, length).or_at(at));
    }
    let disks = [cursor.u16()?, cursor.u16()?];
    let (here, members) = (cursor.u16()?, cursor.u16()?);
    let (length, start) = (cursor.u32()?, cursor.u32()?);
    let comment = cursor.u16()?;
    if disks != [0, 0] || here != members || comment != 0 {
        let sentence =
            "the end record says that the archive is split into several files, or has a comment";
        let error = FormatError::violation_at(Rule::ZipEndRecord, sentence, at);
        return Err(error.advising(WRITER));
    }
    let small =
        Claim { members: members.into(), length: length.into(), start: start.into(), end: at };
    let Some(locator) = at.checked_sub(LOCATOR) else { return Ok(small) };
    let mut cursor = from(locator, Rule::ZipEndRecord64);
    if cursor.u32()? != LOCATOR_SIGNATURE {
        return Ok(small);
    }
    let (disk, at, disks) = (cursor.u32()?, cursor.u64()?, cursor.u32()?);
    if disk != 0 || disks != 1 || at.checked_add(END64) != Some(locator) {
        let sentence = "the zip64 end record of the archive does not end where its locator begins";
        return Err(FormatError::violation_at(Rule::ZipEndRecord64, sentence, locator));
    }
    agree(&small, large(from(at, Rule::ZipEndRecord64))?, writer)
}

/// Returns the error for a file of `length` bytes whose last bytes, `tail`, do not end with an end record. If an end record
/// lies before the last 22 bytes of `tail`, the error says that bytes follow the archive; otherwise, that the end record is
/// missing.
#[cold]
fn no_end_record(tail: &[u8], length: u64) -> FormatError {
    let signature = END_SIGNATURE.to_le_bytes();
    let last = tail.windows(signature.len()).rposition(|bytes| bytes == signature);
    let after = last.and_then(|start| tail.len().checked_sub(start)).map(u64_from_usize);
    match after.and_then(|after| after.checked_sub(END)).filter(|after| *after > 0) {
        Some(after) if after < length => {
            let sentence = follow(after, "the end record of the archive");
            FormatError::violation(Rule::ZipEndRecord, sentence).advising(APPENDED)
        }
        _ => {
            let sentence = "the file does not end with the end record of an archive";
            FormatError::violation(Rule::ZipEndRecord, sentence)
        }
    }
}

/// Reads the zip64 end record at `cursor`, and returns what it states about the central directory.
fn large(mut cursor: Cursor<'_>) -> Result<Claim, FormatError> {
    let at = cursor.at();
    let (signature, rest) = (cursor.u32()?, cursor.u64()?);
    cursor.skip(4)?;
    let disks = [cursor.u32()?, cursor.u32()?];
    let (here, members) = (cursor.u64()?, cursor.u64()?);
    let (length, start) = (cursor.u64()?, cursor.u64()?);
    // The length field counts neither the signature nor itself.
    let whole = rest.checked_add(12) == Some(END64);
    if signature != END64_SIGNATURE || !whole || disks != [0, 0] || here != members {
        let sentence = "the zip64 end record of the archive is invalid";
        return Err(FormatError::violation_at(Rule::ZipEndRecord64, sentence, at));
    }
    Ok(Claim { members, length, start, end: at })
}

/// Checks that each number in the end record, `small`, is equal to the number in the zip64 end record, `large`, or has the
/// largest value of its field, which refers readers to `large`. Unless PyTorch wrote the archive, at least one number must have
/// the largest value. Returns `large`.
fn agree(small: &Claim, large: Claim, writer: Writer) -> Result<Claim, FormatError> {
    let pairs: [(u64, u64, u64); 3] = [
        (small.members, large.members, u16::MAX.into()),
        (small.length, large.length, u32::MAX.into()),
        (small.start, large.start, u32::MAX.into()),
    ];
    let same = pairs.iter().all(|(small, large, full)| small == large || small == full);
    // Some readers use the zip64 end record only if a field of the end record refers to it, so without such a field readers may
    // differ.
    let needed = writer == Writer::Torch || pairs.iter().any(|(small, _, full)| small == full);
    if same && needed {
        return Ok(large);
    }
    let sentence = "the archive has two end records, and they do not agree";
    Err(FormatError::violation_at(Rule::ZipEndRecord64, sentence, small.end))
}
