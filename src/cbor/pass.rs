//! Passing over one item that has been checked: what is in it is counted, and its levels are not.

use super::{BREAK, Input, major};
use super::{Head, argument};
use crate::limits::format::DEPTH_CAP;
use crate::num::usize_from_u32;

/// More items than a manifest has bytes for: those of a map or array of indefinite length, or chunks of a string.
const UNCOUNTED: u32 = u32::MAX >> 1;

/// Items of indefinite length that may be open.
const MOST: usize = 64;
const _: () = assert!(DEPTH_CAP == 64, "room for every one");

/// Passes over the item at `at`, which [`skip`] has passed over before. None if it is cut.
#[inline]
pub(crate) fn pass(at: Input<'_>) -> Option<Input<'_>> {
    match definite(at, 1)? {
        (rest, 0) => Some(rest),
        (rest, items) => indefinite(rest, items),
    }
}

/// The bytes of the item at `at`, which has been passed over before.
pub(crate) fn item(at: Input<'_>) -> Option<Input<'_>> {
    at.get(..at.len().wrapping_sub(pass(at)?.len()))
}

/// Passes over so many items, and those within them: up to their end, or to a break or a head of indefinite
/// length and how many are left with it.
#[inline]
fn definite(mut input: Input<'_>, mut items: u32) -> Option<(Input<'_>, u32)> {
    while items > 0 {
        let (initial, rest) = input.split_first()?;
        let argument;
        (input, argument) = match initial & 31 {
            Head::INDEFINITE => return Some((input, items)),
            info @ 24.. => argument_of(input, info)?,
            info => (rest, info.into()),
        };
        items = items.wrapping_sub(1);
        match initial >> 5 {
            major::BYTES | major::TEXT => input = input.get(usize_from_u32(argument)..)?,
            major::ARRAY => items = items.wrapping_add(argument),
            major::MAP => items = items.wrapping_add(argument.wrapping_mul(2)),
            major::TAG => items = items.wrapping_add(1),
            _ => {}
        }
    }
    Some((input, 0))
}

/// The argument of a head that has bytes of its own for it.
#[inline(never)]
fn argument_of(at: Input<'_>, info: u8) -> Option<(Input<'_>, u32)> {
    let (rest, argument) = argument(at, info)?;
    // Numbers and tags may be any.
    Some((rest, u32::try_from(argument).unwrap_or(u32::MAX)))
}

/// [`definite`] from a head of indefinite length on, with all that is open there.
#[inline(never)]
fn indefinite(mut input: Input<'_>, mut items: u32) -> Option<Input<'_>> {
    // What is left of what is around each item of indefinite length.
    let mut around = [0; MOST];
    let mut open = 0_usize;
    while items > 0 {
        let (initial, rest) = input.split_first()?;
        if *initial == BREAK {
            open = open.checked_sub(1)?;
            items = *around.get(open)?;
        } else {
            *around.get_mut(open)? = items.wrapping_sub(1);
            open = open.wrapping_add(1);
            items = UNCOUNTED;
        }
        (input, items) = definite(rest, items)?;
    }
    Some(input)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::skip;
    use super::{DEPTH_CAP, pass};

    /// What opens an item, and what ends it.
    const LEVELS: [(&[u8], &[u8]); 10] = [
        (&[0x81], &[]),
        (&[0x84, 0x80, 0x9f, 0xff], &[0]),
        (&[0x98, 2, 0x18, 0x20], &[]),
        (&[0x9f], &[0xff]),
        (&[0x9f, 0x5f, 0x40, 0xff], &[0x60, 0xff]),
        (&[0xa1, 0x61, b'a'], &[]),
        (&[0xa2, 0xa0], &[0, 0xbf, 0xff]),
        (&[0xbf, 0x7f, 0x61, b'a', 0xff], &[0xff]),
        (&[0xc1], &[]),
        (&[0xd9, 1, 0], &[]),
    ];
    const INNERMOST: [&[u8]; 5] =
        [&[0], &[0x3a, 0, 1, 0, 0], &[0x58, 1, 9], &[0xf5], &[0xbf, 0xff]];

    #[test]
    fn items_end_where_they_were_found_to() {
        let three = |n: usize| [n % 10, n / 10 % 10, n / 100].map(|level| LEVELS[level]);
        for (levels, inner) in (0..1000).flat_map(|n| INNERMOST.map(|inner| (three(n), inner))) {
            let opened = levels.iter().flat_map(|level| level.0);
            let closed = levels.iter().rev().flat_map(|level| level.1);
            let mut item: Vec<u8> = opened.chain(inner).chain(closed).copied().collect();
            item.extend([0x9f, 0xff, 7]);
            let (rest, ()) = skip(&item, 0, DEPTH_CAP).unwrap();
            assert_eq!(rest, [0x9f, 0xff, 7], "{item:x?}");
            assert_eq!(pass(&item), Some(rest), "{item:x?}");
            let whole = item.len() - 3;
            for cut in 0..whole {
                assert_eq!(pass(&item[..cut]), None, "{item:x?}, {cut}");
            }
        }
    }

    #[test]
    fn as_deep_as_may_be() {
        for (open, close) in [([0x9f], Some(0xff)), ([0x81], None), ([0xc1], None)] {
            let mut item = open.repeat(64);
            item.push(0);
            item.extend(core::iter::repeat_n(close, 64).flatten());
            assert_eq!(skip(&item, 0, DEPTH_CAP).unwrap().0, []);
            assert_eq!(pass(&item), Some([].as_slice()));
        }
    }
}
