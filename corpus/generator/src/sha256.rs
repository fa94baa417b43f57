//! SHA-256, for the digests of canonical files: FIPS 180-4.

/// Returns the SHA-256 of `bytes`, as manifests spell it.
pub fn sha256(bytes: &[u8]) -> String {
    let mut message = bytes.to_vec();
    message.push(0x80);
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend((bytes.len() as u64 * 8).to_be_bytes());

    let primes = primes();
    // The constants of SHA-256 are the first 32 bits of the fractional parts of the square roots and cube roots of
    // primes.
    let start: Vec<u32> = primes[..8].iter().map(|prime| fraction(prime << 64, 2)).collect();
    let rounds: Vec<u32> = primes.iter().map(|prime| fraction(prime << 96, 3)).collect();
    let state = message.chunks_exact(64).fold(start, |state, block| mix(&state, block, &rounds));
    state.iter().fold("sha256:".to_owned(), |digest, word| digest + &format!("{word:08x}"))
}

/// Returns the first 64 primes, from which the constants of SHA-256 are computed.
fn primes() -> Vec<u128> {
    (2..).filter(|n| (2..*n).all(|divisor| n % divisor != 0)).take(64).collect()
}

/// Returns the first 32 bits of the fractional part of the root of the degree `degree` (2 or 3) of `value`.
fn fraction(value: u128, degree: u32) -> u32 {
    let root = (0..37).rev().fold(0_u128, |root, bit| {
        let larger = root | 1 << bit;
        if larger.pow(degree) <= value { larger } else { root }
    });
    u32::try_from(root & 0xffff_ffff).expect("32 bits")
}

fn mix(state: &[u32], block: &[u8], rounds: &[u32]) -> Vec<u32> {
    let rotated =
        |word: u32, by: [u32; 3]| by.iter().fold(0, |mixed, &by| mixed ^ word.rotate_right(by));
    let mut words: Vec<u32> = block
        .chunks_exact(4)
        .map(|bytes| u32::from_be_bytes(bytes.try_into().expect("four bytes")))
        .collect();
    for at in 16..64 {
        let (near, far) = (words[at - 15], words[at - 2]);
        let near = near.rotate_right(7) ^ near.rotate_right(18) ^ near >> 3;
        let far = far.rotate_right(17) ^ far.rotate_right(19) ^ far >> 10;
        let sum = words[at - 16].wrapping_add(near).wrapping_add(words[at - 7]);
        words.push(sum.wrapping_add(far));
    }
    let mut now = state.to_vec();
    for (word, round) in words.iter().zip(rounds) {
        let choice = now[4] & now[5] ^ !now[4] & now[6];
        let majority = now[0] & now[1] ^ now[0] & now[2] ^ now[1] & now[2];
        let first = now[7]
            .wrapping_add(rotated(now[4], [6, 11, 25]))
            .wrapping_add(choice)
            .wrapping_add(*round)
            .wrapping_add(*word);
        let second = rotated(now[0], [2, 13, 22]).wrapping_add(majority);
        now.rotate_right(1);
        now[4] = now[4].wrapping_add(first);
        now[0] = first.wrapping_add(second);
    }
    now.iter().zip(state).map(|(new, old)| new.wrapping_add(*old)).collect()
}

#[cfg(test)]
mod tests {
    use super::sha256;
    use crate::base::{DATA, DATA_SHA256};

    #[test]
    fn digests_equal_known_digests() {
        assert_eq!(sha256(&DATA), DATA_SHA256);
        for (length, start) in [
            (0, "sha256:e3b0c44298fc1c14"),
            (55, "sha256:9f4390f8d30c2dd9"),
            (56, "sha256:b35439a4ac6f0948"),
            (63, "sha256:7d3e74a05d7db15b"),
            (64, "sha256:ffe054fe7ae0cb6d"),
            (119, "sha256:31eba51c313a5c08"),
            (120, "sha256:2f3d335432c70b58"),
        ] {
            let digest = sha256(&b"a".repeat(length));
            assert!(digest.starts_with(start), "{length}: {digest}");
        }
    }
}
