//! Iterators that read elements in place, one by one.

use core::convert::Infallible;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::num::NonZeroUsize;
use core::ops::Range;

use crate::debug_summary::Bytes;
use crate::element::{ByteOrder, Element, StorageType};

/// An iterator over the elements of a component, which are read in place.
#[derive(Clone, Debug)]
pub struct Elements<'d, T> {
    bytes: Bytes<'d>,
    order: ByteOrder,
    element: PhantomData<T>,
}

impl<'d, T: Element> Elements<'d, T> {
    pub(crate) fn new(bytes: &'d [u8], order: ByteOrder) -> Self {
        Self { bytes: Bytes(bytes), order, element: PhantomData }
    }

    const WIDTH: usize = size_of::<T>();

    /// Returns the elements at the positions `range`, or `None` if there are fewer elements.
    pub(crate) fn part(&self, range: Range<usize>) -> Option<Self> {
        let start = range.start.checked_mul(Self::WIDTH)?;
        let bytes = self.bytes.0.get(start..range.end.checked_mul(Self::WIDTH)?)?;
        Some(Self::new(bytes, self.order))
    }

    /// Returns the element at `index`, or `None` if there are fewer elements.
    pub fn get(&self, index: usize) -> Option<T> {
        let start = index.checked_mul(Self::WIDTH)?;
        T::read(self.bytes.0.get(start..)?, self.order)
    }
}

impl<T: Element> Iterator for Elements<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let (element, rest) = self.bytes.0.split_at_checked(Self::WIDTH)?;
        self.bytes = Bytes(rest);
        T::read(element, self.order)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.bytes.0.chunks_exact(Self::WIDTH).len();
        (count, Some(count))
    }

    fn nth(&mut self, n: usize) -> Option<T> {
        let skipped = n.checked_mul(Self::WIDTH).and_then(|bytes| self.bytes.0.get(bytes..));
        self.bytes = Bytes(skipped.unwrap_or_default());
        self.next()
    }
}

impl<T: Element> ExactSizeIterator for Elements<'_, T> {}

/// An iterator over the indices of a sparse object, or other integers of any type, which are read in place and widened
/// to `u64`. A negative index becomes `u64::MAX`. For elements that are not integers it returns their bits; the rules do not allow
/// such indices.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Widened<'d> {
    bytes: Bytes<'d>,
    storage: StorageType,
    order: ByteOrder,
}

/// Returns the index as a `u64`, and `u64::MAX`, which is out of range for every dimension, for a negative index.
fn negative<I: TryInto<u64>>(index: I) -> u64 {
    index.try_into().unwrap_or(u64::MAX)
}

impl<'d> Widened<'d> {
    pub(crate) fn new(bytes: &'d [u8], storage: StorageType, order: ByteOrder) -> Self {
        Self { bytes: Bytes(bytes), storage, order }
    }

    /// Calls `take` with the indices, in order, until `take` fails. A negative index is passed as `u64::MAX`.
    pub(crate) fn try_for_each<E>(
        &self,
        mut take: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        self.fold_until((), |(), index| take(index))
    }

    /// Folds the indices with `take`, from the value `init` on, until `take` fails. There is one loop for each type, because
    /// checking a large file spends its time here.
    fn fold_until<B, E>(&self, init: B, take: impl FnMut(B, u64) -> Result<B, E>) -> Result<B, E> {
        use StorageType as T;
        match self.storage {
            T::U64 | T::F64 => self.fold_as::<u64, B, E>(|index| index, init, take),
            T::U32 | T::F32 => self.fold_as::<u32, B, E>(u64::from, init, take),
            T::U16 | T::F16 | T::Bf16 => self.fold_as::<u16, B, E>(u64::from, init, take),
            T::U8 | T::Bool => self.fold_as::<u8, B, E>(u64::from, init, take),
            T::I64 => self.fold_as::<i64, B, E>(negative, init, take),
            T::I32 => self.fold_as::<i32, B, E>(negative, init, take),
            T::I16 => self.fold_as::<i16, B, E>(negative, init, take),
            T::I8 => self.fold_as::<i8, B, E>(negative, init, take),
        }
    }

    fn fold_as<I: Element, B, E>(
        &self,
        widen: impl Fn(I) -> u64,
        init: B,
        mut take: impl FnMut(B, u64) -> Result<B, E>,
    ) -> Result<B, E> {
        let mut indices = Elements::<I>::new(self.bytes.0, self.order);
        indices.try_fold(init, |folded, index| take(folded, widen(index)))
    }

    fn width(&self) -> usize {
        self.storage.width().into()
    }
}

impl Iterator for Widened<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        use StorageType as T;
        let (index, rest) = self.bytes.0.split_at_checked(self.width())?;
        self.bytes = Bytes(rest);
        match self.storage {
            T::U64 | T::F64 => u64::read(index, self.order),
            T::U32 | T::F32 => u32::read(index, self.order).map(u64::from),
            T::U16 | T::F16 | T::Bf16 => u16::read(index, self.order).map(u64::from),
            T::U8 | T::Bool => u8::read(index, self.order).map(u64::from),
            T::I64 => i64::read(index, self.order).map(negative),
            T::I32 => i32::read(index, self.order).map(negative),
            T::I16 => i16::read(index, self.order).map(negative),
            T::I8 => i8::read(index, self.order).map(negative),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.bytes.0.len() / NonZeroUsize::from(self.storage.divisor());
        (count, Some(count))
    }

    fn fold<B, F: FnMut(B, u64) -> B>(self, init: B, mut take: F) -> B {
        let Ok(folded) =
            self.fold_until(init, |folded, index| Ok::<B, Infallible>(take(folded, index)));
        folded
    }

    fn nth(&mut self, n: usize) -> Option<u64> {
        let skipped = n.checked_mul(self.width()).and_then(|bytes| self.bytes.0.get(bytes..));
        self.bytes = Bytes(skipped.unwrap_or_default());
        self.next()
    }
}

impl ExactSizeIterator for Widened<'_> {}
impl FusedIterator for Widened<'_> {}
