//! The hash of `src/names.rs`, with the seeds that are used if a process has no random seed.

use std::sync::OnceLock;

const SEEDS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];

/// Returns the state after a block of at most 16 bytes.
fn mix(state: u64, block: &[u8]) -> u64 {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
    let [first, last] = match block.len() {
        8.. => [&block[..8], &block[block.len() - 8..]],
        4.. => [&block[..4], &block[block.len() - 4..]],
        _ => [block, &[]],
    };
    let product = u128::from(number(first) ^ state) * u128::from(number(last) ^ SEEDS[1]);
    let [low, high] = [0, 64].map(|by| product >> by & u128::from(u64::MAX));
    u64::try_from(low ^ high).expect("64 bits")
}

/// Returns one of 89^4 texts of 44 bytes that have the same hash.
///
/// The second block of each text begins with the state after its first block, and so cancels it: the end of the second block has no
/// effect.
pub(crate) fn colliding(n: usize) -> String {
    static BEGINNING: OnceLock<String> = OnceLock::new();
    let beginning = BEGINNING.get_or_init(|| {
        (0..)
            .find_map(|n: u64| {
                let block = format!("{n:016}");
                let state = mix(SEEDS[0], block.as_bytes()).to_le_bytes();
                let is_text = state.iter().all(u8::is_ascii_graphic);
                is_text.then(|| block + &state.map(char::from).iter().collect::<String>())
            })
            .expect("one state of 4,000 is text")
    });
    let number: String = (0..4).rev().map(|at| super::texts::digit(n / 89_usize.pow(at))).collect();
    format!("{beginning}{number}{}", "b".repeat(16))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{SEEDS, colliding, mix};

    /// The factor of the length of a text.
    const LENGTH: u64 = 0xa076_1d64_78bd_642f;

    fn hash(text: &[u8]) -> u64 {
        let blocks = text.as_chunks::<16>().0.iter();
        let state = blocks.fold(SEEDS[0], |state, block| mix(state, block));
        let hash = mix(state, text.last_chunk::<16>().map_or(text, |last| last));
        hash.wrapping_add((text.len() as u64).wrapping_mul(LENGTH)) >> 32
    }

    #[test]
    fn the_hash_is_that_of_the_library() {
        for (text, value) in
            [("", 0xd6cb_8892), ("layers.0", 0xa008_8b00), ("layers.0.self_attn", 0x0b26_d9d6)]
        {
            assert_eq!(hash(text.as_bytes()), value, "{text}");
        }
    }

    #[test]
    fn texts_of_one_hash() {
        let texts: HashSet<String> = (0..10_000).map(colliding).collect();
        let hashes: HashSet<u64> = texts.iter().map(|text| hash(text.as_bytes())).collect();
        assert_eq!((texts.len(), hashes.len()), (10_000, 1));
    }
}
