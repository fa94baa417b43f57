//! The canonical form of generation 2: v2 §6.3, and what it leaves open.

use alloc::vec::Vec;

use super::{Broken, Form, is_empty};
use crate::error::{Error, OutOfMemory, Place};
use crate::format::v2::RootKey;
use crate::num::usize_from_u32;
use crate::rules::Rule;

/// Validates a manifest of 2 that keeps all other rules.
pub(super) fn validate(form: &Form<'_>) -> Result<(), Error> {
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
        Some(RootKey::objects) => Ok(None),
        Some(RootKey::attributes) if !is_empty(value) => Ok(None),
        _ => Err(Broken::Field),
    })?;
    for object in manifest.objects() {
        let map = object.map().ok_or(Error::internal())?;
        form.object(&object, map, &mut |_| Ok(()))?;
    }
    let cursor = blobs(form, form.writing.canonical_alignment)?;
    if extent.start == cursor && extent.end == frame.blobs_end {
        return Ok(());
    }
    Err(Error::new(Rule::CanonicalManifest, extent.start).found(extent.start))
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
