//! Components in other files: v2 §7.1. Each names one of the table, lies within it, and is identical
//! to or disjoint from the others there.

use alloc::vec::Vec;

use nom::Parser as _;

use super::Reader;
use super::blobs::{InOrder, Sharing, Wrong, wrong};
use super::records::{Records, Which};
use crate::cbor::{Fault, Remaining, text};
use crate::error::OutOfMemory;
use crate::format::v2::Shards;
use crate::limits::Limits;
use crate::num::{Assured as _, u64_from_usize, usize_from_u32};
use crate::rules::Rule;
use crate::sort::numbers;

/// What is wrong, and with which component.
pub(super) struct Clash {
    pub(super) fault: Fault,
    pub(super) which: Which,
}

/// All components of a manifest.
#[derive(Clone, Copy)]
pub(super) struct Components<'a> {
    pub(super) reader: &'a Reader<'a>,
    pub(super) records: Records<'a>,
    /// How many are in other files.
    pub(super) elsewhere: u32,
}

/// Validates those that are in other files.
pub(super) fn validate(
    components: Components<'_>,
    shards: &Shards<'_>,
    limits: &Limits,
) -> Result<Option<Clash>, OutOfMemory> {
    let Components { reader, records, elsewhere } = components;
    let (mut list, mut entries) = (Vec::new(), Vec::new());
    list.try_reserve_exact(usize_from_u32(elsewhere)).map_err(|_| OutOfMemory)?;
    // The shard of each above its place in the list, so that those of one shard come together, in order.
    entries.try_reserve_exact(usize_from_u32(elsewhere)).map_err(|_| OutOfMemory)?;
    for (which, record) in records.components().filter(|(_, record)| record.is_elsewhere()) {
        let found = |fault| Ok(Some(Clash { fault, which }));
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
        entries.push(u64_from_usize(shard) << 32 | u64_from_usize(list.len()));
        list.push(which);
    }
    numbers(&mut entries, u64::MAX);
    for group in entries.chunk_by(|one, other| one >> 32 == other >> 32) {
        let shard = group.first().map(|entry| entry >> 32);
        let end = shard.and_then(|shard| shards.end(usize::try_from(shard).ok()?)).assured();
        let place = |entry: &u64| usize::try_from(entry & u64::from(u32::MAX)).assured();
        let of_shard = group.iter().map(|entry| list.get(place(entry)).copied().assured());
        if let Some(clash) = clash(components, of_shard, limits.shared_total(end))? {
            return Ok(Some(clash));
        }
    }
    Ok(None)
}

/// What is wrong with the components of one shard together: the last that overlaps another and is not
/// identical to it, or the first beyond `most` bytes of all of them.
fn clash(
    Components { reader, records, .. }: Components<'_>,
    of_shard: impl Iterator<Item = Which> + Clone,
    most: u64,
) -> Result<Option<Clash>, OutOfMemory> {
    let extents = of_shard.map(|which| {
        let record = records.get(which).assured();
        (which, reader.extent(record))
    });
    let mut seen = InOrder::default();
    for (_, extent) in extents.clone() {
        seen.note(extent);
    }
    if seen.holds() {
        return Ok(None);
    }
    let sharing = Sharing { identical: true, alignment: reader.dialect.facts.alignment, most };
    let wrong = wrong(seen, extents, sharing)?;
    Ok(wrong.map(|Wrong { which, kind, found }| {
        let at = reader.offset_remaining(records.get(which).assured());
        Clash { fault: Fault::with(kind, at, found), which }
    }))
}
