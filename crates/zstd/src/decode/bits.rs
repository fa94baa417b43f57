//! Streams of bits: RFC 8878 §4. Those that encode are read from the back; descriptions of tables
//! from the front.

use zten_num::{Assured as _, len_u32, usize_from_u32};

/// A stream that is read from its last bit to its first.
///
/// Reading beyond its beginning gives bits without a meaning, and is seen at the end.
pub(super) struct Bits<'s> {
    stream: &'s [u8],
    /// Where the eight bytes that are held begin.
    at: usize,
    held: u64,
    /// Bits of them that have been read, from the high one down.
    used: u32,
}

/// Bits that can be read after [`Bits::refill`].
pub(super) const AT_ONCE: u32 = 57;

impl<'s> Bits<'s> {
    /// None where the one is missing that marks the last bit.
    #[inline]
    pub(super) fn new(stream: &'s [u8]) -> Option<Self> {
        let last = stream.last().filter(|last| **last != 0)?;
        let mark = last.leading_zeros().wrapping_add(1);
        if let Some(held) = stream.last_chunk() {
            let at = stream.len().saturating_sub(held.len());
            return Some(Self { stream, at, held: u64::from_le_bytes(*held), used: mark });
        }
        let held = stream.iter().rfold(0_u64, |held, byte| held << 8 | u64::from(*byte));
        let missing = (stream.len()..8).fold(0_u32, |bits, _| bits.wrapping_add(8));
        Some(Self { stream, at: 0, held, used: mark.wrapping_add(missing) })
    }

    /// Holds as many bits as there are, up to [`AT_ONCE`] and more.
    #[inline(always)]
    pub(super) fn refill(&mut self) {
        let bytes = usize_from_u32(self.used >> 3).min(self.at);
        let at = self.at.wrapping_sub(bytes);
        if let Some(held) = self.stream.get(at..).and_then(<[u8]>::first_chunk) {
            self.held = u64::from_le_bytes(*held);
            self.at = at;
            let bits = len_u32(bytes).wrapping_mul(8);
            self.used = self.used.wrapping_sub(bits);
        }
    }

    /// The next bits, from 1 to 63, which stay.
    #[inline(always)]
    pub(super) fn peek(&self, count: u32) -> u64 {
        self.held.wrapping_shl(self.used).wrapping_shr(64_u32.wrapping_sub(count))
    }

    /// Passes over bits.
    #[inline(always)]
    pub(super) fn skip(&mut self, count: u32) {
        self.used = self.used.wrapping_add(count);
    }

    /// Takes the next bits, from 0 to 32.
    #[inline(always)]
    pub(super) fn read(&mut self, count: u32) -> u32 {
        let high = self.held.wrapping_shl(self.used) >> 1;
        let bits = high.wrapping_shr(63_u32.wrapping_sub(count));
        self.skip(count);
        u32::try_from(bits).assured()
    }

    /// Whether all bits have been read, and no more.
    pub(super) fn is_over(&self) -> bool {
        self.at == 0 && self.used == u64::BITS
    }

    /// Whether more bits have been read than there are. Only after [`refill`](Self::refill).
    pub(super) fn is_overrun(&self) -> bool {
        self.used > u64::BITS
    }
}

/// At most 25 of the bits from `at` on, of a stream that is read from its first bit and followed by
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
