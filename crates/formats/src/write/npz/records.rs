//! The records of an archive: in front of each member, of each in the directory, and at the end.
//! Numbers of 64 bits stand where those of 32 do not hold them, and nowhere else.

use std::ops::Range;

use super::Member;
use super::name::SUFFIX;

const LOCAL: u32 = 0x0403_4b50;
const DIRECTORY: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const LOCATOR: u32 = 0x0706_4b50;
/// The versions of zip that members need, and that numbers of 64 bits do.
const VERSION: u16 = 20;
const VERSION64: u16 = 45;
/// The name is UTF-8.
const UTF8: u16 = 1 << 11;
/// The first of January 1980, which is the first day that there is.
const DATE: u16 = 1 << 5 | 1;
/// The extra field that has numbers of 64 bits.
const EXTRA64: u16 = 1;
/// Bytes of the end record for large archives behind the one that says so.
const BEHIND: u64 = 44;
/// The offset of the checksum in the record in front of a member.
pub(super) const CHECKSUM: u64 = 14;

/// The record of a member that is not compressed.
pub(super) struct Record<'n> {
    /// The name of the array in the member.
    pub(super) name: &'n str,
    pub(super) member: Member,
}

impl Record<'_> {
    /// Returns the record in front of the member.
    pub(super) fn local(&self) -> Vec<u8> {
        let mut large = Vec::new();
        let size = small(self.member.size, &mut large);
        // Both sizes stand there, or none.
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

    /// Returns the record in the directory.
    pub(super) fn in_directory(&self) -> Vec<u8> {
        let mut large = Vec::new();
        let size = small(self.member.size, &mut large);
        small(self.member.size, &mut large);
        let start = small(self.member.start, &mut large);
        let mut out = DIRECTORY.to_le_bytes().to_vec();
        // What made it, and what it needs.
        out.extend(version(&large).to_le_bytes());
        out.extend(version(&large).to_le_bytes());
        self.common(&mut out, size);
        self.extra(&mut out, &large);
        // No comment, the first of one part, no attributes.
        out.extend([0; 10]);
        out.extend(start.to_le_bytes());
        out.extend(self.name.bytes());
        out.extend(SUFFIX.bytes());
        out.extend(field(&large));
        out
    }

    /// Flags, the method (none), the moment, and what is in it.
    fn common(&self, out: &mut Vec<u8>, size: u32) {
        let flags = if self.name.is_ascii() { 0 } else { UTF8 };
        out.extend(flags.to_le_bytes());
        out.extend([0; 4]);
        out.extend(DATE.to_le_bytes());
        out.extend(self.member.checksum.to_le_bytes());
        out.extend(size.to_le_bytes());
        out.extend(size.to_le_bytes());
    }

    /// Appends the lengths of the name and of the extra field. The name has been validated.
    fn extra(&self, out: &mut Vec<u8>, large: &[u64]) {
        let name = self.name.len().saturating_add(SUFFIX.len());
        out.extend(short(name).to_le_bytes());
        out.extend(short(field(large).len()).to_le_bytes());
    }
}

fn version(large: &[u64]) -> u16 {
    if large.is_empty() { VERSION } else { VERSION64 }
}

/// The extra field that has those numbers; nothing where there are none.
fn field(large: &[u64]) -> Vec<u8> {
    if large.is_empty() {
        return Vec::new();
    }
    let mut out = EXTRA64.to_le_bytes().to_vec();
    out.extend(short(large.len().saturating_mul(8)).to_le_bytes());
    out.extend(large.iter().flat_map(|number| number.to_le_bytes()));
    out
}

/// A number as a field of 32 bits has it: all ones where it is among the large ones.
fn small(number: u64, large: &mut Vec<u64>) -> u32 {
    match u32::try_from(number) {
        Ok(number) if number != u32::MAX => number,
        _ => {
            large.push(number);
            u32::MAX
        }
    }
}

/// A length that has been validated.
fn short(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// Returns the records at the end, which hold the number of members and the range of the directory.
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
        // The first of one part.
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
    // No comment.
    out.extend([0; 2]);
    out
}
