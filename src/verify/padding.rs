//! Validating the bytes between blobs.

use crate::codec::{ReadAt, ReadError};
use crate::error::Error;
use crate::format::frame::HEADER;
use crate::limits::format::ALIGNMENT;
use crate::manifest::ManifestRef;
use crate::num::Assured as _;
use crate::rules::Rule;

/// Validates that all bytes from the header to the manifest that are in no blob are zero, the
/// blobs being in order.
pub(super) fn validate<R: ReadAt + ?Sized>(
    manifest: ManifestRef<'_>,
    source: &R,
) -> Result<(), ReadError<R::Error>> {
    let mut end = HEADER;
    let components = manifest.objects().flat_map(|object| object.components());
    for extent in components.map(|component| component.extent()) {
        zeros(source, end, extent.offset())?;
        end = end.max(extent.end());
    }
    zeros(source, end, manifest.extent().start)
}

/// Validates that the bytes from `start` to `end` are zero.
fn zeros<R: ReadAt + ?Sized>(
    source: &R,
    mut start: u64,
    end: u64,
) -> Result<(), ReadError<R::Error>> {
    let mut buffer = [0; 64];
    while start < end {
        let length = end.checked_sub(start).assured().min(ALIGNMENT);
        let gap = buffer.get_mut(..usize::try_from(length).assured()).assured();
        source.read_at(start, gap).map_err(ReadError::Source)?;
        if let Some((at, byte)) = (0_u64..).zip(&*gap).find(|(_, byte)| **byte != 0) {
            let error = Error::new(Rule::CanonicalPadding, start.saturating_add(at));
            return Err(error.found((*byte).into()).into());
        }
        start = start.saturating_add(length);
    }
    Ok(())
}
