//! Reading the content of a component from any source: in chunks that are verified as they are read, in memory that
//! does not depend on the size of the component.

mod content;
mod content_digest;
#[cfg(feature = "deflate")]
mod deflate;
#[cfg(feature = "deflate")]
mod latin1;
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
#[cfg(feature = "std")]
pub(crate) use shard::OwnShards;
pub use shard::{BoundShard, Candidate, Files, Find, Shards};

use alloc::vec::Vec;

use crate::error::{BareError, Error, OutOfMemory, Rank};

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

/// Reserves room in `items` for `needed` items in all. Capacity doubles until it reaches `most` items.
pub(crate) fn grow<T>(items: &mut Vec<T>, needed: usize, most: usize) -> Result<(), OutOfMemory> {
    if needed <= items.capacity() {
        return Ok(());
    }
    let target = items.capacity().saturating_mul(2).min(most).max(needed);
    items.try_reserve_exact(target.saturating_sub(items.len())).map_err(|_| OutOfMemory)
}
