//! Shards that have been found: validated by their frame and size when they are bound, by their
//! digest when they are verified. v2 §7.3.

mod blocks;

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::ops::Range;

use self::blocks::record;
pub use self::blocks::{ShardReader, VerifiedBlocks};

use super::deferred::Deferred;
use super::hasher::{Hasher, Verified};
use super::{ReadAt, ReadError};
use crate::digest::Digest;
use crate::error::{Error, ErrorKind, Misuse, OutOfMemory};
use crate::format::frame::{Container, Frame};
use crate::limits::Limits;
use crate::manifest::{Component, Manifest, ManifestRef, Object, Shard};
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
/// let view = object.in_shard(shard).dense()?.bind(shard.source())?;
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
    /// The error of a shard whose version is not supported.
    version: Option<Error>,
}

/// The outcome of comparing the digest of a shard.
#[derive(Clone, Debug)]
enum Comparison<'a> {
    /// It has not been compared.
    Pending,
    /// It is the one that the table gives.
    Equal(Cow<'a, VerifiedBlocks>),
    /// It is another one, or cannot be computed here: this is the error.
    Failed(Error),
}

impl Shard<'_> {
    /// Validates the frame and the size of a file that may be the shard. Nothing else of it is
    /// read, its own manifest least of all: v2 §7.3.
    ///
    /// # Errors
    /// `shard-length`, `shard-frame`, `unsupported-version`, at the [`offset`](Self::offset) of
    /// the shard; whatever the source fails with.
    fn check_frame<S: ReadAt>(&self, candidate: &Candidate<S>) -> Result<(), ReadError<S::Error>> {
        let Candidate { source, length } = candidate;
        if *length != self.size() {
            return Err(self.error(Rule::ShardLength).found(*length).into());
        }
        let mut header = [0; 8];
        source.read_at(0, &mut header).map_err(ReadError::Source)?;
        let container = Container::read(&header).map_err(|error| self.frame(error))?;
        if container != Container::V2 {
            return Err(self.error(Rule::ShardFrame).found(0).into());
        }
        let range = container.footer_range(*length).map_err(|error| self.frame(error))?;
        let mut footer = [0; 40];
        source.read_at(range.start, &mut footer).map_err(ReadError::Source)?;
        // Its manifest is not read, whatever its size.
        let limits = Limits::default();
        Frame::read(container, &footer, range, &limits).map_err(|error| self.frame(error))?;
        Ok(())
    }

    /// What an error of its frame is to the file that lists it.
    fn frame(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Unsupported(Unsupported::Version) => error.moved(self.offset()),
            _ => self.error(Rule::ShardFrame).found(error.offset().unwrap_or_default()),
        }
    }
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
        match &self.digest {
            Comparison::Equal(blocks) => Some(blocks),
            Comparison::Pending | Comparison::Failed(_) => None,
        }
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

    fn name(&self) -> &'a [u8] {
        self.shard.name().as_bytes()
    }
}

impl<S: ReadAt> BoundShard<'_, S> {
    /// The bytes of the shard: once it has been verified, those and no others.
    ///
    /// Parts with a digest that is as strong as that of the shard are read as they come: whoever reads all of one
    /// compares that.
    pub fn reader(&self) -> ShardReader<'_, S> {
        ShardReader::new(&self.source, self.verified(), self.shard.error(Rule::ShardDigest))
    }

    /// Compares its digest, if that has not been compared before, and keeps the error if it has another one. `blobs` are
    /// those that are to be read again, in order.
    fn verify(
        &mut self,
        blobs: impl Iterator<Item = Range<u64>>,
        limits: &Limits,
        deferred: &mut Deferred,
    ) -> Result<(), ReadError<S::Error>> {
        if self.is_pending() {
            self.digest = match self.compare(blobs, limits) {
                Ok(blocks) => Comparison::Equal(Cow::Owned(blocks)),
                // What is not the shard's fault may be otherwise next time.
                Err(ReadError::Refused(error)) if error.id().is_some() => Comparison::Failed(error),
                Err(error) => return Err(error),
            };
        }
        if let Comparison::Failed(error) = self.digest {
            deferred.note(error);
        }
        Ok(())
    }

    /// Reads all of it, and compares its digest.
    fn compare(
        &self,
        blobs: impl Iterator<Item = Range<u64>>,
        limits: &Limits,
    ) -> Result<VerifiedBlocks, ReadError<S::Error>> {
        let mut hasher = Hasher::new(Some(self.shard.digest()));
        if hasher.is_unverifiable() {
            return Err(self.shard.error(Unsupported::Digest).into());
        }
        let mut recorder = record(blobs);
        let mut buffer = Vec::new();
        let chunk = usize_from_u32(limits.chunk());
        let Range { mut start, end } = 0..self.shard.size();
        while start < end {
            let left = end.saturating_sub(start);
            let length = usize::try_from(left).unwrap_or(chunk).min(chunk);
            let bytes = match self.source.bytes_at(start, length) {
                Some(bytes) if bytes.len() == length => bytes,
                _ => {
                    super::reader::extend(&mut buffer, length)?;
                    let bytes = buffer.get_mut(..length).ok_or(Error::internal())?;
                    self.source.read_at(start, bytes).map_err(ReadError::Source)?;
                    bytes
                }
            };
            hasher.update(bytes);
            recorder.update(bytes).map_err(Error::from)?;
            start = start.saturating_add(u64_from_usize(length));
        }
        match hasher.finish() {
            Ok(Verified::Digest) => Ok(recorder.finish()),
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
    /// Shards of a version that is not supported: they have a digest to compare, and nothing is read of them.
    other_versions: Vec<BoundShard<'a, S>>,
    missing: Option<Shard<'a>>,
}

impl<S> Default for Shards<'_, S> {
    fn default() -> Self {
        Self { manifest: None, bound: Vec::new(), other_versions: Vec::new(), missing: None }
    }
}

impl<S: core::fmt::Debug> core::fmt::Debug for Shards<'_, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Shards")
            .field("bound", &self.bound)
            .field("other_versions", &self.other_versions)
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
            let (list, version) = match shard.check_frame(&candidate) {
                Ok(()) => (&mut shards.bound, None),
                Err(ReadError::Refused(error)) if error.is_unsupported() => {
                    (&mut shards.other_versions, Some(error))
                }
                Err(error) => return Err(error),
            };
            list.try_reserve(1).map_err(|_| Error::from(OutOfMemory))?;
            let Candidate { source, .. } = candidate;
            list.push(BoundShard { shard, source, digest: Comparison::Pending, version });
        }
        Ok(shards)
    }
}

/// The place of the shard of that name.
fn place<S>(shards: &[BoundShard<'_, S>], name: &str) -> Option<usize> {
    shards.binary_search_by(|bound| by_length(bound.name(), name.as_bytes())).ok()
}

impl<'a, S> Shards<'a, S> {
    /// The shard of that name, if it was found. In O(log n).
    pub fn get(&self, name: &str) -> Option<&BoundShard<'a, S>> {
        self.bound.get(place(&self.bound, name)?)
    }

    /// Those that were found, in the order of the table.
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

    /// The blobs of shards at some places that are to be compared with what was verified when they are read: those
    /// without a digest that is as strong as that of their shard. Each is behind the place of its shard, in order, once.
    fn weak_blobs(
        &self,
        is_needed: impl Fn(usize) -> bool,
    ) -> Result<Vec<(usize, u64, u64)>, OutOfMemory> {
        let mut blobs = Vec::new();
        let mut places = self.bound.iter().enumerate();
        if !places.any(|(place, bound)| is_needed(place) && bound.is_pending()) {
            return Ok(blobs);
        }
        let objects = self.manifest.into_iter().flat_map(ManifestRef::objects);
        for component in objects.flat_map(|object| object.components()) {
            let Some(own) = component.shard().and_then(|name| place(&self.bound, name)) else {
                continue;
            };
            let bound = self.bound.get(own).filter(|bound| is_needed(own) && bound.is_pending());
            let Some(bound) = bound else { continue };
            match (component.digest(), bound.shard.digest()) {
                (Some(Digest::Sha256(_)), _) | (Some(Digest::Xxh3(_)), Digest::Xxh3(_)) => {}
                _ => {
                    let extent = component.extent();
                    blobs.try_reserve(1).map_err(|_| OutOfMemory)?;
                    blobs.push((own, extent.offset(), extent.end()));
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
        for shard in &mut self.other_versions {
            deferred.note(shard.version);
            shard.verify(core::iter::empty(), limits, &mut deferred)?;
        }
        deferred.note(self.missing.map(|missing| missing.error(Unsupported::Shard)));
        self.verify_where(|_| true, limits, &mut deferred)?;
        deferred.finish(())
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
        let mut needed = Vec::new();
        needed.try_reserve_exact(self.bound.len()).map_err(|_| Error::from(OutOfMemory))?;
        needed.resize(self.bound.len(), false);
        for component in components {
            let name = component.shard().filter(|_| component.digest().is_none());
            let place = name.and_then(|name| place(&self.bound, name));
            if let Some(needed) = place.and_then(|place| needed.get_mut(place)) {
                *needed = true;
            }
        }
        let mut deferred = Deferred::default();
        self.verify_where(|place| needed.get(place) == Some(&true), limits, &mut deferred)?;
        deferred.finish(())
    }

    /// Verifies the shards at some places of the list. One that is another keeps no other from being verified: what is
    /// in that is still to be validated.
    fn verify_where(
        &mut self,
        is_needed: impl Fn(usize) -> bool,
        limits: &Limits,
        deferred: &mut Deferred,
    ) -> Result<(), ReadError<S::Error>> {
        let blobs = self.weak_blobs(&is_needed).map_err(Error::from)?;
        for (place, shard) in self.bound.iter_mut().enumerate() {
            if is_needed(place) {
                let first = blobs.partition_point(|(own, ..)| *own < place);
                let own = blobs.iter().skip(first).take_while(|(own, ..)| *own == place);
                shard.verify(own.map(|(_, start, end)| *start..*end), limits, deferred)?;
            }
        }
        Ok(())
    }
}

impl Object<'_> {
    /// The same object as it is read from that shard: its components that lie there can be bound,
    /// decoded and sliced, with the shard's bytes, and no others.
    #[must_use]
    pub fn in_shard<S>(&self, shard: &BoundShard<'_, S>) -> Self {
        self.in_shard_named(shard.shard.name())
    }
}

impl Component<'_> {
    /// As [`Object::in_shard`].
    #[must_use]
    pub fn in_shard<S>(&self, shard: &BoundShard<'_, S>) -> Self {
        if self.shard() == Some(shard.shard.name()) { self.in_own_file() } else { *self }
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

impl<'s, R, S> Files<'s, '_, R, S>
where
    R: ReadAt + ?Sized,
    S: ReadAt<Error = R::Error>,
{
    /// The component as it is read from the file that it is in, and that file.
    ///
    /// # Errors
    /// `unsupported-shard` where it is in one that was not found, `unsupported-version` where that is of another
    /// version; [`Misuse::UnverifiedShard`] where it has no digest, and that of its shard has not been
    /// [compared](Shards::verify_for).
    pub fn locate<'c>(
        self,
        component: &Component<'c>,
    ) -> Result<(Component<'c>, ComponentSource<'s, R, S>), Error> {
        let located = component.in_own_file();
        let Some(name) = component.shard() else {
            return Ok((located, ComponentSource::Root(self.root)));
        };
        let Some(shard) = self.shards.get(name) else {
            let others = &self.shards.other_versions;
            let other = place(others, name).and_then(|place| others.get(place)?.version);
            let missing = Error::new(Unsupported::Shard, component.extent().offset());
            return Err(other.unwrap_or(missing.at(component.place())));
        };
        if shard.is_pending() && component.digest().is_none() {
            return Err(Error::misuse(Misuse::UnverifiedShard).at(component.place()));
        }
        Ok((located, ComponentSource::Shard(shard.reader())))
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

impl<R, S> ReadAt for ComponentSource<'_, R, S>
where
    R: ReadAt + ?Sized,
    S: ReadAt<Error = R::Error>,
{
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
