//! The canonical form of generation 2: v2 §6.3, and what it leaves open.

use alloc::vec::Vec;

use super::{Broken, Form, is_empty};
use crate::cbor::{Input, Remaining, pass};
use crate::digest::Digest;
use crate::error::{Error, OutOfMemory, Place};
use crate::format::v2::{ObjectKey, PartKey, RootKey};
use crate::manifest::object::{Component, string};
use crate::num::usize_from_u32;
use crate::rules::Rule;

/// Validates a manifest of 2 that keeps all other rules; its blobs are at multiples of `alignment`.
pub(super) fn validate(form: &Form<'_>, alignment: u64) -> Result<(), Error> {
    let manifest = form.manifest;
    let frame = manifest.frame().ok_or(Error::internal())?;
    let extent = manifest.extent();
    if frame.is_data_shard() {
        return Err(Error::new(Rule::CanonicalManifest, extent.start));
    }
    if let Some((offset, reserved)) = frame.reserved() {
        return Err(Error::new(Rule::CanonicalReserved, offset).found(reserved.into()));
    }
    form.fields(form.root, Place::default(), |key, value| match RootKey::named(key) {
        Some(RootKey::objects) => behind(value),
        Some(RootKey::attributes) if !is_empty(value) => behind(value),
        _ => Err(Broken::Field),
    })?;
    for object in manifest.objects() {
        let place = Place::new(Some(object.ordinal()), None);
        let map = object.map().ok_or(Error::internal())?;
        form.fields(map, place, |key, value| match ObjectKey::named(key) {
            Some(ObjectKey::shape | ObjectKey::layout) => behind(value),
            Some(ObjectKey::attributes) if !is_empty(value) => behind(value),
            Some(ObjectKey::parts) => {
                let mut parts = object.components();
                parts.try_for_each(|part| fields(form, &part)).map_err(Broken::Within)?;
                behind(value)
            }
            _ => Err(Broken::Field),
        })?;
    }
    let cursor = blobs(form, alignment)?;
    if extent.start == cursor && extent.end == frame.blobs_end() {
        return Ok(());
    }
    Err(Error::new(Rule::CanonicalManifest, extent.start).found(extent.start))
}

/// Returns the bytes after a value, which has its one form.
fn behind(value: Input<'_>) -> Result<Input<'_>, Broken> {
    pass(value).ok_or(Broken::Within(Error::internal()))
}

/// Validates the fields of a part.
fn fields(form: &Form<'_>, part: &Component<'_>) -> Result<(), Error> {
    let map = form.records.component_map(part.record()).ok_or(Error::internal())?;
    let mut digest = false;
    form.fields(map, part.place(), |key, value| match PartKey::named(key) {
        Some(PartKey::blob | PartKey::dtype | PartKey::logical_type) => behind(value),
        Some(PartKey::digest) if is_xxh3(value) => {
            digest = true;
            behind(value)
        }
        Some(PartKey::digest) => Err(Broken::Value(Rule::CanonicalDigest)),
        Some(PartKey::encoding) => Err(Broken::Value(Rule::CanonicalEncoding)),
        _ => Err(Broken::Field),
    })?;
    if digest {
        return Ok(());
    }
    let offset = form.offset(Remaining::of(map));
    Err(Error::new(Rule::CanonicalDigest, offset).at(part.place()))
}

/// Whether a digest is one that canonical files have: there is one form of it.
fn is_xxh3(value: Input<'_>) -> bool {
    string(value).is_some_and(|text| Digest::is_known_v2(text.as_bytes()))
}

/// Validates where blobs lie, in the order of the bytes of names: where the manifest is to begin. It
/// takes 4 bytes an object, and 4 bytes for each part of the largest.
fn blobs(form: &Form<'_>, alignment: u64) -> Result<u64, Error> {
    let manifest = form.manifest;
    let mut objects = Vec::new();
    ordinals(&mut objects, manifest.len())?;
    objects.sort_unstable_by(|a, b| manifest.name(*a).cmp(manifest.name(*b)));
    let mut parts = Vec::new();
    let mut cursor = alignment;
    for object in objects.iter().filter_map(|ordinal| manifest.object(*ordinal)) {
        let count = object.components().len();
        ordinals(&mut parts, u32::try_from(count).unwrap_or(u32::MAX))?;
        let part = |ordinal| object.component_at(ordinal);
        let role = |ordinal| part(ordinal).map_or(<&[u8]>::default(), |part| part.role_bytes());
        parts.sort_unstable_by(|a, b| role(*a).cmp(role(*b)));
        for part in parts.iter().filter_map(|ordinal| part(*ordinal)) {
            let extent = part.extent();
            let new = extent.offset() == cursor;
            // A blob before the cursor is one that is there already: blobs are identical or disjoint,
            // and leave no room between them for another.
            let aligned = extent.offset() & alignment.wrapping_sub(1) == 0;
            let again = extent.offset() < cursor && extent.length() > 0 && aligned;
            if !new && !again {
                return Err(form.blob(&part));
            }
            if new {
                let next = extent.end().checked_next_multiple_of(alignment);
                cursor = next.unwrap_or(u64::MAX);
            }
        }
    }
    Ok(cursor)
}

/// The first `count` numbers.
fn ordinals(places: &mut Vec<u32>, count: u32) -> Result<(), Error> {
    places.clear();
    places.try_reserve(usize_from_u32(count)).map_err(|_| Error::from(OutOfMemory))?;
    places.extend(0..count);
    Ok(())
}
