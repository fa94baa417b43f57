//! Computes single elements of quantized tensors, in memory that does not grow with the tensor.

use zten::element::ByteOrder;
use zten::error::Misuse;
use zten::formats::{Block, LengthMismatch};
use zten::number::Fp8;
use zten::{Component, Encoding, Error, Layout, Tensor};

use super::sparsity::check_held;
use crate::session::{self, File};

/// Returns the elements of `tensor` at `places`: ascending positions in row-major order. The tensor is quantized, or has elements of
/// which two share a byte.
pub(crate) fn at(file: &File, tensor: &Tensor<'_>, places: &[u64]) -> Result<Vec<f32>, Error> {
    if let Some(block) = Block::of_layout(tensor) {
        return of_blocks(file, tensor, block, places);
    }
    let mut picker = Picker { places, position: 0, found: Vec::new() };
    let ended = match tensor.layout() {
        Layout::QuantizedGroup => {
            check_held(tensor)?;
            return of_matrix(tensor, places);
        }
        Layout::QuantGroup => {
            check_held(tensor)?;
            tensor.quant_group()?.dequantize(|values| picker.take(values))
        }
        Layout::Mx => of_scaled(tensor, &mut picker),
        _ => of_halves(tensor, &mut picker),
    };
    match ended {
        Err(Stop::Failed(error)) => Err(error),
        Ok(()) | Err(Stop::Enough) => Ok(picker.found),
    }
}

/// Why the elements of a tensor are not read to their end.
enum Stop {
    /// All wanted elements were found.
    Enough,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<LengthMismatch> for Stop {
    fn from(_: LengthMismatch) -> Self {
        Self::Failed(Misuse::Size.into())
    }
}

/// Picks the wanted elements among all elements, which come in their order.
struct Picker<'p> {
    /// The positions of the elements that are still wanted.
    places: &'p [u64],
    /// The position of the next element that comes.
    position: u64,
    found: Vec<f32>,
}

impl Picker<'_> {
    /// Copies the wanted elements among `values` to `found`. `values` are the elements of the tensor from `position` on.
    ///
    /// # Errors
    /// [`Stop::Enough`] as soon as all wanted elements were found, so that the caller stops decoding.
    fn take(&mut self, values: &[f32]) -> Result<(), Stop> {
        let start = self.position;
        self.position = start.saturating_add(u64::try_from(values.len()).unwrap_or(u64::MAX));
        while let Some((place, rest)) = self.places.split_first() {
            let index = usize::try_from(place.saturating_sub(start)).ok();
            let Some(value) = index.and_then(|index| values.get(index)) else { return Ok(()) };
            self.found.push(*value);
            self.places = rest;
        }
        Err(Stop::Enough)
    }
}

/// Computes elements of the GGUF type `block`. Of uncompressed blocks, only the wanted ones are read.
fn of_blocks(
    file: &File,
    tensor: &Tensor<'_>,
    block: &'static Block,
    places: &[u64],
) -> Result<Vec<f32>, Error> {
    let data = tensor.component("data").ok_or(Misuse::Layout)?;
    let is_plain = data.encoding() == Encoding::Raw && data.byte_order() == ByteOrder::Little;
    if !is_plain || data.is_strided() || !session::has_offsets(&data) {
        return streamed(&data, block, places);
    }
    let [elements, length] = [block.elements, block.bytes];
    let (size, count) = (usize::try_from(length), usize::try_from(elements));
    let (Ok(size), Ok(count)) = (size, count) else { return Err(Misuse::Size.into()) };
    let (mut bytes, mut values) = (vec![0; size], vec![0.0; count]);
    let (mut known, mut found) = (None, Vec::new());
    for place in places {
        let number = place.checked_div(elements).unwrap_or_default();
        if known != Some(number) {
            let offset = data.extent().offset().saturating_add(number.saturating_mul(length));
            session::read_at(file, &data, offset, &mut bytes)?;
            block.dequantize(&bytes, &mut values).map_err(|_| Error::from(Misuse::Size))?;
            known = Some(number);
        }
        let index = place.checked_rem(elements).and_then(|index| usize::try_from(index).ok());
        let value = index.and_then(|index| values.get(index)).ok_or(Misuse::Size)?;
        found.push(*value);
    }
    Ok(found)
}

/// Computes elements of blocks that are decoded from the first one on.
fn streamed(
    data: &Component<'_>,
    block: &'static Block,
    places: &[u64],
) -> Result<Vec<f32>, Error> {
    let mut picker = Picker { places, position: 0, found: Vec::new() };
    let (mut reader, mut blocks) = (data.reader()?, block.dequantizer());
    while let Some(chunk) = reader.next_chunk()? {
        match blocks.chunk(chunk, |values| picker.take(values)) {
            Ok(()) => {}
            Err(Stop::Enough) => break,
            Err(Stop::Failed(error)) => return Err(error),
        }
    }
    Ok(picker.found)
}

/// Computes elements of a matrix of codes with a scale for each group of inputs.
fn of_matrix(tensor: &Tensor<'_>, places: &[u64]) -> Result<Vec<f32>, Error> {
    let matrix = tensor.quantized()?;
    let weight = |place: &u64| {
        let (input, output) = (
            place.checked_div(matrix.outputs()).unwrap_or(u64::MAX),
            place.checked_rem(matrix.outputs()).unwrap_or(u64::MAX),
        );
        matrix.weight(input, output)
    };
    places.iter().map(weight).collect()
}

/// Passes the elements of a tensor of `zt.mx/1` to `picker`. Their scales are held in memory.
fn of_scaled(tensor: &Tensor<'_>, picker: &mut Picker<'_>) -> Result<(), Stop> {
    check_held(tensor)?;
    let misuse = || Error::from(Misuse::Layout);
    let (data, scales) = (tensor.component("data"), tensor.component("scales"));
    let (data, scales) = data.zip(scales).ok_or_else(misuse)?;
    let scales = scales.read()?;
    let mut dequantizer = tensor.mx_blocks()?.dequantizer(&data, scales.view())?;
    let mut reader = data.reader()?;
    while let Some(chunk) = reader.next_chunk()? {
        dequantizer.chunk(chunk, |values| picker.take(values))?;
    }
    Ok(())
}

/// Passes the elements of a dense tensor of `f4_e2m1`, two a byte, to `picker`.
fn of_halves(tensor: &Tensor<'_>, picker: &mut Picker<'_>) -> Result<(), Stop> {
    let mut reader = tensor.dense()?.reader()?;
    while let Some(chunk) = reader.next_chunk()? {
        let halves = chunk.iter().flat_map(|byte| [byte & 15, byte >> 4]);
        let values: Vec<f32> = halves.map(|code| Fp8::E2M1.decode(code)).collect();
        picker.take(&values)?;
    }
    Ok(())
}
