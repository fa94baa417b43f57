//! Index components: reading them as `u64` whatever integer they are, and checking them once.

use crate::element::{ByteOrder, Element, StorageType};
use crate::layout::Elements;
use crate::num::wide;
use crate::rules::Rule;

/// Something wrong with the index at that place in its component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadIndex {
    pub(crate) rule: Rule,
    pub(crate) at: u64,
    pub(crate) found: u64,
}

/// Indices of any integer type, widened to `u64`.
#[derive(Clone, Debug)]
pub(crate) struct Widened<'d> {
    bytes: &'d [u8],
    storage: StorageType,
    order: ByteOrder,
}

impl<'d> Widened<'d> {
    pub(crate) fn new(bytes: &'d [u8], storage: StorageType, order: ByteOrder) -> Self {
        Self { bytes, storage, order }
    }

    /// Hands the indices to `take`, in order, until it fails. A negative index, which no
    /// dimension holds, comes as a number that none can reach.
    pub(crate) fn each(
        &self,
        take: impl FnMut(u64) -> Result<(), BadIndex>,
    ) -> Result<(), BadIndex> {
        use StorageType as T;
        match self.storage {
            T::U64 => self.of::<u64>(|index| index, take),
            T::U32 => self.of::<u32>(u64::from, take),
            T::U16 => self.of::<u16>(u64::from, take),
            T::U8 => self.of::<u8>(u64::from, take),
            T::I64 => self.of::<i64>(|index| u64::try_from(index).unwrap_or(u64::MAX), take),
            T::I32 => self.of::<i32>(|index| u64::try_from(index).unwrap_or(u64::MAX), take),
            T::I16 => self.of::<i16>(|index| u64::try_from(index).unwrap_or(u64::MAX), take),
            T::I8 => self.of::<i8>(|index| u64::try_from(index).unwrap_or(u64::MAX), take),
            // Admission lets only integers be indices.
            _ => Ok(()),
        }
    }

    fn of<I: Element>(
        &self,
        widen: impl Fn(I) -> u64,
        mut take: impl FnMut(u64) -> Result<(), BadIndex>,
    ) -> Result<(), BadIndex> {
        let mut indices = Elements::<I>::over(self.bytes, self.order);
        indices.try_for_each(|index| take(widen(index)))
    }

    /// The index at that place.
    pub(crate) fn get(&self, at: u64) -> Option<u64> {
        let width = u64::from(self.storage.width());
        let start = usize::try_from(at.checked_mul(width)?).ok()?;
        let end = start.checked_add(usize::from(self.storage.width()))?;
        let mut found = None;
        let one = Self { bytes: self.bytes.get(start..end)?, ..*self };
        let _ = one.each(|index| {
            found = Some(index);
            Ok(())
        });
        found
    }

    pub(crate) fn len(&self) -> u64 {
        let width = u64::from(self.storage.width()).max(1);
        wide(self.bytes.len()).checked_div(width).unwrap_or_default()
    }
}

/// Checks row pointers as they come: from 0, never falling, ending at nnz. v1.1 III.2, v1.2 §3.
#[derive(Clone, Debug, Default)]
pub(crate) struct Indptr {
    seen: u64,
    last: u64,
}

impl Indptr {
    pub(crate) fn take(&mut self, pointer: u64) -> Result<(), BadIndex> {
        let bad = |rule| BadIndex { rule, at: self.seen, found: pointer };
        if self.seen == 0 && pointer != 0 {
            return Err(bad(Rule::IndptrStart));
        }
        if pointer < self.last {
            return Err(bad(Rule::IndptrOrder));
        }
        self.last = pointer;
        self.seen = self.seen.saturating_add(1);
        Ok(())
    }

    pub(crate) fn finish(&self, nnz: u64) -> Result<(), BadIndex> {
        if self.last == nnz {
            return Ok(());
        }
        let at = self.seen.saturating_sub(1);
        Err(BadIndex { rule: Rule::IndptrEnd, at, found: self.last })
    }
}

/// Checks that indices are below a bound, as they come.
#[derive(Clone, Debug)]
pub(crate) struct Below {
    seen: u64,
    bound: u64,
}

impl Below {
    pub(crate) fn new(bound: u64) -> Self {
        Self { seen: 0, bound }
    }

    pub(crate) fn take(&mut self, index: u64) -> Result<(), BadIndex> {
        if index >= self.bound {
            return Err(BadIndex { rule: Rule::IndexRange, at: self.seen, found: index });
        }
        self.seen = self.seen.saturating_add(1);
        Ok(())
    }
}

/// Checks coordinates as they come, in structure-of-arrays order: all of the first dimension,
/// then all of the second. v1.1 III.3, v1.2 §3.
#[derive(Clone, Debug)]
pub(crate) struct Coords<D> {
    dimensions: D,
    nnz: u64,
    left: u64,
    bound: u64,
    seen: u64,
}

impl<D: Iterator<Item = u64>> Coords<D> {
    pub(crate) fn new(dimensions: D, nnz: u64) -> Self {
        Self { dimensions, nnz, left: 0, bound: 0, seen: 0 }
    }

    pub(crate) fn take(&mut self, index: u64) -> Result<(), BadIndex> {
        let bad = |at| BadIndex { rule: Rule::IndexRange, at, found: index };
        if self.left == 0 {
            self.bound = self.dimensions.next().ok_or(bad(self.seen))?;
            self.left = self.nnz;
        }
        if index >= self.bound {
            return Err(bad(self.seen));
        }
        self.left = self.left.saturating_sub(1);
        self.seen = self.seen.saturating_add(1);
        Ok(())
    }
}
