//! The broker: the process that the user called. The broker opens files, hands them to workers, and prints the text that the
//! workers render.
//!
//! A worker is confined and opens no file. The broker reads no byte of a file that it hands over. It does not trust the messages of
//! a worker, and accepts only text without control characters except the command's own colors, a status, and the names of sibling
//! files, which it opens at the paths that the rules on shards give, and the digests of blobs, whose lengths it looks up in the
//! store that it has found itself. However a worker ends, no job is lost: if it had several jobs, each is tried again in a worker
//! of its own, and a single job of a worker that was ready is reported.

mod ordered;
mod running;
mod source;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use zten::ReadAt as _;
use zten::shards::{ShardFile, ShardFinder, Want};
use zten_report::digests::Sha256;
use zten_worker::process::{
    DESCRIPTORS, Greeting, IoFailure, PART, Packet, invalid, is_gone, is_too_many,
};
use zten_worker::{Confinement, Ending};

use crate::args::Call;
use crate::commands::Create as _;
use crate::commands::check;
use crate::link::message::{Done, FoundSibling, Reply, Request, Stream, WireWant};
use crate::link::status::Status;
use crate::output::app::App;
use crate::output::kind::OutcomeKind;
use crate::output::progress;
use crate::output::report::Problem;
use crate::run::Outputs;
use ordered::{JobResult, Ordered};
use running::{Running, Task};
use source::{CheckJob, Handed, JobSource};

/// The largest total length in bytes of the files that one packet hands to a worker. A single file may be longer.
const ROOM: u64 = 16 << 20;
/// The number of workers in a row that may end before they are ready. After one more the command gives up.
const ATTEMPTS: u32 = 64;

/// The largest number of blobs whose lengths a worker may ask for in a job. A manifest of the largest length lists fewer.
const BLOBS: u32 = 1 << 16;
/// Rounds in a row in which the broker neither waits nor prints a result. One or two such rounds are normal when a worker could
/// not be reached or started, and another takes its job. More of them are a fault of this program, which must not loop.
const IDLE_ROUNDS: u32 = 64;

/// The time between two checks of the processor time that workers have used, and the longest single wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs a command in workers.
pub(crate) fn run(app: &mut App, call: &Call, mode: Confinement) -> io::Result<()> {
    zten_sandbox::allow_many_files();
    let jobs = match call {
        Call::Check(args) => args.jobs.unwrap_or(1),
        _ => 1,
    };
    match Broker::of(app, call, mode, jobs) {
        Ok(mut broker) => {
            broker.work(app, &mut Running::start)?;
            broker.printer.end(app)
        }
        Err(message) => app.usage(message),
    }
}

/// A function that starts a worker whose first job is the task.
type Start<'s> = dyn FnMut(&Call, Confinement, &Task) -> io::Result<Running> + 's;

/// The jobs of a command, and the workers that do them.
struct Broker<'a> {
    call: &'a Call,
    mode: Confinement,
    source: JobSource<'a>,
    slots: Vec<Option<Running>>,
    printer: Printer,
    outputs: Outputs<'a>,
    /// The number of workers in a row that have ended before they were ready.
    attempts: u32,
    /// Rounds in a row in which the broker neither waited nor printed a result.
    idle_rounds: u32,
    /// The message with which the command ends early, because no worker can do its jobs.
    halt: Option<String>,
    /// The time of the last check of the workers' processor time.
    looked: Instant,
    /// The time for which a worker may do nothing (`--idle-timeout`), or `None` for any time.
    silence: Option<Duration>,
}

/// Prints the results of jobs.
struct Printer {
    /// The output of `zten check`, which prints records in the order of the files. `None` for other commands.
    checks: Option<check::Output>,
    ordered: Ordered,
    /// True while a progress line is on the terminal.
    has_line: bool,
}

impl Printer {
    /// Removes the progress line, if one is drawn.
    fn clear(&mut self) {
        if std::mem::take(&mut self.has_line) {
            progress::clear();
        }
    }

    /// Takes the results of jobs up to the first job without a result, and prints those that were not printed yet. Returns
    /// whether there was any result.
    fn print_results(&mut self, app: &mut App) -> io::Result<bool> {
        let mut is_any = false;
        while let Some(result) = self.ordered.next() {
            is_any = true;
            if let (JobResult::Record(path, record), Some(checks)) = (result, &mut self.checks) {
                if std::mem::take(&mut self.has_line) {
                    progress::clear();
                }
                checks.record(app, &path, &record)?;
            }
        }
        Ok(is_any)
    }

    /// Keeps the result of `item`. A second result of the same job is reported as an internal error.
    fn put(&mut self, app: &mut App, item: &CheckJob, result: JobResult) -> io::Result<()> {
        if self.ordered.put(item.number, result) {
            return Ok(());
        }
        let path = crate::escape::path(&item.path());
        app.usage(format_args!("internal error: {path} has a second result"))
    }

    /// Reports `problem` as the result of `item`.
    fn problem(&mut self, app: &mut App, item: &CheckJob, problem: Problem) -> io::Result<()> {
        self.clear();
        let result = if let Some(checks) = &self.checks {
            let path = item.path();
            let record = checks.problem(&path, item.also(), problem);
            JobResult::Record(path, record)
        } else {
            app.problem(&problem)?;
            JobResult::Printed
        };
        self.put(app, item, result)
    }

    fn end(mut self, app: &mut App) -> io::Result<()> {
        self.clear();
        self.checks.map_or(Ok(()), |checks| checks.end(app))
    }
}

impl<'a> Broker<'a> {
    /// Creates a broker of up to `jobs` workers.
    ///
    /// # Errors
    /// The list of files cannot be opened, or the beginning of the output cannot be written.
    fn of(app: &mut App, call: &'a Call, mode: Confinement, jobs: u16) -> Result<Self, String> {
        let source = JobSource::new(call)?;
        let checks = match call {
            Call::Check(args) => {
                let output = check::Output::begin(app, args, &source.entries);
                Some(output.map_err(|error| error.to_string())?)
            }
            _ => None,
        };
        Ok(Self {
            call,
            mode,
            source,
            slots: (0..jobs).map(|_| None).collect(),
            printer: Printer { checks, ordered: Ordered::default(), has_line: false },
            outputs: Outputs::of(call),
            attempts: 0,
            idle_rounds: 0,
            halt: None,
            looked: Instant::now(),
            silence: crate::run::silence::limit(),
        })
    }

    /// Runs all jobs, in workers that `start` starts.
    fn work(&mut self, app: &mut App, start: &mut Start<'_>) -> io::Result<()> {
        loop {
            for slot in 0..self.slots.len() {
                self.send_batch(app, slot, start)?;
            }
            let has_printed = self.printer.print_results(app)?;
            if let Some(message) = self.halt.take() {
                return app.usage(message);
            }
            if self.source.is_over() && self.is_idle() {
                break;
            }
            // Results are shown before the broker waits for further ones.
            app.out.flush()?;
            let start = Instant::now();
            let has_waited = self.wait()?;
            // A longer wait means that this process was stopped (by Ctrl-Z, say), and the workers with it. Such time does
            // not count as idle time of a worker.
            let waited = start.elapsed().min(PATIENCE);
            self.idle_rounds =
                if has_printed || has_waited { 0 } else { self.idle_rounds.saturating_add(1) };
            if self.idle_rounds > IDLE_ROUNDS {
                return app
                    .usage("internal error: files are left to read, and no worker reads them");
            }
            if self.looked.elapsed() >= PATIENCE {
                self.looked = Instant::now();
                self.end_over_time(app)?;
            }
            for slot in 0..self.slots.len() {
                self.receive(app, slot)?;
            }
            self.end_silent(app, waited)?;
        }
        let (jobs, results) = (self.source.count(), self.printer.ordered.taken());
        if jobs != results {
            app.usage(format_args!("internal error: {results} of {jobs} jobs have a result"))?;
        }
        match self.source.failed.take() {
            Some(message) => app.usage(message),
            None => Ok(()),
        }
    }

    /// Returns whether no worker has a job.
    fn is_idle(&self) -> bool {
        self.slots.iter().flatten().all(Running::is_idle)
    }

    /// Returns the number of jobs that are sent to one worker before the first is done: many for `check`, whose results the
    /// broker sorts, and 1 for the other commands, because the broker prints the text of a job as it arrives.
    fn ahead(&self) -> usize {
        if self.printer.checks.is_some() { DESCRIPTORS } else { 1 }
    }

    /// Opens the files of the next jobs, up to the number that the worker in `slot` may have, and sends them. Starts a worker if
    /// the slot has no worker that can take the jobs.
    fn send_batch(&mut self, app: &mut App, slot: usize, start: &mut Start<'_>) -> io::Result<()> {
        let busy = |running: &Running| running.is_busy(self.ahead(), ROOM);
        if self.halt.is_some()
            || self.slots.get(slot).is_some_and(|slot| slot.as_ref().is_some_and(busy))
        {
            return Ok(());
        }
        let mut packet = Packet::default();
        let (mut tasks, mut bytes) = (Vec::new(), 0_u64);
        while tasks.len() < self.ahead() {
            let Some((item, handed)) = self.open_next(app, tasks.is_empty())? else { break };
            let total = bytes.saturating_add(handed.length());
            let is_first = tasks.is_empty();
            let is_alone = item.alone;
            let fits = if is_first { true } else { total <= ROOM && !is_alone };
            let mut task = Task::new(item, &handed);
            if !fits || !self.can_take(slot, &task, is_first, start) {
                self.source.held = Some((task.item, handed));
                break;
            }
            if let Err(back) = packet.append(handed.packet) {
                self.source.held = Some((task.item, Handed { packet: back, ..handed }));
                break;
            }
            bytes = total;
            if let Some(Some(running)) = self.slots.get_mut(slot) {
                running.grant(self.call, &mut task);
            }
            tasks.push(task);
            if is_alone {
                break;
            }
        }
        if tasks.is_empty() {
            return Ok(());
        }
        let is_idle = self.is_idle();
        let Some(Some(running)) = self.slots.get_mut(slot) else { return Ok(()) };
        match running.process.send(&packet) {
            Ok(()) => {
                if running.is_idle() {
                    running.process.heard();
                }
                running.bytes = bytes;
                running.tasks.extend(tasks);
            }
            // An idle worker ended before it was sent a job, so no job is to blame.
            Err(error) if is_gone(&error) && running.process.is_ready() && running.is_idle() => {
                self.source.put_back(tasks.into_iter().map(|task| task.item));
                self.slots.get_mut(slot).map(Option::take);
            }
            // The worker is gone. `receive` will report its job or put its jobs back, or report why it never started.
            Err(error) if is_gone(&error) => running.tasks.extend(tasks),
            // Other workers will return descriptors soon, so retry later.
            Err(error) if is_too_many(&error) && !is_idle => {
                self.source.put_back(tasks.into_iter().map(|task| task.item));
            }
            // The socket is full: the worker claims to be done with jobs, and does not receive the next.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let items = tasks.into_iter().map(|task| CheckJob { alone: true, ..task.item });
                self.source.put_back(items.collect::<Vec<_>>());
                return self.lost(app, slot, Some(&error));
            }
            Err(error) => {
                for task in tasks {
                    let problem = Problem::io(&task.item.path(), &error);
                    self.printer.problem(app, &task.item, problem)?;
                }
            }
        }
        Ok(())
    }

    /// Returns whether the worker in `slot` can take `task`. If the task is the first of a packet (`is_first`) and the slot's
    /// worker is idle or missing, starts a new worker for it. If it cannot be started, returns false, and the command will end
    /// unless another worker runs.
    fn can_take(
        &mut self,
        slot: usize,
        task: &Task,
        is_first: bool,
        start: &mut Start<'_>,
    ) -> bool {
        let Some(slot) = self.slots.get_mut(slot) else { return false };
        if slot.as_ref().is_some_and(|running| running.takes(task)) {
            return true;
        }
        if !is_first || slot.as_ref().is_some_and(|running| !running.is_idle()) {
            return false;
        }
        *slot = None;
        match start(self.call, self.mode, task) {
            Ok(running) => *slot = Some(running),
            Err(error) => {
                // If other workers run, they do the work of this one.
                if self.slots.iter().all(Option::is_none) {
                    self.not_started(&error.to_string());
                }
                return false;
            }
        }
        true
    }

    /// Opens the files of the next job. Returns `None` if there is no job now, or if descriptors are short while other workers may
    /// still return some. A job whose files cannot be handed over is reported, and the next one is opened.
    fn open_next(
        &mut self,
        app: &mut App,
        is_first: bool,
    ) -> io::Result<Option<(CheckJob, Handed)>> {
        if let Some(held) = self.source.held.take() {
            return Ok(Some(held));
        }
        loop {
            let Some(item) = self.source.next_item(&self.printer.ordered) else { return Ok(None) };
            match item.open(self.call) {
                Ok(handed) => return Ok(Some((item, handed))),
                Err(error) if is_too_many(&error) && !(is_first && self.is_idle()) => {
                    self.source.again.push_front(item);
                    return Ok(None);
                }
                Err(error) => {
                    let problem = Problem::io(&item.path(), &error);
                    self.printer.problem(app, &item, problem)?;
                }
            }
        }
    }

    /// Waits for an answer of a worker, or for more of the list of files, up to [`PATIENCE`] or the idle timeout if that is
    /// shorter. Returns false if there was nothing to wait for.
    fn wait(&self) -> io::Result<bool> {
        let running = self.slots.iter().flatten();
        let busy = running.filter(|running| !running.is_idle());
        let mut asked: Vec<PollFd<'_>> = busy
            .map(|running| PollFd::from_borrowed_fd(running.process.descriptor(), PollFlags::IN))
            .collect();
        let list = self.source.waits_for(&self.printer.ordered);
        asked.extend(list.map(|list| PollFd::from_borrowed_fd(list, PollFlags::IN)));
        // No descriptor will become ready. For example, files could not be opened, and the next files can be tried at once.
        if asked.is_empty() {
            return Ok(false);
        }
        let patience = self.silence.map_or(PATIENCE, |limit| limit.min(PATIENCE));
        let patience = Timespec::try_from(patience).ok();
        match poll(&mut asked, patience.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the workers that have done nothing for too long.
    fn end_silent(&mut self, app: &mut App, waited: Duration) -> io::Result<()> {
        let Some(limit) = self.silence else { return Ok(()) };
        for slot in 0..self.slots.len() {
            let running = self.slots.get_mut(slot).and_then(Option::as_mut);
            if running.is_some_and(|running| running.is_silent_for(waited, limit, self.call)) {
                let seconds = limit.as_secs();
                let error = io::Error::other(format!(
                    "it has done nothing for {seconds} s; raise --idle-timeout to allow more"
                ));
                self.lost(app, slot, Some(&error))?;
            }
        }
        Ok(())
    }

    /// Ends the workers that have exceeded their limit of processor time.
    fn end_over_time(&mut self, app: &mut App) -> io::Result<()> {
        for slot in 0..self.slots.len() {
            let running = self.slots.get(slot).and_then(Option::as_ref);
            if running.is_some_and(|running| !running.is_idle() && running.process.is_over_time()) {
                let error = io::Error::other("it has exceeded its limit of processor time");
                self.lost(app, slot, Some(&error))?;
            }
        }
        Ok(())
    }

    /// Receives the answers that the worker in `slot` has sent, and acts on them.
    fn receive(&mut self, app: &mut App, slot: usize) -> io::Result<()> {
        // The bound keeps a worker that floods the socket from starving the other workers.
        for _ in 0..DESCRIPTORS {
            let Some(Some(running)) = self.slots.get_mut(slot) else { return Ok(()) };
            if running.is_idle() {
                return Ok(());
            }
            let mut received = match running.process.receive() {
                Ok(Some(received)) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Ok(None) => return self.lost(app, slot, None),
                Err(error) => return self.lost(app, slot, Some(&error)),
            };
            running.process.heard();
            if !running.process.is_ready() {
                let greeting = running.process.greeting(&mut received);
                if let Err(error) = greeting.and_then(|greeting| self.greeted(slot, greeting)) {
                    return self.lost(app, slot, Some(&error));
                }
            }
            loop {
                let answered = match received.message() {
                    Ok(None) => break,
                    Ok(Some(request)) => self.answer(app, slot, &request)?,
                    Err(error) => Err(error),
                };
                if let Err(error) = answered {
                    return self.lost(app, slot, Some(&error));
                }
            }
        }
        Ok(())
    }

    /// Acts on the first message of the worker in `slot`. If the command requires a sandbox and the worker has none, the command
    /// will end with a message.
    ///
    /// # Errors
    /// The worker reports that it is not confined, although the command does not require a sandbox.
    fn greeted(&mut self, slot: usize, greeting: Greeting) -> io::Result<()> {
        match greeting {
            Greeting::Ready { .. } => self.attempts = 0,
            Greeting::NotConfined(why) if self.mode == Confinement::Require => {
                self.halt = Some(format!("--require-sandbox: {}", crate::escape::escape_all(&why)));
                self.slots.get_mut(slot).map(Option::take);
            }
            Greeting::NotConfined(_) => {
                return Err(invalid(
                    "the worker reports that it cannot be confined as required, but the command did not require this",
                ));
            }
        }
        Ok(())
    }

    /// Carries out the request of the worker in `slot`.
    ///
    /// # Errors
    /// The outer error is of this process's output. The inner error is a fault of the worker, which ends it.
    fn answer(
        &mut self,
        app: &mut App,
        slot: usize,
        request: &Request<'_>,
    ) -> io::Result<io::Result<()>> {
        let Some(Some(running)) = self.slots.get_mut(slot) else { return Ok(Ok(())) };
        match request {
            Request::Text(stream, text) => return self.text(app, slot, *stream, text),
            Request::Progress(done, total, millis) => {
                if progress::terminals().errors {
                    self.printer.has_line = true;
                    progress::draw(*done, *total, *millis);
                }
            }
            Request::Find(number, WireWant(want)) => return Ok(self.find(slot, *number, want)),
            Request::Blob(number, sha256) => return Ok(self.blob(slot, *number, sha256)),
            Request::Create(number, shards) => {
                let created = self.outputs.create(*number, *shards);
                let packet = match created {
                    Ok(file) => Packet::of(&Reply::Created, Some(file.into())),
                    Err(error) => Packet::of(&Reply::Failed(IoFailure::new(&error)), None),
                };
                return Ok(packet.and_then(|packet| running.process.send(&packet)));
            }
            Request::Done(done) => return self.done(app, slot, done),
            Request::Read(..) | Request::Plan(..) => {
                return Ok(Err(invalid(
                    "the worker sent a request that only the process for remote files answers",
                )));
            }
        }
        Ok(Ok(()))
    }

    /// Prints `text` of the current job of the worker in `slot`, or keeps it until the job is done. Control characters, too much
    /// text, and text while no job runs are faults of the worker.
    fn text(
        &mut self,
        app: &mut App,
        slot: usize,
        stream: Stream,
        text: &str,
    ) -> io::Result<io::Result<()>> {
        let Some(Some(running)) = self.slots.get_mut(slot) else { return Ok(Ok(())) };
        let Some(task) = running.tasks.front_mut() else {
            return Ok(Err(invalid("the worker sent text while no job runs")));
        };
        let streams = crate::output::paint::streams();
        if !is_clean(text, streams.output || streams.errors) {
            return Ok(Err(invalid("the worker sent text with control characters")));
        }
        if !task.may_print(text.len(), self.call.strictness().options().limit().manifest()) {
            return Ok(Err(invalid("the worker sent too much text")));
        }
        // A command that writes files says in its output that they are written. So the output is printed after the files got
        // their names.
        if self.printer.checks.is_some() || stream == Stream::Output && !self.outputs.is_empty() {
            if task.text.len().saturating_add(text.len()) > PART {
                return Ok(Err(invalid("the worker sent too much text")));
            }
            task.text.push_str(text);
            return Ok(Ok(()));
        }
        self.printer.clear();
        app.text(stream, text).map(Ok)
    }

    /// Opens the file `want`, which input `number` of the current job refers to, and sends it to the worker in `slot`. Remote
    /// inputs find their siblings through another process. A request while no job runs, for such an input, or beyond the limit on
    /// shards is a fault of the worker.
    fn find(&mut self, slot: usize, number: u32, want: &Want) -> io::Result<()> {
        let Some(Some(running)) = self.slots.get_mut(slot) else { return Ok(()) };
        let Some(task) = running.tasks.front_mut() else {
            return Err(invalid("the worker requested a file while no job runs"));
        };
        let strictness = self.call.strictness();
        task.requested_files = task.requested_files.saturating_add(1);
        let files = u32::try_from(task.item.entries.len()).unwrap_or(u32::MAX);
        let most = strictness.max_siblings().saturating_mul(files);
        let path = task.item.input(number).filter(|_| task.requested_files <= most);
        let path: PathBuf =
            path.ok_or_else(|| invalid("the worker requested more files than the limit allows"))?;
        let packet = match ShardFinder::of(&path).links(strictness.links()).open(want) {
            Ok(Some(ShardFile { file, length, .. })) => {
                let identity = file.identity();
                match want {
                    Want::Shard(_) => task.lengths.known.push(length),
                    Want::Sibling(_) => {
                        task.lengths.siblings = task.lengths.siblings.saturating_add(length);
                    }
                }
                running.grant_front(self.call);
                Packet::of(
                    &Reply::Found(Some(FoundSibling { number: 0, identity, length })),
                    Some(file.into()),
                )
            }
            Ok(None) => Packet::of(&Reply::Found(None), None),
            Err(error) => Packet::of(&Reply::Failed(IoFailure::new(&error)), None),
        };
        running.process.send(&packet?)
    }

    /// Sends the worker in `slot` the length of the blob `sha256` in the store of input `number`, a manifest of Ollama.
    fn blob(&mut self, slot: usize, number: u32, sha256: &Sha256) -> io::Result<()> {
        let Some(Some(running)) = self.slots.get_mut(slot) else { return Ok(()) };
        let Some(task) = running.tasks.front_mut() else {
            return Err(invalid("the worker requested a blob while no job runs"));
        };
        task.requested_blobs = task.requested_blobs.saturating_add(1);
        let entry = usize::try_from(number).ok().and_then(|number| task.item.entries.get(number));
        let entry = entry.filter(|_| task.requested_blobs <= BLOBS);
        let entry = entry
            .ok_or_else(|| invalid("the worker requested more blobs than a manifest can list"))?;
        let reply = match entry.blob_length(sha256) {
            Ok(length) => Reply::Blob(length),
            Err(error) => Reply::Failed(IoFailure::new(&error)),
        };
        running.process.send(&Packet::of(&reply, None)?)
    }

    /// Handles the message `done`, which ends the current job of the worker in `slot`. Keeps the result of the job. If the worker
    /// writes files, keeps the status until the worker has ended.
    fn done(&mut self, app: &mut App, slot: usize, done: &Done) -> io::Result<io::Result<()>> {
        let Some(Some(running)) = self.slots.get_mut(slot) else { return Ok(Ok(())) };
        let kind = match done.kind.as_ref().map(OutcomeKind::from_numbers) {
            Some(None) => {
                return Ok(Err(invalid(
                    "the worker sent the number of a verdict or rule that does not exist",
                )));
            }
            kind => kind.flatten(),
        };
        if !self.outputs.is_empty() {
            // The files are published when the process has ended: until then it could still write to them.
            if let Some(task) = running.tasks.front_mut() {
                task.done = Some((done.status, done.has_files));
            }
            return Ok(running.process.close());
        }
        if self.call.writes_files() && done.status == Status::Success {
            return Ok(Err(invalid(
                "the worker reported success of a command that has written no file",
            )));
        }
        let Some(mut task) = running.tasks.pop_front() else {
            return Ok(Err(invalid("the worker reported a result while no job runs")));
        };
        let path = task.item.path();
        match (kind, self.printer.checks.is_some()) {
            (Some(kind), true) => {
                let text = std::mem::take(&mut task.text);
                let record = check::RenderedOutcome { kind, text, also: task.item.also() };
                if self.printer.checks.as_ref().is_some_and(|own| !own.accepts(&path, &record)) {
                    // The job stays with the worker, so that `lost` reports it or gives it to another worker.
                    running.tasks.push_front(task);
                    return Ok(Err(invalid(
                        "the worker sent a verdict on another file than that of its job",
                    )));
                }
                self.printer.put(app, &task.item, JobResult::Record(path, record))?;
            }
            // Without a verdict the text is dropped: it may be a part of a verdict's text.
            (None, true) => {
                let problem = Problem::no_verdict(&path);
                self.printer.problem(app, &task.item, problem)?;
            }
            (_, false) => {
                self.printer.clear();
                app.set_exit_status(done.status);
                app.out.write_all(task.text.as_bytes())?;
                self.printer.put(app, &task.item, JobResult::Printed)?;
            }
        }
        Ok(Ok(()))
    }

    /// Ends the worker in `slot`, which has ended by itself or, if there is an error `why`, has sent an invalid message or exceeded
    /// a limit. If the worker has ended after a job that writes files, publishes the files. Otherwise, if the worker was ready and
    /// had a single job, reports that job. All other jobs are put back, each for a worker of its own. After too many workers that
    /// were never ready, the command will end.
    fn lost(&mut self, app: &mut App, slot: usize, why: Option<&io::Error>) -> io::Result<()> {
        let Some(mut running) = self.slots.get_mut(slot).and_then(Option::take) else {
            return Ok(());
        };
        let ended = running.process.end();
        let ended = match (why, ended) {
            (Some(why), _) => why.to_string(),
            (None, Ok(status)) if status.success() => {
                if let Some(Task { done: Some(done), text, item, .. }) = running.tasks.front() {
                    self.publish(app, *done, text)?;
                    return self.printer.put(app, item, JobResult::Printed);
                }
                "it ended early".to_owned()
            }
            (None, Ok(status)) => Ending::from(status).to_string(),
            (None, Err(error)) => error.to_string(),
        };
        let mut tasks: VecDeque<_> = std::mem::take(&mut running.tasks);
        if !running.process.is_ready() {
            self.attempts = self.attempts.saturating_add(1);
            if self.attempts > ATTEMPTS {
                self.not_started(&ended);
            }
        } else if tasks.len() == 1
            && let Some(task) = tasks.pop_front()
        {
            let problem = Problem::ended(&task.item.path(), &ended);
            self.printer.problem(app, &task.item, problem)?;
        }
        // The worker may have finished some of these jobs without reporting them, so it is not known which one ended it. Each
        // is tried again in a worker of its own.
        let items = tasks.into_iter().map(|task| CheckJob { alone: true, ..task.item });
        self.source.put_back(items);
        Ok(())
    }

    /// If `has_files`, gives the files that the worker has written their names, and prints `text`. Sets the exit status to
    /// `status`, the status of the job of the worker.
    fn publish(
        &mut self,
        app: &mut App,
        (status, has_files): (Status, bool),
        text: &str,
    ) -> io::Result<()> {
        self.printer.clear();
        app.set_exit_status(status);
        if !has_files {
            return Ok(());
        }
        match self.outputs.publish() {
            Ok(()) => app.out.write_all(text.as_bytes()),
            Err(problem) => app.problem(&problem),
        }
    }

    /// Ends the command because workers cannot be started, for the reason `why`.
    fn not_started(&mut self, why: &str) {
        self.halt = Some(format!(
            "cannot start a confined process: {why}; --no-sandbox reads files without one"
        ));
    }
}

/// Returns whether `text` has no control characters except tabs, newlines and, if `has_colors`, the escape sequences of colors.
fn is_clean(text: &str, has_colors: bool) -> bool {
    let is_plain = |text: &str| text.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control());
    let mut parts = text.split('\x1b');
    parts.next().is_none_or(is_plain)
        && parts.all(|part| {
            // A sequence that sets or resets the color: digits and semicolons between "[" and "m".
            let code = part.strip_prefix('[').and_then(|part| part.split_once('m'));
            has_colors
                && code.is_some_and(|(code, rest)| {
                    code.len() <= 16
                        && code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';')
                        && is_plain(rest)
                })
        })
}
