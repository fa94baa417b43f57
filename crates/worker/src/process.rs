//! A worker process and the socket to it, for programs that have messages of their own, such as the command `zten`. Services
//! use a [`Pool`](crate::Pool).
//!
//! The program that opens files, the *broker*, starts a process with [`Process::start`], which sends it a [`Start`]: how it
//! confines itself, and what the program adds. The worker calls [`receive_start`] and [`confine`] before anything else, and
//! greets the broker. From then on both send packets of messages, to which the broker can add descriptors.
//!
//! The broker trusts nothing that it receives: a packet has a bounded length and no descriptors, the first message has to be
//! the greeting, and a message that cannot be parsed is an error, which should end the worker.

mod channel;
mod handshake;
mod message;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::net::{Shutdown, shutdown};
use serde::Serialize;
use zten_sandbox::Budget;

pub use channel::{Packet, Received, is_gone, is_too_many, pair, write};
pub use handshake::{Greeting, Start, confine, receive_start};
pub use message::{
    Assembly, DESCRIPTORS, IoFailure, MessagePart, PACKET, PART, invalid, split_at_most,
};

/// The longest time for which the broker waits until a worker that has not greeted yet makes room for a packet.
const START: Duration = Duration::from_secs(60);

/// The number of seconds of processor time that a worker may use beyond its budget before [`Process::is_over_time`] reports it. The
/// signal `SIGXCPU` ends a worker earlier, unless the worker blocks the signal.
const GRACE: u64 = 5;

/// A worker process, as its broker (the process that started it) sees it. Dropping the value ends the process.
#[derive(Debug)]
pub struct Process {
    child: Option<Child>,
    socket: OwnedFd,
    /// Whether the worker has greeted the broker, so that it is ready for files.
    is_ready: bool,
    /// The limits that the broker has granted the worker. Its memory does not include what the worker used when it was confined.
    granted: Budget,
    /// The number of bytes of address space that the worker used when it was confined. `None` before the greeting, and if the
    /// worker is not confined and so has no limits.
    memory: Option<u64>,
    /// The time for which the broker has waited since it last sent the worker a message or received one from it. When this time
    /// reaches the limit, it starts again from zero if the worker has used processor time meanwhile.
    silent: Duration,
    /// The processor time, in clock ticks, that the worker had used when the broker last measured it to find out whether it is
    /// idle.
    ticks: u64,
}

impl Process {
    /// Starts a worker by `command`, whose standard input becomes the socket, and sends it `start`. The thread that calls
    /// this has to outlive the worker, because the kernel ends the worker with the thread.
    ///
    /// # Errors
    /// The process cannot be started, or leaves no room for a packet of `start` for a minute.
    pub fn start(command: &mut Command, start: &Start<impl Serialize>) -> io::Result<Self> {
        let (socket, theirs) = pair()?;
        let child = command.stdin(theirs).spawn()?;
        let mut process = Self::at(socket, start.budget);
        process.child = Some(child);
        MessagePart::send_all(&start.to_bytes()?, |packet| process.send(packet))?;
        Ok(process)
    }

    /// Wraps a worker that was not started by [`start`](Self::start), such as a thread of a test. `socket` leads to the worker, and
    /// `granted` are the limits that it has been granted.
    pub fn at(socket: OwnedFd, granted: Budget) -> Self {
        let (silent, ticks) = (Duration::ZERO, 0);
        Self { child: None, socket, is_ready: false, granted, memory: None, silent, ticks }
    }

    /// Returns whether the worker has greeted the broker as ready for files. The first message of any worker is its greeting.
    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Parses the greeting, which is the first message in the first packet `received` from the worker. If the worker is ready, sets
    /// its limits to those that it was granted.
    ///
    /// # Errors
    /// The message is no greeting, or the worker has greeted before.
    pub fn greeting(&mut self, received: &mut Received) -> io::Result<Greeting> {
        if self.is_ready {
            return Err(invalid("a second greeting"));
        }
        let greeting = received.message()?.ok_or_else(|| invalid("no greeting"))?;
        if let Greeting::Ready { memory, .. } = &greeting {
            self.is_ready = true;
            self.memory = *memory;
            self.raise();
        }
        Ok(greeting)
    }

    /// Returns the limits that the broker has granted the worker last.
    pub fn granted(&self) -> &Budget {
        &self.granted
    }

    /// Sets the limits of the worker to `budget`, whose memory does not count what the worker used when it was confined.
    /// A limit that cannot be raised stays as it is: the worker ends when it reaches the limit.
    pub fn grant(&mut self, budget: Budget) {
        self.granted = budget;
        self.raise();
    }

    /// Sets the limits of the worker process to those that it was granted. Does nothing before the greeting, and for a worker that
    /// is not confined.
    fn raise(&self) {
        let (Some(child), Some(used)) = (&self.child, self.memory) else { return };
        let memory = self.granted.memory.map(|granted| granted.saturating_add(used));
        zten_sandbox::raise(child.id(), &Budget { memory, ..self.granted });
    }

    /// Returns the number of seconds of processor time that the worker has used since it was started, or `None` if the system does
    /// not tell or this process has not started the worker.
    pub fn seconds_used(&self) -> Option<u64> {
        self.child.as_ref().and_then(|child| zten_sandbox::seconds_used(child.id()))
    }

    /// Returns whether the worker has used over 5 s more processor time than was granted. Returns false if no limit on processor
    /// time was granted, or the worker has none because it is not confined. The kernel sends `SIGXCPU` at the limit, but a worker
    /// that was taken over can block the signal.
    pub fn is_over_time(&self) -> bool {
        let granted = self.granted.seconds.filter(|_| self.memory.is_some());
        let used = granted.and_then(|_| self.seconds_used());
        used.zip(granted).is_some_and(|(used, granted)| used > granted.saturating_add(GRACE))
    }

    /// Resets the time for which the worker has been silent, because a message was sent to it or received from it.
    pub fn heard(&mut self) {
        self.silent = Duration::ZERO;
    }

    /// Adds `waited` to the time for which the worker has been silent, and returns whether the worker has been idle for `limit`: no
    /// message was sent to it or came from it, it has used no processor time, and it does not wait for somebody else as
    /// `is_waiting` tells. Whether the worker is idle is decided only when the time has reached `limit`. If it is not idle, the
    /// time starts again from zero.
    pub fn is_silent_for(
        &mut self,
        waited: Duration,
        limit: Duration,
        is_waiting: impl FnOnce() -> bool,
    ) -> bool {
        let used = |child: &Child| zten_sandbox::ticks_used(child.id());
        // Processor time that was used before the idle time began is no sign of activity.
        if self.silent.is_zero() && waited >= Duration::from_secs(1) {
            self.ticks = self.child.as_ref().and_then(used).unwrap_or_default();
        }
        self.silent = self.silent.saturating_add(waited);
        if self.silent < limit {
            return false;
        }
        let ticks = self.child.as_ref().and_then(used).unwrap_or(self.ticks);
        let is_idle = std::mem::replace(&mut self.ticks, ticks) == ticks && !is_waiting();
        if !is_idle {
            self.silent = Duration::ZERO;
        }
        is_idle
    }

    /// Sends the worker a packet. Waits up to a minute for room in the socket before the worker is ready, and does not block
    /// afterwards: a worker that receives its jobs leaves room in the socket's buffer, and one that does not must not stop the
    /// broker.
    ///
    /// # Errors
    /// `WouldBlock` if the socket has no room; an error for which [`is_gone`] is true if the worker has ended.
    pub fn send(&self, packet: &Packet) -> io::Result<()> {
        if self.is_ready {
            packet.send(&self.socket)
        } else {
            packet.send_within(&self.socket, START)
        }
    }

    /// Sends the worker a packet, and waits up to `patience` for room in the socket.
    ///
    /// # Errors
    /// `WouldBlock` if the socket has no room after this time; an error for which [`is_gone`] is true if the worker has ended.
    pub fn send_within(&self, packet: &Packet, patience: Duration) -> io::Result<()> {
        packet.send_within(&self.socket, patience)
    }

    /// Receives a packet from the worker without blocking. Returns `None` if the worker has ended, or has sent an empty packet.
    ///
    /// # Errors
    /// `WouldBlock` if no packet from the worker is there; `InvalidData` if the packet is too long.
    pub fn receive(&self) -> io::Result<Option<Received>> {
        Received::poll(&self.socket)
    }

    /// Returns the descriptor of the socket to the worker, which becomes readable when the worker sends a packet.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Tells the worker that no more packets follow.
    ///
    /// # Errors
    /// The worker has ended.
    pub fn close(&self) -> io::Result<()> {
        Ok(shutdown(&self.socket, Shutdown::Write)?)
    }

    /// Kills the worker, and returns its exit status. A worker that this process has not started is not killed, and counts as
    /// successful. A worker that is exiting keeps its own status, because the kernel sets the status before it closes the socket.
    ///
    /// # Errors
    /// The system does not tell the status.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        let Some(child) = &mut self.child else { return Ok(ExitStatus::default()) };
        child.kill()?;
        child.wait()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Ending a process that was ended before is harmless: the child is reaped, and `kill` does nothing.
        let _ = self.end();
    }
}
