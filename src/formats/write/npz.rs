//! Writing of `.npz` archives, as `numpy.savez` writes them: uncompressed members one after the other, then the directory.
//!
//! The local header of a member contains its checksum, which is known only after the last byte of the member. The writer
//! then seeks back and fills in the checksum.

mod name;
mod records;

use alloc::vec::Vec;
use std::io::{self, Seek, SeekFrom, Write};

use crate::num::u64_from_usize;

use super::array::{
    self, Array, ArrayList, Inexpressible, OpaqueType, WriteFailure, ordinal, with_room,
};
use super::format::WrittenFormat;
use super::npy;

use records::{CHECKSUM, MemberRecords};

/// Checks that all arrays of `list` can be members of an `.npz` archive. Returns the number and the length in bytes of each
/// array, in the order of the list, which is the order of the archive.
pub(super) fn begin<L: ArrayList + ?Sized, E>(
    list: &L,
) -> Result<Vec<(u32, u64)>, WriteFailure<E>> {
    npy::check_attributes(&list.attributes(), WrittenFormat::Npz)?;
    let mut order = with_room(list)?;
    for at in 0..list.count() {
        order
            .push((ordinal(at)?, check(list.name(at), &array::array(list, at)?, list.opaque(at))?));
    }
    Ok(order)
}

/// Checks that `array` can be a member with the name `name`, and returns the length of its elements in bytes. `opaque` is the
/// type of the elements if zten does not interpret it.
pub(super) fn check(
    name: &str,
    array: &Array,
    opaque: Option<OpaqueType<'_>>,
) -> Result<u64, Inexpressible> {
    name::validate(name).map_err(|why| Inexpressible::tensor(name, why))?;
    npy::check(name, array, opaque, WrittenFormat::Npz)
}

/// The members of an archive that is being written. All members but the last are complete.
#[derive(Debug, Default)]
pub(super) struct Members {
    written: Vec<Member>,
    /// The CRC-32 of the bytes of the last member that have been written.
    crc: crc32fast::Hasher,
    /// The number of bytes of the archive that have been written.
    end: u64,
}

/// The position, size and checksum of a member, for its entry in the central directory of the zip archive.
#[derive(Clone, Copy, Debug)]
struct Member {
    start: u64,
    size: u64,
    checksum: u32,
}

impl Members {
    /// Begins a member of `size` bytes for the array `name`, and writes its local header.
    pub(super) fn begin(&mut self, name: &str, size: u64, out: &mut impl Write) -> io::Result<()> {
        let member = Member { start: self.end, size, checksum: 0 };
        self.written.try_reserve(1).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.written.push(member);
        self.crc = crc32fast::Hasher::new();
        let record = MemberRecords { name, member }.local();
        out.write_all(&record)?;
        self.end = self.end.saturating_add(u64_from_usize(record.len()));
        Ok(())
    }

    /// Writes `bytes` to `out` as the next bytes of the last member, and adds them to its checksum.
    pub(super) fn write(&mut self, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
        self.crc.update(bytes);
        out.write_all(bytes)?;
        self.end = self.end.saturating_add(u64_from_usize(bytes.len()));
        Ok(())
    }

    /// Ends the last member, and writes its checksum into its local header.
    pub(super) fn end(&mut self, out: &mut (impl Write + Seek)) -> io::Result<()> {
        let Some(member) = self.written.last_mut() else { return Ok(()) };
        member.checksum = self.crc.clone().finalize();
        out.seek(SeekFrom::Start(member.start.saturating_add(CHECKSUM)))?;
        out.write_all(&member.checksum.to_le_bytes())?;
        out.seek(SeekFrom::End(0))?;
        Ok(())
    }

    /// Writes the central directory and the end record of the zip archive, after the last member.
    pub(super) fn finish<L: ArrayList + ?Sized>(
        self,
        list: &L,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut end = self.end;
        for (at, member) in self.written.iter().enumerate() {
            let record = MemberRecords { name: list.name(at), member: *member }.in_directory();
            out.write_all(&record)?;
            end = end.saturating_add(u64_from_usize(record.len()));
        }
        out.write_all(&records::end(u64_from_usize(self.written.len()), self.end..end))
    }
}
