//! Reading the content of a component, wherever its bytes come from: in chunks, verified on
//! the way, in memory that does not depend on its size.

mod content;
mod content_digest;
#[cfg(feature = "deflate")]
mod deflate;
mod hasher;
#[cfg(all(feature = "zstd", feature = "std"))]
mod parallel;
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

use crate::error::{BareError, Error, Misuse, OutOfMemory};
use crate::num::u64_from_usize;

/// A marker of what several threads may read from, which every source is with `std`.
#[cfg(feature = "std")]
#[doc(hidden)]
pub trait ThreadSafe: Sync {}
#[cfg(feature = "std")]
impl<T: Sync + ?Sized> ThreadSafe for T {}

/// A marker without meaning: there are no threads without `std`.
#[cfg(not(feature = "std"))]
#[doc(hidden)]
pub trait ThreadSafe {}
#[cfg(not(feature = "std"))]
impl<T: ?Sized> ThreadSafe for T {}

/// A source of the bytes of a file, at positions: a slice, a file, flash, an object store.
///
/// An [`io::Error`](std::io::Error) becomes the error of this by `?`, with `std`.
pub trait ReadAt: ThreadSafe {
    /// Fills `buffer` with the bytes of the file from `offset` on.
    ///
    /// # Errors
    /// Whatever keeps it from filling all of `buffer`.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error>;

    /// The bytes themselves, where all of them are in memory: they are then not copied.
    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let _ = (offset, length);
        None
    }

    /// The largest gap between two ranges for which one read of both, and of the gap, takes no longer than two reads. Slices
    /// of a tensor then take several rows at once. 0, as it is by default, where each byte that is read has its price, as
    /// over a network, and where reads cost nothing, as in memory.
    fn gap(&self) -> u64 {
        0
    }

    /// Returns numbers that identify the file: two sources with equal numbers read the same bytes. The digest of a file that
    /// many shards name is then compared once. `None`, the default, means that the source cannot tell.
    fn identity(&self) -> Option<[u64; 2]> {
        None
    }

    /// Appends the bytes of a range to `bytes`. Memory grows as they come, for a source may have fewer than it is said
    /// to have: it is at most 1 MiB more than twice what has come, and in the end exactly what the range has.
    ///
    /// # Errors
    /// Whatever keeps the source from giving all of them; [`OutOfMemory`].
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

/// Bytes for which memory is taken before any has come.
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
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.as_slice().read_at(offset, buffer)
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.as_slice().bytes_at(offset, length)
    }
}

impl<R: ReadAt + ?Sized> ReadAt for &R {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        (**self).read_at(offset, buffer)
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

/// The error of a file so far: the first one that makes it invalid, or else the first that makes it unsupported,
/// which does not keep the rest from being validated.
#[derive(Debug, Default)]
pub(crate) struct Deferred(Option<BareError>);

impl Deferred {
    /// Keeps an error, if there is one and it says more than the one before.
    pub(crate) fn note(&mut self, error: impl Into<Option<BareError>>) {
        let Some(error) = error.into() else { return };
        if self.0.is_none_or(|first| first.is_unsupported() && !error.is_unsupported()) {
            self.0 = Some(error);
        }
    }

    /// Keeps the error of what is not supported; any other one ends the work.
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

    /// The value, or the error that was kept.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, Error> {
        self.0.map_or(Ok(value), |error| Err(error.into()))
    }
}

/// The number of threads that have nothing to do, of those that the caller may have.
pub(crate) type ThreadBudget = core::sync::atomic::AtomicUsize;

/// Makes `buffer` that long; what is in it will be overwritten.
fn extend(buffer: &mut Vec<u8>, length: usize) -> Result<(), BareError> {
    let more = length.saturating_sub(buffer.len());
    buffer.try_reserve_exact(more).map_err(|_| BareError::from(OutOfMemory))?;
    buffer.resize(length, 0);
    Ok(())
}

/// Makes room for `needed` items in all. Memory doubles as they come, and stops at `most`.
pub(crate) fn grow<T>(items: &mut Vec<T>, needed: usize, most: usize) -> Result<(), OutOfMemory> {
    if needed <= items.capacity() {
        return Ok(());
    }
    let target = items.capacity().saturating_mul(2).min(most).max(needed);
    items.try_reserve_exact(target.saturating_sub(items.len())).map_err(|_| OutOfMemory)
}
