//! Repositories of a hub's cache: `models--X--Y/snapshots/REV/NAME` is a link to `models--X--Y/blobs/DIGEST`, so one blob has
//! the names of several revisions. A blob is checked once, under all of its names.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::iter;
use std::path::{Component, Path, PathBuf};

use zten_report::stores::{BLOBS, SNAPSHOTS, is_repository};

use super::folder::{EntryType, Folder};
use super::walk::is_too_long;

/// A repository in the local cache of the Hugging Face hub: its folder of blobs, and the links that lead to each blob.
pub(super) struct Hub {
    pub(super) blobs: Folder,
    /// The paths of the links to each blob, sorted, until [`take`](Self::take) returns them.
    names: HashMap<OsString, Vec<PathBuf>>,
    /// The names of the blobs that the walk has found already.
    taken: HashSet<OsString>,
}

impl Hub {
    /// Scans the repository in `folder`. Returns `None` if `folder` has no subfolder of blobs. Links whose names
    /// `is_selected` rejects are left out.
    pub(super) fn of_repository(
        folder: &Folder,
        path: &Path,
        is_selected: &dyn Fn(&OsStr) -> bool,
    ) -> Option<Self> {
        let blobs = folder.folder(BLOBS.as_ref(), false).ok()?;
        Some(match folder.folder(SNAPSHOTS.as_ref(), false) {
            Ok(snapshots) => Self::scan(blobs, snapshots, path.join(SNAPSHOTS), 0, is_selected),
            Err(_) => Self { blobs, names: HashMap::new(), taken: HashSet::new() },
        })
    }

    /// Scans the part of a repository that is in `folder`, if `path` leads to the folder of snapshots or below it. Returns the
    /// repository, and the number of levels that `folder` is below the folder of snapshots. Returns `None` for any other folder, or
    /// if the repository has no folder of blobs.
    pub(super) fn of_part(
        folder: &Folder,
        path: &Path,
        is_selected: &dyn Fn(&OsStr) -> bool,
    ) -> Option<(Self, usize)> {
        let real = fs::canonicalize(path).ok()?;
        let is_snapshots = |above: &Path| {
            let repository = above.parent().and_then(Path::file_name);
            above.ends_with(SNAPSHOTS) && repository.is_some_and(is_repository)
        };
        let depth = real.ancestors().position(is_snapshots)?;
        let blobs = folder.folder_above(depth.saturating_add(1), BLOBS).ok()?;
        let hub = Self::scan(blobs, folder.clone(), path.to_owned(), depth, is_selected);
        Some((hub, depth))
    }

    /// Collects the links to each of the `blobs` from `folder`, whose path is `path`, and from the folders below it.
    /// `folder` is `depth` levels below the folder of snapshots.
    fn scan(
        blobs: Folder,
        folder: Folder,
        path: PathBuf,
        depth: usize,
        is_selected: &dyn Fn(&OsStr) -> bool,
    ) -> Self {
        let mut names: HashMap<OsString, Vec<PathBuf>> = HashMap::new();
        // A folder is opened when its turn comes: a repository may have more folders than a process may have open.
        let mut closed: Vec<(Folder, OsString, PathBuf, usize)> = Vec::new();
        let mut next = Some((folder, path, depth));
        while let Some((folder, path, depth)) = next {
            // The walk reports folders that cannot be read.
            for (name, kind) in folder.entries().unwrap_or_default() {
                match kind {
                    EntryType::Folder => {
                        let below = path.join(&name);
                        closed.push((folder.clone(), name, below, depth.saturating_add(1)));
                    }
                    EntryType::Link if is_selected(&name) => {
                        if let Some(blob) = blob_of(&folder, &name, depth) {
                            names.entry(blob).or_default().push(path.join(&name));
                        }
                    }
                    _ => {}
                }
            }
            next = iter::from_fn(|| closed.pop()).find_map(|(above, name, path, depth)| {
                let folder = above.folder(&name, false).ok().filter(|_| !is_too_long(&path))?;
                Some((folder, path, depth))
            });
        }
        for paths in names.values_mut() {
            paths.sort_unstable();
        }
        Self { blobs, names, taken: HashSet::new() }
    }

    /// Marks `blob` as found. Returns the paths of the links to `blob`, or `None` if the walk has found it before.
    pub(super) fn take(&mut self, blob: &OsStr) -> Option<Vec<PathBuf>> {
        let is_new = self.taken.insert(blob.to_owned());
        is_new.then(|| self.names.remove(blob).unwrap_or_default())
    }
}

/// Returns the name of the blob that `link` leads to. Returns `None` if `link` leads anywhere but to the blobs of its own
/// repository, or lies directly in the folder of snapshots. `folder` holds `link`, and is `depth` levels below the folder of
/// snapshots.
pub(super) fn blob_of(folder: &Folder, link: &OsStr, depth: usize) -> Option<OsString> {
    let target = folder.link(link).ok()?;
    let mut steps = target.components().peekable();
    let up = iter::from_fn(|| steps.next_if_eq(&Component::ParentDir)).count();
    let (Some(Component::Normal(blobs)), Some(Component::Normal(name)), None) =
        (steps.next(), steps.next(), steps.next())
    else {
        return None;
    };
    let is_blob = depth > 0 && up == depth.saturating_add(1) && blobs == BLOBS;
    is_blob.then(|| name.to_owned())
}
