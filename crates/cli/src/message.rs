//! Messages between the broker, which opens files, a worker, which reads them, and the process that fetches a remote file.
//!
//! A packet holds one message or several, one after another, and the descriptors of the files that they mention, in
//! order. What a worker sends is untrusted: it has read files.

use std::fmt;
use std::io;

use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zten_formats::shards::Want;

use crate::kind::KindNumbers;
use crate::status::Status;

/// Bytes of a packet, at most.
pub(crate) const PACKET: usize = 64 << 10;
/// Descriptors of a packet, at most.
pub(crate) const DESCRIPTORS: usize = 32;
/// Bytes of a text or of a part of something longer, at most: a packet has room for it.
pub(crate) const PART: usize = PACKET - 1024;

/// A message from a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request<'a> {
    /// The worker has read nothing, and is confined if it says how many bytes of address space it uses.
    Ready(Option<u64>),
    /// The sandbox cannot be enabled as required, and why.
    NotConfined(&'a str),
    /// Text for a stream, of the current job.
    Text(Stream, &'a str),
    /// Bytes that have been read, of those that will be.
    Progress(u64, u64),
    /// Asks for a file that the input of that number, or the remote file, names.
    Find(u32, WireWant),
    /// Asks for the file to write of that number, where the last one names so many.
    Create(u32, u32),
    /// The current job is done.
    Done(Done),
    /// Asks for a range of a remote file.
    Read(u32, u64, u64),
    /// Announces ranges of a remote file that will be read; an empty one stands where other files are read. Whether more
    /// follow.
    Plan(u32, Vec<(u64, u64)>, bool),
}

/// A stream of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stream {
    Output,
    Errors,
}

/// The result of a job, and the numbers of the verdict and of the rules if a file was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Done {
    pub(crate) status: Status,
    pub(crate) kind: Option<KindNumbers>,
}

/// A message to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply<'a> {
    /// A part of the [`Start`](crate::worker::Start), as bytes. Whether more follow.
    Start(#[serde(with = "serde_bytes")] &'a [u8], bool),
    /// The next input.
    Input(Input),
    /// The file that was asked for, if there is one.
    Found(Option<Found>),
    /// The file to write.
    Created,
    /// Bytes of a range.
    Bytes(#[serde(with = "serde_bytes")] &'a [u8]),
    /// The answer is an error.
    Failed(Failure),
}

/// An input: its name as it is shown, and its kind. All but one that failed have a descriptor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Input {
    #[serde(with = "crate::args::os_path")]
    pub(crate) name: std::path::PathBuf,
    /// The number of the job that reads it.
    pub(crate) job: u64,
    /// The place of the input in its job.
    pub(crate) number: u32,
    pub(crate) kind: InputKind,
    /// The names by which other paths lead to the same file.
    #[serde(with = "crate::args::os_path::list")]
    pub(crate) other_names: Vec<std::path::PathBuf>,
    /// True if a file in its folder is expected to hold weights.
    pub(crate) beside_weights: bool,
}

/// The kind of an input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum InputKind {
    /// A regular file of so many bytes.
    File(u64),
    /// A stream, which is read to its end.
    Stream,
    /// The socket of the process that fetches the file.
    Remote,
    /// A file that could not be opened.
    Failed(Failure),
}

/// A file that was found. Its descriptor comes with the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    /// The device and the inode, so that a blob that many shards name is verified once: a worker may not ask the system.
    pub(crate) identity: Option<[u64; 2]>,
    pub(crate) length: u64,
}

/// An error of the system.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    system: Option<i32>,
    text: String,
}

impl Failure {
    /// The error, shortened to a text that a packet has room for.
    pub(crate) fn new(error: &io::Error) -> Self {
        let system = error.raw_os_error();
        let text = if system.is_some() { String::new() } else { error.to_string() };
        Self { system, text: split_at_most(&text, 8 << 10).0.to_owned() }
    }
}

impl From<Failure> for io::Error {
    fn from(Failure { system, text }: Failure) -> Self {
        system.map_or_else(|| Self::other(text), Self::from_raw_os_error)
    }
}

/// The name of a file that another one names, as text of which the form is checked where it is received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WireWant(pub(crate) Want);

impl Serialize for WireWant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for WireWant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&str>::deserialize(deserializer)?;
        let want = Want::read(text).map(Self);
        want.ok_or_else(|| D::Error::invalid_value(Unexpected::Str(""), &"the name of a file"))
    }
}

/// Splits a text so that the first part has at most so many bytes, and no character is divided.
pub(crate) fn split_at_most(text: &str, bytes: usize) -> (&str, &str) {
    let ends = (0..=bytes.min(text.len())).rev();
    ends.map(|end| text.split_at_checked(end)).find_map(|parts| parts).unwrap_or((text, ""))
}

/// The error for a message that no honest process sends.
pub(crate) fn invalid(what: impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("invalid message: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<Request<'_>> {
        postcard::take_from_bytes(bytes).ok().map(|(request, _)| request)
    }

    #[test]
    fn names_are_no_paths() {
        let want = WireWant(Want::read("shard s xxh3 00").unwrap());
        let sent = postcard::to_allocvec(&Request::Find(7, want.clone())).unwrap();
        assert!(matches!(read(&sent), Some(Request::Find(7, found)) if found == want));
        for name in [
            "shard ../s xxh3 00",
            "shard /s xxh3 00",
            "shard s xxh3 ../00",
            "shard http://h/s xxh3 00",
            "shard %2e%2e xxh3 00",
            "sibling ../a.safetensors",
            "sibling /a.safetensors",
            "sibling .safetensors",
            "file:///etc/hostname",
            "",
        ] {
            let mut sent = postcard::to_allocvec(&Request::Find(0, want.clone())).unwrap();
            sent.truncate(2);
            sent.extend(postcard::to_allocvec(name).unwrap());
            assert!(read(&sent).is_none(), "{name}");
        }
    }

    #[test]
    fn errors_arrive() {
        let errors = [io::Error::from_raw_os_error(2), io::Error::other("é".repeat(10_000))];
        for error in errors {
            let failure = Failure::new(&error);
            let sent = postcard::to_allocvec(&failure).unwrap();
            let received = io::Error::from(postcard::from_bytes::<Failure>(&sent).unwrap());
            assert_eq!(received.raw_os_error(), error.raw_os_error());
            assert!(error.to_string().starts_with(&received.to_string()) && sent.len() <= PART);
        }
    }
}
