//! Reading content chunk by chunk: where chunks are, and what an error leaves behind.

use std::cell::Cell;

use zten::{Archive, Error, ErrorKind, Limits, Misuse, ReadAt, ReadError, Verified};
use zten_testkit::sample::least;
use zten_testkit::{corpus, reject_index};

/// A file that fails once, at the read of that number.
struct Failing<'a> {
    file: &'a [u8],
    reads: Cell<u32>,
    fails_at: u32,
}

impl ReadAt for Failing<'_> {
    type Error = &'static str;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), &'static str> {
        self.reads.set(self.reads.get() + 1);
        if self.reads.get() == self.fails_at {
            return Err("the disk is gone");
        }
        self.file.read_at(offset, buffer).map_err(|_| "out of range")
    }
}

#[test]
fn chunks_of_a_slice_are_not_copied() {
    let file = std::fs::read(corpus().join("accept/1.2.3/sha256.zt")).unwrap();
    let archive = Archive::open(&file).unwrap();
    let component = archive.get("t_f32").unwrap().component("data").unwrap();
    let mut content = component.content(&file[..], &Limits::default()).unwrap();
    let start = usize::try_from(component.extent().offset()).unwrap();
    let chunk = content.next_chunk().unwrap().unwrap();
    assert_eq!(chunk.as_ptr(), file[start..].as_ptr());
    assert_eq!(content.verified(), None);
    assert_eq!(content.next_chunk().unwrap(), None);
    assert_eq!(content.verified(), Some(Verified::Digest));
    assert_eq!(content.next_chunk().unwrap(), None);
}

/// As many bytes as the limit may be decoded, and not one more: where the manifest says how many
/// there are, and where only the frame does.
#[cfg(feature = "zstd")]
#[test]
fn what_may_be_decoded_is_decoded() {
    let declared = "v12-frame-packed.zt";
    let in_frame = "unsupported-format--v11-zstd.zt";
    for (name, bytes) in [(declared, 16), (in_frame, 4)] {
        let file = std::fs::read(corpus().join("accept").join(name)).unwrap();
        let archive = Archive::open(&file).unwrap();
        let component = archive.objects().next().unwrap().components().next().unwrap();
        let read = |most: usize| {
            let limits = Limits::default().with("decoded", most.try_into().unwrap()).unwrap();
            component.read_to_vec(&file[..], &limits).map_err(Error::from)
        };
        assert_eq!(read(bytes).unwrap().len(), bytes, "{name}");
        assert_eq!(read(bytes - 1).unwrap_err().id(), Some("limit-decoded"), "{name}");
    }
}

#[test]
fn a_refusal_is_final() {
    let mut count = 0;
    for row in reject_index().filter(|row| row.content) {
        let file = row.read();
        let archive = Archive::open_with(&file, &row.options).unwrap();
        for component in archive.objects().flat_map(|object| object.components()) {
            let Ok(mut content) = component.content(&file[..], row.options.limit()) else {
                continue;
            };
            let error = loop {
                match content.next_chunk() {
                    Ok(Some(_)) => {}
                    Ok(None) => break None,
                    Err(error) => break Some(Error::from(error)),
                }
            };
            if let Some(error) = error {
                assert_eq!(content.next_chunk().map_err(Error::from), Err(error), "{}", row.file);
                assert_eq!(content.verified(), None, "{}", row.file);
                count += 1;
            }
        }
    }
    assert!(count >= least(101), "only {count} refusals");
}

#[test]
#[cfg_attr(miri, ignore = "decoding zstd takes minutes there")]
fn a_failed_read_is_not_gone_on_with() {
    for name in ["1.2.3/sha256.zt", "1.2.3/zstd.zt"] {
        let file = std::fs::read(corpus().join("accept").join(name)).unwrap();
        let archive = Archive::open(&file).unwrap();
        let component = archive.objects().next().unwrap().component("data").unwrap();
        let mut failed = 0;
        for fails_at in 1.. {
            let source = Failing { file: &file, reads: Cell::new(0), fails_at };
            let mut content = match component.content(&source, &Limits::default()) {
                Ok(content) => content,
                Err(error) => {
                    assert_eq!(error, ReadError::Source("the disk is gone"));
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
            if outcome.is_ok() {
                assert!(content.verified().is_some());
                break;
            }
            assert_eq!(outcome, Err(ReadError::Source("the disk is gone")), "{name}");
            match content.next_chunk() {
                Err(ReadError::Refused(error)) => {
                    assert_eq!(error.kind(), ErrorKind::Misuse(Misuse::Aborted));
                }
                other => panic!("{name}: {other:?}"),
            }
            failed += 1;
        }
        assert!(failed > 0, "{name}: nothing failed");
    }
}
