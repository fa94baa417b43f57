//! Tests of zstd frames that are built to be expensive: each is rejected or decoded in little memory and in linear time.
#![allow(
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    reason = "a test that panics has failed, and its numbers are small"
)]

use std::sync::atomic::{AtomicUsize, Ordering};

use zten::{Archive, Error, Limits, OpenOptions, ReadAt, verify::Verifier};
use zten_corpus::zstd::{Frame, WINDOW_1_KIB, WINDOW_128_KIB, WINDOW_128_MIB};
use zten_testkit::generate::packed;
use zten_testkit::reads;

/// Returns a frame with a window of 8 MiB and `blocks` blocks. Each block repeats one byte 128 Ki times.
fn repeated(blocks: usize) -> Vec<u8> {
    // `Frame` would keep all content in memory, so it is told that the content is empty.
    let frame = Frame::windowed(13 << 3, 0);
    let block = |frame: Frame, _| frame.block(1, 128 << 10, &[7], &[]);
    (0..blocks).fold(frame, block).end().bytes
}

/// Returns a frame of `blocks` empty raw blocks.
fn empty(blocks: usize) -> Vec<u8> {
    let frame = Frame::windowed(WINDOW_1_KIB, 0);
    (0..blocks).fold(frame, |frame, _| frame.raw(&[])).end().bytes
}

/// Verifies all content of `file`. Returns the result, and the largest number of bytes of heap that were in use at
/// once.
fn check(file: &[u8], limits: Limits) -> (Result<(), Error>, u64) {
    let mut verdict = Ok(());
    let run = || {
        verdict = OpenOptions::default().limits(limits).from_bytes(file).and_then(|archive| {
            let object = archive.get("w").unwrap();
            Verifier::new(archive.manifest()).object(&object, |_, _| ())
        });
    };
    let heap = allocation_counter::measure(run).bytes_max;
    println!("{heap} bytes of heap");
    (verdict, heap)
}

const FIVE_GIB: u64 = 5 << 30;
const BLOCKS: usize = (FIVE_GIB >> 17) as usize;

#[test]
fn a_frame_of_five_gib_is_rejected_in_little_memory() {
    let frame = repeated(BLOCKS);
    assert!(frame.len() < 165_000);
    // The same content in three files: with a declared size that is too small, without a declared size, and with the right size.
    // Decoding ends at the first byte beyond the declared size, ends at the limit (lowered here, so that the test decodes less),
    // and does not start, in this order.
    let lower = Limits::default().with_decoded(64 << 20);
    for (declared, limits, rule) in [
        (Some(64), Limits::default(), "decoded-size"),
        (None, lower, "limit-decoded"),
        (Some(FIVE_GIB), Limits::default(), "limit-decoded"),
    ] {
        let (verdict, heap) = check(&packed(&frame, declared), limits);
        assert_eq!(verdict.unwrap_err().rule(), Some(rule), "declared {declared:?}");
        assert!(heap < 16 << 20, "declared {declared:?}: {heap} bytes of heap");
    }
}

#[test]
fn declared_output_takes_only_a_window_of_memory() {
    let (verdict, heap) = check(&packed(&repeated(512), Some(64 << 20)), Limits::default());
    verdict.unwrap();
    assert!(heap < 16 << 20, "{heap} bytes of heap for an 8 MiB window");
}

#[test]
fn memory_follows_the_declared_output() {
    // The frame asks for a window of 128 MiB, although it has only 1,000 bytes.
    let frame = Frame::windowed(WINDOW_128_MIB, 0).repeat(7, 1000).end().bytes;
    let (verdict, heap) = check(&packed(&frame, Some(1000)), Limits::default());
    verdict.unwrap();
    assert!(heap < 1 << 20, "{heap} bytes of heap for 1,000 bytes");
}

#[test]
fn many_empty_blocks_are_decoded_in_linear_time() {
    let (verdict, heap) = check(&packed(&empty(300_000), Some(0)), Limits::default());
    verdict.unwrap();
    assert!(heap < 1 << 20, "{heap} bytes of heap");
}

/// Returns `count` frames, each of one empty block.
fn frames(count: usize) -> Vec<u8> {
    empty(1).repeat(count)
}

#[test]
fn many_empty_frames_are_decoded_in_linear_time() {
    let (verdict, heap) = check(&packed(&frames(50_000), Some(0)), Limits::default());
    verdict.unwrap();
    assert!(heap < 1 << 20, "{heap} bytes of heap");
}

/// Each read may be a system call, so many small blocks must share one read.
#[test]
fn small_blocks_share_reads() {
    for frames in [empty(3000), frames(1000)] {
        let file = packed(&frames, Some(0));
        let archive = Archive::from_bytes(&file).unwrap();
        let count = AtomicUsize::new(0);
        let source = reads(|offset, buffer| {
            count.fetch_add(1, Ordering::Relaxed);
            file.read_at(offset, buffer)
        });
        let mut verifier = Verifier::new(archive.manifest());
        for object in archive.tensors() {
            verifier.object(&object.read_from(&source), |_, _| ()).unwrap();
        }
        let reads = count.load(Ordering::Relaxed);
        assert!(reads * 50 < file.len(), "{reads} reads of {} bytes", file.len());
    }
}

/// Returns a frame with a window of 128 KiB and one compressed block with the bytes `content`.
fn block(content: &[u8]) -> Vec<u8> {
    Frame::windowed(WINDOW_128_KIB, 0).compressed(content, &[]).end().bytes
}

/// Blocks whose tables and streams claim more than one block may decode to. Each block is rejected with at most 96 KiB of heap,
/// plus twice the block and three times the window. Other decoders allocate what the block claims.
#[test]
fn claims_of_tables_and_streams_allocate_nothing() {
    // A table of literal lengths that consists of zeros up to the end of the block.
    let mut zeros = vec![0x00, 0x01, 0x80, 0x10, 0xfe];
    zeros.resize(128 << 10, 0xff);
    // The largest number of sequences that a block can declare.
    let sequences = [0x00, 0xff, 0xff, 0xff, 0x54, 0, 0, 0, 0x80];
    // Four streams of 200,000 bits, one bit a literal, in a block that declares 100 literals.
    let stored = 100_000_u64;
    let mut literals = (2 | 3 << 2 | 100 << 4 | stored << 22_u64).to_le_bytes()[..5].to_vec();
    literals.extend([0x80, 0x10]);
    literals.extend([24_998_u16; 3].iter().flat_map(|length| length.to_le_bytes()));
    literals.resize(5 + 100_000, 0xff);
    literals.push(0);
    let own = !cfg!(feature = "zstd-ruzstd");
    for content in [&zeros[..], &sequences, &literals] {
        for declared in [None, Some(1000)] {
            let (verdict, heap) = check(&packed(&block(content), declared), Limits::default());
            assert_eq!(verdict.unwrap_err().rule(), Some("zstd-corrupt"));
            let window = declared.unwrap_or(128 << 10);
            let bound = (96 << 10) + 2 * (content.len() as u64).max(128) + 3 * window;
            assert!(heap <= bound || !own, "{heap} bytes of heap, not {bound}");
        }
    }
}
