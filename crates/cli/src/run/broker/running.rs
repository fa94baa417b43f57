//! A running worker, as the broker sees it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use zten_sandbox::Budget;
use zten_worker::Confinement;
use zten_worker::process::{DESCRIPTORS, Process, Start};

use super::source::{CheckJob, Handed};
use crate::args::Call;
use crate::input::objects::WORTH_IT;
use crate::input::threads;
use crate::link::status::Status;
use crate::output::{paint, progress};
use crate::run::budget::{self, Lengths, for_task};
use crate::run::worker::{ARGUMENT, Settings};
use crate::source::remote;

/// The number of jobs after which a worker is replaced. Each job adds to the worker's budget of processor time, and the limit
/// keeps unused time of many jobs from adding up to an unbounded budget for the next.
const JOBS: usize = 4096;
/// The length in bytes of the longest file of a job that counts as one job. A job with a longer file counts as [`LARGE`] jobs.
const SMALL: u64 = 16 << 20;
/// The number of jobs that a job with a long file counts as, so that its worker is replaced earlier.
const LARGE: usize = 128;

/// The number of bytes of text that any job may print. A job may print [`TEXT_PER_BYTE`] more for each byte of its headers,
/// because about 30 bytes of a header become a line of JSON.
const TEXT: u64 = 64 << 20;
/// The number of bytes of text that a job may print for each byte of the headers of its files, in addition to [`TEXT`].
const TEXT_PER_BYTE: u64 = 256;

/// A job that a worker was sent.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) item: CheckJob,
    pub(super) lengths: Lengths,
    /// The budget that was granted for the job.
    budget: Budget,
    /// Text that was received and is not printed yet.
    pub(super) text: String,
    /// The number of sibling files that the worker has asked for.
    pub(super) requested_files: u32,
    /// The number of blobs of a store that the worker has asked for.
    pub(super) requested_blobs: u32,
    /// The status of a job that is done, and whether its files are to be published when the worker has ended.
    pub(super) done: Option<(Status, bool)>,
    /// The number of bytes of text that the worker has sent for the job so far.
    printed: u64,
}

impl Task {
    pub(super) fn new(item: CheckJob, handed: &Handed) -> Self {
        let lengths = handed.lengths.clone();
        Self {
            item,
            lengths,
            budget: Budget::default(),
            text: String::new(),
            requested_files: 0,
            requested_blobs: 0,
            done: None,
            printed: 0,
        }
    }

    /// Counts `bytes` more bytes of text of this job, and returns whether the total is within the limit. The limit grows with the
    /// files' headers, because the output describes headers: the header of each file, and those of all sibling files together,
    /// count as at most `header` bytes.
    pub(super) fn may_print(&mut self, bytes: usize, header: u64) -> bool {
        self.printed = self.printed.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        let lengths = self.lengths.known.iter().copied().chain([self.lengths.siblings]);
        let headers = lengths.map(|length| length.min(header)).fold(0, u64::saturating_add);
        self.printed <= TEXT.saturating_add(headers.saturating_mul(TEXT_PER_BYTE))
    }

    /// Returns the time that the broker adds to the idle timeout if a process fetches a remote file for the worker: that
    /// process has time limits of its own.
    fn fetches_for(&self) -> Duration {
        let is_fetched = self.lengths.known.contains(&u64::MAX);
        if is_fetched { Duration::from_secs(remote::time_limit()) } else { Duration::ZERO }
    }

    fn longest(&self) -> u64 {
        self.lengths.known.iter().copied().max().unwrap_or_default()
    }

    /// Returns whether the longest file is large enough for several threads.
    fn is_large(&self) -> bool {
        self.longest() >= WORTH_IT
    }

    /// Returns how many of the jobs that a worker may be sent this job uses up: [`LARGE`] if a file is long, and otherwise 1.
    fn count(&self) -> usize {
        if self.longest() > SMALL { LARGE } else { 1 }
    }
}

/// A worker that is running, and its jobs. Dropping the value ends the process.
pub(super) struct Running {
    pub(super) process: Process,
    threads: usize,
    /// The number of jobs that the worker may still be sent.
    left: usize,
    /// The jobs that the worker was sent and has not finished, in order.
    pub(super) tasks: VecDeque<Task>,
    /// The total length in bytes of the files in the last packet that the worker was sent.
    pub(super) bytes: u64,
}

impl Running {
    /// Starts a worker whose first job is `task`.
    pub(super) fn start(call: &Call, mode: Confinement, task: &Task) -> io::Result<Self> {
        let jobs = match call {
            Call::Check(args) => usize::from(args.jobs.unwrap_or(1)),
            _ => 1,
        };
        let wanted = threads::wanted().checked_div(jobs).unwrap_or(1).max(1);
        let threads =
            if task.is_large() && budget::Task::of(call).takes_threads() { wanted } else { 1 };
        let budget = for_task(budget::Task::of(call), &task.lengths, call.strictness(), threads);
        // The files of one packet, those of a packet sent ahead, the siblings of one file, and 32 for the streams, the socket
        // and libraries.
        let open = u64::try_from(2 * DESCRIPTORS).unwrap_or(u64::MAX).saturating_add(32);
        let descriptors = open.saturating_add(call.strictness().max_siblings().into());
        // A worker of a command without output files may not write to files.
        let file = if call.writes_data() || call.writes_files() { budget.file } else { Some(0) };
        let budget = Budget { descriptors, file, ..budget };
        let mut command = Command::new("/proc/self/exe");
        command.arg0(std::env::args_os().next().unwrap_or_else(|| "zten".into()));
        let out = if call.writes_data() { Stdio::inherit() } else { Stdio::null() };
        command.arg(ARGUMENT).stdout(out).stderr(Stdio::null());
        // A worker fetches nothing. One that a file has taken over could print what is in its environment.
        for secret in remote::SECRETS {
            command.env_remove(secret);
        }
        let settings = Settings {
            call,
            threads,
            streams: paint::streams(),
            terminals: progress::terminals(),
            remote: remote::settings(),
        };
        let start = Start { confinement: mode, budget, settings };
        Ok(Self::new(Process::start(&mut command, &start)?, threads))
    }

    /// Creates the worker in `process`, which has `threads` threads and no jobs.
    pub(super) fn new(process: Process, threads: usize) -> Self {
        Self { process, threads, left: JOBS, tasks: VecDeque::new(), bytes: 0 }
    }

    /// Returns whether this worker may be sent `task`: it has enough threads for the size of the files, and is not due to be
    /// replaced after its last job.
    pub(super) fn takes(&self, task: &Task) -> bool {
        let has_threads = self.threads > 1 || !task.is_large() || threads::wanted() < 2;
        has_threads && task.count() <= self.left
    }

    /// Returns whether the worker should get no further jobs now: it has at least `jobs` jobs, or files of at least `bytes`
    /// bytes, or a job that must run alone.
    pub(super) fn is_busy(&self, jobs: usize, bytes: u64) -> bool {
        let is_alone = self.tasks.front().is_some_and(|task| task.item.alone);
        is_alone || self.tasks.len() >= jobs || !self.is_idle() && self.bytes >= bytes
    }

    /// Returns whether the worker has no job.
    pub(super) fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Subtracts `task` from the jobs that the worker may still be sent, and adds the budget of `task` to the budget of the
    /// worker. The budget of the first job was granted when the worker was started, and is not added again.
    pub(super) fn grant(&mut self, call: &Call, task: &mut Task) {
        self.left = self.left.saturating_sub(task.count());
        task.budget =
            for_task(budget::Task::of(call), &task.lengths, call.strictness(), self.threads);
        let is_first = self.left.saturating_add(task.count()) >= JOBS;
        if !is_first {
            let mut granted = *self.process.granted();
            budget::add(&mut granted, &task.budget);
            granted.file = self.process.granted().file.min(granted.file);
            self.process.grant(granted);
        }
    }

    /// Raises the worker's budget for the sibling files that its current job has been given since it started.
    pub(super) fn grant_front(&mut self, call: &Call) {
        let Some(task) = self.tasks.front_mut() else { return };
        let needed =
            for_task(budget::Task::of(call), &task.lengths, call.strictness(), self.threads);
        let before = std::mem::replace(&mut task.budget, needed);
        let more = |granted: Option<u64>, needed: Option<u64>, before: Option<u64>| {
            let more = needed.zip(before).map(|(needed, before)| needed.saturating_sub(before));
            granted.zip(more).map(|(granted, more)| granted.saturating_add(more))
        };
        let mut granted = *self.process.granted();
        granted.memory = granted.memory.zip(needed.memory).map(|(one, other)| one.max(other));
        granted.seconds = more(granted.seconds, needed.seconds, before.seconds);
        if granted.file != Some(0) {
            granted.file = more(granted.file, needed.file, before.file);
        }
        self.process.grant(granted);
    }

    /// Adds `waited` to the idle time of the worker, and returns whether the worker has been idle for longer than `limit`, and for
    /// the time limit of a process that fetches a file for it: the worker has sent no message, has used no processor time, and does
    /// not wait for a stream of the user.
    pub(super) fn is_silent_for(&mut self, waited: Duration, limit: Duration, call: &Call) -> bool {
        let Some(task) = self.tasks.front() else { return false };
        let limit = limit.saturating_add(task.fetches_for());
        self.process.is_silent_for(waited, limit, || {
            task.lengths.held && !is_ready(&io::stdin(), PollFlags::IN)
                || call.writes_data() && !is_ready(&io::stdout(), PollFlags::OUT)
        })
    }
}

/// Returns whether `stream` can be read or written (`how`) without waiting for the process at its other end.
fn is_ready(stream: &impl AsFd, how: PollFlags) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(stream, how)], Some(&now)).is_ok_and(|ready| ready > 0)
}
