//! The walk through folders and the folders below them.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use zten::formats::Format;
use zten_report::stores::{self, BLOBS, Role, is_repository};

use super::folder::{EntryType, Folder, Identity};
use super::hub::{self, Hub};
use super::skipped::{Reason, Skipped};
use crate::escape;

/// The suffixes of the names of files that are checked. An empty list takes every name.
pub(crate) struct Suffixes(Vec<Vec<u8>>);

/// Suffixes of files that hold weights, in addition to the suffixes of the formats that zten reads.
const NAMED: [&str; 11] = [
    ".zt", ".bin", ".pkl", ".pickle", ".joblib", ".onnx", ".h5", ".hdf5", ".keras", ".tflite",
    ".ggml",
];

/// Folders of version control, which are skipped: they hold compressed copies of the files in the folders around them.
const VERSION_CONTROL: [&str; 3] = [".git", ".hg", ".svn"];

impl Suffixes {
    /// Takes names that end in one of `suffixes`.
    pub(crate) fn new(suffixes: &[OsString]) -> Self {
        Self(suffixes.iter().map(|suffix| suffix.as_encoded_bytes().to_vec()).collect())
    }

    /// Lists the suffixes for a message.
    pub(crate) fn list(&self) -> String {
        let all: Vec<_> = self
            .0
            .iter()
            .map(|suffix| escape::word(&String::from_utf8_lossy(suffix), SUFFIX))
            .collect();
        all.join(", ")
    }

    /// Returns whether a file called `name` is checked.
    fn takes(&self, name: &OsStr) -> bool {
        let ends = |suffix: &Vec<u8>| name.as_encoded_bytes().ends_with(suffix);
        self.0.is_empty() || self.0.iter().any(ends)
    }
}

/// The largest number of columns of a suffix in a message.
const SUFFIX: usize = 40;

/// The largest length of a folder's path, in bytes: twice what Linux opens by a path. Every folder above the current one keeps
/// its path, so nested folders with long names would otherwise take memory that grows with the square of their number. A
/// message to a worker has room for an escaped path of this length.
const PATH: usize = 8 << 10;

/// Returns whether the path of a folder is longer than [`PATH`].
pub(super) fn is_too_long(path: &Path) -> bool {
    path.as_os_str().len() > PATH
}

/// Returns whether a file called `name` is expected to hold weights.
pub(in crate::commands::check) fn is_of_weights(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes().to_ascii_lowercase();
    let read = Format::ALL.into_iter().flat_map(Format::suffixes);
    read.chain(&NAMED).any(|suffix| name.ends_with(suffix.as_bytes()))
}

/// A folder that is being walked.
struct Level {
    path: PathBuf,
    folder: Folder,
    place: FolderKind,
    /// True if some file in the folder has a name that suggests model weights.
    has_weights: bool,
    /// The entries that are left, in reverse order: the last is visited next.
    rest: Vec<(OsString, Step)>,
}

/// What a folder is: a store of downloaded models, a folder inside a store, or another folder.
#[derive(Clone)]
enum FolderKind {
    /// Any other folder: it is outside all stores of downloaded models, or zten does not know its purpose in the store.
    Elsewhere,
    /// The cache of the Hugging Face hub, which has a folder for each repository.
    Cache,
    /// The folder of one repository in the cache of the hub.
    Repository(Rc<RefCell<Hub>>),
    /// The folder of blobs in the folder of a repository.
    Blobs(Rc<RefCell<Hub>>),
    /// The folder of snapshots or a folder below it, and the number of levels below the folder of snapshots.
    Snapshots(Rc<RefCell<Hub>>, usize),
    /// The folder in which Ollama stores models.
    Ollama,
    /// A folder of a store that decides the roles of its files. The second value is the folder of blobs, if this folder is one of
    /// manifests.
    Store(stores::Folder, Option<Folder>),
}

impl FolderKind {
    /// Returns what the subfolder `name` of `folder` is. `self` says what `folder` is.
    fn below(&self, name: &OsStr, folder: &Folder) -> Self {
        match self {
            Self::Repository(hub) if name == BLOBS => Self::Blobs(Rc::clone(hub)),
            Self::Repository(hub) if name == stores::SNAPSHOTS => {
                Self::Snapshots(Rc::clone(hub), 0)
            }
            // `.no_exist` and `.locks` have empty files: the hub has no file of that name, or a download was begun.
            Self::Repository(_) if name == stores::REFS || name == stores::NO_EXIST => {
                Self::Store(stores::Folder::HubRecords, None)
            }
            Self::Cache if name == stores::LOCKS => Self::Store(stores::Folder::HubRecords, None),
            Self::Snapshots(hub, depth) => Self::Snapshots(Rc::clone(hub), depth.saturating_add(1)),
            Self::Ollama if name == BLOBS => Self::Store(stores::Folder::OllamaBlobs, None),
            Self::Ollama if name == stores::MANIFESTS => {
                let blobs = folder.folder(BLOBS.as_ref(), false);
                let manifests = stores::Folder::OllamaManifests(0);
                blobs.map_or(Self::Elsewhere, |blobs| Self::Store(manifests, Some(blobs)))
            }
            Self::Store(stores::Folder::HubRecords, _) => self.clone(),
            Self::Store(stores::Folder::OllamaManifests(depth), blobs) => {
                let depth = depth.saturating_add(1);
                Self::Store(stores::Folder::OllamaManifests(depth), blobs.clone())
            }
            _ => Self::Elsewhere,
        }
    }

    /// Returns the role in the store of the file called `name` in a folder of this kind.
    fn role(&self, name: &OsStr) -> Role {
        match self {
            Self::Blobs(_) => stores::Folder::HubBlobs.role(name),
            Self::Store(folder, _) => folder.role(name),
            Self::Cache if stores::is_record_of_cache(name) => Role::Record,
            _ => Role::Outside,
        }
    }

    /// Returns what a folder with these `entries` is. A folder that is in no store may be a store itself, which the names of its
    /// entries tell; for any other folder, returns `self`.
    fn of_entries(self, entries: &[(OsString, EntryType)]) -> Self {
        let has = |wanted: &str| {
            entries.iter().any(|(name, kind)| *kind == EntryType::Folder && name == wanted)
        };
        match self {
            Self::Elsewhere if has(BLOBS) && has(stores::MANIFESTS) => Self::Ollama,
            Self::Elsewhere if entries.iter().any(|(name, _)| is_repository(name)) => Self::Cache,
            place => place,
        }
    }
}

/// What the walk does with an entry of a folder.
enum Step {
    File,
    Folder,
    /// A symbolic link to the blob of this name in the cache of the Hugging Face hub.
    Blob(OsString),
}

/// A file in a folder, which has not been opened.
#[derive(Debug)]
pub(super) struct WalkedFile {
    pub(super) folder: Folder,
    pub(super) name: OsString,
    /// The folder and the name of the file that a link of a hub's cache leads to.
    pub(super) blob: Option<(Folder, OsString)>,
    pub(super) follow: bool,
    /// The role of the file in a store of downloaded models.
    pub(super) role: Role,
    /// If the file is an Ollama manifest, the folder of the store's blobs.
    pub(super) blobs: Option<Folder>,
}

impl WalkedFile {
    /// Opens the file, and finds its length.
    pub(super) fn open(&self) -> io::Result<(fs::File, u64)> {
        let Some((blobs, name)) = &self.blob else {
            return self.folder.file(&self.name, self.follow);
        };
        blobs.file(name, self.follow).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
                io::Error::new(io::ErrorKind::NotFound, "is a link to a file that is not found")
            }
            _ => error,
        })
    }
}

/// A file that the walk has found, or a folder that it cannot read.
pub(super) struct FoundFile {
    pub(super) path: PathBuf,
    /// The paths of the other links that lead to the same blob.
    pub(super) also: Vec<PathBuf>,
    /// The file, or the error with which the folder at `path` cannot be read.
    pub(super) file: io::Result<WalkedFile>,
    /// True if some file in the same folder has a name that suggests model weights.
    pub(super) has_weights: bool,
}

/// An iterator over the files in folders, sorted by name in each folder, where the blobs of a hub's repository come last. It does
/// not recurse, so nested folders take no stack.
pub(super) struct DirectoryWalk {
    suffixes: Suffixes,
    /// True if all links are followed.
    follow: bool,
    /// The folders that were entered. Empty unless links are followed, because only links lead to a folder twice.
    visited: HashSet<Identity>,
    levels: Vec<Level>,
    failed: Option<(PathBuf, io::Error)>,
    pub(super) skipped: Arc<Skipped>,
}

impl DirectoryWalk {
    pub(super) fn new(suffixes: Suffixes, follow: bool) -> Self {
        let (visited, skipped) = (HashSet::new(), Arc::default());
        Self { suffixes, follow, visited, levels: Vec::new(), failed: None, skipped }
    }

    /// Returns whether all links are followed.
    pub(super) fn follows(&self) -> bool {
        self.follow
    }

    /// Returns whether files of any name are checked.
    pub(super) fn takes_all(&self) -> bool {
        self.suffixes.0.is_empty()
    }

    /// Returns whether all folders that were entered have been walked to their end.
    #[cfg(target_os = "linux")]
    pub(super) fn is_empty(&self) -> bool {
        self.levels.is_empty() && self.failed.is_none()
    }

    /// Lists the folder at `path`, which the user named. Its files come before the remaining files of other folders. Keeps an error
    /// in `failed`, which [`next`](Self::next) returns.
    pub(super) fn enter(&mut self, path: PathBuf) {
        let entered = Folder::open(&path).and_then(|folder| {
            let is_selected = |name: &OsStr| self.suffixes.takes(name);
            let real = fs::canonicalize(&path).unwrap_or_default();
            let place = if real.file_name().is_some_and(is_repository) {
                let hub = Hub::of_repository(&folder, &path, &is_selected);
                hub.map(|hub| FolderKind::Repository(Rc::new(RefCell::new(hub))))
            } else {
                let part = Hub::of_part(&folder, &path, &is_selected);
                part.map(|(hub, depth)| FolderKind::Snapshots(Rc::new(RefCell::new(hub)), depth))
                    .or_else(|| match (stores::Folder::of(&real)?, blobs_of(&real)) {
                        (stores::Folder::OllamaManifests(_), None) => None,
                        (folder, blobs) => Some(FolderKind::Store(folder, blobs)),
                    })
            };
            self.list(&path, folder, place.unwrap_or(FolderKind::Elsewhere))
        });
        if let Err(error) = entered {
            self.failed = Some((path, error));
        }
    }

    /// Enters the subfolder `name` of the folder that is being walked, and lists it. Keeps an error in `failed`.
    fn enter_below(&mut self, name: &OsStr) {
        let Some(level) = self.levels.last() else { return };
        let path = level.path.join(name);
        let (above, parent) = (level.place.clone(), level.folder.clone());
        let opened = if is_too_long(&path) {
            let sentence = format!("the path exceeds the maximum of {PATH} bytes");
            Err(io::Error::new(io::ErrorKind::InvalidFilename, sentence))
        } else {
            level.folder.folder(name, self.follow)
        };
        let entered = opened.and_then(|folder| {
            let mut place = above.below(name, &parent);
            if matches!(place, FolderKind::Elsewhere) && is_repository(name) {
                let is_selected = |name: &OsStr| self.suffixes.takes(name);
                if let Some(hub) = Hub::of_repository(&folder, &path, &is_selected) {
                    place = FolderKind::Repository(Rc::new(RefCell::new(hub)));
                }
            }
            self.list(&path, folder, place)
        });
        if let Err(error) = entered {
            self.failed = Some((path, error));
        }
    }

    /// Finds the next file, or a folder that cannot be read. Returns `None` if all folders have been walked to their end.
    pub(super) fn next(&mut self) -> Option<FoundFile> {
        loop {
            if let Some((path, error)) = self.failed.take() {
                let (also, file) = (Vec::new(), Err(error));
                return Some(FoundFile { path, also, file, has_weights: false });
            }
            let level = self.levels.last_mut()?;
            match level.rest.pop() {
                None => drop(self.levels.pop()),
                Some((name, Step::Folder)) => self.enter_below(&name),
                Some((name, Step::File)) => {
                    let is_taken = match &level.place {
                        FolderKind::Blobs(hub) => hub.borrow_mut().take(&name).is_none(),
                        _ => false,
                    };
                    if !is_taken {
                        return Some(level.found(name, None, Vec::new(), self.follow));
                    }
                }
                Some((name, Step::Blob(blob))) => {
                    let FolderKind::Snapshots(hub, _) = &level.place else { continue };
                    let (names, blobs) = {
                        let mut hub = hub.borrow_mut();
                        (hub.take(&blob), hub.blobs.clone())
                    };
                    if let Some(mut also) = names {
                        let path = level.path.join(&name);
                        also.retain(|other| *other != path);
                        return Some(level.found(name, Some((blobs, blob)), also, self.follow));
                    }
                }
            }
        }
    }

    /// Lists `folder`, whose path is `path`, and adds a level with the entries to visit to the walk. If links are followed,
    /// a folder that was entered before is skipped.
    fn list(&mut self, path: &Path, folder: Folder, place: FolderKind) -> io::Result<()> {
        if self.follow && !self.visited.insert(folder.identity()?) {
            self.skipped.note(Reason::Visited);
            return Ok(());
        }
        let mut rest = Vec::new();
        let mut has_weights = false;
        let entries = folder.entries()?;
        let place = place.of_entries(&entries);
        for (name, kind) in entries {
            has_weights |= kind != EntryType::Folder && is_of_weights(&name);
            if let Some(step) = self.step(path, &folder, &place, &name, kind) {
                rest.push((name, step));
            }
        }
        // The blobs of a repository come last, after the names that lead to them.
        let is_last = |name: &OsStr| matches!(place, FolderKind::Repository(_)) && name == BLOBS;
        rest.sort_unstable_by(|(one, _), (other, _)| {
            (is_last(other), other).cmp(&(is_last(one), one))
        });
        let path = path.to_owned();
        self.levels.push(Level { path, folder, place, has_weights, rest });
        Ok(())
    }

    /// Returns how the entry called `name` is visited. Returns `None` if it is skipped, and counts the reason.
    fn step(
        &self,
        path: &Path,
        folder: &Folder,
        place: &FolderKind,
        name: &OsStr,
        kind: EntryType,
    ) -> Option<Step> {
        let kind = match (kind, place) {
            (EntryType::Link, FolderKind::Snapshots(_, depth)) => {
                match hub::blob_of(folder, name, *depth) {
                    Some(blob) if self.suffixes.takes(name) => return Some(Step::Blob(blob)),
                    Some(_) => {
                        self.skipped.note(Reason::Suffix);
                        return None;
                    }
                    None => kind,
                }
            }
            _ => kind,
        };
        let kind = match kind {
            // A link to nothing is reported when it is opened.
            EntryType::Link if self.follow => folder.target_type(name).unwrap_or(EntryType::File),
            kind => kind,
        };
        let skipped = match kind {
            EntryType::Folder if VERSION_CONTROL.iter().any(|own| name == *own) => {
                self.skipped.note_path(Reason::VersionControl, path.join(name));
                return None;
            }
            EntryType::Folder => return Some(Step::Folder),
            EntryType::File if self.suffixes.takes(name) => return Some(Step::File),
            EntryType::File => Reason::Suffix,
            EntryType::Link => Reason::Link,
            EntryType::Irregular => Reason::Irregular,
        };
        self.skipped.note(skipped);
        None
    }
}

/// Opens the folder of blobs of the Ollama store that has its manifests in the folder at the canonical path `real`, or above it.
/// Returns `None` for other folders, or if the folder of blobs cannot be opened.
pub(super) fn blobs_of(real: &Path) -> Option<Folder> {
    let manifests = real.ancestors().find(|above| above.ends_with(stores::MANIFESTS))?;
    Folder::open(manifests.parent()?).ok()?.folder(BLOBS.as_ref(), false).ok()
}

impl Level {
    /// Describes the file called `name` in the folder. If `name` is a link to `blob`, describes `blob`.
    fn found(
        &self,
        name: OsString,
        blob: Option<(Folder, OsString)>,
        also: Vec<PathBuf>,
        follow: bool,
    ) -> FoundFile {
        let role = match &blob {
            Some((_, blob)) => stores::Folder::HubBlobs.role(blob),
            None => self.place.role(&name),
        };
        let blobs = match &self.place {
            FolderKind::Store(_, blobs) => blobs.clone(),
            _ => None,
        };
        FoundFile {
            path: self.path.join(&name),
            also,
            has_weights: self.has_weights,
            file: Ok(WalkedFile { folder: self.folder.clone(), name, blob, follow, role, blobs }),
        }
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
            let paths = std::iter::from_fn(move || walk.next()).map(|found| {
                found.file.unwrap();
                found.path.strip_prefix(root.path()).unwrap().to_str().unwrap().replace('\\', "/")
            });
            paths.collect::<Vec<_>>()
        };
        let zt = ["a.zt", "b/deep/er/1.zt", "b/deep.zt", "b/z.zt", "b.zt", "c.zt"];
        assert_eq!(walked(&[".zt"]), zt);
        assert_eq!(walked(&[".txt", "z.zt"]), ["a.txt", "b/z.zt"]);
        assert_eq!(walked(&[""]).len(), 7);
    }

    #[test]
    fn every_file_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let names = ["Makefile", "a.bin", "b.index.json", "c.PT", "d.pth.tar", "readme.md"];
        for name in names {
            fs::write(root.path().join(name), "").unwrap();
        }
        for name in [".git", ".hg", ".svn", ".github"] {
            fs::create_dir(root.path().join(name)).unwrap();
            fs::write(root.path().join(name).join("x"), "").unwrap();
        }
        let mut walk = DirectoryWalk::new(Suffixes::new(&[]), false);
        walk.enter(root.path().to_owned());
        let skipped = Arc::clone(&walk.skipped);
        let found = std::iter::from_fn(|| walk.next()).map(|found| {
            assert!(found.has_weights || found.path.parent() != Some(root.path()));
            found.path.strip_prefix(root.path()).unwrap().to_str().unwrap().to_owned()
        });
        let found: Vec<_> = found.collect();
        let wanted =
            [".github/x", "Makefile", "a.bin", "b.index.json", "c.PT", "d.pth.tar", "readme.md"];
        assert_eq!(found.iter().map(|name| name.replace('\\', "/")).collect::<Vec<_>>(), wanted);
        let skipped = skipped.to_string();
        assert!(skipped.starts_with("3 entries skipped (3 of version control: "), "{skipped}");
        assert!(skipped.contains(".hg, "), "{skipped}");
    }
}
