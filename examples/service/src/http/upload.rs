//! A file on its way from a client into memory that cannot change any more.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use rustix::fs::{MemfdFlags, fcntl_add_seals, memfd_create};

use crate::sealed::SEALS;

/// The reason why there is no file.
#[derive(Debug)]
pub(super) enum Failure {
    /// The body has more bytes than it may.
    TooLarge,
    /// The client has not sent all of it, or not in the form of HTTP.
    Broken,
    /// Memory is short for the body.
    Memory(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Memory(error)
    }
}

/// Returns whether the client announces more than `most` bytes, which is all that is believed of a length.
pub(super) fn is_too_large(body: &Incoming, most: u64) -> bool {
    body.size_hint().lower() > most
}

/// Takes a body of at most `most` bytes. Memory is taken as bytes come.
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

/// A file without a byte, which no worker can find valid.
pub(super) fn nothing() -> io::Result<File> {
    let mut file = empty()?;
    seal(&mut file)?;
    Ok(file)
}

fn empty() -> io::Result<File> {
    Ok(memfd_create("upload", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC)?.into())
}

/// No process can change it any more, nor can the worker that has it.
fn seal(file: &mut File) -> io::Result<()> {
    file.rewind()?;
    Ok(fcntl_add_seals(file, SEALS)?)
}
