#![no_std]
//! A strict, zero-copy reader and writer of [zTensor] files (`.zt`), for untrusted input.
//!
//! Give it bytes; it gives back typed slices of those same bytes, or an error that says which
//! rule was broken, by which object, at which byte. There is no panic, no guess, and no silent
//! zero.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = std::fs::read("corpus/accept/1.2.3/dense_all.zt")?;
//! let archive = zten::Archive::open(file)?; // every rule that needs no data has been validated
//! archive.verify()?; // and now those that do: digests, compression, indices
//! for object in archive.objects() {
//!     println!("{:?} {} {:?}", object.name(), object.format(), object.shape());
//! }
//! let weights = archive.require("t_f32")?.dense()?.to_cow::<f32>()?;
//! println!("{}", weights.iter().sum::<f32>());
//! # assert_eq!(weights.len(), 6);
//! # Ok(())
//! # }
//! ```
//!
//! [`Archive`] holds the whole file in whatever the caller has: `&[u8]`, `Vec<u8>`, `Arc<[u8]>`, a
//! map. `source::FileArchive` reads a file at positions, and [`open`] asks for byte ranges, where the
//! bytes are elsewhere.
//!
//! # From a file to numbers
//!
//! | object | what it is | where it lies | decoded |
//! | --- | --- | --- | --- |
//! | any | [`Object::components`] | [`Component::view`] | [`Component::decode`], [`Component::content`] |
//! | `dense` | [`Object::dense`] | [`Dense::view`], [`Slice::view`] | [`Dense::to_cow`], [`Dense::read_elements`] |
//! | `sparse_csr` | [`Object::sparse_csr`] | [`Csr::view`] | [`Csr::decode`] |
//! | `sparse_coo` | [`Object::sparse_coo`] | [`Coo::view`] | [`Coo::decode`] |
//! | `quantized_group` | [`Object::quantized_group`] | [`QuantizedGroup::view`] | [`QuantizedGroup::decode`] |
//! | `zt.mx/1` (2) | `Object::mx` | [`Mx::view`] | [`Mx::decode`], dequantized to `f32` |
//! | `zt.quant_group/1`, `gguf.NAME/1` (2) | `Object::quant_group`, `Object::gguf_blocks` | attributes and bytes | |
//!
//! [`Dense::to_cow`] borrows where it can and decodes where it must. A [`View`] gives a native slice
//! ([`View::as_slice`]) where alignment and byte order allow, and its elements one by one
//! ([`View::elements`]) always. Shapes are row-major, outermost dimension first. Elements are
//! [`Element`]s: numbers, `bool`, those of [`half`], and those of [`element`].
//!
//! # What is checked, and when
//!
//! | step | what has been shown then | cost |
//! | --- | --- | --- |
//! | opening: [`Archive::open`], [`open::Opening`], `source::FileArchive::open` | every rule that the manifest can be validated by: its CBOR to the last byte, names, types, shapes, sizes, where the blobs lie | time and memory in proportion to the manifest, none to the data |
//! | a view: [`Component::view`], [`Dense::view`] | that it can be borrowed; bools are validated as they are asked for | none |
//! | a sparse view: [`Csr::view`], [`Coo::view`] | all indices are in range | time in proportion to the indices |
//! | decoding: [`Component::decode`], [`Component::content`], [`Dense::read_elements`] | the bytes of that component: compression, decoded size, digest, bools | time in proportion to the data |
//! | verifying: [`Archive::verify`], [`verify::Verifier`] | all of that for every component | time in proportion to the data; 64 KiB, and a zstd window |
//!
//! A borrowed view has not been held against its digest: verify first what comes from elsewhere.
//!
//! [`Dense::view`]: view::Dense::view
//! [`Dense::to_cow`]: view::Dense::to_cow
//! [`Dense::read_elements`]: view::Dense::read_elements
//! [`Slice::view`]: view::Slice::view
//! [`Csr::view`]: view::Csr::view
//! [`Csr::decode`]: view::Csr::decode
//! [`Coo::view`]: view::Coo::view
//! [`Coo::decode`]: view::Coo::decode
//! [`Mx::view`]: view::Mx::view
//! [`Mx::decode`]: view::Mx::decode
//! [`QuantizedGroup::view`]: view::QuantizedGroup::view
//! [`QuantizedGroup::decode`]: view::QuantizedGroup::decode
//! [`View`]: view::View
//! [`View::as_slice`]: view::View::as_slice
//! [`View::elements`]: view::View::elements
//!
//! # Errors
//!
//! [`Error`] is small, `Copy` and made without allocating. [`Error::kind`] says who is to blame: the
//! file, which breaks a rule ([`ErrorKind::Malformed`]), goes beyond a limit or needs what is not
//! supported; the call ([`error::Misuse`]); or neither, where memory runs out. [`Error::id`] is the
//! stable name of the rule, of which [`rules`] has the catalogue; [`Error::offset`] the byte of the
//! file; [`Error::place`] the object and component. [`open::Body::manifest`] and
//! `source::FileArchive::open` also give their names.
//!
//! # Generations
//!
//! `ZTEN0001` (0.1) and `ZTEN1000` (1.1, 1.2). Generation 2 is another container,
//! with a magic of its own. Rules cite the clause that they come from, and
//! `docs/format.md` describes each clause; [`rules`] is the catalogue.
//!
//! # Three environments
//!
//! * Services: no panic, no allocation out of proportion to the file's bytes, every limit a number
//!   that can be set ([`Limits`]). The library maps nothing: a map changes under its reader.
//! * `no_std` + `alloc`: without default features. A model is read in place from flash;
//!   [`ReadAt`] reads one that is not in the address space. `examples/embedded` can be copied.
//! * `wasm32-unknown-unknown`, without a C toolchain: [`open`] asks for byte ranges, the caller
//!   fetches them. `examples/wasm` can be copied.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! | --- | --- | --- |
//! | `std` | yes | files, read at positions |
//! | `zstd` | yes | compressed components, in safe Rust |
//! | `zstd-ruzstd` | no | the same by `ruzstd`: slower, takes memory that it does not ask for |
//! | `digest` | yes | sha256 and crc32c |
//! | `write` | yes | writing files ([`mod@write`]), and the canonical form |
//! | `files` | no | writing to a file system: published whole or not at all |
//!
//! Without `std`, `serde_cbor_2` does not compile in a graph where another crate turns on
//! `serde/std`.
//!
//! [zTensor]: https://docs.rs/ztensor
#![forbid(unsafe_code)]
// Features share private code, and a build without some of them does not use all of it. The build with all of them
// finds code that nothing uses.
#![cfg_attr(
    not(all(feature = "std", feature = "write", feature = "zstd", feature = "digest")),
    allow(
        dead_code,
        unused_imports,
        unused_variables,
        clippy::unnecessary_wraps,
        clippy::unused_self,
        clippy::allow_attributes,
        reason = "the features that are left out use it"
    )
)]
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

mod archive;
mod brief;
mod cbor;
mod codec;
mod digest;
pub mod element;
pub mod error;
mod format;
#[cfg(feature = "std")]
#[doc(hidden)]
pub mod front;
mod layout;
mod limits;
#[cfg(feature = "std")]
pub mod load;
pub mod manifest;
mod names;
#[doc(hidden)]
pub mod num;
pub mod open;
pub mod rules;
pub mod source;
pub mod verify;
#[cfg(feature = "write")]
pub mod write;

/// Attributes of files and objects: CBOR that has been checked, read where it lies, and written.
pub mod attributes {
    pub use crate::cbor::Encoder;
    pub use crate::cbor::{Array, Attributes, Chunks, Item, Map, Value};
}

/// Objects of each format, and their elements: borrowed where they lie, read one by one, or decoded.
pub mod view {
    pub use crate::layout::{
        ByRow, Coo, Coordinate, Csr, Cut, Decoded, Dense, Elements, GgufBlocks, Mx, MxDequantizer,
        Normalization, Packing, QuantGroup, Quantization, Quantized, QuantizedGroup, Row, Slice,
        SliceRanges, View, Widened,
    };
}

/// Shards (2): files that hold parts of another, found by the caller. v2 §7.
pub mod shards {
    pub use crate::codec::{
        BoundShard, Candidate, ComponentSource, Files, Find, Locate, ShardReader, Shards,
        VerifiedBlocks,
    };
    pub use crate::manifest::Shard;
}

pub use archive::Archive;
pub use codec::{ReadAt, ReadError};
pub use digest::Digest;
pub use element::{Element, LogicalType, StorageType};
pub use error::{Error, ErrorKind, Result};
pub use format::{Encoding, Format, Generation};
pub use half;
pub use limits::{Limits, Options, Tolerance};
pub use manifest::{Component, ElementType, Manifest, Object};
#[cfg(feature = "ndarray")]
pub use ndarray;
