//! The records of objects and components that parsers of all formats create, with shapes and the places of fields.

use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU8;

use super::{Dialect, Encoding, Facts, Layout, Role};
use crate::cbor::{BytesLeft, Fault, Input, uint};
use crate::element::{LogicalType, StorageType};
use crate::error::{Described, OutOfMemory};
use crate::num::{len_u32, product, usize_from_u32};
use crate::rules::Rule;

/// The type of a component's elements, and the places of its fields in the manifest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dtype {
    pub(crate) bytes_left: BytesLeft,
    /// The storage type; `None` for an unknown dtype of 0.1.
    pub(crate) storage: Option<StorageType>,
    pub(crate) logical: Logical,
    /// The place of `type`, if that field adds to `dtype`.
    pub(crate) type_bytes_left: Option<BytesLeft>,
    /// Whether the dtype itself (of 1.1) stands for a logical type, which a `type` must not change.
    pub(crate) implied: bool,
}

/// The logical type of elements, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Logical {
    /// The logical type that `type` names, or that a dtype of 1.1 stands for.
    pub(crate) known: Option<LogicalType>,
    /// Whether there is an unknown `type`.
    pub(crate) unknown: bool,
}

impl Logical {
    /// Elements without a logical type.
    pub(crate) const NONE: Self = Self { known: None, unknown: false };

    /// Creates the meaning of elements of a known logical type.
    pub(crate) const fn known(logical: LogicalType) -> Self {
        Self { known: Some(logical), unknown: false }
    }

    /// Returns the type, for errors, of the elements whose size [`unit`](Self::unit) returns.
    pub(crate) fn described(self, storage: StorageType) -> Described {
        Described::new(storage, self.known, false)
    }

    /// Returns the unit in bytes of which a component holds a whole number: a logical element, or an element of the
    /// dtype if the `type` is unknown.
    #[inline]
    pub(crate) fn unit(self, storage: StorageType) -> u8 {
        storage.width().wrapping_mul(self.ratio())
    }

    /// Returns the number of storage elements in a [unit](Self::unit).
    #[inline]
    pub(crate) fn ratio(self) -> u8 {
        self.known.map_or(1, LogicalType::ratio)
    }

    /// Returns the size in bytes of a logical element on `storage`, if the type is known: v1.2 §2. Returns `None` for
    /// elements that share a byte.
    #[inline]
    pub(crate) fn element_size(self, storage: StorageType) -> Option<NonZeroU8> {
        if self.unknown || self.is_packed() { None } else { NonZeroU8::new(self.unit(storage)) }
    }

    /// Returns whether two elements share a byte: v2 appendix A.
    #[inline]
    pub(crate) fn is_packed(self) -> bool {
        self.known == Some(LogicalType::F4E2M1)
    }
}

/// The fields of a component as the manifest spells them, and their places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawComponent {
    /// The place of the role; in 0.1, of the entry.
    pub(crate) at: BytesLeft,
    /// The place of the component's map.
    pub(crate) map: BytesLeft,
    /// The role, if it is a known one.
    pub(crate) role: Option<Role>,
    pub(crate) dtype: Dtype,
    pub(crate) offset: Uint,
    pub(crate) length: Uint,
    pub(crate) decoded: Option<Uint>,
    pub(crate) encoding: Encoding,
    /// The place of the digest, if there is one.
    pub(crate) digest: Option<BytesLeft>,
    /// The place of the field that declares the data big-endian, if there is one.
    pub(crate) big_endian: Option<BytesLeft>,
    /// The place of the shard's name, if the component is in a shard.
    pub(crate) shard: Option<BytesLeft>,
}

impl RawComponent {
    /// Checks that the storage type of a known `type` is the dtype: v1.2 §2, v2 §4.2.
    #[inline]
    pub(super) fn check_type(&self) -> Result<(), Fault> {
        let dtype = &self.dtype;
        if let (Logical { known: Some(logical), unknown: false }, Some(bytes_left)) =
            (dtype.logical, dtype.type_bytes_left)
            && (dtype.implied || dtype.storage != Some(logical.storage()))
        {
            return Err(Fault::new(Rule::LogicalTypeStorage, bytes_left));
        }
        Ok(())
    }

    /// Checks the lengths of the component, whose blob lies at `extent`, and returns its record.
    #[inline(always)]
    pub(crate) fn record(
        &self,
        dialect: &Dialect,
        facts: Facts,
        extent: Extent,
    ) -> Result<ComponentRecord, Fault> {
        let dtype = &self.dtype;
        let width = dtype.storage.map_or(1, StorageType::width);
        let unknown_type = if dtype.storage.is_none() {
            Some(dtype.bytes_left)
        } else {
            dtype.type_bytes_left.filter(|_| dtype.logical.unknown)
        };
        let record = ComponentRecord {
            extent,
            decoded: self.decoded.map_or(0, |decoded| decoded.value),
            has_decoded: self.decoded.is_some(),
            at: self.at,
            digest: self.digest.unwrap_or(BytesLeft::END),
            shard: self.shard.unwrap_or(BytesLeft::END),
            type_name: unknown_type.unwrap_or(BytesLeft::END),
            role: self.role,
            storage: dtype.storage,
            logical: dtype.logical,
            has_type: dtype.type_bytes_left.is_some(),
            encoding: self.encoding,
            order: ElementOrder::new(self.big_endian.is_some() && width > 1, Arrangement::RowMajor),
        };
        self.check_size(&record, dialect, facts)?;
        if let (Some(bytes_left), Encoding::Zstd, 2..) = (self.big_endian, self.encoding, width) {
            return Err(Fault::new(Rule::EndiannessCompressed, bytes_left));
        }
        Ok(record)
    }

    /// Returns the range of the blob, in a file whose blobs end at `most`: v0.1 §3.2, v1.1 I.2 and IV.2,
    /// v1.2 §4 and §5, v2 §2.4.
    #[inline]
    pub(crate) fn extent(&self, facts: Facts, most: u64) -> Result<Extent, Fault> {
        let (offset, length) = (self.offset.value, self.length.value);
        if offset & facts.alignment.wrapping_sub(1) != 0 {
            return Err(Fault::with(Rule::BlobAlignment, self.offset.bytes_left, offset));
        }
        if offset == 0 && (length > 0 || facts.shares_blobs) {
            return Err(Fault::new(Rule::BlobHeader, self.offset.bytes_left));
        }
        Extent::within(offset, length, most)
            .ok_or_else(|| Fault::with(Rule::BlobBounds, self.length.bytes_left, length))
    }

    /// Checks the decoded length, as far as the manifest gives it.
    #[inline]
    fn check_size(
        &self,
        record: &ComponentRecord,
        dialect: &Dialect,
        facts: Facts,
    ) -> Result<(), Fault> {
        let at = match (self.encoding, self.decoded) {
            (Encoding::Raw, Some(decoded)) if decoded.value != self.length.value => {
                let Uint { bytes_left, value } = decoded;
                return Err(Fault::with(Rule::DecodedLengthRaw, bytes_left, value));
            }
            (Encoding::Zstd, None) if dialect.needs_decoded_length => {
                return Err(Fault::new(Rule::DecodedLengthMissing, self.map));
            }
            (Encoding::Raw, _) | (_, None) => self.length.bytes_left,
            (_, Some(decoded)) => decoded.bytes_left,
        };
        if let (Some(bytes), true) = (record.size(), facts.whole_elements) {
            let unit = record.storage.map_or(1, |storage| record.logical.unit(storage));
            if bytes & u64::from(unit.wrapping_sub(1)) != 0 {
                let element = record.storage.map(|storage| record.logical.described(storage));
                let found = element.map_or(bytes, |element| element.beside(bytes));
                return Err(Fault::with(Rule::WholeElements, at, found));
            }
        }
        Ok(())
    }
}

/// The arrangement of the elements of an array in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// Elements follow each other, and the last index varies fastest.
    RowMajor,
    /// Elements follow each other, and the first index varies fastest.
    ColumnMajor,
    /// Elements are placed by strides, which are among the [numbers](ComponentRecord::digest) of the component.
    Strided,
}

/// The byte order and the arrangement of elements, packed into one byte, because records of components have no second
/// byte to spare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElementOrder(u8);

impl ElementOrder {
    const BIG: u8 = 1;
    const COLUMN_MAJOR: u8 = 2;
    const STRIDED: u8 = 4;

    #[inline]
    pub(crate) const fn new(is_big: bool, arrangement: Arrangement) -> Self {
        let big = if is_big { Self::BIG } else { 0 };
        Self(match arrangement {
            Arrangement::RowMajor => big,
            Arrangement::ColumnMajor => big | Self::COLUMN_MAJOR,
            Arrangement::Strided => big | Self::STRIDED,
        })
    }

    #[inline]
    pub(crate) fn is_big(self) -> bool {
        self.0 & Self::BIG != 0
    }

    #[inline]
    pub(crate) fn arrangement(self) -> Arrangement {
        match self.0 & !Self::BIG {
            0 => Arrangement::RowMajor,
            Self::COLUMN_MAJOR => Arrangement::ColumnMajor,
            _ => Arrangement::Strided,
        }
    }
}

/// The record of a component. [`BytesLeft::END`] is the place of a missing field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComponentRecord {
    pub(crate) extent: Extent,
    /// The decoded length in bytes, if `has_decoded`; otherwise 0.
    pub(crate) decoded: u64,
    pub(crate) has_decoded: bool,
    /// The place of the role; in 0.1, of the entry, which is the component's map.
    pub(crate) at: BytesLeft,
    /// The place of the digest, a text. In other formats the place of four numbers: the number of bytes in front of the
    /// content that the CRC-32 also covers; the CRC-32, or [`NO_CHECKSUM`](Self::NO_CHECKSUM); and the start and end of
    /// the file range that the CRC-32 covers instead, which are equal if there is none. The strides follow, if elements
    /// are strided.
    pub(crate) digest: BytesLeft,
    /// The place of the shard's name, a text.
    pub(crate) shard: BytesLeft,
    /// The place of the name of an unknown type: of the dtype if [`storage`](Self::storage) is `None`, and otherwise of
    /// the `type`.
    pub(crate) type_name: BytesLeft,
    /// The role, if some layout gives it a meaning.
    pub(crate) role: Option<Role>,
    /// The storage type; `None` for an unknown dtype of 0.1.
    pub(crate) storage: Option<StorageType>,
    pub(crate) logical: Logical,
    /// Whether there is a `type` that adds to the dtype.
    pub(crate) has_type: bool,
    pub(crate) encoding: Encoding,
    pub(crate) order: ElementOrder,
}

impl ComponentRecord {
    /// The number that stands for a missing CRC-32.
    pub(crate) const NO_CHECKSUM: u64 = u64::MAX;

    /// Creates the record of raw bytes at `extent`, without a role and a logical type.
    pub(crate) fn raw(extent: Extent) -> Self {
        Self {
            extent,
            decoded: 0,
            has_decoded: false,
            at: BytesLeft::END,
            digest: BytesLeft::END,
            shard: BytesLeft::END,
            type_name: BytesLeft::END,
            role: None,
            storage: Some(StorageType::U8),
            logical: Logical::NONE,
            has_type: false,
            encoding: Encoding::Raw,
            order: ElementOrder::new(false, Arrangement::RowMajor),
        }
    }

    /// Returns whether the blob is the elements in row-major order, one after the other.
    #[inline]
    pub(crate) fn is_raw(&self) -> bool {
        self.encoding == Encoding::Raw && self.order.arrangement() == Arrangement::RowMajor
    }

    /// Returns whether the blob is in a shard.
    #[inline]
    pub(crate) fn in_shard(&self) -> bool {
        self.shard != BytesLeft::END
    }

    /// Returns the decoded size in bytes, if the manifest gives it.
    #[inline]
    pub(crate) fn size(&self) -> Option<u64> {
        if self.encoding == Encoding::Raw && self.order.arrangement() != Arrangement::Strided {
            return Some(self.extent.length());
        }
        self.has_decoded.then_some(self.decoded)
    }

    /// Returns the size in bytes of a logical element, a power of two. Returns `None` for unknown types and for
    /// elements that share a byte.
    #[inline]
    pub(crate) fn element_size(&self) -> Option<NonZeroU8> {
        self.logical.element_size(self.storage?)
    }

    /// Returns the number of logical elements, if it is known.
    pub(crate) fn count(&self) -> Option<u64> {
        Some(self.size()? >> self.element_size()?.trailing_zeros())
    }
}

impl RawObject<'_> {
    /// No object.
    pub(crate) const NONE: Self = Self {
        name: Text::NONE,
        shape: ShapeSpan::EMPTY,
        product: Product::ONE,
        layout: Layout::Unknown,
        first: 0,
        attributes: None,
        shape_at: BytesLeft::END,
        components_at: BytesLeft::END,
    };
}

/// An object as the manifest spells it. Its components are the last components that were parsed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawObject<'m> {
    pub(crate) name: Text<'m>,
    pub(crate) shape: ShapeSpan,
    pub(crate) product: Product,
    pub(crate) layout: Layout,
    /// The ordinal of the object's first component among all components.
    pub(crate) first: u32,
    /// The place of the attributes, if the object has some.
    pub(crate) attributes: Option<BytesLeft>,
    /// The places of the shape and of the components, for faults.
    pub(crate) shape_at: BytesLeft,
    pub(crate) components_at: BytesLeft,
}

/// The range of a blob in its file. In 1.x it ends before the manifest and starts at a multiple of 64; in 2 it ends
/// before the footer and starts at a multiple of 4096.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    offset: u64,
    length: u64,
}

impl Extent {
    /// Returns the range of `length` bytes from `offset` on, if it ends at or before `most`.
    #[inline]
    pub(crate) fn within(offset: u64, length: u64, most: u64) -> Option<Self> {
        let end = offset.checked_add(length)?;
        (end <= most).then_some(Self { offset, length })
    }

    /// Returns the range of a part of a blob, which may start at any offset.
    pub(crate) fn part(offset: u64, length: u64) -> Self {
        Self { offset, length }
    }

    /// Returns the offset of the first byte in the file: a multiple of 64; in 2, of 4096.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of stored bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the offset behind the last byte.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }

    /// Returns the range of the file.
    pub fn range(&self) -> core::ops::Range<u64> {
        self.offset..self.end()
    }
}

/// An unsigned integer and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uint {
    pub(crate) bytes_left: BytesLeft,
    pub(crate) value: u64,
}

impl Uint {
    /// No number.
    pub(crate) const NONE: Self = Self { bytes_left: BytesLeft::END, value: 0 };
}

/// A text, not known to be UTF-8, the place of its head, and the place behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'m> {
    pub(crate) bytes_left: BytesLeft,
    pub(crate) bytes: &'m [u8],
    pub(crate) behind: BytesLeft,
}

impl Text<'_> {
    /// No text.
    pub(crate) const NONE: Self =
        Self { bytes_left: BytesLeft::END, bytes: &[], behind: BytesLeft::END };
}

/// The record of a shard in the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShardRecord {
    /// The name, a text.
    pub(crate) name: BytesLeft,
    /// The digest, a text.
    pub(crate) digest: BytesLeft,
    pub(crate) size: u64,
}

impl ShardRecord {
    /// Returns the offset before which all blobs of the shard must end.
    pub(crate) fn blobs_end(&self) -> u64 {
        /// The size in bytes of a shard's footer.
        const FOOTER: u64 = 40;
        // Files of other formats have no footer, and no digest in the root.
        if self.digest == BytesLeft::END { self.size } else { self.size.saturating_sub(FOOTER) }
    }
}

/// The range of a shape's bytes in [`Shapes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShapeSpan {
    start: u32,
    length: u32,
}

impl ShapeSpan {
    /// The span of a shape without dimensions.
    pub(crate) const EMPTY: Self = Self { start: 0, length: 0 };
}

/// The dimensions of all shapes, as CBOR numbers one after the other. A shape that equals the previous shape is stored
/// once, so that shapes take no more bytes than in the manifest.
#[derive(Debug)]
pub(crate) struct Shapes {
    bytes: Vec<u8>,
    last: ShapeSpan,
}

impl Shapes {
    pub(crate) const fn new() -> Self {
        Self { bytes: Vec::new(), last: ShapeSpan::EMPTY }
    }

    /// Removes all shapes, and keeps the memory for further shapes.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.last = ShapeSpan::EMPTY;
    }

    /// Adds the shape whose dimensions are the CBOR numbers in `dimensions`, and returns its span.
    #[inline]
    pub(crate) fn keep(&mut self, dimensions: Input<'_>) -> Result<ShapeSpan, OutOfMemory> {
        if self.get(self.last).0 == dimensions { Ok(self.last) } else { self.append(dimensions) }
    }

    #[inline(never)]
    fn append(&mut self, dimensions: Input<'_>) -> Result<ShapeSpan, OutOfMemory> {
        self.bytes.try_reserve(dimensions.len()).map_err(|_| OutOfMemory)?;
        let (start, length) = (len_u32(self.bytes.len()), len_u32(dimensions.len()));
        self.bytes.extend_from_slice(dimensions);
        self.last = ShapeSpan { start, length };
        Ok(self.last)
    }

    /// Returns the shape at `span`.
    #[inline]
    pub(crate) fn get(&self, span: ShapeSpan) -> Shape<'_> {
        let start = usize_from_u32(span.start);
        let end = start.wrapping_add(usize_from_u32(span.length));
        Shape(self.bytes.get(start..end).unwrap_or_default())
    }

    /// Returns the size in bytes on the heap.
    pub(crate) fn heap(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns the number of bytes of all shapes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

/// The dimensions of a tensor, outermost first. A shape is used like a slice of numbers.
///
/// ```
/// let archive = zten::open("corpus/accept/1.2.3/dense_all.zt")?;
/// let shape = archive.tensor("t_f32")?.shape();
/// assert_eq!((shape.len(), shape.get(0), shape.elements()), (2, Some(2), Some(6)));
/// assert_eq!(shape, [2, 3]);
/// for dimension in shape {
///     println!("{dimension}");
/// }
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Shape<'a>(&'a [u8]);

impl<'a> Shape<'a> {
    /// Returns the number of dimensions: 0 for a scalar.
    pub fn len(&self) -> usize {
        self.iter().len()
    }

    /// Returns whether the shape has no dimensions, as that of a scalar.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of dimensions as a `u32`.
    pub(crate) fn rank(&self) -> u32 {
        len_u32(self.len())
    }

    /// Returns the dimension at index `place`, counted from 0.
    pub fn get(&self, place: usize) -> Option<u64> {
        self.iter().nth(place)
    }

    /// Returns the outermost dimension.
    pub fn first(&self) -> Option<u64> {
        self.iter().next()
    }

    /// Returns the innermost dimension.
    pub fn last(&self) -> Option<u64> {
        self.iter().last()
    }

    /// Returns an iterator over the dimensions, outermost first.
    pub fn iter(&self) -> Dimensions<'a> {
        Dimensions(self.0)
    }

    /// Copies the dimensions into a vector.
    pub fn to_vec(&self) -> Vec<u64> {
        self.iter().collect()
    }

    /// Returns the number of elements: 0 if a dimension is 0, and `None` if the number overflows.
    pub fn elements(&self) -> Option<u64> {
        Product::of(self.iter()).elements()
    }
}

impl fmt::Debug for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for Shape<'a> {
    type Item = u64;
    type IntoIter = Dimensions<'a>;

    fn into_iter(self) -> Dimensions<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Shape<'a> {
    type Item = u64;
    type IntoIter = Dimensions<'a>;

    fn into_iter(self) -> Dimensions<'a> {
        self.iter()
    }
}

impl PartialEq for Shape<'_> {
    fn eq(&self, other: &Self) -> bool {
        // CBOR can spell the same number in several ways.
        self.0 == other.0 || self.iter().eq(other.iter())
    }
}

impl Eq for Shape<'_> {}

impl<T: AsRef<[u64]> + ?Sized> PartialEq<T> for Shape<'_> {
    fn eq(&self, other: &T) -> bool {
        self.iter().eq(other.as_ref().iter().copied())
    }
}

/// An iterator over the dimensions of a [`Shape`], outermost first.
#[doc(hidden)]
#[derive(Clone)]
pub struct Dimensions<'a>(&'a [u8]);

impl<'a> Dimensions<'a> {
    /// Creates an iterator over CBOR numbers that follow each other.
    pub(crate) fn of(numbers: &'a [u8]) -> Self {
        Self(numbers)
    }
}

impl fmt::Debug for Dimensions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shape(self.0).fmt(f)
    }
}

impl Iterator for Dimensions<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let (rest, dimension) = uint(Rule::ShapeType, self.0).ok()?;
        self.0 = rest;
        Some(dimension)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let (mut left, mut rest) = (0_usize, self.0);
        while let Ok((after, _)) = uint(Rule::ShapeType, rest) {
            (left, rest) = (left.saturating_add(1), after);
        }
        (left, Some(left))
    }
}

impl ExactSizeIterator for Dimensions<'_> {}

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
    pub(crate) fn of(dimensions: impl Iterator<Item = u64>) -> Self {
        let mut product = Self::ONE;
        for dimension in dimensions {
            product.multiply(dimension);
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
    use super::{Shape, Shapes};

    #[test]
    fn shapes_are_what_was_kept() {
        let mut shapes = Shapes::new();
        let kept: [(&[u8], &[u64]); 6] = [
            (&[], &[]),
            (&[0], &[0]),
            (b"\x17\x18\x18\x19\x01\0", &[23, 24, 256]),
            (b"\x17\x18\x18\x19\x01\0", &[23, 24, 256]),
            (b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff\0", &[u64::MAX, 0]),
            (b"\x17\x18\x18\x19\x01\0", &[23, 24, 256]),
        ];
        let spans = kept.map(|(bytes, _)| shapes.keep(bytes).unwrap());
        assert_eq!(spans[2], spans[3], "equal shapes in a row are kept once");
        assert_ne!(spans[2], spans[5]);
        for (span, (_, wanted)) in spans.iter().zip(kept) {
            let shape = shapes.get(*span);
            assert_eq!(shape, wanted);
            assert_eq!((shape.len(), shape.iter().len()), (wanted.len(), wanted.len()));
            assert_eq!(shape.get(1), wanted.get(1).copied());
            let ends = (wanted.first().copied(), wanted.last().copied());
            assert_eq!((shape.first(), shape.last()), ends);
        }
        assert_eq!(Shape(b"\x17"), Shape(b"\x18\x17"), "one number, spelled in two ways");
        assert_ne!(Shape(b"\x17"), Shape(b"\x17\x17"));
    }
}
