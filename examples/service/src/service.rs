//! The service's side: starts workers, reads their answers, and ends them.

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
    /// The time from the worker's start to the end of its answer.
    pub time: Duration,
    /// Bytes of address space for a worker, beside what it starts with.
    pub memory: u64,
    /// Bytes of all decoded components, as far as they are asked for.
    pub content: u64,
    /// Bytes of an answer.
    pub answer: u64,
}

impl Default for Settings {
    /// Ten seconds, 512 MiB of memory, 1 GiB of content, and 16 MiB of facts.
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
    /// The worker did not answer as it should: it is ended, and nothing is known of the file.
    Lost(Loss),
}

/// A valid file.
#[derive(Debug)]
pub struct Model {
    /// The facts that the manifest or header states.
    pub facts: Facts,
    content: Option<Sealed>,
}

impl Model {
    /// The decoded little-endian bytes of a component, if they were asked for; they begin at a
    /// multiple of 64 bytes.
    pub fn bytes(&self, component: &Component) -> Option<&[u8]> {
        let (start, length) = component.place?;
        let end = start.checked_add(length)?;
        self.content.as_ref()?.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }
}

/// The reason that a worker was lost.
#[derive(Debug)]
pub enum Loss {
    /// The worker took longer than it may.
    Time,
    /// The worker ended without an answer.
    Ended(ExitStatus),
    /// The answer does not have the form of an answer.
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

/// Starts a worker for each file. Any number of threads may use one at a time.
#[derive(Clone, Debug)]
pub struct Service {
    worker: PathBuf,
    /// The argument that a worker gets before all others.
    first: Option<&'static str>,
    settings: Settings,
}

impl Service {
    /// Workers are that program.
    pub fn new(worker: impl Into<PathBuf>, settings: Settings) -> Self {
        Self { worker: worker.into(), first: None, settings }
    }

    /// Workers are this program itself, which has to [`work`](crate::work) if its first argument is
    /// that one. It is found by `/proc`, also if another has taken its name.
    pub fn of_this_program(first: &'static str, settings: Settings) -> Self {
        Self { worker: "/proc/self/exe".into(), first: Some(first), settings }
    }

    /// Returns the limits for one file.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Checks a file that is open for reading, in a worker.
    ///
    /// # Errors
    /// The error that keeps a worker from being started. A worker that ends is a verdict.
    pub fn check(&self, file: File, want: Want) -> io::Result<Verdict> {
        self.check_named("", file, want)
    }

    /// Checks a file in a worker. The name tells the format where the first bytes do not; nothing is opened
    /// by it.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check).
    pub fn check_named(&self, name: &str, file: File, want: Want) -> io::Result<Verdict> {
        let until = Instant::now() + self.settings.time;
        let (own, theirs) = UnixStream::pair()?;
        let mut worker =
            Worker(self.command(want).arg(name).stdin(file).stdout(OwnedFd::from(theirs)).spawn()?);
        let answer = self.answer(&own, until);
        // It has nothing more to say. One that has ended already keeps its status.
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

    fn command(&self, want: Want) -> Command {
        let Settings { time, memory, content, .. } = self.settings;
        // Processor time runs no faster than time for a worker, which has one thread.
        let seconds = time.as_secs().saturating_add(1);
        let content = if want == Want::Content { content } else { 0 };
        let mut command = Command::new(&self.worker);
        command.args(self.first);
        command.args([memory, seconds, content].map(|number| number.to_string()));
        command.arg(want.name());
        // It needs nothing of what the service knows.
        command.env_clear().stderr(Stdio::null());
        command
    }

    /// The answer, and the descriptor that came with it. None where there is not all of it.
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
        // Memory is taken as bytes come, not as they are announced.
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

    /// Believes of an answer what can be believed.
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
                if rejection.format.as_ref().is_some_and(|format| answer::format(format).is_none())
                {
                    return Err(invalid("unknown format"));
                }
                return Ok(Verdict::Rejected(rejection));
            }
        };
        drop(bytes);
        if answer::format(&facts.format).is_none() {
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

/// A worker, which does not outlive this.
struct Worker(Child);

impl Worker {
    fn end(&mut self) -> io::Result<ExitStatus> {
        self.0.kill()?;
        self.0.wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A second time does nothing.
        let _ = self.end();
    }
}

/// Reads in what is left of the time: again, if the process was stopped and goes on.
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

/// One message, and the one descriptor that may come with it.
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
    // There may be room for another.
    if files.next().is_some() || received.flags.contains(ReturnFlags::CTRUNC) {
        return Err(invalid("it comes with more than one descriptor"));
    }
    Ok((received.bytes, file))
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
