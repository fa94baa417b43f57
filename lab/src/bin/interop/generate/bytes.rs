//! Makes bytes of elements: noise, and every kind of content that can be compressed.

use fastrand::Rng;

/// Returns bytes of one kind.
pub(super) fn bytes(rng: &mut Rng, length: usize) -> Vec<u8> {
    match rng.u8(..10) {
        0 => vec![0; length],
        1 => vec![rng.u8(..); length],
        2 => periodic(rng, length),
        3 => weights(rng, length),
        4 => steps(rng, length),
        5 => repeats(rng, length),
        6 => words(rng, length),
        7 => (0..length).map(|_| if rng.u8(..20) == 0 { rng.u8(..) } else { 0 }).collect(),
        _ => noise(rng, length),
    }
}

fn noise(rng: &mut Rng, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    rng.fill(&mut bytes);
    bytes
}

fn periodic(rng: &mut Rng, length: usize) -> Vec<u8> {
    let size = rng.usize(1..50);
    let period = noise(rng, size);
    period.iter().copied().cycle().take(length).collect()
}

/// Returns numbers around 0, like the weights of models: similar exponents and different mantissas.
fn weights(rng: &mut Rng, length: usize) -> Vec<u8> {
    let near_0 = |rng: &mut Rng| rng.f32() + rng.f32() + rng.f32() - 1.5;
    let wide = rng.bool();
    let mut bytes = Vec::with_capacity(length + 4);
    while bytes.len() < length {
        let number = near_0(rng);
        if wide {
            bytes.extend(number.to_le_bytes());
        } else {
            bytes.extend(half::bf16::from_f32(number).to_le_bytes());
        }
    }
    bytes.truncate(length);
    bytes
}

/// Returns numbers that increase slowly, like indices.
fn steps(rng: &mut Rng, length: usize) -> Vec<u8> {
    let mut number = rng.u64(..1 << 20);
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        number += rng.u64(..4);
        bytes.extend(number.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Returns noise in which pieces are repeated, at short and long distances, and with gaps of any length.
fn repeats(rng: &mut Rng, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let most = if rng.u8(..10) == 0 { 70_000 } else { 100 };
        let size = rng.usize(1..most).min(length - bytes.len());
        if bytes.len() > size && rng.u8(..4) > 0 {
            let from = rng.usize(..bytes.len() - size);
            bytes.extend_from_within(from..from + size);
        } else {
            bytes.extend((0..size.min(300)).map(|_| rng.u8(..)));
        }
    }
    bytes
}

/// Returns words of a small vocabulary.
fn words(rng: &mut Rng, length: usize) -> Vec<u8> {
    let mut word = || (0..rng.usize(1..9)).map(|_| rng.u8(b'a'..=b'z')).collect::<Vec<u8>>();
    let language: Vec<Vec<u8>> = (0..200).map(|_| word()).collect();
    let mut bytes = Vec::with_capacity(length + 10);
    while bytes.len() < length {
        // The first words are the most frequent.
        let rank = rng.usize(..200) * rng.usize(..200) / 200;
        bytes.extend(&language[rank]);
        bytes.push(b' ');
    }
    bytes.truncate(length);
    bytes
}
