//! Elements that are read one by one where they lie.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;

use crate::brief::Bytes;
use crate::element::{ByteOrder, Element, F4E2M1};

/// Elements of `f4_e2m1`, two a byte, unpacked where they lie.
#[derive(Clone)]
pub struct Nibbles<'d> {
    bytes: &'d [u8],
    next: usize,
    count: usize,
}

impl fmt::Debug for Nibbles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nibbles")
            .field("bytes", &Bytes(self.bytes))
            .field("next", &self.next)
            .field("count", &self.count)
            .finish()
    }
}

impl<'d> Nibbles<'d> {
    /// The first `count` of the elements in `bytes`.
    pub(super) fn first(bytes: &'d [u8], count: usize) -> Self {
        Self { bytes, next: 0, count }
    }
}

impl Iterator for Nibbles<'_> {
    type Item = F4E2M1;

    #[inline]
    fn next(&mut self) -> Option<F4E2M1> {
        if self.next >= self.count {
            return None;
        }
        let byte = *self.bytes.get(self.next >> 1)?;
        let nibble = if self.next & 1 == 0 { byte } else { byte >> 4 };
        self.next = self.next.saturating_add(1);
        Some(F4E2M1::from_bits(nibble))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.count.saturating_sub(self.next);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Nibbles<'_> {}

/// The elements of a component, read where they lie.
#[derive(Clone)]
pub struct Elements<'d, T> {
    bytes: &'d [u8],
    order: ByteOrder,
    element: PhantomData<T>,
}

impl<T> fmt::Debug for Elements<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elements")
            .field("bytes", &Bytes(self.bytes))
            .field("order", &self.order)
            .finish()
    }
}

impl<'d, T: Element> Elements<'d, T> {
    pub(crate) fn over(bytes: &'d [u8], order: ByteOrder) -> Self {
        Self { bytes, order, element: PhantomData }
    }

    const WIDTH: usize = size_of::<T>();

    /// Those at the positions `range`, if all are there.
    pub(crate) fn part(&self, range: Range<usize>) -> Option<Self> {
        let start = range.start.checked_mul(Self::WIDTH)?;
        let bytes = self.bytes.get(start..range.end.checked_mul(Self::WIDTH)?)?;
        Some(Self { bytes, ..*self })
    }

    /// The element at `index`.
    pub fn get(&self, index: usize) -> Option<T> {
        let start = index.checked_mul(Self::WIDTH)?;
        T::read(self.bytes.get(start..)?, self.order)
    }
}

impl<T: Element> Iterator for Elements<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let (element, rest) = self.bytes.split_at_checked(Self::WIDTH)?;
        self.bytes = rest;
        T::read(element, self.order)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.bytes.chunks_exact(Self::WIDTH).len();
        (count, Some(count))
    }

    fn nth(&mut self, n: usize) -> Option<T> {
        let skipped = n.checked_mul(Self::WIDTH).and_then(|bytes| self.bytes.get(bytes..));
        self.bytes = skipped.unwrap_or_default();
        self.next()
    }
}

impl<T: Element> ExactSizeIterator for Elements<'_, T> {}
