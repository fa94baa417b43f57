//! Reading the content of a component, wherever its bytes come from: in chunks, verified on
//! the way, in memory that does not depend on its size.

mod columns;
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
#[cfg(feature = "zstd")]
mod zstd;

pub use content::Content;
pub(crate) use content::validate_bools;
pub use content_digest::{DigestAlgorithm, NoContentDigest};
#[cfg(feature = "write")]
pub(crate) use hasher::Sum;
pub use hasher::{Mismatch, Verified};
pub use shard::{
    BoundShard, Candidate, ComponentSource, Files, Find, Locate, ShardReader, Shards,
    VerifiedBlocks,
};

use alloc::vec::Vec;
use core::ops::Range;

use crate::error::{Error, Misuse, OutOfMemory, or_refused};
use crate::num::u64_from_usize;

/// Where the bytes of a file come from, at positions: a slice, a file, flash, an object store.
pub trait ReadAt {
    /// Why bytes could not be read.
    type Error;

    /// Fills `buffer` with the bytes of the file from `offset` on.
    ///
    /// # Errors
    /// Whatever keeps it from filling all of `buffer`.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Self::Error>;

    /// The bytes themselves, where all of them are in memory: they are then not copied.
    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let _ = (offset, length);
        None
    }

    /// Appends the bytes of a range to `bytes`. Memory grows as they come, for a source may have fewer than it is said
    /// to have: it is at most 1 MiB more than twice what has come, and in the end exactly what the range has.
    ///
    /// # Errors
    /// Whatever keeps the source from giving all of them; [`OutOfMemory`].
    fn append_range(
        &self,
        range: Range<u64>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), ReadError<Self::Error>> {
        let (memory, start) = (Error::from(OutOfMemory), bytes.len());
        let length = usize::try_from(range.end.saturating_sub(range.start)).map_err(|_| memory)?;
        let end = start.checked_add(length).ok_or(memory)?;
        while bytes.len() < end {
            let filled = bytes.len();
            let come = filled.saturating_sub(start);
            extend(bytes, filled.saturating_add(come.max(UNSEEN)).min(end))?;
            let at = range.start.saturating_add(u64_from_usize(come));
            let room = bytes.get_mut(filled..).ok_or(Error::internal())?;
            self.read_at(at, room).map_err(ReadError::Source)?;
        }
        Ok(())
    }
}

/// Bytes for which memory is taken before any has come.
const UNSEEN: usize = 1 << 20;

impl ReadAt for [u8] {
    type Error = Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let bytes = self.bytes_at(offset, buffer.len());
        buffer.copy_from_slice(bytes.ok_or(Error::misuse(Misuse::Size))?);
        Ok(())
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.get(usize::try_from(offset).ok()?..)?.get(..length)
    }
}

impl ReadAt for Vec<u8> {
    type Error = Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.as_slice().read_at(offset, buffer)
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.as_slice().bytes_at(offset, length)
    }
}

impl<R: ReadAt + ?Sized> ReadAt for &R {
    type Error = R::Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), R::Error> {
        (**self).read_at(offset, buffer)
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        (**self).bytes_at(offset, length)
    }
}

/// Why content could not be read: its source failed, or it was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError<E> {
    /// The source could not give the bytes.
    Source(E),
    /// The content breaks a rule.
    Refused(Error),
}

or_refused! { ReadError, Source }

impl<E> ReadError<ReadError<E>> {
    /// The error of a source that reads from another one, which has failed itself or was refused.
    pub fn flatten(self) -> ReadError<E> {
        match self {
            Self::Source(error) => error,
            Self::Refused(error) => ReadError::Refused(error),
        }
    }
}

impl<E: core::fmt::Display> core::fmt::Display for ReadError<E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Source(error) => write!(f, "the bytes of the file could not be read: {error}"),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

/// The error of a file so far: the first one that makes it invalid, or else the first that makes it unsupported,
/// which does not keep the rest from being validated.
#[derive(Debug, Default)]
pub(crate) struct Deferred(Option<Error>);

impl Deferred {
    /// Keeps an error, if there is one and it says more than the one before.
    pub(crate) fn note(&mut self, error: impl Into<Option<Error>>) {
        let Some(error) = error.into() else { return };
        if self.0.is_none_or(|first| first.is_unsupported() && !error.is_unsupported()) {
            self.0 = Some(error);
        }
    }

    /// Keeps the error of what is not supported; any other one ends the work.
    pub(crate) fn pass<T, E>(
        &mut self,
        result: Result<T, impl Into<ReadError<E>>>,
    ) -> Result<Option<T>, ReadError<E>> {
        result.map(Some).or_else(|error| match error.into() {
            ReadError::Refused(error) if error.is_unsupported() => {
                self.note(error);
                Ok(None)
            }
            error => Err(error),
        })
    }

    /// The value, or the error that was kept.
    pub(crate) fn finish<T, E>(self, value: T) -> Result<T, ReadError<E>> {
        self.0.map_or(Ok(value), |error| Err(error.into()))
    }
}

/// The number of threads that have nothing to do, of those that the caller may have.
pub(crate) type Idle = core::sync::atomic::AtomicUsize;

/// Makes `buffer` that long; what is in it will be overwritten.
fn extend(buffer: &mut Vec<u8>, length: usize) -> Result<(), Error> {
    let more = length.saturating_sub(buffer.len());
    buffer.try_reserve_exact(more).map_err(|_| Error::from(OutOfMemory))?;
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
