//! The border with the host: imports, the exports by which a file is opened, and what they share.
//!
//! The host writes into buffers that the guest hands out, and reads what the guest shows it
//! during a call. Whatever it passes, it gets an answer: a wrong place is a problem like any
//! other, a call during a call is refused.

use std::io::{self, BufWriter, Write};
use std::sync::Mutex;

use zten::ReadAt;

use crate::session::{File, Session};

mod host {
    #[expect(unsafe_code, reason = "the module's imports, with the types that instance.ts gives")]
    #[link(wasm_import_module = "host")]
    unsafe extern "C" {
        /// Fills the `length` bytes at `buffer` with those of the file from `offset` on: 1, or
        /// 0 where it cannot.
        pub(super) safe fn read_at(offset: u64, buffer: *mut u8, length: usize) -> u32;
        /// Takes the `length` bytes at `bytes`: of the answer (0), or of data (1).
        pub(super) safe fn take(channel: u32, bytes: *const u8, length: usize);
    }
}

/// The file, as the host reads it.
#[derive(Clone, Copy, Debug)]
pub struct Source;

/// The host could not give the bytes.
#[derive(Clone, Copy, Debug)]
pub struct Lost;

impl ReadAt for Source {
    type Error = Lost;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Lost> {
        match host::read_at(offset, buffer.as_mut_ptr(), buffer.len()) {
            1 => Ok(()),
            _ => Err(Lost),
        }
    }
}

/// What the host is told.
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
        host::take(channel, bytes.as_ptr(), bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The answer to a call, on its way.
pub type Answer = BufWriter<Out>;

/// What an instance holds.
#[derive(Debug)]
pub struct State {
    session: Session,
    length: u64,
    input: Vec<u8>,
}

static STATE: Mutex<State> =
    Mutex::new(State { session: Session::Empty, length: 0, input: Vec::new() });

impl State {
    /// What the host has put into the buffer.
    pub fn input(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.input)
    }
}

/// 1 if it was done, and the answer given; 0 if the host called out of turn.
pub fn with(work: impl FnOnce(&mut State, &mut Answer) -> io::Result<()>) -> u32 {
    let Ok(mut state) = STATE.try_lock() else { return 0 };
    let mut out = BufWriter::with_capacity(1 << 16, Out::Answer);
    u32::from(work(&mut state, &mut out).and_then(|()| out.flush()).is_ok())
}

/// The same, of the open file.
pub fn on_file(work: impl FnOnce(&'static File, &mut Answer) -> io::Result<()>) -> u32 {
    with(|state, out| match state.session {
        Session::Open(file) => work(file, out),
        _ => Err(io::ErrorKind::NotFound.into()),
    })
}

/// Exports of the module. Each gets its name by an attribute that is unsafe because two functions of
/// one name would be one: names are given here and in the crate of the module, and no library that is
/// linked exports any.
#[macro_export]
macro_rules! exports {
    ($( $(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $out:ty $body:block )+) => { $(
        $(#[$doc])*
        #[expect(unsafe_code, reason = "a name that is not mangled")]
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) -> $out $body
    )+ };
}

exports! {
    /// Begins with a file of so many bytes.
    fn begin(length: u64) -> u32 {
        with(|state, out| {
            state.length = length;
            state.session.begin(length, out)
        })
    }

    /// Whether bytes are asked for, be they none: 1 if so.
    fn needs() -> u32 {
        u32::from(needed().is_some())
    }

    /// Where they begin.
    fn needs_start() -> u64 {
        needed().unwrap_or_default().start
    }

    /// Where they end.
    fn needs_end() -> u64 {
        needed().unwrap_or_default().end
    }

    /// Where to put as many bytes; 0 where there is no room.
    fn input(length: usize) -> *mut u8 {
        let Ok(mut state) = STATE.try_lock() else { return std::ptr::null_mut() };
        state.input = Vec::new();
        if state.input.try_reserve_exact(length.max(1)).is_err() {
            return std::ptr::null_mut();
        }
        state.input.resize(length, 0);
        state.input.as_mut_ptr()
    }

    /// Takes what has been put there: bytes that were asked for. The answer is empty, or what is
    /// wrong with the file.
    fn supply() -> u32 {
        with(|state, out| {
            let (bytes, length) = (state.input(), state.length);
            state.session.supply(bytes, length, out)
        })
    }
}

fn needed() -> Option<std::ops::Range<u64>> {
    STATE.try_lock().ok()?.session.needs()
}
