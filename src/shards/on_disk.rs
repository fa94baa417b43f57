//! Opening shards and sibling files on a file system.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use crate::codec::{Candidate, Find};
use crate::error::Error;
use crate::escape;
use crate::manifest::Shard;
use crate::source::{open_below, open_regular};

use super::shard_path::ShardPath;
use super::want::{Sibling, Want};
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

/// A finder that looks for the shards and sibling files of a file in the folder of that file.
#[derive(Clone, Copy, Debug)]
pub struct ShardFinder<'p> {
    root: &'p Path,
    links: Links,
}

impl<'p> ShardFinder<'p> {
    /// Creates a finder for the file at the path `root`. The finder follows no links, except inside the cache of a hub, such as
    /// that of Hugging Face.
    pub fn of(root: &'p Path) -> Self {
        Self { root, links: Links::OfHub }
    }

    /// Sets which links the finder follows.
    #[must_use]
    pub fn links(self, links: Links) -> Self {
        Self { links, ..self }
    }

    /// Opens the shard or sibling file `want`. Returns `None` if there is no regular file at any path where it may be.
    ///
    /// # Errors
    /// The folder cannot be searched, an existing file cannot be opened, or a sibling file is a link that is not followed.
    pub fn open(&self, want: &Want) -> io::Result<Option<ShardFile>> {
        let opened = first(self.root, &want.places(), want.name(), self.links)?;
        if let (None, Want::Sibling(Sibling(name))) = (&opened, want)
            && let Some(target) = link_target(parent(self.root), name)
        {
            return Err(io::Error::other(format!("{IS_LINK}{target}")));
        }
        Ok(opened)
    }
}

impl Find for ShardFinder<'_> {
    type Source = File;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<File>>, Error> {
        let Some(want) = Want::of(shard) else { return Ok(None) };
        let found = self.open(&want)?;
        Ok(found.map(|found| Candidate { source: found.file, length: found.length }))
    }
}

/// Returns the target of the link `name` in `folder`, escaped for display. Returns `None` if `name` is no link.
fn link_target(folder: &Path, name: &str) -> Option<String> {
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
fn parent(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
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

    use super::super::wanted::Wanted;
    use super::*;

    #[test]
    fn a_shard_is_found_by_its_name_or_by_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("model.zt");
        let wanted = Want::Shard(Wanted::new("s", "xxh3", "00ff").unwrap());
        let open = |root: &Path, want: &Want| ShardFinder::of(root).open(want);
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
