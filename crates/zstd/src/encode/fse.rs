//! Encoding by finite state entropy (FSE): RFC 8878 §4.1. A symbol costs a fraction of a bit, by a table of the frequencies
//! of symbols.

use super::bits::Bits;
use crate::format::fse::{LARGEST, SMALLEST_LOG, Telling, spread};
use crate::num::{DebugExpect as _, len_u32, usize_from_u32};

/// The largest number of symbols of an alphabet: match lengths have the most.
pub(super) const SYMBOLS: usize = 53;
/// How often each symbol occurs.
pub(super) type Counts = [u32; SYMBOLS];

/// The states of one symbol in the table, and the numbers of bits that are written to get to one of them.
#[derive(Clone, Copy, Default)]
struct Symbol {
    /// The number of states that belong to the symbol; 0 if the symbol does not occur.
    share: u32,
    /// The index in `Table::states` of the symbol's first state.
    first: u32,
    /// The largest number of bits that it takes to leave a state for this symbol. States below `threshold` take one bit
    /// less.
    bits: u32,
    threshold: u32,
}

/// An FSE encoding table. A description of the table is written before the encoded symbols.
pub(super) struct Table {
    log: u32,
    symbols: [Symbol; SYMBOLS],
    /// The states in the order of their symbols.
    states: [u16; LARGEST],
}

/// The state of an encoder: an entry of its table.
#[derive(Clone, Copy)]
pub(super) struct EncoderState(u32);

impl Table {
    /// Creates a table of at most `2^most` states for symbols that occur as often as `counts` says. Returns `None`
    /// for fewer than two different symbols, which need no table.
    pub(super) fn new(counts: &Counts, most: u32) -> Option<Self> {
        let total = counts.iter().fold(0_u32, |sum, count| sum.wrapping_add(*count));
        let kinds = len_u32(counts.iter().filter(|count| **count > 0).count());
        if kinds < 2 {
            return None;
        }
        // With more states than the frequencies can use, the description would cost more than it saves.
        let wanted = total.ilog2().saturating_sub(2).max(kinds.ilog2().saturating_add(1));
        let log = wanted.clamp(SMALLEST_LOG, most.min(LARGEST.ilog2()));
        let mut table = Self { log, symbols: [Symbol::default(); SYMBOLS], states: [0; LARGEST] };
        table.share(counts, total);
        table.spread();
        Some(table)
    }

    fn size(&self) -> u32 {
        1_u32.wrapping_shl(self.log)
    }

    /// Gives each symbol its share of the states in proportion to its frequency, but at least one state. The shares
    /// add up to the number of states.
    fn share(&mut self, counts: &Counts, total: u32) {
        let size = self.size();
        let mut shared = 0_u32;
        for (symbol, count) in self.symbols.iter_mut().zip(counts).filter(|(_, count)| **count > 0)
        {
            let scaled = u64::from(*count).wrapping_mul(u64::from(size));
            let rounded = scaled.wrapping_add(u64::from(total >> 1)).checked_div(u64::from(total));
            symbol.share = u32::try_from(rounded.debug_expect()).debug_expect().max(1);
            shared = shared.wrapping_add(symbol.share);
        }
        // The largest share absorbs the rounding errors. There are more states than symbols, so if too many are shared, the
        // largest share is more than one.
        while let Some(largest) = self.symbols.iter_mut().max_by_key(|symbol| symbol.share)
            && shared != size
        {
            let less = shared.saturating_sub(size).min(largest.share >> 1);
            let more = size.saturating_sub(shared);
            largest.share = largest.share.wrapping_add(more).wrapping_sub(less);
            shared = shared.wrapping_add(more).wrapping_sub(less);
        }
    }

    /// Assigns the states to symbols: RFC 8878 §4.1.1.
    fn spread(&mut self) {
        let size = self.size();
        let mut next = 0_u32;
        for symbol in &mut self.symbols {
            let Some(log) = symbol.share.checked_ilog2() else { continue };
            symbol.first = next;
            next = next.wrapping_add(symbol.share);
            symbol.bits = self.log.wrapping_sub(log);
            symbol.threshold = symbol.share.wrapping_shl(symbol.bits);
        }
        let shares = self.symbols.map(|symbol| i16::try_from(symbol.share).debug_expect());
        let owners = spread(self.log, &shares);
        let mut firsts = self.symbols.map(|symbol| symbol.first);
        for (state, owner) in (0..size).zip(owners) {
            if let Some(first) = firsts.get_mut(usize::from(owner))
                && let Some(place) = self.states.get_mut(usize_from_u32(*first))
            {
                *place = u16::try_from(state.wrapping_add(size)).debug_expect();
                *first = first.wrapping_add(1);
            }
        }
    }

    /// Writes the description of the table: RFC 8878 §4.1.1.
    pub(super) fn describe(&self, out: &mut Bits<'_>) {
        out.put(u64::from(self.log.wrapping_sub(SMALLEST_LOG)), 4);
        let mut left = self.size();
        let mut shares = self.symbols.iter().map(|symbol| symbol.share).peekable();
        while let Some(share) = shares.next().filter(|_| left > 0) {
            let Telling { bits, half, saved } = Telling::new(left);
            let value = share.wrapping_add(1);
            if value < saved {
                out.put(u64::from(value), bits.wrapping_sub(1));
            } else if value < half {
                out.put(u64::from(value), bits);
            } else {
                out.put(u64::from(value.wrapping_add(saved)), bits);
            }
            out.settle();
            left = left.wrapping_sub(share);
            if share == 0 {
                let mut run = 0_u64;
                while shares.next_if_eq(&0).is_some() {
                    run = run.wrapping_add(1);
                    if run == 3 {
                        out.put(3, 2);
                        out.settle();
                        run = 0;
                    }
                }
                out.put(run, 2);
            }
        }
        out.align();
    }

    fn symbol(&self, symbol: u8) -> Symbol {
        self.symbols.get(usize::from(symbol)).copied().debug_expect()
    }

    fn state(&self, symbol: Symbol, number: u32) -> EncoderState {
        let state = self.states.get(usize_from_u32(symbol.first.wrapping_add(number)));
        EncoderState(state.copied().debug_expect().into())
    }

    /// Begins the encoding of a sequence of symbols with its last symbol, `symbol`. Returns the state of this symbol
    /// that takes the most bits to leave, so that a reader that does not know the number of symbols runs out of bits
    /// exactly at the last symbol.
    pub(super) fn begin(&self, symbol: u8) -> EncoderState {
        self.state(self.symbol(symbol), 0)
    }

    /// Encodes `symbol`, which precedes the symbol that was encoded by the previous call: symbols are encoded from
    /// the last to the first, because a decoder reads the bits from the back.
    #[inline(always)]
    pub(super) fn encode(&self, state: &mut EncoderState, symbol: u8, out: &mut Bits<'_>) {
        let symbol = self.symbol(symbol);
        let bits = symbol.bits.wrapping_sub(u32::from(state.0 < symbol.threshold));
        let kept = state.0.wrapping_shr(bits);
        out.put(u64::from(state.0 ^ kept.wrapping_shl(bits)), bits);
        *state = self.state(symbol, kept.wrapping_sub(symbol.share));
    }

    /// Writes the state with which a decoder begins.
    pub(super) fn end(&self, state: EncoderState, out: &mut Bits<'_>) {
        out.put(u64::from(state.0 ^ self.size()), self.log);
    }
}
