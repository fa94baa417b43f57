//! Names of objects that are being written: none is written twice.

use alloc::vec::Vec;

use crate::cbor::{Input, key, pass};
use crate::error::{ErrorKind, OutOfMemory};
use crate::names::hash;
use crate::num::{len_u32, usize_from_u32};
use crate::rules::Rule;

/// The names in a list of entries (name and object, as CBOR).
///
/// As long as names are sorted, each is compared with the one before. At the first that does not, all
/// go into a table of hashes. The hash has no secret: an attacker can make names collide, and
/// it then takes no more. What it has missed is found at the end, where the manifest is opened.
/// So work follows the bytes of the names, whatever they are.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Where the last of them stands.
    last: Option<u32>,
    table: Option<Table>,
}

impl Names {
    /// The names of the entries that are there already, which differ.
    pub(super) fn from_entries(entries: Input<'_>) -> Result<Self, ErrorKind> {
        let mut names = Self::default();
        places(entries, entries.len()).try_for_each(|at| names.add(entries, at))?;
        Ok(names)
    }

    /// Where the name that was added last stands.
    pub(super) fn last(&self) -> Option<u32> {
        self.last
    }

    /// Adds the name at `at`, the last of the entries.
    ///
    /// # Errors
    /// `duplicate-name`; [`OutOfMemory`].
    pub(super) fn add(&mut self, entries: Input<'_>, at: u32) -> Result<(), ErrorKind> {
        let sorted = match self.last {
            Some(last) => name(entries, last)? < name(entries, at)?,
            None => true,
        };
        if self.table.is_none() && !sorted {
            let mut table = Table::default();
            for earlier in places(entries, usize_from_u32(at)) {
                table.add(entries, earlier)?;
            }
            self.table = Some(table);
        }
        if let Some(table) = &mut self.table
            && !table.add(entries, at)?
        {
            return Err(Rule::DuplicateName.into());
        }
        self.last = Some(at);
        Ok(())
    }
}

/// Where the entries before `end` begin.
pub(super) fn places(entries: Input<'_>, end: usize) -> impl Iterator<Item = u32> {
    let mut at = 0;
    core::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let here = at;
        let (value, _) = key(entries.get(at..)?).ok()?;
        let rest = pass(value)?;
        at = entries.len().checked_sub(rest.len())?;
        Some(len_u32(here))
    })
}

/// The name at `at`, without its head.
///
/// # Errors
/// An internal one where there is none.
pub(super) fn name(entries: Input<'_>, at: u32) -> Result<&[u8], ErrorKind> {
    let name = entries.get(usize_from_u32(at)..).and_then(|at| key(at).ok());
    name.map(|(_, name)| name).ok_or(ErrorKind::Internal)
}

/// Hashes of names and where they stand, at most half full.
#[derive(Debug, Default)]
struct Table {
    /// A hash, and one more than the place; 0 is free.
    slots: Vec<(u32, u32)>,
    count: usize,
}

/// A slot with nothing in it.
const FREE: (u32, u32) = (0, 0);

/// How far a name may be from where it belongs. Honest names never are so far in a table that
/// is half full.
const REACH: usize = 64;

impl Table {
    /// The slots for a hash, nearest first.
    fn near(&self, hash: u32) -> impl Iterator<Item = usize> + use<> {
        let mask = self.slots.len().wrapping_sub(1);
        let home = usize_from_u32(hash);
        (0..REACH).map(move |step| home.wrapping_add(step) & mask)
    }

    /// Adds the name at `at`, if there is room near where it belongs; false if it is there already.
    fn add(&mut self, entries: Input<'_>, at: u32) -> Result<bool, ErrorKind> {
        if self.count.saturating_mul(2) >= self.slots.len() {
            self.grow()?;
        }
        let name = name(entries, at)?;
        let hash = hash(name);
        for place in self.near(hash) {
            let (found, there) = *self.slots.get(place).ok_or(ErrorKind::Internal)?;
            let Some(there) = there.checked_sub(1) else {
                self.put(place, (hash, at.wrapping_add(1)));
                return Ok(true);
            };
            if found == hash && self::name(entries, there)? == name {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn put(&mut self, place: usize, slot: (u32, u32)) {
        if let Some(free) = self.slots.get_mut(place) {
            *free = slot;
            self.count = self.count.saturating_add(1);
        }
    }

    fn grow(&mut self) -> Result<(), OutOfMemory> {
        let size = self.slots.len().saturating_mul(2).max(64);
        let mut slots = Vec::new();
        slots.try_reserve_exact(size).map_err(|_| OutOfMemory)?;
        slots.resize(size, FREE);
        let old = core::mem::replace(&mut self.slots, slots);
        self.count = 0;
        for slot in old.into_iter().filter(|slot| *slot != FREE) {
            let free = |place: &usize| self.slots.get(*place) == Some(&FREE);
            if let Some(place) = self.near(slot.0).find(free) {
                self.put(place, slot);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::allow_attributes,
        clippy::unwrap_used,
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "a test that panics has failed, and its numbers are small"
    )]

    use alloc::collections::BTreeSet;
    use alloc::string::String;

    use super::*;
    use crate::cbor::Output;
    use crate::element::StorageType;
    use crate::error::{Error, Place};
    use crate::write::{NewObject, Settings, Writer};

    /// Adds names one after another, each with an empty map, until one is refused.
    fn add(names: impl IntoIterator<Item = String>) -> Result<(), String> {
        let (mut entries, mut known) = (Output::default(), Names::default());
        for name in names {
            let at = len_u32(entries.len());
            entries.text(&name).unwrap();
            entries.map(0).unwrap();
            let added = known.add(entries.as_bytes(), at);
            match added {
                Ok(()) => {}
                Err(kind) if kind == Rule::DuplicateName.into() => return Err(name),
                Err(kind) => panic!("{kind:?}"),
            }
        }
        Ok(())
    }

    #[test]
    fn a_name_that_is_not_there_is_an_internal_error() {
        assert_eq!(Names::default().add(b"\x61b\xa0", 0), Ok(()));
        for at in [1, 2, 3, 4] {
            assert_eq!(name(b"\x61b\xa0", at), Err(ErrorKind::Internal), "{at}");
        }
    }

    #[test]
    fn a_name_stands_once() {
        for seed in 0..if cfg!(miri) { 1 } else { 50 } {
            let mut rng = fastrand::Rng::with_seed(seed);
            let names: Vec<String> =
                (0..400).map(|_| alloc::format!("{:b}", rng.u16(..512))).collect();
            let mut seen = BTreeSet::new();
            let second = names.iter().find(|name| !seen.insert((*name).clone())).cloned();
            assert_eq!(add(names).err(), second, "seed {seed}");
        }
    }

    #[test]
    fn sorted_or_not_all_are_remembered() {
        let ascending = || (100..200).map(|n| alloc::format!("layer.{n}"));
        assert_eq!(add(ascending()), Ok(()));
        assert_eq!(add(ascending().rev()), Ok(()));
        for twice in ["layer.100", "layer.150", "layer.199"] {
            assert_eq!(add(ascending().chain([twice.into()])), Err(twice.into()));
            assert_eq!(add(ascending().rev().chain([twice.into()])), Err(twice.into()));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it is a matter of sizes")]
    fn names_that_collide_in_the_table_are_validated_at_the_end() {
        // Names whose hashes share the bits that decide where they belong.
        let colliding: Vec<String> = (0..4_000_000_u32)
            .map(|n| alloc::format!("{n:07}"))
            .filter(|name| hash(name.as_bytes()) & 0x7ff == 5)
            .take(1500)
            .collect();
        assert_eq!(colliding.len(), 1500);
        let mut writer = Writer::new(Vec::new(), &Settings::default()).unwrap();
        let mut write = |name: &str| {
            writer.add(&NewObject::dense(name, &[0], StorageType::U8), &[]).map_err(Error::from)
        };
        for name in colliding.iter().rev() {
            write(name).unwrap();
        }
        assert_eq!(write(&colliding[1499]).unwrap_err().id(), Some("duplicate-name"));
        // The last of them found no room, and is found all the same.
        write(&colliding[0]).unwrap();
        let refused = Error::from(writer.finish().unwrap_err());
        assert_eq!(refused.id(), Some("duplicate-name"));
        assert_eq!(refused.place(), Place::new(Some(1500), None));
    }

    #[test]
    fn names_that_begin_others_and_the_empty_one() {
        let prefixes = || (0..300).rev().map(|length| "a".repeat(length));
        assert_eq!(add(prefixes()), Ok(()));
        assert_eq!(add(prefixes().chain([String::new()])), Err(String::new()));
        assert_eq!(add(prefixes().chain(["a".repeat(299)])), Err("a".repeat(299)));
        assert_eq!(add(["\0\0".into(), "\0".into(), String::new()]), Ok(()));
    }
}
