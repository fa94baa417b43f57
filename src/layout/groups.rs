//! Objects of `zt.quant_group/1`: codes in words, with a scale and a zero point for each group of codes. v2 §5.2.

use alloc::vec::Vec;

use half::{bf16, f16};

use super::elements::Elements;
use super::view::View;
use crate::cbor::{Attributes, Value};
use crate::element::{Element, F8E8M0, LogicalType, StorageType};
use crate::error::{BareError, Error, OutOfMemory};
use crate::formats::ztensor::v2::QuantKey;
use crate::manifest::{Component, Tensor};
use crate::num::u64_from_usize;

/// A `zt.quant_group/1` object: its components and attributes.
///
/// Opening validates the types and sizes of its components. [`Tensor::to_f32`] computes the weights:
///
/// | what | shape, row-major |
/// | --- | --- |
/// | the weights, one for each code | the object's shape |
/// | `scales`, and as many zero points | as the weights, but along the axis one for each group |
///
/// A weight is (code − zero point) × scale. Codes are unsigned, and fill the words of `data` one after the other in the
/// order of the weights. Without zero points, they are 0. The specification contradicts itself about the number of scales if
/// `group_size` is 0, so either is read: one scale for each lane, or one for each weight.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct QuantGroup<'a> {
    /// The component `data`: words of codes.
    pub data: Component<'a>,
    /// The component `scales`.
    pub scales: Component<'a>,
    /// The component `zeros`, if zero points are stored as a tensor.
    pub zeros: Option<Component<'a>>,
    /// The attribute `bits`: the number of bits of a code, 2, 4 or 8.
    pub bits: u8,
    /// The attribute `group_size`: the number of weights along the axis with the same scale; 0 if all weights of a lane
    /// have the same scale.
    pub group_size: u64,
    /// The attribute `axis`: the dimension along which groups lie; 0 is the outermost.
    pub axis: u32,
    order: CodeOrder,
    zero_point: ZeroPoint,
}

/// The order of the codes in a word: the attribute `packing.order`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CodeOrder {
    /// The first code is in the lowest bits.
    LsbFirst,
    /// The first code is in the highest bits.
    MsbFirst,
}

/// The attribute `zero_point`.
#[derive(Clone, Copy, Debug)]
enum ZeroPoint {
    /// Every weight has this zero point: 0 for the form `none`, the attribute `value` for the form `implied`.
    Same(f64),
    /// The component `zeros` has one element for each scale.
    Plain,
    /// The component `zeros` has codes in words, as `data` does.
    Packed,
}

impl<'a> QuantGroup<'a> {
    pub(super) fn of(object: &Tensor<'a>) -> Result<Self, Error> {
        Self::read(object).ok_or_else(|| BareError::internal().at(object.location()).into())
    }

    fn read(object: &Tensor<'a>) -> Option<Self> {
        let attributes = object.attributes();
        let packing = Attributes::read(attributes.item("packing")?.as_bytes())?;
        Some(Self {
            data: object.component("data")?,
            scales: object.component("scales")?,
            zeros: object.component("zeros"),
            bits: u8::try_from(object.number(QuantKey::bits.field())?).ok()?,
            group_size: object.number(QuantKey::group_size.field())?,
            axis: u32::try_from(object.number(QuantKey::axis.field())?).ok()?,
            order: match text(&packing, "order")? {
                "lsb_first" => CodeOrder::LsbFirst,
                _ => CodeOrder::MsbFirst,
            },
            zero_point: ZeroPoint::read(&attributes)?,
        })
    }

    /// Returns the weights in row-major order, decoded and verified. Memory for them grows as `data` is decoded.
    pub(crate) fn weights(&self) -> Result<Vec<f32>, Error> {
        let mut weights = Vec::new();
        self.dequantize(|piece| {
            weights.try_reserve(piece.len()).map_err(|_| OutOfMemory)?;
            weights.extend_from_slice(piece);
            Ok::<(), Error>(())
        })?;
        Ok(weights)
    }

    /// Computes the weights in row-major order, decoded and verified, and calls `take` with one piece of them after the other, until
    /// `take` fails. Memory holds the scales, the zero points and a piece.
    ///
    /// # Errors
    /// The error of `take`; the errors of [`Component::reader`] and [`Component::read`]; [`OutOfMemory`].
    pub fn dequantize<E: From<Error>>(
        &self,
        mut take: impl FnMut(&[f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (scales, zeros) =
            (self.scales.read()?, self.zeros.map(|zeros| zeros.read()).transpose()?);
        let storage = self.data.readable()?;
        let packing = Packing {
            order: self.order,
            bits: self.bits.into(),
            per_word: u32::from(storage.width()).saturating_mul(8).checked_div(self.bits.into()),
            width: storage.width().into(),
        };
        let factors = Factors {
            scales: Numbers(scales.view()),
            zeros: match (&zeros, self.zero_point) {
                (Some(zeros), ZeroPoint::Plain) => Zeros::Plain(Numbers(zeros.view())),
                (Some(zeros), ZeroPoint::Packed) => Zeros::Packed(zeros, packing),
                (_, ZeroPoint::Same(zero)) => Zeros::Same(zero),
                (None, _) => return Err(self.internal().into()),
            },
        };
        let mut place = self.places(scales.view().len()).ok_or_else(|| self.internal())?;
        let (mut reader, mut weights) = (self.data.reader()?, Vec::new());
        // Groups along the last axis have one scale for many successive weights.
        let mut last = None;
        while let Some(chunk) = reader.next_chunk()? {
            let codes = packing.count(chunk);
            weights.clear();
            weights.try_reserve(codes).map_err(|_| Error::from(OutOfMemory))?;
            for code in 0..codes {
                let code = packing.code(chunk, code).ok_or_else(|| self.internal())?;
                let index = place.next();
                let (scale, zero) = match last {
                    Some((at, factors)) if at == index => factors,
                    _ => factors.at(index).ok_or_else(|| self.internal())?,
                };
                last = Some((index, (scale, zero)));
                weights.push(rounded((f64::from(code) - zero) * scale));
            }
            take(&weights)?;
        }
        Ok(())
    }

    /// Returns the positions of the scales of all weights, if there are `scales` scales.
    fn places(&self, scales: usize) -> Option<ScalePlaces> {
        let object = self.data.tensor();
        let (shape, axis) = (object.shape(), usize::try_from(self.axis).ok()?);
        let along = *shape.get(axis)?;
        let elements = object.element_count()?;
        // If there are no elements, there is no weight to place, and the product of some dimensions may overflow.
        let inner = shape.iter().skip(axis).skip(1);
        let stride = inner.fold(1, |stride: u64, dimension| stride.saturating_mul(*dimension));
        let size = match self.group_size {
            0 if u64_from_usize(scales) == elements => 1,
            0 => along,
            size => size,
        };
        Some(ScalePlaces { stride, along, size, column: 0, row: 0, first: 0 })
    }

    /// Returns the error for attributes or sizes that are wrong although opening has validated them.
    #[cold]
    fn internal(&self) -> Error {
        BareError::internal().at(self.data.location()).into()
    }
}

impl ZeroPoint {
    fn read(attributes: &Attributes<'_>) -> Option<Self> {
        let fields = Attributes::read(attributes.item("zero_point")?.as_bytes())?;
        // Integers beyond 2^53 are rounded to the nearest `f64`; the weights are then rounded again.
        #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "it rounds")]
        let value = |value: Value<'_>| match value {
            Value::Uint(number) => Some(number as f64),
            Value::Negative(number) => Some(-1.0 - number as f64),
            _ => None,
        };
        Some(match text(&fields, "form")? {
            "none" => Self::Same(0.0),
            "implied" => Self::Same(value(fields.item("value")?.value())?),
            _ if text(&fields, "packing")? == "plain" => Self::Plain,
            _ => Self::Packed,
        })
    }
}

/// Returns the text at `key`.
fn text<'a>(fields: &Attributes<'a>, key: &str) -> Option<&'a str> {
    match fields.item(key)?.value() {
        Value::Text(text) => text.as_str(),
        _ => None,
    }
}

/// The way in which codes are packed into words.
#[derive(Clone, Copy, Debug)]
struct Packing {
    order: CodeOrder,
    /// The number of bits of a code: 2, 4 or 8.
    bits: u32,
    /// The number of codes in a word; `None` if `bits` is 0.
    per_word: Option<u32>,
    /// The number of bytes of a word.
    width: usize,
}

impl Packing {
    /// Returns the number of codes in `words`.
    fn count(&self, words: &[u8]) -> usize {
        let per_word = self.per_word.and_then(|codes| usize::try_from(codes).ok());
        let words = words.len().checked_div(self.width).unwrap_or(0);
        words.saturating_mul(per_word.unwrap_or(0))
    }

    /// Returns the code at `index` of `words`, which are little-endian.
    #[inline]
    fn code(&self, words: &[u8], index: usize) -> Option<u8> {
        let per_word = usize::try_from(self.per_word?).ok()?;
        let within = index.checked_rem(per_word)?;
        let position = match self.order {
            CodeOrder::LsbFirst => within,
            CodeOrder::MsbFirst => per_word.checked_sub(1)?.checked_sub(within)?,
        };
        // The code lies within one byte, because 2, 4 and 8 divide 8.
        let bit = position.checked_mul(usize::try_from(self.bits).ok()?)?;
        let start = index.checked_div(per_word)?.checked_mul(self.width)?;
        let byte = *words.get(start.checked_add(bit / 8)?)?;
        let shift = u32::try_from(bit % 8).ok()?;
        let unused = 8_u32.checked_sub(self.bits)?;
        Some(byte.wrapping_shr(shift) & u8::MAX.wrapping_shr(unused))
    }
}

/// The scales and zero points of an object.
struct Factors<'d> {
    scales: Numbers<'d>,
    zeros: Zeros<'d>,
}

/// The zero points of an object.
enum Zeros<'d> {
    Same(f64),
    Plain(Numbers<'d>),
    Packed(&'d [u8], Packing),
}

impl Factors<'_> {
    /// Returns the scale at `index`, and its zero point.
    #[inline]
    fn at(&self, index: u64) -> Option<(f64, f64)> {
        let index = usize::try_from(index).ok()?;
        let zero = match &self.zeros {
            Zeros::Same(zero) => *zero,
            Zeros::Plain(zeros) => zeros.get(index)?,
            Zeros::Packed(words, packing) => packing.code(words, index)?.into(),
        };
        Some((self.scales.get(index)?, zero))
    }
}

/// Returns the nearest `f32`.
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it rounds")]
fn rounded(value: f64) -> f32 {
    value as f32
}

/// The position of the scale of each weight, in row-major order of the weights.
#[derive(Clone, Copy, Debug)]
struct ScalePlaces {
    /// The number of weights from one index of the axis to the next.
    stride: u64,
    /// The dimension of the axis.
    along: u64,
    /// The number of weights along the axis with the same scale.
    size: u64,
    /// The position of the next weight among the weights at the same index of the axis.
    column: u64,
    /// The index of the next weight on the axis.
    row: u64,
    /// The position of the scale of the weight in column 0.
    first: u64,
}

impl ScalePlaces {
    /// Returns the position of the scale of the next weight.
    #[inline]
    fn next(&mut self) -> u64 {
        let place = self.first.saturating_add(self.column);
        self.column = self.column.saturating_add(1);
        if self.column >= self.stride {
            (self.column, self.row) = (0, self.row.saturating_add(1));
            // The size of a group divides the dimension of the axis, so a group also ends where the axis does.
            if self.row.checked_rem(self.size) == Some(0) {
                self.first = self.first.saturating_add(self.stride);
            }
            if self.row >= self.along {
                self.row = 0;
            }
        }
        place
    }
}

/// Decoded scales or zero points.
struct Numbers<'d>(View<'d>);

impl Numbers<'_> {
    /// Returns the number at `index` as `f64`, which is exact except for integers beyond 2^53.
    #[inline]
    #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "it rounds")]
    fn get(&self, index: usize) -> Option<f64> {
        Some(match self.0.storage_type() {
            StorageType::F64 => self.element(index)?,
            StorageType::F32 => self.element::<f32>(index)?.into(),
            StorageType::F16 => self.element::<f16>(index)?.into(),
            StorageType::Bf16 => self.element::<bf16>(index)?.into(),
            StorageType::I64 => self.element::<i64>(index)? as f64,
            StorageType::U64 => self.element::<u64>(index)? as f64,
            StorageType::I32 => self.element::<i32>(index)?.into(),
            StorageType::U32 => self.element::<u32>(index)?.into(),
            StorageType::I16 => self.element::<i16>(index)?.into(),
            StorageType::U16 => self.element::<u16>(index)?.into(),
            StorageType::I8 => self.element::<i8>(index)?.into(),
            StorageType::U8 if self.0.logical_type() == Some(LogicalType::F8E8M0) => {
                self.element::<F8E8M0>(index)?.to_f32().into()
            }
            StorageType::U8 => self.element::<u8>(index)?.into(),
            StorageType::Bool => u8::from(self.element::<bool>(index)?).into(),
        })
    }

    #[inline]
    fn element<T: Element>(&self, index: usize) -> Option<T> {
        Elements::new(self.0.as_bytes(), self.0.byte_order()).get(index)
    }
}
