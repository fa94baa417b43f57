//! The shards of a file: opened with it, or over the network found when they are read.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

use zten::shards::{BoundShard, Candidate, Find, Shard, Shards};
use zten::{Component, Manifest, Options, ReadError};
use zten_present::escape;
use zten_shards::Want;

use super::{Open, Source, Watched};
use crate::interrupt::Cancel;

/// A shard that is listed, and the file that may be it, if there is one: over the network none before it is asked for.
pub(super) struct Listed {
    pub(super) want: Want,
    pub(super) found: OnceLock<Option<Found>>,
}

/// A file that may be a shard.
pub(super) struct Found {
    pub(super) source: Source,
    pub(super) length: u64,
}

/// The shards that a file lists; those of one that has a path have been opened.
pub(super) fn listed(
    manifest: &Manifest<Vec<u8>>,
    options: &Options,
    path: Option<&Path>,
) -> io::Result<Vec<Listed>> {
    let wanted = zten_shards::wanted(manifest, options).into_iter().map(Want::Shard);
    let open = |want: Want| {
        let Some(path) = path else { return Ok(Listed { want, found: OnceLock::new() }) };
        let found = want
            .open(path)?
            .map(|shard| Found { source: Source::File(shard.file), length: shard.length });
        Ok(Listed { want, found: OnceLock::from(found) })
    };
    wanted.map(open).collect()
}

impl Open {
    /// The shards that are found, whose frames and sizes are those of the table.
    pub(crate) fn shards<'a>(
        &'a self,
        cancel: &'a Cancel,
    ) -> Result<Shards<'a, Watched<'a, Source>>, ReadError<io::Error>> {
        self.manifest.bind_shards(&Finder { open: self, cancel, only: None }, self.limits())
    }

    /// Those of them that components are in: no other is looked for.
    pub(crate) fn shards_of<'a, 'c>(
        &'a self,
        components: impl IntoIterator<Item = Component<'c>>,
        cancel: &'a Cancel,
    ) -> Result<Shards<'a, Watched<'a, Source>>, ReadError<io::Error>> {
        let only: HashSet<_> =
            components.into_iter().filter_map(|component| component.shard()).collect();
        let finder = Finder { open: self, cancel, only: Some(only) };
        self.manifest.bind_shards(&finder, self.limits())
    }

    /// The shard of that name, if it is found; its frame and size are those of the table.
    pub(crate) fn shard<'a>(
        &'a self,
        name: &str,
        cancel: &'a Cancel,
    ) -> Result<Option<BoundShard<'a, Watched<'a, Source>>>, ReadError<io::Error>> {
        let listed = self.manifest.shards().find(|shard| shard.name() == name);
        let candidate = |shard| Ok((shard, self.candidate(&shard, cancel)?));
        let found = listed.map(candidate).transpose().map_err(ReadError::Source)?;
        match found {
            Some((shard, Some(candidate))) => shard.bind(candidate).map(Some),
            // Where there are more than the limit allows, none has been looked for: an error.
            _ => self.shards_of([], cancel).map(|_| None),
        }
    }

    /// The file that may be a shard.
    fn candidate<'a>(
        &'a self,
        shard: &Shard<'_>,
        cancel: &'a Cancel,
    ) -> io::Result<Option<Candidate<Watched<'a, Source>>>> {
        Ok(self.found(shard.name())?.map(|found| {
            let source = Watched { source: &found.source, cancel };
            Candidate { source, length: found.length }
        }))
    }

    /// The file that may be the shard of that name, which is looked for if it has not been.
    pub(super) fn found(&self, name: &str) -> io::Result<Option<&Found>> {
        let Some(listed) = self.shards.iter().find(|listed| listed.want.name() == name) else {
            return Ok(None);
        };
        if listed.found.get().is_none() {
            let found = self.source.find(&listed.want).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", escape::quoted(name)))
            })?;
            // Another thread may have found the same.
            let _ = listed.found.set(found);
        }
        Ok(listed.found.get().and_then(Option::as_ref))
    }
}

/// Takes the files that may be shards.
struct Finder<'a, 'c> {
    open: &'a Open,
    cancel: &'a Cancel,
    /// The names of those that are needed, if not all are.
    only: Option<HashSet<&'c str>>,
}

impl<'a> Find for Finder<'a, '_> {
    type Source = Watched<'a, Source>;

    fn find(&self, shard: &Shard<'_>) -> io::Result<Option<Candidate<Self::Source>>> {
        let is_needed = self.only.as_ref().is_none_or(|only| only.contains(shard.name()));
        if is_needed { self.open.candidate(shard, self.cancel) } else { Ok(None) }
    }
}
