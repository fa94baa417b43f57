//! The sequences section of a block: RFC 8878 §3.1.1.3.2. Each copies some literals, and repeats
//! some of what has been decoded.

use super::Flaw;
use super::bits::Bits;
use super::block::SequencesSection;
use super::fse::{State, Table, describe};
use super::output::Output;
use crate::format::codes::{Alphabet, LENGTHS, LITERALS, OFFSETS, Range};
use crate::format::offsets::Repeats;
use zten_num::{Assured as _, usize_from_u32};

impl Range {
    #[inline(always)]
    fn read(self, bits: &mut Bits<'_>) -> u32 {
        self.first.wrapping_add(bits.read(self.bits.into()))
    }
}

/// Which table codes of one kind were last read by.
#[derive(Clone, Copy)]
enum Used {
    None,
    Default,
    Own,
}

/// Codes of one kind, of which there are `CODES`: the default table, and one that blocks bring.
struct Kind<const STATES: usize, const CODES: usize> {
    used: Used,
    default: Table<Range, 64>,
    own: Table<Range, STATES>,
    alphabet: &'static Alphabet,
}

impl<const STATES: usize, const CODES: usize> Kind<STATES, CODES> {
    fn new(alphabet: &'static Alphabet) -> Self {
        Self { used: Used::None, default: Table::default(), own: Table::default(), alphabet }
    }

    /// Takes up the table that `mode` says: what follows its description. §3.1.1.3.2.1.
    fn choose<'s>(&mut self, mode: u8, stream: &'s [u8]) -> Result<&'s [u8], Flaw> {
        let Alphabet { ranges, most, log, shares } = *self.alphabet;
        let means = |code: u8| ranges.get(usize::from(code)).copied();
        match mode & 3 {
            0 => {
                if !self.default.is_made() {
                    self.default.make(log, shares, |code| means(code).assured())?;
                }
                self.used = Used::Default;
                Ok(stream)
            }
            1 => {
                let (code, rest) = stream.split_first().ok_or(Flaw::Corrupt)?;
                self.own.constant(means(*code).ok_or(Flaw::Corrupt)?)?;
                self.used = Used::Own;
                Ok(rest)
            }
            2 => {
                let mut shares = [0; CODES];
                let described = describe(stream, most, &mut shares);
                let (rest, log) = described.ok_or(Flaw::Corrupt)?;
                self.own.make(log, &shares, |code| means(code).assured())?;
                self.used = Used::Own;
                Ok(rest)
            }
            _ if matches!(self.used, Used::None) => Err(Flaw::Corrupt),
            _ => Ok(stream),
        }
    }

    /// The states, and the first of them.
    fn begin(&self, bits: &mut Bits<'_>) -> (&[State<Range>], usize) {
        match self.used {
            Used::Default => (self.default.states(), self.default.begin(bits)),
            _ => (self.own.states(), self.own.begin(bits)),
        }
    }
}

/// What sequences of a frame are read by.
pub(super) struct Sequences {
    literals: Kind<512, 36>,
    offsets: Kind<256, 32>,
    lengths: Kind<512, 53>,
    repeats: Repeats,
}

/// How much a block may make, and how far back its matches may reach.
#[derive(Clone, Copy, Default)]
pub(super) struct BlockBounds {
    /// Bytes that all blocks together may still make, and that this one may.
    pub(super) left: usize,
    pub(super) block: usize,
    pub(super) window: usize,
}

impl Default for Sequences {
    fn default() -> Self {
        Self {
            literals: Kind::new(&LITERALS),
            offsets: Kind::new(&OFFSETS),
            lengths: Kind::new(&LENGTHS),
            repeats: Repeats::FIRST,
        }
    }
}

impl Sequences {
    /// Forgets the frame before.
    pub(super) fn clear(&mut self) {
        (self.literals.used, self.offsets.used, self.lengths.used) =
            (Used::None, Used::None, Used::None);
        self.repeats = Repeats::FIRST;
    }

    /// Decodes sequences by the tables that the section asks for, and adds what they make to
    /// `output`, which has room for what `bounds` allow.
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
        let bits = &mut Bits::new(stream).ok_or(Flaw::Corrupt)?;
        let (of_literals, mut literal) = self.literals.begin(bits);
        let (of_offsets, mut offset) = self.offsets.begin(bits);
        let (of_lengths, mut length) = self.lengths.begin(bits);
        let (before, mut made) = (output.len(), 0_usize);
        for left in (0..count).rev() {
            bits.refill();
            let states = (of_literals.get(literal), of_offsets.get(offset), of_lengths.get(length));
            let (Some(of_literal), Some(of_offset), Some(of_length)) = states else {
                return Err(Flaw::Corrupt);
            };
            let [one, two, three] = [of_offset, of_length, of_literal].map(|state| state.means);
            // The states take 26 bits at most of those that are held.
            let many =
                u32::from(one.bits).wrapping_add(two.bits.into()).wrapping_add(three.bits.into())
                    > 30;
            let value = one.read(bits);
            if many {
                bits.refill();
            }
            let copied = usize_from_u32(two.read(bits));
            let plain = usize_from_u32(three.read(bits));
            if many {
                bits.refill();
            }
            if left > 0 {
                literal = of_literal.next(bits);
                length = of_length.next(bits);
                offset = of_offset.next(bits);
            }
            let begin = before.saturating_add(made).saturating_add(plain);
            let distance = usize_from_u32(self.repeats.distance(value, plain == 0));
            if distance == 0 || distance > begin.min(bounds.window) {
                return Err(Flaw::Corrupt);
            }
            made = made.saturating_add(plain).saturating_add(copied);
            if made > bounds.block {
                return Err(Flaw::Corrupt);
            }
            let (own, others) = literals.split_at_checked(plain).ok_or(Flaw::Corrupt)?;
            // What is too long is still validated to its end: whether a block is one does not depend
            // on how much of it is wanted.
            if made <= bounds.left {
                output.push_front(literals, own);
                output.repeat(distance, copied);
            }
            literals = others;
        }
        bits.refill();
        if !bits.is_over() {
            return Err(Flaw::Corrupt);
        }
        // The literals that are left come after the last sequence.
        let made = made.saturating_add(literals.len());
        if made > bounds.block {
            return Err(Flaw::Corrupt);
        }
        if made > bounds.left {
            return Err(Flaw::Decoded);
        }
        output.push(literals);
        Ok(())
    }
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

    /// Many literals, and a long match from far back: 49 bits, after which the next states take 17.
    #[test]
    fn a_sequence_may_have_more_bits_than_are_held() {
        let state = |alphabet: &Alphabet, code: usize| {
            let mut table = Table::<u8, 64>::default();
            table.make(alphabet.log, alphabet.shares, |code| code).ok().unwrap();
            let at = table.states().iter().position(|state| usize::from(state.means) == code);
            format!("{:01$b}", at.unwrap(), alphabet.log as usize)
        };
        let literals = |code| state(&LITERALS, code);
        let offsets = |code| state(&OFFSETS, code);
        let lengths = |code| state(&LENGTHS, code);
        let (long, plain) = (0x1234, 0x2bcd);
        // Bits that are not there are taken from the first that were held: not all can be alike.
        for far in [0, 0x1_5555, 0x2_aaaa, 0x3_ffff] {
            // In the order in which they are read. States of rare codes lead to any state.
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
