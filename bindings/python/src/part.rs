//! Computes the part of an array that a common Python index selects: integers, and slices without a step.

use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::{PyInt, PySlice, PyTuple};

/// The largest part that one native call allocates and reads, in bytes. For larger parts the overhead of several calls does not
/// matter, and reading into NumPy memory that is not cleared first is faster.
const LARGEST: u64 = 1 << 20;

/// The part of an array that an index selects.
pub(crate) struct IndexedPart {
    /// For each dimension of the array, the range of indices in the part.
    pub(crate) ranges: Vec<Range<u64>>,
    /// The shape of the part, without the dimensions that an integer selects.
    pub(crate) shape: Vec<u64>,
}

/// Returns the part of an array of the shape `dimensions` that `index` selects: an integer or a slice without a step, or a
/// tuple of these; `None` selects the whole array. Returns `None` for any other index, if the index is out of range, and if the
/// array has more than 32 dimensions: `_index.py` handles these indices, or raises an exception.
pub(crate) fn of_index(
    dimensions: Vec<u64>,
    index: Option<&Bound<'_, PyAny>>,
) -> Option<IndexedPart> {
    let mut part = IndexedPart { ranges: Vec::new(), shape: Vec::new() };
    // NumPy 1 has arrays of at most 32 dimensions. For more dimensions, `_index.py` makes the array, or raises the error
    // that NumPy has no such array.
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
            // `cast_exact` rejects a bool, which is a subclass of int, because NumPy takes a bool for a mask.
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
    // The index has fewer items than the array has dimensions, so the last dimensions are selected as a whole.
    for length in rest {
        part.ranges.push(0..length);
        part.shape.push(length);
    }
    Some(part)
}

/// Returns the length in bytes of the part of an array that has the indices `ranges` in each dimension, and elements of `size`
/// bytes. Returns `None` for an empty part, and for a part of more than [`LARGEST`] bytes.
pub(crate) fn length(ranges: &[Range<u64>], size: u64) -> Option<usize> {
    let counts = ranges.iter().map(|range| range.end.saturating_sub(range.start));
    let bytes = counts.fold(size, u64::saturating_mul);
    usize::try_from(bytes).ok().filter(|_| (1..=LARGEST).contains(&bytes))
}
