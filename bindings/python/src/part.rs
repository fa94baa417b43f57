//! The parts of an array that common indices mean: integers, and slices without a step.

use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::{PyInt, PySlice, PyTuple};

/// The most bytes of a part that is read by one call. For more, the calls from Python no longer count, and memory that is
/// not cleared first is faster.
const LARGEST: u64 = 1 << 20;

/// A part of an array.
pub(crate) struct Part {
    /// The range of each dimension that the index names.
    pub(crate) ranges: Vec<Range<u64>>,
    /// The dimensions of the part.
    pub(crate) shape: Vec<u64>,
}

/// Returns the part of an array of that shape that an index means: an integer or a slice without a step, or a tuple of
/// them. Any other index has none here, nor has one that is out of range: `_index.py` reads these, or has an error for them.
pub(crate) fn of_index(dimensions: Vec<u64>, index: Option<&Bound<'_, PyAny>>) -> Option<Part> {
    let mut part = Part { ranges: Vec::new(), shape: Vec::new() };
    // Old versions of NumPy have arrays of no more dimensions.
    if dimensions.len() > 32 {
        return None;
    }
    let mut rest = dimensions.into_iter();
    let mut take = |item: &Bound<'_, PyAny>| -> Option<()> {
        let length = isize::try_from(rest.next()?).ok()?;
        let range = if let Ok(slice) = item.cast::<PySlice>() {
            let ends = slice.indices(length).ok().filter(|ends| ends.step == 1)?;
            let range = u64::try_from(ends.start).ok()?..u64::try_from(ends.stop).ok()?;
            part.shape.push(range.end.checked_sub(range.start)?);
            range
        } else {
            // No bool, which is a subclass: it would be a mask.
            let place: isize = item.cast_exact::<PyInt>().ok()?.extract().ok()?;
            let place = if place < 0 { place.checked_add(length)? } else { place };
            let place = u64::try_from(place).ok().filter(|_| place < length)?;
            place..place.checked_add(1)?
        };
        part.ranges.push(range);
        Some(())
    };
    if let Some(index) = index {
        match index.cast::<PyTuple>() {
            Ok(items) => items.iter().try_for_each(|item| take(&item))?,
            Err(_) => take(index)?,
        }
    }
    // What is not named is whole.
    for length in rest {
        part.ranges.push(0..length);
        part.shape.push(length);
    }
    Some(part)
}

/// Returns the length of a part in bytes, from the size of an element, if it is neither empty nor large.
pub(crate) fn length(ranges: &[Range<u64>], size: u64) -> Option<usize> {
    let counts = ranges.iter().map(|range| range.end.saturating_sub(range.start));
    let bytes = counts.fold(size, u64::saturating_mul);
    usize::try_from(bytes).ok().filter(|_| (1..=LARGEST).contains(&bytes))
}
