//! Index components: reading them as `u64` whatever integer they are, and checking them once.

use core::fmt;
use core::iter::FusedIterator;
use core::num::NonZeroUsize;
use core::ops::Range;

use crate::brief::Bytes;
use crate::element::{ByteOrder, Element, StorageType};
use crate::error::{Error, ErrorKind, Place};
use crate::format::Encoding;
use crate::layout::{Elements, View};
use crate::manifest::Component;
use crate::rules::Rule;

/// An index that is refused, by its ordinal in its component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadIndex {
    pub(crate) kind: ErrorKind,
    pub(crate) at: u64,
    pub(crate) found: u64,
}

impl BadIndex {
    /// The error in a component, at its byte of the file if it is there.
    pub(crate) fn error(self, component: &Component<'_>) -> Error {
        let extent = component.extent();
        match (component.storage_type(), self.kind) {
            // A limit is that of a component.
            (_, ErrorKind::Limit(limit)) => {
                Error::new(limit, extent.offset()).found(self.found).at(component.place())
            }
            (Some(storage), _) => {
                let raw = component.encoding() == Encoding::Raw;
                let offset = raw.then(|| extent.offset());
                self.locate(offset, storage.width(), component.place())
            }
            (None, _) => Error::internal().at(component.place()),
        }
    }

    /// The error in the component that `view` is of.
    pub(crate) fn error_in(self, view: &View<'_>) -> Error {
        let kind = view.kind();
        self.locate(kind.offset, kind.storage.width(), kind.place)
    }

    fn locate(self, offset: Option<u64>, width: u8, place: Place) -> Error {
        let error = match offset {
            Some(offset) => {
                let within = self.at.saturating_mul(width.into());
                Error::new(self.kind, offset.saturating_add(within))
            }
            None => Error::nowhere(self.kind),
        };
        error.found(self.found).at(place)
    }
}

/// The indices of a sparse tensor: integers of any width and byte order, which have been
/// checked to be in range.
///
/// | what | when |
/// | --- | --- |
/// | [`as_slice`](Self::as_slice) | `&[u64]`, where they are native and aligned |
/// | [`iter`](Self::iter), [`get`](Self::get) | always: each is widened where it lies |
/// | [`view`](Self::view) | always: narrow ones as what they are, `&[i32]` and the like |
#[derive(Clone, Copy, Debug)]
pub struct Indices<'d> {
    view: View<'d>,
}

impl<'d> Indices<'d> {
    pub(crate) fn over(view: View<'d>) -> Self {
        Self { view }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.view.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.view.is_empty()
    }

    /// The index at that position, counted from 0.
    pub fn get(&self, position: usize) -> Option<u64> {
        let end = position.checked_add(1)?;
        self.part(position..end)?.iter().next()
    }

    /// All of them, widened to `u64`, in the order they are stored.
    pub fn iter(&self) -> Widened<'d> {
        let kind = self.view.kind();
        Widened::new(self.view.as_bytes(), kind.storage, kind.order)
    }

    /// All of them, borrowed.
    ///
    /// # Errors
    /// What is in the way: [`Misuse::Type`](crate::error::Misuse::Type) where they are not `u64`,
    /// [`Misuse::ByteOrder`](crate::error::Misuse::ByteOrder),
    /// [`Misuse::Alignment`](crate::error::Misuse::Alignment).
    pub fn as_slice(&self) -> Result<&'d [u64], Error> {
        self.view.as_slice()
    }

    /// The elements as they are stored.
    pub fn view(&self) -> View<'d> {
        self.view
    }

    /// Those at the positions `range`, if all are there.
    pub(crate) fn part(&self, range: Range<usize>) -> Option<Self> {
        Some(Self { view: self.view.part(range)? })
    }
}

impl<'d> IntoIterator for &Indices<'d> {
    type Item = u64;
    type IntoIter = Widened<'d>;

    fn into_iter(self) -> Widened<'d> {
        self.iter()
    }
}

/// Indices of any integer type, widened to `u64` one by one where they lie. No rule lets others be indices:
/// their bits would be read.
#[derive(Clone)]
pub struct Widened<'d> {
    bytes: &'d [u8],
    storage: StorageType,
    order: ByteOrder,
}

impl fmt::Debug for Widened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Widened")
            .field("bytes", &Bytes(self.bytes))
            .field("storage", &self.storage)
            .field("order", &self.order)
            .finish()
    }
}

/// A negative index, which no dimension holds, becomes a number that none can reach.
fn negative<I: TryInto<u64>>(index: I) -> u64 {
    index.try_into().unwrap_or(u64::MAX)
}

impl<'d> Widened<'d> {
    pub(crate) fn new(bytes: &'d [u8], storage: StorageType, order: ByteOrder) -> Self {
        Self { bytes, storage, order }
    }

    /// Hands the indices to `take`, in order, until it fails. A negative one comes as
    /// `u64::MAX`. One loop for each type: this is what checking a large file waits for.
    pub(crate) fn each(
        &self,
        take: impl FnMut(u64) -> Result<(), BadIndex>,
    ) -> Result<(), BadIndex> {
        use StorageType as T;
        match self.storage {
            T::U64 | T::F64 => self.each_as::<u64>(|index| index, take),
            T::U32 | T::F32 => self.each_as::<u32>(u64::from, take),
            T::U16 | T::F16 | T::Bf16 => self.each_as::<u16>(u64::from, take),
            T::U8 | T::Bool => self.each_as::<u8>(u64::from, take),
            T::I64 => self.each_as::<i64>(negative, take),
            T::I32 => self.each_as::<i32>(negative, take),
            T::I16 => self.each_as::<i16>(negative, take),
            T::I8 => self.each_as::<i8>(negative, take),
        }
    }

    fn each_as<I: Element>(
        &self,
        widen: impl Fn(I) -> u64,
        mut take: impl FnMut(u64) -> Result<(), BadIndex>,
    ) -> Result<(), BadIndex> {
        let mut indices = Elements::<I>::over(self.bytes, self.order);
        indices.try_for_each(|index| take(widen(index)))
    }

    fn fold_of<I: Element, B>(
        self,
        widen: impl Fn(I) -> u64,
        init: B,
        mut take: impl FnMut(B, u64) -> B,
    ) -> B {
        let indices = Elements::<I>::over(self.bytes, self.order);
        indices.fold(init, |folded, index| take(folded, widen(index)))
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
        let (index, rest) = self.bytes.split_at_checked(self.width())?;
        self.bytes = rest;
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
        let count = self.bytes.len() / NonZeroUsize::from(self.storage.divisor());
        (count, Some(count))
    }

    /// One loop for each type.
    fn fold<B, F: FnMut(B, u64) -> B>(self, init: B, take: F) -> B {
        use StorageType as T;
        match self.storage {
            T::U64 | T::F64 => self.fold_of::<u64, B>(|index| index, init, take),
            T::U32 | T::F32 => self.fold_of::<u32, B>(u64::from, init, take),
            T::U16 | T::F16 | T::Bf16 => self.fold_of::<u16, B>(u64::from, init, take),
            T::U8 | T::Bool => self.fold_of::<u8, B>(u64::from, init, take),
            T::I64 => self.fold_of::<i64, B>(negative, init, take),
            T::I32 => self.fold_of::<i32, B>(negative, init, take),
            T::I16 => self.fold_of::<i16, B>(negative, init, take),
            T::I8 => self.fold_of::<i8, B>(negative, init, take),
        }
    }

    fn nth(&mut self, n: usize) -> Option<u64> {
        let skipped = n.checked_mul(self.width()).and_then(|bytes| self.bytes.get(bytes..));
        self.bytes = skipped.unwrap_or_default();
        self.next()
    }
}

impl ExactSizeIterator for Widened<'_> {}
impl FusedIterator for Widened<'_> {}

/// Checks row pointers as they come: from 0, never falling, ending at nnz. v1.1 III.2, v1.2 §3.
#[derive(Clone, Debug)]
pub(crate) struct Indptr {
    seen: u64,
    last: u64,
    /// What a negative pointer comes as, where pointers can be negative.
    negative: Option<u64>,
}

impl Indptr {
    /// For pointers that are stored as that type.
    pub(crate) fn new(storage: StorageType) -> Self {
        use StorageType as T;
        let signed = matches!(storage, T::I64 | T::I32 | T::I16 | T::I8);
        Self { seen: 0, last: 0, negative: signed.then_some(u64::MAX) }
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

    pub(crate) fn finish(&self, nnz: u64) -> Result<(), BadIndex> {
        if self.last == nnz {
            return Ok(());
        }
        let at = self.seen.saturating_sub(1);
        Err(BadIndex { kind: Rule::IndptrEnd.into(), at, found: self.last })
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

    pub(crate) fn validate(&mut self, index: u64) -> Result<(), BadIndex> {
        if index >= self.bound {
            return Err(BadIndex { kind: Rule::IndexRange.into(), at: self.seen, found: index });
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
    /// The value whose coordinate came last, and the dimension that it is in.
    pub(crate) fn last(&self) -> (usize, u64) {
        let value = self.nnz.saturating_sub(self.left).saturating_sub(1);
        (usize::try_from(value).unwrap_or(usize::MAX), self.bound)
    }
}
