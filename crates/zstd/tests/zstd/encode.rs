//! Tests of the encoder: our decoder and `ruzstd` restore the content from its frames, and a frame is no longer than the test
//! allows for the kind of its content.
#![allow(clippy::allow_attributes, clippy::cast_possible_truncation, reason = "numbers are small")]

use crate::common::{KINDS, WIDE, content, theirs};
use fastrand::Rng;
use zten_zstd::decode::decode;
use zten_zstd::encode::{EncodeError, Encoder, Level, Seekable};

const BLOCK: usize = 128 << 10;

fn compress(content: &[u8], level: u8, piece: usize) -> Vec<u8> {
    let mut frame = Vec::new();
    let mut out = |bytes: &[u8]| {
        frame.extend_from_slice(bytes);
        Ok::<_, EncodeError>(())
    };
    let mut encoder = Encoder::new(Level::new(level).unwrap(), content.len() as u64).unwrap();
    for piece in content.chunks(piece) {
        encoder.write(piece, &mut out).unwrap();
    }
    encoder.finish(&mut out).unwrap();
    frame
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
fn encoded_content_is_decoded_unchanged() {
    for kind in KINDS {
        for size in SIZES {
            let content = content(*kind, *size);
            for level in 1..=5 {
                if *size > 1 << 18 && level % 2 == 0 {
                    continue;
                }
                let frame = compress(&content, level, usize::MAX);
                assert!(theirs(&frame).unwrap() == content, "{} {size} {level}", kind.0);
                assert!(decode(&frame, WIDE).unwrap() == content, "{} {size} {level}", kind.0);
                let most = content.len() + 14 + 3 * content.len().div_ceil(BLOCK).max(1);
                assert!(frame.len() <= most, "{} {size} {level}: {}", kind.0, frame.len());
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "it is a matter of sizes")]
fn the_sizes_of_pieces_make_no_difference() {
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
fn short_content_of_every_kind_is_encoded() {
    let mut rng = Rng::with_seed(1);
    for round in 0..if cfg!(miri) { 10 } else { 20_000 } {
        let mut content = Vec::new();
        for _ in 0..=rng.u8(..3) {
            let kind = KINDS[rng.usize(..KINDS.len())];
            let length = content.len() + rng.usize(..600);
            while content.len() < length {
                kind.1(&mut rng, &mut content);
            }
            content.truncate(2000);
        }
        let frame = compress(&content, 1 + rng.u8(..5), usize::MAX);
        assert!(theirs(&frame).unwrap() == content, "{round}: {content:?}");
        assert!(decode(&frame, WIDE).unwrap() == content, "{round}: {content:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "it is a matter of sizes")]
fn compressible_content_becomes_smaller() {
    // The largest size of each kind of content after compression, in thousandths of its size before: a little more
    // than the encoder needs now.
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
        Ok::<_, EncodeError>(())
    };
    encoder.write(&vec![0; BLOCK + 1], &mut out).unwrap();
    assert_eq!(frame[4..14], [0xc0, 0x40, 0, 0, 0, 0, 1, 0, 0, 0]);
}

#[test]
fn wrong_lengths_and_levels_are_errors() {
    assert!([0, 6, 255].into_iter().all(|level| Level::new(level).is_none()));
    let mut out = |_: &[u8]| Ok::<_, EncodeError>(());
    let mut encoder = Encoder::new(Level::default(), 3).unwrap();
    let more = encoder.write(&[0; 4], &mut out).unwrap_err();
    assert_eq!(more.either(), EncodeError::Length);
    encoder.write(&[0; 2], &mut out).unwrap();
    assert_eq!(encoder.finish(&mut out).unwrap_err().either(), EncodeError::Length);
}

/// Encodes `content`, passed in pieces of `piece` bytes, in the seekable format.
fn seekable(content: &[u8], piece: usize) -> Vec<u8> {
    let mut frames = Vec::new();
    let mut out = |bytes: &[u8]| {
        frames.extend_from_slice(bytes);
        Ok::<_, EncodeError>(())
    };
    let mut encoder = Seekable::new(Level::default(), content.len() as u64).unwrap();
    for piece in content.chunks(piece) {
        encoder.write(piece, &mut out).unwrap();
    }
    encoder.finish(&mut out).unwrap();
    frames
}

#[test]
#[cfg_attr(miri, ignore = "it is a matter of sizes")]
fn seekable_frames_are_those_of_their_table() {
    const FRAME: usize = 1 << 20;
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap()) as usize;
    for size in [0, 1, 1000, FRAME - 1, FRAME, FRAME + 1, 2 * FRAME, 2 * FRAME + 5] {
        let bytes: Vec<u8> = (0..size).map(|at| ((at * at) >> 7) as u8).collect();
        let frames = seekable(&bytes, 1000);
        assert_eq!(frames, seekable(&bytes, 1 << 30), "pieces make no difference");
        let count = size.div_ceil(FRAME);
        let table = frames.len() - (8 + 12 * count + 9);
        let (stored, table) = frames.split_at(table);
        assert_eq!(table[..4], [0x5e, 0x2a, 0x4d, 0x18]);
        assert_eq!(number(&table[4..8]), 12 * count + 9);
        let mut at = 0;
        for (entry, content) in table[8..].chunks(12).zip(bytes.chunks(FRAME)) {
            let frame = &stored[at..at + number(&entry[..4])];
            assert_eq!(number(&entry[4..8]), content.len());
            // Each frame is independent, and has a checksum that both decoders verify.
            assert_eq!(frame[4] & 4, 4);
            assert_eq!(frame[frame.len() - 4..], entry[8..]);
            assert!(decode(frame, WIDE).unwrap() == content);
            assert!(theirs(frame).unwrap() == content);
            at += frame.len();
        }
        assert_eq!(at, stored.len());
    }
    let short = Seekable::new(Level::default(), 5).unwrap();
    assert!(short.finish(&mut |_| Ok::<_, EncodeError>(())).is_err());
    let mut long = Seekable::new(Level::default(), 1).unwrap();
    assert!(long.write(&[1, 2], &mut |_| Ok::<_, EncodeError>(())).is_err());
}
