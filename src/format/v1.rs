//! `ZTEN1000`: v1.1 II, v1.2 §1. One schema for 1.1 and 1.2; the minor version decides three
//! things only: the set of dtypes, whether zstd needs `uncompressed_length`, and index types.

mod values;

use nom::Parser as _;

use self::values::{DigestText, DtypeName, FormatName, TypeName};
#[cfg(feature = "write")]
use super::Format;
use super::claims::{Claims, ComponentClaim, ObjectClaim, Walk, Walked};
#[cfg(feature = "write")]
use super::dialect::Writing;
use super::dialect::{Blob, Dialect, Facts, IndexTypes, Nesting};
use super::shape::{Shape, Text, Uint};
use super::slots::{Attributes, Slot};
use super::table::table;
use super::{Encoding, Generation, Role, Version};
use crate::cbor::{
    Checked, Fault, Input, Keys, Parsed, Remaining, UNLIMITED, check_utf8, fault, key, keys_before,
    map_head, nth_key, pass, short_text, skip, text, utf8,
};
use crate::digest::Digest;
#[cfg(feature = "write")]
use crate::element::LogicalType;
use crate::error::Place;
#[cfg(feature = "write")]
use crate::limits::format;
use crate::num::{Assured as _, Word, impossible};
use crate::rules::{Limit, Rule, Unsupported};

table! {
    /// The root: v1.1 II.1, v1.2 §1.
    Root<'m>, keys RootKey, within 0 levels of any CBOR, else Rule::RootType;
    // key           slot       type           presence                        else
    "version"    => version:    Version,       required(Rule::VersionMissing), else Rule::VersionType;
    "attributes" => attributes: Attributes<1>, optional,                       else Rule::AttributesType;
    "objects"    => objects:    Objects<'m>,   required(Rule::ObjectsMissing), else Rule::ObjectsType;
}

table! {
    /// One object: v1.1 II.2, v1.2 §1.
    Object<'m>, keys ObjectKey, within 2 levels of any CBOR, else Rule::ObjectType;
    // key           slot       type           presence                           else
    "shape"      => shape:      Shape,         required(Rule::ShapeMissing),      else Rule::ShapeType;
    "format"     => format:     FormatName,    required(Rule::FormatMissing),     else Rule::FormatType;
    "attributes" => attributes: Attributes<3>, optional,                          else Rule::AttributesType;
    "components" => components: Components,    required(Rule::ComponentsMissing), else Rule::ComponentsType;
}

table! {
    /// One component: v1.1 II.3, v1.2 §1. `type` and `uncompressed_length` came with 1.2 and are
    /// honoured in every 1.x file, because an appended file keeps its old version.
    Component<'m>, keys ComponentKey, within 4 levels of any CBOR, else Rule::ComponentType;
    // key                    slot            type        presence                       else
    "dtype"               => dtype:          DtypeName,  required(Rule::DtypeMissing),  else Rule::DtypeType;
    "offset"              => offset:         Uint,       required(Rule::OffsetMissing), else Rule::OffsetType;
    "length"              => length:         Uint,       required(Rule::LengthMissing), else Rule::LengthType;
    "digest"              => digest:         DigestText, nullable,                      else Rule::DigestType;
    "encoding"            => encoding:       Encoding,   optional,                      else Rule::EncodingType;
    "uncompressed_length" => decoded_length: Uint,       nullable,                      else Rule::DecodedLengthType;
    "type"                => logical_type:   TypeName,   nullable,                      else Rule::LogicalTypeType;
}

const FACTS: Facts = Facts::BEFORE_2;

/// The rules of 1.2, which canonical files follow and those that are written.
pub(crate) static V1_2: Dialect = Dialect {
    generation: Generation::V1_2,
    nesting: Nesting::Named,
    #[cfg(feature = "write")]
    has_attributes: true,
    #[cfg(feature = "write")]
    has_shards: false,
    encoding: ComponentKey::encoding.field(),
    blob: Blob::Fields(ComponentKey::offset.field(), ComponentKey::length.field()),
    read_digest: |text| Digest::read_v1(text),
    index_types: IndexTypes::U64,
    logical_dtypes: false,
    strict_bools: true,
    needs_decoded_length: true,
    unknown_format: None,
    unknown_type: None,
    facts: FACTS,
    single_cells: false,
    #[cfg(feature = "write")]
    writing: Some(&WRITING),
    #[cfg(feature = "write")]
    is_object_field: |key| ObjectKey::named(key).is_some(),
};

/// How 1.2 is written.
#[cfg(feature = "write")]
static WRITING: Writing = Writing {
    dialect: &V1_2,
    compression: Encoding::Zstd,
    deterministic: false,
    digests_decoded: false,
    bool_is_type: false,
    bounded_shapes: false,
    canonical_alignment: format::ALIGNMENT,
    logical_type: |name| LogicalType::from_name(name),
    format: |name| Format::named(name),
    format_name: |format| match format {
        Format::Dense | Format::SparseCsr | Format::SparseCoo | Format::QuantizedGroup => {
            Some(format.name())
        }
        _ => None,
    },
};

/// The rules of 1.1: v1.1 II.3, II.4, III.2.
static V1_1: Dialect = Dialect {
    generation: Generation::V1_1,
    index_types: IndexTypes::Integers,
    logical_dtypes: true,
    needs_decoded_length: false,
    ..V1_2
};

/// Walks a 1.x manifest.
pub(crate) fn walk<'m, C: Claims<'m>>(
    walk: &mut Walk<'_, C>,
    manifest: Input<'m>,
) -> Parsed<'m, Walked> {
    Root::read(walk, manifest, |walk, root| {
        if let Objects::Deferred { at, rest } = root.objects
            && Objects::walk(walk, at)?.len() != rest.len()
        {
            // What is well-formed was passed over as it was walked.
            impossible();
            return Err(Fault::new(Rule::ObjectsType, Remaining::of(at)).into());
        }
        let attributes = root.attributes.map(|attributes| attributes.0);
        Ok(Walked { attributes, shards: None, version: Some(root.version) })
    })
}

/// The dialect of a manifest that need not be in order, as far as can be told.
pub(super) fn dialect(manifest: Input<'_>) -> Option<&'static Dialect> {
    let (_, text) = text(Rule::VersionType).parse(RootKey::version.field().find(manifest)?).ok()?;
    let version = version(core::str::from_utf8(text).ok()?)?;
    (version.major == 1).then(|| version.dialect())
}

/// The names of an object and of a component of it, in a manifest that need be in order up to
/// there only.
pub(super) fn names(
    manifest: Input<'_>,
    object: u32,
    component: Option<u32>,
) -> Option<(Input<'_>, Option<Input<'_>>)> {
    let (map, name) = nth_key(RootKey::objects.field().find(manifest)?, object)?;
    let role = component.and_then(|ordinal| {
        let (_, role) = nth_key(ObjectKey::components.field().find(map)?, ordinal)?;
        Some(role)
    });
    Some((name, role))
}

impl<'m> Slot<'m> for Version {
    const BLANK: Self = Self { major: 0, minor: 0, patch: None };

    fn parse<C: Claims<'m>>(
        walk: &mut Walk<'_, C>,
        wrong: Rule,
        at: Input<'m>,
    ) -> Parsed<'m, Self> {
        let (rest, bytes) = text(wrong).parse(at)?;
        let remaining = Remaining::of(at);
        let version = version(utf8(remaining, bytes)?)
            .ok_or_else(|| Fault::new(Rule::VersionSyntax, remaining))?;
        if version.major != 1 {
            return Err(Fault::with(Unsupported::Version, remaining, version.major.into()).into());
        }
        walk.dialect = Some(version.dialect());
        Ok((rest, version))
    }
}

impl Version {
    fn dialect(self) -> &'static Dialect {
        if self.minor < 2 { &V1_1 } else { &V1_2 }
    }
}

/// Two or three decimal numbers joined by dots, without sign, suffix or leading zero.
fn version(text: &str) -> Option<Version> {
    let mut numbers = text.as_bytes().split(|byte| *byte == b'.').map(|number| {
        let leading = number.len() > 1 && number.starts_with(b"0");
        if number.is_empty() || leading { None } else { decimal(number) }
    });
    let (major, minor) = (numbers.next()??, numbers.next()??);
    let patch = match numbers.next() {
        Some(number) => Some(number?),
        None => None,
    };
    numbers.next().is_none().then_some(Version { major, minor, patch })
}

/// The number that decimal digits stand for.
fn decimal(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0_u32, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}

/// The objects: walked as they come, or, where the version stands after them, later.
pub(crate) enum Objects<'m> {
    Walked,
    Deferred { at: Input<'m>, rest: Input<'m> },
}

impl<'m> Slot<'m> for Objects<'m> {
    const BLANK: Self = Self::Walked;

    #[inline(always)]
    fn parse<C: Claims<'m>>(
        walk: &mut Walk<'_, C>,
        wrong: Rule,
        at: Input<'m>,
    ) -> Parsed<'m, Self> {
        if walk.dialect.is_some() {
            return Ok((Self::walk(walk, at)?, Self::Walked));
        }
        map_head(wrong, UNLIMITED).parse(at)?;
        // What is wrong in them is found when they are walked.
        let rest = match pass(at) {
            Some(rest) => rest,
            None => skip(at, 1, walk.limits.depth())?.0,
        };
        Ok((rest, Self::Deferred { at, rest }))
    }
}

impl<'m> Objects<'m> {
    #[inline(never)]
    fn walk<C: Claims<'m>>(walk: &mut Walk<'_, C>, at: Input<'m>) -> Checked<Input<'m>> {
        let (mut input, mut entries) = map_head(Rule::ObjectsType, UNLIMITED).parse(at)?;
        let dialect = walk.dialect.assured_or(&V1_2);
        walk.claims.begin(dialect, entries.claimed(), Remaining::of(input))?;
        let mut ordinal = 0_u32;
        while entries.next(input) {
            walk.place = Place::new(Some(ordinal), None);
            input = object(walk, input)?;
            ordinal = ordinal.wrapping_add(1);
        }
        walk.place = Place::NOWHERE;
        entries.end(input, at, Limit::Keys)
    }
}

/// Reads the object whose name is at `at`, and has it validated.
#[inline(always)]
fn object<'m, C: Claims<'m>>(walk: &mut Walk<'_, C>, at: Input<'m>) -> Checked<Input<'m>> {
    let (value, name) = key(at)?;
    check_utf8(Remaining::of(at), name)?;
    let behind = Remaining::of(value);
    walk.claims.name(Text { remaining: Remaining::of(at), bytes: name, behind }, FACTS);
    let (rest, ()) = Object::read(walk, value, |walk, object| {
        let claim = ObjectClaim {
            shape: object.shape,
            format: object.format.format,
            layout: Some(object.format.remaining),
            attributes: object.attributes.map(|attributes| attributes.0),
            components: object.components.0,
            facts: FACTS,
        };
        walk.object(&claim)
    })?;
    Ok(rest)
}

/// Where an object's components are; each has been validated.
pub(crate) struct Components(Remaining);

impl<'m> Slot<'m> for Components {
    const BLANK: Self = Self(Remaining::END);

    #[inline(always)]
    fn parse<C: Claims<'m>>(
        walk: &mut Walk<'_, C>,
        wrong: Rule,
        at: Input<'m>,
    ) -> Parsed<'m, Self> {
        let limit = walk.limits.keys();
        let (mut input, mut entries) = map_head(wrong, limit).parse(at)?;
        let mut keys = Keys::of(input);
        let mut ordinal = 0_u32;
        while entries.next(input) {
            walk.place = walk.place.in_component(Some(ordinal));
            input = component(walk, &mut keys, input)?;
            ordinal = ordinal.wrapping_add(1);
        }
        walk.place = walk.place.in_component(None);
        let rest = entries.end(input, at, Limit::Keys)?;
        if let Err(error) = keys.finish(input) {
            let fault = fault(error);
            if fault.kind == Rule::DuplicateKey.into() {
                walk.place = walk.place.in_component(Some(keys_before(at, fault.remaining)));
            }
            return Err(fault.into());
        }
        Ok((rest, Self(Remaining::of(at))))
    }
}

/// Reads a role: what is left after it, its name, and which it is if it is known.
#[inline(never)]
fn any_role(at: Input<'_>) -> Checked<(Input<'_>, Input<'_>, Option<Role>)> {
    let (rest, name) = key(at)?;
    let role = Role::from_name(name);
    if role.is_none() {
        check_utf8(Remaining::of(at), name)?;
    }
    Ok((rest, name, role))
}

/// Reads the component whose role is at `at`, and has it validated.
#[inline(never)]
fn component<'m, C: Claims<'m>>(
    walk: &mut Walk<'_, C>,
    keys: &mut Keys<'m>,
    at: Input<'m>,
) -> Checked<Input<'m>> {
    let (value, name, role) = match short_text(at) {
        Some((value, name, word)) if word == const { Word::new("data") } => {
            (value, name, Some(Role::Data))
        }
        _ => any_role(at)?,
    };
    keys.note(name);
    fields(walk, Remaining::of(at), role, value)
}

/// Reads the fields at `value` of the component whose role stands at `at`.
#[inline(always)]
fn fields<'m, C: Claims<'m>>(
    walk: &mut Walk<'_, C>,
    at: Remaining,
    role: Option<Role>,
    value: Input<'m>,
) -> Checked<Input<'m>> {
    let (rest, ()) = Component::read(walk, value, |walk, component| {
        let claim = component.claim(at, Remaining::of(value), role);
        Ok(walk.claims.component(&claim)?)
    })?;
    Ok(rest)
}

impl Component<'_> {
    #[inline(always)]
    fn claim(self, at: Remaining, map: Remaining, role: Option<Role>) -> ComponentClaim {
        ComponentClaim {
            at,
            map,
            role,
            dtype: self.dtype.and(self.logical_type),
            offset: self.offset,
            length: self.length,
            decoded: self.decoded_length,
            encoding: self.encoding.unwrap_or(Encoding::Raw),
            digest: self.digest.map(|digest| digest.0),
            big_endian: None,
            shard: None,
            facts: FACTS,
        }
    }
}
