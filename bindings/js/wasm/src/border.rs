//! The interface to the host: imports, the exports that open a file, and the state that exports share.
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
        /// Fills `buffer` with the input of the current call. The length of the input was an argument of the call.
        pub(super) fn input(buffer: &mut [u8]);
        /// Hands `bytes` to the host: a piece of the answer (channel 0), or of data (channel 1).
        pub(super) fn take(channel: u32, bytes: &[u8]);
    }
}

/// The bytes of the file, which the host reads.
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
    /// The answer to a call: a JSON document, or nothing.
    Answer,
    /// Decoded elements, attributes and other binary data.
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

/// A buffered writer of the answer to a call.
pub type Answer = BufWriter<Out>;

/// The one file of an instance.
static SESSION: Mutex<Session> = Mutex::new(Session::Empty);

/// The name of the file of this instance; empty if it is unknown.
static NAME: Mutex<String> = Mutex::new(String::new());

/// Returns the input of the current call, which has `length` bytes.
///
/// # Errors
/// Out of memory.
pub fn input(length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length)?;
    bytes.resize(length, 0);
    host::input(&mut bytes);
    Ok(bytes)
}

/// Calls `work` and hands its answer to the host. Returns 1 if the call succeeded, 2 if it ran out of memory, and 0 if the call
/// is not possible in the current state.
pub fn with(work: impl FnOnce(&mut Session, &mut Answer) -> io::Result<()>) -> u32 {
    let Ok(mut session) = SESSION.try_lock() else { return 0 };
    let mut out = BufWriter::with_capacity(1 << 16, Out::Answer);
    match work(&mut session, &mut out).and_then(|()| out.flush()) {
        Ok(()) => 1,
        Err(error) if error.kind() == io::ErrorKind::OutOfMemory => 2,
        Err(_) => 0,
    }
}

/// Calls `work` with the open file, and returns the status as [`with`] does: 0 if no file is open.
pub fn on_file(work: impl FnOnce(&'static File, &mut Answer) -> io::Result<()>) -> u32 {
    with(|session, out| match session {
        Session::Open(file) => work(file, out),
        _ => Err(io::ErrorKind::NotFound.into()),
    })
}

/// Checks that the name of the instance's `file` fits its format, as [`name::check`] does.
///
/// # Errors
/// The errors of `out`.
pub fn check_name(file: &File, out: &mut Answer) -> io::Result<bool> {
    let name = NAME.try_lock().map_err(|_| io::ErrorKind::WouldBlock)?;
    name::check(file, &name, out)
}

/// Begins to open a file of `length` bytes. The input of the call is the name of the file, of `name` bytes: 0 if it is unknown.
#[wasm_bindgen]
pub fn begin(length: u64, name: usize) -> u32 {
    with(|session, out| {
        let name = input(name)?;
        let text = String::from_utf8(name.clone()).unwrap_or_default();
        *NAME.try_lock().map_err(|_| io::ErrorKind::WouldBlock)? = text;
        session.begin(name, length, out)
    })
}

/// Returns whether opening waits for a call of [`supply`], even for an empty range.
#[wasm_bindgen]
pub fn needs() -> bool {
    needed().is_some()
}

/// Returns the offset of the first byte that is needed.
#[wasm_bindgen]
pub fn needs_start() -> u64 {
    needed().unwrap_or_default().start
}

/// Returns the offset after the last byte that is needed.
#[wasm_bindgen]
pub fn needs_end() -> u64 {
    needed().unwrap_or_default().end
}

/// Takes the bytes that are needed, which are the input of the call, of `length` bytes. The answer is empty, or the error of
/// the file.
#[wasm_bindgen]
pub fn supply(length: usize) -> u32 {
    with(|session, out| session.supply(input(length)?, &Source, out))
}

fn needed() -> Option<std::ops::Range<u64>> {
    SESSION.try_lock().ok()?.needs()
}
