//! Where content is read: a file and the shards of it that were found.

use std::io;

use zten::shards::{Candidate, Files, Find, Shard, Shards};
use zten::{Component, Limits, Object, ReadAt, verify::Verifier};

use crate::companion::Companion;
use crate::file::FileWithShards;
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
        let shards = archive.bind_shards(&Opened { archive, root, only: None }, limits)?;
        Ok(Self { archive, root, shards })
    }

    /// Validates the frame of the shard that a component is in, if it is in one, and no other.
    pub(crate) fn bind_for(
        archive: &'a FileWithShards,
        root: &'a Watched<'a>,
        component: &Component<'a>,
    ) -> Result<Self, Failure> {
        let only = component.shard();
        if let Some(name) = only {
            archive.find_shards(Some(name)).map_err(Failure::Source)?;
        }
        let find = Opened { archive, root, only: Some(only.unwrap_or_default()) };
        let shards = match only {
            Some(_) => archive.bind_shards(&find, archive.limits())?,
            None => Shards::default(),
        };
        Ok(Self { archive, root, shards })
    }

    /// Validates an object.
    pub(crate) fn check(
        &self,
        verifier: &mut Verifier,
        object: &Object<'_>,
    ) -> Result<(), Failure> {
        verifier.check(object, self.all())
    }

    /// Validates an object, and hands on what is in it.
    pub(crate) fn object(
        &self,
        verifier: &mut Verifier,
        object: &Object<'_>,
        tap: impl FnMut(&Component<'_>, &[u8]),
    ) -> Result<(), Failure> {
        verifier.object(object, self.all(), tap)
    }

    /// All of them, to read content from.
    pub(crate) fn all(&self) -> Files<'_, 'a, Watched<'a>, impl ReadAt<Error = io::Error>> {
        Files { root: self.root, shards: &self.shards }
    }

    /// Validates the shards as a whole: all are there, with their digests. What is read of them from then on is what
    /// was verified.
    pub(crate) fn verify(&mut self, limits: &Limits) -> Result<(), Failure> {
        self.archive.plan_whole_shards().map_err(Failure::Source)?;
        let verified = self.shards.verify(limits);
        self.archive.plan_all().map_err(Failure::Source)?;
        verified
    }

    /// As [`verify`](Self::verify), where a file that is not valid is not read any further.
    pub(crate) fn require(&mut self, limits: &Limits) -> Result<(), Failure> {
        self.verify(limits).map_err(|failure| self.settle(failure, limits))
    }

    /// The failure that says the most about the file: where it is that something is not supported, all is validated,
    /// so that a file that is invalid is called so by every command.
    pub(crate) fn settle(&mut self, failure: Failure, limits: &Limits) -> Failure {
        if !is_unsupported(&failure) {
            return failure;
        }
        let mut verifier = Verifier::new(self.archive.all_bytes(), limits);
        match verifier.file_in(self.archive.manifest(), self.root, &mut self.shards) {
            Err(found) if !is_unsupported(&found) => found,
            _ => failure,
        }
    }

    /// Verifies the shard that was bound, if one of those components has no digest of its own.
    pub(crate) fn verify_for(
        &mut self,
        components: &[Component<'_>],
        limits: &Limits,
    ) -> Result<(), Failure> {
        if components.iter().any(|component| component.digest().is_none()) {
            self.archive.plan_whole_shards().map_err(Failure::Source)?;
        }
        self.shards.verify_for(components.iter().copied(), limits)
    }
}

/// Returns whether the file may be valid for another reader.
pub(crate) fn is_unsupported(failure: &Failure) -> bool {
    matches!(failure, Failure::Refused(error) if error.is_unsupported())
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
    /// The name of the one that is needed, if not all are.
    only: Option<&'a str>,
}

impl<'a> Find for Opened<'a> {
    type Source = WatchedShard<'a>;

    fn find(&self, shard: &Shard<'_>) -> io::Result<Option<Candidate<WatchedShard<'a>>>> {
        let is_needed = self.only.is_none_or(|only| only == shard.name());
        let found = self.archive.shard_file(shard.name()).filter(|_| is_needed);
        Ok(found.map(|shard| {
            let source = WatchedShard { shard, root: self.root };
            Candidate { source, length: shard.length }
        }))
    }
}
