//! Encodes Python values as CBOR attributes. The writer validates the attributes.

use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple,
};
use zten::attributes::Encoder;
use zten::error::OutOfMemory;
use zten::write::Encoded;

/// The largest number of nested levels that this encoder follows: as many as a whole manifest of 1.x may have. The writer applies
/// the lower limits for attributes.
const DEPTH: u8 = 64;

/// Encodes the dictionary `value` as a map of attributes.
///
/// # Errors
/// A key is not text, or a value cannot be encoded: the exception names the attribute.
pub(crate) fn attributes(value: &Bound<'_, PyDict>) -> PyResult<Encoded> {
    let mut out = Encoder::default();
    out.map(u64::try_from(value.len())?).map_err(memory)?;
    for pair in items(&value.items())? {
        let (key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        let Ok(text) = key.cast::<PyString>() else {
            return Err(PyTypeError::new_err(format!(
                "the attribute key {} is not text",
                key.repr()?
            )));
        };
        let named = |error| named(&key, error);
        out.text(text.to_str().map_err(named)?).map_err(memory)?;
        encode(&mut out, &item, 0).map_err(named)?;
    }
    Ok(Encoded::from_cbor(out.into_bytes()))
}

/// Prefixes the message of `error` with the name `key` of the attribute, if the error is about the value.
fn named(key: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = key.py();
    let name = key.repr().map(|name| name.to_string()).unwrap_or_default();
    let sentence = format!("attribute {name}: {}", error.value(py));
    if error.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(sentence)
    } else if error.is_instance_of::<PyOverflowError>(py) {
        PyOverflowError::new_err(sentence)
    } else if error.is_instance_of::<PyValueError>(py) {
        PyValueError::new_err(sentence)
    } else {
        error
    }
}

/// Encodes `value` as CBOR and appends it to `out`. `depth` is the number of maps, lists and tags around `value`.
fn encode(out: &mut Encoder, value: &Bound<'_, PyAny>, depth: u8) -> PyResult<()> {
    if depth >= DEPTH {
        return Err(PyValueError::new_err("attributes nest deeper than 64 levels"));
    }
    let deeper = depth.saturating_add(1);
    if value.is_none() {
        out.null().map_err(memory)?;
    } else if let Ok(truth) = value.cast::<PyBool>() {
        out.bool(truth.is_true()).map_err(memory)?;
    } else if value.is_instance_of::<PyInt>() {
        integer(out, value)?;
    } else if let Ok(number) = value.cast::<PyFloat>() {
        // A Python float is a double. The shortest encoding would lose its type for readers that distinguish widths.
        out.raw(&[0xfb]).map_err(memory)?;
        out.raw(&number.value().to_be_bytes()).map_err(memory)?;
    } else if let Ok(text) = value.cast::<PyString>() {
        out.text(text.to_str()?).map_err(memory)?;
    } else if let Ok(bytes) = value.cast::<PyBytes>() {
        out.bytes(bytes.as_bytes()).map_err(memory)?;
    } else if let Ok(bytes) = value.cast::<PyByteArray>() {
        out.bytes(&bytes.to_vec()).map_err(memory)?;
    } else if let Ok(map) = value.cast::<PyDict>() {
        dictionary(out, map, deeper)?;
    } else if let Some(kind) = own(value)? {
        kind.encode(out, value, deeper)?;
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = items(value)?;
        out.array(u64::try_from(items.len())?).map_err(memory)?;
        for item in items {
            encode(out, &item, deeper)?;
        }
    } else if value.hasattr("item")? && value.hasattr("dtype")? {
        // The value is a scalar of NumPy, such as `np.float32(1)`, which `item` converts to a scalar of Python.
        encode(out, &value.call_method0("item")?, deeper)?;
    } else {
        let kind = value.get_type();
        return Err(PyTypeError::new_err(format!("a value of {kind} cannot be an attribute")));
    }
    Ok(())
}

/// The classes of this package for CBOR values that Python cannot express.
enum Own {
    Tag,
    Simple,
    Entries,
}

/// Returns which of this package's classes for CBOR values `value` is an instance of, or `None` if it is an instance of none.
fn own(value: &Bound<'_, PyAny>) -> PyResult<Option<Own>> {
    let values = value.py().import("zten._values")?;
    for (name, kind) in [("Tag", Own::Tag), ("Simple", Own::Simple), ("Entries", Own::Entries)] {
        if value.is_instance(&values.getattr(name)?)? {
            return Ok(Some(kind));
        }
    }
    Ok(None)
}

impl Own {
    /// Encodes `value`, an instance of the class `self`, as CBOR and appends it to `out`.
    fn encode(&self, out: &mut Encoder, value: &Bound<'_, PyAny>, depth: u8) -> PyResult<()> {
        match self {
            Self::Tag => {
                out.tag(value.getattr("number")?.extract()?).map_err(memory)?;
                encode(out, &value.getattr("value")?, depth)
            }
            Self::Simple => out.simple(value.getattr("number")?.extract()?).map_err(memory),
            Self::Entries => entries(out, value, depth),
        }
    }
}

/// Encodes the dictionary `map` as a CBOR map and appends it to `out`. `depth` is the nesting level of its keys and values.
fn dictionary(out: &mut Encoder, map: &Bound<'_, PyDict>, depth: u8) -> PyResult<()> {
    entries(out, &map.items(), depth)
}

/// Encodes `pairs`, a sequence of tuples of a key and a value, as a CBOR map and appends it to `out`. `depth` is the nesting
/// level of the keys and values.
fn entries(out: &mut Encoder, pairs: &Bound<'_, PyAny>, depth: u8) -> PyResult<()> {
    let pairs = items(pairs)?;
    out.map(u64::try_from(pairs.len())?).map_err(memory)?;
    for pair in pairs {
        let (key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        encode(out, &key, depth)?;
        encode(out, &item, depth)?;
    }
    Ok(())
}

/// Collects the items of `list`, any iterable, before one of them is encoded: encoding may run Python code that changes the list.
fn items<'py>(list: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    list.try_iter()?.collect()
}

/// Encodes the Python integer `value` as CBOR and appends it to `out`.
///
/// # Errors
/// An `OverflowError` for an integer below -2^64 or above 2^64 - 1.
fn integer(out: &mut Encoder, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let beyond = || {
        PyOverflowError::new_err(
            "an integer in the attributes is out of range: expected -2**64 to 2**64 - 1",
        )
    };
    let number: i128 = value.extract().map_err(|_| beyond())?;
    match u64::try_from(number) {
        Ok(number) => out.uint(number).map_err(memory),
        // CBOR stores a negative number `n` as −1 − n, which is the complement of `n`.
        Err(_) => out.negative(u64::try_from(!number).map_err(|_| beyond())?).map_err(memory),
    }
}

fn memory(_: OutOfMemory) -> PyErr {
    PyMemoryError::new_err("out of memory")
}
