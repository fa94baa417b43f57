//! A thread's part of a pool: it starts one worker at a time, gives it jobs, and kills it.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Shared, TICK};
use crate::process::{Greeting, Packet, Process, Start, is_gone};
use crate::protocol::{Exchange, call};
use crate::ticket::Task;
use crate::worker::ARGUMENT;
use crate::{Budget, Confinement, Job, JobError, StartError};

/// The longest time from the start of a worker until it reports that it is confined. A slower worker is an error.
const PATIENCE: Duration = Duration::from_secs(60);
/// The number of descriptors that a worker may have open at a time: up to 32 for the files of its job, and the others for its
/// standard streams and for libraries.
const DESCRIPTORS: usize = 64;

/// The state of one thread of a pool, which keeps one worker and gives it one job after another. `worker` is `None` after a worker
/// has ended and before the next one is started.
pub(super) struct Keeper<'a> {
    shared: &'a Shared,
    worker: Option<Worker>,
}

/// A worker process, and the number of jobs that it may still do.
struct Worker {
    process: Process,
    left: u32,
}

/// The reason why a worker did not receive a job. It decides whether the job is given to another worker.
enum Unusable {
    /// The worker ended before it received the job, so the job is not to blame.
    Gone,
    Error(JobError),
}

impl From<JobError> for Unusable {
    fn from(error: JobError) -> Self {
        Self::Error(error)
    }
}

impl<'a> Keeper<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self { shared, worker: None }
    }

    /// Starts a worker before a job needs it. If that fails, the next job tries to start one again, and gets the error.
    pub(super) fn prepare(&mut self) {
        if self.worker.is_none() {
            self.worker = self.start().ok();
        }
    }

    fn start(&self) -> io::Result<Worker> {
        let settings = &self.shared.settings;
        let mut command = match &settings.program {
            Some((program, _)) => Command::new(program),
            // This path starts the running program, even if an update has replaced the file of the program since.
            None => Command::new("/proc/self/exe"),
        };
        command.arg(ARGUMENT);
        if let Some((_, arguments)) = &settings.program {
            command.args(arguments);
        }
        // A worker gets no environment variables, because they may hold secrets. It gets no output streams, because a worker that
        // was taken over could write to the output of the program.
        command.env_clear().stdout(Stdio::null()).stderr(Stdio::null());
        let budget = settings.budget.limits(DESCRIPTORS);
        let start = Start { confinement: settings.confinement, budget, settings: () };
        let process = Process::start(&mut command, &start)?;
        Ok(Worker { process, left: settings.jobs_per_worker })
    }

    /// Waits until the first worker has confined itself, and returns a sentence with the layer that its confinement lacks, or
    /// `None` if it lacks no layer. If the pool does not confine its workers, the sentence says so.
    pub(super) fn first(&mut self) -> Result<Option<String>, StartError> {
        let mut worker = match self.worker.take() {
            Some(worker) => worker,
            None => self.start().map_err(StartError::NotStarted)?,
        };
        let missing = match greeted(&mut worker.process) {
            Ok(Some(Greeting::Ready { missing, .. })) => missing,
            Ok(Some(Greeting::NotConfined(why))) => return Err(StartError::NotConfined(why)),
            Ok(None) => {
                let ended = worker.process.end().map_err(StartError::NotStarted)?;
                return Err(StartError::Ended(ended.into()));
            }
            Err(error) => return Err(StartError::NotStarted(error)),
        };
        self.worker = Some(worker);
        let is_off = self.shared.settings.confinement == Confinement::Off;
        Ok(if is_off { Some("the pool does not confine its workers".to_owned()) } else { missing })
    }

    /// Runs `job`, which belongs to `task`, in a worker, and returns its answer.
    pub(super) fn run(&mut self, task: &Task, job: Job) -> Result<Vec<u8>, JobError> {
        let budget = job.budget.unwrap_or(self.shared.settings.budget);
        let Job { function, argument, files, .. } = job;
        let call = call(task.number, function.name, &argument, files)?;
        let (mut worker, deadline) = loop {
            let is_new = self.worker.is_none();
            let mut worker = match self.worker.take() {
                Some(worker) => worker,
                None => self.start().map_err(JobError::NotStarted)?,
            };
            let sent = ready(&mut worker.process).and_then(|()| {
                worker.grant(&budget, DESCRIPTORS);
                let deadline = Deadline::new(budget.deadline);
                send(&worker.process, &call, deadline)?;
                Ok(deadline)
            });
            match sent {
                Ok(deadline) => break (worker, deadline),
                // A worker that was started ahead may have ended since then.
                Err(Unusable::Gone) if !is_new => {}
                Err(Unusable::Gone) => {
                    let ended = worker.process.end().map_err(JobError::NotStarted)?;
                    return Err(JobError::Ended(ended.into()));
                }
                Err(Unusable::Error(error)) => return Err(error),
            }
        };
        drop(call);
        let answer = self.outcome(&mut worker.process, task, budget.answer, deadline)?;
        // The check comes before the worker gets another job, because a worker whose answer fails the check was probably taken
        // over.
        if let Ok(answer) = &answer {
            function.check(answer).map_err(JobError::Answer)?;
        }
        worker.left = worker.left.saturating_sub(1);
        self.worker = Some(worker).filter(|worker| worker.left > 0);
        answer.map_err(JobError::Failed)
    }

    /// Receives the outcome of the job `task` from its worker `process` before the `deadline`: the answer, of at most `most` bytes,
    /// or the text of the function's error.
    fn outcome(
        &self,
        process: &mut Process,
        task: &Task,
        most: usize,
        deadline: Deadline,
    ) -> Result<Result<Vec<u8>, String>, JobError> {
        let mut exchange = Exchange::new(task.number, most);
        loop {
            if self.shared.look_around() {
                return Err(JobError::Stopped);
            }
            if task.is_canceled() {
                return Err(JobError::Canceled);
            }
            let left = deadline.left();
            if left.is_zero() {
                return Err(deadline.error());
            }
            match received(process, left.min(TICK)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(JobError::Answer(error.to_string())),
                Ok(None) => {
                    let ended = process.end().map_err(JobError::NotStarted)?;
                    return Err(JobError::Ended(ended.into()));
                }
                Ok(Some(mut received)) => match exchange.add(&mut received) {
                    Ok(None) => {}
                    Ok(Some(outcome)) => return Ok(outcome),
                    Err(error) => return Err(JobError::Answer(error.to_string())),
                },
            }
        }
    }
}

impl Worker {
    /// Sets the limits of the worker for its next job to those of `budget`. `descriptors` is the number of descriptors that the
    /// worker may have open, which stays as it was when the worker was started.
    fn grant(&mut self, budget: &Budget, descriptors: usize) {
        let mut limits = budget.limits(descriptors);
        // The kernel also counts the processor time of earlier jobs of this worker.
        let used = self.process.seconds_used().unwrap_or_default();
        limits.seconds = limits.seconds.map(|seconds| seconds.saturating_add(used));
        self.process.grant(limits);
    }
}

/// The moment by which a worker has to complete its answer.
#[derive(Clone, Copy)]
struct Deadline {
    /// The time that the job has in total, for the error.
    time: Duration,
    /// The moment at which this time is over. `None` if it is too far away for the clock.
    end: Option<Instant>,
}

impl Deadline {
    /// Creates the deadline of a job that a worker takes now and for which it has `time`.
    fn new(time: Duration) -> Self {
        Self { time, end: Instant::now().checked_add(time) }
    }

    /// Returns the time that is left: zero if the deadline has passed.
    fn left(self) -> Duration {
        self.end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
    }

    /// Returns the error of a job whose deadline has passed.
    fn error(self) -> JobError {
        JobError::Deadline(self.time)
    }
}

/// Sends the packets of a job to the worker `process`. All packets together have to be received by the `deadline`, so that a worker
/// that receives slowly gets no more time for a job with a long argument.
fn send(process: &Process, call: &[Packet], deadline: Deadline) -> Result<(), Unusable> {
    call.iter().try_for_each(|packet| match process.send_within(packet, deadline.left()) {
        Ok(()) => Ok(()),
        Err(error) if is_gone(&error) => Err(Unusable::Gone),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(deadline.error().into()),
        Err(error) => Err(JobError::NotStarted(error).into()),
    })
}

/// Waits until the worker `process` has greeted the pool, unless it has done so before: it is then confined, and ready for a job.
fn ready(process: &mut Process) -> Result<(), Unusable> {
    if process.is_ready() {
        return Ok(());
    }
    match greeted(process) {
        Ok(Some(Greeting::Ready { .. })) => Ok(()),
        Ok(Some(Greeting::NotConfined(why))) => Err(JobError::NotConfined(why).into()),
        Ok(None) => Err(Unusable::Gone),
        Err(error) => Err(JobError::NotStarted(error).into()),
    }
}

/// Waits for the greeting of the new worker `process`, for [`PATIENCE`] at most. Returns `None` if the worker has ended.
///
/// # Errors
/// `WouldBlock` if no packet has arrived in this time; `InvalidData` if the packet is no greeting.
fn greeted(process: &mut Process) -> io::Result<Option<Greeting>> {
    match received(process, PATIENCE) {
        Ok(None) => Ok(None),
        Ok(Some(mut received)) => process.greeting(&mut received).map(Some),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits up to `patience` for a packet from the worker `process`. Returns `None` if the worker has ended.
///
/// # Errors
/// `WouldBlock` if no packet has arrived in that time.
fn received(process: &Process, patience: Duration) -> io::Result<Option<crate::process::Received>> {
    let patience = Timespec::try_from(patience).ok();
    let socket = process.descriptor();
    match poll(&mut [PollFd::new(&socket, PollFlags::IN)], patience.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => process.receive(),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{PART, Received, pair};

    /// A worker that receives one packet of a long job every 20 ms does not get the whole deadline for each packet.
    #[test]
    fn the_deadline_counts_from_the_first_packet() {
        let (own, theirs) = pair().unwrap();
        let process = Process::at(own, zten_sandbox::Budget::default());
        let call = call(1, "f", &vec![0; 200 * PART], Vec::new()).unwrap();
        let receiver = std::thread::spawn(move || {
            while Received::receive(&theirs).unwrap().is_some() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let time = Duration::from_millis(200);
        let sent = send(&process, &call, Deadline::new(time));
        assert!(matches!(sent, Err(Unusable::Error(JobError::Deadline(own))) if own == time));
        drop(process);
        receiver.join().unwrap();
    }
}
