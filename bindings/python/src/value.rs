//! Converts attributes to Python values.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use zten::attributes::{Attributes, Chunks, Item, Map, Value};
use zten::finding::{Finding, Verdict};

use crate::error::exception;

/// Returns `attributes` as a dictionary. The keys are unique, which was validated when the file was opened.
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

/// Converts the attribute value `item` to a Python value. It recurses at most 64 levels deep, because opening a file rejects
/// values that nest deeper.
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
            let finding = Finding::new(
                Verdict::Error,
                "internal error: the value of an attribute is not valid CBOR".into(),
            );
            return Err(exception(py, &finding, None));
        }
        // The last kind of value is `undefined`, which is the simple value 23 of CBOR.
        _ => own(py, "Simple", (23,))?,
    })
}

/// Converts `map` to a dictionary, or to an `Entries` with all entries in their order if two keys are equal in Python, such as
/// 1 and 1.0, or a key must not be hashed.
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

/// Returns whether `key` may be a key of a Python dictionary: text, bytes, a number, a bool or null. An attacker cannot choose
/// many of these with the same hash, because Python seeds the hashes of text and bytes, and few numbers share a hash. Of lists,
/// tags and maps an attacker could make any number with the same hash, and a dictionary of these would take quadratic time.
fn is_hashed(key: &Value<'_>) -> bool {
    let is_text = matches!(key, Value::Text(_) | Value::Bytes(_) | Value::Null);
    let is_number = matches!(key, Value::Uint(_) | Value::Negative(_) | Value::Float(_));
    is_text || is_number || matches!(key, Value::Bool(_))
}

/// Calls the class `class` of the Python module `zten._values` with `arguments`, and returns the new instance.
fn own<'py>(
    py: Python<'py>,
    class: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("zten._values")?.getattr(class)?.call1(arguments)
}

/// Joins `chunks`, the pieces of a text or byte string. They are in the manifest, whose size limits the memory for the result.
fn joined(chunks: &Chunks<'_>) -> Vec<u8> {
    let mut whole = Vec::new();
    chunks.pieces().for_each(|piece| whole.extend_from_slice(piece));
    whole
}
