//! Compressed components: what the writer makes of them, the reader takes, and another decoder.
#![allow(
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a test that panics has failed, and its numbers are small"
)]

use fastrand::Rng;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use zten::write::{Checksum, Level, WriteOptions, Writer};
use zten::{Archive, DType};

const BLOCK: usize = 128 << 10;
const SIZES: [usize; 8] = [0, 1, 127 << 10, BLOCK, BLOCK + 1, 3 * BLOCK, (1 << 20) + 3, 5 << 20];

/// Bytes of noise, of floats, of mostly zeros, of ascending numbers, of zeros.
fn content(kind: u64, size: usize) -> Vec<u8> {
    let (mut rng, mut sum) = (Rng::with_seed(kind), 0);
    let mut bytes = Vec::new();
    while bytes.len() < size {
        let number = rng.u64(..1 << 32);
        let float = (0..8).map(|_| f32::from(rng.u16(..1000)) - 499.5).sum::<f32>();
        sum += number % 200;
        match kind {
            0 => bytes.extend((number as u32).to_le_bytes()),
            1 => bytes.extend(float.to_le_bytes()),
            2 => bytes.extend((if number.is_multiple_of(5) { float } else { 0.0 }).to_le_bytes()),
            3 => bytes.extend(sum.to_le_bytes()),
            _ => bytes.push(0),
        }
    }
    bytes.truncate(size);
    bytes
}

/// A file of one compressed component, written in pieces.
fn file(bytes: &[u8], level: u8, piece: usize) -> Vec<u8> {
    let settings = WriteOptions::default().checksum(Checksum::Sha256);
    let settings = settings.compressed(Level::new(level).unwrap());
    let mut writer = Writer::new(Vec::new(), &settings).unwrap();
    let shape = [bytes.len() as u64];
    let mut object = writer.begin("x", &shape, DType::U8).unwrap();
    for piece in bytes.chunks(piece) {
        object.write_part("data", piece).unwrap();
    }
    object.finish().unwrap();
    writer.finish().unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "decoding zstd takes minutes there")]
fn every_reader_reads_what_was_written() {
    for kind in 0..5 {
        for size in SIZES {
            let bytes = content(kind, size);
            let level = 1 + (kind + size as u64) % 5;
            let file = file(&bytes, level as u8, 1 << 20);
            let archive = Archive::from_bytes(&file).unwrap();
            archive.verify().unwrap();
            let part = archive.get("x").unwrap().component("data").unwrap();
            assert!(*part.read().unwrap() == bytes, "{kind} {size}");
            // One frame, which tells its size; an empty component is stored as it is.
            if size > 0 {
                let extent = part.extent();
                let mut stored = &file[extent.offset() as usize..extent.end() as usize];
                let mut decoder = FrameDecoder::new();
                decoder.init(&mut stored).unwrap();
                assert_eq!(decoder.content_size(), size as u64);
                decoder.decode_blocks(&mut stored, BlockDecodingStrategy::All).unwrap();
                assert!(stored.is_empty() && decoder.collect().unwrap() == bytes);
            }
        }
    }
}
