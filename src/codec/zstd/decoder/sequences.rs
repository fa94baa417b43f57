//! The sequences section of a block: RFC 8878 §3.1.1.3.2. Each copies some literals, and repeats
//! some of what has been decoded.

use super::bits::Bits;
use super::fse::{State, Table, describe};
use super::output::Output;
use crate::codec::zstd::Broken;
use crate::num::index;

/// What a code stands for: a number, to which so many more bits are added.
#[derive(Clone, Copy, Default)]
struct Code {
    number: u32,
    bits: u8,
}

impl Code {
    fn new(number: u32, bits: u32) -> Self {
        Self { number, bits: u8::try_from(bits).unwrap_or_default() }
    }

    /// A literals length: §3.1.1.3.2.1.1.
    fn literals(code: u8) -> Self {
        let code = u32::from(code);
        match code {
            0..16 => Self::new(code, 0),
            16..20 => Self::new(code.wrapping_sub(8) << 1, 1),
            20..22 => Self::new(code.wrapping_sub(14) << 2, 2),
            22..24 => Self::new(code.wrapping_sub(18) << 3, 3),
            24 => Self::new(48, 4),
            _ => Self::new(1_u32.wrapping_shl(code.wrapping_sub(19)), code.wrapping_sub(19)),
        }
    }

    /// A match length: §3.1.1.3.2.1.1.
    fn length(code: u8) -> Self {
        let code = u32::from(code);
        let more = |number: u32, bits| Self::new(number.wrapping_add(3), bits);
        match code {
            0..32 => more(code, 0),
            32..36 => more(code.wrapping_sub(16) << 1, 1),
            36..38 => more(code.wrapping_sub(26) << 2, 2),
            38..40 => more(code.wrapping_sub(32) << 3, 3),
            40..42 => more(code.wrapping_sub(36) << 4, 4),
            42 => more(96, 5),
            _ => more(1_u32.wrapping_shl(code.wrapping_sub(36)), code.wrapping_sub(36)),
        }
    }

    /// An offset value: §3.1.1.3.2.1.1.
    fn offset(code: u8) -> Self {
        Self::new(1_u32.wrapping_shl(code.into()), code.into())
    }

    #[inline(always)]
    fn read(self, bits: &mut Bits<'_>) -> u32 {
        self.number.wrapping_add(bits.take(self.bits.into()))
    }
}

/// Default shares of literals lengths, match lengths and offsets: §3.1.1.3.2.2.
const LITERALS: [i16; 36] = [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
    -1, -1, -1, -1,
];
const LENGTHS: [i16; 53] = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];
const OFFSETS: [i16; 29] =
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1];

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
    default: Table<Code, 64>,
    own: Table<Code, STATES>,
    means: fn(u8) -> Code,
}

impl<const STATES: usize, const CODES: usize> Kind<STATES, CODES> {
    fn new(means: fn(u8) -> Code) -> Self {
        Self { used: Used::None, default: Table::new(), own: Table::new(), means }
    }

    /// Takes up the table that `mode` says: what follows its description. §3.1.1.3.2.1.
    fn choose<'s>(
        &mut self,
        mode: u8,
        (default_log, shares): (u32, &[i16]),
        stream: &'s [u8],
    ) -> Result<&'s [u8], Broken> {
        match mode & 3 {
            0 => {
                if !self.default.is_made() {
                    self.default.make(default_log, shares, self.means)?;
                }
                self.used = Used::Default;
                Ok(stream)
            }
            1 => {
                let (code, rest) = stream.split_first().ok_or(Broken::Corrupt)?;
                if usize::from(*code) >= CODES {
                    return Err(Broken::Corrupt);
                }
                self.own.constant((self.means)(*code))?;
                self.used = Used::Own;
                Ok(rest)
            }
            2 => {
                let mut shares = [0; CODES];
                let described = describe(stream, STATES.ilog2(), &mut shares);
                let (rest, log) = described.ok_or(Broken::Corrupt)?;
                self.own.make(log, &shares, self.means)?;
                self.used = Used::Own;
                Ok(rest)
            }
            _ if matches!(self.used, Used::None) => Err(Broken::Corrupt),
            _ => Ok(stream),
        }
    }

    /// The states, and the first of them.
    fn begin(&self, bits: &mut Bits<'_>) -> (&[State<Code>], usize) {
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

/// The offsets that can be told in short: §3.1.1.5.
#[derive(Clone, Copy)]
struct Repeats([u32; 3]);

impl Repeats {
    const FIRST: Self = Self([1, 4, 8]);

    /// How far back an offset value tells to go. Without literals, the first offset stands for
    /// itself less one.
    #[inline(always)]
    fn distance(&mut self, value: u32, bare: bool) -> u32 {
        let [first, second, third] = self.0;
        let (distance, after) = match (value, bare) {
            (1, false) => (first, self.0),
            (2, false) | (1, true) => (second, [second, first, third]),
            (3, false) | (2, true) => (third, [third, first, second]),
            _ => {
                let told = if value == 3 { first.wrapping_sub(1) } else { value.wrapping_sub(3) };
                (told, [told, first, second])
            }
        };
        self.0 = after;
        distance
    }
}

/// How much a block may make, and how far back its matches may reach.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// Bytes that all blocks together may still make, and that this one may.
    pub(super) left: usize,
    pub(super) block: usize,
    pub(super) window: usize,
}

impl Sequences {
    pub(super) fn new() -> Self {
        Self {
            literals: Kind::new(Code::literals),
            offsets: Kind::new(Code::offset),
            lengths: Kind::new(Code::length),
            repeats: Repeats::FIRST,
        }
    }

    /// Forgets the frame before.
    pub(super) fn clear(&mut self) {
        (self.literals.used, self.offsets.used, self.lengths.used) =
            (Used::None, Used::None, Used::None);
        self.repeats = Repeats::FIRST;
    }

    /// Decodes `count` sequences by the tables that `modes` asks for, and adds what they make to
    /// `output`, which has room for what `bounds` allow.
    pub(super) fn run(
        &mut self,
        stream: &[u8],
        (count, modes): (u32, u8),
        mut literals: &[u8],
        output: &mut Output,
        bounds: Bounds,
    ) -> Result<(), Broken> {
        let stream = self.literals.choose(modes >> 6, (6, &LITERALS), stream)?;
        let stream = self.offsets.choose(modes >> 4, (5, &OFFSETS), stream)?;
        let stream = self.lengths.choose(modes >> 2, (6, &LENGTHS), stream)?;
        let bits = &mut Bits::new(stream).ok_or(Broken::Corrupt)?;
        let (of_literals, mut literal) = self.literals.begin(bits);
        let (of_offsets, mut offset) = self.offsets.begin(bits);
        let (of_lengths, mut length) = self.lengths.begin(bits);
        let (before, mut made) = (output.len(), 0_usize);
        for left in (0..count).rev() {
            bits.refill();
            let states = (of_literals.get(literal), of_offsets.get(offset), of_lengths.get(length));
            let (Some(of_literal), Some(of_offset), Some(of_length)) = states else {
                return Err(Broken::Corrupt);
            };
            let [one, two, three] = [of_offset, of_length, of_literal].map(|state| state.means);
            // The states take 26 bits at most of those that are held.
            let many =
                u32::from(one.bits).wrapping_add(two.bits.into()).wrapping_add(three.bits.into())
                    > 31;
            let value = one.read(bits);
            if many {
                bits.refill();
            }
            let copied = index(two.read(bits));
            let plain = index(three.read(bits));
            if many {
                bits.refill();
            }
            if left > 0 {
                literal = of_literal.next(bits);
                length = of_length.next(bits);
                offset = of_offset.next(bits);
            }
            let begin = before.saturating_add(made).saturating_add(plain);
            let distance = index(self.repeats.distance(value, plain == 0));
            if distance == 0 || distance > begin.min(bounds.window) {
                return Err(Broken::Corrupt);
            }
            made = made.saturating_add(plain).saturating_add(copied);
            if made > bounds.block {
                return Err(Broken::Corrupt);
            }
            let (own, others) = literals.split_at_checked(plain).ok_or(Broken::Corrupt)?;
            // What is too long is still judged to its end: whether a block is one does not depend
            // on how much of it is wanted.
            if made <= bounds.left {
                output.push_front(literals, own);
                output.repeat(distance, copied);
            }
            literals = others;
        }
        bits.refill();
        if !bits.is_over() {
            return Err(Broken::Corrupt);
        }
        last(literals, made, output, bounds)
    }
}

/// Adds the literals that are left after the last sequence, or that come without any.
pub(super) fn last(
    literals: &[u8],
    made: usize,
    output: &mut Output,
    bounds: Bounds,
) -> Result<(), Broken> {
    let made = made.saturating_add(literals.len());
    if made > bounds.block {
        return Err(Broken::Corrupt);
    }
    if made > bounds.left {
        return Err(Broken::TooLong);
    }
    output.push(literals);
    Ok(())
}

#[cfg(test)]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "numbers are small")]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::{Bounds, Code, LENGTHS, LITERALS, OFFSETS, Output, Sequences, Table};

    /// Many literals, and a long match from far back: 49 bits, after which the next states take 17.
    #[test]
    fn a_sequence_may_have_more_bits_than_are_held() {
        let state = |log: u32, shares: &[i16], means: fn(u8) -> Code, code: u8| {
            let mut table = Table::<Code, 64>::new();
            table.make(log, shares, means).ok().unwrap();
            let number = means(code).number;
            let at = table.states().iter().position(|state| state.means.number == number);
            format!("{:01$b}", at.unwrap(), log as usize)
        };
        let literals = |code| state(6, &LITERALS, Code::literals, code);
        let offsets = |code| state(5, &OFFSETS, Code::offset, code);
        let lengths = |code| state(6, &LENGTHS, Code::length, code);
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
            let mut output = Output::new();
            assert!(output.room((size, size), (size, size)).is_ok());
            output.push(&wanted);
            let bounds = Bounds { left: size, block: size, window: size };
            let run = Sequences::new().run(&stream, (2, 0), &own, &mut output, bounds);
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

    #[test]
    fn codes_leave_no_number_out() {
        let follows = |code: Code, next: Code| code.number + (1 << code.bits) == next.number;
        assert!((0..35).all(|code| follows(Code::literals(code), Code::literals(code + 1))));
        assert!((0..52).all(|code| follows(Code::length(code), Code::length(code + 1))));
        assert!((0..31).all(|code| follows(Code::offset(code), Code::offset(code + 1))));
        let last = |code: Code| u64::from(code.number) + (1 << code.bits) - 1;
        assert_eq!(last(Code::literals(35)), 131_071);
        assert_eq!(last(Code::length(52)), 131_074);
        assert_eq!(Code::literals(0).number, 0);
        assert_eq!(Code::length(0).number, 3);
    }

    #[test]
    fn default_shares_fill_their_tables() {
        let sum = |shares: &[i16]| shares.iter().map(|share| share.unsigned_abs()).sum::<u16>();
        assert_eq!([sum(&LITERALS), sum(&OFFSETS), sum(&LENGTHS)], [64, 32, 64]);
    }
}
