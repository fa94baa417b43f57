//! Builders of zip archives whose records can be made to contradict each other.

use alloc::vec;
use alloc::vec::Vec;
use std::io::Write as _;

use flate2::{Compression, Crc, write::DeflateEncoder};

use crate::formats::tests::npy;

/// A member of a zip archive: its data, and the fields of its local header and of its entry in the directory.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) packed: Vec<u8>,
    pub(super) local: SharedFields,
    pub(super) central: SharedFields,
    /// Bytes between the data of the member and the next member: a data descriptor, or other bytes.
    pub(super) behind: Vec<u8>,
    pub(super) comment: Vec<u8>,
    pub(super) disk: u16,
    /// The offset of the member that the directory gives; `None` for the true offset.
    pub(super) start: Option<u32>,
}

/// The fields that the directory and the member's local header both have.
#[derive(Clone)]
pub(super) struct SharedFields {
    pub(super) version: u16,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) moment: u32,
    pub(super) crc: u32,
    pub(super) packed: u32,
    pub(super) size: u32,
    pub(super) name: Vec<u8>,
    pub(super) extra: Vec<u8>,
}

impl SharedFields {
    fn write(&self, out: &mut Vec<u8>) {
        for number in [self.version, self.flags, self.method] {
            out.extend(number.to_le_bytes());
        }
        for number in [self.moment, self.crc, self.packed, self.size] {
            out.extend(number.to_le_bytes());
        }
        for bytes in [&self.name, &self.extra] {
            out.extend(u16::try_from(bytes.len()).unwrap().to_le_bytes());
        }
    }
}

/// Returns the zip64 extra field with `numbers`.
pub(super) fn large(numbers: &[u64]) -> Vec<u8> {
    field(1, &numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>())
}

pub(super) fn field(id: u16, bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    [&id.to_le_bytes()[..], &length.to_le_bytes(), bytes].concat()
}

pub(super) fn content() -> Vec<u8> {
    npy::file("|u1", false, "(3,)", &[1, 2, 3])
}

impl Member {
    /// Creates a member without extra fields. `method` is 0 (stored) or 8 (deflated).
    pub(super) fn plain(name: &str, method: u16) -> Self {
        let content = content();
        let mut crc = Crc::new();
        crc.update(&content);
        let size = u32::try_from(content.len()).unwrap();
        let packed = match method {
            8 => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(&content).unwrap();
                encoder.finish().unwrap()
            }
            _ => content,
        };
        let said = SharedFields {
            version: 20,
            flags: 0,
            method,
            moment: 0x0021_0000,
            crc: crc.sum(),
            packed: u32::try_from(packed.len()).unwrap(),
            size,
            name: name.into(),
            extra: vec![],
        };
        let (local, central) = (said.clone(), said);
        let (behind, comment) = (vec![], vec![]);
        Self { packed, local, central, behind, comment, disk: 0, start: None }
    }

    /// Returns the size and the packed size, in the order of the zip64 extra field.
    pub(super) fn sizes(&self) -> [u64; 2] {
        [self.central.size.into(), self.central.packed.into()]
    }

    /// Creates a member as NumPy writes it to a file with Python 3.11.4 or later.
    pub(super) fn numpy(name: &str, method: u16) -> Self {
        let mut member = Self::plain(name, method);
        member.local.extra = large(&member.sizes());
        (member.local.size, member.local.packed) = (u32::MAX, u32::MAX);
        (member.local.version, member.central.version) = (45, 45);
        member
    }

    /// Creates a member as NumPy writes it to a pipe. The sizes follow the data, because NumPy cannot seek back to the
    /// header.
    pub(super) fn streamed(name: &str, method: u16) -> Self {
        let mut member = Self::numpy(name, method);
        let [size, packed] = member.sizes().map(u64::to_le_bytes);
        let crc = member.central.crc.to_le_bytes();
        member.behind = [&b"PK\x07\x08"[..], &crc, &packed, &size].concat();
        member.local.extra = large(&[0, 0]);
        member.local.crc = 0;
        (member.local.flags, member.central.flags) = (8, 8);
        member
    }
}

/// Returns the bytes of an archive of `members`.
pub(super) fn build(members: &[Member]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let start = u32::try_from(out.len()).unwrap();
        out.extend(b"PK\x03\x04");
        member.local.write(&mut out);
        out.extend([&member.local.name[..], &member.local.extra, &member.packed].concat());
        out.extend(&member.behind);
        directory.extend(b"PK\x01\x02\x14\x03");
        member.central.write(&mut directory);
        directory.extend(u16::try_from(member.comment.len()).unwrap().to_le_bytes());
        directory.extend(member.disk.to_le_bytes());
        directory.extend([0; 6]);
        directory.extend(member.start.unwrap_or(start).to_le_bytes());
        directory.extend([&member.central.name[..], &member.central.extra].concat());
        directory.extend(&member.comment);
    }
    let start = u32::try_from(out.len()).unwrap();
    let length = u32::try_from(directory.len()).unwrap();
    out.extend(directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    let count = u16::try_from(members.len()).unwrap().to_le_bytes();
    out.extend([count, count].concat());
    out.extend([length, start].map(u32::to_le_bytes).concat());
    out.extend([0, 0]);
    out
}
