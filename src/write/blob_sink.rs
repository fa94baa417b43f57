//! Writing blobs to a file, one after another: they are hashed, compressed and stored.

use alloc::vec::Vec;
use core::cmp::Ordering;

use sha2::{Digest as _, Sha256};

use super::compress::{Encoder, Level};
use super::declare::{Identity, StoredBlob};
#[cfg(feature = "std")]
use super::settings::Checksum;
use super::settings::Target;
use super::sink::Sink;
use crate::digest::Sum;
use crate::error::{BareError, Error, Misuse, OutOfMemory};
use crate::num::u64_from_usize;

/// A file that is being written, up to the end of its blobs.
pub(super) struct BlobSink<S> {
    sink: S,
    /// The offset of the next byte in the file.
    pub(super) position: u64,
    /// Whether the sink has failed. The bytes that it holds are then unknown, and cannot become a file.
    failed: bool,
    pub(super) target: Target,
    /// The digest of all written bytes, if the caller needs it.
    sum: Option<Sum>,
    /// The blobs that have been written, if components share them.
    blobs: Runs<Shared>,
    blob: Current,
}

/// The blob that is being written. Hashers and the encoder are large, so they are reused from one blob to the next.
#[derive(Default)]
struct Current {
    offset: u64,
    /// The number of decoded bytes that the caller has announced for the blob.
    decoded: u64,
    compressed: bool,
    encoder: Option<Encoder>,
    /// The digest of the stored or of the decoded bytes, whichever the generation requires.
    digest: Option<Sum>,
    /// The SHA-256 of the decoded bytes that have been written so far; `None` if components do not share blobs.
    identity: Option<Sha256>,
    /// The SHA-256 that the caller has announced for all decoded bytes of the blob.
    known_sha256: Option<Identity>,
    /// An earlier blob that holds the same bytes, if one was found. The bytes of this blob are then not stored.
    shared: Option<StoredBlob>,
}

impl<S: core::fmt::Debug> core::fmt::Debug for BlobSink<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut file = f.debug_struct("BlobSink");
        file.field("sink", &self.sink).field("position", &self.position).finish_non_exhaustive()
    }
}

/// The least number of bytes for which a thread is started that hashes them while they are written. Starting a thread takes
/// about a tenth of the time that hashing this number of bytes takes.
#[cfg(feature = "std")]
const HASHED_ASIDE: usize = 256 << 10;

/// A written blob, with the SHA-256 and the number of its decoded bytes as its key. Components with equal bytes share a
/// blob.
type Shared = ((Identity, u64), StoredBlob);

impl<S: Sink> BlobSink<S> {
    /// Begins a new file, whose header and the padding before the first blob are written to `sink`.
    pub(super) fn new(sink: S, target: Target, sum: Option<Sum>) -> Result<Self, Error> {
        let mut file = Self { sum, ..Self::at(sink, target, 0) };
        file.put(&target.writing.container.header())?;
        file.pad()?;
        Ok(file)
    }

    /// Continues a file whose bytes before the offset `position` exist already.
    pub(super) fn at(sink: S, target: Target, position: u64) -> Self {
        let (blobs, blob) = (Runs::default(), Current::default());
        Self { sink, position, failed: false, target, sum: None, blobs, blob }
    }

    /// Begins a blob of `bytes` decoded bytes, which are compressed if `level` is given, and whose SHA-256 must be `known_sha256`
    /// if that is given and components share blobs. An earlier blob with this SHA-256 is then used instead. Allocates the memory
    /// for compression.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::error::OutOfMemory).
    pub(super) fn begin_blob(
        &mut self,
        bytes: u64,
        level: Option<Level>,
        known_sha256: Option<&Identity>,
    ) -> Result<(), BareError> {
        let (writing, blob) = (self.target.writing, &mut self.blob);
        (blob.offset, blob.decoded) = (self.position, bytes);
        blob.compressed = level.is_some();
        blob.encoder = None;
        if let Some(level) = level {
            blob.encoder = Some(Encoder::new(level, bytes, writing.compression)?);
        }
        // If no digest is computed, the large state of a hasher is not copied either.
        blob.digest = None;
        if let Some(sum) = self.target.checksum.sum() {
            blob.digest = Some(sum);
        }
        blob.identity = None;
        if self.target.sharing && bytes > 0 {
            blob.identity = Some(Sha256::new());
        }
        blob.known_sha256 = known_sha256.copied();
        blob.shared = blob.known_sha256.and_then(|sha256| find(&self.blobs, sha256, bytes));
        Ok(())
    }

    /// Adds decoded `bytes` to the blob.
    pub(super) fn write_blob(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let blob = &mut self.blob;
        if let Some(identity) = &mut blob.identity {
            identity.update(bytes);
        }
        let of_decoded = self.target.writing.dialect.facts.digests_decoded;
        if let Some(digest) = &mut blob.digest
            && (of_decoded || blob.encoder.is_none())
        {
            #[cfg(feature = "std")]
            if self.target.hashing_thread
                && self.target.checksum != Checksum::Xxh3
                && bytes.len() >= HASHED_ASIDE
                && blob.encoder.is_none()
                && blob.shared.is_none()
            {
                return self.put_while_hashing(bytes);
            }
            digest.update(bytes);
        }
        if blob.shared.is_some() {
            return Ok(());
        }
        // The encoder is taken out of `self`, because it writes to `self` through the closure.
        let Some(mut encoder) = blob.encoder.take() else { return self.put(bytes) };
        encoder.write(bytes, &mut |stored: &[u8]| self.store(stored))?;
        self.blob.encoder = Some(encoder);
        Ok(())
    }

    /// Stores `bytes` while another thread adds them to the digest: computing a sha256 takes twice as long as writing to
    /// the system's cache.
    #[cfg(feature = "std")]
    fn put_while_hashing(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Some(mut digest) = self.blob.digest.take() else { return self.put(bytes) };
        let (is_hashed, written) = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new();
            let hashing = thread.spawn_scoped(scope, || digest.update(bytes));
            (hashing.is_ok(), self.put(bytes))
        });
        if !is_hashed {
            digest.update(bytes);
        }
        self.blob.digest = Some(digest);
        written
    }

    /// Stores compressed `bytes`.
    fn store(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if let Some(digest) = &mut self.blob.digest
            && !self.target.writing.dialect.facts.digests_decoded
        {
            digest.update(bytes);
        }
        self.put(bytes)
    }

    /// Returns whether the bytes of the blob are only stored: neither hashed nor compressed.
    pub(super) fn only_stores(&self) -> bool {
        let Current { encoder, digest, identity, .. } = &self.blob;
        encoder.is_none() && digest.is_none() && identity.is_none() && self.sum.is_none()
    }

    /// Ends the blob, and returns what [`note_blob`](Self::note_blob) returns.
    pub(super) fn end_blob(&mut self) -> Result<StoredBlob, Error> {
        if let Some(encoder) = self.blob.encoder.take()
            && self.blob.shared.is_none()
        {
            encoder.finish(&mut |stored: &[u8]| self.store(stored))?;
        }
        self.alive()?;
        let blob = self.note_blob()?;
        self.pad()?;
        Ok(blob)
    }

    /// Returns the blob that holds the bytes: this blob, or an identical blob that was written before. All bytes must
    /// have been stored.
    ///
    /// # Errors
    /// [`Misuse::Announced`]; [`OutOfMemory`](crate::error::OutOfMemory).
    pub(super) fn note_blob(&mut self) -> Result<StoredBlob, BareError> {
        let Current { offset, compressed, decoded, known_sha256, shared, .. } = self.blob;
        let length = self.position.saturating_sub(offset);
        let digest = self.blob.digest.as_ref().map(Sum::finish);
        let own = StoredBlob { offset, length, compressed, digest };
        if let Some(identity) = self.blob.identity.take() {
            let identity = identity.finalize().into();
            if known_sha256.is_some_and(|known_sha256| known_sha256 != identity) {
                return Err(BareError::misuse(Misuse::Announced));
            }
            if shared.is_none() && find(&self.blobs, identity, decoded).is_none() {
                self.blobs.add(((identity, decoded), own), |(a, _), (b, _)| a.cmp(b))?;
            } else if shared.is_none() && self.target.canonical {
                // The bytes were not announced, and have now been stored twice.
                return Err(BareError::misuse(Misuse::Announced));
            }
        }
        Ok(shared.map_or(own, |blob| StoredBlob { digest, ..blob }))
    }

    /// Fails if the sink has failed before.
    fn alive(&self) -> Result<(), BareError> {
        if self.failed { Err(BareError::misuse(Misuse::Aborted)) } else { Ok(()) }
    }

    /// Stores bytes that belong to no blob, or that have been hashed before.
    ///
    /// # Errors
    /// The error of the sink; [`Misuse::Aborted`] in later calls.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.alive()?;
        let position = self.position.checked_add(u64_from_usize(bytes.len()));
        self.position = position.ok_or(BareError::misuse(Misuse::Length))?;
        if let Some(sum) = &mut self.sum {
            sum.update(bytes);
        }
        let written = self.sink.write(bytes);
        self.failed = written.is_err();
        written
    }

    /// Writes zeros up to the next aligned offset.
    pub(super) fn pad(&mut self) -> Result<(), Error> {
        const ZEROS: [u8; 4096] = [0; 4096];
        let next = self.target.aligned(self.position).ok_or(BareError::misuse(Misuse::Length))?;
        while self.position < next {
            let left = next.saturating_sub(self.position);
            let length = usize::try_from(left).unwrap_or(ZEROS.len()).min(ZEROS.len());
            self.put(ZEROS.get(..length).ok_or(BareError::internal())?)?;
        }
        Ok(())
    }

    /// Finishes the sink, and returns its output and the digest of all written bytes.
    pub(super) fn end(self) -> Result<(S::Output, Option<Sum>), Error> {
        Ok((self.sink.finish()?, self.sum))
    }
}

impl<S> BlobSink<S> {
    /// Looks for a blob that holds the same bytes, if components share blobs and `bytes` are all bytes of the blob. An
    /// announced digest has been looked up before.
    pub(super) fn look_up(&mut self, bytes: &[u8]) {
        let Current { decoded, identity, known_sha256, shared, .. } = &mut self.blob;
        if identity.is_none() || known_sha256.is_some() || u64_from_usize(bytes.len()) != *decoded {
            return;
        }
        *shared = find(&self.blobs, Sha256::digest(bytes).into(), *decoded);
    }
}

/// Returns the blob with this SHA-256 and number of decoded bytes, if there is one. Blobs are compared by SHA-256 and not by
/// the digest in the file, because anyone can construct two contents with the same XXH3.
fn find(blobs: &Runs<Shared>, identity: Identity, decoded: u64) -> Option<StoredBlob> {
    blobs.find(|(key, _)| key.cmp(&(identity, decoded))).map(|(_, blob)| blob)
}

/// The largest number of items in `Runs::recent`, which are not sorted yet.
const RECENT: usize = 32;

/// A set that grows by one item at a time. The last items are unsorted; items before them are in sorted runs, each
/// longer than the run after it, so that there are few runs whatever the items are. An attacker could choose items
/// that collide in a hash table.
#[derive(Debug)]
struct Runs<T> {
    recent: Vec<T>,
    sorted: Vec<Vec<T>>,
}

impl<T> Default for Runs<T> {
    fn default() -> Self {
        Self { recent: Vec::new(), sorted: Vec::new() }
    }
}

impl<T: Copy> Runs<T> {
    /// Returns the item for which `order` returns `Equal`, or `None` if there is no such item.
    fn find(&self, order: impl Fn(&T) -> Ordering) -> Option<T> {
        let recent = self.recent.iter().find(|item| order(item).is_eq());
        let sorted = || {
            let mut runs = self.sorted.iter();
            runs.find_map(|run| run.get(run.binary_search_by(&order).ok()?))
        };
        recent.or_else(sorted).copied()
    }

    /// Adds an item that is not in the set.
    fn add(&mut self, item: T, order: impl Fn(&T, &T) -> Ordering) -> Result<(), OutOfMemory> {
        if self.recent.len() >= RECENT {
            let mut run = core::mem::take(&mut self.recent);
            while let Some(mut longer) = self.sorted.pop_if(|last| last.len() <= run.len()) {
                longer.try_reserve(run.len()).map_err(|_| OutOfMemory)?;
                longer.extend_from_slice(&run);
                run = longer;
            }
            run.sort_unstable_by(order);
            self.sorted.try_reserve(1).map_err(|_| OutOfMemory)?;
            self.sorted.push(run);
        }
        self.recent.try_reserve(1).map_err(|_| OutOfMemory)?;
        self.recent.push(item);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    use super::Runs;

    #[test]
    fn every_blob_is_found_in_few_runs() {
        let (mut runs, mut wanted) = (Runs::default(), BTreeSet::new());
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..5_000 {
            let item = random.u32(..3_000);
            let found = runs.find(|own: &u32| own.cmp(&item));
            assert_eq!(found, wanted.get(&item).copied());
            if wanted.insert(item) {
                runs.add(item, u32::cmp).unwrap();
            }
            let lengths = || runs.sorted.iter().map(Vec::len);
            assert!(lengths().is_sorted_by(|longer, shorter| longer > shorter));
            assert_eq!(lengths().sum::<usize>() + runs.recent.len(), wanted.len());
        }
        assert!(wanted.len() > 2_000 && runs.sorted.len() <= 7);
    }
}
