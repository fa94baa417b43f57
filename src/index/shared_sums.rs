//! The outcomes of verifying checksums that several components share.
//!
//! A storage of PyTorch has one checksum, and tensors are parts of the storage. Reading a whole tensor verifies its
//! storage first. The outcome is kept here until the file is closed, so that reading a second tensor does not read the
//! storage again.

use alloc::vec::Vec;
#[cfg(feature = "std")]
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, OutOfMemory};
use crate::num::sort_by;

/// A range of a file: the ordinal of the file, as in [`ComponentRecord::file`](super::ComponentRecord::file), the start
/// and the end.
pub(crate) type FileRange = (u32, u64, u64);

/// The ranges of an open file whose checksums several components share, sorted.
#[derive(Debug, Default)]
pub(crate) struct SharedSums(Vec<SharedSum>);

/// A range of a file, and the outcome of verifying its checksum.
#[derive(Debug)]
pub(crate) struct SharedSum {
    place: FileRange,
    /// The thread that computes the checksum holds the lock, so that other threads wait instead of reading the range as
    /// well.
    #[cfg(feature = "std")]
    outcome: Mutex<Outcome>,
}

/// The outcome of verifying a checksum.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// The checksum has not been computed yet.
    Pending,
    Right,
    /// The computed checksum, which differs from the stored one.
    Wrong(u32),
}

impl SharedSums {
    /// Creates a pending outcome for each of `places`. Equal places get one outcome.
    pub(crate) fn new(mut places: Vec<FileRange>) -> Result<Self, OutOfMemory> {
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

    /// Returns the number of bytes that the ranges and their outcomes take on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.0.capacity().saturating_mul(size_of::<SharedSum>())
    }

    /// Returns the outcome for the range `place`, or `None` if its checksum is not shared.
    pub(crate) fn find(&self, place: FileRange) -> Option<&SharedSum> {
        let found = self.0.binary_search_by(|sum| sum.place.cmp(&place));
        self.0.get(found.ok()?)
    }
}

impl SharedSum {
    /// Returns the computed checksum if it is wrong, or `None` if it is right. `compute` is called until it has
    /// succeeded once. Its errors are not kept, because a range that cannot be read now may be readable next time.
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

    /// Calls `compute` each time: without `std` there is no lock, and the outcome is not kept.
    #[cfg(not(feature = "std"))]
    #[expect(clippy::unused_self, reason = "with `std` it is used")]
    pub(crate) fn verify_once(
        &self,
        compute: impl FnOnce() -> Result<Option<u32>, Error>,
    ) -> Result<Option<u32>, Error> {
        compute()
    }

    /// Marks the checksum as right. The caller has read all of the range and compared its checksum.
    pub(crate) fn set_verified(&self) {
        #[cfg(feature = "std")]
        if let Ok(mut outcome) = self.outcome.try_lock()
            && matches!(*outcome, Outcome::Pending)
        {
            *outcome = Outcome::Right;
        }
    }
}
