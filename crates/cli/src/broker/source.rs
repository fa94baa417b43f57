//! The jobs that are still to be handed out.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use super::ordered::Ordered;
use crate::budget::{DeferredFiles, Lengths, Task};
use crate::channel::{Packet, is_too_many};
use crate::check::{self, Entries, Entry};
use crate::command::Call;
use crate::message::{Failure, Input, InputKind, Reply};
use crate::remote::{Remote, is_remote};
use zten_formats::BesideNames;

/// A job and its place among all.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) number: u64,
    pub(super) entries: Vec<Entry>,
    /// True if it may have ended a worker: then it is sent to one that has no other.
    pub(super) alone: bool,
}

/// The files of a job, open, in messages.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) packet: Packet,
    pub(super) lengths: Lengths,
}

impl Handed {
    /// Bytes of all of them.
    pub(super) fn length(&self) -> u64 {
        self.lengths.known.iter().copied().fold(0, u64::saturating_add)
    }
}

impl Item {
    /// Returns the path that names the job in messages: its only file, the file behind a list of digests, or the newer of two.
    pub(super) fn path(&self) -> PathBuf {
        self.entries.last().map(|entry| entry.path.clone()).unwrap_or_default()
    }

    /// The other paths that lead to its first file.
    pub(super) fn also(&self) -> Vec<PathBuf> {
        self.entries.first().map(|entry| entry.also.clone()).unwrap_or_default()
    }

    /// The path beside which the files are that the file of that number names.
    pub(super) fn input(&self, number: u32) -> Option<PathBuf> {
        let entry = self.entries.get(usize::try_from(number).ok()?)?;
        (!is_remote(&entry.path)).then(|| entry.beside())
    }

    /// Opens its files. One that cannot be opened is reported by the worker.
    ///
    /// # Errors
    /// There are too many descriptors now.
    pub(super) fn open(&self, call: &Call) -> io::Result<Handed> {
        let mut handed = Handed { packet: Packet::default(), lengths: Lengths::default() };
        for (number, entry) in (0..).zip(&self.entries) {
            let opened = open(entry, call, &mut handed.lengths);
            let (kind, file) = match opened {
                Ok((kind, file)) => (kind, Some(file)),
                Err(error) if is_too_many(&error) => return Err(error),
                Err(error) => (InputKind::Failed(Failure::new(&error)), None),
            };
            let input = Reply::Input(Input {
                name: entry.path.clone(),
                job: self.number,
                number,
                kind,
                other_names: entry.other_names(),
                beside_weights: entry.beside_weights,
            });
            let added = handed.packet.append(Packet::of(&input, file)?);
            added.map_err(|_| io::Error::from(io::ErrorKind::InvalidFilename))?;
        }
        Ok(handed)
    }
}

/// Opens one file, and notes its length. A remote file is not waited for.
fn open(entry: &Entry, call: &Call, lengths: &mut Lengths) -> io::Result<(InputKind, OwnedFd)> {
    let strictness = call.strictness();
    if is_remote(&entry.path) {
        let file = Remote::start(&entry.path, strictness.max_siblings())?;
        lengths.known.push(u64::MAX);
        let later = match (BesideNames::of(&entry.path), call.task()) {
            _ if !strictness.looks_for_shards() => DeferredFiles::Nothing,
            (Some(_), _) => DeferredFiles::Headers,
            (None, Task::Look) => DeferredFiles::Nothing,
            (None, _) => DeferredFiles::Shards,
        };
        lengths.later = lengths.later.max(later);
        return Ok((InputKind::Remote, file.into()));
    }
    if entry.path.as_os_str() == "-" {
        lengths.known.push(strictness.options().limit().decoded());
        lengths.held = true;
        return Ok((InputKind::Stream, io::stdin().as_fd().try_clone_to_owned()?));
    }
    let (file, length) = entry.open()?;
    lengths.known.push(length);
    Ok((InputKind::File(length), file.into()))
}

/// The jobs that are to be done.
pub(super) struct Source<'a> {
    call: &'a Call,
    pub(super) entries: Entries,
    /// The number of the next job.
    next: u64,
    /// Jobs that were sent to a worker which did not get to them.
    pub(super) again: VecDeque<Item>,
    /// A job whose files are open and that no worker could take.
    pub(super) held: Option<(Item, Handed)>,
    /// True if there are no more entries.
    is_read: bool,
    /// The reason why there are no more, if it is not that all were named.
    pub(super) failed: Option<String>,
}

impl<'a> Source<'a> {
    /// Returns the jobs of a command.
    ///
    /// # Errors
    /// The list of files cannot be opened.
    pub(super) fn new(call: &'a Call) -> Result<Self, String> {
        let entries = match call {
            Call::Check(args) => {
                Entries::of(args).map_err(|error| check::list_error(args, &error))?
            }
            _ => Entries::named(call.paths(), call.finds_models()),
        };
        let (again, held) = (VecDeque::new(), None);
        Ok(Self { call, entries, next: 0, again, held, is_read: false, failed: None })
    }

    /// Returns the number of jobs that there have been so far.
    pub(super) fn count(&self) -> u64 {
        self.next
    }

    /// Returns whether all jobs have been handed out.
    pub(super) fn is_over(&self) -> bool {
        self.is_read && self.again.is_empty() && self.held.is_none()
    }

    /// The descriptor of a list of files that is waited for.
    pub(super) fn waits_for(&self, ordered: &Ordered) -> Option<BorrowedFd<'_>> {
        let wants_more = !self.is_read && ordered.has_room(self.next);
        if wants_more && !self.entries.is_ready() { self.entries.waits_for() } else { None }
    }

    /// The next job; none, if there is none now.
    pub(super) fn next_item(&mut self, ordered: &Ordered) -> Option<Item> {
        if let Some(item) = self.again.pop_front() {
            return Some(item);
        }
        if self.is_read || !ordered.has_room(self.next) || !self.entries.is_ready() {
            return None;
        }
        let mut entries = Vec::new();
        while entries.len() < self.call.files_of_job() {
            match self.entries.next() {
                Ok(Some(entry)) => entries.push(entry),
                Ok(None) => {
                    self.is_read = true;
                    return None;
                }
                Err(error) => {
                    self.failed = match self.call {
                        Call::Check(args) => Some(check::list_error(args, &error)),
                        _ => Some(error.to_string()),
                    };
                    self.is_read = true;
                    return None;
                }
            }
        }
        let number = self.next;
        self.next = number.saturating_add(1);
        Some(Item { number, entries, alone: false })
    }

    /// Takes jobs back that were not done, in order.
    pub(super) fn put_back(
        &mut self,
        items: impl IntoIterator<Item = Item, IntoIter: DoubleEndedIterator>,
    ) {
        items.into_iter().rev().for_each(|item| self.again.push_front(item));
    }
}
