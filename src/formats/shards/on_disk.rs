//! Opening shards and sibling files on a file system.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use crate::escape;
use crate::source::{open_below, open_regular};

use super::shard_path::ShardPath;
use super::want::{Sibling, Want};
use super::wanted::Wanted;
use super::{IS_LINK, Links};

/// An open regular file that may be a shard of another file. No byte of the file has been read.
#[derive(Debug)]
pub struct ShardFile {
    /// The name of the shard in the file that lists the shard.
    pub name: String,
    /// The shard or sibling file, open for reading.
    pub file: File,
    /// The length of the file in bytes.
    pub length: u64,
}

impl Want {
    /// Opens this shard or sibling file of the file at the path `root`. Returns `None` if there is no regular file at
    /// any path where the shard or sibling file may be.
    ///
    /// # Errors
    /// The errors of [`open`], and an error for a sibling file that is a link which `links` forbids.
    pub fn open(&self, root: &Path, links: Links) -> io::Result<Option<ShardFile>> {
        let opened = first(root, &self.places(), self.name(), links)?;
        if let (None, Self::Sibling(Sibling(name))) = (&opened, self)
            && let Some(target) = link_target(parent(root), name)
        {
            return Err(io::Error::other(format!("{IS_LINK}{target}")));
        }
        Ok(opened)
    }
}

/// Opens the shard `wanted` of the file at the path `root`. Returns `None` if there is no regular file at any path
/// where the shard may be.
///
/// # Errors
/// The folder cannot be searched, or an existing file cannot be opened.
pub fn open(root: &Path, wanted: &Wanted) -> io::Result<Option<ShardFile>> {
    first(root, &wanted.places(), &wanted.name, Links::OfHub)
}

/// Returns the target of the link `name` in `folder`, escaped for display. Returns `None` if `name` is no link.
pub fn link_target(folder: &Path, name: &str) -> Option<String> {
    let target = std::fs::read_link(folder.join(name)).ok()?;
    Some(escape::path(&target))
}

/// Opens the first regular file at one of `places`, which are relative to the file at the path `root`. `name` is the name of
/// the shard or sibling file.
fn first(
    root: &Path,
    places: &[ShardPath<'_>],
    name: &str,
    links: Links,
) -> io::Result<Option<ShardFile>> {
    let folder = parent(root);
    for place in places {
        let file = match place {
            ShardPath::Sibling(end) => {
                let mut sibling = root.file_stem().unwrap_or_default().to_owned();
                sibling.push(end);
                regular(folder, &[&sibling], name, links)?
            }
            ShardPath::Below(steps) => {
                let steps: Vec<&OsStr> = steps.iter().map(OsStr::new).collect();
                regular(folder, &steps, name, links)?
            }
        };
        if file.is_some() {
            return Ok(file);
        }
    }
    Ok(None)
}

/// Returns the folder that contains `file`, which is `.` for a bare name.
pub fn parent(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Opens the regular file `name` in `folder`. Returns `None` if there is no such file.
///
/// # Errors
/// The errors of [`open`].
pub fn open_in(folder: &Path, name: &str) -> io::Result<Option<ShardFile>> {
    regular(folder, &[name.as_ref()], name, Links::OfHub)
}

/// Opens the regular file at the path of `steps` below `folder`. `name` is the name of the shard or sibling file. Returns
/// `None` if there is no such file, or if `links` forbids a link on the way.
fn regular(
    folder: &Path,
    steps: &[&OsStr],
    name: &str,
    links: Links,
) -> io::Result<Option<ShardFile>> {
    let opened = match links {
        Links::OfHub => open_below(folder, steps)?,
        Links::All => {
            let path = steps.iter().fold(folder.to_owned(), |path, step| path.join(step));
            match open_regular(&path) {
                Ok(opened) => Some(opened),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            }
        }
    };
    Ok(opened.map(|(file, length)| ShardFile { name: name.to_owned(), file, length }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_shard_is_found_by_its_name_or_by_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("model.zt");
        let wanted = Wanted::new("s", "xxh3", "00ff").unwrap();
        assert!(open(&root, &wanted).unwrap().is_none());
        fs::create_dir_all(folder.path().join("blobs/xxh3")).unwrap();
        fs::write(folder.path().join("blobs/xxh3/00ff"), b"by digest").unwrap();
        assert_eq!(open(&root, &wanted).unwrap().unwrap().length, 9);
        fs::write(folder.path().join("model-s.zt"), b"beside").unwrap();
        assert_eq!(open(&root, &wanted).unwrap().unwrap().length, 6);
        #[cfg(unix)]
        {
            // A link counts as a missing file, so the next place is tried.
            fs::remove_file(folder.path().join("model-s.zt")).unwrap();
            std::os::unix::fs::symlink("/etc/hostname", folder.path().join("model-s.zt")).unwrap();
            assert_eq!(open(&root, &wanted).unwrap().unwrap().length, 9);
        }
    }
}
