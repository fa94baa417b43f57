//! Files on a file system: published whole or not at all. Needs the feature `files`.
//!
//! Bytes go to a temporary file in the folder of the target. [`FileSink::publish`] makes them
//! durable, gives the temporary file the target's name in one step, and makes that durable too:
//! whenever the program or the machine stops, the target is what it was, or all new. What stops
//! before that leaves a temporary file (`.zten-….tmp`) at most.
//!
//! Appending copies the blobs of the old file first (file systems that can share blocks share
//! them), because the manifest of a file must be its end: whoever wrote behind it in place would
//! leave, until the new manifest is there, a file that nobody can read.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::copy::CopyError;
use super::settings::Settings;
use super::sink::Sink;
use super::writer::Writer;
use crate::codec::ReadError;
use crate::limits::Options;
use crate::manifest::Manifest;
use crate::source::FileArchive;

/// A file that is being written, and is not yet where it is to be. Dropped before it is
/// published, it is removed.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("model.zt");
/// use zten::write::{FileSink, NewObject, Settings, Writer, append};
///
/// let mut writer = Writer::new(FileSink::create(&path)?, &Settings::default())?;
/// let bias = NewObject::dense("bias", &[2], zten::StorageType::U8);
/// writer.add(&bias, &[("data", &[1, 2])])?;
/// writer.finish()?.publish()?;
///
/// let mut writer = append(&path, &zten::Options::default(), &Settings::default())?;
/// writer.add(&NewObject::dense("none", &[0], zten::StorageType::U8), &[])?;
/// writer.finish()?.publish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileSink {
    file: BufWriter<NamedTempFile>,
    target: PathBuf,
}

impl FileSink {
    /// Begins a file that is to be at `target`, in place of what is there. Links are followed.
    ///
    /// # Errors
    /// What keeps a file from being made in the folder of `target`; [`io::ErrorKind::InvalidInput`]
    /// where something else than a regular file is there.
    pub fn create(target: &Path) -> io::Result<Self> {
        let (target, old) = match fs::canonicalize(target) {
            Ok(target) => {
                let old = fs::metadata(&target)?;
                if !old.is_file() {
                    let kind = io::ErrorKind::InvalidInput;
                    return Err(io::Error::new(kind, "not a regular file"));
                }
                (target, Some(old.permissions()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (target.to_path_buf(), None),
            Err(error) => return Err(error),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".zten-").suffix(".tmp");
        #[cfg(unix)]
        {
            // Less what the process masks, as for any new file; temporary ones would get fewer.
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder(&target))?;
        if let Some(old) = old {
            file.as_file().set_permissions(old)?;
        }
        Ok(Self { file: BufWriter::with_capacity(BUFFER, file), target })
    }

    /// Begins a new edition of the file at `target`: its blobs, without its manifest, which is
    /// returned.
    ///
    /// # Errors
    /// As [`create`](Self::create); any rule of the catalogue that needs no data.
    pub fn edition(
        target: &Path,
        options: &Options,
    ) -> Result<(Self, Manifest<'static>), ReadError<io::Error>> {
        let old = File::open(target).map_err(ReadError::Source)?;
        let blobs = old.try_clone().map_err(ReadError::Source)?;
        let archive = FileArchive::from_file(old, options)?;
        let mut sink = Self::create(target).map_err(ReadError::Source)?;
        let wanted = archive.extent().start;
        let copy = |sink: &mut Self| {
            use io::Seek as _;
            (&blobs).rewind()?;
            io::copy(&mut (&blobs).take(wanted), sink.file.get_mut().as_file_mut())
        };
        let copied = copy(&mut sink).map_err(ReadError::Source)?;
        if copied != wanted {
            return Err(ReadError::Source(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok((sink, archive.into_manifest()))
    }

    /// The temporary file. Another process may write it instead of this one: what it has written
    /// is published as if it had been written here.
    pub fn file(&self) -> &File {
        self.file.get_ref().as_file()
    }

    /// Puts the file where it is to be: from now on, whatever happens, it is there.
    ///
    /// # Errors
    /// What keeps it from being made durable, or from taking its name; the old file is then
    /// still there.
    pub fn publish(self) -> io::Result<()> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(&self.target)?;
        durable(folder(&self.target))
    }
}

/// Padding and manifests come in small pieces.
const BUFFER: usize = 64 << 10;

impl Sink for FileSink {
    type Error = io::Error;

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Goes on with the 1.x file at `path`, which stays as it is until the new edition is published.
/// Of two that append to one file at a time, the edition that is published last wins.
///
/// # Errors
/// As [`FileSink::edition`] and [`Writer::append`].
pub fn append(
    path: &Path,
    options: &Options,
    settings: &Settings,
) -> Result<Writer<FileSink>, CopyError<io::Error, io::Error>> {
    let (sink, manifest) = FileSink::edition(path, options)?;
    Ok(Writer::append(sink, &manifest, settings)?)
}

/// The folder of a file.
fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes the names in a folder durable.
#[cfg(unix)]
fn durable(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
fn durable(_: &Path) -> io::Result<()> {
    Ok(())
}
