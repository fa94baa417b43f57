//! Sequences: literals to copy and a match to repeat, RFC 8878 §3.1.1.3.2.

use super::bits::Bits;
use super::fse;

/// The shortest match that can be told.
const SHORTEST: u32 = 3;
/// The largest tables for literal lengths, offsets and match lengths.
const LOGS: [u32; 3] = [9, 8, 9];

/// So many literals, then so many bytes from so far back.
#[derive(Clone, Copy, Default)]
pub(super) struct Sequence {
    pub(super) literals: u32,
    pub(super) length: u32,
    pub(super) distance: u32,
}

/// A number as a code and bits beyond it.
#[derive(Clone, Copy)]
struct Code {
    symbol: u8,
    count: u32,
    bits: u32,
}

impl Code {
    fn new(code: u32, count: u32, number: u32) -> Self {
        let mask = 1_u32.wrapping_shl(count).wrapping_sub(1);
        Self { symbol: u8::try_from(code).unwrap_or_default(), count, bits: number & mask }
    }

    fn literals(number: u32) -> Self {
        match number {
            0..16 => Self::new(number, 0, number),
            16..24 => Self::new((number >> 1).wrapping_add(8), 1, number),
            24..32 => Self::new((number >> 2).wrapping_add(14), 2, number),
            32..48 => Self::new((number >> 3).wrapping_add(18), 3, number),
            48..64 => Self::new(24, 4, number),
            64.. => Self::new(number.ilog2().wrapping_add(19), number.ilog2(), number),
        }
    }

    fn length(length: u32) -> Self {
        let number = length.wrapping_sub(SHORTEST);
        match number {
            0..32 => Self::new(number, 0, number),
            32..40 => Self::new((number >> 1).wrapping_add(16), 1, number),
            40..48 => Self::new((number >> 2).wrapping_add(26), 2, number),
            48..64 => Self::new((number >> 3).wrapping_add(32), 3, number),
            64..96 => Self::new((number >> 4).wrapping_add(36), 4, number),
            96..128 => Self::new(42, 5, number),
            128.. => Self::new(number.ilog2().wrapping_add(36), number.ilog2(), number),
        }
    }

    fn offset(value: u32) -> Self {
        let log = value.checked_ilog2().unwrap_or_default();
        Self::new(log, log, value)
    }
}

/// The offsets that can be told in short: §3.1.1.5.
#[derive(Clone, Copy)]
pub(super) struct Repeats([u32; 3]);

impl Default for Repeats {
    fn default() -> Self {
        Self([1, 4, 8])
    }
}

impl Repeats {
    /// The offset value of a sequence, and what can be told in short after it.
    fn tell(&mut self, sequence: Sequence) -> u32 {
        let Sequence { literals, distance, .. } = sequence;
        let [first, second, third] = self.0;
        let (value, after) = if literals > 0 {
            match distance {
                _ if distance == first => (1, [first, second, third]),
                _ if distance == second => (2, [second, first, third]),
                _ if distance == third => (3, [third, first, second]),
                _ => (distance.wrapping_add(3), [distance, first, second]),
            }
        } else {
            match distance {
                _ if distance == second => (1, [second, first, third]),
                _ if distance == third => (2, [third, first, second]),
                _ if distance == first.wrapping_sub(1) => (3, [distance, first, second]),
                _ => (distance.wrapping_add(3), [distance, first, second]),
            }
        };
        self.0 = after;
        value
    }
}

/// How the codes of one kind are encoded, of all sequences of a block.
struct Mode {
    /// None if the codes are all the same.
    table: Option<fse::Table>,
    /// One of the codes.
    any: u8,
}

impl Mode {
    fn new(counts: &fse::Counts, most: u32) -> Self {
        let any = counts.iter().rposition(|count| *count > 0).unwrap_or_default();
        let any = u8::try_from(any).unwrap_or_default();
        Self { table: fse::Table::new(counts, most), any }
    }

    /// §3.1.1.3.2.1.
    fn number(&self) -> u8 {
        if self.table.is_some() { 2 } else { 1 }
    }

    fn describe(&self, out: &mut Bits<'_>) {
        match &self.table {
            Some(table) => table.describe(out),
            None => out.bytes(&[self.any]),
        }
    }

    /// Encodes a code, the last first.
    fn encode(&self, state: &mut Option<fse::State>, code: Code, out: &mut Bits<'_>) {
        match (&self.table, &mut *state) {
            (None, _) => {}
            (Some(table), Some(state)) => table.encode(state, code.symbol, out),
            (Some(table), None) => *state = Some(table.begin(code.symbol)),
        }
    }

    fn end(&self, state: Option<fse::State>, out: &mut Bits<'_>) {
        if let (Some(table), Some(state)) = (&self.table, state) {
            table.end(state, out);
        }
    }
}

/// Writes the section. Leaves offset values where the distances were.
pub(super) fn write(sequences: &mut [Sequence], repeats: &mut Repeats, out: &mut Bits<'_>) {
    number(sequences.len(), out);
    if sequences.is_empty() {
        return;
    }
    let mut counts = [[0; fse::SYMBOLS]; 3];
    for sequence in &mut *sequences {
        sequence.distance = repeats.tell(*sequence);
        for (counts, Code { symbol, .. }) in counts.iter_mut().zip(codes(*sequence)) {
            if let Some(count) = counts.get_mut(usize::from(symbol)) {
                *count = u32::wrapping_add(*count, 1);
            }
        }
    }
    let [literals, offsets, lengths] = &counts;
    let [literals_log, offsets_log, lengths_log] = LOGS;
    let literals = Mode::new(literals, literals_log);
    let offsets = Mode::new(offsets, offsets_log);
    let lengths = Mode::new(lengths, lengths_log);
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

/// The number of sequences: §3.1.1.3.2.1.
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
