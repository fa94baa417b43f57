//! The hash that names are found by.

use crate::num::{Assured as _, len_u32};

/// Ordinals fit in 26 bits: an object takes 29 bytes at least, and a manifest has 2^30.
pub(super) const ORDINAL_BITS: u32 = 26;
/// The bits of an entry that are ordinal; those above are hash.
pub(super) const ORDINAL: u64 = (1 << ORDINAL_BITS) - 1;

/// Reads the name of an ordinal.
pub(super) trait Read<'m>: Fn(u32) -> &'m [u8] {}
impl<'m, F: Fn(u32) -> &'m [u8]> Read<'m> for F {}

/// A hash for spreading names, not for defence: equal hashes are settled by the names
/// themselves, in time that no choice of names makes worse than linear in their bytes.
#[inline]
pub(crate) fn hash(name: &[u8]) -> u64 {
    let length = u128::from(len_u32(name.len())).to_le_bytes();
    let state = mix(SEEDS.0, length);
    let Some(last) = name.last_chunk::<16>() else {
        let mut only = [0; 16];
        for (to, from) in only.iter_mut().zip(name) {
            *to = *from;
        }
        return mix(state, only) & !ORDINAL;
    };
    // The last block may overlap the one before.
    let (blocks, _) = name.as_chunks::<16>();
    let state = blocks.iter().fold(state, |state, block| mix(state, *block));
    mix(state, *last) & !ORDINAL
}

/// Two odd numbers without a pattern.
pub(super) const SEEDS: (u64, u64) = (0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03);

/// The product of the block's halves, folded.
#[inline(always)]
fn mix(state: u64, block: [u8; 16]) -> u64 {
    let block = u128::from_le_bytes(block);
    let half = |bits: u128| u64::try_from(bits & u128::from(u64::MAX)).assured();
    let (low, high) = (half(block) ^ state, half(block >> 64) ^ SEEDS.1);
    let product = u128::from(low).wrapping_mul(u128::from(high));
    half(product) ^ half(product >> 64)
}
