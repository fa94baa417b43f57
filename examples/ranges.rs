//! Reads the first row of a tensor in a file that is elsewhere, by requests for ranges of its bytes.
//! `Remote` stands for an HTTP client: `GET` with `Range: bytes=START-END`.
//! `cargo run --example ranges -- FILE NAME`.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use zten::{Error, Limits, OpenOptions, ReadAt};

/// A file of which ranges are read, and the number of requests.
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
    // A manifest may claim to be as long as the limit: this is what the memory for it follows.
    let options = OpenOptions::default().limits(Limits::default().with_manifest(64 << 20));
    // Three requests: header, footer, manifest. `zten::open::Opening` asks for the same ranges where requests are
    // asynchronous.
    let archive = options.open_source(Remote { file, requests }, length)?;
    let row: Vec<f32> = archive.tensor(name)?.slice(0..1)?.to_vec()?;
    println!("{row:?}, {} requests", archive.source().requests.load(Relaxed));
    Ok(())
}
