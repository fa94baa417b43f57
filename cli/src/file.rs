//! Files: opened first, and looked at later.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use zten::verify::Verifier;
use zten::{Archive, OpenOptions, ReadAt as _};
use zten_formats::{Begun as Parsed, Detected, Trouble};
use zten_shards::{Want, runs, wanted};

use crate::companion::Companion;
use crate::handle::Handle;
use crate::remote::{Remote, is_remote};
use crate::report::Problem;
use crate::root::{Begun, OpenedRoot};

/// A file of any format that is read, whose manifest or header is valid.
pub(crate) type TensorFile = Archive<Handle>;

/// A regular file that is open, and of which nothing has been read. Nothing but reading it needs
/// the system from here on.
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) file: Handle,
    pub(crate) length: u64,
    /// The files that it may name. Those of one that is read over the network are found when they are asked for.
    pub(crate) beside: Vec<Companion>,
}

impl Opened {
    /// Opens the file at `path`. Where it is read over the network, so many files that it names may be found later.
    pub(crate) fn open(path: &Path, most_beside: u32) -> io::Result<Self> {
        if is_remote(path) {
            return Ok(Self::remote(path, Remote::open(path, most_beside)?));
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

    /// A file that is read over the network.
    pub(crate) fn remote(path: &Path, file: Remote) -> Self {
        let length = file.length();
        Self::new(path, Handle::Remote(file), length)
    }

    /// A file that was opened.
    pub(crate) fn new(path: &Path, file: Handle, length: u64) -> Self {
        Self { path: path.to_owned(), file, length, beside: Vec::new() }
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
            self.file.append_range(0..most.min(self.length), &mut start)?;
        }
        Ok(start)
    }

    /// Returns the format of a file that is not a zTensor file, and `unknown` if nothing tells it.
    fn detect(&self, unknown: Option<Detected>) -> Result<Option<Detected>, Trouble> {
        zten_formats::detect(&self.file, self.length, &self.path, unknown)
    }

    /// Validates its manifest or header. A file of which nothing tells the format is taken for `unknown`, or without that
    /// for a zTensor file.
    pub(crate) fn any(
        self,
        options: &OpenOptions,
        unknown: Option<Detected>,
    ) -> Result<FileWithShards, Box<Problem>> {
        self.begin(options, unknown)?.finish(options)
    }

    /// Validates its manifest or header. A file of which nothing tells the format is taken for a zTensor file.
    pub(crate) fn archive(self, options: &OpenOptions) -> Result<FileWithShards, Box<Problem>> {
        self.any(options, None)
    }

    /// Validates its manifest or header; a file that names others is to be given them.
    pub(crate) fn begin(
        self,
        options: &OpenOptions,
        unknown: Option<Detected>,
    ) -> Result<Begun, Box<Problem>> {
        let found = self.detect(unknown);
        let found = found.map_err(|error| Box::new(Problem::foreign(&self.path, &error, None)))?;
        let Self { path, file, length, beside } = self;
        let is_local = file.is_local();
        let root = match found {
            Some(found) => match zten_formats::begin(file, length, &path, options) {
                Ok(Parsed::Archive(archive)) => Ok(archive),
                Ok(Parsed::Root(root)) => {
                    return Ok(Begun::Root(Box::new(OpenedRoot::new(path, root, beside)?)));
                }
                Err(trouble) => Err(Problem::foreign(&path, &trouble, found.name())),
            },
            None => {
                options.open_source(file, length).map_err(|error| Problem::opening(&path, &error))
            }
        };
        let root = root.map_err(Box::new)?;
        let shards = is_local.then_some(beside);
        Ok(Begun::Archive(Box::new(FileWithShards::new(root, shards))))
    }
}

fn irregular(is_folder: bool) -> io::Error {
    let what = if is_folder { "a folder, not a regular file" } else { "not a regular file" };
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// A file whose manifest or header is valid, and the files that may be its shards. It derefs to the file.
pub(crate) struct FileWithShards {
    root: TensorFile,
    /// Of a file that is read over the network, none before they have been looked for.
    shards: OnceLock<Vec<Companion>>,
}

impl FileWithShards {
    /// A file, and those that may be its shards; none as long as they have not been looked for.
    pub(crate) fn new(root: TensorFile, shards: Option<Vec<Companion>>) -> Self {
        Self { root, shards: shards.map(OnceLock::from).unwrap_or_default() }
    }

    /// The file that may be the shard of that name.
    pub(crate) fn shard_file(&self, name: &str) -> Option<&Companion> {
        self.shard_files().iter().find(|shard| shard.name == name)
    }

    fn shard_files(&self) -> &[Companion] {
        self.shards.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// More files that may be shards.
    pub(crate) fn add_shards(&mut self, shards: impl IntoIterator<Item = Companion>) {
        let mut found = self.shards.take().unwrap_or_default();
        found.extend(shards);
        self.shards = found.into();
    }

    /// Looks for the shards of a file that is read over the network, or for the one of that name: once, as it is
    /// asked for at first. Those of other files have been looked for.
    pub(crate) fn find_shards(&self, only: Option<&str>) -> io::Result<()> {
        if self.shards.get().is_some() {
            return Ok(());
        }
        let mut found = Vec::new();
        for wanted in wanted(self.root.manifest()) {
            if only.is_some_and(|name| name != wanted.name()) {
                continue;
            }
            found.extend(Companion::find(self.root.source(), &Want::Shard(wanted))?);
        }
        // Another thread has found the same.
        let _ = self.shards.set(found);
        Ok(())
    }

    /// Says that all content will be read, in the order of the manifest.
    pub(crate) fn plan_all(&self) -> io::Result<()> {
        let remote: Vec<_> =
            self.shard_files().iter().filter(|file| !file.file.is_local()).collect();
        if self.root.source().is_local() && remote.is_empty() {
            return Ok(());
        }
        let mut runs = runs(self.tensors().flat_map(|object| object.components()));
        self.root.source().plan(runs.remove(&None).unwrap_or_default())?;
        remote.iter().try_for_each(|shard| {
            shard.file.plan(runs.remove(&Some(&*shard.name)).unwrap_or_default())
        })
    }

    /// Says that all shards will be read from their first byte to the last, one after another.
    pub(crate) fn plan_whole_shards(&self) -> io::Result<()> {
        let whole = |shard: &Companion| shard.file.plan([std::iter::once(0..shard.length)]);
        self.shard_files().iter().try_for_each(whole)
    }

    /// Bytes of all that may be its shards.
    pub(crate) fn shard_bytes(&self) -> u64 {
        self.shard_files().iter().fold(0, |sum, shard| sum.saturating_add(shard.length))
    }

    /// A verifier of the file and its shards.
    pub(crate) fn verifier(&self) -> Verifier {
        Verifier::new(self.manifest()).with_shard_bytes(self.shard_bytes())
    }
}

impl Deref for FileWithShards {
    type Target = TensorFile;

    fn deref(&self) -> &TensorFile {
        &self.root
    }
}

pub(crate) use zten_report::finding::{counted, stored};
