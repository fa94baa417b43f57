//! Encoding sequences: literals to copy and a match to repeat, RFC 8878 §3.1.1.3.2.

use super::bits::Bits;
use super::fse;
use crate::format::codes::{Alphabet, LENGTHS, LITERALS, OFFSETS, inverse};
use crate::format::offsets::Repeats;
use crate::num::DebugExpect as _;

/// A sequence: a number of literals, and the length and distance in bytes of the match after them.
#[derive(Clone, Copy, Default)]
pub(super) struct Sequence {
    pub(super) literals: u32,
    pub(super) length: u32,
    pub(super) distance: u32,
}

/// A number in a sequence, as the code `symbol` and the `count` extra bits that follow the code.
#[derive(Clone, Copy)]
struct Code {
    symbol: u8,
    count: u32,
    bits: u32,
}

impl Code {
    /// Creates the code of `number`, which is in the range of the code `symbol`.
    #[inline(always)]
    fn new(alphabet: &Alphabet, symbol: u8, number: u32) -> Self {
        let range = alphabet.ranges.get(usize::from(symbol)).copied().debug_expect();
        Self { symbol, count: range.bits.into(), bits: number.wrapping_sub(range.first) }
    }

    /// Returns the code of a number of literals. Small numbers are looked up; the code of a larger number follows from its
    /// highest bit.
    fn literals(number: u32) -> Self {
        static FEW: [u8; 64] = inverse(&LITERALS);
        let symbol = usize::try_from(number).ok().and_then(|at| FEW.get(at)).copied();
        Self::new(&LITERALS, symbol.unwrap_or_else(|| highest(number).wrapping_add(19)), number)
    }

    fn length(number: u32) -> Self {
        static FEW: [u8; 131] = inverse(&LENGTHS);
        let symbol = usize::try_from(number).ok().and_then(|at| FEW.get(at)).copied();
        let more = || highest(number.wrapping_sub(3)).wrapping_add(36);
        Self::new(&LENGTHS, symbol.unwrap_or_else(more), number)
    }

    fn offset(value: u32) -> Self {
        Self::new(&OFFSETS, highest(value), value)
    }
}

/// Returns the index of the highest set bit of `number`.
fn highest(number: u32) -> u8 {
    u8::try_from(number.checked_ilog2().debug_expect()).debug_expect()
}

/// The encoding of the codes of one kind (those of literals lengths, match lengths or offset values) in all sequences of a block.
struct Mode {
    /// The table, or `None` if all codes of the block are equal.
    table: Option<fse::Table>,
    /// A code that occurs in the block: the only one if `table` is `None`.
    any: u8,
}

impl Mode {
    fn new(counts: &fse::Counts, most: u32) -> Self {
        let any = counts.iter().rposition(|count| *count > 0).debug_expect();
        let any = u8::try_from(any).debug_expect();
        Self { table: fse::Table::new(counts, most), any }
    }

    /// Returns the number of the compression mode: RFC 8878 §3.1.1.3.2.1.
    fn number(&self) -> u8 {
        if self.table.is_some() { 2 } else { 1 }
    }

    fn describe(&self, out: &mut Bits<'_>) {
        match &self.table {
            Some(table) => table.describe(out),
            None => out.bytes(&[self.any]),
        }
    }

    /// Encodes `code`. The codes of a block are passed from the last to the first.
    fn encode(&self, state: &mut Option<fse::EncoderState>, code: Code, out: &mut Bits<'_>) {
        match (&self.table, &mut *state) {
            (None, _) => {}
            (Some(table), Some(state)) => table.encode(state, code.symbol, out),
            (Some(table), None) => *state = Some(table.begin(code.symbol)),
        }
    }

    fn end(&self, state: Option<fse::EncoderState>, out: &mut Bits<'_>) {
        if let (Some(table), Some(state)) = (&self.table, state) {
            table.end(state, out);
        }
    }
}

/// Writes the sequences section of a block. Replaces the distances in `sequences` by offset values.
pub(super) fn write(sequences: &mut [Sequence], repeats: &mut Repeats, out: &mut Bits<'_>) {
    number(sequences.len(), out);
    if sequences.is_empty() {
        return;
    }
    let mut counts = [[0; fse::SYMBOLS]; 3];
    for sequence in &mut *sequences {
        sequence.distance = repeats.value(sequence.distance, sequence.literals == 0);
        for (counts, Code { symbol, .. }) in counts.iter_mut().zip(codes(*sequence)) {
            if let Some(count) = counts.get_mut(usize::from(symbol)) {
                *count = u32::wrapping_add(*count, 1);
            }
        }
    }
    let [literals, offsets, lengths] = &counts;
    let literals = Mode::new(literals, LITERALS.most);
    let offsets = Mode::new(offsets, OFFSETS.most);
    let lengths = Mode::new(lengths, LENGTHS.most);
    out.bytes(&[literals.number() << 6 | offsets.number() << 4 | lengths.number() << 2]);
    for mode in [&literals, &offsets, &lengths] {
        mode.describe(out);
    }
    let (mut of_literals, mut of_offsets, mut of_lengths) = (None, None, None);
    for sequence in sequences.iter().rev() {
        let [literal, offset, length] = codes(*sequence);
        offsets.encode(&mut of_offsets, offset, out);
        lengths.encode(&mut of_lengths, length, out);
        literals.encode(&mut of_literals, literal, out);
        out.settle();
        for Code { bits, count, .. } in [literal, length, offset] {
            out.put(bits.into(), count);
        }
        out.settle();
    }
    lengths.end(of_lengths, out);
    offsets.end(of_offsets, out);
    literals.end(of_literals, out);
    out.end();
}

fn codes(sequence: Sequence) -> [Code; 3] {
    let Sequence { literals, length, distance } = sequence;
    [Code::literals(literals), Code::offset(distance), Code::length(length)]
}

/// Writes the number of sequences: RFC 8878 §3.1.1.3.2.1.
fn number(sequences: usize, out: &mut Bits<'_>) {
    let [low, high, ..] = sequences.to_le_bytes();
    match sequences {
        0..128 => out.bytes(&[low]),
        128..0x7f00 => out.bytes(&[high | 0x80, low]),
        _ => {
            let [low, high, ..] = sequences.wrapping_sub(0x7f00).to_le_bytes();
            out.bytes(&[0xff, low, high]);
        }
    }
}
