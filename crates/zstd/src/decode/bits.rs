//! Streams of bits: RFC 8878 §4. Those that encode are read from the back; descriptions of tables
//! from the front.

use crate::num::{DebugExpect as _, low_u32, usize_from_u32};

/// A stream that is read from its last bit to its first.
///
/// Reading beyond its beginning gives bits without a meaning, and is seen at the end.
pub(super) struct Bits<'s> {
    /// The bytes that are not yet counted among the bits that are held.
    rest: &'s [u8],
    /// The next bits, from the high one down. Below those that are counted stand some of those that
    /// follow them, or zeros.
    held: u64,
    /// The number of bits that are held: below 0, modulo 2^32, if more have been read than there are.
    count: u32,
}

/// Bits that can be read after [`Bits::refill`].
pub(super) const AT_ONCE: u32 = 56;

impl<'s> Bits<'s> {
    /// None where the one is missing that marks the last bit.
    #[inline]
    pub(super) fn new(stream: &'s [u8]) -> Option<Self> {
        let (last, rest) = stream.split_last().filter(|(last, _)| **last != 0)?;
        let mark = last.leading_zeros().wrapping_add(1);
        let held = (u64::from(*last) << 56).wrapping_shl(mark);
        let mut bits = Self { rest, held, count: 8_u32.wrapping_sub(mark) };
        bits.refill();
        Some(bits)
    }

    /// The eight bytes that come next, while there are so many.
    #[inline(always)]
    pub(super) fn ahead(&self) -> Option<u64> {
        self.rest.last_chunk().map(|ahead| u64::from_le_bytes(*ahead))
    }

    /// Holds as many bits as there are, up to [`AT_ONCE`] and more.
    #[inline(always)]
    pub(super) fn refill(&mut self) {
        if let Some(ahead) = self.ahead() {
            self.hold(ahead);
        } else {
            (self.rest, self.held, self.count) = last(self.rest, self.held, self.count);
        }
    }

    /// Holds bits of the eight bytes that come next: [`AT_ONCE`] and more are held then.
    #[inline(always)]
    pub(super) fn hold(&mut self, ahead: u64) {
        // What has just been read changes only how far it is shifted, so nothing waits for memory.
        self.held |= ahead.wrapping_shr(self.count);
        let bytes = usize_from_u32(!self.count >> 3 & 7);
        let length = self.rest.len().wrapping_sub(bytes);
        self.rest = self.rest.get(..length).debug_expect();
        self.count |= AT_ONCE;
    }

    /// The next bits, from 1 to 63, which stay.
    #[inline(always)]
    pub(super) fn peek(&self, count: u32) -> u64 {
        self.held.wrapping_shr(64_u32.wrapping_sub(count))
    }

    /// Passes over at most 63 bits.
    #[inline(always)]
    pub(super) fn skip(&mut self, count: u32) {
        self.shift(count);
        self.settle(count);
    }

    /// Passes over at most 63 bits, as many as the low six bits of `count` say, which are still to be
    /// [settled](Self::settle).
    #[inline(always)]
    pub(super) fn shift(&mut self, count: u32) {
        self.held = self.held.wrapping_shl(count);
    }

    /// Counts bits that have been passed over.
    #[inline(always)]
    pub(super) fn settle(&mut self, count: u32) {
        self.count = self.count.wrapping_sub(count);
    }

    /// Takes the next bits, from 0 to 32.
    #[inline(always)]
    pub(super) fn read(&mut self, count: u32) -> u32 {
        let bits = (self.held >> 1).wrapping_shr(63_u32.wrapping_sub(count));
        self.skip(count);
        low_u32(bits)
    }

    /// Begins to take several numbers of what is held.
    #[inline(always)]
    pub(super) fn taking(&self) -> Taken {
        Taken { held: self.held, left: u64::BITS }
    }

    /// Passes over what has been taken.
    #[inline(always)]
    pub(super) fn pass(&mut self, taken: Taken) {
        self.skip(u64::BITS.wrapping_sub(taken.left));
    }

    /// Returns whether all bits have been read, and no more. Valid only after [`refill`](Self::refill).
    pub(super) fn is_over(&self) -> bool {
        self.rest.is_empty() && self.count == 0
    }

    /// Returns whether more bits have been read than there are. Valid only after [`refill`](Self::refill).
    pub(super) fn is_overrun(&self) -> bool {
        self.count > u64::BITS
    }
}

/// Holds bits of what is left, which is less than eight bytes.
#[cold]
fn last(mut rest: &[u8], mut held: u64, mut count: u32) -> (&[u8], u64, u32) {
    while count <= AT_ONCE
        && let Some((last, others)) = rest.split_last()
    {
        held |= u64::from(*last).wrapping_shl(AT_ONCE.wrapping_sub(count));
        rest = others;
        count = count.wrapping_add(8);
    }
    (rest, held, count)
}

/// Numbers that are taken one after another, so that none waits until the one before is shifted away.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    held: u64,
    /// Bits that have not been taken: below 0, modulo 2^32, where more have been than there are.
    left: u32,
}

impl Taken {
    /// Takes a number of so many bits, from 0 to 31.
    #[inline(always)]
    pub(super) fn take(&mut self, count: u8) -> u32 {
        const MASKS: [u32; 32] = masks();
        self.left = self.left.wrapping_sub(count.into());
        let bits = low_u32(self.held.wrapping_shr(self.left));
        let mask = MASKS.get(usize::from(count & 31)).copied().debug_expect();
        bits & mask
    }

    /// Bits of 64 that have not been taken; many, where more have been than there are.
    #[inline(always)]
    pub(super) fn left(self) -> u32 {
        self.left
    }
}

/// Masks: the entry `n` has `n` ones.
const fn masks() -> [u32; 32] {
    let mut masks = [0; 32];
    let (mut rest, mut mask): (&mut [u32], _) = (&mut masks, 0_u32);
    while let [first, others @ ..] = rest {
        *first = mask;
        mask = mask << 1 | 1;
        rest = others;
    }
    masks
}

/// Returns at most 25 of the bits from `at` on, of a stream that is read from its first bit and followed by
/// zeros.
pub(super) fn forward(stream: &[u8], at: u32, count: u32) -> u32 {
    let first = usize_from_u32(at >> 3);
    let bytes = stream.get(first..).unwrap_or_default();
    let bytes = bytes.first_chunk::<4>().copied().unwrap_or_else(|| {
        let mut few = [0; 4];
        few.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        few
    });
    let mask = 1_u32.wrapping_shl(count).wrapping_sub(1);
    u32::from_le_bytes(bytes).wrapping_shr(at & 7) & mask
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{Bits, forward};

    /// Reads one by one would give the same bits, and take longer.
    #[test]
    fn eight_bytes_are_read_at_once() {
        let bits = Bits::new(&[1; 20]).unwrap();
        assert_eq!(bits.ahead(), Some(0x0101_0101_0101_0101));
        assert_eq!(Bits::new(&[1; 3]).unwrap().ahead(), None);
        let mut taken = bits.taking();
        taken.take(5);
        assert_eq!(taken.left(), 59);
    }

    #[test]
    fn bits_come_from_the_back() {
        for length in 1..40_u8 {
            // A one, then as many bits as are left.
            let mut stream: Vec<u8> = (0..length).map(|byte| byte.wrapping_mul(37)).collect();
            stream.push(0b0000_1011);
            let all: Vec<u32> = stream
                .iter()
                .rev()
                .flat_map(|byte| (0..8).rev().map(move |bit| u32::from(byte >> bit & 1)))
                .skip(5)
                .collect();
            for each in [1_usize, 3, 7, 11] {
                let mut bits = Bits::new(&stream).unwrap();
                for wanted in all.chunks(each) {
                    bits.refill();
                    let wanted = wanted.iter().fold((0, 0), |(n, c), bit| (n << 1 | bit, c + 1));
                    assert!(!bits.is_over());
                    assert_eq!(u32::try_from(bits.peek(wanted.1)), Ok(wanted.0));
                    assert_eq!(bits.read(wanted.1), wanted.0);
                }
                bits.refill();
                assert!(bits.is_over() && !bits.is_overrun());
                assert_eq!(bits.read(0), 0);
                bits.skip(1);
                bits.refill();
                assert!(!bits.is_over() && bits.is_overrun());
            }
        }
        assert!(Bits::new(&[]).is_none());
        assert!(Bits::new(&[1, 0]).is_none());
    }

    #[test]
    fn bits_come_from_the_front() {
        assert_eq!(forward(&[0b1010_0101, 1], 0, 4), 0b0101);
        assert_eq!(forward(&[0b1010_0101, 1], 5, 4), 0b1101);
        assert_eq!(forward(&[0b1010_0101, 1], 9, 25), 0);
        assert_eq!(forward(&[0xff; 9], 13, 25), 0x1ff_ffff);
        assert_eq!(forward(&[0xff; 9], 7000, 25), 0);
    }
}
