//! Tests that memory grows with the received bytes, and not with the length that a server claims.

use std::error::Error as _;
use std::io;

use zten::{Error, ErrorKind, OpenOptions, ReadAt as _};
use zten_remote::{RemoteError, RemoteFile, RemoteName, RemoteObject, RemoteOptions, TimeLimits};
use zten_testkit::server::{Server, claimed};

use super::limits;

const GIB: u64 = 1 << 30;

/// Starts a server that claims to have a file with a manifest of 1 GiB.
fn server() -> Server {
    let magic = b"ZTEN1000";
    let footer = [&GIB.to_le_bytes()[..], magic].concat();
    Server::start(move |_, request| claimed(magic, &footer, GIB + 24, request))
}

fn options() -> RemoteOptions {
    RemoteOptions::default().times(TimeLimits { repetitions: 0, ..limits() })
}

/// Returns the I/O error inside `error`, an error of reading.
fn source(error: &Error) -> &io::Error {
    assert_eq!(error.kind(), ErrorKind::Read);
    error.source().unwrap().downcast_ref().unwrap()
}

/// Returns the peak heap memory of this thread while `run` runs, in bytes.
fn peak(run: impl FnOnce()) -> u64 {
    allocation_counter::measure(run).bytes_max
}

#[test]
fn a_manifest_that_is_claimed_takes_no_memory() {
    let server = server();
    let name = RemoteName::parse(&server.url()).unwrap();
    let blocking = peak(|| {
        let file = RemoteFile::open(&name, &options()).unwrap();
        let length = file.length();
        let opened = OpenOptions::default().open_source(file, length);
        source(&opened.unwrap_err());
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let asynchronous = peak(|| {
        runtime.block_on(async {
            let object = RemoteObject::open(&name, &options()).await.unwrap();
            let error = object.header(&OpenOptions::default()).await.unwrap_err();
            let remote = source(&error).get_ref().unwrap().downcast_ref();
            assert!(matches!(remote, Some(RemoteError::Fewer { .. })), "{error:?}");
        });
    });
    assert!(blocking < 3 << 20 && asynchronous < 1 << 20, "{blocking}, {asynchronous}");
}

#[test]
fn a_range_that_is_claimed_takes_a_megabyte() {
    let server = server();
    let file = RemoteFile::open(&RemoteName::parse(&server.url()).unwrap(), &options()).unwrap();
    let mut bytes = Vec::new();
    let peak = peak(|| {
        let read = file.append_range(0..GIB, &mut bytes);
        assert_eq!(source(&read.unwrap_err()).kind(), io::ErrorKind::UnexpectedEof);
    });
    assert!(peak < 2 << 20, "{peak}");
}
