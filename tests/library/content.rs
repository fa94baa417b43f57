//! Reading content chunk by chunk: where chunks are, and what an error leaves behind.

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

/// A file that fails once, at the read of that number.
fn failing(file: &[u8], fails_at: u32) -> impl ReadAt {
    let count = AtomicU32::new(0);
    reads(move |offset, buffer| {
        if count.fetch_add(1, Ordering::Relaxed) + 1 == fails_at {
            return Err(io::Error::other("the disk is gone").into());
        }
        file.read_at(offset, buffer)
    })
}

/// A source that gives the second file in the reads whose numbers `is_other` picks, and else the first.
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

/// Checks that an error is the one of such a file.
fn is_of_the_disk(error: &Error) {
    assert_eq!((error.kind(), error.rule()), (ErrorKind::Read, None), "{error}");
    assert_eq!(error.source().unwrap().to_string(), "the disk is gone");
}

/// Room for part of an element is left as it is.
#[test]
fn a_buffer_takes_whole_elements() {
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

/// Decodes as many bytes as the limit, and not one more: where the manifest says how many there
/// are, and where only the frame does.
#[cfg(feature = "zstd")]
#[test]
fn what_may_be_decoded_is_decoded() {
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

/// Components whose size the manifest of 1.1 does not give are read twice: to measure them, and
/// to validate them. What is validated is as many elements as were measured.
#[cfg(feature = "zstd")]
#[test]
fn what_is_measured_is_what_is_validated() {
    use zten_corpus::base::object;
    use zten_corpus::zstd::Frame;
    use zten_testkit::Layout;

    // One frame of so many bytes, all of them 1: RFC 8878 §3.1.1, with a block that repeats one.
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

/// Other bytes the first time that a place is read, and those of the file from then on.
struct Unsteady<'a> {
    file: &'a [u8],
    first: &'a [u8],
    /// The number of times that each byte has been read.
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

/// Indices are validated as they were read, and nothing is read again: not of what is valid, and not to
/// say where it is wrong.
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
    // Row 0 has the columns 2 and 0, and then again 0 and 2, as a second reading would find.
    assert_eq!(validate("csr.zt", 8192, &[0, 2, 1], &[4096, 12288]), Ok(()));
    let unsorted = validate("csr.zt", 8192, &[2, 0, 1], &[4096, 12288]);
    assert_eq!(unsorted, Err((Some("csr-index-order"), Some(8196))));
    // By these pointers the columns 2 and 1 are in one row.
    let other_rows = validate("csr.zt", 12288, &[0, 1, 3], &[4096, 8192]);
    assert_eq!(other_rows, Err((Some("csr-index-order"), Some(8200))));
    assert_eq!(validate("coo.zt", 8192, &[0, 1, 2, 1], &[4096]), Ok(()));
    // The cell (0, 2) twice.
    let repeated = validate("coo.zt", 8192, &[0, 0, 2, 2], &[]);
    assert_eq!(repeated, Err((Some("coo-cell-repeated"), Some(8196))));
}

/// Headers of blocks are read before the blocks, and again with them. A source that makes the last
/// block of the first of two frames as long as both would have the second left out, of a component
/// whose digest is right.
#[cfg(all(feature = "zstd", feature = "digest"))]
#[test]
fn a_block_ends_where_its_header_says() {
    use sha2::Digest as _;
    use zten_corpus::base::object;
    use zten_corpus::cbor::text;
    use zten_testkit::Layout;

    // No content size, a window of 1 KiB, one block that is stored as it is: RFC 8878 §3.1.1.
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
fn a_failed_read_is_not_gone_on_with() {
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

/// A bool is 3, and the header of its frame says that another byte comes: that is found by asking for it, which
/// comes after what has been read is validated.
#[test]
fn of_two_errors_chunks_name_the_one_that_the_whole_does() {
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
    // A reader decodes into a buffer of its own if that of the caller is small.
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
fn a_wrong_bool_comes_before_a_damaged_block() {
    let mut first = [0; 20];
    first[5] = 2;
    // A single segment of 40 bytes; 20 bytes that are stored as they are; 3 bytes that should be compressed, and are not.
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
