//! Names of objects: no two are equal, and finding one takes a few steps, or O(log n).

use alloc::vec::Vec;
use core::cmp::Ordering;

use super::hash::{ORDINAL, Read, hash};
#[cfg(feature = "std")]
use super::table::Later;

use crate::error::OutOfMemory;
use crate::num::{Assured as _, u64_from_usize, usize_from_u32};
use crate::sort::{by_text, numbers, runs};

/// How to find an object by its name.
#[derive(Debug)]
pub(super) struct Names {
    sorted: Sorted,
    #[cfg(feature = "std")]
    later: Later,
}

/// What can be searched.
#[derive(Debug)]
enum Sorted {
    /// The names themselves, which are strictly ascending in the manifest.
    Names(Order),
    /// 38 bits of the name's hash above its ordinal, sorted; where hashes are equal, in the
    /// order of the names.
    Hashes(Vec<u64>),
}

/// What sorted names are sorted by: their bytes or, in 2, their lengths first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Bytes,
    /// The shorter first, and equal lengths by their bytes.
    Length,
}

impl Order {
    fn compare(self, one: &[u8], other: &[u8]) -> Ordering {
        match self {
            Self::Length if cfg!(feature = "v2") => {
                one.len().cmp(&other.len()).then_with(|| one.cmp(other))
            }
            Self::Length | Self::Bytes => one.cmp(other),
        }
    }
}

/// Why an index of names could not be made.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Clash {
    /// The object of this ordinal has the name of one before it; no object before does.
    Duplicate(u32),
    /// Memory could not be allocated.
    Memory,
}

fn ordinal(entry: u64) -> u32 {
    u32::try_from(entry & ORDINAL).assured()
}

impl Names {
    /// The index of `count` names that are not sorted.
    pub(super) fn hashed<'m>(count: u32, read: impl Read<'m>) -> Result<Self, Clash> {
        let mut entries = Vec::new();
        entries.try_reserve_exact(usize_from_u32(count)).map_err(|_| Clash::Memory)?;
        entries.extend((0..count).map(|ordinal| hash(read(ordinal)) | u64::from(ordinal)));
        numbers(&mut entries, u64::MAX);
        let mut duplicate = None;
        let name = |entry| read(ordinal(entry));
        // Names that only look alike are put in order, which finding one of them relies on.
        let alike = runs(&mut entries, |a, b| (a ^ b) & !ORDINAL == 0);
        for run in alike.filter(|run| run.len() > 1) {
            by_text(run, name, |equal| {
                duplicate = [duplicate, Some(second(equal))].into_iter().flatten().min();
            })
            .map_err(|OutOfMemory| Clash::Memory)?;
        }
        let names = Self::new(Sorted::Hashes(entries));
        duplicate.map_or(Ok(names), |ordinal| Err(Clash::Duplicate(ordinal)))
    }

    /// The index of names that are strictly ascending.
    pub(super) fn sorted(order: Order) -> Self {
        Self::new(Sorted::Names(order))
    }

    fn new(sorted: Sorted) -> Self {
        Self {
            sorted,
            #[cfg(feature = "std")]
            later: Later::default(),
        }
    }

    /// Bytes of heap.
    pub(super) fn bytes(&self) -> usize {
        let sorted = match &self.sorted {
            Sorted::Names(_) => 0,
            Sorted::Hashes(entries) => size_of_val(entries.as_slice()),
        };
        #[cfg(feature = "std")]
        let sorted = sorted.saturating_add(self.later.bytes());
        sorted
    }

    /// The ordinal of the object of that name, among `count`.
    pub(super) fn find<'m>(&self, name: &[u8], count: u32, read: impl Read<'m>) -> Option<u32> {
        #[cfg(feature = "std")]
        if let Some(table) = self.later.table(count, &read) {
            return table.find(name, read);
        }
        self.sorted.find(name, count, read)
    }
}

impl Sorted {
    /// The ordinal of the object of that name, among `count`, in O(log n).
    fn find<'m>(&self, name: &[u8], count: u32, read: impl Read<'m>) -> Option<u32> {
        match self {
            Self::Names(order) => {
                let (mut low, mut high) = (0, count);
                while low < high {
                    let middle = u32::midpoint(low, high);
                    match order.compare(read(middle), name) {
                        Ordering::Less => low = middle.saturating_add(1),
                        Ordering::Equal => return Some(middle),
                        Ordering::Greater => high = middle,
                    }
                }
                None
            }
            Self::Hashes(entries) => {
                let wanted = hash(name);
                let order = |entry: &u64| {
                    let by_hash = (entry & !ORDINAL).cmp(&wanted);
                    by_hash.then_with(|| read(ordinal(*entry)).cmp(name))
                };
                let near = near(entries, wanted);
                let at = near.binary_search_by(order).ok()?;
                near.get(at).map(|entry| ordinal(*entry))
            }
        }
    }
}

/// A part of sorted entries that has all those of that hash. Hashes that no attacker has chosen are
/// spread evenly, and the part is short; at worst it takes O(log n) steps to find.
fn near(entries: &[u64], wanted: u64) -> &[u64] {
    let count = u128::from(u64_from_usize(entries.len()));
    let share = |hash: u64| usize::try_from(u128::from(hash).wrapping_mul(count) >> 64).assured();
    let hash = |at: usize| entries.get(at).map(|entry| entry & !ORDINAL);
    // What stands where the entry should be says how far off it is.
    let guess = share(wanted);
    let guess = match hash(guess) {
        Some(found) if found < wanted => guess.saturating_add(share(wanted.abs_diff(found))),
        Some(found) => guess.saturating_sub(share(wanted.abs_diff(found))),
        None => guess,
    };
    let mut width = 8_usize;
    loop {
        let (from, to) = (guess.saturating_sub(width), guess.saturating_add(width));
        let begins = from == 0 || hash(from).is_some_and(|found| found < wanted);
        if begins && hash(to).is_none_or(|found| found > wanted) {
            return entries.get(from..to.min(entries.len())).assured_or(entries);
        }
        width = width.saturating_mul(8);
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
#[expect(clippy::as_conversions, reason = "numbers are small")]
mod tests {
    use alloc::vec::Vec;

    use super::{Clash, Names, Order, Sorted, hash, near};
    use crate::hash::alike;

    fn check(names: &[Vec<u8>]) {
        let read = |ordinal: u32| -> &[u8] { &names[ordinal as usize] };
        let count = u32::try_from(names.len()).unwrap();
        let mut before = alloc::collections::BTreeSet::new();
        let first = names.iter().position(|name| !before.insert(name));
        match (Names::hashed(count, read), first) {
            (Err(clash), first) => {
                let first = u32::try_from(first.expect("a duplicate")).unwrap();
                assert_eq!(clash, Clash::Duplicate(first));
            }
            (Ok(index), first) => {
                assert_eq!(first, None, "a duplicate was not found");
                for (ordinal, name) in (0..).zip(names) {
                    assert_eq!(index.find(name, count, read), Some(ordinal));
                    assert_eq!(index.sorted.find(name, count, read), Some(ordinal));
                }
                assert_eq!(index.find(b"no such name", count, read), None);
                assert_eq!(index.sorted.find(b"no such name", count, read), None);
            }
        }
    }

    #[test]
    fn names_of_all_kinds() {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut random = |bound: u64| rng.u64(..bound);
        for round in 0..if cfg!(miri) { 6 } else { 400 } {
            let (letters, longest) = ([2, 26, 256][round % 3], [3, 9, 30][round % 3]);
            let count = random([3, 30, 150][round % 3]);
            let name = |random: &mut dyn FnMut(u64) -> u64| -> Vec<u8> {
                (0..random(longest)).map(|_| random(letters).to_le_bytes()[0]).collect()
            };
            let names: Vec<Vec<u8>> = (0..count).map(|_| name(&mut random)).collect();
            check(&names);
        }
    }

    #[test]
    fn many_names() {
        let count = if cfg!(miri) { 300 } else { 20_000 };
        let mut names: Vec<Vec<u8>> =
            (0..count).map(|n| alloc::format!("layer.{n:05}.weight").into_bytes()).collect();
        let read = |ordinal: u32| -> &[u8] { &names[ordinal as usize] };
        let ascending = Names::sorted(Order::Bytes);
        for ordinal in 0..count {
            assert_eq!(ascending.find(read(ordinal), count, read), Some(ordinal));
            assert_eq!(ascending.sorted.find(read(ordinal), count, read), Some(ordinal));
        }
        assert_eq!(ascending.find(b"layer.0000", count, read), None);
        names.reverse();
        check(&names);
    }

    /// Of 20,000 entries, those close to where one should be have to be searched.
    #[test]
    #[cfg_attr(miri, ignore = "it is a matter of sizes")]
    fn few_entries_are_searched() {
        let names: Vec<_> = (0..20_000).rev().map(|n| alloc::format!("layer.{n:05}")).collect();
        let index = Names::hashed(20_000, |ordinal| names[ordinal as usize].as_bytes());
        let Ok(Names { sorted: Sorted::Hashes(entries), .. }) = index else {
            panic!("they differ")
        };
        let searched = names.iter().map(|name| near(&entries, hash(name.as_bytes())).len());
        let searched = searched.sum::<usize>() / 20_000;
        assert!(searched < 100, "{searched} entries for a name");
    }

    /// Sorted names are found by the table: reading one of them, and seldom another.
    #[test]
    #[cfg(feature = "std")]
    fn few_names_are_read() {
        let names: Vec<_> = (0..1000).map(|n| alloc::format!("layer.{n:05}")).collect();
        let reads = core::cell::Cell::new(0);
        let read = |ordinal: u32| {
            reads.set(reads.get() + 1);
            names[ordinal as usize].as_bytes()
        };
        let index = Names::sorted(Order::Bytes);
        assert_eq!(index.find(b"layer.00500", 1000, read), Some(500));
        reads.set(0);
        assert!((0..1000).all(|at| index.find(read(at), 1000, read) == Some(at)));
        assert!(reads.get() < 2200, "{} names were read", reads.get());
    }

    #[test]
    fn a_few_names_collide() {
        let others = || (0..200).map(|n| alloc::format!("layer.{n}").into_bytes());
        for count in (0..80).step_by(if cfg!(miri) { 40 } else { 1 }) {
            // The end that they have in common says where among the others they come.
            let end = u128::from(count).to_le_bytes();
            let group = (0..count).map(|word| [alike(word).as_slice(), &end].concat());
            check(&others().chain(group).collect::<Vec<_>>());
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it is a matter of sizes")]
    fn names_that_collide() {
        let mut names: Vec<Vec<u8>> = (0..3000).map(alike).collect();
        assert!(names.iter().all(|name| hash(name) == hash(&names[0])), "they do not collide");
        check(&names);
        let again = names[1234].clone();
        names.push(again);
        check(&names);
    }
}
