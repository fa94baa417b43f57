//! Objects of a manifest, and their components: one blob each, and how to read it.

use core::ops::Range;

use super::ManifestRef;
use super::index::{ObjectRecord, utf8};
use super::shared_sums::SharedSum;
use crate::cbor::{Attributes, BytesLeft, Input, item, seek, uint};
use crate::codec::{Located, Source};
use crate::debug_summary::Start;
use crate::digest::Digest;
use crate::element::{ByteOrder, DType, LogicalType, StorageType};
use crate::error::{BareError, Described, Error, Location, Misuse, Named};
use crate::format::{
    Arrangement, ComponentRecord, Dialect, Dimensions, Encoding, Extent, Field, Layout, Logical,
    Role, Shape,
};
use crate::limits::Limits;
#[cfg(feature = "std")]
use crate::num::u64_from_usize;
use crate::num::{impl_display, len_u32, usize_from_u32};
use crate::rules::{Generation, Rule};

/// One tensor: a name, a shape, a format, and the components that hold its bytes.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    pub(super) parts: ManifestRef<'a>,
    ordinal: u32,
    record: &'a ObjectRecord,
}

impl<'a> Tensor<'a> {
    #[inline]
    pub(super) fn new(parts: ManifestRef<'a>, ordinal: u32, record: &'a ObjectRecord) -> Self {
        Self { parts, ordinal, record }
    }

    /// The dialect of the file.
    #[inline]
    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.parts.dialect()
    }

    /// The place in the manifest, from 0.
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// The place in the manifest.
    pub(crate) fn location(&self) -> Location {
        Location::new(Some(self.ordinal), None)
    }

    /// The error, with the names of its place in this object.
    #[cfg(feature = "std")]
    #[cold]
    pub(crate) fn named(&self, error: impl Into<Error>) -> Error {
        let error = error.into();
        let ordinal = error.location().component();
        let component = ordinal.and_then(|ordinal| self.component_at(ordinal));
        let error = match component.and_then(|component| self.dimension_of(&error, &component)) {
            Some((dimension, size)) => error.in_dimension(dimension, size),
            None => error,
        };
        error.named(&Named {
            generation: self.dialect().generation,
            tensor: Some(self.name()),
            component: component.map(|component| component.role()),
            manifest: Some(self.parts.extent()),
        })
    }

    /// Returns the dimension that an index is out of, and the size of that, where the place of the index in the file tells it.
    #[cfg(feature = "std")]
    fn dimension_of(&self, error: &Error, component: &Component<'a>) -> Option<(u64, u64)> {
        if error.kind() != Rule::IndexRange.into() {
            return None;
        }
        let dimension = match (self.layout(), component.role()) {
            (Layout::SparseCsr, "indices") => 1,
            // All indices of the first dimension come first, then those of the second.
            (Layout::SparseCoo, "coords") => {
                let within = error.offset()?.checked_sub(component.extent().offset())?;
                let bytes = component.extent().length();
                let rank = u64_from_usize(self.shape().len());
                within.checked_div(bytes.checked_div(rank)?)?
            }
            _ => return None,
        };
        let size = self.shape().into_iter().nth(usize::try_from(dimension).ok()?)?;
        Some((dimension, size))
    }

    /// The error as it is: without `std`, errors have no names, and what looks for them is not linked.
    #[cfg(not(feature = "std"))]
    #[expect(clippy::unused_self, reason = "with `std` it is used")]
    pub(crate) fn named(&self, error: impl Into<Error>) -> Error {
        error.into()
    }

    /// The name: any UTF-8, the empty string and control characters included.
    pub fn name(&self) -> &'a str {
        utf8(self.parts.records().name(self.record))
    }

    /// Returns the layout: how the components make up a tensor.
    #[inline]
    pub fn layout(&self) -> Layout {
        self.record.format
    }

    /// The format's name (the layout's in 0.1), known or not.
    pub fn layout_name(&self) -> &'a str {
        utf8(self.parts.records().layout(self.record))
    }

    /// The dimensions, outermost first. Row-major (C order): v1.1 III.1, v1.2 §3.
    #[inline]
    pub fn shape(&self) -> Shape<'a> {
        self.parts.index().shapes.get(self.record.shape)
    }

    /// The type of its elements: of the component `data`, of `values` in sparse layouts, and of `packed_weight` in
    /// quantized groups.
    pub fn dtype(&self) -> DType {
        let role = match self.layout() {
            Layout::SparseCsr | Layout::SparseCoo => "values",
            Layout::QuantizedGroup => "packed_weight",
            _ => "data",
        };
        self.component(role).map_or(DType::Unknown, |component| component.dtype())
    }

    /// The attributes; empty if it has none: v1.2 §1.
    pub fn attributes(&self) -> Attributes<'a> {
        self.own_attributes().unwrap_or_default()
    }

    /// The attributes, if it has a map of them, and be it empty: v1.2 §1. Unstable.
    #[doc(hidden)]
    pub fn own_attributes(&self) -> Option<Attributes<'a>> {
        Attributes::read(self.attributes_at()?)
    }

    /// The place of its attributes.
    fn attributes_at(&self) -> Option<Input<'a>> {
        let at = self.record.attributes;
        (at != BytesLeft::END).then(|| seek(self.parts.as_bytes(), at))
    }

    /// The attributes as the manifest spells them, where its generation has attributes.
    pub(crate) fn encoded_attributes(&self) -> Option<&'a [u8]> {
        item(self.attributes_at()?)
    }

    /// Returns whether the object has attributes, or fields that would be attributes: a 0.1 object has no
    /// other place for fields that are not in its table.
    #[cfg(feature = "write")]
    pub fn has_attributes(&self) -> bool {
        match self.dialect().object_fields {
            None => self.attributes().next().is_some(),
            Some(known) => self
                .fields()
                .is_some_and(|mut fields| fields.any(|(name, _)| !known(name.as_bytes()))),
        }
    }

    /// The attribute of that key, if it is a number.
    pub(crate) fn number(&self, attribute: Field) -> Option<u64> {
        let at = attribute.find(self.attributes_at()?)?;
        uint(Rule::AttributeType, at).ok().map(|(_, number)| number)
    }

    /// All fields of its map as the manifest spells them, unknown ones included.
    pub fn fields(&self) -> Option<Attributes<'a>> {
        Attributes::read(self.map()?)
    }

    /// The components, in the order of the manifest. A 0.1 entry has one, `data`.
    pub fn components(&self) -> impl ExactSizeIterator<Item = Component<'a>> + use<'a> {
        let object = *self;
        let components = self.records().iter().enumerate();
        components.map(move |(location, record)| object.component_of(len_u32(location), record))
    }

    /// The component at a place among them, in one step.
    pub fn component_at(&self, location: u32) -> Option<Component<'a>> {
        let record = self.records().get(usize_from_u32(location))?;
        Some(self.component_of(location, record))
    }

    /// The component, where it has one.
    #[inline]
    pub(crate) fn only_component(&self) -> Option<Component<'a>> {
        if self.record.count == 1 { self.component_at(0) } else { None }
    }

    /// The component of that role.
    pub fn component(&self, role: &str) -> Option<Component<'a>> {
        let records = self.parts.records();
        let mut components = self.records().iter().enumerate();
        let known = Role::from_name(role.as_bytes());
        let (location, record) = components.find(|(_, record)| match known {
            Some(_) => record.role == known,
            None => record.role.is_none() && records.role(record) == role.as_bytes(),
        })?;
        Some(self.component_of(len_u32(location), record))
    }

    /// The same object, whose content is read from `source`: the file, by a reference to it, or
    /// [`Files`](crate::shards::Files), if it has shards. Objects of an [`Archive`](crate::Archive) are read from that.
    #[must_use]
    pub fn read_from<'s>(&self, source: &'s dyn Source) -> Tensor<'s>
    where
        'a: 's,
    {
        Tensor { parts: self.parts.read_from(source), ordinal: self.ordinal, record: self.record }
    }

    #[inline]
    fn records(&self) -> &'a [ComponentRecord] {
        self.parts.records().components(self.record)
    }

    #[inline]
    fn component_of(&self, location: u32, record: &'a ComponentRecord) -> Component<'a> {
        let Self { parts, ordinal, record: owner } = *self;
        Component { parts, record, owner, object: ordinal, ordinal: location }
    }

    /// Returns the map of the object, if its format has one.
    pub(super) fn map(&self) -> Option<Input<'a>> {
        self.parts.records().object_map(self.record)
    }
}

impl core::fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tensor")
            .field("name", &Start(self.name()))
            .field("ordinal", &self.ordinal)
            .finish()
    }
}

/// The type of the elements of a component.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementType<'a> {
    /// The storage type alone.
    Plain(StorageType),
    /// A logical type on its storage type.
    Logical(LogicalType),
    /// A logical type that is not known, and the storage elements that can be read.
    UnknownLogical(&'a str, StorageType),
    /// A logical type that is not known, on a dtype of 1.1 that itself stands for a logical type:
    /// the elements of that can be read.
    UnknownOnLogical(&'a str, LogicalType),
    /// A 0.1 dtype that is not known: v0.1 §8.
    Unknown(&'a str),
}

impl<'a> ElementType<'a> {
    /// The name, as 1.2 spells it where it is known; where it is not, any text of the file.
    pub fn name(&self) -> &'a str {
        match self {
            Self::Plain(storage) => storage.name(),
            Self::Logical(logical) => logical.name(),
            Self::UnknownLogical(name, _)
            | Self::UnknownOnLogical(name, _)
            | Self::Unknown(name) => name,
        }
    }

    /// The storage type, if it is known.
    pub fn storage(&self) -> Option<StorageType> {
        match self {
            Self::Plain(storage) | Self::UnknownLogical(_, storage) => Some(*storage),
            Self::Logical(logical) | Self::UnknownOnLogical(_, logical) => Some(logical.storage()),
            Self::Unknown(_) => None,
        }
    }
}

impl_display! { ElementType<'_>: name; }

impl core::fmt::Debug for ElementType<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Plain(storage) => f.debug_tuple("Plain").field(storage).finish(),
            Self::Logical(logical) => f.debug_tuple("Logical").field(logical).finish(),
            Self::UnknownLogical(name, on) => {
                f.debug_tuple("UnknownLogical").field(&Start(name)).field(on).finish()
            }
            Self::UnknownOnLogical(name, on) => {
                f.debug_tuple("UnknownOnLogical").field(&Start(name)).field(on).finish()
            }
            Self::Unknown(name) => f.debug_tuple("Unknown").field(&Start(name)).finish(),
        }
    }
}

/// One blob, and how to read it: v1.1 II.3, v1.2 §1.
#[derive(Clone, Copy)]
pub struct Component<'a> {
    pub(super) parts: ManifestRef<'a>,
    pub(super) record: &'a ComponentRecord,
    /// The object that it is a component of, and its ordinal.
    pub(super) owner: &'a ObjectRecord,
    pub(super) object: u32,
    pub(super) ordinal: u32,
}

impl<'a> Component<'a> {
    /// The tensor that it is a component of.
    pub fn tensor(&self) -> Tensor<'a> {
        Tensor::new(self.parts, self.object, self.owner)
    }

    /// The role in the object: `data`, `values`, ...
    pub fn role(&self) -> &'a str {
        utf8(self.role_bytes())
    }

    /// Returns the bytes of the role, not checked as text.
    pub(crate) fn role_bytes(&self) -> &'a [u8] {
        self.parts.records().role(self.record)
    }

    /// The place in the manifest: object and component, from 0.
    #[inline]
    pub fn location(&self) -> Location {
        Location::new(Some(self.object), Some(self.ordinal))
    }

    /// The generation of zTensor that it follows; none in other formats.
    pub fn generation(&self) -> Option<Generation> {
        self.dialect().generation
    }

    /// The dialect of the file.
    #[inline]
    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.parts.dialect()
    }

    /// All bytes of the file, where they are in memory.
    #[inline]
    pub(crate) fn file(&self) -> Option<&'a [u8]> {
        self.parts.file()
    }

    /// The limits that the file was opened with.
    pub(crate) fn limits(&self) -> &'a Limits {
        self.parts.options().limit()
    }

    /// The text at a place, which has been checked.
    fn text(&self, at: BytesLeft) -> &'a str {
        utf8(self.parts.records().text(at))
    }

    /// The storage type of its elements; none if a 0.1 dtype is not known. Unstable.
    #[doc(hidden)]
    #[inline]
    pub fn storage_type(&self) -> Option<StorageType> {
        self.record.storage
    }

    /// The type of its elements.
    pub fn dtype(&self) -> DType {
        match self.element_type() {
            ElementType::Plain(storage) => storage.into(),
            ElementType::Logical(logical) => logical.into(),
            _ => DType::Unknown,
        }
    }

    /// The name of the type of its elements, as 1.2 spells it where it is known; where it is not, any text of the file.
    pub fn type_name(&self) -> &'a str {
        self.element_type().name()
    }

    /// The type of its elements, in parts. Unstable.
    #[doc(hidden)]
    pub fn element_type(&self) -> ElementType<'a> {
        let Logical { known, unknown } = self.record.logical;
        let name = || self.text(self.record.type_name);
        match (self.record.storage, known) {
            (None, _) => ElementType::Unknown(name()),
            (_, Some(dtype)) if unknown => ElementType::UnknownOnLogical(name(), dtype),
            (Some(storage), None) if unknown => ElementType::UnknownLogical(name(), storage),
            (_, Some(logical)) => ElementType::Logical(logical),
            (Some(storage), None) => ElementType::Plain(storage),
        }
    }

    /// The encoding of its bytes.
    #[inline]
    pub fn encoding(&self) -> Encoding {
        self.record.encoding
    }

    /// The name of its encoding, known or not.
    pub fn encoding_name(&self) -> &'a str {
        match self.encoding() {
            Encoding::Unknown => {
                // It is the one text that no record has a place for: it is rare.
                let map = self.parts.records().component_map(self.record);
                let field = map.and_then(|map| self.dialect().fields.encoding.find(map));
                field.map_or(Encoding::Unknown.name(), |at| self.text(BytesLeft::of(at)))
            }
            known => known.name(),
        }
    }

    /// The order of the bytes of its elements; little-endian where they have but one.
    #[inline]
    pub fn byte_order(&self) -> ByteOrder {
        if self.record.order.is_big() { ByteOrder::Big } else { ByteOrder::Little }
    }

    /// The range of its blob in the file; in another one, if it has a [`shard`](Self::shard).
    #[inline]
    pub fn extent(&self) -> Extent {
        self.record.extent
    }

    /// The range of the file that is read for its content: its blob, and the bytes around that which its checksum is over as
    /// well, as it may have in other formats.
    pub fn read_range(&self) -> Range<u64> {
        // A record that cannot be read is an error where its content is.
        let (prefix, _) = self.stream().unwrap_or_default();
        let in_front = if self.encoding() == Encoding::Raw { prefix } else { 0 };
        let Range { start, end } = self.extent().range();
        let around = self.surrounding().ok().flatten().map_or(start..end, |(range, _)| range);
        start.saturating_sub(in_front).min(around.start)..end.max(around.end)
    }

    /// The bytes when decoded: the stored ones if it is raw; if it is compressed, what
    /// `uncompressed_length` (`decoded_length` in 2) says, or what the shape asks for; none where
    /// neither tells.
    pub fn decoded_length(&self) -> Option<u64> {
        match self.encoding() {
            Encoding::Zstd => self.record.size().or_else(|| self.shaped_length()),
            _ => self.record.size(),
        }
    }

    /// The name of the other file that its blob is in (2), if it is not in this one: v2 §7.1.
    pub fn shard(&self) -> Option<&'a str> {
        self.record.in_shard().then(|| self.text(self.record.shard))
    }

    /// The same component, whose content is read from `source`, as [`Tensor::read_from`] says.
    #[must_use]
    pub fn read_from<'s>(&self, source: &'s dyn Source) -> Component<'s>
    where
        'a: 's,
    {
        Component { parts: self.parts.read_from(source), ..*self }
    }

    /// Returns whether its blob is in another file.
    #[inline]
    pub(crate) fn is_in_shard(&self) -> bool {
        self.record.in_shard()
    }

    /// Returns whether nothing is known of the files that it may be in.
    pub(crate) fn has_no_source(&self) -> bool {
        self.parts.source().is_none()
    }

    /// The file that it is in, to be read.
    pub(crate) fn located(&self) -> Result<Located<'a>, Error> {
        let source =
            self.parts.source().ok_or(BareError::misuse(Misuse::NoFile).at(self.location()))?;
        source.locate(self)
    }

    /// The bytes that layout and shape ask for.
    fn shaped_length(&self) -> Option<u64> {
        let object = self.tensor();
        let elements = match (object.layout(), Role::from_name(self.role().as_bytes())) {
            (Layout::Dense, Some(Role::Data)) => object.shape().elements()?,
            (Layout::SparseCsr, Some(Role::Indptr)) => object.shape().first()?.checked_add(1)?,
            _ => return None,
        };
        elements.checked_mul(self.element_size()?)
    }

    /// Returns whether it has a `type` that the profile of the object does not define.
    pub(crate) fn is_beyond_profile(&self) -> bool {
        self.record.is_beyond_profile(self.tensor().layout())
    }

    /// Bytes of one logical element, where its types are known: width of the storage type times
    /// the ratio of the logical one. None for `f4_e2m1`, of which a byte holds two.
    pub fn element_size(&self) -> Option<u64> {
        Some(self.record.element_size()?.get().into())
    }

    /// Bytes of which it holds a whole number, in 1.x: those of a logical element, or, where its
    /// `type` is not known, of an element of its dtype.
    pub(crate) fn unit(&self) -> Option<u64> {
        let storage = self.record.storage?;
        Some(self.record.logical.unit(storage).into())
    }

    /// The type of elements, for an error; none of a storage type that is not known.
    pub(crate) fn described(&self) -> Option<Described> {
        Some(self.record.logical.described(self.record.storage?))
    }

    /// The meaning that its `type` gives to its storage elements.
    #[inline]
    pub(crate) fn logical(&self) -> Logical {
        self.record.logical
    }

    /// The number of `f4_e2m1` elements that it holds, two a byte, if it holds such, and where the object says:
    /// v2 §5.1, §5.2.
    pub fn packed_elements(&self) -> Option<u64> {
        if !self.record.logical.is_packed() {
            return None;
        }
        let object = self.tensor();
        let count = |role: &str| {
            let indices = object.component(role)?;
            indices.decoded_length()?.checked_div(indices.element_size()?)
        };
        match (object.layout(), self.role()) {
            (Layout::Dense | Layout::Mx, "data") => object.shape().elements(),
            (Layout::SparseCsr, "values") => count("indices"),
            (Layout::SparseCoo, "values") => {
                count("coords")?.checked_div(object.shape().rank().into())
            }
            _ => None,
        }
    }

    /// Returns whether the elements lie in another order than row-major, or not one after the other, as they may in other
    /// formats: they are handed out in row-major order all the same, and cannot be borrowed.
    pub fn is_strided(&self) -> bool {
        self.record.order.arrangement() != Arrangement::RowMajor
    }

    /// The strides of its dimensions in elements, outermost first; none if they follow from the shape.
    pub(crate) fn strides(&self) -> Option<impl Iterator<Item = u64> + use<'a>> {
        let is_listed = self.record.order.arrangement() == Arrangement::Strided;
        is_listed.then(|| self.numbers().skip(4).take(self.tensor().shape().len()))
    }

    /// Returns whether its blob is its elements, one after the other in row-major order.
    #[inline]
    pub(crate) fn is_raw(&self) -> bool {
        self.record.is_raw()
    }

    /// The numbers that [`ComponentRecord::digest`] is in other formats, and whatever stands behind them.
    fn numbers(&self) -> Dimensions<'a> {
        Dimensions::of(seek(self.parts.as_bytes(), self.record.digest))
    }

    /// The number of bytes in front of its content that its checksum is over as well, and that are deflated with it; the
    /// checksum, a CRC-32, if it has one; and the range that it is over instead, if that is not empty. In other formats only.
    fn checksum(&self) -> Result<(u64, Option<u32>, Range<u64>), BareError> {
        if self.record.digest == BytesLeft::END || self.dialect().stream.is_none() {
            return Ok((0, None, 0..0));
        }
        // The builder wrote them all.
        let internal = BareError::internal().at(self.location());
        let mut numbers = self.numbers();
        let mut next = || numbers.next().ok_or(internal);
        let prefix = next()?;
        let checksum = match next()? {
            ComponentRecord::NO_CHECKSUM => None,
            sum => Some(u32::try_from(sum).map_err(|_| internal)?),
        };
        Ok((prefix, checksum, next()?..next()?))
    }

    /// The bytes in front of its content, and the checksum over both, if it has one.
    pub(crate) fn stream(&self) -> Result<(u64, Option<u32>), BareError> {
        let (prefix, checksum, range) = self.checksum()?;
        Ok((prefix, checksum.filter(|_| range.is_empty())))
    }

    /// The range of the file that it lies in, and the checksum over all of that.
    pub(crate) fn surrounding(&self) -> Result<Option<(Range<u64>, u32)>, BareError> {
        let (_, checksum, range) = self.checksum()?;
        Ok(checksum.filter(|_| !range.is_empty()).map(|checksum| (range, checksum)))
    }

    /// The place where the outcome of verifying the checksum of that range is kept, if components share it.
    pub(crate) fn shared_sum(&self, range: &Range<u64>) -> Option<&'a SharedSum> {
        self.parts.index().sums.find((self.record.shard, range.start, range.end))
    }

    /// Returns whether it has a checksum, which is over all of its content, as members of an `.npz` file have. A checksum is
    /// verified as a digest is, and is none.
    pub fn has_checksum(&self) -> bool {
        // A record that cannot be read is an error where its content is.
        !matches!(self.stream(), Ok((_, None)))
    }

    /// The digest over the stored bytes (in 2, over the decoded ones), if it has one. Checksums of other formats are no
    /// digests.
    pub fn digest(&self) -> Option<Digest<'a>> {
        if self.record.digest == BytesLeft::END || self.dialect().stream.is_some() {
            return None;
        }
        let text = self.text(self.record.digest);
        // It was well-formed: of bytes that have changed since, nothing can be verified.
        Some((self.dialect().read_digest)(text).unwrap_or(Digest::Unverifiable(text)))
    }

    /// All fields of its map as the manifest spells them, unknown ones included. In 0.1 these
    /// are the fields of the entry.
    pub fn fields(&self) -> Option<Attributes<'a>> {
        Attributes::read(self.parts.records().component_map(self.record)?)
    }
}

impl core::fmt::Debug for Component<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Component")
            .field("role", &Start(self.role()))
            .field("type", &self.element_type())
            .field("extent", &self.extent())
            .finish()
    }
}
