//! Passing over one item that has been checked: what is in it is counted, and its levels are not.

use super::head::{Head, argument};
use super::{BREAK, Input, major, skip};
use crate::limits::format::DEPTH_CAP;
use crate::num::SMALL;

/// More items than a manifest has bytes for: those of a map or array of indefinite length, or chunks of a string.
const UNCOUNTED: u64 = u64::MAX >> 1;

/// Items of indefinite length that may be open.
const MOST: usize = 64;
const _: () = assert!(DEPTH_CAP == 64, "room for every one");

/// Passes over the item at `at`, which [`skip`] has passed over before. None if it is cut.
#[inline(always)]
pub(crate) fn pass(at: Input<'_>) -> Option<Input<'_>> {
    if SMALL {
        return skip(at, 0, DEPTH_CAP).ok().map(|(rest, ())| rest);
    }
    match definite(at, 1)? {
        (rest, 0) => Some(rest),
        (rest, items) => indefinite(rest, items),
    }
}

/// Passes over so many items, and those within them: up to their end, or to a break or a head of indefinite
/// length and how many are left with it.
#[inline(always)]
fn definite(mut input: Input<'_>, mut items: u64) -> Option<(Input<'_>, u64)> {
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
            major::BYTES | major::TEXT => input = input.get(usize::try_from(argument).ok()?..)?,
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
fn argument_of(at: Input<'_>, info: u8) -> Option<(Input<'_>, u64)> {
    argument(at, info)
}

/// [`definite`] from a head of indefinite length on, with all that is open there.
#[inline(never)]
fn indefinite(mut input: Input<'_>, mut items: u64) -> Option<Input<'_>> {
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
