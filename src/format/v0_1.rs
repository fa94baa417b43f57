//! `ZTEN0001`: v0.1 §4 and §5, and its crate's readme for `layout`.

use super::context::{DigestText, Name, ParseContext, ShapeField, Slot};
use super::record::{Dtype, Logical, RawComponent, RawObject, Text, Uint};
use super::table::table;
use super::v1::V1_2;
use super::{
    Blob, Dialect, Encoding, Facts, Field, Fields, Generation, IndexTypes, Layout, Nesting, Role,
};
use crate::cbor::{BytesLeft, Checked, Input, Parsed, check_utf8};
use crate::digest::Digest;
use crate::element::StorageType;
use crate::num::len_u32;
use crate::rules::{Rule, Unsupported};

table! {
    /// One tensor: v0.1 §4. Dtype, encoding and layout are open sets (§8): an entry with a name
    /// that is not known is listed and cannot be read.
    Entry<'m>, keys EntryKey, reader EntryReader, within 1 levels of any CBOR, else Rule::ObjectType;
    // key                slot         type            presence                         else
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

/// The rules of 0.1.
pub(crate) static V0_1: Dialect = Dialect {
    generation: Some(Generation::V0_1),
    nesting: Nesting::Flat,
    object_fields: Some(|key| EntryKey::named(key).is_some()),
    bool_value: None,
    fields: Fields {
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
    },
    read_digest: |text| Digest::read_v0(text),
    index_types: IndexTypes::Integers,
    needs_decoded_length: false,
    unknown_format: Some(Unsupported::Layout),
    facts: FACTS,
    writing: None,
    ..V1_2
};

const FACTS: Facts = Facts { whole_elements: false, ..Facts::BEFORE_2 };

/// Reads the entry at `at`: an object and its one component.
pub(super) fn object<'m>(
    cx: &mut ParseContext<'_>,
    at: Input<'m>,
    raw: &mut RawObject<'m>,
) -> Checked<Input<'m>> {
    let (rest, ()) = Entry::read(cx, at, |cx, entry| {
        check_utf8(entry.name.bytes_left, entry.name.bytes)?;
        let first = len_u32(cx.components.len());
        cx.location = cx.location.in_component(Some(0));
        cx.component(&entry.component(at)?, FACTS)?;
        cx.location = cx.location.in_component(None);
        *raw = RawObject {
            name: entry.name,
            shape: entry.shape.span,
            product: entry.shape.product,
            layout: entry.layout(),
            first,
            attributes: None,
            shape_at: entry.shape.bytes_left,
            components_at: BytesLeft::of(at),
        };
        Ok(())
    })?;
    Ok(rest)
}

impl Entry<'_> {
    #[inline]
    fn component(&self, at: Input<'_>) -> Checked<RawComponent> {
        let digest =
            self.checksum.map(|Name(text)| DigestText::of::<false>(&V0_1, text)).transpose()?;
        Ok(RawComponent {
            at: BytesLeft::of(at),
            map: BytesLeft::of(at),
            role: Some(Role::Data),
            dtype: Dtype {
                bytes_left: self.dtype.0.bytes_left,
                storage: StorageType::from_v0(self.dtype.0.bytes),
                logical: Logical::NONE,
                type_bytes_left: None,
                implied: false,
            },
            offset: self.offset,
            length: self.size,
            decoded: None,
            encoding: match self.encoding.0.bytes {
                b"raw" => Encoding::Raw,
                b"zstd" => Encoding::Zstd,
                _ => Encoding::Unknown,
            },
            digest: digest.map(|digest| digest.0),
            big_endian: match self.endianness {
                Some(Endianness::Big(bytes_left)) => Some(bytes_left),
                _ => None,
            },
            shard: None,
        })
    }

    fn layout(&self) -> Layout {
        match self.layout.map(|layout| layout.0.bytes) {
            None | Some(b"dense") => Layout::Dense,
            _ => Layout::Unknown,
        }
    }
}

/// `data_endianness`: v0.1 §4.
#[derive(Clone, Copy)]
pub(crate) enum Endianness {
    Little,
    Big(BytesLeft),
}

impl<'m> Slot<'m> for Endianness {
    const BLANK: Self = Self::Little;

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, text) = <Text<'m> as Slot<'m>>::parse(cx, wrong, at)?;
        match text.bytes {
            b"little" => Ok((rest, Self::Little)),
            b"big" => Ok((rest, Self::Big(text.bytes_left))),
            _ => Err(text.unknown(Rule::EndiannessValue).into()),
        }
    }
}
