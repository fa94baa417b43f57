//! The exports that the JavaScript package calls. Each answers with one JSON document or nothing, and `attributes` with CBOR;
//! decoded bytes are handed to the host in pieces.
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

/// Answers with a list of up to `count` objects, from object `first` on: what `zten ls --json` says about each, and what the host
/// needs to know to read its components.
#[wasm_bindgen]
pub fn list(first: u32, count: u32) -> u32 {
    on_file(|file, out| list::objects(file, first, count, out))
}

/// Answers with the attributes of object `object`, or of the file if `object` is 2^32 - 1, as a CBOR map. The answer is empty if
/// there is no map of attributes.
#[wasm_bindgen]
pub fn attributes(object: u32) -> u32 {
    on_file(|file, out| list::attributes(file, object, out))
}

/// Answers with the description of the object whose name is the input of the call, of `length` bytes, or with an error that
/// suggests a similar name.
#[wasm_bindgen]
pub fn find(length: usize) -> u32 {
    on_file(|file, out| list::find(file, &input(length)?, out))
}

/// Begins to read component `component` of object `object`. The host then calls [`advance`] until the component ends. The answer
/// is empty, or the reason why the component cannot be read.
#[wasm_bindgen]
pub fn stream(object: u32, component: u32) -> u32 {
    on_file(|file, out| read::stream(file, object, component, out))
}

/// Reads about `bytes` further decoded bytes of the component that [`stream`] began, and hands them to the host if `hand` is
/// true. The answer is empty before the end of the component. At the end it says whether the digest was verified, and after an
/// error it is the finding.
#[wasm_bindgen]
pub fn advance(bytes: u64, hand: bool) -> u32 {
    on_file(|file, out| read::advance(file, bytes, hand, out))
}

/// Reads a part of the dense object `object`, and hands its elements to the host. The input of the call, of `length` bytes, is
/// the start and the end of the part in each dimension, as little-endian `u64`. The answer says whether a digest was verified, or
/// is the finding about an error.
#[wasm_bindgen]
pub fn slice(object: u32, length: usize) -> u32 {
    on_file(|file, out| read::slice(file, object, &input(length)?, out))
}

/// Computes the elements of the quantized object `object`, and hands them to the host as little-endian `f32`, in row-major order.
/// The answer says whether the digests were verified, or is the finding about an error.
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

/// Reads and validates object `object`, after [`check_begin`]. The answer is empty, or the report on the file if no other object
/// can change the verdict.
#[wasm_bindgen]
pub fn check_object(object: u32) -> u32 {
    on_file(|file, out| check::object(file, object, out))
}

/// Compares the tensors that are in two files of an index, before [`check_end`]. The answer is empty, or the finding if the files
/// could not be read; the host may then call again.
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
