//! The codes of sequences: RFC 8878 §3.1.1.3.2.1.1. A code stands for a range of numbers, and is followed by bits that
//! select the number.

/// A range of `2^bits` numbers from `first` on.
#[derive(Clone, Copy, Default)]
pub(crate) struct Range {
    pub(crate) first: u32,
    pub(crate) bits: u8,
}

/// One kind of the codes in sequences, such as the codes of match lengths: their ranges of numbers, and their default table.
#[cfg_attr(
    not(feature = "decode"),
    expect(dead_code, reason = "the encoder describes tables of its own")
)]
pub(crate) struct Alphabet {
    /// The range of numbers that each code stands for.
    pub(crate) ranges: &'static [Range],
    /// The base-2 logarithm of the number of states of the largest table that a block may describe: RFC 8878 §3.1.1.3.2.1.
    pub(crate) most: u32,
    /// The base-2 logarithm of the number of states of the default table: RFC 8878 §3.1.1.3.2.2.
    pub(crate) log: u32,
    /// The number of states of each code in the default table; −1 is one state for a code that is rarer than one in
    /// `2^log`.
    pub(crate) shares: &'static [i16],
}

/// The codes of literals lengths, the numbers of literals in sequences.
pub(crate) const LITERALS: Alphabet = Alphabet {
    ranges: &ranges(
        0,
        [
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9,
            10, 11, 12, 13, 14, 15, 16,
        ],
    ),
    most: 9,
    log: 6,
    shares: &[
        4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1,
        1, 1, -1, -1, -1, -1,
    ],
};

/// The codes of match lengths.
pub(crate) const LENGTHS: Alphabet = Alphabet {
    ranges: &ranges(
        3,
        [
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
        ],
    ),
    most: 9,
    log: 6,
    shares: &[
        1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
    ],
};

/// The codes of offset values, by which sequences give the distances of their matches.
pub(crate) const OFFSETS: Alphabet = Alphabet {
    ranges: &ranges(
        1,
        [
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
            24, 25, 26, 27, 28, 29, 30, 31,
        ],
    ),
    most: 8,
    log: 5,
    shares: &[
        1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
    ],
};

/// Returns the ranges of successive codes, from the number `first` on. Code `i` is followed by `bits[i]` bits. No number is
/// left out.
#[expect(clippy::as_conversions, reason = "a byte as more, for which a constant has no `From`")]
const fn ranges<const CODES: usize>(mut first: u32, bits: [u8; CODES]) -> [Range; CODES] {
    let mut all = [Range { first: 0, bits: 0 }; CODES];
    let (mut ranges, mut widths): (&mut [Range], &[u8]) = (&mut all, &bits);
    while let ([range, other_ranges @ ..], [bits, other_widths @ ..]) = (ranges, widths) {
        *range = Range { first, bits: *bits };
        first = first.wrapping_add(1_u32.wrapping_shl(*bits as u32));
        (ranges, widths) = (other_ranges, other_widths);
    }
    all
}

/// Returns the code of each number below `N`. Numbers below all ranges get the first code.
#[cfg(feature = "encode")]
pub(crate) const fn inverse<const N: usize>(alphabet: &Alphabet) -> [u8; N] {
    let mut all = [0; N];
    let (mut codes, mut ranges): (&mut [u8], _) = (&mut all, alphabet.ranges);
    let (mut number, mut own) = (0_u32, 0_u8);
    while let [code, others @ ..] = codes {
        if let [_, rest @ ..] = ranges
            && let [next, ..] = rest
            && next.first <= number
        {
            (ranges, own) = (rest, own.wrapping_add(1));
        }
        *code = own;
        codes = others;
        number = number.wrapping_add(1);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{Alphabet, LENGTHS, LITERALS, OFFSETS};

    /// Checks the ranges against the numbers in §3.1.1.3.2.1.1.
    #[test]
    fn ranges_are_those_of_the_document() {
        let at = |alphabet: &Alphabet, code: usize| {
            let range = alphabet.ranges[code];
            (range.first, range.bits)
        };
        for (code, range) in [
            (0, (0, 0)),
            (15, (15, 0)),
            (16, (16, 1)),
            (20, (24, 2)),
            (22, (32, 3)),
            (24, (48, 4)),
            (25, (64, 6)),
            (35, (65_536, 16)),
        ] {
            assert_eq!(at(&LITERALS, code), range);
        }
        for (code, range) in [
            (0, (3, 0)),
            (31, (34, 0)),
            (32, (35, 1)),
            (36, (43, 2)),
            (38, (51, 3)),
            (40, (67, 4)),
            (42, (99, 5)),
            (43, (131, 7)),
            (52, (65_539, 16)),
        ] {
            assert_eq!(at(&LENGTHS, code), range);
        }
        assert_eq!([at(&OFFSETS, 0), at(&OFFSETS, 31)], [(1, 0), (1 << 31, 31)]);
    }

    #[test]
    fn default_shares_fill_their_tables() {
        for alphabet in [&LITERALS, &OFFSETS, &LENGTHS] {
            let sum: u16 = alphabet.shares.iter().map(|share| share.unsigned_abs()).sum();
            assert_eq!(sum, 1 << alphabet.log);
            assert!(alphabet.shares.len() <= alphabet.ranges.len());
        }
    }
}
