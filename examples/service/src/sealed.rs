//! Memory that another process has filled and that cannot change any more.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::OwnedFd;

use memmap2::Mmap;
use rustix::fs::{SealFlags, fcntl_get_seals, fstat, fstatfs};

/// All that can be sealed: no process can cut the file short, make it longer, write to it, or undo
/// this.
pub const SEALS: SealFlags =
    SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::WRITE).union(SealFlags::SEAL);

/// File systems whose files are memory; those of huge pages, which may not be there when they are
/// read, have another number.
const TMPFS: i128 = 0x0102_1994;

/// A memory file that has been validated and mapped.
#[derive(Debug)]
pub struct Sealed(Option<Mmap>);

impl Sealed {
    /// Validates a descriptor from an untrusted process, and maps its file.
    ///
    /// # Errors
    /// A file that is not a memory file, not sealed in every way, or longer than `most` bytes; an error of mapping it.
    pub fn new(file: OwnedFd, most: u64) -> io::Result<Self> {
        let invalid = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidData, why));
        if i128::from(fstatfs(&file)?.f_type) != TMPFS {
            return invalid("the descriptor is not a memory file");
        }
        // Only files made by `memfd_create` can have them.
        if !fcntl_get_seals(&file)?.contains(SEALS) {
            return invalid("the memory file is not sealed");
        }
        // It cannot change from here on.
        let length = u64::try_from(fstat(&file)?.st_size).unwrap_or(u64::MAX);
        if length > most {
            return invalid("the memory file exceeds the maximum size");
        }
        if length == 0 {
            return Ok(Self(None));
        }
        Ok(Self(Some(map(&File::from(file))?)))
    }
}

#[expect(
    unsafe_code,
    reason = "a map of a file is memory only as long as the file does not change"
)]
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: bytes behind a map must not change while they are borrowed, and must be there. The
    // file is memory, sealed against writing, which the kernel grants only if no process has it mapped
    // for writing; against shrinking, so that no page of it can go; and against taking the seals
    // away. No program can reach it by a name. All this was asked of the kernel, not of the process that
    // sent it, and holds as long as the file is there, which the map sees to.
    unsafe { Mmap::map(file) }
}

impl Deref for Sealed {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
