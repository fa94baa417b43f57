//! Chunks of data, on their way.

/// The longest chunk that is handed on. A multiple of every element's width.
pub(super) const CHUNK: usize = 1 << 20;

/// Takes the bytes of a tensor, chunk by chunk.
pub type Take<'t, E> = dyn FnMut(&[u8]) -> Result<(), E> + 't;
