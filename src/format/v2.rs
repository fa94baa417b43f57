//! Generation 2: v2 §3. The manifest is deterministic CBOR. A record of known fields with nothing
//! else in it is found to be that as it is read; any other is walked over first.

mod content;
mod profiles;
mod shards;
mod values;
#[cfg(feature = "write")]
mod write;

use nom::Parser as _;

pub(crate) use self::content::content;
pub(crate) use self::profiles::{GgufKey, MxKey, QuantKey};
use self::shards::Table;
pub(crate) use self::shards::{Listed, Shards};
#[cfg(feature = "write")]
pub(crate) use self::shards::{ShardKey, validate_shard_name};
use self::values::{
    Attributes, BlobPlace, DecodedLength, DigestText, DtypeName, EncodingName, Layout, NAME_CAP,
    ShapeOf64, ShardName, TypeName, validate_name,
};
#[cfg(feature = "write")]
pub(crate) use self::write::{
    RANK, pass_attributes, profile, validate_shards, validate_written_name,
};
use super::claims::{Claims, ComponentClaim, ObjectClaim, Walk, Walked};
use super::dialect::{Blob, Dialect, Facts, IndexTypes, Nesting};
use super::shape::Text;
use super::slots::Slot;
use super::table::table;
use super::{Encoding, Format, Generation, Role};
use crate::cbor::{
    Ascending, Checked, Fault, Input, Parsed, Remaining, check_utf8, is_ascii, nth_key, short_text,
    strict, strict_map_head, strict_text,
};
use crate::digest::Digest;
use crate::error::Place;
use crate::limits::format;
use crate::num::{SMALL, Word};
use crate::rules::{Limit, Rule, Unsupported};

table! {
    /// The root: v2 §3.2.
    Root<'m>, keys RootKey, within 0 levels of deterministic CBOR, else Rule::RootType;
    // key           slot       type        presence                        else
    "shards"     => shards:     Table,      optional,                       else Rule::ShardsType;
    "objects"    => objects:    Objects,    required(Rule::ObjectsMissing), else Rule::ObjectsType;
    "attributes" => attributes: Attributes<1>, optional,                    else Rule::AttributesType;
}

table! {
    /// One object: v2 §3.3.
    Object<'m>, keys ObjectKey, within 2 levels of deterministic CBOR, else Rule::ObjectType;
    // key           slot       type        presence                           else
    "parts"      => parts:      Parts,      required(Rule::ComponentsMissing), else Rule::ComponentsType;
    "shape"      => shape:      ShapeOf64,  required(Rule::ShapeMissing),      else Rule::ShapeType;
    "layout"     => layout:     Layout,     required(Rule::FormatMissing),     else Rule::FormatType;
    "attributes" => attributes: Attributes<3>, optional,                       else Rule::AttributesType;
}

table! {
    /// One part: v2 §3.4.
    Part<'m>, keys PartKey, within 4 levels of deterministic CBOR, else Rule::ComponentType;
    // key               slot            type           presence                     else
    "blob"           => blob:           BlobPlace,     required(Rule::BlobMissing),  else Rule::BlobType;
    "type"           => logical_type:   TypeName,      optional,                     else Rule::LogicalTypeType;
    "dtype"          => dtype:          DtypeName,     required(Rule::DtypeMissing), else Rule::DtypeType;
    "shard"          => shard:          ShardName,     optional,                     else Rule::ShardReferenceType;
    "digest"         => digest:         DigestText,    optional,                     else Rule::DigestType;
    "encoding"       => encoding:       EncodingName,  optional,                     else Rule::EncodingType;
    "decoded_length" => decoded_length: DecodedLength, optional,                     else Rule::DecodedLengthType;
}

const FACTS: Facts = Facts {
    alignment: format::ALIGNMENT_V2,
    shares_blobs: true,
    sorted_by_length: true,
    exact_roles: true,
    whole_elements: false,
};

/// The rules of 2.
pub(crate) static V2: Dialect = Dialect {
    generation: Generation::V2,
    nesting: Nesting::Named,
    #[cfg(feature = "write")]
    has_attributes: true,
    #[cfg(feature = "write")]
    has_shards: true,
    encoding: PartKey::encoding.field(),
    blob: Blob::Pair(PartKey::blob.field()),
    read_digest: |text| Digest::read_v2(text),
    index_types: IndexTypes::Unsigned,
    logical_dtypes: false,
    strict_bools: true,
    needs_decoded_length: true,
    unknown_format: Some(Unsupported::Format),
    unknown_type: Some(Unsupported::LogicalType),
    facts: FACTS,
    single_cells: true,
    #[cfg(feature = "write")]
    writing: Some(&write::WRITING),
    #[cfg(feature = "write")]
    is_object_field: |key| ObjectKey::named(key).is_some(),
};

/// Walks the manifest of a file of generation 2.
pub(crate) fn walk<'m, C: Claims<'m>>(
    walk: &mut Walk<'_, C>,
    manifest: Input<'m>,
) -> Parsed<'m, Walked> {
    walk.dialect = Some(&V2);
    if manifest.is_empty() {
        // A data shard: v2 §7.2.
        walk.claims.begin(&V2, None, Remaining::END)?;
        return Ok((manifest, Walked { attributes: None, shards: None, version: None }));
    }
    let read = root(walk, manifest);
    debug_assert!(
        read.is_err() || malformed(walk, manifest).is_ok(),
        "what is read is in that form"
    );
    read.map_err(|error| malformed(walk, manifest).err().unwrap_or(error))
}

fn root<'m, C: Claims<'m>>(walk: &mut Walk<'_, C>, manifest: Input<'m>) -> Parsed<'m, Walked> {
    // What a record has to have lies no deeper than any limit is: `DEPTH_FLOOR`.
    if SMALL {
        walk.prove(manifest, 0)?;
    }
    Root::read(walk, manifest, |_, root| {
        let attributes = root.attributes.map(|attributes| attributes.0);
        let shards = root.shards.map(|shards| shards.0);
        Ok(Walked { attributes, shards, version: None })
    })
}

/// Validates the form of a manifest as a whole. Of one that is refused, what is malformed is said
/// before anything else, wherever it is, and of no object.
#[cold]
fn malformed<C>(walk: &mut Walk<'_, C>, manifest: Input<'_>) -> Checked<()> {
    let place = core::mem::replace(&mut walk.place, Place::NOWHERE);
    strict(manifest, 0, walk.limits.depth())?;
    walk.place = place;
    Ok(())
}

/// The names of an object and of a part of it, in a manifest that need be in order up to there
/// only.
pub(super) fn names(
    manifest: Input<'_>,
    object: u32,
    part: Option<u32>,
) -> Option<(Input<'_>, Option<Input<'_>>)> {
    let (map, name) = nth_key(RootKey::objects.field().find(manifest)?, object)?;
    let role = part.and_then(|ordinal| {
        let (_, role) = nth_key(ObjectKey::parts.field().find(map)?, ordinal)?;
        Some(role)
    });
    Some((name, role))
}

/// The objects, each of which has been validated.
pub(crate) struct Objects;

impl<'m> Slot<'m> for Objects {
    const BLANK: Self = Self;

    fn parse<C: Claims<'m>>(
        walk: &mut Walk<'_, C>,
        wrong: Rule,
        at: Input<'m>,
    ) -> Parsed<'m, Self> {
        let (mut input, mut entries) = strict_map_head(wrong).parse(at)?;
        walk.claims.begin(&V2, entries.claimed(), Remaining::of(input))?;
        let (mut ordinal, mut names) = (0_u32, Ascending::default());
        while entries.next(input) {
            walk.place = Place::new(Some(ordinal), None);
            input = object(walk, &mut names, input)?;
            ordinal = ordinal.wrapping_add(1);
        }
        walk.place = Place::NOWHERE;
        Ok((entries.end(input, at, Limit::Keys)?, Self))
    }
}

/// Reads the name at `at`, which has to be above those before it.
#[inline(always)]
fn name<'m>(names: &mut Ascending<'m>, at: Input<'m>) -> Parsed<'m, Input<'m>> {
    let (value, name) = strict_text(Rule::KeyType).parse(at)?;
    if !matches!(name.len(), 1..=NAME_CAP) || !is_ascii::<true>(name) {
        validate_name(at, name)?;
        check_utf8(Remaining::of(at), name)?;
    }
    names.note(at, name)?;
    Ok((value, name))
}

/// Reads the object whose name is at `at`, and has it validated.
#[inline(always)]
fn object<'m, C: Claims<'m>>(
    walk: &mut Walk<'_, C>,
    names: &mut Ascending<'m>,
    at: Input<'m>,
) -> Checked<Input<'m>> {
    let (value, name) = name(names, at)?;
    let behind = Remaining::of(value);
    walk.claims.name(Text { remaining: Remaining::of(at), bytes: name, behind }, FACTS);
    let (rest, ()) = Object::read(walk, value, |walk, object| {
        let claim = ObjectClaim {
            shape: object.shape.0,
            format: object.layout.format,
            layout: Some(object.layout.remaining),
            attributes: object.attributes.map(|attributes| attributes.0),
            components: object.parts.0,
            facts: FACTS,
        };
        if claim.shape.product.is_none() {
            return Err(Fault::new(Rule::ShapeOverflow, claim.shape.remaining).into());
        }
        if let Format::Mx | Format::QuantGroup | Format::GgufBlocks = claim.format {
            profiles::validate(walk, value, &claim)?;
        }
        walk.object(&claim)
    })?;
    Ok(rest)
}

/// Where an object's parts are; each has been validated.
pub(crate) struct Parts(Remaining);

impl<'m> Slot<'m> for Parts {
    const BLANK: Self = Self(Remaining::END);

    #[inline(always)]
    fn parse<C: Claims<'m>>(
        walk: &mut Walk<'_, C>,
        wrong: Rule,
        at: Input<'m>,
    ) -> Parsed<'m, Self> {
        let (mut input, mut entries) = strict_map_head(wrong).parse(at)?;
        if entries.are_over() {
            return Err(Fault::new(Rule::ComponentsEmpty, Remaining::of(at)).into());
        }
        let (mut ordinal, mut names) = (0_u32, Ascending::default());
        while entries.next(input) {
            walk.place = walk.place.in_component(Some(ordinal));
            input = part(walk, &mut names, input)?;
            ordinal = ordinal.wrapping_add(1);
        }
        walk.place = walk.place.in_component(None);
        Ok((entries.end(input, at, Limit::Keys)?, Self(Remaining::of(at))))
    }
}

/// Reads the part whose name is at `at`, and has it validated.
#[inline(never)]
fn part<'m, C: Claims<'m>>(
    walk: &mut Walk<'_, C>,
    names: &mut Ascending<'m>,
    at: Input<'m>,
) -> Checked<Input<'m>> {
    let (value, role) = match short_text(at) {
        Some((value, name, word)) if word == const { Word::new("data") } => {
            names.note(at, name)?;
            (value, Some(Role::Data))
        }
        _ => {
            let (value, name) = name(names, at)?;
            (value, Role::from_name(name))
        }
    };
    let (rest, ()) = Part::read(walk, value, |walk, part| {
        let claim = part.claim(Remaining::of(at), Remaining::of(value), role)?;
        Ok(walk.claims.component(&claim)?)
    })?;
    Ok(rest)
}

impl Part<'_> {
    #[inline(always)]
    fn claim(self, at: Remaining, map: Remaining, role: Option<Role>) -> Checked<ComponentClaim> {
        let decoded = self.decoded_length.map(|length| length.0);
        match (&self.encoding, decoded) {
            (None, Some(decoded)) => {
                return Err(Fault::new(Rule::DecodedLengthAlone, decoded.remaining).into());
            }
            (Some(_), None) => return Err(Fault::new(Rule::DecodedLengthMissing, map).into()),
            _ => {}
        }
        Ok(ComponentClaim {
            at,
            map,
            role,
            dtype: self.dtype.and(self.logical_type)?,
            offset: self.blob.offset,
            length: self.blob.length,
            decoded,
            encoding: self.encoding.map_or(Encoding::Raw, |encoding| encoding.0),
            digest: self.digest.map(|digest| digest.0),
            big_endian: None,
            shard: self.shard.map(|shard| shard.0),
            facts: FACTS,
        })
    }
}
