//! Files of the file system, read at positions and never mapped: a map changes under its reader when the file does.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::codec::{Candidate, Find, ReadAt};
use crate::digest::Digest;
use crate::error::{Error, OutOfMemory, text};
use crate::manifest::Shard;

impl ReadAt for File {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        Ok(read_exact_at(self, offset, buffer)?)
    }
}

/// Opens the regular file at `path`, and finds its length.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for any other file.
pub(crate) fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        // An error with a text of its own would need memory.
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok((file, metadata.len()))
}

/// Finds the shards of the file at a path: beside it by their names, `STEM-NAME.zt`, or below `blobs` by their digests,
/// `ALGORITHM/DIGITS`. No link is followed. v2 §7.1.
pub(crate) struct Beside<'p>(pub(crate) &'p Path);

impl Beside<'_> {
    /// Opens the file that is these steps away from the folder, if there is one. No step is a link.
    fn below(&self, steps: &[&OsStr]) -> Result<Option<Candidate<File>>, Error> {
        let folder = self.0.parent().unwrap_or(Path::new(""));
        let length = |sum: usize, step: &&OsStr| sum.saturating_add(step.len()).saturating_add(1);
        let length = steps.iter().fold(folder.as_os_str().len(), length);
        let mut path = PathBuf::new();
        path.try_reserve_exact(length).map_err(|_| OutOfMemory)?;
        path.push(folder);
        let mut left = steps.len();
        for step in steps {
            path.push(step);
            left = left.saturating_sub(1);
            match fs::symlink_metadata(&path) {
                Ok(found) if left == 0 && found.is_file() || left > 0 && found.is_dir() => {}
                Ok(_) => return Ok(None),
                Err(error) => match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename => return Ok(None),
                    _ => return Err(error.into()),
                },
            }
        }
        let (source, length) = open_regular(&path)?;
        Ok(Some(Candidate { source, length }))
    }
}

impl Find for Beside<'_> {
    type Source = File;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<File>>, Error> {
        let stem = self.0.file_stem().unwrap_or_default();
        let name = [stem, OsStr::new("-"), OsStr::new(shard.name()), OsStr::new(".zt")];
        let mut beside = OsString::new();
        let length = name.iter().fold(0, |sum: usize, part| sum.saturating_add(part.len()));
        beside.try_reserve_exact(length).map_err(|_| OutOfMemory)?;
        for part in name {
            beside.push(part);
        }
        if let Some(found) = self.below(&[&beside])? {
            return Ok(Some(found));
        }
        let digest = shard.digest().filter(|digest| !matches!(digest, Digest::Unverifiable(_)));
        let Some(digest) = digest else { return Ok(None) };
        let digest = text(format_args!("{digest}"))?;
        let (algorithm, digits) = digest.split_once(':').unwrap_or_default();
        self.below(&["blobs", algorithm, digits].map(OsStr::new))
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
