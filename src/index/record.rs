//! The records of objects and components that parsers of all formats create.

use core::num::NonZeroU8;

use super::{Encoding, Facts, Layout, RecordField, Role, ShapeSpan, Span};
use crate::element::{LogicalType, Negation, StorageType};
use crate::error::{Described, ErrorKind};
use crate::rules::{Row, Rule};

/// What the index stores of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectRecord {
    pub(crate) name: Span,
    /// The span of the CBOR map of the object's attributes.
    pub(crate) attributes: Span,
    pub(crate) shape: ShapeSpan,
    /// The ordinal of the object's first component among the components of all objects.
    pub(crate) first: u32,
    /// The number of the object's components.
    pub(crate) count: u32,
    /// The offset of the object's name in the manifest; in 0.1, the offset of the object's map. In other formats, the
    /// offset of the object's description: [`RawObject::source_offset`](super::RawObject::source_offset).
    pub(crate) source_offset: u32,
    pub(crate) layout: Layout,
}

/// The logical type of elements, which may be unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Logical {
    /// The logical type that the `type` field names, or that a dtype of 1.1 or of another format implies.
    pub(crate) known: Option<LogicalType>,
    /// Whether the component has a `type` field with an unknown name.
    pub(crate) unknown: bool,
}

impl Logical {
    /// Elements without a logical type.
    pub(crate) const NONE: Self = Self { known: None, unknown: false };

    /// Creates the description of elements with the logical type `logical`.
    pub(crate) const fn known(logical: LogicalType) -> Self {
        Self { known: Some(logical), unknown: false }
    }

    /// Describes, for error messages, the elements whose size [`unit`](Self::unit) returns.
    pub(crate) fn described(self, storage: StorageType) -> Described {
        Described::new(storage, self.known, false)
    }

    /// Returns the size in bytes of a logical element, or of a storage element if no logical type is known. For `f4_e2m1`, this
    /// is the size of the byte that two elements share. The size of a component must be a multiple of this size.
    #[inline]
    pub(crate) fn unit(self, storage: StorageType) -> u8 {
        storage.width().wrapping_mul(self.ratio())
    }

    /// Returns the number of storage elements in a [unit](Self::unit).
    #[inline]
    pub(crate) fn ratio(self) -> u8 {
        self.known.map_or(1, LogicalType::ratio)
    }

    /// Returns the size in bytes of a logical element that is stored as `storage`: v1.2 §2. Returns `None` for unknown
    /// types and for elements that share a byte.
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

/// The arrangement of the elements of an array in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// Elements follow each other, and the last index varies fastest.
    RowMajor,
    /// Elements follow each other, and the first index varies fastest.
    ColumnMajor,
    /// Elements are placed by strides, which are among the [`Details`] of the component.
    Strided,
    /// Elements are a [`RecordField`] of records, which is among the [`SpecialElements`] of the index.
    InRecords,
}

impl Arrangement {
    /// Returns whether the blob may have other bytes than those of the elements, so that its size does not tell the
    /// size of the elements.
    #[inline]
    pub(crate) fn has_gaps(self) -> bool {
        matches!(self, Self::Strided | Self::InRecords)
    }
}

/// The byte order and the arrangement of elements, packed into one byte, because records of components have no second
/// byte to spare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElementOrder(u8);

impl ElementOrder {
    const BIG: u8 = 1;
    const COLUMN_MAJOR: u8 = 2;
    const STRIDED: u8 = 4;
    const IN_RECORDS: u8 = 8;
    const BLOCKS: u8 = 16;
    const NEGATED: u8 = 32;
    const NEGATED_IMAGINARY: u8 = 64;

    /// The order of big-endian [blocks](crate::element::BlockFields) in row-major order.
    pub(crate) const BIG_BLOCKS: Self = Self(Self::BIG | Self::BLOCKS);

    #[inline]
    pub(crate) const fn new(is_big: bool, arrangement: Arrangement) -> Self {
        let big = if is_big { Self::BIG } else { 0 };
        Self(match arrangement {
            Arrangement::RowMajor => big,
            Arrangement::ColumnMajor => big | Self::COLUMN_MAJOR,
            Arrangement::Strided => big | Self::STRIDED,
            Arrangement::InRecords => big | Self::IN_RECORDS,
        })
    }

    /// Returns this order for elements whose signs are changed by `negation`.
    pub(crate) fn negated(self, negation: Negation) -> Self {
        let real = if negation.real { Self::NEGATED } else { 0 };
        let imaginary = if negation.imaginary { Self::NEGATED_IMAGINARY } else { 0 };
        Self(self.0 | real | imaginary)
    }

    /// Returns the parts of the elements whose sign is the opposite of the stored one.
    #[inline]
    pub(crate) fn negation(self) -> Negation {
        Negation {
            real: self.0 & Self::NEGATED != 0,
            imaginary: self.0 & Self::NEGATED_IMAGINARY != 0,
        }
    }

    #[inline]
    pub(crate) fn is_big(self) -> bool {
        self.0 & Self::BIG != 0
    }

    /// Returns whether the elements are big-endian [blocks](crate::element::BlockFields).
    #[inline]
    pub(crate) fn is_big_blocks(self) -> bool {
        self == Self::BIG_BLOCKS
    }

    /// Returns whether the elements lie in row-major order without gaps, have the signs that are stored, and are not big-endian
    /// blocks.
    #[inline]
    fn is_plain(self) -> bool {
        self.0 & !Self::BIG == 0
    }

    #[inline]
    pub(crate) fn arrangement(self) -> Arrangement {
        match self.0 & (Self::COLUMN_MAJOR | Self::STRIDED | Self::IN_RECORDS) {
            0 => Arrangement::RowMajor,
            Self::COLUMN_MAJOR => Arrangement::ColumnMajor,
            Self::STRIDED => Arrangement::Strided,
            _ => Arrangement::InRecords,
        }
    }
}

/// What the index stores of a component.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComponentRecord {
    pub(crate) extent: Extent,
    /// The decoded length in bytes, if `has_decoded`; otherwise 0.
    pub(crate) decoded: u64,
    pub(crate) has_decoded: bool,
    /// The span of the digest, a text; missing in formats other than zTensor.
    pub(crate) digest: Span,
    /// The ordinal of the file that holds the blob, or [`FILE_OF_HEADER`](Self::FILE_OF_HEADER).
    pub(crate) file: u32,
    /// The offset of the component's role in the manifest; in 0.1, the offset of the object's map. In other formats,
    /// the `source_offset` of the object.
    pub(crate) source_offset: u32,
    /// The ordinal of the component's [`Details`], or [`NO_DETAILS`](Self::NO_DETAILS).
    pub(crate) details: u32,
    /// The role, or `None` for a role that no layout defines. The [`Details`] then hold the role's name.
    pub(crate) role: Option<Role>,
    /// The storage type; `None` for an unknown dtype of 0.1, and in other formats for elements that are not handed out.
    pub(crate) storage: Option<StorageType>,
    pub(crate) logical: Logical,
    /// Whether the component has a `type` field that says more than the dtype.
    pub(crate) has_type: bool,
    pub(crate) encoding: Encoding,
    pub(crate) order: ElementOrder,
}

/// The fields that few components have. They are stored outside the component records, which keeps the records small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Details {
    /// The name of a role that no layout gives a meaning.
    pub(crate) role: Span,
    /// The name of an unknown type: of the dtype if the storage type is unknown, and otherwise of the `type`.
    pub(crate) type_name: Span,
    /// The name of an unknown encoding.
    pub(crate) encoding_name: Span,
    /// The strides in elements, outermost dimension first, of strided elements.
    pub(crate) strides: ShapeSpan,
    /// The number of bytes before the content that the checksum also covers.
    pub(crate) prefix: u64,
    /// The CRC-32 of `checksum_range`, or of the prefix and the content if that range is empty.
    pub(crate) checksum: Option<u32>,
    /// The start and the end of the file range that the checksum covers. If they are equal, the checksum covers the
    /// prefix and the content.
    pub(crate) checksum_range: [u64; 2],
}

/// The elements of a component that are not plain numbers of a known type, in formats other than zTensor. Few components have
/// such elements, so the index keeps them in a list of their own and not in the [`Details`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum SpecialElements {
    /// Opaque elements: the size of an element in bytes.
    Opaque(u64),
    /// Elements that are not handed out: the rule that says why.
    Unread(&'static Row),
    /// Elements that are a field of the records in the blob.
    InRecords(RecordField),
}

impl Details {
    /// No details.
    pub(crate) const NONE: Self = Self {
        role: Span::NONE,
        type_name: Span::NONE,
        encoding_name: Span::NONE,
        strides: ShapeSpan::EMPTY,
        prefix: 0,
        checksum: None,
        checksum_range: [0; 2],
    };
}

/// The field of a component's description that breaks a rule. The offset of an error is the offset of this field in the
/// header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    /// The component itself.
    Component,
    Offset,
    /// The field that gives the stored length.
    Length,
    /// The field that gives the decoded length.
    Decoded,
    /// The field that gives the decoded length, if the component is compressed and has that field; otherwise the field
    /// that gives the stored length.
    Size,
    Dtype,
    /// The `type`, or the dtype if there is no `type`.
    Type,
    ByteOrder,
}

/// A rule that a component breaks, whatever its object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComponentFault {
    pub(crate) kind: ErrorKind,
    pub(crate) site: Site,
    /// The number in the file that breaks the rule, which the error message shows.
    pub(crate) found: u64,
}

#[cold]
#[inline(never)]
fn broken(kind: Rule, site: Site, found: u64) -> ComponentFault {
    ComponentFault { kind: kind.into(), site, found }
}

impl ComponentRecord {
    /// The `file` of a component whose blob is in the file of the header.
    pub(crate) const FILE_OF_HEADER: u32 = u32::MAX;
    /// The `details` of a component that has none.
    pub(crate) const NO_DETAILS: u32 = u32::MAX;

    /// Creates the record of raw bytes at `extent`, without a role and a logical type.
    pub(crate) fn raw(extent: Extent) -> Self {
        Self {
            extent,
            decoded: 0,
            has_decoded: false,
            digest: Span::NONE,
            file: Self::FILE_OF_HEADER,
            source_offset: 0,
            details: Self::NO_DETAILS,
            role: None,
            storage: Some(StorageType::U8),
            logical: Logical::NONE,
            has_type: false,
            encoding: Encoding::Raw,
            order: ElementOrder::new(false, Arrangement::RowMajor),
        }
    }

    /// Checks the component without regard to its object. Its blob must end at or before `most`: v0.1 §3.2, v1.1 I.2
    /// and IV.2, v1.2 §2, §4 and §5, v2 §2.4 and §4.2. If `needs_decoded_length`, a compressed component must give its
    /// decoded size.
    #[inline(always)]
    pub(crate) fn check(
        &self,
        facts: Facts,
        needs_decoded_length: bool,
        most: u64,
    ) -> Result<(), ComponentFault> {
        if let Logical { known: Some(logical), unknown: false } = self.logical
            && self.has_type
            && self.storage != Some(logical.storage())
        {
            return Err(broken(Rule::LogicalTypeStorage, Site::Type, 0));
        }
        let (offset, length) = (self.extent.offset(), self.extent.length());
        if offset & facts.alignment.wrapping_sub(1) != 0 {
            return Err(broken(Rule::BlobAlignment, Site::Offset, offset));
        }
        if offset == 0 && facts.has_magic && (length > 0 || facts.shares_blobs) {
            return Err(broken(Rule::BlobHeader, Site::Offset, 0));
        }
        if offset.checked_add(length).is_none_or(|end| end > most) {
            return Err(broken(Rule::BlobBounds, Site::Length, length));
        }
        match self.encoding {
            Encoding::Raw
                if self.has_decoded
                    && !self.order.arrangement().has_gaps()
                    && self.decoded != length =>
            {
                return Err(broken(Rule::DecodedLengthRaw, Site::Decoded, self.decoded));
            }
            Encoding::Zstd | Encoding::Deflate | Encoding::Latin1
                if !self.has_decoded && needs_decoded_length =>
            {
                return Err(broken(Rule::DecodedLengthMissing, Site::Component, 0));
            }
            _ => {}
        }
        if let (Some(bytes), true) = (self.size(), facts.whole_elements) {
            let unit = self.storage.map_or(1, |storage| self.logical.unit(storage));
            if bytes & u64::from(unit.wrapping_sub(1)) != 0 {
                let element = self.storage.map(|storage| self.logical.described(storage));
                let found = element.map_or(bytes, |element| element.beside(bytes));
                return Err(broken(Rule::WholeElements, self.resolved(Site::Size), found));
            }
        }
        if self.encoding == Encoding::Zstd && self.order.is_big() {
            return Err(broken(Rule::EndiannessCompressed, Site::ByteOrder, 0));
        }
        Ok(())
    }

    /// Returns the field that `site` means in this component. `Size` and `Type` become a field that the component has.
    #[cold]
    pub(crate) fn resolved(&self, site: Site) -> Site {
        match site {
            Site::Size if self.has_decoded && self.encoding != Encoding::Raw => Site::Decoded,
            Site::Size => Site::Length,
            Site::Type if !self.has_type => Site::Dtype,
            site => site,
        }
    }

    /// Returns whether the blob holds the elements uncompressed, one after the other in row-major order. Big-endian blocks are not
    /// raw: a user who borrowed their bytes would take the scales for little-endian floats.
    #[inline]
    pub(crate) fn is_raw(&self) -> bool {
        self.encoding == Encoding::Raw && self.order.is_plain()
    }

    /// Returns whether the component has details.
    pub(crate) fn has_details(&self) -> bool {
        self.details != Self::NO_DETAILS
    }

    /// Returns whether the blob is in another file than the header.
    #[inline]
    pub(crate) fn in_shard(&self) -> bool {
        self.file != Self::FILE_OF_HEADER
    }

    /// Returns whether the component is a field of records. Its blob is that of another component, which holds the whole
    /// records, so the checks of overlaps ignore the blob of the field.
    #[inline]
    pub(crate) fn shares_records(&self) -> bool {
        self.order.arrangement() == Arrangement::InRecords
    }

    /// Returns the decoded size in bytes, if the header gives it.
    #[inline]
    pub(crate) fn size(&self) -> Option<u64> {
        if self.encoding == Encoding::Raw && !self.order.arrangement().has_gaps() {
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

/// The range of a blob in its file. In 0.1 and 1.x, the range starts at a multiple of 64 and ends before the manifest. In
/// generation 2, the range starts at a multiple of 4096 and ends before the footer. In other formats, it may start at any offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    offset: u64,
    length: u64,
}

impl Extent {
    /// Returns the range of a part of a blob, which may start at any offset.
    pub(crate) fn part(offset: u64, length: u64) -> Self {
        Self { offset, length }
    }

    /// Returns the offset of the first byte in the file: a multiple of 64 in 0.1 and 1.x, of 4096 in generation 2, and any offset
    /// in other formats.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of stored bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the offset after the last byte.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }

    /// Returns the byte range of the file in which the blob lies.
    pub fn range(&self) -> core::ops::Range<u64> {
        self.offset..self.end()
    }
}

/// What the index stores of another file that holds blobs: of a shard or a sibling file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShardRecord {
    pub(crate) name: Span,
    /// The span of the digest, a text; missing in formats other than zTensor.
    pub(crate) digest: Span,
    /// The offset in the manifest of the name of the shard.
    pub(crate) source_offset: u32,
    /// The size in bytes of the shard or sibling file.
    pub(crate) size: u64,
}

impl ShardRecord {
    /// Returns the offset before which all blobs of the shard must end.
    pub(crate) fn blobs_end(&self) -> u64 {
        /// The size in bytes of a shard's footer.
        const FOOTER: u64 = 40;
        // Only shards of zTensor files end with a footer, and only these have a digest in the root file.
        if self.digest.is_none() { self.size } else { self.size.saturating_sub(FOOTER) }
    }
}

#[cfg(test)]
mod tests {
    use super::{ComponentRecord, ObjectRecord};

    /// Checks that the records of an ordinary object take 96 bytes, as `docs/limits.md` says.
    #[test]
    fn records_are_small() {
        assert_eq!((size_of::<ObjectRecord>(), size_of::<ComponentRecord>()), (40, 56));
    }
}
