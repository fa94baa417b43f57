//! The messages of a pool and its workers. They follow the greeting, and are public for fuzzing only.
//!
//! The pool sends a `Call`, in parts, with the descriptors of its files in the packet of the last part. The worker answers with
//! `Reply` messages: parts of the answer, and one message that ends it.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use serde::{Deserialize, Serialize};

use crate::process::{Assembly, MessagePart, PART, Packet, Received, invalid, split_at_most};
use crate::{JobError, Work, WorkFile};

/// The largest length in bytes of a call, which consists of the argument of a job and the names of its function and files.
const CALL: usize = 64 << 20;
/// The largest length in bytes of the text with which a function reports an error. A longer text is cut.
const TEXT: usize = 8 << 10;

/// The message by which the pool sends a job to a worker.
#[derive(Debug, Serialize, Deserialize)]
struct Call<'a> {
    /// The number by which the pool identifies the job. The worker repeats it at the end of its answer.
    number: u64,
    function: &'a str,
    #[serde(with = "serde_bytes", borrow)]
    argument: &'a [u8],
    /// The name of each file of the job, and the length of the file in bytes.
    files: Vec<(serde_bytes::ByteBuf, u64)>,
}

/// A message from a worker to the pool about the job that it does.
#[derive(Debug, Serialize, Deserialize)]
enum Reply<'a> {
    /// The next bytes of the answer to the current job.
    Bytes(#[serde(with = "serde_bytes", borrow)] &'a [u8]),
    /// The answer to the job of this number is complete.
    Done(u64),
    /// The job of this number has no answer, for the reason in the text.
    Failed(u64, &'a str),
}

/// Creates the packets in which the pool sends job `number` to a worker: the name of its `function`, its `argument` and its
/// `files`. The descriptors of the files go with the last packet.
///
/// # Errors
/// [`JobError::TooLong`] if the call, with the argument and the names, is longer than 64 MiB;
/// [`JobError::NotStarted`] if there are more than 32 files, or the call cannot be encoded.
pub fn call(
    number: u64,
    function: &str,
    argument: &[u8],
    files: Vec<WorkFile>,
) -> Result<Vec<Packet>, JobError> {
    let named = files.iter().map(|file| {
        (serde_bytes::ByteBuf::from(file.name.as_os_str().as_bytes().to_vec()), file.length)
    });
    let call = Call { number, function, argument, files: named.collect() };
    let bytes = postcard::to_allocvec(&call);
    let bytes = bytes.map_err(|error| JobError::NotStarted(io::Error::other(error)))?;
    if bytes.len() > CALL {
        return Err(JobError::TooLong);
    }
    let mut parts = bytes.chunks(PART).peekable();
    let mut files: Vec<OwnedFd> = files.into_iter().map(|file| file.file.into()).collect();
    let mut packets = Vec::new();
    while let Some(bytes) = parts.next() {
        let has_more = parts.peek().is_some();
        let files = if has_more { Vec::new() } else { std::mem::take(&mut files) };
        let packet = Packet::with_files(&MessagePart { bytes, has_more }, files);
        packets.push(packet.map_err(JobError::NotStarted)?);
    }
    Ok(packets)
}

/// A job that a worker is receiving, packet by packet.
#[derive(Debug)]
pub struct Incoming(Assembly);

/// A job that a worker has received.
#[derive(Debug)]
pub struct Arrived {
    /// The number by which the pool identifies the job. The worker repeats it at the end of its answer.
    pub number: u64,
    /// The name of the function that the worker has to run.
    pub function: String,
    /// The argument and the files of the job, which the function gets.
    pub work: Work,
}

impl Default for Incoming {
    fn default() -> Self {
        Self(Assembly::new(CALL))
    }
}

impl Incoming {
    /// Adds `received`, the next packet from the pool. Returns the job if this packet completes it.
    ///
    /// # Errors
    /// The packet is invalid, has fewer descriptors than the job has files, or makes the job longer than 64 MiB.
    pub fn add(&mut self, received: &mut Received) -> io::Result<Option<Arrived>> {
        let part =
            received.message::<MessagePart<'_>>()?.ok_or_else(|| invalid("an empty packet"))?;
        let Some(bytes) = self.0.add(&part)? else { return Ok(None) };
        let call: Call<'_> = postcard::from_bytes(&bytes).map_err(|_| invalid("unknown form"))?;
        let file = |(name, length): (serde_bytes::ByteBuf, u64)| {
            let file: File = received.file()?;
            let name = OsString::from_vec(name.into_vec()).into();
            io::Result::Ok(WorkFile { file, name, length })
        };
        let Call { number, function, argument, files } = call;
        let files = files.into_iter().map(file).collect::<io::Result<_>>()?;
        let work = Work { argument: argument.to_vec(), files };
        Ok(Some(Arrived { number, function: function.to_owned(), work }))
    }
}

/// Sends the outcome of job `number` to the pool: the answer, or the text of an error. Calls `send` once for each packet, with its
/// bytes.
///
/// # Errors
/// The errors of `send`.
pub fn reply(
    number: u64,
    outcome: &Result<Vec<u8>, String>,
    mut send: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut put =
        |reply: &Reply<'_>| send(&postcard::to_allocvec(reply).map_err(io::Error::other)?);
    match outcome {
        Ok(answer) => {
            answer.chunks(PART).try_for_each(|part| put(&Reply::Bytes(part)))?;
            put(&Reply::Done(number))
        }
        Err(why) => put(&Reply::Failed(number, split_at_most(why, TEXT).0)),
    }
}

/// The check of a worker's replies to one job. A file of the job may have taken the worker over, so nothing in a reply is
/// trusted.
#[derive(Debug)]
pub struct Exchange {
    number: u64,
    answer: Assembly,
}

impl Exchange {
    /// Creates the check of the answer to job `number`, which may have up to `most` bytes.
    pub fn new(number: u64, most: usize) -> Self {
        Self { number, answer: Assembly::new(most) }
    }

    /// Adds `received`, the next packet from the worker. If this packet completes the outcome of the job, returns the outcome: the
    /// answer, or the text of the function's error.
    ///
    /// # Errors
    /// The packet is invalid, is about another job, or goes on after the outcome; or the answer is too long.
    pub fn add(&mut self, received: &mut Received) -> io::Result<Option<Result<Vec<u8>, String>>> {
        let outcome = loop {
            match received.message::<Reply<'_>>()? {
                None => return Ok(None),
                Some(Reply::Bytes(bytes)) => {
                    self.answer.add(&MessagePart { bytes, has_more: true })?;
                }
                Some(Reply::Done(number)) if number == self.number => {
                    let end = MessagePart { bytes: &[], has_more: false };
                    break Ok(self.answer.add(&end)?.unwrap_or_default());
                }
                Some(Reply::Failed(number, why)) if number == self.number => {
                    break Err(split_at_most(why, TEXT).0.to_owned());
                }
                Some(Reply::Done(_) | Reply::Failed(..)) => {
                    return Err(invalid("the worker answered another job"));
                }
            }
        };
        if received.is_over() {
            Ok(Some(outcome))
        } else {
            Err(invalid("the worker sent messages after the end of its answer"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(number: u64, outcome: &Result<Vec<u8>, String>) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        reply(number, outcome, |packet| {
            packets.push(packet.to_vec());
            Ok(())
        })
        .unwrap();
        packets
    }

    fn exchanged(
        packets: &[Vec<u8>],
        number: u64,
        most: usize,
    ) -> io::Result<Option<Result<Vec<u8>, String>>> {
        let mut exchange = Exchange::new(number, most);
        for packet in packets {
            if let Some(outcome) = exchange.add(&mut Received::from_bytes(packet.clone()))? {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }

    #[test]
    fn answers_arrive_whole_and_within_their_limit() {
        for length in [0, 1, PART, 3 * PART + 7] {
            let answer = vec![7; length];
            let sent = packets(3, &Ok(answer.clone()));
            assert_eq!(exchanged(&sent, 3, length).unwrap(), Some(Ok(answer)));
            assert_eq!(exchanged(&sent, 3, length.saturating_sub(1)).is_ok(), length == 0);
            // Without its last packet the answer is not complete.
            assert!(exchanged(&sent[..sent.len() - 1], 3, length).unwrap().is_none());
        }
    }

    #[test]
    fn replies_about_other_jobs_and_after_the_end_are_rejected() {
        assert!(exchanged(&packets(2, &Ok(Vec::new())), 3, 9).is_err());
        assert!(exchanged(&packets(2, &Err("x".to_owned())), 3, 9).is_err());
        let twice = packets(3, &Ok(vec![1])).concat();
        assert!(exchanged(std::slice::from_ref(&twice), 3, 9).is_ok());
        let more = [twice, packets(3, &Ok(vec![1])).concat()].concat();
        assert!(exchanged(&[more], 3, 9).is_err());
    }

    #[test]
    fn calls_arrive_with_their_files() {
        let file = || File::open("/dev/null").unwrap();
        let files = ["a", "b"].map(|name| WorkFile { file: file(), name: name.into(), length: 5 });
        let argument = vec![9; 2 * PART];
        let sent = call(4, "f", &argument, files.into()).unwrap();
        let (own, theirs) = crate::process::pair().unwrap();
        let (mut incoming, mut arrived) = (Incoming::default(), None);
        for packet in &sent {
            packet.send(&own).unwrap();
            arrived = incoming.add(&mut Received::receive(&theirs).unwrap().unwrap()).unwrap();
        }
        let arrived = arrived.unwrap();
        assert_eq!((arrived.number, &*arrived.function), (4, "f"));
        assert_eq!(arrived.work.argument, argument);
        let names: Vec<_> =
            arrived.work.files.iter().map(|file| (&file.name, file.length)).collect();
        assert_eq!(names, [(&"a".into(), 5), (&"b".into(), 5)]);
        // The call has files, so the bytes of its packet without the descriptors are not a valid call.
        let alone = sent.last().unwrap().bytes().to_vec();
        assert!(Incoming::default().add(&mut Received::from_bytes(alone)).is_err());
    }
}
