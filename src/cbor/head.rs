//! Heads of items: RFC 8949 §3.

use super::{Fault, Input, Parsed, Remaining, fail};
use crate::num::SMALL;
use crate::rules::Rule;

/// Major types: RFC 8949 §3.1.
pub(super) mod major {
    pub(in crate::cbor) const UINT: u8 = 0;
    pub(in crate::cbor) const NEGATIVE: u8 = 1;
    pub(in crate::cbor) const BYTES: u8 = 2;
    pub(in crate::cbor) const TEXT: u8 = 3;
    pub(in crate::cbor) const ARRAY: u8 = 4;
    pub(in crate::cbor) const MAP: u8 = 5;
    pub(in crate::cbor) const TAG: u8 = 6;
}

/// The initial byte of a simple value that a second byte gives.
const SIMPLE: u8 = 0xf8;
/// The initial byte that ends an indefinite-length item.
pub(super) const BREAK: u8 = 0xff;

/// The head of an item: major type, additional information, and the argument they stand for.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) major: u8,
    pub(super) info: u8,
    pub(super) argument: u64,
}

impl Head {
    pub(super) const INDEFINITE: u8 = 31;

    #[inline(always)]
    pub(super) fn indefinite(self) -> bool {
        self.info == Self::INDEFINITE
    }
}

/// How many bytes the argument takes, where it does not fit in the initial byte, and how many
/// bits of 64 it leaves unused.
#[inline(always)]
fn width(info: u8) -> (usize, u32) {
    // 1, 2, 4 or 8 bytes for 24, 25, 26 and 27.
    let bytes = 1 << (info & 3);
    (bytes, 64_u32.wrapping_sub(8 << (info & 3)))
}

/// The argument of a head that does not fit in its initial byte; none if it is cut.
pub(super) fn argument(at: Input<'_>, info: u8) -> Option<(Input<'_>, u64)> {
    if let (Some(read), false) = (wide(at, info), SMALL) {
        return Some(read);
    }
    let (argument, rest) = at.get(1..)?.split_at_checked(width(info).0)?;
    Some((rest, argument.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))))
}

/// [`argument`] where there are as many bytes as the longest head has: all but at the very end of the manifest.
#[inline(always)]
fn wide(at: Input<'_>, info: u8) -> Option<(Input<'_>, u64)> {
    let [_, argument @ ..] = at.first_chunk::<9>()?;
    let (bytes, unused) = width(info);
    let rest = at.get(bytes.wrapping_add(1)..)?;
    if cfg!(target_pointer_width = "32") && info < 27 {
        // Turning the order of 8 bytes takes such machines much longer than that of 4.
        let [a, b, c, d, ..] = *argument;
        let unused = unused.wrapping_sub(32);
        return Some((rest, (u32::from_be_bytes([a, b, c, d]) >> unused).into()));
    }
    Some((rest, u64::from_be_bytes(*argument) >> unused))
}

/// The head of the next item, whatever it is.
#[inline(always)]
pub(super) fn head(at: Input<'_>) -> Parsed<'_, Head> {
    let Some((&initial, rest)) = at.split_first() else {
        return fail(Rule::CborTruncated, at);
    };
    let (major, info) = (initial >> 5, initial & 31);
    match info {
        0..24 => Ok((rest, Head { major, info, argument: u64::from(info) })),
        24..28 => match argument(at, info) {
            Some((_, argument @ 0..32)) if initial == SIMPLE => {
                Err(Fault::with(Rule::CborSimple, Remaining::of(at), argument).into())
            }
            Some((rest, argument)) => Ok((rest, Head { major, info, argument })),
            None => fail(Rule::CborTruncated, at),
        },
        _ if initial == BREAK => fail(Rule::CborBreak, at),
        Head::INDEFINITE if matches!(major, major::BYTES..=major::MAP) => {
            Ok((rest, Head { major, info, argument: 0 }))
        }
        _ => Err(Fault::with(Rule::CborReserved, Remaining::of(at), initial.into()).into()),
    }
}

/// A head of the major type `wanted`, which has to be as `SHORTEST` says; any other item breaks
/// `wrong`.
#[inline(always)]
pub(super) fn head_of<const SHORTEST: bool>(
    wanted: u8,
    wrong: Rule,
    at: Input<'_>,
) -> Parsed<'_, Head> {
    if let Some((initial, rest)) = at.split_first()
        && !SMALL
    {
        // Of the wanted type, nothing is left of the initial byte but the information.
        let info = initial ^ (wanted << 5);
        if info < 24 {
            return Ok((rest, Head { major: wanted, info, argument: u64::from(info) }));
        }
        if info < 28
            && let Some((rest, argument)) = wide(at, info)
            && (!SHORTEST || is_shortest(info, argument))
        {
            return Ok((rest, Head { major: wanted, info, argument }));
        }
    }
    let (rest, head) = any_head_of(wanted, wrong, at)?;
    if SHORTEST && !SMALL && head.info >= 24 && !is_shortest(head.info, head.argument) {
        return fail(Rule::CborShortest, at);
    }
    Ok((rest, head))
}

/// Whether an argument that takes bytes of its own needs as many as `info` says: more than the initial
/// byte has room for, or more than half of them have. None of indefinite length does.
#[inline(always)]
fn is_shortest(info: u8, argument: u64) -> bool {
    let (bytes, _) = width(info);
    if info == 24 { argument >= 24 } else { info < 28 && argument >> (bytes << 2) != 0 }
}

/// [`head_of`] for what is not an ordinary head.
#[inline(never)]
fn any_head_of(wanted: u8, wrong: Rule, at: Input<'_>) -> Parsed<'_, Head> {
    match head(at)? {
        (rest, head) if head.major == wanted => Ok((rest, head)),
        _ => fail(wrong, at),
    }
}

#[cfg(all(test, not(feature = "small")))]
mod tests {
    use super::{argument, wide};

    #[test]
    fn wide_arguments_are_what_any_are() {
        let bytes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        for (info, number) in [(24, 1), (25, 0x102), (26, 0x0102_0304), (27, 0x0102_0304_0506_0708)]
        {
            let read = wide(&bytes, info).unwrap();
            assert_eq!((read.1, Some(read)), (number, argument(&bytes, info)));
            let end = bytes.len() - read.0.len();
            assert_eq!(wide(&bytes[..end], info).is_some(), info == 27);
            assert_eq!(argument(&bytes[..end], info), Some((&[][..], number)));
        }
    }
}
