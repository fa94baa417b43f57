//! The files that content is read from: a file and those of its shards that were found.

use zten::shards::{Candidate, Files, Find, Shard, Shards};
use zten::{Component, Error, ErrorKind};

use crate::file::FileWithShards;
use crate::progress::{Progress, Watched};

/// A file and those of its shards that were found, each of which has the frame and the size that
/// it should have.
pub(crate) struct Sources<'a> {
    pub(crate) archive: &'a FileWithShards,
    pub(crate) root: Watched<'a>,
    shards: Shards<'a, Watched<'a>>,
}

impl<'a> Sources<'a> {
    /// Validates the frames of the shards.
    pub(crate) fn bind(archive: &'a FileWithShards, progress: &'a Progress) -> Result<Self, Error> {
        archive.find_shards(None)?;
        let find = Opened { archive, progress, only: None };
        let shards = archive.manifest().bind_shards(&find)?;
        Ok(Self { archive, root: Watched::new(archive.source(), progress), shards })
    }

    /// Validates the frame of the shard that a component is in, if it is in one, and no other.
    pub(crate) fn bind_for(
        archive: &'a FileWithShards,
        progress: &'a Progress,
        component: &Component<'a>,
    ) -> Result<Self, Error> {
        let shards = match component.shard() {
            only @ Some(_) => {
                archive.find_shards(only)?;
                archive.manifest().bind_shards(&Opened { archive, progress, only })?
            }
            None => Shards::default(),
        };
        Ok(Self { archive, root: Watched::new(archive.source(), progress), shards })
    }

    /// All of them, to read content from.
    pub(crate) fn all(&self) -> Files<'_, 'a, Watched<'a>, Watched<'a>> {
        Files { root: &self.root, shards: &self.shards }
    }

    /// Validates the shards as a whole: all are there, with their digests. What is read of them from then on is what
    /// was verified.
    pub(crate) fn verify(&mut self) -> Result<(), Error> {
        self.archive.plan_whole_shards()?;
        let verified = self.shards.verify();
        self.archive.plan_all()?;
        verified
    }

    /// Verifies as [`verify`](Self::verify) does, and settles a failure, after which the file is read no further.
    pub(crate) fn require(&mut self) -> Result<(), Error> {
        self.verify().map_err(|failure| self.settle(failure))
    }

    /// The failure that says the most about the file: where it is that something is not supported, all is validated,
    /// so that a file that is invalid is called so by every command.
    pub(crate) fn settle(&mut self, failure: Error) -> Error {
        if !matches!(failure.kind(), ErrorKind::Unsupported(_)) {
            return failure;
        }
        let mut verifier = self.archive.verifier();
        match verifier.file_in(self.archive.manifest(), &self.root, &mut self.shards) {
            Err(found) if !found.is_unsupported() => found,
            _ => failure,
        }
    }

    /// Verifies the shard that was bound, if one of those components has no digest of its own.
    pub(crate) fn verify_for(&mut self, components: &[Component<'_>]) -> Result<(), Error> {
        if components.iter().any(|component| component.digest().is_none()) {
            self.archive.plan_whole_shards()?;
        }
        self.shards.verify_for(components.iter().copied())
    }
}

/// The files that were opened before any was read.
struct Opened<'a> {
    archive: &'a FileWithShards,
    progress: &'a Progress,
    /// The name of the one that is needed, if not all are.
    only: Option<&'a str>,
}

impl<'a> Find for Opened<'a> {
    type Source = Watched<'a>;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<Self::Source>>, Error> {
        let is_needed = self.only.is_none_or(|only| only == shard.name());
        let found = self.archive.shard_file(shard.name()).filter(|_| is_needed);
        Ok(found.map(|shard| {
            let identity = shard.identity;
            let source = Watched { identity, ..Watched::new(&shard.file, self.progress) };
            Candidate { source, length: shard.length }
        }))
    }
}
