//! Shards of a zTensor file, which are looked for beside it by their names, `STEM-NAME.zt`, or below `blobs` by
//! their digests, `ALGORITHM/DIGITS`. Nothing is opened by a link, or outside the file's folder, but for a link of a
//! hub's cache, which leads to the `blobs` of the same repository. v2 §7.1. Where files are is the same for those that are read over the network: [`ShardPath`].

mod runs;
mod shard_path;
mod want;
mod wanted;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use zten::Manifest;
use zten::num::usize_from_u32;
use zten::source::{open_below, open_regular};
use zten_report::escape;

pub use runs::{Runs, runs};
pub use shard_path::{ShardPath, stem};
pub use want::{Sibling, Want};
pub use wanted::{BLOBS, NAME, Wanted};

/// A regular file that is open, and may be a shard of another. Nothing of it has been read.
#[derive(Debug)]
pub struct ShardFile {
    /// The name in the file that lists it.
    pub name: String,
    /// The file.
    pub file: File,
    /// The length in bytes.
    pub length: u64,
}

/// The shards that a file lists; none if they are more than the limit allows.
pub fn wanted(manifest: &Manifest<impl AsRef<[u8]>>) -> Vec<Wanted> {
    let shards = manifest.shards();
    if shards.len() > usize_from_u32(manifest.limits().shards()) {
        return Vec::new();
    }
    shards.filter_map(|shard| Wanted::from_shard(&shard)).collect()
}

/// The links that are followed on the way to a file that another one names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// Those in the cache of a hub, which lead to the `blobs` of the same repository. Through any other link, a model that
    /// somebody sent could show a file of its receiver.
    #[default]
    OfHub,
    /// All links: the caller trusts the folder.
    All,
}

/// Advice for a link that no option follows.
pub const LINKED: &str = "Only links in the cache of a hub are followed. Put the file itself into the folder, or open the index in the folder that the links lead to.";
/// The beginning of the message about a link that is not followed.
pub const IS_LINK: &str = "is a link to ";

/// Opens a shard of the file at the path `root`; none where there is no regular file that can be it.
///
/// # Errors
/// The error that keeps the folder from being searched, or a file that is there from being opened.
pub fn open(root: &Path, wanted: &Wanted) -> io::Result<Option<ShardFile>> {
    first(root, &wanted.places(), &wanted.name, Links::OfHub)
}

/// Returns the target of the link of that name in a folder; none of anything else.
pub fn link_target(folder: &Path, name: &str) -> Option<String> {
    let target = std::fs::read_link(folder.join(name)).ok()?;
    Some(escape::path(&target))
}

/// Opens the first file that is there.
fn first(
    root: &Path,
    places: &[ShardPath<'_>],
    name: &str,
    links: Links,
) -> io::Result<Option<ShardFile>> {
    let folder = parent(root);
    for place in places {
        let found = match place {
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
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Returns the folder that a file is in.
pub fn parent(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Opens the file of that name in a folder; none where there is no regular file of it.
///
/// # Errors
/// The errors of [`open`].
pub fn open_in(folder: &Path, name: &str) -> io::Result<Option<ShardFile>> {
    regular(folder, &[name.as_ref()], name, Links::OfHub)
}

fn regular(
    folder: &Path,
    steps: &[&OsStr],
    name: &str,
    links: Links,
) -> io::Result<Option<ShardFile>> {
    let found = match links {
        Links::OfHub => open_below(folder, steps)?,
        Links::All => {
            let path = steps.iter().fold(folder.to_owned(), |path, step| path.join(step));
            match open_regular(&path) {
                Ok(found) => Some(found),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            }
        }
    };
    Ok(found.map(|(file, length)| ShardFile { name: name.to_owned(), file, length }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn shards_are_beside_or_by_digest() {
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
            // A link is not there.
            fs::remove_file(folder.path().join("model-s.zt")).unwrap();
            std::os::unix::fs::symlink("/etc/hostname", folder.path().join("model-s.zt")).unwrap();
            assert_eq!(open(&root, &wanted).unwrap().unwrap().length, 9);
        }
    }
}
