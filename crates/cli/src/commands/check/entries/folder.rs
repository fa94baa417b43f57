//! Open folders. Files and folders are opened from the descriptor of the folder that was listed, so that a process which swaps
//! one of them for a link during the walk cannot lead it to another folder.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The type of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryType {
    File,
    Folder,
    Link,
    /// A pipe, a socket or a device.
    Irregular,
}

pub(super) use system::{Folder, Identity};

#[cfg(unix)]
mod system {
    use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::sync::Arc;

    use rustix::fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, readlinkat, statat,
    };
    use rustix::io::{Errno, retry_on_intr};
    use zten::source::irregular;

    use super::{EntryType, File, OsStr, OsString, Path, PathBuf, io};

    /// An open folder.
    #[derive(Clone, Debug)]
    pub(in super::super) struct Folder(Arc<OwnedFd>);

    /// The device and the inode number of a folder, which identify the folder under any path.
    pub(in super::super) type Identity = (u64, u64);

    const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    const FILE: OFlags =
        OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

    fn open(folder: impl AsFd, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
        retry_on_intr(|| openat(folder.as_fd(), name, flags, Mode::empty()))
    }

    fn link_flag(follow: bool) -> OFlags {
        if follow { OFlags::empty() } else { OFlags::NOFOLLOW }
    }

    fn entry_type(kind: FileType) -> EntryType {
        match kind {
            FileType::RegularFile => EntryType::File,
            FileType::Directory => EntryType::Folder,
            FileType::Symlink => EntryType::Link,
            _ => EntryType::Irregular,
        }
    }

    impl Folder {
        /// Opens the folder at `path`, following links: the user named it.
        pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            Ok(Self(Arc::new(open(CWD, path.as_os_str(), FOLDER)?)))
        }

        /// Opens the folder called `name` in this folder. A link is rejected unless `follow` is true.
        pub(in super::super) fn folder(&self, name: &OsStr, follow: bool) -> io::Result<Self> {
            let opened = open(&*self.0, name, FOLDER | link_flag(follow));
            opened.map(|folder| Self(Arc::new(folder))).map_err(|error| match error {
                // The listing said that the entry is a folder, so another process has replaced the entry since then.
                Errno::LOOP | Errno::MLINK | Errno::NOTDIR => changed(),
                other => other.into(),
            })
        }

        /// Opens the folder called `name` in the folder that is `levels` above this folder.
        pub(in super::super) fn folder_above(&self, levels: usize, name: &str) -> io::Result<Self> {
            self.folder(OsStr::new(&format!("{}{name}", "../".repeat(levels))), false)
        }

        /// Opens the regular file called `name` in this folder, and returns its length. A link is rejected unless `follow` is
        /// true.
        pub(in super::super) fn file(&self, name: &OsStr, follow: bool) -> io::Result<(File, u64)> {
            let file = open(&*self.0, name, FILE | link_flag(follow));
            let file = File::from(file.map_err(|error| match error {
                Errno::LOOP | Errno::MLINK if !follow => changed(),
                // Opening a socket fails with this error.
                Errno::NXIO => io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"),
                other => other.into(),
            })?);
            let found = file.metadata()?;
            if found.is_file() { Ok((file, found.len())) } else { Err(irregular(&found)) }
        }

        /// Lists the entries of the folder, in no particular order.
        pub(in super::super) fn entries(&self) -> io::Result<Vec<(OsString, EntryType)>> {
            let mut entries = Vec::new();
            for entry in Dir::read_from(&*self.0)? {
                let entry = entry?;
                let name = entry.file_name().to_bytes();
                if matches!(name, b"." | b"..") {
                    continue;
                }
                let kind = match entry.file_type() {
                    // Some file systems do not list the types of entries.
                    FileType::Unknown => {
                        let found = statat(&*self.0, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
                        // The entry was removed after it was listed.
                        let Ok(found) = found else { continue };
                        FileType::from_raw_mode(found.st_mode)
                    }
                    known => known,
                };
                entries.push((OsStr::from_bytes(name).to_owned(), entry_type(kind)));
            }
            Ok(entries)
        }

        /// Returns the type of the file or folder that `link` leads to. Returns `None` for a broken link.
        pub(in super::super) fn target_type(&self, link: &OsStr) -> Option<EntryType> {
            let found = statat(&*self.0, link, AtFlags::empty()).ok()?;
            Some(entry_type(FileType::from_raw_mode(found.st_mode)))
        }

        /// Reads the target of the link called `name`.
        pub(in super::super) fn link(&self, name: &OsStr) -> io::Result<PathBuf> {
            let target = readlinkat(&*self.0, name, Vec::new())?;
            Ok(OsString::from_vec(target.into_bytes()).into())
        }

        #[expect(clippy::useless_conversion, reason = "the types differ between systems")]
        pub(in super::super) fn identity(&self) -> io::Result<Identity> {
            let found = fstat(&*self.0)?;
            let device = u64::try_from(found.st_dev).unwrap_or_default();
            Ok((device, u64::try_from(found.st_ino).unwrap_or_default()))
        }

        /// Returns a path in `/proc` that leads to the file called `name` in this folder. The path works as long as the
        /// folder is open, even if the folder is moved. Returns `None` on systems without `/proc`.
        pub(in super::super) fn path_of(&self, name: &OsStr) -> Option<PathBuf> {
            let folder = PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()));
            (cfg!(target_os = "linux") && folder.exists()).then(|| folder.join(name))
        }
    }

    /// Returns the error for an entry that another process has replaced since the folder was listed.
    fn changed() -> io::Error {
        io::Error::other("was replaced while zten read the folder")
    }
}

/// Folders as paths, for systems that cannot open a file from a folder's descriptor.
#[cfg(not(unix))]
mod system {
    use std::fs;

    use zten::source::{irregular, open_regular};

    use super::{EntryType, File, OsStr, OsString, Path, PathBuf, io};

    /// The path of a folder.
    #[derive(Clone, Debug)]
    pub(in super::super) struct Folder(PathBuf);

    /// The canonical path of a folder, which identifies the folder.
    pub(in super::super) type Identity = PathBuf;

    fn entry_type(kind: fs::FileType) -> EntryType {
        match kind {
            kind if kind.is_symlink() => EntryType::Link,
            kind if kind.is_dir() => EntryType::Folder,
            kind if kind.is_file() => EntryType::File,
            _ => EntryType::Irregular,
        }
    }

    impl Folder {
        pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
            fs::read_dir(path).map(|_| Self(path.to_owned()))
        }

        pub(in super::super) fn folder(&self, name: &OsStr, follow: bool) -> io::Result<Self> {
            let path = self.0.join(name);
            let found = if follow { fs::metadata(&path) } else { fs::symlink_metadata(&path) }?;
            if found.is_dir() { Ok(Self(path)) } else { Err(io::ErrorKind::NotADirectory.into()) }
        }

        pub(in super::super) fn folder_above(&self, levels: usize, name: &str) -> io::Result<Self> {
            let above = fs::canonicalize(&self.0)?;
            let above = above.ancestors().nth(levels).unwrap_or(Path::new("")).to_owned();
            Self(above).folder(OsStr::new(name), false)
        }

        pub(in super::super) fn file(&self, name: &OsStr, follow: bool) -> io::Result<(File, u64)> {
            let path = self.0.join(name);
            if !follow {
                let found = fs::symlink_metadata(&path)?;
                if !found.is_file() {
                    return Err(irregular(&found));
                }
            }
            open_regular(&path)
        }

        pub(in super::super) fn entries(&self) -> io::Result<Vec<(OsString, EntryType)>> {
            let mut entries = Vec::new();
            for entry in fs::read_dir(&self.0)? {
                let entry = entry?;
                let Ok(kind) = entry.file_type() else { continue };
                entries.push((entry.file_name(), entry_type(kind)));
            }
            Ok(entries)
        }

        pub(in super::super) fn target_type(&self, link: &OsStr) -> Option<EntryType> {
            fs::metadata(self.0.join(link)).ok().map(|found| entry_type(found.file_type()))
        }

        pub(in super::super) fn link(&self, name: &OsStr) -> io::Result<PathBuf> {
            fs::read_link(self.0.join(name))
        }

        pub(in super::super) fn identity(&self) -> io::Result<Identity> {
            fs::canonicalize(&self.0)
        }

        #[expect(clippy::unused_self, reason = "the method has the signature of the one for Unix")]
        pub(in super::super) fn path_of(&self, _: &OsStr) -> Option<PathBuf> {
            None
        }
    }
}
