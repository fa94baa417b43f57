//! Exports that answer about an open file, beside those by which it is opened.

use std::io::{BufWriter, Write};

use crate::border::{Out, check_name, input, on_file, with};
use wasm_bindgen::prelude::wasm_bindgen;

use super::{describe, picture, save, statistics, validate, values};

/// Escapes the name that comes with the call.
#[wasm_bindgen]
pub fn name(length: usize) -> u32 {
    with(|_, out| describe::name(&input(length)?, out))
}

/// Says what the file is.
#[wasm_bindgen]
pub fn file() -> u32 {
    on_file(describe::file)
}

/// Lists objects.
#[wasm_bindgen]
pub fn list(first: u32, count: u32) -> u32 {
    on_file(|file, out| describe::list(file, first, count, out))
}

/// Says all of one object.
#[wasm_bindgen]
pub fn object(ordinal: u32) -> u32 {
    on_file(|file, out| describe::object(file, ordinal, out))
}

/// Validates all content.
#[wasm_bindgen]
pub fn validate_all() -> u32 {
    on_file(|file, out| if check_name(file, out)? { validate::all(file, out) } else { Ok(()) })
}

/// Validates one component.
#[wasm_bindgen]
pub fn validate_component(object: u32, component: u32) -> u32 {
    on_file(|file, out| validate::component(file, (object, component), out))
}

/// Statistics of the elements of a component.
#[wasm_bindgen]
pub fn statistics(object: u32, component: u32) -> u32 {
    on_file(|file, out| statistics::component(file, (object, component), out))
}

/// A picture of an object.
#[wasm_bindgen]
pub fn picture(object: u32) -> u32 {
    on_file(|file, out| picture::object(file, object, out))
}

/// Selects the part of an array that [`elements`] shows, by ranges that come with the call.
#[wasm_bindgen]
pub fn select(length: usize) -> u32 {
    with(|_, _| input(length).map(|ranges| values::select(&ranges)))
}

/// Writes the elements of the part of an object that has been selected.
#[wasm_bindgen]
pub fn elements(object: u32) -> u32 {
    on_file(|file, out| values::object(file, object, out))
}

/// A component as a NumPy file.
#[wasm_bindgen]
pub fn save(object: u32, component: u32) -> u32 {
    on_file(|file, out| {
        let mut data = BufWriter::with_capacity(1 << 20, Out::Data);
        save::component(file, (object, component), &mut data, out)?;
        data.flush()
    })
}
