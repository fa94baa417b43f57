//! The reasons why a job has no answer, and why a pool cannot start.

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

/// The reason why a job has no answer. Except for [`Failed`](Self::Failed), no reason is a verdict on the files of the job.
#[derive(Debug)]
#[non_exhaustive]
pub enum JobError {
    /// The queue is full. The pool did not take the job, and the caller can submit it again later.
    QueueFull,
    /// The job waited in the queue for longer than this time, which is the limit of the pool. The caller can submit the job again
    /// later.
    Waited(Duration),
    /// The argument of the job and the names of its files are longer than 64 MiB together. The job cannot be sent to a worker, now
    /// or later.
    TooLong,
    /// The caller has canceled the job.
    Canceled,
    /// The pool was dropped before the job had ended.
    Stopped,
    /// The system cannot start a worker process, the new worker did not report that it is ready within a minute, or a message could
    /// not be sent to it, for the reason in the error.
    NotStarted(io::Error),
    /// The worker did not read the file, because the system lacks a layer of the confinement that the pool requires. The
    /// text names the layer.
    NotConfined(String),
    /// The worker was killed because its answer was not complete at the deadline of the job. The field is the time that the job
    /// had.
    Deadline(Duration),
    /// The worker process ended before its answer was complete. The field says how it ended.
    Ended(Ending),
    /// The answer breaks the protocol, is longer than the budget allows, or does not pass the check of its function, as the text
    /// says. The worker was killed.
    Answer(String),
    /// The function returned this text in place of an answer. A worker that was taken over may send any text, so
    /// [`Display`](fmt::Display) escapes it.
    Failed(String),
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::QueueFull => f.write_str("the queue of jobs is full"),
            Self::Waited(time) => write!(f, "no worker became free within {time:?}"),
            Self::TooLong => f.write_str(
                "the argument and the file names of the job exceed the maximum of 64 MiB",
            ),
            Self::Canceled => f.write_str("the job was canceled"),
            Self::Stopped => f.write_str("the pool has stopped"),
            Self::NotStarted(error) => write!(f, "no worker can be started: {error}"),
            Self::NotConfined(why) => {
                write!(f, "the worker could not be confined, and has read nothing: {why}")
            }
            Self::Deadline(time) => {
                write!(f, "the worker was killed: it gave no answer within {time:?}")
            }
            Self::Ended(ending) => write!(f, "the worker ended without an answer: {ending}"),
            Self::Answer(why) => write!(f, "the worker was killed: invalid answer: {why}"),
            Self::Failed(text) => {
                for c in text.chars() {
                    // Text of a worker must not move the cursor of a terminal, or hide or reorder other text.
                    if c.is_alphanumeric() || matches!(c, ' '..='~') {
                        write!(f, "{c}")?;
                    } else {
                        write!(f, "{}", c.escape_unicode())?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl Error for JobError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NotStarted(error) => Some(error),
            _ => None,
        }
    }
}

impl JobError {
    /// Returns whether the same job may succeed if it is submitted again later, because the pool was busy or could not start a
    /// worker.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::QueueFull | Self::Waited(_) | Self::NotStarted(_))
    }
}

/// How a worker process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// The worker made a system call that its filter forbids (`SIGSYS`). Code that reads files makes no such call, so the
    /// file has probably taken the worker over.
    ForbiddenCall,
    /// The worker used more processor time than its budget (`SIGXCPU`).
    ProcessorTime,
    /// The worker wrote more bytes to a file than its limit allows (`SIGXFSZ`). The workers of a pool may write no files at all.
    Output,
    /// The worker aborted (`SIGABRT`): usually memory ran out where an allocation cannot fail.
    Aborted,
    /// The function that the worker ran has panicked: the exit status is 101.
    Panicked,
    /// Another signal, of this number, killed the worker. The kernel sends signal 9 (`SIGKILL`) when the system runs out of memory.
    Signal(i32),
    /// The worker ended by itself with this exit status. `None` if the system does not tell the status.
    Exited(Option<i32>),
}

/// The exit status of a Rust process whose main thread has panicked.
const PANIC: i32 = 101;

impl From<ExitStatus> for Ending {
    fn from(status: ExitStatus) -> Self {
        #[cfg(target_os = "linux")]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            // These are the signal numbers of Linux on all processors that Rust supports, except MIPS and SPARC.
            return match signal {
                6 => Self::Aborted,
                24 => Self::ProcessorTime,
                25 => Self::Output,
                31 => Self::ForbiddenCall,
                signal => Self::Signal(signal),
            };
        }
        match status.code() {
            Some(PANIC) => Self::Panicked,
            code => Self::Exited(code),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForbiddenCall => f.write_str("it made a forbidden system call (SIGSYS)"),
            Self::ProcessorTime => f.write_str("it exceeded its processor time (SIGXCPU)"),
            Self::Output => f.write_str("it wrote more to a file than it may (SIGXFSZ)"),
            Self::Aborted => f.write_str("it aborted, probably out of memory (SIGABRT)"),
            Self::Panicked => f.write_str("it panicked"),
            Self::Signal(9) => f.write_str("it was killed (SIGKILL)"),
            Self::Signal(number) => write!(f, "it was killed by signal {number}"),
            Self::Exited(Some(code)) => write!(f, "exit status {code}"),
            Self::Exited(None) => f.write_str("unknown exit status"),
        }
    }
}

/// The reason why [`Builder::start`](crate::Builder::start) could not start a pool.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A layer of the required confinement is missing: the text names the layer and the reason.
    NotConfined(String),
    /// The system cannot start a thread of the pool or a worker process, or the first worker did not report that it is ready within
    /// a minute.
    NotStarted(io::Error),
    /// The first worker ended before it was ready. The most frequent cause is a program that does not call
    /// [`init`](crate::init) first in `main`.
    Ended(Ending),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConfined(why) => write!(f, "workers cannot be confined: {why}"),
            Self::NotStarted(error) => write!(f, "no worker can be started: {error}"),
            Self::Ended(ending) => write!(
                f,
                "the first worker ended before it was ready: {ending} (is `zten_worker::init` called first in `main`?)"
            ),
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NotStarted(error) => Some(error),
            _ => None,
        }
    }
}
