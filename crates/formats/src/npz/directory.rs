//! Where the directory of an archive lies, and that there is no doubt about it.
//!
//! Readers of zip look for the end record from the back, some trust its count of members and
//! some its size, and some look for what stands in front of the archive. A file that is read
//! alike by all has its end record at its very end, the directory right before it, and exactly
//! as many members there as are counted.

use crate::cursor::{Blames, Cursor};
use crate::rules::Rule;
use crate::source::Source;
use crate::trouble::Trouble;
use zten::num::u64_from_usize;

/// Bytes of the end record, of the one for large archives, and of what points at that one.
const END: u64 = 22;
const END64: u64 = 56;
const LOCATOR: u64 = 20;
/// Signatures.
const END_SIGNATURE: u32 = 0x0605_4b50;
const END64_SIGNATURE: u32 = 0x0606_4b50;
const LOCATOR_SIGNATURE: u32 = 0x0706_4b50;
/// The longest directory that is read.
const DIRECTORY: u64 = 64 << 20;

/// Where the directory is.
pub(super) struct Directory {
    /// Members that it has, as the end record says.
    pub(super) members: u64,
    /// Where it begins, and the members must end.
    pub(super) start: u64,
    /// Where it ends.
    pub(super) end: u64,
}

/// What the end record says of the directory, and where it must end.
struct Claim {
    members: u64,
    length: u64,
    start: u64,
    end: u64,
}

/// Finds the directory; refuses an archive of which readers may find another one.
pub(super) fn find(source: &Source) -> Result<Directory, Trouble> {
    let Claim { members, length, start, end } = claimed(source)?;
    if start.checked_add(length) != Some(end) {
        let sentence = "the directory of the archive does not end where its end record begins";
        return Err(Trouble::refused_at(Rule::NpzDirectory, sentence, end));
    }
    if length > DIRECTORY {
        let sentence = format!("the directory of the archive is longer than {DIRECTORY} bytes");
        return Err(Trouble::refused_at(Rule::LimitHeader, sentence, start));
    }
    Ok(Directory { members, start, end })
}

impl Directory {
    /// Validates how many members have been found.
    pub(super) fn validate_count(&self, found: usize) -> Result<(), Trouble> {
        let counted = self.members;
        if u64_from_usize(found) == counted {
            return Ok(());
        }
        let sentence =
            format!("the archive has {found} members, and its end record counts {counted}");
        Err(Trouble::refused_at(Rule::NpzCount, sentence, self.end))
    }
}

/// Reads the end record, and the one for large archives if there is one.
fn claimed(source: &Source) -> Result<Claim, Trouble> {
    let Some(at) = source.len().checked_sub(END) else {
        return Err(Trouble::refused_at(
            Rule::NpzEndRecord,
            "the archive is cut off",
            source.len(),
        ));
    };
    let mut cursor = Cursor::new(source, at..source.len(), Blames::END);
    if cursor.u32()? != END_SIGNATURE {
        let sentence = "the file does not end with the end record of an archive";
        return Err(Trouble::refused_at(Rule::NpzEndRecord, sentence, at));
    }
    let disks = [cursor.u16()?, cursor.u16()?];
    let (here, members) = (cursor.u16()?, cursor.u16()?);
    let (length, start) = (cursor.u32()?, cursor.u32()?);
    let comment = cursor.u16()?;
    if disks != [0, 0] || here != members || comment != 0 {
        let sentence = "the archive is divided, or something stands behind it";
        return Err(Trouble::refused_at(Rule::NpzEndRecord, sentence, at));
    }
    let small =
        Claim { members: members.into(), length: length.into(), start: start.into(), end: at };
    match at.checked_sub(LOCATOR) {
        Some(locator) => match find_large(source, locator)? {
            Some(large) => agree(&small, large),
            None => Ok(small),
        },
        None => Ok(small),
    }
}

/// The end record for large archives, if something points at it from `locator`.
fn find_large(source: &Source, locator: u64) -> Result<Option<Claim>, Trouble> {
    let mut cursor = Cursor::new(source, locator..source.len(), Blames::END);
    if cursor.u32()? != LOCATOR_SIGNATURE {
        return Ok(None);
    }
    let (disk, at, disks) = (cursor.u32()?, cursor.u64()?, cursor.u32()?);
    if disk != 0 || disks != 1 || at.checked_add(END64) != Some(locator) {
        let sentence = "the end record of the archive is not right before what points at it";
        return Err(Trouble::refused_at(Rule::NpzEndRecord64, sentence, locator));
    }
    let mut cursor = Cursor::new(source, at..locator, Blames::END);
    let (signature, rest) = (cursor.u32()?, cursor.u64()?);
    cursor.skip(4)?;
    let disks = [cursor.u32()?, cursor.u32()?];
    let (here, members) = (cursor.u64()?, cursor.u64()?);
    let (length, start) = (cursor.u64()?, cursor.u64()?);
    // The length counts neither the signature nor itself.
    let whole = rest.checked_add(12) == Some(END64);
    if signature != END64_SIGNATURE || !whole || disks != [0, 0] || here != members {
        let sentence = "the end record of the archive is not one that can be read";
        return Err(Trouble::refused_at(Rule::NpzEndRecord64, sentence, at));
    }
    Ok(Some(Claim { members, length, start, end: at }))
}

/// The record for large archives, if the other one says the same or that it cannot.
fn agree(small: &Claim, large: Claim) -> Result<Claim, Trouble> {
    let pairs: [(u64, u64, u64); 3] = [
        (small.members, large.members, u16::MAX.into()),
        (small.length, large.length, u32::MAX.into()),
        (small.start, large.start, u32::MAX.into()),
    ];
    let same = pairs.iter().all(|(small, large, full)| small == large || small == full);
    // Readers look at the larger record where the small one is too small for something.
    let needed = pairs.iter().any(|(small, _, full)| small == full);
    if same && needed {
        return Ok(large);
    }
    let sentence = "the archive has two end records, and they do not agree";
    Err(Trouble::refused_at(Rule::NpzEndRecord64, sentence, small.end))
}
