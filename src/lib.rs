#![no_std]
#![cfg_attr(
    not(all(feature = "v0", feature = "v1", feature = "v2")),
    allow(
        dead_code,
        unused_imports,
        clippy::allow_attributes,
        reason = "what only the tables of a generation use that is not compiled in"
    )
)]
//! A strict, zero-copy reader of [zTensor] files (`.zt`), for untrusted
//! input.
//!
//! Give it bytes; it gives back typed slices of those same bytes, or an error that says which
//! rule was broken, by which object, at which byte. Nothing in between: no panic, no guess, no
//! silent zero.
//!
//! ```
//! # let file = std::fs::read("corpus/accept/1.2.3/dense_all.zt").unwrap();
//! let archive = zten::Archive::open(&file)?;
//! for object in archive.objects() {
//!     println!("{:?} {:?}", object.name(), object.shape().collect::<Vec<_>>());
//! }
//!
//! let view = archive.get("t_f32").unwrap().dense()?.bind(&file)?;
//! // Where alignment and byte order allow, without a copy:
//! if let Ok(slice) = view.as_slice::<f32>() {
//!     assert_eq!(slice.len(), 6);
//! }
//! // Always, each element read where it lies:
//! let sum: f32 = view.elements::<f32>()?.sum();
//! # let _ = sum;
//! # Ok::<(), zten::Error>(())
//! ```
//!
//! # What is checked, and when
//!
//! | step | what has been shown then |
//! | --- | --- |
//! | opening: [`Archive::open`], [`open::Opening`], `source::FileArchive` | every rule that the manifest can be validated by: its CBOR to the last byte, names, types, shapes, sizes, where the blobs lie |
//! | [`Component::content`], [`Component::read_to_vec`] | the bytes of that component: compression, decoded size, digest, bools |
//! | [`Verifier`] | all of that for every component, and the indices of sparse objects |
//!
//! Opening costs memory in proportion to the manifest and none to the data: a file of 100 GB is
//! opened with its last bytes. Binding ([`Component::bind`]) costs neither memory nor time.
//!
//! # What is in it
//!
//! | format | view |
//! | --- | --- |
//! | `dense` | [`Object::dense`], and [`Dense::slice`] for a part of it |
//! | `sparse_csr`, `sparse_coo` | [`Object::sparse_csr`], [`Object::sparse_coo`] |
//! | `quantized_group` | [`Object::quantized_group`] |
//! | any | [`Component::bind`] borrows, [`Component::decode`] fills an aligned buffer, [`Component::content`] streams |
//!
//! # Generations
//!
//! `ZTEN0001` (0.1) and `ZTEN1000` (1.1, 1.2). Version 2 is another container; without the feature
//! `v2` it is rejected as not supported. Rules cite the clause that they come from, and
//! `docs/format.md` describes each clause; [`rules`] is the catalogue.
//!
//! # Three environments
//!
//! * Services: no panic, no allocation out of proportion to the file's bytes, every limit a number
//!   that can be set ([`Limits`]). Nothing is mapped: a map changes under its reader.
//! * `no_std` + `alloc`: without default features. A model is read in place from flash;
//!   [`ReadAt`] reads one that is not in the address space.
//! * `wasm32-unknown-unknown`, without a C toolchain: [`open`] asks for byte ranges, the caller
//!   fetches them.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! | --- | --- | --- |
//! | `v0` | yes | generation 0.1 |
//! | `v1` | yes | generations 1.1 and 1.2 |
//! | `v2` | no | generation 2, as far as [`Generation::V2`] says |
//! | `std` | yes |  files, read at positions |
//! | `zstd` | yes | compressed components, in safe Rust |
//! | `zstd-ruzstd` | no | the same by `ruzstd`: slower, takes memory that it does not ask for |
//! | `zstd-fast` | no | the same by `structured-zstd`: about the speed of the C library; young, with `unsafe` inside, takes memory that it does not ask for, needs `std` and Rust 1.92 |
//! | `digest` | yes | sha256 and crc32c |
//! | `write` | yes | writing files ([`mod@write`]), and the canonical form |
//! | `files` | no | writing to a file system: published whole or not at all |
//! | `small` | no | half of the code, for flash: the same rules and errors, opened less fast |
//!
//! Without `std`, `serde_cbor_2` does not compile in a graph where another crate turns on
//! `serde/std`.
//!
//! [zTensor]: https://docs.rs/ztensor
#![forbid(unsafe_code)]
#![deny(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::get_unwrap,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unreachable,
    clippy::unwrap_used
)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(not(any(feature = "v0", feature = "v1", feature = "v2")))]
compile_error!("without `v0`, `v1` and `v2` there is no file to read");

mod archive;
mod brief;
mod cbor;
mod codec;
mod digest;
mod element;
mod error;
mod format;
mod layout;
mod limits;
#[cfg(feature = "std")]
pub mod load;
mod manifest;
mod num;
pub mod open;
pub mod rules;
mod sort;
#[cfg(feature = "std")]
pub mod source;
mod verify;
#[cfg(feature = "write")]
pub mod write;

pub use archive::Archive;
pub use cbor::{Array, Attributes, Chunks, Item, Map, Value};
pub use codec::{Content, Mismatch, ReadAt, ReadError, Verified};
pub use digest::Digest;
pub use element::{
    ByteOrder, Complex, Element, F4E2M1, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0,
    LogicalType, StorageType,
};
pub use error::{Error, ErrorKind, Misuse, OutOfMemory, Place, Result};
pub use format::{Encoding, Format, Generation, Version};
pub use half;
pub use layout::{
    ByRow, Coo, CooEntries, Coordinate, Csr, CsrEntries, Cut, Decoded, DecodedCoo, DecodedCsr,
    DecodedQuantized, DecodedSlice, Dense, Elements, Indices, Nibbles, Normalization, Packing,
    Quantization, Quantized, QuantizedGroup, Row, Slice, SliceRanges, SparseCoo, SparseCsr, View,
    Widened,
};
pub use limits::{Limits, Options, Tolerance};
pub use manifest::{Component, ElementType, Extent, Manifest, NotFound, Object, Shape};
pub use verify::{Summary, Verifier};
