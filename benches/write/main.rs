//! Measures writing: manifests compared with reading them, and data compared with copying it and with `safetensors`.
//!
//! `cargo bench -p zten --bench write` writes some GiB to the folder for temporary files.
#![allow(
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a benchmark may panic, and its numbers are small"
)]

use std::cell::RefCell;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use fastrand::Rng;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, serialize_to_file};
use sha2::{Digest as _, Sha256};
use zten::write::{Checksum, FileSink, NewObject, ShardWriter, WriteOptions, Writer};
use zten::{Archive, DType, Generation};
use zten_testkit::generate;

const OBJECTS: usize = 100_000;

/// A case: its name, and the function that runs it.
type Case<'a> = (&'a str, Box<dyn Fn() + 'a>);

/// Runs the cases in turn, so that other load on the machine affects all of them alike. Returns the sorted durations of each case.
/// `prepare` runs before each run and is not measured.
fn interleaved(cases: &[Case<'_>], rounds: usize, prepare: impl Fn()) -> Vec<Vec<Duration>> {
    let mut times = vec![Vec::with_capacity(rounds); cases.len()];
    for _ in 0..rounds {
        for ((_, run), times) in cases.iter().zip(&mut times) {
            prepare();
            let start = Instant::now();
            run();
            times.push(start.elapsed());
        }
    }
    for times in &mut times {
        times.sort_unstable();
    }
    times
}

/// Returns a zTensor file of empty objects called `names`, which consists almost only of its manifest. `room` is the
/// initial capacity of the buffer in bytes.
fn write(names: &[String], settings: &WriteOptions, room: usize) -> Vec<u8> {
    let mut writer = Writer::new(Vec::with_capacity(room), settings).unwrap();
    for name in names {
        writer.add_object(&NewObject::dense(name, &[4096, 0], DType::F32), &[]).unwrap();
    }
    writer.finish().unwrap()
}

/// Measures writing many objects without data: prints the time for each object, compared with opening the written
/// file.
fn manifests(rounds: usize) {
    let sorted = generate::names(OBJECTS);
    let shuffled = generate::shuffled(sorted.clone());
    let none = WriteOptions::default().checksum(Checksum::None);
    let plain = write(&sorted, &none, 0);
    let mixed = write(&shuffled, &none, 0);
    let digests = write(&sorted, &WriteOptions::default(), 0);
    let room = digests.len();
    let sums = || {
        for _ in 0..OBJECTS {
            black_box(Sha256::digest(black_box([])));
        }
    };
    let writing = |names: &'static [String], settings: WriteOptions| -> Box<dyn Fn()> {
        Box::new(move || drop(black_box(write(names, &settings, room))))
    };
    let (sorted, shuffled) = (&*sorted.leak(), &*shuffled.leak());
    let opening = |file: &'static [u8]| -> Box<dyn Fn()> {
        Box::new(move || drop(black_box(Archive::from_bytes(black_box(file)))))
    };
    let cases: [Case<'_>; 7] = [
        ("write, names sorted", writing(sorted, none)),
        ("open it", opening(plain.leak())),
        ("write, names shuffled", writing(shuffled, none)),
        ("open it", opening(mixed.leak())),
        ("write with sha256", writing(sorted, WriteOptions::default())),
        ("open it", opening(digests.leak())),
        ("the sums alone", Box::new(sums)),
    ];
    println!("{:<28}{:>12}{:>12}", "100,000 empty objects", "ns/object", "median");
    for ((name, _), times) in cases.iter().zip(interleaved(&cases, rounds, || ())) {
        let each = |time: Duration| time.as_secs_f64() * 1e9 / OBJECTS as f64;
        println!("{name:<28}{:>12.1}{:>12.1}", each(times[0]), each(times[rounds / 2]));
    }
}

/// Writes tensors to a file at `path`, or to as many shards as `shards` says. Like `cp`, does not wait for the disk.
/// The files are complete, but keep temporary names, because they are dropped after the measurement.
fn save(
    path: &Path,
    tensors: &[(String, Vec<u8>)],
    settings: &WriteOptions,
    shards: usize,
) -> Vec<FileSink> {
    let names: Vec<_> = (0..shards).map(|n| n.to_string()).collect();
    let own = names.iter().map(|name| path.with_extension(name));
    let paths = std::iter::once(path.to_owned()).chain(own);
    let mut sinks: Vec<_> = paths.map(|path| FileSink::create(&path).unwrap()).collect();
    let (root, own) = sinks.split_first_mut().unwrap();
    let mut writer = Writer::new(root, settings).unwrap();
    let own = own.iter_mut().map(|sink| ShardWriter::new(sink, settings).unwrap());
    let mut open: Vec<_> = names.iter().zip(own).collect();
    for (at, (name, bytes)) in tensors.iter().enumerate() {
        let shape = [bytes.len() as u64 / 4];
        let object = NewObject::dense(name, &shape, DType::F32);
        let mut out = match open.get_mut(at * shards / tensors.len()) {
            Some((name, shard)) => writer.object_in(name, shard, &object).unwrap(),
            None => writer.object(&object).unwrap(),
        };
        out.write_part("data", bytes).unwrap();
        out.finish().unwrap();
    }
    for (name, shard) in open {
        let ((), record) = shard.finish().unwrap();
        writer.shard(name, &record).unwrap();
    }
    writer.finish().unwrap();
    sinks
}

/// Measures writing large tensors: prints bytes per second, compared with copying the same bytes, and with
/// `safetensors` writing them.
fn data(rounds: usize, total: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut random = Rng::with_seed(3);
    let tensors: Vec<(String, Vec<u8>)> = (0..16)
        .map(|n| {
            let bytes = (0..total / 16 / 8).flat_map(|_| random.u64(..).to_le_bytes()).collect();
            (format!("layer.{n}"), bytes)
        })
        .collect();
    let source = path("source");
    let mut file = File::create(&source).unwrap();
    for (_, bytes) in &tensors {
        file.write_all(bytes).unwrap();
    }
    drop(file);

    let none = WriteOptions::default().checksum(Checksum::None);
    let crc = WriteOptions::default().checksum(Checksum::Crc32c);
    let cp = || {
        let status = std::process::Command::new("cp").args([&source, &path("cp")]).status();
        assert!(status.unwrap().success());
    };
    let written = || {
        let mut file = File::create(path("plain")).unwrap();
        for (_, bytes) in &tensors {
            file.write_all(bytes).unwrap();
        }
    };
    let peer = || {
        let views = tensors.iter().map(|(name, bytes)| {
            (name, TensorView::new(Dtype::F32, vec![bytes.len() / 4], bytes).unwrap())
        });
        serialize_to_file(views, None, &path("safetensors")).unwrap();
    };
    // `prepare` drops the files, because removing a file is not part of writing it.
    let unpublished = RefCell::new(Vec::new());
    let all = WriteOptions::default();
    let second = WriteOptions::default().generation(Generation::V2);
    let keep_in = |settings: WriteOptions, shards| {
        let (unpublished, tensors, path) = (&unpublished, &tensors, path("zt"));
        Box::new(move || drop(unpublished.replace(save(&path, tensors, &settings, shards))))
    };
    let keep = |settings| keep_in(settings, 0);
    let sums = || {
        for (_, bytes) in &tensors {
            black_box(Sha256::digest(bytes));
        }
    };
    // Before each run, the output file does not exist, and the bytes of earlier runs have been written to the disk.
    let prepare = || {
        unpublished.take().clear();
        for name in ["cp", "plain", "safetensors"] {
            let _ = fs::remove_file(path(name));
        }
        assert!(std::process::Command::new("sync").status().unwrap().success());
    };
    let cases: [Case<'_>; 10] = [
        ("cp", Box::new(cp)),
        ("write_all", Box::new(written)),
        ("safetensors", Box::new(peer)),
        ("zten", keep(none)),
        ("zten, crc32c", keep(crc)),
        ("zten, sha256", keep(all)),
        ("sha256 alone", Box::new(sums)),
        ("zten, 2", keep(second.checksum(Checksum::None))),
        ("zten, 2, xxh3", keep(second)),
        ("zten, 2, 4 shards", keep_in(second, 4)),
    ];
    let times = interleaved(&cases, rounds, prepare);
    println!(
        "\n{:<28}{:>12}{:>12}{:>12}",
        format!("{} MiB", total >> 20),
        "GB/s",
        "median",
        "x cp"
    );
    for ((name, _), own) in cases.iter().zip(&times) {
        let rate = |time: Duration| total as f64 / time.as_secs_f64() / 1e9;
        let ratio = times[0][0].as_secs_f64() / own[0].as_secs_f64();
        println!("{name:<28}{:>12.2}{:>12.2}{ratio:>12.2}", rate(own[0]), rate(own[rounds / 2]));
    }
}

fn main() {
    if std::env::args().any(|argument| argument == "--quick") {
        manifests(3);
        data(2, 32 << 20);
    } else {
        manifests(21);
        data(7, 1 << 30);
    }
}
