//! Repositories of a hub's cache: `models--X--Y/snapshots/REV/NAME` are links to `models--X--Y/blobs/DIGEST`, so that one file
//! has the names of several revisions. It is checked once, under all of them.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::iter;
use std::path::{Component, Path, PathBuf};

use super::folder::{EntryType, Folder};

/// The folder of files that are called by their digests.
pub(super) const BLOBS: &str = "blobs";
/// The folder of revisions.
pub(super) const SNAPSHOTS: &str = "snapshots";

/// A repository.
pub(super) struct Hub {
    pub(super) blobs: Folder,
    /// The names that lead to each blob, in the order in which they are found.
    names: HashMap<OsString, Vec<PathBuf>>,
    /// The blobs that have been handed out.
    taken: HashSet<OsString>,
}

/// Returns whether a folder of that name is a repository.
pub(super) fn is_repository(name: &OsStr) -> bool {
    let name = name.to_str().unwrap_or_default();
    ["models--", "datasets--", "spaces--"].iter().any(|kind| name.starts_with(kind))
}

impl Hub {
    /// The repository in that folder, if it is one. `is_taken` says which names are checked.
    pub(super) fn of_repository(
        folder: &Folder,
        path: &Path,
        is_taken: &dyn Fn(&OsStr) -> bool,
    ) -> Option<Self> {
        let blobs = folder.folder(BLOBS.as_ref(), false).ok()?;
        let snapshots = folder.folder(SNAPSHOTS.as_ref(), false).ok()?;
        Some(Self::scan(blobs, snapshots, path.join(SNAPSHOTS), 0, is_taken))
    }

    /// The repository that a folder is a part of, if it is the folder of a revision or below that, and how many levels it is
    /// below the folder of revisions.
    pub(super) fn of_part(
        folder: &Folder,
        path: &Path,
        is_taken: &dyn Fn(&OsStr) -> bool,
    ) -> Option<(Self, usize)> {
        let real = fs::canonicalize(path).ok()?;
        let is_snapshots = |above: &Path| {
            let repository = above.parent().and_then(Path::file_name);
            above.ends_with(SNAPSHOTS) && repository.is_some_and(is_repository)
        };
        let depth = real.ancestors().position(is_snapshots)?;
        let blobs = folder.folder_above(depth.saturating_add(1), BLOBS).ok()?;
        let hub = Self::scan(blobs, folder.clone(), path.to_owned(), depth, is_taken);
        Some((hub, depth))
    }

    /// Collects the names of blobs in a folder that is `depth` levels below that of the revisions.
    fn scan(
        blobs: Folder,
        folder: Folder,
        path: PathBuf,
        depth: usize,
        is_taken: &dyn Fn(&OsStr) -> bool,
    ) -> Self {
        let mut names: HashMap<OsString, Vec<PathBuf>> = HashMap::new();
        let mut folders = vec![(folder, path, depth)];
        while let Some((folder, path, depth)) = folders.pop() {
            // What cannot be read is reported when it is walked.
            for (name, kind) in folder.entries().unwrap_or_default() {
                match kind {
                    EntryType::Folder => {
                        let below = folder.folder(&name, false);
                        let depth = depth.saturating_add(1);
                        folders.extend(below.map(|below| (below, path.join(&name), depth)));
                    }
                    EntryType::Link if is_taken(&name) => {
                        if let Some(blob) = blob_of(&folder, &name, depth) {
                            names.entry(blob).or_default().push(path.join(&name));
                        }
                    }
                    _ => {}
                }
            }
        }
        for paths in names.values_mut() {
            paths.sort_unstable();
        }
        Self { blobs, names, taken: HashSet::new() }
    }

    /// Takes a blob, unless it was taken before, and returns the names that lead to it.
    pub(super) fn take(&mut self, blob: &OsStr) -> Option<Vec<PathBuf>> {
        let is_new = self.taken.insert(blob.to_owned());
        is_new.then(|| self.names.remove(blob).unwrap_or_default())
    }
}

/// Returns the blob that a link leads to which is in a folder `depth` levels below that of the revisions; `None` for any other
/// link.
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
