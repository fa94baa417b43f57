//! Where tensors lie in a foreign file, and the record that is kept of it.

use super::record::{self, Record};

/// Where a tensor lies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// As it is handed out, from this byte of the file on.
    Extent(u64),
    /// In a NumPy file, which is the whole file.
    Array(Array),
    /// In a NumPy file, which is a member of the archive.
    Member(PackedArray),
}

/// How the elements of a NumPy array are written down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    /// Bytes before the first element.
    pub(super) start: u64,
    pub(super) is_big: bool,
    /// Whether the first index is the one that moves fastest.
    pub(super) columns_first: bool,
}

/// A member of an archive: where its bytes are, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// Where they begin.
    pub(super) start: u64,
    /// How many they are in the file.
    pub(super) packed: u64,
    /// The checksum of the content.
    pub(super) crc: u32,
    pub(super) deflated: bool,
}

/// A member of an archive, and the array in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedArray {
    pub(super) member: Member,
    pub(super) array: Array,
}

impl Place {
    /// Numbers that a record has of a place, at most.
    pub(super) const NUMBERS: usize = 7;

    /// Where it begins in the file.
    pub(super) fn offset(&self) -> u64 {
        match self {
            Self::Extent(offset) => *offset,
            Self::Array(_) => 0,
            Self::Member(packed) => packed.member.start,
        }
    }

    /// Appends what a record needs beside the offset.
    pub(super) fn record(&self, out: &mut Vec<u8>) {
        match self {
            Self::Extent(_) => record::number(out, 0),
            Self::Array(array) => {
                record::number(out, 1);
                array.record(out);
            }
            Self::Member(packed) => {
                record::number(out, 2);
                packed.member.record(out);
                packed.array.record(out);
            }
        }
    }

    /// Reads that again.
    pub(super) fn recorded(record: &mut Record<'_>, offset: u64) -> Self {
        match record.number() {
            0 => Self::Extent(offset),
            1 => Self::Array(Array::recorded(record)),
            _ => {
                let member = Member::recorded(record, offset);
                Self::Member(PackedArray { member, array: Array::recorded(record) })
            }
        }
    }
}

impl Array {
    /// Appends its numbers.
    fn record(&self, out: &mut Vec<u8>) {
        record::number(out, self.start);
        record::number(out, self.is_big.into());
        record::number(out, self.columns_first.into());
    }

    /// Reads them again.
    fn recorded(record: &mut Record<'_>) -> Self {
        let start = record.number();
        let is_big = record.number() != 0;
        Self { start, is_big, columns_first: record.number() != 0 }
    }
}

impl Member {
    /// Appends its numbers, but for where it begins.
    fn record(&self, out: &mut Vec<u8>) {
        record::number(out, self.packed);
        record::number(out, self.crc.into());
        record::number(out, self.deflated.into());
    }

    /// Reads them again.
    fn recorded(record: &mut Record<'_>, start: u64) -> Self {
        let packed = record.number();
        let crc = u32::try_from(record.number()).unwrap_or_default();
        Self { start, packed, crc, deflated: record.number() != 0 }
    }
}
