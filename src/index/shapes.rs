//! The dimensions of all tensors of a file. The dimensions of a finished shape never move in memory.

use alloc::vec::Vec;

use crate::error::{ErrorKind, OutOfMemory};
use crate::num::{len_u32, product, usize_from_u32};
use crate::rules::Limit;

/// The largest number of dimensions in a chunk, and so of a shape.
const CHUNK: usize = 1 << CHUNK_BITS;
/// The number of lower bits of `ShapeSpan::start` that hold the index in the chunk.
const CHUNK_BITS: u32 = 12;
/// The number of dimensions for which the first chunk has room. Each later chunk has room for twice as many as the
/// chunk before it, but for at most [`CHUNK`]. A file with few shapes therefore takes little memory, and a file with
/// many shapes leaves less than one chunk unused at the end.
const FIRST_CHUNK: usize = 8;

/// The position of a shape in [`Shapes`], and its number of dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShapeSpan {
    /// The number of the chunk in the upper bits, and the index of the first dimension in the chunk in the lower bits.
    start: u32,
    rank: u16,
}

impl ShapeSpan {
    /// The span of a shape without dimensions.
    pub(crate) const EMPTY: Self = Self { start: 0, rank: 0 };
}

/// The dimensions of all shapes. A shape that equals the shape before is stored once.
///
/// The dimensions lie in chunks, because a single list would be copied whenever it grows: while a list is copied, a
/// file whose dimensions take one byte each would need 24 times its size.
#[derive(Debug)]
pub(crate) struct Shapes {
    chunks: Vec<Vec<u64>>,
    /// The index, in the last chunk, of the first dimension of the shape that is being added.
    open: usize,
    last: ShapeSpan,
}

impl Shapes {
    pub(crate) const fn new() -> Self {
        Self { chunks: Vec::new(), open: 0, last: ShapeSpan::EMPTY }
    }

    /// Removes all shapes, and keeps the memory of the last chunk for further shapes.
    pub(crate) fn clear(&mut self) {
        self.chunks.drain(..self.chunks.len().saturating_sub(1));
        self.chunks.iter_mut().for_each(Vec::clear);
        (self.open, self.last) = (0, ShapeSpan::EMPTY);
    }

    /// Begins a shape. An unfinished shape is dropped.
    #[inline]
    pub(crate) fn begin(&mut self) {
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.truncate(self.open);
        }
    }

    /// Adds a dimension to the shape that has begun.
    ///
    /// # Errors
    /// `limit-rank` for a shape of more than 4,096 dimensions; out of memory.
    #[inline]
    pub(crate) fn push(&mut self, dimension: u64) -> Result<(), ErrorKind> {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < chunk.capacity().min(CHUNK) => {
                chunk.push(dimension);
                Ok(())
            }
            _ => self.push_to_new_chunk(dimension),
        }
    }

    /// Moves the shape that has begun to a new chunk, and adds `dimension` to it.
    #[cold]
    #[inline(never)]
    fn push_to_new_chunk(&mut self, dimension: u64) -> Result<(), ErrorKind> {
        let before = self.chunks.last_mut();
        let begun = before.as_ref().and_then(|chunk| chunk.get(self.open..)).unwrap_or_default();
        if begun.len() >= CHUNK {
            return Err(Limit::Rank.into());
        }
        let room = before.as_ref().map_or(FIRST_CHUNK, |chunk| chunk.capacity().saturating_mul(2));
        let mut chunk = Vec::new();
        chunk.try_reserve_exact(room.min(CHUNK)).map_err(|_| OutOfMemory)?;
        chunk.extend_from_slice(begun);
        chunk.push(dimension);
        if let Some(before) = before {
            before.truncate(self.open);
        }
        // A span has 20 bits for the number of a chunk.
        if self.chunks.len() >= 1 << (u32::BITS.wrapping_sub(CHUNK_BITS)) {
            return Err(OutOfMemory.into());
        }
        self.chunks.try_reserve(1).map_err(|_| OutOfMemory)?;
        self.chunks.push(chunk);
        self.open = 0;
        Ok(())
    }

    /// Ends the shape that has begun, and returns its span.
    #[inline]
    pub(crate) fn finish(&mut self) -> ShapeSpan {
        let last = self.get(self.last);
        let Some(chunk) = self.chunks.last() else { return ShapeSpan::EMPTY };
        let dimensions = chunk.get(self.open..).unwrap_or_default();
        if dimensions == last {
            self.begin();
            return self.last;
        }
        let chunks = len_u32(self.chunks.len()).wrapping_sub(1);
        let start = chunks << CHUNK_BITS | len_u32(self.open);
        // A chunk has at most 4,096 dimensions.
        let rank = u16::try_from(dimensions.len()).unwrap_or(u16::MAX);
        self.open = chunk.len();
        self.last = ShapeSpan { start, rank };
        self.last
    }

    /// Adds the shape `dimensions`, and returns its span.
    ///
    /// # Errors
    /// The errors of [`push`](Self::push).
    pub(crate) fn keep(&mut self, dimensions: &[u64]) -> Result<ShapeSpan, ErrorKind> {
        self.begin();
        dimensions.iter().try_for_each(|dimension| self.push(*dimension))?;
        Ok(self.finish())
    }

    /// Returns the shape at `span`.
    #[inline]
    pub(crate) fn get(&self, span: ShapeSpan) -> &[u64] {
        let chunk = self.chunks.get(usize_from_u32(span.start >> CHUNK_BITS));
        let start = usize_from_u32(span.start) & CHUNK.wrapping_sub(1);
        let end = start.wrapping_add(span.rank.into());
        chunk.and_then(|chunk| chunk.get(start..end)).unwrap_or_default()
    }

    /// Returns the number of bytes that the shapes take on the heap.
    pub(crate) fn heap(&self) -> usize {
        let chunks =
            self.chunks.iter().map(|chunk| chunk.capacity().saturating_mul(size_of::<u64>()));
        let list = self.chunks.capacity().saturating_mul(size_of::<Vec<u64>>());
        chunks.fold(list, usize::saturating_add)
    }
}

/// The product of dimensions that are multiplied one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    wrapped: u64,
    overflows: bool,
    empty: bool,
}

impl Product {
    /// The product of no dimensions.
    pub(crate) const ONE: Self = Self { wrapped: 1, overflows: false, empty: false };

    /// Returns the product of `dimensions`.
    pub(crate) fn of(dimensions: &[u64]) -> Self {
        let mut product = Self::ONE;
        for dimension in dimensions {
            product.multiply(*dimension);
        }
        product
    }

    #[inline]
    pub(crate) fn multiply(&mut self, dimension: u64) {
        self.empty |= dimension == 0;
        let (wrapped, overflow) = product(self.wrapped, dimension);
        self.wrapped = wrapped;
        self.overflows |= overflow;
    }

    /// Returns the number of elements: 0 if a dimension is 0, and `None` if the number overflows.
    #[inline]
    pub(crate) fn elements(&self) -> Option<u64> {
        // A dimension of 0 makes the wrapped product 0, even after an overflow.
        (self.empty || !self.overflows).then_some(self.wrapped)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::{CHUNK, Shapes};
    use crate::rules::Limit;

    #[test]
    fn shapes_are_kept_once_in_a_row() {
        let mut shapes = Shapes::new();
        let kept: [&[u64]; 6] =
            [&[], &[0], &[23, 24, 256], &[23, 24, 256], &[u64::MAX, 0], &[23, 24, 256]];
        let spans = kept.map(|shape| shapes.keep(shape).unwrap());
        assert_eq!(spans[2], spans[3], "equal shapes in a row are kept once");
        assert_ne!(spans[2], spans[5]);
        for (span, wanted) in spans.iter().zip(kept) {
            assert_eq!(shapes.get(*span), wanted);
        }
    }

    /// Checks that shapes of all sizes keep their addresses while others are added. Some shapes end at the end of a chunk,
    /// and others are moved to the next chunk.
    #[test]
    fn shapes_stay_where_they_are_in_chunks() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut shapes = Shapes::new();
        let wanted: Vec<Vec<u64>> = (0..if cfg!(miri) { 50 } else { 3_000 })
            .map(|_| {
                let rank = [random.usize(0..5), random.usize(0..70), random.usize(0..=CHUNK)];
                (0..rank[random.usize(0..3)]).map(|_| random.u64(..)).collect()
            })
            .collect();
        let spans: Vec<_> = wanted.iter().map(|shape| shapes.keep(shape).unwrap()).collect();
        for (span, wanted) in spans.iter().zip(&wanted) {
            assert_eq!(shapes.get(*span), wanted);
        }
    }

    #[test]
    fn unfinished_shapes_are_dropped() {
        let mut shapes = Shapes::new();
        shapes.keep(&[1, 2]).unwrap();
        shapes.begin();
        shapes.push(3).unwrap();
        let span = shapes.keep(&[4]).unwrap();
        assert_eq!(shapes.get(span), [4]);
        assert_eq!(shapes.keep(&vec![0; CHUNK]).map(|span| shapes.get(span).len()), Ok(CHUNK));
        assert_eq!(shapes.keep(&vec![0; CHUNK + 1]), Err(Limit::Rank.into()));
        let span = shapes.keep(&[5, 6]).unwrap();
        assert_eq!(shapes.get(span), [5, 6]);
        shapes.clear();
        let span = shapes.keep(&[7]).unwrap();
        assert_eq!(shapes.get(span), [7]);
    }
}
