//! Entries of folders that are not checked, counted by reason.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::escape;

/// The reason why an entry of a folder is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A file whose name does not end in one of the suffixes that are checked.
    Suffix,
    /// Never counted, because every file is checked whatever its kind. The key remains in JSON for programs that read it.
    Content,
    /// A symbolic link that is not followed.
    Link,
    /// Neither a regular file nor a folder.
    Irregular,
    /// A folder that was visited before.
    Visited,
    /// A folder of a version control system, such as `.git`.
    VersionControl,
}

/// For each reason, its key in JSON and its name in messages.
const REASONS: [(Reason, &str, &str); 6] = [
    (Reason::Suffix, "suffix", "with another suffix"),
    (Reason::Content, "content", "of another content"),
    (Reason::Link, "link", "linked"),
    (Reason::Irregular, "irregular", "not regular"),
    (Reason::Visited, "visited", "visited before"),
    (Reason::VersionControl, "version_control", "of version control"),
];

/// The number of entries skipped for each reason.
#[derive(Debug, Default)]
pub(crate) struct Skipped {
    counts: [AtomicU64; REASONS.len()],
    /// The paths of skipped folders of version control, up to [`PATHS`].
    folders: Mutex<Vec<PathBuf>>,
}

/// The largest number of paths of skipped folders that are kept.
const PATHS: usize = 1000;

impl Skipped {
    /// Counts an entry that is skipped for `reason`.
    pub(super) fn note(&self, reason: Reason) {
        for ((own, ..), count) in REASONS.iter().zip(&self.counts) {
            count.fetch_add((*own == reason).into(), Ordering::Relaxed);
        }
    }

    /// Counts a folder that is skipped for `reason`, and keeps its `path` unless [`PATHS`] paths are kept already.
    pub(super) fn note_path(&self, reason: Reason, path: PathBuf) {
        self.note(reason);
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if folders.len() < PATHS {
            folders.push(path);
        }
    }

    /// Returns the paths of skipped folders of version control, escaped and sorted, up to [`PATHS`].
    pub(crate) fn folders(&self) -> Vec<String> {
        let folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let mut folders: Vec<_> = folders.iter().map(|path| escape::path(path)).collect();
        // The order in which a folder lists its entries differs between systems.
        folders.sort_unstable();
        folders
    }

    /// Returns the number of entries skipped for `reason`.
    pub(crate) fn of(&self, reason: Reason) -> u64 {
        self.counts().find(|(own, ..)| *own == reason).map_or(0, |(.., count)| count)
    }

    /// Returns the key in JSON and the count of each reason.
    pub(crate) fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts().map(|(_, name, _, count)| (name, count))
    }

    /// Returns whether nothing was skipped.
    pub(crate) fn is_empty(&self) -> bool {
        self.counts().all(|(.., count)| count == 0)
    }

    fn counts(&self) -> impl Iterator<Item = (Reason, &'static str, &'static str, u64)> {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        REASONS
            .iter()
            .zip(counts)
            .map(|((reason, name, words), count)| (*reason, *name, *words, count))
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.counts().fold(0_u64, |sum, (.., count)| sum.saturating_add(count));
        let there = self.counts().filter(|(.., count)| *count > 0);
        let there: Vec<_> = there
            .map(|(reason, _, words, count)| {
                let mut text = format!("{count} {words}");
                if reason == Reason::VersionControl {
                    let folders = self.folders();
                    let more = usize::try_from(count).is_ok_and(|count| count > folders.len());
                    text =
                        format!("{text}: {}{}", folders.join(", "), if more { ", …" } else { "" });
                }
                text
            })
            .collect();
        let entries = if total == 1 { "entry" } else { "entries" };
        write!(f, "{total} {entries} skipped ({})", there.join(", "))
    }
}
