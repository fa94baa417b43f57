//! Shapes: kept as they stand in a manifest, and read as slices are.

use alloc::vec::Vec;
use core::fmt;

use nom::Parser as _;

use crate::cbor::{Input, Remaining, uint};
use crate::error::OutOfMemory;
use crate::num::{len_u32, product, usize_from_u32};
use crate::rules::Rule;

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

/// The dimensions of all shapes, as CBOR numbers one after the other. A shape that equals the one before it is kept
/// once. So shapes take no more bytes than they do in the manifest, whatever it is.
#[derive(Debug)]
pub(crate) struct Shapes {
    bytes: Vec<u8>,
    last: ShapeSpan,
}

impl Shapes {
    pub(crate) const fn new() -> Self {
        Self { bytes: Vec::new(), last: ShapeSpan::EMPTY }
    }

    /// Keeps the shape whose dimensions are the numbers in `dimensions`.
    #[inline(always)]
    pub(crate) fn keep(&mut self, dimensions: Input<'_>) -> Result<ShapeSpan, OutOfMemory> {
        if self.get(self.last).0 == dimensions { Ok(self.last) } else { self.append(dimensions) }
    }

    #[inline(never)]
    fn append(&mut self, dimensions: Input<'_>) -> Result<ShapeSpan, OutOfMemory> {
        self.bytes.try_reserve(dimensions.len()).map_err(|_| OutOfMemory)?;
        let (start, length) = (len_u32(self.bytes.len()), len_u32(dimensions.len()));
        self.bytes.extend_from_slice(dimensions);
        self.last = ShapeSpan { start, length };
        Ok(self.last)
    }

    /// The shape of a span.
    #[inline]
    pub(crate) fn get(&self, span: ShapeSpan) -> Shape<'_> {
        let start = usize_from_u32(span.start);
        let end = start.wrapping_add(usize_from_u32(span.length));
        Shape(self.bytes.get(start..end).unwrap_or_default())
    }

    /// Bytes of heap.
    pub(crate) fn heap(&self) -> usize {
        self.bytes.capacity()
    }

    /// Bytes that are kept.
    #[cfg(feature = "std")]
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
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
    /// The shape whose dimensions are CBOR numbers.
    #[cfg(feature = "write")]
    pub(crate) fn of(dimensions: Input<'a>) -> Self {
        Self(dimensions)
    }

    /// The number of dimensions; 0 for a scalar.
    pub fn len(&self) -> usize {
        self.iter().len()
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
        // A number may be spelled in several ways.
        self.0 == other.0 || self.iter().eq(other.iter())
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
        let (rest, dimension) = uint(Rule::ShapeType).parse(self.0).ok()?;
        self.0 = rest;
        Some(dimension)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let (mut left, mut rest) = (0_usize, self.0);
        while let Ok((after, _)) = uint(Rule::ShapeType).parse(rest) {
            (left, rest) = (left.saturating_add(1), after);
        }
        (left, Some(left))
    }
}

impl ExactSizeIterator for Dimensions<'_> {}

/// The product of dimensions, as they come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    wrapped: u64,
    overflows: bool,
    empty: bool,
}

impl Product {
    /// The product of no dimensions.
    pub(crate) const ONE: Self = Self { wrapped: 1, overflows: false, empty: false };

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
    use super::{Shape, Shapes};

    #[test]
    fn shapes_are_what_was_kept() {
        let mut shapes = Shapes::new();
        let kept: [(&[u8], &[u64]); 6] = [
            (&[], &[]),
            (&[0], &[0]),
            (b"\x17\x18\x18\x19\x01\0", &[23, 24, 256]),
            (b"\x17\x18\x18\x19\x01\0", &[23, 24, 256]),
            (b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff\0", &[u64::MAX, 0]),
            (b"\x17\x18\x18\x19\x01\0", &[23, 24, 256]),
        ];
        let spans = kept.map(|(bytes, _)| shapes.keep(bytes).unwrap());
        assert_eq!(spans[2], spans[3], "equal shapes in a row are kept once");
        assert_ne!(spans[2], spans[5]);
        for (span, (_, wanted)) in spans.iter().zip(kept) {
            let shape = shapes.get(*span);
            assert_eq!(shape, wanted);
            assert_eq!((shape.len(), shape.iter().len()), (wanted.len(), wanted.len()));
            assert_eq!(shape.get(1), wanted.get(1).copied());
            let ends = (wanted.first().copied(), wanted.last().copied());
            assert_eq!((shape.first(), shape.last()), ends);
        }
        assert_eq!(Shape(b"\x17"), Shape(b"\x18\x17"), "one number, spelled in two ways");
        assert_ne!(Shape(b"\x17"), Shape(b"\x17\x17"));
    }
}
