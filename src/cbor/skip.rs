//! Passing over one item of any kind, checking all of it.

use super::{BREAK, Checked, Fault, Head, Input, Parsed, Remaining, content, entries, fail, head};
use super::{Entries, UNLIMITED, check_utf8, head_of, is_ascii, major};
use crate::error::ErrorKind;
use crate::limits::format::DEPTH_CAP;
use crate::rules::{Limit, Rule};

/// What an open map, array or tag still asks for: so many items, of which a definite map has two an entry and
/// a tag has one; or what comes next in one that is indefinite.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Level(u32);

impl Level {
    /// Nothing more.
    const CLOSED: Self = Self(0);
    /// More items than a manifest has bytes for.
    const TOO_MANY: u32 = 1 << 31;
    /// An item or a break.
    const ARRAY: Self = Self(u32::MAX);
    /// A key or a break.
    const KEY: Self = Self(u32::MAX - 1);
    /// A value.
    const VALUE: Self = Self(u32::MAX - 2);

    #[inline]
    fn items(count: u32) -> Self {
        Self(count.min(Self::TOO_MANY))
    }

    /// Takes one item: the level as it is then; or, at its end, what is left after it.
    #[inline]
    fn next(self, input: Input<'_>) -> Result<Self, Input<'_>> {
        match self {
            Self(left @ ..=Self::TOO_MANY) => left.checked_sub(1).map(Self).ok_or(input),
            Self::VALUE => Ok(Self::KEY),
            _ => match input.split_first() {
                Some((&BREAK, rest)) => Err(rest),
                _ if self == Self::KEY => Ok(Self::VALUE),
                _ => Ok(self),
            },
        }
    }
}

/// The levels that are open around the innermost. They are counted, never recursed into.
struct Around {
    /// From the outermost on.
    kept: [Level; Self::MOST],
    /// How many levels may be open, the innermost among them.
    limit: u8,
}

impl Around {
    const MOST: usize = 64;
    const _ENOUGH: () = assert!(DEPTH_CAP == 64, "a counter for every level that may be open");

    /// Keeps `outer`, the innermost of `depth` levels, where one opens within it at `at`, unless that is one too many.
    #[inline]
    fn keep(&mut self, at: Input<'_>, outer: Level, depth: u8) -> Checked<()> {
        match self.kept.get_mut(usize::from(depth)) {
            Some(slot) if depth < self.limit => *slot = outer,
            _ => return Err(Fault::with(Limit::Depth, Remaining::of(at), self.limit.into()).into()),
        }
        Ok(())
    }

    /// The level that was kept while `depth` levels were open, of which one ends at `at`.
    #[inline]
    fn kept(&self, at: Input<'_>, depth: u8) -> Checked<Level> {
        let kept = self.kept.get(usize::from(depth)).copied();
        kept.ok_or_else(|| Fault::new(ErrorKind::Internal, Remaining::of(at)).into())
    }
}

/// Passes over the item at `at`, which lies within `open` levels, going no deeper than `limit`.
#[inline]
pub(crate) fn skip(at: Input<'_>, open: u8, limit: u8) -> Parsed<'_, ()> {
    match front(at)? {
        (rest, None) => Ok((rest, ())),
        (rest, Some(level)) => nested(at, Opened { rest, level }, open, limit),
    }
}

/// A map, an array or a tag whose head has been read: what follows, and what it asks for.
#[derive(Clone, Copy)]
struct Opened<'m> {
    rest: Input<'m>,
    level: Level,
}

/// [`skip`] for a map, an array or a tag, whose head is at `at`.
#[inline(never)]
fn nested<'m>(at: Input<'m>, opened: Opened<'m>, open: u8, limit: u8) -> Parsed<'m, ()> {
    let mut around = Around { kept: [Level::CLOSED; Around::MOST], limit };
    around.keep(at, Level::CLOSED, open)?;
    let (mut input, mut level, mut depth) = (opened.rest, opened.level, open.wrapping_add(1));
    loop {
        level = match level.next(input) {
            Ok(level) => level,
            Err(rest) => {
                depth = depth.wrapping_sub(1);
                if depth == open {
                    return Ok((rest, ()));
                }
                (input, level) = (rest, around.kept(rest, depth)?);
                continue;
            }
        };
        let (rest, opened) = match short(input) {
            Some(read) => read,
            None => any_front(input)?,
        };
        if let Some(opened) = opened {
            around.keep(input, level, depth)?;
            (level, depth) = (opened, depth.wrapping_add(1));
        }
        input = rest;
    }
}

/// Passes over the front of an item: all of a number, string or simple value, or the head of a
/// map, array or tag, whose level it returns.
#[inline]
fn front(at: Input<'_>) -> Parsed<'_, Option<Level>> {
    match short(at) {
        Some(read) => Ok(read),
        None => any_front(at),
    }
}

/// [`front`] where the argument is in the initial byte, and nothing is wrong.
#[inline]
fn short(at: Input<'_>) -> Option<(Input<'_>, Option<Level>)> {
    let (initial, rest) = at.split_first()?;
    let (major, info) = (initial >> 5, initial & 31);
    if info >= 24 {
        return None;
    }
    let length = usize::from(info);
    match major {
        major::BYTES => Some((rest.get(length..)?, None)),
        major::TEXT => {
            let (text, rest) = rest.split_at_checked(length)?;
            is_ascii::<false>(text).then_some((rest, None))
        }
        major::ARRAY if length <= rest.len() => Some((rest, Some(Level(info.into())))),
        major::MAP if length.wrapping_mul(2) <= rest.len() => {
            Some((rest, Some(Level(u32::from(info).wrapping_mul(2)))))
        }
        major::ARRAY | major::MAP => None,
        major::TAG => Some((rest, Some(Level(1)))),
        _ => Some((rest, None)),
    }
}

/// [`front`] of any item.
#[inline(never)]
fn any_front(at: Input<'_>) -> Parsed<'_, Option<Level>> {
    let (rest, head) = head(at)?;
    match head.major {
        major::BYTES | major::TEXT => string(at, rest, head).map(|(rest, ())| (rest, None)),
        major::ARRAY => {
            let (rest, entries) = entries((at, head), UNLIMITED, rest)?;
            Ok((rest, Some(entries.claimed().map_or(Level::ARRAY, Level::items))))
        }
        major::MAP => {
            let items = |count: u32| Level::items(count.saturating_mul(2));
            let (rest, entries) = entries((at, head), UNLIMITED, rest)?;
            Ok((rest, Some(entries.claimed().map_or(Level::KEY, items))))
        }
        major::TAG => Ok((rest, Some(Level(1)))),
        // The head of a number or simple value is all of it.
        _ => Ok((rest, None)),
    }
}

/// Passes over the content of a byte or text string, in one piece or in chunks.
#[inline]
fn string<'m>(at: Input<'m>, rest: Input<'m>, head: Head) -> Parsed<'m, ()> {
    if head.indefinite() {
        return chunks(rest, head.major);
    }
    let (rest, bytes) = content((at, head), rest)?;
    if head.major == major::TEXT {
        check_utf8(Remaining::of(at), bytes)?;
    }
    Ok((rest, ()))
}

/// Passes over the chunks of a string and the break after them: RFC 8949 §3.2.3.
fn chunks(mut input: Input<'_>, wanted: u8) -> Parsed<'_, ()> {
    let (first, mut chunks) = (input, Entries::CHUNKS);
    while chunks.next(input) {
        let at = input;
        let (rest, head) = head_of::<false>(wanted, Rule::CborChunk, at)?;
        if head.indefinite() {
            return fail(Rule::CborChunk, at);
        }
        input = string(at, rest, head)?.0;
    }
    Ok((chunks.end(input, first, Limit::Keys)?, ()))
}

#[cfg(test)]
mod tests {
    use super::short;

    /// What is short is passed over as anything else, so only here is it seen that it is.
    #[test]
    fn what_is_short_is_passed_over_at_once() {
        let levels = |at| short(at).map(|(rest, level)| (rest.len(), level.map(|level| level.0)));
        assert_eq!(levels(&[0x05, 1]), Some((1, None)));
        assert_eq!(levels(&[0x42, 1, 2, 3]), Some((1, None)));
        assert_eq!(levels(&[0x62, b'a', b'b']), Some((0, None)));
        assert_eq!(levels(&[0x82, 1, 2]), Some((2, Some(2))));
        assert_eq!(levels(&[0xa1, 1, 2]), Some((2, Some(2))));
        assert_eq!(levels(&[0xc1, 1]), Some((1, Some(1))));
        for other in [&[0x83, 1, 2][..], &[0xa2, 1, 2, 3], &[0x62, 0xc3, 0xa4], &[0x18, 24]] {
            assert_eq!(levels(other), None, "{other:?}");
        }
    }
}
