//! Opens files from Python: a path or URL, `bytes`, or an object with `seek` and `read`.

mod shards;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use zten::finding::Finding;
use zten::formats::{Begun, PartFile, Recognition};
use zten::network::{is_remote, shown};
use zten::shards::{IS_LINK, LINKED, Runs, Sibling, Want};
use zten::{Archive, Component, Error, Manifest, ReadAt, Tensor, error::Misuse};
use zten_report::stores::{self, Hashed, Role};

use crate::digests::Enforced;
use crate::error::CallFailure;
use crate::interrupt::{self, Cancel};
use crate::options::Opening;
pub(crate) use shards::OpenShards;
use shards::{Listed, OpenedShard};

/// Where the bytes of a file come from that is read.
pub(crate) enum OpenSource {
    File(File),
    /// A blob of a store of downloaded models. It is hashed as it is read, because its name says its digest.
    Blob(Box<Hashed<File>>),
    Bytes(PyBackedBytes),
    Object(PythonFile),
    #[cfg(feature = "remote")]
    Remote(Box<zten_remote::RemoteFile>),
}

impl OpenSource {
    /// Returns the blob if this is a blob of a store of downloaded models, which is hashed as it is read; `None` for any other
    /// source.
    pub(crate) fn hashed(&self) -> Option<&Hashed<File>> {
        match self {
            Self::Blob(file) => Some(file),
            _ => None,
        }
    }
}

/// A Python object with `seek` and `read`. Only one thread at a time calls it, because a read at an offset is a call of `seek`
/// followed by calls of `read`.
pub(crate) struct PythonFile {
    object: Py<PyAny>,
    turn: Mutex<()>,
}

/// A file that the caller passed, before its header is read.
pub(crate) struct Given {
    source: Arc<OpenSource>,
    /// The number of bytes of the file.
    length: u64,
    /// The path or URL of the file; empty for bytes and objects.
    name: PathBuf,
}

impl Given {
    fn new(source: OpenSource, length: u64, name: PathBuf) -> Self {
        Self { source: Arc::new(source), length, name }
    }

    /// Recognizes the format of the file by its first bytes and its name. Returns the recognized format, and a finding if the
    /// suffix of the name is that of another format.
    pub(crate) fn recognize(
        &self,
        cancel: &Cancel,
    ) -> Result<(Recognition, Option<Finding>), CallFailure> {
        let watched = Watched::new(&self.source, cancel);
        let recognized = zten::formats::recognize(&watched, self.length, &self.name);
        let recognized = recognized.map_err(|error| CallFailure::opening(error, None))?;
        let misnamed = recognized.misnamed(&self.name);
        Ok((recognized, misnamed))
    }

    /// Converts `given`, the argument of a Python call, which is a path, `bytes`, or an object with `seek` and `read`. A file at a
    /// path is opened, and the length of the file is determined, but nothing is read. Only of a remote file, the last bytes are
    /// fetched.
    ///
    /// # Errors
    /// A `TypeError` for any other object; the errors of opening the path, and of `seek`.
    pub(crate) fn from_python(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        if given.is_instance_of::<PyBytes>() {
            let bytes: PyBackedBytes = given.extract()?;
            let length = u64::try_from(bytes.len())?;
            return Ok(Self::new(OpenSource::Bytes(bytes), length, PathBuf::new()));
        }
        if given.hasattr("read")? && given.hasattr("seek")? {
            let length = interrupt::reading(|| given.call_method1("seek", (0, 2))?.extract())?;
            let object = PythonFile { object: given.clone().unbind(), turn: Mutex::new(()) };
            return Ok(Self::new(OpenSource::Object(object), length, PathBuf::new()));
        }
        let path: PathBuf = given.extract().map_err(|_| {
            let kind = given.get_type();
            PyTypeError::new_err(format!(
                "the file is {kind}, expected a path, bytes, a bytearray, a memoryview, or an object with read and seek"
            ))
        })?;
        let opened = interrupt::run(given.py(), opening_effort(&path), |_| Self::from_path(&path))?;
        opened.map_err(|error| CallFailure::from(error).at(given.py(), Some(&shown(&path))))
    }

    /// Reads and validates the header of the file, without the interpreter's lock.
    pub(crate) fn open(self, py: Python<'_>, opening: &Opening) -> PyResult<Open> {
        let path = self.path();
        // `run` estimates the time from a number of bytes. Opening reads the header, whose length is unknown, but at most the
        // length of the file. For a remote file, which may take any time, `opening_effort` returns the largest number.
        let (bytes, opening) = (self.length.max(opening_effort(&self.name)), *opening);
        let opened =
            self.run(py, bytes, move |given, cancel| Open::new(given, &opening, cancel))?;
        opened.map_err(|failure| failure.at(py, path.as_deref()))
    }

    /// Calls `work` with this file, without the interpreter's lock, and returns its result. `bytes` says how long `work` takes:
    /// as long as reading this number of bytes. If a signal handler raises an exception meanwhile, it is raised at once. Only for
    /// a Python object it is raised after `work` has returned, because the caller may then use the object.
    pub(crate) fn run<T: Send + 'static>(
        self,
        py: Python<'_>,
        bytes: u64,
        work: impl FnOnce(Self, &Cancel) -> T + Send + 'static,
    ) -> PyResult<T> {
        match *self.source {
            OpenSource::Object(_) => interrupt::run(py, bytes, |cancel| work(self, cancel)),
            _ => interrupt::run_or_abandon(py, bytes, |cancel| work(self, cancel)),
        }
    }

    /// Opens the regular file at `path`, the model in the folder `path`, or the remote file at the URL `path`.
    ///
    /// # Errors
    /// The file cannot be opened, or is not regular; the folder has no model, or several; the errors of opening a remote file.
    pub(crate) fn from_path(path: &Path) -> io::Result<Self> {
        if is_remote(path) {
            return Self::from_network(path);
        }
        let model = path.is_dir().then(|| zten::formats::find_model(path)).transpose()?;
        let path = model.as_deref().unwrap_or(path);
        let (file, length) = zten::source::open_regular(path)?;
        Ok(Self::new(OpenSource::File(file), length, path.to_owned()))
    }

    /// Returns this file as a source that is hashed as it is read, if its real path is that of a blob in a store of downloaded
    /// models, whose name is its digest. Returns any other file unchanged.
    pub(crate) fn hashed(self) -> Self {
        let Self { source, length, name } = self;
        let expected = match (&*source, stores::role_of(&name)) {
            (OpenSource::File(_), Some((Role::Blob(expected), _))) => Some(expected),
            _ => None,
        };
        let source = match (Arc::try_unwrap(source), expected) {
            (Ok(OpenSource::File(file)), Some(expected)) => {
                Arc::new(OpenSource::Blob(Box::new(Hashed::new(file, length, expected))))
            }
            (Ok(source), _) => Arc::new(source),
            (Err(source), _) => source,
        };
        Self { source, length, name }
    }

    /// Returns the source of the bytes of the file.
    pub(crate) fn source(&self) -> Arc<OpenSource> {
        Arc::clone(&self.source)
    }

    /// Returns the path or URL of the file for messages: a URL without credentials and query. Returns `None` for `bytes` and
    /// objects.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        (!self.name.as_os_str().is_empty()).then(|| shown(&self.name).into_owned())
    }

    /// Opens the remote file at the URL `path`. This sends a request for the last bytes of the file, whose reply also has its
    /// length.
    #[cfg(feature = "remote")]
    fn from_network(path: &Path) -> io::Result<Self> {
        use zten_remote::{RemoteError, RemoteFile, RemoteName, RemoteOptions};

        let name = path.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        let open = || {
            let name = RemoteName::parse(name)?;
            RemoteFile::open(&name, &RemoteOptions::from_environment(&name)?)
        };
        let file = open().map_err(|error: RemoteError| io::Error::from(error))?;
        let length = file.length();
        Ok(Self::new(OpenSource::Remote(Box::new(file)), length, path.to_owned()))
    }

    /// Fails: this package was built without remote files. The error says how to build it with them.
    #[cfg(not(feature = "remote"))]
    fn from_network(_: &Path) -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this zten was built without remote files; build it with the feature remote, or remote-tls for https, S3 and the Hugging Face hub",
        ))
    }
}

/// Returns how long opening the file at `path` takes, as the number of bytes for [`interrupt::run`]: 0 for a local file, and
/// [`u64::MAX`] for a remote file, because a request over the network may take any time.
fn opening_effort(path: &Path) -> u64 {
    if is_remote(path) { u64::MAX } else { 0 }
}

/// An open file of any format, with its shards and sibling files.
pub(crate) struct Open {
    /// The file with its validated header. Its source belongs to the call that opened it; each later call reads through a
    /// [`root`](Self::root) with its own flag for cancellation.
    archive: Archive<Watched>,
    /// The shards and sibling files that the header lists.
    shards: Vec<Listed>,
    /// The list of digests that all content of the file is compared with when it is read; `None` if the caller gave no list.
    pub(crate) digests: Option<Enforced>,
}

impl Open {
    /// Reads and validates the header of `given`. The shards of a file with a path are opened now, those of a remote file when
    /// they are read. The files that an index or the first of several GGUF files names are opened now, and their headers are read.
    /// If `opening` says that shards are not read, or `given` is `bytes` or an object, no other file is opened.
    pub(crate) fn new(
        given: Given,
        opening: &Opening,
        cancel: &Cancel,
    ) -> Result<Self, CallFailure> {
        let (recognition, _) = given.recognize(cancel)?;
        Self::of_recognized(given, recognition, opening, cancel)
    }

    /// Reads and validates the header of `given` as [`new`](Self::new) does. `recognition` is the format of the file, which has
    /// been recognized before.
    pub(crate) fn of_recognized(
        given: Given,
        recognition: Recognition,
        opening: &Opening,
        cancel: &Cancel,
    ) -> Result<Self, CallFailure> {
        let Given { source, length: _, name } = given;
        let options = &opening.options;
        let watched = Watched::new(&source, cancel);
        let detected = recognition.detected(&name);
        let failure = |error| match detected {
            None => CallFailure::from(error),
            Some(detected) => CallFailure::opening(error, detected.name()),
        };
        let begun = options.begin_recognized(watched, recognition, &name);
        let list = |wanted: Vec<Want>| -> io::Result<Vec<_>> {
            let wanted = wanted.into_iter().filter(|_| opening.shards);
            wanted.map(|want| Listed::open_sibling(want, &source, &name)).collect()
        };
        match begun.map_err(failure)? {
            Begun::Archive(archive) => {
                let wanted = zten::shards::wanted(archive.manifest());
                let shards = list(wanted.into_iter().map(Want::Shard).collect())?;
                Ok(Self { archive, shards, digests: None })
            }
            Begun::Root(root) => {
                let mut shards = Vec::new();
                let wanted = root.files().filter_map(Sibling::new).filter(|_| opening.shards);
                for want in wanted.map(Want::Sibling) {
                    let file = want.name().to_owned();
                    match Listed::open_sibling(want, &source, &name) {
                        Ok(listed) => shards.push(listed),
                        Err(error) => match error.to_string().strip_prefix(IS_LINK) {
                            Some(target) => {
                                return Err(failure(root.linked(&file, target, LINKED)));
                            }
                            None => return Err(error.into()),
                        },
                    }
                }
                let mut found = Vec::new();
                for listed in &shards {
                    if let Some(part) = listed.find(&source)? {
                        let watched = Watched::new(&part.source, cancel);
                        found.push((listed.want.name(), watched, part.length));
                    }
                }
                let parts = found.iter();
                let parts: Vec<_> = parts
                    .map(|(name, source, length)| PartFile { name, source, length: *length })
                    .collect();
                let archive = root.open(&parts, options).map_err(failure)?;
                Ok(Self { archive, shards, digests: None })
            }
        }
    }

    /// Shows each group of tensors that together are a quantized tensor by a convention, such as codes and scales, as one tensor,
    /// as the command does.
    ///
    /// # Errors
    /// The error of reading the small tensors that hold the shapes of some groups; the rule that a group breaks.
    pub(crate) fn with_conventions(self, cancel: &Cancel) -> Result<Self, Error> {
        let groups = self.groups(cancel)?;
        Ok(Self { archive: self.archive.with_groups(groups), ..self })
    }

    /// Returns the archive: the file with its validated header.
    pub(crate) fn archive(&self) -> &Archive<Watched> {
        &self.archive
    }

    /// Returns the manifest of the file.
    pub(crate) fn manifest(&self) -> &Manifest<impl AsRef<[u8]>> {
        self.archive.manifest()
    }

    /// Returns tensor `ordinal`, whose bytes cannot be read before it is bound to a source.
    ///
    /// # Errors
    /// [`Misuse::NoTensor`] if the file has no such tensor.
    pub(crate) fn tensor(&self, ordinal: u32) -> Result<Tensor<'_>, Error> {
        self.manifest().tensor_at(ordinal).ok_or(Misuse::NoTensor.into())
    }

    /// Returns the component with this ordinal of its tensor and this ordinal in the tensor. Its bytes cannot be read before it
    /// is bound to a source.
    ///
    /// # Errors
    /// [`Misuse::NoTensor`] if the file has no such component.
    pub(crate) fn component(&self, (tensor, ordinal): (u32, u32)) -> Result<Component<'_>, Error> {
        self.tensor(tensor)?.component_at(ordinal).ok_or(Misuse::NoTensor.into())
    }

    /// Returns the number of bytes of the file, without its shards.
    pub(crate) fn length(&self) -> u64 {
        self.archive.file_len()
    }

    /// Returns the number of bytes of all shards that have been opened so far.
    pub(crate) fn shard_bytes(&self) -> u64 {
        let found = self.shards.iter().filter_map(|listed| listed.found.get()?.as_ref());
        found.fold(0, |sum, found| sum.saturating_add(found.length))
    }

    /// Returns the source of the bytes of the file.
    fn source(&self) -> &Arc<OpenSource> {
        &self.archive.source().source
    }

    /// Returns the source of the bytes if the file is a blob of a store of downloaded models, which is hashed as it is read;
    /// `None` for any other file.
    pub(crate) fn hashed(&self) -> Option<&Hashed<File>> {
        self.source().hashed()
    }

    /// Creates a reader of the bytes of the file, without its shards, for one call. Its reads fail after `cancel` was set.
    pub(crate) fn root(&self, cancel: &Cancel) -> Watched {
        Watched::new(self.source(), cancel)
    }

    /// Returns whether only the digest of a whole shard verifies `component`: the component has no digest of its own, and its
    /// shard has one.
    pub(crate) fn is_compared(&self, component: &Component<'_>) -> bool {
        let mut shards = self.manifest().shards();
        let shard = shards.find(|shard| Some(shard.name()) == component.shard());
        component.digest().is_none() && shard.is_some_and(|shard| shard.digest().is_some())
    }

    /// Returns whether the file is read over the network.
    pub(crate) fn is_remote(&self) -> bool {
        match **self.source() {
            OpenSource::File(_)
            | OpenSource::Blob(_)
            | OpenSource::Bytes(_)
            | OpenSource::Object(_) => false,
            #[cfg(feature = "remote")]
            OpenSource::Remote(_) => true,
        }
    }

    /// Returns whether the file is a file on disk or bytes in memory, which several threads can read at once. A blob that is hashed
    /// as it is read is not.
    pub(crate) fn is_local(&self) -> bool {
        matches!(**self.source(), OpenSource::File(_) | OpenSource::Bytes(_))
    }

    /// Returns how long reading `bytes` bytes of the file takes, as the number of bytes for [`interrupt::run`]: `bytes` itself, or
    /// [`u64::MAX`] if the file is remote, because a request over the network may take any time.
    pub(crate) fn effort(&self, bytes: u64) -> u64 {
        if self.is_remote() { u64::MAX } else { bytes }
    }

    /// Begins to fetch the byte ranges `ranges` of a remote file, or of its shard `shard`, in their order: they will be read
    /// next. The remote file and its other shards stop fetching. Does nothing if the file is not remote.
    pub(crate) fn plan(
        &self,
        shard: Option<&str>,
        ranges: impl IntoIterator<Item = Range<u64>>,
    ) -> io::Result<()> {
        if !self.is_remote() {
            return Ok(());
        }
        self.plan_runs(HashMap::from([(shard, vec![ranges.into_iter().collect()])]))
    }

    /// Begins to fetch all bytes of `components` of a remote file and its shards, as [`plan`](Self::plan) does.
    pub(crate) fn plan_components<'a>(
        &self,
        components: impl IntoIterator<Item = Component<'a>>,
    ) -> io::Result<()> {
        if !self.is_remote() {
            return Ok(());
        }
        self.plan_runs(zten::shards::runs(components))
    }

    /// Begins to fetch byte ranges of several remote files. `runs` has the ranges by the name of the shard; the name `None` means
    /// the file itself. All other files stop fetching, and drop the bytes that they have fetched ahead.
    fn plan_runs<'s>(&'s self, mut runs: HashMap<Option<&'s str>, Runs>) -> io::Result<()> {
        self.source().plan(runs.remove(&None))?;
        for listed in &self.shards {
            let name = listed.want.name();
            let found = if runs.contains_key(&Some(name)) {
                self.found(name)?
            } else {
                listed.found.get().and_then(Option::as_ref)
            };
            if let Some(found) = found {
                found.source.plan(runs.remove(&Some(name)))?;
            }
        }
        Ok(())
    }

    /// Returns whether the file is on disk and was opened by its path. A remote file, bytes, an object and a hashed blob are not.
    pub(crate) fn is_file(&self) -> bool {
        matches!(**self.source(), OpenSource::File(_))
    }

    /// Duplicates the descriptor of a file that was opened by its path. Returns `None` for other sources. The caller has to
    /// close the duplicate. If another thread closed the original instead, its number could become that of another file.
    #[cfg(unix)]
    pub(crate) fn descriptor(&self) -> io::Result<Option<i32>> {
        use std::os::fd::IntoRawFd as _;
        match &**self.source() {
            OpenSource::File(file) => Ok(Some(file.try_clone()?.into_raw_fd())),
            _ => Ok(None),
        }
    }

    /// Returns `None`: this system has no file descriptors.
    #[cfg(not(unix))]
    pub(crate) fn descriptor(&self) -> io::Result<Option<i32>> {
        Ok(None)
    }
}

/// A reader of the bytes of a file, for one call. Its reads fail after `cancel` was set.
pub(crate) struct Watched {
    source: Arc<OpenSource>,
    cancel: Cancel,
}

impl Watched {
    fn new(source: &Arc<OpenSource>, cancel: &Cancel) -> Self {
        Self { source: source.clone(), cancel: cancel.clone() }
    }
}

impl ReadAt for Watched {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.cancel.check()?;
        match &*self.source {
            OpenSource::File(file) => file.read_at(offset, buffer),
            OpenSource::Blob(file) => file.read_at(offset, buffer),
            OpenSource::Object(object) => Ok(object.read_at(offset, buffer)?),
            #[cfg(feature = "remote")]
            OpenSource::Remote(file) => file.read_at(offset, buffer),
            OpenSource::Bytes(bytes) => {
                let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
                let bytes = bytes.bytes_at(offset, buffer.len()).ok_or_else(short)?;
                buffer.copy_from_slice(bytes);
                Ok(())
            }
        }
    }

    fn identity(&self) -> Option<[u64; 2]> {
        match &*self.source {
            OpenSource::File(file) => file.identity(),
            OpenSource::Blob(file) => file.identity(),
            _ => None,
        }
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        match &*self.source {
            // After cancellation this returns `None`, so that the caller uses `read_at`, which fails.
            OpenSource::Bytes(bytes) if !self.cancel.is_set() => bytes.bytes_at(offset, length),
            _ => None,
        }
    }

    fn gap(&self) -> u64 {
        match &*self.source {
            OpenSource::File(file) => file.gap(),
            OpenSource::Blob(file) => file.gap(),
            _ => 0,
        }
    }
}

#[cfg(feature = "remote")]
impl OpenSource {
    /// Opens the shard or sibling file `want` of this remote file. Returns `None` if there is no such file, or this file is not
    /// remote.
    fn find(&self, want: &Want) -> io::Result<Option<OpenedShard>> {
        let Self::Remote(file) = self else { return Ok(None) };
        let found = file.find(want).map_err(io::Error::from)?;
        Ok(found.map(|file| {
            let length = file.length();
            OpenedShard::new(Self::Remote(Box::new(file)), length)
        }))
    }

    /// Begins to fetch the byte ranges `runs` of this remote file ahead; with `None`, stops fetching. Does nothing for any other
    /// source.
    fn plan(&self, runs: Option<Runs>) -> io::Result<()> {
        let Self::Remote(file) = self else { return Ok(()) };
        if let Some(runs) = runs {
            file.plan(zten_remote::Plan::of_runs(runs))?;
        } else {
            file.pause();
        }
        Ok(())
    }
}

#[cfg(not(feature = "remote"))]
#[expect(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    reason = "with the feature `remote`, both are needed"
)]
impl OpenSource {
    /// Returns `None`: this build does not read remote files.
    fn find(&self, _: &Want) -> io::Result<Option<OpenedShard>> {
        Ok(None)
    }

    /// Does nothing: this build does not read remote files.
    fn plan(&self, _: Option<Runs>) -> io::Result<()> {
        Ok(())
    }
}

impl PythonFile {
    /// Fills `buffer` with bytes of the file from `offset` on, which the `seek` and `read` of the object return.
    ///
    /// # Errors
    /// The exceptions of the object; [`io::ErrorKind::UnexpectedEof`] if the file is too short; a `TypeError` if `read` does not
    /// return `bytes`; a `ValueError` if `read` returns more bytes than requested, or the call comes from the object itself.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        interrupt::check_reentry()?;
        // The lock of the object is taken before the lock of the interpreter. In the other order, two threads could wait for
        // each other.
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let read = Python::attach(|py| -> PyResult<()> {
            let object = self.object.bind(py);
            interrupt::reading(|| object.call_method1("seek", (offset,)))?;
            let mut rest = buffer;
            while !rest.is_empty() {
                let bytes = interrupt::reading(|| object.call_method1("read", (rest.len(),)))?;
                let bytes: &[u8] = bytes.extract()?;
                if bytes.is_empty() {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
                let Some((room, behind)) = rest.split_at_mut_checked(bytes.len()) else {
                    return Err(PyValueError::new_err(
                        "the method read of the file object returned more bytes than requested",
                    ));
                };
                room.copy_from_slice(bytes);
                rest = behind;
            }
            Ok(())
        });
        read.map_err(io::Error::from)
    }
}
