//! The manifest of generation 0.1, of files with the magic `ZTEN0001`: v0.1 §4 and §5. The field `layout` is described in the
//! readme of the 0.1 crate only.

use super::context::{DigestText, FieldType, Name, ParseContext, ShapeField};
use super::record::{Dtype, ParsedComponent, ParsedObject, Text, Uint};
use super::table::table;
use super::v1::{FORMAT, V1_2};
use super::{Blob, Dialect, Field, Fields, Generation, Nesting};
use crate::cbor::{Checked, Input, Parsed, check_utf8};
use crate::digest::Digest;
use crate::element::StorageType;
use crate::index::{
    ComponentRecord, Encoding, Facts, FormatFacts, IndexTypes, Layout, Logical, Role, Span,
};
use crate::num::len_u32;
use crate::rules::{Rule, Unsupported};

table! {
    /// One tensor: v0.1 §4. Dtypes, encodings and layouts are open sets (§8): a tensor with an unknown name is listed, but
    /// its elements cannot be read.
    Entry<'m>, keys EntryKey, reader EntryReader, within 1 levels of any CBOR, else Rule::ObjectType;
    // key                field        type            presence                         else (another type)
    "name"            => name:         Text<'m>,       required(Rule::NameMissing),     else Rule::NameType;
    "offset"          => offset:       Uint,           required(Rule::OffsetMissing),   else Rule::OffsetType;
    "size"            => size:         Uint,           required(Rule::LengthMissing),   else Rule::LengthType;
    "dtype"           => dtype:        Name<'m>,       required(Rule::DtypeMissing),    else Rule::DtypeType;
    "layout"          => layout:       Name<'m>,       optional,                        else Rule::LayoutType;
    "shape"           => shape:        ShapeField,     required(Rule::ShapeMissing),    else Rule::ShapeType;
    "encoding"        => encoding:     Name<'m>,       required(Rule::EncodingMissing), else Rule::EncodingType;
    "data_endianness" => endianness:   Endianness,     optional,                        else Rule::EndiannessType;
    "checksum"        => checksum:     Name<'m>,       optional,                        else Rule::DigestType;
}

/// The facts about generation 0.1 of zTensor, which direct the parser that all generations share.
pub(crate) static V0_1: Dialect = Dialect {
    facts: FormatFacts {
        generation: Some(Generation::V0_1),
        bool_value: None,
        read_digest: |text| Digest::read_v0(text),
        index_types: IndexTypes::Integers,
        unknown_format: Some(Unsupported::Layout),
        container: FACTS,
        ..FORMAT
    },
    nesting: Nesting::Flat,
    object_fields: Some(|key| EntryKey::named(key).is_some()),
    fields: Fields {
        name: EntryKey::name.field(),
        shape: EntryKey::shape.field(),
        layout: EntryKey::layout.field(),
        attributes: Field::NONE,
        components: Field::NONE,
        blob: Blob::Fields(EntryKey::offset.field(), EntryKey::size.field()),
        dtype: EntryKey::dtype.field(),
        logical_type: Field::NONE,
        digest: EntryKey::checksum.field(),
        encoding: EntryKey::encoding.field(),
        decoded_length: Field::NONE,
        byte_order: EntryKey::endianness.field(),
    },
    needs_decoded_length: false,
    writing: None,
    ..V1_2
};

const FACTS: Facts = Facts { whole_elements: false, ..Facts::BEFORE_2 };

/// Reads the entry at `at`: one object with its only component. Returns the input after the entry.
pub(super) fn object<'m>(
    cx: &mut ParseContext<'_>,
    at: Input<'m>,
    raw: &mut ParsedObject<'m>,
) -> Checked<Input<'m>> {
    let (rest, ()) = Entry::read(cx, at, |cx, entry| {
        check_utf8(entry.name.bytes_left, entry.name.bytes)?;
        let first = len_u32(cx.index.components.len());
        cx.location = cx.location.in_component(Some(0));
        cx.component(&entry.component(cx, at)?, at, FACTS)?;
        cx.location = cx.location.in_component(None);
        let (layout, layout_name) = entry.layout(cx);
        *raw = ParsedObject {
            name: entry.name.bytes,
            name_span: cx.text_span(entry.name.bytes, entry.name.behind),
            source_offset: cx.offset(at),
            map: at,
            shape: entry.shape.span,
            product: entry.shape.product,
            layout,
            layout_name,
            first,
            attributes: Span::NONE,
        };
        Ok(())
    })?;
    Ok(rest)
}

impl Entry<'_> {
    #[inline]
    fn component(&self, cx: &ParseContext<'_>, at: Input<'_>) -> Checked<ParsedComponent> {
        let digest =
            self.checksum.map(|Name(text)| DigestText::of::<false>(cx, text)).transpose()?;
        let (dtype, encoding) = (self.dtype.0, self.encoding.0);
        Ok(ParsedComponent {
            source_offset: cx.offset(at),
            role: Some(Role::Data),
            role_name: Span::NONE,
            dtype: Dtype {
                storage: StorageType::from_v0(dtype.bytes),
                logical: Logical::NONE,
                has_type: false,
                unknown_name: cx.text_span(dtype.bytes, dtype.behind),
            },
            blob: [self.offset.value, self.size.value],
            decoded: None,
            encoding: match encoding.bytes {
                b"raw" => Encoding::Raw,
                b"zstd" => Encoding::Zstd,
                _ => Encoding::Unknown,
            },
            encoding_name: cx.text_span(encoding.bytes, encoding.behind),
            digest: digest.map_or(Span::NONE, |digest| digest.0),
            is_big: matches!(self.endianness, Some(Endianness::Big)),
            file: ComponentRecord::FILE_OF_HEADER,
        })
    }

    /// Returns the layout of the tensor (dense if the field `layout` is absent), and the span of its name if the layout is
    /// unknown.
    fn layout(&self, cx: &ParseContext<'_>) -> (Layout, Span) {
        match self.layout.map(|Name(text)| text) {
            None | Some(Text { bytes: b"dense", .. }) => (Layout::Dense, Span::NONE),
            Some(name) => (Layout::Unknown, cx.text_span(name.bytes, name.behind)),
        }
    }
}

/// The value of the field `data_endianness`, the byte order of the elements: v0.1 §4.
#[derive(Clone, Copy)]
pub(crate) enum Endianness {
    Little,
    Big,
}

impl<'m> FieldType<'m> for Endianness {
    const BLANK: Self = Self::Little;

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, text) = <Text<'m> as FieldType<'m>>::parse(cx, wrong, at)?;
        match text.bytes {
            b"little" => Ok((rest, Self::Little)),
            b"big" => Ok((rest, Self::Big)),
            _ => Err(text.unknown(Rule::EndiannessValue).into()),
        }
    }
}
