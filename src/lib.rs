#![no_std]
//! A strict, zero-copy reader of tensor files, for untrusted input: [zTensor], safetensors, GGUF, `.npy`, `.npz` and
//! checkpoints of PyTorch; and a writer of all of these but GGUF and PyTorch.
//!
//! The reader returns typed slices of the bytes of a file, or an error that says which rule the file breaks, in which
//! tensor and at which byte. It never panics on a file, and never guesses what an invalid file means.
//!
//! ```
//! # #[cfg(feature = "files")] {
//! let archive = zten::open("corpus/accept/1.2.3/dense_all.zt")?; // validates every rule that needs no data
//! archive.verify()?; // validates all data: digests, compression, indices
//! for tensor in &archive {
//!     println!("{} {} {:?}", tensor.name(), tensor.dtype(), tensor.shape());
//! }
//! let weights = archive.tensor("t_f32")?.to_cow::<f32>()?; // borrowed if the file is in memory, else decoded
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("new.zt");
//! let mut file = zten::Writer::create(&path)?; // published whole by `finish`, or not at all
//! file.add("weights", &[2, 3], &weights[..])?;
//! file.finish()?;
//! # assert_eq!(zten::open(&path)?.tensor("weights")?.to_vec::<f32>()?, *weights);
//! # }
//! # Ok::<(), zten::Error>(())
//! ```
//!
//! The same functions open files of every format, as an [`Archive`]. Each format is a feature, and all are on by default.
//! `zten::formats` recognizes what a file is, dequantizes GGUF blocks, and writes safetensors, `.npy` and `.npz` files.
//!
//! # Reading
//!
//! | file | opened by | elements |
//! | --- | --- | --- |
//! | of the file system | `zten::open`, `OpenOptions::open` | are read at offsets: no file is mapped into memory |
//! | in memory, or a memory map of the caller | [`Archive::from_bytes`], [`OpenOptions::from_bytes`] | are borrowed from the file |
//! | anywhere else | [`OpenOptions::open_source`] with a [`ReadAt`] | are read, or borrowed if the source lends its bytes |
//! | fetched by the caller, such as by asynchronous requests | [`Opening`](open::Opening), which does no I/O | are read from a [`ReadAt`] of the caller |
//!
//! | tensor | all elements | a part of them |
//! | --- | --- | --- |
//! | dense | [`as_slice`](Tensor::as_slice) borrows; [`to_cow`](Tensor::to_cow) borrows or decodes; [`to_vec`](Tensor::to_vec), [`read_into`](Tensor::read_into) and [`reader`](Tensor::reader) decode and verify | [`slice`](Tensor::slice) |
//! | sparse | [`csr`](Tensor::csr), [`coo`](Tensor::coo) | rows and entries of those |
//! | quantized | [`quantized`](Tensor::quantized), [`mx`](Tensor::mx), [`quant_group`](Tensor::quant_group): codes and scales | |
//! | of any float dtype or quantized layout | [`to_f32`](Tensor::to_f32) decodes, verifies and dequantizes | |
//! | any other | [`components`](Tensor::components): [`bytes`](Component::bytes) and [`view`](Component::view) borrow one; [`read_into`](Component::read_into) and [`read`](Component::read) copy and decode it; [`reader`](Component::reader) streams it | |
//!
//! Shapes are row-major, outermost dimension first. Elements are [`Element`]s: numbers, `bool`, those of [`half`], and
//! those of [`element`]. `Archive::load` reads all tensors on several threads, and `Loader` some of them.
//!
//! # What is checked, and when
//!
//! | step | what is checked | cost |
//! | --- | --- | --- |
//! | opening | all rules that need no data: the CBOR of the manifest to its last byte, names, types, shapes, sizes, the positions of blobs | time and memory in proportion to the manifest, none to the data |
//! | borrowing: [`as_slice`](Tensor::as_slice), [`view`](Component::view) | that the elements are not compressed; by `as_slice` also alignment, byte order and bools | none, except that all bools are read |
//! | a sparse view: [`csr`](Tensor::csr), [`coo`](Tensor::coo) | all indices are in range | time in proportion to the indices |
//! | decoding: [`to_vec`](Tensor::to_vec), [`read`](Component::read), … | the bytes of the component: compression, decoded size, digest, bools | time in proportion to the data |
//! | verifying: [`Archive::verify`], [`verify::check`] | all of the above for every component, except alignment and byte order | time in proportion to the data; 64 KiB, and a zstd window; more for the objects that [`Verifier`](verify::Verifier) lists |
//!
//! The digest of borrowed bytes has not been compared. Verify a file that you do not trust before you borrow from it.
//!
//! # Errors
//!
//! Every function returns the one [`Error`]. Its [`kind`](Error::kind) names the cause: the file is invalid
//! ([`ErrorKind::Invalid`]), exceeds a limit or is not supported; the call is wrong ([`error::Misuse`]); the system failed,
//! and [`source`](core::error::Error::source) returns its error; or memory ran out. [`rule`](Error::rule) returns the stable id
//! of the broken rule, which [`rules`] describes; [`offset`](Error::offset) is the offset in the file; with `std`, `tensor()` and
//! `component()` return names. Without `std`, the error is small and `Copy`.
//!
//! # Generations
//!
//! zTensor files begin with `ZTEN0001` (generation 0.1), with `ZTEN1000` (1.1 and 1.2), or with the magic of generation 2,
//! which is another container. Each rule cites the clause of the specification that it comes from. `docs/format.md`
//! describes each clause, and [`rules`] is the catalog of rules.
//!
//! # Three environments
//!
//! * Services: no file can make the library panic, or allocate out of proportion to the bytes of the file, and every limit
//!   can be set ([`Limits`]). The library maps no file into memory, because the bytes of a map change when the file does.
//! * `no_std` + `alloc`: without the feature `std`, for every format. A model is read in place from flash;
//!   [`ReadAt`] reads one that is not in the address space. `embedded/src/layer.rs` can be copied.
//! * `wasm32-unknown-unknown`, without a C toolchain: [`Opening`](open::Opening) asks for byte ranges, and the caller
//!   fetches them. `bindings/js` does so.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! | --- | --- | --- |
//! | `std` | yes | opening by path; names in errors, advice of rules; `Loader`; writing other formats than zTensor, and JSON |
//! | `zstd` | yes | compressed components, in safe Rust |
//! | `zstd-ruzstd` | no | decoding by `ruzstd` instead: slower, and aborts if memory is out |
//! | `digest` | yes | sha256 and crc32c |
//! | `write` | yes | writing files ([`mod@write`]), and the canonical form |
//! | `ztensor`, `safetensors`, `gguf`, `numpy`, `torch` | yes | opening files of these formats; `.npy` and `.npz` files for `numpy`. Without `detect`, every file is taken for a zTensor file, also without `ztensor` |
//! | `parts` | yes | models in several files: indexes of safetensors files, split GGUF models |
//! | `detect` | yes, enabled by each format but `ztensor` | `zten::formats`: detecting the format of a file by its content |
//! | `dequantize` | yes | GGUF blocks as `f32` |
//! | `json` | yes, enabled by `detect` | exact JSON of attribute values; invisible and control characters are escaped |
//! | `files` | yes | writing to a file system: published whole or not at all |
//! | `deflate` | yes, enabled by `numpy` and `torch` | deflated content, which other formats have |
//! | `ndarray` | no | dense arrays as views of `ndarray` |
//!
//! The library needs Rust 1.89 or later. Without `std`, `serde_cbor_2` does not compile in a graph where another crate
//! turns on `serde/std`.
//!
//! [zTensor]: https://docs.rs/ztensor
#![forbid(unsafe_code)]
// Features share private code, and a build without some of them does not use all of it. The build with all of them
// finds code that nothing uses.
#![cfg_attr(
    not(all(
        feature = "digest",
        feature = "files",
        feature = "numpy",
        feature = "parts",
        feature = "torch",
        feature = "zstd"
    )),
    allow(
        dead_code,
        unused_imports,
        unused_variables,
        clippy::large_enum_variant,
        clippy::match_wildcard_for_single_variants,
        clippy::unnecessary_wraps,
        clippy::unused_self,
        clippy::allow_attributes,
        reason = "the features that are left out use it"
    )
)]
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::expect_used,
        clippy::get_unwrap,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod archive;
mod cbor;
mod codec;
#[cfg(feature = "detect")]
pub mod conventions;
mod debug_summary;
mod digest;
pub mod element;
pub mod error;
pub mod escape;
mod file_name;
pub mod finding;
mod floats;
#[cfg(feature = "detect")]
pub mod formats;
/// The module without the feature `detect`: only the parser of zTensor files, which is always needed.
#[cfg(not(feature = "detect"))]
mod formats {
    pub(crate) mod ztensor;
}
#[doc(hidden)]
pub mod index;
#[cfg(feature = "json")]
pub mod json;
mod layout;
mod limits;
#[cfg(feature = "std")]
mod load;
mod lock;
pub mod manifest;
mod names;
pub mod network;
#[cfg(feature = "std")]
#[doc(hidden)]
pub mod npy;
pub mod num;
#[cfg(feature = "std")]
pub mod number;
pub mod open;
#[cfg(feature = "std")]
mod open_file;
mod read_at;
pub mod rules;
pub mod shards;
#[cfg(feature = "std")]
#[doc(hidden)]
pub mod source;
pub mod verify;
#[cfg(feature = "write")]
pub mod write;

// The examples of the README are compiled and run as doctests of this empty module.
#[cfg(all(doctest, feature = "files"))]
#[doc = include_str!("../README.md")]
mod readme {}

/// Attributes of files and objects: CBOR that has been checked, read where it lies, and written.
pub mod attributes {
    pub use crate::cbor::Encoder;
    pub use crate::cbor::{Array, Attributes, Chunks, Item, Map, Value};
}

/// Tensors of each layout, and their elements: borrowed where they lie, read one by one, or decoded.
pub mod view {
    pub use crate::layout::{
        ByRow, Coo, Coordinate, Csr, Cut, Decoded, Elements, GgufBlocks, Mx, MxBlocks,
        Normalization, Packing, QuantGroup, Quantization, Quantized, Ranges, Row, Slice,
        SliceRanges, View, Widened,
    };
}

pub use archive::{Archive, InMemory, Tensors};
pub use codec::Reader;
pub use digest::Digest;
pub use element::{DType, Element};
pub use error::{Error, ErrorKind, Result};
#[cfg(all(feature = "files", feature = "detect"))]
pub use formats::write::save;
pub use half;
pub use index::{Encoding, Layout};
pub use layout::State;
pub use limits::{Limits, OpenOptions, Tolerance};
#[cfg(feature = "std")]
pub use load::{LoadedTensor, Loader};
pub use manifest::{Component, Finding, Manifest, Tensor};
#[cfg(feature = "ndarray")]
pub use ndarray;
#[cfg(feature = "std")]
pub use open_file::open;
pub use read_at::ReadAt;
pub use rules::Generation;
#[cfg(feature = "write")]
pub use write::Writer;
