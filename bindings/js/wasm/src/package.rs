//! The exports that the JavaScript package calls. Each answers with one JSON document; decoded bytes are handed to the host in
//! pieces.
#![deny(clippy::arithmetic_side_effects, clippy::as_conversions)]

mod check;
#[cfg(feature = "full")]
mod dequantize;
mod list;
mod read;

use crate::border::input;
use crate::opening::on_file;
use wasm_bindgen::prelude::wasm_bindgen;

/// Answers with the format, generation and version of the file, the numbers of its objects and shards, and the notes on it.
#[wasm_bindgen]
pub fn file() -> u32 {
    on_file(list::file)
}

/// Lists up to `count` objects from the one at `first` on.
#[wasm_bindgen]
pub fn list(first: u32, count: u32) -> u32 {
    on_file(|file, out| list::objects(file, first, count, out))
}

/// Hands out the attributes of an object, or of the file if `object` is 2^32 - 1, as CBOR. Hands out nothing if there is no map
/// of attributes.
#[wasm_bindgen]
pub fn attributes(object: u32) -> u32 {
    on_file(|file, out| list::attributes(file, object, out))
}

/// Answers with the object whose name is the input of the call, or with an error that suggests a similar name.
#[wasm_bindgen]
pub fn find(length: usize) -> u32 {
    on_file(|file, out| list::find(file, &input(length)?, out))
}

/// Begins to read component `component` of object `object`. The host then calls [`advance`] until the component ends.
#[wasm_bindgen]
pub fn stream(object: u32, component: u32) -> u32 {
    on_file(|file, out| read::stream(file, object, component, out))
}

/// Reads about `bytes` further decoded bytes of the component that [`stream`] began, and hands them to the host if `hand` is
/// true. The answer is empty until the end of the component.
#[wasm_bindgen]
pub fn advance(bytes: u64, hand: bool) -> u32 {
    on_file(|file, out| read::advance(file, bytes, hand, out))
}

/// Reads a part of a dense object. The input of the call is the start and the end of the part in each dimension, as
/// little-endian `u64`.
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

/// Begins to validate the file. The answer is empty, or the report of a file whose name has the suffix of another format.
#[wasm_bindgen]
pub fn check_begin() -> u32 {
    on_file(check::begin)
}

/// Validates one object. The answer is empty, or the report of the rule that the object breaks.
#[wasm_bindgen]
pub fn check_object(object: u32) -> u32 {
    on_file(|file, out| check::object(file, object, out))
}

/// Compares tensors that are in two files of an index, before [`check_end`]. The answer is empty, or says why that failed.
#[cfg(feature = "siblings")]
#[wasm_bindgen]
pub fn check_copies() -> u32 {
    on_file(check::copies)
}

/// Answers with the report on the file, after all its objects have been validated.
#[wasm_bindgen]
pub fn check_end() -> u32 {
    on_file(check::end)
}
