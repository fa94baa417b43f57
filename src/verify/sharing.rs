//! Validating that equal bytes are in one blob: what canonical files of 2 have.

use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

use crate::codec::{ReadAt, ReadError};
use crate::digest::Digest;
use crate::error::{Error, OutOfMemory};
use crate::limits::Limits;
use crate::manifest::{Component, ManifestRef};
use crate::rules::Rule;

/// A part, by what its blob may have in common with that of another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    length: u64,
    sum: u64,
    offset: u64,
    object: u32,
    component: u32,
}

/// Validates that no two blobs of a canonical file of 2 hold the same bytes, the digests of its parts
/// having been verified. Only blobs of one length and one digest are read again.
///
/// It takes 32 bytes a part.
pub(super) fn validate<R: ReadAt + ?Sized>(
    manifest: ManifestRef<'_>,
    source: &R,
    limits: &Limits,
) -> Result<(), ReadError<R::Error>> {
    let mut parts = Vec::new();
    for part in manifest.objects().flat_map(|object| object.components()) {
        let (extent, place) = (part.extent(), part.place());
        let (Some(Digest::Xxh3(sum)), 1..) = (part.digest(), extent.length()) else { continue };
        parts.try_reserve(1).map_err(|_| Error::from(OutOfMemory))?;
        parts.push(Part {
            length: extent.length(),
            sum,
            offset: extent.offset(),
            object: place.object().unwrap_or_default(),
            component: place.component().unwrap_or_default(),
        });
    }
    parts.sort_unstable();
    parts.dedup_by_key(|part| part.offset);
    let mut hashed: Vec<([u8; 32], Part)> = Vec::new();
    for group in parts.chunk_by(|one, other| (one.length, one.sum) == (other.length, other.sum)) {
        if let [_] = group {
            continue;
        }
        hashed.clear();
        hashed.try_reserve(group.len()).map_err(|_| Error::from(OutOfMemory))?;
        for part in group {
            let own = manifest.object(part.object);
            let own = own.and_then(|own| own.component_at(part.component));
            let Some(own) = own else { continue };
            hashed.push((sha256(&own, source, limits)?, *part));
        }
        hashed.sort_unstable();
        let pairs = hashed.iter().zip(hashed.iter().skip(1));
        let mut again = pairs.filter(|(one, other)| one.0 == other.0).map(|(_, other)| other.1);
        if let Some(first) = again.next() {
            let part = again
                .fold(first, |least, part| if part.offset < least.offset { part } else { least });
            let place = crate::error::Place::new(Some(part.object), Some(part.component));
            return Err(Error::new(Rule::CanonicalSharing, part.offset).at(place).into());
        }
    }
    Ok(())
}

fn sha256<R: ReadAt + ?Sized>(
    part: &Component<'_>,
    source: &R,
    limits: &Limits,
) -> Result<[u8; 32], ReadError<R::Error>> {
    let mut sum = Sha256::new();
    let mut content = part.any_content(source, limits)?;
    while let Some(chunk) = content.next_chunk()? {
        sum.update(chunk);
    }
    Ok(sum.finalize().into())
}
