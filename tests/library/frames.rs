//! Tests of slices of components in frames: only the frames with requested elements are decoded, and each of these frames is
//! verified as a whole. v2 §8.2.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use zten::{Archive, Encoding, Error, Limits, OpenOptions, ReadAt, Tensor};
use zten::{verify::Verified, verify::Verifier};
use zten_corpus::cbor::uints;
use zten_corpus::v2::{encoded, frame, table};
use zten_testkit::reads;

/// The number of decoded bytes of each frame but the last, which has fewer.
const FRAME: usize = 100;
/// The number of decoded bytes of the last frame.
const LAST: usize = 50;
/// The number of frames of the array.
const FRAMES: usize = 11;
/// The number of bytes of each row of the array.
const ROW: usize = 10;

/// A source that records which bytes were read.
struct Noted<'d> {
    bytes: &'d [u8],
    read: Mutex<Vec<Range<u64>>>,
}

impl<'d> Noted<'d> {
    fn new(bytes: &'d [u8]) -> Self {
        Self { bytes, read: Mutex::default() }
    }
}

impl ReadAt for Noted<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.read.lock().unwrap().push(offset..offset + buffer.len() as u64);
        self.bytes.read_at(offset, buffer)
    }
}

/// A file with an array of 105 rows of 10 bytes in 11 frames, its content, and the range of each frame.
struct Made {
    file: Vec<u8>,
    content: Vec<u8>,
    frames: Vec<Range<u64>>,
}

fn made() -> Made {
    let length = FRAME * (FRAMES - 1) + LAST;
    let content: Vec<u8> = (0..length).map(|at| (at * 7 % 251).to_le_bytes()[0]).collect();
    let (mut stored, mut sizes, mut frames) = (Vec::new(), Vec::new(), Vec::new());
    for chunk in content.chunks(FRAME) {
        let frame = frame(chunk);
        let start = 4096 + stored.len() as u64;
        frames.push(start..start + frame.len() as u64);
        sizes.push((frame.len(), chunk.len()));
        stored.extend(frame);
    }
    stored.extend(table(&sizes, 0));
    let rows = (length / ROW) as u64;
    let file = encoded(length as u64, &stored).set("w:/shape", uints(&[rows, ROW as u64]));
    Made { file: file.start(8192).bytes(), content, frames }
}

impl Made {
    /// Returns the bytes of the rows `rows` and columns `columns`.
    fn part(&self, rows: Range<u64>, columns: Range<u64>) -> Vec<u8> {
        let part = |row: u64| {
            let start = usize::try_from(row).unwrap() * ROW;
            let columns =
                usize::try_from(columns.start).unwrap()..usize::try_from(columns.end).unwrap();
            self.content[start..start + ROW][columns].to_vec()
        };
        rows.flat_map(part).collect()
    }

    /// Returns the frames of which any byte was read.
    fn touched(&self, source: &Noted<'_>) -> BTreeSet<usize> {
        let read = source.read.lock().unwrap();
        let touches = |frame: &Range<u64>| {
            read.iter().any(|read| read.start < frame.end && frame.start < read.end)
        };
        (0..self.frames.len()).filter(|at| touches(&self.frames[*at])).collect()
    }
}

#[test]
fn slices_decode_the_frames_that_they_need_and_no_others() {
    let made = made();
    for chunk in [16, 64, 65536] {
        let limits = Limits::default().with_chunk(chunk);
        let archive = OpenOptions::default().limits(limits).from_bytes(&made.file).unwrap();
        let ends = [(0, 0), (0, 1), (9, 11), (10, 20), (19, 20), (37, 64), (95, 105), (0, 105)];
        for (first, end) in ends {
            for columns in [0..10, 0..1, 3..7, 9..10] {
                let source = Noted::new(&made.file);
                let tensor = archive.get("w").unwrap().read_from(&source);
                let slice = tensor.slice((first..end, columns.clone())).unwrap();
                let mut buffer = vec![0; usize::try_from(slice.byte_len()).unwrap()];
                let verified = slice.read(&mut buffer).unwrap();
                assert_eq!(verified, None);
                assert_eq!(buffer, made.part(first..end, columns.clone()), "{first}..{end}");
                let frame = |row: u64, column: u64| {
                    usize::try_from(row * ROW as u64 + column).unwrap() / FRAME
                };
                let needed: BTreeSet<usize> = (first..end)
                    .flat_map(|row| frame(row, columns.start)..=frame(row, columns.end - 1))
                    .collect();
                assert_eq!(made.touched(&source), needed, "{first}..{end}, {columns:?}");
                // The bytes of a needed frame are read at most twice: once to walk its headers, and once to decode it.
                let bytes = |frame: usize| made.frames[frame].end - made.frames[frame].start;
                let stored: u64 = needed.iter().map(|frame| bytes(*frame)).sum();
                let read = source.read.lock().unwrap();
                let read: u64 = read.iter().map(|read| read.end - read.start).sum();
                let of_table = 17 + 3 * 8 * FRAMES as u64;
                assert!(read <= 2 * stored + of_table + 64, "{read} bytes of {stored}");
            }
        }
    }
}

#[test]
fn each_frame_that_is_used_is_verified_to_its_end() {
    let made = made();
    let read = |file: &[u8]| {
        let archive = Archive::from_bytes(file).unwrap();
        let slice = archive.get("w").unwrap().slice((31..32, 0..10)).unwrap();
        let mut row = [0; ROW];
        slice.read(&mut row).map(|_| row)
    };
    let row = read(&made.file).unwrap();
    assert_eq!(row, made.content[310..320]);
    for (at, frame) in made.frames.iter().enumerate() {
        // In each frame in turn, one byte is changed: a byte of its content before the place that the row has in frame 3, one after
        // this place, or one of its checksum. The row is read from frame 3 alone, so only changes in frame 3 are errors.
        for place in [frame.start + 9, frame.start + 39, frame.end - 1] {
            let mut file = made.file.clone();
            file[usize::try_from(place).unwrap()] ^= 1;
            match read(&file) {
                Ok(found) => assert!(at != 3 && found == row, "frame {at} at {place}"),
                Err(error) => {
                    assert_eq!((at, error.rule()), (3, Some("zstd-checksum")));
                }
            }
        }
    }
}

/// The seek table is validated before its first use, and each entry once more when its frame is read, because a file may change
/// while it is open.
#[test]
fn a_table_that_changes_is_validated_again() {
    let made = made();
    let archive = Archive::from_bytes(&made.file).unwrap();
    let component = archive.get("w").unwrap().component("data").unwrap();
    let entry = made.frames[FRAMES - 1].end + 8;
    for (place, number, id) in [
        (0, 0, "zstd-frame-single"),
        (0, 1 << 20, "zstd-frame-single"),
        (4, 16 << 20, "decoded-size"),
        (4, (16 << 20) + 1, "zstd-frame-single"),
    ] {
        // The changed file has another number in four bytes of an entry of the seek table.
        let (at, has_changed) = (usize::try_from(entry + place).unwrap(), AtomicBool::new(false));
        let mut other = made.file.clone();
        other[at..at + 4].copy_from_slice(&u32::to_le_bytes(number));
        let source = reads(|offset, buffer| {
            let has_changed = has_changed.load(Ordering::Relaxed);
            if has_changed { &other } else { &made.file }.read_at(offset, buffer)
        });
        let mut content = component.read_from(&source).reader().unwrap();
        has_changed.store(true, Ordering::Relaxed);
        assert_eq!(content.next_chunk().unwrap_err().rule(), Some(id), "{number}");
    }
}

/// The ranges of a slice that is a whole array of any rank: no dimension has a range.
const WHOLE: &[Range<u64>] = &[];

/// Returns the dense tensors of a file.
fn dense<S: ReadAt>(archive: &Archive<S>) -> impl Iterator<Item = Tensor<'_>> {
    archive.tensors().filter(|tensor| tensor.dense().is_ok())
}

#[test]
fn slices_of_other_encodings_read_what_they_need() {
    let file = zten_testkit::read_accepted("1.2.3/zstd.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let mut tried = 0;
    for tensor in dense(&archive) {
        let data = tensor.dense().unwrap();
        let all = data.read().unwrap();
        let slice = tensor.slice(WHOLE).unwrap();
        let mut buffer = vec![0; all.len()];
        let verified = slice.read(&mut buffer).unwrap();
        assert_eq!(buffer, all[..]);
        assert_eq!(verified.is_none(), data.encoding() == Encoding::Raw);
        assert_ne!(verified, Some(Verified::Unverifiable));
        assert!(slice.read(&mut [0; 1]).is_err());
        tried += 1;
    }
    assert!(tried > 0);
    // The components of this file are raw and big-endian.
    let file = zten_testkit::read_accepted("v01-big-endian.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    for tensor in dense(&archive) {
        let all = tensor.dense().unwrap().read().unwrap();
        let mut buffer = vec![0; all.len()];
        tensor.slice(WHOLE).unwrap().read(&mut buffer).unwrap();
        assert_eq!(buffer, all[..]);
        tried += 1;
    }
    assert!(tried > 1);
}

/// The claims of a seek table are checked against the limits, and against the length of the table, before any frame is read.
#[test]
fn claims_of_a_table_are_checked_before_anything_is_decoded() {
    let made = made();
    let length = made.content.len() as u64;
    let verify = |file: &[u8], limits: &Limits| {
        let archive = OpenOptions::default().limits(*limits).from_bytes(file).unwrap();
        let source = Noted::new(file);
        let object = archive.get("w").unwrap().read_from(&source);
        let outcome = Verifier::new(archive.manifest()).object(&object, |_, _| ());
        let outcome = outcome.map_err(|error| error.rule().unwrap());
        (outcome, made.touched(&source).len())
    };
    assert_eq!(verify(&made.file, &Limits::default()), (Ok(()), FRAMES));
    for limit in ["decoded", "decoded-total"] {
        let limits = |most| Limits::default().with_named(limit, most).unwrap();
        assert_eq!(verify(&made.file, &limits(length)), (Ok(()), FRAMES));
        let (outcome, read) = verify(&made.file, &limits(length - 1));
        assert_eq!((outcome.unwrap_err(), read), (&*format!("limit-{limit}"), 0));
    }
    // The table has 4,096 entries that each claim a frame of 16 MiB, and the component claims their sum as its decoded
    // size.
    let (entries, claimed) = (4096_u64, 16_u64 << 20);
    let stored = table(&vec![(0, 16 << 20); 4096], 0);
    let file = encoded(entries * claimed, &stored).start(40960).bytes();
    assert_eq!(verify(&file, &Limits::default()).0, Err("limit-decoded"));
    let wide = Limits::default().with_named("decoded", 1 << 40).unwrap();
    assert_eq!(verify(&file, &wide).0, Err("zstd-frame-single"));
    let small = wide.with_named("decoded-total", 1 << 20).unwrap();
    assert_eq!(verify(&file, &small).0, Err("limit-decoded-total"));
    // The file opens with both limits, because the claimed sizes allocate nothing.
    let opened = [Limits::default(), wide]
        .map(|limits| OpenOptions::default().limits(limits).from_bytes(&file).unwrap());
    let [usual, wide] = opened.each_ref().map(|archive| archive.get("w").unwrap());
    let heap = allocation_counter::measure(|| {
        assert!(usual.dense().unwrap().read().is_err());
        assert!(wide.dense().unwrap().read().is_err());
        assert!(wide.to_vec::<u8>().is_err());
    });
    assert!(heap.bytes_max < 256 << 10, "{} bytes", heap.bytes_max);
    // This table claims more entries than fit in the component.
    let mut stored = table(&[(0, 1)], 0);
    let count = stored.len() - 9;
    stored[count..count + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(verify(&encoded(1, &stored).bytes(), &Limits::default()).0, Err("seek-table"));
}
