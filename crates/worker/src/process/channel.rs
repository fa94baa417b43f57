//! Packets between two processes: bytes and descriptors over a socket that keeps packets apart.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg,
    sendmsg, socketpair,
};
use serde::{Deserialize, Serialize};

use super::message::{DESCRIPTORS, PACKET, invalid};

/// Creates a pair of connected Unix sockets that keep packets apart, for a broker and its worker.
///
/// # Errors
/// Too many descriptors are open.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// A packet to send: messages, and the descriptors of the files that they mention.
#[derive(Debug, Default)]
pub struct Packet {
    bytes: Vec<u8>,
    files: Vec<OwnedFd>,
}

impl Packet {
    /// Creates a packet of `message`, and of the descriptor of the file that the message mentions, if it mentions one.
    ///
    /// # Errors
    /// The message exceeds the maximum length of a packet.
    pub fn of(message: &impl Serialize, file: Option<OwnedFd>) -> io::Result<Self> {
        Self::with_files(message, file.into_iter().collect())
    }

    /// Creates a packet of `message`, and of the descriptors of the files that the message mentions, in the order of the message.
    ///
    /// # Errors
    /// The message exceeds the maximum length of a packet, or there are too many files.
    pub fn with_files(message: &impl Serialize, files: Vec<OwnedFd>) -> io::Result<Self> {
        let bytes = postcard::to_allocvec(message).map_err(io::Error::other)?;
        if bytes.len() > PACKET || files.len() > DESCRIPTORS {
            return Err(too_long());
        }
        Ok(Self { bytes, files })
    }

    /// Returns the bytes of the messages in the packet, as they are sent.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds the messages and descriptors of the packet `other` to this packet.
    ///
    /// # Errors
    /// Returns `other` if the packet has no room for them.
    pub fn append(&mut self, other: Self) -> Result<(), Self> {
        let bytes = self.bytes.len().saturating_add(other.bytes.len());
        let files = self.files.len().saturating_add(other.files.len());
        if bytes > PACKET || files > DESCRIPTORS {
            return Err(other);
        }
        self.bytes.extend(other.bytes);
        self.files.extend(other.files);
        Ok(())
    }

    /// Sends the packet, and waits up to `patience` for room in the socket: the arguments of a command may take more than the
    /// socket holds, and a worker that is starting has received none of them yet.
    ///
    /// # Errors
    /// `WouldBlock` if the receiver has made no room in that time.
    pub fn send_within(&self, socket: impl AsFd, patience: Duration) -> io::Result<()> {
        let start = Instant::now();
        loop {
            match self.send(&socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let left = patience.saturating_sub(start.elapsed());
                    if left.is_zero() {
                        return Err(error);
                    }
                    let left = Timespec::try_from(left).ok();
                    match poll(&mut [PollFd::new(&socket, PollFlags::OUT)], left.as_ref()) {
                        Ok(_) | Err(rustix::io::Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                sent => return sent,
            }
        }
    }

    /// Sends the packet without waiting for room in the socket. Between a broker and a worker that answers each job, the socket
    /// always has enough room.
    ///
    /// # Errors
    /// `WouldBlock` if the socket has no room.
    pub fn send(&self, socket: impl AsFd) -> io::Result<()> {
        let files: Vec<BorrowedFd<'_>> = self.files.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&files)) {
            return Err(too_long());
        }
        loop {
            match sendmsg(
                &socket,
                &[IoSlice::new(&self.bytes)],
                &mut control,
                SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
            ) {
                Err(rustix::io::Errno::INTR) => {}
                sent => return Ok(sent.map(drop)?),
            }
        }
    }
}

fn too_long() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("a packet exceeds the maximum of {PACKET} bytes or {DESCRIPTORS} files"),
    )
}

/// Sends `bytes` as one packet without descriptors. Workers send in this way, by the system call `write`, because seccomp forbids
/// `sendmsg` in a confined process.
pub fn write(socket: impl AsFd, bytes: &[u8]) -> io::Result<()> {
    loop {
        match rustix::io::write(&socket, bytes) {
            Err(rustix::io::Errno::INTR) => {}
            written => return Ok(written.map(drop)?),
        }
    }
}

/// A packet that was received.
#[derive(Debug)]
pub struct Received {
    bytes: Vec<u8>,
    /// The offset in `bytes` at which the next message begins.
    next: usize,
    files: std::vec::IntoIter<OwnedFd>,
}

impl Received {
    /// Waits for a packet, and receives it with its descriptors. Returns `None` if the other end of the socket is closed, or the
    /// packet is empty.
    ///
    /// # Errors
    /// The socket cannot be read, or the packet exceeds the maximum length or number of descriptors.
    pub fn receive(socket: impl AsFd) -> io::Result<Option<Self>> {
        let mut bytes = vec![0; PACKET];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            let mut parts = [IoSliceMut::new(&mut bytes)];
            match recvmsg(&socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
                Err(rustix::io::Errno::INTR) => {}
                received => break received?,
            }
        };
        let files = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => Some(files),
            _ => None,
        });
        let files: Vec<_> = files.flatten().collect();
        bytes.truncate(received.bytes);
        if received.flags.intersects(ReturnFlags::CTRUNC | ReturnFlags::TRUNC) {
            return Err(invalid("the kernel cut off the packet or its descriptors"));
        }
        Ok((!bytes.is_empty()).then_some(Self { bytes, next: 0, files: files.into_iter() }))
    }

    /// Receives a packet without waiting, and drops descriptors that come with it. Returns `None` if the other end of the socket is
    /// closed, or the packet is empty.
    ///
    /// # Errors
    /// `WouldBlock` if no packet has arrived; `InvalidData` if the packet exceeds the maximum length.
    pub fn poll(socket: impl AsFd) -> io::Result<Option<Self>> {
        let mut bytes = vec![0; PACKET];
        let length = loop {
            match recv(&socket, &mut *bytes, RecvFlags::DONTWAIT | RecvFlags::TRUNC) {
                // `CONNRESET` says that the process has ended without receiving all packets. The packets that it sent before
                // can still be received.
                Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNRESET) => {}
                received => break received?.1,
            }
        };
        if length > PACKET {
            return Err(invalid("the packet is too long"));
        }
        bytes.truncate(length);
        let files = Vec::new().into_iter();
        Ok((!bytes.is_empty()).then_some(Self { bytes, next: 0, files }))
    }

    /// Waits for a packet, and receives it without descriptors. A packet of more than [`PACKET`] bytes is cut off. Returns `None`
    /// if the other end of the socket is closed, or the packet is empty. Uses the system call `read`, because a confined process
    /// may call `recvmsg` on the socket to its broker only.
    ///
    /// # Errors
    /// The socket cannot be read.
    pub fn read(socket: impl AsFd) -> io::Result<Option<Self>> {
        let mut bytes = vec![0; PACKET];
        let length = loop {
            match rustix::io::read(&socket, &mut *bytes) {
                Err(rustix::io::Errno::INTR) => {}
                read => break read?,
            }
        };
        bytes.truncate(length);
        Ok((!bytes.is_empty()).then_some(Self { bytes, next: 0, files: Vec::new().into_iter() }))
    }

    /// Creates a packet as if `bytes` had been received, without descriptors.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self { bytes, next: 0, files: Vec::new().into_iter() }
    }

    /// Parses the next message of the packet. Returns `None` if all messages have been parsed.
    ///
    /// # Errors
    /// The bytes are not a message of type `T`.
    pub fn message<'a, T: Deserialize<'a>>(&'a mut self) -> io::Result<Option<T>> {
        let rest = self.bytes.get(self.next..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let (message, after) =
            postcard::take_from_bytes(rest).map_err(|_| invalid("unknown form"))?;
        self.next = self.bytes.len().saturating_sub(after.len());
        Ok(Some(message))
    }

    /// Returns whether all messages have been parsed.
    pub fn is_over(&self) -> bool {
        self.next >= self.bytes.len()
    }

    /// Returns the file of the next descriptor in the packet. The descriptors have the order in which the messages mention their
    /// files.
    ///
    /// # Errors
    /// The packet has fewer descriptors than its messages mention. The kernel drops descriptors beyond the process's limit.
    pub fn file(&mut self) -> io::Result<File> {
        self.files
            .next()
            .map(File::from)
            .ok_or_else(|| invalid("the packet has fewer descriptors than its messages mention"))
    }
}

/// Returns whether `error` says that there are too many descriptors: in the system (`ENFILE`), in this process (`EMFILE`) or in
/// flight between processes (`ETOOMANYREFS`).
pub fn is_too_many(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|number| [23, 24, 109].contains(&number))
}

/// Returns whether `error` says that the process at the other end of the socket has closed it.
pub fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_with_their_files() {
        let (own, theirs) = pair().unwrap();
        let file = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
        let mut packet = Packet::default();
        let one = || Packet::of(&7_u8, Some(file.try_clone().unwrap().into())).unwrap();
        let count = (0..99).take_while(|_| packet.append(one()).is_ok()).count();
        assert_eq!(count, DESCRIPTORS);
        packet.send(&own).unwrap();
        drop(own);
        let mut received = Received::receive(&theirs).unwrap().unwrap();
        for _ in 0..DESCRIPTORS {
            assert_eq!(received.message::<u8>().unwrap(), Some(7));
            assert!(received.file().unwrap().metadata().unwrap().is_file());
        }
        assert!(received.message::<u8>().unwrap().is_none() && received.file().is_err());
        assert!(Received::receive(&theirs).unwrap().is_none());
    }

    #[test]
    fn malformed_packets_are_rejected() {
        let sent = |bytes: &[u8]| {
            let (own, theirs) = pair().unwrap();
            write(&theirs, bytes).unwrap();
            Received::poll(&own)
        };
        let mut received = sent(&[2]).unwrap().unwrap();
        assert!(received.message::<bool>().is_err());
        assert!(sent(&vec![0; PACKET + 1]).is_err());
        let (own, _theirs) = pair().unwrap();
        assert_eq!(Received::poll(&own).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn the_broker_takes_no_descriptors() {
        let (own, theirs) = pair().unwrap();
        let file = File::open("/dev/null").unwrap();
        Packet::of(&7_u8, Some(file.into())).unwrap().send(&theirs).unwrap();
        let mut received = Received::poll(&own).unwrap().unwrap();
        assert_eq!(received.message::<u8>().unwrap(), Some(7));
        assert!(received.file().is_err());
    }
}
