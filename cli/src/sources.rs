//! Where content is read: a file and the shards of it that were found.

use std::io;

use zten::shards::{Candidate, Files, Find, Shard, Shards};
use zten::{Component, Limits, Object, ReadAt, verify::Verifier};

use crate::companion::Companion;
use crate::file::FileWithShards;
use crate::handle::Handle;
use crate::objects::Failure;
use crate::progress::Watched;

/// A file and those of its shards that were found, each of which has the frame and the size that
/// it should have.
pub(crate) struct Sources<'a> {
    archive: &'a FileWithShards,
    root: &'a Watched<'a>,
    shards: Shards<'a, WatchedShard<'a>>,
}

impl<'a> Sources<'a> {
    /// Validates the frames of the shards.
    pub(crate) fn bind(
        archive: &'a FileWithShards,
        root: &'a Watched<'a>,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        archive.find_shards(None).map_err(Failure::Source)?;
        archive.plan_all().map_err(Failure::Source)?;
        let shards = archive.bind_shards(&Opened { archive, root }, limits)?;
        Ok(Self { archive, root, shards })
    }

    /// Validates an object.
    pub(crate) fn object(
        &self,
        verifier: &mut Verifier,
        object: &Object<'_>,
        tap: impl FnMut(&Component<'_>, &[u8]),
    ) -> Result<(), Failure> {
        verifier.object_in(object, self.all(), tap)
    }

    /// All of them, to read content from.
    pub(crate) fn all(&self) -> Files<'_, 'a, Watched<'a>, impl ReadAt<Error = io::Error>> {
        Files { root: self.root, shards: &self.shards }
    }

    /// Validates the shards as a whole: all are there, with their digests.
    pub(crate) fn whole(&self, limits: &Limits) -> Result<(), Failure> {
        if self.shards.bound().is_empty() {
            return Verifier::new(0, limits).shards(&self.shards);
        }
        self.archive.plan_whole_shards().map_err(Failure::Source)?;
        Verifier::new(0, limits).shards(&self.shards)?;
        self.archive.plan_all().map_err(Failure::Source)
    }
}

/// A shard that is being read, and how much has been.
struct WatchedShard<'a> {
    shard: &'a Companion,
    root: &'a Watched<'a>,
}

impl ReadAt for WatchedShard<'_> {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.root.goes_on()?;
        self.shard.file.read_at(offset, buffer)?;
        self.root.note(buffer.len());
        Ok(())
    }
}

/// The files that were opened before any was read.
struct Opened<'a> {
    archive: &'a FileWithShards,
    root: &'a Watched<'a>,
}

impl<'a> Find for Opened<'a> {
    type Source = WatchedShard<'a>;

    fn find(&self, shard: &Shard<'_>) -> io::Result<Option<Candidate<WatchedShard<'a>>>> {
        Ok(self.candidate(shard))
    }
}

impl<'a> Opened<'a> {
    fn candidate(&self, shard: &Shard<'_>) -> Option<Candidate<WatchedShard<'a>>> {
        let shard = self.archive.shard_file(shard.name())?;
        let source = WatchedShard { shard, root: self.root };
        Some(Candidate { source, length: shard.length })
    }
}

/// A component and its object, and what they are read from: the file, or a shard of it.
pub(crate) struct Placed<'a> {
    pub(crate) object: Object<'a>,
    pub(crate) component: Component<'a>,
    pub(crate) source: Box<dyn ReadAt<Error = io::Error> + 'a>,
    /// What that is.
    pub(crate) file: &'a Handle,
}

impl<'a> Placed<'a> {
    /// That of a component: where its shard was not found, it is none that can be read.
    pub(crate) fn locate(
        archive: &'a FileWithShards,
        root: &'a Watched<'a>,
        component: Component<'a>,
    ) -> Result<Self, Failure> {
        let object = component.object();
        if let Some(name) = component.shard() {
            archive.find_shards(Some(name)).map_err(Failure::Source)?;
        }
        if let Some(name) = component.shard()
            && let Some(file) = archive.shard_file(name)
            && let Some(shard) = archive.shards().find(|shard| shard.name() == name)
            && let Some(candidate) = (Opened { archive, root }).candidate(&shard)
        {
            let bound = shard.bind(candidate)?;
            let (object, component) = (object.in_shard(&bound), component.in_shard(&bound));
            return Ok(Self {
                object,
                component,
                source: Box::new(bound.into_source()),
                file: &file.file,
            });
        }
        Ok(Self { object, component, source: Box::new(root), file: archive.source() })
    }
}
