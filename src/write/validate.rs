//! Validating what is to be written by the same code that validates what is read.

use alloc::vec::Vec;

use super::declare::BlobInShard;
use super::declare::{NewComponent, NewObject, Resolved};
use super::settings::Target;
use super::shard_list::ShardList;
use crate::cbor::{Checked, skip};
use crate::cbor::{Fault, Output, Remaining, UNLIMITED, fault, map_head};
use crate::digest::Digest;
use crate::element::StorageType;
use crate::error::{Error, Misuse, OutOfMemory, Place};
use crate::format::{
    Dtype, Encoding, Extent, Format, Product, RawComponent, Role, Shape, Uint, Writing,
    pass_attributes,
};
use crate::format::{ParseContext, Profile, RANK, v2};
use crate::limits::{Limits, Options};
use crate::manifest::{Candidate, ElementType, ObjectFault};
use crate::num::{len_u32, u64_from_usize};
use crate::rules::{Limit, Rule, Unsupported};

/// What an object is validated for: readers with those options, without their tolerances, of a file of
/// that target.
#[derive(Clone, Copy)]
pub(super) struct Readers<'o> {
    pub(super) options: &'o Options,
    pub(super) target: &'o Target,
    pub(super) shards: &'o ShardList,
}

/// Validates the object of that ordinal: how many bytes its compressed components decode to.
/// `attributes` are in the form in which they are written.
pub(super) fn object(
    object: &NewObject<'_>,
    ordinal: u32,
    readers: Readers<'_>,
    attributes: Option<&[u8]>,
) -> Result<u64, Error> {
    let Readers { options, target, .. } = readers;
    let writing = target.writing;
    let (limits, components) = (options.limit(), object.components());
    if u64_from_usize(object.shape.len()) > limits.rank().into() {
        return Err(Error::nowhere(Limit::Rank));
    }
    if !writing.deterministic && u64_from_usize(components.len()) > limits.keys().into() {
        return Err(Error::nowhere(Limit::Keys));
    }
    if writing.deterministic {
        forms(object, ordinal)?;
    }
    roles_differ(components, target)?;
    let mut records = Vec::new();
    records.try_reserve_exact(components.len()).map_err(|_| OutOfMemory)?;
    let mut decoded = 0_u64;
    for (component, own) in (0..).zip(components) {
        let place = Place::new(Some(ordinal), Some(component));
        let dtype = Error::nowhere(Unsupported::Dtype).at(place);
        let resolved = own.resolve(writing).ok_or(dtype)?;
        let raw = raw(own, &resolved, writing).map_err(|error| error.at(place))?;
        if let Some(stored) = own.stored {
            check_stored(stored, &resolved, &raw, readers).map_err(|error| error.at(place))?;
        }
        if resolved.compressed {
            let bytes = raw.decoded.map_or(0, |decoded| decoded.value);
            decoded = decoded.saturating_add(bytes);
            compressed(bytes, options).map_err(|error| error.at(place))?;
        }
        // Its place is found when it is written.
        let extent = Extent::part(raw.offset.value, raw.length.value);
        let record = raw.record(writing.dialect, writing.dialect.facts, extent);
        records.push(record.map_err(|fault| refused(fault).at(place))?);
    }
    let product = Product::of(object.shape.iter().copied());
    if writing.bounded_shapes && product.elements().is_none() {
        return Err(Error::nowhere(Rule::ShapeOverflow));
    }
    let layout = object.format(writing);
    let mut dimensions = Output::default();
    object.shape.iter().try_for_each(|dimension| dimensions.uint(*dimension))?;
    let (shape, dialect) = (Shape::of(dimensions.as_bytes()), writing.dialect);
    let candidate = Candidate { layout, product, shape, components: &records, dialect };
    let placed = |fault: ObjectFault| {
        let place = Place::new(Some(ordinal), fault.component());
        Error::nowhere(fault.kind()).found(fault.found()).at(place)
    };
    if let Some(profile) = profile(layout, dimensions.as_bytes(), readers, attributes)
        .map_err(|error| refused(fault(error)).at(Place::new(Some(ordinal), None)))?
    {
        candidate.check_profile(&profile).map_err(placed)?;
    }
    let _ = attributes;
    candidate.check(&Options::default()).map_err(placed)?;
    coordinates(object, writing).map_err(|(rule, component)| {
        Error::nowhere(rule).at(Place::new(Some(ordinal), Some(component)))
    })?;
    Ok(decoded)
}

/// Validates a component whose bytes are in a shard already: v2 §2.4, §7.1.
fn check_stored(
    stored: &BlobInShard<'_>,
    resolved: &Resolved<'_>,
    raw: &RawComponent,
    readers: Readers<'_>,
) -> Result<(), Error> {
    readers.target.has_shards()?;
    let BlobInShard { shard, blob } = stored;
    let end = readers.shards.blobs_end(shard).ok_or(Error::misuse(Misuse::UnknownShard))?;
    raw.extent(readers.target.writing.dialect.facts, end).map_err(refused)?;
    if !blob.compressed && resolved.bytes != Some(blob.length) {
        return Err(Error::misuse(Misuse::Length));
    }
    if !matches!(blob.digest, None | Some(Digest::Sha256(_) | Digest::Xxh3(_))) {
        return Err(Error::nowhere(Rule::DigestForm));
    }
    Ok(())
}

/// Validates what generation 2 asks of names, ranks and the number of parts: v2 §3.3, §3.5.
fn forms(object: &NewObject<'_>, ordinal: u32) -> Result<(), Error> {
    let named = |name: &str| {
        v2::validate_written_name(name.as_bytes()).map_err(|error| refused(fault(error)))
    };
    named(object.name)?;
    if len_u32(object.shape.len()) > RANK {
        return Err(Error::nowhere(Rule::ShapeRank).found(u64_from_usize(object.shape.len())));
    }
    if object.components().is_empty() {
        return Err(Error::nowhere(Rule::ComponentsEmpty));
    }
    for (component, own) in (0..).zip(object.components()) {
        let place = Place::new(Some(ordinal), Some(component));
        named(own.role).map_err(|error| error.at(place))?;
    }
    Ok(())
}

/// Reads the attributes of an object of a profile, if it is one: v2 §5.2.
fn profile(
    layout: Format,
    dimensions: &[u8],
    readers: Readers<'_>,
    attributes: Option<&[u8]>,
) -> Checked<Option<Profile>> {
    if !matches!(layout, Format::Mx | Format::QuantGroup | Format::GgufBlocks) {
        return Ok(None);
    }
    let attributes =
        attributes.ok_or_else(|| Fault::new(Rule::AttributeMissing, Remaining::END))?;
    let mut cx = ParseContext::of_items(readers.options.limit(), readers.target.writing.dialect);
    let kept = cx.shapes.keep(dimensions);
    let shape = kept.map_err(|out| Fault::new(out, Remaining::END))?;
    let shape_at = Remaining::END;
    v2::profile(&mut cx, v2::Profiled { layout, shape, shape_at, attributes }).map(Some)
}

/// A fault in something that is in no file yet.
fn refused(fault: Fault) -> Error {
    Error::nowhere(fault.kind).found(fault.found)
}

/// Returns the component as a manifest will spell it, as far as the rules ask.
fn raw(
    component: &NewComponent<'_>,
    resolved: &Resolved<'_>,
    writing: &Writing,
) -> Result<RawComponent, Error> {
    let Resolved { element, storage, logical, bytes, compressed, .. } = *resolved;
    if let ElementType::UnknownLogical(name, _) = element
        && ((writing.logical_type)(name.as_bytes()).is_some()
            || writing.bool_is_type && name == StorageType::Bool.name())
    {
        // It would be the known one, had it the storage type of that.
        return Err(Error::nowhere(Rule::LogicalTypeStorage));
    }
    if logical.known.is_some_and(|known| (writing.logical_type)(known.name().as_bytes()).is_none())
    {
        return Err(Error::nowhere(Unsupported::LogicalType));
    }
    let bytes = bytes.ok_or(Error::nowhere(Rule::ShapeOverflow))?;
    let uint = |value| Uint { remaining: Remaining::END, value };
    let (offset, length) = match component.stored {
        Some(stored) => (stored.blob.offset, stored.blob.length),
        None => (0, bytes),
    };
    let encoding = if compressed { writing.compression } else { Encoding::Raw };
    Ok(RawComponent {
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
        offset: uint(offset),
        length: uint(length),
        decoded: compressed.then_some(uint(bytes)),
        encoding,
        digest: None,
        big_endian: None,
        shard: None,
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
fn roles_differ(components: &[NewComponent<'_>], target: &Target) -> Result<(), Error> {
    let roles = || components.iter().map(|component| component.role);
    let sorted =
        roles().zip(roles().skip(1)).all(|(a, b)| target.order(a.as_bytes(), b.as_bytes()).is_lt());
    if sorted {
        return Ok(());
    }
    let mut sorted = Vec::new();
    sorted.try_reserve_exact(components.len()).map_err(|_| OutOfMemory)?;
    sorted.extend(roles());
    sorted.sort_unstable();
    if sorted.iter().zip(sorted.iter().skip(1)).any(|(a, b)| a == b) {
        return Err(Error::nowhere(Rule::DuplicateKey));
    }
    if target.canonical { Err(Error::misuse(Misuse::Order)) } else { Ok(()) }
}

/// Validates that there are whole coordinates, where the values, being of an unknown type, cannot
/// be counted.
fn coordinates(object: &NewObject<'_>, writing: &Writing) -> Result<(), (Rule, u32)> {
    let rank = u64_from_usize(object.shape.len());
    let coords = (0..).zip(object.components()).find(|(_, own)| own.role == "coords");
    match coords.filter(|_| object.format(writing) == Format::SparseCoo) {
        Some((ordinal, coords)) => {
            let elements = coords.resolve(writing).and_then(|coords| coords.stored_elements());
            match elements.and_then(|elements| elements.checked_rem(rank)) {
                Some(0) => Ok(()),
                _ => Err((Rule::CooNnz, ordinal)),
            }
        }
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
    let (first, entries) = map_head(Rule::AttributesType, UNLIMITED, bytes).map_err(found)?;
    Ok(entries.are_over() || (!entries.are_left() && len_u32(first.len()) == 1))
}

/// Validates that attributes that lie within `open` levels are one well-formed item, for 2, whose keys
/// need not be few: whether it is a map of none.
pub(super) fn well_formed(bytes: &[u8], open: u8, limits: &Limits) -> Result<bool, Error> {
    let found = |error| refused(fault(error));
    let (rest, ()) = skip(bytes, open, limits.depth()).map_err(found)?;
    if !rest.is_empty() {
        return Err(Error::nowhere(Rule::ManifestTrailing).found(u64_from_usize(rest.len())));
    }
    let (first, entries) = map_head(Rule::AttributesType, UNLIMITED, bytes).map_err(found)?;
    Ok(entries.are_over() || (!entries.are_left() && len_u32(first.len()) == 1))
}

/// Validates attributes in their deterministic form, as a reader of 2 does.
pub(super) fn sorted_attributes(bytes: &[u8], open: u8, limits: &Limits) -> Result<(), Error> {
    v2::pass_attributes(limits, bytes, open).map_err(|error| refused(fault(error)))?;
    Ok(())
}
