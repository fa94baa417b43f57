//! Memory follows what has come, and not what a server claims.

use std::io;

use zten::source::{OpenError, SourceArchive};
use zten::{Options, ReadAt as _, ReadError};
use zten_remote::{RemoteError, RemoteFile, RemoteName, RemoteObject, RemoteOptions, TimeLimits};
use zten_testkit::server::{Server, claimed};

use super::limits;

const GIB: u64 = 1 << 30;

/// A server that claims a file with a manifest of 1 GiB.
fn server() -> Server {
    let magic = b"ZTEN1000";
    let footer = [&GIB.to_le_bytes()[..], magic].concat();
    Server::start(move |_, request| claimed(magic, &footer, GIB + 24, request))
}

fn options() -> RemoteOptions {
    RemoteOptions::default().times(TimeLimits { repetitions: 0, ..limits() })
}

/// The most heap that this thread had in use.
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
        let opened = SourceArchive::with_length(file, length, &Options::default());
        assert!(matches!(opened, Err(OpenError::Source(_))), "{opened:?}");
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let asynchronous = peak(|| {
        runtime.block_on(async {
            let object = RemoteObject::open(&name, &options()).await.unwrap();
            let opened = object.manifest(&Options::default()).await;
            let fewer = matches!(opened, Err(ReadError::Source(RemoteError::Fewer { .. })));
            assert!(fewer, "{opened:?}");
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
        let kind = |error: io::Error| error.kind();
        let failed = read.map_err(|error| match error {
            ReadError::Source(error) => Some(kind(error)),
            ReadError::Refused(_) => None,
        });
        assert_eq!(failed, Err(Some(io::ErrorKind::UnexpectedEof)));
    });
    assert!(peak < 2 << 20, "{peak}");
}
