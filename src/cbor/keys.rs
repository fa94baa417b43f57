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
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use fastrand::Rng;
    use nom::Parser as _;

    use super::{
        Entered, Gone, Jump, Keys, UNLIMITED, duplicate, key, map_head, may_be_hashed, pass,
    };
    use crate::cbor::{Fault, Remaining, fault};
    use crate::rules::Rule;

    #[test]
    #[cfg(not(feature = "small"))]
    fn the_longest_values_are_jumped_over() {
        let bytes = [0; 20];
        let mut keys = Keys::of(&bytes);
        // Where each value begins and ends, as what is left: the lengths are 2, 5, 5, 3, 4 and 1.
        for (from, to) in [(20, 18), (18, 13), (13, 8), (8, 5), (5, 1), (1, 0)] {
            keys.jump(&bytes[20 - from..], &bytes[20 - to..]);
        }
        let Gone { count, longest, next } = keys.gone;
        let places = [longest, next].map(|jump| (jump.from.left(), jump.to.left()));
        assert_eq!((count, places), (6, [(18, 13), (13, 8)]));
        let mut keys = Keys::of(&bytes);
        keys.jump(&bytes[..], &bytes[5..]);
        for start in [5, 8, 11] {
            keys.jump(&bytes[start..], &bytes[start + 3..]);
        }
        let Jump { from, to } = keys.gone.next;
        assert_eq!((from.left(), to.left()), (15, 12));
    }

    /// A jump says where a value ends, and what it says is not read again.
    #[test]
    #[cfg(not(feature = "small"))]
    fn a_jump_is_taken() {
        let map = [0x61, b'a', 0, 0x61, b'b', 0, 0x61, b'c', 0];
        let jump = Jump { from: Remaining::of(&map[2..]), to: Remaining::of(&map[6..]) };
        let count = |gone| Entered { input: &map, end: &[], gone }.count();
        assert_eq!(count(Gone::default()), 3);
        assert_eq!(count(Gone { longest: jump, ..Gone::default() }), 2);
        assert_eq!(count(Gone { next: jump, ..Gone::default() }), 2);
    }

    #[test]
    #[cfg(not(feature = "small"))]
    fn a_table_takes_no_more_than_the_map() {
        for (count, span, fits) in [(0, 0, true), (128, 0, true), (129, 3, false), (129, 4, true)] {
            assert_eq!(may_be_hashed(count, span), fits, "{count} {span}");
        }
    }

    /// Values, and whether they have a reader of their own.
    const VALUES: [(&[u8], bool); 6] = [
        (&[0], false),
        (&[0x9f, 0xa1, 0x61, b'a', 0x80, 0xff], false),
        (&[0x82, 0x19, 1, 0, 0x7f, 0x61, b'b', 0xff], false),
        (&[0x81, 0xa2, 0x61, b'a', 0, 0x61, b'a', 0], true),
        (&[0x9f, 0x61, b'a', 0xff], true),
        (&[0xf6], true),
    ];

    struct Entry {
        key: String,
        value: &'static [u8],
        is_known: bool,
    }

    /// A map with something before it and behind it, and how much is behind its head.
    fn manifest(entries: &[Entry], is_indefinite: bool) -> Vec<u8> {
        let mut bytes = alloc::vec![0x82];
        if is_indefinite {
            bytes.push(0xbf);
        } else {
            bytes.push(0xba);
            bytes.extend(u32::try_from(entries.len()).unwrap().to_be_bytes());
        }
        for Entry { key, value, .. } in entries {
            bytes.extend([0x78, u8::try_from(key.len()).unwrap()]);
            bytes.extend(key.bytes());
            bytes.extend(*value);
        }
        bytes.extend(if is_indefinite { [0xff].as_slice() } else { &[] });
        bytes.extend([0x61, b'a']);
        bytes
    }

    /// What reading the map comes to, and the place of the key that comes again, by comparing all.
    fn read(manifest: &[u8], known: &[Entry]) -> (Result<(), Fault>, Option<Remaining>) {
        let at = &manifest[1..];
        let (mut input, mut entries) = map_head(Rule::ObjectType, UNLIMITED).parse(at).unwrap();
        let mut keys = Keys::of(input);
        let (mut seen, mut again) = (Vec::new(), None);
        for entry in known {
            assert!(entries.next(input));
            let (value, text) = key(input).unwrap();
            let rest = pass(value).unwrap();
            if entry.is_known {
                keys.jump(value, rest);
            } else {
                keys.note(text);
                if again.is_none() && seen.contains(&text) {
                    again = Some(Remaining::of(input));
                }
                seen.push(text);
            }
            input = rest;
        }
        assert!(!entries.next(input));
        (keys.finish(at, input).map_err(fault), again)
    }

    #[test]
    fn the_first_key_that_comes_again_is_found() {
        let mut rng = Rng::with_seed(1);
        let mut found = [0, 0];
        let sizes: &[(usize, usize)] =
            if cfg!(miri) { &[(9, 20)] } else { &[(9, 2_000), (90, 300), (900, 30), (4_000, 6)] };
        for (most, rounds) in sizes.iter().copied() {
            for round in 0..rounds {
                // Keys are long enough that a map of thousands has more than 64 KiB.
                let (count, names) = (rng.usize(..=most), [most * most, most * 50][round % 2] + 1);
                let entries: Vec<Entry> = (0..count)
                    .map(|n| {
                        let (value, is_known) = VALUES[rng.usize(..VALUES.len())];
                        let number = if is_known { n } else { rng.usize(..names) };
                        let kind = if is_known { "known" } else { "unknown" };
                        Entry { key: alloc::format!("{number}, {kind}, 0123456"), value, is_known }
                    })
                    .collect();
                let bytes = manifest(&entries, rng.bool());
                let (read, again) = read(&bytes, &entries);
                found[usize::from(again.is_some())] += 1;
                match again {
                    None => assert!(read.is_ok(), "{bytes:x?}"),
                    Some(place) => {
                        let fault = read.expect_err("a key comes again");
                        assert_eq!(fault.kind, Rule::DuplicateKey.into());
                        assert_eq!(fault.remaining, place, "{bytes:x?}");
                    }
                }
            }
        }
        assert!(found.iter().all(|times| *times >= 5), "{found:?}");
    }

    /// Keys that look alike may be different, and another may come again.
    #[test]
    fn what_looks_alike_is_compared() {
        let texts: [&[u8]; 5] = [b"d", b"b", b"c", b"a", b"b"];
        // Places are counted from the end.
        let read = |place: u16| texts[5 - usize::from(place)];
        let of = |places: &[u16], alike| {
            duplicate(places.iter().copied(), places.len(), alike, read).unwrap()
        };
        for alike in [None, Some(0), Some(2), Some(4)] {
            assert_eq!(of(&[5, 4, 3, 2, 1], alike), Some(1), "{alike:?}");
        }
        for alike in [None, Some(0), Some(2), Some(3)] {
            assert_eq!(of(&[5, 4, 3, 2], alike), None, "{alike:?}");
        }
    }
}
