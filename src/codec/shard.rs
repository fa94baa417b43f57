//! The files that components are read from: the file itself, or a shard that has been found.
//!
//! Shards are validated by their frame and size when they are bound, by their digest when they are verified: v2 §7.3.
//! A source may give other bytes at a second read: a server that lies, or a file that changes. So each later read is
//! compared with sums of blocks from when the digest was compared, whatever is read, in which order.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use super::hasher::{Hasher, Sum, Verified};
use super::{Deferred, ReadAt, ReadError, extend};
use crate::digest::Digest;
use crate::error::{Error, ErrorKind, Misuse, OutOfMemory};
use crate::format::frame::{Container, Frame};
use crate::limits::Limits;
use crate::manifest::{Component, Manifest, ManifestRef, Shard};
use crate::names::by_length;
use crate::num::{u64_from_usize, usize_from_u32};
use crate::rules::{Limit, Rule, Unsupported};

/// A file that may be a shard, and nothing of which has been read.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<S> {
    /// Its bytes.
    pub source: S,
    /// How many they are.
    pub length: u64,
}

/// Finds the shards of a file: beside it by their names, in a folder by their digests, wherever
/// the caller keeps them.
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
/// let archive = zten::Archive::open(&root)?;
/// let files = [("s", &s[..])];
/// let mut shards = archive.bind_shards(&InMemory(&files), &zten::Limits::default())?;
/// shards.verify(&zten::Limits::default())?;
/// let object = archive.get("w").unwrap();
/// let shard = shards.get("s").unwrap();
/// let view = object.in_shard(shard).dense()?.component().bind(shard.source())?;
/// assert_eq!(view.elements::<f32>()?.count(), 4);
/// # Ok::<(), zten::Error>(())
/// ```
pub trait Find {
    /// What a shard is read from.
    type Source: ReadAt;

    /// The file that is that shard; none where there is none. Whether it has the size and the
    /// digest that it should have need not be known.
    ///
    /// # Errors
    /// Whatever keeps the caller from looking.
    fn find(
        &self,
        shard: &Shard<'_>,
    ) -> Result<Option<Candidate<Self::Source>>, <Self::Source as ReadAt>::Error>;
}

/// A shard that has been found: a file of generation 2 that has the size that it should have.
#[derive(Clone, Debug)]
pub struct BoundShard<'a, S> {
    shard: Shard<'a>,
    source: S,
    digest: Comparison<'a>,
    /// The error of a shard whose version is not supported: it has a digest to compare, and nothing is read of it.
    version: Option<Error>,
    /// True while it is one of those that are being verified.
    is_needed: bool,
}

/// The outcome of comparing the digest of a shard.
#[derive(Clone, Debug)]
enum Comparison<'a> {
    /// There is none to compare: shards of other formats have none.
    Absent,
    /// It has not been compared.
    Pending,
    /// It is the one that the table gives.
    Equal(Cow<'a, VerifiedBlocks>),
    /// It is another one, or cannot be computed here: this is the error.
    Failed(Error),
}

/// Validates the frame and the size of a file that may be the shard. Nothing else of it is
/// read, its own manifest least of all: v2 §7.3.
///
/// # Errors
/// `shard-length`, `shard-frame`, `unsupported-version`, at the [`offset`](Shard::offset) of
/// the shard; whatever the source fails with.
fn check_frame<S: ReadAt>(
    shard: &Shard<'_>,
    candidate: &Candidate<S>,
) -> Result<(), ReadError<S::Error>> {
    let Candidate { source, length } = candidate;
    if *length != shard.size() {
        return Err(shard.error(Rule::ShardLength).found(*length).into());
    }
    // What is read of files of other formats has been parsed with the root.
    if shard.digest().is_none() {
        return Ok(());
    }
    // What an error of its frame is to the file that lists it.
    let refused = |error: Error| match error.kind() {
        ErrorKind::Unsupported(Unsupported::Version) => error.moved(shard.offset()),
        _ => shard.error(Rule::ShardFrame).found(error.offset().unwrap_or_default()),
    };
    let mut header = [0; 8];
    source.read_at(0, &mut header).map_err(ReadError::Source)?;
    let container = Container::read(&header).map_err(refused)?;
    if container != Container::V2 {
        return Err(shard.error(Rule::ShardFrame).found(0).into());
    }
    let range = container.footer_range(*length).map_err(refused)?;
    let mut footer = [0; 40];
    source.read_at(range.start, &mut footer).map_err(ReadError::Source)?;
    // Its manifest is not read, whatever its size.
    Frame::read(container, &footer, range, &Limits::default()).map_err(refused)?;
    Ok(())
}

impl<'a, S> BoundShard<'a, S> {
    /// What the table says of it.
    pub fn shard(&self) -> Shard<'a> {
        self.shard
    }

    /// The bytes of the shard, whatever they are by now. [`reader`](Self::reader) holds them against what was verified.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The sums of its blocks, if it has been verified.
    pub fn verified(&self) -> Option<&VerifiedBlocks> {
        if let Comparison::Equal(blocks) = &self.digest { Some(blocks) } else { None }
    }

    /// Takes it for verified without reading it: `blocks` come from the same shard of the same file, which was
    /// bound and verified before.
    pub fn set_verified(&mut self, blocks: &'a VerifiedBlocks) {
        self.digest = Comparison::Equal(Cow::Borrowed(blocks));
    }

    /// Returns whether its digest is still to be compared.
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
    /// The bytes of the shard: once it has been verified, those and no others.
    ///
    /// Parts with a digest that is as strong as that of the shard are read as they come: whoever reads all of one
    /// compares that.
    pub fn reader(&self) -> ShardReader<'_, S> {
        let changed = self.shard.error(Rule::ShardDigest);
        let (source, blocks) = (&self.source, self.verified());
        ShardReader { source, blocks, changed, recent: Recent::default() }
    }

    /// Reads all of it, and compares its digest.
    fn compare(
        &self,
        blobs: impl Iterator<Item = Range<u64>>,
        limits: &Limits,
    ) -> Result<VerifiedBlocks, ReadError<S::Error>> {
        let mut hasher = Hasher::new(self.shard.digest());
        if hasher.is_unverifiable() {
            return Err(self.shard.error(Unsupported::Digest).into());
        }
        let (mut at, mut buffer, chunk) = (0, Vec::new(), usize_from_u32(limits.chunk()));
        let mut read_to = |end: u64, mut block: Option<&mut Sum>| {
            let end = end.min(self.shard.size());
            while at < end {
                let left = end.saturating_sub(at);
                let length = usize::try_from(left).unwrap_or(chunk).min(chunk);
                let bytes = match self.source.bytes_at(at, length) {
                    Some(bytes) if bytes.len() == length => bytes,
                    _ => {
                        extend(&mut buffer, length)?;
                        let bytes = buffer.get_mut(..length).ok_or(Error::internal())?;
                        self.source.read_at(at, bytes).map_err(ReadError::Source)?;
                        bytes
                    }
                };
                hasher.update(bytes);
                if let Some(sum) = &mut block {
                    sum.update(bytes);
                }
                at = at.saturating_add(u64_from_usize(length));
            }
            Ok::<(), ReadError<S::Error>>(())
        };
        let mut done = Vec::new();
        for blob in blobs {
            for start in blob.clone().step_by(BLOCK) {
                read_to(start, None)?;
                let (mut sum, end) = (sum(), start.saturating_add(u64_from_usize(BLOCK)));
                let range = start..end.min(blob.end);
                read_to(range.end, Some(&mut sum))?;
                done.try_reserve(1).map_err(|_| Error::from(OutOfMemory))?;
                done.push(Block { range, sum: sum.finish() });
            }
        }
        read_to(u64::MAX, None)?;
        match hasher.finish() {
            Ok(Verified::Digest) => Ok(VerifiedBlocks(done)),
            Ok(_) | Err(_) => Err(self.shard.error(Rule::ShardDigest).into()),
        }
    }
}

/// The shards of a file that have been found, by their names.
#[derive(Clone)]
pub struct Shards<'a, S> {
    /// None where nothing was looked for.
    manifest: Option<ManifestRef<'a>>,
    /// In the order of the table.
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
    /// Has all its shards looked for, and validates the frame and size of those that are found.
    /// None is looked for more than once. One of a version that is not supported is as if it were not there, but
    /// that [`Shards::verify`] compares its digest.
    ///
    /// # Errors
    /// `limit-shards` where the table has more than [`Limits::shards`], none of which has been
    /// looked for then; `shard-length` and `shard-frame`, at the [`offset`](Shard::offset) of the shard;
    /// whatever `finder` and the shards fail with; [`OutOfMemory`].
    pub fn bind_shards<F: Find>(
        &self,
        finder: &F,
        limits: &Limits,
    ) -> Result<Shards<'_, F::Source>, ReadError<<F::Source as ReadAt>::Error>> {
        let most = usize_from_u32(limits.shards());
        if let Some(over) = self.shards().nth(most) {
            let count = u64_from_usize(self.shards().len());
            return Err(over.error(Limit::Shards).found(count).into());
        }
        let mut shards = Shards { manifest: Some(self.parts()), ..Shards::default() };
        for shard in self.shards() {
            let Some(candidate) = finder.find(&shard).map_err(ReadError::Source)? else {
                shards.missing = shards.missing.or(Some(shard));
                continue;
            };
            let version = match check_frame(&shard, &candidate) {
                Ok(()) => None,
                Err(ReadError::Refused(error)) if error.is_unsupported() => Some(error),
                Err(error) => return Err(error),
            };
            shards.bound.try_reserve(1).map_err(|_| Error::from(OutOfMemory))?;
            let source = candidate.source;
            let digest = shard.digest().map_or(Comparison::Absent, |_| Comparison::Pending);
            shards.bound.push(BoundShard { shard, source, digest, version, is_needed: false });
        }
        Ok(shards)
    }
}

impl<'a, S> Shards<'a, S> {
    /// The place of the shard of that name, if it was found. In O(log n).
    fn place(&self, name: &str) -> Option<usize> {
        let own =
            |bound: &BoundShard<'_, S>| by_length(bound.shard.name().as_bytes(), name.as_bytes());
        self.bound.binary_search_by(own).ok()
    }

    /// The shard of that name, if it was found and its version is supported. In O(log n).
    pub fn get(&self, name: &str) -> Option<&BoundShard<'a, S>> {
        self.bound.get(self.place(name)?).filter(|bound| bound.version.is_none())
    }

    /// The shards that were found, in the order of the table, also of a version that is not supported.
    pub fn bound(&self) -> &[BoundShard<'a, S>] {
        &self.bound
    }

    /// The same, to be [taken for verified](BoundShard::set_verified).
    pub fn bound_mut(&mut self) -> &mut [BoundShard<'a, S>] {
        &mut self.bound
    }

    /// The first one that was not found.
    pub fn missing(&self) -> Option<Shard<'a>> {
        self.missing
    }

    /// The blobs of needed shards that are to be compared with what was verified when they are read: those
    /// without a digest that is as strong as that of their shard. Each is behind the place of its shard, in order, once.
    fn weak_blobs(&self) -> Result<Vec<(usize, u64, u64)>, OutOfMemory> {
        let mut blobs = Vec::new();
        let is_compared = |bound: &BoundShard<'_, S>| bound.is_needed && bound.is_pending();
        if !self.bound.iter().any(is_compared) {
            return Ok(blobs);
        }
        let objects = self.manifest.into_iter().flat_map(ManifestRef::objects);
        for component in objects.flat_map(|object| object.components()) {
            let place = component.shard().and_then(|name| self.place(name));
            let needed = place.and_then(|place| Some((place, self.bound.get(place)?)));
            let Some((place, bound)) = needed.filter(|(_, bound)| is_compared(bound)) else {
                continue;
            };
            match (component.digest(), bound.shard.digest()) {
                (Some(Digest::Sha256(_)), _) | (Some(Digest::Xxh3(_)), Some(Digest::Xxh3(_))) => {}
                _ => {
                    let extent = component.extent();
                    blobs.try_reserve(1).map_err(|_| OutOfMemory)?;
                    blobs.push((place, extent.offset(), extent.end()));
                }
            }
        }
        blobs.sort_unstable();
        blobs.dedup();
        Ok(blobs)
    }
}

impl<S: ReadAt> Shards<'_, S> {
    /// Validates the shards as a whole: that all have been found, whether a component is in them or not, and have
    /// the digests that they should have. v2 §7.3. Each is read once, and what is read of it later is compared with
    /// what was read here. Those that have been verified are not read again.
    ///
    /// For parts without a digest that is as strong as that of their shard it takes 24 bytes each, and 56 for each
    /// 256 KiB, at most twice; and for each that is read later 512 KiB.
    ///
    /// # Errors
    /// `shard-digest`; `unsupported-version`, `unsupported-shard`, `unsupported-digest` where nothing else is
    /// wrong; whatever a source fails with. Offsets are those of [`Shard::offset`].
    pub fn verify(&mut self, limits: &Limits) -> Result<(), ReadError<S::Error>> {
        let mut deferred = Deferred::default();
        for shard in &mut self.bound {
            shard.is_needed = true;
            deferred.note(shard.version);
        }
        deferred.note(self.missing.map(|missing| missing.error(Unsupported::Shard)));
        self.verify_needed(limits, deferred)
    }

    /// Verifies the shards of those components that have no digest, so that they may be read.
    ///
    /// # Errors
    /// `shard-digest`, `unsupported-digest`; whatever a source fails with.
    pub fn verify_for<'c>(
        &mut self,
        components: impl IntoIterator<Item = Component<'c>>,
        limits: &Limits,
    ) -> Result<(), ReadError<S::Error>> {
        self.bound.iter_mut().for_each(|shard| shard.is_needed = false);
        for component in components.into_iter().filter(|component| component.digest().is_none()) {
            let place = component.shard().and_then(|name| self.place(name));
            let shard = place.and_then(|place| self.bound.get_mut(place));
            if let Some(shard) = shard.filter(|shard| shard.version.is_none()) {
                shard.is_needed = true;
            }
        }
        self.verify_needed(limits, Deferred::default())
    }

    /// Compares the digests of needed shards, if those have not been compared before, and keeps the errors of those that
    /// have another one. One that is another keeps no other from being verified: what is in that is still to be
    /// validated.
    fn verify_needed(
        &mut self,
        limits: &Limits,
        mut deferred: Deferred,
    ) -> Result<(), ReadError<S::Error>> {
        let blobs = self.weak_blobs().map_err(Error::from)?;
        for (place, shard) in self.bound.iter_mut().enumerate().filter(|(_, it)| it.is_needed) {
            if shard.is_pending() {
                let first = blobs.partition_point(|(own, ..)| *own < place);
                let own = blobs.iter().skip(first).take_while(|(own, ..)| *own == place);
                let blobs = own.map(|(_, start, end)| *start..*end);
                shard.digest = match shard.compare(blobs, limits) {
                    Ok(blocks) => Comparison::Equal(Cow::Owned(blocks)),
                    // What is not the shard's fault may be otherwise next time.
                    Err(ReadError::Refused(error)) if error.id().is_some() => {
                        Comparison::Failed(error)
                    }
                    Err(error) => return Err(error),
                };
            }
            if let Comparison::Failed(error) = shard.digest {
                deferred.note(error);
            }
        }
        deferred.finish(())
    }
}

/// The files that components are read from: one file, by a reference to it, or [`Files`]. Sealed.
pub trait Locate: Copy + sealed::Sealed {
    /// The reason why the bytes of those files cannot be read.
    type Error;
    /// The bytes of the file that a component is in.
    type Source: ReadAt;

    /// The component as it is read from the file that it is in, and that file. In one file alone, what is elsewhere
    /// cannot be read.
    ///
    /// # Errors
    /// `unsupported-shard` where it is in one that was not found, `unsupported-version` where that is of another
    /// version; where it has no digest, [`Misuse::UnverifiedShard`] if that of its shard has not been
    /// [compared](Shards::verify_for), and `shard-digest` if that was another one.
    fn locate<'c>(self, component: &Component<'c>) -> Result<(Component<'c>, Self::Source), Error>;

    /// The error of reading a source.
    fn flatten(error: ReadError<<Self::Source as ReadAt>::Error>) -> ReadError<Self::Error>;
}

mod sealed {
    /// Kept from being implemented elsewhere.
    pub trait Sealed {}
}

impl<R: ReadAt + ?Sized> sealed::Sealed for &R {}

impl<R: ReadAt + ?Sized> Locate for &R {
    type Error = R::Error;
    type Source = Self;

    fn locate<'c>(self, component: &Component<'c>) -> Result<(Component<'c>, Self), Error> {
        Ok((*component, self))
    }

    fn flatten(error: ReadError<R::Error>) -> ReadError<R::Error> {
        error
    }
}

/// A file and its shards, as one that content is read from.
#[derive(Debug)]
pub struct Files<'s, 'a, R: ?Sized, S> {
    /// The file itself.
    pub root: &'s R,
    /// The shards that were found.
    pub shards: &'s Shards<'a, S>,
}

impl<R: ?Sized, S> Clone for Files<'_, '_, R, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: ?Sized, S> Copy for Files<'_, '_, R, S> {}

impl<R: ?Sized, S> sealed::Sealed for Files<'_, '_, R, S> {}

impl<'s, R: ReadAt + ?Sized, S: ReadAt<Error = R::Error>> Locate for Files<'s, '_, R, S> {
    type Error = R::Error;
    type Source = ComponentSource<'s, R, S>;

    fn locate<'c>(self, component: &Component<'c>) -> Result<(Component<'c>, Self::Source), Error> {
        let located = component.in_own_file();
        let Some(name) = component.shard() else {
            return Ok((located, ComponentSource::Root(self.root)));
        };
        let bound = self.shards.place(name).and_then(|place| self.shards.bound.get(place));
        let missing = Error::new(Unsupported::Shard, component.extent().offset());
        let shard = bound.ok_or(missing.at(component.place()))?;
        if let Some(error) = shard.version {
            return Err(error);
        }
        match &shard.digest {
            _ if component.digest().is_some() => {}
            Comparison::Pending => {
                return Err(Error::misuse(Misuse::UnverifiedShard).at(component.place()));
            }
            // Where the digest cannot be computed here, the rest is still validated.
            Comparison::Failed(error) if !error.is_unsupported() => return Err(*error),
            Comparison::Absent | Comparison::Failed(_) | Comparison::Equal(_) => {}
        }
        Ok((located, ComponentSource::Shard(shard.reader())))
    }

    fn flatten(error: ReadError<ReadError<R::Error>>) -> ReadError<R::Error> {
        error.flatten()
    }
}

/// The file that a component is read from.
#[derive(Debug)]
pub enum ComponentSource<'s, R: ?Sized, S> {
    /// The file itself.
    Root(&'s R),
    /// A shard.
    Shard(ShardReader<'s, S>),
}

impl<R: ReadAt + ?Sized, S: ReadAt<Error = R::Error>> ReadAt for ComponentSource<'_, R, S> {
    type Error = ReadError<R::Error>;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Self::Error> {
        match self {
            Self::Root(root) => root.read_at(offset, buffer).map_err(ReadError::Source),
            Self::Shard(shard) => shard.read_at(offset, buffer),
        }
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        match self {
            Self::Root(root) => root.bytes_at(offset, length),
            Self::Shard(shard) => shard.bytes_at(offset, length),
        }
    }
}

/// Bytes of a block, at most. Blocks end with their blob, so that small blobs are not read with their neighbors.
const BLOCK: usize = 256 << 10;

/// A block, and its sum.
#[derive(Clone, Debug)]
struct Block {
    range: Range<u64>,
    sum: Digest<'static>,
}

/// Sums of a verified shard: one for each 256 KiB of those blobs that no digest of their own protects as well as the
/// digest of the shard does.
#[derive(Clone, Debug)]
pub struct VerifiedBlocks(Vec<Block>);

impl VerifiedBlocks {
    /// The block that the byte is in, or the start of the next one.
    fn find(&self, at: u64) -> Result<&Block, u64> {
        let place = self.0.partition_point(|block| block.range.end <= at);
        match self.0.get(place) {
            Some(block) if block.range.start <= at => Ok(block),
            next => Err(next.map_or(u64::MAX, |block| block.range.start)),
        }
    }
}

/// The algorithm of the sums. Bytes are chosen by whoever wrote the shard, so it has to withstand that. Without the
/// feature `digest`, no digest that does can be verified either.
fn sum() -> Sum {
    #[cfg(feature = "digest")]
    return Sum::sha256();
    #[cfg(not(feature = "digest"))]
    Sum::xxh3()
}

/// Reads a shard. Once the digest of that has been compared, no other bytes are read than were compared.
pub struct ShardReader<'s, S> {
    source: &'s S,
    blocks: Option<&'s VerifiedBlocks>,
    /// The error where a block is another than before.
    changed: Error,
    recent: Recent,
}

/// A block that has been read and compared; empty where none has.
#[derive(Default)]
struct Loaded {
    start: u64,
    bytes: Vec<u8>,
}

/// The last two blocks of which only a part was asked for: frames are read beside the table of their sizes.
#[cfg(feature = "std")]
type Recent = std::sync::Mutex<[Loaded; 2]>;
#[cfg(not(feature = "std"))]
type Recent = core::cell::RefCell<[Loaded; 2]>;

impl<S> core::fmt::Debug for ShardReader<'_, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ShardReader").field("verified", &self.blocks.is_some()).finish()
    }
}

impl<S: ReadAt> ShardReader<'_, S> {
    /// Reads a whole block.
    fn load(&self, block: &Block, bytes: &mut [u8]) -> Result<(), ReadError<S::Error>> {
        self.source.read_at(block.range.start, bytes).map_err(ReadError::Source)?;
        let mut sum = sum();
        sum.update(bytes);
        if sum.finish() == block.sum { Ok(()) } else { Err(self.changed.into()) }
    }

    /// Reads the part of a block that begins at `at`.
    fn part(&self, block: &Block, at: u64, part: &mut [u8]) -> Result<(), ReadError<S::Error>> {
        #[cfg(feature = "std")]
        let recent = self.recent.lock();
        #[cfg(not(feature = "std"))]
        let recent = self.recent.try_borrow_mut();
        let Ok(mut recent) = recent else { return Err(Error::internal().into()) };
        let [latest, other] = &mut *recent;
        let Range { start, end } = block.range;
        let is_it = |loaded: &Loaded| loaded.start == start && !loaded.bytes.is_empty();
        if !is_it(latest) {
            mem::swap(latest, other);
        }
        if !is_it(latest) {
            // Until they have been compared, they are not kept.
            let mut bytes = mem::take(&mut latest.bytes);
            let length = usize::try_from(end.saturating_sub(start)).unwrap_or(BLOCK);
            bytes.truncate(length);
            extend(&mut bytes, length)?;
            self.load(block, &mut bytes)?;
            *latest = Loaded { start, bytes };
        }
        let within = usize::try_from(at.saturating_sub(start)).unwrap_or(BLOCK);
        let bytes = latest.bytes.get(within..).and_then(|bytes| bytes.get(..part.len()));
        part.copy_from_slice(bytes.ok_or(self.changed)?);
        Ok(())
    }
}

impl<S: ReadAt> ReadAt for ShardReader<'_, S> {
    type Error = ReadError<S::Error>;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Self::Error> {
        let Some(blocks) = self.blocks else {
            return self.source.read_at(offset, buffer).map_err(ReadError::Source);
        };
        let (mut at, mut rest) = (offset, buffer);
        while !rest.is_empty() {
            let found = blocks.find(at);
            let until = found.map_or_else(|next| next, |block| block.range.end);
            let left = usize::try_from(until.saturating_sub(at)).unwrap_or(usize::MAX);
            let length = left.min(rest.len());
            let Some((own, behind)) = rest.split_at_mut_checked(length) else { break };
            match found {
                Err(_) => self.source.read_at(at, own).map_err(ReadError::Source)?,
                Ok(block) if at == block.range.start && length == left => self.load(block, own)?,
                Ok(block) => self.part(block, at, own)?,
            }
            (at, rest) = (at.saturating_add(u64_from_usize(length)), behind);
        }
        Ok(())
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let end = offset.saturating_add(u64_from_usize(length));
        // What has to be compared is copied first: a source may lend other bytes to each who asks.
        let is_free =
            self.blocks.is_none_or(|blocks| blocks.find(offset).is_err_and(|next| end <= next));
        if is_free { self.source.bytes_at(offset, length) } else { None }
    }
}
