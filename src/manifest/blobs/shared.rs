//! Blobs that may be identical, in 8 bytes of memory each: v2 §2.4.
//!
//! Their offsets are multiples of 4096, so that a number that is an offset has room for 12 bits more.

use alloc::vec::Vec;

use super::{Extent, reserve};
use crate::error::OutOfMemory;
use crate::num::usize_from_u32;
use crate::sort::numbers;

/// Bits of an offset that are zero.
pub(super) const FREE: u32 = 12;
const MASK: u64 = (1 << FREE) - 1;

/// The lowest offset at which extents of different lengths begin: they are compared by `FREE` bits of
/// their lengths at a time.
pub(super) fn differing(
    extents: &(impl Iterator<Item = Extent> + Clone),
    room: &mut Vec<u64>,
    bits: u32,
) -> Option<u64> {
    let mut least: Option<u64> = None;
    for shift in (0..bits).step_by(usize_from_u32(FREE)) {
        let most = room.capacity();
        room.clear();
        for extent in extents.clone().take(most) {
            room.push(extent.offset | extent.length >> shift & MASK);
        }
        numbers(room, u64::MAX);
        let differs = |two: &&[u64]| matches!(two, [a, b] if a != b && a & !MASK == b & !MASK);
        let found = room.windows(2).find(differs).and_then(<[u64]>::first);
        least = least.into_iter().chain(found.map(|found| found & !MASK)).min();
    }
    least
}

/// The first extent, in order of offset and then length, that overlaps one before it and is not
/// identical to it. There are `count`, wherever they lie.
pub(super) fn overlap(
    extents: &(impl Iterator<Item = Extent> + Clone),
    count: usize,
) -> Result<Option<Extent>, OutOfMemory> {
    let mut room = reserve(count)?;
    let mut least = differing(extents, &mut room, u64::BITS);
    // They are sorted by their offsets, whatever the bits behind these are.
    for extent in extents.clone() {
        let after = room.partition_point(|entry| entry & !MASK <= extent.offset);
        let next = room.get(after).map(|entry| entry & !MASK);
        if let Some(next) = next.filter(|next| extent.end() > *next) {
            least = Some(least.map_or(next, |least| least.min(next)));
        }
    }
    Ok(least.and_then(|offset| first_at(extents, offset)))
}

/// The first extent that overlaps, which is known to begin at that offset.
pub(super) fn first_at(
    extents: &(impl Iterator<Item = Extent> + Clone),
    offset: u64,
) -> Option<Extent> {
    let reaches = |extent: Extent| extent.offset < offset && extent.end() > offset;
    let own = extents.clone().filter(|extent| extent.offset == offset);
    let lengths = own.map(|extent| extent.length);
    let least = lengths.clone().min()?;
    let length = if extents.clone().any(reaches) {
        least
    } else {
        lengths.filter(|length| *length > least).min()?
    };
    Some(Extent { offset, length })
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::{InOrder, Sharing, first_overlap};
    use super::Extent;
    use crate::limits::format::ALIGNMENT_V2;

    /// Whatever lies where, near or far, the first that overlaps is found.
    #[test]
    fn as_by_sorting_all() {
        let mut random = fastrand::Rng::with_seed(11);
        let mut clashes = 0;
        for round in 0..20_000 {
            let base = if round % 2 == 0 { ALIGNMENT_V2 } else { 1 << 45 };
            let count = random.usize(1..9);
            let extents: Vec<Extent> = (0..count)
                .map(|at| {
                    // One that is near makes no difference.
                    let base = if at == 0 { ALIGNMENT_V2 } else { base };
                    let offset = base + random.u64(0..12) * ALIGNMENT_V2;
                    let lengths = [0, 1, 2, 4095, 4096, 4097, 8192, 8193, 1 << 40];
                    Extent::new(
                        offset,
                        lengths[random.usize(0..if round % 3 == 0 { 9 } else { 5 })],
                    )
                })
                .collect();
            let mut seen = InOrder::default();
            for extent in &extents {
                seen.note(*extent);
            }
            let sharing = Sharing { identical: true, alignment: ALIGNMENT_V2, most: u64::MAX };
            let found =
                super::super::overlap(seen, extents.iter().copied(), sharing).unwrap().clash;
            let mut sorted: Vec<_> = extents.iter().filter(|extent| extent.length > 0).collect();
            sorted.sort_by_key(|extent| (extent.offset, extent.length));
            let wanted = first_overlap(sorted.into_iter().copied(), true);
            assert_eq!(found, wanted, "{extents:?}");
            clashes += u32::from(found.is_some());
        }
        assert!((2_000..18_000).contains(&clashes), "{clashes}");
    }
}
