//! The layout `quantized_group`: packed codes, with a scale and a zero point for each group of codes.

#[cfg(feature = "dequantize")]
use core::num::NonZeroU64;

use half::{bf16, f16};

use super::buffer::Data;
use super::view::{View, ViewType};
use crate::cbor::{Attributes, Value};
use crate::element::{Element, StorageType};
use crate::error::{BareError, Error, Location, Misuse};
use crate::index::Logical;
#[cfg(feature = "dequantize")]
use crate::manifest::Component;
use crate::manifest::Tensor;
use crate::num::{divide_exactly, enum_all, u64_from_usize};

/// The way in which weights are quantized: the attributes `bits`, `group_size` and `packing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantization {
    group_size: u64,
    packing: Packing,
}

enum_all! {
/// The way in which codes are packed into words: the attribute `packing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Packing with
    /// Returns the name of the packing, the number of codes in a word, the type of a word, and the number of bits of a code.
    fn row -> (&'static str, u8, StorageType, u8)
{
    /// `8_per_i32`: codes of 4 bits.
    EightPerI32 = ("8_per_i32", 8, StorageType::I32, 4),
    /// `4_per_i32`: codes of 8 bits.
    FourPerI32 = ("4_per_i32", 4, StorageType::I32, 8),
    /// `2_per_u8`: codes of 4 bits.
    TwoPerU8 = ("2_per_u8", 2, StorageType::U8, 4),
    /// `1_per_u8`: codes of 8 bits.
    OnePerU8 = ("1_per_u8", 1, StorageType::U8, 8),
}
}

impl Packing {
    /// All packings.
    pub const ALL: [Self; Self::COUNT] = Self::LIST;

    fn from_name(name: &str) -> Option<Self> {
        Self::LIST.into_iter().find(|packing| packing.name() == name)
    }

    /// Returns the name of the packing in the attribute `packing`, such as `8_per_i32`.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the number of codes in a word: 1, 2, 4 or 8.
    pub fn codes(self) -> u8 {
        self.row().1
    }

    /// Returns the type of a word, which is the storage type of `packed_weight`.
    pub fn word(self) -> StorageType {
        self.row().2
    }

    /// Returns the number of bits of a code: 4 or 8.
    pub fn bits(self) -> u8 {
        self.row().3
    }
}

impl Quantization {
    /// Reads the attributes of `object`.
    pub(super) fn of(object: &Tensor<'_>) -> Result<Self, Error> {
        let read = |attributes: Attributes<'_>| {
            let bits = uint(&attributes, "bits").filter(|bits| (1..=32).contains(bits))?;
            let group_size = uint(&attributes, "group_size").filter(|size| *size > 0)?;
            let packing = match attributes.item("packing")?.value() {
                Value::Text(name) => Packing::from_name(name.as_str()?)?,
                _ => return None,
            };
            // The name of the packing determines the bits of a code, and `bits` must agree.
            (bits == u64::from(packing.bits())).then_some(Self { group_size, packing })
        };
        read(object.attributes()).ok_or_else(|| misfit(object.location()).into())
    }

    /// Returns the attribute `bits`, the number of bits of a code: 4 or 8.
    pub fn bits(&self) -> u8 {
        self.packing.bits()
    }

    /// Returns the attribute `group_size`, the number of successive inputs with the same scale and zero point: 1 or
    /// more, and perhaps more than there are inputs.
    pub fn group_size(&self) -> u64 {
        self.group_size
    }

    /// Returns the attribute `packing`.
    pub fn packing(&self) -> Packing {
        self.packing
    }
}

/// Returns the attribute `key`, if its value is an unsigned integer.
fn uint(attributes: &Attributes<'_>, key: &str) -> Option<u64> {
    match attributes.item(key)?.value() {
        Value::Uint(number) => Some(number),
        _ => None,
    }
}

/// Returns the error of attributes, or of a component at `location`, that do not make a quantized matrix.
fn misfit(location: Location) -> BareError {
    BareError::misuse(Misuse::Quantization).at(location)
}

/// A matrix of quantized weights, returned by [`Tensor::quantized`]. Its components have the types and sizes that
/// follow from the attributes and the shape.
///
/// The specifications give only an example and refer to GPTQ. This library reads:
///
/// | what | shape, row-major |
/// | --- | --- |
/// | the weights | `[inputs, outputs]`, the object's shape |
/// | `packed_weight`: `i32` or `u8` words of `n` codes | `[inputs / n, outputs]` |
/// | `scales`: `f32`, `f16` or `bf16` | `[ceil(inputs / group_size), outputs]` |
/// | `zeros`: `f32`, `f16` or `bf16` | as `scales` |
///
/// Word `[r, c]` holds the codes of the weights `[r × n, c]` to `[r × n + n − 1, c]`, the first
/// one in its lowest bits; codes are unsigned. Weight `[i, c]` is
/// `scales[g, c] × (code − zeros[g, c])`, where `g` is `i / group_size` rounded down.
///
/// An object without `zeros`, if that is [tolerated](crate::Tolerance::MissingZeros), is symmetric: all its zero points
/// are 2^(bits − 1), as in GPTQ.
///
/// Weights that are packed in another way can be read as components.
///
/// ```
/// let archive = zten::open("corpus/accept/1.2.3/quantized_group.zt")?;
/// let quantized = archive.tensor("q_proj")?.quantized()?;
/// assert_eq!((quantized.quantization().bits(), quantized.quantization().group_size()), (4, 8));
/// let mut weights = [0_f32; 8 * 8];
/// quantized.dequantize(&mut weights)?;
/// # assert_eq!(weights[0], -1.25 * (13.0 + 1.25));
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Debug)]
pub struct Quantized<'a> {
    shape: [u64; 2],
    quantization: Quantization,
    packed_weight: Data<'a>,
    scales: Data<'a>,
    zeros: Option<Data<'a>>,
}

impl<'a> Quantized<'a> {
    pub(super) fn of(object: &Tensor<'a>) -> Result<Self, Error> {
        let quantization = Quantization::of(object)?;
        let &[inputs, outputs] = object.shape() else {
            return Err(misfit(object.location()).into());
        };
        let quantized = Self {
            shape: [inputs, outputs],
            quantization,
            packed_weight: object.require("packed_weight")?.data()?,
            scales: object.require("scales")?.data()?,
            zeros: object.component("zeros").map(|zeros| zeros.data()).transpose()?,
        };
        quantized.parts().check()?;
        Ok(quantized)
    }

    fn parts(&self) -> BorrowedComponents<'_> {
        BorrowedComponents {
            shape: self.shape,
            quantization: self.quantization,
            packed_weight: self.packed_weight(),
            scales: self.scales(),
            zeros: self.zeros(),
        }
    }

    /// Returns the number of inputs, the first dimension of the weights.
    pub fn inputs(&self) -> u64 {
        let [inputs, _] = self.shape;
        inputs
    }

    /// Returns the number of outputs, the second dimension of the weights.
    pub fn outputs(&self) -> u64 {
        let [_, outputs] = self.shape;
        outputs
    }

    /// Returns the way in which the weights are quantized.
    pub fn quantization(&self) -> Quantization {
        self.quantization
    }

    /// Returns the words of `packed_weight`: `[inputs / codes, outputs]`, `i32` or `u8`.
    pub fn packed_weight(&self) -> View<'_> {
        self.packed_weight.view()
    }

    /// Returns the `scales`: `[ceil(inputs / group_size), outputs]`, `f32`, `f16` or `bf16`.
    pub fn scales(&self) -> View<'_> {
        self.scales.view()
    }

    /// Returns the `zeros`, of the shape of `scales`: `f32`, `f16` or `bf16`. If there are none, which files opened
    /// with [`MissingZeros`](crate::Tolerance::MissingZeros) may have, all zero points are 2^(bits − 1).
    pub fn zeros(&self) -> Option<View<'_>> {
        self.zeros.as_ref().map(Data::view)
    }

    /// Fills `codes` with the codes of all weights: `[inputs, outputs]` in row-major order, each
    /// below 2^bits. O(inputs × outputs), no memory.
    ///
    /// # Errors
    /// [`Misuse::Buffer`] if the length of `codes` is not inputs × outputs.
    pub fn unpack(&self, codes: &mut [u8]) -> Result<(), Error> {
        self.parts().unpack(codes)
    }

    /// Fills `weights` with the weights: `[inputs, outputs]` in row-major order. Scales and zero
    /// points are widened to `f32`, which is exact; the difference and the product are rounded
    /// to `f32`, each by itself. O(inputs × outputs), no memory.
    ///
    /// # Errors
    /// [`Misuse::Buffer`] if the length of `weights` is not inputs × outputs.
    pub fn dequantize(&self, weights: &mut [f32]) -> Result<(), Error> {
        self.parts().dequantize(weights)
    }

    /// Returns the weight of `input` and `output`, as [`dequantize`](Self::dequantize) computes it. O(1).
    ///
    /// # Errors
    /// [`Misuse::Slice`] if there is no such weight.
    pub fn weight(&self, input: u64, output: u64) -> Result<f32, Error> {
        self.parts().weight(input, output)
    }
}

/// The shape of a matrix of quantized weights, from which the sizes of its components follow.
#[derive(Clone, Copy, Debug)]
struct Matrix {
    /// The number of inputs and of outputs.
    shape: [u64; 2],
    quantization: Quantization,
}

impl Matrix {
    /// Checks the types and the numbers of elements of `packed_weight`, `scales` and `zeros`, and that the inputs fill whole words.
    /// A number is `None`, and is not checked, if only decoding tells it.
    ///
    /// # Errors
    /// [`Misuse::Quantization`] at the component that does not match.
    fn check(&self, parts: [Option<(ViewType, Option<u64>)>; 3]) -> Result<(), BareError> {
        let [words, scales, zeros] = parts;
        let fits = |part: Option<(ViewType, Option<u64>)>, types: &[StorageType], count| {
            let Some((kind, elements)) = part else { return Ok(()) };
            let typed = kind.logical == Logical::NONE && types.contains(&kind.storage);
            let counted = elements.is_none() || elements == count;
            if typed && counted { Ok(()) } else { Err(misfit(kind.location)) }
        };
        let ([inputs, outputs], Quantization { group_size, packing }) =
            (self.shape, self.quantization);
        // The inputs must fill their words, because the content of a partial word is not specified.
        let count = divide_exactly(inputs, packing.codes().into());
        let count = count.and_then(|words| words.checked_mul(outputs));
        if count.is_none() {
            let location = words.map(|(kind, _)| kind.location);
            return Err(location.map_or(BareError::internal(), misfit));
        }
        fits(words, &[packing.word()], count)?;
        let factors = inputs.div_ceil(group_size).checked_mul(outputs);
        fits(scales, FLOATS, factors)?;
        fits(zeros, FLOATS, factors)
    }
}

#[cfg(feature = "dequantize")]
impl Tensor<'_> {
    /// Returns the quantization of a `quantized_group`, its inputs and its outputs, after checking the types of its components, and
    /// their sizes as far as the file gives them.
    ///
    /// # Errors
    /// The errors of [`quantized`](Tensor::quantized).
    pub(crate) fn quantized_matrix(&self) -> Result<(Quantization, [u64; 2]), Error> {
        let quantization = self.quantization()?;
        let &[inputs, outputs] = self.shape() else {
            return Err(misfit(self.location()).into());
        };
        let shape = [inputs, outputs];
        let (packed_weight, scales) = (self.require("packed_weight")?, self.require("scales")?);
        let measured = |component: Component<'_>| {
            let kind = component.decoded_kind()?;
            let width = NonZeroU64::from(kind.storage.divisor());
            Ok::<_, Error>((kind, component.decoded_length().map(|length| length / width)))
        };
        let zeros = self.component("zeros").map(measured).transpose()?;
        let parts = [Some(measured(packed_weight)?), Some(measured(scales)?), zeros];
        Matrix { shape, quantization }.check(parts)?;
        Ok((quantization, shape))
    }
}

/// The borrowed components of a [`Quantized`].
#[derive(Clone, Copy, Debug)]
struct BorrowedComponents<'d> {
    /// The number of rows (inputs) and of columns (outputs).
    shape: [u64; 2],
    quantization: Quantization,
    packed_weight: View<'d>,
    scales: View<'d>,
    zeros: Option<View<'d>>,
}

impl BorrowedComponents<'_> {
    fn check(&self) -> Result<(), BareError> {
        let measured = |view: &View<'_>| (*view.kind(), Some(u64_from_usize(view.len())));
        let matrix = Matrix { shape: self.shape, quantization: self.quantization };
        let (words, scales) = (measured(&self.packed_weight), measured(&self.scales));
        matrix.check([Some(words), Some(scales), self.zeros.as_ref().map(measured)])
    }

    fn unpack(&self, codes: &mut [u8]) -> Result<(), Error> {
        let outputs = self.width(codes.len())?;
        for (input, row) in codes.chunks_exact_mut(outputs.max(1)).enumerate() {
            self.codes(input, 0, row)?;
        }
        Ok(())
    }

    fn dequantize(&self, weights: &mut [f32]) -> Result<(), Error> {
        let outputs = self.width(weights.len())?;
        if weights.is_empty() {
            return Ok(());
        }
        // The group size of a file may be far larger than the number of inputs.
        let size = usize::try_from(self.quantization.group_size().min(self.shape[0]));
        let group = size.ok().and_then(|rows| rows.checked_mul(outputs)).ok_or(self.misfit())?;
        // The index of the first row of the group that the loop takes next.
        let mut next = 0_usize;
        // Buffers for the codes of up to `TILE` columns of a row, and for the scales and zero points of these columns. If
        // the object has no component `zeros`, the zero point of each column stays the middle code.
        let middle = if self.quantization.bits() == 4 { 8.0 } else { 128.0 };
        let (mut codes, mut scales, mut zeros) = ([0; TILE], [0.0; TILE], [middle; TILE]);
        for (ordinal, group) in weights.chunks_mut(group.max(1)).enumerate() {
            let first = next;
            let rows = group.len().checked_div(outputs).unwrap_or_default();
            next = next.checked_add(rows).ok_or(self.misfit())?;
            let factors = ordinal.checked_mul(outputs).ok_or(self.misfit())?;
            for column in (0..outputs).step_by(TILE) {
                let factors = factors.checked_add(column).ok_or(self.misfit())?;
                let width = outputs.saturating_sub(column).min(TILE);
                let cut = (codes.get_mut(..width), scales.get_mut(..width), zeros.get_mut(..width));
                let (Some(codes), Some(scales), Some(zeros)) = cut else {
                    return Err(self.misfit().into());
                };
                widen(&self.scales, factors, scales)?;
                if let Some(view) = &self.zeros {
                    widen(view, factors, zeros)?;
                }
                for (input, row) in group.chunks_exact_mut(outputs.max(1)).enumerate() {
                    let input = first.checked_add(input).ok_or(self.misfit())?;
                    self.codes(input, column, codes)?;
                    // A tile is cut at the end of its row, so the range is within the row.
                    let weights = row.get_mut(column..).ok_or_else(|| self.misfit())?;
                    let factors = scales.iter().zip(&*zeros);
                    for ((weight, code), (scale, zero)) in
                        weights.iter_mut().zip(&*codes).zip(factors)
                    {
                        *weight = scale * (f32::from(*code) - zero);
                    }
                }
            }
        }
        Ok(())
    }

    fn weight(&self, input: u64, output: u64) -> Result<f32, Error> {
        let [inputs, outputs] = self.shape;
        let group = input.checked_div(self.quantization.group_size()).filter(|_| input < inputs);
        let scale_index = group.and_then(|group| group.checked_mul(outputs)?.checked_add(output));
        let indices = scale_index.and_then(|place| usize::try_from(place).ok());
        let indices = indices.zip(usize::try_from(input).ok()).zip(usize::try_from(output).ok());
        let Some(((factor, input), output)) = indices.filter(|_| output < outputs) else {
            return Err(self.packed_weight.kind().misuse(Misuse::Slice).into());
        };
        let (mut code, mut scale) = ([0], [0.0]);
        let mut zero = [if self.quantization.bits() == 4 { 8.0 } else { 128.0 }];
        self.codes(input, output, &mut code)?;
        widen(&self.scales, factor, &mut scale)?;
        if let Some(zeros) = &self.zeros {
            widen(zeros, factor, &mut zero)?;
        }
        let ([code], [scale], [zero]) = (code, scale, zero);
        Ok(scale * (f32::from(code) - zero))
    }

    /// Returns the number of outputs, or an error if a buffer of `length` elements does not hold the matrix.
    fn width(&self, length: usize) -> Result<usize, BareError> {
        let buffer = self.packed_weight.kind().misuse(Misuse::Buffer);
        let [inputs, outputs] = self.shape;
        if inputs.checked_mul(outputs) != Some(u64_from_usize(length)) {
            return Err(buffer);
        }
        // An empty buffer has no rows, and the number of outputs may not fit in a `usize` if there are no inputs.
        if length == 0 { Ok(0) } else { usize::try_from(outputs).map_err(|_| buffer) }
    }

    /// Fills `codes` with the codes of row `input`, from column `first` on.
    fn codes(&self, input: usize, first: usize, codes: &mut [u8]) -> Result<(), Error> {
        let packing = self.quantization.packing();
        let per_word = usize::from(packing.codes());
        // The first code of a word is in its lowest bits.
        let location =
            input.checked_rem(per_word).and_then(|location| u32::try_from(location).ok());
        let shift = location.and_then(|location| location.checked_mul(packing.bits().into()));
        let shift = shift.ok_or(self.misfit())?;
        let [_, outputs] = self.shape;
        let outputs = usize::try_from(outputs).map_err(|_| self.misfit())?;
        let row = input.checked_div(per_word).and_then(|row| row.checked_mul(outputs));
        let at = row.and_then(|row| row.checked_add(first)).ok_or(self.misfit())?;
        let mask = if packing.bits() == 4 { 0x0f } else { 0xff };
        if packing.word() == StorageType::U8 {
            let code = |word: u8| word.wrapping_shr(shift) & mask;
            return fill(&self.packed_weight, at, codes, code);
        }
        fill(&self.packed_weight, at, codes, |word: i32| {
            let word = word.cast_unsigned().wrapping_shr(shift);
            let [lowest, ..] = word.to_le_bytes();
            lowest & mask
        })
    }

    /// Returns the internal error of sizes that were checked before.
    #[cold]
    fn misfit(&self) -> BareError {
        BareError::internal().at(self.packed_weight.kind().location)
    }
}

/// The types of scales and zero points: v1.1 III.4 keeps them "in higher precision".
const FLOATS: &[StorageType] = &[StorageType::F32, StorageType::F16, StorageType::Bf16];

/// The number of columns that are computed together, so that their scales are widened once for all rows of a group.
const TILE: usize = 256;

/// Fills `into` with the floats of `view` from position `at` on, as `f32`.
fn widen(view: &View<'_>, at: usize, into: &mut [f32]) -> Result<(), Error> {
    match view.storage_type() {
        StorageType::F16 => fill(view, at, into, f16::to_f32),
        StorageType::Bf16 => fill(view, at, into, bf16::to_f32),
        _ => fill(view, at, into, |float: f32| float),
    }
}

/// Fills `into` with the converted elements of `view` from position `at` on.
#[inline]
fn fill<T: Element, U>(
    view: &View<'_>,
    at: usize,
    into: &mut [U],
    convert: impl Fn(T) -> U,
) -> Result<(), Error> {
    let part = at.checked_add(into.len()).and_then(|end| view.part(at..end));
    let part = part.ok_or_else(|| BareError::internal().at(view.kind().location))?;
    for (slot, element) in into.iter_mut().zip(part.elements::<T>()?) {
        *slot = convert(element);
    }
    Ok(())
}
