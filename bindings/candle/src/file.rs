//! An open file, with its shards.

use std::io;
use std::path::{Path, PathBuf};

use candle_core::{Error, Result};
use zten::shards::Candidate;
use zten::source::{FileArchive, OpenError};
use zten::{Component, Options, ReadAt};
use zten_shards::ShardFile;

/// A file, its manifest, and the files that may be its shards.
#[derive(Debug)]
pub(crate) struct WeightFile {
    pub(crate) path: PathBuf,
    pub(crate) archive: FileArchive,
    shards: Vec<ShardFile>,
}

impl WeightFile {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self> {
        let fail = |error: OpenError| Error::wrap(error).with_path(path);
        let archive = FileArchive::open(path, options).map_err(fail)?;
        let mut shards = Vec::new();
        for wanted in zten_shards::wanted(archive.manifest(), options) {
            shards.extend(
                zten_shards::open(path, &wanted).map_err(|error| fail(OpenError::Source(error)))?,
            );
        }
        Ok(Self { path: path.to_owned(), archive, shards })
    }

    /// Reads a component from where it is: from the file, or from a shard, whose frame and size are
    /// validated.
    pub(crate) fn read<T>(
        &self,
        component: Component<'_>,
        read: impl FnOnce(Component<'_>, &dyn ReadAt<Error = io::Error>) -> Result<T>,
    ) -> Result<T> {
        let Some(name) = component.shard() else {
            return read(component, &self.archive);
        };
        let missing = || Error::msg(format!("the shard {name:?} is not there"));
        let listed =
            self.archive.shards().find(|shard| shard.name() == name).ok_or_else(missing)?;
        let found = self.shards.iter().find(|shard| shard.name == name).ok_or_else(missing)?;
        let candidate = Candidate { source: &found.file, length: found.length };
        let shard = listed.bind(candidate).map_err(Error::wrap)?;
        read(component.in_shard(&shard), shard.source())
    }

    /// An error, with the file and the object that it is of.
    pub(crate) fn place(&self, error: Error, name: &str) -> Error {
        error.context(name.to_owned()).with_path(&self.path)
    }
}
