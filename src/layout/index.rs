//! Checking the indices of sparse objects one by one while they are read.

use super::view::ViewType;
use crate::element::StorageType;
use crate::error::{BareError, ErrorKind};
use crate::manifest::Component;
use crate::rules::Rule;

/// An index that was rejected: the error, the position of the index in its component, in elements from 0, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadIndex {
    pub(crate) kind: ErrorKind,
    pub(crate) at: u64,
    pub(crate) found: u64,
}

impl BadIndex {
    /// Returns the error in `component`, at the byte of the index if the component is not compressed. A limit is
    /// reported for the whole component.
    pub(crate) fn error(self, component: &Component<'_>) -> BareError {
        match (self.kind, component.kind()) {
            (ErrorKind::Limit(limit), _) => component.error(limit).found(self.found),
            (_, Ok(kind)) => self.error_in(&kind),
            (_, Err(error)) => error,
        }
    }

    /// Returns the error in a component whose bytes are described by `kind`.
    pub(crate) fn error_in(self, kind: &ViewType) -> BareError {
        let within = self.at.saturating_mul(kind.storage.width().into());
        let offset = kind.offset.map(|offset| offset.saturating_add(within));
        BareError::new(self.kind, offset).found(self.found).at(kind.location)
    }
}

/// A check of row pointers one by one: they must begin with 0, never decrease, and end with nnz. v1.1 III.2, v1.2 §3.
#[derive(Clone, Debug)]
pub(crate) struct Indptr {
    seen: u64,
    last: u64,
    nnz: u64,
    /// The number to which negative pointers have been widened (`u64::MAX`), if pointers are signed; otherwise `None`.
    negative: Option<u64>,
}

impl Indptr {
    /// Creates a check of row pointers into `nnz` entries. The pointers are stored as `storage`.
    pub(crate) fn new(storage: StorageType, nnz: u64) -> Self {
        use StorageType as T;
        let signed = matches!(storage, T::I64 | T::I32 | T::I16 | T::I8);
        Self { seen: 0, last: 0, nnz, negative: signed.then_some(u64::MAX) }
    }

    pub(crate) fn validate(&mut self, pointer: u64) -> Result<(), BadIndex> {
        let bad = |rule: Rule| BadIndex { kind: rule.into(), at: self.seen, found: pointer };
        if self.seen == 0 && pointer != 0 {
            return Err(bad(Rule::IndptrStart));
        }
        if pointer < self.last || Some(pointer) == self.negative {
            return Err(bad(Rule::IndptrOrder));
        }
        self.last = pointer;
        self.seen = self.seen.saturating_add(1);
        Ok(())
    }

    pub(crate) fn finish(&self) -> Result<(), BadIndex> {
        if self.last == self.nnz {
            return Ok(());
        }
        let at = self.seen.saturating_sub(1);
        Err(BadIndex { kind: Rule::IndptrEnd.into(), at, found: self.last })
    }
}

/// A check that indices are below a bound, one by one.
#[derive(Clone, Debug)]
pub(crate) struct Below {
    seen: u64,
    bound: u64,
}

impl Below {
    pub(crate) fn new(bound: u64) -> Self {
        Self { seen: 0, bound }
    }

    pub(crate) fn validate(&mut self, index: u64) -> Result<(), BadIndex> {
        if index >= self.bound {
            return Err(BadIndex { kind: Rule::IndexRange.into(), at: self.seen, found: index });
        }
        self.seen = self.seen.saturating_add(1);
        Ok(())
    }
}

/// A check of coordinates one by one, in structure-of-arrays order: all coordinates of the first dimension, then all of
/// the second. v1.1 III.3, v1.2 §3.
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

    pub(crate) fn validate(&mut self, index: u64) -> Result<(), BadIndex> {
        let bad = |at| BadIndex { kind: Rule::IndexRange.into(), at, found: index };
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

impl<D> Coords<D> {
    /// Returns the position of the value whose coordinate was checked last, and the size of the coordinate's dimension.
    pub(crate) fn last(&self) -> (usize, u64) {
        let value = self.nnz.saturating_sub(self.left).saturating_sub(1);
        (usize::try_from(value).unwrap_or(usize::MAX), self.bound)
    }
}
