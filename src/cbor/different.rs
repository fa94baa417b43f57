//! Which text of a list stands there twice, as their hashes tell: without sorting them.

use alloc::vec::Vec;

use crate::error::OutOfMemory;
use crate::hash::Seeds;
use crate::num::{Assured as _, impossible, u64_from_usize};

/// So many texts are held in a table on the stack.
const FEW: usize = 64;
/// Bytes that a table takes for each text.
pub(super) const TABLE_BYTES: usize = 4;
/// How many seeds are tried where different texts look alike: of 4,096, two do in one of 23 tables.
const ATTEMPTS: u32 = 2;
/// How many slots are looked at for each text, on average, before a table is given up.
const LOOKS: usize = 8;

/// What the hashes of texts tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// No text stands there twice.
    AllDifferent,
    /// The text at this index is the first that is equal to one before it.
    Again(usize),
    /// Different texts looked alike each time: by chance, or they were chosen by seeds that are known.
    Nothing,
}

/// Looks for the first of `count` texts that is equal to one before it.
pub(super) fn first_again<'t, I: Iterator<Item = &'t [u8]>>(
    count: usize,
    texts: impl Fn() -> I,
) -> Result<Found, OutOfMemory> {
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
        let Some((index, text)) = first_alike(table, seeds, texts()) else {
            return Ok(Found::AllDifferent);
        };
        // Those before it are all different: if one of them is equal, this is the first.
        if texts().take(index).any(|before| before == text) {
            return Ok(Found::Again(index));
        }
        seeds = seeds.next();
        table.fill(0);
    }
    Ok(Found::Nothing)
}

/// Puts a part of the hash of each text into a table of empty slots, at or behind the place that another part
/// names. The first text that may be there already, and its index.
fn first_alike<'t>(
    table: &mut [u16],
    seeds: Seeds,
    texts: impl Iterator<Item = &'t [u8]>,
) -> Option<(usize, &'t [u8])> {
    let slots = u64_from_usize(table.len());
    let mut looks = table.len().saturating_mul(LOOKS / 2);
    texts.enumerate().find(|(_, text)| {
        let hash = seeds.hash(text);
        let place = (hash >> 32).wrapping_mul(slots) >> 32;
        let tag = u16::try_from(hash & 0xffff).assured().max(1);
        let place = usize::try_from(place).assured();
        let Some((before, from)) = table.split_at_mut_checked(place) else {
            impossible();
            return true;
        };
        let free = from.iter_mut().chain(before).take(looks).find(|slot| {
            looks = looks.saturating_sub(1);
            **slot == 0 || **slot == tag
        });
        match free {
            Some(slot) if *slot == 0 => {
                *slot = tag;
                false
            }
            _ => true,
        }
    })
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString as _};
    use alloc::vec::Vec;

    use super::{FEW, Found, Seeds, first_again, first_alike};
    use crate::hash::alike;

    fn of(texts: &[String]) -> Found {
        first_again(texts.len(), || texts.iter().map(String::as_bytes)).unwrap()
    }

    #[test]
    fn the_first_text_that_stands_there_twice_is_found() {
        for count in [0, 1, 2, 3, 17, FEW, FEW + 1, 1_000, if cfg!(miri) { 1_000 } else { 4_096 }] {
            let mut texts: Vec<String> = (0..count).map(|n| n.to_string()).collect();
            assert_eq!(of(&texts), Found::AllDifferent, "{count}");
            let pairs = [(0, 1), (0, count.saturating_sub(1)), (count / 3, count / 2)];
            // One pair after the other stands there twice, the last of them first.
            for (first, second) in
                pairs.into_iter().filter(|pair| pair.0 < pair.1 && pair.1 < count)
            {
                texts[second] = texts[first].clone();
                let again = (0..count).find(|at| texts[..*at].contains(&texts[*at]));
                assert_eq!(again.map(Found::Again), Some(of(&texts)), "{count}");
            }
        }
    }

    /// Other seeds tell apart what one pair of seeds does not.
    #[test]
    fn texts_of_one_hash() {
        let texts: Vec<Vec<u8>> = (0..2_000).map(alike).collect();
        let bytes = || texts.iter().map(Vec::as_slice);
        let first = |seeds| first_alike(&mut [0; 4_000], seeds, bytes()).map(|(index, _)| index);
        assert_eq!(first(Seeds::KNOWN), Some(1));
        // Tags have 16 bits: a few texts of thousands look alike by chance, the second one hardly ever.
        assert!(first(Seeds::of_process()) != Some(1) || cfg!(not(feature = "std")));
    }

    #[test]
    fn a_table_that_fills_up_in_one_place_is_given_up() {
        let place = |text: &[u8]| (Seeds::KNOWN.hash(text) >> 32).wrapping_mul(400) >> 32;
        let near: Vec<String> =
            (0..20_000).map(|n: u32| n.to_string()).filter(|n| place(n.as_bytes()) < 2).collect();
        assert!(near.len() > 60);
        let near = near.iter().map(String::as_bytes);
        assert!(first_alike(&mut [0; 400], Seeds::KNOWN, near).is_some());
    }
}
