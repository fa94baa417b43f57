//! Files that name others, which their tensors are in: indices of safetensors files, and the first of several GGUF
//! files.

use std::io;
use std::path::PathBuf;

use zten::OpenOptions;
use zten_formats::{Part, Root};
use zten_shards::{Beside, Want};

use crate::companion::Companion;
use crate::file::FileWithShards;
use crate::handle::Handle;
use crate::report::Problem;

/// A file whose manifest or header has been validated.
pub(crate) enum Begun {
    /// An archive.
    Archive(Box<FileWithShards>),
    /// A file that is to be given others, which it names.
    Root(Box<OpenedRoot>),
}

impl Begun {
    /// Returns the archive, of a file that has all the others that it will have.
    pub(crate) fn finish(self, options: &OpenOptions) -> Result<FileWithShards, Box<Problem>> {
        match self {
            Self::Archive(archive) => Ok(*archive),
            Self::Root(root) => root.open(options),
        }
    }
}

/// A file that names others and has been parsed, and those of them that it has been given.
pub(crate) struct OpenedRoot {
    path: PathBuf,
    root: Root<Handle>,
    beside: Vec<Companion>,
}

impl OpenedRoot {
    /// A file, and others that it may name. Those of a file that is read over the network are found now.
    pub(crate) fn new(
        path: PathBuf,
        root: Root<Handle>,
        beside: Vec<Companion>,
    ) -> Result<Self, Box<Problem>> {
        let mut opened = Self { path, root, beside };
        if !opened.root.source().is_local() {
            let find = |want: Want| Companion::find(opened.root.source(), &want).transpose();
            let found: io::Result<Vec<_>> = opened.named().filter_map(find).collect();
            opened.beside = found.map_err(|error| Box::new(Problem::io(&opened.path, &error)))?;
        }
        Ok(opened)
    }

    /// The files that it names.
    fn named(&self) -> impl Iterator<Item = Want> {
        self.root.files().filter_map(Beside::new).map(Want::Beside)
    }

    /// The files that it is to be given; none where it has found them.
    pub(crate) fn wants(&self) -> Vec<Want> {
        if self.root.source().is_local() { self.named().collect() } else { Vec::new() }
    }

    /// Gives it such files.
    pub(crate) fn add(&mut self, files: impl IntoIterator<Item = Companion>) {
        self.beside.extend(files);
    }

    /// Reads the headers of the files that it names.
    fn open(self, options: &OpenOptions) -> Result<FileWithShards, Box<Problem>> {
        let Self { path, root, beside } = self;
        let format = root.format().name();
        let parts = beside.iter().map(|Companion { name, file, length }| Part {
            name,
            source: file,
            length: *length,
        });
        let parts: Vec<_> = parts.collect();
        let root = root.open(&parts, options);
        let root =
            root.map_err(|trouble| Box::new(Problem::foreign(&path, &trouble, Some(format))))?;
        Ok(FileWithShards::new(root, Some(beside)))
    }
}
