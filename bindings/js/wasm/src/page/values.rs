//! Reads some elements of a dense or quantized tensor, or some entries of a sparse tensor, and formats them as text for the page.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Mutex;

use serde::Serialize;
use zten::element::StorageType;
use zten::error::Misuse;
use zten::json::{Integer, to_writer};
use zten::number::Style;
use zten::view::{Coo, Csr};
use zten::{Component, DType, Error, Layout, Tensor};

use super::dequantize;
use super::sparsity::check_held;
use crate::problem;
use crate::session::{self, File};
use zten::number::NumberKind;

/// The largest number of elements that one call formats.
pub const MOST: u64 = 1024;

/// The ranges that [`select`] selected. The next call of [`object`] or [`entries`] formats the elements in them.
static SELECTED: Mutex<Vec<Range<u64>>> = Mutex::new(Vec::new());

/// Selects the part for the next call of [`object`] or [`entries`]. `ranges` has the start and the end of the part in each
/// dimension, or of the entries, as little-endian `u64`.
pub fn select(ranges: &[u8]) {
    let numbers = ranges.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
    let (starts, ends) = (numbers.clone().step_by(2), numbers.skip(1).step_by(2));
    if let Ok(mut selected) = SELECTED.lock() {
        *selected = starts.zip(ends).map(|(start, end)| start..end).collect();
    }
}

fn selected() -> Vec<Range<u64>> {
    SELECTED.lock().map(|ranges| ranges.clone()).unwrap_or_default()
}

/// Writes the elements of the selected part of object `ordinal` to `out`, in row-major order. The elements of a quantized tensor
/// are computed from its codes and scales.
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
    let ranges = selected();
    let packed = tensor.dtype() == DType::F4E2M1;
    if tensor.layout() == Layout::Dense && !packed {
        return dense(tensor, &ranges);
    }
    if !tensor.is_quantized() && !packed {
        return Err(Misuse::Layout.into());
    }
    let places = places(tensor.shape(), &ranges).ok_or(Misuse::Slice)?;
    let numbers = dequantize::at(tensor, &places)?;
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    Ok(texts(NumberKind::Plain(StorageType::F32), &bytes))
}

/// Reads the elements of the dense `tensor` within `ranges`, one range for each dimension, and returns each as text, in row-major
/// order.
fn dense(tensor: &Tensor<'_>, ranges: &[Range<u64>]) -> Result<Vec<String>, Error> {
    let slice = tensor.slice(ranges)?;
    let kind = NumberKind::of_component(&tensor.dense()?).ok_or(Misuse::Type)?;
    let width = u64::try_from(kind.width()).unwrap_or(1);
    if slice.elements() > MOST || Some(slice.byte_len()) != slice.elements().checked_mul(width) {
        return Err(Misuse::Slice.into());
    }
    let mut bytes = vec![0; usize::try_from(slice.byte_len()).unwrap_or_default()];
    slice.read(&mut bytes)?;
    Ok(texts(kind, &bytes))
}

/// Returns the positions of the elements within `ranges`, one range for each dimension, of an array of `shape`. A position counts
/// elements in row-major order. Returns `None` if the ranges are not within the shape, or have more than [`MOST`] elements.
fn places(shape: &[u64], ranges: &[Range<u64>]) -> Option<Vec<u64>> {
    if shape.len() != ranges.len() {
        return None;
    }
    let mut places = vec![0_u64];
    for (dimension, range) in shape.iter().zip(ranges) {
        let count = range.end.checked_sub(range.start).filter(|_| range.end <= *dimension)?;
        let known = u64::try_from(places.len()).ok()?;
        if known.checked_mul(count)? > MOST {
            return None;
        }
        let within = |outer: &u64| {
            let first = outer.checked_mul(*dimension)?;
            range.clone().map(|index| first.checked_add(index)).collect::<Option<Vec<_>>>()
        };
        places = places.iter().map(within).collect::<Option<Vec<_>>>()?.concat();
    }
    Some(places)
}

/// Formats `bytes`, elements of the type `kind`: returns each element as text.
fn texts(kind: NumberKind, bytes: &[u8]) -> Vec<String> {
    let text = |element: &[u8]| {
        let mut text = Vec::new();
        // Writing to a vector does not fail, so the empty text is never returned.
        kind.write(&mut text, element, Style::Text)
            .map_or_else(|_| String::new(), |()| String::from_utf8(text).unwrap_or_default())
    };
    bytes.chunks_exact(kind.width()).map(text).collect()
}

/// The answer of [`entries`]: some entries of a sparse tensor.
#[derive(Debug, Serialize)]
struct Entries {
    /// The number of all entries of the tensor.
    total: Integer,
    /// For each shown entry, its index in each dimension.
    coordinates: Vec<Vec<Integer>>,
    values: Vec<String>,
}

/// Writes the selected entries of the sparse object `ordinal` to `out`: the coordinates and the value of each, in the order in
/// which the file stores the entries. If [`select`] was given a range that ends after the last entry, the entries up to the last
/// one are written.
pub fn entries(file: &File, ordinal: u32, out: &mut impl Write) -> io::Result<()> {
    match session::tensor(file, ordinal).and_then(|tensor| stored(&tensor)) {
        Ok(entries) => to_writer(out, &entries),
        Err(error) => problem::reading(file, &error, out),
    }
}

fn stored(tensor: &Tensor<'_>) -> Result<Entries, Error> {
    let wanted = selected().into_iter().next().ok_or(Misuse::Slice)?;
    let values = tensor.component("values").ok_or(Misuse::Layout)?;
    check_held(tensor)?;
    let (total, coordinates) = if tensor.layout() == Layout::SparseCsr {
        let matrix = tensor.csr()?;
        let selected = within(&wanted, matrix.nnz())?;
        (matrix.nnz(), of_rows(&matrix, selected))
    } else {
        let entries = tensor.coo()?;
        let selected = within(&wanted, entries.nnz())?;
        (entries.nnz(), of_list(&entries, selected))
    };
    let selected = within(&wanted, total)?;
    let total = Integer(u64::try_from(total).unwrap_or(u64::MAX));
    Ok(Entries { total, coordinates, values: part(&values, selected)? })
}

/// Limits `wanted`, a range of entries, to the `total` entries that exist.
///
/// # Errors
/// [`Misuse::Slice`] if more than [`MOST`] entries are left.
fn within(wanted: &Range<u64>, total: usize) -> Result<Range<usize>, Error> {
    let index = |index: u64| usize::try_from(index).unwrap_or(usize::MAX).min(total);
    let selected = index(wanted.start)..index(wanted.end);
    let fits = u64::try_from(selected.len()).is_ok_and(|count| count <= MOST);
    if fits { Ok(selected) } else { Err(Misuse::Slice.into()) }
}

/// Returns the row and the column of each entry of `matrix` whose number is in `selected`.
fn of_rows(matrix: &Csr<'_>, selected: Range<usize>) -> Vec<Vec<Integer>> {
    let columns = matrix.indices().widened().skip(selected.start);
    let mut ends = matrix.indptr().widened().skip(1);
    let (mut row, mut end) = (0_u64, ends.next().unwrap_or_default());
    let entries = selected.zip(columns).map(|(entry, column)| {
        while u64::try_from(entry).is_ok_and(|entry| entry >= end) {
            let Some(next) = ends.next() else { break };
            (row, end) = (row.saturating_add(1), next);
        }
        vec![Integer(row), Integer(column)]
    });
    entries.collect()
}

/// Returns the index in each dimension of each of `entries` whose number is in `selected`.
fn of_list(entries: &Coo<'_>, selected: Range<usize>) -> Vec<Vec<Integer>> {
    let mut axes: Vec<_> = (0..entries.shape().len())
        .filter_map(|dimension| entries.axis(dimension))
        .map(|axis| axis.widened().skip(selected.start))
        .collect();
    selected.map(|_| axes.iter_mut().filter_map(Iterator::next).map(Integer).collect()).collect()
}

/// Reads the elements of `component` whose numbers are in `selected`, and returns each as text.
fn part(component: &Component<'_>, selected: Range<usize>) -> Result<Vec<String>, Error> {
    let kind = NumberKind::of_component(component).ok_or(Misuse::Type)?;
    let bytes = |index: usize| index.saturating_mul(kind.width());
    let (start, end) = (bytes(selected.start), bytes(selected.end));
    let (mut reader, mut at, mut found) = (component.reader()?, 0_usize, Vec::new());
    while at < end
        && let Some(chunk) = reader.next_chunk()?
    {
        let last = at.saturating_add(chunk.len());
        let (from, to) = (start.clamp(at, last), end.clamp(at, last));
        let piece = chunk.get(from.saturating_sub(at)..to.saturating_sub(at));
        found.extend_from_slice(piece.unwrap_or_default());
        at = last;
    }
    Ok(texts(kind, &found))
}
