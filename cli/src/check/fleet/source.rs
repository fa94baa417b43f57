//! The files that are still to be handed out.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

use super::ordered::Ordered;
use super::running::Item;
use crate::args::Check;
use crate::check::entries::{Entries, Handed};
use crate::check::here;

/// The files that are to be checked.
pub(super) struct Source<'a> {
    args: &'a Check,
    entries: Entries<'a>,
    /// The number of the next entry.
    next: u64,
    /// Files that were sent to a process which did not get to them.
    pub(super) again: VecDeque<Item>,
    /// A file that is open and that no process could take.
    pub(super) held: Option<(Item, Handed)>,
    /// Whether there are no more entries.
    is_read: bool,
    /// Why there are no more, if it is not that all were named.
    pub(super) failed: Option<String>,
}

impl<'a> Source<'a> {
    /// Those that the command line asks for.
    pub(super) fn new(args: &'a Check, entries: Entries<'a>) -> Self {
        Self {
            args,
            entries,
            next: 0,
            again: VecDeque::new(),
            held: None,
            is_read: false,
            failed: None,
        }
    }

    /// Whether all files have been handed out.
    pub(super) fn is_over(&self) -> bool {
        self.is_read && self.again.is_empty() && self.held.is_none()
    }

    /// What tells when there is more of a list that is waited for.
    pub(super) fn waits_for(&self, ordered: &Ordered) -> Option<BorrowedFd<'_>> {
        let wants_more = !self.is_read && ordered.has_room(self.next);
        if wants_more && !self.entries.is_ready() { self.entries.waits_for() } else { None }
    }

    /// The next file; none, if there is none now. `waits` says whether to wait for more of the list.
    pub(super) fn next_item(&mut self, ordered: &Ordered, waits: bool) -> Option<Item> {
        if let Some(item) = self.again.pop_front() {
            return Some(item);
        }
        if self.is_read || !ordered.has_room(self.next) || !(waits || self.entries.is_ready()) {
            return None;
        }
        let entry = match self.entries.next() {
            Ok(Some(entry)) => Some(entry),
            Ok(None) => None,
            Err(error) => {
                self.failed = Some(here::list_error(self.args, &error));
                None
            }
        };
        self.is_read = entry.is_none();
        let entry = entry?;
        let number = self.next;
        self.next = number.saturating_add(1);
        Some(Item { number, entry, shard: 0, alone: false })
    }

    /// Files that were not checked, in order.
    pub(super) fn put_back(
        &mut self,
        items: impl IntoIterator<Item = Item, IntoIter: DoubleEndedIterator>,
    ) {
        items.into_iter().rev().for_each(|item| self.again.push_front(item));
    }
}
