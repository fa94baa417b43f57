//! Indexes that find the names of objects and the keys of maps in a few steps or in O(log n), and that find duplicates among
//! them.

use alloc::vec::Vec;
use core::cmp::Ordering;
#[cfg(feature = "std")]
use std::sync::OnceLock;

use crate::error::OutOfMemory;
use crate::num::{halves, sort_by, u64_from_usize, usize_from_u32};

/// A table for finding texts: a sorted list with one entry for each text, which has 32 bits of hash in its upper half and
/// the position of the text among all texts in its lower half.
///
/// Entries with equal hashes are sorted by their texts, so that an attacker who chooses texts cannot make finding or
/// sorting them slower than logarithmic.
#[derive(Debug)]
pub(crate) struct NameTable(Vec<u64>);

impl NameTable {
    /// Creates the table of `count` texts. `texts` gives each text with its position, and `read` returns the text at a
    /// position.
    pub(crate) fn new<'t>(
        count: usize,
        texts: impl Iterator<Item = (u32, &'t [u8])>,
        read: impl Fn(u32) -> &'t [u8],
    ) -> Result<Self, OutOfMemory> {
        let seeds = Seeds::of_process();
        let mut entries = Vec::new();
        entries.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
        let entry = |(place, text)| u64::from(seeds.hash(text)) << 32 | u64::from(place);
        entries.extend(texts.take(count).map(entry));
        // Entries are sorted as numbers first, which is faster than by a comparison that may read texts. Then only entries of
        // equal hashes are sorted by their texts.
        sort_by(&mut entries, Ord::cmp);
        let mut rest = entries.as_mut_slice();
        while let Some(&first) = rest.first() {
            let count = rest.iter().take_while(|entry| hash_in(**entry) == hash_in(first)).count();
            let Some((same, others)) = rest.split_at_mut_checked(count) else { break };
            if count > 1 {
                sort_by(same, |a, b| by_text(*a, *b, &read));
            }
            rest = others;
        }
        Ok(Self(entries))
    }

    /// Returns the position of the first text that is equal to an earlier text, or `None` if all texts differ.
    pub(crate) fn duplicate<'t>(&self, read: impl Fn(u32) -> &'t [u8]) -> Option<u32> {
        let pairs = self.0.iter().zip(self.0.iter().skip(1));
        let alike = pairs.filter(|(a, b)| hash_in(**a) == hash_in(**b));
        let equal = alike.filter(|(a, b)| read(place_in(**a)) == read(place_in(**b)));
        equal.map(|(_, second)| place_in(*second)).min()
    }

    /// Returns the position of `text`; `None` if the table does not contain `text`. `read` returns the text at a position.
    #[inline]
    pub(crate) fn find<'t>(&self, text: &[u8], read: impl Fn(u32) -> &'t [u8]) -> Option<u32> {
        let Self(entries) = self;
        let wanted = hash(text);
        let count = u64_from_usize(entries.len()).cast_signed();
        let last = count.saturating_sub(1);
        // Hashes are spread evenly, so the difference between two hashes tells how many entries lie between them.
        let share = |hashes: i64| hashes.wrapping_mul(count) >> 32;
        let mut at = share(wanted.into());
        for step in 0..STEPS {
            let entry = usize::try_from(at).ok().and_then(|at| entries.get(at));
            let Some(&entry) = entry else { break };
            if hash_in(entry) == wanted {
                if read(place_in(entry)) == text {
                    return Some(place_in(entry));
                }
                break;
            }
            let off = i64::from(wanted).wrapping_sub(hash_in(entry).into());
            // Each step moves by at least one entry: for a negative difference the shift rounds down, and for a positive
            // one 1 is added.
            let far = share(off).wrapping_add(i64::from(off > 0));
            let near = if off > 0 { 1 } else { -1 };
            let off = if step < INTERPOLATIONS { far } else { near };
            at = at.saturating_add(off).min(last).max(0);
        }
        // If these steps did not find the text, it is missing, or the hashes are not spread evenly because an attacker
        // chose the texts. Then a binary search decides.
        let order = |entry: &u64| {
            let hashes = hash_in(*entry).cmp(&wanted);
            hashes.then_with(|| read(place_in(*entry)).cmp(text))
        };
        let at = entries.binary_search_by(order).ok()?;
        entries.get(at).map(|entry| place_in(*entry))
    }

    /// Returns the number of bytes that the table takes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.0.as_slice())
    }
}

/// The number of steps of a search by interpolation, after which the entry is at most a few entries away.
const INTERPOLATIONS: u32 = 4;
/// The number of steps before bisection: after the interpolations, each step goes to a neighboring entry. Few texts
/// need more.
const STEPS: u32 = 12;

fn hash_in(entry: u64) -> u32 {
    let [hash, _] = halves(entry);
    hash
}

fn place_in(entry: u64) -> u32 {
    let [_, place] = halves(entry);
    place
}

/// Compares `a` and `b`, two entries with the same hash, by their texts, or by their positions if the texts are equal. `read`
/// returns the text at a position.
#[cold]
#[inline(never)]
fn by_text<'t>(a: u64, b: u64, read: impl Fn(u32) -> &'t [u8]) -> Ordering {
    read(place_in(a)).cmp(read(place_in(b))).then(a.cmp(&b))
}

/// Compares two texts in the order of deterministic CBOR: by length, and equal lengths by their bytes.
pub(crate) fn by_length(one: &[u8], other: &[u8]) -> Ordering {
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// Returns a hash of `text` of 32 bits. With `std` (but not in tests) it is different in each process, and does not change while
/// the process runs. Without `std`, everybody can compute it.
#[inline]
pub(crate) fn hash(text: &[u8]) -> u32 {
    Seeds::of_process().hash(text)
}

/// The two numbers that select a hash function: odd numbers without a pattern in their bits.
#[derive(Clone, Copy, Debug)]
struct Seeds(u64, u64);

/// The factor of the length of a text in the hash: an odd number without a pattern in its bits.
const LENGTH: u64 = 0xa076_1d64_78bd_642f;

impl Seeds {
    /// The seeds that are used if the process has no source of randomness. They are public.
    #[cfg(any(test, not(feature = "std")))]
    const KNOWN: Self = Self(0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03);

    /// Returns the seeds of this process. They are drawn at random once, so that nobody can choose texts with equal hashes.
    /// Without `std`, the function of the same name below returns public seeds: building a table of chosen texts then takes
    /// longer, because they must be compared.
    #[cfg(all(feature = "std", not(test)))]
    #[inline]
    fn of_process() -> Self {
        use std::hash::{BuildHasher as _, RandomState};
        use std::sync::OnceLock;

        static DRAWN: OnceLock<Seeds> = OnceLock::new();
        *DRAWN.get_or_init(|| {
            let random = RandomState::new();
            Self(random.hash_one(0_u8), random.hash_one(1_u8))
        })
    }

    #[cfg(any(test, not(feature = "std")))]
    fn of_process() -> Self {
        Self::KNOWN
    }

    #[inline]
    fn hash(self, text: &[u8]) -> u32 {
        let Self(state, other) = self;
        let mix = |state: u64, [low, high]: [u64; 2]| fold(low ^ state, high ^ other);
        // The last 16 bytes may overlap the block before them. For a text of less than 16 bytes, its two ends may
        // overlap.
        let blocks = text.as_chunks::<16>().0.iter();
        let state = blocks.fold(state, |state, block| mix(state, ends(block)));
        let hash = mix(state, ends(text.last_chunk::<16>().map_or(text, |last| last)));
        // The length is added at the end, so that texts with equal blocks but different lengths differ, and no chosen
        // text can cancel the difference.
        let hash = hash.wrapping_add(u64_from_usize(text.len()).wrapping_mul(LENGTH));
        hash_in(hash)
    }
}

/// Returns the first and the last bytes of `text`, which has at most 16 bytes, as two numbers of 64 bits. Each byte is in at
/// least one of the numbers.
#[inline]
fn ends(text: &[u8]) -> [u64; 2] {
    if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        return [u64::from_le_bytes(*first), u64::from_le_bytes(*last)];
    }
    if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        return [u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into()];
    }
    let byte = |at: usize| text.get(at).map_or(0, |byte| u64::from(*byte));
    [byte(0) | byte(1) << 8 | byte(2) << 16, 0]
}

/// Multiplies `a` and `b`, and returns the exclusive or of the lower and upper 64 bits of the product.
#[inline]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "the lower half")]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a).wrapping_mul(u128::from(b));
    (product ^ product >> 64) as u64
}

/// An index that finds objects by their names.
#[derive(Debug)]
pub(crate) enum Names {
    /// The names are strictly ascending in the manifest, where they can be searched.
    Sorted {
        order: Order,
        /// The hash table of the names. The first look-up creates it, if there is memory, so that callers that look nothing
        /// up do not pay for it.
        #[cfg(feature = "std")]
        table: OnceLock<Option<NameTable>>,
    },
    Hashed(NameTable),
}

/// The smallest number of names for which a table is faster than a binary search.
#[cfg(feature = "std")]
const FEW: u32 = 256;

/// The order of sorted names: [`by_length`] in generation 2, and the order of their bytes in any other file.
pub(crate) type Order = fn(&[u8], &[u8]) -> Ordering;

impl Names {
    /// Creates the index of `count` names in any order. `read` returns the name with an ordinal. Also returns the first
    /// ordinal whose name is equal to an earlier name; `None` if all names are unique.
    pub(crate) fn hashed<'m>(
        count: u32,
        read: impl Fn(u32) -> &'m [u8],
    ) -> Result<(Self, Option<u32>), OutOfMemory> {
        let table = table(count, &read)?;
        let duplicate = table.duplicate(read);
        Ok((Self::Hashed(table), duplicate))
    }

    /// Creates the index of names that are strictly ascending in `order`.
    pub(crate) fn sorted(order: Order) -> Self {
        Self::Sorted {
            order,
            #[cfg(feature = "std")]
            table: OnceLock::new(),
        }
    }

    fn table(&self) -> Option<&NameTable> {
        match self {
            #[cfg(feature = "std")]
            Self::Sorted { table, .. } => table.get()?.as_ref(),
            #[cfg(not(feature = "std"))]
            Self::Sorted { .. } => None,
            Self::Hashed(table) => Some(table),
        }
    }

    /// Returns the number of bytes that the index takes on the heap now; the first look-up may add a table.
    pub(crate) fn bytes(&self) -> usize {
        self.table().map_or(0, NameTable::bytes)
    }

    /// Returns the ordinal of the object called `name`, among `count` objects; `None` if there is none. `read` returns the
    /// name with an ordinal.
    pub(crate) fn find<'m>(
        &self,
        name: &[u8],
        count: u32,
        read: impl Fn(u32) -> &'m [u8],
    ) -> Option<u32> {
        #[cfg(feature = "std")]
        if let Self::Sorted { table: later, .. } = self
            && count >= FEW
        {
            later.get_or_init(|| table(count, &read).ok());
        }
        match (self.table(), self) {
            (None, Self::Sorted { order, .. }) => search(*order, name, count, read),
            (table, _) => table?.find(name, read),
        }
    }
}

fn table<'m>(count: u32, read: &impl Fn(u32) -> &'m [u8]) -> Result<NameTable, OutOfMemory> {
    let names = (0..count).map(|ordinal| (ordinal, read(ordinal)));
    NameTable::new(usize_from_u32(count), names, read)
}

/// Returns the ordinal of `name` among `count` names that are sorted by `order`, in O(log n); `None` if `name` is not among
/// them. `read` returns the name with an ordinal.
fn search<'m>(
    order: Order,
    name: &[u8],
    count: u32,
    read: impl Fn(u32) -> &'m [u8],
) -> Option<u32> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = u32::midpoint(low, high);
        match order(read(middle), name) {
            Ordering::Less => low = middle.saturating_add(1),
            Ordering::Equal => return Some(middle),
            Ordering::Greater => high = middle,
        }
    }
    None
}

#[cfg(test)]
pub(crate) mod tests;

#[cfg(test)]
#[expect(clippy::as_conversions, reason = "numbers are small")]
mod look_up_tests {
    use alloc::vec::Vec;

    use super::{Names, Order, by_length};

    #[test]
    fn names_are_found_in_any_order() {
        for count in [0, 1, 9, if cfg!(miri) { 260 } else { 5_000 }] {
            let mut names: Vec<_> = (0..count).map(|n| alloc::format!("{}", n * 7)).collect();
            let orders: [Option<Order>; 3] = [Some(by_length), Some(<[u8]>::cmp), None];
            for order in orders {
                match order {
                    Some(order) => names.sort_by(|a, b| order(a.as_bytes(), b.as_bytes())),
                    None => names.reverse(),
                }
                let read = |ordinal: u32| names[ordinal as usize].as_bytes();
                let (hashed, _) = Names::hashed(count, read).unwrap();
                let index = order.map_or(hashed, Names::sorted);
                assert!((0..count).all(|at| index.find(read(at), count, read) == Some(at)));
                for missing in ["", "1", "no such name"] {
                    assert_eq!(index.find(missing.as_bytes(), count, read), None);
                }
                if let Some(order) = order {
                    let found = |at| super::search(order, read(at), count, read) == Some(at);
                    assert!((0..count).all(found));
                }
            }
        }
    }

    #[test]
    fn the_first_name_that_comes_again_is_reported() {
        let names = ["c", "a", "b", "a", "c", "a"];
        let read = |ordinal: u32| names[ordinal as usize].as_bytes();
        assert_eq!(Names::hashed(6, read).unwrap().1, Some(3));
        assert_eq!(Names::hashed(3, read).unwrap().1, None);
    }

    /// Checks that the table is created by the first look-up, and only for many names.
    #[test]
    fn a_table_is_made_when_it_is_needed() {
        let names: Vec<_> = (100..1000).map(|n| alloc::format!("{n}")).collect();
        let read = |ordinal: u32| names[ordinal as usize].as_bytes();
        let index = Names::sorted(<[u8]>::cmp);
        assert_eq!(index.find(b"150", 100, read), Some(50));
        assert_eq!(index.bytes(), 0);
        assert_eq!(index.find(b"150", 900, read), Some(50));
        assert_eq!(index.bytes(), if cfg!(feature = "std") { 900 * 8 } else { 0 });
        assert_eq!(Names::hashed(900, read).unwrap().0.bytes(), 900 * 8);
    }
}
