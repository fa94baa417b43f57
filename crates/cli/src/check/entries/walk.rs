//! The files in folders, and in the folders there.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zten::source::{hub_blob, open_regular};
use zten_formats::Format;

use super::skipped::{Reason, Skipped};
use crate::escape;
use crate::file::open_unlinked;

/// The suffixes of the names of files that are checked.
pub(crate) struct Suffixes {
    /// Suffixes of files that are taken.
    taken: Vec<Vec<u8>>,
    /// Suffixes of files that are taken if their first bytes are known.
    asked: &'static [&'static str],
}

/// The suffixes of files that hold tensors and are not read.
const NAMED: [&str; 9] =
    [".pkl", ".pickle", ".joblib", ".onnx", ".h5", ".hdf5", ".keras", ".tflite", ".ggml"];
/// The suffixes that many other files have, too.
const OTHERS: [&str; 2] = [".bin", ".pb"];

impl Suffixes {
    /// Returns the suffixes that the command line names, or the suffixes of all files that hold tensors.
    pub(crate) fn of(suffixes: &[OsString]) -> Self {
        match suffixes {
            [] => {
                let read = Format::ALL.into_iter().flat_map(Format::suffixes);
                let all = [".zt"].iter().chain(read).chain(&NAMED);
                Self { taken: all.map(|suffix| (*suffix).into()).collect(), asked: &OTHERS }
            }
            suffixes => Self::new(suffixes),
        }
    }

    pub(super) fn new(suffixes: &[OsString]) -> Self {
        let taken = suffixes.iter().map(|suffix| suffix.as_encoded_bytes().to_vec()).collect();
        Self { taken, asked: &[] }
    }

    /// All, for people.
    pub(crate) fn list(&self) -> String {
        let asked = self.asked.iter().map(|suffix| suffix.as_bytes());
        let all = self.taken.iter().map(Vec::as_slice).chain(asked);
        let all: Vec<_> =
            all.map(|suffix| escape::word(&String::from_utf8_lossy(suffix), SUFFIX)).collect();
        all.join(", ")
    }

    /// Returns the reason why a file of that name in a folder is not taken, if it is not.
    fn reject(&self, folder: &Path, name: &OsStr, follow: bool) -> Option<Reason> {
        let ends = |suffix: &[u8]| name.as_encoded_bytes().ends_with(suffix);
        if self.taken.iter().any(|suffix| ends(suffix)) {
            None
        } else if !self.asked.iter().any(|suffix| ends(suffix.as_bytes())) {
            Some(Reason::Suffix)
        } else {
            (!is_of_tensors(&folder.join(name), follow)).then_some(Reason::Content)
        }
    }
}

/// Columns of a suffix in a message, at most.
const SUFFIX: usize = 40;

/// Returns whether the first bytes of a file are of one that holds tensors. They are compared here, where nothing is
/// confined, with constants, and not interpreted. One that cannot be opened is none: its name does not say that it should be.
fn is_of_tensors(path: &Path, follow: bool) -> bool {
    let opened = if follow { open_regular(path) } else { open_unlinked(path) };
    let Ok((file, _)) = opened else { return false };
    let mut start = Vec::new();
    let most = u64::try_from(zten_formats::START).unwrap_or(u64::MAX);
    file.take(most).read_to_end(&mut start).is_ok()
        && (zten_formats::is_ztensor(&start) || zten_formats::by_start(&start, path).is_some())
}

/// Returns an identity that no other folder has.
#[cfg(unix)]
fn identity(path: &Path) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(path).map(|found| (found.dev(), found.ino()))
}

/// Returns an identity that no other folder has.
#[cfg(not(unix))]
fn identity(path: &Path) -> io::Result<Identity> {
    fs::canonicalize(path)
}

#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = PathBuf;

/// The rest of a folder.
struct Folder {
    path: PathBuf,
    /// The next one is the last.
    rest: Vec<(OsString, Kind)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
}

/// A path and, if it is a folder that cannot be read, why.
pub(super) type FoundFile = (PathBuf, io::Result<()>);

/// The files in folders, sorted by name in each. The depth takes no stack.
pub(super) struct DirectoryWalk {
    suffixes: Suffixes,
    /// True if all links are followed.
    pub(super) follow: bool,
    /// The folders that were entered, where links may lead to one again.
    visited: HashSet<Identity>,
    folders: Vec<Folder>,
    failed: Option<(PathBuf, io::Error)>,
    pub(super) skipped: Arc<Skipped>,
}

impl DirectoryWalk {
    pub(super) fn new(suffixes: Suffixes, follow: bool) -> Self {
        let (visited, skipped) = (HashSet::new(), Arc::default());
        Self { suffixes, follow, visited, folders: Vec::new(), failed: None, skipped }
    }

    /// Returns whether there is nothing left of the folders that were entered.
    #[cfg(target_os = "linux")]
    pub(super) fn is_empty(&self) -> bool {
        self.folders.is_empty() && self.failed.is_none()
    }

    /// Reads what is in a folder, which comes before what is left of other folders.
    pub(super) fn enter(&mut self, path: PathBuf) {
        if self.follow && identity(&path).is_ok_and(|own| !self.visited.insert(own)) {
            return self.skipped.note(Reason::Visited);
        }
        match self.names(&path) {
            Ok(rest) => self.folders.push(Folder { path, rest }),
            Err(error) => self.failed = Some((path, error)),
        }
    }

    /// The next file, or a folder that cannot be read.
    pub(super) fn next(&mut self) -> Option<FoundFile> {
        loop {
            if let Some((path, error)) = self.failed.take() {
                return Some((path, Err(error)));
            }
            let folder = self.folders.last_mut()?;
            match folder.rest.pop() {
                None => drop(self.folders.pop()),
                Some((name, Kind::File)) => return Some((folder.path.join(name), Ok(()))),
                Some((name, Kind::Folder)) => {
                    let path = folder.path.join(name);
                    self.enter(path);
                }
            }
        }
    }

    /// The names in a folder that lead on, the first one last.
    fn names(&self, path: &Path) -> io::Result<Vec<(OsString, Kind)>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name();
            // What went away since is no more in the folder.
            let Ok(kind) = entry.file_type() else { continue };
            let kind = if !kind.is_symlink() {
                Some(kind)
            } else if self.follow {
                // A link to nothing is reported when it is opened.
                fs::metadata(entry.path()).ok().map(|found| found.file_type())
            } else if hub_blob(path, &name).is_ok_and(|found| found.is_some()) {
                None
            } else {
                self.skipped.note(Reason::Link);
                continue;
            };
            let rejected = match kind {
                Some(kind) if kind.is_dir() => {
                    names.push((name, Kind::Folder));
                    continue;
                }
                Some(kind) if !kind.is_file() => Some(Reason::Irregular),
                _ => self.suffixes.reject(path, &name, self.follow),
            };
            match rejected {
                Some(reason) => self.skipped.note(reason),
                None => names.push((name, Kind::File)),
            }
        }
        names.sort_unstable_by(|(one, _), (other, _)| Reverse(one).cmp(&Reverse(other)));
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_walked_in_order() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("b/deep/er")).unwrap();
        for name in ["c.zt", "a.zt", "a.txt", "b/z.zt", "b/deep/er/1.zt", "b.zt", "b/deep.zt"] {
            fs::write(path(name), "").unwrap();
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(path("a.zt"), path("link.zt")).unwrap();
            std::os::unix::fs::symlink(root.path(), path("b/circle")).unwrap();
        }
        let walked = |suffixes: &[&str]| {
            let suffixes: Vec<_> = suffixes.iter().map(OsString::from).collect();
            let mut walk = DirectoryWalk::new(Suffixes::new(&suffixes), false);
            walk.enter(root.path().to_owned());
            let paths = std::iter::from_fn(move || walk.next()).map(|(path, walked)| {
                walked.unwrap();
                path.strip_prefix(root.path()).unwrap().to_str().unwrap().replace('\\', "/")
            });
            paths.collect::<Vec<_>>()
        };
        let zt = ["a.zt", "b/deep/er/1.zt", "b/deep.zt", "b/z.zt", "b.zt", "c.zt"];
        assert_eq!(walked(&[".zt"]), zt);
        assert_eq!(walked(&[".txt", "z.zt"]), ["a.txt", "b/z.zt"]);
        assert_eq!(walked(&[""]).len(), 7);
    }

    #[test]
    fn files_that_hold_tensors_are_taken() {
        let root = tempfile::tempdir().unwrap();
        for (name, bytes) in [
            ("a.bin", &b"\x80\x02}q\0."[..]),
            ("b.bin", b"firmware"),
            ("c.index.json", b"{}"),
            ("config.json", b"{}"),
            ("d.pt", b""),
            ("e.bin", b"ZTEN1000"),
            ("readme.md", b""),
        ] {
            fs::write(root.path().join(name), bytes).unwrap();
        }
        let mut walk = DirectoryWalk::new(Suffixes::of(&[]), false);
        walk.enter(root.path().to_owned());
        let skipped = Arc::clone(&walk.skipped);
        let paths = std::iter::from_fn(move || walk.next()).map(|(path, _)| path);
        let names: Vec<_> =
            paths.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
        assert_eq!(names, ["a.bin", "c.index.json", "d.pt", "e.bin"]);
        assert_eq!(
            skipped.to_string(),
            "3 entries skipped (2 with another suffix, 1 of another content)"
        );
    }
}
