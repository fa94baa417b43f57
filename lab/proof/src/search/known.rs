//! The hash of `src/hash.rs`, by the seeds that are used where a process has none of its own.

use std::collections::HashMap;
use std::sync::OnceLock;

/// Two numbers that a hash depends on.
type Seeds = [u64; 2];

const KNOWN: Seeds = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];

/// What the length of a text is multiplied by.
const LENGTH: u64 = 0xa076_1d64_78bd_642f;

/// The hash of a text by them.
pub(crate) fn hash(text: &[u8]) -> u64 {
    seeded(KNOWN, text)
}

fn seeded([state, other]: Seeds, text: &[u8]) -> u64 {
    let mix = |state: u64, low: u64, high: u64| fold(low ^ state, high ^ other);
    let of = |state, block: &[u8]| {
        let word = |at: usize| {
            let bytes = (at..at + 8).map(|at| block.get(at).copied().unwrap_or_default());
            bytes.rev().fold(0, |word, byte| word << 8 | u64::from(byte))
        };
        mix(state, word(0), word(8))
    };
    let hash = match text.last_chunk::<16>() {
        None => of(state, text),
        Some(last) => {
            let (blocks, _) = text.as_chunks::<16>();
            of(blocks.iter().fold(state, |state, block| of(state, block)), last)
        }
    };
    hash.wrapping_add((text.len() as u64).wrapping_mul(LENGTH))
}

/// The halves of a product, one over the other.
fn fold(a: u64, b: u64) -> u64 {
    let [low, high] =
        [0, 64].map(|by| (u128::from(a) * u128::from(b)) >> by & u128::from(u64::MAX));
    u64::try_from(low ^ high).expect("64 bits")
}

/// Two texts that look alike in a table of up to 16 slots, the greater first.
pub(super) fn alike() -> [String; 2] {
    static PAIR: OnceLock<[String; 2]> = OnceLock::new();
    PAIR.get_or_init(|| {
        let mut seen = HashMap::new();
        (0_u32..)
            .find_map(|n| {
                let text = format!("{n:x}");
                let before = seen.insert(look(&text), n)?;
                let mut pair = [format!("{before:x}"), text];
                pair.sort_unstable_by(|a, b| b.cmp(a));
                Some(pair)
            })
            .expect("one of 2^20 pairs")
    })
    .clone()
}

/// Where a text is put, and what is put there.
fn look(text: &str) -> (u64, u64) {
    let hash = hash(text.as_bytes());
    (hash >> 60, (hash & 0xffff).max(1))
}

#[cfg(test)]
mod tests {
    use super::{alike, hash, look};

    #[test]
    fn the_hash_is_that_of_the_library() {
        for (text, value) in [
            ("", 0xd6cb_8892_a926_a943),
            ("layers.0", 0x3ec3_1fa4_cc4d_544b),
            ("layers.0.self_attn", 0x0b26_d9d6_53bd_ca58),
        ] {
            assert_eq!(hash(text.as_bytes()), value, "{text}");
        }
    }

    #[test]
    fn texts_that_look_alike() {
        let [one, other] = alike();
        assert_ne!(one, other);
        assert_eq!(look(&one), look(&other));
    }
}
