//! The file that is checked and its shards, and functions that do work on each of its objects, one after another or on several
//! threads.

#[cfg(feature = "std")]
use alloc::vec::Vec;
#[cfg(feature = "std")]
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(feature = "std")]
use std::sync::OnceLock;

use super::Verifier;
use crate::codec::Files;
#[cfg(feature = "std")]
use crate::error::{Error, OutOfMemory};
#[cfg(feature = "std")]
use crate::manifest::Tensor;
use crate::manifest::{Manifest, ManifestRef};
#[cfg(feature = "std")]
use crate::num::usize_from_u32;
use crate::read_at::{ReadAt, Source};

/// A file whose content is checked: its manifest, and the sources of its bytes and of its shards.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The manifest, whose tensors are read from `source`.
    pub(super) manifest: ManifestRef<'a>,
    /// The source of the bytes of components, which are in the file itself or in a shard.
    pub(super) source: &'a dyn Source,
    /// The file itself, without shards.
    pub(super) root: &'a dyn ReadAt,
}

impl<'a> Subject<'a> {
    /// Creates the subject of an archive with `manifest`, whose components are read from `source`. `root` is the file
    /// without its shards.
    pub(crate) fn of<S: Source, R: ReadAt>(
        manifest: ManifestRef<'a>,
        source: &'a S,
        root: &'a R,
    ) -> Self {
        Self { manifest, source, root }
    }

    /// Creates the subject of a file whose shards have not been looked for, and whose bytes are read from `root`.
    pub fn alone<R: ReadAt>(manifest: &'a Manifest<impl AsRef<[u8]>>, root: &'a R) -> Self {
        Self { manifest: manifest.parts().read_from(root), source: root, root }
    }

    /// Creates the subject of a file whose shards have been looked for and [verified](crate::shards::Shards::verify).
    /// The check reports the outcome of verifying them, and [`Misuse::UnverifiedShard`] if a digest was not compared.
    ///
    /// [`Misuse::UnverifiedShard`]: crate::error::Misuse::UnverifiedShard
    pub fn with_shards<R: ReadAt, S: ReadAt>(
        manifest: &'a Manifest<impl AsRef<[u8]>>,
        files: &'a Files<'_, '_, R, S>,
    ) -> Self {
        Self { manifest: manifest.parts().read_from(files), source: files, root: files.root }
    }

    /// Creates a verifier for the file and its shards.
    pub(super) fn verifier(&self) -> Verifier {
        Verifier::of(self.manifest).with_shard_bytes(self.source.shard_bytes())
    }

    /// Does `work` on each object, on `threads` if they are given, and returns the results in the order of the file. The last
    /// result is the first error for which `ends` returns true, if there is such an error. The results do not depend on the
    /// threads. `work` gets a verifier, with which it reads the object.
    ///
    /// # Errors
    /// [`OutOfMemory`] for the list of results.
    #[cfg(feature = "std")]
    pub fn results<T: Send + Sync>(
        &self,
        threads: Option<&dyn Threads>,
        work: impl Fn(&mut Verifier, &Tensor<'_>) -> Result<T, Error> + Sync,
        ends: impl Fn(&Error) -> bool + Sync,
    ) -> Result<Vec<Result<T, Error>>, OutOfMemory> {
        let mut results = Vec::new();
        results.try_reserve_exact(usize_from_u32(self.manifest.len())).map_err(|_| OutOfMemory)?;
        if let Some(done) = threads.and_then(|threads| self.in_parallel(threads, &work, &ends)) {
            results.extend(done.into_iter().filter_map(OnceLock::into_inner));
            return Ok(results);
        }
        let mut verifier = self.verifier();
        for object in self.manifest.tensors() {
            let result = work(&mut verifier, &object);
            let is_last = result.as_ref().is_err_and(&ends);
            results.push(result);
            if is_last {
                break;
            }
        }
        Ok(results)
    }

    /// Does `work` on each object on `threads`, and returns the results in the order of the file, up to the first error for
    /// which `ends` returns true. Returns `None` if one object after another could have another outcome: the objects
    /// together decode to more bytes than the limit on the whole file, `threads` has skipped an object, or there is no memory for
    /// the results.
    #[cfg(feature = "std")]
    pub(super) fn in_parallel<T: Send + Sync>(
        &self,
        threads: &dyn Threads,
        work: &(impl Fn(&mut Verifier, &Tensor<'_>) -> Result<T, Error> + Sync),
        ends: &(impl Fn(&Error) -> bool + Sync),
    ) -> Option<Slots<T>> {
        let (manifest, verifier) = (self.manifest, self.verifier());
        let mut slots = Vec::new();
        slots.try_reserve_exact(usize_from_u32(manifest.len())).ok()?;
        slots.resize_with(usize_from_u32(manifest.len()), OnceLock::new);
        let (decoded, last) = (AtomicU64::new(0), AtomicU32::new(u32::MAX));
        threads.run(manifest.len(), &|ordinal| {
            let is_over = decoded.load(Ordering::Relaxed) > verifier.total;
            if is_over || ordinal > last.load(Ordering::Relaxed) {
                return;
            }
            let slot: Option<&OnceLock<_>> = slots.get(usize_from_u32(ordinal));
            let (Some(slot), Some(object)) = (slot, manifest.object(ordinal)) else { return };
            // Each object has a verifier of its own, which counts only the bytes that were decoded for this object. `decoded` is
            // the sum for all objects, which is compared with the limit.
            let mut verifier = verifier.clone();
            let result = work(&mut verifier, &object);
            // The sum cannot wrap: it counts bytes that were decoded, not bytes that a file claims.
            decoded.fetch_add(verifier.decoded(), Ordering::Relaxed);
            if result.as_ref().is_err_and(ends) {
                last.fetch_min(ordinal, Ordering::Relaxed);
            }
            // `set` fails if `threads` has called this function twice with one ordinal. The first result is kept.
            let _ = slot.set(result);
        });
        if decoded.into_inner() > verifier.total {
            return None;
        }
        // `last` only decreases, so every object up to its final value has been done.
        slots.truncate(usize_from_u32(last.into_inner()).saturating_add(1));
        let is_complete = slots.iter().all(|slot| slot.get().is_some());
        is_complete.then_some(slots)
    }
}

/// The results of objects in the order of the file. Each is filled in by one of several threads.
#[cfg(feature = "std")]
pub(super) type Slots<T> = Vec<OnceLock<Result<T, Error>>>;

/// Threads of the caller, on which several objects are checked at once. zten starts no threads for a check, because a
/// confined process may not be allowed to.
#[cfg(feature = "std")]
pub trait Threads {
    /// Calls `work` once with each number below `count`, on any thread and in any order, and returns when all calls
    /// have returned.
    fn run(&self, count: u32, work: &(dyn Fn(u32) + Sync));
}
