//! Files of the file system. Opening never waits, and files are read by offset and never mapped into memory, because a
//! map changes under its reader when the file does.

use std::borrow::ToOwned as _;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::iter;
use std::path::{Component, Path, PathBuf};

use crate::error::Error;
use crate::read_at::ReadAt;

/// The name of the folder whose files are named by their digests, in a store of shards and in the cache of a hub.
const BLOBS: &str = "blobs";

impl ReadAt for File {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        Ok(read_exact_at(self, offset, buffer)?)
    }

    /// Returns the largest gap between two ranges that is read along with them: a page, because a system call takes about as long
    /// as copying a page.
    fn gap(&self) -> u64 {
        4096
    }

    /// Returns the device and the inode of the file.
    #[cfg(unix)]
    fn identity(&self) -> Option<[u64; 2]> {
        use std::os::unix::fs::MetadataExt as _;

        let metadata = self.metadata().ok()?;
        Some([metadata.dev(), metadata.ino()])
    }
}

/// Opens the regular file at `path`, which may be a link, and returns the file and its length. Opening a named pipe
/// does not wait for its other end, and opening a terminal does not make it the controlling terminal of the process.
///
/// # Errors
/// [`io::ErrorKind::IsADirectory`] for a folder, and [`io::ErrorKind::InvalidInput`] for any other file that is not regular.
pub fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    let file = system::open(path).map_err(|error| match fs::metadata(path) {
        // Sockets cannot be opened at all, so the error of `open` would not say that the path is a socket.
        Ok(found) if is_socket(&found) => irregular(&found),
        _ => error,
    })?;
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok((file, metadata.len())) } else { Err(irregular(&metadata)) }
}

/// Returns the error for a file that is not regular.
pub fn irregular(found: &Metadata) -> io::Error {
    if found.is_dir() {
        return io::ErrorKind::IsADirectory.into();
    }
    let what = match found.file_type() {
        kind if kind.is_symlink() => "is a link",
        #[cfg(unix)]
        kind if kind.is_fifo() => "is a named pipe, not a regular file",
        #[cfg(unix)]
        kind if kind.is_socket() => "is a socket, not a regular file",
        #[cfg(unix)]
        kind if kind.is_char_device() || kind.is_block_device() => {
            "is a device, not a regular file"
        }
        _ => "is not a regular file",
    };
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[cfg(unix)]
use std::os::unix::fs::FileTypeExt as _;

#[cfg(unix)]
fn is_socket(found: &Metadata) -> bool {
    found.file_type().is_socket()
}

#[cfg(not(unix))]
fn is_socket(_: &Metadata) -> bool {
    false
}

/// Opens the regular file at `folder` followed by `steps`, and returns the file and its length, or `None` if there is
/// no such file. Links are not followed, except in the cache of a hub: in a folder below `models--X--Y/snapshots/REV`,
/// a single step may be a link to `../../blobs/DIGEST` (with as many `..` as lead to that repository). The link is read
/// once, and the blob is opened from the folder of the repository without following further links.
///
/// # Errors
/// The folder cannot be read, or the file exists but cannot be opened.
pub fn open_below(folder: &Path, steps: &[&OsStr]) -> io::Result<Option<(File, u64)>> {
    let found = match (system::open_below(folder, steps)?, steps) {
        (Step::Link, [link]) => match hub_blob(folder, link)? {
            Some((repository, name)) => {
                system::open_below(&repository, &[BLOBS.as_ref(), name.as_os_str()])?
            }
            None => Step::Nothing,
        },
        (found, _) => found,
    };
    let Step::File(file) = found else { return Ok(None) };
    let metadata = file.metadata()?;
    Ok(metadata.is_file().then_some((file, metadata.len())))
}

/// Returns the repository in a hub's cache, and the name of the blob in the repository, that `link` in `folder` points
/// to. Returns `None` for any other link.
///
/// # Errors
/// The link or the folder cannot be read.
pub fn hub_blob(folder: &Path, link: &OsStr) -> io::Result<Option<(PathBuf, OsString)>> {
    let target = fs::read_link(folder.join(link))?;
    let mut steps = target.components().peekable();
    let up = iter::from_fn(|| steps.next_if_eq(&Component::ParentDir)).count();
    let (Some(Component::Normal(blobs)), Some(Component::Normal(name)), None) =
        (steps.next(), steps.next(), steps.next())
    else {
        return Ok(None);
    };
    // Names lie below a revision, so at least two levels below the folder `snapshots`.
    let Some(to_snapshots) = up.checked_sub(1).filter(|up| *up > 0) else { return Ok(None) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let real = fs::canonicalize(folder)?;
    let mut above = real.ancestors().skip(to_snapshots);
    let (Some(snapshots), Some(repository)) = (above.next(), above.next()) else { return Ok(None) };
    let of_hub = repository.file_name().is_some_and(is_hub_repository);
    let is_blob = blobs == BLOBS && of_hub && snapshots.ends_with("snapshots");
    Ok(is_blob.then(|| (repository.to_owned(), name.to_owned())))
}

/// Returns whether `name` is the name of a repository's folder in the cache of a hub: the kind of the repository in the plural, two
/// hyphens, and its organization and name, as in `models--X--Y`.
pub fn is_hub_repository(name: &OsStr) -> bool {
    let name = name.to_str().unwrap_or_default();
    ["models--", "datasets--", "spaces--", "kernels--"].iter().any(|kind| name.starts_with(kind))
}

/// What was found by following the steps of a path from a folder.
enum Step {
    /// A file of any kind.
    File(File),
    /// A symbolic link.
    Link,
    /// No such file, or an earlier step is no folder.
    Nothing,
}

/// Each step is opened relative to the open folder before, so that no folder can be replaced by a link in between.
#[cfg(all(unix, not(miri)))]
mod system {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io;
    use std::os::fd::AsFd;
    use std::path::Path;

    use rustix::fs::{CWD, Mode, OFlags, openat};
    use rustix::io::{Errno, retry_on_intr};

    use super::Step;

    const FILE: OFlags =
        OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
    const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    fn at(folder: impl AsFd, step: &OsStr, flags: OFlags) -> Result<File, Errno> {
        retry_on_intr(|| openat(folder.as_fd(), step, flags, Mode::empty())).map(File::from)
    }

    pub(super) fn open(path: &Path) -> io::Result<File> {
        Ok(at(CWD, path.as_os_str(), FILE)?)
    }

    pub(super) fn open_below(folder: &Path, steps: &[&OsStr]) -> io::Result<Step> {
        let Some((last, before)) = steps.split_last() else { return Ok(Step::Nothing) };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let opened = at(CWD, folder.as_os_str(), FOLDER).map_err(io::Error::from)?;
        let opened = before
            .iter()
            .try_fold(opened, |folder, step| at(folder, step, FOLDER | OFlags::NOFOLLOW));
        match opened.and_then(|folder| at(folder, last, FILE | OFlags::NOFOLLOW)) {
            Ok(file) => Ok(Step::File(file)),
            Err(Errno::LOOP | Errno::MLINK) => Ok(Step::Link),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::NXIO) => {
                Ok(Step::Nothing)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Opens files by paths, on platforms without `openat`.
#[cfg(not(all(unix, not(miri))))]
mod system {
    use std::ffi::OsStr;
    use std::fs::{self, File};
    use std::io;
    use std::path::{Path, PathBuf};

    use super::Step;

    pub(super) fn open(path: &Path) -> io::Result<File> {
        let found = fs::metadata(path)?;
        if found.is_dir() { Err(super::irregular(&found)) } else { File::open(path) }
    }

    pub(super) fn open_below(folder: &Path, steps: &[&OsStr]) -> io::Result<Step> {
        let mut path = PathBuf::from(folder);
        let mut last = None;
        for step in steps {
            path.push(step);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => return Ok(Step::Link),
                Ok(found) => last = Some(found),
                Err(error) => {
                    return match error.kind() {
                        io::ErrorKind::NotFound
                        | io::ErrorKind::NotADirectory
                        | io::ErrorKind::InvalidFilename => Ok(Step::Nothing),
                        _ => Err(error),
                    };
                }
            }
        }
        match last {
            Some(found) if found.is_file() => File::open(&path).map(Step::File),
            _ => Ok(Step::Nothing),
        }
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                offset = offset.saturating_add(crate::num::u64_from_usize(read));
                buffer = buffer.get_mut(read..).ok_or(io::ErrorKind::Other)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(not(any(unix, windows)))]
fn read_exact_at(mut file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    use std::io::{Read as _, Seek as _};
    file.seek(io::SeekFrom::Start(offset))?;
    file.read_exact(buffer)
}
