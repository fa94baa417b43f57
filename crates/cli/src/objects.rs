//! Work on all objects of a file: several at a time where there are cores and it is worth it,
//! with the outcome that one after another would have.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use zten::{Error, Tensor, verify::Verifier};

use crate::file::stored;
use crate::sources::Sources;
use crate::threads;

/// Below so many stored bytes, threads are not worth their start.
pub(crate) const WORTH_IT: u64 = 1 << 20;

/// Work on the objects of a file.
pub(crate) struct Work<'a, J> {
    pub(crate) files: &'a Sources<'a>,
    /// Returns whether a failure lets the work go on with the next object.
    pub(crate) passes: fn(&Error) -> bool,
    /// The function that is called for each object.
    pub(crate) validate: J,
}

impl<T, J> Work<'_, J>
where
    T: Send,
    J: Fn(&mut Verifier, &Tensor<'_>) -> Result<T, Error> + Sync,
{
    /// Returns the result of each object, in the order of the manifest; nothing after the first failure
    /// that does not let the work go on.
    pub(crate) fn run(&self) -> Vec<Result<T, Error>> {
        // What comes over the network is fetched in the order of the manifest.
        let archive = self.files.archive;
        let is_local = archive.source().is_local();
        if !is_local || stored(archive.manifest()) < WORTH_IT || threads::count() < 2 {
            return self.one_by_one();
        }
        // Each object has a verifier of its own. Should all together go beyond the limit on a
        // whole file, the order of the manifest decides which is to blame.
        self.in_parallel().unwrap_or_else(|| self.one_by_one())
    }

    fn one_by_one(&self) -> Vec<Result<T, Error>> {
        let files = self.files.all();
        let mut verifier = self.files.archive.verifier();
        let mut results = Vec::new();
        for object in self.files.archive.tensors() {
            let result = (self.validate)(&mut verifier, &object.read_from(&files));
            let stop = matches!(&result, Err(failure) if !(self.passes)(failure));
            results.push(result);
            if stop {
                break;
            }
        }
        results
    }

    /// None where the objects together decode to more than they may.
    fn in_parallel(&self) -> Option<Vec<Result<T, Error>>> {
        let (archive, files) = (self.files.archive, self.files.all());
        let most = archive
            .limits()
            .decoded_total(archive.file_len().saturating_add(archive.shard_bytes()));
        let (decoded, last) = (AtomicU64::new(0), AtomicUsize::new(usize::MAX));
        let one = |ordinal: usize| {
            if ordinal > last.load(Ordering::Relaxed) || decoded.load(Ordering::Relaxed) > most {
                return None;
            }
            let (object, mut verifier) = (archive.tensors().nth(ordinal)?, archive.verifier());
            let result = (self.validate)(&mut verifier, &object.read_from(&files));
            // Two threads cannot bring this near to wrapping: each adds what it has decoded.
            decoded.fetch_add(verifier.decoded(), Ordering::Relaxed);
            if matches!(&result, Err(failure) if !(self.passes)(failure)) {
                last.fetch_min(ordinal, Ordering::Relaxed);
            }
            Some(result)
        };
        let results: Vec<_> = (0..archive.len()).into_par_iter().map(one).collect();
        if decoded.into_inner() > most {
            return None;
        }
        // Objects up to the first that stopped the work have all been validated.
        let validated = last.into_inner().saturating_add(1);
        Some(results.into_iter().take(validated).flatten().collect())
    }
}
