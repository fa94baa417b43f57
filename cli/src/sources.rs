//! Where content is read: a file and the shards of it that were found.
#![cfg_attr(
    not(feature = "v2"),
    allow(
        clippy::allow_attributes,
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "of generation 2 alone there are shards"
    )
)]

use std::io;

use zten::{Component, Limits, Object, ReadAt, verify::Verifier};
#[cfg(feature = "v2")]
use zten::{shards::Candidate, shards::Files, shards::Find, shards::Shard, shards::Shards};

use crate::file::FileWithShards;
#[cfg(feature = "v2")]
use crate::file::ShardFile;
use crate::objects::Failure;
use crate::progress::Watched;

/// A file and those of its shards that were found, each of which has the frame and the size that
/// it should have.
pub(crate) struct Sources<'a> {
    root: &'a Watched<'a>,
    #[cfg(feature = "v2")]
    shards: Shards<'a, WatchedShard<'a>>,
}

impl<'a> Sources<'a> {
    /// Validates the frames of the shards.
    pub(crate) fn bind(
        archive: &'a FileWithShards,
        root: &'a Watched<'a>,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        #[cfg(feature = "v2")]
        let shards = archive.bind_shards(&Opened { archive, root }, limits)?;
        let _ = (archive, limits);
        Ok(Self {
            root,
            #[cfg(feature = "v2")]
            shards,
        })
    }

    /// Validates an object.
    pub(crate) fn object(
        &self,
        verifier: &mut Verifier,
        object: &Object<'_>,
        tap: impl FnMut(&Component<'_>, &[u8]),
    ) -> Result<(), Failure> {
        #[cfg(feature = "v2")]
        return verifier.object_in(object, Files { root: self.root, shards: &self.shards }, tap);
        #[cfg(not(feature = "v2"))]
        verifier.object(object, self.root, tap)
    }

    /// Validates the shards as a whole: all are there, with their digests.
    pub(crate) fn whole(&self, limits: &Limits) -> Result<(), Failure> {
        #[cfg(feature = "v2")]
        Verifier::new(0, limits).shards(&self.shards)?;
        let _ = limits;
        Ok(())
    }
}

/// A shard that is being read, and how much has been.
#[cfg(feature = "v2")]
struct WatchedShard<'a> {
    shard: &'a ShardFile,
    root: &'a Watched<'a>,
}

#[cfg(feature = "v2")]
impl ReadAt for WatchedShard<'_> {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.shard.file.read_at(offset, buffer)?;
        self.root.note(buffer.len());
        Ok(())
    }
}

/// The files that were opened before any was read.
#[cfg(feature = "v2")]
struct Opened<'a> {
    archive: &'a FileWithShards,
    root: &'a Watched<'a>,
}

#[cfg(feature = "v2")]
impl<'a> Find for Opened<'a> {
    type Source = WatchedShard<'a>;

    fn find(&self, shard: &Shard<'_>) -> io::Result<Option<Candidate<WatchedShard<'a>>>> {
        Ok(self.candidate(shard))
    }
}

#[cfg(feature = "v2")]
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
}

impl<'a> Placed<'a> {
    /// That of a component: where its shard was not found, it is none that can be read.
    pub(crate) fn locate(
        archive: &'a FileWithShards,
        root: &'a Watched<'a>,
        component: Component<'a>,
    ) -> Result<Self, Failure> {
        let object = component.object();
        #[cfg(feature = "v2")]
        if let Some(name) = component.shard()
            && let Some(shard) = archive.shards().find(|shard| shard.name() == name)
            && let Some(candidate) = (Opened { archive, root }).candidate(&shard)
        {
            let bound = shard.bind(candidate)?;
            let (object, component) = (object.in_shard(&bound), component.in_shard(&bound));
            return Ok(Self { object, component, source: Box::new(bound.into_source()) });
        }
        let _ = archive;
        Ok(Self { object, component, source: Box::new(root) })
    }
}
