//! The formats that `zten convert` writes beside zTensor: safetensors and NumPy files.
//!
//! Arrays go from their source to the file as they are read: memory follows their number, in a
//! few bytes each, and not their data. An object that a format cannot hold is an error that names it.

mod array;
pub(crate) mod element;
mod npy;
mod npz;
pub(crate) mod safetensors;
mod target;

use std::io::{Seek, Write};

pub(crate) use array::{Array, ChunkFn, Failure, Source};
pub(crate) use target::Target;

/// Writes all of a source as a file of another format than zTensor; nothing where that is the target.
pub(crate) fn write(
    target: Target,
    source: &mut dyn Source,
    out: &mut (impl Write + Seek),
) -> Result<(), Failure> {
    match target {
        Target::Tensors => return Ok(()),
        Target::Safetensors => safetensors::write(source, out)?,
        Target::Npz => npz::write(source, out)?,
        Target::Npy => npy::write(source, out)?,
    }
    Ok(out.flush()?)
}
