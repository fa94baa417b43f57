//! The elements of one component, where they lie: in the file, or in a buffer once decoded.

use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroUsize;
use core::ops::Range;

use super::elements::{Elements, Nibbles};
use crate::brief::Bytes;
use crate::codec::{Verified, validate_bools};
use crate::element::{ByteOrder, Element, LogicalType, StorageType};
use crate::error::{Described, Error, ErrorKind, Misuse, OutOfMemory, Place};
use crate::format::{Encoding, Format, Logical};
use crate::manifest::{Component, Extent, Object, Shape};
use crate::num::u64_from_usize;
use crate::rules::{Rule, Unsupported};

/// The bytes of a component and what they are. Binding copies and allocates nothing, and takes
/// the same time whatever the size.
///
/// Elements are asked for as the logical type of the component ([`Complex`](crate::element::Complex),
/// [`F8E5M2`](crate::element::F8E5M2) and the like) or as its storage type, `f32` or `u8`, which is all
/// there is where the logical type is not known.
///
/// | what | when |
/// | --- | --- |
/// | [`as_slice`](Self::as_slice) | `&[f32]` and the like, where alignment and byte order allow |
/// | [`elements`](Self::elements) | always: reads each element where it lies |
/// | [`to_vec`](Self::to_vec) | always: a copy |
#[derive(Clone, Copy)]
pub struct View<'d> {
    bytes: &'d [u8],
    kind: Kind,
    verified: Option<Verified>,
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("bytes", &Bytes(self.bytes))
            .field("kind", &self.kind)
            .field("verified", &self.verified)
            .finish()
    }
}

/// What the bytes of a component are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) storage: StorageType,
    pub(crate) logical: Logical,
    pub(crate) order: ByteOrder,
    /// Whether bools are bytes 0 and 1.
    pub(crate) bool_value: Option<ErrorKind>,
    /// Where in the file the bytes begin, unless they are compressed there.
    pub(crate) offset: Option<u64>,
    pub(crate) place: Place,
}

impl Kind {
    /// Checks that elements can be read as `T`: as their logical type, or as their storage type.
    pub(crate) fn is_of<T: Element>(&self) -> Result<(), Error> {
        let meant = T::LOGICAL.is_none() || T::LOGICAL == self.logical.known;
        if T::DTYPE == self.storage && meant {
            Ok(())
        } else {
            Err(self.mismatch(T::DTYPE, T::LOGICAL))
        }
    }

    /// The elements are not what was asked for.
    #[cold]
    fn mismatch(&self, storage: StorageType, logical: Option<LogicalType>) -> Error {
        let held = Described::new(self.storage, self.logical.known, self.logical.unknown);
        let asked = Described::new(storage, logical, false);
        Error::types(held, asked).at(self.place)
    }
}

impl<'a> Component<'a> {
    /// The elements where they lie in the file. For components of an
    /// [`Archive`](crate::Archive), which holds that file.
    ///
    /// # Errors
    /// [`Misuse::NoFile`] where the component comes from a manifest without its file; as
    /// [`bind`](Self::bind).
    pub fn view(&self) -> Result<View<'a>, Error> {
        self.bind(self.file()?)
    }

    /// Binds the component to the file it is in, all of whose bytes are in `file`. This is for
    /// those who have opened a manifest by itself; it is up to them that it is that file's.
    /// Components of an [`Archive`](crate::Archive) have a [`view`](Self::view).
    ///
    /// # Errors
    /// [`Misuse::Compressed`] where it is not raw; [`Misuse::Size`] where `file` is shorter than
    /// the file that was opened; `unsupported-dtype`, `unsupported-encoding` in 0.1.
    #[inline]
    pub fn bind<'d>(&self, file: &'d [u8]) -> Result<View<'d>, Error> {
        let storage = self.readable()?;
        let extent = self.extent();
        let range = extent.range();
        let start = usize::try_from(range.start).ok();
        let end = usize::try_from(range.end).ok();
        let blob = start.zip(end).and_then(|(start, end)| file.get(start..end));
        let blob = blob.ok_or_else(|| Error::misuse(Misuse::Size).at(self.place()))?;
        self.bound(blob, self.kind_of(storage, extent))
    }

    /// Binds the component to its own stored bytes, [`extent`](Self::extent) of the file.
    ///
    /// # Errors
    /// As [`bind`](Self::bind); [`Misuse::Size`] where there are not exactly as many bytes.
    pub fn bind_blob<'d>(&self, blob: &'d [u8]) -> Result<View<'d>, Error> {
        let storage = self.readable()?;
        let extent = self.extent();
        let bound = self.bound(blob, self.kind_of(storage, extent))?;
        if u64_from_usize(blob.len()) != extent.length() {
            return Err(Error::misuse(Misuse::Size).at(self.place()));
        }
        Ok(bound)
    }

    /// Binds it to its stored bytes, if they are its elements.
    #[inline]
    fn bound<'d>(&self, bytes: &'d [u8], kind: Kind) -> Result<View<'d>, Error> {
        if self.encoding() != Encoding::Raw {
            return Err(Error::misuse(Misuse::Compressed).at(self.place()));
        }
        Ok(View { bytes, kind, verified: None })
    }

    /// What its stored bytes are.
    pub(crate) fn kind(&self) -> Result<Kind, Error> {
        Ok(self.kind_of(self.readable()?, self.extent()))
    }

    #[inline]
    fn kind_of(&self, storage: StorageType, extent: Extent) -> Kind {
        Kind {
            storage,
            logical: self.logical(),
            order: self.byte_order(),
            bool_value: self.dialect().bool_value,
            offset: (self.encoding() == Encoding::Raw).then(|| extent.offset()),
            place: self.place(),
        }
    }

    /// How its elements are stored, if they can be read.
    ///
    /// # Errors
    /// `unsupported-dtype` or `unsupported-encoding`: v0.1 §8; in 2 `unsupported-encoding`,
    /// `unsupported-type`, `unsupported-shard`: v2 §3.4, §4.2, §7.
    #[inline]
    pub fn readable(&self) -> Result<StorageType, Error> {
        let storage = self.stored_or_why().and_then(|storage| {
            match (self.logical().unknown, self.dialect().unknown_type) {
                (true, Some(why)) => Err(why),
                _ => Ok(storage),
            }
        });
        storage.map_err(|why| self.unsupported(why))
    }

    /// How its elements are stored, if their bytes can be read, whatever they mean.
    pub(crate) fn stored(&self) -> Result<StorageType, Error> {
        self.stored_or_why().map_err(|why| self.unsupported(why))
    }

    /// [`stored`](Self::stored), or why they cannot.
    #[inline]
    fn stored_or_why(&self) -> Result<StorageType, Unsupported> {
        if self.is_in_other_file() {
            return Err(Unsupported::Shard);
        }
        if self.encoding() == Encoding::Unknown {
            return Err(Unsupported::Encoding);
        }
        self.storage_type().ok_or(Unsupported::Dtype)
    }

    /// It takes a copy, so that the component need not have an address where all is well.
    #[cold]
    fn unsupported(self, what: Unsupported) -> Error {
        Error::new(what, self.extent().offset()).at(self.place())
    }
}

impl<'d> View<'d> {
    pub(crate) fn new(bytes: &'d [u8], kind: Kind, verified: Verified) -> Self {
        Self { bytes, kind, verified: Some(verified) }
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Some of its storage elements: those at the positions `range`, if all are there.
    pub(crate) fn part(&self, range: Range<usize>) -> Option<Self> {
        let width = usize::from(self.kind.storage.width());
        let start = range.start.checked_mul(width)?;
        let bytes = self.bytes.get(start..range.end.checked_mul(width)?)?;
        let offset = self.kind.offset.and_then(|offset| offset.checked_add(u64_from_usize(start)));
        Some(Self { bytes, kind: Kind { offset, ..self.kind }, ..*self })
    }

    /// The bytes of the elements, in the order that [`byte_order`](Self::byte_order) says.
    pub fn as_bytes(&self) -> &'d [u8] {
        self.bytes
    }

    /// How the elements are stored.
    pub fn storage_type(&self) -> StorageType {
        self.kind.storage
    }

    /// What the elements mean, where that is more than their storage type and is known. Where the
    /// `type` of a 1.1 component is not known, it is what its dtype says.
    pub fn logical_type(&self) -> Option<LogicalType> {
        self.kind.logical.known
    }

    /// What reading all of the component has shown of its digest. None where the bytes were
    /// bound where they lie, and so have not been read.
    pub fn verified(&self) -> Option<Verified> {
        self.verified
    }

    /// The order of the bytes of an element.
    pub fn byte_order(&self) -> ByteOrder {
        self.kind.order
    }

    /// The number of storage elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / NonZeroUsize::from(self.kind.storage.divisor())
    }

    /// Whether it holds `count` logical elements, as far as the logical type is known.
    pub(crate) fn may_hold(&self, count: usize) -> bool {
        let Kind { logical, .. } = self.kind;
        if logical.is_packed() {
            return count.div_ceil(2) == self.len();
        }
        logical.unknown || count.checked_mul(usize::from(logical.ratio())) == Some(self.len())
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The elements as native ones, borrowed.
    ///
    /// # Errors
    /// What is in the way: [`Misuse::Type`], [`Misuse::ByteOrder`], [`Misuse::Size`] (a 0.1 entry
    /// of unknown layout may hold part of an element), [`Misuse::Alignment`]; `bool-value` where a bool is neither 0 nor 1 (in 0.1, where any byte is allowed,
    /// [`Misuse::BoolBytes`]).
    pub fn as_slice<T: Element>(&self) -> Result<&'d [T], Error> {
        self.checked::<T>()?;
        if self.bytes.is_empty() {
            return Ok(&[]);
        }
        if self.kind.storage.width() > 1 && self.kind.order != ByteOrder::NATIVE {
            return Err(Error::misuse(Misuse::ByteOrder).at(self.kind.place));
        }
        T::native(self.bytes).ok_or_else(|| {
            let why = match self.bytes.len().checked_rem(size_of::<T>()) {
                _ if self.kind.storage == StorageType::Bool => Misuse::BoolBytes,
                Some(0) => Misuse::Alignment,
                _ => Misuse::Size,
            };
            Error::misuse(why).at(self.kind.place)
        })
    }

    /// The elements, read one by one where they lie, whatever their alignment and byte order.
    ///
    /// # Errors
    /// [`Misuse::Type`]; `bool-value` where a 1.x bool is neither 0 nor 1.
    pub fn elements<T: Element>(&self) -> Result<Elements<'d, T>, Error> {
        self.checked::<T>()?;
        Ok(Elements::over(self.bytes, self.kind.order))
    }

    /// The elements, of which there is one for each of `count` entries.
    ///
    /// Of a logical type that is not known, storage elements will do if there are as many: each
    /// entry then has one, whatever it means.
    pub(crate) fn one_each<T: Element>(&self, count: usize) -> Result<Elements<'d, T>, Error> {
        let elements = self.elements()?;
        if elements.len() == count {
            return Ok(elements);
        }
        Err(self.kind.mismatch(T::DTYPE, T::LOGICAL))
    }

    /// The elements, copied.
    ///
    /// # Errors
    /// As [`elements`](Self::elements); [`OutOfMemory`].
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        let elements = self.elements::<T>()?;
        let mut vec = Vec::new();
        let memory = Error::from(OutOfMemory).at(self.kind.place);
        vec.try_reserve_exact(elements.len()).map_err(|_| memory)?;
        vec.extend(elements);
        Ok(vec)
    }

    /// The first `count` elements of `f4_e2m1`, unpacked one by one from the nibbles where they lie,
    /// low ones first: v2 appendix A. [`Component::packed_elements`] says how many there are.
    ///
    /// # Errors
    /// [`Misuse::Type`] where they are of another type; [`Misuse::Size`] where they are fewer;
    /// `nibble-value` where a byte has a high nibble that is no element, and it is not 0.
    pub fn nibbles(&self, count: usize) -> Result<Nibbles<'d>, Error> {
        let misuse = |misuse| Error::misuse(misuse).at(self.kind.place);
        if !self.kind.logical.is_packed() {
            return Err(self.kind.mismatch(StorageType::U8, Some(LogicalType::F4E2M1)));
        }
        let bytes = self.bytes.get(..count.div_ceil(2)).ok_or(misuse(Misuse::Size))?;
        let odd = count & 1 == 1 && bytes.len() == self.bytes.len();
        if let (true, Some(last @ 16..)) = (odd, bytes.last().copied()) {
            let within = u64_from_usize(bytes.len()).saturating_sub(1);
            let error = match self.kind.offset {
                Some(offset) => Error::new(Rule::NibbleValue, offset.saturating_add(within)),
                None => Error::nowhere(Rule::NibbleValue),
            };
            return Err(error.found(last.into()).at(self.kind.place));
        }
        Ok(Nibbles::first(bytes, count))
    }

    /// Checks that the elements are of type `T`, and valid ones.
    fn checked<T: Element>(&self) -> Result<(), Error> {
        self.kind.is_of::<T>()?;
        if let Some(rule) = self.kind.bool_value
            && self.kind.storage == StorageType::Bool
        {
            let checked = validate_bools(self.bytes, self.kind.offset, rule);
            checked.map_err(|error| error.at(self.kind.place))?;
        }
        Ok(())
    }
}

/// A dense object: its shape and its one component.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a> {
    data: Component<'a>,
}

impl<'a> Object<'a> {
    /// The object as a dense array.
    ///
    /// # Errors
    /// [`Misuse::Format`] where it is of another format; `unsupported-layout` where a 0.1 layout
    /// is not known.
    #[inline]
    pub fn dense(&self) -> Result<Dense<'a>, Error> {
        let data = match self.format() {
            // Each has it, so that where there is one component, it is that.
            Format::Dense => self.only_component().or_else(|| self.component("data")),
            _ => None,
        };
        match data {
            Some(data) => Ok(Dense { data }),
            None => Err(self.other_format()),
        }
    }

    /// The reason why the object cannot be read as the layout that was asked for.
    pub(super) fn other_format(&self) -> Error {
        let first = self.components().next();
        let place = first.as_ref().map(Component::place).unwrap_or_default();
        match (self.format(), first) {
            (Format::Unknown, Some(first)) => match self.dialect().unknown_format {
                Some(why) => Error::new(why, first.extent().offset()).at(place),
                None => Error::misuse(Misuse::Format).at(place),
            },
            _ => Error::misuse(Misuse::Format).at(place),
        }
    }
}

impl<'a> Dense<'a> {
    /// The dimensions, outermost first.
    pub fn shape(&self) -> Shape<'a> {
        self.data.object().shape()
    }

    /// The component that holds the elements.
    pub fn component(&self) -> Component<'a> {
        self.data
    }

    /// The elements where they lie in the file. For objects of an [`Archive`](crate::Archive),
    /// which holds that file. The view has `product(shape)` elements, times the ratio of a complex
    /// type. [`to_cow`](Self::to_cow) also takes what is compressed or not aligned.
    ///
    /// # Errors
    /// The errors of [`Component::view`].
    pub fn view(&self) -> Result<View<'a>, Error> {
        self.data.view()
    }

    /// Binds the array to the file it is in, all of whose bytes are in `file`. The view has
    /// `product(shape)` elements, times the ratio of a complex type.
    ///
    /// # Errors
    /// The errors of [`Component::bind`].
    #[inline]
    pub fn bind<'d>(&self, file: &'d [u8]) -> Result<View<'d>, Error> {
        self.data.bind(file)
    }
}
