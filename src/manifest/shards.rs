//! Components in other files: v2 §7.1. Each names one of the table, lies within it, and is identical
//! to or disjoint from the others there.

use alloc::vec::Vec;

use nom::Parser as _;

use super::Reader;
use super::blobs::{InOrder, Laid, Sharing, beyond, overlap};
use super::index::ComponentRecord;
use crate::cbor::{Fault, Remaining, text};
use crate::error::{ErrorKind, OutOfMemory};
use crate::format::v2::Shards;
use crate::limits::Limits;
use crate::num::{Assured as _, u64_from_usize, usize_from_u32};
use crate::rules::{Limit, Rule};
use crate::sort::numbers;

/// What is wrong, and the place of the component among all of them.
pub(super) struct Clash {
    pub(super) fault: Fault,
    pub(super) component: usize,
}

/// All components of a manifest.
#[derive(Clone, Copy)]
pub(super) struct Components<'a> {
    pub(super) reader: &'a Reader<'a>,
    pub(super) records: &'a [ComponentRecord],
}

/// Validates the components at the places `elsewhere`.
pub(super) fn validate(
    components: Components<'_>,
    elsewhere: &[u32],
    shards: &Shards<'_>,
    limits: &Limits,
) -> Result<Option<Clash>, OutOfMemory> {
    let Components { reader, records } = components;
    // The shard of each above its place, so that those of one shard come together.
    let mut entries = Vec::new();
    entries.try_reserve_exact(elsewhere.len()).map_err(|_| OutOfMemory)?;
    for ordinal in elsewhere {
        let component = usize_from_u32(*ordinal);
        let Some(record) = records.get(component).copied() else { continue };
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
        let shard = group.first().map(|entry| entry >> 32);
        let end = shard.and_then(|shard| shards.end(usize::try_from(shard).ok()?)).assured();
        if let Some(clash) = clash(components, group, limits.shared_total(end))? {
            return Ok(Some(clash));
        }
    }
    Ok(None)
}

/// What is wrong with the components of one shard together: the last that overlaps another and is not
/// identical to it, or the first beyond `most` bytes of all of them.
fn clash(
    Components { reader, records }: Components<'_>,
    group: &[u64],
    most: u64,
) -> Result<Option<Clash>, OutOfMemory> {
    let extents = group.iter().filter_map(|entry| {
        let component = usize::try_from(entry & u64::from(u32::MAX)).assured();
        records.get(component).map(|record| (component, reader.extent(*record)))
    });
    let mut seen = InOrder::default();
    for (_, extent) in extents.clone() {
        seen.note(extent);
    }
    if seen.holds() {
        return Ok(None);
    }
    let sharing = Sharing { identical: true, alignment: reader.dialect.facts.alignment };
    let Laid { clash, alike } = overlap(seen, extents.clone().map(|(_, extent)| extent), sharing)?;
    let found = |kind: ErrorKind, component, found| {
        let record = records.get(component).copied();
        let remaining = record.map(|record| reader.offset_remaining(record)).assured();
        Clash { fault: Fault::with(kind, remaining, found), component }
    };
    let Some(clash) = clash else {
        let beyond = alike.then(|| beyond(extents, most)).flatten();
        return Ok(beyond.map(|(at, total)| found(Limit::DecodedTotal.into(), at, total)));
    };
    let last = extents.rev().find(|(_, extent)| *extent == clash);
    Ok(last.map(|(at, extent)| found(Rule::BlobOverlap.into(), at, extent.offset())))
}
