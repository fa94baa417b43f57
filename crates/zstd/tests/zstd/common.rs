//! Generated contents of several kinds, and `ruzstd` as a second decoder, which the tests of the encoder and the
//! decoder share.
#![allow(
    dead_code,
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a test that panics has failed, its numbers are small, and each test uses a part"
)]

use fastrand::Rng;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use zten_zstd::decode::Bounds;

/// Bounds that are larger than any window or content in these tests.
pub(crate) const WIDE: Bounds = Bounds { window: 8 << 20, decoded: 64 << 20, declared: None };

/// Decodes the first frame with `ruzstd`. Returns its content and the bytes after it, or `None` if `ruzstd` rejects it.
pub(crate) fn first(mut frames: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut decoder = FrameDecoder::new();
    decoder.init(&mut frames).ok()?;
    decoder.decode_blocks(&mut frames, BlockDecodingStrategy::All).ok()?;
    let all = decoder.collect()?;
    let stored = decoder.get_checksum_from_data();
    (stored.is_none() || stored == decoder.get_calculated_checksum()).then_some((all, frames))
}

/// Decodes all frames with `ruzstd`. Returns `None` if it rejects them or panics.
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

/// Returns a nearly normally distributed number: the sum of twelve uniform ones.
fn normal(rng: &mut Rng) -> f32 {
    let dice: u32 = (0..12).map(|_| rng.u32(..1 << 20)).sum();
    (dice as f32 / (1 << 20) as f32) - 6.0
}

pub(crate) type DataKind = (&'static str, fn(&mut Rng, &mut Vec<u8>));

/// The kinds of content that the tests compress: those that tensors have, and some that tensors rarely have.
pub(crate) const KINDS: &[DataKind] = &[
    ("zeros", |_, out| out.push(0)),
    ("noise", |rng, out| out.extend(rng.u64(..).to_le_bytes())),
    ("f32", |rng, out| out.extend((normal(rng) * 0.02).to_le_bytes())),
    ("bf16", |rng, out| out.extend(&(normal(rng) * 0.02).to_le_bytes()[2..])),
    ("i8", |rng, out| out.push((normal(rng) * 32.0) as i8 as u8)),
    ("mostly zeros", |rng, out| {
        let number = if rng.u64(..5) > 0 { 0.0 } else { normal(rng) };
        out.extend(number.to_le_bytes());
    }),
    ("sorted", |rng, out| {
        let last = out.last_chunk().map_or(0, |last| u64::from_le_bytes(*last));
        out.extend((last + rng.u64(..200)).to_le_bytes());
    }),
    ("indices", |rng, out| out.extend(rng.u32(..4096).to_le_bytes())),
    ("bools", |rng, out| out.push(u8::from(rng.u64(..10) == 0))),
    ("two values", |rng, out| out.push([7, 200][rng.usize(..2)])),
    ("rows that repeat", |rng, out| {
        let at = rng.usize(..=out.len());
        let row = out[at..].iter().copied().take(rng.usize(..3000)).collect::<Vec<_>>();
        out.extend(row);
        out.extend((0..rng.u8(..20)).map(|n| n ^ 0x55));
    }),
    ("one byte in many", |rng, out| {
        let length = rng.usize(..40_000);
        out.resize(out.len() + length, 3);
        out.push(rng.u8(..));
    }),
    ("rare bytes", |rng, out| {
        // Frequencies that fall so fast that the best codes would exceed the allowed length.
        out.push(rng.u64(..).leading_zeros().min(60) as u8 * 3);
    }),
    ("all bytes in turn", |_, out| out.push(out.len() as u8)),
];

pub(crate) fn content((_, make): DataKind, length: usize) -> Vec<u8> {
    let mut rng = Rng::with_seed(length as u64);
    let mut content = Vec::new();
    while content.len() < length {
        make(&mut rng, &mut content);
    }
    content.truncate(length);
    content
}
