//! XXH64 with seed 0: the checksum of a frame, RFC 8878 §3.1.1.

use crate::num::{DebugExpect as _, u64_from_usize};

const P1: u64 = 0x9e37_79b1_85eb_ca87;
const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const P3: u64 = 0x1656_67b1_9e37_79f9;
const P4: u64 = 0x85eb_ca77_c2b2_ae63;
const P5: u64 = 0x27d4_eb2f_1656_67c5;

/// The number of bytes that are added at once.
const STRIPE: usize = 32;

/// An XXH64 checksum of the bytes that have been added so far.
pub(crate) struct Xxh64 {
    lanes: [u64; 4],
    /// The first bytes of a stripe whose other bytes have not come yet.
    held: [u8; STRIPE],
    count: usize,
    total: u64,
}

impl Xxh64 {
    pub(crate) fn new() -> Self {
        let lanes = [P1.wrapping_add(P2), P2, 0, 0_u64.wrapping_sub(P1)];
        Self { lanes, held: [0; STRIPE], count: 0, total: 0 }
    }

    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        self.total = self.total.wrapping_add(u64_from_usize(bytes.len()));
        if self.count > 0 {
            let room = self.held.get_mut(self.count..).debug_expect();
            let (now, later) = bytes.split_at_checked(room.len()).unwrap_or((bytes, &[]));
            room.iter_mut().zip(now).for_each(|(to, from)| *to = *from);
            self.count = self.count.wrapping_add(now.len());
            bytes = later;
            if self.count < STRIPE {
                return;
            }
            self.count = 0;
            let held = self.held;
            self.stripe(&held);
        }
        let (stripes, rest) = bytes.as_chunks();
        for stripe in stripes {
            self.stripe(stripe);
        }
        self.held.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.count = rest.len();
    }

    #[inline(always)]
    fn stripe(&mut self, stripe: &[u8; STRIPE]) {
        let (words, _) = stripe.as_chunks();
        for (lane, word) in self.lanes.iter_mut().zip(words) {
            *lane = round(*lane, u64::from_le_bytes(*word));
        }
    }

    /// Returns the low half of the checksum, which a frame stores.
    pub(crate) fn low(&self) -> u32 {
        let [a, b, c, d, ..] = self.finish().to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    fn finish(&self) -> u64 {
        let [one, two, three, four] = self.lanes;
        let mut sum = if self.total >= u64_from_usize(STRIPE) {
            let sum = one.rotate_left(1).wrapping_add(two.rotate_left(7));
            let sum = sum.wrapping_add(three.rotate_left(12)).wrapping_add(four.rotate_left(18));
            self.lanes
                .iter()
                .fold(sum, |sum, lane| (sum ^ round(0, *lane)).wrapping_mul(P1).wrapping_add(P4))
        } else {
            P5
        };
        sum = sum.wrapping_add(self.total);
        let (words, rest) = self.held.get(..self.count).debug_expect().as_chunks::<8>();
        for word in words {
            sum ^= round(0, u64::from_le_bytes(*word));
            sum = sum.rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
        }
        let (half, rest) = rest.as_chunks::<4>();
        for word in half {
            sum ^= u64::from(u32::from_le_bytes(*word)).wrapping_mul(P1);
            sum = sum.rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
        }
        for byte in rest {
            sum ^= u64::from(*byte).wrapping_mul(P5);
            sum = sum.rotate_left(11).wrapping_mul(P1);
        }
        sum = (sum ^ sum >> 33).wrapping_mul(P2);
        sum = (sum ^ sum >> 29).wrapping_mul(P3);
        sum ^ sum >> 32
    }
}

#[inline(always)]
fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::Xxh64;

    fn sum(bytes: &[u8], piece: usize) -> u64 {
        let mut sum = Xxh64::new();
        bytes.chunks(piece).for_each(|piece| sum.update(piece));
        sum.finish()
    }

    #[test]
    fn known_sums() {
        assert_eq!(sum(b"", 1), 0xef46_db37_51d8_e999);
        assert_eq!(sum(b"a", 1), 0xd24e_c4f1_a98c_6e5b);
        assert_eq!(sum(b"abc", 3), 0x44bc_2cf5_ad77_0999);
    }

    #[test]
    fn pieces_make_no_difference() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for length in [31, 32, 33, 64, 77, 100, 1000] {
            let whole = sum(&bytes[..length], length);
            assert!((1..length).all(|piece| sum(&bytes[..length], piece) == whole));
        }
    }
}
