//! The files that hold components: the tensor file itself and its shards.
//!
//! The frame and the size of a shard are validated when the shard is bound, its digest when the shard is verified: v2
//! §7.3. A source may return other bytes at a second read, because a server lies or the file changes. While the digest
//! is computed, sums of the blocks of all blobs are therefore kept, except of blobs whose own digest is as strong as that of the
//! shard. Each later read of such blocks is compared with the sums, whatever is read, in whatever order.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::ops::Range;

use super::Deferred;
use crate::digest::{Digest, Hasher, Sum, Verified};
use crate::error::{BareError, Error, ErrorKind, Misuse, OutOfMemory};
use crate::formats::ztensor::frame::{Container, Frame};
use crate::limits::Limits;
use crate::manifest::{Component, Manifest, ManifestRef, Shard};
use crate::names::by_length;
use crate::num::{sort_by, u64_from_usize, usize_from_u32};
use crate::read_at::{
    BLOCK, BlobRef, Block, Located, ReadAt, Sealed, Source, VerifiedBlocks, extend, sum,
};
use crate::rules::{Limit, Rule, Unsupported};

/// A file that may be a shard. Nothing of the file has been read yet.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<S> {
    /// The source that the bytes of the file are read from.
    pub source: S,
    /// The length of the file in bytes.
    pub length: u64,
}

/// Finds the shards of a file: by their names in the folder of the file, by their digests in a folder of blobs, or
/// wherever the caller keeps shards.
///
/// ```
/// use zten::{shards::Candidate, shards::Find, shards::Shard};
///
/// struct InMemory<'d>(&'d [(&'d str, &'d [u8])]);
///
/// impl<'d> Find for InMemory<'d> {
///     type Source = &'d [u8];
///
///     fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<&'d [u8]>>, zten::Error> {
///         let file = self.0.iter().find(|(name, _)| *name == shard.name());
///         Ok(file.map(|(_, bytes)| Candidate { source: *bytes, length: bytes.len() as u64 }))
///     }
/// }
///
/// # let root = std::fs::read("corpus/v2/shards/dense.zt").unwrap();
/// # let s = std::fs::read("corpus/v2/shards/dense-s.zt").unwrap();
/// let archive = zten::OpenOptions::default().open_source(&root[..], root.len() as u64)?;
/// let files = [("s", &s[..])];
/// let archive = archive.find_shards(&InMemory(&files))?;
/// assert_eq!(archive.tensor("w")?.to_vec::<f32>()?.len(), 4);
/// # Ok::<(), zten::Error>(())
/// ```
pub trait Find {
    /// The type that reads the bytes of a shard.
    type Source: ReadAt;

    /// Returns the file that should hold `shard`, or `None` if there is no such file. The implementation need not check
    /// the size or the digest of the file.
    ///
    /// # Errors
    /// Any error that keeps the implementation from looking for the file.
    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<Self::Source>>, Error>;
}

/// A shard that has been found. Its file has the size that the table gives and, unless it is a file of another format or of
/// an unsupported version, the frame of generation 2.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct BoundShard<'a, S> {
    shard: Shard<'a>,
    source: S,
    digest: Comparison<'a>,
    /// The error `unsupported-version`, if the shard has a version that is not supported. Components of such a shard
    /// are not read, but its digest is compared.
    version: Option<BareError>,
    /// Whether the verification that is running needs this shard.
    is_needed: bool,
}

/// The outcome of comparing a shard's bytes with the digest that the table of shards gives.
#[derive(Clone, Debug)]
enum Comparison<'a> {
    /// The table gives no digest. This is so for shards of other formats than zTensor.
    Absent,
    /// The digest has not been compared.
    Pending,
    /// The digest is the one that the table gives.
    Equal(Cow<'a, VerifiedBlocks>),
    /// The digest differs, or cannot be computed here: this is the error.
    Failed(BareError),
}

/// Validates the size of `candidate` and, if `shard` has a digest, the frame. The manifest of the shard is not read,
/// and neither are its blobs: v2 §7.3.
///
/// # Errors
/// `shard-length`, `shard-frame`, `unsupported-version`, at the [`offset`](Shard::offset) of the shard; any error of
/// the source.
fn check_frame<S: ReadAt>(shard: &Shard<'_>, candidate: &Candidate<S>) -> Result<(), Error> {
    let Candidate { source, length } = candidate;
    if *length != shard.size() {
        return Err(shard.error(Rule::ShardLength).found(*length).into());
    }
    // Shards without a digest are files of other formats, whose headers were parsed together with the header of the
    // root file.
    if shard.digest().is_none() {
        return Ok(());
    }
    // Turns an error of the shard's frame into an error of the root file, which lists the shard.
    let rejected = |error: BareError| {
        if error.kind == Unsupported::Version {
            return error.moved(shard.offset());
        }
        shard.error(Rule::ShardFrame).found(error.offset.unwrap_or_default())
    };
    let mut header = [0; 8];
    source.read_at(0, &mut header)?;
    let container = Container::read(&header).map_err(rejected)?;
    if container != Container::V2 {
        return Err(shard.error(Rule::ShardFrame).found(0).into());
    }
    let range = container.footer_range(*length).map_err(rejected)?;
    let mut footer = [0; 40];
    source.read_at(range.start, &mut footer)?;
    // The manifest of the shard is not read, so the caller's limit on its size does not apply.
    Frame::read(container, &footer, range, &Limits::default()).map_err(rejected)?;
    Ok(())
}

impl<'a, S> BoundShard<'a, S> {
    /// Returns the entry of this shard in the table of shards.
    pub fn shard(&self) -> Shard<'a> {
        self.shard
    }

    /// Returns the source of the shard, whose bytes may have changed since the shard was verified.
    /// [`reader`](Self::reader) compares what it reads with the verified bytes.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Returns the checksums of the shard's blocks, against which later reads are checked, or `None` if the shard has not
    /// been verified.
    pub fn verified(&self) -> Option<&VerifiedBlocks> {
        if let Comparison::Equal(blocks) = &self.digest { Some(blocks) } else { None }
    }

    /// Marks the shard as verified without reading its bytes. `blocks` must come from the same shard of the same file,
    /// which was bound and verified before.
    pub fn set_verified(&mut self, blocks: &'a VerifiedBlocks) {
        self.digest = Comparison::Equal(Cow::Borrowed(blocks));
    }

    /// Returns whether the digest of the shard has not been compared yet.
    fn is_pending(&self) -> bool {
        matches!(self.digest, Comparison::Pending)
    }
}

impl<'a, S> From<&BoundShard<'a, S>> for Shard<'a> {
    fn from(bound: &BoundShard<'a, S>) -> Self {
        bound.shard
    }
}

impl<S: ReadAt> BoundShard<'_, S> {
    /// Returns a reader of the shard. Once the shard has been verified, the reader fails instead of returning other
    /// bytes than the verified ones.
    ///
    /// Components with a digest as strong as that of the shard are not compared block by block: reading a whole
    /// component compares its own digest.
    pub fn reader(&self) -> Located<'_> {
        Located::shard(&self.source, self.verified(), self.shard.offset())
    }
}

/// Reads all of `shard` from `source`, and compares its digest. Returns the sums of the blocks of `blobs`, which are
/// sorted and disjoint ranges of the shard.
///
/// # Errors
/// `unsupported-digest`, before anything is read; `shard-digest` if the digest differs or the shard has none; any error of
/// `source`; [`OutOfMemory`].
pub(crate) fn compare(
    shard: &Shard<'_>,
    source: &impl ReadAt,
    blobs: impl Iterator<Item = Range<u64>>,
    limits: &Limits,
) -> Result<VerifiedBlocks, Error> {
    let mut hasher = Hasher::new(shard.digest());
    if hasher.is_unverifiable() {
        return Err(shard.error(Unsupported::Digest).into());
    }
    let (mut at, mut buffer, chunk) = (0, Vec::new(), usize_from_u32(limits.chunk()));
    let mut read_to = |end: u64, mut block: Option<&mut Sum>| {
        let end = end.min(shard.size());
        while at < end {
            let left = end.saturating_sub(at);
            let length = usize::try_from(left).unwrap_or(chunk).min(chunk);
            let bytes = match source.bytes_at(at, length) {
                Some(bytes) if bytes.len() == length => bytes,
                _ => {
                    extend(&mut buffer, length)?;
                    let bytes = buffer.get_mut(..length).ok_or(BareError::internal())?;
                    source.read_at(at, bytes)?;
                    bytes
                }
            };
            hasher.update(bytes);
            if let Some(sum) = &mut block {
                sum.update(bytes);
            }
            at = at.saturating_add(u64_from_usize(length));
        }
        Ok::<(), Error>(())
    };
    let mut done = Vec::new();
    for blob in blobs {
        for start in blob.clone().step_by(BLOCK) {
            read_to(start, None)?;
            let (mut sum, end) = (sum(), start.saturating_add(u64_from_usize(BLOCK)));
            let range = start..end.min(blob.end);
            read_to(range.end, Some(&mut sum))?;
            done.try_reserve(1).map_err(|_| BareError::from(OutOfMemory))?;
            done.push(Block { range, sum: sum.finish() });
        }
    }
    read_to(u64::MAX, None)?;
    match hasher.finish() {
        Ok(Verified::Digest) => Ok(VerifiedBlocks(done)),
        Ok(_) | Err(_) => Err(shard.error(Rule::ShardDigest).into()),
    }
}

/// The shards of a file that have been found.
#[derive(Clone)]
pub struct Shards<'a, S> {
    /// The manifest that lists the shards; `None` for `default()`, which holds no shards.
    manifest: Option<ManifestRef<'a>>,
    /// The shards, in the order of the table.
    bound: Vec<BoundShard<'a, S>>,
    missing: Option<Shard<'a>>,
}

impl<S> Default for Shards<'_, S> {
    fn default() -> Self {
        Self { manifest: None, bound: Vec::new(), missing: None }
    }
}

impl<S: core::fmt::Debug> core::fmt::Debug for Shards<'_, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Shards")
            .field("bound", &self.bound)
            .field("missing", &self.missing)
            .finish()
    }
}

impl<B: AsRef<[u8]>> Manifest<B> {
    /// Looks for each shard of the table once with `finder`, and validates the frame and size of the shards that are
    /// found. From a shard of an unsupported version no component is read: reading fails with `unsupported-version`.
    /// [`Shards::verify`] compares the digest of such a shard all the same.
    ///
    /// # Errors
    /// `limit-shards` if the table has more than [`Limits::shards`] shards, before any of them is looked for;
    /// `shard-length` and `shard-frame`, at the [`offset`](Shard::offset) of the shard; any error of `finder` and of
    /// the sources; [`OutOfMemory`].
    pub fn bind_shards<F: Find>(&self, finder: &F) -> Result<Shards<'_, F::Source>, Error> {
        let most = usize_from_u32(self.limits().shards());
        if let Some(over) = self.shards().nth(most) {
            let count = u64_from_usize(self.shards().len());
            return Err(over.error(Limit::Shards).found(count).into());
        }
        let mut shards = Shards { manifest: Some(self.parts()), ..Shards::default() };
        for shard in self.shards() {
            let Some(candidate) = finder.find(&shard)? else {
                shards.missing = shards.missing.or(Some(shard));
                continue;
            };
            let version = match check_frame(&shard, &candidate) {
                Ok(()) => None,
                Err(error) if error.is_unsupported() => Some(error.bare()),
                Err(error) => return Err(error),
            };
            shards.bound.try_reserve(1).map_err(|_| BareError::from(OutOfMemory))?;
            let source = candidate.source;
            let digest = shard.digest().map_or(Comparison::Absent, |_| Comparison::Pending);
            shards.bound.push(BoundShard { shard, source, digest, version, is_needed: false });
        }
        Ok(shards)
    }
}

impl<'a, S> Shards<'a, S> {
    /// Returns the index in `bound` of the shard called `name`, or `None` if that shard was not found. In O(log n).
    fn position(&self, name: &str) -> Option<usize> {
        let own =
            |bound: &BoundShard<'_, S>| by_length(bound.shard.name().as_bytes(), name.as_bytes());
        self.bound.binary_search_by(own).ok()
    }

    /// Returns the shard called `name`, if that shard was found and its version is supported. In O(log n).
    pub fn get(&self, name: &str) -> Option<&BoundShard<'a, S>> {
        self.bound.get(self.position(name)?).filter(|bound| bound.version.is_none())
    }

    /// Returns the shards that were found, in the order of the table, including shards of an unsupported version.
    pub fn bound(&self) -> &[BoundShard<'a, S>] {
        &self.bound
    }

    /// Returns the shards that were found, in the order of the table, so that the caller can
    /// [mark](BoundShard::set_verified) some of them as verified.
    pub fn bound_mut(&mut self) -> &mut [BoundShard<'a, S>] {
        &mut self.bound
    }

    /// Returns the first shard of the table that was not found, or `None` if all were found.
    pub fn missing(&self) -> Option<Shard<'a>> {
        self.missing
    }
}

/// A blob in a shard whose own digest is missing, or weaker than the digest of the shard. All bytes that are read of
/// this blob are compared with [`VerifiedBlocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WeakBlob {
    /// The number by which the caller of [`weak_blobs`] identifies the shard.
    shard: usize,
    start: u64,
    end: u64,
}

/// Lists the weak blobs of the shards for which `number` returns a value, sorted and without repetitions. `number` takes
/// the name of a shard, and returns the number by which the caller identifies it and the digest of the shard.
fn weak_blobs<'d>(
    manifest: ManifestRef<'_>,
    number: impl Fn(&str) -> Option<(usize, Option<Digest<'d>>)>,
) -> Result<Vec<WeakBlob>, OutOfMemory> {
    let mut blobs = Vec::new();
    for component in manifest.tensors().flat_map(|tensor| tensor.components()) {
        let Some((shard, digest)) = component.shard().and_then(&number) else { continue };
        match (component.digest(), digest) {
            (Some(Digest::Sha256(_)), _) | (Some(Digest::Xxh3(_)), Some(Digest::Xxh3(_))) => {}
            _ => {
                let extent = component.extent();
                blobs.try_reserve(1).map_err(|_| OutOfMemory)?;
                blobs.push(WeakBlob { shard, start: extent.offset(), end: extent.end() });
            }
        }
    }
    sort_by(&mut blobs, Ord::cmp);
    blobs.dedup();
    Ok(blobs)
}

/// Returns the blobs of `blobs`, which are sorted, that are in the shard with the number `shard`.
fn blobs_of(blobs: &[WeakBlob], shard: usize) -> impl Iterator<Item = &WeakBlob> {
    let first = blobs.partition_point(|blob| blob.shard < shard);
    blobs.iter().skip(first).take_while(move |blob| blob.shard == shard)
}

/// A shard, and the first shard that has the same file, size and digest, so that comparing the digest once serves both shards. The
/// caller of [`same_blobs`] has given each shard a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SameBlob {
    /// The number of the first shard with the same file, size and digest; the number of the shard itself if it is the first.
    first: usize,
    /// The number of the shard.
    shard: usize,
}

/// Groups `shards` by file, size and digest, so that one comparison serves a whole group. `shards` gives the number,
/// the shard and its source. A shard whose source has no [identity](ReadAt::identity) is a group of its own.
fn same_blobs<'m, 's, S: ReadAt + 's>(
    shards: impl Iterator<Item = (usize, Shard<'m>, &'s S)>,
) -> Result<Vec<SameBlob>, OutOfMemory> {
    let mut keys = Vec::new();
    for (number, shard, source) in shards {
        let digest = shard.digest().map(|digest| digest.sum());
        keys.try_reserve(1).map_err(|_| OutOfMemory)?;
        keys.push((source.identity().map(|file| (file, shard.size(), digest)), number));
    }
    sort_by(&mut keys, Ord::cmp);
    let mut same = Vec::new();
    same.try_reserve_exact(keys.len()).map_err(|_| OutOfMemory)?;
    for group in keys.chunk_by(|(one, _), (other, _)| one.is_some() && one == other) {
        let Some((_, first)) = group.first() else { continue };
        same.extend(group.iter().map(|(_, shard)| SameBlob { first: *first, shard: *shard }));
    }
    sort_by(&mut same, Ord::cmp);
    Ok(same)
}

/// Compares the digest of the file that all shards of `group` name. `shard` is the first shard of the group, and is
/// read from `source`. Calls `keep` with the number of each shard and its outcome: the verified blocks of the shard's
/// weak blobs (for the first shard those of the whole group), or the kind of the error.
///
/// # Errors
/// Errors that are no fault of the shard's bytes and may not occur next time: an error of `source`, [`OutOfMemory`].
fn compare_group<S: ReadAt>(
    group: &[SameBlob],
    blobs: &[WeakBlob],
    (shard, source): (Shard<'_>, &S),
    limits: &Limits,
    mut keep: impl FnMut(usize, Result<VerifiedBlocks, ErrorKind>),
) -> Result<(), Error> {
    let mut all = Vec::new();
    for blob in group.iter().flat_map(|same| blobs_of(blobs, same.shard)) {
        all.try_reserve(1).map_err(|_| OutOfMemory)?;
        all.push((blob.start, blob.end));
    }
    sort_by(&mut all, Ord::cmp);
    // Blobs of different shards of the group may overlap in the file, but blocks must be disjoint, so overlapping blobs
    // are merged.
    all.dedup_by(|(start, end), (_, last)| {
        let overlaps = start < last;
        if overlaps {
            *last = (*last).max(*end);
        }
        overlaps
    });
    let ranges = all.iter().map(|(start, end)| *start..*end);
    let verified = match compare(&shard, source, ranges, limits) {
        Ok(verified) => verified,
        Err(error) if error.rule().is_some() => {
            for same in group {
                keep(same.shard, Err(error.kind()));
            }
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    for same in group.iter().skip(1) {
        keep(same.shard, Ok(part(&verified, blobs_of(blobs, same.shard))?));
    }
    if let Some(same) = group.first() {
        keep(same.shard, Ok(verified));
    }
    Ok(())
}

/// Copies the blocks of `verified`, with their sums, that overlap `blobs`, which are sorted.
fn part<'b>(
    verified: &VerifiedBlocks,
    blobs: impl Iterator<Item = &'b WeakBlob>,
) -> Result<VerifiedBlocks, OutOfMemory> {
    // The index of the first block that has not been copied: neighboring blobs may share a block.
    let VerifiedBlocks(blocks) = verified;
    let (mut part, mut next) = (Vec::new(), 0);
    for blob in blobs {
        let first = blocks.partition_point(|block| block.range.end <= blob.start).max(next);
        let rest = blocks.iter().enumerate().skip(first);
        for (index, block) in rest.take_while(|(_, block)| block.range.start < blob.end) {
            part.try_reserve(1).map_err(|_| OutOfMemory)?;
            part.push(block.clone());
            next = index.saturating_add(1);
        }
    }
    Ok(VerifiedBlocks(part))
}

impl<S: ReadAt> Shards<'_, S> {
    /// Validates the shards as a whole: each shard of the table must have been found, even if no component is in it,
    /// and have the digest that the table gives. v2 §7.3. Each shard is read once, and later reads are compared with
    /// the bytes read here. Shards that have been verified before are not read again.
    ///
    /// Each component without a digest as strong as that of its shard takes 24 bytes of memory, and 56 bytes for each
    /// 256 KiB of its length, at most twice. Reading such a component later takes 512 KiB.
    ///
    /// # Errors
    /// `shard-digest`; if no shard is invalid, `unsupported-version`, `unsupported-shard` or `unsupported-digest`; any
    /// error of a source. Offsets are those of [`Shard::offset`].
    pub fn verify(&mut self) -> Result<(), Error> {
        self.bound.iter_mut().for_each(|shard| shard.is_needed = true);
        self.compare_needed()?;
        self.verified()
    }

    /// Returns the outcome of [`verify`](Self::verify), if it has compared all digests.
    ///
    /// # Errors
    /// The same as [`verify`](Self::verify); [`Misuse::UnverifiedShard`] if a digest has not been compared.
    fn verified(&self) -> Result<(), Error> {
        let mut deferred = Deferred::default();
        self.bound.iter().for_each(|bound| deferred.note(bound.version));
        deferred.note(self.missing.map(|missing| missing.error(Unsupported::Shard)));
        for bound in &self.bound {
            match bound.digest {
                Comparison::Failed(error) => deferred.note(error),
                Comparison::Pending => deferred.note(BareError::misuse(Misuse::UnverifiedShard)),
                Comparison::Absent | Comparison::Equal(_) => {}
            }
        }
        deferred.finish(())
    }

    /// Verifies the shards of those of `components` that have no digest of their own, so that these components may be
    /// read. Shards that were not found or have an unsupported version are passed over: reading from them fails.
    ///
    /// # Errors
    /// `shard-digest`, `unsupported-digest`; any error of a source.
    pub fn verify_for<'c>(
        &mut self,
        components: impl IntoIterator<Item = Component<'c>>,
    ) -> Result<(), Error> {
        self.bound.iter_mut().for_each(|shard| shard.is_needed = false);
        for component in components.into_iter().filter(|component| component.digest().is_none()) {
            let position = component.shard().and_then(|name| self.position(name));
            let shard = position.and_then(|position| self.bound.get_mut(position));
            if let Some(shard) = shard.filter(|shard| shard.version.is_none()) {
                shard.is_needed = true;
            }
        }
        self.compare_needed()?;
        let mut deferred = Deferred::default();
        for bound in self.bound.iter().filter(|bound| bound.is_needed) {
            if let Comparison::Failed(error) = bound.digest {
                deferred.note(error);
            }
        }
        deferred.finish(())
    }

    /// Compares the digests of needed shards whose digests have not been compared, and keeps the outcome of each. A
    /// shard that differs does not keep the other shards from being compared.
    fn compare_needed(&mut self) -> Result<(), Error> {
        let Some(manifest) = self.manifest else { return Ok(()) };
        let pending = self.bound.iter().enumerate();
        let pending = pending.filter(|(_, bound)| bound.is_needed && bound.is_pending());
        let same = same_blobs(pending.map(|(at, bound)| (at, bound.shard, &bound.source)))?;
        let mut blobs = Vec::new();
        if !same.is_empty() {
            let needed = |name: &str| {
                let position = self.position(name)?;
                let bound = self.bound.get(position)?;
                let is_compared = bound.is_needed && bound.is_pending();
                is_compared.then_some((position, bound.shard.digest()))
            };
            blobs = weak_blobs(manifest, needed)?;
        }
        for group in same.chunk_by(|one, other| one.first == other.first) {
            let first = group.first().and_then(|same| self.bound.get_mut(same.first));
            let first = first.ok_or(BareError::internal())?;
            let mut outcomes = Vec::new();
            outcomes.try_reserve_exact(group.len()).map_err(|_| OutOfMemory)?;
            let limits = manifest.options().limit();
            compare_group(group, &blobs, (first.shard, &first.source), limits, |at, outcome| {
                outcomes.push((at, outcome));
            })?;
            for (at, outcome) in outcomes {
                let Some(bound) = self.bound.get_mut(at) else { continue };
                bound.digest = match outcome {
                    Ok(blocks) => Comparison::Equal(Cow::Owned(blocks)),
                    Err(kind) => Comparison::Failed(bound.shard.error(kind)),
                };
            }
        }
        Ok(())
    }
}

/// A file and its shards, from which all components can be read.
#[derive(Debug)]
pub struct Files<'s, 'a, R, S> {
    /// The file itself.
    pub root: &'s R,
    /// The shards that were found.
    pub shards: &'s Shards<'a, S>,
}

impl<R: ReadAt, S: ReadAt> Sealed for Files<'_, '_, R, S> {}

impl<R: ReadAt, S: ReadAt> Source for Files<'_, '_, R, S> {
    fn locate(&self, blob: &BlobRef<'_>) -> Result<Located<'_>, Error> {
        let Some(name) = blob.shard else {
            return Ok(Located::file(self.root));
        };
        let bound = self.shards.position(name).and_then(|position| self.shards.bound.get(position));
        let shard = bound.ok_or_else(|| blob.missing())?;
        if let Some(error) = shard.version {
            return Err(error.into());
        }
        match &shard.digest {
            _ if blob.has_digest => {}
            Comparison::Pending => {
                return Err(BareError::misuse(Misuse::UnverifiedShard).at(blob.location).into());
            }
            // A shard whose digest cannot be computed, because its algorithm is unknown or the feature for it is missing,
            // is not compared. Its components are read all the same, so that the other rules are checked.
            Comparison::Failed(error) if !error.is_unsupported() => return Err((*error).into()),
            Comparison::Absent | Comparison::Failed(_) | Comparison::Equal(_) => {}
        }
        Ok(shard.reader())
    }

    /// Returns the stored outcome of [`Shards::verify`], which is an error if a digest has not been compared. Returns `None` if
    /// no shards have been looked for. The shards are not verified here: that reads each shard whole, and a caller who reads a
    /// remote file plans its requests before any shard is read.
    fn verify_shards(&self) -> Option<Result<(), Error>> {
        self.shards.manifest.map(|_| self.shards.verified())
    }

    fn sibling(&self, name: &str) -> Option<Located<'_>> {
        self.shards.get(name).map(BoundShard::reader)
    }

    fn shard_bytes(&self) -> u64 {
        let sizes = self.shards.bound.iter().map(|bound| bound.shard.size());
        sizes.fold(0, u64::saturating_add)
    }
}

/// The shards of an open archive. This type owns the sources that the bytes of the shards are read from.
#[cfg(feature = "std")]
#[derive(Debug)]
pub(crate) struct OwnShards<S> {
    /// The shards that were found, in the order of the table.
    found: Vec<OwnShard<S>>,
    /// The shards of `found` that have digests, grouped by file, size and digest.
    same: Vec<SameBlob>,
    /// The weak blobs of all shards. Computed when the first digest is compared.
    blobs: std::sync::OnceLock<Vec<WeakBlob>>,
    /// The number of shards in the table.
    listed: usize,
}

/// A shard of an archive, and the outcome of comparing its digest.
#[cfg(feature = "std")]
#[derive(Debug)]
struct OwnShard<S> {
    /// The index of the shard in the table.
    position: usize,
    source: S,
    version: Option<BareError>,
    /// The index in `found` of the first shard with the same file, size and digest.
    first: usize,
    /// The outcome of comparing the digest; empty until the digest has been compared.
    compared: std::sync::OnceLock<Result<VerifiedBlocks, BareError>>,
    /// The lock of the thread that compares the digest. Only the lock of the first shard of a group is used.
    turn: std::sync::Mutex<()>,
}

#[cfg(feature = "std")]
impl<S: ReadAt> OwnShards<S> {
    /// Looks for all shards of `manifest` with `finder`, as [`Manifest::bind_shards`] does.
    pub(crate) fn find<F: Find<Source = S>>(
        manifest: &Manifest<impl AsRef<[u8]>>,
        finder: &F,
    ) -> Result<Self, Error> {
        let Shards { bound, .. } = manifest.bind_shards(finder)?;
        let (mut found, listed) = (Vec::new(), manifest.shards().len());
        found.try_reserve_exact(bound.len()).map_err(|_| OutOfMemory)?;
        let mut names = manifest.shards().enumerate();
        for BoundShard { shard, source, version, .. } in bound {
            // The shards that were found are in the order of the table. So the search for each continues in the table after the
            // shard before, and all searches together pass over the table once.
            let position = names.find(|(_, listed)| listed.name() == shard.name());
            let (position, _) = position.ok_or(BareError::internal())?;
            let (compared, turn, first) = Default::default();
            found.push(OwnShard { position, source, version, first, compared, turn });
        }
        let parts = manifest.parts();
        let with_digest = found.iter().enumerate().filter_map(|(at, own)| {
            let shard = parts.shard_at(own.position).filter(|shard| shard.digest().is_some())?;
            Some((at, shard, &own.source))
        });
        let same = same_blobs(with_digest)?;
        for SameBlob { first, shard } in &same {
            found.get_mut(*shard).ok_or(BareError::internal())?.first = *first;
        }
        Ok(Self { found, same, blobs: std::sync::OnceLock::new(), listed })
    }

    /// Returns the total size in bytes of the shards that were found.
    pub(crate) fn bytes(&self, manifest: ManifestRef<'_>) -> u64 {
        let sizes = self.found.iter().filter_map(|own| manifest.shard_at(own.position));
        sizes.fold(0, |sum: u64, shard| sum.saturating_add(shard.size()))
    }

    /// Returns a reader of the shard called `name`, which `blob` is in. Compares the digest of the shard first if
    /// the component has no digest of its own.
    pub(crate) fn locate<'s>(
        &'s self,
        manifest: ManifestRef<'_>,
        blob: &BlobRef<'_>,
        name: &str,
    ) -> Result<Located<'s>, Error> {
        let own = self.position(manifest, name).and_then(|at| self.found.get(at));
        let own = own.ok_or_else(|| blob.missing())?;
        if let Some(error) = own.version {
            return Err(error.into());
        }
        let shard = manifest.shard_at(own.position).ok_or(BareError::internal())?;
        let blocks = match own.compared.get() {
            compared @ Some(_) => compared,
            None if blob.has_digest || shard.digest().is_none() => None,
            None => Some(self.compare(manifest, own)?),
        };
        let blocks = match blocks {
            Some(Ok(blocks)) => Some(blocks),
            // A digest that cannot be computed is no error here: as in `Files::locate`, the component is read although
            // its shard was not compared.
            Some(Err(error)) if !blob.has_digest && !error.is_unsupported() => {
                return Err((*error).into());
            }
            _ => None,
        };
        Ok(Located::shard(&own.source, blocks, shard.offset()))
    }

    /// Returns a reader of the shard called `name`, or `None` if that shard was not found. The reader does not compare a digest of
    /// the shard.
    pub(crate) fn sibling(&self, manifest: ManifestRef<'_>, name: &str) -> Option<Located<'_>> {
        let own = self.found.get(self.position(manifest, name)?)?;
        Some(Located::shard(&own.source, None, manifest.shard_at(own.position)?.offset()))
    }

    /// Verifies all shards as [`Shards::verify`] does: v2 §7.3.
    pub(crate) fn verify(&self, manifest: ManifestRef<'_>) -> Result<(), Error> {
        let mut deferred = Deferred::default();
        for own in &self.found {
            let shard = manifest.shard_at(own.position).ok_or(BareError::internal())?;
            deferred.note(own.version);
            if shard.digest().is_some()
                && let Err(error) = self.compare(manifest, own)?
            {
                deferred.note(*error);
            }
        }
        if self.found.len() < self.listed {
            let places = self.found.iter().map(|own| own.position);
            let missing = (0..self.listed).zip(places).find(|(at, position)| at != position);
            let first = missing.map_or(self.found.len(), |(at, _)| at);
            let shard = manifest.shard_at(first);
            deferred.note(shard.map(|shard| shard.error(Unsupported::Shard)));
        }
        deferred.finish(())
    }

    /// Returns the index in `found` of the shard called `name`. In O(log n).
    fn position(&self, manifest: ManifestRef<'_>, name: &str) -> Option<usize> {
        let order = |own: &OwnShard<S>| {
            let shard = manifest.shard_at(own.position).map_or("", |shard| shard.name());
            by_length(shard.as_bytes(), name.as_bytes())
        };
        self.found.binary_search_by(order).ok()
    }

    /// Compares the digest of `own`, unless that has been done, and keeps the outcome for all shards with the same
    /// file, size and digest. Errors that are no fault of the shard's bytes are not kept.
    fn compare<'s>(
        &'s self,
        manifest: ManifestRef<'_>,
        own: &'s OwnShard<S>,
    ) -> Result<&'s Result<VerifiedBlocks, BareError>, Error> {
        let internal = BareError::internal();
        let first = self.found.get(own.first).ok_or(internal)?;
        let _turn = first.turn.lock();
        if let Some(compared) = own.compared.get() {
            return Ok(compared);
        }
        if self.blobs.get().is_none() {
            let number = |name: &str| {
                let at = self.position(manifest, name)?;
                let shard = manifest.shard_at(self.found.get(at)?.position)?;
                Some((at, shard.digest()))
            };
            // `set` fails if another thread has set the list first. That list is equal, so the error is ignored.
            let _ = self.blobs.set(weak_blobs(manifest, number)?);
        }
        let blobs = self.blobs.get().map(Vec::as_slice).unwrap_or_default();
        let start = self.same.partition_point(|same| same.first < own.first);
        let group = self.same.get(start..).unwrap_or_default();
        let end = group.partition_point(|same| same.first == own.first);
        let group = group.get(..end).unwrap_or_default();
        let shard = manifest.shard_at(first.position).ok_or(internal)?;
        let limits = manifest.options().limit();
        compare_group(group, blobs, (shard, &first.source), limits, |at, outcome| {
            let Some(member) = self.found.get(at) else { return };
            let Some(shard) = manifest.shard_at(member.position) else { return };
            member.compared.get_or_init(|| outcome.map_err(|kind| shard.error(kind)));
        })?;
        Ok(own.compared.get().ok_or(internal)?)
    }
}
