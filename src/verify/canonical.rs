//! Validating the rules on canonical files that need more than single objects: bytes between blobs are zero, and in 2
//! equal bytes are stored in one blob.

use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

use crate::digest::Digest;
use crate::error::{BareError, Error, Location, OutOfMemory};
use crate::formats::ztensor::frame::HEADER;
use crate::manifest::{Component, ManifestRef};
use crate::num::{sort_by, u64_from_usize};
use crate::read_at::ReadAt;
use crate::rules::Rule;

/// Validates that all bytes between the blobs of a canonical file are zero and, in 2, that no two blobs hold the same bytes. The
/// caller has validated the objects of the file.
pub(super) fn validate(manifest: ManifestRef<'_>, source: &dyn ReadAt) -> Result<(), Error> {
    if manifest.facts().container.shares_blobs {
        check_sharing(manifest.read_from(&source))?;
    }
    check_padding(manifest, source)
}

/// Validates that all bytes between blobs, from the header to the manifest, are zero. In 1.x, components are in the order of their
/// blobs.
fn check_padding(manifest: ManifestRef<'_>, source: &dyn ReadAt) -> Result<(), Error> {
    let mut end = HEADER;
    if manifest.facts().container.shares_blobs {
        // In 2 the order of objects in the manifest differs from the order of blobs.
        let mut extents = Vec::new();
        for component in manifest.tensors().flat_map(|object| object.components()) {
            extents.try_reserve(1).map_err(|_| BareError::from(OutOfMemory))?;
            extents.push((component.extent().offset(), component.extent().end()));
        }
        sort_by(&mut extents, Ord::cmp);
        for (start, after) in extents {
            zeros(source, end, start)?;
            end = end.max(after);
        }
        return zeros(source, end, manifest.extent().start);
    }
    let components = manifest.tensors().flat_map(|object| object.components());
    for extent in components.map(|component| component.extent()) {
        zeros(source, end, extent.offset())?;
        end = end.max(extent.end());
    }
    zeros(source, end, manifest.extent().start)
}

/// The number of bytes between blobs that are read at once.
const PIECE: usize = 4096;

/// Validates that the bytes from `start` to `end` are zero.
fn zeros(source: &dyn ReadAt, mut start: u64, end: u64) -> Result<(), Error> {
    let mut buffer = [0; PIECE];
    while start < end {
        let length = usize::try_from(end.saturating_sub(start)).unwrap_or(PIECE).min(PIECE);
        let gap = buffer.get_mut(..length).ok_or(BareError::internal())?;
        source.read_at(start, gap)?;
        if let Some((at, byte)) = (0_u64..).zip(&*gap).find(|(_, byte)| **byte != 0) {
            let error = BareError::new(Rule::CanonicalPadding, start.saturating_add(at));
            return Err(error.found((*byte).into()).into());
        }
        start = start.saturating_add(u64_from_usize(length));
    }
    Ok(())
}

/// A component of a canonical file of 2: the length and the XXH3 of its blob, which are equal if two blobs hold the same bytes, the
/// offset of the blob, and the ordinals of the object and of the component in the object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ComparedBlob {
    length: u64,
    sum: u64,
    offset: u64,
    object: u32,
    component: u32,
}

/// Validates that no two blobs of a canonical file of 2 hold the same bytes. The digests of components have been
/// verified, so only blobs of equal length and digest are read again.
///
/// Takes 32 bytes of memory for each component.
fn check_sharing(manifest: ManifestRef<'_>) -> Result<(), Error> {
    let mut parts = Vec::new();
    for part in manifest.tensors().flat_map(|object| object.components()) {
        let (extent, location) = (part.extent(), part.location());
        let (Some(Digest::Xxh3(sum)), 1..) = (part.digest(), extent.length()) else { continue };
        parts.try_reserve(1).map_err(|_| BareError::from(OutOfMemory))?;
        parts.push(ComparedBlob {
            length: extent.length(),
            sum,
            offset: extent.offset(),
            object: location.object().unwrap_or_default(),
            component: location.component().unwrap_or_default(),
        });
    }
    sort_by(&mut parts, Ord::cmp);
    parts.dedup_by_key(|part| part.offset);
    let mut hashed: Vec<([u8; 32], ComparedBlob)> = Vec::new();
    for group in parts.chunk_by(|one, other| (one.length, one.sum) == (other.length, other.sum)) {
        if let [_] = group {
            continue;
        }
        hashed.clear();
        hashed.try_reserve(group.len()).map_err(|_| BareError::from(OutOfMemory))?;
        for part in group {
            let own = manifest.object(part.object);
            let own = own.and_then(|own| own.component_at(part.component));
            let Some(own) = own else { continue };
            hashed.push((sha256(&own, |chunk, take| take(chunk))?, *part));
        }
        sort_by(&mut hashed, Ord::cmp);
        let pairs = hashed.iter().zip(hashed.iter().skip(1));
        let again = pairs.filter(|(one, other)| one.0 == other.0).map(|(_, other)| other.1);
        if let Some(part) = again.min_by_key(|part| part.offset) {
            let location = Location::new(Some(part.object), Some(part.component));
            return Err(BareError::new(Rule::CanonicalSharing, part.offset).at(location).into());
        }
    }
    Ok(())
}

/// Returns the sha256 of the elements of `part` after `convert` has converted each chunk.
pub(crate) fn sha256(
    part: &Component<'_>,
    convert: impl Fn(&[u8], &mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error>,
) -> Result<[u8; 32], Error> {
    let mut sum = Sha256::new();
    let mut content = part.any_reader()?;
    while let Some(chunk) = content.next_chunk()? {
        convert(chunk, &mut |bytes| {
            sum.update(bytes);
            Ok(())
        })?;
    }
    Ok(sum.finalize().into())
}
