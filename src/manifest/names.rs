//! Names of objects: no two are equal, and finding one takes O(log n).

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::num::{index, short};
use crate::sort::{NoMemory, by_text, numbers};

/// Ordinals fit in 26 bits: an object takes 29 bytes at least, and a manifest has 2^30.
const ORDINAL_BITS: u32 = 26;
const ORDINAL: u64 = (1 << ORDINAL_BITS) - 1;

/// How to find an object by its name.
#[derive(Debug)]
pub(super) enum Names {
    /// The names rise strictly in manifest order.
    Rising,
    /// 38 bits of the name's hash above its ordinal, sorted; where hashes are equal, in the
    /// order of the names.
    Hashed(Vec<u64>),
}

/// Why an index of names could not be made.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Clash {
    /// The object of this ordinal has the name of one before it; no object before does.
    Duplicate(u32),
    /// Memory could not be had.
    Memory,
}

/// Reads the name of an ordinal.
pub(super) trait Read<'m>: Fn(u32) -> &'m [u8] {}
impl<'m, F: Fn(u32) -> &'m [u8]> Read<'m> for F {}

fn ordinal(entry: u64) -> u32 {
    u32::try_from(entry & ORDINAL).unwrap_or_default()
}

/// A hash for spreading names, not for defence: equal hashes are settled by the names
/// themselves, in time that no choice of names makes worse than linear in their bytes.
#[inline]
fn hash(name: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |state: u64, word: u64| {
        let product = u128::from(state ^ word).wrapping_mul(u128::from(K));
        let low = u64::try_from(product & u128::from(u64::MAX)).unwrap_or_default();
        low ^ u64::try_from(product >> 64).unwrap_or_default()
    };
    let (words, tail) = name.as_chunks::<8>();
    let state = words.iter().fold(K, |state, word| mix(state, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    if let Some(start) = last.get_mut(..tail.len()) {
        start.copy_from_slice(tail);
    }
    let length = u64::from(short(name.len()));
    mix(mix(state, u64::from_le_bytes(last)), length ^ K) & !ORDINAL
}

impl Names {
    /// The index of `count` names that do not rise.
    pub(super) fn hashed<'m>(count: u32, read: impl Read<'m>) -> Result<Self, Clash> {
        let mut entries = Vec::new();
        entries.try_reserve_exact(index(count)).map_err(|_| Clash::Memory)?;
        entries.extend((0..count).map(|ordinal| hash(read(ordinal)) | u64::from(ordinal)));
        numbers(&mut entries, u64::MAX);
        let mut duplicate = None;
        let name = |entry| read(ordinal(entry));
        // Names that only look alike are put in order, which finding one of them relies on.
        for run in entries.chunk_by_mut(|a, b| (a ^ b) & !ORDINAL == 0).filter(|run| run.len() > 1)
        {
            by_text(run, name, |equal| {
                duplicate = [duplicate, Some(second(equal))].into_iter().flatten().min();
            })
            .map_err(|NoMemory| Clash::Memory)?;
        }
        duplicate.map_or(Ok(Self::Hashed(entries)), |ordinal| Err(Clash::Duplicate(ordinal)))
    }

    /// The ordinal of the object of that name, among `count`.
    pub(super) fn find<'m>(&self, name: &[u8], count: u32, read: impl Read<'m>) -> Option<u32> {
        match self {
            Self::Rising => {
                let (mut low, mut high) = (0, count);
                while low < high {
                    let middle = u32::midpoint(low, high);
                    match read(middle).cmp(name) {
                        Ordering::Less => low = middle.saturating_add(1),
                        Ordering::Equal => return Some(middle),
                        Ordering::Greater => high = middle,
                    }
                }
                None
            }
            Self::Hashed(entries) => {
                let wanted = hash(name);
                let order = |entry: &u64| {
                    let by_hash = (entry & !ORDINAL).cmp(&wanted);
                    by_hash.then_with(|| read(ordinal(*entry)).cmp(name))
                };
                let at = entries.binary_search_by(order).ok()?;
                entries.get(at).map(|entry| ordinal(*entry))
            }
        }
    }
}

/// The second ordinal of entries that have the same name.
fn second(entries: &[u64]) -> u32 {
    let both = entries.iter().fold((u32::MAX, u32::MAX), |(first, second), entry| {
        let ordinal = ordinal(*entry);
        (first.min(ordinal), second.min(first.max(ordinal)))
    });
    both.1
}

#[cfg(test)]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "numbers are small")]
mod tests {
    use alloc::vec::Vec;

    use super::{Clash, Names, hash};

    fn check(names: &[Vec<u8>]) {
        let read = |ordinal: u32| -> &[u8] { &names[ordinal as usize] };
        let count = u32::try_from(names.len()).unwrap();
        let first = (0..names.len()).find(|at| names[..*at].contains(&names[*at]));
        match (Names::hashed(count, read), first) {
            (Err(clash), first) => {
                let first = u32::try_from(first.expect("a duplicate")).unwrap();
                assert_eq!(clash, Clash::Duplicate(first));
            }
            (Ok(index), first) => {
                assert_eq!(first, None, "a duplicate was not found");
                for (ordinal, name) in (0..).zip(names) {
                    assert_eq!(index.find(name, count, read), Some(ordinal));
                }
                assert_eq!(index.find(b"no such name", count, read), None);
            }
        }
    }

    #[test]
    fn names_of_all_kinds() {
        let mut state = 5_u64;
        let mut random = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % bound
        };
        for round in 0..400 {
            let (letters, longest) = ([2, 26, 256][round % 3], [3, 9, 30][round % 3]);
            let count = random([3, 30, 150][round % 3]);
            let name = |random: &mut dyn FnMut(u64) -> u64| -> Vec<u8> {
                (0..random(longest)).map(|_| random(letters).to_le_bytes()[0]).collect()
            };
            let names: Vec<Vec<u8>> = (0..count).map(|_| name(&mut random)).collect();
            check(&names);
        }
    }

    /// Names whose second word cancels the state that the first has made: all of one hash.
    #[test]
    fn names_that_collide() {
        const K: u64 = 0x9e37_79b9_7f4a_7c15;
        let state = |word: u64| {
            let product = u128::from(K ^ word) * u128::from(K);
            (product as u64) ^ (product >> 64) as u64
        };
        let mut names: Vec<Vec<u8>> = (0..3000_u64)
            .map(|word| [word.to_le_bytes(), state(word).to_le_bytes()].concat())
            .collect();
        assert!(names.iter().all(|name| hash(name) == hash(&names[0])), "they do not collide");
        check(&names);
        let again = names[1234].clone();
        names.push(again);
        check(&names);
    }
}
