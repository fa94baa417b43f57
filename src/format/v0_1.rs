//! `ZTEN0001`: v0.1 §4 and §5, and its crate's readme for `layout`.

use nom::Parser as _;

use super::claims::{Claims, ComponentClaim, Dtype, Logical, ObjectClaim, Walk, Walked};
use super::dialect::{Blob, Dialect, Facts, IndexTypes, Nesting};
use super::shape::{Shape, Text, Uint};
use super::slots::Slot;
use super::table::table;
use super::{Encoding, Format, Generation, Role};
use crate::cbor::{
    Checked, Input, Parsed, Remaining, UNLIMITED, array_head, check_utf8, pass, text,
};
use crate::digest::Digest;
use crate::element::StorageType;
use crate::error::Place;
use crate::num::SMALL;
use crate::rules::{Limit, Rule, Unsupported};

table! {
    /// One tensor: v0.1 §4. Dtype, encoding and layout are open sets (§8): an entry with a name
    /// that is not known is listed and cannot be read.
    Entry<'m>, keys EntryKey, within 1 levels of any CBOR, else Rule::ObjectType;
    // key                slot         type            presence                         else
    "name"            => name:         Text<'m>,       required(Rule::NameMissing),     else Rule::NameType;
    "offset"          => offset:       Uint,           required(Rule::OffsetMissing),   else Rule::OffsetType;
    "size"            => size:         Uint,           required(Rule::LengthMissing),   else Rule::LengthType;
    "dtype"           => dtype:        Open<'m>,       required(Rule::DtypeMissing),    else Rule::DtypeType;
    "layout"          => layout:       Open<'m>,       optional,                        else Rule::LayoutType;
    "shape"           => shape:        Shape,          required(Rule::ShapeMissing),    else Rule::ShapeType;
    "encoding"        => encoding:     Open<'m>,       required(Rule::EncodingMissing), else Rule::EncodingType;
    "data_endianness" => endianness:   Endianness,     optional,                        else Rule::EndiannessType;
    "checksum"        => checksum:     Open<'m>,       optional,                        else Rule::DigestType;
}

/// The rules of 0.1.
pub(crate) static V0_1: Dialect = Dialect {
    generation: Generation::V0_1,
    nesting: Nesting::Flat("data"),
    #[cfg(feature = "write")]
    has_attributes: false,
    #[cfg(feature = "write")]
    has_shards: false,
    encoding: EntryKey::encoding.field(),
    blob: Blob::Fields(EntryKey::offset.field(), EntryKey::size.field()),
    read_digest: |text| Digest::read_v0(text),
    index_types: IndexTypes::Integers,
    logical_dtypes: false,
    strict_bools: false,
    needs_decoded_length: false,
    unknown_format: Some(Unsupported::Layout),
    unknown_type: None,
    facts: FACTS,
    single_cells: false,
    #[cfg(feature = "write")]
    writing: None,
    #[cfg(feature = "write")]
    is_object_field: |key| EntryKey::named(key).is_some(),
};

const FACTS: Facts = Facts { whole_elements: false, ..Facts::BEFORE_2 };

/// Walks a 0.1 manifest.
pub(crate) fn walk<'m, C: Claims<'m>>(
    walk: &mut Walk<'_, C>,
    manifest: Input<'m>,
) -> Parsed<'m, Walked> {
    walk.dialect = Some(&V0_1);
    let (mut input, mut entries) = array_head(Rule::RootType, UNLIMITED).parse(manifest)?;
    walk.claims.begin(&V0_1, entries.claimed(), Remaining::of(input))?;
    let mut ordinal = 0_u32;
    while entries.next(input) {
        walk.place = Place::new(Some(ordinal), None);
        input = object(walk, input)?;
        ordinal = ordinal.wrapping_add(1);
    }
    walk.place = Place::NOWHERE;
    let walked = Walked { attributes: None, shards: None, version: None };
    Ok((entries.end(input, manifest, Limit::Keys)?, walked))
}

/// Reads the entry at `at`, and has it validated: an object and its one component.
fn object<'m, C: Claims<'m>>(walk: &mut Walk<'_, C>, at: Input<'m>) -> Checked<Input<'m>> {
    let (rest, ()) = Entry::read(walk, at, |walk, entry| {
        check_utf8(entry.name.remaining, entry.name.bytes)?;
        walk.claims.name(entry.name, FACTS);
        walk.place = walk.place.in_component(Some(0));
        walk.claims.component(&entry.component(at)?)?;
        walk.place = walk.place.in_component(None);
        let claim = ObjectClaim {
            shape: entry.shape,
            format: entry.format(),
            layout: entry.layout.map(|layout| layout.0.remaining),
            attributes: None,
            components: Remaining::of(at),
            facts: FACTS,
        };
        walk.object(&claim)
    })?;
    Ok(rest)
}

/// The name of an entry, in a manifest that need be in order up to there only.
pub(super) fn name(manifest: Input<'_>, ordinal: u32) -> Option<Input<'_>> {
    let (mut input, mut entries) = array_head(Rule::RootType, UNLIMITED).parse(manifest).ok()?;
    for _ in 0..ordinal {
        entries.next(input).then_some(())?;
        input = pass(input)?;
    }
    entries.next(input).then_some(())?;
    let (_, name) = text(Rule::NameType).parse(EntryKey::name.field().find(input)?).ok()?;
    Some(name)
}

impl Entry<'_> {
    #[inline(always)]
    fn component(&self, at: Input<'_>) -> Checked<ComponentClaim> {
        if let Some(Open(text)) = self.checksum {
            digest_form(text)?;
        }
        Ok(ComponentClaim {
            at: Remaining::of(at),
            map: Remaining::of(at),
            role: Some(Role::Data),
            dtype: Dtype {
                remaining: self.dtype.0.remaining,
                storage: StorageType::from_v0(self.dtype.0.bytes),
                logical: Logical::NONE,
                type_remaining: None,
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
            digest: self.checksum.map(|checksum| checksum.0.remaining),
            big_endian: match self.endianness {
                Some(Endianness::Big(remaining)) => Some(remaining),
                _ => None,
            },
            shard: None,
            facts: FACTS,
        })
    }

    fn format(&self) -> Format {
        match self.layout.map(|layout| layout.0.bytes) {
            None | Some(b"dense") => Format::Dense,
            _ => Format::Unknown,
        }
    }
}

/// A name out of an open set.
#[derive(Clone, Copy)]
pub(crate) struct Open<'m>(Text<'m>);

impl<'m> Slot<'m> for Open<'m> {
    const BLANK: Self = Self(Text::BLANK);

    fn parse<C: Claims<'m>>(
        walk: &mut Walk<'_, C>,
        wrong: Rule,
        at: Input<'m>,
    ) -> Parsed<'m, Self> {
        let (rest, text) = Text::parse(walk, wrong, at)?;
        check_utf8(text.remaining, text.bytes)?;
        Ok((rest, Self(text)))
    }
}

/// Validates the form of a `checksum`, as far as it is known: v0.1 §4.
#[inline(always)]
fn digest_form(text: Text<'_>) -> Checked<()> {
    if !SMALL && Digest::is_known(text.bytes) {
        return Ok(());
    }
    text.validate(|text| Digest::read_v0(text).is_some(), Rule::DigestForm)
}

/// `data_endianness`: v0.1 §4.
#[derive(Clone, Copy)]
pub(crate) enum Endianness {
    Little,
    Big(Remaining),
}

impl<'m> Slot<'m> for Endianness {
    const BLANK: Self = Self::Little;

    fn parse<C: Claims<'m>>(
        walk: &mut Walk<'_, C>,
        wrong: Rule,
        at: Input<'m>,
    ) -> Parsed<'m, Self> {
        let (rest, text) = Text::parse(walk, wrong, at)?;
        match text.bytes {
            b"little" => Ok((rest, Self::Little)),
            b"big" => Ok((rest, Self::Big(text.remaining))),
            _ => Err(text.unknown(Rule::EndiannessValue).into()),
        }
    }
}
