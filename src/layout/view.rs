//! Views of the elements of one component: in the file, or in a buffer once decoded.

use alloc::vec::Vec;
use core::num::NonZeroUsize;
use core::ops::Range;

use super::buffer::with_room;
use super::elements::{Elements, Widened};
use crate::codec::validate_bools;
use crate::debug_summary::Bytes;
use crate::digest::Verified;
use crate::element::{ByteOrder, DType, Element, F4E2M1, LogicalType, StorageType};
use crate::error::{BareError, Described, Error, ErrorKind, Location, Misuse};
use crate::index::Logical;
use crate::num::u64_from_usize;
use crate::rules::Rule;

/// A view of a component: its bytes, and the type of its elements. Creating a view copies and allocates nothing, and
/// takes the same time whatever the size.
///
/// Elements are requested as the logical type of the component ([`Complex`](crate::element::Complex),
/// [`F8E5M2`](crate::element::F8E5M2) and the like) or as its storage type (`f32`, `u8`). If the logical type is
/// unknown, only the storage type can be requested.
///
/// | what | when |
/// | --- | --- |
/// | [`as_slice`](Self::as_slice) | `&[f32]` and the like, where alignment and byte order allow |
/// | [`elements`](Self::elements) | always: reads each element where it lies |
/// | [`widened`](Self::widened) | for indices: each as `u64`, whatever integer it is |
/// | [`to_vec`](Self::to_vec) | always: a copy |
#[derive(Clone, Copy, Debug)]
pub struct View<'d> {
    bytes: Bytes<'d>,
    kind: ViewType,
    verified: Option<Verified>,
}

/// The types and the byte order of a component's elements, and their location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ViewType {
    pub(crate) storage: StorageType,
    pub(crate) logical: Logical,
    pub(crate) order: ByteOrder,
    /// The rule that bools other than 0 and 1 break; `None` for other types, and in 0.1.
    pub(crate) bool_rule: Option<ErrorKind>,
    /// The offset of the bytes in the file; `None` if the file does not hold these bytes, because the elements are compressed, or
    /// are not stored in row-major order, for example.
    pub(crate) offset: Option<u64>,
    pub(crate) location: Location,
}

impl ViewType {
    /// Checks that elements can be read as `T`, which must be their logical type or their storage type.
    pub(crate) fn is_of<T: Element>(&self) -> Result<(), BareError> {
        let meant = T::LOGICAL.is_none() || T::LOGICAL == self.logical.known;
        if T::DTYPE == self.storage && meant {
            Ok(())
        } else {
            Err(self.mismatch(T::DTYPE, T::LOGICAL))
        }
    }

    /// Returns the error of elements that do not have the requested type.
    #[cold]
    pub(crate) fn mismatch(&self, storage: StorageType, logical: Option<LogicalType>) -> BareError {
        let held = Described::new(self.storage, self.logical.known, self.logical.unknown);
        let asked = Described::new(storage, logical, false);
        BareError::types(held, asked).at(self.location)
    }

    pub(crate) fn misuse(&self, misuse: Misuse) -> BareError {
        BareError::misuse(misuse).at(self.location)
    }
}

impl<'d> View<'d> {
    #[inline]
    pub(crate) fn new(bytes: &'d [u8], kind: ViewType, verified: Option<Verified>) -> Self {
        Self { bytes: Bytes(bytes), kind, verified }
    }

    pub(crate) fn kind(&self) -> &ViewType {
        &self.kind
    }

    /// Returns the storage elements at the positions `range`, or `None` if the view has fewer elements.
    pub(crate) fn part(&self, range: Range<usize>) -> Option<Self> {
        let width = usize::from(self.kind.storage.width());
        let start = range.start.checked_mul(width)?;
        let bytes = self.bytes.0.get(start..range.end.checked_mul(width)?)?;
        let offset = self.kind.offset.and_then(|offset| offset.checked_add(u64_from_usize(start)));
        Some(Self::new(bytes, ViewType { offset, ..self.kind }, self.verified))
    }

    /// Returns the bytes of the elements, in the order of [`byte_order`](Self::byte_order).
    pub fn as_bytes(&self) -> &'d [u8] {
        self.bytes.0
    }

    /// Returns the type of the elements.
    pub fn dtype(&self) -> DType {
        let ViewType { storage, logical, .. } = self.kind;
        if logical.unknown { DType::Unknown } else { DType::of(storage, logical.known) }
    }

    /// Returns the storage type of the elements.
    pub fn storage_type(&self) -> StorageType {
        self.kind.storage
    }

    /// Returns the logical type of the elements, or `None` if they have no logical type or an unknown one. If the `type` of a 1.1
    /// component is unknown, returns the logical type that its dtype implies, if there is one.
    pub fn logical_type(&self) -> Option<LogicalType> {
        self.kind.logical.known
    }

    /// Returns whether the digest of the component was verified, or `None` if the bytes are borrowed and have not been
    /// read.
    pub fn verified(&self) -> Option<Verified> {
        self.verified
    }

    /// Returns the byte order of the elements.
    pub fn byte_order(&self) -> ByteOrder {
        self.kind.order
    }

    /// Returns the number of storage elements.
    pub fn len(&self) -> usize {
        self.bytes.0.len() / NonZeroUsize::from(self.kind.storage.divisor())
    }

    /// Returns whether the view holds `count` logical elements, or may hold them because the logical type is unknown.
    pub(crate) fn may_hold(&self, count: usize) -> bool {
        let ViewType { logical, .. } = self.kind;
        if logical.is_packed() {
            return count.div_ceil(2) == self.len();
        }
        logical.unknown || count.checked_mul(usize::from(logical.ratio())) == Some(self.len())
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes.0.is_empty()
    }

    /// Borrows the elements as a slice of Rust values, without copying.
    ///
    /// # Errors
    /// [`Misuse::Type`] if the elements cannot be read as `T`; [`Misuse::ByteOrder`] if they are in another byte order than that
    /// of this machine; [`Misuse::Alignment`] if they are not aligned for `T`; [`Misuse::Size`] if the bytes end within an
    /// element, as those of a 0.1 entry of unknown layout may; `bool-value` if a bool is neither 0 nor 1, and
    /// [`Misuse::BoolBytes`] for such a bool of 0.1, where any byte is allowed.
    pub fn as_slice<T: Element>(&self) -> Result<&'d [T], Error> {
        self.check::<T>()?;
        let bytes = self.as_bytes();
        if bytes.is_empty() {
            return Ok(&[]);
        }
        if self.kind.storage.width() > 1 && self.kind.order != ByteOrder::NATIVE {
            return Err(self.kind.misuse(Misuse::ByteOrder).into());
        }
        T::native(bytes).ok_or_else(|| {
            let misuse = match bytes.len().checked_rem(size_of::<T>()) {
                _ if self.kind.storage == StorageType::Bool => Misuse::BoolBytes,
                Some(0) => Misuse::Alignment,
                _ => Misuse::Size,
            };
            self.kind.misuse(misuse).into()
        })
    }

    /// Returns an iterator that reads the elements in place, whatever their alignment and byte order.
    ///
    /// # Errors
    /// [`Misuse::Type`]; `bool-value` where a 1.x bool is neither 0 nor 1.
    pub fn elements<T: Element>(&self) -> Result<Elements<'d, T>, Error> {
        self.check::<T>()?;
        Ok(Elements::new(self.bytes.0, self.kind.order))
    }

    /// Returns an iterator that reads the elements in place as `u64`, whatever their integer type: for the indices of
    /// sparse objects. Elements that are not integers are returned as their bits.
    pub fn widened(&self) -> Widened<'d> {
        Widened::new(self.bytes.0, self.kind.storage, self.kind.order)
    }

    /// Returns an iterator over the elements, and fails if there is not one element for each of `count` entries.
    ///
    /// The elements of an unknown logical type are returned as storage elements if their number is `count`.
    pub(crate) fn one_each<T: Element>(&self, count: usize) -> Result<Elements<'d, T>, Error> {
        let elements = self.elements()?;
        if elements.len() == count {
            return Ok(elements);
        }
        Err(self.kind.mismatch(T::DTYPE, T::LOGICAL).into())
    }

    /// Returns a copy of the elements.
    ///
    /// # Errors
    /// The errors of [`elements`](Self::elements); [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        let elements = self.elements::<T>()?;
        let mut vec = with_room(elements.len(), self.kind.location)?;
        vec.extend(elements);
        Ok(vec)
    }

    /// Returns an iterator over the first `count` elements of `f4_e2m1`, which are unpacked from nibbles in place, low
    /// nibbles first: v2 appendix A. [`Component::packed_elements`](crate::Component::packed_elements) returns the
    /// number of elements.
    ///
    /// # Errors
    /// [`Misuse::Type`] if the elements have another type; [`Misuse::Size`] if there are fewer; `nibble-value` if `count` is
    /// odd and ends in the last byte of the view, whose unused high nibble is not 0.
    pub fn nibbles(
        &self,
        count: usize,
    ) -> Result<impl Iterator<Item = F4E2M1> + Clone + use<'d>, Error> {
        if !self.kind.logical.is_packed() {
            let error = self.kind.mismatch(StorageType::U8, Some(LogicalType::F4E2M1));
            return Err(error.into());
        }
        let bytes = self.bytes.0.get(..count.div_ceil(2)).ok_or(self.kind.misuse(Misuse::Size))?;
        let odd = count & 1 == 1 && bytes.len() == self.bytes.0.len();
        if let (true, Some(last @ 16..)) = (odd, bytes.last().copied()) {
            let within = u64_from_usize(bytes.len()).saturating_sub(1);
            let offset = self.kind.offset.map(|offset| offset.saturating_add(within));
            let error = BareError::new(Rule::NibbleValue, offset).found(last.into());
            return Err(error.at(self.kind.location).into());
        }
        let nibbles = bytes.iter().flat_map(|byte| [*byte, byte >> 4]);
        Ok(nibbles.take(count).map(F4E2M1::from_bits))
    }

    /// Checks that the elements have the type `T`, and that bools are valid.
    fn check<T: Element>(&self) -> Result<(), BareError> {
        self.kind.is_of::<T>()?;
        let checked = validate_bools(self.bytes.0, self.kind.offset, self.kind.bool_rule);
        checked.map_err(|error| error.at(self.kind.location))
    }
}
