//! zten as Python calls it: what the package `zten` is a typed layer over. All that is validated,
//! and every message, is the library's.

#![forbid(unsafe_code)]
#![expect(clippy::needless_pass_by_value, reason = "what Python gives is extracted, and owned")]

mod arrays;
mod cbor;
mod check;
mod digests;
mod error;
mod interrupt;
mod options;
mod part;
mod read;
mod reader;
mod source;
mod value;
mod write;

/// The native part of the package: `python/zten/_zten.pyi` says what is in it.
#[pyo3::pymodule(gil_used = true)]
mod _zten {
    #[pymodule_export]
    use crate::arrays::{ArrayWriter, SpoolWriter, written_format};
    #[pymodule_export]
    use crate::check::{check, check_batch, explain, shown, size};
    #[pymodule_export]
    use crate::reader::Reader;
    #[pymodule_export]
    use crate::write::{Writer, convert, packings};
}
