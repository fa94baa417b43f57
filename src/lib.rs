#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![doc = "stub"]

extern crate alloc;

mod archive;
mod cbor;
mod digest;
mod element;
mod error;
mod frame;
mod limits;
mod manifest;
mod num;
pub mod open;
pub mod rules;
mod schema;

pub use archive::Archive;
pub use cbor::{Array, Attributes, Chunks, Item, Map, Value};
pub use digest::Digest;
pub use element::{ByteOrder, Element, LogicalType, StorageType};
pub use error::{Error, ErrorKind, Misuse, Place, Result};
pub use limits::{Limits, Options, Tolerance};
pub use manifest::{Component, ElementType, Extent, Generation, Manifest, Object, Shape};
pub use schema::{Encoding, Format, Version};
