//! Searching the members of zip and tar archives for pickles: in archives of no format that zten reads, and in `.npz`
//! archives that have members other than arrays.

use alloc::string::String;
use alloc::vec::Vec;

use crate::formats::error::{FormatError, copied};
use crate::num::u64_from_usize;
use crate::read_at::ReadAt;

use super::input::{Deflated, Input, Stored};
use super::pickle::{PersistentIds, scan};
use super::text::is_text;

/// The largest number of bytes to which all members of a zip archive together are decompressed while they are searched for pickles.
const DECOMPRESSED: u64 = 256 << 20;
/// The number of bytes at the end of a zip archive that are searched for the end record: the 22 bytes of the record, and the 65,535
/// bytes of the longest comment.
const TAIL: u64 = 0xffff + 22;
/// The largest number of bytes of a member's name that are kept for a message.
const NAME: usize = 200;

/// The result of searching a zip archive for a member that is a pickle.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::formats) enum PickleSearch {
    /// No pickle was found. Members that are encrypted, are compressed with another method than deflate, or come after a
    /// damaged entry of the directory are not searched.
    NotFound,
    /// The member with this name is a pickle, and none of the members searched before it is one.
    Found(String),
    /// The search ended within the member with this name, because a limit on the bytes to read or decompress was reached.
    /// This member and the members after it may be pickles.
    Stopped(String),
}

/// Searches a zip archive of `length` bytes for the first member, in the order of the central directory, that is a pickle. The
/// search ends when [`DECOMPRESSED`] bytes have been decompressed.
///
/// If the directory is not found, or an entry is damaged, the search ends there, and members after that entry are not searched.
pub(in crate::formats) fn zip(
    source: &dyn ReadAt,
    length: u64,
) -> Result<PickleSearch, FormatError> {
    search_zip(source, length, DECOMPRESSED)
}

/// Searches a zip archive as [`zip`] does, with the limit `inflated` on the bytes to which all members are decompressed.
pub(in crate::formats) fn search_zip(
    source: &dyn ReadAt,
    length: u64,
    mut inflated: u64,
) -> Result<PickleSearch, FormatError> {
    let Some((start, end)) = directory(source, length)? else {
        return Ok(PickleSearch::NotFound);
    };
    let mut entries = Stored::new(source, start, end);
    // Members may overlap, so without a common limit a small archive could make this function read the same bytes many times.
    let mut stored = length;
    loop {
        let Some(entry) = entries.array::<46>()? else { return Ok(PickleSearch::NotFound) };
        if !entry.starts_with(b"PK\x01\x02") {
            return Ok(PickleSearch::NotFound);
        }
        let short = |offset: usize| u64::from(u16(&entry, offset));
        let (flags, method) = (short(8), short(10));
        let mut sizes = [u32(&entry, 24), u32(&entry, 20), u32(&entry, 42)];
        let (name_length, extra_length, comment) = (short(28), short(30), short(32));
        let name = text(&mut entries, name_length)?;
        wide(&mut entries, extra_length, &mut sizes)?;
        if !entries.skip(comment)? {
            return Ok(PickleSearch::NotFound);
        }
        let [_, packed, at] = sizes;
        let is_encrypted = flags & 1 != 0;
        let mut header = Stored::new(source, at.min(length), length);
        let Some(header) = header.array::<30>()? else { continue };
        if is_encrypted || !header.starts_with(b"PK\x03\x04") {
            continue;
        }
        let lengths = u64::from(u16(&header, 26)).saturating_add(u16(&header, 28).into());
        let first = at.saturating_add(30).saturating_add(lengths).min(length);
        let mut member = Stored::new(source, first, first.saturating_add(packed).min(length));
        member.limit(stored);
        let is_pickle = match method {
            0 => {
                let is_pickle = is_pickle(&mut member)?;
                stored = stored.saturating_sub(member.taken());
                is_pickle
            }
            8 => {
                let mut member = Deflated::new(member, inflated)?;
                let is_pickle = is_pickle(&mut member)?;
                inflated = member.left();
                stored = stored.saturating_sub(member.taken());
                is_pickle
            }
            _ => false,
        };
        if is_pickle {
            return Ok(PickleSearch::Found(name));
        }
        if stored == 0 || inflated == 0 {
            return Ok(PickleSearch::Stopped(name));
        }
    }
}

/// Finds the central directory of a zip archive of `length` bytes, and returns the offsets in the file at which the directory
/// begins and ends. Returns `None` if the archive has no end record, if the record refers to a zip64 end record that is
/// missing, or if the record gives impossible offsets.
fn directory(source: &dyn ReadAt, length: u64) -> Result<Option<(u64, u64)>, FormatError> {
    let first = length.saturating_sub(TAIL);
    let mut tail = Vec::new();
    source.append_range(first..length, &mut tail)?;
    let records = tail.windows(22).rposition(|record| record.starts_with(b"PK\x05\x06"));
    let Some(place) = records else { return Ok(None) };
    let record = tail.get(place..).unwrap_or_default();
    let end = first.saturating_add(u64_from_usize(place));
    let (mut size, mut start) = (u32(record, 12), u32(record, 16));
    if size == u64::from(u32::MAX) || start == u64::from(u32::MAX) {
        let locator = place.checked_sub(20).and_then(|place| tail.get(place..));
        let Some(locator) = locator.filter(|locator| locator.starts_with(b"PK\x06\x07")) else {
            return Ok(None);
        };
        let at = u64_at(locator, 8);
        let mut large = Stored::new(source, at.min(length), length);
        let Some(large) = large.array::<56>()? else { return Ok(None) };
        (size, start) = (u64_at(&large, 40), u64_at(&large, 48));
    }
    let end = start.saturating_add(size).min(end);
    Ok((start <= end).then_some((start, end)))
}

/// Reads the extra fields of a member, which take `length` bytes, and replaces each of `sizes` that has the largest 32-bit
/// value by the 64-bit value in the zip64 extra field, if that field has enough values. `sizes` are the size, the packed size
/// and the offset of the member.
fn wide(entries: &mut Stored<'_>, length: u64, sizes: &mut [u64; 3]) -> Result<(), FormatError> {
    let mut left = length;
    while left >= 4 {
        let Some([kind, kind_high, low, high]) = entries.array::<4>()? else { return Ok(()) };
        let mut size = u64::from(u16::from_le_bytes([low, high])).min(left.saturating_sub(4));
        left = left.saturating_sub(4).saturating_sub(size);
        if [kind, kind_high] == [1, 0] {
            for place in sizes.iter_mut().filter(|place| **place == u64::from(u32::MAX)) {
                if size >= 8 {
                    let Some(number) = entries.array::<8>()? else { return Ok(()) };
                    *place = u64::from_le_bytes(number);
                    size = size.saturating_sub(8);
                }
            }
        }
        entries.skip(size)?;
    }
    entries.skip(left).map(drop)
}

/// Returns the name of the first regular file in a tar archive of `length` bytes that is a pickle: the first 100 bytes of its
/// name, which are those in the header's field for the name. Returns `None` if there is no such file. Members after a damaged
/// header are not searched.
pub(super) fn tar(source: &dyn ReadAt, length: u64) -> Result<Option<String>, FormatError> {
    let mut at: u64 = 0;
    loop {
        let mut header = Stored::new(source, at, length);
        let Some(header) = header.array::<512>()? else { return Ok(None) };
        let Some(size) = tar_size(&header) else { return Ok(None) };
        let first = at.saturating_add(512);
        let end = first.saturating_add(size).min(length);
        let kind = header.get(156).copied().unwrap_or_default();
        let is_file = matches!(kind, 0 | b'0' | b'7');
        if is_file && is_pickle(&mut Stored::new(source, first, end))? {
            let name = header.get(..100).unwrap_or_default();
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            return Ok(Some(copied(String::from_utf8_lossy(name))?));
        }
        at = first.saturating_add(size.div_ceil(512).saturating_mul(512));
    }
}

/// Returns the size in bytes of the member that `header`, the first 512 bytes of which are a header in a tar archive,
/// describes. Returns `None` if the name is empty or the checksum is wrong, as in the zeros after the last member, if the size
/// is not a number, or if `header` is shorter than 512 bytes.
pub(super) fn tar_size(header: &[u8]) -> Option<u64> {
    let header = header.first_chunk::<512>()?;
    let (before, rest) = header.split_at_checked(148)?;
    let (sum, after) = rest.split_at_checked(8)?;
    // The checksum is computed as if its own field held eight spaces.
    let summed = before.iter().chain(after).map(|byte| u64::from(*byte));
    let expected = summed.sum::<u64>().checked_add(8 * 0x20)?;
    let is_named = header.first() != Some(&0);
    if !is_named || octal(sum)? != expected {
        return None;
    }
    match header.get(124..136)? {
        // Sizes of 8 GiB and more are binary.
        [0x80, rest @ ..] => Some(u64::from_be_bytes(*rest.last_chunk::<8>()?)),
        size => octal(size),
    }
}

/// Parses `field` as an octal number with spaces or zero bytes around it, as headers of tar archives have. Returns `None` for
/// another text, or a number that exceeds 64 bits.
fn octal(field: &[u8]) -> Option<u64> {
    let text = str::from_utf8(field).ok()?;
    let digits = text.trim_matches([' ', '\0']);
    u64::from_str_radix(digits, 8).ok()
}

/// Returns whether `member` is a pickle, as [`scan`] finds it.
fn is_pickle(member: &mut impl Input) -> Result<bool, FormatError> {
    let is_text = is_text(member.fill()?, false);
    Ok(scan(member, is_text, PersistentIds::Resolved)?.is_some())
}

/// Reads the name of a member, which is `length` bytes long, and returns its first [`NAME`] bytes for a message.
fn text(entries: &mut Stored<'_>, length: u64) -> Result<String, FormatError> {
    let kept = usize::try_from(length).unwrap_or(usize::MAX).min(NAME);
    let mut name = [0; NAME];
    for place in name.iter_mut().take(kept) {
        *place = entries.byte()?.unwrap_or_default();
    }
    entries.skip(length.saturating_sub(u64_from_usize(kept)))?;
    copied(String::from_utf8_lossy(name.get(..kept).unwrap_or_default()))
}

/// Returns the little-endian number of two bytes at `offset` of `record`, or 0 if the record is shorter.
fn u16(record: &[u8], offset: usize) -> u16 {
    let bytes = record.get(offset..).and_then(<[u8]>::first_chunk::<2>);
    bytes.map_or(0, |bytes| u16::from_le_bytes(*bytes))
}

/// Returns the little-endian number of four bytes at `offset` of `record`, or 0 if the record is shorter.
fn u32(record: &[u8], offset: usize) -> u64 {
    let bytes = record.get(offset..).and_then(<[u8]>::first_chunk::<4>);
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes).into())
}

/// Returns the little-endian number of eight bytes at `offset` of `record`, or 0 if the record is shorter.
fn u64_at(record: &[u8], offset: usize) -> u64 {
    let bytes = record.get(offset..).and_then(<[u8]>::first_chunk::<8>);
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
