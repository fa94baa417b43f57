//! Tests that the memory of a conversion follows the manifest that is written.

use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use clap::Parser as _;
use zten::Writer;
use zten_corpus::other::{gguf, safetensors};
use zten_testkit::safetensors::header;

use super::plan::Plan;
use super::{archive, convert};
use crate::args::Call;
use crate::args::{Args, Command};
use crate::input::file::Opened;

/// Bytes of memory for each byte of a header, at most: `docs/limits.md`.
const EACH: u64 = 9;

/// The largest number of bytes of memory that a conversion takes for each byte of the manifest that it writes.
const WRITTEN: u64 = 4;

/// Bytes of memory that the sandbox allows for each byte of a header of the largest size: `PER_MANIFEST` of `budget.rs`,
/// and the shares of `BASE` and of the windows.
const CONFINED: u64 = 24;

/// Converts the file at `path`, and returns the peak memory in bytes, and the length of the manifest that was written.
fn measure(path: &Path, options: &[&str]) -> (u64, u64) {
    let line = [&["zten", "convert", path.to_str().unwrap(), "out.zt"], options].concat();
    let Command::Call(Call::Convert(args)) = Args::parse_from(line).command else {
        panic!("not the command")
    };
    let plan = Plan::new(&args).unwrap();
    let mut out = Forgetful::default();
    let memory = allocation_counter::measure(|| {
        let (archive, _) = archive(&args, Opened::open(path, &args.strictness).unwrap()).unwrap();
        convert(&args, &archive, &mut out, &plan).unwrap();
    });
    (memory.bytes_max, u64::from_le_bytes(*out.last.first_chunk().unwrap()))
}

/// Returns a GGUF file with the smallest alignment (8 bytes), the tensors `infos` and `data` bytes of data.
fn least_aligned(infos: &[Vec<u8>], data: usize) -> Vec<u8> {
    let pairs = [gguf::pair("general.alignment", 4, &8_u32.to_le_bytes())];
    let mut bytes = gguf::file(&pairs, infos, &[]);
    bytes.truncate(24 + pairs.concat().len() + infos.concat().len());
    bytes.resize(bytes.len().next_multiple_of(8) + data, 0);
    bytes
}

/// An output that keeps only the last 16 bytes: a zTensor file has the length of its manifest there.
#[derive(Default)]
struct Forgetful {
    last: [u8; 16],
}

impl Write for Forgetful {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes.get(bytes.len().saturating_sub(16)..).unwrap_or_default() {
            self.last.rotate_left(1);
            self.last[15] = *byte;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fails to seek. The writer of zTensor files does not seek.
impl Seek for Forgetful {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Measures whole conversions of safetensors and GGUF files to zTensor files, and compares the peak of memory with the lengths of
/// the header and of the manifest that was written.
#[test]
fn memory_follows_the_manifest_that_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let count = 100_000_u64;
    // Names that are sorted, and names that are not.
    let ascending: Vec<_> = (0..count).map(|at| at + 0x10_0000).collect();
    let falling: Vec<_> = (0..count).map(|at| 0x20_0000 - at).collect();
    let mut files: Vec<_> = [ascending, falling]
        .map(|names| {
            let header = header(names.iter().map(|name| (format!("{name:x}"), "U8", [], 1)));
            (safetensors::file(&header, &vec![0; names.len()]), header.len())
        })
        .into();
    // These headers are short compared with the manifests that are made of them: tensors of one number, and tensors of
    // blocks, whose attributes are written.
    for (shape, kind, data) in [(&[][..], 27, 8), (&[0], 16, 0)] {
        let infos: Vec<_> =
            (0..count).map(|at| gguf::info(&format!("{at:x}"), shape, kind, at * data)).collect();
        let length = infos.iter().map(Vec::len).sum();
        let data = usize::try_from(count * data).unwrap();
        files.push((least_aligned(&infos, data), length));
    }
    let path = folder.path().join("x");
    for (bytes, header) in files {
        fs::write(&path, bytes).unwrap();
        let header = u64::try_from(header).unwrap();
        for options in [&[][..], &["--digest=none"], &["--canonical"], &["--zstd"]] {
            let (most, manifest) = measure(&path, options);
            println!(
                "{options:?}: a header of {header} bytes became a manifest of {manifest} bytes; the peak of memory was {most} bytes"
            );
            let fixed = 4 << 20;
            assert!(most <= EACH * header + WRITTEN * manifest + fixed, "{options:?}: {most}");
            // In addition to the memory for the manifest, at most one byte is kept for each byte of the header.
            assert!(most <= header + WRITTEN * manifest + fixed, "{options:?}: {most}");

            assert!(most <= CONFINED * header + fixed, "{options:?}: {most}");
        }
    }
}

/// Measures conversions of zTensor files to zTensor files, and checks that the peak of memory is bounded by the lengths of the
/// manifest that is read and of the manifest that is written.
#[test]
fn memory_follows_manifests() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.zt");
    let mut writer = Writer::to(Vec::new()).unwrap();
    for at in 0..100_000_u32 {
        let name = format!("{at:x}");
        writer.add(&name, &[1], &[1_u8]).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let there = u64::from_le_bytes(*bytes.last_chunk::<16>().unwrap().first_chunk().unwrap());
    fs::write(&path, bytes).unwrap();
    for options in [&[][..], &["--canonical"], &["--zstd"]] {
        let (most, manifest) = measure(&path, options);
        println!(
            "{options:?}: a manifest of {there} bytes became one of {manifest} bytes; the peak of memory was {most} bytes"
        );
        assert!(most <= EACH * there + WRITTEN * manifest + (4 << 20), "{options:?}: {most}");
    }
}
