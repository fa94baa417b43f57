//! Opening a file below a folder, none of whose steps is a link.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;

/// The folder that a file is in.
pub fn parent(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(unix)]
pub(super) fn open(folder: &Path, steps: &[OsString]) -> io::Result<Option<File>> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    use rustix::io::Errno;

    let Some((last, before)) = steps.split_last() else { return Ok(None) };
    let directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let there = |opened: Result<_, Errno>| match opened {
        Ok(file) => Ok(Some(file)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG | Errno::NXIO) => {
            Ok(None)
        }
        Err(error) => Err(io::Error::from(error)),
    };
    let mut at = openat(CWD, folder, directory, Mode::empty())?;
    for step in before {
        let next = openat(&at, step.as_os_str(), directory | OFlags::NOFOLLOW, Mode::empty());
        let Some(next) = there(next)? else { return Ok(None) };
        at = next;
    }
    // Opening a pipe would wait for its other end.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(&at, last.as_os_str(), flags | OFlags::NOCTTY, Mode::empty());
    Ok(there(file)?.map(File::from))
}

/// By paths, where there is nothing better.
#[cfg(not(unix))]
pub(super) fn open(folder: &Path, steps: &[OsString]) -> io::Result<Option<File>> {
    use std::fs;

    let mut path = folder.to_owned();
    for step in steps {
        path.push(step);
        match fs::symlink_metadata(&path) {
            Ok(found) if !found.is_symlink() => {}
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    if fs::metadata(&path)?.is_file() { File::open(&path).map(Some) } else { Ok(None) }
}
