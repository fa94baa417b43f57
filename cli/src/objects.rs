//! Work on all objects of a file: several at a time where there are cores and it is worth it,
//! with the outcome that one after another would have.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use zten::{Limits, Object, ReadError, verify::Verifier};

use crate::file::{FileWithShards, stored};
use crate::threads;

/// Below so many stored bytes, threads are not worth their start.
pub(crate) const WORTH_IT: u64 = 1 << 20;

/// Why content could not be read, or was refused.
pub(crate) type Failure = ReadError<io::Error>;

/// How to work on a file.
pub(crate) struct Work<'a, J> {
    pub(crate) archive: &'a FileWithShards,
    pub(crate) limits: &'a Limits,
    /// Whether a failure lets the work go on with the next object.
    pub(crate) passes: fn(&Failure) -> bool,
    /// What is done with each object.
    pub(crate) validate: J,
}

impl<T, J> Work<'_, J>
where
    T: Send,
    J: Fn(&mut Verifier, &Object<'_>) -> Result<T, Failure> + Sync,
{
    /// What came of each object, in the order of the manifest; nothing after the first failure
    /// that does not let the work go on.
    pub(crate) fn run(&self) -> Vec<Result<T, Failure>> {
        // What comes over the network is fetched in the order of the manifest.
        let is_local = self.archive.source().is_local();
        if !is_local || stored(self.archive) < WORTH_IT || threads::count() < 2 {
            return self.one_by_one();
        }
        // Each object has a verifier of its own. Should all together go beyond the limit on a
        // whole file, the order of the manifest decides which is to blame.
        self.together().unwrap_or_else(|| self.one_by_one())
    }

    fn verifier(&self) -> Verifier {
        Verifier::new(self.archive.all_bytes(), self.limits)
    }

    fn one_by_one(&self) -> Vec<Result<T, Failure>> {
        let mut verifier = self.verifier();
        let mut results = Vec::new();
        for object in self.archive.objects() {
            let result = (self.validate)(&mut verifier, &object);
            let stop = matches!(&result, Err(failure) if !(self.passes)(failure));
            results.push(result);
            if stop {
                break;
            }
        }
        results
    }

    /// None where the objects together decode to more than they may.
    fn together(&self) -> Option<Vec<Result<T, Failure>>> {
        let most = self.limits.decoded_total(self.archive.all_bytes());
        let (decoded, last) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        let one = |ordinal: u32| {
            if u64::from(ordinal) > last.load(Ordering::Relaxed)
                || decoded.load(Ordering::Relaxed) > most
            {
                return None;
            }
            let mut verifier = self.verifier();
            let result = (self.validate)(&mut verifier, &self.archive.object(ordinal)?);
            // Two threads cannot bring this near to wrapping: each adds what it has decoded.
            decoded.fetch_add(verifier.decoded(), Ordering::Relaxed);
            if matches!(&result, Err(failure) if !(self.passes)(failure)) {
                last.fetch_min(ordinal.into(), Ordering::Relaxed);
            }
            Some(result)
        };
        let results: Vec<_> = (0..self.archive.len()).into_par_iter().map(one).collect();
        if decoded.into_inner() > most {
            return None;
        }
        // Objects up to the first that stopped the work have all been validated.
        let validated = usize::try_from(last.into_inner()).unwrap_or(usize::MAX).saturating_add(1);
        Some(results.into_iter().take(validated).flatten().collect())
    }
}
