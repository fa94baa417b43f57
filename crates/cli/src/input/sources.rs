//! The files from which content is read: a file and its shards.

use zten::shards::{Candidate, Files, Find, Shard, Shards};
use zten::verify::{Rank, Subject, Verifier, check};
use zten::{Component, Error, Tensor};

use crate::input::file::FileWithShards;
use crate::input::objects::threads_for;
use crate::output::progress::{Progress, Watched};

/// A file, and those of its shards that were found. Their sizes and frames (header, footer, place of the manifest) are valid.
pub(crate) struct Sources<'a> {
    pub(crate) archive: &'a FileWithShards,
    pub(crate) root: Watched<'a>,
    shards: Shards<'a, Watched<'a>>,
}

impl<'a> Sources<'a> {
    /// Finds the shards of `archive`, and validates their frames (header, footer, place of the manifest).
    pub(crate) fn bind(archive: &'a FileWithShards, progress: &'a Progress) -> Result<Self, Error> {
        archive.find_shards(None)?;
        let find = Opened { archive, progress, only: None };
        let shards = archive.manifest().bind_shards(&find)?;
        Ok(Self { archive, root: Watched::new(archive.source(), progress), shards })
    }

    /// Finds the shard that holds `component`, if the component is in a shard, and validates the frame of that shard only.
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

    /// Returns the file and its shards, to read content from.
    pub(crate) fn all(&self) -> Files<'_, 'a, Watched<'a>, Watched<'a>> {
        Files { root: &self.root, shards: &self.shards }
    }

    /// Calls `work` for each object, on several threads if the file is large and local. Returns the results in the order of
    /// the file. Stops at the first error for which `ends` returns true; this error is then the last result.
    pub(crate) fn results<T: Send + Sync>(
        &self,
        work: impl Fn(&mut Verifier, &Tensor<'_>) -> Result<T, Error> + Sync,
        ends: impl Fn(&Error) -> bool + Sync,
    ) -> Result<Vec<Result<T, Error>>, Error> {
        let files = self.all();
        let subject = Subject::with_shards(self.archive.manifest(), &files);
        Ok(subject.results(threads_for(self.archive), work, ends)?)
    }

    /// Verifies that all shards were found and match their digests. Later reads of the shards return the verified bytes.
    pub(crate) fn verify(&mut self) -> Result<(), Error> {
        self.archive.plan_whole_shards()?;
        let verified = self.shards.verify();
        self.archive.plan_all()?;
        verified
    }

    /// Verifies the shards as [`verify`](Self::verify) does, for callers that stop at an error: the error is the one that
    /// [`settle`](Self::settle) returns.
    pub(crate) fn require(&mut self) -> Result<(), Error> {
        self.verify().map_err(|failure| self.settle(failure))
    }

    /// Returns the error to report for `failure`. If `failure` says that a feature is not supported, validates the whole file
    /// first, and returns the error of a part that is invalid or exceeds a limit instead, so that every command calls an invalid
    /// file invalid. If a shard cannot be read meanwhile, returns that error.
    pub(crate) fn settle(&mut self, failure: Error) -> Error {
        if Rank::from(failure.kind()) != Rank::Unsupported {
            return failure;
        }
        match self.shards.verify() {
            // An error with a rule is in the report. An error without a rule says why a shard could not be verified.
            Err(error) if error.rule().is_none() => return error,
            _ => {}
        }
        let files = self.all();
        let report = check(Subject::with_shards(self.archive.manifest(), &files), &mut ());
        match report.into_result() {
            Err(found) if Rank::from(found.kind()) < Rank::Unsupported => found,
            _ => failure,
        }
    }

    /// Verifies the bound shard if one of `components` has no digest of its own.
    pub(crate) fn verify_for(&mut self, components: &[Component<'_>]) -> Result<(), Error> {
        if components.iter().any(|component| component.digest().is_none()) {
            self.archive.plan_whole_shards()?;
        }
        self.shards.verify_for(components.iter().copied())
    }
}

/// The open files among which shards are found.
struct Opened<'a> {
    archive: &'a FileWithShards,
    progress: &'a Progress,
    /// The name of the only shard that is needed, or `None` if all are needed.
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
