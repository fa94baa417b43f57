//! Python's values as attributes: the heads of RFC 8949 §3, whose validity the writer checks.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple,
};
use zten::write::Encoded;

/// As deep as readers go.
const DEPTH: u8 = 64;

/// A dictionary as attributes. Whether they can be attributes is validated where they are written.
pub(crate) fn attributes(value: &Bound<'_, PyDict>) -> PyResult<Encoded> {
    let mut out = Vec::new();
    dictionary(&mut out, value, 0)?;
    Ok(Encoded::from_cbor(out))
}

fn encode(out: &mut Vec<u8>, value: &Bound<'_, PyAny>, depth: u8) -> PyResult<()> {
    if depth >= DEPTH {
        return Err(PyValueError::new_err("attributes nest deeper than 64 levels"));
    }
    let deeper = depth.saturating_add(1);
    if value.is_none() {
        out.push(0xf6);
    } else if let Ok(truth) = value.cast::<PyBool>() {
        out.push(if truth.is_true() { 0xf5 } else { 0xf4 });
    } else if value.is_instance_of::<PyInt>() {
        integer(out, value)?;
    } else if let Ok(number) = value.cast::<PyFloat>() {
        out.push(0xfb);
        out.extend_from_slice(&number.value().to_be_bytes());
    } else if let Ok(text) = value.cast::<PyString>() {
        self::text(out, text)?;
    } else if let Ok(bytes) = value.cast::<PyBytes>() {
        string(out, 2, bytes.as_bytes())?;
    } else if let Ok(bytes) = value.cast::<PyByteArray>() {
        string(out, 2, &bytes.to_vec())?;
    } else if let Ok(map) = value.cast::<PyDict>() {
        dictionary(out, map, deeper)?;
    } else if let Some(kind) = own(value)? {
        kind.encode(out, value, deeper)?;
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = items(value)?;
        head(out, 4, u64::try_from(items.len())?);
        for item in items {
            encode(out, &item, deeper)?;
        }
    } else if value.hasattr("item")? && value.hasattr("dtype")? {
        // A scalar of NumPy's.
        encode(out, &value.call_method0("item")?, deeper)?;
    } else {
        let kind = value.get_type();
        return Err(PyTypeError::new_err(format!("{kind} cannot be an attribute")));
    }
    Ok(())
}

/// The classes of the package that stand for what Python has no value for.
enum Own {
    Tag,
    Simple,
    Entries,
}

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
    fn encode(&self, out: &mut Vec<u8>, value: &Bound<'_, PyAny>, depth: u8) -> PyResult<()> {
        match self {
            Self::Tag => {
                head(out, 6, value.getattr("number")?.extract()?);
                encode(out, &value.getattr("value")?, depth)
            }
            Self::Simple => {
                let number: u8 = value.getattr("number")?.extract()?;
                match number {
                    0..24 => out.push(0xe0 | number),
                    _ => out.extend_from_slice(&[0xf8, number]),
                }
                Ok(())
            }
            Self::Entries => entries(out, value, depth),
        }
    }
}

fn dictionary(out: &mut Vec<u8>, map: &Bound<'_, PyDict>, depth: u8) -> PyResult<()> {
    entries(out, &map.items(), depth)
}

/// A sequence of pairs as a map.
fn entries(out: &mut Vec<u8>, pairs: &Bound<'_, PyAny>, depth: u8) -> PyResult<()> {
    let pairs = items(pairs)?;
    head(out, 5, u64::try_from(pairs.len())?);
    for pair in pairs {
        let (key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        encode(out, &key, depth)?;
        encode(out, &item, depth)?;
    }
    Ok(())
}

/// The items of a list, of which there may be others once one of them has been encoded.
fn items<'py>(list: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    list.try_iter()?.collect()
}

fn integer(out: &mut Vec<u8>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let number: Result<i128, _> = value.extract();
    let number = number.ok().and_then(|number| match u64::try_from(number) {
        Ok(number) => Some((0, number)),
        Err(_) => Some((1, u64::try_from(number.checked_neg()?.checked_sub(1)?).ok()?)),
    });
    let (major, argument) = number.ok_or_else(|| {
        PyOverflowError::new_err("an integer of an attribute is from -2**64 to 2**64 - 1")
    })?;
    head(out, major, argument);
    Ok(())
}

fn text(out: &mut Vec<u8>, text: &Bound<'_, PyString>) -> PyResult<()> {
    string(out, 3, text.to_str()?.as_bytes())
}

fn string(out: &mut Vec<u8>, major: u8, bytes: &[u8]) -> PyResult<()> {
    head(out, major, u64::try_from(bytes.len())?);
    out.extend_from_slice(bytes);
    Ok(())
}

/// A head in as few bytes as it takes.
fn head(out: &mut Vec<u8>, major: u8, argument: u64) {
    let major = major << 5;
    let bytes = argument.to_be_bytes();
    let tail = |count: usize| bytes.get(bytes.len().saturating_sub(count)..).unwrap_or_default();
    let (info, count) = match argument {
        0..24 => (tail(1).first().copied().unwrap_or_default(), 0),
        24..=0xff => (24, 1),
        0x100..=0xffff => (25, 2),
        0x1_0000..=0xffff_ffff => (26, 4),
        _ => (27, 8),
    };
    out.push(major | info);
    out.extend_from_slice(tail(count));
}
