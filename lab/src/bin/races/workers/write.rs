//! The work of contestants that write files.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::contestant::{serve, serve_timed};
use anyhow::{Result, bail, ensure};
use zten::write::{Checksum, ComponentData, Copier, FileSink, WriteOptions};
use zten::{Archive, DType, Generation, Writer};
use zten_lab::readers::{safetensors, ztensor};

use fastrand::Rng;

const TENSORS: usize = 16;

/// Creates tensors of `f32` with random bits, of about `bytes` bytes together.
fn tensors(bytes: usize) -> Vec<(String, Vec<u8>)> {
    let mut random = Rng::with_seed(3);
    let words = bytes / TENSORS / 8;
    let bytes = |random: &mut Rng| (0..words).flat_map(|_| random.u64(..).to_le_bytes()).collect();
    (0..TENSORS).map(|place| (format!("layer.{place:02}"), bytes(&mut random))).collect()
}

/// Writes tensors to a file. Removing the file does not count in the time.
pub(crate) fn write(reader: &str, folder: &Path, bytes: usize) -> Result<()> {
    let tensors = tensors(bytes);
    let path = folder.join(reader);
    // The file is removed at once, so that all contestants have equally cold pages.
    let timed = |write: &mut dyn FnMut()| {
        let start = Instant::now();
        write();
        let time = start.elapsed();
        fs::remove_file(&path).expect("the file");
        time
    };
    let save = |options: &WriteOptions| {
        let mut sink = FileSink::create(&path).expect("a file");
        let mut writer = Writer::new(&mut sink, options).expect("a writer");
        for (name, bytes) in &tensors {
            let shape = [bytes.len() as u64 / 4];
            writer.add(name, &shape, ComponentData::of_bytes(DType::F32, bytes)).expect("room");
        }
        writer.finish().expect("room");
        sink
    };
    // The sink is dropped, which removes the file, after the time was taken.
    let zten = |generation: Generation, sum: Checksum| -> Duration {
        let options = WriteOptions::default().generation(generation).checksum(sum);
        let start = Instant::now();
        let sink = save(&options);
        let time = start.elapsed();
        drop(sink);
        time
    };
    match reader {
        "zten" => serve_timed(|| zten(Generation::V1_2, Checksum::None)),
        "zten, crc32c" => serve_timed(|| zten(Generation::V1_2, Checksum::Crc32c)),
        "zten, sha256" => serve_timed(|| zten(Generation::V1_2, Checksum::Sha256)),
        "zten, 2" => serve_timed(|| zten(Generation::V2, Checksum::None)),
        "zten, 2, xxh3" => serve_timed(|| zten(Generation::V2, Checksum::Xxh3)),
        "write_all" => serve_timed(|| {
            timed(&mut || {
                let mut file = File::create(&path).expect("a file");
                for (_, bytes) in &tensors {
                    file.write_all(bytes).expect("room");
                }
            })
        }),
        "cp" => {
            let source = folder.join("source");
            let mut file = File::create(&source)?;
            for (_, bytes) in &tensors {
                file.write_all(bytes)?;
            }
            serve_timed(|| {
                timed(&mut || {
                    let status = Command::new("cp").args([&source, &path]).status();
                    assert!(status.is_ok_and(|status| status.success()), "cp failed");
                })
            });
        }
        "safetensors" => {
            serve_timed(|| timed(&mut || safetensors::write(&path, &tensors).expect("room")));
        }
        "ztensor 1.2.3" => {
            serve_timed(|| timed(&mut || ztensor::write(&path, &tensors).expect("room")));
        }
        _ => bail!("{reader} writes nothing"),
    }
    Ok(())
}

/// Writes the content of a file of small `bf16` tensors to memory, without digests.
pub(crate) fn small(reader: &str, file: &[u8]) -> Result<()> {
    let archive = Archive::from_bytes(file)?;
    let dense = archive.tensors().map(|tensor| {
        Ok((tensor.name().to_owned(), tensor.shape().to_vec(), tensor.dense()?.bytes()?))
    });
    let tensors: Vec<(String, Vec<u64>, &[u8])> = dense.collect::<Result<_, zten::Error>>()?;
    let options = WriteOptions::default().checksum(Checksum::None);
    match reader {
        "zten" => serve(|| {
            let room = Vec::with_capacity(2 * file.len());
            let mut writer = Writer::new(room, &options).expect("a writer");
            for (name, shape, bytes) in &tensors {
                writer.add(name, shape, ComponentData::of_bytes(DType::BF16, bytes)).expect("room");
            }
            writer.finish().expect("room")
        }),
        "safetensors" => {
            let sizes = |shape: Vec<u64>| shape.into_iter().map(|size| size as usize).collect();
            let tensors: Vec<(String, Vec<usize>, &[u8])> = tensors
                .into_iter()
                .map(|(name, shape, bytes)| (name, sizes(shape), bytes))
                .collect();
            serve(|| safetensors::serialize(&tensors).expect("tensors"));
        }
        _ => bail!("{reader} writes nothing small"),
    }
    Ok(())
}

/// Writes the content of a file in canonical form.
pub(crate) fn copy(reader: &str, file: &[u8]) -> Result<()> {
    let archive = Archive::from_bytes(file)?;
    ensure!(!archive.is_empty(), "nothing to copy");
    match reader {
        "zten" => serve(|| {
            let (room, options) =
                (Vec::with_capacity(2 * file.len()), WriteOptions::default().canonical());
            let copier = Copier::new(archive.manifest());
            copier.file(archive.manifest(), archive.source(), room, &options).is_ok()
        }),
        "memcpy" => serve(|| file.to_vec()),
        _ => bail!("{reader} copies nothing"),
    }
    Ok(())
}
