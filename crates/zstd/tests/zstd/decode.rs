//! Tests of the decoder against `ruzstd`: what the decoder accepts, `ruzstd` accepts, too, and decodes to the same
//! bytes.
#![allow(clippy::allow_attributes, clippy::cast_possible_truncation, reason = "numbers are small")]

use std::path::Path;

use crate::common::{KINDS, WIDE, content, first, theirs};
use fastrand::Rng;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use zten_zstd::decode::{Bounds, Flaw, decode};
use zten_zstd::encode::{Level, encode};

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Collects the frames in the files below `folder` that begin at a multiple of 64, as blobs do, and that `ruzstd` decodes. The
/// corpus has frames of other encoders, and some that no encoder writes.
fn corpus(folder: &Path, frames: &mut Vec<Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            corpus(&path, frames);
            continue;
        }
        let file = std::fs::read(&path).unwrap();
        for blob in (0..file.len()).step_by(64).map(|at| &file[at..]) {
            if blob.starts_with(&MAGIC)
                && let Some((_, rest)) = first(blob)
            {
                frames.push(blob[..blob.len() - rest.len()].to_vec());
            }
        }
    }
}

fn frames(rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    corpus(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/accept"), &mut frames);
    assert!(frames.len() > 50, "only {} frames", frames.len());
    for kind in KINDS {
        for level in 1..=5 {
            let content = content(*kind, 10 + rng.usize(..20_000));
            frames.push(encode(&content, Level::new(level).unwrap()).unwrap());
            frames.push(compress_to_vec(&content[..], CompressionLevel::Fastest));
        }
    }
    frames.retain(|frame| frame.len() < 20_000);
    frames.sort();
    frames.dedup();
    frames
}

#[test]
#[cfg_attr(miri, ignore = "decoding takes minutes there")]
fn another_decoder_agrees() {
    let mut rng = Rng::with_seed(5);
    let frames = frames(&mut rng);
    let bounds = Bounds { window: 4 << 20, decoded: 1 << 20, declared: None };
    for frame in &frames {
        let decoded = decode(frame, bounds).ok();
        assert!(decoded.is_none() || decoded == theirs(frame), "{frame:x?}");
    }
    let (mut agreed, mut rejected) = (0, 0);
    std::panic::set_hook(Box::new(|_| {}));
    for _ in 0..60_000 {
        let mut frame = frames[rng.usize(..frames.len())].clone();
        // One of the two changes is in the first 40 bytes, where headers and tables lie.
        for within in [frame.len(), frame.len().min(40)] {
            let at = rng.usize(..within);
            frame[at] = match rng.u8(..3) {
                0 => frame[at] ^ 1 << rng.u8(..8),
                1 => frame[at].wrapping_add(1),
                _ => rng.u8(..),
            };
        }
        match decode(&frame, bounds) {
            Ok(decoded) if theirs(&frame).as_ref() == Some(&decoded) => agreed += 1,
            Ok(_) => {
                drop(std::panic::take_hook());
                panic!("they differ: {frame:x?}");
            }
            Err(_) => rejected += 1,
        }
    }
    drop(std::panic::take_hook());
    assert!(agreed > 5_000 && rejected > 5_000, "{agreed} decoded alike, {rejected} rejected");
}

/// Returns a frame with a window of 1 KiB and the checksum `sum`, whose last block is `block`.
fn checked(block: &[u8], sum: [u8; 4]) -> Vec<u8> {
    let header = (block.len() as u32) << 3 | 2 << 1 | 1;
    [&MAGIC[..], &[4, 0], &header.to_le_bytes()[..3], block, &sum].concat()
}

/// Checks that headers are parsed within their block: a checksum after the block may look like the rest of a header.
#[test]
fn headers_end_with_their_block() {
    let flaw = |block: &[u8], sum| {
        let error = decode(&checked(block, sum), WIDE).unwrap_err();
        (error.flaw(), error.at())
    };
    // A literals header of 3 bytes that is cut after its first byte. If the parser read on into the checksum, the
    // header would give a size of 2^20 - 1 bytes.
    assert_eq!(flaw(&[0x0d], [0xff, 0xff, 7, 0]), (Flaw::Corrupt, 14));
    // No literals, and one sequence whose compression modes are cut off. If the parser read on into the checksum, it
    // would find modes with a reserved bit.
    assert_eq!(flaw(&[0, 1], [3, 0, 0, 0]), (Flaw::Corrupt, 15));
    // If the blocks are complete, other flaws are found.
    assert_eq!(flaw(&[0x0d, 0xff, 0xff, 7, 0], [0; 4]), (Flaw::Block, 6));
    assert_eq!(flaw(&[0, 1, 3], [0; 4]), (Flaw::Reserved, 6));
}

/// Checks that a block is found corrupt however few bytes it may decode to, and that a valid block that decodes to too many bytes
/// is not called corrupt.
#[test]
fn frames_beyond_the_limit_are_validated_to_their_end() {
    // Four raw literals, and one sequence whose three codes are each a repeated one: all four literals, a match of
    // three bytes, and an offset with extra bits.
    let frame = |offset_code, bits| {
        let block = [0x20, b'a', b'b', b'c', b'd', 1, 0x54, 4, offset_code, 0, bits];
        let head = (u32::try_from(block.len()).unwrap() << 3 | 5).to_le_bytes();
        [&MAGIC[..], &[0, 0], &head[..3], &block].concat()
    };
    let decoded = |frame: &[u8], decoded| {
        let bounds = Bounds { window: 1 << 20, decoded, declared: None };
        decode(frame, bounds).map_err(|error| error.flaw())
    };
    // The matches of the two frames have the distance 4, to the first byte, and 5, to a byte before it.
    let (first_byte, before_it) = (frame(2, 0b111), frame(3, 0b1000));
    assert_eq!(decoded(&first_byte, 7), Ok(b"abcdabc".to_vec()));
    assert_eq!(decoded(&first_byte, 5), Err(Flaw::Decoded));
    assert_eq!(decoded(&before_it, 7), Err(Flaw::Corrupt));
    assert_eq!(decoded(&before_it, 5), Err(Flaw::Corrupt));
}

/// Checks that each flaw is reported as the right reason, at the right position and with the right number.
#[test]
fn errors_have_the_offset_of_the_flaw() {
    let content: Vec<u8> = (0..=255).cycle().take(3000).collect();
    let one = encode(&content, Level::default()).unwrap();
    let flaw = |frames: &[u8], bounds: Bounds| {
        let error = decode(frames, bounds).unwrap_err();
        assert!(!error.to_string().is_empty());
        (error.flaw(), error.at(), error.number())
    };
    let end = one.len() as u64;
    let two = [&one[..], &one].concat();
    assert_eq!(decode(&two, WIDE).unwrap().len(), 6000);
    assert_eq!(flaw(&[], WIDE), (Flaw::Magic, 0, 0));
    assert_eq!(flaw(&[&one[..], b"xyz"].concat(), WIDE), (Flaw::Magic, end, 3));
    assert_eq!(flaw(&[&one[..], &[0x5f, 0x2a, 0x4d, 0x18]].concat(), WIDE).0, Flaw::Skippable);
    assert_eq!(flaw(&two[..two.len() - 1], WIDE).0, Flaw::Truncated);
    let edited = |at: usize, byte: u8| {
        let mut frame = one.clone();
        frame[at] = byte;
        flaw(&frame, WIDE)
    };
    assert_eq!(edited(4, one[4] | 8), (Flaw::Reserved, 0, 0));
    assert_eq!(edited(5, 0xb9), (Flaw::ContentSize, 0, 3001));
    assert_eq!(edited(7, one[7] | 6), (Flaw::Reserved, 7, 0));
    let bounds = |window, decoded, declared| Bounds { window, decoded, declared };
    assert_eq!(flaw(&one, bounds(2999, 9999, None)), (Flaw::Window, 0, 3000));
    assert_eq!(flaw(&two, bounds(3000, 5999, None)), (Flaw::Decoded, 0, 6000));
    assert_eq!(flaw(&one, bounds(3000, 2999, Some(3000))), (Flaw::Decoded, 0, 3000));
    assert_eq!(flaw(&one, bounds(3000, 9999, Some(3001))), (Flaw::Declared, 0, 3000));
    assert_eq!(flaw(&one, bounds(3000, 9999, Some(2999))).0, Flaw::Declared);
    let dictionary = [&MAGIC[..], &[1, 0, 7, 1, 0, 0]].concat();
    assert_eq!(flaw(&dictionary, WIDE), (Flaw::Dictionary, 0, 7));
    // The frame has an empty raw block, and a checksum that is not that of an empty content.
    let checksum = [&MAGIC[..], &[4, 0, 1, 0, 0, 0, 0, 0, 0]].concat();
    assert_eq!(flaw(&checksum, WIDE), (Flaw::Checksum, 0, 0));
}
