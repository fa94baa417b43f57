//! Unpacking codes, and making weights of them.

use half::{bf16, f16};

use super::attributes::{Quantization, misfit};
use crate::element::{Element, StorageType};
use crate::error::{Error, Misuse};
use crate::format::Logical;
use crate::layout::{Decoded, View};
use crate::num::u64_from_usize;

/// A decoded matrix of quantized weights, whose components fit together: what a [`Quantized`]
/// can borrow from.
#[derive(Debug)]
pub struct DecodedQuantized {
    shape: [u64; 2],
    quantization: Quantization,
    packed: Decoded,
    scales: Decoded,
    zeros: Option<Decoded>,
}

impl DecodedQuantized {
    /// The one way to make one.
    pub(super) fn validate(
        shape: [u64; 2],
        quantization: Quantization,
        packed: Decoded,
        scales: Decoded,
        zeros: Option<Decoded>,
    ) -> Result<Self, Error> {
        let views = (packed.view(), scales.view(), zeros.as_ref().map(Decoded::view));
        Quantized::validate(shape, quantization, views.0, views.1, views.2)?;
        Ok(Self { shape, quantization, packed, scales, zeros })
    }

    /// The weights. They were checked when they were decoded: this takes no time.
    pub fn quantized(&self) -> Quantized<'_> {
        Quantized {
            shape: self.shape,
            quantization: self.quantization,
            packed: self.packed.view(),
            scales: self.scales.view(),
            zeros: self.zeros.as_ref().map(Decoded::view),
        }
    }
}

/// A matrix of quantized weights, whose components fit together: types and sizes are what the
/// attributes and the shape ask for. [`QuantizedGroup`](crate::view::QuantizedGroup) says how they
/// are laid out.
#[derive(Clone, Copy, Debug)]
pub struct Quantized<'d> {
    shape: [u64; 2],
    quantization: Quantization,
    packed: View<'d>,
    scales: View<'d>,
    zeros: Option<View<'d>>,
}

impl<'d> Quantized<'d> {
    /// The one way to make one that has not been checked before.
    pub(super) fn validate(
        shape: [u64; 2],
        quantization: Quantization,
        packed: View<'d>,
        scales: View<'d>,
        zeros: Option<View<'d>>,
    ) -> Result<Self, Error> {
        let [inputs, outputs] = shape;
        let fits = |view: &View<'_>, types: &[StorageType], count: Option<u64>| {
            let plain = view.kind().logical == Logical::NONE;
            let typed = plain && types.contains(&view.storage_type());
            let fits = typed && count == Some(u64_from_usize(view.len()));
            if fits { Ok(()) } else { Err(misfit(view.kind().place)) }
        };
        let codes = u64::from(quantization.packing().codes());
        // Inputs fill their words: what else a word might hold is not specified.
        let words = inputs.checked_div(codes).filter(|_| inputs.is_multiple_of(codes));
        let words = words.and_then(|words| words.checked_mul(outputs));
        fits(&packed, &[quantization.packing().word()], words)?;
        let groups = inputs.div_ceil(quantization.group_size());
        let factors = groups.checked_mul(outputs);
        fits(&scales, FLOATS, factors)?;
        if let Some(zeros) = &zeros {
            fits(zeros, FLOATS, factors)?;
        }
        Ok(Self { shape, quantization, packed, scales, zeros })
    }

    /// The number of inputs: the first dimension of the weights.
    pub fn inputs(&self) -> u64 {
        let [inputs, _] = self.shape;
        inputs
    }

    /// The number of outputs: the second dimension of the weights.
    pub fn outputs(&self) -> u64 {
        let [_, outputs] = self.shape;
        outputs
    }

    /// How the weights are quantized.
    pub fn quantization(&self) -> Quantization {
        self.quantization
    }

    /// The words of `packed_weight`: `[inputs / codes, outputs]`, `i32` or `u8`.
    pub fn packed_weight(&self) -> View<'d> {
        self.packed
    }

    /// The `scales`: `[ceil(inputs / group_size), outputs]`, `f32`, `f16` or `bf16`.
    pub fn scales(&self) -> View<'d> {
        self.scales
    }

    /// The `zeros`: as many as scales, `f32`, `f16` or `bf16`. Where there are none, all zero
    /// points are 2^(bits − 1).
    pub fn zeros(&self) -> Option<View<'d>> {
        self.zeros
    }

    /// Fills `codes` with the codes of all weights: `[inputs, outputs]` in row-major order, each
    /// below 2^bits. O(inputs × outputs), no memory.
    ///
    /// # Errors
    /// [`Misuse::Buffer`] where `codes` has not exactly inputs × outputs elements.
    pub fn unpack(&self, codes: &mut [u8]) -> Result<(), Error> {
        let outputs = self.width(codes.len())?;
        for (input, row) in codes.chunks_exact_mut(outputs.max(1)).enumerate() {
            self.codes(input, 0, row)?;
        }
        Ok(())
    }

    /// Fills `weights` with the weights: `[inputs, outputs]` in row-major order. Scales and zero
    /// points are widened to `f32`, which is exact; the difference and the product are rounded
    /// to `f32`, each by itself. O(inputs × outputs), no memory.
    ///
    /// # Errors
    /// [`Misuse::Buffer`] where `weights` has not exactly inputs × outputs elements.
    pub fn dequantize(&self, weights: &mut [f32]) -> Result<(), Error> {
        let outputs = self.width(weights.len())?;
        if weights.is_empty() {
            return Ok(());
        }
        // A group of more inputs than there are is one of them all.
        let size = usize::try_from(self.quantization.group_size().min(self.inputs()));
        let size = size.map_err(|_| self.misfit())?;
        let group = size.checked_mul(outputs).ok_or(self.misfit())?.max(1);
        let mut tile = Tile::new(self.middle());
        for (ordinal, group) in weights.chunks_mut(group).enumerate() {
            let first = ordinal.checked_mul(size).ok_or(self.misfit())?;
            let factors = ordinal.checked_mul(outputs).ok_or(self.misfit())?;
            for column in (0..outputs).step_by(TILE) {
                let factors = factors.checked_add(column).ok_or(self.misfit())?;
                let width = outputs.saturating_sub(column).min(TILE);
                let (codes, scales, zeros) = tile.cut(width).ok_or(self.misfit())?;
                widen(&self.scales, factors, scales)?;
                if let Some(view) = &self.zeros {
                    widen(view, factors, zeros)?;
                }
                for (input, row) in group.chunks_exact_mut(outputs.max(1)).enumerate() {
                    let input = first.checked_add(input).ok_or(self.misfit())?;
                    self.codes(input, column, codes)?;
                    // Within the row: a tile is cut at its end.
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

    /// The zero point of symmetric weights.
    fn middle(&self) -> f32 {
        if self.quantization.bits() == 4 { 8.0 } else { 128.0 }
    }

    /// The number of outputs, if a buffer of `length` holds the matrix.
    fn width(&self, length: usize) -> Result<usize, Error> {
        let buffer = Error::misuse(Misuse::Buffer).at(self.packed.kind().place);
        let [inputs, outputs] = self.shape;
        if inputs.checked_mul(outputs) != Some(u64_from_usize(length)) {
            return Err(buffer);
        }
        // Where there are no inputs, there is nothing to cut into rows.
        if length == 0 { Ok(0) } else { usize::try_from(outputs).map_err(|_| buffer) }
    }

    /// Fills `codes` with those of one input, from the output `first` on.
    fn codes(&self, input: usize, first: usize, codes: &mut [u8]) -> Result<(), Error> {
        let packing = self.quantization.packing();
        let per_word = usize::from(packing.codes());
        // The first of the codes in a word is in its lowest bits.
        let place = input.checked_rem(per_word).and_then(|place| u32::try_from(place).ok());
        let shift = place.and_then(|place| place.checked_mul(packing.bits().into()));
        let shift = shift.ok_or(self.misfit())?;
        let outputs = usize::try_from(self.outputs()).map_err(|_| self.misfit())?;
        let row = input.checked_div(per_word).and_then(|row| row.checked_mul(outputs));
        let at = row.and_then(|row| row.checked_add(first)).ok_or(self.misfit())?;
        let mask = if packing.bits() == 4 { 0x0f } else { 0xff };
        if packing.word() == StorageType::U8 {
            let code = |word: u8| word.wrapping_shr(shift) & mask;
            return fill(&self.packed, at, codes, code);
        }
        fill(&self.packed, at, codes, |word: i32| {
            let word = word.cast_unsigned().wrapping_shr(shift);
            let [lowest, ..] = word.to_le_bytes();
            lowest & mask
        })
    }

    /// For what validating has shown cannot be.
    #[cold]
    fn misfit(&self) -> Error {
        Error::internal().at(self.packed.kind().place)
    }
}

/// The types of scales and zero points: v1.1 III.4 keeps them "in higher precision".
const FLOATS: &[StorageType] = &[StorageType::F32, StorageType::F16, StorageType::Bf16];

/// Columns that are made together, so that their scales are widened once for all rows of a group.
const TILE: usize = 256;

/// What some columns of one group have in common, and the codes of one of its rows.
struct Tile {
    codes: [u8; TILE],
    scales: [f32; TILE],
    zeros: [f32; TILE],
}

impl Tile {
    /// With zero points that stay as they are where there are no `zeros`.
    fn new(zero: f32) -> Self {
        Self { codes: [0; TILE], scales: [0.0; TILE], zeros: [zero; TILE] }
    }

    /// The first `width` columns, if there are so many.
    fn cut(&mut self, width: usize) -> Option<(&mut [u8], &mut [f32], &mut [f32])> {
        let Self { codes, scales, zeros } = self;
        Some((codes.get_mut(..width)?, scales.get_mut(..width)?, zeros.get_mut(..width)?))
    }
}

/// Fills `into` with the floats from `at` on.
fn widen(view: &View<'_>, at: usize, into: &mut [f32]) -> Result<(), Error> {
    match view.storage_type() {
        StorageType::F16 => fill(view, at, into, f16::to_f32),
        StorageType::Bf16 => fill(view, at, into, bf16::to_f32),
        _ => fill(view, at, into, |float: f32| float),
    }
}

/// Fills `into` with what `convert` makes of the elements from `at` on.
#[inline]
fn fill<T: Element, U>(
    view: &View<'_>,
    at: usize,
    into: &mut [U],
    convert: impl Fn(T) -> U,
) -> Result<(), Error> {
    let part = at.checked_add(into.len()).and_then(|end| view.part(at..end));
    let part = part.ok_or_else(|| Error::internal().at(view.kind().place))?;
    for (slot, element) in into.iter_mut().zip(part.elements::<T>()?) {
        *slot = convert(element);
    }
    Ok(())
}
