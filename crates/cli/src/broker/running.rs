//! A worker, from the outside.

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

/// Jobs of one worker: then another one is started, so that the processor time that is granted for some of them and left is not
/// there for another without bound.
const JOBS: usize = 4096;
/// Bytes of a file above which a job counts as [`LARGE`].
const SMALL: u64 = 16 << 20;
/// The number of jobs that a large one counts as.
const LARGE: usize = 128;

/// The time in which a worker has to receive what it is told before it is ready.
const START: Duration = Duration::from_secs(60);

/// Bytes of text of one job, and as many more for each byte of a header: 30 bytes of a header become a line of JSON.
const TEXT: u64 = 64 << 20;
const TEXT_PER_BYTE: u64 = 256;

/// Seconds of processor time after the signal that ends an honest worker.
const GRACE: u64 = 5;

/// A job that a worker was sent.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) item: Item,
    pub(super) lengths: Lengths,
    /// The budget that was granted for it.
    budget: Budget,
    /// Text that was received and is not printed yet.
    pub(super) text: String,
    /// Files that were asked for.
    pub(super) found: u32,
    /// The status, if it is done and has files to publish.
    pub(super) done: Option<Status>,
    /// Bytes of text that were received.
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
            found: 0,
            done: None,
            printed: 0,
        }
    }

    /// Counts text, and returns whether an honest worker may print so much: what is said of a file follows its header.
    pub(super) fn may_print(&mut self, bytes: usize, header: u64) -> bool {
        self.printed = self.printed.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        let lengths = self.lengths.known.iter().copied().chain([self.lengths.siblings]);
        let headers = lengths.map(|length| length.min(header)).fold(0, u64::saturating_add);
        self.printed <= TEXT.saturating_add(headers.saturating_mul(TEXT_PER_BYTE))
    }

    /// The time for which the broker waits for a fetching process beside the worker: its limits are its own.
    fn fetches_for(&self) -> Duration {
        let is_fetched = self.lengths.known.contains(&u64::MAX);
        if is_fetched { Duration::from_secs(remote::time_limit()) } else { Duration::ZERO }
    }

    fn longest(&self) -> u64 {
        self.lengths.known.iter().copied().max().unwrap_or_default()
    }

    /// Returns whether several threads are worth it.
    fn is_large(&self) -> bool {
        self.longest() >= WORTH_IT
    }

    fn count(&self) -> usize {
        if self.longest() > SMALL { LARGE } else { 1 }
    }
}

/// A worker that is running. It does not outlive this.
pub(super) struct Running {
    child: Option<Child>,
    socket: OwnedFd,
    /// True if it has said that it is confined.
    pub(super) ready: bool,
    /// All that it may take.
    granted: Budget,
    /// Bytes of address space that it used before it was limited, once it is confined.
    memory: Option<u64>,
    threads: usize,
    /// The number of jobs that it may still be sent.
    left: usize,
    /// The jobs that it was sent and has not done, in order.
    pub(super) tasks: VecDeque<Task>,
    /// Bytes of the files that it was sent at last.
    pub(super) bytes: u64,
    /// The time that the broker has waited since the worker was last seen to do something.
    silent: Duration,
    /// Ticks of processor time that the worker had used then.
    ticks: u64,
}

impl Running {
    /// Starts one whose first job is `task`.
    pub(super) fn start(call: &Call, mode: Mode, task: &Task) -> io::Result<Self> {
        let jobs = match call {
            Call::Check(args) => usize::from(args.jobs.unwrap_or(1)),
            _ => 1,
        };
        let wanted = threads::wanted().checked_div(jobs).unwrap_or(1).max(1);
        let threads = if task.is_large() && call.task().takes_threads() { wanted } else { 1 };
        let budget = for_task(call.task(), &task.lengths, call.strictness(), threads);
        // Those that are read, those ahead, those that one names, and what is open anyway.
        let open = u64::try_from(2 * DESCRIPTORS).unwrap_or(u64::MAX).saturating_add(32);
        let descriptors = open.saturating_add(call.strictness().max_siblings().into());
        // Without an output there is no file to write to.
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

    /// A worker at the other end of a socket.
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

    /// Returns whether it can be sent a job.
    pub(super) fn takes(&self, task: &Task) -> bool {
        let has_threads = self.threads > 1 || !task.is_large() || threads::wanted() < 2;
        has_threads && task.count() <= self.left
    }

    /// Returns whether it has enough to do: so many jobs, or so many bytes.
    pub(super) fn is_busy(&self, jobs: usize, bytes: u64) -> bool {
        let is_alone = self.tasks.front().is_some_and(|task| task.item.alone);
        is_alone || self.tasks.len() >= jobs || !self.is_idle() && self.bytes >= bytes
    }

    /// Returns whether it has nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Notes that it is ready, and the address space that it uses if it is confined.
    pub(super) fn ready(&mut self, memory: Option<u64>) {
        if std::mem::replace(&mut self.ready, true) {
            return;
        }
        self.memory = memory;
        self.raise();
    }

    /// Grants what a job takes beside the jobs before.
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

    /// Grants what the current job takes with the files that it has been given since.
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

    /// Raises the limits of the process to what it may take.
    fn raise(&self) {
        let (Some(child), Some(used)) = (&self.child, self.memory) else { return };
        let memory = self.granted.memory.map(|granted| granted.saturating_add(used));
        // One that cannot be raised ends the worker when it is reached, which is reported.
        zten_sandbox::raise(child.id(), &Budget { memory, ..self.granted });
    }

    /// Notes that the worker has been given or has said something.
    pub(super) fn heard(&mut self) {
        self.silent = Duration::ZERO;
    }

    /// Adds time that the broker has waited for the worker, and returns whether it has done nothing for longer than `limit`: it
    /// has sent no message, it has used no processor time, and no stream of the user keeps it waiting.
    pub(super) fn is_silent_for(&mut self, waited: Duration, limit: Duration, call: &Call) -> bool {
        let used = |child: &Child| zten_sandbox::ticks_used(child.id());
        // What it has used before it became silent is no sign of life later.
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

    /// Returns whether it has used more processor time than it may. The kernel ends an honest one by `SIGXCPU`, which one
    /// that was taken over can block.
    pub(super) fn is_over_time(&self) -> bool {
        let used = self.child.as_ref().and_then(|child| zten_sandbox::seconds_used(child.id()));
        let granted = self.granted.seconds.filter(|_| self.memory.is_some());
        used.zip(granted).is_some_and(|(used, granted)| used > granted.saturating_add(GRACE))
    }

    /// Sends the worker a packet. A worker that is ready is not waited for: an honest one leaves enough room.
    pub(super) fn send(&self, packet: &Packet) -> io::Result<()> {
        if self.ready { packet.send(&self.socket) } else { packet.send_within(&self.socket, START) }
    }

    /// Receives a packet if one is there.
    pub(super) fn receive(&self) -> io::Result<Option<Received>> {
        Received::poll(&self.socket)
    }

    /// The descriptor that is readable when it has answered.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Says that no more jobs come.
    pub(super) fn close(&self) -> io::Result<()> {
        Ok(shutdown(&self.socket, Shutdown::Write)?)
    }

    /// Ends it, and returns its status. One that is ending keeps its own: the kernel closes its socket after that is set.
    pub(super) fn end(&mut self) -> io::Result<ExitStatus> {
        let Some(child) = &mut self.child else { return Ok(ExitStatus::default()) };
        child.kill()?;
        child.wait()
    }
}

/// Returns whether a stream can be read or written without waiting for what is at its other end.
fn is_ready(stream: &impl AsFd, how: PollFlags) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(stream, how)], Some(&now)).is_ok_and(|ready| ready > 0)
}

impl Drop for Running {
    fn drop(&mut self) {
        // A second time does nothing.
        let _ = self.end();
    }
}
