//! The interface to the host: the imports, and the answer of a call.
//!
//! The host reads and fills buffers of the module during a call only. It may pass any arguments: a call that names an object or
//! component that does not exist answers with an error, and a call that is made while another one runs returns 0.

use std::io::{self, BufWriter, Write};

use wasm_bindgen::prelude::wasm_bindgen;

mod host {
    use super::wasm_bindgen;

    #[wasm_bindgen]
    extern "C" {
        /// Fills `buffer` with the bytes of file number `file` from `offset` on. Returns false if the host failed to read them.
        #[cfg(feature = "reading")]
        pub(super) fn read_at(file: u32, offset: u64, buffer: &mut [u8]) -> bool;
        /// Fills `buffer` with the input of the current call of an export. The length of the input was an argument of this call.
        pub(super) fn input(buffer: &mut [u8]);
        /// Passes `bytes` to the host, which copies them. `channel` says what they are: a piece of the answer (0), a piece of
        /// data (1), or the offset of the next piece of data in a written file, as a little-endian `u64` (2).
        pub(super) fn take(channel: u32, bytes: &[u8]);
    }
}

/// Fills `buffer` with the bytes of file number `file` from `offset` on: 0 is the file of this instance, and 1 its first sibling
/// file. Returns false if the host failed to read them.
#[cfg(feature = "reading")]
pub fn read_at(file: u32, offset: u64, buffer: &mut [u8]) -> bool {
    host::read_at(file, offset, buffer)
}

/// A channel by which this module hands bytes to the JavaScript host.
#[derive(Clone, Copy, Debug)]
pub enum Out {
    /// The answer to a call: a JSON document, or nothing.
    Answer,
    /// Decoded elements, attributes and other binary data.
    Data,
    /// The offset in a written file of the next piece of data, as a little-endian `u64`. It is passed only if that piece does not directly follow
    /// the previous piece.
    Position,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let channel = match self {
            Self::Answer => 0,
            Self::Data => 1,
            Self::Position => 2,
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

/// Fetches the input of the current call from the host, and returns it. It has `length` bytes.
///
/// # Errors
/// [`io::ErrorKind::OutOfMemory`] if there is no memory for the input.
pub fn input(length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length)?;
    bytes.resize(length, 0);
    host::input(&mut bytes);
    Ok(bytes)
}

/// Calls `work` with a writer, and hands what it writes to the host, as the answer to the current call. Returns the status of the call: 1 if
/// `work` succeeded, 2 if memory ran out, and 0 if the call is not possible in the current state.
pub fn answer(work: impl FnOnce(&mut Answer) -> io::Result<()>) -> u32 {
    let mut out = BufWriter::with_capacity(1 << 16, Out::Answer);
    match work(&mut out).and_then(|()| out.flush()) {
        Ok(()) => 1,
        Err(error) if error.kind() == io::ErrorKind::OutOfMemory => 2,
        Err(_) => 0,
    }
}
