//! Going through the entries of a [`Coo`](super::Coo).

use core::iter::FusedIterator;

use crate::element::Element;
use crate::layout::Elements;
use crate::layout::index::{Indices, Widened};

/// Where one entry is: its coordinate in each dimension, outermost first.
#[derive(Clone, Debug)]
pub struct Coordinate<'d> {
    /// The coordinates from that of this entry in the next dimension on.
    coords: Widened<'d>,
    /// How many lie between that of one dimension and that of the next.
    skip: usize,
    left: usize,
}

impl<'d> Coordinate<'d> {
    /// Of entry `entry` of `nnz`, below which it is.
    pub(super) fn new(coords: Indices<'d>, entry: usize, nnz: usize, rank: usize) -> Self {
        let mut from = coords.iter();
        if let Some(before) = entry.checked_sub(1) {
            from.nth(before);
        }
        Self { coords: from, skip: nnz.saturating_sub(1), left: rank }
    }
}

impl Iterator for Coordinate<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let place = self.coords.next();
        if let Some(last) = self.skip.checked_sub(1) {
            self.coords.nth(last);
        }
        place
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Coordinate<'_> {}
impl FusedIterator for Coordinate<'_> {}

/// The entries of a [`Coo`](super::Coo): coordinate and value, in the order they are stored.
#[derive(Clone, Debug)]
pub struct CooEntries<'d, T> {
    coords: Indices<'d>,
    nnz: usize,
    rank: usize,
    next: usize,
    values: Elements<'d, T>,
}

impl<'d, T: Element> CooEntries<'d, T> {
    pub(super) fn new(
        coords: Indices<'d>,
        nnz: usize,
        rank: usize,
        values: Elements<'d, T>,
    ) -> Self {
        Self { coords, nnz, rank, next: 0, values }
    }
}

impl<'d, T: Element> Iterator for CooEntries<'d, T> {
    type Item = (Coordinate<'d>, T);

    fn next(&mut self) -> Option<(Coordinate<'d>, T)> {
        let value = self.values.next()?;
        let coordinate = Coordinate::new(self.coords, self.next, self.nnz, self.rank);
        self.next = self.next.saturating_add(1);
        Some((coordinate, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.values.size_hint()
    }
}

impl<T: Element> ExactSizeIterator for CooEntries<'_, T> {}
impl<T: Element> FusedIterator for CooEntries<'_, T> {}
