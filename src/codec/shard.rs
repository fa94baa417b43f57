//! Shards that have been found: validated by their frame and size when they are bound, by their
//! digest when they are verified. v2 §7.3.

use alloc::vec::Vec;
use core::ops::Range;

use super::hasher::{Hasher, Verified};
use super::{ReadAt, ReadError};
use crate::error::{Error, ErrorKind, OutOfMemory};
use crate::format::by_length;
use crate::format::frame::{Container, Frame};
use crate::limits::Limits;
use crate::manifest::{Component, Manifest, Object, Shard};
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
/// # #[cfg(feature = "v2")] {
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
/// let shards = archive.bind_shards(&InMemory(&files), &zten::Limits::default())?;
/// let object = archive.get("w").unwrap();
/// let shard = shards.get("s").unwrap();
/// let view = object.in_shard(shard).dense()?.bind(shard.source())?;
/// assert_eq!(view.elements::<f32>()?.count(), 4);
/// # }
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
/// Whether it has the digest, [`verify`](Self::verify) tells.
#[derive(Clone, Debug)]
pub struct BoundShard<'a, S> {
    shard: Shard<'a>,
    source: S,
}

impl<'a> Shard<'a> {
    /// Validates the frame and the size of a file that may be the shard. Nothing else of it is
    /// read, its own manifest least of all: v2 §7.3.
    ///
    /// # Errors
    /// `shard-length`, `shard-frame`, `unsupported-version`, at the [`offset`](Self::offset) of
    /// the shard; whatever the source fails with.
    pub fn bind<S: ReadAt>(
        &self,
        candidate: Candidate<S>,
    ) -> Result<BoundShard<'a, S>, ReadError<S::Error>> {
        let Candidate { source, length } = candidate;
        if length != self.size() {
            return Err(self.error(Rule::ShardLength).found(length).into());
        }
        let mut header = [0; 8];
        source.read_at(0, &mut header).map_err(ReadError::Source)?;
        let container = Container::read(&header).map_err(|error| self.frame(error))?;
        if container != Container::V2 {
            return Err(self.error(Rule::ShardFrame).found(0).into());
        }
        let range = container.footer_range(length).map_err(|error| self.frame(error))?;
        let mut footer = [0; 40];
        source.read_at(range.start, &mut footer).map_err(ReadError::Source)?;
        // Its manifest is not read, whatever its size.
        let limits = Limits::default();
        Frame::read(container, &footer, range, &limits).map_err(|error| self.frame(error))?;
        Ok(BoundShard { shard: *self, source })
    }

    /// What an error of its frame is to the file that lists it.
    fn frame(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Unsupported(Unsupported::Version) => error.moved(self.offset()),
            _ => self.error(Rule::ShardFrame).found(error.offset().unwrap_or_default()),
        }
    }
}

impl<'a, S: ReadAt> BoundShard<'a, S> {
    /// What the table says of it.
    pub fn shard(&self) -> Shard<'a> {
        self.shard
    }

    /// Its bytes.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Its bytes, alone.
    pub fn into_source(self) -> S {
        self.source
    }

    /// Reads all of it, and compares its digest.
    ///
    /// # Errors
    /// `shard-digest`; whatever the source fails with; [`OutOfMemory`].
    pub fn verify(&self, limits: &Limits) -> Result<Verified, ReadError<S::Error>> {
        let mut hasher = Hasher::new(Some(self.shard.digest()));
        if hasher.is_unverifiable() {
            return Ok(Verified::Unverifiable);
        }
        let mut buffer = Vec::new();
        let chunk = usize_from_u32(limits.chunk());
        let Range { mut start, end } = 0..self.shard.size();
        while start < end {
            let left = end.saturating_sub(start);
            let length = usize::try_from(left).unwrap_or(chunk).min(chunk);
            match self.source.bytes_at(start, length) {
                Some(bytes) if bytes.len() == length => hasher.update(bytes),
                _ => {
                    super::reader::extend(&mut buffer, length)?;
                    self.source.read_at(start, &mut buffer).map_err(ReadError::Source)?;
                    hasher.update(&buffer);
                }
            }
            start = start.saturating_add(u64_from_usize(length));
        }
        Ok(hasher.finish().map_err(|_| self.shard.error(Rule::ShardDigest))?)
    }
}

/// The shards of a file that have been found, by their names.
#[derive(Clone, Debug)]
pub struct Shards<'a, S> {
    /// In the order of the table.
    bound: Vec<BoundShard<'a, S>>,
    missing: Option<Shard<'a>>,
}

impl<S> Default for Shards<'_, S> {
    fn default() -> Self {
        Self { bound: Vec::new(), missing: None }
    }
}

impl<B: AsRef<[u8]>> Manifest<B> {
    /// Has all its shards looked for, and validates the frame and size of those that are found.
    /// None is looked for more than once.
    ///
    /// # Errors
    /// `limit-shards` where the table has more than [`Limits::shards`], none of which has been
    /// looked for then; as [`Shard::bind`]; whatever `finder` fails with; [`OutOfMemory`].
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
        let mut shards = Shards::default();
        for shard in self.shards() {
            let Some(candidate) = finder.find(&shard).map_err(ReadError::Source)? else {
                shards.missing = shards.missing.or(Some(shard));
                continue;
            };
            let bound = shard.bind(candidate)?;
            shards.bound.try_reserve(1).map_err(|_| Error::from(OutOfMemory))?;
            shards.bound.push(bound);
        }
        Ok(shards)
    }
}

impl<'a, S> Shards<'a, S> {
    /// The shard of that name, if it was found. In O(log n).
    pub fn get(&self, name: &str) -> Option<&BoundShard<'a, S>> {
        let order =
            |bound: &BoundShard<'_, S>| by_length(bound.shard.name().as_bytes(), name.as_bytes());
        self.bound.get(self.bound.binary_search_by(order).ok()?)
    }

    /// Those that were found, in the order of the table.
    pub fn bound(&self) -> &[BoundShard<'a, S>] {
        &self.bound
    }

    /// The first one that was not found.
    pub fn missing(&self) -> Option<Shard<'a>> {
        self.missing
    }

    /// The error of a file of which a shard is missing.
    pub(crate) fn complete(&self) -> Result<(), Error> {
        self.missing.map_or(Ok(()), |missing| Err(missing.error(Unsupported::Shard)))
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
        if self.shard() == Some(shard.shard.name()) { self.where_it_is() } else { *self }
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

/// One of them.
pub(crate) enum Either<'s, R: ?Sized, S> {
    /// The file itself.
    Root(&'s R),
    /// A shard.
    Shard(&'s S),
}

impl<R, S> ReadAt for Either<'_, R, S>
where
    R: ReadAt + ?Sized,
    S: ReadAt<Error = R::Error>,
{
    type Error = R::Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), R::Error> {
        match self {
            Self::Root(root) => root.read_at(offset, buffer),
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
