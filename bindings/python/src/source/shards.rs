//! The shards of a file: opened with it, or over the network found when they are read.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use zten::shards::{BoundShard, Candidate, Find, Shard, Shards};
use zten::tools::VerifiedBlocks;
use zten::{Component, Error};
use zten_formats::shards::{Links, Want};
use zten_report::escape;

use super::{Open, Source, Watched};
use crate::interrupt::Cancel;

/// Shards of an open file.
pub(crate) type OpenShards<'a> = Shards<'a, Watched>;

/// A shard that is listed, and the file that may be it, if there is one: over the network none before it is asked for.
pub(super) struct Listed {
    pub(super) want: Want,
    pub(super) found: OnceLock<Option<Found>>,
}

/// A file that may be a shard.
pub(super) struct Found {
    pub(super) source: Arc<Source>,
    pub(super) length: u64,
    /// Set once its digest has been compared.
    verified: OnceLock<VerifiedBlocks>,
}

impl Found {
    pub(super) fn new(source: Source, length: u64) -> Self {
        Self { source: Arc::new(source), length, verified: OnceLock::new() }
    }
}

impl Listed {
    /// A shard of the file `root`. Of one that was opened by its path the shard is opened, too.
    pub(super) fn open_sibling(want: Want, root: &Source, path: &Path) -> io::Result<Self> {
        let Source::File(_) = root else { return Ok(Self { want, found: OnceLock::new() }) };
        let found = want.open(path, Links::OfHub)?;
        let found = found.map(|shard| Found::new(Source::File(shard.file), shard.length));
        Ok(Self { want, found: OnceLock::from(found) })
    }

    /// The file that may be it, which is looked for if it has not been.
    pub(super) fn find(&self, root: &Source) -> io::Result<Option<&Found>> {
        if self.found.get().is_none() {
            let found = root.find(&self.want).map_err(|error| {
                let name = escape::quoted(self.want.name());
                io::Error::new(error.kind(), format!("{name}: {error}"))
            })?;
            // Another thread may have found the same.
            let _ = self.found.set(found);
        }
        Ok(self.found.get().and_then(Option::as_ref))
    }
}

impl Open {
    /// All shards that are found. Their digests have been compared: [`Shards::verify`] tells the first that is wrong.
    pub(crate) fn all_shards(&self, cancel: &Cancel) -> Result<OpenShards<'_>, Error> {
        let mut shards = self.bind(cancel, None)?;
        self.plan_whole(shards.bound().iter().map(BoundShard::shard))?;
        let verified = shards.verify();
        self.keep(&shards);
        match verified {
            Err(error) if error.rule().is_none() => Err(error),
            _ => Ok(shards),
        }
    }

    /// The shards that components are in. Those of components without a digest have been verified; no other shard is
    /// looked for.
    pub(crate) fn shards_for<'c>(
        &self,
        components: impl Iterator<Item = Component<'c>> + Clone,
        cancel: &Cancel,
    ) -> Result<OpenShards<'_>, Error> {
        let only: HashSet<_> =
            components.clone().filter_map(|component| component.shard()).collect();
        if only.is_empty() {
            return Ok(Shards::default());
        }
        let mut shards = self.bind(cancel, Some(only))?;
        let weak = components.clone().filter(|component| component.digest().is_none());
        let weak: HashSet<_> = weak.filter_map(|component| component.shard()).collect();
        let bound = shards.bound().iter().map(BoundShard::shard);
        self.plan_whole(bound.filter(|shard| weak.contains(shard.name())))?;
        let verified = shards.verify_for(components);
        self.keep(&shards);
        verified.map(|()| shards)
    }

    /// Binds shards. What has been verified of this file before is not verified again.
    fn bind(&self, cancel: &Cancel, only: Option<HashSet<&str>>) -> Result<OpenShards<'_>, Error> {
        let mut shards = self.manifest().bind_shards(&Finder { open: self, cancel, only })?;
        for bound in shards.bound_mut() {
            let found = self.known(bound.shard().name());
            if let Some(blocks) = found.and_then(|found| found.verified.get()) {
                bound.set_verified(blocks);
            }
        }
        Ok(shards)
    }

    /// Keeps what has been verified.
    fn keep(&self, shards: &OpenShards<'_>) {
        for bound in shards.bound() {
            if let Some(blocks) = bound.verified()
                && let Some(found) = self.known(bound.shard().name())
            {
                found.verified.get_or_init(|| blocks.clone());
            }
        }
    }

    /// Says that those shards will be read from their first byte to the last, unless they have been verified or have no
    /// digest.
    fn plan_whole<'s>(&self, shards: impl Iterator<Item = Shard<'s>>) -> io::Result<()> {
        for shard in shards.filter(|shard| shard.digest().is_some()) {
            if let Some(found) = self.known(shard.name())
                && found.verified.get().is_none()
            {
                let whole = vec![vec![0..found.length]];
                found.source.plan(Some(whole))?;
            }
        }
        Ok(())
    }

    /// The file that may be the shard of that name, if it has been looked for.
    fn known(&self, name: &str) -> Option<&Found> {
        let listed = self.shards.iter().find(|listed| listed.want.name() == name)?;
        listed.found.get()?.as_ref()
    }

    /// The file that may be the shard of that name, which is looked for if it has not been.
    pub(super) fn found(&self, name: &str) -> io::Result<Option<&Found>> {
        match self.shards.iter().find(|listed| listed.want.name() == name) {
            Some(listed) => listed.find(self.source()),
            None => Ok(None),
        }
    }
}

/// Takes the files that may be shards.
struct Finder<'f> {
    open: &'f Open,
    cancel: &'f Cancel,
    /// The names of those that are needed, if not all are.
    only: Option<HashSet<&'f str>>,
}

impl Find for Finder<'_> {
    type Source = Watched;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<Watched>>, Error> {
        let is_needed = self.only.as_ref().is_none_or(|only| only.contains(shard.name()));
        let found = if is_needed { self.open.found(shard.name())? } else { None };
        Ok(found.map(|found| {
            let source = Watched::new(&found.source, self.cancel);
            Candidate { source, length: found.length }
        }))
    }
}
