//! Components in other files: v2 §7.1. Each names one of the table, lies within it, and is identical
//! to or disjoint from the others there.

use alloc::vec::Vec;

use nom::Parser as _;

use super::Reader;
use super::blobs::{InOrder, Sharing, overlap};
use super::index::ComponentRecord;
use crate::cbor::{Fault, Remaining, text};
use crate::error::OutOfMemory;
use crate::format::v2::Shards;
use crate::num::{Assured as _, u64_from_usize, usize_from_u32};
use crate::rules::Rule;
use crate::sort::numbers;

/// What is wrong, and the place of the component among all of them.
pub(super) struct Clash {
    pub(super) fault: Fault,
    pub(super) component: usize,
}

/// Validates the components at the places `elsewhere`.
pub(super) fn validate(
    reader: &Reader<'_>,
    components: &[ComponentRecord],
    elsewhere: &[u32],
    shards: &Shards<'_>,
) -> Result<Option<Clash>, OutOfMemory> {
    // The shard of each above its place, so that those of one shard come together.
    let mut entries = Vec::new();
    entries.try_reserve_exact(elsewhere.len()).map_err(|_| OutOfMemory)?;
    for ordinal in elsewhere {
        let component = usize_from_u32(*ordinal);
        let Some(record) = components.get(component).copied() else { continue };
        let found = |fault| Ok(Some(Clash { fault, component }));
        let field = reader.dialect.shard.and_then(|field| field.find(reader.component_map(record)));
        let value = field.assured();
        let name = text(Rule::ShardReferenceType).parse(value).assured().1;
        let Some((shard, end)) = shards.find(name) else {
            return found(Fault::new(Rule::ShardReference, Remaining::of(value)));
        };
        let extent = reader.extent(record);
        if extent.end() > end {
            let remaining = reader.length_remaining(record);
            return found(Fault::with(Rule::BlobBounds, remaining, extent.length()));
        }
        entries.push(u64_from_usize(shard) << 32 | u64::from(*ordinal));
    }
    numbers(&mut entries, u64::MAX);
    for group in entries.chunk_by(|one, other| one >> 32 == other >> 32) {
        if let Some(component) = clash(reader, components, group)? {
            let record = components.get(component).copied();
            let remaining = record.map(|record| reader.offset_remaining(record)).assured();
            let offset = record.map(|record| reader.extent(record).offset()).assured();
            let fault = Fault::with(Rule::BlobOverlap, remaining, offset);
            return Ok(Some(Clash { fault, component }));
        }
    }
    Ok(None)
}

/// The place of the last component of one shard that overlaps another and is not identical to it.
fn clash(
    reader: &Reader<'_>,
    components: &[ComponentRecord],
    group: &[u64],
) -> Result<Option<usize>, OutOfMemory> {
    let extents = group.iter().filter_map(|entry| {
        let component = usize::try_from(entry & u64::from(u32::MAX)).assured();
        components.get(component).map(|record| (component, reader.extent(*record)))
    });
    let mut seen = InOrder::default();
    for (_, extent) in extents.clone() {
        seen.note(extent);
    }
    if seen.holds() {
        return Ok(None);
    }
    let sharing = Sharing { identical: true, alignment: reader.dialect.facts.alignment };
    let clash = overlap(seen, extents.clone().map(|(_, extent)| extent), sharing)?;
    let Some(clash) = clash else { return Ok(None) };
    Ok(extents.rev().find(|(_, extent)| *extent == clash).map(|(component, _)| component))
}
