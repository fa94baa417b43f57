//! Components in other files: v2 §7.1. Each names one of the table, lies within it, and is identical
//! to or disjoint from the others there.

use alloc::vec::Vec;

use super::builder::{BlobRule, InOrder, PlacedFault, find_overlap, overlap_fault};
use super::index::{FieldFault, Records, Site};
use crate::cbor::Fault;
use crate::error::OutOfMemory;
use crate::format::ShardRecord;
use crate::limits::Limits;
use crate::names::by_length;
use crate::num::{halves, u64_from_usize, usize_from_u32};
use crate::rules::Rule;

/// Checks the components that are in other files; they are `in_shards`.
pub(super) fn check(
    records: Records<'_>,
    in_shards: u32,
    shards: &[ShardRecord],
    limits: &Limits,
) -> Result<(), PlacedFault> {
    let mut entries = Vec::new();
    // The ordinal of each below that of its shard, so that those of one shard come together, in order.
    entries.try_reserve_exact(usize_from_u32(in_shards)).map_err(|_| OutOfMemory)?;
    for (component, record) in (0..).zip(records.components).filter(|(_, it)| it.in_shard()) {
        let broken = |fault| Err(PlacedFault { fault, place: records.place(component) });
        let name = records.text(record.shard);
        let order = |shard: &ShardRecord| by_length(records.text(shard.name), name);
        let Ok(shard) = shards.binary_search_by(order) else {
            return broken(Fault::new(Rule::ShardReference, record.shard));
        };
        let end = shards.get(shard).map_or(0, ShardRecord::blobs_end);
        if record.extent.end() > end {
            let found = record.extent.length();
            let kind = Rule::BlobBounds.into();
            return broken(records.fault(record, FieldFault { kind, field: Site::Length, found }));
        }
        entries.push(u64_from_usize(shard) << 32 | u64::from(component));
    }
    entries.sort_unstable();
    for group in entries.chunk_by(|one, other| one >> 32 == other >> 32) {
        let shard = group.first().and_then(|entry| usize::try_from(entry >> 32).ok());
        let end = shard.and_then(|shard| shards.get(shard)).map_or(0, ShardRecord::blobs_end);
        let of_shard = group.iter().map(|entry| {
            let [_, component] = halves(*entry);
            component
        });
        check_blobs(records, of_shard, limits.shared_total(end))?;
    }
    Ok(())
}

/// Checks the blobs of one shard together: none overlaps another and is not identical to it, and no more than
/// `most` bytes are shared.
fn check_blobs(
    records: Records<'_>,
    of_shard: impl Iterator<Item = u32> + Clone,
    most: u64,
) -> Result<(), PlacedFault> {
    let mut seen = InOrder::default();
    let record = |component| records.components.get(usize_from_u32(component));
    for record in of_shard.clone().filter_map(record) {
        seen.note(record.extent);
    }
    if seen.holds() {
        return Ok(());
    }
    match find_overlap(records.components, of_shard, BlobRule::Identical { most })? {
        Some(found) => Err(overlap_fault(records, found)),
        None => Ok(()),
    }
}
