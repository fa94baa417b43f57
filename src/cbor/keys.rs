//! Keys of interpreted maps: none stands twice; and finding one again.

use alloc::vec::Vec;

use nom::Parser as _;

use super::different::{Found, TABLE_BYTES, first_again};
use super::{Checked, Fault, Input, Remaining, UNLIMITED, key, map_head, seek, skip};
use crate::error::OutOfMemory;
use crate::limits::format::DEPTH_CAP;
use crate::num::{Assured as _, SMALL, len_u32, usize_from_u32};
use crate::rules::Rule;
use crate::sort::by_text;

/// Watches the keys of one map go by.
///
/// Keys that are strictly ascending are unique, and cost one comparison each and no memory. Only a map
/// whose keys do not is walked a second time, when its size is known.
#[derive(Default)]
pub(crate) struct Keys<'m> {
    last: Option<&'m [u8]>,
    disorder: bool,
}

impl<'m> Keys<'m> {
    /// Notes a key that may stand there twice.
    #[inline(always)]
    pub(crate) fn note(&mut self, key: &'m [u8]) {
        self.disorder |= self.last.is_some_and(|last| last >= key);
        self.last = Some(key);
    }

    /// Validates the map at `at`, whose entries end before `end`.
    #[inline(always)]
    pub(crate) fn finish(self, at: Input<'m>, end: Input<'m>) -> Checked<()> {
        if self.disorder { unsorted(at, end) } else { Ok(()) }
    }
}

/// Looks for the first key of a map that stands there twice: by hashes, or by sorting them.
#[inline(never)]
fn unsorted<'m>(at: Input<'m>, end: Input<'m>) -> Checked<()> {
    let (first, entries) = map_head(Rule::ObjectType, UNLIMITED).parse(at)?;
    let span = first.len().checked_sub(end.len()).assured();
    let map = first.get(..span).assured();
    let count = entries.claimed().map_or_else(|| walk(map).count(), usize_from_u32);
    let memory = |out| nom::Err::Failure(Fault::new(out, Remaining::of(at)));
    let twice =
        |left| Fault::new(Rule::DuplicateKey, Remaining(len_u32(end.len()).saturating_add(left)));
    if may_be_hashed(count, span) {
        match first_again(count, || texts(map)).map_err(memory)? {
            Found::AllDifferent => return Ok(()),
            Found::Again(index) => return Err(twice(walk(map).nth(index).assured()).into()),
            Found::Nothing => {}
        }
    }
    // Two bytes a key while the map is short, so that the places of its keys never take more
    // memory than the map itself.
    let left = if u16::try_from(span).is_ok() {
        let pack = |left| u16::try_from(left).assured_or(u16::MAX);
        duplicate(map, count, pack, u32::from)
    } else {
        duplicate(map, count, |left| left, |left| left)
    };
    match left.map_err(memory)? {
        None => Ok(()),
        Some(left) => Err(twice(left).into()),
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
    let before =
        |(first, _)| len_u32(walk(first).take_while(|left| *left > remaining.left()).count());
    map_head(Rule::ObjectType, UNLIMITED).parse(at).map(before).assured()
}

/// Where the keys in the entries of a map stand, as bytes left of them.
fn walk(entries: Input<'_>) -> impl Iterator<Item = u32> {
    let mut input = entries;
    core::iter::from_fn(move || {
        let at = len_u32(input.len());
        let (value, _) = key(input).ok()?;
        input = skip(value, 0, DEPTH_CAP).ok()?.0;
        Some(at)
    })
}

/// The keys in the entries of a map.
fn texts(entries: Input<'_>) -> impl Iterator<Item = Input<'_>> {
    let mut input = entries;
    core::iter::from_fn(move || {
        let (value, text) = key(input).ok()?;
        input = skip(value, 0, DEPTH_CAP).ok()?.0;
        Some(text)
    })
}

/// The first of `count` keys that stands there twice, in bytes left of the map.
fn duplicate<P: Copy + Ord>(
    map: Input<'_>,
    count: usize,
    pack: impl Fn(u32) -> P,
    unpack: impl Fn(P) -> u32,
) -> Result<Option<u32>, OutOfMemory> {
    let mut places = Vec::new();
    places.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
    places.extend(walk(map).take(count).map(pack));
    let read = |place: P| key(seek(map, Remaining(unpack(place)))).assured().1;
    let mut twice = None;
    by_text(&mut places, read, |equal| twice = twice.max(second(equal)))
        .map_err(|_| OutOfMemory)?;
    Ok(twice.map(unpack))
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
            Err(_) if cfg!(feature = "v2") => skip(input, 0, DEPTH_CAP).ok()?.0,
            Err(_) => return None,
        };
        input = skip(value, 0, DEPTH_CAP).ok()?.0;
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
        input = skip(value, 0, DEPTH_CAP).ok()?.0;
    }
    entries.next(input).then_some(())?;
    key(input).ok()
}
