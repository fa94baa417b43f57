//! Deterministic CBOR: one form for each item. RFC 8949 §4.2.1.
//!
//! Shortest heads and floats, definite lengths, one NaN, and the keys of every map in ascending
//! order of their encodings, which none stands twice in. [`validate`] says whether an item has that
//! form; [`rewrite`] gives it that form.

mod rewrite;

pub(crate) use self::rewrite::rewrite;
use super::encode::shortest;
use super::value::Value;
use super::{Fault, Head, Input, Remaining, fault, head, major, span};
use crate::limits::format::DEPTH_CAP;
use crate::rules::{Limit, Rule};

/// Levels that may be open.
const MOST: usize = 64;
const _: () = assert!(DEPTH_CAP == 64, "a place for every one");

/// An open map, array or tag.
#[derive(Clone, Copy)]
struct Level<K> {
    /// Items that are still to come; of a map, two an entry.
    left: u64,
    map: bool,
    /// What is remembered of it.
    own: K,
}

/// The open levels above an item: counted, never recursed into.
struct Levels<K> {
    open: [Level<K>; MOST],
    depth: usize,
}

impl<K: Copy + Default> Levels<K> {
    fn new() -> Self {
        Self { open: [Level { left: 0, map: false, own: K::default() }; MOST], depth: 0 }
    }

    fn push(&mut self, at: Input<'_>, level: Level<K>) -> Result<(), Fault> {
        let slot = self.open.get_mut(self.depth);
        *slot.ok_or(Fault::new(Limit::Depth, Remaining::of(at)))? = level;
        self.depth = self.depth.saturating_add(1);
        Ok(())
    }

    fn top(&mut self) -> Option<&mut Level<K>> {
        self.open.get_mut(self.depth.checked_sub(1)?)
    }

    /// Closes the innermost: whether none is open.
    fn pop(&mut self) -> bool {
        self.depth = self.depth.saturating_sub(1);
        self.depth == 0
    }
}

/// A map that is being validated.
#[derive(Clone, Copy, Default)]
struct KeyOrder<'m> {
    /// Its last key, and where the current one begins.
    last: Option<Input<'m>>,
    key: Input<'m>,
}

/// Validates the well-formed item at `at`: what is left after it.
///
/// # Errors
/// `canonical-cbor`, at the first item or key that has not the one form.
pub(crate) fn validate(at: Input<'_>) -> Result<Input<'_>, Fault> {
    match flat(at)? {
        Some(rest) => Ok(rest),
        None => nested(at),
    }
}

/// The head of a well-formed item, which is to be the shortest one: what is left after it.
#[inline]
fn shortest_head(at: Input<'_>) -> Result<(Input<'_>, Head), Fault> {
    match at.split_first() {
        // The argument of most is in the first byte.
        Some((initial, rest)) if initial & 31 < 24 => {
            let (major, info) = (initial >> 5, initial & 31);
            Ok((rest, Head { major, info, argument: info.into() }))
        }
        _ => long_head(at),
    }
}

fn long_head(at: Input<'_>) -> Result<(Input<'_>, Head), Fault> {
    let (rest, head) = head(at).map_err(fault)?;
    if is_shortest(head) {
        return Ok((rest, head));
    }
    Err(Fault::new(Rule::CanonicalCbor, Remaining::of(at)))
}

/// What is left after a string of that head, or any other item without items of its own.
fn behind(rest: Input<'_>, head: Head) -> Result<Input<'_>, Fault> {
    if !matches!(head.major, major::BYTES | major::TEXT) {
        return Ok(rest);
    }
    let after = usize::try_from(head.argument).ok().and_then(|length| rest.get(length..));
    after.ok_or_else(|| Fault::internal(rest))
}

/// [`validate`] where there is no more than an array around anything; else none. It takes no memory for
/// levels.
fn flat(at: Input<'_>) -> Result<Option<Input<'_>>, Fault> {
    let (rest, head) = shortest_head(at)?;
    let (mut input, mut items) = match head.major {
        major::ARRAY => (rest, head.argument),
        major::MAP | major::TAG => return Ok(None),
        _ => (behind(rest, head)?, 0),
    };
    while items > 0 {
        let (rest, head) = shortest_head(input)?;
        if matches!(head.major, major::ARRAY | major::MAP | major::TAG) {
            return Ok(None);
        }
        input = behind(rest, head)?;
        items = items.wrapping_sub(1);
    }
    Ok(Some(input))
}

/// Validates the well-formed map at `at`, whose values `entry` validates: what is left after it. `entry` is
/// given where the entry begins, the key, which is empty if it is no text, and the value, and says what is
/// left after that.
///
/// # Errors
/// `canonical-cbor` at a head or key that has not the one form, or is out of order; those of `entry`.
pub(crate) fn validate_map<'m, E: From<Fault>>(
    at: Input<'m>,
    mut entry: impl FnMut(Input<'m>, Input<'m>, Input<'m>) -> Result<Input<'m>, E>,
) -> Result<Input<'m>, E> {
    let (mut input, map) = shortest_head(at)?;
    let mut last = None;
    for _ in 0..map.argument {
        let (rest, head) = shortest_head(input)?;
        let (value, name) = if head.major == major::TEXT {
            let value = behind(rest, head)?;
            (value, span(rest, value)?)
        } else {
            (validate(input)?, Input::default())
        };
        let key = span(input, value)?;
        if last.is_some_and(|last| last >= key) {
            return Err(Fault::new(Rule::CanonicalCbor, Remaining::of(input)).into());
        }
        last = Some(key);
        input = entry(input, name, value)?;
    }
    Ok(input)
}

/// [`validate`] of an item that may hold any others.
#[inline(never)]
fn nested(at: Input<'_>) -> Result<Input<'_>, Fault> {
    let mut levels = Levels::<KeyOrder<'_>>::new();
    let mut input = at;
    loop {
        if let Some(Level { left, map, own: KeyOrder { last, key } }) = levels.top() {
            if *left == 0 {
                if levels.pop() {
                    return Ok(input);
                }
                continue;
            }
            // The key is what stands before its value: keys that are maps themselves, and have such
            // keys, would be passed over again and again to find where they end.
            if *map && left.is_multiple_of(2) {
                *key = input;
            } else if *map {
                let own = span(key, input)?;
                if last.is_some_and(|last| last >= own) {
                    return Err(Fault::new(Rule::CanonicalCbor, Remaining::of(key)));
                }
                *last = Some(own);
            }
            *left = left.saturating_sub(1);
        }
        let (rest, head) = shortest_head(input)?;
        match head.major {
            major::ARRAY | major::TAG | major::MAP => {
                levels.push(input, Level::new(head, KeyOrder::default()))?;
                input = rest;
            }
            _ => input = behind(rest, head)?,
        }
        if levels.depth == 0 {
            return Ok(input);
        }
    }
}

/// More items than any map or array has; whole entries of a map.
const ENDLESS: u64 = u64::MAX - 1;

impl<K> Level<K> {
    /// The level that a head opens.
    fn new(head: Head, own: K) -> Self {
        let left = match head.major {
            major::TAG => 1,
            _ if head.indefinite() => ENDLESS,
            major::MAP => head.argument.saturating_mul(2),
            _ => head.argument,
        };
        Self { left, map: head.major == major::MAP, own }
    }
}

/// Whether a head is the only one for what it says.
fn is_shortest(head: Head) -> bool {
    let floats = head.major > major::TAG;
    match (floats, head.info) {
        (false, 24) => head.argument >= 24,
        (false, 25) => head.argument >= 0x100,
        (false, 26) => head.argument >= 0x1_0000,
        (false, 27) => head.argument >= 0x1_0000_0000,
        (true, 25..=27) => match super::value::simple(head) {
            Value::Float(value) => shortest(value) == (head.info, head.argument),
            _ => true,
        },
        (_, info) => info != Head::INDEFINITE,
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::allow_attributes,
        clippy::unwrap_used,
        clippy::panic,
        reason = "a test that panics has failed"
    )]

    use alloc::vec::Vec;

    use super::*;
    use crate::cbor::encode::Output;

    /// The one form of an item.
    fn rewritten(item: &[u8]) -> Vec<u8> {
        let mut out = Output::default();
        assert!(rewrite(item, &mut out).unwrap().is_empty());
        let form = out.as_bytes().to_vec();
        validate(&form).unwrap_or_else(|fault| panic!("{item:x?} became {form:x?}: {fault:?}"));
        form
    }

    #[test]
    fn each_item_has_one_form() {
        let forms: &[(&[u8], &[&[u8]])] = &[
            (&[0x17], &[&[0x18, 0x17], &[0x19, 0, 0x17], &[0x1b, 0, 0, 0, 0, 0, 0, 0, 0x17]]),
            (&[0x18, 0x18], &[&[0x1a, 0, 0, 0, 0x18]]),
            (&[0x19, 1, 0], &[&[0x1a, 0, 0, 1, 0]]),
            (&[0x1a, 0, 1, 0, 0], &[&[0x1b, 0, 0, 0, 0, 0, 1, 0, 0]]),
            (&[0x1b, 0, 0, 0, 1, 0, 0, 0, 0], &[]),
            (&[0x20], &[&[0x38, 0]]),
            (b"\x63abc", &[b"\x78\x03abc", b"\x7f\x61a\x62bc\xff", b"\x7f\x60\x63abc\xff"]),
            (b"\x42ab", &[b"\x5f\x41a\x41b\xff"]),
            (&[0x82, 1, 2], &[&[0x9f, 1, 2, 0xff], &[0x98, 2, 1, 0x18, 2]]),
            (&[0xa2, 1, 2, 3, 4], &[&[0xbf, 3, 4, 1, 2, 0xff], &[0xb8, 2, 1, 2, 3, 4]]),
            // Shorter keys come first.
            (b"\xa3\x61b\x01\x62aa\x02\x80\x03", &[b"\xa3\x80\x03\x62aa\x02\x61b\x01"]),
            // A map in a map, both out of order, and one as a key.
            (
                &[0xa2, 1, 0xa2, 1, 2, 3, 4, 0xa2, 1, 2, 3, 4, 0],
                &[&[0xbf, 0xa2, 3, 4, 1, 2, 0, 1, 0xbf, 3, 4, 1, 2, 0xff, 0xff]],
            ),
            (&[0xc1, 1], &[&[0xd8, 1, 0x18, 1]]),
            (&[0xf9, 0x3c, 0], &[&[0xfa, 0x3f, 0x80, 0, 0], &[0xfb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0]]),
            (&[0xf9, 0x80, 0], &[&[0xfa, 0x80, 0, 0, 0]]),
            (&[0xf9, 0x7e, 0], &[&[0xf9, 0x7e, 1], &[0xfa, 0x7f, 0xc0, 0, 1], &[0xf9, 0xfe, 0]]),
            (&[0xf9, 0x7c, 0], &[&[0xfb, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0]]),
            (&[0xfa, 0x3f, 0x80, 0, 1], &[&[0xfb, 0x3f, 0xf0, 0, 0, 0x20, 0, 0, 0]]),
            (&[0xfb, 0x3f, 0xf1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a], &[]),
            (&[0xf6], &[]),
            (&[0xf8, 0x20], &[]),
            (&[0x80], &[&[0x9f, 0xff]]),
            (&[0xa0], &[&[0xbf, 0xff]]),
        ];
        for (form, others) in forms {
            assert_eq!(&rewritten(form), form);
            for other in *others {
                assert_eq!(&rewritten(other), form, "{other:x?}");
                let found = validate(other).unwrap_err();
                assert_eq!(found.kind, Rule::CanonicalCbor.into(), "{other:x?}");
            }
        }
    }

    #[test]
    fn a_key_that_stands_twice_has_no_form() {
        for twice in [&[0xa2, 1, 2, 1, 3][..], &[0xa2, 1, 2, 0x18, 1, 3], &[0x81, 0xa2, 1, 2, 1, 3]]
        {
            let fault = rewrite(twice, &mut Output::default()).unwrap_err();
            assert_eq!(fault.kind, Rule::DuplicateKey.into());
            assert_eq!(validate(twice).unwrap_err().kind, Rule::CanonicalCbor.into());
        }
    }

    #[test]
    fn a_fault_is_where_the_form_is_left() {
        // [1, {"b": 1, "a": 2}]: the key `a`, 3 bytes before the end.
        let fault = validate(b"\x82\x01\xa2\x61b\x01\x61a\x02").unwrap_err();
        assert_eq!(fault.remaining.left(), 3);
        // [1, 24 in three bytes]
        assert_eq!(validate(&[0x82, 1, 0x19, 0, 24]).unwrap_err().remaining.left(), 3);
    }

    #[test]
    fn what_follows_the_item_is_left_alone() {
        let mut out = Output::default();
        assert_eq!(rewrite(&[0x9f, 1, 0xff, 0xff, 0], &mut out).unwrap(), [0xff, 0]);
        assert_eq!(rewrite(&[0x01, 0x19], &mut out).unwrap(), [0x19]);
        assert_eq!(out.as_bytes(), [0x81, 1, 1]);
        assert!(validate(&[0x80, 0x18, 0]).is_ok());
    }
}
