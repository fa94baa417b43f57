//! Tests of the number of requests, and of the bytes that they ask for.

use zten::write::{Checksum, WriteOptions, Writer};
use zten::{OpenOptions, ReadAt as _};
use zten_remote::{Plan, RemoteFile, RemoteName, RemoteObject, RemoteOptions};
use zten_testkit::server::{Reply, Server, honest};

use super::limits;

const TAIL: u64 = 64 << 10;

/// Returns a file of `count` tensors of `bytes` bytes each.
fn tensors(count: usize, bytes: usize) -> Vec<u8> {
    let settings = WriteOptions::default().checksum(Checksum::None);
    let mut writer = Writer::new(Vec::new(), &settings).unwrap();
    for number in 0..count {
        let name = format!("layers.{number:06}.weight");
        let content = vec![(number % 251) as u8; bytes];
        writer.add(&name, &[bytes as u64], &content).unwrap();
    }
    writer.finish().unwrap()
}

fn name(server: &Server) -> RemoteName {
    RemoteName::parse(&server.url()).unwrap()
}

fn options() -> RemoteOptions {
    RemoteOptions::default().times(limits())
}

/// Returns the length of the manifest of `file`.
fn manifest_bytes(file: &[u8]) -> u64 {
    let extent = zten::Archive::from_bytes(file).unwrap().manifest().extent();
    extent.end - extent.start
}

#[test]
fn listing_takes_three_requests() {
    for (count, bytes, requests) in [(3, 100, 1), (300, 10_000, 2), (5000, 100, 3)] {
        let file = tensors(count, bytes);
        let most = manifest_bytes(&file) + TAIL + 64;
        let server = Server::of(file);
        let remote = RemoteFile::open(&name(&server), &options()).unwrap();
        let length = remote.length();
        let archive = OpenOptions::default().open_source(remote, length).unwrap();
        assert_eq!(archive.len(), count);
        assert_eq!(server.asked().len(), requests, "{count}");
        assert!(server.sent() <= most, "{} of {most}", server.sent());
    }
}

#[test]
fn asynchronous_programs_need_as_few_requests() {
    let server = Server::of(tensors(5000, 100));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let count = runtime.block_on(async {
        let object = RemoteObject::open(&name(&server), &options()).await.unwrap();
        object.header(&OpenOptions::default()).await.unwrap().len()
    });
    assert_eq!((count, server.asked().len()), (5000, 3));
}

#[test]
fn a_plan_is_fetched_once_and_no_more() {
    let content: Vec<u8> = (0..50_u32 << 20).map(|n| (n >> 12) as u8).collect();
    let whole = content.clone();
    let server = Server::start(move |number, request| match number {
        // The connection is cut within one block, so one more request asks for the rest of the block.
        7 => Reply { cut: Some(1 << 20), ..honest(&content, request) },
        _ => honest(&content, request),
    });
    let file = RemoteFile::open(&name(&server), &options()).unwrap();
    let (start, end) = (1000, 40 << 20);
    let mut plan = Plan::new();
    plan.add(start..end);
    file.plan(plan).unwrap();
    let mut at = start;
    let mut buffer = vec![0; 100_000];
    while at < end {
        let length = (end - at).min(100_000) as usize;
        file.read_at(at, &mut buffer[..length]).unwrap();
        assert_eq!(buffer[..length], whole[at as usize..at as usize + length]);
        at += length as u64;
    }
    // There is one request for the tail of the file, one for each of ten blocks of 4 MiB, and one for the rest of the
    // block that was cut.
    assert_eq!(server.asked().len(), 1 + 10 + 1);
    assert_eq!(server.sent(), TAIL + (end - start));
}

/// Returns a content of 40 MiB, a server of it, and the opened file with a plan of all its bytes.
fn planned() -> (Vec<u8>, Server, RemoteFile) {
    let content: Vec<u8> = (0..40_u32 << 20).map(|n| (n >> 10) as u8).collect();
    let server = Server::of(content.clone());
    let file = RemoteFile::open(&name(&server), &options()).unwrap();
    let mut plan = Plan::new();
    plan.add(0..40 << 20);
    file.plan(plan).unwrap();
    (content, server, file)
}

#[test]
fn reads_out_of_order_fetch_bytes_at_most_twice() {
    let (whole, server, file) = planned();
    let step = 1_000_003_u64;
    let mut buffer = vec![0; 500];
    let mut read = 0;
    for number in 0..400_u64 {
        let at = number * step * 7 % ((40 << 20) - 500);
        file.read_at(at, &mut buffer).unwrap();
        assert_eq!(buffer, whole[at as usize..at as usize + 500]);
        read += 500;
    }
    assert!(server.sent() <= TAIL + (40 << 20) + read, "{}", server.sent());
}

#[test]
fn reads_backwards_fetch_bytes_once() {
    let server = Server::of(vec![7; 40 << 20]);
    let file = RemoteFile::open(&name(&server), &options()).unwrap();
    let mut plan = Plan::new();
    plan.add(0..40 << 20);
    file.plan(plan).unwrap();
    let mut buffer = vec![0; 1 << 20];
    for at in (0..40).rev() {
        file.read_at(at << 20, &mut buffer).unwrap();
    }
    assert!(server.sent() <= TAIL + (40 << 20), "{}", server.sent());
}

#[test]
fn sequential_reads_need_few_requests() {
    let content = vec![7; 20 << 20];
    let server = Server::of(content);
    let file = RemoteFile::open(&name(&server), &options()).unwrap();
    let mut buffer = vec![0; 1 << 16];
    for at in (0..10 << 20).step_by(1 << 16) {
        file.read_at(at, &mut buffer).unwrap();
    }
    assert!(server.asked().len() < 100, "{}", server.asked().len());
    let most = TAIL + (10 << 20) / 20 * 21;
    assert!(server.sent() <= most, "{} of {most}", server.sent());
}

#[test]
fn plans_beyond_the_end_are_rejected() {
    let server = Server::of(vec![0; 1000]);
    let file = RemoteFile::open(&name(&server), &options()).unwrap();
    let mut plan = Plan::new();
    plan.add(0..1001);
    assert!(file.plan(plan).is_err());
}

#[test]
fn blocks_that_were_not_read_are_fetched_again_after_a_pause() {
    let (whole, server, file) = planned();
    let mut buffer = vec![0; 4 << 20];
    for at in (0..40_u64 << 20).step_by(4 << 20) {
        file.read_at(at, &mut buffer).unwrap();
        assert_eq!(buffer, whole[at as usize..at as usize + buffer.len()]);
        file.pause();
    }
    // At most four blocks were in flight at each pause.
    assert!(server.asked().len() <= 1 + 10 * 5, "{}", server.asked().len());
    file.read_at(1000, &mut buffer[..1000]).unwrap();
    assert_eq!(buffer[..1000], whole[1000..2000]);
}

#[test]
fn blocks_after_other_files_are_not_fetched_ahead() {
    let server = Server::of(vec![7; 40 << 20]);
    let file = RemoteFile::open(&name(&server), &options()).unwrap();
    let run = |at: u64| std::iter::once(at << 20..(at + 10) << 20);
    file.plan(Plan::of_runs([run(0), run(10), run(20)])).unwrap();
    let mut buffer = vec![0; 5 << 20];
    for at in [0, 5, 10, 15] {
        file.read_at(at << 20, &mut buffer).unwrap();
        file.pause();
    }
    // In each run, blocks may have been in flight when reading paused.
    assert!(server.sent() <= TAIL + (20 << 20) + (2 << 23), "{}", server.sent());
    let asked = server.asked();
    let ends = asked.iter().skip(1).map(|request| request.range(40 << 20).unwrap().end);
    assert_eq!(ends.max(), Some(20 << 20));
}
