//! Input files: opened first, and validated later, when the process is confined.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use zten::formats::{Begun, PartFile, Recognition, Root, recognize};
use zten::shards::{IS_LINK, Sibling, Want, runs, wanted};
use zten::verify::Verifier;
use zten::{OpenOptions, source};
pub(crate) use zten_report::check::stored;
use zten_report::digests::Sha256;
use zten_report::stores::{BlobDigest, Hashed, Role};

use crate::args::strictness::Strictness;
use crate::input::sources::Sources;
use crate::link::origin::Origin;
use crate::output::progress::Progress;
use crate::output::report::Problem;
pub(crate) use crate::source::handle::TensorFile;
use crate::source::handle::{Finder, Handle, ShardHandle};
use crate::source::remote::{Remote, is_remote};

/// Advice about a link that is not followed.
const REPLACE_LINK: &str =
    "`--follow` follows the link. Or put the file itself in the place of the link.";

/// An open file. No byte of it has been read, unless it is a stream.
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) file: Handle,
    pub(crate) length: u64,
    /// The file names of other paths that lead to the same file.
    pub(crate) other_names: Vec<PathBuf>,
    pub(crate) origin: Origin,
    /// The role of the file in a store of downloaded models.
    pub(crate) role: Role,
    /// If the file is an Ollama manifest, looks for the blobs of its store.
    pub(crate) blobs: Option<Blobs>,
}

/// Returns the length of the blob with this digest in a store of Ollama, or `None` if the store does not have it.
pub(crate) type Blobs = Box<dyn Fn(&Sha256) -> io::Result<Option<u64>>>;

impl Opened {
    /// Creates an opened file without other names.
    pub(crate) fn new(path: &Path, file: Handle, length: u64) -> Self {
        let (path, other_names) = (path.to_owned(), Vec::new());
        let (origin, role, blobs) = (Origin::Named, Role::Outside, None);
        Self { path, file, length, other_names, origin, role, blobs }
    }

    /// Opens the file at `path`: a local file, standard input (`-`), or a remote file. Its sibling files can be found later if
    /// `strictness` allows.
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

    /// Wraps a local file that this process has opened at `path`.
    pub(crate) fn local(path: &Path, file: File, length: u64, strictness: &Strictness) -> Self {
        let finder = if strictness.looks_for_shards() {
            Finder::Siblings(path.to_owned(), strictness.links())
        } else {
            Finder::Nothing
        };
        Self::new(path, Handle::Local(file, finder), length)
    }

    /// Makes the file compute its hash as it is read, to compare the hash with `expected`. Also returns the hashing file
    /// itself, which the caller asks for the digest after the check, or `None` if the file is not local and is not hashed.
    pub(crate) fn hashed(self, expected: BlobDigest) -> (Self, Option<Arc<Hashed<File>>>) {
        let Handle::Local(file, finder) = self.file else { return (self, None) };
        let hashed = Arc::new(Hashed::new(file, self.length, expected));
        let file = Handle::Blob(Arc::clone(&hashed), finder);
        (Self { file, ..self }, Some(hashed))
    }

    /// Wraps a remote file.
    pub(crate) fn remote(path: &Path, file: Remote) -> Self {
        let length = file.length();
        Self::new(path, Handle::Remote(file), length)
    }

    /// Reads `stream` to its end into memory.
    ///
    /// # Errors
    /// The stream is longer than the limit `decoded`, cannot be read, or memory runs out.
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

    /// Validates the manifest or header of the file. If the file is an index (`*.index.json`), opens the files that it names, and
    /// validates their headers.
    pub(crate) fn archive(self, options: &OpenOptions) -> Result<FileWithShards, Box<Problem>> {
        let recognition = recognize(&self.file, self.length, &self.path);
        let recognition = recognition
            .map_err(|error| Box::new(Problem::format_error(&self.path, &error, None)))?;
        self.archive_of(recognition, options)
    }

    /// Parses the header of the file as the format that `recognition`, the caller's result, says. The first bytes are not read and
    /// recognized a second time. Opens the sibling files as [`archive`](Self::archive) does.
    pub(crate) fn archive_of(
        self,
        recognition: Recognition,
        options: &OpenOptions,
    ) -> Result<FileWithShards, Box<Problem>> {
        let Self { path, file, .. } = self;
        let detected = recognition.detected(&path);
        let root = match options.begin_recognized(file, recognition, &path) {
            Ok(Begun::Archive(archive)) => archive,
            Ok(Begun::Root(root)) => return open_root(&path, root, options),
            Err(error) => {
                return Err(Box::new(match detected {
                    None => Problem::opening(&path, &error),
                    Some(detected) => Problem::format_error(&path, &error, detected.name()),
                }));
            }
        };
        Ok(FileWithShards::new(path, root))
    }
}

/// Returns the path of the model in the folder `path`, or `None` if `path` is not a folder.
pub(crate) fn model_path(path: &Path) -> Option<io::Result<PathBuf>> {
    path.is_dir().then(|| zten::formats::find_model(path))
}

/// Opens the sibling files that the index `root` at `path` names, and validates their headers.
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
                        let error = root.linked(want.name(), target, REPLACE_LINK);
                        Problem::format_error(path, &error, Some(format))
                    }
                    None => Problem::io(path, &error),
                };
                return Err(Box::new(problem));
            }
        }
    }
    let parts = siblings.iter().map(|ShardHandle { name, file, length, .. }| PartFile {
        name,
        source: file,
        length: *length,
    });
    let parts: Vec<_> = parts.collect();
    let root = root.open(&parts, options);
    let root = root.map_err(|error| Box::new(Problem::format_error(path, &error, Some(format))))?;
    Ok(FileWithShards { path: path.to_owned(), root, shards: siblings.into() })
}

/// A file whose manifest or header is valid, and the open files that may be its shards. Dereferences to the [`TensorFile`].
pub(crate) struct FileWithShards {
    /// The path by which the file was opened.
    pub(crate) path: PathBuf,
    root: TensorFile,
    /// The files that may be shards. Empty until [`find_shards`](Self::find_shards) has looked for them.
    shards: OnceLock<Vec<ShardHandle>>,
}

impl FileWithShards {
    /// Creates a file whose shards have not been looked for.
    pub(crate) fn new(path: PathBuf, root: TensorFile) -> Self {
        Self { path, root, shards: OnceLock::new() }
    }

    /// Makes each group of tensors that follows a convention of quantization one tensor, unless `plain`. In a remote file, groups
    /// whose shapes are the content of tensors stay plain tensors.
    pub(crate) fn with_conventions(self, plain: bool) -> Result<Self, Box<Problem>> {
        if plain {
            return Ok(self);
        }
        let found = || {
            // The shapes of some groups are the content of small tensors, which may be in sibling files. They lie between the other
            // tensors, so reading them would fetch most of a remote file, which a list of its tensors must not.
            if !self.root.needs_content_for_groups() || !self.root.source().is_local() {
                return self.root.find_groups(None);
            }
            let progress = Progress::new(0).quiet_on_terminal();
            let files = Sources::bind(&self, &progress)?;
            self.root.find_groups(Some(&files.all()))
        };
        match found() {
            Ok(groups) => Ok(Self { root: self.root.with_groups(groups), ..self }),
            Err(error) => Err(Box::new(Problem::reading(&self.path, &self, &error))),
        }
    }

    /// Returns the open file that was found under the name of the shard `name`. It has not been checked to be that shard.
    pub(crate) fn shard_file(&self, name: &str) -> Option<&ShardHandle> {
        self.shard_files().iter().find(|shard| shard.name == name)
    }

    fn shard_files(&self) -> &[ShardHandle] {
        self.shards.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// Looks for the shards of the file, or only for the shard `only`, and keeps the files that were found. After the first
    /// call that succeeds, further calls do nothing, whatever `only` is.
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
        // If the cell is set, another thread has found the same shards in the meantime.
        let _ = self.shards.set(found);
        Ok(())
    }

    /// Announces to remote files that all content will be read, in the order of the manifest, so that it can be fetched ahead.
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

    /// Announces to remote shards that all shards will be read completely, one after another, so that they can be fetched ahead.
    pub(crate) fn plan_whole_shards(&self) -> io::Result<()> {
        let whole = |shard: &ShardHandle| shard.file.plan([std::iter::once(0..shard.length)]);
        self.shard_files().iter().try_for_each(whole)
    }

    /// Returns the total length in bytes of the files that were found under the names of shards.
    pub(crate) fn shard_bytes(&self) -> u64 {
        self.shard_files().iter().fold(0, |sum, shard| sum.saturating_add(shard.length))
    }

    /// Creates a verifier of the file and its shards.
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

pub(crate) use zten::finding::counted;
