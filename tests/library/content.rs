//! Tests of reading content chunk by chunk: where the chunks begin, and in which state an error leaves the reader.

use std::error::Error as _;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use zten::verify::{Verified, Verifier};
use zten::{Archive, Error, ErrorKind, ReadAt, error::Misuse};
use zten_corpus::base::{dense_object, v1, zstd_component, zstd_frame};
use zten_corpus::v2::words;
use zten_testkit::sample::least;
use zten_testkit::{reads, reject_index};

/// Returns a source of `file` whose read number `fails_at` fails, and whose other reads succeed.
fn failing(file: &[u8], fails_at: u32) -> impl ReadAt {
    let count = AtomicU32::new(0);
    reads(move |offset, buffer| {
        if count.fetch_add(1, Ordering::Relaxed) + 1 == fails_at {
            return Err(io::Error::other("the disk is gone").into());
        }
        file.read_at(offset, buffer)
    })
}

/// Returns a source that reads from the second file in the reads whose numbers `is_other` selects, and otherwise from the first
/// file.
#[cfg(feature = "zstd")]
fn changing<'a>(
    files: [&'a [u8]; 2],
    is_other: impl Fn(u32) -> bool + Sync + 'a,
) -> impl ReadAt + 'a {
    let count = AtomicU32::new(0);
    reads(move |offset, buffer| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        files[usize::from(is_other(number))].read_at(offset, buffer)
    })
}

/// Checks that `error` is the one that the source of [`failing`] returns.
fn is_of_the_disk(error: &Error) {
    assert_eq!((error.kind(), error.rule()), (ErrorKind::Read, None), "{error}");
    assert_eq!(error.source().unwrap().to_string(), "the disk is gone");
}

/// If the end of a buffer has no room for a whole element, the end is not written.
#[test]
fn a_buffer_is_filled_with_whole_elements_only() {
    for name in ["v12-dense.zt", "v01-big-endian.zt"] {
        let file = zten_testkit::read_accepted(name);
        let archive = Archive::from_bytes(&file).unwrap();
        let component = archive.tensors().next().unwrap().components().next().unwrap();
        let width = usize::try_from(component.dtype().bits().unwrap() / 8).unwrap();
        let all = component.read().unwrap();
        assert!(width > 1 && all.len() >= 2 * width);
        let mut content = component.reader().unwrap();
        let mut buffer = [7; 16];
        let room = &mut buffer[..2 * width - 1];
        assert_eq!(content.read_chunk(room).unwrap(), width);
        assert_eq!((&room[..width], room[width]), (&all[..width], 7));
    }
}

#[test]
fn chunks_of_a_slice_are_not_copied() {
    let file = zten_testkit::read_accepted("1.2.3/sha256.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let component = archive.get("t_f32").unwrap().component("data").unwrap();
    let mut content = component.reader().unwrap();
    let start = usize::try_from(component.extent().offset()).unwrap();
    let chunk = content.next_chunk().unwrap().unwrap();
    assert_eq!(chunk.as_ptr(), file[start..].as_ptr());
    assert_eq!(content.verified(), None);
    assert_eq!(content.next_chunk().unwrap(), None);
    assert_eq!(content.verified(), Some(Verified::Digest));
    assert_eq!(content.next_chunk().unwrap(), None);
}

/// Content whose decoded size is equal to the limit is decoded, and one byte more is an error. This holds if the manifest gives the
/// decoded size, and if only the zstd frame gives it.
#[cfg(feature = "zstd")]
#[test]
fn content_up_to_the_limit_is_decoded() {
    let declared = "v12-frame-packed.zt";
    let in_frame = "unsupported-format--v11-zstd.zt";
    for (name, bytes) in [(declared, 16), (in_frame, 4)] {
        let file = zten_testkit::read_accepted(name);
        let read = |most: usize| {
            let limits = zten::Limits::default().with_decoded(most.try_into().unwrap());
            let options = zten::OpenOptions::default().limits(limits);
            let archive = options.from_bytes(&file).unwrap();
            let component = archive.tensors().next().unwrap().components().next().unwrap();
            component.read()
        };
        assert_eq!(read(bytes).unwrap().len(), bytes, "{name}");
        assert_eq!(read(bytes - 1).unwrap_err().rule(), Some("limit-decoded"), "{name}");
    }
}

/// The manifest of 1.1 may leave out the size of a component. Such a component is read twice, to measure and then to verify it, and
/// both passes must find the same number of elements.
#[cfg(feature = "zstd")]
#[test]
fn both_passes_over_unsized_components_find_the_same_size() {
    use zten_corpus::base::object;
    use zten_corpus::zstd::Frame;
    use zten_testkit::Layout;

    // Returns a frame of one block that repeats the byte 1 `bytes` times: RFC 8878 §3.1.1.
    let frame = |bytes: u8| Frame::single(bytes, 0).repeat(1, bytes.into()).end().bytes;
    let file = |values, coords| {
        let mut layout = Layout::new(64);
        let (values, coords) =
            (layout.packed("u8", frame(values)), layout.packed("u8", frame(coords)));
        let parts = [("values", values), ("coords", coords)];
        layout.named("x", object(&[2], "sparse_coo", parts));
        layout.v1("1.1.0").build("").bytes
    };
    let (honest, other) = (file(3, 3), file(5, 3));
    let validate = |changes_at| {
        let archive = Archive::from_bytes(&honest).unwrap();
        let source = changing([&honest, &other], move |number| number >= changes_at);
        let mut values = 0;
        let object = archive.get("x").unwrap().read_from(&source);
        let validated = Verifier::new(archive.manifest()).object(&object, |component, chunk| {
            values += if component.role() == "values" { chunk.len() } else { 0 };
        });
        validated.map(|()| values)
    };
    assert_eq!(validate(1000), Ok(3));
    let verdicts: Vec<_> = (0..20).map(validate).collect();
    assert!(verdicts.iter().all(|verdict| *verdict != Ok(5)), "{verdicts:?}");
    let supply = ErrorKind::Misuse(Misuse::Supply);
    assert!(
        verdicts.iter().filter_map(|verdict| verdict.as_ref().err()).any(|it| it.kind() == supply)
    );
}

/// A source that returns other bytes the first time that an offset is read, and the bytes of the file from then on.
struct Unsteady<'a> {
    file: &'a [u8],
    first: &'a [u8],
    /// The number of times that each byte was read.
    reads: Mutex<Vec<u32>>,
}

impl<'a> Unsteady<'a> {
    fn new(file: &'a [u8], first: &'a [u8]) -> Self {
        Self { file, first, reads: Mutex::new(vec![0; file.len()]) }
    }

    fn reads(&self, range: core::ops::Range<usize>) -> Vec<u32> {
        self.reads.lock().unwrap()[range].to_vec()
    }
}

impl ReadAt for Unsteady<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        for (at, byte) in (usize::try_from(offset).unwrap()..).zip(buffer) {
            let reads = &mut self.reads.lock().unwrap()[at];
            *byte = if *reads == 0 { self.first } else { self.file }[at];
            *reads += 1;
        }
        Ok(())
    }
}

/// Indices are validated as they are read, and are not read again: neither if they are valid, nor to find the position of an error.
#[test]
fn indices_are_read_once() {
    let validate = |name: &str, offset: usize, first: &[u32], others: &[usize]| {
        let file = zten_testkit::read(&format!("v2/accept/{name}"));
        let archive = Archive::from_bytes(&file).unwrap();
        let (mut other, first) = (file.clone(), words(first));
        other[offset..offset + first.len()].copy_from_slice(&first);
        let source = Unsteady::new(&file, &other);
        let object = archive.get("w").unwrap().read_from(&source);
        let verdict = Verifier::new(archive.manifest()).object(&object, |_, _| ());
        for start in others.iter().chain([&offset]) {
            assert_eq!(source.reads(*start..start + 8), [1; 8], "{name} {start}");
        }
        verdict.map_err(|error| (error.rule(), error.offset()))
    };
    // The source returns these columns once: row 0 has 0 and 2, which ascend. Later reads return the columns of the file.
    assert_eq!(validate("csr.zt", 8192, &[0, 2, 1], &[4096, 12288]), Ok(()));
    let unsorted = validate("csr.zt", 8192, &[2, 0, 1], &[4096, 12288]);
    assert_eq!(unsorted, Err((Some("csr-index-order"), Some(8196))));
    // With these pointers, the columns 2 and 1 are in one row, where they do not ascend.
    let other_rows = validate("csr.zt", 12288, &[0, 1, 3], &[4096, 8192]);
    assert_eq!(other_rows, Err((Some("csr-index-order"), Some(8200))));
    assert_eq!(validate("coo.zt", 8192, &[0, 1, 2, 1], &[4096]), Ok(()));
    // In the first read of these coordinates, the cell (0, 2) occurs twice.
    let repeated = validate("coo.zt", 8192, &[0, 0, 2, 2], &[]);
    assert_eq!(repeated, Err((Some("coo-cell-repeated"), Some(8196))));
}

/// The header of a block is read before the block, and once more together with the block. If a source changes the length of the
/// last block of the first frame so that the block reaches over the second frame, the second frame must not be skipped: the digest
/// of the stored bytes would be right, although content is missing.
#[cfg(all(feature = "zstd", feature = "digest"))]
#[test]
fn a_block_whose_length_changes_between_reads_is_rejected() {
    use sha2::Digest as _;
    use zten_corpus::base::object;
    use zten_corpus::cbor::text;
    use zten_testkit::Layout;

    // A frame without a content size, with a window of 1 KiB, and one raw block: RFC 8878 §3.1.1.
    let frame = |size: u16| {
        let [low, high] = (size << 3 | 1).to_le_bytes();
        [0x28, 0xb5, 0x2f, 0xfd, 0, 0, low, high, 0]
    };
    let blob = |claimed| [&frame(claimed)[..], &[7; 300], &frame(300), &[8; 300]].concat();
    let (truth, lie) = (blob(300), blob(300 + 9 + 300));
    let digest = sha2::Sha256::digest(&truth);
    let digest = format!("sha256:{}", zten_testkit::hex(&digest));
    let files = [truth, lie].map(|frames| {
        let mut layout = Layout::new(64);
        let mut part = layout.packed("u8", frames);
        part.pairs("").push((text("digest"), text(&digest)));
        layout.named("x", object(&[1], "mine", [("a", part)]));
        layout.v1("1.1.0").build("").bytes
    });
    let archive = Archive::from_bytes(&files[0]).unwrap();
    let component = archive.get("x").unwrap().component("a").unwrap();
    let read = |lies_at| {
        let source = changing([&files[0], &files[1]], move |number| number == lies_at);
        component.read_from(&source).read()
    };
    let whole = [[7; 300], [8; 300]];
    assert_eq!(*read(100).unwrap(), *whole.as_flattened());
    let outcomes: Vec<_> = (0..8).map(read).collect();
    for decoded in outcomes.iter().flatten() {
        assert_eq!(decoded.verified(), Verified::Digest);
        assert_eq!(**decoded, *whole.as_flattened(), "verified, and something else");
    }
    assert!(outcomes.iter().any(Result::is_err));
}

#[test]
fn a_rejection_is_final() {
    let mut count = 0;
    for row in reject_index().filter(|row| row.content) {
        let file = row.read();
        let archive = row.options.from_bytes(&file).unwrap();
        for component in archive.tensors().flat_map(|object| object.components()) {
            let Ok(mut content) = component.reader() else {
                continue;
            };
            let error = loop {
                match content.next_chunk() {
                    Ok(Some(_)) => {}
                    Ok(None) => break None,
                    Err(error) => break Some(error),
                }
            };
            if let Some(error) = error {
                let again = content.next_chunk().unwrap_err();
                assert_eq!(again.to_string(), error.to_string(), "{}", row.file);
                assert_eq!(again, error, "{}", row.file);
                assert_eq!(content.verified(), None, "{}", row.file);
                count += 1;
            }
        }
    }
    assert!(count >= least(101), "only {count} rejections");
}

#[test]
#[cfg_attr(miri, ignore = "decoding zstd takes minutes there")]
fn a_failed_read_is_final() {
    for name in ["1.2.3/sha256.zt", "1.2.3/zstd.zt"] {
        let file = zten_testkit::read_accepted(name);
        let archive = Archive::from_bytes(&file).unwrap();
        let component = archive.tensors().next().unwrap().component("data").unwrap();
        let mut failed = 0;
        for fails_at in 1.. {
            let source = failing(&file, fails_at);
            let mut content = match component.read_from(&source).reader() {
                Ok(content) => content,
                Err(error) => {
                    is_of_the_disk(&error);
                    failed += 1;
                    continue;
                }
            };
            let outcome = loop {
                match content.next_chunk() {
                    Ok(Some(_)) => {}
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            let Err(error) = outcome else {
                assert!(content.verified().is_some());
                break;
            };
            is_of_the_disk(&error);
            let error = content.next_chunk().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Misuse(Misuse::Aborted), "{name}");
            failed += 1;
        }
        assert!(failed > 0, "{name}: nothing failed");
    }
}

/// A bool is 3, and the header of its frame announces one byte more than there is. Reading in chunks must report the bool, as
/// reading the whole component does: only a further read finds the missing byte, and by then the bool has been validated.
#[test]
fn chunks_and_whole_reads_report_the_same_of_two_errors() {
    let bools = [1, 0, 3, 1];
    let mut frame = zstd_frame(&bools);
    frame[5] = 5;
    let data = zstd_component("bool", 64, frame.len() as u64, 4);
    let file = v1("1.2.0", vec![("w", dense_object(&[4], data))]).blob(64, &frame);
    let file = file.build("").bytes;
    let archive = Archive::from_bytes(&file).unwrap();
    let component = archive.get("w").unwrap().component("data").unwrap();
    let whole = component.read().unwrap_err();
    assert_eq!(whole.rule(), Some("bool-value"));
    let mut content = component.reader().unwrap();
    assert_eq!(content.next_chunk().unwrap_err(), whole);
    // If the caller's buffer is small, the reader decodes into its own buffer.
    let mut content = component.reader().unwrap();
    let failed = loop {
        if let Err(error) = io::Read::read(&mut content, &mut [0]) {
            break error;
        }
    };
    assert_eq!(failed.downcast::<Error>().unwrap(), whole);
}

/// A bool is 2 in the first block of a frame, and the second block is damaged. Every way of reading finds the bool, whether it
/// decodes both blocks at once or not.
#[test]
#[cfg_attr(
    feature = "zstd-ruzstd",
    ignore = "that decoder fails at the damaged block before it returns the block with the wrong bool"
)]
fn a_wrong_bool_comes_before_a_damaged_block() {
    let mut first = [0; 20];
    first[5] = 2;
    // A frame of a single segment of 40 bytes, with a raw block of 20 bytes and a compressed block of 3 bytes that is invalid.
    let frame =
        [&b"\x28\xb5\x2f\xfd\x20\x28\xa0\0\0"[..], &first, b"\x1d\0\0\xff\xff\xff"].concat();
    let data = zstd_component("bool", 64, frame.len() as u64, 40);
    let file = v1("1.2.0", vec![("w", dense_object(&[40], data))]).blob(64, &frame);
    let file = file.build("").bytes;
    let archive = Archive::from_bytes(&file).unwrap();
    let component = archive.get("w").unwrap().component("data").unwrap();
    let whole = component.read().unwrap_err();
    assert_eq!(whole.rule(), Some("bool-value"));
    assert_eq!(component.reader().unwrap().next_chunk().unwrap_err(), whole);
    for size in [1, 16, 20, 32, 100] {
        let (mut content, mut buffer) = (component.reader().unwrap(), vec![0; size]);
        let failed = loop {
            if let Err(error) = io::Read::read(&mut content, &mut buffer) {
                break error;
            }
        };
        assert_eq!(failed.downcast::<Error>().unwrap(), whole, "{size}");
    }
}
