//! The exports for the page, in addition to those that open a file.

use std::io::{BufWriter, Write};

use crate::border::{Out, input};
use crate::opening::{check_name, on_file, with};
use wasm_bindgen::prelude::wasm_bindgen;

use super::{describe, picture, save, statistics, validate, values};

/// Answers with the input of the call, a name of `length` bytes, as a JSON text in which control and invisible characters are escaped.
#[wasm_bindgen]
pub fn name(length: usize) -> u32 {
    with(|_, out| describe::name(&input(length)?, out))
}

/// Answers with the format, generation, totals and attributes of the file.
#[wasm_bindgen]
pub fn file() -> u32 {
    on_file(describe::file)
}

/// Lists up to `count` objects, from object `first` on: the description of each, and the name of its quantized form or null.
#[wasm_bindgen]
pub fn list(first: u32, count: u32) -> u32 {
    on_file(|file, out| describe::list(file, first, count, out))
}

/// Answers with the description of object `ordinal`, its attributes and, if zten does not read it, the reason.
#[wasm_bindgen]
pub fn object(ordinal: u32) -> u32 {
    on_file(|file, out| describe::object(file, ordinal, out))
}

/// Reads and validates all content of the file, and answers with the report. If the suffix of the file's name is that of another format, answers with
/// the finding about that instead.
#[wasm_bindgen]
pub fn validate_all() -> u32 {
    on_file(|file, out| if check_name(file, out)? { validate::all(file, out) } else { Ok(()) })
}

/// Reads and validates component `component` of object `object`, and answers with the result or the finding.
#[wasm_bindgen]
pub fn validate_component(object: u32, component: u32) -> u32 {
    on_file(|file, out| validate::component(file, (object, component), out))
}

/// Reads component `component` of object `object`, and answers with statistics of its elements.
#[wasm_bindgen]
pub fn statistics(object: u32, component: u32) -> u32 {
    on_file(|file, out| statistics::component(file, (object, component), out))
}

/// Answers with a picture of object `object`: a grid of some of its elements, or of the numbers of entries in each cell if it is sparse.
#[wasm_bindgen]
pub fn picture(object: u32) -> u32 {
    on_file(|file, out| picture::object(file, object, out))
}

/// Selects the part of an array for the next call of [`elements`], or the entries for the next call of [`entries`]. The input of the call, of `length`
/// bytes, has the start and the end of each range, as little-endian `u64`.
#[wasm_bindgen]
pub fn select(length: usize) -> u32 {
    with(|_, _| input(length).map(|ranges| values::select(&ranges)))
}

/// Answers with the elements of the part of the dense or quantized object `object` that [`select`] selected.
#[wasm_bindgen]
pub fn elements(object: u32) -> u32 {
    on_file(|file, out| values::object(file, object, out))
}

/// Answers with the entries of a sparse object that [`select`] selected: the number of all entries, and their coordinates and
/// values.
#[wasm_bindgen]
pub fn entries(object: u32) -> u32 {
    on_file(|file, out| values::entries(file, object, out))
}

/// Hands component `component` of object `object` to the host as the bytes of a NumPy file, and answers with a note about its dtype or an error.
#[wasm_bindgen]
pub fn save(object: u32, component: u32) -> u32 {
    on_file(|file, out| {
        let mut data = BufWriter::with_capacity(1 << 20, Out::Data);
        save::component(file, (object, component), &mut data, out)?;
        data.flush()
    })
}
