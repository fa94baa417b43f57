//! The oracle that needs libzstd, which is C and so stays out of the library's own workspace.

use std::io::Read as _;

use zten::write::{Level, NewObject, Settings, Writer};
use zten::{Archive, Limits, StorageType};

/// Bytes that are decoded at most.
const MOST: u64 = 1 << 20;
/// The smallest window that is not the content itself: RFC 8878 §3.1.1.1.2.
const SMALLEST_WINDOW: usize = 1 << 10;

/// Decodes frames, or encodes content, which the first byte of the input decides: what both
/// libzstd and we accept are equal bytes, no block that libzstd decodes is corrupt to us, and libzstd
/// decodes what we encode.
///
/// # Panics
/// Where a promise does not hold.
pub fn zstd(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    if choice.is_multiple_of(2) {
        decoded(bytes);
    } else {
        encoded(bytes, 1 + (choice >> 1) % 5);
    }
}

fn limits() -> Limits {
    let limits = Limits::default().with("decoded", MOST).expect("a known limit");
    limits.with("window", MOST).expect("a known limit")
}

/// Decodes frames both ways.
fn decoded(frames: &[u8]) {
    let file = zten_oracles::file(frames, &manifest(frames.len()));
    let archive = Archive::open(&file).expect("a file around the frames");
    let object = archive.get("w").expect("the one object");
    let component = object.component("data").expect("its one component");
    let ours = component.read_to_vec(&file[..], &limits());
    let mut decoder = zstd::stream::Decoder::with_buffer(frames).expect("memory");
    decoder.window_log_max(MOST.ilog2()).expect("a possible window");
    let mut theirs = Vec::new();
    if decoder.take(MOST + 1).read_to_end(&mut theirs).is_err() {
        // It may refuse more: checksums of tables, say, that no rule of ours is about.
        return;
    }
    match ours {
        Ok(ours) => {
            assert!(ours == theirs, "{} bytes, and to libzstd {}", ours.len(), theirs.len());
        }
        // Within so many bytes nothing can be told to lie before the window.
        Err(error) if theirs.len() <= SMALLEST_WINDOW => {
            let error = zten::Error::from(error);
            assert_ne!(error.id(), Some("zstd-corrupt"), "libzstd makes {} bytes", theirs.len());
        }
        Err(_) => {}
    }
}

/// The manifest of a 1.1 file, which need not say what the frames decode to.
fn manifest(stored: usize) -> Vec<u8> {
    let mut manifest = b"\xa2\x67version\x651.1.0\x67objects\xa1\x61w\xa3\x65shape\x80".to_vec();
    manifest.extend(b"\x66format\x61x\x6acomponents\xa1\x64data\xa4\x65dtype\x62u8");
    manifest.extend(b"\x66offset\x18\x40\x68encoding\x64zstd\x66length\x1b");
    manifest.extend((stored as u64).to_be_bytes());
    manifest
}

/// Encodes content, and what repeats it over more than a block, which fuzzers do not make; and
/// decodes it both ways.
fn encoded(content: &[u8], level: u8) {
    let level = Level::new(level).expect("a level");
    both(content, level);
    if (64..2048).contains(&content.len()) {
        both(&content.repeat((160 << 10) / content.len()), level);
    }
}

fn both(content: &[u8], level: Level) {
    let shape = [content.len() as u64];
    let object = NewObject::dense("w", &shape, StorageType::U8).compressed(level);
    let mut writer = Writer::new(Vec::new(), &Settings::default()).expect("a vector takes all");
    writer.add(&object, &[("data", content)]).expect("a right object");
    let file = writer.finish().expect("the object has ended");
    let archive = Archive::open(&file).expect("what was written");
    let object = archive.get("w").expect("what was written");
    let component = object.component("data").expect("what was written");
    let ours = component.read_to_vec(&file[..], &Limits::default());
    assert!(ours.as_deref() == Ok(content), "we read something else");
    // Nothing is stored as nothing.
    if !content.is_empty() {
        let place = |at: u64| usize::try_from(at).expect("a place in memory");
        let extent = component.extent();
        let frame = &file[place(extent.offset())..place(extent.end())];
        let theirs = zstd::bulk::decompress(frame, content.len()).expect("libzstd reads it");
        assert!(theirs == content, "libzstd reads something else");
    }
}
