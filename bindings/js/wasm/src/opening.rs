//! The exports that open a file, and the state that the exports of an open file share.

use std::io;
use std::sync::Mutex;

use wasm_bindgen::prelude::wasm_bindgen;
use zten::{Error, ReadAt};

use crate::border::{Answer, answer, input, read_at};
use crate::name;
use crate::session::{File, Session};

/// A source that asks the host for the bytes of the file.
#[derive(Clone, Copy, Debug)]
struct Source;

impl ReadAt for Source {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        if read_at(offset, buffer) { Ok(()) } else { Err(Error::reading()) }
    }
}

/// The state of the file of this instance.
static SESSION: Mutex<Session> = Mutex::new(Session::Empty);

/// The name of the file of this instance; empty if it is unknown.
static NAME: Mutex<String> = Mutex::new(String::new());

/// Calls `work` with the session of this instance and a writer of the answer. Returns the status as [`answer`] does. If another
/// call is still running, returns 0 and does not call `work`.
pub fn with(work: impl FnOnce(&mut Session, &mut Answer) -> io::Result<()>) -> u32 {
    let Ok(mut session) = SESSION.try_lock() else { return 0 };
    answer(|out| work(&mut session, out))
}

/// Calls `work` with the open file, and returns the status as [`with`] does, or 0 if no file is open.
pub fn on_file(work: impl FnOnce(&'static File, &mut Answer) -> io::Result<()>) -> u32 {
    with(|session, out| match session {
        Session::Open(file) => work(file, out),
        _ => Err(io::ErrorKind::NotFound.into()),
    })
}

/// Checks that the name of this instance's file fits the format of `file`, as [`name::check`] does. Returns true if it fits;
/// otherwise writes a finding to `out`, and returns false.
///
/// # Errors
/// Writing to `out` failed.
pub fn check_name(file: &File, out: &mut Answer) -> io::Result<bool> {
    let name = NAME.try_lock().map_err(|_| io::ErrorKind::WouldBlock)?;
    name::check(file, &name, out)
}

/// Begins to open a file of `length` bytes. The input of the call is the name of the file, of `name` bytes; no bytes if the name
/// is unknown. Returns the status of the call.
#[wasm_bindgen]
pub fn begin(length: u64, name: usize) -> u32 {
    with(|session, _| {
        let name = input(name)?;
        let text = String::from_utf8(name.clone()).unwrap_or_default();
        *NAME.try_lock().map_err(|_| io::ErrorKind::WouldBlock)? = text;
        session.begin(name, length);
        Ok(())
    })
}

/// Returns whether opening waits for a call of [`supply`]. The range that it waits for may be empty.
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

/// Continues to open the file with the bytes from [`needs_start`] to [`needs_end`], which are the input of the call: `length`
/// bytes. The answer is empty, or the reason why the file is rejected. Returns the status of the call.
#[wasm_bindgen]
pub fn supply(length: usize) -> u32 {
    with(|session, out| session.supply(input(length)?, &Source, out))
}

fn needed() -> Option<std::ops::Range<u64>> {
    SESSION.try_lock().ok()?.needs()
}
