//! The headers in a compressed block: RFC 8878 §3.1.1.3. They are judged before the block is
//! decoded, whoever does.

use nom::bytes::complete::take;
use nom::combinator::map;
use nom::number::complete::{le_u8, le_u16, le_u24};
use nom::{IResult, Parser as _};

use super::frame::{BLOCK_HEADER, Header};
use crate::error::Error;
use crate::rules::Rule;

/// What the literals section says.
#[derive(Clone, Copy)]
#[cfg_attr(
    any(feature = "zstd-fast", feature = "zstd-ruzstd"),
    expect(dead_code, reason = "the other decoders read it themselves")
)]
pub(super) struct Literals {
    /// As they are, one byte that repeats, in codes, in the codes of the block before.
    pub(super) kind: u8,
    /// Whether codes are in four streams.
    pub(super) four: bool,
    /// How many bytes it makes, and how many it takes.
    pub(super) made: u64,
    pub(super) stored: u64,
}

/// The header of the literals section: §3.1.1.3.1.1.
pub(super) fn literals(input: &[u8]) -> IResult<&[u8], Literals> {
    let (_, first) = le_u8(input)?;
    let (kind, size_format) = (first & 3, first >> 2 & 3);
    let four = kind > 1 && size_format > 0;
    // One size, of 5, 12 or 20 bits; or two, of 10, 14 or 18 bits each.
    let plain = |bits: u32| {
        let made = u64::from(bits);
        Literals { kind, four, made, stored: if kind == 0 { made } else { 1 } }
    };
    let packed = |number: u64, bits: u32| {
        let mask = 1_u64.checked_shl(bits).unwrap_or_default().wrapping_sub(1);
        let stored = number.checked_shr(bits).unwrap_or_default() & mask;
        Literals { kind, four, made: number & mask, stored }
    };
    match (kind, size_format) {
        (0 | 1, 0 | 2) => map(le_u8, |byte| plain(u32::from(byte >> 3))).parse(input),
        (0 | 1, 1) => map(le_u16, |bits| plain(u32::from(bits >> 4))).parse(input),
        (0 | 1, _) => map(le_u24, |bits| plain(bits >> 4)).parse(input),
        (_, 0 | 1) => map(le_u24, |bits| packed(u64::from(bits >> 4), 10)).parse(input),
        (_, 2) => map(take(4_usize), |bytes| packed(number(bytes) >> 4, 14)).parse(input),
        _ => map(take(5_usize), |bytes| packed(number(bytes) >> 4, 18)).parse(input),
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The number of sequences and their symbol compression modes, if there are any: §3.1.1.3.2.1.
pub(super) fn sequences(input: &[u8]) -> IResult<&[u8], Option<(u32, u8)>> {
    let (input, first) = le_u8(input)?;
    let high = u32::from(first & 0x7f) << 8;
    let (input, number) = match first {
        0..=127 => (input, u32::from(first)),
        128..=254 => map(le_u8, |low| high | u32::from(low)).parse(input)?,
        255 => map(le_u16, |more| u32::from(more).saturating_add(0x7f00)).parse(input)?,
    };
    if number == 0 {
        return Ok((input, None));
    }
    map(le_u8, |modes| Some((number, modes))).parse(input)
}

/// Judges a block that stands at `at`, header and all. One that is cut short is left to the
/// decoder.
pub(super) fn judge(block: &[u8], header: &Header, at: u64) -> Result<(), Error> {
    let Some((start, content)) = block.split_first_chunk::<BLOCK_HEADER>() else {
        return Ok(());
    };
    let compressed = start.first().is_some_and(|bits| bits >> 1 & 3 == 2);
    let Ok((rest, literals)) = literals(content) else {
        return Ok(());
    };
    if !compressed {
        return Ok(());
    }
    if literals.made > header.largest_block() {
        return Err(Error::new(Rule::ZstdBlock, at).found(literals.made));
    }
    let rest = usize::try_from(literals.stored).ok().and_then(|stored| rest.get(stored..));
    match rest.map(sequences) {
        Some(Ok((_, Some((_, modes))))) if modes & 3 != 0 => {
            Err(Error::new(Rule::ZstdReserved, at))
        }
        _ => Ok(()),
    }
}
