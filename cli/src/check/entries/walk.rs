//! The files in folders, and in the folders there.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::file::open_unlinked;

/// What names end in.
pub(super) struct Suffixes {
    /// Of files that are taken.
    taken: Vec<Vec<u8>>,
    /// Of files that are taken if their first bytes are known.
    asked: &'static [&'static str],
}

/// What the names of files end in that hold tensors, read or not.
const TENSORS: [&str; 18] = [
    ".zt",
    ".safetensors",
    ".gguf",
    ".npy",
    ".npz",
    ".index.json",
    ".pt",
    ".pth",
    ".ckpt",
    ".pkl",
    ".pickle",
    ".joblib",
    ".onnx",
    ".h5",
    ".hdf5",
    ".keras",
    ".tflite",
    ".ggml",
];
/// Those that many other files have, too.
const OTHERS: [&str; 2] = [".bin", ".pb"];

impl Suffixes {
    pub(super) fn new(suffixes: &[OsString]) -> Self {
        let taken = suffixes.iter().map(|suffix| suffix.as_encoded_bytes().to_vec()).collect();
        Self { taken, asked: &[] }
    }

    /// Those of all files that hold tensors.
    pub(super) fn of_tensors() -> Self {
        Self { taken: TENSORS.iter().map(|suffix| (*suffix).into()).collect(), asked: &OTHERS }
    }

    fn allow(&self, folder: &Path, name: &OsString) -> bool {
        let bytes = name.as_encoded_bytes();
        self.taken.iter().any(|suffix| bytes.ends_with(suffix))
            || self.asked.iter().any(|suffix| bytes.ends_with(suffix.as_bytes()))
                && is_of_tensors(&folder.join(name))
    }
}

/// Whether the first bytes of a file are of one that holds tensors. They are compared here, where nothing is confined,
/// with constants, and not interpreted. One that cannot be opened is none: its name does not say that it should be.
fn is_of_tensors(path: &Path) -> bool {
    let Ok((file, _)) = open_unlinked(path) else { return false };
    let mut start = Vec::new();
    let most = u64::try_from(zten_formats::START).unwrap_or(u64::MAX);
    file.take(most).read_to_end(&mut start).is_ok()
        && (zten_formats::is_ztensor(&start) || zten_formats::by_start(&start, path).is_some())
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
            } else if kind.is_file() && self.suffixes.allow(path, &name) {
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
        let mut walk = Walk::new(Suffixes::of_tensors());
        walk.enter(root.path().to_owned());
        let paths = std::iter::from_fn(move || walk.next()).map(|(path, _)| path);
        let names: Vec<_> =
            paths.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
        assert_eq!(names, ["a.bin", "c.index.json", "d.pt", "e.bin"]);
    }
}
