//! Measurement of the differences between elements. Both sides are read in parallel, in pieces.

use std::cmp::Ordering;

use serde::Serialize;
use zten::element::StorageType;
use zten::error::OutOfMemory;
use zten::formats::{Block, BlockDequantizer};
use zten::num::u64_from_usize;
use zten::view::Normalization;
use zten::{Component, DType, Error, Layout, Reader, Tensor};

use crate::json::integer;
use crate::number::{Fp8, Kind};

/// The smallest number of bytes of each side that are held at a time.
const PIECE: usize = 64 << 10;
/// 2^53. Not every integer from here on is an `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The number of elements that differ, and the amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Measure {
    /// The number of elements.
    #[serde(serialize_with = "integer")]
    pub(super) count: u64,
    /// The number of elements that differ.
    #[serde(serialize_with = "integer")]
    pub(super) changed: u64,
    /// The number of differing pairs in which an element is NaN or infinite, so that the pair has no numeric difference.
    #[serde(serialize_with = "integer")]
    pub(super) not_finite: u64,
    /// The numeric differences, if the elements are numbers.
    #[serde(flatten)]
    pub(super) numbers: Option<Numbers>,
}

/// The differences of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Numbers {
    /// The largest absolute difference.
    pub(super) max: f64,
    /// The mean absolute difference of all pairs with a numeric difference, equal pairs included.
    pub(super) mean: f64,
    /// The largest difference relative to the larger of the two magnitudes: 0 to 2.
    pub(super) relative: f64,
}

/// A reader of the elements of a tensor or component.
pub(super) struct Elements<'a> {
    /// The reader of further bytes, or `None` if all bytes are in `pending`.
    reader: Option<Reader<'a>>,
    form: Form,
    /// The type of the elements, or `None` if it is not known.
    kind: Option<Kind>,
    /// True if numeric differences are meaningful: the elements are numbers, and not indices.
    is_numeric: bool,
    /// Bytes that have been read and not compared.
    pending: Vec<u8>,
}

/// The conversion of bytes as they are read.
enum Form {
    Content(Normalization),
    /// Unpacking of two elements in each byte. The number is the elements that follow.
    Packed(u64),
    Blocks(Box<BlockDequantizer>),
}

impl<'a> Elements<'a> {
    /// Creates a reader of the stored elements of `component`.
    pub(super) fn of_component(component: &Component<'a>) -> Result<Self, Error> {
        let reader = Some(component.reader()?);
        let (mut form, mut kind) =
            (Form::Content(Normalization::content(component)), Kind::of_component(component));
        if component.is_index() {
            kind = Some(Kind::Plain(StorageType::U64));
        } else if component.dtype() == DType::F4E2M1 {
            let both = component.decoded_length().unwrap_or_default().saturating_mul(2);
            form = Form::Packed(component.packed_elements().unwrap_or(both));
            kind = Some(Kind::Fp8(Fp8::E2M1));
        }
        let is_numeric = kind.is_some() && !component.is_index();
        Ok(Self { reader, form, kind, is_numeric, pending: Vec::new() })
    }

    /// Creates a reader of the values of `tensor`, dequantized if it is quantized. Returns `None` if the tensor has no
    /// values, or if dequantized values that must be held would take more than `most` bytes.
    pub(super) fn of_tensor(tensor: &Tensor<'a>, most: u64) -> Result<Option<Self>, Error> {
        let data = tensor.component("data");
        let single = Self {
            reader: None,
            form: Form::Packed(0),
            kind: Some(Kind::Plain(StorageType::F32)),
            is_numeric: true,
            pending: Vec::new(),
        };
        if let (Some(block), Some(data)) = (Block::of_layout(tensor), &data) {
            let (reader, form) = (Some(data.reader()?), Form::Blocks(block.dequantizer().into()));
            return Ok(Some(Self { reader, form, ..single }));
        }
        if tensor.layout() == Layout::Dense {
            let elements = data.as_ref().map(Self::of_component).transpose()?;
            return Ok(elements.filter(|elements| elements.is_numeric));
        }
        let count = tensor.element_count().and_then(|count| usize::try_from(count).ok());
        let fits = |count: &usize| u64_from_usize(count.saturating_mul(8)) <= most;
        let Some(count) = count.filter(fits) else { return Ok(None) };
        let values = || -> Result<Vec<f32>, Error> {
            let mut values = reserved(count)?;
            values.resize(count, 0.0);
            Ok(values)
        };
        let values = match (tensor.layout(), tensor.quantized()) {
            (Layout::Mx, _) => {
                let mut values = values()?;
                tensor.mx()?.dequantize(&mut values)?;
                values
            }
            (Layout::QuantizedGroup, Ok(group)) => {
                let mut values = values()?;
                group.dequantize(&mut values)?;
                values
            }
            _ => return Ok(None),
        };
        let mut pending = reserved(count.saturating_mul(4))?;
        pending.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        Ok(Some(Self { pending, ..single }))
    }

    /// Returns the number of bytes of an element, or 1 if the type is not known.
    fn width(&self) -> usize {
        self.kind.map_or(1, Kind::width)
    }

    /// Reads until [`PIECE`] bytes are pending, or the reader is at its end.
    fn fill(&mut self) -> Result<(), Error> {
        let Self { reader: Some(reader), form, pending, .. } = self else { return Ok(()) };
        while pending.len() < PIECE {
            let Some(chunk) = reader.next_chunk()? else { return Ok(()) };
            match form {
                Form::Content(normalization) => normalization.chunk(chunk, |bytes| {
                    pending.extend_from_slice(bytes);
                    Ok::<(), Error>(())
                })?,
                Form::Blocks(blocks) => blocks.chunk(chunk, |values| {
                    pending.extend(values.iter().flat_map(|value| value.to_le_bytes()));
                    Ok::<(), Error>(())
                })?,
                Form::Packed(left) => {
                    let most = usize::try_from(*left).unwrap_or(usize::MAX);
                    let before = pending.len();
                    let codes = chunk.iter().flat_map(|byte| [byte & 15, byte >> 4]);
                    pending.extend(codes.take(most));
                    let taken = pending.len().saturating_sub(before);
                    *left = left.saturating_sub(u64_from_usize(taken));
                }
            }
        }
        Ok(())
    }
}

/// Creates an empty list with room for `count` items.
fn reserved<T>(count: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut items = Vec::new();
    items.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
    Ok(items)
}

/// Compares the elements of two sides. Returns `None` if one side has more elements.
///
/// # Errors
/// The index (0 or 1) of the side that cannot be read, and the error.
pub(super) fn measure(mut sides: [Elements<'_>; 2]) -> Result<Option<Measure>, (usize, Error)> {
    let mut sum = Sum::default();
    let is_numeric = sides.iter().all(|side| side.is_numeric);
    loop {
        for (place, side) in sides.iter_mut().enumerate() {
            side.fill().map_err(|error| (place, error))?;
        }
        let widths = sides.each_ref().map(Elements::width);
        let count = sides.iter().zip(widths).map(|(side, width)| side.pending.len() / width).min();
        let [old, new] = &mut sides;
        if count == Some(0) {
            let is_over = old.pending.is_empty() && new.pending.is_empty();
            return Ok(is_over.then(|| sum.finish(is_numeric)));
        }
        let [old_end, new_end] =
            widths.map(|width| width.saturating_mul(count.unwrap_or_default()));
        if let (Some(one), Some(other)) = (old.pending.get(..old_end), new.pending.get(..new_end)) {
            sum.add((old.kind, one), (new.kind, other));
        }
        old.pending.drain(..old_end);
        new.pending.drain(..new_end);
    }
}

/// The running totals of a comparison.
#[derive(Default)]
struct Sum {
    found: Measure,
    numbers: Numbers,
    /// The sum of the differences, which becomes their mean.
    total: f64,
    values: [Vec<f64>; 2],
}

impl Sum {
    fn add(&mut self, (kind, old): (Option<Kind>, &[u8]), (other, new): (Option<Kind>, &[u8])) {
        let width = kind.map_or(1, Kind::width);
        let count = u64_from_usize(old.len().checked_div(width).unwrap_or_default());
        self.found.count = self.found.count.saturating_add(count);
        let same_kind = kind == other;
        if same_kind && old == new {
            return;
        }
        let (Some(kind), Some(other)) = (kind, other) else {
            // Elements of an unknown type are compared as bytes.
            let changed = old.iter().zip(new).filter(|(one, other)| one != other).count();
            self.found.changed = self.found.changed.saturating_add(u64_from_usize(changed));
            return;
        };
        // Every element becomes two numbers: the parts of a complex number, or a number and 0.
        let [olds, news] = &mut self.values;
        for (values, kind, bytes) in [(&mut *olds, kind, old), (&mut *news, other, new)] {
            values.clear();
            match kind {
                Kind::Complex(part) => Kind::Plain(part).values(bytes, values),
                kind => kind.values(bytes, values),
            }
        }
        let parts = |kind| if matches!(kind, Kind::Complex(_)) { 2 } else { 1 };
        let values = olds.chunks(parts(kind)).zip(news.chunks(parts(other)));
        let bytes = old.chunks(width).zip(new.chunks(other.width()));
        for ((one, another), (old, new)) in values.zip(bytes) {
            let is_equal = |(one, other): (&f64, &f64)| {
                one.partial_cmp(other) == Some(Ordering::Equal) || one.is_nan() && other.is_nan()
            };
            if if same_kind { old == new } else { one.iter().zip(another).all(is_equal) } {
                continue;
            }
            self.found.changed = self.found.changed.saturating_add(1);
            let (mut difference, larger) = match (one, another) {
                ([one], [other]) => ((one - other).abs(), one.abs().max(other.abs())),
                ([one, one_i], [other, other_i]) => (
                    (one - other).hypot(one_i - other_i),
                    one.hypot(*one_i).max(other.hypot(*other_i)),
                ),
                _ => (f64::NAN, f64::NAN),
            };
            if larger >= EXACT && same_kind {
                difference = exact(kind, old, new).unwrap_or(difference);
            }
            if difference.is_finite() && larger.is_finite() {
                self.numbers.max = self.numbers.max.max(difference);
                self.total += difference;
                let relative = if larger > 0.0 { difference / larger } else { 0.0 };
                self.numbers.relative = self.numbers.relative.max(relative);
            } else {
                self.found.not_finite = self.found.not_finite.saturating_add(1);
            }
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::as_conversions,
        reason = "rounded to the nearest"
    )]
    fn finish(mut self, numbers: bool) -> Measure {
        let finite = self.found.count.saturating_sub(self.found.not_finite);
        if finite > 0 {
            self.numbers.mean = (self.total / finite as f64).min(self.numbers.max);
        }
        self.found.numbers = numbers.then_some(self.numbers);
        self.found
    }
}

/// Returns the difference of two 64-bit integers, which may be larger than an `f64` holds exactly.
#[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "rounded to the nearest")]
fn exact(kind: Kind, old: &[u8], new: &[u8]) -> Option<f64> {
    let [old, new] =
        [old.first_chunk()?, new.first_chunk()?].map(|bytes| u64::from_le_bytes(*bytes));
    match kind {
        Kind::Plain(StorageType::U64) => Some(old.abs_diff(new) as f64),
        Kind::Plain(StorageType::I64) => Some(old.cast_signed().abs_diff(new.cast_signed()) as f64),
        _ => None,
    }
}
