//! Validating the bytes between blobs.

use alloc::vec::Vec;

use crate::codec::{ReadAt, ReadError};
use crate::error::Error;
use crate::error::OutOfMemory;
use crate::format::frame::HEADER;
use crate::manifest::ManifestRef;
use crate::num::u64_from_usize;
use crate::rules::Rule;

/// Validates that all bytes from the header to the manifest that are in no blob are zero, the
/// blobs being in order.
pub(super) fn validate<R: ReadAt + ?Sized>(
    manifest: ManifestRef<'_>,
    source: &R,
) -> Result<(), ReadError<R::Error>> {
    let mut end = HEADER;
    if manifest.dialect().facts.shares_blobs {
        // The order of the manifest is not that of the blobs.
        let mut extents = Vec::new();
        for component in manifest.objects().flat_map(|object| object.components()) {
            extents.try_reserve(1).map_err(|_| Error::from(OutOfMemory))?;
            extents.push((component.extent().offset(), component.extent().end()));
        }
        extents.sort_unstable();
        for (start, after) in extents {
            zeros(source, end, start)?;
            end = end.max(after);
        }
        return zeros(source, end, manifest.extent().start);
    }
    let components = manifest.objects().flat_map(|object| object.components());
    for extent in components.map(|component| component.extent()) {
        zeros(source, end, extent.offset())?;
        end = end.max(extent.end());
    }
    zeros(source, end, manifest.extent().start)
}

/// Bytes that are read in one go.
const PIECE: usize = 4096;

/// Validates that the bytes from `start` to `end` are zero.
fn zeros<R: ReadAt + ?Sized>(
    source: &R,
    mut start: u64,
    end: u64,
) -> Result<(), ReadError<R::Error>> {
    let mut buffer = [0; PIECE];
    while start < end {
        let length = usize::try_from(end.saturating_sub(start)).unwrap_or(PIECE).min(PIECE);
        let gap = buffer.get_mut(..length).ok_or(Error::internal())?;
        source.read_at(start, gap).map_err(ReadError::Source)?;
        if let Some((at, byte)) = (0_u64..).zip(&*gap).find(|(_, byte)| **byte != 0) {
            let error = Error::new(Rule::CanonicalPadding, start.saturating_add(at));
            return Err(error.found((*byte).into()).into());
        }
        start = start.saturating_add(u64_from_usize(length));
    }
    Ok(())
}
