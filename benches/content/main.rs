//! Measures reading content with digests and zstd, compared with the bare crates that do the work, in the same run.
//!
//! `cargo bench -p zten --bench content`
#![allow(
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a benchmark may panic, and its numbers are small"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use zten::Archive;
use zten_corpus::base::{component, dense_object, v1};
use zten_corpus::cbor::{Item, text, uint};
use zten_corpus::file::File;
use zten_testkit::hex;

const BYTES: usize = 64 << 20;
const ROUNDS: usize = 9;
/// The number of rounds of each case with `--quick`.
const QUICK: usize = 2;

/// Returns a 1.2 file with one dense `f32` component whose blob is `stored`, and with the further fields `more`.
fn file(stored: &[u8], more: &[(&str, Item)]) -> Vec<u8> {
    let data = component("f32", 64, stored.len() as u64);
    let file = v1("1.2.0", vec![("w", dense_object(&[BYTES as u64 / 4], data))]).blob(64, stored);
    let set =
        |file: File, (key, value): &(&str, Item)| file.set(&format!("w:data/{key}"), value.clone());
    more.iter().fold(file, set).build("").bytes
}

/// Reads the whole component, and returns the duration, without that of opening the file.
fn read(file: &[u8]) -> Duration {
    let archive = Archive::from_bytes(file).unwrap();
    let component = archive.get("w").unwrap().component("data").unwrap();
    let start = Instant::now();
    let mut content = component.reader().unwrap();
    while let Some(chunk) = content.next_chunk().unwrap() {
        black_box(chunk);
    }
    start.elapsed()
}

fn timed(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

/// A case: its name, and the function that runs and times it.
type Case<'a> = (&'static str, Box<dyn Fn() -> Duration + 'a>);

fn main() {
    let rounds =
        if std::env::args().any(|argument| argument == "--quick") { QUICK } else { ROUNDS };
    let mut random = fastrand::Rng::with_seed(1);
    // The weights have only a few hundred different values, so that they can be compressed.
    let floats = (0..BYTES / 4).map(|_| f32::from(random.u16(..300)) / 300.0);
    let data: Vec<u8> = floats.flat_map(f32::to_le_bytes).collect();

    let sha256 = hex(&<[u8; 32]>::from(Sha256::digest(&data)));
    let crc = crc::Crc::<u32, crc::Table<16>>::new(&crc::CRC_32_ISCSI);
    let crc32c = format!("crc32c:0x{:08X}", crc.checksum(&data));
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let packed = ruzstd::encoding::compress_to_vec(data.as_slice(), level);

    let plain = file(&data, &[]);
    let with_sha256 = file(&data, &[("digest", text(&format!("sha256:{sha256}")))]);
    let with_crc32c = file(&data, &[("digest", text(&crc32c))]);
    let size = ("uncompressed_length", uint(BYTES as u64));
    let compressed = file(&packed, &[("encoding", text("zstd")), size]);

    let bare_zstd = || {
        let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed.as_slice()).unwrap();
        let mut buffer = vec![0; 64 << 10];
        while std::io::Read::read(&mut decoder, &mut buffer).unwrap() > 0 {
            black_box(&buffer);
        }
    };
    let cases: [Case<'_>; 7] = [
        ("raw, no digest", Box::new(|| read(&plain))),
        ("raw, sha256", Box::new(|| read(&with_sha256))),
        ("  bare sha2", Box::new(|| timed(|| _ = black_box(Sha256::digest(&data))))),
        ("raw, crc32c", Box::new(|| read(&with_crc32c))),
        ("  bare crc", Box::new(|| timed(|| _ = black_box(crc.checksum(&data))))),
        ("zstd", Box::new(|| read(&compressed))),
        ("  bare ruzstd", Box::new(|| timed(bare_zstd))),
    ];
    let mut best = [Duration::MAX; 7];
    for _ in 0..rounds {
        for (case, best) in cases.iter().zip(&mut best) {
            *best = case.1().min(*best);
        }
    }
    println!("fastest of {rounds} rounds, 64 MiB of f32\n");
    for ((name, _), time) in cases.iter().zip(best) {
        println!("{name:<18}{:>8.2} GB/s", BYTES as f64 / time.as_secs_f64() / 1e9);
    }
    let share = |ours: usize, bare: usize| best[bare].as_secs_f64() / best[ours].as_secs_f64();
    println!("\nsha256: {:.2} times the speed of the bare crate sha2", share(1, 2));
    println!("crc32c: {:.2} times the speed of the bare crate crc", share(3, 4));
    println!("zstd: {:.2} times the speed of the bare crate ruzstd", share(5, 6));
}
