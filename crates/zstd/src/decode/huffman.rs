//! Huffman codes of literals: RFC 8878 §4.2.

use alloc::vec::Vec;

use super::Flaw;
use super::bits::{AT_ONCE, Bits};
use super::fse::{Table, describe};
use crate::format::{BYTES, LISTED, LONGEST_CODE, WEIGHTS_LOG};
use zten_num::{Assured as _, usize_from_u32};

const CODES: usize = 1 << LONGEST_CODE;
/// Weights of codes, 0 for none, and one more.
const WEIGHTS_MOST: usize = usize_from_u32(LONGEST_CODE) + 2;
/// States of a table for weights.
const WEIGHTS: usize = 1 << WEIGHTS_LOG;
/// Codes that are read at once.
const TOGETHER: usize = 5;

/// Fewer bytes are not in four streams.
const QUARTERED: usize = 6;

const _: () = assert!(
    TOGETHER * usize_from_u32(LONGEST_CODE) <= usize_from_u32(AT_ONCE),
    "so many bits are held"
);

/// What the next bits stand for, and how many of them it takes.
#[derive(Clone, Copy, Default)]
struct Code {
    symbol: u8,
    bits: u8,
}

/// The codes of the current literals, and of those to come that have none of their own.
#[derive(Default)]
pub(super) struct Huffman {
    /// The length of the longest code; 0 before there are any.
    longest: u32,
    codes: Vec<Code>,
    weights: Table<u8, WEIGHTS>,
}

impl Huffman {
    /// Forgets the codes, but not the room for them.
    pub(super) fn clear(&mut self) {
        self.longest = 0;
    }

    /// Reads the description of codes: what follows it.
    pub(super) fn describe<'s>(&mut self, stream: &'s [u8]) -> Result<&'s [u8], Flaw> {
        let (header, rest) = stream.split_first().ok_or(Flaw::Corrupt)?;
        let mut weights = [0_u8; BYTES];
        let (listed, rest) = if let Some(more) = header.checked_sub(LISTED) {
            let count = usize::from(more).wrapping_add(1);
            let split = rest.split_at_checked(count.div_ceil(2));
            let (packed, rest) = split.ok_or(Flaw::Corrupt)?;
            let nibbles = packed.iter().flat_map(|byte| [byte >> 4, byte & 15]);
            weights.iter_mut().zip(nibbles).take(count).for_each(|(to, from)| *to = from);
            (count, rest)
        } else {
            let split = rest.split_at_checked(usize::from(*header));
            let (stream, rest) = split.ok_or(Flaw::Corrupt)?;
            (self.stream(stream, &mut weights)?, rest)
        };
        self.make(&mut weights, listed)?;
        Ok(rest)
    }

    /// Reads weights from a stream of two states in turn: how many they are. §4.2.1.2.
    fn stream(&mut self, stream: &[u8], weights: &mut [u8; BYTES]) -> Result<usize, Flaw> {
        let mut shares = [0; BYTES];
        let described = describe(stream, WEIGHTS_LOG, &mut shares);
        let (stream, log) = described.ok_or(Flaw::Corrupt)?;
        self.weights.make(log, &shares, |weight| weight)?;
        let states = self.weights.states();
        let mut bits = Bits::new(stream).ok_or(Flaw::Corrupt)?;
        let mut first = self.weights.begin(&mut bits);
        let mut second = self.weights.begin(&mut bits);
        bits.refill();
        // The last weight goes without saying, so there is always room for one more.
        for (count, weight) in (1..BYTES).zip(&mut *weights) {
            let state = states.get(first).ok_or(Flaw::Corrupt)?;
            *weight = state.means;
            first = state.next(&mut bits);
            bits.refill();
            // Where the bits run out, the other state is the last one.
            if bits.is_overrun() {
                let last = states.get(second).ok_or(Flaw::Corrupt)?;
                *weights.get_mut(count).ok_or(Flaw::Corrupt)? = last.means;
                return Ok(count.wrapping_add(1));
            }
            core::mem::swap(&mut first, &mut second);
        }
        Err(Flaw::Corrupt)
    }

    /// Makes the codes by their weights, of which the last is to be found: §4.2.1.
    fn make(&mut self, weights: &mut [u8; BYTES], listed: usize) -> Result<(), Flaw> {
        let room = |weight: u8| 1_u32.wrapping_shl(u32::from(weight)) >> 1;
        let mut sum = 0_u32;
        for weight in weights.iter().take(listed) {
            if u32::from(*weight) > LONGEST_CODE {
                return Err(Flaw::Corrupt);
            }
            sum = sum.wrapping_add(room(*weight));
        }
        let longest = sum.checked_ilog2().ok_or(Flaw::Corrupt)?.wrapping_add(1);
        let left = 1_u32.wrapping_shl(longest).wrapping_sub(sum);
        if longest > LONGEST_CODE || !left.is_power_of_two() {
            return Err(Flaw::Corrupt);
        }
        let last = weights.get_mut(listed).ok_or(Flaw::Corrupt)?;
        *last = u8::try_from(left.checked_ilog2().assured().wrapping_add(1)).assured();
        // There are codes of the length that is the longest. Their count is even, for all others
        // take an even part of what is filled.
        if !weights.contains(&1) {
            return Err(Flaw::Corrupt);
        }
        self.longest = 0;
        self.codes.try_reserve_exact(CODES).map_err(|_| Flaw::Memory)?;
        self.codes.resize(CODES, Code::default());
        // The codes of a weight follow those of the lower ones, in the order of their symbols.
        let mut next = [0_usize; WEIGHTS_MOST];
        for weight in &*weights {
            if let Some(above) = next.get_mut(usize::from(*weight).wrapping_add(1)) {
                *above = above.wrapping_add(usize_from_u32(room(*weight)));
            }
        }
        next.iter_mut().fold(0, |sum: usize, start| {
            *start = start.wrapping_add(sum);
            *start
        });
        for (symbol, weight) in (0..=u8::MAX).zip(&*weights).filter(|(_, weight)| **weight > 0) {
            let start = next.get_mut(usize::from(*weight)).ok_or(Flaw::Corrupt)?;
            let end = start.wrapping_add(usize_from_u32(room(*weight)));
            let codes = self.codes.get_mut(*start..end).ok_or(Flaw::Corrupt)?;
            let bits = longest.wrapping_add(1).wrapping_sub(u32::from(*weight));
            codes.fill(Code { symbol, bits: u8::try_from(bits).assured() });
            *start = end;
        }
        self.longest = longest;
        Ok(())
    }

    /// Decodes one stream, which fills `out`.
    pub(super) fn one(&self, stream: &[u8], out: &mut [u8]) -> Result<(), Flaw> {
        let codes = self.codes()?;
        let mut bits = Bits::new(stream).ok_or(Flaw::Corrupt)?;
        self.finish(codes, &mut bits, out)
    }

    /// Decodes four streams, each of which fills a quarter of `out`: §4.2.2.
    pub(super) fn four(&self, streams: [&[u8]; 4], out: &mut [u8]) -> Result<(), Flaw> {
        let codes = self.codes()?;
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
        if cfg!(feature = "small") {
            self.finish(codes, &mut a, first)?;
            self.finish(codes, &mut b, second)?;
            self.finish(codes, &mut c, third)?;
            return self.finish(codes, &mut d, fourth);
        }
        // In step, for each stream by itself would wait for its own bits; the fourth is shortest.
        let whole = fourth.len().saturating_sub(fourth.len().checked_rem(TOGETHER).assured());
        let [first, second, third, fourth] =
            [first, second, third, fourth].map(|out| out.split_at_mut_checked(whole));
        let (Some(first), Some(second), Some(third), Some(fourth)) = (first, second, third, fourth)
        else {
            return Err(Flaw::Corrupt);
        };
        let [firsts, seconds, thirds, fourths] =
            [first.0, second.0, third.0, fourth.0].map(|out| out.as_chunks_mut::<TOGETHER>().0);
        let chunks = firsts.iter_mut().zip(seconds).zip(thirds.iter_mut().zip(fourths));
        for ((first, second), (third, fourth)) in chunks {
            for bits in [&mut a, &mut b, &mut c, &mut d] {
                bits.refill();
            }
            let slots = first.iter_mut().zip(second).zip(third.iter_mut().zip(fourth));
            for ((first, second), (third, fourth)) in slots {
                *first = self.next(codes, &mut a);
                *second = self.next(codes, &mut b);
                *third = self.next(codes, &mut c);
                *fourth = self.next(codes, &mut d);
            }
        }
        self.finish(codes, &mut a, first.1)?;
        self.finish(codes, &mut b, second.1)?;
        self.finish(codes, &mut c, third.1)?;
        self.finish(codes, &mut d, fourth.1)
    }

    fn codes(&self) -> Result<&[Code; CODES], Flaw> {
        let codes = self.codes.first_chunk().filter(|_| self.longest > 0);
        codes.ok_or(Flaw::Corrupt)
    }

    /// Decodes the rest of a stream.
    fn finish(
        &self,
        codes: &[Code; CODES],
        bits: &mut Bits<'_>,
        out: &mut [u8],
    ) -> Result<(), Flaw> {
        for chunk in out.chunks_mut(TOGETHER) {
            bits.refill();
            for byte in chunk {
                *byte = self.next(codes, bits);
            }
        }
        bits.refill();
        if bits.is_over() { Ok(()) } else { Err(Flaw::Corrupt) }
    }

    #[inline(always)]
    fn next(&self, codes: &[Code; CODES], bits: &mut Bits<'_>) -> u8 {
        const MASK: u64 = (1 << LONGEST_CODE) - 1;
        let at = usize::try_from(bits.peek(self.longest) & MASK).assured();
        let code = codes.get(at).copied().assured();
        bits.skip(code.bits.into());
        code.symbol
    }
}
