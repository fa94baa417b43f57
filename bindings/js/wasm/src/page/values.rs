//! Formats the elements of a part of a dense array as text.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Mutex;

use serde::Serialize;
use zten::error::Misuse;
use zten::json::to_writer;
use zten::number::Style;
use zten::{Error, Tensor};

use crate::problem;
use crate::session::{self, File};
use zten::number::Kind;

/// The largest number of elements that one call formats.
pub const MOST: u64 = 1024;

/// The ranges of the part that the next call of [`object`] formats.
static SELECTED: Mutex<Vec<Range<u64>>> = Mutex::new(Vec::new());

/// Selects the part for the next call of [`object`]. `ranges` has the start and the end of the part in each dimension, as
/// little-endian `u64`.
pub fn select(ranges: &[u8]) {
    let numbers = ranges.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
    let (starts, ends) = (numbers.clone().step_by(2), numbers.skip(1).step_by(2));
    if let Ok(mut selected) = SELECTED.lock() {
        *selected = starts.zip(ends).map(|(start, end)| start..end).collect();
    }
}

/// Writes the elements of the selected part of object `ordinal` to `out`, in row-major order.
pub fn object(file: &File, ordinal: u32, out: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Values {
        values: Vec<String>,
    }
    match session::tensor(file, ordinal).and_then(|tensor| read(&tensor)) {
        Ok(values) => to_writer(out, &Values { values }),
        Err(error) => problem::reading(file, &error, out),
    }
}

fn read(tensor: &Tensor<'_>) -> Result<Vec<String>, Error> {
    let ranges = SELECTED.lock().map(|ranges| ranges.clone()).unwrap_or_default();
    let slice = tensor.slice(&ranges[..])?;
    let kind = Kind::of_component(&tensor.dense()?).ok_or(Misuse::Type)?;
    let width = u64::try_from(kind.width()).unwrap_or(1);
    if slice.elements() > MOST || Some(slice.byte_len()) != slice.elements().checked_mul(width) {
        return Err(Misuse::Slice.into());
    }
    let mut bytes = vec![0; usize::try_from(slice.byte_len()).unwrap_or_default()];
    slice.read(&mut bytes)?;
    let text = |element: &[u8]| {
        let mut text = Vec::new();
        // Writing to a vector does not fail.
        kind.write(&mut text, element, Style::Text)
            .map_or_else(|_| String::new(), |()| String::from_utf8(text).unwrap_or_default())
    };
    Ok(bytes.chunks_exact(kind.width()).map(text).collect())
}
