//! Keys of interpreted maps: none stands twice; and finding one again.

use core::cell::Cell;

use nom::Parser as _;

use super::{Checked, Fault, Input, Remaining, UNLIMITED, key, map_head, pass};
use crate::error::ErrorKind;
use crate::names::NameTable;
use crate::num::{len_u32, usize_from_u32};
use crate::rules::Rule;

/// Watches the keys of one map go by.
///
/// Keys that are strictly ascending are unique, and cost one comparison each and no memory. Only a map
/// whose keys do not is walked again, when its size is known.
pub(crate) struct Keys<'m> {
    first: Input<'m>,
    last: Option<&'m [u8]>,
    disorder: bool,
    count: u32,
}

impl<'m> Keys<'m> {
    /// For the entries of a map from the one at `first` on.
    #[inline(always)]
    pub(crate) fn of(first: Input<'m>) -> Self {
        Self { first, last: None, disorder: false, count: 0 }
    }

    /// Notes a key that may stand there twice.
    #[inline(always)]
    pub(crate) fn note(&mut self, key: &'m [u8]) {
        self.disorder |= self.last.is_some_and(|last| last >= key);
        self.last = Some(key);
        self.count();
    }

    /// Counts an entry whose key does not stand there twice.
    #[inline(always)]
    pub(crate) fn count(&mut self) {
        self.count = self.count.wrapping_add(1);
    }

    /// Validates the entries that have gone by, which end at `end`.
    #[inline(always)]
    pub(crate) fn finish(&self, end: Input<'m>) -> Checked<()> {
        if self.disorder { unsorted(self.first, end, self.count) } else { Ok(()) }
    }
}

/// Looks for the first key that stands there twice, among so many entries that are not sorted.
#[inline(never)]
fn unsorted(first: Input<'_>, end: Input<'_>, count: u32) -> Checked<()> {
    // Places are counted from the first key.
    let entries = entries(first).take_while(|(at, _)| at.len() > end.len());
    let texts = entries.map(|(at, key)| (len_u32(first.len().wrapping_sub(at.len())), key));
    // Each has been read before.
    let lost = Cell::new(false);
    let read = |place| {
        let entry = first.get(usize_from_u32(place)..).and_then(entry);
        lost.set(lost.get() || entry.is_none());
        entry.map_or(first, |(_, key)| key)
    };
    let table = NameTable::new(usize_from_u32(count), texts, read)
        .map_err(|out| nom::Err::Failure(Fault::new(out, Remaining::of(first))))?;
    let (kind, place) = match table.duplicate(read) {
        _ if lost.get() => (ErrorKind::Internal, 0),
        None => return Ok(()),
        Some(place) => (Rule::DuplicateKey.into(), place),
    };
    let at = first.get(usize_from_u32(place)..).unwrap_or(first);
    Err(Fault::new(kind, Remaining::of(at)).into())
}

/// How many keys of the map at `at` stand before `mark`: none in what is no map.
#[cold]
pub(crate) fn keys_before(at: Input<'_>, mark: Remaining) -> u32 {
    let before =
        |(first, _)| len_u32(entries(first).take_while(|(at, _)| Remaining::of(at) > mark).count());
    map_head(Rule::ObjectType, UNLIMITED).parse(at).map_or(0, before)
}

/// The value and the key of an entry that has been read.
#[inline(always)]
fn entry(at: Input<'_>) -> Option<(Input<'_>, Input<'_>)> {
    let (initial, rest) = at.split_first()?;
    match initial & 31 {
        length @ 0..24 => rest.split_at_checked(length.into()).map(|(text, value)| (value, text)),
        _ => key(at).ok(),
    }
}

/// The entries from `first` on of a map that has been read: what is left from each key on, and the key.
fn entries(first: Input<'_>) -> impl Iterator<Item = (Input<'_>, Input<'_>)> {
    let mut next = Some(first);
    core::iter::from_fn(move || {
        let at = next?;
        let (value, text) = entry(at)?;
        next = pass(value);
        Some((at, text))
    })
}

/// The value of `wanted` in the map at `map`, which has been checked. In 2, keys that are not
/// text may stand beside it.
pub(crate) fn find<'m>(map: Input<'m>, wanted: &str) -> Option<Input<'m>> {
    let (mut input, mut entries) = map_head(Rule::ObjectType, UNLIMITED).parse(map).ok()?;
    while entries.next(input) {
        let value = match key(input) {
            Ok((value, key)) if key == wanted.as_bytes() => return Some(value),
            Ok((value, _)) => value,
            Err(_) if cfg!(feature = "v2") => pass(input)?,
            Err(_) => return None,
        };
        input = pass(value)?;
    }
    None
}

/// The key at that place in the map at `map`: what is left after it, and the key. The entries
/// before it have to be in order, and nothing after it.
pub(crate) fn nth_key(map: Input<'_>, place: u32) -> Option<(Input<'_>, Input<'_>)> {
    let (mut input, mut entries) = map_head(Rule::ObjectType, UNLIMITED).parse(map).ok()?;
    for _ in 0..place {
        entries.next(input).then_some(())?;
        let (value, _) = key(input).ok()?;
        input = pass(value)?;
    }
    entries.next(input).then_some(())?;
    key(input).ok()
}

#[cfg(test)]
mod tests;
