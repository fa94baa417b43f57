//! Reads one tensor of a file that is elsewhere, by requests for ranges of its bytes.
//! `Remote` stands for an HTTP client: `GET` with `Range: bytes=START-END`.
//! `cargo run --example ranges -- FILE NAME`.

use std::cell::Cell;
use std::error::Error;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;

use zten::open::Opening;
use zten::{Manifest, Options, ReadAt};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, name] = arguments.as_slice() else {
        return Err("FILE NAME".into());
    };
    let remote = Remote::new(path)?;
    let manifest = open(&remote)?;
    println!("{:?}", first_row(&manifest, &remote, name)?);
    println!("{} requests, {} bytes", remote.requests.get(), remote.bytes.get());
    Ok(())
}

/// Three requests: header, footer, manifest. Each state says what it needs, which has been held
/// against the length of the file and the limits.
fn open(remote: &Remote) -> Result<Manifest<Vec<u8>>, Box<dyn Error>> {
    // A manifest may claim to be as long as the limit: this is what the memory for it follows.
    let limits = zten::Limits::default().with_manifest(64 << 20);
    let opening = Opening::new(remote.length, &Options::default().limits(limits))?;
    let footer = opening.header(&remote.get(opening.needs())?)?;
    let body = footer.footer(&remote.get(footer.needs())?)?;
    let bytes = remote.get(body.needs())?;
    body.manifest(bytes).map_err(|refused| {
        // The error knows the place by its numbers; what was refused knows its names.
        format!("{refused} ({:?})", refused.named()).into()
    })
}

/// The first row of a dense tensor of `f32`, and no other byte of it.
fn first_row(
    manifest: &Manifest<Vec<u8>>,
    remote: &Remote,
    name: &str,
) -> Result<Vec<f32>, Box<dyn Error>> {
    let dense = manifest.require(name)?.dense()?;
    let row = dense.rows(0..1)?;
    let mut bytes = vec![0; usize::try_from(row.byte_len())?];
    row.read(remote, manifest.limits(), &mut bytes)?;
    // Little-endian, whatever the file's byte order.
    let elements = bytes.as_chunks().0.iter();
    Ok(elements.map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

/// A file of which ranges are read, and what that came to.
struct Remote {
    file: File,
    length: u64,
    requests: Cell<u64>,
    bytes: Cell<u64>,
}

impl Remote {
    fn new(path: &str) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { file, length, requests: Cell::new(0), bytes: Cell::new(0) })
    }

    fn get(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let length = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        self.read_at(range.start, &mut bytes)?;
        Ok(bytes)
    }
}

impl ReadAt for Remote {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.requests.set(self.requests.get() + 1);
        self.bytes.set(self.bytes.get() + buffer.len() as u64);
        (&self.file).seek(SeekFrom::Start(offset))?;
        (&self.file).read_exact(buffer)
    }
}

#[test]
fn four_requests_read_a_row() {
    let remote = Remote::new("corpus/accept/1.2.3/dense_all.zt").unwrap();
    let manifest = open(&remote).unwrap();
    let row = first_row(&manifest, &remote, "t_f32").unwrap();
    assert_eq!((row, remote.requests.get()), (vec![-1.25, -0.75, -0.25], 4));
    let asked = remote.bytes.get() - manifest.as_bytes().len() as u64;
    assert_eq!(asked, 8 + 16 + 12);
    let refused = Remote::new("corpus/reject/blob-alignment--v12-72.zt").unwrap();
    let message = open(&refused).err().unwrap().to_string();
    assert!(message.contains("object: Some(\"w\")"), "{message}");
}
