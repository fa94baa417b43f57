//! Sources of bytes: a file that is read by offset, and a tensor file together with its shards.

mod located;

use alloc::vec::Vec;
use core::ops::Range;

pub(crate) use located::{BLOCK, Block, sum};
pub use located::{Located, VerifiedBlocks};

use crate::error::{BareError, Error, Location, Misuse, OutOfMemory};
use crate::num::u64_from_usize;
use crate::rules::Unsupported;

/// A marker of sources that several threads may read at once. With `std`, every source must be.
#[cfg(feature = "std")]
#[doc(hidden)]
pub trait ThreadSafe: Sync {}
#[cfg(feature = "std")]
impl<T: Sync + ?Sized> ThreadSafe for T {}

/// A marker without a requirement, because there are no threads without `std`.
#[cfg(not(feature = "std"))]
#[doc(hidden)]
pub trait ThreadSafe {}
#[cfg(not(feature = "std"))]
impl<T: ?Sized> ThreadSafe for T {}

/// A source of the bytes of a file, read by offset: a slice in memory, a file, flash memory or an object store.
///
/// With `std`, `?` turns an [`io::Error`](std::io::Error) into an [`Error`].
pub trait ReadAt: ThreadSafe {
    /// Fills `buffer` with the bytes of the file from `offset` on.
    ///
    /// # Errors
    /// Any error that keeps the source from filling all of `buffer`.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error>;

    /// Returns `length` bytes at `offset` without copying them, or `None`, the default, if the source does not have
    /// them in memory.
    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let _ = (offset, length);
        None
    }

    /// Returns whether [`bytes_at`](Self::bytes_at) returns the same bytes at every call, which is true of memory that
    /// nobody else changes. The header of an immutable source is not copied when the file is opened. The default is false.
    fn is_immutable(&self) -> bool {
        false
    }

    /// Returns the largest gap in bytes between two ranges for which one read, which includes the gap, takes no longer
    /// than two reads. Reading a slice of a tensor then joins neighboring rows. The default is 0: it suits networks,
    /// where every byte has a price, and memory, where a read costs nothing.
    fn gap(&self) -> u64 {
        0
    }

    /// Returns two numbers that identify the file, such as a device and an inode: sources with equal numbers must read
    /// the same bytes. A file that many shards name is then verified once. The default, `None`, means that the source
    /// cannot tell.
    fn identity(&self) -> Option<[u64; 2]> {
        None
    }

    /// Appends the bytes of `range` to `bytes`. Memory grows with the bytes that are read, because a source may have
    /// fewer bytes than `range` claims: at most 1 MiB more than twice the bytes read so far, and in the end exactly the
    /// size of `range`.
    ///
    /// # Errors
    /// Any error of the source; [`OutOfMemory`].
    fn append_range(&self, range: Range<u64>, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let (memory, start) = (BareError::from(OutOfMemory), bytes.len());
        let length = usize::try_from(range.end.saturating_sub(range.start)).map_err(|_| memory)?;
        let end = start.checked_add(length).ok_or(memory)?;
        while bytes.len() < end {
            let filled = bytes.len();
            let come = filled.saturating_sub(start);
            extend(bytes, filled.saturating_add(come.max(UNSEEN)).min(end))?;
            let at = range.start.saturating_add(u64_from_usize(come));
            let room = bytes.get_mut(filled..).ok_or(BareError::internal())?;
            self.read_at(at, room)?;
        }
        Ok(())
    }
}

/// The largest number of bytes for which [`ReadAt::append_range`] reserves memory before it has read the first byte.
const UNSEEN: usize = 1 << 20;

impl ReadAt for [u8] {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let bytes = self.bytes_at(offset, buffer.len());
        buffer.copy_from_slice(bytes.ok_or(BareError::misuse(Misuse::Size))?);
        Ok(())
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.get(usize::try_from(offset).ok()?..)?.get(..length)
    }

    fn is_immutable(&self) -> bool {
        true
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.as_slice().read_at(offset, buffer)
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.as_slice().bytes_at(offset, length)
    }

    fn is_immutable(&self) -> bool {
        true
    }
}

impl<R: ReadAt + ?Sized> ReadAt for &R {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        (**self).read_at(offset, buffer)
    }

    fn is_immutable(&self) -> bool {
        (**self).is_immutable()
    }

    fn gap(&self) -> u64 {
        (**self).gap()
    }

    fn identity(&self) -> Option<[u64; 2]> {
        (**self).identity()
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        (**self).bytes_at(offset, length)
    }
}

/// A tensor file that content is read from: one file, or [`Files`](crate::shards::Files), which is a file together with its
/// shards.
///
/// Every [`ReadAt`] is the source of a single file, from which components in shards cannot be read. Sealed.
pub trait Source: ThreadSafe + Sealed {
    /// Returns a reader of the file that `blob` is in.
    ///
    /// # Errors
    /// `unsupported-shard` if the shard of the blob was not found; `unsupported-version` if the shard has an
    /// unsupported version. For a component without a digest: [`Misuse::UnverifiedShard`] if the digest of its shard
    /// has not been [compared](crate::shards::Shards::verify_for), and `shard-digest` if that digest differed.
    #[doc(hidden)]
    fn locate(&self, blob: &BlobRef<'_>) -> Result<Located<'_>, Error>;

    /// Verifies the shards of the file as a whole, as [`Shards::verify`](crate::shards::Shards::verify) does, or returns the
    /// outcome that it had before. Returns `None`, the default, if no shards have been looked for.
    #[doc(hidden)]
    fn verify_shards(&self) -> Option<Result<(), Error>> {
        None
    }

    /// Returns a reader of the shard called `name`, or `None` if that shard was not found. Call this method only for shards
    /// without a digest, such as the files of an index, because the reader may return bytes without comparing them with the
    /// digest of the shard.
    #[doc(hidden)]
    fn sibling(&self, name: &str) -> Option<Located<'_>> {
        let _ = name;
        None
    }

    /// Returns the total size in bytes of the shards that were found.
    #[doc(hidden)]
    fn shard_bytes(&self) -> u64 {
        0
    }
}

/// Keeps other crates from implementing [`Source`].
mod sealed {
    pub trait Sealed {}
}

pub(crate) use sealed::Sealed;

impl<R: ReadAt> Sealed for R {}

impl<R: ReadAt> Source for R {
    fn locate(&self, blob: &BlobRef<'_>) -> Result<Located<'_>, Error> {
        if blob.shard.is_some() {
            return Err(blob.missing().into());
        }
        Ok(Located::file(self))
    }
}

/// What a [`Source`] has to know about a component to find the file of its blob.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct BlobRef<'a> {
    /// The name of the shard that holds the blob; `None` if the blob is in the file itself.
    pub(crate) shard: Option<&'a str>,
    /// The offset of the blob in its file.
    pub(crate) offset: u64,
    /// The location of the component in the manifest.
    pub(crate) location: Location,
    /// Whether the component has a digest of its own, so that it may be read before the digest of its shard is compared.
    pub(crate) has_digest: bool,
}

impl BlobRef<'_> {
    /// Returns the error of a blob whose shard was not found.
    #[cold]
    pub(crate) fn missing(&self) -> BareError {
        BareError::new(Unsupported::Shard, self.offset).at(self.location)
    }
}

/// Makes `buffer` `length` bytes long: adds zeros, or removes bytes at the end. The caller overwrites all of the bytes.
pub(crate) fn extend(buffer: &mut Vec<u8>, length: usize) -> Result<(), BareError> {
    let more = length.saturating_sub(buffer.len());
    buffer.try_reserve_exact(more).map_err(|_| BareError::from(OutOfMemory))?;
    buffer.resize(length, 0);
    Ok(())
}
