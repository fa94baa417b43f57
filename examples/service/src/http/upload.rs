//! Receives an uploaded file into a sealed memory file.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use rustix::fs::{MemfdFlags, fcntl_add_seals, memfd_create};

use crate::sealed::SEALS;

/// The reason why an upload failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The body exceeds the largest size of a file.
    TooLarge,
    /// The body is incomplete, or invalid HTTP.
    Broken,
    /// Out of memory for the body.
    Memory(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Memory(error)
    }
}

/// Returns whether the client announces more than `most` bytes. A smaller announced length is not trusted: the bytes are
/// counted as they arrive.
pub(super) fn is_too_large(body: &Incoming, most: u64) -> bool {
    body.size_hint().lower() > most
}

/// Receives a body of at most `most` bytes into a sealed memory file, whose memory is allocated as bytes arrive.
pub(super) async fn receive(mut body: Incoming, most: u64) -> Result<File, Failure> {
    let mut file = empty()?;
    let mut left = most;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Failure::Broken)?;
        let Some(bytes) = frame.data_ref() else { continue };
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        left = left.checked_sub(length).ok_or(Failure::TooLarge)?;
        file.write_all(bytes)?;
    }
    seal(&mut file)?;
    Ok(file)
}

/// Returns an empty memory file, which no healthy worker calls valid.
pub(super) fn nothing() -> io::Result<File> {
    let mut file = empty()?;
    seal(&mut file)?;
    Ok(file)
}

fn empty() -> io::Result<File> {
    Ok(memfd_create("upload", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC)?.into())
}

/// Seals `file`, so that no process can change it, not even the worker that receives it.
fn seal(file: &mut File) -> io::Result<()> {
    file.rewind()?;
    Ok(fcntl_add_seals(file, SEALS)?)
}
