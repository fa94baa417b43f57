//! Reads the first row of a tensor in a remote file, by requests for ranges of its bytes.
//! `Remote` is a substitute for an HTTP client: `GET` with `Range: bytes=START-END`.
//! `cargo run --example ranges -- FILE NAME`.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use zten::{Error, Limits, OpenOptions, ReadAt};

/// A local file that plays the part of a remote file. Each read counts as one request for a range of bytes, and `requests` is the
/// number of these requests.
struct Remote {
    file: File,
    requests: AtomicU64,
}

impl ReadAt for Remote {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.requests.fetch_add(1, Relaxed);
        self.file.read_at(offset, buffer)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, name] = arguments.as_slice() else { return Err("FILE NAME".into()) };
    let (file, requests) = (File::open(path)?, AtomicU64::new(0));
    let length = file.metadata()?.len();
    // A file can declare a manifest as long as the limit, and memory for the manifest is allocated, so the example lowers
    // the limit.
    let options = OpenOptions::default().limits(Limits::default().with_manifest(64 << 20));
    // Opening a zTensor file makes three requests: its first 8 bytes, its footer and its manifest. For asynchronous requests,
    // `zten::open::Opening` returns the ranges to fetch.
    let archive = options.open_source(Remote { file, requests }, length)?;
    let row: Vec<f32> = archive.tensor(name)?.slice(0..1)?.to_vec()?;
    println!("{row:?}, {} requests", archive.source().requests.load(Relaxed));
    Ok(())
}
