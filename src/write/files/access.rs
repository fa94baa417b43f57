//! Who may do what with a new file: no more than with the one that it replaces.

use std::fs::File;
use std::io;

use rustix::fs::{AtFlags, Gid, Mode, Stat, fchmod, fchown, fstat, unlinkat};

use super::target::{Target, create, temporary_name};

/// What a new file is asked for.
pub(super) const ANY: Mode = Mode::RUSR
    .union(Mode::WUSR)
    .union(Mode::RGRP)
    .union(Mode::WGRP)
    .union(Mode::ROTH)
    .union(Mode::WOTH);

/// Set-user-ID, set-group-ID and sticky bits are not among them: the file has another owner.
const RIGHTS: Mode = Mode::RWXU.union(Mode::RWXG).union(Mode::RWXO);

/// Gives a file the mode, the group and the ACL of the one that it replaces.
pub(super) fn keep(file: &File, target: &Target, old: &Stat) -> io::Result<()> {
    let mut mode = Mode::from_raw_mode(old.st_mode) & RIGHTS;
    let group = fstat(file)?.st_gid == old.st_gid
        || fchown(file, None, Some(Gid::from_raw(old.st_gid))).is_ok();
    if !(group && acl::keep(file, target).is_ok()) {
        // The bits of the group are those of another group, or the mask of an ACL that is lost.
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

/// Gives a file the mode that any new file has in the folder. `hidden` is one that none could open
/// so far, and that was asked for as any new file.
pub(super) fn begin(file: &File, target: &Target, hidden: bool) -> io::Result<()> {
    // Linux before 5.19 forgets the umask on some file systems when a file gets no name.
    if hidden && Mode::from_raw_mode(fstat(file)?.st_mode) & RIGHTS != ANY {
        return Ok(());
    }
    // The umask cannot be asked for without changing it for all threads; and there may be an ACL.
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
    /// Bytes of an ACL with 511 entries.
    const MOST: usize = 4096;

    /// Gives a file the ACL of the target, or none.
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

    /// The folder may have given it one.
    pub(super) fn remove(file: &File) -> Result<()> {
        match fremovexattr(file, NAME) {
            Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
            removed => removed,
        }
    }
}

/// Elsewhere they are not POSIX's, and beside the mode.
#[cfg(not(target_os = "linux"))]
mod acl {
    use std::fs::File;

    use rustix::io::Result;

    use super::Target;

    #[expect(clippy::unnecessary_wraps, reason = "on Linux it can fail")]
    pub(super) fn keep(_: &File, _: &Target) -> Result<()> {
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "on Linux it can fail")]
    pub(super) fn remove(_: &File) -> Result<()> {
        Ok(())
    }
}
