//! The files in folders, and in the folders there.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What names end in.
pub(super) struct Suffixes(Vec<Vec<u8>>);

impl Suffixes {
    pub(super) fn new(suffixes: &[OsString]) -> Self {
        Self(suffixes.iter().map(|suffix| suffix.as_encoded_bytes().to_vec()).collect())
    }

    fn allow(&self, name: &OsString) -> bool {
        self.0.iter().any(|suffix| name.as_encoded_bytes().ends_with(suffix))
    }
}

/// What is left of a folder.
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
pub(super) type Walked = (PathBuf, io::Result<()>);

/// The files in folders, sorted by name in each. The depth takes no stack.
pub(super) struct Walk {
    suffixes: Suffixes,
    folders: Vec<Folder>,
    failed: Option<(PathBuf, io::Error)>,
}

impl Walk {
    pub(super) fn new(suffixes: Suffixes) -> Self {
        Self { suffixes, folders: Vec::new(), failed: None }
    }

    /// Whether there is nothing left of the folders that were entered.
    #[cfg(target_os = "linux")]
    pub(super) fn is_empty(&self) -> bool {
        self.folders.is_empty() && self.failed.is_none()
    }

    /// Reads what is in a folder, which comes before what is left of other folders.
    pub(super) fn enter(&mut self, path: PathBuf) {
        match self.names(&path) {
            Ok(rest) => self.folders.push(Folder { path, rest }),
            Err(error) => self.failed = Some((path, error)),
        }
    }

    /// The next file, or a folder that cannot be read.
    pub(super) fn next(&mut self) -> Option<Walked> {
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
            if kind.is_dir() {
                names.push((name, Kind::Folder));
            } else if kind.is_file() && self.suffixes.allow(&name) {
                names.push((name, Kind::File));
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
            let mut walk = Walk::new(Suffixes::new(&suffixes));
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
}
