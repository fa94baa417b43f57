//! Archives of NumPy files, as `numpy.savez` writes them: members one behind the other, none of them
//! compressed, then the directory.
//!
//! A member's header has its checksum, which is known only when it has been read: it is written then.

mod name;
mod records;

use std::io::{self, Seek, SeekFrom, Write};

use zten::num::u64_from_usize;

use super::array::{self, Array, ArraySource, Failure, Inexpressible};
use super::format::WrittenFormat;
use super::npy::{Header, check_attributes};
use records::{CHECKSUM, Member};

/// Writes all arrays, in their order.
pub(super) fn write<E>(
    source: &mut dyn ArraySource<Error = E>,
    out: &mut (impl Write + Seek),
) -> Result<(), Failure<E>> {
    check_attributes(&source.attributes(), WrittenFormat::Npz)?;
    let mut written = Vec::new();
    let memory = |_| io::Error::from(io::ErrorKind::OutOfMemory);
    written.try_reserve_exact(source.count()).map_err(memory)?;
    // All of them, before the first is written.
    for at in 0..source.count() {
        check(source.name(at), &array::array(source, at)?)?;
    }
    let mut end = 0_u64;
    for at in 0..source.count() {
        let header = Header::new(source.name(at), &array::array(source, at)?, WrittenFormat::Npz)?;
        let size = header.data.saturating_add(u64_from_usize(header.bytes.len()));
        let start = end;
        let local = Member { name: source.name(at), size, checksum: 0, start }.local();
        out.write_all(&local)?;
        let mut crc = crc32fast::Hasher::new();
        let mut put = |bytes: &[u8]| {
            crc.update(bytes);
            out.write_all(bytes)
        };
        put(&header.bytes)?;
        array::copy(source, at, header.data, &mut put)?;
        let checksum = crc.finalize();
        out.seek(SeekFrom::Start(start.saturating_add(CHECKSUM)))?;
        out.write_all(&checksum.to_le_bytes())?;
        out.seek(SeekFrom::End(0))?;
        written.push(Written { start, size, checksum });
        end = start.saturating_add(u64_from_usize(local.len())).saturating_add(size);
    }
    let directory = end;
    for (at, Written { start, size, checksum }) in written.iter().enumerate() {
        let member =
            Member { name: source.name(at), size: *size, checksum: *checksum, start: *start };
        let record = member.in_directory();
        out.write_all(&record)?;
        end = end.saturating_add(u64_from_usize(record.len()));
    }
    out.write_all(&records::end(u64_from_usize(written.len()), directory..end))?;
    Ok(())
}

/// Checks that an array can be a member.
pub(super) fn check(name: &str, array: &Array) -> Result<(), Inexpressible> {
    name::validate(name).map_err(|why| Inexpressible::tensor(name, why))?;
    Header::new(name, array, WrittenFormat::Npz).map(drop)
}

/// The position, size and checksum of a member that has been written, for its record in the directory.
struct Written {
    start: u64,
    size: u64,
    checksum: u32,
}
