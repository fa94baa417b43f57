//! Decoding the sequences section of a block: RFC 8878 §3.1.1.3.2. A sequence copies some literals, and then repeats some
//! of the decoded bytes (a match).

use super::Flaw;
use super::bits::{AT_ONCE, Bits};
use super::block::SequencesSection;
use super::fse::{DecoderState, Table, describe};
use super::output::{Match, Output};
use crate::format::codes::{Alphabet, LENGTHS, LITERALS, OFFSETS};
use crate::format::offsets::Repeats;
use crate::num::usize_from_u32;

/// The table with which codes of one kind (of literals lengths, offsets or match lengths) were last decoded. A later
/// block of the frame may use this table again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Used {
    None,
    Default,
    Own,
}

/// The decoder of one kind of codes (of literals lengths, offsets or match lengths), of which there are `CODES`: the
/// table with which they were last decoded, and which table this is.
struct CodeKind<const STATES: usize, const CODES: usize> {
    used: Used,
    table: Table<STATES>,
    alphabet: &'static Alphabet,
}

impl<const STATES: usize, const CODES: usize> CodeKind<STATES, CODES> {
    fn new(alphabet: &'static Alphabet) -> Self {
        Self { used: Used::None, table: Table::default(), alphabet }
    }

    /// Selects the table that the compression mode `mode` asks for, and reads its description from `stream` if there is
    /// one. Returns the stream after it. §3.1.1.3.2.1.
    fn choose<'s>(&mut self, mode: u8, stream: &'s [u8]) -> Result<&'s [u8], Flaw> {
        let Alphabet { ranges, most, log, shares } = *self.alphabet;
        match (mode & 3, self.used) {
            (0, Used::Default) => Ok(stream),
            (0, _) => {
                self.table.make(log, shares, ranges)?;
                self.used = Used::Default;
                Ok(stream)
            }
            (1, _) => {
                let (code, rest) = stream.split_first().ok_or(Flaw::Corrupt)?;
                let range = ranges.get(usize::from(*code)).ok_or(Flaw::Corrupt)?;
                self.table.constant(*range)?;
                self.used = Used::Own;
                Ok(rest)
            }
            (2, _) => {
                let mut shares = [0; CODES];
                let described = describe(stream, most, &mut shares);
                let (rest, log) = described.ok_or(Flaw::Corrupt)?;
                self.table.make(log, &shares, ranges)?;
                self.used = Used::Own;
                Ok(rest)
            }
            (_, Used::None) => Err(Flaw::Corrupt),
            _ => Ok(stream),
        }
    }
}

/// The state of decoding the sequences of a frame: the tables, and the repeated offsets.
pub(super) struct Sequences {
    literals: CodeKind<512, 36>,
    offsets: CodeKind<256, 32>,
    lengths: CodeKind<512, 53>,
    repeats: Repeats,
}

/// The number of unread bits, of 64, that must be left after the three numbers of a sequence so that the bits for the
/// next three states can still be read without a refill.
const LEAST: u32 = u64::BITS - (AT_ONCE - (9 + 9 + 8));

/// The numbers of bytes that bound the decoding of a block.
#[derive(Clone, Copy, Default)]
pub(super) struct BlockBounds {
    /// The number of bytes that the whole frame may still decode to.
    pub(super) left: usize,
    /// The number of bytes that this block may decode to.
    pub(super) block: usize,
    /// The largest distance of a match in bytes.
    pub(super) window: usize,
}

impl Default for Sequences {
    fn default() -> Self {
        Self {
            literals: CodeKind::new(&LITERALS),
            offsets: CodeKind::new(&OFFSETS),
            lengths: CodeKind::new(&LENGTHS),
            repeats: Repeats::FIRST,
        }
    }
}

impl Sequences {
    /// Forgets the tables and repeated offsets of the previous frame.
    pub(super) fn clear(&mut self) {
        (self.literals.used, self.offsets.used, self.lengths.used) =
            (Used::None, Used::None, Used::None);
        self.repeats = Repeats::FIRST;
    }

    // Never inlined, because the loop needs all registers.
    /// Decodes the sequences in `section`, and adds the bytes that they and `literals` make to `output`. The output has room for
    /// what `bounds` allow. Fails with [`Flaw::Decoded`] if the block is valid and decodes to more bytes than are left.
    #[inline(never)]
    pub(super) fn run(
        &mut self,
        section: SequencesSection<'_>,
        mut literals: &[u8],
        output: &mut Output,
        bounds: BlockBounds,
    ) -> Result<(), Flaw> {
        let SequencesSection { count, modes, stream } = section;
        let stream = self.literals.choose(modes >> 6, stream)?;
        let stream = self.offsets.choose(modes >> 4, stream)?;
        let stream = self.lengths.choose(modes >> 2, stream)?;
        let mut bits = Bits::new(stream).ok_or(Flaw::Corrupt)?;
        let tables = (
            self.literals.table.states(),
            self.offsets.table.states(),
            self.lengths.table.states(),
        );
        let (Some(of_literals), Some(of_offsets), Some(of_lengths)) = tables else {
            return Err(Flaw::Corrupt);
        };
        let mut literal = self.literals.table.begin(&mut bits);
        let mut offset = self.offsets.table.begin(&mut bits);
        let mut length = self.lengths.table.begin(&mut bits);
        let BlockBounds { left, block, window } = bounds;
        let start = output.end();
        let older = output.len().wrapping_sub(start);
        let most = start.saturating_add(left.min(block));
        let mut tail = output.tail().ok_or(Flaw::Corrupt)?;
        let (mut end, mut repeats) = (start, self.repeats);
        for after in (0..count).rev() {
            bits.refill();
            let Some(of_offset) = of_offsets.get(offset) else { return Err(Flaw::Corrupt) };
            let Some(of_length) = of_lengths.get(length) else { return Err(Flaw::Corrupt) };
            let Some(of_literal) = of_literals.get(literal) else { return Err(Flaw::Corrupt) };
            let mut taken = bits.taking();
            let mut value = of_offset.number(&mut taken);
            let mut copied = of_length.number(&mut taken);
            let mut plain = of_literal.number(&mut taken);
            if taken.left() < LEAST {
                let numbers;
                (numbers, bits) = read_many(bits, *of_offset, *of_length, *of_literal);
                [value, copied, plain] = numbers;
                taken = bits.taking();
            }
            if after > 0 {
                literal = of_literal.next(&mut taken);
                length = of_length.next(&mut taken);
                offset = of_offset.next(&mut taken);
            }
            bits.pass(taken);
            let distance = usize_from_u32(repeats.distance(value, plain == 0));
            let (copied, plain) = (usize_from_u32(copied), usize_from_u32(plain));
            let Some(others) = literals.get(plain..) else { return Err(Flaw::Corrupt) };
            // The numbers `plain` and `copied` are below 2^18, so the sums do not overflow.
            let (begin, turn) = (end, end.wrapping_add(plain));
            end = turn.wrapping_add(copied);
            if distance.wrapping_sub(1) >= window {
                return Err(Flaw::Corrupt);
            }
            if end <= most {
                tail.push_front(begin, literals, plain);
                if !tail.repeat(turn, Match { distance, length: copied }) {
                    return Err(Flaw::Corrupt);
                }
            } else if end.wrapping_sub(start) > block || distance > older.saturating_add(turn) {
                // A block that decodes to too many bytes is still validated to its end, so that whether it is corrupt does
                // not depend on how many bytes the caller wants.
                return Err(Flaw::Corrupt);
            }
            literals = others;
        }
        self.repeats = repeats;
        bits.refill();
        if !bits.is_over() {
            return Err(Flaw::Corrupt);
        }
        // The remaining literals come after the last sequence.
        let made = end.wrapping_sub(start).saturating_add(literals.len());
        if made > block {
            return Err(Flaw::Corrupt);
        }
        if made > left {
            return Err(Flaw::Decoded);
        }
        output.end_at(end);
        output.push(literals);
        Ok(())
    }
}

/// Reads an offset value and two lengths, which need more bits than are held at once. Afterwards all bits that the next
/// states need are held.
#[cold]
fn read_many(
    mut bits: Bits<'_>,
    offset: DecoderState,
    length: DecoderState,
    literal: DecoderState,
) -> ([u32; 3], Bits<'_>) {
    let numbers = [offset, length, literal].map(|state| {
        let number = state.first.wrapping_add(bits.read(state.more.into()));
        bits.refill();
        number
    });
    (numbers, bits)
}

#[cfg(test)]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "numbers are small")]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::{
        Alphabet, BlockBounds, LENGTHS, LITERALS, OFFSETS, Output, Sequences, SequencesSection,
        Table,
    };

    /// Checks that a sequence of many literals and a long match from far back is decoded: its numbers take 49 bits,
    /// and the next states take 17, which is more than the 64 bits that are held at once.
    #[test]
    fn a_sequence_may_have_more_bits_than_are_held() {
        let state = |alphabet: &Alphabet, code: usize| {
            let mut table = Table::<64>::default();
            table.make(alphabet.log, alphabet.shares, &[]).ok().unwrap();
            let at = table.states().unwrap().iter().position(|state| state.first as usize == code);
            format!("{:01$b}", at.unwrap(), alphabet.log as usize)
        };
        let literals = |code| state(&LITERALS, code);
        let offsets = |code| state(&OFFSETS, code);
        let lengths = |code| state(&LENGTHS, code);
        let (long, plain) = (0x1234, 0x2bcd);
        // Missing bits repeat the first held ones, so the test needs bits that are not all alike.
        for far in [0, 0x1_5555, 0x2_aaaa, 0x3_ffff] {
            // The fields of the stream, in the order in which they are read. The states of the rare codes 34, 18 and 52
            // lead to any state.
            let bits = [
                [literals(34), offsets(18), lengths(52)].concat(),
                format!("{far:018b}{long:016b}{plain:015b}"),
                [literals(3), lengths(1), offsets(3)].concat(),
                format!("{:03b}", 5),
            ];
            let bits: String = format!("1{}", bits.concat()).chars().rev().collect();
            let byte = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | (bit & 1));
            let stream: Vec<u8> = bits.as_bytes().chunks(8).map(byte).collect();

            let mut wanted: Vec<u8> =
                (0..600_000_u32).map(|at| (at.wrapping_mul(at) >> 7) as u8).collect();
            let own: Vec<u8> = (0..32_768 + plain + 3).map(|at: usize| (at % 251) as u8).collect();
            let size = 1 << 20;
            let mut output = Output::default();
            output.begin(size, size);
            assert!(output.room(size, size).is_ok());
            output.push(&wanted);
            let bounds = BlockBounds { left: size, block: size, window: size };
            let section = SequencesSection { count: 2, modes: 0, stream: &stream };
            let run = Sequences::default().run(section, &own, &mut output, bounds);
            assert!(run.is_ok());

            let (first, second) = own.split_at(own.len() - 3);
            for (own, distance, length) in
                [(first, (1 << 18) + far - 3, 65_539 + long), (second, 8 + 5 - 3, 4)]
            {
                wanted.extend(own);
                for _ in 0..length {
                    wanted.push(wanted[wanted.len() - distance]);
                }
            }
            assert!(output.pending() == wanted);
        }
    }
}
