//! Decoding by finite state entropy (FSE): RFC 8878 §4.1. Each state stands for a symbol. The next state is the sum of the
//! state's base and a few bits of the stream.

use alloc::vec::Vec;

use super::Flaw;
use super::bits::{Bits, Taken, forward};
use crate::format::BYTES;
use crate::format::codes::Range;
use crate::format::fse::{SMALLEST_LOG, Telling, spread};
use crate::num::{low_u8, usize_from_u32};

/// A state of a decoding table: the numbers that the state's symbol stands for, and how the next state is found.
#[derive(Clone, Copy, Default)]
pub(super) struct DecoderState {
    /// The first of the `2^more` numbers that the symbol of this state stands for.
    pub(super) first: u32,
    base: u16,
    pub(super) more: u8,
    bits: u8,
}

const _: () =
    assert!(size_of::<DecoderState>() == 8, "each state must take eight bytes of a table");

/// A decoding table of at most `STATES` states.
#[derive(Default)]
pub(super) struct Table<const STATES: usize> {
    log: u32,
    /// The memory for `STATES` states; empty until it is needed.
    states: Vec<DecoderState>,
}

impl<const STATES: usize> Table<STATES> {
    fn room(&mut self) -> Result<&mut [DecoderState], Flaw> {
        self.states.try_reserve_exact(STATES).map_err(|_| Flaw::Memory)?;
        self.states.resize(STATES, DecoderState::default());
        Ok(&mut self.states)
    }

    /// Makes a table of one state, which takes no bits to leave. Its symbol stands for `range`.
    pub(super) fn constant(&mut self, range: Range) -> Result<(), Flaw> {
        self.log = 0;
        if let Some(only) = self.room()?.first_mut() {
            *only = DecoderState { first: range.first, more: range.bits, base: 0, bits: 0 };
        }
        Ok(())
    }

    /// Builds the decoding table of a code, with `2^log` states (RFC 8878 §4.1.1). `shares` says for each symbol how many of
    /// the states decode to it; −1 is one state for a symbol that is rarer than one in `2^log`. If a decoded symbol is the code
    /// of a length or an offset, `ranges` says for each symbol at which number its range begins and how many bits choose a
    /// number in it. If `ranges` is empty, the symbols themselves are what is decoded.
    ///
    /// # Errors
    /// [`Flaw::Memory`]; [`Flaw::Corrupt`] if a symbol above 255 has states.
    pub(super) fn make(&mut self, log: u32, shares: &[i16], ranges: &[Range]) -> Result<(), Flaw> {
        self.log = log;
        make(self.room()?, log, shares, ranges).ok_or(Flaw::Corrupt)
    }

    /// Returns the states, or `None` before a table was made.
    #[inline(always)]
    pub(super) fn states(&self) -> Option<&[DecoderState; STATES]> {
        self.states.first_chunk()
    }

    /// Reads the index of the first state from `bits`.
    #[inline(always)]
    pub(super) fn begin(&self, bits: &mut Bits<'_>) -> usize {
        usize_from_u32(bits.read(self.log))
    }
}

/// Fills `states`, a table of `2^log` states, as [`Table::make`] describes. Returns `None` if a symbol above 255 has states.
fn make(states: &mut [DecoderState], log: u32, shares: &[i16], ranges: &[Range]) -> Option<()> {
    let size = 1_u16.wrapping_shl(log);
    // The states of a symbol with the share `n` have the numbers from `n` to `2n - 1`, in order. A number tells how many
    // bits lead to the next state.
    let mut numbers = [1_u16; BYTES];
    for (number, share) in numbers.iter_mut().zip(shares) {
        *number = share.unsigned_abs().max(1);
    }
    for (state, owner) in states.iter_mut().zip(spread(log, shares)).take(size.into()) {
        let number = numbers.get_mut(usize::from(owner))?;
        let bits = log.wrapping_sub(number.checked_ilog2()?);
        let base = number.wrapping_shl(bits).wrapping_sub(size);
        *number = number.wrapping_add(1);
        let bits = low_u8(bits);
        let itself = Range { first: owner.into(), bits: 0 };
        let Range { first, bits: more } = *ranges.get(usize::from(owner)).unwrap_or(&itself);
        *state = DecoderState { first, base, more, bits };
    }
    Some(())
}

// A state has eight bytes, as a reference has on 64-bit machines, so it is passed by value.
#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::trivially_copy_pass_by_ref, reason = "each field is read where it is needed")
)]
impl DecoderState {
    /// Returns the number that the symbol of this state stands for: `first` plus a number that is read from `bits`.
    #[inline(always)]
    pub(super) fn number(&self, bits: &mut Taken) -> u32 {
        self.first.wrapping_add(bits.take(self.more))
    }

    /// Reads the bits that lead to the next state, and returns the index of that state.
    #[inline(always)]
    pub(super) fn next(&self, bits: &mut Taken) -> usize {
        usize::from(self.base).wrapping_add(usize_from_u32(bits.take(self.bits)))
    }
}

/// Reads the description of a table of at most `2^most` states at the start of `stream`: the number of states of each
/// symbol goes to `shares`. Returns the stream after the description, and the base-2 logarithm of the number of
/// states. Returns `None` if the description is cut or invalid, or the table has more states or symbols than allowed.
pub(super) fn describe<'s>(
    stream: &'s [u8],
    most: u32,
    shares: &mut [i16],
) -> Option<(&'s [u8], u32)> {
    shares.fill(0);
    let log = forward(stream, 0, 4).wrapping_add(SMALLEST_LOG);
    if log > most {
        return None;
    }
    let mut left = 1_u32.wrapping_shl(log);
    let mut at = 4_u32;
    let mut symbols = shares.iter_mut();
    while left > 0 {
        // Bits after the end of the stream are read as zeros. A description that needs such bits is rejected after
        // the loop, where its length is compared with the stream.
        let share = symbols.next()?;
        let Telling { bits, half, saved } = Telling::new(left);
        let value = forward(stream, at, bits);
        let low = value & half.wrapping_sub(1);
        let (value, bits) = if low < saved {
            (low, bits.wrapping_sub(1))
        } else if value < half {
            (value, bits)
        } else {
            (value.wrapping_sub(saved), bits)
        };
        at = at.wrapping_add(bits);
        // The value 0 means a share of less than one state (stored as −1), which takes one state all the same.
        *share = i16::try_from(value).ok()?.wrapping_sub(1);
        left = left.checked_sub(share.unsigned_abs().into())?;
        if *share == 0 {
            loop {
                let run = forward(stream, at, 2);
                at = at.wrapping_add(2);
                for _ in 0..run {
                    symbols.next()?;
                }
                if run < 3 {
                    break;
                }
            }
        }
    }
    let rest = stream.get(usize_from_u32(at.div_ceil(8))..)?;
    Some((rest, log))
}

#[cfg(test)]
mod tests {
    use super::{Table, describe};

    #[test]
    fn tables_are_told_in_as_many_bits_as_it_takes() {
        let mut shares = [0; 4];
        // 32 states, all of symbol 1: symbol 0 has none (bits 00001), no further zeros (00), symbol 1 has all (bits
        // 111111).
        let (rest, log) = describe(&[0x10, 0xf8, 0x01, 7], 9, &mut shares).unwrap();
        assert_eq!((rest, log, shares), (&[7][..], 5, [0, 32, 0, 0]));
        // All of these are rejected: a description that is cut, a table that is too large, and zeros for more symbols
        // than exist.
        assert!(describe(&[0x10], 9, &mut shares).is_none());
        assert!(describe(&[0x11, 0xf8, 0x01], 5, &mut shares).is_none());
        assert!(describe(&[0x10, 0xfe, 0xff, 0xff, 0xff], 9, &mut shares).is_none());
    }

    #[test]
    fn every_state_is_reached() {
        let mut table = Table::<64>::default();
        assert!(table.states().is_none());
        table.make(6, &[30, -1, 0, 20, 13], &[]).ok().unwrap();
        let states = table.states().unwrap();
        for (symbol, wanted) in [(0, 30), (1, 1), (2, 0), (3, 20), (4, 13)] {
            let own = || states.iter().filter(move |state| state.first == symbol);
            assert_eq!(own().count(), wanted);
            // The states of a symbol together lead to every state, each of which is reached from exactly one of them.
            let reached: usize = own().map(|state| 1 << state.bits).sum();
            assert!(wanted == 0 || reached == 64, "{symbol}: {reached}");
        }
        assert_eq!(states[63].first, 1);
    }
}
