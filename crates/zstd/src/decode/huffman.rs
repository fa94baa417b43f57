//! Decoding Huffman codes of literals: RFC 8878 §4.2.

use alloc::vec::Vec;

use super::Flaw;
use super::bits::Bits;
use super::fse::{DecoderState, Table, describe};
use super::streams::{CODES, Code, Codes};
use crate::format::{BYTES, LISTED, LONGEST_CODE, WEIGHTS_LOG};
use crate::num::{low_u8, usize_from_u32};

/// The size of an array with an entry for each weight from 0 to [`LONGEST_CODE`], and one more entry.
const WEIGHTS_MOST: usize = usize_from_u32(LONGEST_CODE) + 2;
/// The number of different weights that a stream of weights may contain: 0 to [`LONGEST_CODE`].
const NAMED: usize = usize_from_u32(LONGEST_CODE) + 1;
/// The largest number of states of the FSE table with which the weights of Huffman codes are compressed.
const WEIGHTS: usize = 1 << WEIGHTS_LOG;
/// The Huffman codes of the current literals, which later blocks may use again.
#[derive(Default)]
pub(super) struct Huffman {
    is_made: bool,
    codes: Vec<Code>,
    weights: Table<WEIGHTS>,
}

impl Huffman {
    /// Forgets the codes at the start of a frame, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.is_made = false;
    }

    /// Reads the description of Huffman codes at the start of `stream` and makes the decoding table. Returns the
    /// bytes of `stream` after the description.
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

    /// Reads weights from a stream in which two states alternate, and returns the number of weights: §4.2.1.2.
    fn stream(&mut self, stream: &[u8], weights: &mut [u8; BYTES]) -> Result<usize, Flaw> {
        // No code is longer than 11 bits, so a table that names a larger weight is corrupt even if the
        // stream never uses it: §4.2.1. libzstd has no room for such a table either.
        let mut shares = [0; NAMED];
        let described = describe(stream, WEIGHTS_LOG, &mut shares);
        let (stream, log) = described.ok_or(Flaw::Corrupt)?;
        self.weights.make(log, &shares, &[])?;
        let states = self.weights.states().ok_or(Flaw::Corrupt)?;
        let mut bits = Bits::new(stream).ok_or(Flaw::Corrupt)?;
        let mut first = self.weights.begin(&mut bits);
        let mut second = self.weights.begin(&mut bits);
        bits.refill();
        let symbol = |state: &DecoderState| u8::try_from(state.first).map_err(|_| Flaw::Corrupt);
        // The last weight is not stored, so the table must have room for it.
        for (count, weight) in (1..BYTES).zip(&mut *weights) {
            let state = states.get(first).ok_or(Flaw::Corrupt)?;
            *weight = symbol(state)?;
            let mut taken = bits.taking();
            first = state.next(&mut taken);
            bits.pass(taken);
            bits.refill();
            // When the bits run out, the other state gives the last weight.
            if bits.is_overrun() {
                let last = states.get(second).ok_or(Flaw::Corrupt)?;
                *weights.get_mut(count).ok_or(Flaw::Corrupt)? = symbol(last)?;
                return Ok(count.wrapping_add(1));
            }
            core::mem::swap(&mut first, &mut second);
        }
        Err(Flaw::Corrupt)
    }

    /// Makes the decoding table from the first `listed` of `weights`, one weight for each symbol. The weight of the
    /// last symbol is not stored, but follows from the stored weights: §4.2.1.
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
        *last = low_u8(left.trailing_zeros().wrapping_add(1));
        // There must be codes of the longest length. Their number is then even, because all other codes fill an even part
        // of the table.
        if !weights.contains(&1) {
            return Err(Flaw::Corrupt);
        }
        self.is_made = false;
        self.codes.try_reserve_exact(CODES).map_err(|_| Flaw::Memory)?;
        self.codes.resize(CODES, Code::default());
        // The codes of a weight follow those of lower weights, in the order of their symbols.
        let mut next = [0_usize; WEIGHTS_MOST];
        // A code that is shorter than the longest one takes several entries of the table.
        let wide = |weight: u8| {
            usize_from_u32(room(weight).wrapping_shl(LONGEST_CODE.wrapping_sub(longest)))
        };
        for weight in &*weights {
            if let Some(above) = next.get_mut(usize::from(*weight).wrapping_add(1)) {
                *above = above.wrapping_add(wide(*weight));
            }
        }
        next.iter_mut().fold(0, |sum: usize, start| {
            *start = start.wrapping_add(sum);
            *start
        });
        for (symbol, weight) in (0..=u8::MAX).zip(&*weights).filter(|(_, weight)| **weight > 0) {
            let start = next.get_mut(usize::from(*weight)).ok_or(Flaw::Corrupt)?;
            let end = start.wrapping_add(wide(*weight));
            let codes = self.codes.get_mut(*start..end).ok_or(Flaw::Corrupt)?;
            let bits = longest.wrapping_add(1).wrapping_sub(u32::from(*weight));
            codes.fill(Code::new(symbol, low_u8(bits)));
            *start = end;
        }
        self.is_made = true;
        Ok(())
    }

    /// Returns the decoding table.
    ///
    /// # Errors
    /// [`Flaw::Corrupt`] if no codes have been described.
    pub(super) fn codes(&self) -> Result<&Codes, Flaw> {
        self.codes.first_chunk().filter(|_| self.is_made).ok_or(Flaw::Corrupt)
    }
}
