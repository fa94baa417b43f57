//! Entries of folders that are not checked, counted by reason.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The reason why an entry of a folder is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A name with another suffix.
    Suffix,
    /// A name that files with tensors and others have, and first bytes of another file.
    Content,
    /// A link.
    Link,
    /// Neither a regular file nor a folder.
    Irregular,
    /// A folder that was visited before.
    Visited,
}

/// Each reason as JSON and as messages call it.
const REASONS: [(Reason, &str, &str); 5] = [
    (Reason::Suffix, "suffix", "with another suffix"),
    (Reason::Content, "content", "of another content"),
    (Reason::Link, "link", "linked"),
    (Reason::Irregular, "irregular", "not regular"),
    (Reason::Visited, "visited", "visited before"),
];

/// The number of entries skipped for each reason.
#[derive(Debug, Default)]
pub(crate) struct Skipped([AtomicU64; REASONS.len()]);

impl Skipped {
    /// Counts one more.
    pub(super) fn note(&self, reason: Reason) {
        for ((own, ..), count) in REASONS.iter().zip(&self.0) {
            count.fetch_add((*own == reason).into(), Ordering::Relaxed);
        }
    }

    /// The number of entries skipped for a reason.
    pub(crate) fn of(&self, reason: Reason) -> u64 {
        self.counts().find(|(own, ..)| *own == reason).map_or(0, |(.., count)| count)
    }

    /// The counts by the names of reasons.
    pub(crate) fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts().map(|(_, name, _, count)| (name, count))
    }

    /// Returns whether nothing was skipped.
    pub(crate) fn is_empty(&self) -> bool {
        self.counts().all(|(.., count)| count == 0)
    }

    fn counts(&self) -> impl Iterator<Item = (Reason, &'static str, &'static str, u64)> {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
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
        let there: Vec<_> = there.map(|(_, _, words, count)| format!("{count} {words}")).collect();
        let entries = if total == 1 { "entry" } else { "entries" };
        write!(f, "{total} {entries} skipped ({})", there.join(", "))
    }
}
