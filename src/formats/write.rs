//! Writers of safetensors, `.npy` and `.npz` files. Needs the feature `write`.
//!
//! The header or directory of each format gives the size of every tensor, so a writer asks an [`ArraySource`] for all
//! names, types and shapes before it writes the first byte. The bytes of the tensors are copied in chunks: memory is
//! proportional to the number of tensors and independent of their size.
//!
//! If a format cannot hold a tensor or attribute, writing fails with an [`Inexpressible`] before the first byte is written.

mod array;
mod declared;
mod draft;
mod element;
mod format;
/// Editing the header of a GGUF file: changing metadata and the names of tensors, while the data stays as it is.
#[cfg(feature = "gguf")]
pub mod gguf {
    pub use crate::formats::gguf::edit::{EditedHeader, HeaderEdit, edit_header};
}
mod metadata;
mod npy;
mod npz;
pub mod safetensors;
#[cfg(feature = "files")]
mod save;
mod tensors;
mod ties;

use std::io::{Seek, Write};

pub use array::{
    Array, ArrayList, ArraySource, ChunkFn, Inexpressible, OpaqueType, Subject, WriteFailure,
};
pub use declared::DeclaredArrays;
pub use draft::Draft;
pub use format::{WrittenFormat, written_generation};
pub use metadata::json_texts;
#[cfg(feature = "files")]
pub use save::{NamedTensor, save};
pub use tensors::Tensors;
pub use ties::{has_ties, is_tied, tie_order};

/// Options for writing a file with [`write()`] or a [`Draft`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The alignment of the data of a safetensors file in bytes, a power of two. Tensors are aligned as far as the format
    /// allows: see [`safetensors`].
    pub align: Option<u32>,
}

/// Writes all arrays of `source` to `out`, which must be empty, as a file of `format`. [`crate::Writer`] writes zTensor files.
///
/// # Errors
/// [`WriteFailure::Inexpressible`] if the format cannot hold an array or attribute, or is zTensor; the errors of the source and the
/// output.
pub fn write<E>(
    format: WrittenFormat,
    source: &mut dyn ArraySource<Error = E>,
    out: &mut (impl Write + Seek),
    settings: Settings,
) -> Result<(), WriteFailure<E>> {
    let mut draft = Draft::begin(format, source, out, settings)?;
    while let Some(at) = draft.next() {
        draft.begin_array(source, out)?;
        source.read(at, &mut |chunk| draft.write(chunk, out))?;
        draft.end_array(out)?;
    }
    Ok(draft.finish(source, out)?)
}

/// Checks that a file of `format` can hold `array`, a type and shape, under the name `name`. Nothing is checked for zTensor.
///
/// # Errors
/// The reason why the format cannot hold the array.
pub fn check_array(format: WrittenFormat, name: &str, array: &Array) -> Result<(), Inexpressible> {
    match format {
        WrittenFormat::ZTensor => Ok(()),
        WrittenFormat::Safetensors => safetensors::check(name, array),
        WrittenFormat::Npz => npz::check(name, array, None).map(drop),
        WrittenFormat::Npy => npy::check(name, array, None, format).map(drop),
    }
}

/// Checks that a file of `format` can hold `attributes` as attributes of the file. Nothing is checked for zTensor.
///
/// # Errors
/// The reason why the format cannot hold one of the attributes.
pub fn check_attributes(
    format: WrittenFormat,
    attributes: &crate::cbor::Attributes<'_>,
) -> Result<(), Inexpressible> {
    match format {
        WrittenFormat::ZTensor => Ok(()),
        WrittenFormat::Safetensors => safetensors::check_attributes(attributes),
        WrittenFormat::Npz | WrittenFormat::Npy => npy::check_attributes(attributes, format),
    }
}
