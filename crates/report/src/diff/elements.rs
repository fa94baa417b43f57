//! Measurement of the differences between the elements of two tensors. Both tensors are read piece by piece, in turns.

use std::cmp::Ordering;
use std::fmt;

use serde::Serialize;
use zten::conventions::Dequantizer;
use zten::element::StorageType;
use zten::finding::grouped;
use zten::json::{integer, integer_or_null};
use zten::num::u64_from_usize;
use zten::number::{Fp8, NumberKind};
use zten::view::Normalization;
use zten::{Component, DType, Error, Layout, Reader, Tensor};

/// The least number of bytes that are read of each tensor before the two tensors are compared up to this point.
const PIECE: usize = 64 << 10;
/// 2^53. An `f64` cannot represent every integer above this number.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The number of elements that differ between two tensors, and by how much they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Measure {
    /// The number of elements of each of the two tensors.
    #[serde(serialize_with = "integer")]
    pub count: u64,
    /// The number of elements that are not the same in both tensors.
    #[serde(serialize_with = "integer")]
    pub changed: u64,
    /// The number of differing pairs in which an element is NaN or infinite, so that the pair has no numeric difference.
    #[serde(serialize_with = "integer")]
    pub not_finite: u64,
    /// The number of elements that are NaN in the new file and not in the old one.
    #[serde(serialize_with = "integer")]
    pub new_nan: u64,
    /// The number of elements that differ by more than the tolerance. `None` if there is no tolerance.
    #[serde(serialize_with = "integer_or_null", skip_serializing_if = "Option::is_none")]
    pub beyond: Option<u64>,
    /// By how much the elements differ. `None` if they are not numbers, or are indices.
    #[serde(flatten)]
    pub numbers: Option<Numbers>,
}

impl Measure {
    /// Adds `other`, the measure of another tensor, so that the result describes both tensors. Counts are added. Of each other
    /// number, the one that means the larger difference is kept: the larger maximum, mean or norm, and the smaller cosine. The
    /// count beyond the tolerance becomes `None` if one of the measures lacks it, and so do the norm and the cosine if both
    /// measures have numbers. If only one of them has numbers, these stay.
    pub fn add(&mut self, other: &Self) {
        for (own, other) in [
            (&mut self.count, other.count),
            (&mut self.changed, other.changed),
            (&mut self.not_finite, other.not_finite),
            (&mut self.new_nan, other.new_nan),
        ] {
            *own = own.saturating_add(other);
        }
        let both = self.beyond.zip(other.beyond);
        self.beyond = both.map(|(own, other)| own.saturating_add(other));
        self.numbers = match (self.numbers, other.numbers) {
            (Some(own), Some(other)) => Some(Numbers {
                max: own.max.max(other.max),
                mean: own.mean.max(other.mean),
                relative: own.relative.max(other.relative),
                relative_norm: own
                    .relative_norm
                    .zip(other.relative_norm)
                    .map(|(own, other)| own.max(other)),
                cosine: own.cosine.zip(other.cosine).map(|(own, other)| own.min(other)),
            }),
            (own, other) => own.or(other),
        };
    }

    /// Returns a number by which tensors can be sorted by how much they changed: the relative norm of the difference, or infinity
    /// if this norm is not known.
    pub fn size(&self) -> f64 {
        let numbers = self.numbers.as_ref();
        numbers.and_then(|numbers| numbers.relative_norm).unwrap_or(f64::INFINITY)
    }
}

/// By how much the elements of two tensors of numbers differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Numbers {
    /// The largest absolute difference of a pair of elements that has a numeric difference.
    pub max: f64,
    /// The mean absolute difference of all pairs of elements that have a numeric difference, equal pairs included.
    pub mean: f64,
    /// The largest relative difference of a pair: the absolute difference divided by the larger of the two magnitudes, from 0 to 2.
    pub relative: f64,
    /// The Euclidean norm of the difference divided by the norm of the old elements, over all pairs of finite elements. `None` if
    /// the old elements are all 0 or a sum overflows.
    pub relative_norm: Option<f64>,
    /// The cosine of the angle between the old and the new elements, over all pairs of finite elements: -1 to 1. `None` if the
    /// elements of a side are all 0 or a sum overflows.
    pub cosine: Option<f64>,
}

/// Formats the number of changed elements, the largest difference, the relative norm, the cosine, and the counts of pairs with NaN
/// or infinity. The mean and the relative difference are only in the JSON document.
impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.count == 1 { "element" } else { "elements" };
        write!(f, "{} of {} {noun} changed", grouped(self.changed), grouped(self.count))?;
        if let Some(numbers) = self.numbers.as_ref().filter(|_| self.changed > 0) {
            write!(f, " (max {}", numbers.max())?;
            if let Some(norm) = numbers.relative_norm() {
                write!(f, ", relative norm {norm}")?;
            }
            if let Some(cosine) = numbers.cosine() {
                write!(f, ", cosine {cosine}")?;
            }
            f.write_str(")")?;
        }
        if self.new_nan > 0 {
            write!(f, ", {} new NaN", grouped(self.new_nan))?;
        }
        let whose = if self.new_nan > 0 { "more" } else { "of them" };
        match self.not_finite.saturating_sub(self.new_nan) {
            0 => Ok(()),
            count => write!(f, ", {} {whose} not finite", grouped(count)),
        }
    }
}

impl Numbers {
    /// Returns the largest absolute difference as text, rounded to four significant digits.
    pub fn max(&self) -> String {
        short(self.max)
    }

    /// Returns the relative norm of the difference as text, rounded to four significant digits, or `None` if it is not defined.
    pub fn relative_norm(&self) -> Option<String> {
        self.relative_norm.map(short)
    }

    /// Returns the cosine as text with at most eight decimals, or `None` if it is not defined. The cosine of tensors that differ
    /// only by rounding differs from 1 in the sixth or seventh decimal, so fewer decimals would hide it.
    pub fn cosine(&self) -> Option<String> {
        let rounded = |cosine: f64| format!("{cosine:.8}").parse().unwrap_or(cosine);
        self.cosine.map(|cosine| format!("{:?}", rounded(cosine)))
    }
}

/// Formats `number` rounded to four significant digits.
fn short(number: f64) -> String {
    let rounded: f64 = format!("{number:.3e}").parse().unwrap_or(number);
    format!("{rounded:?}")
}

/// Four sums over pairs of finite elements: the squares of the old elements, the squares of the new elements, the products of both,
/// and the squares of their differences. The relative norm and the cosine are computed from these sums.
#[derive(Clone, Copy, Debug, Default)]
struct Products {
    old: f64,
    new: f64,
    both: f64,
    difference: f64,
}

impl Products {
    /// Adds pairs of elements. A piece is summed by itself first, so that the sum of many elements loses less precision.
    fn add(&mut self, olds: &[f64], news: &[f64]) {
        let mut piece = Self::default();
        for (old, new) in olds.iter().zip(news) {
            if old.is_finite() && new.is_finite() {
                let difference = new - old;
                piece.old += old * old;
                piece.new += new * new;
                piece.both += old * new;
                piece.difference += difference * difference;
            }
        }
        self.old += piece.old;
        self.new += piece.new;
        self.both += piece.both;
        self.difference += piece.difference;
    }

    fn relative_norm(&self) -> Option<f64> {
        Some((self.difference / self.old).sqrt()).filter(|norm| norm.is_finite())
    }

    fn cosine(&self) -> Option<f64> {
        let cosine = self.both / (self.old.sqrt() * self.new.sqrt());
        Some(cosine.clamp(-1.0, 1.0)).filter(|cosine| cosine.is_finite())
    }
}

/// The largest difference between an old and a new element that is accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    relative: f64,
    absolute: f64,
}

impl Tolerance {
    /// The tolerance that accepts no difference.
    pub(super) const EXACT: Self = Self { relative: 0.0, absolute: 0.0 };

    /// Creates a tolerance of `absolute` plus `relative` times the magnitude of the old element. A number that is missing is 0.
    /// Returns `None` if both are missing, because then every difference counts.
    pub fn new(relative: Option<f64>, absolute: Option<f64>) -> Option<Self> {
        let or_zero = |number: Option<f64>| number.unwrap_or(0.0);
        (relative.is_some() || absolute.is_some())
            .then(|| Self { relative: or_zero(relative), absolute: or_zero(absolute) })
    }

    /// Returns whether `number` can be the relative or absolute part of a tolerance: it is finite and not negative.
    pub fn is_part(number: f64) -> bool {
        number.is_finite() && number >= 0.0
    }

    /// Returns whether an element that was `old` may differ by `difference`.
    fn accepts(self, difference: f64, old: f64) -> bool {
        difference <= self.absolute + self.relative * old.abs()
    }
}

/// A reader of the elements of one of two tensors or components that are compared.
pub(super) struct Elements<'a> {
    /// The reader of further bytes. `None` if all bytes are in `pending` already, or the elements come from `values`.
    reader: Option<Reader<'a>>,
    /// The reader of the dequantized elements of a quantized tensor; `None` for other tensors.
    values: Option<Box<Dequantizer<'a>>>,
    form: ElementForm,
    /// The type of the elements, or `None` if it is not known.
    kind: Option<NumberKind>,
    /// True if the elements are numbers and not indices. The difference of two indices says nothing.
    is_numeric: bool,
    /// The bytes that have been read and are still to be compared.
    pending: Vec<u8>,
}

/// How bytes are converted to elements when they are read.
enum ElementForm {
    Content(Normalization),
    /// Unpacking of two elements in each byte. The number is the number of elements that have not been read.
    Packed(u64),
}

impl<'a> Elements<'a> {
    /// Creates a reader of the stored elements of `component`.
    pub(super) fn of_component(component: &Component<'a>) -> Result<Self, Error> {
        let reader = Some(component.reader()?);
        let (mut form, mut kind) = (
            ElementForm::Content(Normalization::content(component)),
            NumberKind::of_component(component),
        );
        if component.is_index() {
            kind = Some(NumberKind::Plain(StorageType::U64));
        } else if component.dtype() == DType::F4E2M1 {
            let both = component.decoded_length().unwrap_or_default().saturating_mul(2);
            form = ElementForm::Packed(component.packed_elements().unwrap_or(both));
            kind = Some(NumberKind::Fp8(Fp8::E2M1));
        }
        let is_numeric = kind.is_some() && !component.is_index();
        Ok(Self { reader, values: None, form, kind, is_numeric, pending: Vec::new() })
    }

    /// Creates a reader of the numeric values of `tensor`: the elements of a dense tensor, or the dequantized values of a quantized
    /// one. Returns `None` for tensors of other layouts, such as sparse ones, and for elements that are not numbers.
    pub(super) fn of_tensor(tensor: &Tensor<'a>) -> Result<Option<Self>, Error> {
        if tensor.is_quantized() {
            return Ok(Some(Self {
                reader: None,
                values: Some(Box::new(tensor.dequantizer()?)),
                form: ElementForm::Packed(0),
                kind: Some(NumberKind::Plain(StorageType::F32)),
                is_numeric: true,
                pending: Vec::new(),
            }));
        }
        let data = tensor.component("data").filter(|_| tensor.layout() == Layout::Dense);
        let elements = data.as_ref().map(Self::of_component).transpose()?;
        Ok(elements.filter(|elements| elements.is_numeric))
    }

    /// Returns the number of bytes of an element, or 1 if the type is not known.
    fn width(&self) -> usize {
        self.kind.map_or(1, NumberKind::width)
    }

    /// Reads elements into `pending` until it has at least [`PIECE`] bytes, or all elements have been read.
    fn fill(&mut self) -> Result<(), Error> {
        let Self { reader, values, form, pending, .. } = self;
        if let Some(values) = values {
            while pending.len() < PIECE {
                let Some(chunk) = values.next_chunk()? else { return Ok(()) };
                pending.extend(chunk.iter().flat_map(|value| value.to_le_bytes()));
            }
        }
        let Some(reader) = reader else { return Ok(()) };
        while pending.len() < PIECE {
            let Some(chunk) = reader.next_chunk()? else { return Ok(()) };
            match form {
                ElementForm::Content(normalization) => normalization.chunk(chunk, |bytes| {
                    pending.extend_from_slice(bytes);
                    Ok::<(), Error>(())
                })?,
                ElementForm::Packed(left) => {
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

/// Compares the elements of `sides`, the old and the new tensor or component, and measures how they differ. With a `tolerance`,
/// also counts the elements that differ by more. Returns `None` if one side has more elements than the other.
///
/// # Errors
/// The index (0 or 1) of the side that cannot be read, and the error.
pub(super) fn measure(
    mut sides: [Elements<'_>; 2],
    tolerance: Option<Tolerance>,
) -> Result<Option<Measure>, (usize, Error)> {
    let is_numeric = sides.iter().all(|side| side.is_numeric);
    // An index that differs by one points to another element, so no tolerance is applied to indices.
    let tolerance = tolerance.map(|own| if is_numeric { own } else { Tolerance::EXACT });
    let mut sum = Sum { tolerance, ..Sum::default() };
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

/// The counts and sums so far while two tensors are compared.
#[derive(Default)]
struct Sum {
    found: Measure,
    numbers: Numbers,
    /// The sum of the absolute differences, from which their mean is computed.
    total: f64,
    products: Products,
    /// The number of elements that differ by more than the tolerance.
    beyond: u64,
    tolerance: Option<Tolerance>,
    values: [Vec<f64>; 2],
}

impl Sum {
    fn add(
        &mut self,
        (kind, old): (Option<NumberKind>, &[u8]),
        (other, new): (Option<NumberKind>, &[u8]),
    ) {
        let width = kind.map_or(1, NumberKind::width);
        let count = u64_from_usize(old.len().checked_div(width).unwrap_or_default());
        self.found.count = self.found.count.saturating_add(count);
        let same_kind = kind == other;
        let (Some(kind), Some(other)) = (kind, other) else {
            // Elements of an unknown type are compared as bytes.
            let changed = old.iter().zip(new).filter(|(one, other)| one != other).count();
            let changed = u64_from_usize(changed);
            self.found.changed = self.found.changed.saturating_add(changed);
            self.beyond = self.beyond.saturating_add(changed);
            return;
        };
        // A complex number becomes two values, its parts. Any other number becomes one value.
        let [olds, news] = &mut self.values;
        for (values, kind, bytes) in [(&mut *olds, kind, old), (&mut *news, other, new)] {
            values.clear();
            match kind {
                NumberKind::Complex(part) => NumberKind::Plain(part).values(bytes, values),
                kind => kind.values(bytes, values),
            }
        }
        if olds.len() == news.len() {
            self.products.add(olds, news);
        }
        if same_kind && old == new {
            return;
        }
        let parts = |kind| if matches!(kind, NumberKind::Complex(_)) { 2 } else { 1 };
        let values = olds.chunks(parts(kind)).zip(news.chunks(parts(other)));
        let bytes = old.chunks(width).zip(new.chunks(other.width()));
        for ((one, another), (old, new)) in values.zip(bytes) {
            let is_equal = |(one, other): (f64, f64)| {
                one.partial_cmp(&other) == Some(Ordering::Equal) || one.is_nan() && other.is_nan()
            };
            let both = || complex(one).into_iter().zip(complex(another));
            if if same_kind { old == new } else { both().all(is_equal) } {
                continue;
            }
            self.found.changed = self.found.changed.saturating_add(1);
            let is_nan = |parts: &[f64]| parts.iter().any(|part| part.is_nan());
            if is_nan(another) && !is_nan(one) {
                self.found.new_nan = self.found.new_nan.saturating_add(1);
            }
            let (mut difference, magnitude, larger) = if let ([one], [other]) = (one, another) {
                ((one - other).abs(), one.abs(), one.abs().max(other.abs()))
            } else {
                let ([one, one_i], [other, other_i]) = (complex(one), complex(another));
                let magnitude = one.hypot(one_i);
                let larger = magnitude.max(other.hypot(other_i));
                ((one - other).hypot(one_i - other_i), magnitude, larger)
            };
            if larger >= EXACT && same_kind {
                difference = exact(kind, old, new).unwrap_or(difference);
            }
            if difference.is_finite() && larger.is_finite() {
                self.numbers.max = self.numbers.max.max(difference);
                self.total += difference;
                let relative = if larger > 0.0 { difference / larger } else { 0.0 };
                self.numbers.relative = self.numbers.relative.max(relative);
                let accepts = |own: Tolerance| own.accepts(difference, magnitude);
                if !self.tolerance.is_some_and(accepts) {
                    self.beyond = self.beyond.saturating_add(1);
                }
            } else {
                self.beyond = self.beyond.saturating_add(1);
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
        self.numbers.relative_norm = self.products.relative_norm();
        self.numbers.cosine = self.products.cosine();
        self.found.numbers = numbers.then_some(self.numbers);
        self.found.beyond = self.tolerance.map(|_| self.beyond);
        self.found
    }
}

/// Returns the real and the imaginary part of an element. `parts` has both parts of a complex number, or the only part of a real
/// number, whose imaginary part is 0.
fn complex(parts: &[f64]) -> [f64; 2] {
    [parts.first(), parts.get(1)].map(|part| part.copied().unwrap_or_default())
}

/// Returns the absolute difference of two 64-bit integers, whose little-endian bytes are `old` and `new`. The integers are
/// subtracted before they are converted, because an `f64` does not hold large integers exactly. Returns `None` if `kind` is another
/// type.
#[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "rounded to the nearest")]
fn exact(kind: NumberKind, old: &[u8], new: &[u8]) -> Option<f64> {
    let [old, new] =
        [old.first_chunk()?, new.first_chunk()?].map(|bytes| u64::from_le_bytes(*bytes));
    match kind {
        NumberKind::Plain(StorageType::U64) => Some(old.abs_diff(new) as f64),
        NumberKind::Plain(StorageType::I64) => {
            Some(old.cast_signed().abs_diff(new.cast_signed()) as f64)
        }
        _ => None,
    }
}
