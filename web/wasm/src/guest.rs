//! The border with the page: exports, imports, and what they share.
//!
//! The host writes into buffers that the guest hands out, and reads what the guest shows it
//! during a call. Whatever it passes, it gets an answer: a wrong place is a problem like any
//! other, a call during a call is refused.

use std::io::{self, BufWriter, Write};
use std::sync::Mutex;

use zten::ReadAt;

use crate::session::{File, Session};
use crate::{describe, picture, save, statistics, validate};

mod host {
    #[expect(unsafe_code, reason = "the module's imports, with the types that guest.ts gives")]
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
struct Source;

/// The host could not give the bytes.
struct Lost;

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
struct Out(u32);

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        host::take(self.0, bytes.as_ptr(), bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct State {
    session: Session,
    length: u64,
    input: Vec<u8>,
}

static STATE: Mutex<State> =
    Mutex::new(State { session: Session::Empty, length: 0, input: Vec::new() });

/// 1 if it was done, and the answer given; 0 if the host called out of turn.
fn with(work: impl FnOnce(&mut State, &mut BufWriter<Out>) -> io::Result<()>) -> u32 {
    let Ok(mut state) = STATE.try_lock() else { return 0 };
    let mut out = BufWriter::with_capacity(1 << 16, Out(0));
    u32::from(work(&mut state, &mut out).and_then(|()| out.flush()).is_ok())
}

fn on_file(work: impl FnOnce(&File, &mut BufWriter<Out>) -> io::Result<()>) -> u32 {
    with(|state, out| match &state.session {
        Session::Open(file) => work(file, out),
        _ => Err(io::ErrorKind::NotFound.into()),
    })
}

// Each export gets its name by an attribute that is unsafe because two functions of one name
// would be one. These names are only here, and no library that is linked exports any.
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

    /// Takes what has been put there.
    fn supply() -> u32 {
        with(|state, out| {
            let (bytes, length) = (std::mem::take(&mut state.input), state.length);
            state.session.supply(bytes, length, out)
        })
    }

    /// Escapes the name that has been put there.
    fn name() -> u32 {
        with(|state, out| describe::name(&std::mem::take(&mut state.input), out))
    }

    /// Lists objects.
    fn list(first: u32, count: u32) -> u32 {
        on_file(|file, out| describe::list(file, first, count, out))
    }

    /// Says all of one object.
    fn object(ordinal: u32) -> u32 {
        on_file(|file, out| describe::object(file, ordinal, out))
    }

    /// Validates all content.
    fn validate_all() -> u32 {
        on_file(|file, out| validate::all(file, &Source, out))
    }

    /// Validates one component.
    fn validate_component(object: u32, component: u32) -> u32 {
        on_file(|file, out| validate::component(file, (object, component), &Source, out))
    }

    /// What the elements of a component are like.
    fn statistics(object: u32, component: u32) -> u32 {
        on_file(|file, out| statistics::component(file, (object, component), &Source, out))
    }

    /// A picture of an object.
    fn picture(object: u32) -> u32 {
        on_file(|file, out| picture::object(file, object, &Source, out))
    }

    /// A component as a NumPy file.
    fn save(object: u32, component: u32) -> u32 {
        on_file(|file, out| {
            let mut data = BufWriter::with_capacity(1 << 20, Out(1));
            save::component(file, (object, component), &Source, &mut data, out)?;
            data.flush()
        })
    }
}

fn needed() -> Option<std::ops::Range<u64>> {
    STATE.try_lock().ok()?.session.needs()
}
