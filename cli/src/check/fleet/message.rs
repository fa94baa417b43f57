//! What goes over the socket to a confined process and back: a message holds each, and no message is
//! longer than [`BYTES`].

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, sendmsg,
};
use zten::rules::Row;
use zten_shards::Want;

use crate::catalogue::rows;
use crate::check::kind::Kind;
use crate::check::record::Record;
use crate::report::Verdict;

/// Files of a message, at most.
pub(super) const FILES: usize = 32;
/// Bytes of a message, at most.
pub(super) const BYTES: usize = 64 << 10;
/// Bytes of what is said of a file, at most.
pub(super) const TEXT: usize = BYTES - 16;
/// Bytes beside a name.
const BESIDE: usize = 2 + 8;

/// `ENFILE`, `EMFILE` and `ETOOMANYREFS`: too many descriptors, of the system, of the process, on their way.
const TOO_MANY: [i32; 3] = [23, 24, 109];

/// What a confined process is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Order {
    /// Files to check.
    Check = b'C',
    /// Shards of the current file; more come.
    Shards = b'S',
    /// The last ones.
    LastShards = b'L',
    /// The current file is not to be checked here.
    Drop = b'D',
}

const ORDERS: [Order; 4] = [Order::Check, Order::Shards, Order::LastShards, Order::Drop];

/// A file that is sent.
#[derive(Debug)]
pub(super) struct Sent {
    /// Its path, or what the file that lists it calls it.
    pub(super) name: PathBuf,
    pub(super) file: File,
    pub(super) length: u64,
}

/// Whether a message has room for another file of that name.
pub(super) fn has_room(files: &[Sent], name: &OsStr) -> bool {
    let bytes = |name: &OsStr| name.as_bytes().len() + BESIDE;
    let taken: usize = files.iter().map(|file| bytes(file.name.as_os_str())).sum();
    files.len() < FILES && taken + bytes(name) < BYTES
}

/// Sends files, as many as there is room for. They stay open here until the caller drops them.
pub(super) fn order(socket: impl AsFd, order: Order, files: &[Sent]) -> io::Result<()> {
    let mut message = vec![order as u8];
    for Sent { name, length, .. } in files {
        let name = name.as_os_str().as_bytes();
        let bytes = u16::try_from(name.len()).map_err(io::Error::other)?;
        message.extend(bytes.to_le_bytes());
        message.extend(name);
        message.extend(length.to_le_bytes());
    }
    let descriptors: Vec<BorrowedFd<'_>> = files.iter().map(|file| file.file.as_fd()).collect();
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("more files than a message has room for"));
    }
    loop {
        let parts = [IoSlice::new(&message)];
        match sendmsg(&socket, &parts, &mut control, SendFlags::NOSIGNAL) {
            Err(rustix::io::Errno::INTR) => {}
            sent => return Ok(sent.map(drop)?),
        }
    }
}

/// Receives an order, with its files. None where nothing more comes.
pub(super) fn next_order(socket: impl AsFd) -> io::Result<Option<(Order, Vec<Sent>)>> {
    let mut message = vec![0; BYTES];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut parts = [IoSliceMut::new(&mut message)];
        match recvmsg(&socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            received => break received?,
        }
    };
    let descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let mut files = descriptors.flatten().map(File::from);
    message.truncate(received.bytes);
    let Some((first, mut rest)) = message.split_first() else { return Ok(None) };
    let Some(order) = ORDERS.into_iter().find(|order| *order as u8 == *first) else {
        return Err(invalid("an order that is not known"));
    };
    let mut sent = Vec::new();
    while let Some((bytes, after)) = rest.split_first_chunk() {
        let cut = || invalid("an order that is cut");
        let (name, after) =
            after.split_at_checked(u16::from_le_bytes(*bytes).into()).ok_or_else(cut)?;
        let (length, after) = after.split_first_chunk().ok_or_else(cut)?;
        rest = after;
        // What goes beyond the limit on descriptors does not come.
        let file = files.next().ok_or_else(|| invalid("a file that did not come"))?;
        let name = OsStr::from_bytes(name).into();
        sent.push(Sent { name, file, length: u64::from_le_bytes(*length) });
    }
    if received.flags.intersects(ReturnFlags::CTRUNC | ReturnFlags::TRUNC) {
        return Err(invalid("an order that is cut"));
    }
    Ok(Some((order, sent)))
}

/// What a confined process answers. It has read files: nothing of it is believed but that it is of that form.
#[derive(Debug)]
pub(super) enum Answer {
    /// It is confined as it should be, and has read nothing.
    Begun,
    /// It is not, and reads nothing.
    NotConfined(String),
    /// A file that the current one lists.
    Wants(Want),
    /// That was the last one.
    WantsNoMore,
    /// What has been found of the current file, and of those that follow.
    Found(Vec<Record>),
}

/// In the order of their numbers in messages.
const VERDICTS: [Verdict; 6] = [
    Verdict::Valid,
    Verdict::ManifestValid,
    Verdict::Refused,
    Verdict::Unsupported,
    Verdict::Limit,
    Verdict::Error,
];

/// Sends an answer over the socket that is standard input, by `write`.
pub(super) fn answer(answer: &Answer) -> io::Result<()> {
    let message = match answer {
        Answer::Begun => vec![b'B'],
        Answer::NotConfined(why) => [b"N", why.as_bytes()].concat(),
        Answer::Wants(want) => [b"W", want.to_string().as_bytes()].concat(),
        Answer::WantsNoMore => vec![b'M'],
        Answer::Found(records) => {
            let mut message = vec![b'F'];
            for record in records {
                append(&mut message, record);
            }
            message
        }
    };
    loop {
        match rustix::io::write(io::stdin(), &message) {
            Err(rustix::io::Errno::INTR) => {}
            written => return Ok(written.map(drop)?),
        }
    }
}

fn append(message: &mut Vec<u8>, Record { kind, text }: &Record) {
    let verdict = VERDICTS.iter().position(|verdict| *verdict == kind.verdict);
    let verdict = verdict.and_then(|place| u8::try_from(place).ok());
    let row = kind.row.and_then(|row| rows().position(|other| other.id == row.id));
    let row = row.and_then(|place| u16::try_from(place).ok());
    let length = u16::try_from(text.len());
    message.push(verdict.unwrap_or(u8::MAX));
    message.extend(row.unwrap_or(u16::MAX).to_le_bytes());
    message.extend(length.unwrap_or(u16::MAX).to_le_bytes());
    message.extend(text);
}

/// Whether a message has room for another record.
pub(super) fn has_room_for(records: &[Record], record: &Record) -> bool {
    let bytes = |record: &Record| record.text.len() + BESIDE;
    1 + records.iter().map(bytes).sum::<usize>() + bytes(record) <= BYTES
}

/// Receives an answer into a buffer of [`BYTES`] if one is there: `WouldBlock`, if none is. None where
/// nothing more comes.
pub(super) fn next_answer(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Option<Answer>> {
    let received = loop {
        let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
        match recv(&socket, &mut *buffer, flags) {
            // What was sent to a process that is gone; what it said before is still there.
            Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNRESET) => {}
            received => break received?,
        }
    };
    let (_, length) = received;
    let message = buffer.get(..length).ok_or_else(|| invalid("an answer that is too long"))?;
    let Some((first, rest)) = message.split_first() else { return Ok(None) };
    let text = || str::from_utf8(rest).map_err(|_| invalid("an answer that is no text"));
    let answer = match first {
        b'B' => Answer::Begun,
        b'N' => Answer::NotConfined(text()?.to_owned()),
        b'W' => {
            let want = Want::read(text()?);
            Answer::Wants(want.ok_or_else(|| invalid("a shard that cannot be"))?)
        }
        b'M' => Answer::WantsNoMore,
        b'F' => found(rest)?,
        _ => return Err(invalid("an answer that is not known")),
    };
    Ok(Some(answer))
}

fn found(mut message: &[u8]) -> io::Result<Answer> {
    let cut = || invalid("an answer that is cut");
    let mut records = Vec::new();
    while let Some((verdict, rest)) = message.split_first() {
        let (row, rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (text, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        message = rest;
        let verdict = VERDICTS.get(usize::from(*verdict)).ok_or_else(cut)?;
        let row: Option<&'static Row> = match u16::from_le_bytes(*row) {
            u16::MAX => None,
            place => Some(rows().nth(place.into()).ok_or_else(cut)?),
        };
        records.push(Record { kind: Kind { verdict: *verdict, row }, text: text.to_vec() });
    }
    Ok(Answer::Found(records))
}

/// Whether there are too many descriptors now.
pub(super) fn is_too_many(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|number| TOO_MANY.contains(&number))
}

/// Whether the other end is closed.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, send, socketpair};

    use super::*;

    /// What comes of a message of a process that was taken over.
    fn answered(message: &[u8]) -> io::Result<Option<Answer>> {
        let flags = SocketFlags::CLOEXEC;
        let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        let (own, theirs) = pair.unwrap();
        send(&theirs, message, SendFlags::empty()).unwrap();
        next_answer(&own, &mut vec![0; BYTES])
    }

    #[test]
    fn answers_have_a_form() {
        assert!(matches!(answered(b"B"), Ok(Some(Answer::Begun))));
        assert!(matches!(answered(b"Wshard name xxh3 00"), Ok(Some(Answer::Wants(_)))));
        let Ok(Some(Answer::Found(record))) = answered(b"F\x02\0\0\x04\0text\0\xff\xff\0\0") else {
            panic!()
        };
        let [record, valid] = record.try_into().unwrap();
        assert!(valid.kind.verdict == Verdict::Valid && valid.text.is_empty());
        let id = record.kind.row.map(|row| row.id);
        assert_eq!((record.kind.verdict, id), (Verdict::Refused, rows().next().map(|row| row.id)));
        assert_eq!(record.text, b"text");
        let many = u16::try_from(rows().count()).unwrap().to_le_bytes();
        let messages = [
            &b"?"[..],
            b"F\0\0",
            b"F\0\0\0\x01\0",
            b"F\x06\0\0\0\0",
            &[b'F', 0, many[0], many[1], 0, 0],
            b"Wshard ../s xxh3 00",
            b"Wbeside ../s.safetensors",
            b"W",
            b"N\xff",
            &vec![b'B'; BYTES + 1],
        ];
        for message in messages {
            let error = answered(message).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{message:?}");
        }
    }

    #[test]
    fn files_come_with_their_names() {
        let flags = SocketFlags::CLOEXEC;
        let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        let (own, theirs) = pair.unwrap();
        let file = || File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
        let sent = |name: &str, length| Sent { name: name.into(), file: file(), length };
        let files: Vec<_> = (0..32).map(|number| sent("x\n y", number)).collect();
        order(&own, Order::Check, &files).unwrap();
        order(&own, Order::Drop, &[]).unwrap();
        drop(own);
        let (what, come) = next_order(&theirs).unwrap().unwrap();
        let lengths: Vec<_> = come.iter().map(|file| file.length).collect();
        assert_eq!((what, lengths), (Order::Check, (0..32).collect()));
        assert!(come.iter().all(|file| file.name.as_os_str() == "x\n y"));
        let (what, come) = next_order(&theirs).unwrap().unwrap();
        assert_eq!((what, come.len()), (Order::Drop, 0));
        assert!(next_order(&theirs).unwrap().is_none());
    }

    #[test]
    fn a_message_has_room_for_so_many() {
        let file = || File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
        let name = "n".repeat(4095);
        let mut files = Vec::new();
        while has_room(&files, name.as_ref()) {
            files.push(Sent { name: name.clone().into(), file: file(), length: 0 });
        }
        assert_eq!(files.len(), 15);
    }
}
