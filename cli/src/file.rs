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
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, length, shards: Vec::new() })
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
