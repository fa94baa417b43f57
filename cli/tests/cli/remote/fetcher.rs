//! The process that talks to a server, as one sees it that was taken over.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use zten_testkit::server::Server;

use crate::{command, corpus_folder};

fn text(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap();
    [&length.to_le_bytes()[..], text.as_bytes()].concat()
}

fn find(name: &str) -> Vec<u8> {
    [&1_u32.to_le_bytes()[..], &text(name)].concat()
}

/// Asks it for a file, of which so many others may be asked for, and for that. Its answers, and what the server was asked for.
fn asked(most: u32, questions: &[Vec<u8>]) -> (Vec<u8>, Vec<String>) {
    let server = Server::of_folder(&corpus_folder().join("v2"), 404);
    let (mut own, other) = UnixStream::pair().unwrap();
    let mut process = command()
        .arg("fetch")
        .stdin(OwnedFd::from(other))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    own.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    own.write_all(&text(&server.at("shards/dense.zt"))).unwrap();
    own.write_all(&most.to_le_bytes()).unwrap();
    for question in questions {
        own.write_all(question).unwrap();
    }
    own.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answers = Vec::new();
    // What it has not read when it ends resets the connection.
    let ended = own.read_to_end(&mut answers).map(drop);
    assert!(ended.is_ok() || ended.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset));
    process.wait().unwrap();
    (answers, server.paths())
}

/// The file was found: a number of bytes, of the file, and its length. So are others.
fn found(number: u32, length: u64) -> Vec<u8> {
    [&12_u32.to_le_bytes()[..], &number.to_le_bytes(), &length.to_le_bytes()].concat()
}

const ROOT: &str = "/shards/dense.zt";
const SHARD: &str = "/shards/dense-s.zt";

#[test]
fn what_may_be_a_shard_is_looked_for() {
    let (answers, paths) = asked(2, &[find("shard s xxh3 00"), find("shard t xxh3 00")]);
    let length = |path: &str| corpus_folder().join("v2").join(&path[1..]).metadata().unwrap().len();
    let none = found(u32::MAX, 0);
    assert_eq!(answers, [found(0, length(ROOT)), found(1, length(SHARD)), none].concat());
    assert_eq!(paths, [ROOT, SHARD, "/shards/dense-t.zt", "/shards/blobs/xxh3/00"]);
}

#[test]
fn nothing_else_is_asked_for() {
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
        "beside ../accept/dense.zt",
        "beside dense-s.zt",
        "beside /a.safetensors",
        "beside a\tb.safetensors",
        "beside a\nb.safetensors",
        "beside a\rb.safetensors",
        "http://127.0.0.1/",
        "file:///etc/hostname",
    ] {
        let (answers, paths) = asked(9, &[find(name), find("shard s xxh3 00")]);
        // It has ended.
        assert_eq!((answers.len(), &*paths), (16, &[ROOT.to_owned()][..]), "{name}");
    }
}

#[test]
fn no_more_files_are_asked_for_than_the_limit_allows() {
    let shard = || find("shard s xxh3 00");
    assert_eq!(asked(0, &[shard()]).1, [ROOT]);
    let (answers, paths) = asked(1, &[shard(), find("shard t xxh3 00")]);
    assert_eq!((answers.len(), &*paths), (32, &[ROOT.to_owned(), SHARD.to_owned()][..]));
}

#[test]
fn files_that_were_not_found_are_not_read() {
    let read = |file: u32| {
        [&0_u32.to_le_bytes()[..], &file.to_le_bytes(), &[0; 8], &8_u64.to_le_bytes()].concat()
    };
    assert_eq!(asked(1, &[read(0)]).0.len(), 16 + 4 + 8);
    assert_eq!(asked(1, &[read(1)]).0.len(), 16);
    let plan = [2_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    assert_eq!(asked(1, &[plan, read(0)]).0.len(), 16);
}
