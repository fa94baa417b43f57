//! Shapes: kept as numbers of the fewest bytes, and read as slices are.

use alloc::vec::Vec;
use core::fmt;

use crate::cbor::Remaining;
use crate::error::OutOfMemory;
use crate::num::{len_u32, product, usize_from_u32};

/// An unsigned integer and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uint {
    pub(crate) remaining: Remaining,
    pub(crate) value: u64,
}

/// A text, not known to be UTF-8, the place of its head, and the place behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'m> {
    pub(crate) remaining: Remaining,
    pub(crate) bytes: &'m [u8],
    pub(crate) behind: Remaining,
}

impl Text<'_> {
    /// No text.
    pub(crate) const NONE: Self =
        Self { remaining: Remaining::END, bytes: &[], behind: Remaining::END };
}

/// Bits of a dimension in one byte; the highest bit says that more follow.
const BITS: u32 = 7;
const MORE: u8 = 1 << BITS;

/// The bytes of a shape among [`Shapes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShapeSpan {
    start: u32,
    length: u32,
}

impl ShapeSpan {
    /// The span of a shape without dimensions.
    pub(crate) const EMPTY: Self = Self { start: 0, length: 0 };
}

/// The dimensions of all shapes, seven bits a byte, the lowest first. A shape that equals the one before it is
/// kept once.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    bytes: Vec<u8>,
    last: Option<ShapeSpan>,
}

impl Shapes {
    /// The place where the next shape begins.
    #[inline(always)]
    pub(crate) fn begin(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a dimension.
    #[inline(always)]
    pub(crate) fn push(&mut self, dimension: u64) -> Result<(), OutOfMemory> {
        let mut rest = dimension;
        // A dimension takes ten bytes at most.
        if self.bytes.capacity().wrapping_sub(self.bytes.len()) < 10 {
            self.grow()?;
        }
        while rest >= MORE.into() {
            let [low, ..] = rest.to_le_bytes();
            self.bytes.push(low | MORE);
            rest >>= BITS;
        }
        let [low, ..] = rest.to_le_bytes();
        self.bytes.push(low);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Result<(), OutOfMemory> {
        self.bytes.try_reserve(64).map_err(|_| OutOfMemory)
    }

    /// Ends the shape that began at `start`.
    #[inline(always)]
    pub(crate) fn end(&mut self, start: usize) -> ShapeSpan {
        let length = self.bytes.len().saturating_sub(start);
        if let Some(last) = self.last
            && self.slice(last) == self.bytes.get(start..).unwrap_or_default()
        {
            self.bytes.truncate(start);
            return last;
        }
        let span = ShapeSpan { start: len_u32(start), length: len_u32(length) };
        self.last = Some(span);
        span
    }

    #[inline(always)]
    fn slice(&self, span: ShapeSpan) -> &[u8] {
        let start = usize_from_u32(span.start);
        let end = start.saturating_add(usize_from_u32(span.length));
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// The shape of a span.
    #[inline]
    pub(crate) fn get(&self, span: ShapeSpan) -> Shape<'_> {
        Shape(self.slice(span))
    }

    /// Bytes of heap.
    pub(crate) fn heap(&self) -> usize {
        self.bytes.capacity()
    }
}

/// The dimensions of a tensor, outermost first. It is read as a slice of numbers is.
///
/// ```
/// # let file = std::fs::read("corpus/accept/1.2.3/dense_all.zt").unwrap();
/// let archive = zten::Archive::open(file)?;
/// let shape = archive.require("t_f32")?.shape();
/// assert_eq!((shape.len(), shape.get(0), shape.elements()), (2, Some(2), Some(6)));
/// assert_eq!(shape, [2, 3]);
/// for dimension in shape {
///     println!("{dimension}");
/// }
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Shape<'a>(&'a [u8]);

impl<'a> Shape<'a> {
    /// The number of dimensions; 0 for a scalar.
    pub fn len(&self) -> usize {
        self.0.iter().filter(|byte| **byte < MORE).count()
    }

    /// Returns whether it is the shape of a scalar.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of dimensions, as a number of 32 bits.
    pub(crate) fn rank(&self) -> u32 {
        len_u32(self.len())
    }

    /// The dimension at a place, counted from 0.
    pub fn get(&self, place: usize) -> Option<u64> {
        self.iter().nth(place)
    }

    /// The outermost dimension.
    pub fn first(&self) -> Option<u64> {
        self.iter().next()
    }

    /// The innermost dimension.
    pub fn last(&self) -> Option<u64> {
        self.iter().last()
    }

    /// The dimensions, outermost first.
    pub fn iter(&self) -> Dimensions<'a> {
        Dimensions(self.0)
    }

    /// The dimensions in memory of their own.
    pub fn to_vec(&self) -> Vec<u64> {
        self.iter().collect()
    }

    /// The number of elements: 0 where a dimension is 0, none where it overflows.
    pub fn elements(&self) -> Option<u64> {
        Product::of(self.iter()).elements()
    }
}

impl fmt::Debug for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for Shape<'a> {
    type Item = u64;
    type IntoIter = Dimensions<'a>;

    fn into_iter(self) -> Dimensions<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Shape<'a> {
    type Item = u64;
    type IntoIter = Dimensions<'a>;

    fn into_iter(self) -> Dimensions<'a> {
        self.iter()
    }
}

impl PartialEq for Shape<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Shape<'_> {}

impl PartialEq<[u64]> for Shape<'_> {
    fn eq(&self, other: &[u64]) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

impl PartialEq<&[u64]> for Shape<'_> {
    fn eq(&self, other: &&[u64]) -> bool {
        self == *other
    }
}

impl PartialEq<Vec<u64>> for Shape<'_> {
    fn eq(&self, other: &Vec<u64>) -> bool {
        self == other.as_slice()
    }
}

impl<const N: usize> PartialEq<[u64; N]> for Shape<'_> {
    fn eq(&self, other: &[u64; N]) -> bool {
        self == other.as_slice()
    }
}

/// The dimensions of a [`Shape`], outermost first.
#[derive(Clone)]
pub struct Dimensions<'a>(&'a [u8]);

impl fmt::Debug for Dimensions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shape(self.0).fmt(f)
    }
}

impl Iterator for Dimensions<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let (mut dimension, mut shift) = (0, 0_u32);
        while let Some((byte, rest)) = self.0.split_first() {
            self.0 = rest;
            dimension |= u64::from(byte & !MORE) << (shift & 63);
            if *byte < MORE {
                return Some(dimension);
            }
            shift = shift.wrapping_add(BITS);
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = Shape(self.0).len();
        (left, Some(left))
    }
}

impl ExactSizeIterator for Dimensions<'_> {}

/// What rules ask of the dimensions of a shape, as they come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    /// The number of dimensions.
    pub(crate) rank: u32,
    /// The first dimension: rows of a matrix.
    pub(crate) first: u64,
    wrapped: u64,
    overflows: bool,
    empty: bool,
}

impl Product {
    /// The product of no dimensions.
    pub(crate) const ONE: Self =
        Self { rank: 0, first: 0, wrapped: 1, overflows: false, empty: false };

    /// The product of those dimensions.
    pub(crate) fn of(dimensions: impl Iterator<Item = u64>) -> Self {
        let mut product = Self::ONE;
        for dimension in dimensions {
            product.multiply(dimension);
        }
        product
    }

    #[inline(always)]
    pub(crate) fn multiply(&mut self, dimension: u64) {
        if self.rank == 0 {
            self.first = dimension;
        }
        self.rank = self.rank.wrapping_add(1);
        self.empty |= dimension == 0;
        let (wrapped, overflow) = product(self.wrapped, dimension);
        self.wrapped = wrapped;
        self.overflows |= overflow;
    }

    /// The number of elements: 0 where a dimension is 0, none where it overflows.
    #[inline(always)]
    pub(crate) fn elements(&self) -> Option<u64> {
        // Where a dimension is 0, so is what is left of the product.
        (self.empty || !self.overflows).then_some(self.wrapped)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::Shapes;

    #[test]
    fn shapes_are_what_was_pushed() {
        let mut shapes = Shapes::default();
        let wanted: [&[u64]; 7] = [
            &[],
            &[0],
            &[127, 128, 1],
            &[127, 128, 1],
            &[u64::MAX, 0, 1 << 63],
            &[16_383, 16_384],
            &[127, 128, 1],
        ];
        let spans: Vec<_> = wanted
            .iter()
            .map(|shape| {
                let start = shapes.begin();
                shape.iter().for_each(|dimension| shapes.push(*dimension).unwrap());
                shapes.end(start)
            })
            .collect();
        assert_eq!(spans[2], spans[3], "equal shapes in a row are kept once");
        assert_ne!(spans[2], spans[6]);
        for (span, wanted) in spans.iter().zip(wanted) {
            let shape = shapes.get(*span);
            assert_eq!(shape, wanted);
            assert_eq!(shape.len(), wanted.len());
            assert_eq!(shape.iter().len(), wanted.len());
            assert_eq!(shape.get(1), wanted.get(1).copied());
            assert_eq!(
                (shape.first(), shape.last()),
                (wanted.first().copied(), wanted.last().copied())
            );
        }
    }
}
