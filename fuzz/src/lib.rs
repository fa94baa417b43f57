//! The oracle that needs libzstd, which is C and so stays out of the library's own workspace; and what all targets do first.

use std::io::Read as _;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use zten_zstd::decode::{Bounds, DecodeError, Decoder, Flaw, Frames, decode};
use zten_zstd::encode::{Level, encode};

/// Bytes that are decoded at most.
const MOST: u64 = 1 << 20;
const BOUNDS: Bounds = Bounds { window: MOST, decoded: MOST, declared: None };
/// The smallest window that is not the content itself: RFC 8878 §3.1.1.1.2.
const SMALLEST_WINDOW: usize = 1 << 10;

/// Lets the oracles measure the heap.
pub fn measure_heap() {
    zten_testkit::oracles::measure_heap_by(|run| allocation_counter::measure(run).bytes_max);
}

/// Decodes frames, or encodes content, which the first byte of the input decides. What both libzstd
/// and we accept are equal bytes, no block that libzstd decodes is corrupt to us, `ruzstd` decodes
/// all that we do, and both decode what we encode.
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

/// Decodes frames by all decoders, and by ours in pieces.
fn decoded(frames: &[u8], piece: usize) {
    let ours = decode(frames, BOUNDS);
    if let Ok(ours) = &ours {
        assert!(by_ruzstd(frames) == *ours, "`ruzstd` makes something else");
        if ours.len() < 64 << 10 {
            assert!(in_pieces(frames, piece).as_ref() == Ok(ours), "pieces make a difference");
        }
    }
    #[cfg(feature = "zstd-ruzstd")]
    if let (Ok(ours), Some(other)) = (&ours, by_feature(frames)) {
        assert!(other == *ours, "the decoder of the feature makes something else");
    }
    let mut decoder = zstd::stream::Decoder::with_buffer(frames).expect("memory");
    decoder.window_log_max(MOST.ilog2()).expect("a possible window");
    let mut theirs = Vec::new();
    if decoder.take(MOST + 1).read_to_end(&mut theirs).is_err() {
        // It may reject more: checksums of tables, say, that no rule of ours is about.
        return;
    }
    match ours {
        Ok(ours) => {
            assert!(ours == theirs, "{} bytes, and to libzstd {}", ours.len(), theirs.len());
        }
        // In output of at most the smallest window, no offset can be too far back. libzstd accepts
        // empty compressed blocks.
        Err(error) if theirs.len() <= SMALLEST_WINDOW && !has_empty_block(frames, &error) => {
            assert_ne!(error.flaw(), Flaw::Corrupt, "libzstd makes {} bytes", theirs.len());
        }
        Err(_) => {}
    }
}

/// Returns whether an error lies behind a compressed block of no bytes. A checksum may follow the
/// last block.
fn has_empty_block(frames: &[u8], error: &DecodeError) -> bool {
    let end = usize::try_from(error.at()).expect("a place in memory");
    let headers = [3, 7].into_iter().filter_map(|back| frames.get(end.checked_sub(back)?..));
    headers.into_iter().any(|header| matches!(header, [4 | 5, 0, 0, ..]))
}

/// All frames, which ours has accepted.
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
        let at = usize::try_from(at).expect("a place in memory");
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
    assert!(tapped == frames, "what was stored is not what was seen");
    Ok(all)
}

/// Decodes frames by the decoder with which a feature of `zten` replaces ours.
#[cfg(feature = "zstd-ruzstd")]
fn by_feature(frames: &[u8]) -> Option<Vec<u8>> {
    // A 1.1 file need not say what the frames decode to.
    let file = zten_testkit::generate::packed(frames, None);
    let limits = zten::Limits::default().with_decoded(MOST);
    let options = zten::OpenOptions::default().limits(limits);
    let archive = options.from_bytes(&file).expect("a file around the frames");
    let component =
        archive.tensor("w").expect("the one tensor").component("data").expect("its one component");
    component.read().ok().map(|decoded| decoded.to_vec())
}

/// Encodes content, and what repeats it over more than a block, which fuzzers do not make; and
/// decodes it by all decoders.
fn encoded(content: &[u8], level: u8) {
    let level = Level::new(level).expect("a level");
    all(content, level);
    if (64..2048).contains(&content.len()) {
        all(&content.repeat((160 << 10) / content.len()), level);
    }
}

fn all(content: &[u8], level: Level) {
    let frame = encode(content, level).expect("memory");
    assert!(decode(&frame, BOUNDS).as_deref() == Ok(content), "we decode something else");
    assert!(by_ruzstd(&frame) == content, "`ruzstd` decodes something else");
    let theirs = zstd::bulk::decompress(&frame, content.len()).expect("libzstd decodes it");
    assert!(theirs == content, "libzstd decodes something else");
}
