//! Which text of a list stands there twice, as their hashes tell: without sorting them.

use alloc::vec::Vec;

use crate::error::OutOfMemory;
use crate::hash::Seeds;
use crate::num::{Assured as _, impossible, u64_from_usize};

/// So many texts are held in a table on the stack.
const FEW: usize = 64;
/// Bytes that a table takes for each text.
pub(super) const TABLE_BYTES: usize = 4;
/// How many slots are looked at for each text, on average, before a table is given up.
const LOOKS: usize = 8;

/// Looks for a text that may be equal to one before it: the index of the first of `count` that looks like
/// another. None proves that all are different; of 4,096 that are, two look alike in one of 23 tables.
pub(super) fn first_alike<'t>(
    count: usize,
    texts: impl Iterator<Item = &'t [u8]>,
) -> Result<Option<usize>, OutOfMemory> {
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
    Ok(fill(table, Seeds::of_process(), texts))
}

/// Puts a part of the hash of each text into a table of empty slots, at or behind the place that another part
/// names. The index of the first text that may be there already.
fn fill<'t>(
    table: &mut [u16],
    seeds: Seeds,
    texts: impl Iterator<Item = &'t [u8]>,
) -> Option<usize> {
    let slots = u64_from_usize(table.len());
    let mut looks = table.len().saturating_mul(LOOKS / 2);
    let alike = texts.enumerate().find(|(_, text)| {
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
    });
    alike.map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString as _};
    use alloc::vec::Vec;

    use super::{FEW, Seeds, fill, first_alike};
    use crate::hash::alike;

    fn bytes(texts: &[String]) -> impl Iterator<Item = &[u8]> {
        texts.iter().map(String::as_bytes)
    }

    #[test]
    fn a_text_alone_is_like_no_other() {
        let texts = [String::from("a")];
        assert!(first_alike(1, bytes(&texts)).unwrap().is_none());
    }

    #[test]
    fn a_text_that_stands_there_twice_is_not_passed_over() {
        for count in [0, 1, 2, 3, 17, FEW, FEW + 1, 1_000, if cfg!(miri) { 1_000 } else { 4_096 }] {
            let mut texts: Vec<String> = (0..count).map(|n| n.to_string()).collect();
            // By known seeds none of these look alike; by those of a process, some may.
            let mut table = alloc::vec![0; count * 2];
            assert_eq!(fill(&mut table, Seeds::KNOWN, bytes(&texts)), None, "{count}");
            let pairs = [(0, 1), (0, count.saturating_sub(1)), (count / 3, count / 2)];
            // One pair after the other stands there twice, the last of them first.
            for (first, second) in
                pairs.into_iter().filter(|pair| pair.0 < pair.1 && pair.1 < count)
            {
                texts[second] = texts[first].clone();
                let again = (0..count).find(|at| texts[..*at].contains(&texts[*at]));
                let found = first_alike(count, bytes(&texts)).unwrap();
                assert!(found.is_some() && found <= again, "{count}");
                table.fill(0);
                assert_eq!(fill(&mut table, Seeds::KNOWN, bytes(&texts)), again, "{count}");
            }
        }
    }

    /// Other seeds tell apart what one pair of seeds does not.
    #[test]
    fn texts_of_one_hash() {
        let texts: Vec<Vec<u8>> = (0..2_000).map(alike).collect();
        let bytes = || texts.iter().map(Vec::as_slice);
        let first = |seeds| fill(&mut [0; 4_000], seeds, bytes());
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
        assert!(fill(&mut [0; 400], Seeds::KNOWN, near).is_some());
    }
}
