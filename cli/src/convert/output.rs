//! What `zten convert` writes beside zTensor files: safetensors and NumPy files.
//!
//! Arrays go from their source to the file as they are read: memory follows how many there are, in a
//! few bytes each, and not their data. What a format has no place for is an error that names it.

mod array;
mod element;
mod npy;
mod npz;
mod safetensors;
mod sink;
mod target;

pub(crate) use array::{Array, Failure, Source, Take};
pub(crate) use element::Element;
pub(crate) use sink::Output;
pub(crate) use target::Target;

/// Writes all of a source as a file of another format than zTensor; nothing where that is the target.
pub(crate) fn write<S: Output>(
    target: Target,
    source: &mut dyn Source,
    sink: &mut S,
) -> Result<(), Failure> {
    match target {
        Target::Tensors => return Ok(()),
        Target::Safetensors => safetensors::write(source, sink)?,
        Target::Npz => npz::write(source, sink)?,
        Target::Npy => npy::write(source, sink)?,
    }
    Ok(sink.flush()?)
}
