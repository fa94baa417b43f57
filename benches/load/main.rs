//! Measures loading a file into memory with verification, compared with bare sha2 over the same bytes in memory.
//!
//! `cargo bench -p zten --bench load` writes 1 GiB to the folder for temporary files.
#![allow(
    clippy::allow_attributes,
    clippy::cast_precision_loss,
    reason = "a benchmark may panic, and its numbers are small"
)]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use zten::write::{Checksum, WriteOptions};
use zten::{Archive, Loader, ReadAt as _};

const TENSORS: usize = 300;
const BYTES: usize = 1 << 30;
const ROUNDS: usize = 7;

/// Writes `tensors` to a file at `path`, each with its SHA-256.
fn write(path: &Path, tensors: &[Vec<u8>]) {
    let options = WriteOptions::default().checksum(Checksum::Sha256);
    let mut writer = options.create(path).unwrap();
    for (ordinal, bytes) in tensors.iter().enumerate() {
        let (name, shape) = (format!("layers.{ordinal}"), [bytes.len() as u64]);
        writer.add(&name, &shape, bytes).unwrap();
    }
    writer.finish().unwrap();
}

fn read_into(archive: &Archive, buffers: &mut [Vec<u8>], threads: usize) {
    let loader = Loader::new(archive.manifest()).threads(threads);
    let components = archive.tensors().flat_map(|tensor| tensor.components());
    let buffers = buffers.iter_mut().map(Vec::as_mut_slice);
    let mut targets: Vec<_> = components.zip(buffers).collect();
    loader.read_into(&mut targets).unwrap();
}

fn read(archive: &Archive, threads: usize) {
    let loader = Loader::new(archive.manifest()).threads(threads);
    let components: Vec<_> = archive.tensors().flat_map(|tensor| tensor.components()).collect();
    black_box(loader.read(components).unwrap());
}

/// Reads the bytes of all tensors into `buffers`, and hashes them there. No reader that verifies can be faster.
fn read_and_hash(archive: &Archive, buffers: &mut [Vec<u8>]) {
    let components = archive.tensors().flat_map(|tensor| tensor.components());
    for (component, buffer) in components.zip(buffers) {
        let mut hasher = Sha256::new();
        let mut offset = component.extent().offset();
        for chunk in buffer.chunks_mut(64 << 10) {
            archive.source().read_at(offset, chunk).unwrap();
            hasher.update(&chunk);
            offset += chunk.len() as u64;
        }
        black_box(hasher.finalize());
    }
}

fn timed(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (bytes, rounds) = if quick { (BYTES >> 4, 2) } else { (BYTES, ROUNDS) };
    let mut random = fastrand::Rng::with_seed(1);
    let mut tensor = || {
        let mut bytes = vec![0; bytes / TENSORS];
        random.fill(&mut bytes);
        bytes
    };
    let tensors: Vec<_> = (0..TENSORS).map(|_| tensor()).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.zt");
    write(&path, &tensors);
    let archive = zten::open(&path).unwrap();
    let mut buffers = tensors.clone();

    let bare = "bare sha2, in memory";
    let names = [
        bare,
        "bare read and sha2",
        "read_into, 1 thread",
        "read_into, 2 threads",
        "read, 1 thread",
        "read, 2 threads",
    ];
    let mut times = names.map(|_| Vec::with_capacity(rounds));
    for _ in 0..rounds {
        let round = [
            timed(|| tensors.iter().for_each(|bytes| _ = black_box(Sha256::digest(bytes)))),
            timed(|| read_and_hash(&archive, &mut buffers)),
            timed(|| read_into(&archive, &mut buffers, 1)),
            timed(|| read_into(&archive, &mut buffers, 2)),
            timed(|| read(&archive, 1)),
            timed(|| read(&archive, 2)),
        ];
        for (times, time) in times.iter_mut().zip(round) {
            times.push(time.as_secs_f64());
        }
    }
    println!("medians of {rounds} rounds, {} MiB in {TENSORS} tensors\n", bytes >> 20);
    let [first, ..] = &times;
    for (name, own) in names.iter().zip(&times) {
        let mut ratios: Vec<_> = first.iter().zip(own).map(|(first, own)| first / own).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let mut own = own.clone();
        own.sort_unstable_by(f64::total_cmp);
        let speed = bytes as f64 / own[rounds / 2] / 1e9;
        println!("{name:<22}{speed:>6.2} GB/s {:>6.2} × bare sha2", ratios[rounds / 2]);
    }
}
