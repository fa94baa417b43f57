//! Whether texts are all different, as their hashes tell: without sorting them.

use alloc::vec::Vec;

use crate::error::OutOfMemory;
use crate::hash::Seeds;
use crate::num::{Assured as _, impossible, u64_from_usize};

/// So many texts are held in a table on the stack.
const FEW: usize = 64;
/// Bytes that a table takes for each text.
pub(super) const TABLE_BYTES: usize = 4;
/// How often other seeds are tried where hashes are equal, of what may well be different texts: of 4,096,
/// two are alike in one of 23 tables.
const ATTEMPTS: u32 = 3;
/// How many slots are looked at for each text, on average, before a table is given up.
const LOOKS: usize = 8;

/// Whether `count` texts are known to be different. False says nothing: two are equal, or look so again and
/// again, or have been chosen by seeds that are known.
pub(super) fn all_different<'t, I: Iterator<Item = &'t [u8]>>(
    count: usize,
    texts: impl Fn() -> I,
) -> Result<bool, OutOfMemory> {
    let mut on_stack = [0; FEW * 2];
    let mut on_heap = Vec::new();
    let slots = count.saturating_mul(2);
    let table = if let Some(table) = on_stack.get_mut(..slots) {
        table
    } else {
        on_heap.try_reserve_exact(slots).map_err(|_| OutOfMemory)?;
        on_heap.resize(slots, 0);
        on_heap.as_mut_slice()
    };
    let mut seeds = Seeds::of_process();
    for _ in 0..ATTEMPTS {
        if fill(table, seeds, texts()) {
            return Ok(true);
        }
        seeds = seeds.next();
        table.fill(0);
    }
    Ok(false)
}

/// Puts a part of the hash of each text into a table of empty slots, at or behind the place that another part
/// names. Whether it is there once.
fn fill<'t>(table: &mut [u16], seeds: Seeds, texts: impl Iterator<Item = &'t [u8]>) -> bool {
    let slots = u64_from_usize(table.len());
    let mut looks = table.len().saturating_mul(LOOKS / 2);
    for text in texts {
        let hash = seeds.hash(text);
        let place = (hash >> 32).wrapping_mul(slots) >> 32;
        let tag = u16::try_from(hash & 0xffff).assured().max(1);
        let place = usize::try_from(place).assured();
        let Some((before, from)) = table.split_at_mut_checked(place) else {
            impossible();
            return false;
        };
        let free = from.iter_mut().chain(before).take(looks).find(|slot| {
            looks = looks.saturating_sub(1);
            **slot == 0 || **slot == tag
        });
        match free {
            Some(slot) if *slot == 0 => *slot = tag,
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString as _};
    use alloc::vec::Vec;

    use super::{FEW, Seeds, all_different, fill};
    use crate::hash::alike;

    fn of(texts: &[String]) -> bool {
        all_different(texts.len(), || texts.iter().map(String::as_bytes)).unwrap()
    }

    #[test]
    fn different_texts_are_known_to_be_and_equal_ones_are_not() {
        for count in [0, 1, 2, 3, 17, FEW, FEW + 1, 1_000, if cfg!(miri) { 1_000 } else { 4_096 }] {
            let mut texts: Vec<String> = (0..count).map(|n| n.to_string()).collect();
            assert!(of(&texts), "{count}");
            for (first, second) in [(0, 1), (0, count.saturating_sub(1)), (count / 2, count / 3)] {
                if first != second && first.max(second) < count {
                    let twice = texts[second].clone();
                    let kept = core::mem::replace(&mut texts[first], twice);
                    assert!(!of(&texts), "{count}: {first} and {second}");
                    texts[first] = kept;
                }
            }
        }
    }

    /// Other seeds tell apart what one pair of seeds does not.
    #[test]
    fn texts_of_one_hash() {
        let texts: Vec<Vec<u8>> = (0..2_000).map(alike).collect();
        let bytes = || texts.iter().map(Vec::as_slice);
        assert!(!fill(&mut [0; 4_000], Seeds::KNOWN, bytes()));
        assert!(fill(&mut [0; 4_000], Seeds::of_process(), bytes()) || cfg!(not(feature = "std")));
    }

    #[test]
    fn a_table_that_fills_up_in_one_place_is_given_up() {
        let place = |text: &[u8]| (Seeds::KNOWN.hash(text) >> 32).wrapping_mul(400) >> 32;
        let near: Vec<String> =
            (0..20_000).map(|n: u32| n.to_string()).filter(|n| place(n.as_bytes()) < 2).collect();
        assert!(near.len() > 60);
        assert!(!fill(&mut [0; 400], Seeds::KNOWN, near.iter().map(String::as_bytes)));
    }
}
