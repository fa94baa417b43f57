//! Streams of bits: RFC 8878 §4. Streams of codes are read from the last bit to the first; descriptions of tables are read
//! from the first bit on.

use crate::num::{DebugExpect as _, low_u32, usize_from_u32};

/// A stream of bits that is read from its last bit to its first.
///
/// Reading more bits than the stream has gives meaningless bits and no error. The callers check at the end with
/// [`is_over`](Self::is_over), so that the loop has no check for each number.
pub(super) struct Bits<'s> {
    /// The bytes of the stream whose bits are not counted in `count`. The last of these bytes is read first.
    rest: &'s [u8],
    /// The next bits to read, the first of them in the highest bit. The bits below the counted ones are later bits of the
    /// stream, or zeros.
    held: u64,
    /// The number of bits in `held`. It has wrapped below 0 if more bits were read than the stream has.
    count: u32,
}

/// The number of bits that can be read between two calls of [`Bits::refill`].
pub(super) const AT_ONCE: u32 = 56;

impl<'s> Bits<'s> {
    /// Creates a reader of `stream`. The highest 1 in the last byte marks the end of the bits. Returns `None` if there is
    /// no such mark.
    #[inline]
    pub(super) fn new(stream: &'s [u8]) -> Option<Self> {
        let (last, rest) = stream.split_last().filter(|(last, _)| **last != 0)?;
        let mark = last.leading_zeros().wrapping_add(1);
        let held = (u64::from(*last) << 56).wrapping_shl(mark);
        let mut bits = Self { rest, held, count: 8_u32.wrapping_sub(mark) };
        bits.refill();
        Some(bits)
    }

    /// Returns the eight bytes that are read next, the last of `rest`, as a little-endian number. Returns `None` if fewer are left.
    #[inline(always)]
    pub(super) fn ahead(&self) -> Option<u64> {
        self.rest.last_chunk().map(|ahead| u64::from_le_bytes(*ahead))
    }

    /// Fills `held` to [`AT_ONCE`] bits or more, or with all bits that are left.
    #[inline(always)]
    pub(super) fn refill(&mut self) {
        if let Some(ahead) = self.ahead() {
            self.hold(ahead);
        } else {
            (self.rest, self.held, self.count) = last(self.rest, self.held, self.count);
        }
    }

    /// Fills `held` with bits of `ahead`, the eight bytes that are read next. Afterwards `held` has [`AT_ONCE`] bits or more.
    #[inline(always)]
    pub(super) fn hold(&mut self, ahead: u64) {
        // The loaded bytes do not depend on the bits that were just read, which only decide by how much they are shifted,
        // so the load need not wait for them.
        self.held |= ahead.wrapping_shr(self.count);
        let bytes = usize_from_u32(!self.count >> 3 & 7);
        let length = self.rest.len().wrapping_sub(bytes);
        self.rest = self.rest.get(..length).debug_expect();
        self.count |= AT_ONCE;
    }

    /// Returns the next `count` bits, from 1 to 63, without consuming them.
    #[inline(always)]
    pub(super) fn peek(&self, count: u32) -> u64 {
        self.held.wrapping_shr(64_u32.wrapping_sub(count))
    }

    /// Consumes `count` bits, at most 63.
    #[inline(always)]
    pub(super) fn skip(&mut self, count: u32) {
        self.shift(count);
        self.settle(count);
    }

    /// Drops the next bits from `held`, as many as the low six bits of `count` say, without counting them. The caller
    /// [settles](Self::settle) the count later.
    #[inline(always)]
    pub(super) fn shift(&mut self, count: u32) {
        self.held = self.held.wrapping_shl(count);
    }

    /// Counts `count` bits as consumed, which were [dropped](Self::shift) before.
    #[inline(always)]
    pub(super) fn settle(&mut self, count: u32) {
        self.count = self.count.wrapping_sub(count);
    }

    /// Reads the next `count` bits, from 0 to 32.
    #[inline(always)]
    pub(super) fn read(&mut self, count: u32) -> u32 {
        let bits = (self.held >> 1).wrapping_shr(63_u32.wrapping_sub(count));
        self.skip(count);
        low_u32(bits)
    }

    /// Returns a reader of several numbers in the held bits. [`pass`](Self::pass) consumes them all.
    #[inline(always)]
    pub(super) fn taking(&self) -> Taken {
        Taken { held: self.held, left: u64::BITS }
    }

    /// Consumes the bits that `taken` has read.
    #[inline(always)]
    pub(super) fn pass(&mut self, taken: Taken) {
        self.skip(u64::BITS.wrapping_sub(taken.left));
    }

    /// Returns whether exactly all bits have been read. Valid only after [`refill`](Self::refill).
    pub(super) fn is_over(&self) -> bool {
        self.rest.is_empty() && self.count == 0
    }

    /// Returns whether more bits have been read than the stream has. Valid only after [`refill`](Self::refill).
    pub(super) fn is_overrun(&self) -> bool {
        self.count > u64::BITS
    }
}

/// Fills `held` with bits of `rest`, which has less than eight bytes. Returns the new values of `rest`, `held` and `count`.
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

/// A reader of several numbers in the same 64 bits. Each number is shifted out of the same value, so none waits until the
/// number before it has been shifted away.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    held: u64,
    /// The number of bits that have not been read. It has wrapped below 0 if more bits were read than there are.
    left: u32,
}

impl Taken {
    /// Reads a number of `count` bits, from 0 to 31.
    #[inline(always)]
    pub(super) fn take(&mut self, count: u8) -> u32 {
        const MASKS: [u32; 32] = masks();
        self.left = self.left.wrapping_sub(count.into());
        let bits = low_u32(self.held.wrapping_shr(self.left));
        let mask = MASKS.get(usize::from(count & 31)).copied().debug_expect();
        bits & mask
    }

    /// Returns the number of bits, of 64, that have not been read. It is very large if more bits were read than there are.
    #[inline(always)]
    pub(super) fn left(self) -> u32 {
        self.left
    }
}

/// Returns a table of masks: entry `n` has the low `n` bits set.
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

/// Returns `count` bits, at most 25, from bit number `at` on of a stream that is read from its first bit. Bits after the end
/// of `stream` are zeros.
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

    /// Checks that eight bytes are loaded at once. Loading them one by one gives the same bits, so no other test would
    /// notice.
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
            // The last byte holds the mark (its highest 1) and below the mark three bits of the stream.
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
