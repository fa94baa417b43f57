//! Computes single elements of quantized tensors, in memory that does not grow with the tensor.

use std::ops::Range;

use zten::element::ByteOrder;
use zten::formats::Block;
use zten::number::Fp8;
use zten::{Encoding, Error, Tensor};

use super::sparsity::check_held;
use crate::session;

/// Returns the elements of `tensor` at the positions `places`, which count elements in row-major order and are ascending. The tensor is quantized, or
/// a dense tensor of `f4_e2m1`, two elements of which share a byte.
pub(crate) fn at(tensor: &Tensor<'_>, places: &[u64]) -> Result<Vec<f32>, Error> {
    if has_parts(tensor) {
        return of_parts(tensor, places);
    }
    let mut picker = Picker { places, position: 0, found: Vec::new() };
    if !tensor.is_quantized() {
        of_halves(tensor, &mut picker)?;
        return Ok(picker.found);
    }
    if Block::of_layout(tensor).is_none() {
        check_held(tensor)?;
    }
    let mut values = tensor.dequantizer()?;
    while let Some(chunk) = values.next_chunk()? {
        if picker.take(chunk) {
            break;
        }
    }
    Ok(picker.found)
}

/// Returns whether some elements of the quantized `tensor` can be computed without reading and decoding the whole tensor.
fn has_parts(tensor: &Tensor<'_>) -> bool {
    tensor.is_quantized()
        && tensor.components().all(|component| {
            component.encoding() == Encoding::Raw
                && component.byte_order() == ByteOrder::Little
                && !component.is_strided()
                && session::has_offsets(&component)
        })
}

/// Computes the elements of the quantized `tensor` at the positions `places`, in this order, from the blocks that they are in. Neighboring elements
/// are computed by one call.
fn of_parts(tensor: &Tensor<'_>, places: &[u64]) -> Result<Vec<f32>, Error> {
    let mut found = vec![0.0; places.len()];
    let mut rest = found.as_mut_slice();
    for run in places.chunk_by(|one, next| one.checked_add(1) == Some(*next)) {
        let Some((first, count)) = run.first().zip(u64::try_from(run.len()).ok()) else { continue };
        let range: Range<u64> = *first..first.saturating_add(count);
        let Some((values, later)) = rest.split_at_mut_checked(run.len()) else { break };
        tensor.dequantize_range(range, values)?;
        rest = later;
    }
    Ok(found)
}

/// Picks the wanted elements out of the elements of a tensor, which are passed in row-major order.
struct Picker<'p> {
    /// The indices of the elements that are still wanted, in ascending order. An index counts elements in row-major order.
    places: &'p [u64],
    /// The index of the first element that the next call of `take` gets.
    position: u64,
    found: Vec<f32>,
}

impl Picker<'_> {
    /// Copies the wanted elements among `values` to `found`. `values` are the elements of the tensor from `position` on. Returns true as
    /// soon as all wanted elements were found, so that the caller stops decoding.
    fn take(&mut self, values: &[f32]) -> bool {
        let start = self.position;
        self.position = start.saturating_add(u64::try_from(values.len()).unwrap_or(u64::MAX));
        while let Some((place, rest)) = self.places.split_first() {
            let index = usize::try_from(place.saturating_sub(start)).ok();
            let Some(value) = index.and_then(|index| values.get(index)) else { return false };
            self.found.push(*value);
            self.places = rest;
        }
        true
    }
}

/// Reads the elements of the dense `tensor` of `f4_e2m1`, two of which share a byte, and passes them to `picker` until it has found all that it wants.
fn of_halves(tensor: &Tensor<'_>, picker: &mut Picker<'_>) -> Result<(), Error> {
    let mut reader = tensor.dense()?.reader()?;
    while let Some(chunk) = reader.next_chunk()? {
        let halves = chunk.iter().flat_map(|byte| [byte & 15, byte >> 4]);
        let values: Vec<f32> = halves.map(|code| Fp8::E2M1.decode(code)).collect();
        if picker.take(&values) {
            break;
        }
    }
    Ok(())
}
