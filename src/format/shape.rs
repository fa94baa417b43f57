//! Numbers, texts and shapes, and where they stand.

use crate::cbor::Remaining;
use crate::num::product;

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

/// A shape: where it stands, and what is asked of it. The dimensions stay in the manifest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) remaining: Remaining,
    pub(crate) rank: u32,
    /// 0 where a dimension is 0; none where it overflows.
    pub(crate) product: Option<u64>,
    /// The first dimension: rows of a matrix.
    pub(crate) first: u64,
}

/// The dimensions of a shape, as they come.
pub(super) struct Product {
    rank: u32,
    first: u64,
    wrapped: u64,
    overflows: bool,
    empty: bool,
}

impl Default for Product {
    #[inline(always)]
    fn default() -> Self {
        Self { rank: 0, first: 0, wrapped: 1, overflows: false, empty: false }
    }
}

impl Product {
    #[inline(always)]
    pub(super) fn multiply(&mut self, dimension: u64) {
        if self.rank == 0 {
            self.first = dimension;
        }
        self.rank = self.rank.wrapping_add(1);
        self.empty |= dimension == 0;
        let (wrapped, overflow) = product(self.wrapped, dimension);
        self.wrapped = wrapped;
        self.overflows |= overflow;
    }

    #[inline(always)]
    pub(super) fn shape(self, remaining: Remaining) -> Shape {
        // Where a dimension is 0, so is what is left of the product.
        let product = (self.empty || !self.overflows).then_some(self.wrapped);
        Shape { remaining, rank: self.rank, product, first: self.first }
    }
}

#[cfg(feature = "write")]
impl Shape {
    /// The shape of those dimensions, which stand nowhere yet.
    pub(crate) fn from_dimensions(dimensions: &[u64]) -> Self {
        let mut product = Product::default();
        for dimension in dimensions {
            product.multiply(*dimension);
        }
        product.shape(Remaining::END)
    }
}
