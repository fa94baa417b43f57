//! Hashes of texts: for spreading them, also, with seeds that are secret, where texts are chosen to have equal
//! hashes.

#[cfg(test)]
use alloc::vec::Vec;

use crate::num::{Assured as _, SMALL, len_u32, u64_from_usize};

/// What the length of a text is multiplied by: an odd number without a pattern.
const LENGTH: u64 = 0xa076_1d64_78bd_642f;

/// What a hash depends on but the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeds(u64, u64);

impl Seeds {
    /// Two odd numbers without a pattern, which anyone can read here.
    pub(crate) const KNOWN: Self = Self(0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03);

    /// Numbers that are drawn when the process first asks for them; those that are known, where there is
    /// no source of such.
    pub(crate) fn of_process() -> Self {
        #[cfg(feature = "std")]
        {
            use std::hash::{BuildHasher as _, RandomState};
            use std::sync::OnceLock;

            static DRAWN: OnceLock<Seeds> = OnceLock::new();
            *DRAWN.get_or_init(|| {
                let random = RandomState::new();
                Self(random.hash_one(0_u8), random.hash_one(1_u8))
            })
        }
        #[cfg(not(feature = "std"))]
        Self::KNOWN
    }

    /// The hash of a text.
    #[inline]
    pub(crate) fn hash(self, text: &[u8]) -> u64 {
        let Self(state, _) = self;
        let hash = match text.last_chunk::<16>() {
            None => self.mix(state, short(text)),
            // The last block may overlap the one before.
            Some(last) => {
                let (blocks, _) = text.as_chunks::<16>();
                let mix = |state, block: &[u8; 16]| self.mix(state, halves(*block));
                mix(blocks.iter().fold(state, mix), last)
            }
        };
        // Texts of equal blocks, such as those of one letter, are told apart by their lengths: these are
        // added where no text that is chosen can take them away.
        hash.wrapping_add(u64::from(len_u32(text.len())).wrapping_mul(LENGTH))
    }

    /// The product of a block's halves, folded.
    #[inline(always)]
    fn mix(self, state: u64, [low, high]: [u64; 2]) -> u64 {
        fold(low ^ state, high ^ self.1)
    }
}

/// A block as two numbers, little-endian.
#[inline(always)]
fn halves(block: [u8; 16]) -> [u64; 2] {
    let block = u128::from_le_bytes(block);
    [low(block), low(block >> 64)]
}

/// The halves of a text of fewer than 16 bytes, with zeros behind it.
#[inline(always)]
fn short(text: &[u8]) -> [u64; 2] {
    if SMALL {
        let mut block = [0; 16];
        for (to, from) in block.iter_mut().zip(text) {
            *to = *from;
        }
        return halves(block);
    }
    // Two loads that overlap, the second moved to where the first ends.
    let moved = |word: u64, size: u64| {
        let behind = size.saturating_mul(2).saturating_sub(u64_from_usize(text.len()));
        word >> (behind.saturating_mul(8) & 63)
    };
    if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        let rest = moved(u64::from_le_bytes(*last), 8);
        return [u64::from_le_bytes(*first), if text.len() == 8 { 0 } else { rest }];
    }
    if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        let rest = moved(u64::from(u32::from_le_bytes(*last)), 4);
        return [u64::from(u32::from_le_bytes(*first)) | rest << 32, 0];
    }
    let byte = |at: usize| text.get(at).map_or(0, |byte| u64::from(*byte));
    [byte(0) | byte(1) << 8 | byte(2) << 16, 0]
}

/// The halves of a product, one over the other.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    if cfg!(not(target_pointer_width = "64")) {
        return fold_by_halves(a, b);
    }
    let product = u128::from(a).wrapping_mul(u128::from(b));
    low(product) ^ low(product >> 64)
}

/// [`fold`] where a product of 128 bits is a call: the halves of the numbers are multiplied, which overflows
/// nowhere.
#[cfg_attr(not(feature = "small"), inline(always))]
fn fold_by_halves(a: u64, b: u64) -> u64 {
    const LOW: u64 = 0xffff_ffff;
    let product = |a: u64, b: u64| a.wrapping_mul(b);
    let low = product(a & LOW, b & LOW);
    let [cross, other] = [product(a >> 32, b & LOW), product(a & LOW, b >> 32)];
    // With a carry: a sum without one the compiler would take for a product of 128 bits.
    let (middle, carry) = cross.wrapping_add(low >> 32).overflowing_add(other);
    let high = product(a >> 32, b >> 32).wrapping_add(middle >> 32);
    high.wrapping_add(u64::from(carry) << 32) ^ (middle << 32 | low & LOW)
}

#[inline(always)]
fn low(bits: u128) -> u64 {
    u64::try_from(bits & u128::from(u64::MAX)).assured()
}

/// Texts of one hash by the known seeds: the second word cancels its seed, so that nothing is left of the
/// first.
#[cfg(test)]
pub(crate) fn alike(word: u64) -> Vec<u8> {
    [word.to_le_bytes(), Seeds::KNOWN.1.to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use fastrand::Rng;

    use super::{Seeds, fold, fold_by_halves, halves, short};

    #[test]
    fn a_product_by_halves_is_that_of_the_whole() {
        let mut rng = Rng::with_seed(1);
        for _ in 0..1_000 {
            let [a, b] = [(); 2].map(|()| rng.u64(..) >> rng.u32(..64));
            assert_eq!(fold_by_halves(a, b), fold(a, b), "{a} {b}");
            assert_eq!(fold_by_halves(!a, !b), fold(!a, !b), "{a} {b}");
        }
    }

    /// `lab/proof` makes texts that look alike by these.
    #[test]
    fn known_seeds_give_known_hashes() {
        for (text, hash) in [
            ("", 0xd6cb_8892_a926_a943),
            ("layers.0", 0x3ec3_1fa4_cc4d_544b),
            ("layers.0.self_attn", 0x0b26_d9d6_53bd_ca58),
        ] {
            assert_eq!(Seeds::KNOWN.hash(text.as_bytes()), hash, "{text}");
        }
    }

    #[test]
    fn texts_of_equal_blocks_have_hashes_of_their_own() {
        let mut hashes: Vec<u64> = (0..200).map(|n| Seeds::KNOWN.hash(&[b'x'; 200][..n])).collect();
        hashes.extend((0..16).map(|n| Seeds::KNOWN.hash(&[0; 16][..n])));
        hashes.sort_unstable();
        hashes.dedup();
        // The empty text is in both.
        assert_eq!(hashes.len(), 215);
    }

    #[test]
    fn short_texts_have_zeros_behind_them() {
        let text: Vec<u8> = (1..=15).collect();
        for length in 0..16 {
            let mut block = [0; 16];
            block[..length].copy_from_slice(&text[..length]);
            assert_eq!(short(&text[..length]), halves(block), "{length}");
        }
    }

    #[test]
    fn a_hash_depends_on_all_of_the_text_and_on_both_seeds() {
        let text: Vec<u8> = (0..40).collect();
        for length in 0..40 {
            let text = &text[..length];
            let of = |seeds: Seeds| seeds.hash(text);
            let Seeds(first, second) = Seeds::KNOWN;
            let hash = of(Seeds::KNOWN);
            assert_ne!(hash, of(Seeds(first ^ 2, second)));
            assert_ne!(hash, of(Seeds(first, second ^ 2)));
            for at in 0..length {
                let mut other = text.to_vec();
                other[at] ^= 1;
                assert_ne!(hash, Seeds::KNOWN.hash(&other), "{length} {at}");
            }
        }
    }
}
