//! Validation of all objects of a file, in parallel if the file is large and local, with the same outcome as one after another.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use zten::{Error, Tensor, verify::Verifier};

use crate::file::stored;
use crate::sources::Sources;
use crate::threads;

/// The stored bytes of a file from which several threads are faster than one, in spite of their start.
pub(crate) const WORTH_IT: u64 = 1 << 20;

/// Work on the objects of a file.
pub(crate) struct Work<'a, J> {
    pub(crate) files: &'a Sources<'a>,
    /// Tells whether the work continues with the next object after an error.
    pub(crate) passes: fn(&Error) -> bool,
    /// Validates one object.
    pub(crate) validate: J,
}

impl<T, J> Work<'_, J>
where
    T: Send,
    J: Fn(&mut Verifier, &Tensor<'_>) -> Result<T, Error> + Sync,
{
    /// Returns the result of each object in the order of the manifest, up to the first error after which the work does not
    /// continue.
    pub(crate) fn run(&self) -> Vec<Result<T, Error>> {
        // A remote file is fetched ahead in the order of the manifest, so its objects are read in that order.
        let archive = self.files.archive;
        let is_local = archive.source().is_local();
        if !is_local || stored(archive.manifest()) < WORTH_IT || threads::count() < 2 {
            return self.one_by_one();
        }
        // In parallel, each object has a verifier of its own, which does not know what the others have decoded. If all together
        // exceed the limit on a file, the objects are read again in order, to report the object that exceeds it.
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

    /// Works on the objects in parallel. Returns `None` if they decode to more bytes together than the limit allows.
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
            // The sum cannot wrap: it counts bytes that were decoded, not bytes that a file claims.
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
        // `last` only decreases, so every object up to its final value has been validated.
        let validated = last.into_inner().saturating_add(1);
        Some(results.into_iter().take(validated).flatten().collect())
    }
}
