//! Sorting numbers in place, quicker where they are spread evenly.

use crate::num::index;

/// Below so many, dividing them is not worth the while.
const FEW: usize = 512;

const BUCKET_BITS: u32 = 8;
const BUCKETS: usize = 1 << BUCKET_BITS;

/// Sorts numbers of which `greatest` is the greatest, or more.
///
/// They are divided by their highest bits, in place, and then sorted by comparison: where they
/// are spread evenly, as hashes and the offsets of a packed file are, that leaves half of the
/// comparisons. Where they are not, it costs two passes and leaves all of them.
pub(super) fn sort(items: &mut [u64], greatest: u64) {
    let unused = greatest.leading_zeros().saturating_add(BUCKET_BITS);
    let shift = u64::BITS.saturating_sub(unused);
    if items.len() >= FEW {
        divide(items, shift);
        items
            .chunk_by_mut(|a, b| a >> shift == b >> shift)
            .for_each(<[u64]>::sort_unstable);
    } else {
        items.sort_unstable();
    }
}

/// Puts numbers in the order of their bits from `shift` up, going round the cycles of places
/// that each number has to leave for the next.
fn divide(items: &mut [u64], shift: u32) {
    let bucket = |item: u64| usize::try_from(item >> shift).map_or(BUCKETS, |bucket| bucket);
    // Where the next number of each bucket goes, and where each bucket ends.
    let mut next = [0_u32; BUCKETS];
    for item in &*items {
        if let Some(count) = next.get_mut(bucket(*item)) {
            *count = count.saturating_add(1);
        }
    }
    let (mut ends, mut end) = ([0; BUCKETS], 0_u32);
    for (next, bucket_end) in next.iter_mut().zip(&mut ends) {
        let start = end;
        end = end.saturating_add(*next);
        (*next, *bucket_end) = (start, end);
    }
    for (own, end) in ends.iter().enumerate() {
        while let Some(start) = next.get(own).copied().filter(|start| start < end) {
            let Some(mut item) = items.get(index(start)).copied() else {
                return;
            };
            // The number in hand takes the place of another until one belongs here.
            while bucket(item) != own {
                let Some(place) = next.get_mut(bucket(item)) else {
                    return;
                };
                let Some(slot) = items.get_mut(index(*place)) else {
                    return;
                };
                *place = place.saturating_add(1);
                core::mem::swap(slot, &mut item);
            }
            if let (Some(slot), Some(place)) = (items.get_mut(index(start)), next.get_mut(own)) {
                *slot = item;
                *place = start.saturating_add(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// The same as the standard library's, whatever the numbers are like.
    #[test]
    fn sorts() {
        let mut state = 1_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for count in [0, 1, FEW - 1, FEW, 5_000] {
            for bits in [0, 1, 7, 8, 9, 20, 63] {
                let mut items: Vec<u64> =
                    (0..count).map(|_| random() & ((1 << bits) - 1)).collect();
                let mut wanted = items.clone();
                wanted.sort_unstable();
                sort(&mut items, wanted.last().copied().unwrap_or(0));
                assert_eq!(items, wanted);
                sort(&mut items, u64::MAX);
                assert_eq!(items, wanted);
                items.reverse();
                sort(&mut items, u64::MAX);
                assert_eq!(items, wanted);
            }
        }
    }
}
