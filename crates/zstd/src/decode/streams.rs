//! Decoding streams of Huffman codes: RFC 8878 §4.2.2.

use super::Flaw;
use super::bits::{AT_ONCE, Bits};
use crate::format::LONGEST_CODE;
use crate::num::{DebugExpect as _, low_u32, usize_from_u32};

/// A Huffman decoding table. The next [`LONGEST_CODE`] bits of a stream are the index of the entry for the code with which
/// these bits begin.
pub(super) type Codes = [Code; CODES];
pub(super) const CODES: usize = 1 << LONGEST_CODE;
/// The number of codes that are read between two refills.
const TOGETHER: usize = 5;
/// The smallest number of literals whose codes may be in four streams.
const QUARTERED: usize = 6;

const _: () = assert!(
    TOGETHER * usize_from_u32(LONGEST_CODE) <= usize_from_u32(AT_ONCE),
    "one refill must hold the bits of `TOGETHER` codes"
);

/// An entry of the table: the symbol in the high byte, and the length of its code in bits in the low byte.
#[derive(Clone, Copy, Default)]
pub(super) struct Code(u16);

impl Code {
    pub(super) fn new(symbol: u8, bits: u8) -> Self {
        Self(u16::from_le_bytes([bits, symbol]))
    }

    #[inline(always)]
    fn symbol(self) -> u8 {
        let [_, symbol] = self.0.to_le_bytes();
        symbol
    }

    #[inline(always)]
    fn bits(self) -> u32 {
        let [bits, _] = self.0.to_le_bytes();
        bits.into()
    }
}

/// Decodes one stream of Huffman codes, which must fill `out` exactly.
pub(super) fn one(codes: &Codes, stream: &[u8], out: &mut [u8]) -> Result<(), Flaw> {
    finish(codes, Bits::new(stream).ok_or(Flaw::Corrupt)?, out)
}

/// Decodes four streams of Huffman codes. Each of the first three must fill a quarter of `out`, rounded up, and the last one must
/// fill the rest. Fails if `out` has fewer than [`QUARTERED`] bytes.
// Never inlined, because the loop needs all registers.
#[inline(never)]
pub(super) fn four(codes: &Codes, streams: [&[u8]; 4], out: &mut [u8]) -> Result<(), Flaw> {
    if out.len() < QUARTERED {
        return Err(Flaw::Corrupt);
    }
    let quarter = out.len().div_ceil(4);
    let (first, out) = out.split_at_mut_checked(quarter).ok_or(Flaw::Corrupt)?;
    let (second, out) = out.split_at_mut_checked(quarter).ok_or(Flaw::Corrupt)?;
    let (third, fourth) = out.split_at_mut_checked(quarter).ok_or(Flaw::Corrupt)?;
    let [Some(mut a), Some(mut b), Some(mut c), Some(mut d)] = streams.map(Bits::new) else {
        return Err(Flaw::Corrupt);
    };
    let mut done = 0_usize;
    // The four streams are decoded in step: a single stream would wait for its own bits each time.
    let [firsts, seconds, thirds, fourths] = [&mut *first, &mut *second, &mut *third, &mut *fourth]
        .map(|out| out.as_chunks_mut::<TOGETHER>().0);
    let chunks = firsts.iter_mut().zip(seconds).zip(thirds.iter_mut().zip(fourths));
    for ((first, second), (third, fourth)) in chunks {
        let Some(one) = a.ahead() else { break };
        let Some(two) = b.ahead() else { break };
        let Some(three) = c.ahead() else { break };
        let Some(four) = d.ahead() else { break };
        a.hold(one);
        b.hold(two);
        c.hold(three);
        d.hold(four);
        let mut taken = [0_u32; 4];
        let bytes = first.iter_mut().zip(second).zip(third.iter_mut().zip(fourth));
        for ((first, second), (third, fourth)) in bytes {
            let [one, two, three, four] = &mut taken;
            *first = swift(codes, &mut a, one);
            *second = swift(codes, &mut b, two);
            *third = swift(codes, &mut c, three);
            *fourth = swift(codes, &mut d, four);
        }
        let [one, two, three, four] = taken;
        a.settle(one & 0xff);
        b.settle(two & 0xff);
        c.settle(three & 0xff);
        d.settle(four & 0xff);
        done = done.wrapping_add(TOGETHER);
    }
    for (bits, out) in [(a, first), (b, second), (c, third), (d, fourth)] {
        finish(codes, bits, out.get_mut(done..).ok_or(Flaw::Corrupt)?)?;
    }
    Ok(())
}

/// Decodes one symbol, and adds the length of its code to `taken` instead of counting the bits at once.
#[inline(always)]
fn swift(codes: &Codes, bits: &mut Bits<'_>, taken: &mut u32) -> u8 {
    let code = next(codes, bits);
    // Shifts ignore all but the low six bits of their operand, so the symbol in the high byte does not matter.
    bits.shift(code.0.into());
    *taken = taken.wrapping_add(code.0.into());
    code.symbol()
}

/// Decodes the codes that are left in a stream when no more of them can be decoded together, with a check for each
/// symbol.
///
/// # Errors
/// [`Flaw::Corrupt`] if the stream does not end with the last symbol.
fn finish(codes: &Codes, mut bits: Bits<'_>, out: &mut [u8]) -> Result<(), Flaw> {
    for chunk in out.chunks_mut(TOGETHER) {
        bits.refill();
        for byte in chunk {
            let code = next(codes, &bits);
            bits.skip(code.bits());
            *byte = code.symbol();
        }
    }
    bits.refill();
    if bits.is_over() { Ok(()) } else { Err(Flaw::Corrupt) }
}

#[inline(always)]
fn next(codes: &Codes, bits: &Bits<'_>) -> Code {
    let at = usize_from_u32(low_u32(bits.peek(LONGEST_CODE)));
    codes.get(at).copied().debug_expect()
}
