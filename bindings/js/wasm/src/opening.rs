//! The exports that open a file, and the state that the exports of an open file share.

use std::io;
use std::sync::Mutex;

use wasm_bindgen::prelude::wasm_bindgen;
use zten::{Error, ReadAt};

use crate::border::{Answer, answer, input, read_at};
use crate::name;
use crate::session::{File, Session};

/// The bytes of the file, which the host reads.
#[derive(Clone, Copy, Debug)]
struct Source;

impl ReadAt for Source {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        if read_at(offset, buffer) { Ok(()) } else { Err(Error::reading()) }
    }
}

/// The one file of an instance.
static SESSION: Mutex<Session> = Mutex::new(Session::Empty);

/// The name of the file of this instance; empty if it is unknown.
static NAME: Mutex<String> = Mutex::new(String::new());

/// Calls `work` with the file of this instance, and returns the status as [`answer`] does: 0 during another call.
pub fn with(work: impl FnOnce(&mut Session, &mut Answer) -> io::Result<()>) -> u32 {
    let Ok(mut session) = SESSION.try_lock() else { return 0 };
    answer(|out| work(&mut session, out))
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
