//! Converts a component to a NumPy file, which the page offers for saving.

use std::io::{self, Write};

use serde::Serialize;
use zten::element::StorageType;
use zten::finding::{Finding, Verdict};
use zten::json::to_writer;
use zten::{Component, Error, Layout};

use crate::problem;
use crate::session::{self, File};
use zten::npy;
use zten::number::NumberKind;

/// Writes the component at `place`, the ordinals of object and component, to `data` as a NumPy file. Then writes to `out` the
/// note of [`saved`] on its dtype, or an error.
///
/// The array has the shape of the object if the object is dense and has as many elements as NumPy sees in the component, otherwise
/// one dimension.
pub fn component(
    file: &File,
    place: (u32, u32),
    data: &mut impl Write,
    out: &mut impl Write,
) -> io::Result<()> {
    match write(file, place, data) {
        Ok(Ok(note)) => {
            #[derive(Serialize)]
            struct Saved {
                note: Option<&'static str>,
            }
            to_writer(out, &Saved { note })
        }
        Ok(Err(sentence)) => problem::write(&Finding::new(Verdict::Error, sentence), None, out),
        Err(error) => problem::reading(file, &error, out),
    }
}

fn write(
    file: &File,
    place: (u32, u32),
    data: &mut impl Write,
) -> Result<Result<Option<&'static str>, String>, Error> {
    let component = session::component(file, place)?;
    let mut reader = component.reader()?;
    let (kind, note) = saved(&component);
    let length = match component.decoded_length() {
        Some(length) => length,
        None => measure(&component)?,
    };
    let width = u64::try_from(kind.width()).unwrap_or(1);
    let elements = length.checked_div(width).unwrap_or_default();
    let tensor = component.tensor();
    let shaped = tensor.layout() == Layout::Dense && component.role() == "data";
    let shape: Vec<u64> = if shaped && tensor.element_count() == Some(elements) {
        tensor.shape().to_vec()
    } else {
        vec![elements]
    };
    let header = match npy::header(kind, &shape) {
        Ok(header) => header,
        Err(sentence) => return Ok(Err(sentence)),
    };
    let mut failed = data.write_all(&header).is_err();
    while let Some(chunk) = reader.next_chunk()? {
        failed |= data.write_all(chunk).is_err();
    }
    Ok(if failed { Err("the .npy file cannot be written".to_owned()) } else { Ok(note) })
}

/// Returns the kind of numbers as which the elements of `component` are saved, and a note for the user if NumPy does not have their
/// own kind. Elements that zten cannot write as numbers are saved as bytes, without a note.
fn saved(component: &Component<'_>) -> (NumberKind, Option<&'static str>) {
    let kind = NumberKind::of_component(component).unwrap_or(NumberKind::Plain(StorageType::U8));
    match kind {
        NumberKind::Plain(StorageType::Bf16) => (
            NumberKind::Plain(StorageType::U16),
            Some("NumPy has no bf16: saved as uint16, to be viewed as ml_dtypes.bfloat16"),
        ),
        NumberKind::Fp8(_) => {
            (kind, Some("NumPy has no 8-bit floats: saved as uint8, to be viewed by ml_dtypes"))
        }
        kind => (kind, None),
    }
}

fn measure(component: &Component<'_>) -> Result<u64, Error> {
    let mut reader = component.reader()?;
    let mut length = 0_u64;
    while let Some(chunk) = reader.next_chunk()? {
        length = length.saturating_add(u64::try_from(chunk.len()).unwrap_or_default());
    }
    Ok(length)
}
