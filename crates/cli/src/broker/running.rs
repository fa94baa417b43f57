//! A running worker, as the broker sees it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{Shutdown, shutdown};
use zten_sandbox::Budget;

use super::source::{Handed, Item};
use crate::budget::{self, Lengths, for_task};
use crate::channel::{self, Packet, Received};
use crate::command::Call;
use crate::message::{DESCRIPTORS, PART, Reply};
use crate::mode::Mode;
use crate::objects::WORTH_IT;
use crate::status::Status;
use crate::worker::{ARGUMENT, Start};
use crate::{paint, progress, remote, threads};

/// The number of jobs after which a worker is replaced. Each job adds to the worker's budget of processor time, and the limit
/// keeps unused time of many jobs from adding up to an unbounded budget for the next.
const JOBS: usize = 4096;
/// Bytes of a file above which a job counts as [`LARGE`] jobs.
const SMALL: u64 = 16 << 20;
/// The number of jobs that a large one counts as.
const LARGE: usize = 128;

/// The time in which a worker has to receive a packet while it starts.
const START: Duration = Duration::from_secs(60);

/// Bytes of text that any job may print, and the additional bytes for each byte of its headers: about 30 bytes of a header
/// become a line of JSON.
const TEXT: u64 = 64 << 20;
const TEXT_PER_BYTE: u64 = 256;

/// Seconds of processor time beyond the budget after which the broker ends a worker that has survived `SIGXCPU`.
const GRACE: u64 = 5;

/// A job that a worker was sent.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) item: Item,
    pub(super) lengths: Lengths,
    /// The budget that was granted for the job.
    budget: Budget,
    /// Text that was received and is not printed yet.
    pub(super) text: String,
    /// The number of sibling files that the worker has asked for.
    pub(super) requested_files: u32,
    /// The status of a job that is done, and whether its files are to be published when the worker has ended.
    pub(super) done: Option<(Status, bool)>,
    /// Bytes of text that were received for the job.
    printed: u64,
}

impl Task {
    pub(super) fn new(item: Item, handed: &Handed) -> Self {
        let lengths = handed.lengths.clone();
        Self {
            item,
            lengths,
            budget: Budget::default(),
            text: String::new(),
            requested_files: 0,
            done: None,
            printed: 0,
        }
    }

    /// Counts `bytes` more bytes of text of this job, and returns whether the total is within the limit. The limit grows with
    /// the files' headers, whose length is at most `header` bytes each, because the output describes headers.
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

    /// Returns the number of jobs that this one counts as.
    fn count(&self) -> usize {
        if self.longest() > SMALL { LARGE } else { 1 }
    }
}

/// A worker that is running. Dropping the value ends the process.
pub(super) struct Running {
    child: Option<Child>,
    socket: OwnedFd,
    /// True after the worker has announced that it is ready for files.
    pub(super) ready: bool,
    /// The budget of all jobs that the worker was sent.
    granted: Budget,
    /// Bytes of address space that the worker used when it was confined. `None` before, and if it has no limits.
    memory: Option<u64>,
    threads: usize,
    /// The number of jobs that the worker may still be sent.
    left: usize,
    /// The jobs that the worker was sent and has not finished, in order.
    pub(super) tasks: VecDeque<Task>,
    /// Bytes of the files in the last packet that the worker was sent.
    pub(super) bytes: u64,
    /// The time that the broker has waited since the last sign of activity of the worker.
    silent: Duration,
    /// Clock ticks of processor time that the worker had used at that sign of activity.
    ticks: u64,
}

impl Running {
    /// Starts a worker whose first job is `task`.
    pub(super) fn start(call: &Call, mode: Mode, task: &Task) -> io::Result<Self> {
        let jobs = match call {
            Call::Check(args) => usize::from(args.jobs.unwrap_or(1)),
            _ => 1,
        };
        let wanted = threads::wanted().checked_div(jobs).unwrap_or(1).max(1);
        let threads = if task.is_large() && call.task().takes_threads() { wanted } else { 1 };
        let budget = for_task(call.task(), &task.lengths, call.strictness(), threads);
        // The files of one packet, those of a packet sent ahead, the siblings of one file, and 32 for the streams, the socket
        // and libraries.
        let open = u64::try_from(2 * DESCRIPTORS).unwrap_or(u64::MAX).saturating_add(32);
        let descriptors = open.saturating_add(call.strictness().max_siblings().into());
        // A command without an output file needs no right to write to any.
        let file = if call.writes_data() || call.writes_files() { budget.file } else { Some(0) };
        let budget = Budget { descriptors, file, ..budget };
        let (socket, theirs) = channel::pair()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0(std::env::args_os().next().unwrap_or_else(|| "zten".into()));
        let out = if call.writes_data() { Stdio::inherit() } else { Stdio::null() };
        let child =
            command.arg(ARGUMENT).stdin(theirs).stdout(out).stderr(Stdio::null()).spawn()?;
        let running = Self::new(Some(child), socket, budget, threads);
        let start = Start {
            call,
            mode,
            budget,
            threads,
            streams: paint::streams(),
            terminals: progress::terminals(),
            remote: remote::settings(),
        };
        let start = postcard::to_allocvec(&start).map_err(io::Error::other)?;
        let mut parts = start.chunks(PART).peekable();
        while let Some(part) = parts.next() {
            running.send(&Packet::of(&Reply::Start(part, parts.peek().is_some()), None)?)?;
        }
        Ok(running)
    }

    /// Wraps the worker at the other end of `socket`. `child` is `None` in tests, whose workers are threads.
    pub(super) fn new(
        child: Option<Child>,
        socket: OwnedFd,
        granted: Budget,
        threads: usize,
    ) -> Self {
        let (tasks, left) = (VecDeque::new(), JOBS);
        Self {
            child,
            socket,
            ready: false,
            granted,
            memory: None,
            threads,
            left,
            tasks,
            bytes: 0,
            silent: Duration::ZERO,
            ticks: 0,
        }
    }

    /// Returns whether this worker may be sent `task`: it has enough threads for the size of the files, and is not due to be
    /// replaced after its last job.
    pub(super) fn takes(&self, task: &Task) -> bool {
        let has_threads = self.threads > 1 || !task.is_large() || threads::wanted() < 2;
        has_threads && task.count() <= self.left
    }

    /// Returns whether the worker needs no further jobs now: it has `jobs` jobs or `bytes` bytes of files, or a job that must
    /// run alone.
    pub(super) fn is_busy(&self, jobs: usize, bytes: u64) -> bool {
        let is_alone = self.tasks.front().is_some_and(|task| task.item.alone);
        is_alone || self.tasks.len() >= jobs || !self.is_idle() && self.bytes >= bytes
    }

    /// Returns whether the worker has no job.
    pub(super) fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Notes that the worker is ready, and the bytes `memory` of address space that it used when it was confined.
    pub(super) fn ready(&mut self, memory: Option<u64>) {
        if std::mem::replace(&mut self.ready, true) {
            return;
        }
        self.memory = memory;
        self.raise();
    }

    /// Adds the budget of `task` to the worker's budget. The first job's budget was granted at the start.
    pub(super) fn grant(&mut self, call: &Call, task: &mut Task) {
        self.left = self.left.saturating_sub(task.count());
        task.budget = for_task(call.task(), &task.lengths, call.strictness(), self.threads);
        let is_first = self.left.saturating_add(task.count()) >= JOBS;
        if !is_first {
            let file = self.granted.file;
            budget::add(&mut self.granted, &task.budget);
            self.granted.file = file.min(self.granted.file);
            self.raise();
        }
    }

    /// Raises the worker's budget for the sibling files that its current job has been given since it started.
    pub(super) fn grant_front(&mut self, call: &Call) {
        let Some(task) = self.tasks.front_mut() else { return };
        let needed = for_task(call.task(), &task.lengths, call.strictness(), self.threads);
        let before = std::mem::replace(&mut task.budget, needed);
        let more = |granted: Option<u64>, needed: Option<u64>, before: Option<u64>| {
            let more = needed.zip(before).map(|(needed, before)| needed.saturating_sub(before));
            granted.zip(more).map(|(granted, more)| granted.saturating_add(more))
        };
        let granted = &mut self.granted;
        granted.memory = granted.memory.zip(needed.memory).map(|(one, other)| one.max(other));
        granted.seconds = more(granted.seconds, needed.seconds, before.seconds);
        if granted.file != Some(0) {
            granted.file = more(granted.file, needed.file, before.file);
        }
        self.raise();
    }

    /// Raises the limits of the worker process to its granted budget.
    fn raise(&self) {
        let (Some(child), Some(used)) = (&self.child, self.memory) else { return };
        let memory = self.granted.memory.map(|granted| granted.saturating_add(used));
        // If a limit cannot be raised, the worker ends when it reaches the limit, and the job is reported.
        zten_sandbox::raise(child.id(), &Budget { memory, ..self.granted });
    }

    /// Restarts the idle time, because a message was sent to or received from the worker.
    pub(super) fn heard(&mut self) {
        self.silent = Duration::ZERO;
    }

    /// Adds `waited` to the idle time of the worker, and returns whether the worker has been idle for longer than `limit`: the
    /// worker has sent no message, has used no processor time, and does not wait for a stream of the user.
    pub(super) fn is_silent_for(&mut self, waited: Duration, limit: Duration, call: &Call) -> bool {
        let used = |child: &Child| zten_sandbox::ticks_used(child.id());
        // Processor time that was used before the idle time began is no sign of activity.
        if self.silent.is_zero() && waited >= Duration::from_secs(1) {
            self.ticks = self.child.as_ref().and_then(used).unwrap_or_default();
        }
        self.silent = self.silent.saturating_add(waited);
        let Some(task) = self.tasks.front() else { return false };
        if self.silent < limit.saturating_add(task.fetches_for()) {
            return false;
        }
        let ticks = self.child.as_ref().and_then(used).unwrap_or(self.ticks);
        let is_idle = std::mem::replace(&mut self.ticks, ticks) == ticks
            && (!task.lengths.held || is_ready(&io::stdin(), PollFlags::IN))
            && (!call.writes_data() || is_ready(&io::stdout(), PollFlags::OUT));
        if !is_idle {
            self.silent = Duration::ZERO;
        }
        is_idle
    }

    /// Returns whether the worker has used more processor time than was granted. The kernel sends `SIGXCPU` at the limit, but a
    /// worker that was taken over can block the signal.
    pub(super) fn is_over_time(&self) -> bool {
        let used = self.child.as_ref().and_then(|child| zten_sandbox::seconds_used(child.id()));
        let granted = self.granted.seconds.filter(|_| self.memory.is_some());
        used.zip(granted).is_some_and(|(used, granted)| used > granted.saturating_add(GRACE))
    }

    /// Sends the worker a packet. Does not block once the worker is ready: a worker that receives its jobs leaves room in the
    /// socket's buffer, and one that does not must not stop the broker.
    pub(super) fn send(&self, packet: &Packet) -> io::Result<()> {
        if self.ready { packet.send(&self.socket) } else { packet.send_within(&self.socket, START) }
    }

    /// Receives a packet without blocking.
    ///
    /// # Errors
    /// `WouldBlock` if the worker has sent none.
    pub(super) fn receive(&self) -> io::Result<Option<Received>> {
        Received::poll(&self.socket)
    }

    /// Returns the descriptor that becomes readable when the worker sends a packet.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Tells the worker that no more jobs follow.
    pub(super) fn close(&self) -> io::Result<()> {
        Ok(shutdown(&self.socket, Shutdown::Write)?)
    }

    /// Kills the worker, and returns its exit status. A worker that is exiting keeps its own status, because the kernel sets
    /// the status before it closes the socket.
    pub(super) fn end(&mut self) -> io::Result<ExitStatus> {
        let Some(child) = &mut self.child else { return Ok(ExitStatus::default()) };
        child.kill()?;
        child.wait()
    }
}

/// Returns whether `stream` can be read or written (`how`) without waiting for the process at its other end.
fn is_ready(stream: &impl AsFd, how: PollFlags) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(stream, how)], Some(&now)).is_ok_and(|ready| ready > 0)
}

impl Drop for Running {
    fn drop(&mut self) {
        // Harmless if the process was ended before: the child is reaped, and `kill` does nothing.
        let _ = self.end();
    }
}
