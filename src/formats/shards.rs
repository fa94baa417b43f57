//! Finding the shards of a zTensor file: in its folder by their names, `STEM-NAME.zt`, or below `blobs` by their digests,
//! `blobs/ALGORITHM/DIGITS` (v2 §7.1). No file outside the folder is opened, and no link is followed, except links in the cache
//! of a hub, which lead to the `blobs` of the same repository. [`ShardPath`] gives the same places for files that are read over
//! the network.

mod runs;
mod shard_path;
mod want;
mod wanted;

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use crate::escape;
use crate::manifest::Manifest;
use crate::num::usize_from_u32;
use crate::source::{open_below, open_regular};

pub use super::root::{IS_LINK, LINKED};
pub use runs::{Runs, runs};
pub use shard_path::{ShardPath, stem};
pub use want::{Sibling, Want};
pub use wanted::{BLOBS, NAME, Wanted};

/// An open regular file that may be a shard of another file. No byte of the file has been read.
#[derive(Debug)]
pub struct ShardFile {
    /// The name of the shard in the file that lists the shard.
    pub name: String,
    /// The file.
    pub file: File,
    /// The length in bytes.
    pub length: u64,
}

/// Returns the shards that `manifest` lists, or no shards if their number exceeds the limit `shards`.
pub fn wanted(manifest: &Manifest<impl AsRef<[u8]>>) -> Vec<Wanted> {
    let shards = manifest.shards();
    if shards.len() > usize_from_u32(manifest.limits().shards()) {
        return Vec::new();
    }
    shards.filter_map(|shard| Wanted::from_shard(&shard)).collect()
}

/// The symbolic links that are followed when a shard or sibling file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// Links in the cache of a hub, which lead to the `blobs` of the same repository. Other links are rejected: through a link,
    /// a model from a stranger could make zten read and show any file of the user.
    #[default]
    OfHub,
    /// All links: the caller trusts the folder.
    All,
}

/// Opens the shard `wanted` of the file at the path `root`. Returns `None` if no regular file is at any place of the shard.
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
