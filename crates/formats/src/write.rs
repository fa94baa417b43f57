//! Writers of safetensors, `.npy` and `.npz` files. Needs the feature `write`.
//!
//! Each of these formats has a header or a directory that states the size of every tensor, so a writer asks an
//! [`ArraySource`] for all names, types and shapes before the first byte. The bytes of the tensors go from the source to
//! the file as they are read: memory follows the number of tensors, and not their data.
//!
//! What a format cannot hold is an [`Inexpressible`] that names it, before anything has been written.

mod array;
mod draft;
mod element;
mod format;
mod metadata;
mod npy;
mod npz;
pub mod safetensors;
mod tensors;
mod ties;

use std::io::{Seek, Write};

pub use array::{Array, ArrayList, ArraySource, ChunkFn, Failure, Inexpressible, Subject};
pub use draft::Draft;
pub use format::WrittenFormat;
pub use metadata::json_texts;
pub use tensors::Tensors;
pub use ties::{has_ties, is_tied};

/// The form of a new file, as far as its format leaves a choice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The data of a safetensors file begins at a multiple of so many bytes, and so does as much of its tensors as the
    /// format allows: [`safetensors`] says how.
    pub align: Option<u32>,
}

/// Writes all arrays of a source as a file of another format than zTensor, whose writer is [`zten::Writer`].
///
/// # Errors
/// [`Failure::Inexpressible`] for what the format cannot hold, zTensor included; the errors of the source and the output.
pub fn write<E>(
    format: WrittenFormat,
    source: &mut dyn ArraySource<Error = E>,
    out: &mut (impl Write + Seek),
    settings: Settings,
) -> Result<(), Failure<E>> {
    let mut draft = Draft::begin(format, source, out, settings)?;
    while let Some(at) = draft.next() {
        draft.begin_array(source, out)?;
        source.read(at, &mut |chunk| draft.write(chunk, out))?;
        draft.end_array(out)?;
    }
    Ok(draft.finish(source, out)?)
}

/// Checks that a format has a place for an array of that name, type and shape.
///
/// # Errors
/// The reason why the format cannot hold it.
pub fn check_array(format: WrittenFormat, name: &str, array: &Array) -> Result<(), Inexpressible> {
    match format {
        WrittenFormat::ZTensor => Ok(()),
        WrittenFormat::Safetensors => safetensors::check(name, array),
        WrittenFormat::Npz => npz::check(name, array).map(drop),
        WrittenFormat::Npy => npy::check(name, array, format).map(drop),
    }
}

/// Checks that a format has a place for those attributes of the file.
///
/// # Errors
/// The reason why the format cannot hold one of them.
pub fn check_attributes(
    format: WrittenFormat,
    attributes: &zten::attributes::Attributes<'_>,
) -> Result<(), Inexpressible> {
    match format {
        WrittenFormat::ZTensor => Ok(()),
        WrittenFormat::Safetensors => safetensors::check_attributes(attributes),
        WrittenFormat::Npz | WrittenFormat::Npy => npy::check_attributes(attributes, format),
    }
}
