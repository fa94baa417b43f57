//! Reading the content of a component from any source: in chunks that are verified as they are read, in memory that
//! does not depend on the size of the component.

mod content;
mod content_digest;
#[cfg(feature = "deflate")]
mod deflate;
mod hasher;
#[cfg(all(feature = "zstd", feature = "std"))]
mod parallel;
mod records;
#[cfg(feature = "zstd")]
mod seekable;
mod shard;
mod strided;
mod strided_bools;
#[cfg(feature = "zstd")]
mod zstd;

pub use content::Reader;
pub(crate) use content::validate_bools;
pub use content_digest::{DigestAlgorithm, NoContentDigest};
#[cfg(feature = "write")]
pub(crate) use hasher::Sum;
pub use hasher::{Mismatch, Verified};
#[cfg(feature = "std")]
pub(crate) use shard::OwnShards;
pub(crate) use shard::sealed;
pub use shard::{BoundShard, Candidate, Files, Find, Located, Shards, Source, VerifiedBlocks};

use alloc::vec::Vec;
use core::ops::Range;

use crate::error::{BareError, Error, Misuse, OutOfMemory, Rank};
use crate::num::u64_from_usize;

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

/// The number of bytes that memory is reserved for before the first byte has been read.
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

/// The most important error found so far in an object or in the shards: see [`Rank`]. Verification goes on after an unsupported
/// feature, because a broken rule may follow and outranks it.
#[derive(Debug, Default)]
pub(crate) struct Deferred(Option<BareError>);

impl Deferred {
    /// Keeps `error`, if it is the first error, or outranks the error that was kept.
    pub(crate) fn note(&mut self, error: impl Into<Option<BareError>>) {
        let Some(error) = error.into() else { return };
        if self.0.is_none_or(|first| Rank::from(error.kind) < Rank::from(first.kind)) {
            self.0 = Some(error);
        }
    }

    /// Returns the value of `result`. Keeps an error if it says that something is unsupported, and returns any other
    /// error.
    pub(crate) fn pass<T>(
        &mut self,
        result: Result<T, impl Into<Error>>,
    ) -> Result<Option<T>, Error> {
        result.map(Some).or_else(|error| {
            let error = error.into();
            if !error.is_unsupported() {
                return Err(error);
            }
            self.note(error.bare());
            Ok(None)
        })
    }

    /// Returns `value`, or the error that was kept.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, Error> {
        self.0.map_or(Ok(value), |error| Err(error.into()))
    }
}

/// The number of idle threads, out of all threads that the caller may use.
pub(crate) type ThreadBudget = core::sync::atomic::AtomicUsize;

/// Grows `buffer` to `length` bytes, or cuts it. Their values do not matter, because the caller overwrites them.
fn extend(buffer: &mut Vec<u8>, length: usize) -> Result<(), BareError> {
    let more = length.saturating_sub(buffer.len());
    buffer.try_reserve_exact(more).map_err(|_| BareError::from(OutOfMemory))?;
    buffer.resize(length, 0);
    Ok(())
}

/// Reserves room in `items` for `needed` items in all. Capacity doubles until it reaches `most` items.
pub(crate) fn grow<T>(items: &mut Vec<T>, needed: usize, most: usize) -> Result<(), OutOfMemory> {
    if needed <= items.capacity() {
        return Ok(());
    }
    let target = items.capacity().saturating_mul(2).min(most).max(needed);
    items.try_reserve_exact(target.saturating_sub(items.len())).map_err(|_| OutOfMemory)
}
