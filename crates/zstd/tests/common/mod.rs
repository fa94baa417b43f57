//! What the tests share: contents, and another decoder.
#![allow(
    dead_code,
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a test that panics has failed, its numbers are small, and each test uses a part"
)]

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use zten_zstd::decode::Bounds;

/// Bounds that no test comes to.
pub(crate) const WIDE: Bounds = Bounds { window: 8 << 20, decoded: 64 << 20, declared: None };

/// The first frame, decoded by `ruzstd`, and what follows it. None where it refuses.
pub(crate) fn first(mut frames: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut decoder = FrameDecoder::new();
    decoder.init(&mut frames).ok()?;
    decoder.decode_blocks(&mut frames, BlockDecodingStrategy::All).ok()?;
    let all = decoder.collect()?;
    let stored = decoder.get_checksum_from_data();
    (stored.is_none() || stored == decoder.get_calculated_checksum()).then_some((all, frames))
}

/// All frames, decoded by `ruzstd`. None where it refuses, or breaks down.
pub(crate) fn theirs(frames: &[u8]) -> Option<Vec<u8>> {
    let run = || {
        let (mut all, mut rest) = (Vec::new(), frames);
        while !rest.is_empty() {
            let (more, later) = first(rest)?;
            all.extend(more);
            rest = later;
        }
        Some(all)
    };
    std::panic::catch_unwind(run).ok().flatten()
}

/// Numbers that look like chance: `SplitMix64`.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Nearly normal, by twelve dice.
    fn normal(&mut self) -> f32 {
        let dice: u64 = (0..12).map(|_| self.below(1 << 20)).sum();
        (dice as f32 / (1 << 20) as f32) - 6.0
    }
}

pub(crate) type Kind = (&'static str, fn(&mut Chance, &mut Vec<u8>));

/// What tensors hold, and what they rarely do.
pub(crate) const KINDS: &[Kind] = &[
    ("zeros", |_, out| out.push(0)),
    ("noise", |chance, out| out.extend(chance.next().to_le_bytes())),
    ("f32", |chance, out| out.extend((chance.normal() * 0.02).to_le_bytes())),
    ("bf16", |chance, out| out.extend(&(chance.normal() * 0.02).to_le_bytes()[2..])),
    ("i8", |chance, out| out.push((chance.normal() * 32.0) as i8 as u8)),
    ("mostly zeros", |chance, out| {
        let number = if chance.below(5) > 0 { 0.0 } else { chance.normal() };
        out.extend(number.to_le_bytes());
    }),
    ("sorted", |chance, out| {
        let last = out.last_chunk().map_or(0, |last| u64::from_le_bytes(*last));
        out.extend((last + chance.below(200)).to_le_bytes());
    }),
    ("indices", |chance, out| out.extend((chance.below(4096) as u32).to_le_bytes())),
    ("bools", |chance, out| out.push(u8::from(chance.below(10) == 0))),
    ("two values", |chance, out| out.push([7, 200][chance.below(2) as usize])),
    ("rows that repeat", |chance, out| {
        let at = chance.below(out.len() as u64 + 1) as usize;
        let row = out[at..].iter().copied().take(chance.below(3000) as usize).collect::<Vec<_>>();
        out.extend(row);
        out.extend((0..chance.below(20)).map(|n| n as u8 ^ 0x55));
    }),
    ("one byte in many", |chance, out| {
        let length = chance.below(40_000) as usize;
        out.resize(out.len() + length, 3);
        out.push(chance.next() as u8);
    }),
    ("rare bytes", |chance, out| {
        // Frequencies that fall so fast that codes would be longer than they may be.
        out.push(chance.next().leading_zeros().min(60) as u8 * 3);
    }),
    ("all bytes in turn", |_, out| out.push(out.len() as u8)),
];

pub(crate) fn content((_, make): Kind, length: usize) -> Vec<u8> {
    let mut chance = Chance(length as u64);
    let mut content = Vec::new();
    while content.len() < length {
        make(&mut chance, &mut content);
    }
    content.truncate(length);
    content
}
