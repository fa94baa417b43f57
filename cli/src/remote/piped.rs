//! A file whose bytes another process fetches: this one needs a descriptor that is open, and nothing else.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use zten::ReadAt;
use zten_remote::Plan;

use super::settings::Settings;
use super::wire::{self, Question};
use crate::num::u64_from_usize;

/// A file that is read over the network.
#[derive(Debug)]
pub(crate) struct Remote {
    /// Of no use once an answer was not read to its end.
    socket: Mutex<Option<File>>,
    length: u64,
}

impl Remote {
    /// Starts a process that finds the file.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let name = path.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        let (own, other) = UnixStream::pair()?;
        let mut command = Command::new("/proc/self/exe");
        if let Some(name) = std::env::args_os().next() {
            command.arg0(name);
        }
        // It ends with the socket, or with this process.
        command
            .arg("fetch")
            .args(Settings::arguments())
            .stdin(OwnedFd::from(other))
            .stdout(Stdio::null())
            .spawn()?;
        drop(command);
        let mut socket = File::from(OwnedFd::from(own));
        wire::put_text(&mut socket, name)?;
        let length = wire::opened(&mut socket).map_err(ended)?;
        Ok(Self { socket: Mutex::new(Some(socket)), length })
    }

    /// Bytes of it.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// What will be read, in that order.
    pub(crate) fn plan(&self, ranges: impl IntoIterator<Item = Range<u64>>) -> io::Result<()> {
        let plan: Plan = ranges.into_iter().collect();
        self.ask(&Question::Plan(plan.blocks().to_vec()), &mut [])
    }

    fn ask(&self, question: &Question, answer: &mut [u8]) -> io::Result<()> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = socket.take().ok_or_else(|| ended(io::ErrorKind::UnexpectedEof.into()))?;
        // In one piece, for it is short or rare.
        let mut asked = Vec::new();
        wire::put_question(&mut asked, question)?;
        io::Write::write_all(&mut taken, &asked).map_err(ended)?;
        wire::bytes(&mut taken, answer).map_err(ended)?;
        *socket = Some(taken);
        Ok(())
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
    type Error = io::Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset.saturating_add(u64_from_usize(buffer.len()));
        if buffer.is_empty() { Ok(()) } else { self.ask(&Question::Read(offset..end), buffer) }
    }
}
