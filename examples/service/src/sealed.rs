//! Maps sealed memory files that another process has filled.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::OwnedFd;

use memmap2::Mmap;
use rustix::fs::{SealFlags, fcntl_get_seals, fstat, fstatfs};

/// All seals: no process can shrink, grow or write to the file, or remove the seals.
pub const SEALS: SealFlags =
    SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::WRITE).union(SealFlags::SEAL);

/// The magic number of tmpfs. Files of hugetlbfs have another number, and are rejected: reading them may fail if no huge page
/// is free.
const TMPFS: i128 = 0x0102_1994;

/// A memory file that has been validated and mapped.
#[derive(Debug)]
pub struct Sealed(Option<Mmap>);

impl Sealed {
    /// Validates the descriptor `file` of an untrusted process, and maps the file.
    ///
    /// # Errors
    /// The file is not a memory file, lacks a seal, is longer than `most` bytes, or cannot be mapped.
    pub fn new(file: OwnedFd, most: u64) -> io::Result<Self> {
        let invalid = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidData, why));
        if i128::from(fstatfs(&file)?.f_type) != TMPFS {
            return invalid("the descriptor is not a memory file");
        }
        // Only files from `memfd_create` can have seals.
        if !fcntl_get_seals(&file)?.contains(SEALS) {
            return invalid("the memory file is not sealed");
        }
        // The seals have been checked, so the length cannot change from here on.
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
    // SAFETY: the bytes of a map must exist and not change while they are borrowed. The file is in memory. Its seals forbid
    // writing, which the kernel grants only if no process has a writable map; shrinking, so no page can disappear; and removing
    // seals. The kernel reported the seals, not the process that sent the descriptor, and they last as long as the file, which
    // the map keeps alive.
    unsafe { Mmap::map(file) }
}

impl Deref for Sealed {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
