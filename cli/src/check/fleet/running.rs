//! A confined process, from the outside.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use zten_shards::Want;

use super::message::{Answer, BYTES, FILES, Order, Sent, next_answer, order};
use super::share::{self, ROOM};
use crate::args::Check;
use crate::check::entries::Entry;
use crate::mode::Mode;
use crate::remote;

/// A file that is to be checked, and its place among all.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) number: u64,
    pub(super) entry: Entry,
    /// Bytes of its longest shard, as far as that is known.
    pub(super) shard: u64,
    /// Whether it may be what has ended a process: then it is sent to one that has no other.
    pub(super) alone: bool,
}

/// A process that is running. It does not outlive this.
pub(super) struct Running {
    child: Child,
    socket: OwnedFd,
    buffer: Vec<u8>,
    /// Whether it has said that it is confined.
    pub(super) begun: bool,
    /// Bytes of the longest file that it may be sent.
    pub(super) longest: u64,
    /// How many files it may still be sent.
    pub(super) left: usize,
    /// The files that it was sent and has not answered, in order.
    pub(super) outstanding: VecDeque<Item>,
    /// Bytes of those that it was sent at last.
    pub(super) bytes: u64,
    /// What it has asked for, of the first of them.
    pub(super) wanted: Vec<Want>,
}

impl Running {
    /// Starts one for files of at most so many bytes.
    pub(super) fn start(args: &Check, mode: Mode, longest: u64) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let (socket, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0(std::env::args_os().next().unwrap_or_else(|| "zten".into()));
        match mode {
            Mode::Off => command.arg("--no-sandbox"),
            Mode::Require => command.arg("--require-sandbox"),
            Mode::Try => &mut command,
        };
        command.args(remote::arguments());
        // It has no output but the socket.
        let child = command
            .arg("--worker")
            .args(args.for_worker(longest))
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self {
            child,
            socket,
            buffer: vec![0; BYTES],
            begun: false,
            longest,
            left: share::of(args, longest).files,
            outstanding: VecDeque::new(),
            bytes: 0,
            wanted: Vec::new(),
        })
    }

    /// Whether a file of so many bytes can be sent to it beside so many others.
    pub(super) fn takes(&self, length: u64, others: usize) -> bool {
        length <= self.longest && others < self.left
    }

    /// Whether it has enough to do.
    pub(super) fn is_busy(&self) -> bool {
        let is_alone = self.outstanding.front().is_some_and(|item| item.alone);
        is_alone || self.outstanding.len() >= FILES || !self.is_idle() && self.bytes >= ROOM
    }

    /// Whether it has nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.outstanding.is_empty()
    }

    /// Sends it something.
    pub(super) fn send(&self, what: Order, files: &[Sent]) -> io::Result<()> {
        order(&self.socket, what, files)
    }

    /// Its next answer, if there is one: [`next_answer`].
    pub(super) fn next_answer(&mut self) -> io::Result<Option<Answer>> {
        next_answer(&self.socket, &mut self.buffer)
    }

    /// What tells when it has answered.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Ends it. One that has ended already keeps its status.
    pub(super) fn end(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A second time does nothing.
        let _ = self.end();
    }
}
