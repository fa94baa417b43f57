//! Publishing files on Unix. The folder is opened once, and everything in it is reached from the open folder, so nobody can
//! replace the folder in between.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, fchmod, fchown, fstat, linkat, openat,
    renameat, statat, unlinkat,
};
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use super::{A_LINK, NO_FILE, Over, folder, invalid, name};
use crate::error::Error;

/// The folder and the name of a new file.
#[derive(Debug)]
pub(super) struct Target {
    /// The folder, open for reading, because only an open folder can be made durable.
    folder: File,
    name: OsString,
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

    /// Returns the metadata of the file at the target, or `None` if nothing is there.
    ///
    /// # Errors
    /// The target is a symbolic link, or another file that is not regular.
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

    /// Opens the file that is at the target now.
    ///
    /// # Errors
    /// Nothing is there; the errors of [`check`](Self::check).
    pub(super) fn open(&self) -> io::Result<File> {
        self.check()?;
        // The target may have been replaced since the check, by a link or by a named pipe, for which opening must not wait.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let flags = flags | OFlags::NOCTTY;
        let file = File::from(openat(&self.folder, &self.name, flags, Mode::empty())?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(invalid(NO_FILE)) }
    }
}

/// Creates a new file called `name` in `folder`.
///
/// # Errors
/// Anything already has that name, such as a link that somebody has prepared.
fn create(folder: &File, name: &str, mode: Mode) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, mode)?.into())
}

/// Returns a name that nobody can predict: 64 bits of a hash with a random seed. Otherwise another user could create a file
/// of that name before.
fn temporary_name() -> String {
    format!(".zten-{:016x}.tmp", RandomState::new().build_hasher().finish())
}

/// A new file that has a temporary name or none.
#[derive(Debug)]
pub(super) struct Draft {
    file: File,
    target: Target,
    /// The temporary name of the file, which is removed if this draft is dropped before the file is published.
    temporary: Option<String>,
}

impl Draft {
    pub(super) fn new(target: Target) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = unnamed::create(&target.folder) {
            return Ok(Self { file, target, temporary: None });
        }
        Self::named(target)
    }

    /// Creates a file with a temporary name, for file systems that have no files without names.
    fn named(target: Target) -> io::Result<Self> {
        let name = temporary_name();
        let file = create(&target.folder, &name, Mode::RUSR | Mode::WUSR)?;
        Ok(Self { file, target, temporary: Some(name) })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn publish(mut self, over: Over) -> Result<(), Error> {
        self.take_name(over).map_err(Error::from_write)?;
        self.target.folder.sync_all().map_err(Error::not_durable)
    }

    /// Gives the file the name of the target. If this fails, the target is unchanged. With [`Over::Nothing`] it fails if a file
    /// has this name already.
    fn take_name(&mut self, over: Over) -> io::Result<()> {
        let old = self.target.check()?;
        if old.is_some() && over == Over::Nothing {
            return Err(Errno::EXIST.into());
        }
        match &old {
            Some(old) => keep(&self.file, &self.target, old)?,
            None => begin(&self.file, &self.target, self.temporary.is_none())?,
        }
        self.file.sync_all()?;
        let Target { folder, name } = &self.target;
        #[cfg(target_os = "linux")]
        if self.temporary.is_none() {
            if old.is_none() {
                match unnamed::link(&self.file, folder, name) {
                    // Another process created the target in the meantime, and it may be replaced.
                    Err(Errno::EXIST) if over == Over::Any => {}
                    linked => return Ok(linked?),
                }
            }
            let name = temporary_name();
            unnamed::link(&self.file, folder, name.as_ref())?;
            self.temporary = Some(name);
        }
        if let Some(temporary) = &self.temporary {
            match over {
                Over::Any => renameat(folder, temporary, folder, name)?,
                Over::Nothing => rename_to_free(folder, temporary, name)?,
            }
        }
        self.temporary = None;
        Ok(())
    }
}

/// Renames `from` to `to`, unless `to` exists.
fn rename_to_free(folder: &File, from: &str, to: &OsStr) -> rustix::io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    match renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        // The system or the file system cannot rename without replacing.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        renamed => return renamed,
    }
    linkat(folder, from, folder, to, AtFlags::empty())?;
    // The file has been published, so an error about its other name does not matter.
    let _ = unlinkat(folder, from, AtFlags::empty());
    Ok(())
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(name) = &self.temporary {
            // A temporary file that cannot be removed is left behind, as when the program is killed.
            let _ = unlinkat(&self.target.folder, name, AtFlags::empty());
        }
    }
}

/// The mode of a new file before the umask is applied: 0666.
const ANY: Mode = Mode::RUSR
    .union(Mode::WUSR)
    .union(Mode::RGRP)
    .union(Mode::WGRP)
    .union(Mode::ROTH)
    .union(Mode::WOTH);

/// The bits of a mode that a new file takes over from the old one. Set-user-ID, set-group-ID and sticky bits are left out,
/// because the new file may have another owner.
const RIGHTS: Mode = Mode::RWXU.union(Mode::RWXG).union(Mode::RWXO);

/// Gives `file` the mode (except the bits that [`RIGHTS`] leaves out), the group and, on Linux, the ACL of `old`, the file that it
/// replaces. If the group or the ACL cannot be kept, the new group gets only those rights of the old mode that everybody has.
fn keep(file: &File, target: &Target, old: &Stat) -> io::Result<()> {
    let mut mode = Mode::from_raw_mode(old.st_mode) & RIGHTS;
    let group = fstat(file)?.st_gid == old.st_gid
        || fchown(file, None, Some(Gid::from_raw(old.st_gid))).is_ok();
    #[cfg(target_os = "linux")]
    let kept = group && acl::keep(file, target).is_ok();
    // ACLs of other systems are not POSIX ACLs, and do not change the mode.
    #[cfg(not(target_os = "linux"))]
    let (kept, _) = (group, target);
    if !kept {
        // The group bits are those of a group that was not kept, or the mask of an ACL that was not kept. The new group
        // must not get more rights than everybody has.
        #[cfg(target_os = "linux")]
        acl::remove(file)?;
        for (group, all) in
            [(Mode::RGRP, Mode::ROTH), (Mode::WGRP, Mode::WOTH), (Mode::XGRP, Mode::XOTH)]
        {
            if !mode.contains(all) {
                mode.remove(group);
            }
        }
    }
    Ok(fchmod(file, mode)?)
}

/// Gives `file` the mode that any new file gets in the folder of `target`. With `hidden`, the file was created without a
/// name with the mode 0666, so nobody could open it so far.
fn begin(file: &File, target: &Target, hidden: bool) -> io::Result<()> {
    // If the mode is not 0666, the system has applied the umask, and the mode is right. On some file systems, Linux before
    // 5.19 does not apply the umask to files without a name.
    if hidden && Mode::from_raw_mode(fstat(file)?.st_mode) & RIGHTS != ANY {
        return Ok(());
    }
    // The umask cannot be read without changing it for all threads, and the folder may have a default ACL, so the mode is
    // taken from another new file.
    let name = temporary_name();
    let other = create(&target.folder, &name, ANY)?;
    unlinkat(&target.folder, &name, AtFlags::empty())?;
    Ok(fchmod(file, Mode::from_raw_mode(fstat(&other)?.st_mode) & RIGHTS)?)
}

#[cfg(target_os = "linux")]
mod acl {
    use alloc::format;
    use std::ffi::OsString;
    use std::fs::File;
    use std::os::fd::AsRawFd as _;
    use std::path::Path;

    use rustix::fs::{XattrFlags, fremovexattr, fsetxattr, lgetxattr};
    use rustix::io::{Errno, Result};

    use super::Target;

    const NAME: &str = "system.posix_acl_access";
    /// The largest size in bytes of an ACL that is kept: the size of an ACL with 511 entries.
    const MOST: usize = 4096;

    /// Gives `file` the ACL of `target`, or removes its ACL if the target has none. Fails for an ACL of more than [`MOST`] bytes.
    pub(super) fn keep(file: &File, target: &Target) -> Result<()> {
        let mut path = OsString::from(format!("/proc/self/fd/{}", target.folder.as_raw_fd()));
        path.push("/");
        path.push(&target.name);
        let mut bytes = [0; MOST];
        match lgetxattr(Path::new(&path), NAME, &mut bytes) {
            Ok(length) => {
                let acl = bytes.get(..length).ok_or(Errno::RANGE)?;
                fsetxattr(file, NAME, acl, XattrFlags::empty())
            }
            Err(Errno::NODATA | Errno::OPNOTSUPP) => remove(file),
            Err(error) => Err(error),
        }
    }

    /// Removes the ACL that `file` may have got from its folder.
    pub(super) fn remove(file: &File) -> Result<()> {
        match fremovexattr(file, NAME) {
            Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
            removed => removed,
        }
    }
}

/// Files without a name (`O_TMPFILE`), which vanish if the program is killed.
#[cfg(target_os = "linux")]
mod unnamed {
    use alloc::format;
    use alloc::string::String;
    use std::ffi::OsStr;
    use std::fs::File;
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{AtFlags, CWD, OFlags, fstat, linkat, openat, stat};

    use super::ANY;

    /// Creates a file without a name. Returns `None` if that fails, for example because the file system has no such files, or if
    /// `/proc` is missing, without which the file could not get a name.
    pub(super) fn create(folder: &File) -> Option<File> {
        // No other user can open a file without a name, so it may have the mode of any new file from the beginning. `keep`
        // changes the mode later if the file replaces another one.
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = File::from(openat(folder, ".", flags, ANY).ok()?);
        let (own, found) = (fstat(&file).ok()?, stat(path(&file)).ok()?);
        ((own.st_dev, own.st_ino) == (found.st_dev, found.st_ino)).then_some(file)
    }

    /// Gives `file` the name `name` in `folder`. Fails if the name exists.
    pub(super) fn link(file: &File, folder: &File, name: &OsStr) -> rustix::io::Result<()> {
        linkat(CWD, path(file), folder, name, AtFlags::SYMLINK_FOLLOW)
    }

    /// Returns a path to `file`. Linking by this path needs no privilege, unlike linking a descriptor.
    fn path(file: &File) -> String {
        format!("/proc/self/fd/{}", file.as_raw_fd())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use std::ffi::OsString;
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::*;

    fn names(folder: &Path) -> Vec<OsString> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    /// Checks that a file that appears at the target in the meantime is not replaced, whether the new file has a temporary
    /// name or none. If the target is free again, the new file is published, and no temporary file is left.
    #[test]
    fn files_that_appear_in_the_meantime_stay() {
        for make in [Draft::new, Draft::named] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x");
            let draft = || {
                let mut draft = make(Target::new(&path).unwrap()).unwrap();
                draft.write_all(b"new").unwrap();
                draft
            };
            let late = draft();
            fs::write(&path, "there").unwrap();
            let error = late.publish(Over::Nothing).unwrap_err();
            assert_eq!(error.kind(), crate::error::ErrorKind::Write);
            let error = io::Error::from(error);
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            // If the target appears after the check that no file has its name, renaming to it fails.
            let late = draft();
            if let Some(temporary) = &late.temporary {
                let linked = rename_to_free(&late.target.folder, temporary, OsStr::new("x"));
                assert_eq!(linked, Err(Errno::EXIST));
            }
            drop(late);
            assert_eq!(fs::read_to_string(&path).unwrap(), "there");
            fs::remove_file(&path).unwrap();
            draft().publish(Over::Nothing).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "new");
            assert_eq!(names(folder.path()), ["x"]);
        }
    }

    /// Checks publishing on file systems without files that have no name: only the owner can open the temporary file. The published
    /// file has the mode of any new file, or the mode of the file that it replaces without set-user-ID and set-group-ID. A draft
    /// that is dropped leaves no file.
    #[test]
    fn only_the_owner_can_open_a_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("x"), folder.path().join("other"));
        let publish = |content: &str| {
            let mut draft = Draft::named(Target::new(&path).unwrap()).unwrap();
            let temporary = folder.path().join(draft.temporary.clone().unwrap());
            draft.write_all(content.as_bytes()).unwrap();
            assert_eq!(mode(&temporary), 0o600);
            draft.publish(Over::Any).unwrap();
            assert!(!temporary.exists());
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        };
        publish("new");
        fs::write(&other, "").unwrap();
        assert_eq!(mode(&path), mode(&other));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o6750)).unwrap();
        publish("newer");
        assert_eq!(mode(&path), 0o750);
        drop(Draft::named(Target::new(&path).unwrap()).unwrap());
        let mut left = names(folder.path());
        left.sort();
        assert_eq!(left, ["other", "x"]);
    }
}
