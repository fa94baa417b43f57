//! Encoding literals by Huffman codes: RFC 8878 §4.2.

use super::bits::{AT_ONCE, Bits};
use super::fse;
use crate::format::{BYTES, LISTED, LONGEST_CODE, WEIGHTS_LOG};
use crate::num::{DebugExpect as _, usize_from_u32};

/// The largest number of items of a level in the search for code lengths: the symbols, and pairs of items of the level
/// below.
const ITEMS: usize = 2 * BYTES;
/// The largest number of Huffman weights that can be listed without compression.
const MOST_LISTED: usize = 128;
/// The largest size in bytes of a compressed description of weights. Larger header bytes mean a list.
const LONGEST_STREAM: u8 = LISTED - 1;
/// The number of codes that are written between two calls of [`Bits::settle`].
const TOGETHER: usize = 4;

const _: () = assert!(
    usize_from_u32(LONGEST_CODE) * TOGETHER <= AT_ONCE,
    "the bits of `TOGETHER` codes must fit between two calls of `settle`"
);

/// How often each value of a byte occurs.
pub(super) type Counts = [u32; BYTES];

/// Counts how often each byte occurs.
pub(super) fn count(bytes: &[u8]) -> Counts {
    // Four rows of counters: with one row, a repeated byte would wait until its last count is stored.
    let mut rows = [[0_u32; BYTES]; 4];
    let mut chunks = bytes.chunks_exact(4);
    for chunk in &mut chunks {
        for (row, byte) in rows.iter_mut().zip(chunk) {
            bump(row, *byte);
        }
    }
    let [mut sum, second, third, fourth] = rows;
    for row in [second, third, fourth] {
        for (sum, count) in sum.iter_mut().zip(row) {
            *sum = sum.wrapping_add(count);
        }
    }
    for byte in chunks.remainder() {
        bump(&mut sum, *byte);
    }
    sum
}

#[inline(always)]
fn bump(row: &mut Counts, byte: u8) {
    if let Some(count) = row.get_mut(usize::from(byte)) {
        *count = count.wrapping_add(1);
    }
}

/// The length of each byte's code in bits: 0 for bytes that do not occur.
pub(super) type Lengths = [u8; BYTES];

/// Returns the best code lengths of at most [`LONGEST_CODE`] bits, by the package-merge algorithm. Returns `None` for fewer
/// than two symbols.
///
/// A code of length `n` is an item of the weight `count`, bought on each of `n` levels. The items of a level are the
/// symbols, and pairs of items of the level below, sorted by weight. The `2 (symbols - 1)` cheapest items of the top level
/// make up the best code.
pub(super) fn lengths(counts: &Counts) -> Option<Lengths> {
    let mut sorted = [(0_u32, 0_u8); BYTES];
    let mut kinds = 0_usize;
    for (symbol, count) in (0..=u8::MAX).zip(counts).filter(|(_, count)| **count > 0) {
        if let Some(place) = sorted.get_mut(kinds) {
            *place = (*count, symbol);
        }
        kinds = kinds.saturating_add(1);
    }
    let sorted = sorted.get_mut(..kinds).filter(|sorted| sorted.len() > 1)?;
    sorted.sort_unstable();
    // For each level, the number of symbols among its first `n` items.
    let mut levels = [[0_u16; ITEMS]; usize_from_u32(LONGEST_CODE)];
    let mut weights = [0_u32; ITEMS];
    let mut items = 0_usize;
    for level in &mut levels {
        let mut merged = [0_u32; ITEMS];
        let mut symbols = sorted.iter().map(|(count, _)| *count).peekable();
        let below = weights.get(..items).debug_expect().chunks_exact(2);
        let mut pairs =
            below.map(|pair| pair.iter().fold(0_u32, |a, b| a.wrapping_add(*b))).peekable();
        let mut bought = 0_u16;
        items = 0;
        for (item, place) in merged.iter_mut().zip(level.iter_mut()) {
            let symbol = match (symbols.peek(), pairs.peek()) {
                (Some(symbol), Some(pair)) => symbol <= pair,
                (symbol, None) if symbol.is_none() => break,
                (symbol, _) => symbol.is_some(),
            };
            let next = if symbol { symbols.next() } else { pairs.next() };
            bought = bought.wrapping_add(u16::from(symbol));
            (*item, *place) = (next.debug_expect(), bought);
            items = items.saturating_add(1);
        }
        weights = merged;
    }
    let mut lengths = [0_u8; BYTES];
    let mut buy = kinds.saturating_sub(1).saturating_mul(2);
    for level in levels.iter().rev() {
        let Some(last) = buy.checked_sub(1) else { break };
        let symbols = usize::from(level.get(last).copied().debug_expect());
        for (_, symbol) in sorted.iter().take(symbols) {
            if let Some(length) = lengths.get_mut(usize::from(*symbol)) {
                *length = length.wrapping_add(1);
            }
        }
        buy = buy.saturating_sub(symbols).saturating_mul(2);
    }
    Some(lengths)
}

/// Returns the number of bits that all symbols take with these code lengths.
pub(super) fn cost(counts: &Counts, lengths: &Lengths) -> u64 {
    let bits = counts.iter().zip(lengths);
    bits.fold(0, |sum, (count, length)| {
        sum.wrapping_add(u64::from(*count).wrapping_mul(u64::from(*length)))
    })
}

/// A code and its length in bits.
#[derive(Clone, Copy, Default)]
struct Code {
    bits: u16,
    length: u8,
}

/// The code of each byte that occurs.
pub(super) struct Codes {
    by_byte: [Code; BYTES],
    /// The weight of each byte: RFC 8878 §4.2.1. A larger weight means a shorter code, and 0 means no code. The first `listed`
    /// weights are stored.
    weights: [u8; BYTES],
    /// The number of stored weights. The weight of the last symbol follows from the others.
    listed: usize,
}

impl Codes {
    /// Creates the codes for `lengths`, which [`lengths`] has returned.
    pub(super) fn new(lengths: &Lengths) -> Self {
        let longest = lengths.iter().copied().max().debug_expect();
        let mut codes = [Code::default(); BYTES];
        let mut weights = [0_u8; BYTES];
        // Code values are assigned from the longest codes, which have the lowest values, to the shortest: §4.2.1.3.
        let mut next = 0_u16;
        for length in (1..=longest).rev() {
            let of_it = codes.iter_mut().zip(&mut weights).zip(lengths);
            for ((code, weight), _) in of_it.filter(|(_, own)| **own == length) {
                *code = Code { bits: next, length };
                *weight = longest.wrapping_sub(length).wrapping_add(1);
                next = next.wrapping_add(1);
            }
            next >>= 1;
        }
        let listed = weights.iter().rposition(|weight| *weight > 0).debug_expect();
        Self { by_byte: codes, weights, listed }
    }

    /// Writes the description of the codes: RFC 8878 §4.2.1. Returns `None` if there are more than 128 weights and
    /// they cannot be compressed.
    pub(super) fn describe(&self, out: &mut Bits<'_>) -> Option<()> {
        let weights = self.weights.get(..self.listed)?;
        let at = out.leave(1);
        let length = stream(weights, out);
        let half = weights.len().div_ceil(2);
        if let Some(length) =
            length.filter(|length| usize::from(*length) < half || weights.len() > MOST_LISTED)
        {
            out.fill(at, &[length]);
            return Some(());
        }
        if weights.len() > MOST_LISTED {
            return None;
        }
        out.back_to(at);
        let number = u8::try_from(weights.len()).ok()?.saturating_add(LONGEST_STREAM);
        out.bytes(&[number]);
        for pair in weights.chunks(2) {
            let packed = match *pair {
                [first, second] => first << 4 | second,
                [first] => first << 4,
                _ => 0,
            };
            out.bytes(&[packed]);
        }
        Some(())
    }

    /// Encodes `bytes` as one stream: RFC 8878 §4.2.2.
    pub(super) fn encode(&self, bytes: &[u8], out: &mut Bits<'_>) {
        let mut chunks = bytes.rchunks_exact(TOGETHER);
        for chunk in &mut chunks {
            if let [first, second, third, fourth] = *chunk {
                self.put(fourth, out);
                self.put(third, out);
                self.put(second, out);
                self.put(first, out);
                out.settle();
            }
        }
        for byte in chunks.remainder().iter().rev() {
            self.put(*byte, out);
        }
        out.settle();
        out.end();
    }

    #[inline(always)]
    fn put(&self, byte: u8, out: &mut Bits<'_>) {
        let code = self.by_byte.get(usize::from(byte)).copied().debug_expect();
        out.put(code.bits.into(), code.length.into());
    }
}

/// Writes `weights` as an FSE stream in which two states alternate: §4.2.1.2. Returns its size in bytes, or `None` if
/// the weights are all alike or the stream is too long for its one-byte size.
fn stream(weights: &[u8], out: &mut Bits<'_>) -> Option<u8> {
    let start = out.length();
    let mut counts = [0; fse::SYMBOLS];
    for weight in weights {
        let count = counts.get_mut(usize::from(*weight))?;
        *count = u32::wrapping_add(*count, 1);
    }
    let table = fse::Table::new(&counts, WEIGHTS_LOG)?;
    table.describe(out);
    // The states alternate, and the first weight is encoded by the first state.
    let mut rest = weights.iter().rev().copied();
    let (mut second, mut first) = (table.begin(rest.next()?), table.begin(rest.next()?));
    for weight in rest {
        table.encode(&mut second, weight, out);
        out.settle();
        core::mem::swap(&mut first, &mut second);
    }
    table.end(second, out);
    table.end(first, out);
    out.end();
    let length = out.length().saturating_sub(start);
    u8::try_from(length).ok().filter(|length| *length <= LONGEST_STREAM)
}

#[cfg(test)]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "numbers are small")]
mod tests {
    #[test]
    fn codes_are_complete_and_no_longer_than_they_may_be() {
        let mut state = 5_u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 32) % bound
        };
        for round in 0..if cfg!(miri) { 10 } else { 3000 } {
            let kinds = 2 + below(255);
            let steep = below(20) as u32;
            let mut counts = [0_u32; 256];
            for count in counts.iter_mut().take(kinds as usize) {
                let bits = below(u64::from(steep) + 1);
                *count = 1 + below(1 << bits) as u32;
            }
            let lengths = super::lengths(&counts).unwrap();
            let used = |length: &&u8| **length > 0;
            let sum: u32 = lengths.iter().filter(used).map(|length| 1 << (11 - length)).sum();
            assert_eq!(sum, 1 << 11, "{round}");
            for (count, length) in counts.iter().zip(lengths) {
                assert_eq!(*count > 0, length > 0, "{round}");
                for (other, longer) in counts.iter().zip(lengths) {
                    assert!(*other == 0 || length <= longer || count <= other, "{round}");
                }
            }
        }
        // If the frequencies are Fibonacci numbers, the longest of the best codes has about as many bits as there are
        // symbols, which the limit must cut.
        let mut counts = [0_u32; 256];
        (counts[0], counts[1]) = (1, 1);
        for n in 2..20 {
            counts[n] = counts[n - 1] + counts[n - 2];
        }
        let lengths = super::lengths(&counts).unwrap();
        assert_eq!(lengths.iter().max(), Some(&11));
        let few = [5, 0, 9, 4, 1];
        counts = [0; 256];
        counts[..5].copy_from_slice(&few);
        assert_eq!(super::lengths(&counts).unwrap()[..5], [2, 0, 1, 3, 3]);
        counts = [0; 256];
        counts[9] = 4;
        assert!(super::lengths(&counts).is_none());
    }
}
