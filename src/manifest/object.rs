//! Access to the objects of a manifest (tensors) and to their components. A component is a blob with a description of how to
//! read it.

use core::ops::Range;

use super::ManifestRef;
use super::index::utf8;
use crate::cbor::{Attributes, Input, uint};
use crate::debug_summary::Start;
use crate::digest::Digest;
use crate::element::{BlockFields, ByteOrder, DType, LogicalType, Negation, StorageType};
use crate::error::{BareError, Described, Error, ErrorKind, Location, Misuse, Named};
use crate::formats::ztensor::{Dialect, Field};
use crate::index::{
    Arrangement, ComponentRecord, Details, Encoding, Extent, FormatFacts, Layout, Logical,
    ObjectRecord, Product, RecordField, Role, SharedSum, Span, SpecialElements,
};
use crate::limits::Limits;
#[cfg(feature = "std")]
use crate::num::u64_from_usize;
use crate::num::{impl_display, len_u32, usize_from_u32};
use crate::read_at::{BlobRef, Located, Source};
use crate::rules::{Generation, Rule};

/// A tensor: a name, a shape, a layout, and the components that hold its bytes.
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

    /// Returns the facts in which file formats and generations differ, for the format of this file.
    #[inline]
    pub(crate) fn facts(&self) -> &'static FormatFacts {
        self.parts.facts()
    }

    /// Returns the parser's facts about the generation of a zTensor file; `None` for other formats.
    pub(crate) fn dialect(&self) -> Option<&'static Dialect> {
        self.parts.dialect()
    }

    /// Returns the position of the tensor in the manifest, counted from 0.
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// Returns the ordinal of the tensor as a [`Location`], for errors about the tensor as a whole.
    pub(crate) fn location(&self) -> Location {
        Location::new(Some(self.ordinal), None)
    }

    /// Adds to `error` the name of this tensor, the role of the component that the location of the error gives, and the generation
    /// of the file and the range of its manifest. An index that is out of range also gets its dimension, and an error about
    /// elements that zten does not read gets a sentence with the name of their type.
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
        let error = match component.filter(|component| component.is_unread_for(&error)) {
            Some(component) => {
                let name = crate::escape::Short(component.type_name());
                error.saying(format_args!("zten does not read elements of the type {name}"))
            }
            None => error,
        };
        error.named(&Named {
            generation: self.facts().generation,
            tensor: Some(self.name()),
            component: component.map(|component| component.role()),
            manifest: Some(self.parts.extent()),
        })
    }

    /// If `error`, which is in `component`, is about an index that is out of range (`index-range`), returns the number and
    /// the size of the dimension that the index belongs to. Returns `None` for other errors, and if the position of the index
    /// in the component does not tell its dimension.
    #[cfg(feature = "std")]
    fn dimension_of(&self, error: &Error, component: &Component<'a>) -> Option<(u64, u64)> {
        if error.kind() != Rule::IndexRange {
            return None;
        }
        let dimension = match (self.layout(), component.role()) {
            (Layout::SparseCsr, "indices") => 1,
            // `coords` holds all indices of the first dimension, then all indices of the second, and so on.
            (Layout::SparseCoo, "coords") => {
                let within = error.offset()?.checked_sub(component.extent().offset())?;
                let bytes = component.extent().length();
                let rank = u64_from_usize(self.shape().len());
                within.checked_div(bytes.checked_div(rank)?)?
            }
            _ => return None,
        };
        let size = *self.shape().get(usize::try_from(dimension).ok()?)?;
        Some((dimension, size))
    }

    /// Returns `error` unchanged. Without `std` errors have no names, and the code that looks them up is not linked.
    #[cfg(not(feature = "std"))]
    #[expect(clippy::unused_self, reason = "with `std` it is used")]
    pub(crate) fn named(&self, error: impl Into<Error>) -> Error {
        error.into()
    }

    /// Returns the name of the tensor. It may be any UTF-8, including the empty string and control characters.
    pub fn name(&self) -> &'a str {
        utf8(self.record.name.of(self.parts.as_bytes()))
    }

    /// Returns the layout of the tensor, which says how its components make up its elements.
    #[inline]
    pub fn layout(&self) -> Layout {
        self.record.layout
    }

    /// Returns the name of the layout as the file spells it, known or not.
    pub fn layout_name(&self) -> &'a str {
        let (index, texts) = (self.parts.index(), self.parts.as_bytes());
        utf8(index.layout_name(texts, self.layout(), self.ordinal))
    }

    /// Returns the sizes of the dimensions, outermost first. Elements are in row-major order (C order): v1.1 III.1, v1.2 §3.
    #[inline]
    pub fn shape(&self) -> &'a [u64] {
        self.parts.index().shapes.get(self.record.shape)
    }

    /// Returns the number of elements: the product of the dimensions, which is 0 if a dimension is 0. Returns `None` if
    /// the number overflows.
    pub fn element_count(&self) -> Option<u64> {
        Product::of(self.shape()).elements()
    }

    /// Returns the type of the tensor's elements: of the component `data`, of `values` in sparse layouts, and of
    /// `packed_weight` in quantized groups. Returns [`DType::Unknown`] if the tensor has no such component.
    pub fn dtype(&self) -> DType {
        let role = match self.layout() {
            Layout::SparseCsr | Layout::SparseCoo => "values",
            Layout::QuantizedGroup => "packed_weight",
            _ => "data",
        };
        self.component(role).map_or(DType::Unknown, |component| component.dtype())
    }

    /// Returns the attributes of the tensor; empty if the tensor has none: v1.2 §1.
    pub fn attributes(&self) -> Attributes<'a> {
        self.own_attributes().unwrap_or_default()
    }

    /// Returns the attributes of the tensor, or `None` if the tensor has no map of attributes. The map may be empty:
    /// v1.2 §1. Unstable.
    #[doc(hidden)]
    pub fn own_attributes(&self) -> Option<Attributes<'a>> {
        Attributes::read(self.encoded_attributes()?)
    }

    /// Returns the CBOR map of the tensor's attributes as it is in the manifest; `None` if the tensor has no such map.
    pub(crate) fn encoded_attributes(&self) -> Option<&'a [u8]> {
        let attributes = self.record.attributes;
        (!attributes.is_none()).then(|| attributes.of(self.parts.as_bytes()))
    }

    /// Returns whether the tensor has attributes. In 0.1, where an object has no field for attributes, each field that the
    /// specification does not define counts as one.
    #[cfg(feature = "write")]
    pub fn has_attributes(&self) -> bool {
        match self.dialect().and_then(|dialect| dialect.object_fields) {
            None => self.attributes().next().is_some(),
            Some(known) => self
                .fields()
                .is_some_and(|mut fields| fields.any(|(name, _)| !known(name.as_bytes()))),
        }
    }

    /// Returns the value of the attribute with the key of `attribute`; `None` if the tensor lacks the attribute, or its value
    /// is not an unsigned integer.
    pub(crate) fn number(&self, attribute: Field) -> Option<u64> {
        let at = attribute.find(self.encoded_attributes()?)?;
        uint(Rule::AttributeType, at).ok().map(|(_, number)| number)
    }

    /// Returns all fields of the tensor's map in the manifest, including unknown fields; `None` for other formats than
    /// zTensor.
    pub fn fields(&self) -> Option<Attributes<'a>> {
        Attributes::read(self.map()?)
    }

    /// Returns the components of the tensor, in the order of the manifest. A tensor of 0.1 has one component, `data`.
    pub fn components(&self) -> impl ExactSizeIterator<Item = Component<'a>> + use<'a> {
        let object = *self;
        let components = self.records().iter().enumerate();
        components.map(move |(ordinal, record)| object.component_of(len_u32(ordinal), record))
    }

    /// Returns component number `ordinal` of the tensor, counted from 0 in the order of the manifest, in O(1). Returns `None` if
    /// there is no such component.
    pub fn component_at(&self, ordinal: u32) -> Option<Component<'a>> {
        let record = self.records().get(usize_from_u32(ordinal))?;
        Some(self.component_of(ordinal, record))
    }

    /// Returns the component of the tensor, if the tensor has exactly one; otherwise `None`.
    #[inline]
    pub(crate) fn only_component(&self) -> Option<Component<'a>> {
        if self.record.count == 1 { self.component_at(0) } else { None }
    }

    /// Returns the component of the tensor with the role `role`; `None` if there is no such component.
    pub fn component(&self, role: &str) -> Option<Component<'a>> {
        let (index, texts) = (self.parts.index(), self.parts.as_bytes());
        let mut components = self.records().iter().enumerate();
        let known = Role::from_name(role.as_bytes());
        let (ordinal, record) = components.find(|(_, record)| match known {
            Some(_) => record.role == known,
            None => record.role.is_none() && index.role(texts, record) == role.as_bytes(),
        })?;
        Some(self.component_of(len_u32(ordinal), record))
    }

    /// Returns this tensor with `source` as the source of its content: a reference to the file, or
    /// [`Files`](crate::shards::Files) if the file has shards. Tensors of an [`Archive`](crate::Archive) need no such call,
    /// because their content is read from the archive.
    #[must_use]
    pub fn read_from<'s>(&self, source: &'s dyn Source) -> Tensor<'s>
    where
        'a: 's,
    {
        Tensor { parts: self.parts.read_from(source), ordinal: self.ordinal, record: self.record }
    }

    /// Returns tensor number `ordinal` of the manifest of this tensor, with the same source of content.
    #[cfg(all(feature = "dequantize", feature = "write"))]
    pub(crate) fn sibling(&self, ordinal: u32) -> Option<Tensor<'a>> {
        self.parts.object(ordinal)
    }

    #[inline]
    fn records(&self) -> &'a [ComponentRecord] {
        self.parts.index().components_of(self.record)
    }

    #[inline]
    fn component_of(&self, ordinal: u32, record: &'a ComponentRecord) -> Component<'a> {
        let Self { parts, ordinal: object, record: owner } = *self;
        Component { parts, record, owner, object, ordinal }
    }

    /// Returns the [offset of the object's description](ObjectRecord::source_offset) in the header.
    #[cfg(feature = "detect")]
    pub(crate) fn source_offset(&self) -> u32 {
        self.record.source_offset
    }

    /// Returns the rest of the manifest from the map of this object on; `None` for other formats than zTensor. In 0.1, the
    /// map of the object is also the map of its only component.
    pub(super) fn map(&self) -> Option<Input<'a>> {
        self.parts.map(self.record.source_offset)
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

/// The type of the elements of a component: a storage type, and a logical type if there is one.
/// [`DType`] is the same in one enum, without the names of unknown types.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementType<'a> {
    /// A storage type without a logical type.
    Plain(StorageType),
    /// A known logical type, which has its own storage type.
    Logical(LogicalType),
    /// An unknown logical type, and the storage type of its elements, which can be read.
    UnknownLogical(&'a str, StorageType),
    /// An unknown logical type on a dtype of 1.1 that itself stands for a logical type, whose elements can be read.
    UnknownOnLogical(&'a str, LogicalType),
    /// Opaque elements: the name of their type, and the size of an element in bytes.
    Opaque(&'a str, u64),
    /// A type whose elements are not read, such as an unknown dtype of 0.1: v0.1 §8.
    Unknown(&'a str),
}

impl<'a> ElementType<'a> {
    /// Returns the name of a known type as 1.2 spells it, and of an unknown type as the file spells it.
    pub fn name(&self) -> &'a str {
        match self {
            Self::Plain(storage) => storage.name(),
            Self::Logical(logical) => logical.name(),
            Self::UnknownLogical(name, _)
            | Self::UnknownOnLogical(name, _)
            | Self::Opaque(name, _)
            | Self::Unknown(name) => name,
        }
    }

    /// Returns the storage type, if it is known. Opaque elements have none.
    pub fn storage(&self) -> Option<StorageType> {
        match self {
            Self::Plain(storage) | Self::UnknownLogical(_, storage) => Some(*storage),
            Self::Logical(logical) | Self::UnknownOnLogical(_, logical) => Some(logical.storage()),
            Self::Opaque(..) | Self::Unknown(_) => None,
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
            Self::Opaque(name, size) => {
                f.debug_tuple("Opaque").field(&Start(name)).field(size).finish()
            }
            Self::Unknown(name) => f.debug_tuple("Unknown").field(&Start(name)).finish(),
        }
    }
}

/// A blob of a tensor, and how to read it: v1.1 II.3, v1.2 §1.
#[derive(Clone, Copy)]
pub struct Component<'a> {
    pub(super) parts: ManifestRef<'a>,
    pub(super) record: &'a ComponentRecord,
    /// The record of the object that the component belongs to.
    pub(super) owner: &'a ObjectRecord,
    /// The ordinal of this object in the manifest.
    pub(super) object: u32,
    /// The ordinal of the component in its object.
    pub(super) ordinal: u32,
}

impl<'a> Component<'a> {
    /// Returns the tensor that this component belongs to.
    pub fn tensor(&self) -> Tensor<'a> {
        Tensor::new(self.parts, self.object, self.owner)
    }

    /// Returns the role of the component in its tensor, such as `data` or `values`.
    pub fn role(&self) -> &'a str {
        utf8(self.role_bytes())
    }

    /// Returns the bytes of the role's name, without checking again that they are UTF-8.
    pub(crate) fn role_bytes(&self) -> &'a [u8] {
        self.parts.index().role(self.parts.as_bytes(), self.record)
    }

    /// Returns the ordinals of the object and of this component in the manifest, counted from 0.
    #[inline]
    pub fn location(&self) -> Location {
        Location::new(Some(self.object), Some(self.ordinal))
    }

    /// Returns the generation of zTensor that the file follows; `None` for other formats.
    pub fn generation(&self) -> Option<Generation> {
        self.facts().generation
    }

    /// Returns the facts in which file formats and generations differ, for the format of this file.
    #[inline]
    pub(crate) fn facts(&self) -> &'static FormatFacts {
        self.parts.facts()
    }

    /// Returns the rest of the manifest from the map of this component on; `None` for other formats than zTensor.
    pub(super) fn map(&self) -> Option<Input<'a>> {
        self.parts.map(self.record.source_offset)
    }

    /// Returns the record with the properties of this component that few components have; `None` if it has no such
    /// properties.
    fn details(&self) -> Option<&'a Details> {
        self.parts.index().details(self.record)
    }

    /// Returns the special elements of the component; `None` if its elements are plain numbers. Most components can be told by
    /// their record alone to have plain elements, and are not looked up.
    #[inline]
    pub(crate) fn special_elements(&self) -> Option<SpecialElements> {
        let ComponentRecord { storage, logical, .. } = *self.record;
        if storage.is_some() && !logical.unknown && !self.record.shares_records() {
            return None;
        }
        self.parts.index().special_elements(self.owner.first.wrapping_add(self.ordinal))
    }

    /// Returns whether the message of `error` should name the element type of this component. The message should name the type if
    /// zten does not read elements of the type and `error` reports this, because the sentence of the rule does not name a type.
    /// It should not if the rule is the one on pickled objects, because the sentence of that rule says as much as the type.
    #[cfg(feature = "std")]
    fn is_unread_for(&self, error: &Error) -> bool {
        let pickles = self.facts().pickles.map(|pickles| pickles.unread);
        match self.special_elements() {
            Some(SpecialElements::Unread(row)) => {
                error.kind() == ErrorKind::Unsupported(row) && pickles != Some(row)
            }
            _ => false,
        }
    }

    /// Returns all bytes of the file of the component; `None` if the file is not in memory.
    #[inline]
    pub(crate) fn file(&self) -> Option<&'a [u8]> {
        self.parts.file()
    }

    /// Returns the limits that the file was opened with.
    pub(crate) fn limits(&self) -> &'a Limits {
        self.parts.options().limit()
    }

    /// Returns the text at `span`, which was checked when the file was opened.
    fn text(&self, span: Span) -> &'a str {
        utf8(span.of(self.parts.as_bytes()))
    }

    /// Returns the storage type of the elements: `u8` for opaque elements, and `None` for elements that are not read, such as
    /// those of an unknown 0.1 dtype.
    #[inline]
    pub fn storage_type(&self) -> Option<StorageType> {
        self.record.storage
    }

    /// Returns the type of the elements as one [`DType`]; [`DType::Unknown`] for opaque elements and elements that are not
    /// read.
    pub fn dtype(&self) -> DType {
        match self.element_type() {
            ElementType::Plain(storage) => storage.into(),
            ElementType::Logical(logical) => logical.into(),
            _ => DType::Unknown,
        }
    }

    /// Returns the name of the elements' type: as 1.2 spells a known type, and as the file spells an unknown type.
    pub fn type_name(&self) -> &'a str {
        self.element_type().name()
    }

    /// Returns the type of the elements in detail: the storage type, the logical type, and the name of an unknown type.
    pub fn element_type(&self) -> ElementType<'a> {
        let Logical { known, unknown } = self.record.logical;
        let name = || self.details().map_or("", |details| self.text(details.type_name));
        if let Some(SpecialElements::Opaque(size)) = self.special_elements() {
            return ElementType::Opaque(name(), size);
        }
        match (self.record.storage, known) {
            (None, _) => ElementType::Unknown(name()),
            (_, Some(dtype)) if unknown => ElementType::UnknownOnLogical(name(), dtype),
            (Some(storage), None) if unknown => ElementType::UnknownLogical(name(), storage),
            (_, Some(logical)) => ElementType::Logical(logical),
            (Some(storage), None) => ElementType::Plain(storage),
        }
    }

    /// Returns the encoding of the blob, which must be undone to get the elements. It is [`Encoding::Negated`] for elements
    /// whose stored sign is the opposite.
    #[inline]
    pub fn encoding(&self) -> Encoding {
        if self.negation().is_none() { self.record.encoding } else { Encoding::Negated }
    }

    /// Returns the encoding of the stored bytes, such as raw or zstd, also for elements whose stored sign is the opposite.
    #[inline]
    pub(crate) fn stored_encoding(&self) -> Encoding {
        self.record.encoding
    }

    /// Returns which parts of the elements, real or imaginary, have the opposite of the stored sign.
    #[inline]
    pub(crate) fn negation(&self) -> Negation {
        self.record.order.negation()
    }

    /// Returns the name of the encoding. The name of an unknown encoding is the one in the file.
    pub fn encoding_name(&self) -> &'a str {
        match self.encoding() {
            Encoding::Unknown => {
                let name = self.details().map(|details| self.text(details.encoding_name));
                name.unwrap_or(Encoding::Unknown.name())
            }
            known => known.name(),
        }
    }

    /// Returns the byte order of the elements, or of the scales of GGUF blocks. Returns little-endian for elements of one byte, and
    /// for opaque elements, whose type name tells their byte order.
    #[inline]
    pub fn byte_order(&self) -> ByteOrder {
        if self.record.order.is_big() { ByteOrder::Big } else { ByteOrder::Little }
    }

    /// Returns the range of the blob in its file, which is another file if the component has a [`shard`](Self::shard).
    #[inline]
    pub fn extent(&self) -> Extent {
        self.record.extent
    }

    /// Returns the range of the file that is read to get this component: the blob, and in formats other than zTensor also the
    /// bytes around the blob that its checksum covers.
    pub fn read_range(&self) -> Range<u64> {
        let (prefix, _) = self.stream();
        let in_front = if self.stored_encoding() == Encoding::Raw { prefix } else { 0 };
        let Range { start, end } = self.extent().range();
        let around = self.surrounding().map_or(start..end, |(range, _)| range);
        start.saturating_sub(in_front).min(around.start)..end.max(around.end)
    }

    /// Returns the decoded size of the elements in bytes. For a raw component this is the stored size, unless the blob also has
    /// bytes between the elements, as strided tensors and fields of records have; for a compressed component
    /// `uncompressed_length` (`decoded_length` in 2), or else the size that follows from the shape. Returns `None` if
    /// neither is known.
    pub fn decoded_length(&self) -> Option<u64> {
        match self.encoding() {
            Encoding::Zstd => self.record.size().or_else(|| self.shaped_length()),
            _ => self.record.size(),
        }
    }

    /// Returns the name of the shard (2) or sibling file that holds the blob, or `None` if the blob is in this file: v2 §7.1.
    pub fn shard(&self) -> Option<&'a str> {
        let shard = self.parts.index().shards.get(usize_from_u32(self.record.file))?;
        Some(self.text(shard.name))
    }

    /// Returns this component with `source` as the source of its content, as [`Tensor::read_from`] describes.
    #[must_use]
    pub fn read_from<'s>(&self, source: &'s dyn Source) -> Component<'s>
    where
        'a: 's,
    {
        Component { parts: self.parts.read_from(source), ..*self }
    }

    /// Returns the ordinal of the shard or sibling file that holds the blob; `None` if the blob is in the file of the
    /// manifest.
    pub(crate) fn file_ordinal(&self) -> Option<u32> {
        self.record.in_shard().then_some(self.record.file)
    }

    /// Returns whether the blob is in a shard or sibling file, and not in the file of the manifest.
    #[inline]
    pub(crate) fn is_in_shard(&self) -> bool {
        self.record.in_shard()
    }

    /// Returns whether the component comes from a manifest without its file.
    pub(crate) fn has_no_source(&self) -> bool {
        self.parts.source().is_none()
    }

    /// Returns a reader of the file that the component is in. Unstable.
    ///
    /// # Errors
    /// [`Misuse::NoFile`] if the component comes from a manifest without its file; `unsupported-shard`, `unsupported-version`,
    /// `shard-digest` and [`Misuse::UnverifiedShard`] if the shard of the component was not found, is of an unsupported version,
    /// has another digest, or has not been verified.
    #[doc(hidden)]
    pub fn located(&self) -> Result<Located<'a>, Error> {
        let source =
            self.parts.source().ok_or(BareError::misuse(Misuse::NoFile).at(self.location()))?;
        source.locate(&BlobRef {
            shard: self.shard(),
            offset: self.extent().offset(),
            location: self.location(),
            has_digest: !self.record.digest.is_none(),
        })
    }

    /// Returns the decoded size in bytes that follows from the layout and the shape of the tensor; `None` if they do not
    /// determine the size, as for the values of a sparse tensor.
    fn shaped_length(&self) -> Option<u64> {
        let object = self.tensor();
        let elements = match (object.layout(), Role::from_name(self.role().as_bytes())) {
            (Layout::Dense, Some(Role::Data)) => object.element_count()?,
            (Layout::SparseCsr, Some(Role::Indptr)) => object.shape().first()?.checked_add(1)?,
            _ => return None,
        };
        elements.checked_mul(self.element_size()?)
    }

    /// Returns whether the component has a field `type` that the profile of its object, such as `zt.mx/1`, does not define.
    pub(crate) fn is_beyond_profile(&self) -> bool {
        self.record.is_beyond_profile(self.tensor().layout())
    }

    /// Returns the size in bytes of a logical element: the width of the storage type times the ratio of the logical
    /// type, or the size of an opaque element. Returns `None` for other unknown types, and for `f4_e2m1`, of which two
    /// elements share a byte.
    pub fn element_size(&self) -> Option<u64> {
        match self.record.element_size() {
            Some(size) => Some(size.get().into()),
            None => match self.special_elements()? {
                SpecialElements::Opaque(size) => Some(size),
                SpecialElements::Unread(_) | SpecialElements::InRecords(_) => None,
            },
        }
    }

    /// Returns the size in bytes of which the decoded size of a component of 1.x must be a multiple: the size of a logical
    /// element, or of an element of the dtype if the `type` is unknown.
    pub(crate) fn unit(&self) -> Option<u64> {
        let storage = self.record.storage?;
        Some(self.record.logical.unit(storage).into())
    }

    /// Returns the type of the elements in the packed form that errors hold; `None` if the storage type is unknown.
    pub(crate) fn described(&self) -> Option<Described> {
        Some(self.record.logical.described(self.record.storage?))
    }

    /// Returns the logical type of the elements: none, a known one, or that it is unknown.
    #[inline]
    pub(crate) fn logical(&self) -> Logical {
        self.record.logical
    }

    /// Returns the number of `f4_e2m1` elements, two a byte. Returns `None` for other types, and if the object does not
    /// give the number: v2 §5.1, §5.2.
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
            (Layout::Dense | Layout::Mx, "data") => object.element_count(),
            (Layout::SparseCsr, "values") => count("indices"),
            (Layout::SparseCoo, "values") => {
                count("coords")?.checked_div(len_u32(object.shape().len()).into())
            }
            _ => None,
        }
    }

    /// Returns whether the elements are stored by strides, in column-major order or as a [field](Self::is_field_of_records) of
    /// records, as other formats allow. Reading returns them in row-major order all the same, but they cannot be borrowed.
    pub fn is_strided(&self) -> bool {
        self.record.order.arrangement() != Arrangement::RowMajor
    }

    /// Returns the strides of the dimensions in elements, outermost first. Returns `None` if the elements are in row-major or
    /// column-major order, or are one field of records.
    pub(crate) fn strides(&self) -> Option<&'a [u64]> {
        let is_listed = self.record.order.arrangement() == Arrangement::Strided;
        let details = self.details().filter(|_| is_listed)?;
        Some(self.parts.index().shapes.get(details.strides))
    }

    /// Returns whether the elements are stored in column-major order, the first dimension fastest.
    pub(crate) fn is_column_major(&self) -> bool {
        self.record.order.arrangement() == Arrangement::ColumnMajor
    }

    /// Returns the position of the elements in the records of the blob, if the elements are one field of records; otherwise
    /// `None`.
    pub(crate) fn field(&self) -> Option<RecordField> {
        match self.special_elements()? {
            SpecialElements::InRecords(field) => Some(field),
            SpecialElements::Opaque(_) | SpecialElements::Unread(_) => None,
        }
    }

    /// Returns whether the elements are a field of records. The blob of such a component holds the whole records, and is also
    /// the blob of the tensor of the records. A sum over all components that includes fields counts these bytes several times.
    pub fn is_field_of_records(&self) -> bool {
        self.field().is_some()
    }

    /// Returns the decoded size in bytes of the whole blob: the size of all records if the elements are a field of records,
    /// and otherwise the size of the elements. `None` if the size is unknown.
    pub(crate) fn content_length(&self) -> Option<u64> {
        let decoded = self.decoded_length()?;
        match self.field() {
            Some(RecordField { record, size, .. }) => {
                decoded.checked_div(size)?.checked_mul(record)
            }
            None => Some(decoded),
        }
    }

    /// Returns whether the blob holds the elements uncompressed, one after the other in row-major order, with their own signs, and
    /// not in big-endian blocks.
    #[inline]
    pub(crate) fn is_raw(&self) -> bool {
        self.record.is_raw()
    }

    /// Returns which fields of each block have their bytes in big-endian order; `None` if the component has no big-endian
    /// blocks.
    #[cold]
    pub(crate) fn swapped_fields(&self) -> Option<BlockFields> {
        let is_swapped = self.record.order.is_big_blocks();
        is_swapped.then(|| BlockFields::of_layout(self.tensor().layout_name()))?
    }

    /// Returns the number of bytes in the prefix before the content, and the checksum over the prefix and the content,
    /// if there is one. If the component is deflated, the prefix is deflated with the content.
    pub(crate) fn stream(&self) -> (u64, Option<u32>) {
        let Some(details) = self.details() else { return (0, None) };
        let [start, end] = details.checksum_range;
        (details.prefix, details.checksum.filter(|_| start == end))
    }

    /// Returns the range of the file around the blob over which a checksum is computed, and the checksum, for a blob that
    /// shares its checksum with others. Returns `None` for other blobs.
    pub(crate) fn surrounding(&self) -> Option<(Range<u64>, u32)> {
        let Details { checksum, checksum_range: [start, end], .. } = self.details()?;
        Some((*start..*end, (*checksum)?)).filter(|(range, _)| !range.is_empty())
    }

    /// Returns the stored result of verifying the checksum over `range` of the file; `None` if no components share such a
    /// checksum.
    pub(crate) fn shared_sum(&self, range: &Range<u64>) -> Option<&'a SharedSum> {
        self.parts.index().sums.find((self.record.file, range.start, range.end))
    }

    /// Returns whether the component has a checksum over all of its content, as members of an `.npz` file have. A
    /// checksum is verified like a digest, but does not count as one.
    pub fn has_checksum(&self) -> bool {
        let (_, checksum) = self.stream();
        checksum.is_some()
    }

    /// Returns the digest of the component over its stored bytes (in generation 2, over its decoded bytes); `None` if the
    /// manifest gives none. Checksums of other formats are not digests.
    pub fn digest(&self) -> Option<Digest<'a>> {
        if self.record.digest.is_none() {
            return None;
        }
        let text = self.text(self.record.digest);
        // The text was checked when the file was opened. If the caller's bytes have changed since, the digest cannot be
        // verified.
        Some((self.facts().read_digest)(text).unwrap_or(Digest::Unverifiable(text)))
    }

    /// Returns all fields of the component's map in the manifest, including unknown fields; `None` for other formats than
    /// zTensor. In 0.1 this map is also the map of the tensor.
    pub fn fields(&self) -> Option<Attributes<'a>> {
        Attributes::read(self.map()?)
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
