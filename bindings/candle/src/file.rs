//! An open file, with its shards.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use candle_core::{Error, Result};
use zten::shards::{Candidate, Files, Find, Locate as _, Shard, Shards, VerifiedBlocks};
use zten::source::FileArchive;
use zten::{Component, Options};
use zten_formats::Folder;
use zten_shards::ShardFile;

use crate::elements::Source;

/// A file, its manifest, and the files that may be its shards.
#[derive(Debug)]
pub(crate) struct WeightFile {
    pub(crate) path: PathBuf,
    pub(crate) archive: FileArchive,
    shards: Vec<Found>,
}

/// A file that may be a shard.
#[derive(Debug)]
struct Found {
    name: String,
    file: File,
    length: u64,
    /// Set once its digest has been compared.
    verified: OnceLock<VerifiedBlocks>,
}

/// Finds one shard.
struct One<'f> {
    file: &'f WeightFile,
    name: &'f str,
}

impl<'f> Find for One<'f> {
    type Source = &'f File;

    fn find(&self, shard: &Shard<'_>) -> io::Result<Option<Candidate<&'f File>>> {
        let found = self.file.found(self.name).filter(|_| shard.name() == self.name);
        Ok(found.map(|Found { file, length, .. }| Candidate { source: file, length: *length }))
    }
}

impl WeightFile {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self> {
        let archive = zten_formats::open_with(path, options)
            .map_err(|trouble| Error::msg(trouble.finding()).with_path(path))?;
        let shards = find_shards(path, &archive, options)
            .map_err(|error| Error::wrap(error).with_path(path))?;
        Ok(Self { path: path.to_owned(), archive, shards })
    }

    fn found(&self, name: &str) -> Option<&Found> {
        self.shards.iter().find(|found| found.name == name)
    }

    /// Reads a component from where it is: from the file, or from a shard. The digest of that is compared, once, if the
    /// component has none of its own.
    pub(crate) fn read<T>(
        &self,
        component: Component<'_>,
        read: impl FnOnce(Component<'_>, Source<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut shards = Shards::default();
        if let Some(name) = component.shard() {
            let limits = self.archive.limits();
            shards =
                self.archive.bind_shards(&One { file: self, name }, limits).map_err(Error::wrap)?;
            let found = self.found(name);
            if let Some(blocks) = found.and_then(|found| found.verified.get()) {
                shards.bound_mut().iter_mut().for_each(|bound| bound.set_verified(blocks));
            }
            shards.verify_for([component], limits).map_err(Error::wrap)?;
            if let Some(found) = found
                && let Some(blocks) = shards.get(name).and_then(|bound| bound.verified())
            {
                found.verified.get_or_init(|| blocks.clone());
            }
        }
        let files = Files { root: &self.archive, shards: &shards };
        let (component, source) = files.locate(&component).map_err(Error::wrap)?;
        read(component, &source)
    }

    /// An error, with the file and the object that it is of.
    pub(crate) fn place(&self, error: Error, name: &str) -> Error {
        error.context(name.to_owned()).with_path(&self.path)
    }
}

/// Opens the shards of a zTensor file, or the files that an index of safetensors files names: as many as are there.
fn find_shards(path: &Path, archive: &FileArchive, options: &Options) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    for wanted in zten_shards::wanted(archive.manifest(), options) {
        let file = zten_shards::open(path, &wanted)?;
        let parts = file.map(|ShardFile { name, file, length }| (name, file, length));
        found.extend(parts);
    }
    let folder = Folder::of(path);
    // Those of an index have no digests.
    for shard in archive.shards().filter(|shard| shard.digest().is_none()) {
        let file = folder.find(&shard)?;
        found.extend(file.map(|it| (shard.name().to_owned(), it.source, it.length)));
    }
    let found = found.into_iter();
    Ok(found
        .map(|(name, file, length)| Found { name, file, length, verified: OnceLock::new() })
        .collect())
}
