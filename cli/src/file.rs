//! Files: opened first, and looked at later.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};

use zten::source::SourceArchive;
use zten::{Options, ReadAt as _};
use zten_shards::ShardFile;

use crate::handle::Handle;
use crate::remote::{Remote, is_remote};
use crate::report::Problem;

/// A zTensor file whose manifest is valid.
pub(crate) type TensorFile = SourceArchive<Handle>;

/// A regular file that is open, and of which nothing has been read. Nothing but reading it needs
/// the system from here on.
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) file: Handle,
    pub(crate) length: u64,
    /// Its shards that were found.
    pub(crate) shards: Vec<ShardFile>,
}

impl Opened {
    /// Opens the file at `path`.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if is_remote(path) {
            let file = Remote::open(path)?;
            let length = file.length();
            return Ok(Self::new(path, Handle::Remote(file), length));
        }
        // Opening a pipe would wait for its other end.
        let found = fs::metadata(path)?;
        if !found.is_file() {
            return Err(irregular(found.is_dir()));
        }
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self::new(path, Handle::Local(file), length))
    }

    /// A file that was opened.
    pub(crate) fn new(path: &Path, file: Handle, length: u64) -> Self {
        Self { path: path.to_owned(), file, length, shards: Vec::new() }
    }

    /// Opens the file at `path` unless that is a link.
    pub(crate) fn open_unlinked(path: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        let file = {
            use rustix::fs::{CWD, Mode, OFlags, openat};
            // Opening a pipe would wait for its other end.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
            File::from(openat(CWD, path, flags | OFlags::CLOEXEC, Mode::empty())?)
        };
        #[cfg(not(unix))]
        let file = {
            let found = fs::symlink_metadata(path)?;
            if !found.is_file() {
                return Err(irregular(found.is_dir()));
            }
            File::open(path)?
        };
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(irregular(found.is_dir()));
        }
        Ok(Self::new(path, Handle::Local(file), found.len()))
    }

    /// Its first bytes, so many or as many as there are. Every later read seeks first.
    pub(crate) fn start(&self, most: u64) -> io::Result<Vec<u8>> {
        let mut start = Vec::new();
        if let Some(mut file) = self.file.local() {
            file.rewind()?;
            file.take(most).read_to_end(&mut start)?;
        } else {
            start.resize(usize::try_from(most.min(self.length)).unwrap_or_default(), 0);
            self.file.read_at(0, &mut start)?;
        }
        Ok(start)
    }

    /// Says that all of it will be read.
    pub(crate) fn plan_all(&self) -> io::Result<()> {
        self.file.plan(std::iter::once(0..self.length))
    }

    /// Validates its manifest.
    pub(crate) fn archive(self, options: &Options) -> Result<FileWithShards, Box<Problem>> {
        let root = TensorFile::with_length(self.file, self.length, options)
            .map_err(|error| Box::new(Problem::opening(&self.path, &error)))?;
        Ok(FileWithShards { root, shards: self.shards })
    }
}

fn irregular(is_folder: bool) -> io::Error {
    let what = if is_folder { "a folder, not a regular file" } else { "not a regular file" };
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// A file whose manifest is valid, and the files that may be its shards. It derefs to the file.
pub(crate) struct FileWithShards {
    root: TensorFile,
    shards: Vec<ShardFile>,
}

impl FileWithShards {
    /// The file that may be the shard of that name.
    pub(crate) fn shard_file(&self, name: &str) -> Option<&ShardFile> {
        self.shards.iter().find(|shard| shard.name == name)
    }

    /// More files that may be shards.
    pub(crate) fn add_shards(&mut self, shards: impl IntoIterator<Item = ShardFile>) {
        self.shards.extend(shards);
    }

    /// Says that all content will be read, in the order of the manifest.
    pub(crate) fn plan_all(&self) -> io::Result<()> {
        let components = self.objects().flat_map(|object| object.components());
        let own = components.filter(|component| component.shard().is_none());
        self.plan(own.map(|component| component.extent().range()))
    }

    /// Says which bytes will be read, in that order.
    pub(crate) fn plan(&self, ranges: impl IntoIterator<Item = Range<u64>>) -> io::Result<()> {
        self.root.source().plan(ranges)
    }

    /// Bytes of the file and of all that may be its shards.
    pub(crate) fn all_bytes(&self) -> u64 {
        self.shards.iter().fold(self.root.file_len(), |sum, shard| sum.saturating_add(shard.length))
    }
}

impl Deref for FileWithShards {
    type Target = TensorFile;

    fn deref(&self) -> &TensorFile {
        &self.root
    }
}

pub(crate) use zten_present::finding::{counted, stored};
