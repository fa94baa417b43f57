//! Files: opened first, and looked at later.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use zten::Options;
use zten::source::FileArchive;
use zten_shards::ShardFile;

use crate::report::Problem;

/// A regular file that is open, and of which nothing has been read. Nothing but reading it needs
/// the system from here on.
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) length: u64,
    /// Its shards that were found.
    pub(crate) shards: Vec<ShardFile>,
}

impl Opened {
    /// Opens the file at `path`.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        // Opening a pipe would wait for its other end.
        let found = fs::metadata(path)?;
        if !found.is_file() {
            return Err(irregular(found.is_dir()));
        }
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, length, shards: Vec::new() })
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
        Ok(Self { path: path.to_owned(), file, length: found.len(), shards: Vec::new() })
    }

    /// Its first bytes, so many or as many as there are. Every later read seeks first.
    pub(crate) fn start(&self, most: u64) -> io::Result<Vec<u8>> {
        let mut start = Vec::new();
        (&self.file).rewind()?;
        (&self.file).take(most).read_to_end(&mut start)?;
        Ok(start)
    }

    /// Validates its manifest.
    pub(crate) fn archive(self, options: &Options) -> Result<FileWithShards, Box<Problem>> {
        let root = FileArchive::with_length(self.file, self.length, options)
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
    root: FileArchive,
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

    /// Bytes of the file and of all that may be its shards.
    pub(crate) fn all_bytes(&self) -> u64 {
        self.shards.iter().fold(self.root.file_len(), |sum, shard| sum.saturating_add(shard.length))
    }
}

impl Deref for FileWithShards {
    type Target = FileArchive;

    fn deref(&self) -> &FileArchive {
        &self.root
    }
}

pub(crate) use zten_present::finding::{counted, stored};
