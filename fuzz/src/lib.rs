//! The oracle that needs libzstd, which is C and so stays out of the library's own workspace, and the setup that all targets share.

use std::io::Read as _;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use zten_zstd::decode::{Bounds, DecodeError, Decoder, Flaw, Frames, decode};
use zten_zstd::encode::{Level, encode};

/// The largest window, and the largest number of bytes to which all frames of one input together may decode, in the fuzz target
/// `zstd`.
const MOST: u64 = 1 << 20;
/// The bounds with which zten decodes frames in this target.
const BOUNDS: Bounds = Bounds { window: MOST, decoded: MOST, declared: None };
/// The smallest window of a frame that is not a single segment: RFC 8878 §3.1.1.1.2.
const SMALLEST_WINDOW: usize = 1 << 10;

/// Lets the oracles of the test kit measure the heap of this program.
pub fn measure_heap() {
    zten_testkit::oracles::measure_heap_by(|run| allocation_counter::measure(run).bytes_max);
}

/// Decodes frames or encodes content, as the first byte of the input says. If libzstd and zten both accept a frame, their output is
/// equal. If libzstd decodes frames to at most 1 KiB, zten does not call them corrupt, unless they have an empty compressed block.
/// `ruzstd` decodes everything that zten decodes, and both other decoders decode what zten encodes. An empty input does nothing.
///
/// # Panics
/// Panics if a promise does not hold.
pub fn zstd(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    if choice.is_multiple_of(2) {
        decoded(bytes, 1 + usize::from(choice >> 1));
    } else {
        encoded(bytes, 1 + (choice >> 1) % 5);
    }
}

/// Decodes frames with all decoders, and compares the results. If zten accepts the frames and the output is shorter than 64 KiB,
/// zten also decodes them in pieces of `piece` bytes.
fn decoded(frames: &[u8], piece: usize) {
    let ours = decode(frames, BOUNDS);
    if let Ok(ours) = &ours {
        assert!(by_ruzstd(frames) == *ours, "`ruzstd` decodes to other bytes");
        if ours.len() < 64 << 10 {
            assert!(
                in_pieces(frames, piece).as_ref() == Ok(ours),
                "decoding in pieces gives another result"
            );
        }
    }
    #[cfg(feature = "zstd-ruzstd")]
    if let (Ok(ours), Some(other)) = (&ours, by_feature(frames)) {
        assert!(other == *ours, "the decoder of the feature decodes to other bytes");
    }
    let mut decoder = zstd::stream::Decoder::with_buffer(frames).expect("memory");
    decoder.window_log_max(MOST.ilog2()).expect("a possible window");
    let mut theirs = Vec::new();
    if decoder.take(MOST + 1).read_to_end(&mut theirs).is_err() {
        // libzstd may reject frames that zten accepts, for example because of checksums in seek tables, which zten
        // does not check here.
        return;
    }
    match ours {
        Ok(ours) => {
            assert!(ours == theirs, "{} bytes, and to libzstd {}", ours.len(), theirs.len());
        }
        // If the output is no larger than the smallest window, no offset can reach back too far, so libzstd and zten
        // must agree. The only exception are empty compressed blocks, which libzstd accepts, and zten does not.
        Err(error) if theirs.len() <= SMALLEST_WINDOW && !has_empty_block(frames, &error) => {
            assert_ne!(error.flaw(), Flaw::Corrupt, "libzstd makes {} bytes", theirs.len());
        }
        Err(_) => {}
    }
}

/// Returns whether `error` was found just after an empty compressed block. A checksum may follow the block if it is
/// the last.
fn has_empty_block(frames: &[u8], error: &DecodeError) -> bool {
    let end = usize::try_from(error.at()).expect("an offset that fits in memory");
    let headers = [3, 7].into_iter().filter_map(|back| frames.get(end.checked_sub(back)?..));
    headers.into_iter().any(|header| matches!(header, [4 | 5, 0, 0, ..]))
}

/// Decodes all frames, which zten has accepted, with `ruzstd`.
fn by_ruzstd(mut frames: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while !frames.is_empty() {
        let mut decoder = FrameDecoder::new();
        decoder.init(&mut frames).expect("a header");
        decoder.decode_blocks(&mut frames, BlockDecodingStrategy::All).expect("blocks");
        all.extend(decoder.collect().expect("a frame"));
    }
    all
}

fn in_pieces(frames: &[u8], piece: usize) -> Result<Vec<u8>, DecodeError> {
    let mut source = |at: u64, buffer: &mut [u8]| {
        let at = usize::try_from(at).expect("an offset that fits in memory");
        buffer.copy_from_slice(&frames[at..][..buffer.len()]);
        Ok(())
    };
    let (mut all, mut buffer, mut tapped) = (Vec::new(), vec![0; piece], Vec::new());
    let opened = Frames::<Decoder>::open(&mut source, 0..frames.len() as u64, BOUNDS);
    let mut opened = opened.map_err(zten_zstd::CallbackFailure::either)?;
    loop {
        let mut tap = |stored: &[u8]| tapped.extend_from_slice(stored);
        let read = opened.read(&mut source, &mut buffer, &mut tap);
        match read.map_err(zten_zstd::CallbackFailure::either)? {
            0 => break,
            read => all.extend_from_slice(&buffer[..read]),
        }
    }
    assert!(tapped == frames, "the tap got other bytes than the stored ones");
    Ok(all)
}

/// Decodes `frames` with the decoder that the feature `zstd-ruzstd` makes zten use in place of its own. Returns
/// `None` if the frames are rejected.
#[cfg(feature = "zstd-ruzstd")]
fn by_feature(frames: &[u8]) -> Option<Vec<u8>> {
    // A 1.1 file may leave out the decoded size, which is not known here.
    let file = zten_testkit::generate::packed(frames, None);
    let limits = zten::Limits::default().with_decoded(MOST);
    let options = zten::OpenOptions::default().limits(limits);
    let archive = options.from_bytes(&file).expect("a file around the frames");
    let component =
        archive.tensor("w").expect("the one tensor").component("data").expect("its one component");
    component.read().ok().map(|decoded| decoded.to_vec())
}

/// Encodes content, and for short content also repetitions of it that are longer than a block, which fuzzers rarely
/// make. Checks that all decoders restore the content.
fn encoded(content: &[u8], level: u8) {
    let level = Level::new(level).expect("a level");
    all(content, level);
    if (64..2048).contains(&content.len()) {
        all(&content.repeat((160 << 10) / content.len()), level);
    }
}

fn all(content: &[u8], level: Level) {
    let frame = encode(content, level).expect("memory");
    assert!(decode(&frame, BOUNDS).as_deref() == Ok(content), "zten decodes to other bytes");
    assert!(by_ruzstd(&frame) == content, "`ruzstd` decodes to other bytes");
    let theirs = zstd::bulk::decompress(&frame, content.len()).expect("libzstd decodes it");
    assert!(theirs == content, "libzstd decodes to other bytes");
}
