//! Reading a tensor of any float dtype or quantized layout as `f32`.

use alloc::vec::Vec;
#[cfg(feature = "dequantize")]
use core::ops::Range;

use half::{bf16, f16};

use crate::element::{
    DType, F4E2M1, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0, StorageType,
};
use crate::error::{BareError, Error, Misuse, OutOfMemory};
use crate::index::Layout;
use crate::layout::View;
use crate::manifest::{Component, Tensor};
#[cfg(feature = "dequantize")]
use crate::num::u64_from_usize;

impl Tensor<'_> {
    /// Returns all elements as `f32`, in row-major order: decoded, verified and dequantized.
    ///
    /// | tensor | values |
    /// | --- | --- |
    /// | dense `f32`, `f16`, `bf16`, FP8, FP4 | exact |
    /// | dense `f64` | rounded to the nearest `f32` |
    /// | `quantized_group` (1.1, 1.2), `zt.mx/1` (2) | as [`Quantized::dequantize`](crate::view::Quantized::dequantize) and [`Mx::dequantize`](crate::view::Mx::dequantize) compute them |
    /// | `zt.quant_group/1` (2) | as [`QuantGroup`](crate::view::QuantGroup) says, rounded to the nearest `f32` |
    /// | a group of tensors that follow a [`Convention`](crate::conventions::Convention) | as the convention says, each operation rounded to `f32` |
    /// | blocks of GGUF (feature `dequantize`) | bit-identical to those of the Python package `gguf` |
    ///
    /// The result takes 4 bytes for each element, which is several times the stored size of a quantized tensor. Memory grows as
    /// bytes are decoded, so a shape that the file merely claims takes no memory.
    ///
    /// ```
    /// let archive = zten::open("corpus/other/gguf/accept/two.gguf")?;
    /// let elements: Vec<f32> = archive.tensor("a")?.to_f32()?;
    /// # assert_eq!(elements.len() as u64, archive.tensor("a")?.element_count().unwrap());
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Misuse::Layout`] for a tensor of another layout, such as a sparse one; [`Misuse::Type`] for integers, bools and complex
    /// numbers; the errors of [`reader`](Tensor::reader); [`OutOfMemory`].
    pub fn to_f32(&self) -> Result<Vec<f32>, Error> {
        #[cfg(feature = "dequantize")]
        if self.is_quantized() {
            return of_quantized(self);
        }
        match self.layout() {
            Layout::Dense => of_dense(self),
            Layout::QuantGroup => self.quant_group()?.weights(),
            Layout::QuantizedGroup => {
                let quantized = self.quantized()?;
                let views =
                    [Some(quantized.packed_weight()), Some(quantized.scales()), quantized.zeros()];
                verify_borrowed(self, views.into_iter().flatten())?;
                let count = quantized.inputs().checked_mul(quantized.outputs());
                filled(count.and_then(|count| count.try_into().ok()), |values| {
                    quantized.dequantize(values)
                })
            }
            _ => {
                let mx = self.mx()?;
                verify_borrowed(self, [mx.data(), mx.scales()].into_iter())?;
                filled(Some(mx.len()), |values| mx.dequantize(values))
            }
        }
    }
}

#[cfg(feature = "dequantize")]
impl Tensor<'_> {
    /// Fills `values` with the elements `range` of a quantized tensor, counted in row-major order, as [`to_f32`](Self::to_f32)
    /// computes them. If components are stored uncompressed, only the bytes of these elements are read: the blocks of a GGUF
    /// tensor, the elements and scales of a `zt.mx/1` or `zt.quant_group/1`, or the rows with these elements of a
    /// `quantized_group` and of a group of tensors that follow a [`Convention`](crate::conventions::Convention). Digests of
    /// uncompressed components are not compared, because a digest covers the whole component. Components that are decoded as a
    /// whole are verified.
    ///
    /// ```
    /// let archive = zten::open("corpus/v2/accept/mx.zt")?;
    /// let mut some = [0_f32; 3];
    /// archive.tensor("w")?.dequantize_range(1..4, &mut some)?;
    /// # assert_eq!(some, archive.tensor("w")?.to_f32()?[1..4]);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Misuse::Slice`] if the tensor has fewer elements or `range` ends before its start; [`Misuse::Buffer`] if `values` has
    /// another length than `range`; [`Misuse::Size`] if a compressed component has fewer bytes than the shape needs; the errors of
    /// [`dequantizer`](Tensor::dequantizer) and of its chunks; [`OutOfMemory`].
    pub fn dequantize_range(&self, range: Range<u64>, values: &mut [f32]) -> Result<(), Error> {
        let misuse = |misuse| self.named(BareError::misuse(misuse).at(self.location()));
        let count = range.end.checked_sub(range.start);
        let count = count.filter(|_| self.element_count().is_some_and(|all| range.end <= all));
        if count.ok_or_else(|| misuse(Misuse::Slice))? != u64_from_usize(values.len()) {
            return Err(misuse(Misuse::Buffer));
        }
        let filled = self.fill_range(&range, values);
        filled.map_err(|error| self.named(error))
    }

    /// Fills `values` with the elements in `range`. `values` must be as long as `range`. Fails with [`Misuse::Size`] if the
    /// components hold fewer elements.
    fn fill_range(&self, range: &Range<u64>, values: &mut [f32]) -> Result<(), Error> {
        let (mut reader, skip) = self.values_of(Some(range))?;
        let mut window = Window { skip, rest: values };
        while let Some(chunk) = reader.next_chunk()? {
            window.take(chunk);
        }
        // The sizes of compressed components of zTensor files are known only at their end.
        if window.rest.is_empty() { Ok(()) } else { Err(Misuse::Size.into()) }
    }
}

/// A filter for a range of the values of a tensor. It gets all values in order, and copies those in the range to a buffer. `rest`
/// is the part of the buffer that is still to be filled.
#[cfg(feature = "dequantize")]
struct Window<'v> {
    /// The number of values that are still to be skipped before the first value of the range.
    skip: u64,
    rest: &'v mut [f32],
}

#[cfg(feature = "dequantize")]
impl Window<'_> {
    /// Takes the next `values`: skips those before the window, copies those in it, and drops those behind it.
    fn take(&mut self, values: &[f32]) {
        let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(values.len());
        self.skip = self.skip.saturating_sub(u64_from_usize(skipped));
        let (_, values) = values.split_at(skipped);
        let (values, _) = values.split_at(values.len().min(self.rest.len()));
        let (now, later) = core::mem::take(&mut self.rest).split_at_mut(values.len());
        now.copy_from_slice(values);
        self.rest = later;
    }
}

/// Verifies the components of `tensor` if one of `views`, which are views of these components, borrows its bytes: digests are
/// compared only while a component is decoded.
fn verify_borrowed<'v>(
    tensor: &Tensor<'_>,
    mut views: impl Iterator<Item = View<'v>>,
) -> Result<(), Error> {
    if views.all(|view| view.verified().is_some()) {
        return Ok(());
    }
    for component in tensor.components() {
        let mut reader = component.reader()?;
        while reader.next_chunk()?.is_some() {}
    }
    Ok(())
}

/// Returns `count` values that `fill` computes. `count` is `None` if the number of elements exceeds `usize`.
fn filled(
    count: Option<usize>,
    fill: impl FnOnce(&mut [f32]) -> Result<(), Error>,
) -> Result<Vec<f32>, Error> {
    let count = count.ok_or(OutOfMemory)?;
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
    values.resize(count, 0.0);
    fill(&mut values)?;
    Ok(values)
}

/// Reads the values of a quantized tensor.
#[cfg(feature = "dequantize")]
fn of_quantized(tensor: &Tensor<'_>) -> Result<Vec<f32>, Error> {
    let (mut reader, mut values) = (tensor.dequantizer()?, Vec::new());
    while let Some(chunk) = reader.next_chunk()? {
        values.try_reserve(chunk.len()).map_err(|_| OutOfMemory)?;
        values.extend_from_slice(chunk);
    }
    Ok(values)
}

/// Reads the elements of a dense tensor.
fn of_dense(tensor: &Tensor<'_>) -> Result<Vec<f32>, Error> {
    let data = tensor.dense()?;
    match data.dtype() {
        DType::F32 => tensor.to_vec(),
        // The nearest `f32`, as for any conversion of a float to a narrower one.
        #[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it rounds")]
        DType::F64 => converted(&data, |bytes| f64::from_le_bytes(bytes) as f32),
        DType::F16 => converted(&data, |bytes| f16::from_le_bytes(bytes).to_f32()),
        DType::BF16 => converted(&data, |bytes| bf16::from_le_bytes(bytes).to_f32()),
        DType::F8E4M3Fn => converted(&data, |[bits]| F8E4M3Fn::from_bits(bits).to_f32()),
        DType::F8E5M2 => converted(&data, |[bits]| F8E5M2::from_bits(bits).to_f32()),
        DType::F8E4M3Fnuz => converted(&data, |[bits]| F8E4M3Fnuz::from_bits(bits).to_f32()),
        DType::F8E5M2Fnuz => converted(&data, |[bits]| F8E5M2Fnuz::from_bits(bits).to_f32()),
        DType::F8E8M0 => converted(&data, |[bits]| F8E8M0::from_bits(bits).to_f32()),
        DType::F4E2M1 => {
            let count = data.packed_elements().and_then(|count| usize::try_from(count).ok());
            let decoded = data.read()?;
            let nibbles = decoded.view().nibbles(count.ok_or(Misuse::Size)?)?;
            let mut values = Vec::new();
            values.try_reserve_exact(nibbles.clone().count()).map_err(|_| OutOfMemory)?;
            values.extend(nibbles.map(F4E2M1::to_f32));
            Ok(values)
        }
        _ => Err(data.kind()?.mismatch(StorageType::F32, None).into()),
    }
}

/// Reads the elements of `data`, each of `N` bytes, and converts each with `convert`.
fn converted<const N: usize>(
    data: &Component<'_>,
    convert: impl Fn([u8; N]) -> f32,
) -> Result<Vec<f32>, Error> {
    let (mut reader, mut values) = (data.reader()?, Vec::new());
    while let Some(chunk) = reader.next_chunk()? {
        let (elements, rest) = chunk.as_chunks::<N>();
        if !rest.is_empty() {
            return Err(BareError::internal().into());
        }
        values.try_reserve(elements.len()).map_err(|_| OutOfMemory)?;
        values.extend(elements.iter().map(|element| convert(*element)));
    }
    Ok(values)
}
