//! The zstd decoder against another: what ours accepts, that one accepts, and the bytes are equal.
#![cfg(feature = "zstd")]
#![allow(
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    reason = "a test that panics has failed, and its numbers are small"
)]

use fastrand::Rng;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use zten::{Archive, Encoding, Error, Limits};
use zten_testkit::{accepted, packed};

fn ours(frame: &[u8]) -> Result<Vec<u8>, Error> {
    let file = packed(frame, None);
    let limits = Limits::default().with("decoded", 1 << 20)?.with("window", 1 << 22)?;
    let archive = Archive::open(&file)?;
    let component = archive.get("w").unwrap().component("data").unwrap();
    Ok(component.read_to_vec(&file[..], &limits)?)
}

/// None where it refuses, or breaks down.
fn theirs(frame: &[u8]) -> Option<Vec<u8>> {
    let run = || {
        let (mut all, mut rest) = (Vec::new(), frame);
        while !rest.is_empty() {
            let mut decoder = FrameDecoder::new();
            decoder.init(&mut rest).ok()?;
            decoder.decode_blocks(&mut rest, BlockDecodingStrategy::All).ok()?;
            all.extend(decoder.collect()?);
            let stored = decoder.get_checksum_from_data();
            if stored.is_some() && stored != decoder.get_calculated_checksum() {
                return None;
            }
        }
        Some(all)
    };
    std::panic::catch_unwind(run).ok().flatten()
}

/// Frames of the reference writers, and of another encoder.
fn frames(random: &mut Rng) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for file in accepted() {
        let archive = Archive::open(&file.bytes).unwrap();
        for part in archive.objects().flat_map(|object| object.components()) {
            if part.encoding() == Encoding::Zstd {
                let range = part.extent().range();
                frames.push(file.bytes[range.start as usize..range.end as usize].to_vec());
            }
        }
    }
    for kind in 0..40 {
        let (count, most) = (random.u64(10..20_010), random.u64(1..41));
        let mut byte = |place: u64| match kind % 2 {
            0 => random.u64(..most),
            _ => (place / (1 + most)) ^ u64::from(random.u8(..7) == 0),
        };
        let content: Vec<u8> = (0..count).map(|place| byte(place) as u8).collect();
        frames.push(compress_to_vec(&content[..], CompressionLevel::Fastest));
    }
    frames.retain(|frame| frame.len() < 20_000);
    frames.sort();
    frames.dedup();
    frames
}

#[test]
#[cfg_attr(miri, ignore = "decoding zstd takes minutes there")]
fn another_decoder_agrees() {
    let mut random = Rng::with_seed(5);
    let frames = frames(&mut random);
    assert!(frames.len() > 100, "only {} frames", frames.len());
    for frame in &frames {
        let decoded = ours(frame).ok();
        assert!(decoded.is_none() || decoded == theirs(frame), "{frame:x?}");
    }
    let (mut agreed, mut refused) = (0, 0);
    std::panic::set_hook(Box::new(|_| {}));
    for _ in 0..60_000 {
        let mut frame = frames[random.usize(..frames.len())].clone();
        // Headers and tables stand in front.
        for within in [frame.len(), frame.len().min(40)] {
            let at = random.usize(..within);
            frame[at] = match random.u8(..3) {
                0 => frame[at] ^ 1 << random.u8(..8),
                1 => frame[at].wrapping_add(1),
                _ => random.u8(..),
            };
        }
        match ours(&frame) {
            Ok(decoded) if theirs(&frame).as_ref() == Some(&decoded) => agreed += 1,
            Ok(_) => {
                drop(std::panic::take_hook());
                panic!("they differ: {frame:x?}");
            }
            Err(_) => refused += 1,
        }
    }
    println!("{agreed} decoded alike, {refused} refused");
    assert!(agreed > 5_000 && refused > 5_000, "{agreed} decoded alike, {refused} refused");
}
