//! Starts workers, reads and validates their answers, and kills them.

use std::fmt;
use std::fs::File;
use std::io::{self, IoSliceMut, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};

use crate::answer::{self, ALIGNMENT, Answer, Component, Facts, Rejection, UNCONFINED, Want};
use crate::sealed::Sealed;

/// The limits for one file.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The time limit from the start of the worker to the end of its answer.
    pub time: Duration,
    /// The address space that a worker may add after its start, in bytes.
    pub memory: u64,
    /// The largest total size of all decoded components in bytes, if they are asked for.
    pub content: u64,
    /// The largest size of an answer in bytes.
    pub answer: u64,
}

impl Default for Settings {
    /// Returns limits of ten seconds, 512 MiB of memory, 1 GiB of content, and 16 MiB for an answer.
    fn default() -> Self {
        Self {
            time: Duration::from_secs(10),
            memory: 512 << 20,
            content: 1 << 30,
            answer: 16 << 20,
        }
    }
}

/// The outcome of checking a file.
#[derive(Debug)]
pub enum Verdict {
    /// The file is valid.
    Valid(Model),
    /// The file is invalid, or cannot be read.
    Rejected(Rejection),
    /// The worker gave no valid answer in time. It was killed, and the file may be valid or invalid.
    Lost(Loss),
}

/// A valid file.
#[derive(Debug)]
pub struct Model {
    /// The facts that the manifest or header states.
    pub facts: Facts,
    /// The memory file of all decoded components, if they were asked for.
    content: Option<Sealed>,
}

impl Model {
    /// Returns the decoded little-endian bytes of `component`, which are aligned to 64 bytes. Returns `None` if content was not
    /// asked for.
    pub fn bytes(&self, component: &Component) -> Option<&[u8]> {
        let (start, length) = component.place?;
        let end = start.checked_add(length)?;
        self.content.as_ref()?.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }
}

/// The reason why a worker gave no valid answer.
#[derive(Debug)]
pub enum Loss {
    /// The worker exceeded the time limit.
    Time,
    /// The worker ended without an answer.
    Ended(ExitStatus),
    /// The answer is invalid, for the given reason.
    Answer(String),
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time => f.write_str("it took too long"),
            Self::Ended(status) if status.code() == Some(UNCONFINED.into()) => {
                f.write_str("it could not be confined, and so has read nothing")
            }
            Self::Ended(status) => write!(f, "it ended without an answer: {status}"),
            Self::Answer(why) => write!(f, "invalid answer: {why}"),
        }
    }
}

/// A service that checks each file in a new worker. Any number of threads may use it at the same time.
#[derive(Clone, Debug)]
pub struct Service {
    /// The path of the worker's program.
    worker: PathBuf,
    /// The first argument of each worker, if there is one.
    first: Option<&'static str>,
    settings: Settings,
}

impl Service {
    /// Returns a service whose workers run the program at the path `worker`.
    pub fn new(worker: impl Into<PathBuf>, settings: Settings) -> Self {
        Self { worker: worker.into(), first: None, settings }
    }

    /// Returns a service whose workers run this program itself, which has to call [`work`](crate::work) if its first argument
    /// is `first`. The program is started through `/proc/self/exe`, so replacing the file at its path has no effect.
    pub fn of_this_program(first: &'static str, settings: Settings) -> Self {
        Self { worker: "/proc/self/exe".into(), first: Some(first), settings }
    }

    /// Returns the limits for one file.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Checks `file`, which is open for reading, in a worker.
    ///
    /// # Errors
    /// The worker could not be started or killed. A worker that crashes is a [`Verdict::Lost`].
    pub fn check(&self, file: File, want: Want) -> io::Result<Verdict> {
        self.check_named("", file, want)
    }

    /// Checks `file` in a worker. The suffix of `name` decides the format if the first bytes do not. No file is opened by this
    /// name.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check).
    pub fn check_named(&self, name: &str, file: File, want: Want) -> io::Result<Verdict> {
        let until = Instant::now() + self.settings.time;
        let (own, theirs) = UnixStream::pair()?;
        let mut worker =
            Worker(self.command(want).arg(name).stdin(file).stdout(OwnedFd::from(theirs)).spawn()?);
        let answer = self.answer(&own, until);
        // The answer is complete, so the worker is killed. A worker that has ended already keeps its exit status.
        let status = worker.end()?;
        let validated = match answer {
            Ok(None) => return Ok(Verdict::Lost(Loss::Ended(status))),
            Ok(Some((answer, content))) => self.validate(answer, content, want),
            Err(error) => Err(error),
        };
        Ok(validated.unwrap_or_else(|error| {
            Verdict::Lost(match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Loss::Time,
                _ => Loss::Answer(error.to_string()),
            })
        }))
    }

    /// Returns the command that starts a worker.
    fn command(&self, want: Want) -> Command {
        let Settings { time, memory, content, .. } = self.settings;
        // A worker has one thread, so an honest worker cannot use more processor time than the time limit.
        let seconds = time.as_secs().saturating_add(1);
        let content = if want == Want::Content { content } else { 0 };
        let mut command = Command::new(&self.worker);
        command.args(self.first);
        command.args([memory, seconds, content].map(|number| number.to_string()));
        command.arg(want.name());
        // Environment variables of the service may be secrets, and a worker needs none.
        command.env_clear().stderr(Stdio::null());
        command
    }

    /// Reads the answer from `socket`, and the descriptor that comes with it. Returns `None` if the worker ends before the end
    /// of its answer.
    ///
    /// # Errors
    /// The answer is too long, does not come before `until`, or comes with several descriptors.
    fn answer(
        &self,
        socket: &UnixStream,
        until: Instant,
    ) -> io::Result<Option<(Vec<u8>, Option<OwnedFd>)>> {
        let mut head = [0; 8];
        let (read, content) = in_time(socket, until, || receive(socket, &mut head))?;
        if read == 0 {
            return Ok(None);
        }
        if read < head.len() {
            return Err(invalid("it begins in pieces"));
        }
        let length = u64::from_le_bytes(head);
        if length > self.settings.answer {
            return Err(invalid("it exceeds the maximum size"));
        }
        let length =
            usize::try_from(length).map_err(|_| invalid("it exceeds the maximum length"))?;
        // Memory is allocated as bytes arrive: a compromised worker could announce any length.
        let mut bytes = Vec::new();
        let mut piece = vec![0; length.min(64 << 10)];
        while bytes.len() < length {
            let most = piece.len().min(length - bytes.len());
            match in_time(socket, until, || (&*socket).read(&mut piece[..most]))? {
                0 => return Ok(None),
                read => bytes.extend_from_slice(&piece[..read]),
            }
        }
        Ok(Some((bytes, content)))
    }

    /// Parses and validates an answer of an untrusted worker.
    ///
    /// # Errors
    /// The answer is not what an honest worker sends.
    fn validate(
        &self,
        bytes: Vec<u8>,
        content: Option<OwnedFd>,
        want: Want,
    ) -> io::Result<Verdict> {
        let facts = match serde_json::from_slice(&bytes)? {
            Answer::Valid(facts) => facts,
            Answer::Rejected(rejection) => {
                let known = rejection.rule.as_deref().map(answer::rule);
                if known.is_some_and(|known| known.is_none_or(|(_, verdict)| verdict.is_valid())) {
                    return Err(invalid("unknown rule"));
                }
                if rejection.format.as_ref().is_some_and(|format| answer::known(format).is_none()) {
                    return Err(invalid("unknown format"));
                }
                return Ok(Verdict::Rejected(rejection));
            }
        };
        drop(bytes);
        if !answer::is_read(&facts.format) {
            return Err(invalid("unknown format"));
        }
        // A compromised worker could pass a broken rule as a note, so that an invalid file would look valid.
        let is_note = |note: &Rejection| {
            let known = note.rule.as_deref().and_then(answer::rule);
            known.is_some_and(|(_, verdict)| verdict.is_valid())
        };
        if !facts.notes.iter().all(is_note) {
            return Err(invalid("a note that is none"));
        }
        let content = match (want, content) {
            (Want::Verdict | Want::Facts, _) => None,
            (Want::Content, Some(file)) => Some(Sealed::new(file, self.settings.content)?),
            (Want::Content, None) => return Err(invalid("there is no content")),
        };
        let length = content.as_ref().map(|content| u64::try_from(content.len()).unwrap_or(0));
        let within = |(start, bytes): (u64, u64), length| {
            start % ALIGNMENT == 0 && start.checked_add(bytes).is_some_and(|end| end <= length)
        };
        let components = facts.objects.iter().flat_map(|object| &object.components);
        let placed = |component: &Component| match (component.place, length) {
            (Some(place), Some(length)) => within(place, length),
            (place, length) => place.is_none() && length.is_none(),
        };
        if !components.into_iter().all(placed) {
            return Err(invalid("a component is where it cannot be"));
        }
        Ok(Verdict::Valid(Model { facts, content }))
    }
}

/// A worker process, which is killed when this is dropped.
struct Worker(Child);

impl Worker {
    /// Kills the worker, and returns its exit status.
    fn end(&mut self) -> io::Result<ExitStatus> {
        self.0.kill()?;
        self.0.wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Killing a worker whose exit status was read has no effect.
        let _ = self.end();
    }
}

/// Calls `read` with the remaining time until `until` as the timeout of `socket`. A read that a signal interrupts is repeated.
///
/// # Errors
/// The errors of `read`; [`io::ErrorKind::TimedOut`] and [`io::ErrorKind::WouldBlock`] if the time is over.
fn in_time<T>(
    socket: &UnixStream,
    until: Instant,
    mut read: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        match read() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Receives one message into `bytes`, and the descriptor that may come with it.
///
/// # Errors
/// The message comes with more than one descriptor.
fn receive(socket: &UnixStream, bytes: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(bytes)];
    let received = recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let files = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let mut files = files.flatten();
    let file = files.next();
    // The alignment of the buffer may leave room for a second descriptor.
    if files.next().is_some() || received.flags.contains(ReturnFlags::CTRUNC) {
        return Err(invalid("it comes with more than one descriptor"));
    }
    Ok((received.bytes, file))
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
