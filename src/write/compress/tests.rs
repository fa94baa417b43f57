#![allow(
    clippy::allow_attributes,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a test that panics has failed, and its numbers are small"
)]

use alloc::vec;
use alloc::vec::Vec;

use fastrand::Rng;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::{BLOCK, Encoder, Level, huffman};
use crate::error::{Error, ErrorKind, Misuse};

/// Nearly normal, by twelve dice.
fn normal(chance: &mut Rng) -> f32 {
    let dice: u32 = (0..12).map(|_| chance.u32(..1 << 20)).sum();
    (dice as f32 / (1 << 20) as f32) - 6.0
}

type Kind = (&'static str, fn(&mut Rng, &mut Vec<u8>));

/// What tensors hold, and what they rarely do.
const KINDS: &[Kind] = &[
    ("zeros", |_, out| out.push(0)),
    ("noise", |chance, out| out.extend(chance.u64(..).to_le_bytes())),
    ("f32", |chance, out| out.extend((normal(chance) * 0.02).to_le_bytes())),
    ("bf16", |chance, out| out.extend(&(normal(chance) * 0.02).to_le_bytes()[2..])),
    ("i8", |chance, out| out.push((normal(chance) * 32.0) as i8 as u8)),
    ("mostly zeros", |chance, out| {
        let number = if chance.u64(..5) > 0 { 0.0 } else { normal(chance) };
        out.extend(number.to_le_bytes());
    }),
    ("sorted", |chance, out| {
        let last = out.last_chunk().map_or(0, |last| u64::from_le_bytes(*last));
        out.extend((last + chance.u64(..200)).to_le_bytes());
    }),
    ("indices", |chance, out| out.extend((chance.u64(..4096) as u32).to_le_bytes())),
    ("bools", |chance, out| out.push(u8::from(chance.u64(..10) == 0))),
    ("two values", |chance, out| out.push([7, 200][chance.u64(..2) as usize])),
    ("rows that repeat", |chance, out| {
        let at = chance.usize(..=out.len());
        let row = out[at..].iter().copied().take(chance.u64(..3000) as usize).collect::<Vec<_>>();
        out.extend(row);
        out.extend((0..chance.u64(..20)).map(|n| n as u8 ^ 0x55));
    }),
    ("one byte in many", |chance, out| {
        let length = chance.u64(..40_000) as usize;
        out.resize(out.len() + length, 3);
        out.push(chance.u8(..));
    }),
    ("rare bytes", |chance, out| {
        // Frequencies that fall so fast that codes would be longer than they may be.
        out.push(chance.u64(..).leading_zeros().min(60) as u8 * 3);
    }),
    ("all bytes in turn", |_, out| out.push(out.len() as u8)),
];

fn content((_, make): Kind, length: usize) -> Vec<u8> {
    let mut chance = Rng::with_seed(length as u64);
    let mut content = Vec::new();
    while content.len() < length {
        make(&mut chance, &mut content);
    }
    content.truncate(length);
    content
}

fn compress(content: &[u8], level: u8, piece: usize) -> Vec<u8> {
    let mut frame = Vec::new();
    let mut out = |bytes: &[u8]| {
        frame.extend_from_slice(bytes);
        Ok::<_, Error>(())
    };
    let mut encoder = Encoder::new(Level::new(level).unwrap(), content.len() as u64).unwrap();
    for piece in content.chunks(piece) {
        encoder.write(piece, &mut out).unwrap();
    }
    encoder.finish(&mut out).unwrap();
    frame
}

/// Decodes one frame, by a decoder that is not ours, and expects nothing after it.
fn decompress(frame: &[u8]) -> Vec<u8> {
    let mut rest = frame;
    let mut decoder = FrameDecoder::new();
    decoder.init(&mut rest).unwrap();
    decoder.decode_blocks(&mut rest, BlockDecodingStrategy::All).unwrap();
    assert!(rest.is_empty() && decoder.is_finished());
    decoder.collect().unwrap()
}

const SIZES: &[usize] = &[
    0,
    1,
    2,
    3,
    7,
    8,
    9,
    31,
    32,
    33,
    255,
    256,
    257,
    1023,
    1024,
    1025,
    4096,
    65_791,
    65_792,
    BLOCK - 1024,
    BLOCK - 1,
    BLOCK,
    BLOCK + 1,
    2 * BLOCK,
    (2 * BLOCK) + 1,
    (1 << 20) + 3,
    5 << 20,
];

#[test]
#[cfg_attr(miri, ignore = "it is a matter of sizes")]
fn what_goes_in_comes_out() {
    for kind in KINDS {
        for size in SIZES {
            let content = content(*kind, *size);
            for level in 1..=5 {
                if *size > 1 << 18 && level % 2 == 0 {
                    continue;
                }
                let frame = compress(&content, level, usize::MAX);
                assert!(decompress(&frame) == content, "{} {size} {level}", kind.0);
                let most = content.len() + 14 + 3 * content.len().div_ceil(BLOCK).max(1);
                assert!(frame.len() <= most, "{} {size} {level}: {}", kind.0, frame.len());
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "it is a matter of sizes")]
fn how_it_comes_in_makes_no_difference() {
    for kind in KINDS {
        for size in [1, 300, BLOCK, BLOCK + 1, (1 << 20) + 3] {
            let content = content(*kind, size);
            let frame = compress(&content, 2, usize::MAX);
            for piece in [1, 7, 64 << 10, BLOCK, BLOCK + 1] {
                assert!(compress(&content, 2, piece) == frame, "{} {size} {piece}", kind.0);
            }
        }
    }
}

#[test]
fn short_contents_of_all_sorts() {
    let mut chance = Rng::with_seed(1);
    for round in 0..if cfg!(miri) { 10 } else { 20_000 } {
        let mut content = Vec::new();
        for _ in 0..=chance.u64(..3) {
            let kind = KINDS[chance.usize(..KINDS.len())];
            let length = content.len() + chance.u64(..600) as usize;
            while content.len() < length {
                kind.1(&mut chance, &mut content);
            }
            content.truncate(2000);
        }
        let frame = compress(&content, 1 + (round % 5) as u8, usize::MAX);
        assert!(decompress(&frame) == content, "{round}: {content:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "it is a matter of sizes")]
fn what_can_be_saved_is_saved() {
    // Per mille: a little more than what comes out.
    let most = [
        ("zeros", 1),
        ("noise", 1001),
        ("f32", 895),
        ("bf16", 785),
        ("i8", 895),
        ("mostly zeros", 250),
        ("sorted", 215),
        ("indices", 500),
        ("bools", 115),
        ("two values", 127),
        ("all bytes in turn", 2),
    ];
    for (name, most) in most {
        let kind = KINDS.iter().find(|kind| kind.0 == name).unwrap();
        let size = compress(&content(*kind, 1 << 20), 2, usize::MAX).len();
        let per_mille = size * 1000 / (1 << 20);
        assert!(per_mille <= most, "{name}: {per_mille}");
    }
}

#[test]
fn the_header_gives_the_size() {
    let starts = |size: usize, start: &[u8]| {
        let frame = compress(&vec![0; size], 1, usize::MAX);
        assert_eq!(frame[..4], [0x28, 0xb5, 0x2f, 0xfd]);
        assert_eq!(frame[4..4 + start.len()], *start, "{size}");
    };
    starts(0, &[0x20, 0, 1, 0, 0]);
    starts(1, &[0x20, 1]);
    starts(255, &[0x20, 255]);
    starts(256, &[0x60, 0, 0]);
    starts(65_791, &[0x60, 255, 255]);
    starts(65_792, &[0xa0, 0, 1, 1, 0]);
    starts(256 << 10, &[0xa0, 0, 0, 4, 0]);
    starts((256 << 10) + 1, &[0x80, 0x40, 1, 0, 4, 0]);
    let mut encoder = Encoder::new(Level::default(), 1 << 32).unwrap();
    let mut frame = Vec::new();
    let mut out = |bytes: &[u8]| {
        frame.extend_from_slice(bytes);
        Ok::<_, Error>(())
    };
    encoder.write(&vec![0; BLOCK + 1], &mut out).unwrap();
    assert_eq!(frame[4..14], [0xc0, 0x40, 0, 0, 0, 0, 1, 0, 0, 0]);
}

#[test]
fn misuse_is_told() {
    let misuse = |result: Result<(), Error>| match result.unwrap_err().kind() {
        ErrorKind::Misuse(misuse) => misuse,
        kind => panic!("{kind:?}"),
    };
    for level in [0, 6, 255] {
        assert_eq!(misuse(Level::new(level).map(drop)), Misuse::Level);
    }
    let mut out = |_: &[u8]| Ok::<_, Error>(());
    let mut encoder = Encoder::new(Level::default(), 3).unwrap();
    assert_eq!(misuse(encoder.write(&[0; 4], &mut out)), Misuse::Supply);
    encoder.write(&[0; 2], &mut out).unwrap();
    assert_eq!(misuse(encoder.finish(&mut out)), Misuse::Supply);
}

#[test]
fn codes_are_complete_and_no_longer_than_they_may_be() {
    let mut chance = Rng::with_seed(5);
    for round in 0..if cfg!(miri) { 10 } else { 3000 } {
        let kinds = 2 + chance.u64(..255);
        let steep = chance.u64(..20) as u32;
        let mut counts = [0_u32; 256];
        for count in counts.iter_mut().take(kinds as usize) {
            let bits = chance.u64(..=u64::from(steep));
            *count = 1 + chance.u64(..1 << bits) as u32;
        }
        let lengths = huffman::lengths(&counts).unwrap();
        let used = |length: &&u8| **length > 0;
        let sum: u32 = lengths.iter().filter(used).map(|length| 1 << (11 - length)).sum();
        assert_eq!(sum, 1 << 11, "{round}");
        for (count, length) in counts.iter().zip(lengths) {
            assert_eq!(*count > 0, length > 0, "{round}");
            for (other, longer) in counts.iter().zip(lengths) {
                assert!(*other == 0 || length <= longer || count <= other, "{round}");
            }
        }
    }
    // Of Fibonacci numbers, the best codes are as long as there are numbers.
    let mut counts = [0_u32; 256];
    (counts[0], counts[1]) = (1, 1);
    for n in 2..20 {
        counts[n] = counts[n - 1] + counts[n - 2];
    }
    let lengths = huffman::lengths(&counts).unwrap();
    assert_eq!(lengths.iter().max(), Some(&11));
    let few = [5, 0, 9, 4, 1];
    counts = [0; 256];
    counts[..5].copy_from_slice(&few);
    assert_eq!(huffman::lengths(&counts).unwrap()[..5], [2, 0, 1, 3, 3]);
    counts = [0; 256];
    counts[9] = 4;
    assert!(huffman::lengths(&counts).is_none());
}
