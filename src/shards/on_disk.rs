//! Opening shards and sibling files on a file system.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use crate::codec::{Candidate, Find};
use crate::digest::Digest;
use crate::error::{Error, OutOfMemory, text};
use crate::escape;
use crate::manifest::Shard;
use crate::source::{open_below, open_regular};

use super::want::{Sibling, Want};
use super::wanted::BLOBS;
use super::{IS_LINK, Links};

/// An open regular file that may be a shard of another file. No byte of the file has been read.
#[derive(Debug)]
pub struct ShardFile {
    /// The name of the shard or sibling file, as [`Want::name`] returns it.
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

    /// Opens the shard or sibling file `want`. Returns `None` if there is no regular file at any path where it may be. A link to a
    /// shard that is not followed counts as a missing file.
    ///
    /// # Errors
    /// The folder cannot be searched, an existing file cannot be opened, or a sibling file is a link that is not followed.
    pub fn open(&self, want: &Want) -> io::Result<Option<ShardFile>> {
        let opened = match want {
            Want::Shard(wanted) => {
                self.open_shard(&wanted.name, Some((&wanted.algorithm, &wanted.digits)))?
            }
            Want::Sibling(Sibling(name)) => self.open_sibling(name)?,
        };
        let name = want.name().to_owned();
        Ok(opened.map(|(file, length)| ShardFile { name, file, length }))
    }

    /// Opens the shard `name` of a zTensor file: `STEM-NAME.zt`, or the file that `digest`, an algorithm and its digits, names
    /// below `blobs`. Memory that runs out is an error.
    fn open_shard(
        &self,
        name: &str,
        digest: Option<(&str, &str)>,
    ) -> Result<Option<(File, u64)>, Error> {
        let stem = self.root.file_stem().unwrap_or_default();
        let parts = [stem, OsStr::new("-"), OsStr::new(name), OsStr::new(".zt")];
        let length = parts.iter().fold(0, |sum: usize, part| sum.saturating_add(part.len()));
        let mut beside = OsString::new();
        beside.try_reserve_exact(length).map_err(|_| OutOfMemory)?;
        for part in parts {
            beside.push(part);
        }
        if let Some(found) = self.open_steps(&[&beside])? {
            return Ok(Some(found));
        }
        match digest {
            Some((algorithm, digits)) => {
                Ok(self.open_steps(&[BLOBS, algorithm, digits].map(OsStr::new))?)
            }
            None => Ok(None),
        }
    }

    /// Opens the sibling file `name`.
    fn open_sibling(&self, name: &str) -> io::Result<Option<(File, u64)>> {
        let opened = self.open_steps(&[OsStr::new(name)])?;
        // With `Links::All`, a link that was not opened leads to no regular file, so no advice about links applies.
        if opened.is_none()
            && self.links == Links::OfHub
            && let Some(target) = link_target(parent(self.root), name)
        {
            return Err(io::Error::other(format!("{IS_LINK}{target}")));
        }
        Ok(opened)
    }

    /// Opens the regular file at the path of `steps` from the folder of the root. Returns `None` if there is no such file, or if
    /// a link on the way is not followed.
    fn open_steps(&self, steps: &[&OsStr]) -> io::Result<Option<(File, u64)>> {
        let folder = parent(self.root);
        match self.links {
            Links::OfHub => open_below(folder, steps),
            Links::All => {
                let path = steps.iter().fold(folder.to_owned(), |path, step| path.join(step));
                match open_regular(&path) {
                    Ok(opened) => Ok(Some(opened)),
                    // The same outcomes as in `open_below`: nothing has this name, an earlier step is no folder, or the file is
                    // a folder, a pipe, a socket or a device.
                    Err(error) => match error.kind() {
                        io::ErrorKind::NotFound
                        | io::ErrorKind::NotADirectory
                        | io::ErrorKind::InvalidFilename
                        | io::ErrorKind::IsADirectory
                        | io::ErrorKind::InvalidInput => Ok(None),
                        _ => Err(error),
                    },
                }
            }
        }
    }
}

impl Find for ShardFinder<'_> {
    type Source = File;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<File>>, Error> {
        let found = match shard.digest() {
            // Only zTensor files list digests of their shards. No file is named by a digest that zten cannot compute.
            Some(Digest::Unverifiable(_)) => self.open_shard(shard.name(), None)?,
            Some(digest) => {
                let digest = text(format_args!("{digest}"))?;
                self.open_shard(shard.name(), digest.split_once(':'))?
            }
            None if Sibling::is_name(shard.name()) => self.open_sibling(shard.name())?,
            None => None,
        };
        Ok(found.map(|(source, length)| Candidate { source, length }))
    }
}

/// Returns the target of the link `name` in `folder`, escaped for display. Returns `None` if `name` is no link.
fn link_target(folder: &Path, name: &str) -> Option<String> {
    let target = std::fs::read_link(folder.join(name)).ok()?;
    Some(escape::path(&target))
}

/// Returns the folder that contains `file`, which is `.` for a bare name.
fn parent(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
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

    /// Checks that a finder that follows all links also goes on to the next path if a path leads to no regular file, as a finder
    /// does that follows no links, and that it opens the targets of links.
    #[cfg(unix)]
    #[test]
    fn all_links_are_followed_if_the_caller_asks() {
        let folder = tempfile::tempdir().unwrap();
        let (root, at) = (folder.path().join("model.zt"), |name: &str| folder.path().join(name));
        let shard = Want::Shard(Wanted::new("s", "xxh3", "00ff").unwrap());
        let sibling = Want::Sibling(Sibling::new("a.safetensors").unwrap());
        let open = |want: &Want| ShardFinder::of(&root).links(Links::All).open(want);
        // A file in place of the folder `blobs` counts as a missing shard.
        fs::write(at("blobs"), "").unwrap();
        assert!(open(&shard).unwrap().is_none());
        fs::remove_file(at("blobs")).unwrap();
        // A folder in place of a file counts as a missing file, so the next path is tried.
        fs::create_dir_all(at("blobs/xxh3")).unwrap();
        fs::create_dir(at("model-s.zt")).unwrap();
        fs::create_dir(at("a.safetensors")).unwrap();
        assert!(open(&shard).unwrap().is_none() && open(&sibling).unwrap().is_none());
        fs::write(at("blobs/xxh3/00ff"), b"by digest").unwrap();
        assert_eq!(open(&shard).unwrap().unwrap().length, 9);
        // A link that leads nowhere counts as a missing file. Once the file to which it leads exists, that file is
        // opened.
        fs::remove_dir(at("a.safetensors")).unwrap();
        std::os::unix::fs::symlink("target", at("a.safetensors")).unwrap();
        assert!(open(&sibling).unwrap().is_none());
        let by_default = ShardFinder::of(&root).open(&sibling).unwrap_err();
        assert_eq!(format!("{by_default}"), format!("{IS_LINK}target"));
        fs::write(at("target"), b"target").unwrap();
        assert_eq!(open(&sibling).unwrap().unwrap().length, 6);
    }
}
