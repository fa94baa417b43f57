//! Archives of NumPy files, as `numpy.savez` writes them: members one behind the other, none of them
//! compressed, then the directory.
//!
//! The record in front of a member has its checksum, which is known only behind the last byte: it is written then.

mod name;
mod records;

use std::io::{self, Seek, SeekFrom, Write};

use zten::num::u64_from_usize;

use super::array::{self, Array, ArrayList, Failure, Inexpressible, ordinal, with_room};
use super::format::WrittenFormat;
use super::npy;
use records::{CHECKSUM, Record};

/// Checks a list that is to be written as an archive, and returns all arrays in their order with their bytes.
pub(super) fn begin<L: ArrayList + ?Sized, E>(list: &L) -> Result<Vec<(u32, u64)>, Failure<E>> {
    npy::check_attributes(&list.attributes(), WrittenFormat::Npz)?;
    let mut order = with_room(list)?;
    for at in 0..list.count() {
        order.push((ordinal(at)?, check(list.name(at), &array::array(list, at)?)?));
    }
    Ok(order)
}

/// Checks that an array can be a member, and returns the bytes of its elements.
pub(super) fn check(name: &str, array: &Array) -> Result<u64, Inexpressible> {
    name::validate(name).map_err(|why| Inexpressible::tensor(name, why))?;
    npy::check(name, array, WrittenFormat::Npz)
}

/// The members of an archive that is being written. All members but the last are complete.
#[derive(Debug, Default)]
pub(super) struct Members {
    written: Vec<Member>,
    crc: crc32fast::Hasher,
    /// The bytes of the archive so far.
    end: u64,
}

/// The position, size and checksum of a member, for its record in the directory.
#[derive(Clone, Copy, Debug)]
struct Member {
    start: u64,
    size: u64,
    checksum: u32,
}

impl Members {
    /// Writes the record in front of a member of `size` bytes.
    pub(super) fn begin(&mut self, name: &str, size: u64, out: &mut impl Write) -> io::Result<()> {
        let member = Member { start: self.end, size, checksum: 0 };
        self.written.try_reserve(1).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.written.push(member);
        self.crc = crc32fast::Hasher::new();
        let record = Record { name, member }.local();
        out.write_all(&record)?;
        self.end = self.end.saturating_add(u64_from_usize(record.len()));
        Ok(())
    }

    /// Writes the next bytes of a member.
    pub(super) fn write(&mut self, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
        self.crc.update(bytes);
        out.write_all(bytes)?;
        self.end = self.end.saturating_add(u64_from_usize(bytes.len()));
        Ok(())
    }

    /// Writes the checksum of a member, all of whose bytes have been written.
    pub(super) fn end(&mut self, out: &mut (impl Write + Seek)) -> io::Result<()> {
        let Some(member) = self.written.last_mut() else { return Ok(()) };
        member.checksum = self.crc.clone().finalize();
        out.seek(SeekFrom::Start(member.start.saturating_add(CHECKSUM)))?;
        out.write_all(&member.checksum.to_le_bytes())?;
        out.seek(SeekFrom::End(0))?;
        Ok(())
    }

    /// Writes the directory.
    pub(super) fn finish<L: ArrayList + ?Sized>(
        self,
        list: &L,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut end = self.end;
        for (at, member) in self.written.iter().enumerate() {
            let record = Record { name: list.name(at), member: *member }.in_directory();
            out.write_all(&record)?;
            end = end.saturating_add(u64_from_usize(record.len()));
        }
        out.write_all(&records::end(u64_from_usize(self.written.len()), self.end..end))
    }
}
