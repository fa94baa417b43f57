//! Checksums that several components share: whether they have been verified since the file was opened.
//!
//! A storage of PyTorch has one checksum, and tensors are parts of it. Whoever reads a whole tensor has the storage
//! verified first; the outcome is kept here, so that the second tensor costs no second pass over it.

use alloc::vec::Vec;
#[cfg(feature = "std")]
use std::sync::{Mutex, PoisonError};

use crate::cbor::BytesLeft;
use crate::error::{Error, OutOfMemory};
use crate::num::sort_by;

/// The name of the shard that a range is in, or [`BytesLeft::END`]; where the range begins, and where it ends.
pub(crate) type Place = (BytesLeft, u64, u64);

/// The ranges of an open file that have checksums which components share, in the order of their files and offsets.
#[derive(Debug, Default)]
pub(crate) struct SharedSums(Vec<SharedSum>);

/// The checksum of a range of a file.
#[derive(Debug)]
pub(crate) struct SharedSum {
    place: Place,
    /// Whoever computes the checksum holds the lock, so that another thread waits instead of reading the range as well.
    #[cfg(feature = "std")]
    outcome: Mutex<Outcome>,
}

/// The outcome of a verification.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// The checksum has not been computed yet.
    Pending,
    Right,
    /// The checksum that was computed differs from the stored one.
    Wrong(u32),
}

impl SharedSums {
    /// Prepares to keep the outcome for the ranges at those places, each of which is kept once.
    pub(crate) fn new(mut places: Vec<Place>) -> Result<Self, OutOfMemory> {
        sort_by(&mut places, Ord::cmp);
        places.dedup();
        let mut sums = Vec::new();
        sums.try_reserve_exact(places.len()).map_err(|_| OutOfMemory)?;
        sums.extend(places.into_iter().map(|place| SharedSum {
            place,
            #[cfg(feature = "std")]
            outcome: Mutex::new(Outcome::Pending),
        }));
        Ok(Self(sums))
    }

    /// Bytes of heap.
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity().saturating_mul(size_of::<SharedSum>())
    }

    /// Finds the checksum of the range there.
    pub(super) fn find(&self, place: Place) -> Option<&SharedSum> {
        let found = self.0.binary_search_by(|sum| sum.place.cmp(&place));
        self.0.get(found.ok()?)
    }
}

impl SharedSum {
    /// Returns the checksum of the range if it is wrong, which `compute` finds out the first time. Errors are not kept: what
    /// keeps the range from being read may be otherwise next time.
    #[cfg(feature = "std")]
    pub(crate) fn verify_once(
        &self,
        compute: impl FnOnce() -> Result<Option<u32>, Error>,
    ) -> Result<Option<u32>, Error> {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        match *outcome {
            Outcome::Pending => {}
            Outcome::Right => return Ok(None),
            Outcome::Wrong(computed) => return Ok(Some(computed)),
        }
        let wrong = compute()?;
        *outcome = wrong.map_or(Outcome::Right, Outcome::Wrong);
        Ok(wrong)
    }

    /// Computes the checksum each time: without `std` nothing is kept.
    #[cfg(not(feature = "std"))]
    #[expect(clippy::unused_self, reason = "with `std` it is used")]
    pub(crate) fn verify_once(
        &self,
        compute: impl FnOnce() -> Result<Option<u32>, Error>,
    ) -> Result<Option<u32>, Error> {
        compute()
    }

    /// Keeps that the checksum is right, which whoever has read all of the range knows.
    pub(crate) fn set_verified(&self) {
        #[cfg(feature = "std")]
        if let Ok(mut outcome) = self.outcome.try_lock()
            && matches!(*outcome, Outcome::Pending)
        {
            *outcome = Outcome::Right;
        }
    }
}
