//! Messages between the broker, which opens files, a worker, which reads them, and the process that fetches a remote file.
//!
//! A packet holds one or more messages, and the descriptors of the files that the messages mention, in order. Messages of a
//! worker are untrusted, because a file that the worker has read may have taken it over.

use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zten::shards::Want;
use zten_report::digests::Sha256;
use zten_report::stores::Role;
use zten_worker::process::IoFailure;

use crate::link::origin::Origin;
use crate::link::status::Status;
use crate::link::verdict::KindNumbers;

/// A message from a worker to the broker, or to the process that fetches a remote file for the worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request<'a> {
    /// Text that the current job prints. The first value says on which stream: standard output or standard error of the
    /// command.
    Text(Stream, &'a str),
    /// The progress of the current job: the number of bytes that have been read, the number of bytes that will be read in
    /// total, and the milliseconds since the job began to read.
    Progress(u64, u64, u64),
    /// Asks for a sibling file of the input, or of the remote file, with this number.
    Find(u32, WireWant),
    /// Asks for an output file: its number, and the number of shards of the set (0 of 0 for a single file).
    Create(u32, u32),
    /// Reports that the current job is done.
    Done(Done),
    /// Asks for bytes of a remote file: the number of the file, and the start and end of the range.
    Read(u32, u64, u64),
    /// Announces the byte ranges (start and end) that will be read of the remote file with this number. An empty range
    /// between two ranges says that other files are read between them. The flag is true if more ranges follow in another
    /// message.
    Plan(u32, Vec<(u64, u64)>, bool),
    /// Asks for the length of a blob of an Ollama store. The first value is the number of the input that is the manifest of
    /// the store, and the second the digest of the blob.
    Blob(u32, Sha256),
}

/// Standard output or standard error of the command.
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
    /// True if the files that the job has written are complete, so that they get their names. A conversion that leaves tensors
    /// out writes complete files, but its status may not be success.
    pub(crate) has_files: bool,
}

/// A message of the broker to a worker, or an answer of the process that fetches a remote file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply<'a> {
    /// The next input file.
    Input(Input),
    /// The sibling file that was asked for, or `None` if there is no such file.
    Found(Option<FoundSibling>),
    /// The output file that was asked for.
    Created,
    /// A part of the bytes that were asked for of a remote file.
    Bytes(#[serde(with = "serde_bytes")] &'a [u8]),
    /// The request has failed.
    Failed(IoFailure),
    /// The length of the blob that was asked for, or `None` if the store does not have it.
    Blob(Option<u64>),
}

/// An input file: its path for messages, and its kind. An input of every kind but `Failed` has a descriptor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Input {
    #[serde(with = "crate::args::os_path")]
    pub(crate) name: std::path::PathBuf,
    /// The number of the job that reads the input.
    pub(crate) job: u64,
    /// The index of the input in its job, from 0.
    pub(crate) number: u32,
    pub(crate) kind: InputKind,
    /// The file names of other paths that lead to the same file.
    #[serde(with = "crate::args::os_path::list")]
    pub(crate) other_names: Vec<std::path::PathBuf>,
    pub(crate) origin: Origin,
    /// The role of the file in a store of downloaded models.
    pub(crate) role: Role,
}

/// The kind of an input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum InputKind {
    /// A regular file, and its length in bytes.
    File(u64),
    /// Standard input of the command, which the worker reads to its end into memory.
    Stream,
    /// A remote file: the descriptor is a socket to the process that fetches it.
    Remote,
    /// A file that could not be opened.
    Failed(IoFailure),
}

/// A sibling file that was found. The descriptor of a local file comes in the same packet. A remote file has no descriptor: the
/// process that fetches the file knows it by `number`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FoundSibling {
    /// The number of a remote file, from 1, by which later requests name the file; 0 for a local file.
    pub(crate) number: u32,
    /// The device and the inode of a local file, so that a blob that many shards name is verified once. A worker may not ask
    /// the system for them.
    pub(crate) identity: Option<[u64; 2]>,
    /// The length of the file in bytes.
    pub(crate) length: u64,
}

/// A request for a sibling file, sent as text. The receiver checks the text, so that no name can be a path.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<Request<'_>> {
        postcard::take_from_bytes(bytes).ok().map(|(request, _)| request)
    }

    #[test]
    fn names_that_are_paths_are_rejected() {
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
    fn malformed_messages_are_rejected() {
        for wrong in [&b"\xff"[..], &[0], &[0, 0, 3, b'a'], &[0, 9, 0], &[4, 1]] {
            assert!(read(wrong).is_none(), "{wrong:?}");
        }
    }
}
