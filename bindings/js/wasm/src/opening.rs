//! The exports that open a file, and the state that the exports of an open file share.

use std::io;
use std::ops::Range;
use std::sync::Mutex;

use wasm_bindgen::prelude::wasm_bindgen;
use zten::{Error, OpenOptions, ReadAt};

use crate::border::{Answer, answer, input, read_at};
use crate::name;
use crate::session::{File, Needs, Session, note_failed_read};

/// A source that asks the host for the bytes of one file. The field is the number by which the host knows the file.
#[derive(Clone, Copy, Debug)]
struct Source(u32);

impl ReadAt for Source {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        if read_at(self.0, offset, buffer) {
            return Ok(());
        }
        note_failed_read();
        Err(Error::reading())
    }
}

/// The file of this instance, and how far it has been opened.
static SESSION: Mutex<Session> = Mutex::new(Session::Empty);

/// The name of the file of this instance; empty if it is unknown.
static NAME: Mutex<String> = Mutex::new(String::new());

/// The options with which the file of this instance is opened.
static OPTIONS: Mutex<Option<OpenOptions>> = Mutex::new(None);

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
        let options = *OPTIONS.try_lock().map_err(|_| io::ErrorKind::WouldBlock)?;
        session.begin(name, length, &options.unwrap_or_default());
        Ok(())
    })
}

/// Adds the tolerance whose name is the input of the call, of `length` bytes, to the options of all later calls of [`begin`].
/// Returns the status of the call: 0 if there is no such tolerance.
#[cfg(not(feature = "page"))]
#[wasm_bindgen]
pub fn tolerate(length: usize) -> u32 {
    with(|_, _| {
        let name = String::from_utf8(input(length)?).unwrap_or_default();
        let mut options = OPTIONS.try_lock().map_err(|_| io::ErrorKind::WouldBlock)?;
        let more = options.unwrap_or_default().tolerate_named(&name);
        *options = Some(more.map_err(|_| io::ErrorKind::NotFound)?);
        Ok(())
    })
}

/// Requests that each group of tensors that store one quantized tensor is combined into one tensor in the file that [`begin`] has
/// begun to open. Returns the status of the call.
#[cfg(feature = "groups")]
#[wasm_bindgen]
pub fn conventions() -> u32 {
    with(|session, _| {
        session.group();
        Ok(())
    })
}

/// Returns which call of the host opening the file waits for: 0 for none, 1 for [`supply`], 2 for [`supply_siblings`], and 3 for
/// [`bind`].
#[wasm_bindgen]
pub fn needs() -> u32 {
    match needed() {
        None => 0,
        Some(Needs::Bytes(..)) => 1,
        Some(Needs::Siblings) => 2,
        Some(Needs::Binding) => 3,
    }
}

/// Returns the number of the file whose bytes are needed: 0 for the file itself, and 1 for the first sibling file.
#[wasm_bindgen]
pub fn needs_file() -> u32 {
    needed_bytes().0
}

/// Returns the offset in the file [`needs_file`] of the first byte that the host has to supply. The range may be empty.
#[wasm_bindgen]
pub fn needs_start() -> u64 {
    needed_bytes().1.start
}

/// Returns the offset in the file [`needs_file`] after the last byte that the host has to supply.
#[wasm_bindgen]
pub fn needs_end() -> u64 {
    needed_bytes().1.end
}

/// Continues to open the file with the bytes from [`needs_start`] to [`needs_end`], which are the input of the call: `length`
/// bytes. The answer is empty, or the reason why the file is rejected. Returns the status of the call.
#[wasm_bindgen]
pub fn supply(length: usize) -> u32 {
    with(|session, out| session.supply(input(length)?, &Source(0), out))
}

/// Answers with the sibling files whose lengths the host has to supply next by [`supply_siblings`]: a JSON list of
/// `{ name, shown, suffix, path }`, which the type `Asked` in `bindings/js/src/instance.ts` describes.
#[cfg(feature = "siblings")]
#[wasm_bindgen]
pub fn siblings() -> u32 {
    with(|session, out| session.siblings(out))
}

/// Continues to open the file with the lengths of the sibling files that [`siblings`] listed. The input of the call, of `length`
/// bytes, has one little-endian `u64` for each listed file, in the order of the list: the length of the file in bytes, or 2^64 -
/// 1 if the file does not exist. From then on, the host identifies sibling files by numbers: 1 is the first file of the first
/// list, and each later list continues the count. The answer is empty, or the reason why the file is rejected.
#[cfg(feature = "siblings")]
#[wasm_bindgen]
pub fn supply_siblings(length: usize) -> u32 {
    with(|session, out| session.answer(&input(length)?, &Source(0), out))
}

/// Connects the file with its sibling files, from which zten reads what identifies them, or reads the shapes of quantized tensors
/// that are stored as several tensors. The answer is empty, or the finding about a file that breaks a rule or cannot be read.
/// Returns the status of the call.
#[cfg(feature = "siblings")]
#[wasm_bindgen]
pub fn bind() -> u32 {
    let source = |number| -> &'static dyn ReadAt { Box::leak(Box::new(Source(number))) };
    with(|session, out| session.bind(&source, out))
}

fn needed() -> Option<Needs> {
    SESSION.try_lock().ok()?.needs()
}

/// Returns the number of the file whose bytes the host has to supply next, and the range of these bytes in that file. If the host
/// does not have to supply bytes, both are 0.
fn needed_bytes() -> (u32, Range<u64>) {
    match needed() {
        Some(Needs::Bytes(file, range)) => (file, range),
        _ => (0, 0..0),
    }
}
