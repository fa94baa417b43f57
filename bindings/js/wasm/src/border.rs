//! The border with the host: imports, the exports by which a file is opened, and what they share.
//!
//! The host reads and fills buffers of the module during a call only. It may pass any arguments: an object or component that
//! does not exist is an error in the answer, and a call during a call returns 0.

use std::io::{self, BufWriter, Write};
use std::sync::Mutex;

use wasm_bindgen::prelude::wasm_bindgen;
use zten::{Error, ReadAt};

use crate::name;
use crate::session::{File, Session};

mod host {
    use super::wasm_bindgen;

    #[wasm_bindgen]
    extern "C" {
        /// Fills `buffer` with the bytes of the file from `offset` on. Returns false if it failed.
        pub(super) fn read_at(offset: u64, buffer: &mut [u8]) -> bool;
        /// Fills `buffer` with the bytes that come with the call, which has stated their number.
        pub(super) fn input(buffer: &mut [u8]);
        /// Takes bytes: of the answer (0), or of data (1).
        pub(super) fn take(channel: u32, bytes: &[u8]);
    }
}

/// The file, as the host reads it.
#[derive(Clone, Copy, Debug)]
struct Source;

impl ReadAt for Source {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        if host::read_at(offset, buffer) { Ok(()) } else { Err(Error::reading()) }
    }
}

/// A channel to the host.
#[derive(Clone, Copy, Debug)]
pub enum Out {
    /// The answer to a call.
    Answer,
    /// Data.
    Data,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let channel = match self {
            Self::Answer => 0,
            Self::Data => 1,
        };
        host::take(channel, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The answer to a call, on its way.
pub type Answer = BufWriter<Out>;

/// The one file of an instance.
static SESSION: Mutex<Session> = Mutex::new(Session::Empty);

/// The name of that file; empty if it is not known.
static NAME: Mutex<String> = Mutex::new(String::new());

/// The bytes that come with a call.
///
/// # Errors
/// Running out of memory for them.
pub fn input(length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length)?;
    bytes.resize(length, 0);
    host::input(&mut bytes);
    Ok(bytes)
}

/// Calls `work` and hands its answer to the host. Returns 1 if that succeeded; 2 if there is no memory for the bytes that
/// come with the call; 0 if this call is not possible now.
pub fn with(work: impl FnOnce(&mut Session, &mut Answer) -> io::Result<()>) -> u32 {
    let Ok(mut session) = SESSION.try_lock() else { return 0 };
    let mut out = BufWriter::with_capacity(1 << 16, Out::Answer);
    match work(&mut session, &mut out).and_then(|()| out.flush()) {
        Ok(()) => 1,
        Err(error) if error.kind() == io::ErrorKind::OutOfMemory => 2,
        Err(_) => 0,
    }
}

/// Calls `work` with the open file, as [`with`] does.
pub fn on_file(work: impl FnOnce(&'static File, &mut Answer) -> io::Result<()>) -> u32 {
    with(|session, out| match session {
        Session::Open(file) => work(file, out),
        _ => Err(io::ErrorKind::NotFound.into()),
    })
}

/// Checks the name of the open file, as [`name::check`] does.
///
/// # Errors
/// The errors of `out`.
pub fn check_name(file: &File, out: &mut Answer) -> io::Result<bool> {
    let name = NAME.try_lock().map_err(|_| io::ErrorKind::WouldBlock)?;
    name::check(file, &name, out)
}

/// Begins to open a file of `length` bytes. Its name, which may be empty, comes with the call.
#[wasm_bindgen]
pub fn begin(length: u64, name: usize) -> u32 {
    with(|session, out| {
        let name = input(name)?;
        let text = String::from_utf8_lossy(&name).into_owned();
        *NAME.try_lock().map_err(|_| io::ErrorKind::WouldBlock)? = text;
        session.begin(name, length, out)
    })
}

/// Returns true if opening needs bytes next, possibly none.
#[wasm_bindgen]
pub fn needs() -> bool {
    needed().is_some()
}

/// Returns the offset of the first byte that is needed.
#[wasm_bindgen]
pub fn needs_start() -> u64 {
    needed().unwrap_or_default().start
}

/// Returns the offset behind the last byte that is needed.
#[wasm_bindgen]
pub fn needs_end() -> u64 {
    needed().unwrap_or_default().end
}

/// Takes the bytes that were needed. The answer is empty, or the error of the file.
#[wasm_bindgen]
pub fn supply(length: usize) -> u32 {
    with(|session, out| session.supply(input(length)?, &Source, out))
}

fn needed() -> Option<std::ops::Range<u64>> {
    SESSION.try_lock().ok()?.needs()
}
