//! The jobs that are still to be handed out.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use zten::formats::BesideNames;
use zten_worker::process::{IoFailure, Packet, is_too_many};

use super::ordered::Ordered;
use crate::args::Call;
use crate::commands::check::{CheckedFile, Entries};
use crate::link::message::{Input, InputKind, Reply};
use crate::run::budget::{DeferredFiles, Lengths, Task};
use crate::source::remote::{Remote, is_remote};

/// A job: its number in order, and its files.
#[derive(Debug)]
pub(super) struct CheckJob {
    pub(super) number: u64,
    pub(super) entries: Vec<CheckedFile>,
    /// True if the job may have ended a worker. Such a job is sent to a worker without other jobs.
    pub(super) alone: bool,
}

/// The files of a job, opened for a worker: the packet that hands them over, and their lengths.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) packet: Packet,
    pub(super) lengths: Lengths,
}

impl Handed {
    /// Returns the total length in bytes of all files of the job.
    pub(super) fn length(&self) -> u64 {
        self.lengths.known.iter().copied().fold(0, u64::saturating_add)
    }
}

impl CheckJob {
    /// Returns the path that names the job in messages: the path of its last file. The last file is the only file, the file after a
    /// list of digests, the newer file of a comparison, or the last patch.
    pub(super) fn path(&self) -> PathBuf {
        self.entries.last().map(|entry| entry.path.clone()).unwrap_or_default()
    }

    /// Returns the other paths (links) that lead to the job's first file.
    pub(super) fn also(&self) -> Vec<PathBuf> {
        self.entries.first().map(|entry| entry.also.clone()).unwrap_or_default()
    }

    /// Returns the path of file `number`, in whose folder its sibling files are searched. Returns `None` for a remote file, or if
    /// the job has no such file.
    pub(super) fn input(&self, number: u32) -> Option<PathBuf> {
        let entry = self.entries.get(usize::try_from(number).ok()?)?;
        (!is_remote(&entry.path)).then(|| entry.beside())
    }

    /// Opens the files of the job. A file that cannot be opened becomes a message, so that the worker reports it.
    ///
    /// # Errors
    /// Too many descriptors are open, or a path is too long for a packet.
    pub(super) fn open(&self, call: &Call) -> io::Result<Handed> {
        let mut handed = Handed { packet: Packet::default(), lengths: Lengths::default() };
        for (number, entry) in (0..).zip(&self.entries) {
            let opened = open(entry, call, &mut handed.lengths);
            let (kind, file) = match opened {
                Ok((kind, file)) => (kind, Some(file)),
                Err(error) if is_too_many(&error) => return Err(error),
                Err(error) => (InputKind::Failed(IoFailure::new(&error)), None),
            };
            let input = Reply::Input(Input {
                name: entry.path.clone(),
                job: self.number,
                number,
                kind,
                other_names: entry.other_names(),
                origin: entry.origin,
                role: entry.role,
            });
            let added = handed.packet.append(Packet::of(&input, file)?);
            added.map_err(|_| io::Error::from(io::ErrorKind::InvalidFilename))?;
        }
        Ok(handed)
    }
}

/// Opens the file of `entry`, and adds its length to `lengths`. A remote file is opened by another process, which is not waited
/// for: its length counts as `u64::MAX`, because it is not known yet. The length of standard input counts as the limit `decoded`.
fn open(
    entry: &CheckedFile,
    call: &Call,
    lengths: &mut Lengths,
) -> io::Result<(InputKind, OwnedFd)> {
    let strictness = call.strictness();
    if is_remote(&entry.path) {
        let file = Remote::start(&entry.path, strictness.max_siblings())?;
        lengths.known.push(u64::MAX);
        let later = match (BesideNames::of(&entry.path), Task::of(call)) {
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

/// The jobs of a command that are not handed out yet.
pub(super) struct JobSource<'a> {
    call: &'a Call,
    pub(super) entries: Entries,
    /// The number of the next job.
    next: u64,
    /// Jobs that were sent to a worker and came back undone, or whose files could not be opened for lack of descriptors. They are
    /// handed out first.
    pub(super) again: VecDeque<CheckJob>,
    /// A job whose files are open and that no worker could take.
    pub(super) held: Option<(CheckJob, Handed)>,
    /// True if `entries` has no more files, or has failed.
    is_read: bool,
    /// The error that ended the list of files early.
    pub(super) failed: Option<String>,
}

impl<'a> JobSource<'a> {
    /// Creates the source of the jobs of `call`.
    ///
    /// # Errors
    /// The list of files cannot be opened.
    pub(super) fn new(call: &'a Call) -> Result<Self, String> {
        let (entries, again, held) = (Entries::of(call)?, VecDeque::new(), None);
        Ok(Self { call, entries, next: 0, again, held, is_read: false, failed: None })
    }

    /// Returns the number of jobs that have been created so far.
    pub(super) fn count(&self) -> u64 {
        self.next
    }

    /// Returns whether all jobs have been handed out.
    pub(super) fn is_over(&self) -> bool {
        self.is_read && self.again.is_empty() && self.held.is_none()
    }

    /// Returns the descriptor to wait for if `ordered` has room for the next job, and this job depends on more of the list of
    /// files.
    pub(super) fn waits_for(&self, ordered: &Ordered) -> Option<BorrowedFd<'_>> {
        let wants_more = !self.is_read && ordered.has_room(self.next);
        if wants_more && !self.entries.is_ready() { self.entries.waits_for() } else { None }
    }

    /// Returns the next job, or `None` if there is no job now: the list has ended, more of it has not arrived, or the window of
    /// `ordered` is full.
    pub(super) fn next_item(&mut self, ordered: &Ordered) -> Option<CheckJob> {
        if let Some(item) = self.again.pop_front() {
            return Some(item);
        }
        if self.is_read || !ordered.has_room(self.next) || !self.entries.is_ready() {
            return None;
        }
        let entries = match self.entries.next_job(self.call) {
            Ok(Some(entries)) => entries,
            ended => {
                self.failed = ended.err();
                self.is_read = true;
                return None;
            }
        };
        let number = self.next;
        self.next = number.saturating_add(1);
        Some(CheckJob { number, entries, alone: false })
    }

    /// Takes back jobs that were not done, in their order.
    pub(super) fn put_back(
        &mut self,
        items: impl IntoIterator<Item = CheckJob, IntoIter: DoubleEndedIterator>,
    ) {
        items.into_iter().rev().for_each(|item| self.again.push_front(item));
    }
}
