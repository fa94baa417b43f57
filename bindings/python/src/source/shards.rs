//! Finds and verifies the shards of an open file. Shards on disk are opened with the file, remote shards when they are read.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use zten::conventions::Groups;
use zten::escape;
use zten::shards::VerifiedBlocks;
use zten::shards::{BoundShard, Candidate, Files, Find, Shard, Shards};
use zten::shards::{ShardFinder, Want};
use zten::{Component, Error};

use super::{Open, OpenSource, Watched};
use crate::interrupt::Cancel;

/// The shards of an open file, bound to their bytes.
pub(crate) type OpenShards<'a> = Shards<'a, Watched>;

/// A shard or sibling file that a header lists.
pub(super) struct Listed {
    pub(super) want: Want,
    /// The file that was found by the name or the digest of the shard; `None` if no file was found. Unset as long as the shard of
    /// another source than a file on disk has not been looked for.
    pub(super) found: OnceLock<Option<OpenedShard>>,
}

/// A file that was opened as a shard. Its digest may still be wrong.
pub(super) struct OpenedShard {
    pub(super) source: Arc<OpenSource>,
    pub(super) length: u64,
    /// The blocks of the file with a digest of each, which were computed when the digest of the whole file was compared. Unset
    /// before that.
    verified: OnceLock<VerifiedBlocks>,
}

impl OpenedShard {
    pub(super) fn new(source: OpenSource, length: u64) -> Self {
        Self { source: Arc::new(source), length, verified: OnceLock::new() }
    }
}

impl Listed {
    /// Creates the entry for the shard `want` of the file `root` at `path`. If `root` is a file on disk, looks for the shard and
    /// opens it.
    pub(super) fn open_sibling(want: Want, root: &OpenSource, path: &Path) -> io::Result<Self> {
        let (OpenSource::File(_) | OpenSource::Blob(_)) = root else {
            return Ok(Self { want, found: OnceLock::new() });
        };
        let found = ShardFinder::of(path).open(&want)?;
        let found = found.map(|shard| OpenedShard::new(OpenSource::File(shard.file), shard.length));
        Ok(Self { want, found: OnceLock::from(found) })
    }

    /// Returns the file of this shard of `root`. If `root` is remote, the first call looks for the file. Returns `None` if there
    /// is no such file.
    pub(super) fn find(&self, root: &OpenSource) -> io::Result<Option<&OpenedShard>> {
        if self.found.get().is_none() {
            let found = root.find(&self.want).map_err(|error| {
                let name = escape::quoted(self.want.name());
                io::Error::new(error.kind(), format!("{name}: {error}"))
            })?;
            // `set` fails if another thread has found the file in the meantime. Its result is kept, and this one is dropped.
            let _ = self.found.set(found);
        }
        Ok(self.found.get().and_then(Option::as_ref))
    }
}

impl Open {
    /// Finds the groups of tensors that together are a quantized tensor by a convention, such as codes and scales. The shapes of
    /// some groups are the content of small tensors. Of a remote file these are not read, because that would fetch most of the
    /// file, so such groups are not found.
    pub(crate) fn groups(&self, cancel: &Cancel) -> Result<Groups, Error> {
        if !self.archive.needs_content_for_groups() || self.is_remote() {
            return self.archive.find_groups(None);
        }
        let shards = self.bind(cancel, None)?;
        self.archive.find_groups(Some(&Files { root: &self.root(cancel), shards: &shards }))
    }

    /// Opens all shards and compares their digests. A wrong digest is not an error here: [`Shards::verify`] of the returned
    /// shards reports the first one.
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

    /// Opens the shards of `components`, and no other shards. The digest of a whole shard is compared only if one of its
    /// components has no digest.
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

    /// Opens the shards with the names `only`, or all shards if `only` is `None`. A shard that an earlier call has verified is
    /// not verified again.
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

    /// Stores the verified blocks of each of `shards` in this file, so that later calls do not verify the shards again.
    fn keep(&self, shards: &OpenShards<'_>) {
        for bound in shards.bound() {
            if let Some(blocks) = bound.verified()
                && let Some(found) = self.known(bound.shard().name())
            {
                found.verified.get_or_init(|| blocks.clone());
            }
        }
    }

    /// Begins to fetch all bytes of the remote files of `shards`, to compare their digests. Skips shards without a digest, and
    /// shards that have been verified before.
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

    /// Returns the file of the shard `name`, or `None` if it has not been opened, or does not exist.
    fn known(&self, name: &str) -> Option<&OpenedShard> {
        let listed = self.shards.iter().find(|listed| listed.want.name() == name)?;
        listed.found.get()?.as_ref()
    }

    /// Returns the file of the shard `name`. If it has not been opened before, looks for it. Returns `None` if there is no such
    /// file.
    pub(super) fn found(&self, name: &str) -> io::Result<Option<&OpenedShard>> {
        match self.shards.iter().find(|listed| listed.want.name() == name) {
            Some(listed) => listed.find(self.source()),
            None => Ok(None),
        }
    }
}

/// Finds the files of shards of the open file `open`, for the library. Reads of these files fail after `cancel` was set.
struct Finder<'f> {
    open: &'f Open,
    cancel: &'f Cancel,
    /// The names of the shards to find; `None` for all shards.
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
