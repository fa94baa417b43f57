//! Validating what is to be written by the same code that validates what is read.

use nom::Parser as _;

use super::declare::{NewComponent, NewObject};
use crate::cbor::{Fault, Remaining, UNLIMITED, fault, map_head};
use crate::element::LogicalType;
use crate::error::{Error, Misuse, OutOfMemory, Place};
use crate::format::v1::V1_2;
use crate::format::{
    ComponentClaim, Dtype, Encoding, Format, ObjectClaim, ObjectFault, Role, Shape, Uint,
    pass_attributes,
};
use crate::limits::{Limits, Options};
use crate::manifest::{ElementType, Part, Roles};
use crate::num::{len_u32, u64_from_usize};
use crate::rules::{Limit, Rule, Unsupported};
use crate::sort::by_text;

/// Validates the object of that ordinal, for readers with those options, but without their tolerances:
/// how many bytes its compressed components decode to.
pub(super) fn object(
    object: &NewObject<'_>,
    ordinal: u32,
    options: &Options,
) -> Result<u64, Error> {
    let (limits, components) = (options.limit(), object.components());
    if u64_from_usize(object.shape.len()) > limits.rank().into() {
        return Err(Error::nowhere(Limit::Rank));
    }
    if u64_from_usize(components.len()) > limits.keys().into() {
        return Err(Error::nowhere(Limit::Keys));
    }
    roles_differ(components, options)?;
    let mut roles = Roles::default();
    let mut decoded = 0_u64;
    for (component, own) in (0..).zip(components) {
        let place = Place::new(Some(ordinal), Some(component));
        let claim = claim(own).map_err(|error| error.at(place))?;
        if claim.encoding == Encoding::Zstd {
            decoded = decoded.saturating_add(claim.length.value);
            compressed(claim.length.value, options).map_err(|error| error.at(place))?;
        }
        let part = Part::new(&claim, component, &V1_2);
        let part = part.map_err(|fault| refused(fault).at(place))?;
        if let Some(role) = claim.role {
            roles.note(role, part);
        }
    }
    let format = Format::named(object.format.as_bytes());
    let claim = ObjectClaim {
        shape: Shape::from_dimensions(object.shape),
        format,
        components: Remaining::END,
        facts: V1_2.facts,
    };
    roles.validate(&claim, &V1_2, &Options::default()).map_err(
        |ObjectFault { fault, component }| refused(fault).at(Place::new(Some(ordinal), component)),
    )?;
    coordinates(object, format).map_err(|(rule, component)| {
        Error::nowhere(rule).at(Place::new(Some(ordinal), Some(component)))
    })?;
    Ok(decoded)
}

/// A fault in something that is in no file yet.
fn refused(fault: Fault) -> Error {
    Error::nowhere(fault.kind).found(fault.found)
}

/// What the manifest will claim of a component, as far as the rules ask.
fn claim(component: &NewComponent<'_>) -> Result<ComponentClaim, Error> {
    let (storage, logical) = component.types().ok_or(Error::nowhere(Unsupported::Dtype))?;
    if let ElementType::UnknownLogical(name, _) = component.element
        && LogicalType::from_name(name.as_bytes()).is_some()
    {
        // It would be the known one, had it the storage type of that.
        return Err(Error::nowhere(Rule::LogicalTypeStorage));
    }
    if logical.known.is_some_and(LogicalType::is_since_v2) {
        return Err(Error::nowhere(Unsupported::LogicalType));
    }
    let bytes = component.bytes().ok_or(Error::nowhere(Rule::ShapeOverflow))?;
    let bytes = Uint { remaining: Remaining::END, value: bytes };
    let encoding = if component.level().is_some() { Encoding::Zstd } else { Encoding::Raw };
    Ok(ComponentClaim {
        at: Remaining::END,
        map: Remaining::END,
        role: Role::from_name(component.role.as_bytes()),
        dtype: Dtype {
            remaining: Remaining::END,
            storage: Some(storage),
            logical,
            type_remaining: None,
            implied: false,
        },
        offset: Uint { remaining: Remaining::END, value: 0 },
        length: bytes,
        decoded: (encoding == Encoding::Zstd).then_some(bytes),
        encoding,
        digest: false,
        big_endian: None,
        shard: None,
        facts: V1_2.facts,
    })
}

/// The window of the frames that are written, unless what they hold is smaller.
const WINDOW: u64 = 256 << 10;

/// Validates that a component may be compressed.
fn compressed(decoded: u64, options: &Options) -> Result<(), Error> {
    if options.is_canonical() {
        return Err(Error::nowhere(Rule::CanonicalEncoding));
    }
    if decoded > options.limit().decoded() {
        return Err(Error::nowhere(Limit::Decoded).found(decoded));
    }
    let window = decoded.min(WINDOW);
    if window > options.limit().window() {
        return Err(Error::nowhere(Limit::Window).found(window));
    }
    Ok(())
}

/// Validates that no role stands twice; in canonical form, that they are in order.
fn roles_differ(components: &[NewComponent<'_>], options: &Options) -> Result<(), Error> {
    let roles = || components.iter().map(|component| component.role);
    let sorted = roles().zip(roles().skip(1)).all(|(a, b)| super::canonical_order(a, b).is_lt());
    if sorted {
        return Ok(());
    }
    let mut sorted = alloc::vec::Vec::new();
    sorted.try_reserve_exact(components.len()).map_err(|_| OutOfMemory)?;
    sorted.extend(roles());
    let mut twice = false;
    by_text(&mut sorted, str::as_bytes, |_| twice = true).map_err(|_| OutOfMemory)?;
    if twice {
        return Err(Error::nowhere(Rule::DuplicateKey));
    }
    if options.is_canonical() { Err(Error::misuse(Misuse::Order)) } else { Ok(()) }
}

/// Validates that there are whole coordinates, where the values, being of an unknown type, cannot
/// be counted.
fn coordinates(object: &NewObject<'_>, format: Format) -> Result<(), (Rule, u32)> {
    let rank = u64_from_usize(object.shape.len());
    let coords = (0..).zip(object.components()).find(|(_, own)| own.role == "coords");
    match coords.filter(|_| format == Format::SparseCoo) {
        Some((ordinal, coords)) => match coords.elements().and_then(|n| n.checked_rem(rank)) {
            Some(0) => Ok(()),
            _ => Err((Rule::CooNnz, ordinal)),
        },
        None => Ok(()),
    }
}

/// Validates the CBOR of attributes that lie within `open` levels: whether it is that of none.
pub(super) fn attributes(bytes: &[u8], open: u8, limits: &Limits) -> Result<bool, Error> {
    let found = |error| refused(fault(error));
    let (rest, ()) = pass_attributes(limits, Rule::AttributesType, bytes, open).map_err(found)?;
    if !rest.is_empty() {
        return Err(Error::nowhere(Rule::ManifestTrailing).found(u64_from_usize(rest.len())));
    }
    let (first, entries) = map_head(Rule::AttributesType, UNLIMITED).parse(bytes).map_err(found)?;
    Ok(entries.are_over() || (!entries.are_left() && len_u32(first.len()) == 1))
}
