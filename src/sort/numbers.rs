//! Sorting numbers.

use super::{CLASSES, distribute, runs};
use crate::num::{Assured as _, SMALL, len_u32};

/// Below so many numbers, dividing them is not worth the while.
const FEW_NUMBERS: usize = 512;

/// Sorts numbers of which `greatest` is the greatest, or more.
///
/// They are divided by their highest bits, and then sorted by comparison: where they are spread
/// evenly, as hashes and the offsets of a packed file are, that leaves half of the comparisons.
/// Where they are not, it costs two passes and leaves all of them.
pub(crate) fn numbers(items: &mut [u64], greatest: u64) {
    if SMALL {
        return heap(items);
    }
    if items.len() < FEW_NUMBERS || u32::try_from(items.len()).is_err() {
        return items.sort_unstable();
    }
    let shift = u64::BITS.saturating_sub(greatest.leading_zeros().saturating_add(8));
    distribute(items, 0..len_u32(items.len()), |items, at| {
        let class = items.get(at).map(|item| item >> shift).assured();
        usize::try_from(class).assured_or(CLASSES)
    });
    runs(items, |a, b| a >> shift == b >> shift).for_each(<[u64]>::sort_unstable);
}

/// Sorts anything, in little code.
fn heap<T: Ord>(items: &mut [T]) {
    for root in (0..items.len() >> 1).rev() {
        sink(items, root);
    }
    for end in (1..items.len()).rev() {
        let Some((heap, [last, ..])) = items.split_at_mut_checked(end) else { break };
        let Some(greatest) = heap.first_mut() else { break };
        core::mem::swap(greatest, last);
        sink(heap, 0);
    }
}

/// Lets an item of a heap sink below those that are greater.
fn sink<T: Ord>(heap: &mut [T], mut at: usize) {
    loop {
        let left = at.saturating_mul(2).saturating_add(1);
        let right = left.saturating_add(1);
        let greater = if heap.get(right) > heap.get(left) { right } else { left };
        let Ok([item, below]) = heap.get_disjoint_mut([at, greater]) else { break };
        if below <= item {
            break;
        }
        core::mem::swap(item, below);
        at = greater;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{FEW_NUMBERS, numbers};

    /// The same as the standard library's, whatever the numbers are like.
    #[test]
    fn random_numbers() {
        let mut rng = fastrand::Rng::with_seed(1);
        for count in [0, 1, FEW_NUMBERS - 1, FEW_NUMBERS, if cfg!(miri) { 300 } else { 5_000 }] {
            for bits in [0, 1, 7, 8, 9, 20, 63] {
                let mut items: Vec<u64> = (0..count).map(|_| rng.u64(..1 << bits)).collect();
                let mut wanted = items.clone();
                wanted.sort_unstable();
                numbers(&mut items, wanted.last().copied().unwrap_or(0));
                assert_eq!(items, wanted);
                numbers(&mut items, u64::MAX);
                assert_eq!(items, wanted);
                items.reverse();
                numbers(&mut items, u64::MAX);
                assert_eq!(items, wanted);
            }
        }
    }
}
