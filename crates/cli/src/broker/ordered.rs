//! The records of checked files, put back into the order of the files.

use std::collections::VecDeque;
use std::path::PathBuf;

use crate::check::Record;

/// Files that may be ahead of one that takes long.
const WINDOW: u64 = 1024;

/// Records that wait for one before them.
#[derive(Debug, Default)]
pub(super) struct Ordered {
    /// The number of the first one that is missing.
    first: u64,
    /// The records from that number on; none of those that are missing.
    waiting: VecDeque<Option<(PathBuf, Record)>>,
}

impl Ordered {
    /// Returns whether the file of that number may be looked at already.
    pub(super) fn has_room(&self, number: u64) -> bool {
        number < self.first.saturating_add(WINDOW)
    }

    /// Keeps the record of the file of that number.
    pub(super) fn put(&mut self, number: u64, path: PathBuf, record: Record) {
        let Some(place) = number.checked_sub(self.first) else { return };
        let Ok(place) = usize::try_from(place) else { return };
        while self.waiting.len() <= place {
            self.waiting.push_back(None);
        }
        if let Some(slot) = self.waiting.get_mut(place) {
            *slot = Some((path, record));
        }
    }

    /// The next record, if it is there.
    pub(super) fn next(&mut self) -> Option<(PathBuf, Record)> {
        let record = self.waiting.front_mut()?.take()?;
        self.waiting.pop_front();
        self.first = self.first.saturating_add(1);
        Some(record)
    }
}
