//! Tests of one component of many frames that is read on several threads: the bytes and errors are the same as frame by frame, and
//! each frame is read once.

use std::collections::{BTreeSet, HashSet};
use std::sync::Mutex;
use std::thread::{self, ThreadId};
use std::time::Duration;

use fastrand::Rng;
use sha2::{Digest as _, Sha256};
use zten::shards::Source;
use zten::write::{Level, WriteOptions};
use zten::{Archive, Component, Error, Generation, Loader, ReadAt, verify::Verified};
use zten_corpus::base::{dense_object, v1, zstd_component};
use zten_corpus::cbor::text;
use zten_corpus::v2::{encoded, table};
use zten_testkit::reads;
use zten_zstd::encode;

/// The number of frames in files of 1.2: so many that a file of noise is large enough for three threads, and a file of
/// bools, which compress to an eighth, for four.
const FRAMES: usize = 12;
/// The number of bytes of noise in a frame.
const NOISE: usize = 270_000;
/// The number of bools in a frame.
const BOOLS: usize = 350_000;

/// A file with one object `w` of one component, the decoded content of the component, and the offsets of its frames.
struct Made {
    file: Vec<u8>,
    content: Vec<u8>,
    stored: Vec<u64>,
}

/// Returns `length` bytes, half of which are noise.
fn noise(length: usize) -> Vec<u8> {
    let mut rng = Rng::with_seed(1);
    (0..length).map(|at| if at % 8 < 4 { rng.u8(..) } else { 7 }).collect()
}

/// Returns a file of 1.2 with `content` in frames, and a sha256 of the stored bytes.
fn made_v1(dtype: &str, content: Vec<u8>) -> Made {
    let level = encode::Level::new(1).unwrap();
    let (mut frames, mut stored) = (Vec::new(), Vec::new());
    for chunk in content.chunks(content.len().div_ceil(FRAMES)) {
        stored.push(64 + frames.len() as u64);
        frames.extend(encode::encode(chunk, level).unwrap());
    }
    let length = content.len() as u64;
    let data = zstd_component(dtype, 64, frames.len() as u64, length);
    let digest = format!("sha256:{}", zten_testkit::hex(&Sha256::digest(&frames)));
    let file = v1("1.2.0", vec![("w", dense_object(&[length], data))]).blob(64, &frames);
    let file = file.set("w:data/digest", text(&digest)).build("").bytes;
    Made { file, content, stored }
}

/// Returns a file of 2 with `content` in frames, and an xxh3 of the decoded bytes.
fn made_v2(content: Vec<u8>) -> Made {
    let options = WriteOptions::default().generation(Generation::V2);
    let options = options.compressed(Level::new(1).unwrap());
    let write = |shape| zten_testkit::write(&options, |file| file.add("w", shape, &content));
    let file = write(&[content.len() as u64]).unwrap();
    Made { file, content, stored: Vec::new() }
}

/// Returns noise that fills four frames of the writer and part of a fifth.
fn large() -> Vec<u8> {
    noise((4 << 20) + 12_345)
}

/// Returns the only component of a file.
fn only_component<S: ReadAt>(archive: &Archive<S>) -> Component<'_> {
    archive.get("w").unwrap().component("data").unwrap()
}

/// The result of reading a component, by a loader or by the component itself.
type Read = Result<(Vec<u8>, Verified), Error>;

fn read_parallel(file: &[u8], source: &dyn Source, threads: usize) -> Read {
    let archive = Archive::from_bytes(file)?;
    let loader = Loader::new(archive.manifest()).threads(threads);
    let all = loader.read([only_component(&archive).read_from(source)])?;
    let [one] = &all[..] else { panic!("one component") };
    Ok((one.to_vec(), one.verified()))
}

/// Reads a component again and again until at least two threads have taken part, because a busy machine may start the second thread
/// too late.
fn read_by_several(file: &[u8], threads: usize) -> (Noted<'_>, Read) {
    for _ in 0..100 {
        let noted = Noted::new(file);
        let read = read_parallel(file, &noted, threads);
        if noted.threads() > 1 {
            return (noted, read);
        }
    }
    panic!("one thread reads all frames");
}

fn read_alone(file: &[u8]) -> Read {
    let archive = Archive::from_bytes(file)?;
    let decoded = only_component(&archive).read()?;
    Ok((decoded.to_vec(), decoded.verified()))
}

/// A source in memory that records which thread reads which bytes, and sleeps during each recorded read. Short reads are not
/// recorded.
struct Noted<'d> {
    file: &'d [u8],
    /// The reads that are longer than the header of a frame: thread, offset, and number of bytes.
    read: Mutex<Vec<(ThreadId, u64, usize)>>,
}

impl<'d> Noted<'d> {
    fn new(file: &'d [u8]) -> Self {
        Self { file, read: Mutex::default() }
    }

    fn threads(&self) -> usize {
        let read = self.read.lock().unwrap();
        read.iter().map(|(thread, ..)| *thread).collect::<HashSet<_>>().len()
    }

    fn bytes(&self) -> usize {
        self.read.lock().unwrap().iter().map(|(.., bytes)| bytes).sum()
    }
}

impl ReadAt for Noted<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        if buffer.len() > 4096 {
            self.read.lock().unwrap().push((thread::current().id(), offset, buffer.len()));
            thread::sleep(Duration::from_millis(5));
        }
        self.file.read_at(offset, buffer)
    }
}

#[test]
fn several_threads_read_what_one_thread_reads() {
    for made in [made_v1("u8", noise(FRAMES * NOISE)), made_v2(large())] {
        let wanted = Ok((made.content.clone(), Verified::Digest));
        assert_eq!(read_alone(&made.file), wanted);
        for threads in [1, 2, 5] {
            assert_eq!(read_parallel(&made.file, &made.file, threads), wanted);
            let archive = Archive::from_bytes(&made.file).unwrap();
            let mut buffer = vec![0xaa; made.content.len()];
            let noted = Noted::new(&made.file);
            let mut targets = [(only_component(&archive).read_from(&noted), &mut buffer[..])];
            let loader = Loader::new(archive.manifest()).threads(threads);
            loader.read_into(&mut targets).unwrap();
            assert_eq!(buffer, made.content);
            assert!(noted.threads() <= threads);
        }
    }
}

#[test]
fn idle_threads_decode_frames_and_each_frame_is_read_once() {
    let made = made_v1("u8", noise(FRAMES * NOISE));
    let (noted, found) = read_by_several(&made.file, 2);
    assert_eq!(found.unwrap().0, made.content);
    assert_eq!(noted.threads(), 2);
    let mut read: Vec<u64> = noted.read.lock().unwrap().iter().map(|(_, at, _)| *at).collect();
    read.sort_unstable();
    assert_eq!(read, made.stored);
    let made = made_v2(large());
    let (noted, found) = read_by_several(&made.file, 3);
    assert_eq!(found.unwrap().0, made.content);
    assert!(noted.bytes() <= made.file.len());
}

/// Memory must be bounded by the stored bytes, so frames that claim to be much larger are decoded one after another, on one thread.
#[test]
fn frames_with_large_claims_are_decoded_by_one_thread() {
    let zeros = vec![0; FRAMES * NOISE];
    // The second content is noise, except for one frame of zeros.
    let mut noise = noise(FRAMES * NOISE);
    noise[3 * NOISE..4 * NOISE].fill(0);
    for content in [zeros, noise] {
        let made = made_v1("u8", content);
        let noted = Noted::new(&made.file);
        assert_eq!(read_parallel(&made.file, &noted, 4), read_alone(&made.file));
        assert!(noted.threads() <= 1);
    }
}

#[test]
fn damage_is_the_same_error() {
    let mut rng = Rng::with_seed(2);
    let mut failed = BTreeSet::new();
    for made in [made_v1("u8", noise(FRAMES * NOISE)), made_v2(large())] {
        let archive = Archive::from_bytes(&made.file).unwrap();
        let extent = only_component(&archive).extent().range();
        let ends = [extent.start, extent.end].map(|end| usize::try_from(end).unwrap());
        for round in 0..60 {
            let mut file = made.file.clone();
            // The damaged byte is in the header of a frame, in the seek table, or anywhere.
            let at = match round % 3 {
                0 if !made.stored.is_empty() => {
                    usize::try_from(*rng.choice(&made.stored).unwrap()).unwrap() + rng.usize(..12)
                }
                1 => ends[1] - 1 - rng.usize(..40),
                _ => rng.usize(ends[0]..ends[1]),
            };
            file[at] ^= 1 << rng.u8(..8);
            let found = read_parallel(&file, &file, 3);
            assert_eq!(found, read_alone(&file), "byte {at}");
            failed.extend(found.err().and_then(|error| error.rule()));
        }
    }
    for rule in ["digest-mismatch", "zstd-magic", "seek-table", "zstd-checksum"] {
        assert!(failed.contains(rule), "{rule}: {failed:?}");
    }
}

/// Returns a frame with `content`, and a checksum if `has_checksum` is true.
fn frame(content: &[u8], has_checksum: bool) -> Vec<u8> {
    let level = encode::Level::new(1).unwrap();
    let encoder = encode::Encoder::new(level, content.len() as u64).unwrap();
    let mut encoder = if has_checksum { encoder.with_checksum() } else { encoder };
    let mut frame = Vec::new();
    let mut out = |bytes: &[u8]| {
        frame.extend_from_slice(bytes);
        Ok::<(), ()>(())
    };
    assert!(encoder.write(content, &mut out).is_ok() && encoder.finish(&mut out).is_ok());
    frame
}

/// In generation 2, each entry of the seek table is one frame, and each frame has a checksum.
#[test]
fn frames_of_a_table_are_single_and_have_checksums() {
    let content = noise(FRAMES * NOISE);
    let build = |wrong: Option<usize>, split: usize| {
        let (mut stored, mut sizes) = (Vec::new(), Vec::new());
        for (index, chunk) in content.chunks(NOISE).enumerate() {
            let (begin, is_wrong) = (stored.len(), Some(index) == wrong);
            for piece in chunk.chunks(if is_wrong { split } else { NOISE }) {
                stored.extend(frame(piece, !is_wrong || split < NOISE));
            }
            sizes.push((stored.len() - begin, chunk.len()));
        }
        stored.extend(table(&sizes, 0));
        let file = encoded(content.len() as u64, &stored);
        file.start((4096 + stored.len()).next_multiple_of(4096)).bytes()
    };
    let valid = build(None, NOISE);
    let (noted, found) = read_by_several(&valid, 2);
    assert_eq!(found, Ok((content.clone(), Verified::NoDigest)));
    assert_eq!(noted.threads(), 2);
    for wrong in [build(Some(5), NOISE), build(Some(5), NOISE / 2)] {
        let found = read_parallel(&wrong, &wrong, 3);
        assert_eq!(found, read_alone(&wrong));
        assert_eq!(found.unwrap_err().rule(), Some("zstd-frame-single"));
    }
    // The checksum is at the end of a frame, just before the magic of the next one. Here it is the checksum of the fourth frame.
    let mut wrong = valid;
    let magic = [0x28, 0xb5, 0x2f, 0xfd];
    let mut frames = (4096..).zip(wrong.windows(4).skip(4096)).filter(|(_, four)| *four == magic);
    let (fifth, _) = frames.nth(4).unwrap();
    wrong[fifth - 1] ^= 1;
    let error = read_parallel(&wrong, &wrong, 2).unwrap_err();
    assert_eq!(error.rule(), Some("zstd-checksum"));
    assert_eq!(Err(error), read_alone(&wrong));
}

/// An empty frame is validated like any other, even if it is the last of more frames than several threads have enough work for.
#[test]
fn empty_frames_are_validated() {
    const LITTLE: usize = 26_650;
    // The frames are stored in just over 16 KiB each, so an empty frame lowers the average to less than what several threads need.
    // Together they have enough bytes for three threads.
    let content = noise(120 * LITTLE);
    let (mut stored, mut sizes) = (Vec::new(), Vec::new());
    for chunk in content.chunks(LITTLE).chain([&[][..]]) {
        let frame = frame(chunk, true);
        sizes.push((frame.len(), chunk.len()));
        stored.extend(frame);
    }
    assert_eq!(stored.len() / (16 << 10), 120);
    *stored.last_mut().unwrap() ^= 1;
    stored.extend(table(&sizes, 0));
    let file = encoded(content.len() as u64, &stored);
    let file = file.start((4096 + stored.len()).next_multiple_of(4096)).bytes();
    let found = read_parallel(&file, &file, 3);
    assert_eq!(found, read_alone(&file));
    assert_eq!(found.unwrap_err().rule(), Some("zstd-checksum"));
}

/// A frame has a bool of 3, and another frame before or after it is corrupt. One thread and several threads report the same error.
#[test]
fn one_thread_and_several_report_the_same_of_two_errors() {
    let mut rng = Rng::with_seed(3);
    let mut content: Vec<u8> = (0..FRAMES * BOOLS).map(|_| rng.u8(..2)).collect();
    let valid = made_v1("bool", content.clone());
    let (noted, found) = read_by_several(&valid.file, 2);
    assert_eq!(found, read_alone(&valid.file));
    assert_eq!(noted.threads(), 2);
    content[BOOLS * 6 + 5] = 3;
    let made = made_v1("bool", content);
    assert_eq!(read_alone(&made.file).unwrap_err().rule(), Some("bool-value"));
    for frame in [2, 6, 9] {
        let mut file = made.file.clone();
        // Changes the content size in the header of a frame, which then decodes to fewer bytes than it declares.
        file[usize::try_from(made.stored[frame]).unwrap() + 5] ^= 1;
        assert_eq!(read_parallel(&file, &file, 4), read_alone(&file), "frame {frame}");
    }
    assert_eq!(read_parallel(&made.file, &made.file, 4), read_alone(&made.file));
}

#[test]
fn verified_bytes_are_the_bytes_that_were_read() {
    for made in [made_v1("u8", noise(FRAMES * NOISE)), made_v2(large())] {
        let mut right = 0;
        for lie in 0..60 {
            let count = Mutex::new(0);
            let source = reads(|offset, buffer| {
                made.file.read_at(offset, buffer)?;
                let mut count = count.lock().unwrap();
                *count += 1;
                if *count == lie {
                    buffer[buffer.len() / 2] ^= 1;
                }
                Ok(())
            });
            if let Ok(read) = read_parallel(&made.file, &source, 3) {
                assert!(read == (made.content.clone(), Verified::Digest), "lie {lie}");
                right += 1;
            }
        }
        assert!(right > 1, "{right}");
    }
}
