//! Where a file is to be: a name in a folder, which is opened once.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;

use super::{A_LINK, NO_FILE, folder, invalid, name};

/// Where a file is to be.
#[derive(Debug)]
pub(super) struct Target {
    /// Open for reading: what cannot be read cannot be made durable.
    pub(super) folder: File,
    pub(super) name: OsString,
}

impl Target {
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let name = name(path)?.to_owned();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, folder(path), flags, Mode::empty()).map_err(|error| {
            let error = io::Error::from(error);
            io::Error::new(
                error.kind(),
                format!("its folder cannot be opened for reading: {error}"),
            )
        })?;
        Ok(Self { folder: folder.into(), name })
    }

    /// What is there, which must be a regular file or nothing.
    pub(super) fn check(&self) -> io::Result<Option<Stat>> {
        match statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(there) => match FileType::from_raw_mode(there.st_mode) {
                FileType::RegularFile => Ok(Some(there)),
                FileType::Symlink => Err(invalid(A_LINK)),
                _ => Err(invalid(NO_FILE)),
            },
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The file that is there.
    pub(super) fn open(&self) -> io::Result<File> {
        self.check()?;
        // It may have become something else by now, which is not to be waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&self.folder, &self.name, flags, Mode::empty())?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(invalid(NO_FILE)) }
    }
}

/// A new file, which nothing has been at before.
pub(super) fn create(folder: &File, name: &str, mode: Mode) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, mode)?.into())
}

/// A name that is not in use and that none can know in advance: 64 bits of a hash with a secret.
pub(super) fn temporary_name() -> String {
    format!(".zten-{:016x}.tmp", RandomState::new().build_hasher().finish())
}
