//! Files: opened first, and read later.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use zten::verify::Verifier;
use zten::{Archive, OpenOptions, source};
use zten_formats::shards::{IS_LINK, Sibling, Want, runs, wanted};
use zten_formats::{Begun as Parsed, Part, Root};

use crate::handle::{Finder, Handle, ShardHandle};
use crate::remote::{Remote, is_remote};
use crate::report::Problem;
use crate::strictness::Strictness;

/// What to do about a link that is not to be followed.
const REPLACE_LINK: &str = "Or put the file itself in its place.";

/// A file of any format that is read, whose manifest or header is valid.
pub(crate) type TensorFile = Archive<Handle>;

/// An open file, of which nothing has been read.
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) file: Handle,
    pub(crate) length: u64,
    /// The names by which other paths lead to the same file.
    pub(crate) other_names: Vec<PathBuf>,
    /// True if a file in its folder is expected to hold weights.
    pub(crate) beside_weights: bool,
}

impl Opened {
    /// A file that nothing more is known of.
    pub(crate) fn new(path: &Path, file: Handle, length: u64) -> Self {
        let (path, other_names) = (path.to_owned(), Vec::new());
        Self { path, file, length, other_names, beside_weights: false }
    }

    /// Opens the file at `path`, or finds it over the network. Files that it names are looked for if that is allowed.
    pub(crate) fn open(path: &Path, strictness: &Strictness) -> io::Result<Self> {
        if is_remote(path) {
            return Ok(Self::remote(path, Remote::open(path, strictness.max_siblings())?));
        }
        if path.as_os_str() == "-" {
            return Self::stream(path, &mut io::stdin().lock(), strictness);
        }
        let (file, length) = source::open_regular(path)?;
        Ok(Self::local(path, file, length, strictness))
    }

    /// A file of the file system that was opened here.
    pub(crate) fn local(path: &Path, file: File, length: u64, strictness: &Strictness) -> Self {
        let finder = if strictness.looks_for_shards() {
            Finder::Siblings(path.to_owned(), strictness.links())
        } else {
            Finder::Nothing
        };
        Self::new(path, Handle::Local(file, finder), length)
    }

    /// A file that is read over the network.
    pub(crate) fn remote(path: &Path, file: Remote) -> Self {
        let length = file.length();
        Self::new(path, Handle::Remote(file), length)
    }

    /// Reads a stream to its end, at most as many bytes as the limit `decoded` allows.
    pub(crate) fn stream(
        path: &Path,
        stream: &mut dyn io::Read,
        strictness: &Strictness,
    ) -> io::Result<Self> {
        let most = strictness.options().limit().decoded();
        let mut bytes = Vec::new();
        let mut part = vec![0; 64 << 10];
        loop {
            let read = match stream.read(&mut part) {
                Ok(0) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            let length = bytes.len().saturating_add(read);
            if u64::try_from(length).is_ok_and(|length| length > most) {
                return Err(io::Error::other(format!(
                    "standard input exceeds the limit of {most} bytes; --limit decoded=SIZE raises it"
                )));
            }
            bytes.try_reserve(read).map_err(|_| io::ErrorKind::OutOfMemory)?;
            bytes.extend(part.get(..read).unwrap_or_default());
        }
        let length = u64::try_from(bytes.len()).map_err(io::Error::other)?;
        Ok(Self::new(path, Handle::Memory(bytes), length))
    }

    /// Validates its manifest or header, and those of the files that it names where its tensors are in them.
    pub(crate) fn archive(self, options: &OpenOptions) -> Result<FileWithShards, Box<Problem>> {
        let found = zten_formats::detect(&self.file, self.length, &self.path);
        let found =
            found.map_err(|error| Box::new(Problem::format_error(&self.path, &error, None)))?;
        let Self { path, file, length, .. } = self;
        let root = match found {
            Some(found) => match zten_formats::begin(file, length, &path, options) {
                Ok(Parsed::Archive(archive)) => Ok(archive),
                Ok(Parsed::Root(root)) => return open_root(&path, root, options),
                Err(error) => Err(Problem::format_error(&path, &error, found.name())),
            },
            None => {
                options.open_source(file, length).map_err(|error| Problem::opening(&path, &error))
            }
        };
        Ok(FileWithShards::new(path, root.map_err(Box::new)?))
    }
}

/// Returns the path of the model in a folder; none if the path is not that of a folder.
pub(crate) fn model_path(path: &Path) -> Option<io::Result<PathBuf>> {
    path.is_dir().then(|| zten_formats::find_model(path))
}

/// Opens a file that names others with the headers of those.
fn open_root(
    path: &Path,
    root: Root<Handle>,
    options: &OpenOptions,
) -> Result<FileWithShards, Box<Problem>> {
    let mut siblings = Vec::new();
    let format = root.format().name();
    for want in root.files().filter_map(Sibling::new).map(Want::Sibling) {
        match root.source().find(&want) {
            Ok(found) => siblings.extend(found),
            Err(error) => {
                let problem = match error.to_string().strip_prefix(IS_LINK) {
                    Some(target) => {
                        let target = format!("{target}; `--follow` follows it");
                        let error = root.linked(want.name(), &target, REPLACE_LINK);
                        Problem::format_error(path, &error, Some(format))
                    }
                    None => Problem::io(path, &error),
                };
                return Err(Box::new(problem));
            }
        }
    }
    let parts = siblings.iter().map(|ShardHandle { name, file, length, .. }| Part {
        name,
        source: file,
        length: *length,
    });
    let parts: Vec<_> = parts.collect();
    let root = root.open(&parts, options);
    let root = root.map_err(|error| Box::new(Problem::format_error(path, &error, Some(format))))?;
    Ok(FileWithShards { path: path.to_owned(), root, shards: siblings.into() })
}

/// A file whose manifest or header is valid, and the files that may be its shards. It derefs to the file.
pub(crate) struct FileWithShards {
    /// The path by which it was opened.
    pub(crate) path: PathBuf,
    root: TensorFile,
    /// None before they have been looked for.
    shards: OnceLock<Vec<ShardHandle>>,
}

impl FileWithShards {
    /// A file whose shards have not been looked for.
    pub(crate) fn new(path: PathBuf, root: TensorFile) -> Self {
        Self { path, root, shards: OnceLock::new() }
    }

    /// The file that may be the shard of that name.
    pub(crate) fn shard_file(&self, name: &str) -> Option<&ShardHandle> {
        self.shard_files().iter().find(|shard| shard.name == name)
    }

    fn shard_files(&self) -> &[ShardHandle] {
        self.shards.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// Looks for its shards, or for the one of that name: once, as they are asked for at first.
    pub(crate) fn find_shards(&self, only: Option<&str>) -> io::Result<()> {
        if self.shards.get().is_some() {
            return Ok(());
        }
        let mut found = Vec::new();
        for wanted in wanted(self.root.manifest()) {
            if only.is_some_and(|name| name != wanted.name()) {
                continue;
            }
            found.extend(self.root.source().find(&Want::Shard(wanted))?);
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
        let whole = |shard: &ShardHandle| shard.file.plan([std::iter::once(0..shard.length)]);
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
