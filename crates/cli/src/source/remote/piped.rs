//! A remote file whose bytes another process fetches. This process needs only an open socket, so it can be confined.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use zten::ReadAt;
use zten::num::u64_from_usize;
use zten_remote::{Plan, Want};
use zten_worker::process::{MessagePart, Packet, Received, invalid, pair, write};

use super::commits;
use super::fetcher::{ARGUMENT, Start};
use super::settings::settings;
use crate::link::message::{FoundSibling, Reply, Request, WireWant};

/// The largest number of ranges of a plan in one packet: each takes up to 20 bytes.
const RANGES: usize = 3000;

/// A remote file, which another process fetches.
#[derive(Debug)]
pub(crate) struct Remote {
    process: Arc<Process>,
    number: u32,
    length: u64,
}

/// The process that fetches a remote file and its sibling files.
#[derive(Debug)]
struct Process {
    /// The socket to the process. `None` after a request could not be sent, or an answer was not understood, because the rest of
    /// that answer would be taken for the next answer.
    socket: Mutex<Option<File>>,
    /// The number of sibling files that may still be looked for.
    left: AtomicU32,
}

/// The processes that were started and may still be running.
static STARTED: Mutex<Vec<Child>> = Mutex::new(Vec::new());

impl Remote {
    /// Starts a process that opens the remote file `path`, and waits for the file. The process may be asked for `max_siblings`
    /// sibling files.
    pub(crate) fn open(path: &Path, max_siblings: u32) -> io::Result<Self> {
        Self::received(Self::start(path, max_siblings)?, max_siblings)
    }

    /// Starts a process that opens the remote file `path`, without waiting. Returns the socket to the process, from which
    /// [`received`](Self::received) makes a file, in this process or in a worker.
    pub(crate) fn start(path: &Path, most: u32) -> io::Result<File> {
        let name = path.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        let start = Start { name, most, settings: settings() };
        let start = postcard::to_allocvec(&start).map_err(io::Error::other)?;
        let start = Packet::of(&MessagePart { bytes: &start, has_more: false }, None)?;
        let (own, other) = pair()?;
        let mut command = Command::new("/proc/self/exe");
        if let Some(name) = std::env::args_os().next() {
            command.arg0(name);
        }
        // The process ends when the socket is closed, or when this process ends.
        command.arg(ARGUMENT).stdin(other).stdout(commits::start()?);
        let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
        started.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        started.push(command.spawn()?);
        drop(command);
        start.send(&own)?;
        Ok(own.into())
    }

    /// Waits until the process at the other end of `socket` has opened the file.
    pub(crate) fn received(socket: File, max_siblings: u32) -> io::Result<Self> {
        let process = Process { socket: Mutex::default(), left: AtomicU32::new(max_siblings) };
        let found = found(&socket).map_err(ended)?;
        let FoundSibling { number, length, .. } = found.ok_or(io::ErrorKind::NotFound)?;
        *process.socket.lock().unwrap_or_else(PoisonError::into_inner) = Some(socket);
        Ok(Self { process: Arc::new(process), number, length })
    }

    /// Returns the length of the file in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Opens the sibling file `want`. Returns `None` if the server has no such file, or no further sibling file may be looked for.
    pub(crate) fn find(&self, want: &Want) -> io::Result<Option<Self>> {
        let one_less = |left: u32| left.checked_sub(1);
        let left = &self.process.left;
        if left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err() {
            return Ok(None);
        }
        let found = self.process.ask(&Request::Find(0, WireWant(want.clone())), found)?;
        Ok(found.map(|FoundSibling { number, length, .. }| Self {
            process: Arc::clone(&self.process),
            number,
            length,
        }))
    }

    /// Announces the byte ranges of this file that will be read, in this order, so that they can be fetched ahead. Each
    /// item of `runs` is a group of ranges that are read one after another; between two groups, other files are read.
    pub(crate) fn plan<R: IntoIterator<Item = Range<u64>>>(
        &self,
        runs: impl IntoIterator<Item = R>,
    ) -> io::Result<()> {
        let plan = Plan::of_runs(runs);
        let ranges = plan.runs().flat_map(|run| run.iter().cloned().chain(std::iter::once(0..0)));
        let ranges: Vec<_> = ranges.map(|range| (range.start, range.end)).collect();
        let mut parts = ranges.chunks(RANGES).peekable();
        while let Some(part) = parts.next() {
            let request = Request::Plan(self.number, part.to_vec(), parts.peek().is_some());
            self.process.ask(&request, |_| Ok(()))?;
        }
        Ok(())
    }
}

impl Process {
    fn ask<T>(
        &self,
        request: &Request<'_>,
        answer: impl FnOnce(&File) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = socket.take().ok_or_else(|| ended(io::ErrorKind::UnexpectedEof.into()))?;
        let request = postcard::to_allocvec(request).map_err(io::Error::other)?;
        write(&taken, &request).map_err(ended)?;
        let answer = answer(&taken).map_err(ended);
        // An error that the process has sent is a complete answer, so the socket can be used again.
        if !answer.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::InvalidData) {
            *socket = Some(taken);
        }
        answer
    }
}

/// Receives a packet by `read`: seccomp allows `recvmsg` only on the socket to the broker.
fn receive(socket: &File) -> io::Result<Received> {
    Received::read(socket)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Receives the answer to a request for a file. Returns `None` if there is no such file.
fn found(socket: &File) -> io::Result<Option<FoundSibling>> {
    match receive(socket)?.message()? {
        Some(Reply::Found(found)) => Ok(found),
        Some(Reply::Failed(failure)) => Err(failure.into()),
        _ => Err(invalid("another answer")),
    }
}

/// Replaces an error that means that the fetching process has ended by a message that says so.
fn ended(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset => {
            io::Error::other("the process that reads over the network has ended")
        }
        _ => error,
    }
}

impl ReadAt for Remote {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), zten::Error> {
        let end = offset.saturating_add(u64_from_usize(buffer.len()));
        if buffer.is_empty() {
            return Ok(());
        }
        let request = Request::Read(self.number, offset, end);
        Ok(self.process.ask(&request, |socket| {
            let mut left = buffer;
            while !left.is_empty() {
                match receive(socket)?.message()? {
                    Some(Reply::Bytes(bytes)) if !bytes.is_empty() => {
                        let (part, rest) = left
                            .split_at_mut_checked(bytes.len())
                            .ok_or_else(|| invalid("too many bytes"))?;
                        part.copy_from_slice(bytes);
                        left = rest;
                    }
                    Some(Reply::Failed(failure)) => return Err(failure.into()),
                    _ => return Err(invalid("another answer")),
                }
            }
            Ok(())
        })?)
    }
}
