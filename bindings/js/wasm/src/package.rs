//! The functions that the package for JavaScript calls: each answers with one JSON document, and bytes
//! are handed to the host as they come.
#![deny(clippy::arithmetic_side_effects, clippy::as_conversions)]

mod check;
#[cfg(feature = "full")]
mod dequantize;
mod list;
mod read;

use crate::border::{input, on_file};
use wasm_bindgen::prelude::wasm_bindgen;

/// Says what the file is.
#[wasm_bindgen]
pub fn file() -> u32 {
    on_file(list::file)
}

/// Lists up to `count` objects from the one at `first` on.
#[wasm_bindgen]
pub fn list(first: u32, count: u32) -> u32 {
    on_file(|file, out| list::objects(file, first, count, out))
}

/// Hands out the attributes of an object, or of the file (2^32 - 1), as CBOR; nothing where there is no map of them.
#[wasm_bindgen]
pub fn attributes(object: u32) -> u32 {
    on_file(|file, out| list::attributes(file, object, out))
}

/// Lists the object whose name comes with the call, or says which name is near.
#[wasm_bindgen]
pub fn find(length: usize) -> u32 {
    on_file(|file, out| list::find(file, &input(length)?, out))
}

/// Begins to read a component.
#[wasm_bindgen]
pub fn stream(object: u32, component: u32) -> u32 {
    on_file(|file, out| read::stream(file, object, component, out))
}

/// Reads so many decoded bytes of it, or some more, and hands them to the host where `hand` says
/// so. The answer is empty as long as there may be more.
#[wasm_bindgen]
pub fn advance(bytes: u64, hand: bool) -> u32 {
    on_file(|file, out| read::advance(file, bytes, hand, out))
}

/// Reads the part of a dense object whose ranges come with the call: a start and an end for each
/// dimension, `u64`, little-endian.
#[wasm_bindgen]
pub fn slice(object: u32, length: usize) -> u32 {
    on_file(|file, out| read::slice(file, object, &input(length)?, out))
}

/// Hands out the elements of a quantized object as little-endian `f32`.
#[cfg(feature = "full")]
#[wasm_bindgen]
pub fn dequantize(object: u32) -> u32 {
    on_file(|file, out| dequantize::object(file, object, out))
}

/// Begins to validate the file. The answer is empty unless its name is that of another format.
#[wasm_bindgen]
pub fn check_begin() -> u32 {
    on_file(check::begin)
}

/// Validates one object. The answer is empty as long as no rule is broken.
#[wasm_bindgen]
pub fn check_object(object: u32) -> u32 {
    on_file(|file, out| check::object(file, object, out))
}

/// Says what has been found of the file, all of whose objects have been validated.
#[wasm_bindgen]
pub fn check_end() -> u32 {
    on_file(check::end)
}
