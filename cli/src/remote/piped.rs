//! A file whose bytes another process fetches: this one needs a descriptor that is open, and nothing else.

use std::fs::File;
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use zten::ReadAt;
use zten::num::u64_from_usize;
use zten_remote::{Plan, Want};

use super::settings;
use super::wire::{self, FileNumber, Found, Question};

/// A file that is read over the network.
#[derive(Debug)]
pub(crate) struct Remote {
    process: Arc<Process>,
    number: FileNumber,
    length: u64,
}

/// The process that reads it, and those that it names.
#[derive(Debug)]
struct Process {
    /// Of no use once an answer was not read to its end.
    socket: Mutex<Option<File>>,
    /// How many files may still be looked for.
    left: AtomicU32,
}

/// Those that were started and may be running.
static STARTED: Mutex<Vec<Child>> = Mutex::new(Vec::new());

impl Remote {
    /// Starts a process that finds the file, and may be asked for so many that this one names.
    pub(crate) fn open(path: &Path, most_beside: u32) -> io::Result<Self> {
        Self::received(Self::start(path, most_beside)?, most_beside)
    }

    /// Starts it, and waits for nothing: the socket is for [`received`](Self::received), in whichever process.
    pub(crate) fn start(path: &Path, most_beside: u32) -> io::Result<File> {
        let name = path.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        let (own, other) = UnixStream::pair()?;
        let mut command = Command::new("/proc/self/exe");
        if let Some(name) = std::env::args_os().next() {
            command.arg0(name);
        }
        // It ends with the socket, or with this process.
        command
            .arg("fetch")
            .args(settings::arguments())
            .stdin(OwnedFd::from(other))
            .stdout(Stdio::null());
        let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
        started.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        started.push(command.spawn()?);
        drop(command);
        let mut socket = File::from(OwnedFd::from(own));
        wire::put_text(&mut socket, name)?;
        socket.write_all(&most_beside.to_le_bytes())?;
        Ok(socket)
    }

    /// Waits for the file to be found.
    pub(crate) fn received(mut socket: File, most_beside: u32) -> io::Result<Self> {
        let found = wire::found(&mut socket).map_err(ended)?;
        let Found { number, length } = found.ok_or(io::ErrorKind::NotFound)?;
        let socket = Mutex::new(Some(socket));
        let process = Process { socket, left: AtomicU32::new(most_beside) };
        Ok(Self { process: Arc::new(process), number, length })
    }

    /// Bytes of it.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Finds a file that this one names.
    pub(crate) fn find(&self, want: &Want) -> io::Result<Option<Self>> {
        let one_less = |left: u32| left.checked_sub(1);
        let left = &self.process.left;
        if left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err() {
            return Ok(None);
        }
        let found = self.process.ask(&Question::Find(want.clone()), wire::found)?;
        Ok(found.map(|Found { number, length }| Self {
            process: Arc::clone(&self.process),
            number,
            length,
        }))
    }

    /// What will be read, in that order, and other files between two runs.
    pub(crate) fn plan<R: IntoIterator<Item = Range<u64>>>(
        &self,
        runs: impl IntoIterator<Item = R>,
    ) -> io::Result<()> {
        let plan = Plan::of_runs(runs);
        let ranges = plan.runs().flat_map(|run| run.iter().cloned().chain(std::iter::once(0..0)));
        self.process.ask(&Question::Plan(self.number, ranges.collect()), |_| Ok(()))
    }
}

impl Process {
    fn ask<T>(
        &self,
        question: &Question,
        answer: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = socket.take().ok_or_else(|| ended(io::ErrorKind::UnexpectedEof.into()))?;
        // In one piece, for it is short or rare.
        let mut asked = Vec::new();
        wire::put_question(&mut asked, question)?;
        taken.write_all(&asked).map_err(ended)?;
        let answer = answer(&mut taken).map_err(ended)?;
        *socket = Some(taken);
        Ok(answer)
    }
}

/// What became of the other process.
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
        let question = Question::Read(self.number, offset..end);
        Ok(self.process.ask(&question, |socket| wire::bytes(socket, buffer))?)
    }
}
