//! Tests that written files are byte for byte the same on every machine. The corpus holds digests of them.
#![allow(
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a test that panics has failed, and its numbers are small"
)]

use std::fmt::Write as _;

use fastrand::Rng;
use sha2::{Digest, Sha256};
use zten::write::{Checksum, Copier, Level, NewObject, WriteOptions, Writer};
use zten::{Archive, DType, ErrorKind};
use zten_testkit::accepted;

/// Returns some combinations of settings and compression level, each of which writes a different file, with a name for it.
fn ways() -> Vec<(String, WriteOptions, Option<Level>)> {
    let plain = WriteOptions::default();
    let mut ways = vec![
        ("canonical".to_owned(), plain.canonical(), None),
        ("sha256".to_owned(), plain, None),
        ("none".to_owned(), plain.checksum(Checksum::None), None),
    ];
    for level in 1..=5 {
        let settings = plain.checksum(Checksum::Crc32c);
        ways.push((format!("crc32c, level {level}"), settings, Some(Level::new(level).unwrap())));
    }
    ways
}

/// Adds the bytes of copies of all accepted files before generation 2 to the digest `sum`, and returns their number. Files whose
/// content cannot be read, or that cannot be copied, are left out.
fn copies(sum: &mut Sha256, settings: &WriteOptions, level: Option<Level>) -> u32 {
    let mut count = 0;
    for file in accepted().filter(|file| file.opens_only.is_none()) {
        let archive = Archive::from_bytes(&file.bytes).unwrap();
        let mut copier = Copier::new(archive.manifest());
        if let Some(level) = level {
            copier = copier.compressed(level);
        }
        match copier.file(archive.manifest(), archive.source(), Vec::new(), settings) {
            Ok(copy) => {
                sum.update((copy.len() as u64).to_le_bytes());
                sum.update(copy);
                count += 1;
            }
            Err(error) if matches!(error.kind(), ErrorKind::Inexpressible(_)) => {}
            Err(error) => panic!("{}: {error:?}", file.name),
        }
    }
    count
}

/// Returns noise, ascending numbers, floats, and many repetitions of a few values, so that the blocks are of more than one kind.
fn content() -> Vec<u8> {
    let (mut rng, mut ascending) = (Rng::with_seed(7), 0_u64);
    let mut bytes = Vec::new();
    for place in 0..60_000_u32 {
        let number = rng.u32(..);
        ascending += u64::from(number % 200);
        match place / 15_000 {
            0 => bytes.extend(number.to_le_bytes()),
            1 => bytes.extend(ascending.to_le_bytes()),
            2 => bytes.extend((number as f32 / 1e6 - 2e3).to_le_bytes()),
            _ => bytes.extend([[7_u8, 7, 200, 3][number as usize % 4]]),
        }
    }
    bytes
}

/// Returns a file with one array whose compressed content takes many zstd blocks.
fn large(settings: &WriteOptions, level: Option<Level>) -> Vec<u8> {
    let bytes = content();
    let mut writer = Writer::new(Vec::new(), settings).unwrap();
    let shape = [bytes.len() as u64];
    let mut object = NewObject::dense("x", &shape, DType::U8);
    if let Some(level) = level {
        object = object.compressed(level);
    }
    writer.add_object(&object, &[("data", &bytes)]).unwrap();
    writer.finish().unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "it needs the whole corpus")]
fn written_files_are_the_same_on_every_machine() {
    let mut table = String::from("written\tfiles\tsha256\n");
    for (name, settings, level) in ways() {
        let mut sum = Sha256::new();
        let count = copies(&mut sum, &settings, level) + 1;
        sum.update(large(&settings, level));
        let digest: [u8; 32] = sum.finalize().into();
        writeln!(table, "{name}\t{count}\t{}", zten_testkit::hex(&digest)).unwrap();
        assert!(count > 300, "{name}: only {count} files");
    }
    let golden =
        std::fs::read_to_string(zten_testkit::corpus().join("accept/written.tsv")).unwrap();
    assert!(table == golden, "what is written has changed:\n{table}");
}
