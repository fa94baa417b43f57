//! Publishing files by path, on systems without file modes.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::{A_LINK, NO_FILE, Over, folder, invalid, name};
use crate::error::Error;

/// The path at which a file is published.
#[derive(Debug)]
pub(super) struct Target(PathBuf);

impl Target {
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        name(path)?;
        Ok(Self(path.to_path_buf()))
    }

    /// Returns the metadata of the target, or `None` if it does not exist. A target that is not a regular file is an error.
    pub(super) fn check(&self) -> io::Result<Option<Metadata>> {
        match fs::symlink_metadata(&self.0) {
            Ok(there) if there.is_file() => Ok(Some(there)),
            Ok(there) if there.is_symlink() => Err(invalid(A_LINK)),
            Ok(_) => Err(invalid(NO_FILE)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the file that is at the target now.
    pub(super) fn open(&self) -> io::Result<File> {
        self.check()?;
        File::open(&self.0)
    }
}

/// A new file that does not have the name of its target yet.
#[derive(Debug)]
pub(super) struct Draft {
    file: NamedTempFile,
    target: Target,
}

impl Draft {
    pub(super) fn new(target: Target) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        let file = builder.prefix(".zten-").suffix(".tmp").tempfile_in(folder(&target.0))?;
        Ok(Self { file, target })
    }

    pub(super) fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Syncs the file and gives it the name of the target, and the permissions of the file that it replaces, if there is one. The
    /// folder is not synced.
    pub(super) fn publish(self, over: Over) -> Result<(), Error> {
        self.take_name(over).map_err(Error::from_write)
    }

    fn take_name(self, over: Over) -> io::Result<()> {
        if let Some(old) = self.target.check()? {
            self.file().set_permissions(old.permissions())?;
        }
        self.file().sync_all()?;
        match over {
            Over::Any => self.file.persist(&self.target.0)?,
            Over::Nothing => self.file.persist_noclobber(&self.target.0)?,
        };
        Ok(())
    }
}
