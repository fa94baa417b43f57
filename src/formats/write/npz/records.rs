//! The records of a zip archive: the local header of each member, its entry in the directory, and the end records. A 64-bit
//! field (zip64) is written only if a number does not fit into its 32-bit field.

use alloc::vec::Vec;
use std::ops::Range;

use super::Member;
use super::name::SUFFIX;

const LOCAL: u32 = 0x0403_4b50;
const DIRECTORY: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const LOCATOR: u32 = 0x0706_4b50;
/// The version of zip that a member needs to be extracted: 2.0.
const VERSION: u16 = 20;
/// The version of zip that a member with 64-bit fields needs: 4.5.
const VERSION64: u16 = 45;
/// The bit of the general purpose flags of a zip member that says that its name is UTF-8.
const UTF8: u16 = 1 << 11;
/// The 1st of January 1980, the first date that zip can express.
const DATE: u16 = 1 << 5 | 1;
/// The id of the zip64 extra field, which holds 64-bit numbers.
const EXTRA64: u16 = 1;
/// The number of bytes that follow the length field of the zip64 end record.
const BEHIND: u64 = 44;
/// The offset in bytes of the checksum in the local header of a member.
pub(super) const CHECKSUM: u64 = 14;

/// The local header and the directory entry of an array that an `.npz` archive stores without compression.
pub(super) struct MemberRecords<'n> {
    /// The name of the array, without the suffix `.npy` of the member.
    pub(super) name: &'n str,
    pub(super) member: Member,
}

impl MemberRecords<'_> {
    /// Returns the bytes of the member's local header.
    pub(super) fn local(&self) -> Vec<u8> {
        let mut large = Vec::new();
        let size = small(self.member.size, &mut large);
        // A local header has either both sizes in 64 bits or none (APPNOTE 4.5.3).
        small(self.member.size, &mut large);
        let mut out = LOCAL.to_le_bytes().to_vec();
        out.extend(version(&large).to_le_bytes());
        self.common(&mut out, size);
        self.extra(&mut out, &large);
        out.extend(self.name.bytes());
        out.extend(SUFFIX.bytes());
        out.extend(field(&large));
        out
    }

    /// Returns the bytes of the member's entry in the central directory.
    pub(super) fn in_directory(&self) -> Vec<u8> {
        let mut large = Vec::new();
        let size = small(self.member.size, &mut large);
        small(self.member.size, &mut large);
        let start = small(self.member.start, &mut large);
        let mut out = DIRECTORY.to_le_bytes().to_vec();
        // The first version is that of the writer, the second the version that a reader needs.
        out.extend(version(&large).to_le_bytes());
        out.extend(version(&large).to_le_bytes());
        self.common(&mut out, size);
        self.extra(&mut out, &large);
        // These ten zeros are the length of the comment, the number of the disk, and the internal and external attributes.
        out.extend([0; 10]);
        out.extend(start.to_le_bytes());
        out.extend(self.name.bytes());
        out.extend(SUFFIX.bytes());
        out.extend(field(&large));
        out
    }

    /// Appends the fields that a local header and a directory entry have in common: the flags, the method (stored), the time
    /// and date, the checksum, and `size` for both sizes.
    fn common(&self, out: &mut Vec<u8>, size: u32) {
        let flags = if self.name.is_ascii() { 0 } else { UTF8 };
        out.extend(flags.to_le_bytes());
        out.extend([0; 4]);
        out.extend(DATE.to_le_bytes());
        out.extend(self.member.checksum.to_le_bytes());
        out.extend(size.to_le_bytes());
        out.extend(size.to_le_bytes());
    }

    /// Appends two fields: the length of the name, and the length of the zip64 extra field that holds the numbers `large`.
    /// The length of the name has been validated.
    fn extra(&self, out: &mut Vec<u8>, large: &[u64]) {
        let name = self.name.len().saturating_add(SUFFIX.len());
        out.extend(short(name).to_le_bytes());
        out.extend(short(field(large).len()).to_le_bytes());
    }
}

/// Returns the version of zip that a record with the 64-bit numbers `large` needs.
fn version(large: &[u64]) -> u16 {
    if large.is_empty() { VERSION } else { VERSION64 }
}

/// Returns the zip64 extra field with the numbers `large`; no bytes if `large` is empty.
fn field(large: &[u64]) -> Vec<u8> {
    if large.is_empty() {
        return Vec::new();
    }
    let mut out = EXTRA64.to_le_bytes().to_vec();
    out.extend(short(large.len().saturating_mul(8)).to_le_bytes());
    out.extend(large.iter().flat_map(|number| number.to_le_bytes()));
    out
}

/// Returns the value of a 32-bit field for `number`. If the number does not fit, it is appended to `large`, and the field is
/// filled with ones.
fn small(number: u64, large: &mut Vec<u64>) -> u32 {
    match u32::try_from(number) {
        Ok(number) if number != u32::MAX => number,
        _ => {
            large.push(number);
            u32::MAX
        }
    }
}

/// Converts `length` to 16 bits. The caller has checked that the length fits; a length that does not fit would become 65,535.
fn short(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// Returns the end records of an archive with `members` members whose directory is at the range `directory`: the zip64 end
/// record and its locator, if a number does not fit into the end record, and the end record.
pub(super) fn end(members: u64, directory: Range<u64>) -> Vec<u8> {
    let length = directory.end.saturating_sub(directory.start);
    let mut large = Vec::new();
    let sizes = [small(length, &mut large), small(directory.start, &mut large)];
    let few = u16::try_from(members).ok().filter(|few| *few != u16::MAX);
    let mut out = Vec::new();
    if few.is_none() || !large.is_empty() {
        out.extend(END64.to_le_bytes());
        out.extend(BEHIND.to_le_bytes());
        out.extend(VERSION64.to_le_bytes());
        out.extend(VERSION64.to_le_bytes());
        // These eight zeros are the number of this disk, and the number of the disk on which the directory begins.
        out.extend([0; 8]);
        for number in [members, members, length, directory.start] {
            out.extend(number.to_le_bytes());
        }
        out.extend(LOCATOR.to_le_bytes());
        out.extend([0; 4]);
        out.extend(directory.end.to_le_bytes());
        out.extend(1_u32.to_le_bytes());
    }
    out.extend(END.to_le_bytes());
    out.extend([0; 4]);
    let few = few.unwrap_or(u16::MAX);
    out.extend(few.to_le_bytes());
    out.extend(few.to_le_bytes());
    out.extend(sizes.into_iter().flat_map(u32::to_le_bytes));
    // These two zeros are the length of the comment.
    out.extend([0; 2]);
    out
}
