//! Attributes as Python's values.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use zten::attributes::{Attributes, Chunks, Item, Map, Value};
use zten_report::finding::{Finding, Verdict};

use crate::error::exception;

/// A dictionary of attributes, whose keys have been found to stand there once.
pub(crate) fn attributes<'py>(
    py: Python<'py>,
    attributes: Attributes<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    for (key, item) in attributes {
        dictionary.set_item(key, value(py, &item)?)?;
    }
    Ok(dictionary)
}

/// A value, which no reader lets nest deeper than 64 levels.
fn value<'py>(py: Python<'py>, item: &Item<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match item.value() {
        Value::Uint(number) => number.into_pyobject(py)?.into_any(),
        Value::Negative(below) => {
            i128::from(below).saturating_neg().saturating_sub(1).into_pyobject(py)?.into_any()
        }
        Value::Bytes(chunks) => PyBytes::new(py, &joined(&chunks)).into_any(),
        Value::Text(chunks) => {
            String::from_utf8_lossy(&joined(&chunks)).into_owned().into_pyobject(py)?.into_any()
        }
        Value::Array(array) => {
            let list = PyList::empty(py);
            for item in array {
                list.append(value(py, &item)?)?;
            }
            list.into_any()
        }
        Value::Map(map) => self::map(py, map)?,
        Value::Tag(number, item) => own(py, "Tag", (number, value(py, &item)?))?,
        Value::Bool(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
        Value::Null => py.None().into_bound(py),
        Value::Float(number) => number.into_pyobject(py)?.into_any(),
        Value::Simple(number) => own(py, "Simple", (number,))?,
        Value::Invalid => {
            let finding =
                Finding::new(Verdict::Error, "internal error: a value is not CBOR".into());
            return Err(exception(py, &finding, None));
        }
        // `undefined`, which is one of the simple values.
        _ => own(py, "Simple", (23,))?,
    })
}

/// A dictionary; or, where Python takes two keys for equal or a key may not be hashed, all entries in
/// order.
fn map<'py>(py: Python<'py>, map: Map<'_>) -> PyResult<Bound<'py, PyAny>> {
    let (dictionary, entries) = (PyDict::new(py), PyList::empty(py));
    let mut is_dictionary = true;
    for (key, item) in map {
        is_dictionary = is_dictionary && is_hashed(&key.value());
        let (key, item) = (value(py, &key)?, value(py, &item)?);
        if is_dictionary {
            dictionary.set_item(&key, &item)?;
        }
        entries.append(PyTuple::new(py, [key, item])?)?;
    }
    if is_dictionary && dictionary.len() == entries.len() {
        return Ok(dictionary.into_any());
    }
    own(py, "Entries", (entries,))
}

/// Returns whether a key may be one of a dictionary. Hashes of text and bytes are seeded, and few numbers share
/// one. Those of tuples are neither: nested keys of one hash can be made in any number, and a
/// dictionary of them is quadratic.
fn is_hashed(key: &Value<'_>) -> bool {
    let is_text = matches!(key, Value::Text(_) | Value::Bytes(_) | Value::Null);
    let is_number = matches!(key, Value::Uint(_) | Value::Negative(_) | Value::Float(_));
    is_text || is_number || matches!(key, Value::Bool(_))
}

/// A value of a class of the package's.
fn own<'py>(
    py: Python<'py>,
    class: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("zten._values")?.getattr(class)?.call1(arguments)
}

/// All of a string, no longer than the manifest that it stands in.
fn joined(chunks: &Chunks<'_>) -> Vec<u8> {
    let mut whole = Vec::new();
    chunks.pieces().for_each(|piece| whole.extend_from_slice(piece));
    whole
}
