#![no_std]
#![doc = "stub"]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod archive;
mod cbor;
mod codec;
mod digest;
mod element;
mod error;
mod frame;
mod layout;
mod limits;
mod manifest;
mod num;
pub mod open;
pub mod rules;
mod schema;
#[cfg(feature = "std")]
pub mod source;
mod verify;

pub use archive::Archive;
pub use cbor::{Array, Attributes, Chunks, Item, Map, Value};
pub use codec::{Content, ReadAt, ReadError, Verified};
pub use digest::Digest;
pub use element::{ByteOrder, Element, LogicalType, StorageType};
pub use error::{Error, ErrorKind, Misuse, Place, Result};
pub use layout::{Dense, Elements, View};
pub use limits::{Limits, Options, Tolerance};
pub use manifest::{Component, ElementType, Extent, Generation, Manifest, Object, Shape};
pub use schema::{Encoding, Format, Version};
pub use verify::Verifier;
