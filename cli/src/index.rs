//! Indices of safetensors files, and the files that they name.

use std::io;
use std::path::Path;

use zten::Options;
use zten_formats::{Format, Index, Part, Trouble};
use zten_shards::{Beside, Want};

use crate::companion::Companion;
use crate::file::{FileWithShards, Opened};
use crate::report::Problem;

/// An index that has been parsed, and the file that it was read from.
pub(crate) struct OpenedIndex {
    file: Opened,
    index: Index,
}

impl OpenedIndex {
    /// Reads and parses an index.
    pub(crate) fn read(file: Opened, options: &Options) -> Result<Self, Box<Problem>> {
        let index = Index::read(&file.file, file.length, options.limit());
        let index = index.map_err(|trouble| problem(&file.path, &trouble))?;
        Ok(Self { file, index })
    }

    /// The files that it names, which are beside it.
    pub(crate) fn wants(&self) -> Vec<Want> {
        self.index.files().filter_map(Beside::new).map(Want::Beside).collect()
    }

    /// Gives it such files.
    pub(crate) fn add(&mut self, files: impl IntoIterator<Item = Companion>) {
        self.file.beside.extend(files);
    }

    /// Finds the files that it names, if it is read over the network: those beside others have been opened.
    pub(crate) fn find(&mut self) -> io::Result<()> {
        if self.file.file.is_local() {
            return Ok(());
        }
        for want in self.wants() {
            self.file.beside.extend(Companion::find(&self.file.file, &want)?);
        }
        Ok(())
    }

    /// Reads the headers of the files that it names.
    pub(crate) fn open(self, options: &Options) -> Result<FileWithShards, Box<Problem>> {
        let Self { file: Opened { path, file, beside, .. }, index } = self;
        let parts = beside.iter().map(|Companion { name, file, length }| Part {
            name,
            source: file,
            length: *length,
        });
        let parts: Vec<_> = parts.collect();
        let root = index.open(file, &parts, options);
        let root = root.map_err(|trouble| problem(&path, &trouble))?;
        Ok(FileWithShards::new(root, Some(beside)))
    }
}

fn problem(path: &Path, trouble: &Trouble) -> Box<Problem> {
    Box::new(Problem::foreign(path, trouble, Some(Format::Index.name())))
}
