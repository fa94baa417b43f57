//! Keys of interpreted maps: none stands twice; and finding one again.

use alloc::vec::Vec;

use nom::Parser as _;

use super::different::{TABLE_BYTES, first_alike};
use super::{Checked, Fault, Input, Remaining, UNLIMITED, key, map_head, pass, seek};
use crate::error::OutOfMemory;
use crate::num::{Assured as _, SMALL, len_u32, usize_from_u32};
use crate::rules::Rule;
use crate::sort::by_text;

/// Watches the keys of one map go by.
///
/// Keys that are strictly ascending are unique, and cost one comparison each and no memory. Only a map
/// whose keys do not is walked again, when its size is known.
pub(crate) struct Keys<'m> {
    first: Input<'m>,
    last: Option<&'m [u8]>,
    disorder: bool,
    gone: Gone,
}

/// What spares work if the entries that have gone by are walked again. A build for size does without.
#[derive(Clone, Copy, Default)]
struct Gone {
    count: u32,
    /// The two longest of the values that had readers of their own, in which other maps may have been walked
    /// again.
    longest: Jump,
    next: Jump,
}

/// Where a value begins, and where it ends.
#[derive(Clone, Copy, Default)]
struct Jump {
    from: Remaining,
    to: Remaining,
}

impl Jump {
    fn length(self) -> u32 {
        self.from.left().saturating_sub(self.to.left())
    }
}

impl<'m> Keys<'m> {
    /// For the entries of a map from the one at `first` on.
    #[inline(always)]
    pub(crate) fn of(first: Input<'m>) -> Self {
        Self { first, last: None, disorder: false, gone: Gone::default() }
    }

    /// Notes a key that may stand there twice.
    #[inline(always)]
    pub(crate) fn note(&mut self, key: &'m [u8]) {
        self.disorder |= self.last.is_some_and(|last| last >= key);
        self.last = Some(key);
        self.gone.count = if SMALL { 0 } else { self.gone.count.wrapping_add(1) };
    }

    /// Notes an entry whose key does not stand there twice, and where its value begins and ends.
    #[inline(always)]
    pub(crate) fn jump(&mut self, value: Input<'m>, end: Input<'m>) {
        if SMALL {
            return;
        }
        let jump = Jump { from: Remaining::of(value), to: Remaining::of(end) };
        let Gone { count, longest, next } = &mut self.gone;
        *count = count.wrapping_add(1);
        if jump.length() > longest.length() {
            *next = core::mem::replace(longest, jump);
        } else if jump.length() > next.length() {
            *next = jump;
        }
    }

    /// Validates the entries that have gone by of the map at `at`, which end at `end`.
    #[inline(always)]
    pub(crate) fn finish(&self, at: Input<'m>, end: Input<'m>) -> Checked<()> {
        if !self.disorder {
            return Ok(());
        }
        if SMALL { whole(at, end) } else { unsorted(self.first, end, self.gone) }
    }
}

/// [`unsorted`] of all of the map at `at`, whose entries end at `end`.
#[inline(never)]
fn whole(at: Input<'_>, end: Input<'_>) -> Checked<()> {
    let (first, _) = map_head(Rule::ObjectType, UNLIMITED).parse(at)?;
    let mut gone = Gone::default();
    gone.count = len_u32(Entered { input: first, end, gone }.count());
    unsorted(first, end, gone)
}

/// Looks for the first key that stands there twice: by hashes, and by sorting them where those tell too
/// little.
#[cfg_attr(not(feature = "small"), inline(never))]
#[cfg_attr(feature = "small", inline(always))]
fn unsorted(first: Input<'_>, end: Input<'_>, gone: Gone) -> Checked<()> {
    let span = first.len().checked_sub(end.len()).assured();
    let texts = || Entered { input: first, end, gone };
    let count = usize_from_u32(gone.count);
    let memory = |out| nom::Err::Failure(Fault::new(out, Remaining::of(first)));
    let mut alike = None;
    if may_be_hashed(count, span) {
        alike = first_alike(count, texts().map(|(_, key)| key)).map_err(memory)?;
        if alike.is_none() {
            return Ok(());
        }
    }
    // Two bytes a key while the map is short, so that the places of its keys never take more
    // memory than the map itself.
    let before = len_u32(end.len());
    let places = texts().map(|(at, _)| Remaining::of(at).left().wrapping_sub(before));
    let read = |place: u32| {
        key_again(seek(first, Remaining::from_left(place.wrapping_add(before)))).assured().1
    };
    let twice = if u16::try_from(span).is_ok() {
        let places = places.map(|place| u16::try_from(place).assured_or(u16::MAX));
        duplicate(places, count, alike, |place| read(place.into()))
    } else {
        duplicate(places, count, alike, read)
    };
    match twice.map_err(memory)? {
        None => Ok(()),
        Some(place) => {
            let at = Remaining::from_left(place.wrapping_add(before));
            Err(Fault::new(Rule::DuplicateKey, at).into())
        }
    }
}

/// Whether a table of the hashes of so many keys takes no more memory than the map, which has that many
/// bytes, but for what is allowed beyond. More keys than that are so short that some are equal.
fn may_be_hashed(count: usize, span: usize) -> bool {
    const BEYOND: usize = 512;
    !SMALL && count.saturating_mul(TABLE_BYTES) <= span.saturating_add(BEYOND)
}

/// How many keys of the map at `at` stand before `mark`.
#[cold]
pub(crate) fn keys_before(at: Input<'_>, remaining: Remaining) -> u32 {
    let before = |(first, _)| {
        let keys = Entered { input: first, end: &[], gone: Gone::default() };
        len_u32(keys.take_while(|(at, _)| Remaining::of(at) > remaining).count())
    };
    map_head(Rule::ObjectType, UNLIMITED).parse(at).map(before).assured()
}

/// [`key`] where one has been read.
#[inline(always)]
fn key_again(at: Input<'_>) -> Option<(Input<'_>, Input<'_>)> {
    let (initial, rest) = at.split_first()?;
    match initial & 31 {
        length @ 0..24 => rest.split_at_checked(length.into()).map(|(text, value)| (value, text)),
        _ => key(at).ok(),
    }
}

/// The entries of a map that has been read: what is left from each key on, and the key.
struct Entered<'m> {
    input: Input<'m>,
    end: Input<'m>,
    gone: Gone,
}

impl<'m> Iterator for Entered<'m> {
    type Item = (Input<'m>, Input<'m>);

    #[cfg_attr(not(feature = "small"), inline(always))]
    #[cfg_attr(feature = "small", inline(never))]
    fn next(&mut self) -> Option<Self::Item> {
        let at = self.input;
        if at.len() <= self.end.len() {
            return None;
        }
        let (value, text) = key_again(at)?;
        let Gone { longest, next, .. } = self.gone;
        self.input = match Remaining::of(value) {
            _ if SMALL => pass(value)?,
            from if from == longest.from => seek(value, longest.to),
            from if from == next.from => seek(value, next.to),
            _ => pass(value)?,
        };
        Some((at, text))
    }
}

/// The first of `count` keys that stands there twice. All before the one that is alike another are different.
fn duplicate<'m, P: Copy + Ord + Into<u32>>(
    keys: impl Iterator<Item = P>,
    count: usize,
    alike: Option<usize>,
    read: impl Fn(P) -> &'m [u8],
) -> Result<Option<u32>, OutOfMemory> {
    let mut places = Vec::new();
    places.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
    places.extend(keys.take(count));
    if let Some((before, [place, ..])) = alike.and_then(|index| places.split_at_checked(index)) {
        let key = read(*place);
        if before.iter().any(|before| read(*before) == key) {
            return Ok(Some((*place).into()));
        }
    }
    let mut twice = None;
    by_text(&mut places, read, |equal| twice = twice.max(second(equal)))
        .map_err(|_| OutOfMemory)?;
    Ok(twice.map(Into::into))
}

/// The second of places that are counted in bytes left, the earlier being the larger.
fn second<P: Copy + Ord>(places: &[P]) -> Option<P> {
    let both = places.iter().fold((None, None), |(first, second), place| {
        let place = Some(*place);
        if place > first { (place, first) } else { (first, second.max(place)) }
    });
    both.1
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
