//! Maps and arrays: their heads, and how many entries they have.

use nom::Parser;

#[cfg(feature = "v2")]
use super::UNLIMITED;
use super::{BREAK, Checked, Fault, Head, Input, Leaf, Parsed, Remaining, head_of, major};
use crate::num::{SMALL, u64_from_usize};
use crate::rules::{Limit, Rule};

/// How many entries of an open map or array may follow.
///
/// Of a definite one, those that are left. Of an indefinite one, below zero, those that it may
/// still have, and one: it ends with a break and not by count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entries(i64);

impl Entries {
    /// No entries.
    pub(crate) const NONE: Self = Self(0);
    /// The pieces of an indefinite-length string.
    pub(crate) const CHUNKS: Self = Self(i64::MIN);

    #[inline(always)]
    fn definite(count: u32) -> Self {
        Self(i64::from(count))
    }

    #[inline(always)]
    fn indefinite(limit: u32) -> Self {
        Self(!i64::from(limit))
    }

    /// Whether it is definite and has none left.
    #[inline(always)]
    pub(crate) fn are_over(self) -> bool {
        self.0 == 0
    }

    /// Whether it is definite and has some left.
    #[inline(always)]
    pub(crate) fn are_left(self) -> bool {
        self.0 > 0
    }

    /// These but one, of which it is known that there are some left.
    #[inline(always)]
    pub(crate) fn but_one(self) -> Self {
        Self(self.0.wrapping_sub(1))
    }

    /// Takes one entry: whether there is one.
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn next(&mut self, input: Input<'_>) -> bool {
        if self.0 > 0 {
            self.0 = self.0.wrapping_sub(1);
            return true;
        }
        if self.0 == 0 {
            return false;
        }
        let more = self.0 < -1 && input.first() != Some(&BREAK);
        self.0 = if more { self.0.wrapping_add(1) } else { self.0 };
        more
    }

    /// What is left after the last entry, once [`next`](Self::next) has found no more.
    ///
    /// # Errors
    /// `limit`, at `at`, where an indefinite one has more entries than it may.
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub(crate) fn end<'m>(
        self,
        input: Input<'m>,
        at: Input<'m>,
        limit: Limit,
    ) -> Checked<Input<'m>> {
        if self.0 == 0 {
            return Ok(input);
        }
        match input.split_first() {
            Some((&BREAK, rest)) => Ok(rest),
            _ => Err(Fault::new(limit, Remaining::of(at)).into()),
        }
    }

    /// The number of entries, where the head gives it.
    pub(crate) fn claimed(self) -> Option<u32> {
        u32::try_from(self.0).ok()
    }
}

/// What a map or array of that major type has at least for bytes an entry, and what breaks where
/// it has too many.
#[inline(always)]
fn held(major: u8) -> (u8, Limit) {
    if major == major::MAP { (2, Limit::Keys) } else { (1, Limit::Rank) }
}

/// Checks a claimed number of entries against the bytes that are left, then against the limit.
pub(super) fn entries<'m>(
    (at, head): (Input<'m>, Head),
    limit: u32,
    rest: Input<'m>,
) -> Parsed<'m, Entries> {
    let (size, broken) = held(head.major);
    if head.indefinite() {
        return Ok((rest, Entries::indefinite(limit)));
    }
    if head.argument.saturating_mul(size.into()) > u64_from_usize(rest.len()) {
        return Err(Fault::with(Rule::CborCount, Remaining::of(at), head.argument).into());
    }
    match u32::try_from(head.argument) {
        Ok(count) if count <= limit => Ok((rest, Entries::definite(count))),
        _ => Err(Fault::new(broken, Remaining::of(at)).into()),
    }
}

/// The head of a map of at most `limit` entries.
#[inline(always)]
pub(crate) fn map_head<'m>(
    wrong: Rule,
    limit: u32,
) -> impl Parser<Input<'m>, Output = Entries, Error = Fault> {
    Leaf { known: (wrong, limit), read: open::<{ major::MAP }, false> }
}

/// The head of a map, definite and as short as it can be. A build for size has walked over it before.
#[cfg(feature = "v2")]
#[inline(always)]
pub(crate) fn strict_map_head<'m>(
    wrong: Rule,
) -> impl Parser<Input<'m>, Output = Entries, Error = Fault> {
    Leaf { known: (wrong, UNLIMITED), read: open::<{ major::MAP }, true> }
}

/// The head of an array of at most `limit` entries.
#[inline(always)]
pub(crate) fn array_head<'m>(
    wrong: Rule,
    limit: u32,
) -> impl Parser<Input<'m>, Output = Entries, Error = Fault> {
    Leaf { known: (wrong, limit), read: open::<{ major::ARRAY }, false> }
}

/// The head of an array, definite and as short as it can be. A build for size has walked over it before.
#[cfg(feature = "v2")]
#[inline(always)]
pub(crate) fn strict_array_head<'m>(
    wrong: Rule,
) -> impl Parser<Input<'m>, Output = Entries, Error = Fault> {
    Leaf { known: (wrong, UNLIMITED), read: open::<{ major::ARRAY }, true> }
}

/// [`map_head`] as a function: the shim that calls the one in a parser is not always inlined, and takes 3 % of
/// opening (`benches/open`).
#[inline(always)]
pub(crate) fn open_map(wrong: Rule, limit: u32, at: Input<'_>) -> Parsed<'_, Entries> {
    open::<{ major::MAP }, false>((wrong, limit), at)
}

/// Opens a map or array.
#[inline(always)]
fn open<const MAJOR: u8, const SHORTEST: bool>(
    (wrong, limit): (Rule, u32),
    at: Input<'_>,
) -> Parsed<'_, Entries> {
    if let Some((initial, rest)) = at.split_first()
        && !SMALL
    {
        let info = initial ^ (MAJOR << 5);
        let bytes = usize::from(info).wrapping_mul(held(MAJOR).0.into());
        if info < 24 && u32::from(info) <= limit && bytes <= rest.len() {
            return Ok((rest, Entries::definite(info.into())));
        }
    }
    let (rest, entries) = any_open::<MAJOR, SHORTEST>(wrong, limit, at)?;
    Ok((rest, entries))
}

/// [`open`] for what has no short head, or breaks a rule.
#[inline(never)]
fn any_open<const MAJOR: u8, const SHORTEST: bool>(
    wrong: Rule,
    limit: u32,
    at: Input<'_>,
) -> Parsed<'_, Entries> {
    let (rest, head) = head_of::<SHORTEST>(MAJOR, wrong, at)?;
    entries((at, head), limit, rest)
}
