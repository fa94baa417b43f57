//! Measures opening: the time for each object and the heap, for ordinary and for hostile manifests, compared with `safetensors`
//! reading a header with as many tensors in the same run. Also measures borrowing tensors by their names.
//!
//! `cargo bench -p zten --bench open`
#![allow(
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a benchmark may panic, and its numbers are small"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use zten::Archive;
use zten_corpus::base::{component, dense_object, v1};
use zten_testkit::generate::{self, File};

const OBJECTS: usize = 100_000;
/// The number of rounds of each case without `--quick`, which runs fewer rounds only to show that the benchmark works.
const ROUNDS: usize = 21;
/// The number of rounds of each case with `--quick`.
const QUICK: usize = 3;

/// A case: its name, the number of objects or names by which its time is divided, the number of bytes of the header or of all
/// names, and the function that runs it.
struct Case<'a> {
    name: &'static str,
    units: u64,
    bytes: usize,
    run: Box<dyn Fn() + 'a>,
}

impl<'a> Case<'a> {
    fn open(name: &'static str, file: &'a File) -> Self {
        let run = || drop(black_box(file.open()));
        Self { name, units: file.objects, bytes: file.manifest.len(), run: Box::new(run) }
    }

    /// Makes a case that calls `look_up` with each of `names`.
    fn each(name: &'static str, names: &'a [String], look_up: impl Fn(&str) + 'a) -> Self {
        let run = move || names.iter().for_each(|name| look_up(black_box(name)));
        let bytes = names.iter().map(String::len).sum();
        Self { name, units: names.len() as u64, bytes, run: Box::new(run) }
    }
}

/// Returns a complete file of small tensors called `names`.
fn small(names: &[String]) -> Vec<u8> {
    let object = |(at, name)| (name, dense_object(&[16], component("f32", 64 + at * 64, 64)));
    let objects = (0_u64..).zip(names).map(object);
    v1("1.2.0", objects).blob(64, &vec![0; names.len() * 64]).build("").bytes
}

/// Returns the header of a safetensors file with tensors called `names`.
fn safetensors(names: &[String]) -> Vec<u8> {
    zten_testkit::safetensors::file(
        names.iter().map(|name| (name, "BF16", [4096, 16], 131_072)),
        &[],
    )
}

/// Returns the largest number of bytes on the heap at one time while `run` runs.
fn heap(run: &dyn Fn()) -> u64 {
    allocation_counter::measure(run).bytes_max
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let rounds = if quick { QUICK } else { ROUNDS };
    let sorted = generate::names(OBJECTS);
    let shuffled = generate::shuffled(sorted.clone());

    let plain = generate::dense(&sorted, false, false);
    let digests = generate::dense(&sorted, true, false);
    let mixed = generate::dense(&shuffled, true, false);
    let mixed_plain = generate::dense(&shuffled, false, false);
    let disorder = generate::dense(&sorted, true, true);
    let both = generate::dense(&shuffled, true, true);
    let twice = generate::dense(&generate::names(2 * OBJECTS), true, false);
    let header = safetensors(&sorted);

    let million = generate::names(10 * OBJECTS);
    let million_shuffled = generate::shuffled(million.clone());
    let many = generate::dense(&million, false, false);
    let many_shuffled = generate::dense(&million_shuffled, false, false);
    let same_names = generate::same_names(10 * OBJECTS);
    let same_blobs = generate::same_blobs(10 * OBJECTS);
    let smallest = generate::smallest(1_000_000, true, false);
    let attributes = generate::attributes(4096, 100);
    let nested = generate::nested(100_000);
    let small = small(&sorted);
    let archive = Archive::from_bytes(&small).unwrap();
    let same = zten_testkit::safetensors::file(
        sorted.iter().map(|name| (name, "F32", [4, 4], 64)),
        &vec![0; OBJECTS * 64],
    );
    let same = safetensors::SafeTensors::deserialize(&same).unwrap();

    let peer = Case {
        name: "safetensors read_metadata",
        units: OBJECTS as u64,
        bytes: header.len(),
        run: Box::new(|| {
            // The data is missing, which the crate notices only after it has parsed the header.
            drop(black_box(safetensors::SafeTensors::read_metadata(black_box(&header))));
        }),
    };
    let cases = [
        Case::open("dense, names sorted", &digests),
        Case::open("dense, names shuffled", &mixed),
        Case::open("dense, blobs out of order", &disorder),
        Case::open("dense, both", &both),
        Case::open("dense, sorted, no digests", &plain),
        Case::open("dense, twice as many", &twice),
        peer,
        Case::open("dense, shuffled, no digests", &mixed_plain),
        Case::open("1 M, sorted", &many),
        Case::open("1 M, shuffled", &many_shuffled),
        Case::open("1 M with one name", &same_names),
        Case::open("1 M with one blob", &same_blobs),
        Case::open("1 M as small as can be", &smallest),
        Case::open("4,096 attributes x 100", &attributes),
        Case::open("100,000 nested arrays", &nested),
        Case::each("get, dense, view", &shuffled, |name| {
            black_box(archive.get(name).unwrap().dense().unwrap().view().unwrap());
        }),
        Case::each("tensor, as_slice", &shuffled, |name| {
            black_box(archive.tensor(name).unwrap().as_slice::<f32>().unwrap());
        }),
        Case::each("get, dense, bytes", &shuffled, |name| {
            black_box(archive.get(name).unwrap().dense().unwrap().bytes().unwrap());
        }),
        Case::each("SafeTensors::tensor, data", &shuffled, |name| {
            black_box(same.tensor(name).unwrap().data());
        }),
    ];

    // The cases take turns, so that other load on the machine affects all of them alike.
    let mut times = vec![Vec::with_capacity(rounds); cases.len()];
    for _ in 0..rounds {
        for (case, times) in cases.iter().zip(&mut times) {
            let start = Instant::now();
            (case.run)();
            times.push(start.elapsed());
        }
    }
    print_table(&cases, &times);
    print_ratios(&cases, &times);
}

/// Prints the fastest and the median time of each case, and its heap.
fn print_table(cases: &[Case<'_>], times: &[Vec<Duration>]) {
    let fastest = |times: &[Duration]| times.iter().min().copied().unwrap_or_default();
    let per_byte = |i: usize| fastest(&times[i]).as_secs_f64() * 1e9 / cases[i].bytes as f64;
    let rounds = times[0].len();
    println!("minimum and median of {rounds} rounds\n");
    println!(
        "{:<28}{:>10}{:>10}{:>10}{:>12}{:>14}{:>12}",
        "case", "ns/object", "median", "ns/byte", "x ordinary", "bytes/object", "heap/bytes"
    );
    for (i, case) in cases.iter().enumerate() {
        let mut sorted = times[i].clone();
        sorted.sort_unstable();
        let each = |time: Duration| time.as_secs_f64() * 1e9 / case.units as f64;
        println!(
            "{:<28}{:>10.1}{:>10.1}{:>10.3}{:>12.2}{:>14.1}{:>12.3}",
            case.name,
            each(fastest(&sorted)),
            each(sorted[rounds / 2]),
            per_byte(i),
            per_byte(i) / per_byte(0),
            case.bytes as f64 / case.units as f64,
            heap(&case.run) as f64 / case.bytes as f64,
        );
    }
}

/// Prints ratios between the times of cases.
fn print_ratios(cases: &[Case<'_>], times: &[Vec<Duration>]) {
    // A ratio is taken in each round, whose cases ran shortly after each other, so that a slow phase of the machine affects both
    // of its times.
    let ratio = |a: &str, b: &str| {
        let of = |name| &times[cases.iter().position(|case| case.name == name).unwrap()];
        let mut ratios: Vec<f64> =
            of(a).iter().zip(of(b)).map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        ratios[ratios.len() / 2]
    };
    println!();
    for (order, case) in [
        ("sorted", "dense, sorted, no digests"),
        ("sorted, with digests", "dense, names sorted"),
        ("shuffled", "dense, shuffled, no digests"),
        ("shuffled, with digests", "dense, names shuffled"),
    ] {
        let times = ratio("safetensors read_metadata", case);
        println!(
            "safetensors read_metadata takes {times:.1} times as long as zten (names {order})"
        );
    }
    let twice = ratio("dense, twice as many", "dense, names sorted");
    println!("a file with twice the objects takes {twice:.2} times as long to open");
    let look_up = ratio("get, dense, bytes", "SafeTensors::tensor, data");
    println!(
        "finding a tensor and its bytes takes {look_up:.3} times as long as SafeTensors::tensor"
    );
}
