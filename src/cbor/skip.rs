//! Passing over one item of any kind, checking all of it.

use super::{BREAK, Checked, Fault, Head, Input, Parsed, Remaining, content, entries, fail, head};
use super::{Entries, UNLIMITED, check_utf8, head_of, major};
use crate::limits::format::DEPTH_CAP;
use crate::num::{Assured as _, impossible};
use crate::rules::{Limit, Rule};

/// An open map, array or tag, by what it still asks for.
#[derive(Clone, Copy)]
enum Level {
    /// So many items: a definite map has two an entry, a tag one.
    Items(u32),
    /// Items until a break.
    Array,
    /// A key or a break.
    Key,
    /// A value.
    Value,
}

impl Level {
    /// Takes one item: the level as it is then; or, at its end, what is left after it.
    #[inline(always)]
    fn next(self, input: Input<'_>) -> Result<Self, Input<'_>> {
        match self {
            Self::Items(left) => left.checked_sub(1).map(Self::Items).ok_or(input),
            Self::Value => Ok(Self::Key),
            Self::Array | Self::Key => match input.split_first() {
                Some((&BREAK, rest)) => Err(rest),
                _ if matches!(self, Self::Key) => Ok(Self::Value),
                _ => Ok(self),
            },
        }
    }
}

/// The open levels above an item. They are counted, never recursed into.
struct Levels {
    open: [Level; Self::MOST],
    /// How many levels are open, those outside the item included.
    depth: u8,
    limit: u8,
}

impl Levels {
    const MOST: usize = 64;
    const _ENOUGH: () = assert!(DEPTH_CAP == 64, "a counter for every level that may be open");

    fn push(&mut self, at: Input<'_>, level: Level) -> Checked<()> {
        match self.open.get_mut(usize::from(self.depth)) {
            Some(slot) if self.depth < self.limit => *slot = level,
            _ => return Err(Fault::with(Limit::Depth, Remaining::of(at), self.limit.into()).into()),
        }
        self.depth = self.depth.saturating_add(1);
        Ok(())
    }

    fn top(&mut self) -> Option<&mut Level> {
        self.open.get_mut(usize::from(self.depth.checked_sub(1)?))
    }
}

/// Passes over the item at `at`, which lies within `open` levels, going no deeper than `limit`.
#[cfg_attr(not(feature = "small"), inline(always))]
pub(crate) fn skip(at: Input<'_>, open: u8, limit: u8) -> Parsed<'_, ()> {
    match front(at)? {
        (rest, None) => Ok((rest, ())),
        (rest, Some(level)) => nested(at, rest, level, (open, limit)),
    }
}

/// Passes over everything in the map, array or tag whose head was at `at`.
#[inline(never)]
fn nested<'m>(
    at: Input<'m>,
    mut input: Input<'m>,
    level: Level,
    (open, limit): (u8, u8),
) -> Parsed<'m, ()> {
    let mut levels = Levels { open: [Level::Array; Levels::MOST], depth: open, limit };
    levels.push(at, level)?;
    while levels.depth > open {
        let Some(top) = levels.top() else {
            impossible();
            break;
        };
        match top.next(input) {
            Ok(level) => {
                *top = level;
                let (rest, opened) = front(input)?;
                if let Some(level) = opened {
                    levels.push(input, level)?;
                }
                input = rest;
            }
            Err(rest) => {
                levels.depth = levels.depth.checked_sub(1).assured();
                input = rest;
            }
        }
    }
    Ok((input, ()))
}

/// Passes over the front of an item: all of a number, string or simple value, or the head of a
/// map, array or tag, whose level it returns.
#[cfg_attr(not(feature = "small"), inline(always))]
fn front(at: Input<'_>) -> Parsed<'_, Option<Level>> {
    let (rest, head) = head(at)?;
    match head.major {
        major::BYTES | major::TEXT => string(at, rest, head).map(|(rest, ())| (rest, None)),
        major::ARRAY => {
            let level = |entries: Entries| entries.claimed().map_or(Level::Array, Level::Items);
            let (rest, entries) = entries((at, head), UNLIMITED, rest)?;
            Ok((rest, Some(level(entries))))
        }
        major::MAP => {
            let items = |count: u32| Level::Items(count.saturating_mul(2));
            let level = |entries: Entries| entries.claimed().map_or(Level::Key, items);
            let (rest, entries) = entries((at, head), UNLIMITED, rest)?;
            Ok((rest, Some(level(entries))))
        }
        major::TAG => Ok((rest, Some(Level::Items(1)))),
        // The head of a number or simple value is all of it.
        _ => Ok((rest, None)),
    }
}

/// Passes over the content of a byte or text string, in one piece or in chunks.
#[cfg_attr(not(feature = "small"), inline(always))]
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
