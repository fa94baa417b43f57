//! Where names that are known to differ are found again, in a few steps.

use alloc::vec::Vec;
use std::sync::OnceLock;

use super::hash::{Read, hash};
use crate::num::{Assured as _, usize_from_u32};

/// Fewer names than these are found as quickly by searching them in order.
const FEW: u32 = 256;
/// Ordinals, counted from 1, fit in 26 bits: an object takes 29 bytes at least, and a manifest has
/// at most 2^30. Above them are 6 bits of the name's hash.
const ORDINAL_BITS: u32 = 26;
const ORDINAL: u32 = (1 << ORDINAL_BITS) - 1;
/// Slots that a name is looked for in. Two are usual, and 250 would be a rare chance among as many
/// names as a file can have. Adversarially colliding names need more, and are found without a table.
const FAR: usize = 256;
/// Names that are read on the way to one, which is the last of them: those in its way that have the same
/// bits of hash. One is usual.
const ALIKE: u32 = 16;

/// The table of names, which is made when the first of them is looked for: a caller that looks for none
/// does not pay for it.
#[derive(Debug, Default)]
pub(super) struct Later(OnceLock<Option<Table>>);

impl Later {
    /// The table of `count` names, if there is one.
    pub(super) fn table<'m>(&self, count: u32, read: impl Read<'m>) -> Option<&Table> {
        self.0.get_or_init(|| Table::build(count, read)).as_ref()
    }

    /// Bytes of heap, so far.
    pub(super) fn bytes(&self) -> usize {
        self.0.get().and_then(Option::as_ref).map_or(0, |table| size_of_val(table.0.as_slice()))
    }
}

/// Ordinals by the hashes of their names, in half as many slots again as there are names. A name is
/// in the slot that its hash gives, or in the next one that was free.
#[derive(Debug)]
pub(super) struct Table(Vec<u32>);

impl Table {
    /// None where it is not worth its memory, or cannot have it, or where names have been made to
    /// meet.
    fn build<'m>(count: u32, read: impl Read<'m>) -> Option<Self> {
        if count < FEW {
            return None;
        }
        let size = usize_from_u32(count.checked_add(count.div_ceil(2))?);
        let mut slots = Vec::new();
        slots.try_reserve_exact(size).ok()?;
        slots.resize(size, 0);
        for ordinal in 0..count {
            let (start, tag) = place(read(ordinal), size);
            let (before, after) = slots.split_at_mut_checked(start)?;
            let mut near = after.iter_mut().chain(before).take(FAR);
            let mut alike = 0_u32;
            let free = near.find(|slot| {
                let is_taken = **slot != 0;
                alike = alike.wrapping_add((is_taken && **slot & !ORDINAL == tag).into());
                !is_taken
            });
            *free.filter(|_| alike < ALIKE)? = tag | ordinal.checked_add(1)?;
        }
        Some(Self(slots))
    }

    /// The ordinal of that name, if it is there.
    pub(super) fn find<'m>(&self, name: &[u8], read: impl Read<'m>) -> Option<u32> {
        let (start, tag) = place(name, self.0.len());
        let (mut at, mut alike) = (start, 0_u32);
        for _ in 0..FAR {
            // The first slot comes after the last.
            let slot = *self.0.get(at).or_else(|| self.0.get(at.checked_sub(self.0.len())?))?;
            let ordinal = (slot & ORDINAL).checked_sub(1)?;
            if slot & !ORDINAL == tag {
                if read(ordinal) == name {
                    return Some(ordinal);
                }
                alike = alike.wrapping_add(1);
                if alike == ALIKE {
                    return None;
                }
            }
            at = at.saturating_add(1);
        }
        None
    }
}

/// The slot where the search for a name begins, of `size`, and what it is marked with there.
#[inline]
fn place(name: &[u8], size: usize) -> (usize, u32) {
    let hash = hash(name);
    let start = (hash >> 32).wrapping_mul(crate::num::u64_from_usize(size)) >> 32;
    let tag = u32::try_from(hash & u64::from(u32::MAX)).assured() & !ORDINAL;
    (usize::try_from(start).assured(), tag)
}

#[cfg(test)]
#[expect(clippy::as_conversions, reason = "numbers are small")]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::{ALIKE, FAR, FEW, Table, place};
    use crate::hash::alike;
    use crate::manifest::hash::hash;

    #[test]
    fn all_names_are_found() {
        for count in [FEW, 1000, if cfg!(miri) { 300 } else { 20_000 }] {
            let names: Vec<String> = (0..count).map(|n| format!("layer.{n}.weight")).collect();
            let read = |ordinal: u32| names[ordinal as usize].as_bytes();
            let table = Table::build(count, read).expect("a table");
            for ordinal in 0..count {
                assert_eq!(table.find(read(ordinal), read), Some(ordinal));
            }
            assert_eq!(table.find(b"layer", read), None);
        }
    }

    #[test]
    fn few_names_have_none() {
        assert!(Table::build(FEW - 1, |_| b"").is_none());
    }

    #[test]
    fn names_that_meet_have_none() {
        let names: Vec<Vec<u8>> = (0..300).map(alike).collect();
        assert!(names.iter().all(|name| hash(name) == hash(&names[0])), "they do not meet");
        let read = |ordinal: u32| names[ordinal as usize].as_slice();
        assert!(Table::build(300, read).is_none());
        // As many as are read are all found, wherever among others they come.
        let others = (0..300).map(|n| format!("layer.{n}.weight").into_bytes());
        let mut names: Vec<Vec<u8>> = others.chain((0..=ALIKE.into()).map(alike)).collect();
        let read = |ordinal: u32| names[ordinal as usize].as_slice();
        let (fewer, count) = (300 + ALIKE, 301 + ALIKE);
        assert!(Table::build(count, read).is_none());
        let table = Table::build(fewer, read).expect("a table");
        assert!((0..fewer).all(|ordinal| table.find(read(ordinal), read) == Some(ordinal)));
        assert_eq!(table.find(read(fewer), read), None);
        names.reverse();
        let read = |ordinal: u32| names[ordinal as usize].as_slice();
        assert!(Table::build(count, read).is_none());
    }

    /// However many slots in a row are taken, those that a name may be in are looked at, and no more; of the
    /// names there that look alike, few are read.
    #[test]
    fn few_slots_are_looked_at() {
        let (start, tag) = place(b"wanted", 1000);
        for (distance, found) in [(0, Some(0)), (FAR - 1, Some(0)), (FAR, None)] {
            let mut slots = [(tag ^ 1 << 26) | 1].repeat(1000);
            slots[(start + distance) % 1000] = tag | 1;
            assert_eq!(Table(slots).find(b"wanted", |_| b"wanted"), found, "{distance}");
        }
        let table = Table([tag | 1].repeat(1000));
        let reads = core::cell::Cell::new(0);
        let read = |_| {
            reads.set(reads.get() + 1);
            b"another".as_slice()
        };
        assert_eq!(table.find(b"wanted", read), None);
        assert_eq!(reads.get(), ALIKE);
    }
}
