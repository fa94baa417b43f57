//! Names of objects: no two are equal, and finding one takes a few steps, or O(log n).

use core::cmp::Ordering;
#[cfg(feature = "std")]
use std::sync::OnceLock;

use crate::error::OutOfMemory;
use crate::names::{NameTable, by_length};
use crate::num::usize_from_u32;

/// How to find an object by its name.
#[derive(Debug)]
pub(super) enum Names {
    /// The names are strictly ascending in the manifest, and can be searched there.
    Sorted {
        order: Order,
        /// The table that the first look-up makes, if it has the memory: a caller that looks for nothing does not
        /// pay for it.
        #[cfg(feature = "std")]
        table: OnceLock<Option<NameTable>>,
    },
    Hashed(NameTable),
}

/// Fewer names than these are found as quickly by searching them in order.
#[cfg(feature = "std")]
const FEW: u32 = 256;

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
            Self::Length if cfg!(feature = "v2") => by_length(one, other),
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

impl Names {
    /// The index of `count` names that are not sorted.
    pub(super) fn hashed<'m>(count: u32, read: impl Fn(u32) -> &'m [u8]) -> Result<Self, Clash> {
        let table = table(count, &read).map_err(|OutOfMemory| Clash::Memory)?;
        match table.duplicate(read) {
            Some(ordinal) => Err(Clash::Duplicate(ordinal)),
            None => Ok(Self::Hashed(table)),
        }
    }

    /// The index of names that are strictly ascending.
    pub(super) fn sorted(order: Order) -> Self {
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

    /// Bytes of heap, so far.
    pub(super) fn bytes(&self) -> usize {
        self.table().map_or(0, NameTable::bytes)
    }

    /// The ordinal of the object of that name, among `count`.
    pub(super) fn find<'m>(
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

/// The ordinal of that name, among `count` that are in that order, in O(log n).
fn search<'m>(
    order: Order,
    name: &[u8],
    count: u32,
    read: impl Fn(u32) -> &'m [u8],
) -> Option<u32> {
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

#[cfg(test)]
#[expect(clippy::as_conversions, reason = "numbers are small")]
mod tests {
    use alloc::vec::Vec;

    use super::{Clash, Names, Order};

    #[test]
    fn names_are_found_in_any_order() {
        for count in [0, 1, 9, if cfg!(miri) { 260 } else { 5_000 }] {
            let mut names: Vec<_> = (0..count).map(|n| alloc::format!("{}", n * 7)).collect();
            for order in [Some(Order::Bytes), cfg!(feature = "v2").then_some(Order::Length), None] {
                match order {
                    Some(Order::Length) => names.sort_by_key(|name| (name.len(), name.clone())),
                    Some(Order::Bytes) => names.sort(),
                    None => names.reverse(),
                }
                let read = |ordinal: u32| names[ordinal as usize].as_bytes();
                let hashed = Names::hashed(count, read).unwrap();
                let index = order.map_or(hashed, Names::sorted);
                assert!((0..count).all(|at| index.find(read(at), count, read) == Some(at)));
                for missing in ["", "1", "no such name"] {
                    assert_eq!(index.find(missing.as_bytes(), count, read), None);
                }
                let order = order.unwrap_or(Order::Bytes);
                let found = |at| super::search(order, read(at), count, read) == Some(at);
                assert!(order == Order::Length || names.is_sorted() == (0..count).all(found));
            }
        }
    }

    #[test]
    fn the_first_name_that_comes_again_is_reported() {
        let names = ["c", "a", "b", "a", "c", "a"];
        let read = |ordinal: u32| names[ordinal as usize].as_bytes();
        assert_eq!(Names::hashed(6, read).unwrap_err(), Clash::Duplicate(3));
        assert!(Names::hashed(3, read).is_ok());
    }

    /// A caller that looks for nothing pays nothing; few names are searched where they are.
    #[test]
    fn a_table_is_made_when_it_is_needed() {
        let names: Vec<_> = (100..1000).map(|n| alloc::format!("{n}")).collect();
        let read = |ordinal: u32| names[ordinal as usize].as_bytes();
        let index = Names::sorted(Order::Bytes);
        assert_eq!(index.find(b"150", 100, read), Some(50));
        assert_eq!(index.bytes(), 0);
        assert_eq!(index.find(b"150", 900, read), Some(50));
        assert_eq!(index.bytes(), if cfg!(feature = "std") { 900 * 8 } else { 0 });
        assert_eq!(Names::hashed(900, read).unwrap().bytes(), 900 * 8);
    }
}
