//! Files on a file system: published whole or not at all. Needs the feature `files`.
//!
//! Bytes are written to a temporary file in the folder of the target. [`FileSink::publish`] makes the bytes durable,
//! gives the file the target's name in one step, and makes the name durable, too. Whenever the program or the machine
//! stops, the target is either the old file or the complete new file.
//!
//! Appending first copies the blobs of the old file (file systems that can share blocks share them). The manifest of a
//! file must be at its end, so appending in place would leave an unreadable file until the new manifest is written.

#[cfg(not(unix))]
mod by_path;
mod early_sync;
#[cfg(unix)]
mod unix;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Read as _, SeekFrom, Write as _};
use std::path::Path;
use std::vec::Vec;

use super::settings::WriteOptions;
use super::sink::Sink;
use super::writer::Writer;
use crate::error::Error;
use crate::limits::OpenOptions;
use crate::manifest::Manifest;
use crate::num::u64_from_usize;
#[cfg(not(unix))]
use by_path::{Draft, Target};
use early_sync::EarlySync;
#[cfg(unix)]
use unix::{Draft, Target};

/// A file that is being written and has not been published. Dropping it removes the temporary file.
///
/// # What becomes of a file that is replaced
///
/// The old file is not written to: the new file takes over its name. This needs write access to the folder, but not to
/// the file.
///
/// - **Mode**: that of the old file, without the set-user-ID, set-group-ID and sticky bits. If there was no file, the mode
///   is that of any new file in the folder: 0666 less the umask, or as the folder's default ACL says. Until then only the
///   owner can open the temporary file.
/// - **Owner**: the user that publishes.
/// - **Group**: that of the old file. If the user may not give the file that group, it has the user's own group, which then
///   gets only the rights that everybody has.
/// - **ACL**: on Linux that of the old file, or none if it had none. If the ACL cannot be kept, the group's rights are
///   reduced as above. Other systems treat the file as any new file.
/// - **Other names** (hard links) of the old file still lead to the old content.
/// - **Symbolic links** at the target are rejected, even if they lead nowhere. Links on the way to the folder are followed by
///   the system. A link that appears at the target at the last moment is replaced, and never followed.
/// - Other extended attributes and security labels are those of a new file.
///
/// # What may be left behind
///
/// On Linux the temporary file has no name, if the file system has such files (ext4, XFS, Btrfs, tmpfs and others) and
/// `/proc` is mounted. A program that is killed then leaves nothing behind, with one exception: to replace a file, the new
/// one needs a name first, so between two system calls the complete file is called `.zten-….tmp`.
///
/// On other systems the temporary file always has such a name, and a program that is killed leaves it behind. An empty
/// file with such a name, which is created for a moment to learn the mode of a new file, may be left behind there as well,
/// and on Linux if the umask is 0.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("model.zt");
/// let mut file = zten::Writer::create(&path)?;
/// file.add("bias", &[2], &[1_u8, 2])?;
/// file.finish()?;
///
/// let mut file = zten::Writer::append_to(&path)?;
/// file.add("none", &[0], &[0_u8; 0])?;
/// file.finish()?;
/// # assert_eq!(zten::open(&path)?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileSink {
    draft: BufWriter<Draft>,
    early: EarlySync,
}

impl FileSink {
    /// Begins a file that replaces the file at `target`, if there is one, when it is published.
    ///
    /// # Errors
    /// The error of reading the folder of `target`, which is needed to make a name in it durable, or of creating a file
    /// in it; [`io::ErrorKind::InvalidInput`] if the target is not a regular file (a symbolic link, for instance), or
    /// the path does not end in a name.
    pub fn create(target: &Path) -> Result<Self, Error> {
        let target = Target::new(target).map_err(Error::from_write)?;
        target.check().map_err(Error::from_write)?;
        Self::at(target)
    }

    fn at(target: Target) -> Result<Self, Error> {
        let draft = Draft::new(target).map_err(Error::from_write)?;
        let draft = BufWriter::with_capacity(BUFFER, draft);
        Ok(Self { draft, early: EarlySync::default() })
    }

    /// Begins a new edition of the file at `target` by copying the blobs of the file, in 2 with its manifest. Returns
    /// the manifest.
    ///
    /// # Errors
    /// The errors of [`create`](Self::create); any rule of the catalog, except rules that need data.
    pub fn edition(
        target: &Path,
        options: &OpenOptions,
    ) -> Result<(Self, Manifest<Vec<u8>>), Error> {
        let target = Target::new(target).map_err(Error::from_write)?;
        let old = target.open()?;
        let length = old.metadata()?.len();
        let manifest = options.open_manifest(&old, length)?;
        let sink = Self::at(target)?;
        let wanted = manifest.appends_at();
        let copy = |mut new: &File| {
            use io::Seek as _;
            (&old).rewind()?;
            io::copy(&mut (&old).take(wanted), &mut new)
        };
        let copied = copy(sink.file())?;
        if copied != wanted {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok((sink, manifest))
    }

    /// Returns the temporary file. Another process may write to it, and its bytes are then published as if they had
    /// been written here.
    pub fn file(&self) -> &File {
        self.draft.get_ref().file()
    }

    /// Publishes the file at its target. [`Sink::finish`] does the same.
    ///
    /// # Errors
    /// [`ErrorKind::Write`](crate::ErrorKind::Write) if the bytes cannot be made durable or the file cannot take its
    /// name: the old file is still at the target. [`ErrorKind::NotDurable`](crate::ErrorKind::NotDurable) if the name
    /// cannot be made durable: the new file is at the target, but the old file may be back after a crash of the
    /// machine.
    pub fn publish(self) -> Result<(), Error> {
        self.publish_over(Over::Any)
    }

    /// Publishes the file only if no file is at its target. A file that was created there in the meantime is not
    /// replaced.
    ///
    /// # Errors
    /// The errors of [`publish`](Self::publish), with [`io::ErrorKind::AlreadyExists`] as their source if a file is at
    /// the target.
    pub fn publish_new(self) -> Result<(), Error> {
        self.publish_over(Over::Nothing)
    }

    fn publish_over(mut self, over: Over) -> Result<(), Error> {
        self.early.wait().map_err(Error::from_write)?;
        let draft = self.draft.into_inner().map_err(io::IntoInnerError::into_error);
        draft.map_err(Error::from_write)?.publish(over)
    }
}

impl io::Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl io::Seek for Draft {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file().seek(to)
    }
}

/// Other formats than zTensor change bytes that were written before: [`Sink::write`] writes at the new position.
impl io::Seek for FileSink {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.draft.seek(to)
    }
}

/// The files that a new file may replace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    /// Any regular file.
    Any,
    /// No file.
    Nothing,
}

/// The size in bytes of the buffer of a [`FileSink`]. Without a buffer, each small piece of padding and manifests would take a
/// system call.
const BUFFER: usize = 64 << 10;

impl Sink for FileSink {
    type Output = ();

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.draft.write_all(bytes).map_err(Error::from_write)?;
        let added = self.early.add(u64_from_usize(bytes.len()), self.draft.get_ref().file());
        added.map_err(Error::from_write)
    }

    fn finish(self) -> Result<(), Error> {
        self.publish()
    }
}

impl Writer<FileSink> {
    /// Begins a file that replaces the file at `path`, if there is one. [`finish`](Self::finish) publishes it in one
    /// step. Until then, and if the writer is dropped, nothing changes. [`FileSink`] describes what becomes of a file
    /// that is replaced.
    ///
    /// # Errors
    /// The errors of [`FileSink::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        WriteOptions::default().create(path)
    }

    /// Appends to the file of 1.x or 2 at `path`. The file does not change until [`finish`](Self::finish) publishes the
    /// new edition. If two writers append to a file at the same time, the edition that is published last wins.
    ///
    /// # Errors
    /// The errors of [`FileSink::edition`] and [`Writer::append`].
    pub fn append_to(path: impl AsRef<Path>) -> Result<Self, Error> {
        WriteOptions::default().append_to(path, &OpenOptions::default())
    }
}

impl WriteOptions {
    /// Begins a file as [`Writer::create`] does, with these settings.
    ///
    /// # Errors
    /// The errors of [`Writer::create`]; [`Misuse::Settings`](crate::error::Misuse::Settings).
    pub fn create(&self, path: impl AsRef<Path>) -> Result<Writer<FileSink>, Error> {
        Writer::new(FileSink::create(path.as_ref())?, self)
    }

    /// Appends to a file as [`Writer::append_to`] does, with these settings. The file is opened with `options`.
    ///
    /// # Errors
    /// The errors of [`Writer::append_to`].
    pub fn append_to(
        &self,
        path: impl AsRef<Path>,
        options: &OpenOptions,
    ) -> Result<Writer<FileSink>, Error> {
        let (sink, manifest) = FileSink::edition(path.as_ref(), options)?;
        Writer::append(sink, &manifest, self)
    }
}

/// Returns the last name of `target`, in which the path must end: a path with a trailing separator names a folder.
fn name(target: &Path) -> io::Result<&OsStr> {
    let path = target.as_os_str().as_encoded_bytes();
    let name = target.file_name().filter(|name| path.ends_with(name.as_encoded_bytes()));
    name.ok_or_else(|| invalid("the path does not end in the name of a file"))
}

/// Returns the folder that contains `file`, which is `.` for a bare name.
fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Returns the error for a target that a file cannot be put at.
fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

const A_LINK: &str = "is a symbolic link, expected a regular file or no file";
const NO_FILE: &str = "is not a regular file, expected a regular file or no file";
