//! The native module of the Python package `zten`, which wraps it in a typed interface. The library validates all files, and
//! words all messages about files.

#![forbid(unsafe_code)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are extracted into owned values"
)]

mod arrays;
mod cbor;
mod check;
mod content;
mod diff;
mod digests;
mod error;
mod interrupt;
mod options;
mod output;
mod part;
mod patch;
mod read;
mod reader;
mod select;
mod source;
mod value;
mod write;

/// The native module `zten._zten`. `python/zten/_zten.pyi` has the signatures.
#[pyo3::pymodule(gil_used = true)]
mod _zten {
    #[pymodule_export]
    use crate::arrays::{ArrayWriter, SpoolWriter, written_format};
    #[pymodule_export]
    use crate::check::{check, check_batch, dtype, explain, shown, size};
    #[pymodule_export]
    use crate::diff::diff;
    #[pymodule_export]
    use crate::patch::{patch_apply, patch_make, patch_show, patch_update, patch_verify};
    #[pymodule_export]
    use crate::reader::Reader;
    #[pymodule_export]
    use crate::write::{Writer, convert, packings};
}
