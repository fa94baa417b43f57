//! The fields of objects and components of a manifest, after they have been parsed and before they are added to the index.

use crate::cbor::{BytesLeft, Input};
use crate::element::StorageType;
use crate::index::{
    Arrangement, ComponentRecord, Details, ElementOrder, Encoding, Extent, Layout, Logical,
    Product, Role, ShapeSpan, Span,
};

/// The parsed type of a component's elements: what the fields `dtype` and `type` of the component mean together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dtype {
    /// The storage type; `None` for an unknown dtype of 0.1.
    pub(crate) storage: Option<StorageType>,
    pub(crate) logical: Logical,
    /// Whether the component has a field `type` that says more than the dtype.
    pub(crate) has_type: bool,
    /// The span in the manifest of the type's name. It is read only if the type is unknown.
    pub(crate) unknown_name: Span,
}

/// The parsed fields of a component. Names of dtypes, roles and encodings have been converted to values; spans of the
/// manifest hold the names that are unknown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParsedComponent {
    /// The offset of the component's role in the manifest. In 0.1, the offset of the object's map.
    pub(crate) source_offset: u32,
    /// The role of the component in its object; `None` if no layout defines a role of this name. `role_name` is then the span
    /// of the name.
    pub(crate) role: Option<Role>,
    pub(crate) role_name: Span,
    pub(crate) dtype: Dtype,
    /// The offset of the blob in its file, and the length of the blob, both in bytes.
    pub(crate) blob: [u64; 2],
    pub(crate) decoded: Option<u64>,
    pub(crate) encoding: Encoding,
    /// The span in the manifest of the encoding's name. It is read only if the encoding is unknown.
    pub(crate) encoding_name: Span,
    /// The span in the manifest of the digest's text; [`Span::NONE`] if the component has no digest.
    pub(crate) digest: Span,
    /// Whether a field of the component declares that the elements are big-endian.
    pub(crate) is_big: bool,
    /// The ordinal of the shard that holds the blob, or [`ComponentRecord::FILE_OF_HEADER`] for the file of the manifest.
    pub(crate) file: u32,
}

impl ParsedComponent {
    /// Returns the index record of the component, and its [`Details`], which only components with an unknown name have.
    #[inline(always)]
    pub(crate) fn record(&self) -> (ComponentRecord, Option<Details>) {
        let Self { dtype, blob: [offset, length], .. } = self;
        let width = dtype.storage.map_or(1, StorageType::width);
        let record = ComponentRecord {
            extent: Extent::part(*offset, *length),
            decoded: self.decoded.unwrap_or(0),
            has_decoded: self.decoded.is_some(),
            digest: self.digest,
            file: self.file,
            source_offset: self.source_offset,
            details: ComponentRecord::NO_DETAILS,
            role: self.role,
            storage: dtype.storage,
            logical: dtype.logical,
            has_type: dtype.has_type,
            encoding: self.encoding,
            order: ElementOrder::new(self.is_big && width > 1, Arrangement::RowMajor),
        };
        let has_details = self.role.is_none()
            || dtype.storage.is_none()
            || dtype.logical.unknown
            || self.encoding == Encoding::Unknown;
        (record, if has_details { Some(self.details()) } else { None })
    }

    #[cold]
    #[inline(never)]
    fn details(&self) -> Details {
        Details {
            role: self.role_name,
            type_name: self.dtype.unknown_name,
            encoding_name: self.encoding_name,
            ..Details::NONE
        }
    }
}

/// The parsed fields of an object. The name of the layout has been converted to a value. The components of the object are the
/// last components in the index, from `first` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParsedObject<'m> {
    pub(crate) name: Input<'m>,
    pub(crate) name_span: Span,
    /// The offset of the object's name in the manifest. In 0.1, the offset of the object's map.
    pub(crate) source_offset: u32,
    /// The rest of the manifest from the start of the object's map on.
    pub(crate) map: Input<'m>,
    pub(crate) shape: ShapeSpan,
    pub(crate) product: Product,
    pub(crate) layout: Layout,
    /// The span in the manifest of the layout's name, if the layout is unknown or holds GGUF blocks; otherwise
    /// [`Span::NONE`].
    pub(crate) layout_name: Span,
    /// The ordinal of the object's first component among all components.
    pub(crate) first: u32,
    /// The span in the manifest of the CBOR map of the object's attributes; [`Span::NONE`] if the object has no attributes.
    pub(crate) attributes: Span,
}

impl ParsedObject<'_> {
    /// The initial value of an object's record, before any field has been parsed.
    pub(crate) const NONE: Self = Self {
        name: &[],
        name_span: Span::NONE,
        source_offset: 0,
        map: &[],
        shape: ShapeSpan::EMPTY,
        product: Product::ONE,
        layout: Layout::Unknown,
        layout_name: Span::NONE,
        first: 0,
        attributes: Span::NONE,
    };
}

/// An unsigned integer and its position in the manifest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uint {
    pub(crate) bytes_left: BytesLeft,
    pub(crate) value: u64,
}

impl Uint {
    /// A placeholder until a number is parsed: 0, without a position in the manifest.
    pub(crate) const NONE: Self = Self { bytes_left: BytesLeft::END, value: 0 };
}

/// A text whose bytes have not been checked to be UTF-8, the position of its head, and the position after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'m> {
    pub(crate) bytes_left: BytesLeft,
    pub(crate) bytes: &'m [u8],
    pub(crate) behind: BytesLeft,
}

impl Text<'_> {
    /// A placeholder until a text is parsed: an empty text, without a position in the manifest.
    pub(crate) const NONE: Self =
        Self { bytes_left: BytesLeft::END, bytes: &[], behind: BytesLeft::END };
}
