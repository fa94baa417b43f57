//! Deterministic CBOR, the profile of generation 2: v2 §3.1, RFC 8949 §4.2.1.
//!
//! Well-formed, shortest heads and floats, definite lengths, no tags, and keys that are sorted, which
//! proves them unique without memory. [`strict`] walks over an item of any form and says what is
//! wrong with it. What the fields of records hold is read without that walk: the shortest
//! heads and [`Ascending`] are what is asked of it beside being what the field is to be.

use super::{Checked, Head, Input, Parsed, Remaining, Value, check_utf8, content, entries, head};
use super::{Fault, fail, major, span, value};
use crate::limits::format::DEPTH_V2;
use crate::rules::{Limit, Rule};

/// An open map or array.
#[derive(Clone, Copy)]
struct Level<'m> {
    /// Items that are still to come; of a map, two an entry. Never 0.
    left: u32,
    map: bool,
    /// Of a map: the current key, and the encoding of the one before it.
    key: Input<'m>,
    last: Input<'m>,
}

impl Level<'_> {
    const NONE: Self = Self { left: 0, map: false, key: &[], last: &[] };
}

/// The open levels around an item. They are counted, never recursed into.
struct Levels<'m> {
    open: [Level<'m>; MOST],
    depth: u8,
    limit: u8,
}

impl<'m> Levels<'m> {
    fn push(&mut self, at: Input<'_>, level: Level<'m>) -> Checked<()> {
        if self.depth >= self.limit {
            return Err(Fault::with(Limit::Depth, Remaining::of(at), self.limit.into()).into());
        }
        match self.open.get_mut(usize::from(self.depth)) {
            Some(slot) => *slot = level,
            None => return Err(Fault::new(Rule::CborDepth, Remaining::of(at)).into()),
        }
        self.depth = self.depth.saturating_add(1);
        Ok(())
    }

    #[inline]
    fn top(&mut self) -> Option<&mut Level<'m>> {
        self.open.get_mut(usize::from(self.depth.checked_sub(1)?))
    }
}

/// Levels that may be open.
const MOST: usize = 32;
const _: () = assert!(DEPTH_V2 == 32, "a counter for every one");

/// Passes over the item at `at`, which lies within `open` levels, going no deeper than `limit`, and
/// validates that it is deterministic.
pub(crate) fn strict(at: Input<'_>, open: u8, limit: u8) -> Parsed<'_, ()> {
    let mut levels = Levels { open: [Level::NONE; MOST], depth: open, limit };
    let mut input = at;
    loop {
        if let Some(top) = levels.top().filter(|_| input.len() < at.len()) {
            if top.map {
                top.note(input)?;
            }
            top.left = top.left.checked_sub(1).ok_or_else(|| Fault::internal(input))?;
        }
        let (rest, opened) = item(input)?;
        if let Some(level) = opened {
            levels.push(input, level)?;
        }
        input = rest;
        while levels.depth > open && levels.top().is_some_and(|top| top.left == 0) {
            levels.depth = levels.depth.wrapping_sub(1);
        }
        if levels.depth == open {
            return Ok((input, ()));
        }
    }
}

impl<'m> Level<'m> {
    /// Notes where a key or a value of a map begins. A key is what stands before its value.
    #[inline]
    fn note(&mut self, input: Input<'m>) -> Checked<()> {
        if self.left.is_multiple_of(2) {
            self.key = input;
            return Ok(());
        }
        let key = span(self.key, input)?;
        // No key is empty, so any is above what stands for none.
        if self.last >= key {
            return Err(disorder(self.key, self.last == key).into());
        }
        self.last = key;
        Ok(())
    }
}

/// What is wrong with a key that is not above the one before it.
#[cold]
fn disorder(at: Input<'_>, is_duplicate: bool) -> Fault {
    let rule = if is_duplicate { Rule::DuplicateKey } else { Rule::KeyOrder };
    Fault::new(rule, Remaining::of(at))
}

/// Watches the keys of a map go by, all of them text and none of them empty: each has to be above the
/// one before it.
#[derive(Default)]
pub(crate) struct Ascending<'m>(Input<'m>);

impl<'m> Ascending<'m> {
    /// Notes the key whose head is at `at`.
    #[inline]
    pub(crate) fn note(&mut self, at: Input<'m>, key: Input<'m>) -> Checked<()> {
        let order = self.0.len().cmp(&key.len()).then_with(|| self.0.cmp(key));
        if order.is_ge() {
            return Err(disorder(at, order.is_eq()).into());
        }
        self.0 = key;
        Ok(())
    }
}

/// Passes over a number, string or simple value, or the head of a map or array. Its level, if there
/// are items in it.
#[inline]
fn item(at: Input<'_>) -> Parsed<'_, Option<Level<'_>>> {
    let (rest, head) = head(at)?;
    if head.info >= 24 {
        shortest(at, head)?;
    }
    let level = |left, map| Level { left, map, key: &[], last: &[] };
    match head.major {
        major::UINT | major::NEGATIVE => Ok((rest, None)),
        major::BYTES | major::TEXT => {
            let (rest, bytes) = content((at, head), rest)?;
            if head.major == major::TEXT {
                check_utf8(Remaining::of(at), bytes)?;
            }
            Ok((rest, None))
        }
        major::ARRAY => {
            let (rest, entries) = entries((at, head), super::UNLIMITED, rest)?;
            // Those of indefinite length have been refused.
            let count = entries.claimed().ok_or_else(|| Fault::internal(at))?;
            Ok((rest, (count > 0).then(|| level(count, false))))
        }
        major::MAP => {
            let (rest, entries) = entries((at, head), super::UNLIMITED, rest)?;
            // Two bytes an entry are there, in a manifest of 2^30 at most.
            let count = entries.claimed().and_then(|count| count.checked_mul(2));
            let count = count.ok_or_else(|| Fault::internal(at))?;
            Ok((rest, (count > 0).then(|| level(count, true))))
        }
        major::TAG => Err(Fault::with(Rule::CborTag, Remaining::of(at), head.argument).into()),
        _ if matches!(head.info, 20..=22 | 25..=27) => Ok((rest, None)),
        _ => fail(Rule::CborValue, at),
    }
}

/// Validates a head that has an argument of its own, or indefinite length.
#[inline(never)]
fn shortest(at: Input<'_>, head: Head) -> Checked<()> {
    let least = match head.info {
        _ if head.major == major::TAG => 0,
        _ if head.major > major::TAG => return float(at, head),
        24 => 24,
        25 => 0x100,
        26 => 0x1_0000,
        27 => 0x1_0000_0000,
        _ => return Err(Fault::new(Rule::CborIndefinite, Remaining::of(at)).into()),
    };
    if head.argument >= least {
        return Ok(());
    }
    Err(Fault::new(Rule::CborShortest, Remaining::of(at)).into())
}

/// Validates that a float takes no more bytes than its value needs.
fn float(at: Input<'_>, head: Head) -> Checked<()> {
    let Value::Float(number) = value::simple(head) else { return Ok(()) };
    let half = half::f16::from_f64(number);
    let valid = match head.info {
        _ if number.is_nan() => (head.info, head.argument) == (25, 0x7e00),
        25 => true,
        _ if half.to_f64().to_bits() == number.to_bits() => false,
        26 => true,
        _ => !is_single(number),
    };
    if valid { Ok(()) } else { Err(Fault::new(Rule::CborFloat, Remaining::of(at)).into()) }
}

/// Whether a double that is a number is one of single precision, too.
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "held against it in the same line"
)]
fn is_single(number: f64) -> bool {
    f64::from(number as f32).to_bits() == number.to_bits()
}
