//! Tests of the process that talks to the server, when the process that asks it has been taken over.

use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use zten_testkit::server::Server;

use crate::{command, corpus_folder};

/// Encodes a number as in messages, with 7 bits per byte.
fn number(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 127 {
        bytes.push(u8::try_from(number % 128).unwrap() | 128);
        number /= 128;
    }
    bytes.push(u8::try_from(number).unwrap());
    bytes
}

fn text(text: &str) -> Vec<u8> {
    [number(u64::try_from(text.len()).unwrap()), text.into()].concat()
}

/// Encodes the message that asks for a file that the remote file names.
fn find(name: &str) -> Vec<u8> {
    [vec![2, 0], text(name)].concat()
}

/// Starts the process for a file with up to `most` other files, and sends `questions`. Returns the process's answers and
/// the paths that it requested from the server.
fn asked(most: u32, questions: &[Vec<u8>]) -> (Vec<Vec<u8>>, Vec<String>) {
    let server = Server::of_folder(&corpus_folder().join("v2"), 404);
    let flags = SocketFlags::CLOEXEC;
    let (own, other): (OwnedFd, OwnedFd) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    let mut process = command()
        .arg("--fetch")
        .stdin(other)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The start message sets no time limit, and prohibits redirects to private addresses.
    let start = [text(&server.at("shards/dense.zt")), number(most.into()), vec![0, 0]].concat();
    let start = [number(u64::try_from(start.len()).unwrap()), start, vec![0]].concat();
    send(&own, &start, SendFlags::NOSIGNAL).unwrap();
    let mut answers = Vec::new();
    let receive = || {
        let mut answer = vec![0; 64 << 10];
        let length = recv(&own, &mut *answer, RecvFlags::empty()).map_or(0, |(length, _)| length);
        answer.truncate(length);
        (length > 0).then_some(answer)
    };
    answers.extend(receive());
    for question in questions {
        // The process may have ended already.
        let _ = send(&own, question, SendFlags::NOSIGNAL);
        // The process does not answer this kind of message, a plan.
        if question.first() != Some(&6) {
            answers.extend(receive());
        }
    }
    rustix::net::shutdown(&own, rustix::net::Shutdown::Write).unwrap();
    process.wait().unwrap();
    (answers, server.paths())
}

/// Returns the answer that a file was found: its number, no identity, and its length in bytes.
fn found(file: u64, length: u64) -> Vec<u8> {
    [vec![1, 1], number(file), vec![0], number(length)].concat()
}

const ROOT: &str = "/shards/dense.zt";
const SHARD: &str = "/shards/dense-s.zt";

#[test]
fn possible_shards_are_requested() {
    let (answers, paths) = asked(2, &[find("shard s xxh3 00"), find("shard t xxh3 00")]);
    let length = |path: &str| corpus_folder().join("v2").join(&path[1..]).metadata().unwrap().len();
    assert_eq!(answers, [found(0, length(ROOT)), found(1, length(SHARD)), vec![1, 0]]);
    assert_eq!(paths, [ROOT, SHARD, "/shards/dense-t.zt", "/shards/blobs/xxh3/00"]);
}

#[test]
fn no_other_files_are_requested() {
    for name in [
        "shard ../s xxh3 00",
        "shard .. xxh3 00",
        "shard /s xxh3 00",
        "shard s ../xxh3 00",
        "shard s xxh3 ..",
        "shard %2e%2e xxh3 00",
        "shard s%2f..%2fs xxh3 00",
        "shard s?a=b xxh3 00",
        "shard http://127.0.0.1/s xxh3 00",
        "sibling ../accept/dense.zt",
        "sibling dense-s.zt",
        "sibling /a.safetensors",
        "sibling a\tb.safetensors",
        "sibling a\nb.safetensors",
        "sibling a\rb.safetensors",
        "http://127.0.0.1/",
        "file:///etc/hostname",
    ] {
        let (answers, paths) = asked(9, &[find(name), find("shard s xxh3 00")]);
        // The process ends at the first question instead of answering, so the only answer is the one about the opened file.
        assert_eq!((answers.len(), &*paths), (1, &[ROOT.to_owned()][..]), "{name}");
    }
}

#[test]
fn the_limit_on_shards_bounds_requests() {
    let shard = || find("shard s xxh3 00");
    assert_eq!(asked(0, &[shard()]).1, [ROOT]);
    let (answers, paths) = asked(1, &[shard(), find("shard t xxh3 00")]);
    assert_eq!((answers.len(), &*paths), (2, &[ROOT.to_owned(), SHARD.to_owned()][..]));
}

#[test]
fn files_that_were_not_found_are_not_read() {
    let read = |file: u8| vec![5, file, 0, 8];
    let (answers, _) = asked(1, &[read(0)]);
    assert_eq!(answers[1][..2], [3, 8]);
    assert_eq!(asked(1, &[read(1)]).0.len(), 1);
    let plan = vec![6, 1, 0, 0];
    assert_eq!(asked(1, &[plan, read(0)]).0.len(), 1);
}
