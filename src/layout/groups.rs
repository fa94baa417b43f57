//! Objects of `zt.quant_group/1`: codes in words, with a scale and a zero point for each group of codes. v2 §5.2.

use alloc::vec::Vec;
use core::ops::{Deref, Range};

use half::{bf16, f16};

use super::elements::Elements;
use super::view::{View, ViewType};
use crate::cbor::{Attributes, Value};
use crate::element::{Element, F8E8M0, LogicalType, StorageType};
use crate::error::{BareError, Error, Location, OutOfMemory};
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
/// order of the weights. If the component `zeros` is missing, all zero points are the number that the attribute `zero_point`
/// gives, or 0 if its form is `none`. The specification contradicts itself about the number of scales if
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
        let (scales, zeros) =
            (self.scales.read()?, self.zeros.map(|zeros| zeros.read()).transpose()?);
        let mut converter = self.converter(&*scales, zeros.as_deref(), &CodeStart::default())?;
        let (mut reader, mut weights) = (self.data.reader()?, Vec::new());
        while let Some(chunk) = reader.next_chunk()? {
            converter.chunk(chunk, &mut weights)?;
        }
        Ok(weights)
    }

    /// Creates a converter of the words of `data` into weights, from the word with the weight `start.first` on. `scales` and
    /// `zeros` are decoded bytes of the components.
    ///
    /// # Errors
    /// An internal error if attributes or sizes are wrong although opening has validated them.
    pub(crate) fn converter<B: Deref<Target = [u8]>>(
        &self,
        scales: B,
        zeros: Option<B>,
        start: &CodeStart,
    ) -> Result<CodeConverter<B>, Error> {
        let (data, packing) = (self.data, self.packing()?);
        let scales = Numbers { bytes: scales, kind: self.scales.decoded_kind()? };
        let zeros = match (zeros, self.zeros, self.zero_point) {
            (Some(bytes), Some(zeros), ZeroPoint::Plain) => {
                Zeros::Plain(Numbers { bytes, kind: zeros.decoded_kind()? })
            }
            (Some(bytes), _, ZeroPoint::Packed) => Zeros::Packed(bytes, packing),
            (_, _, ZeroPoint::Same(zero)) => Zeros::Same(zero),
            _ => return Err(self.internal()),
        };
        let count = start.scales.unwrap_or_else(|| u64_from_usize(scales.view().len()));
        let place = self.scale_positions(start.first, count).ok_or_else(|| self.internal())?;
        let factors = Factors { scales, zeros, before: start.before };
        Ok(CodeConverter { location: data.location(), packing, factors, place, last: None })
    }

    /// Returns the ranges of decoded bytes of the components from which the weights `range` are computed. Returns `None` if no
    /// weight is in the range, if a number overflows, or if the file does not give the number of scales.
    pub(crate) fn part(&self, range: &Range<u64>) -> Result<Option<CodePart>, Error> {
        let packing = self.packing()?;
        let zeros = match (self.zeros, self.zero_point) {
            (Some(zeros), ZeroPoint::Plain) => Some(u64::from(zeros.readable()?.width())),
            _ => None,
        };
        let width = u64::from(self.scales.readable()?.width());
        Ok(self.part_of(range, &packing, (width, zeros)))
    }

    /// Does the work of [`part`](Self::part). `width` and `zero_width` are the sizes in bytes of a scale and of a zero point;
    /// `zero_width` is `None` if zero points are codes in words.
    fn part_of(
        &self,
        range: &Range<u64>,
        packing: &Packing,
        (width, zero_width): (u64, Option<u64>),
    ) -> Option<CodePart> {
        let scales = self.scales.decoded_length()?.checked_div(width)?;
        let elements = self.data.tensor().element_count()?;
        let words = packing.words_of(range)?;
        let weights = packing.codes_of(&words)?;
        let (first, end) = (weights.start, weights.end.min(elements));
        let last =
            self.scale_positions(end.checked_sub(1).filter(|last| *last >= first)?, scales)?;
        let start = self.scale_positions(first, scales)?.first;
        let positions = start..last.first.checked_add(last.stride)?.min(scales);
        let bytes = |range: &Range<u64>, width: u64| {
            Some(range.start.checked_mul(width)?..range.end.checked_mul(width)?)
        };
        let word = u64_from_usize(packing.width);
        let (zeros, zero) = if let Some(width) = zero_width {
            (bytes(&positions, width)?, start)
        } else {
            let words = packing.words_of(&positions)?;
            (bytes(&words, word)?, packing.codes_of(&words)?.start)
        };
        Some(CodePart {
            data: bytes(&words, word)?,
            scales: bytes(&positions, width)?,
            zeros,
            start: CodeStart { first, before: [start, zero], scales: Some(scales) },
        })
    }

    /// Returns the way in which the codes of `data` are packed.
    fn packing(&self) -> Result<Packing, Error> {
        let storage = self.data.readable()?;
        Ok(Packing {
            order: self.order,
            bits: self.bits.into(),
            per_word: u32::from(storage.width()).saturating_mul(8).checked_div(self.bits.into()),
            width: storage.width().into(),
        })
    }

    /// Returns an iteration over the positions of the scales of the weight `first` and of the weights after it, if the object has
    /// `scales` scales. Returns `None` if the axis is not a dimension of the object, or if a number overflows.
    fn scale_positions(&self, first: u64, scales: u64) -> Option<ScalePlaces> {
        let object = self.data.tensor();
        let (shape, axis) = (object.shape(), usize::try_from(self.axis).ok()?);
        let along = *shape.get(axis)?;
        let elements = object.element_count()?;
        // If there are no elements, there is no weight to locate, and the product of some dimensions may overflow.
        let inner = shape.iter().skip(axis).skip(1);
        let stride = inner.fold(1, |stride: u64, dimension| stride.saturating_mul(*dimension));
        let size = match self.group_size {
            0 if scales == elements => 1,
            0 => along,
            size => size,
        };
        let start = ScalePlaces { stride, along, size, column: 0, row: 0, first: 0 };
        if elements == 0 {
            return Some(start);
        }
        // `line` counts the positions along the axis, through all outer dimensions.
        let (line, column) = (first.checked_div(stride)?, first.checked_rem(stride)?);
        // The size of a group divides the dimension of the axis, so a group never continues in the next outer index.
        let first = line.checked_div(size)?.checked_mul(stride)?;
        Some(ScalePlaces { column, row: line.checked_rem(along)?, first, ..start })
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
        // A zero point beyond 2^53 is rounded to the nearest `f64`. The weights that are computed from it are rounded to
        // `f32` anyway.
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

    /// Returns the words that hold the codes `range`.
    fn words_of(&self, range: &Range<u64>) -> Option<Range<u64>> {
        let per_word = self.per_word.map(u64::from)?;
        Some(range.start.checked_div(per_word)?..range.end.div_ceil(per_word.max(1)))
    }

    /// Returns the codes in the words `range`.
    fn codes_of(&self, range: &Range<u64>) -> Option<Range<u64>> {
        let per_word = self.per_word.map(u64::from)?;
        Some(range.start.checked_mul(per_word)?..range.end.checked_mul(per_word)?)
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

/// Where a [`CodeConverter`] begins. The default is the first weight, with all scales and zero points.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CodeStart {
    /// The index in row-major order of the first weight to convert. Its code is the first one of its word.
    pub(crate) first: u64,
    /// The number of scales, and of zero points, that come before those that the converter has.
    before: [u64; 2],
    /// The number of scales of the object; `None` if the converter has all of them.
    scales: Option<u64>,
}

/// The ranges of decoded bytes of the components that are needed to compute some weights.
#[derive(Clone, Debug)]
pub(crate) struct CodePart {
    pub(crate) data: Range<u64>,
    pub(crate) scales: Range<u64>,
    pub(crate) zeros: Range<u64>,
    pub(crate) start: CodeStart,
}

/// A converter of the words of `data` into weights, while the words are read. `B` holds the decoded bytes of scales and zero
/// points.
#[derive(Debug)]
pub(crate) struct CodeConverter<B> {
    location: Location,
    packing: Packing,
    factors: Factors<B>,
    place: ScalePlaces,
    /// The position of the last scale, the scale and its zero point. Groups along the last axis have one scale for many successive
    /// weights.
    last: Option<(u64, (f64, f64))>,
}

impl<B: Deref<Target = [u8]>> CodeConverter<B> {
    /// Appends the weights of the codes in `chunk`, whole words, to `weights`.
    ///
    /// # Errors
    /// Out of memory; an internal error if there are fewer scales than weights need.
    pub(crate) fn chunk(&mut self, chunk: &[u8], weights: &mut Vec<f32>) -> Result<(), Error> {
        let Self { packing, factors, place, last, .. } = self;
        let internal = || Error::from(BareError::internal().at(self.location));
        let codes = packing.count(chunk);
        weights.try_reserve(codes).map_err(|_| OutOfMemory)?;
        for code in 0..codes {
            let code = packing.code(chunk, code).ok_or_else(internal)?;
            let index = place.next();
            let (scale, zero) = match *last {
                Some((at, factors)) if at == index => factors,
                _ => factors.at(index).ok_or_else(internal)?,
            };
            *last = Some((index, (scale, zero)));
            weights.push(rounded((f64::from(code) - zero) * scale));
        }
        Ok(())
    }
}

/// The scales and zero points of an object.
#[derive(Debug)]
struct Factors<B> {
    scales: Numbers<B>,
    zeros: Zeros<B>,
    /// The numbers of scales and of zero points of the object that come before `scales` and `zeros`.
    before: [u64; 2],
}

/// The zero points of an object.
#[derive(Debug)]
enum Zeros<B> {
    Same(f64),
    Plain(Numbers<B>),
    Packed(B, Packing),
}

impl<B: Deref<Target = [u8]>> Factors<B> {
    /// Returns the scale at `index`, and its zero point.
    #[inline]
    fn at(&self, index: u64) -> Option<(f64, f64)> {
        let [scales, zeros] = self.before;
        let within = |before: u64| usize::try_from(index.checked_sub(before)?).ok();
        let zero = match &self.zeros {
            Zeros::Same(zero) => *zero,
            Zeros::Plain(own) => own.get(within(zeros)?)?,
            Zeros::Packed(words, packing) => packing.code(words, within(zeros)?)?.into(),
        };
        Some((self.scales.get(within(scales)?)?, zero))
    }
}

/// Returns the nearest `f32`.
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it rounds")]
fn rounded(value: f64) -> f32 {
    value as f32
}

/// An iteration over the weights in row-major order that finds the position of each weight's scale.
#[derive(Clone, Copy, Debug)]
struct ScalePlaces {
    /// The number of weights from one index of the axis to the next: the product of the dimensions after the axis.
    stride: u64,
    /// The size of the dimension along which groups lie.
    along: u64,
    /// The number of weights along the axis with the same scale.
    size: u64,
    /// The position of the next weight among the weights at the same index of the axis: less than `stride`.
    column: u64,
    /// The index of the next weight along the axis: less than `along`.
    row: u64,
    /// The position of the scale that the next weight would have if its `column` were 0.
    first: u64,
}

impl ScalePlaces {
    /// Returns the position of the scale of the next weight.
    #[inline]
    fn next(&mut self) -> u64 {
        let column = self.first.saturating_add(self.column);
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
        column
    }
}

/// Decoded scales or zero points.
#[derive(Debug)]
struct Numbers<B> {
    bytes: B,
    kind: ViewType,
}

impl<B: Deref<Target = [u8]>> Numbers<B> {
    fn view(&self) -> View<'_> {
        View::new(&self.bytes, self.kind, None)
    }

    /// Returns the number at `index` as `f64`, which is exact except for integers beyond 2^53.
    #[inline]
    #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "it rounds")]
    fn get(&self, index: usize) -> Option<f64> {
        Some(match self.kind.storage {
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
            StorageType::U8 if self.kind.logical.known == Some(LogicalType::F8E8M0) => {
                self.element::<F8E8M0>(index)?.to_f32().into()
            }
            StorageType::U8 => self.element::<u8>(index)?.into(),
            StorageType::Bool => u8::from(self.element::<bool>(index)?).into(),
        })
    }

    #[inline]
    fn element<T: Element>(&self, index: usize) -> Option<T> {
        Elements::new(&self.bytes, self.kind.order).get(index)
    }
}
