//! Components in other files: v2 §7.1. Each names one of the table, lies within it, and is identical
//! to or disjoint from the others there.

use alloc::vec::Vec;

use super::blobs::{InOrder, Sharing, Wrong, wrong};
use super::index::Records;
use crate::cbor::Fault;
use crate::error::OutOfMemory;
use crate::format::v2::Shards;
use crate::limits::Limits;
use crate::num::{Assured as _, u64_from_usize, usize_from_u32};
use crate::rules::Rule;

/// A broken rule, and the component that breaks it.
pub(super) struct Clash {
    pub(super) fault: Fault,
    /// The ordinal among all components.
    pub(super) component: u32,
}

/// Validates the components that are in other files; they are `in_shards`.
pub(super) fn validate(
    records: Records<'_>,
    in_shards: u32,
    shards: &Shards<'_>,
    limits: &Limits,
) -> Result<Option<Clash>, OutOfMemory> {
    let mut entries = Vec::new();
    // The ordinal of each below that of its shard, so that those of one shard come together, in order.
    entries.try_reserve_exact(usize_from_u32(in_shards)).map_err(|_| OutOfMemory)?;
    for (component, record) in (0..).zip(records.components).filter(|(_, it)| it.in_shard()) {
        let found = |fault| Ok(Some(Clash { fault, component }));
        let Some((shard, end)) = shards.find(records.text(record.shard)) else {
            return found(Fault::new(Rule::ShardReference, record.shard));
        };
        if record.extent.end() > end {
            let (_, remaining) = records.blob_places(record);
            return found(Fault::with(Rule::BlobBounds, remaining, record.extent.length()));
        }
        entries.push(u64_from_usize(shard) << 32 | u64::from(component));
    }
    entries.sort_unstable();
    for group in entries.chunk_by(|one, other| one >> 32 == other >> 32) {
        let shard = group.first().map(|entry| entry >> 32);
        let end = shard.and_then(|shard| shards.end(usize::try_from(shard).ok()?)).assured();
        let of_shard =
            group.iter().map(|entry| u32::try_from(entry & u64::from(u32::MAX)).assured());
        if let Some(clash) = clash(records, of_shard, limits.shared_total(end))? {
            return Ok(Some(clash));
        }
    }
    Ok(None)
}

/// What is wrong with the components of one shard together: the last that overlaps another and is not
/// identical to it, or the first beyond `most` bytes of all of them.
fn clash(
    records: Records<'_>,
    of_shard: impl Iterator<Item = u32> + Clone,
    most: u64,
) -> Result<Option<Clash>, OutOfMemory> {
    let record = |component| records.components.get(usize_from_u32(component));
    let mut seen = InOrder::default();
    for record in of_shard.clone().filter_map(record) {
        seen.note(record.extent);
    }
    if seen.holds() {
        return Ok(None);
    }
    let wrong = wrong(records.components, of_shard, Sharing { identical: true, most })?;
    Ok(wrong.and_then(|Wrong { component, kind, found }| {
        let (at, _) = records.blob_places(record(component)?);
        Some(Clash { fault: Fault::with(kind, at, found), component })
    }))
}
