//! Measures dequantizing blocks of GGUF, compared with copying as many `f32` in the same run.
//!
//! `cargo bench --bench dequantize`

use std::hint::black_box;
use std::time::{Duration, Instant};

use zten::formats::Block;

/// The number of rounds of each case. `--quick` runs fewer, only to show that the benchmark works.
const ROUNDS: usize = 41;
const QUICK: usize = 3;
/// The number of elements of each type: few enough that they and their blocks stay in a cache.
const ELEMENTS: usize = 1 << 16;

/// Returns the duration of the fastest of `rounds` calls.
fn fastest(rounds: usize, mut call: impl FnMut()) -> Duration {
    let times = (0..rounds).map(|_| {
        let start = Instant::now();
        call();
        start.elapsed()
    });
    times.min().unwrap()
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let rounds = if quick { QUICK } else { ROUNDS };
    let mut out = vec![0.0; ELEMENTS];
    let copied = vec![1.0; ELEMENTS];
    let copy = fastest(rounds, || black_box(&mut out).copy_from_slice(black_box(&copied)));
    println!("minimum of {rounds} rounds\n\n{:<10}{:>10}{:>16}", "type", "us", "times a copy");
    for block in (0..64).filter_map(Block::by_number) {
        let [bytes, elements] = [block.bytes, block.elements].map(|n| usize::try_from(n).unwrap());
        // As scales of blocks, these bytes are ordinary numbers, and not infinite or NaN, which could take another
        // time.
        let blocks = vec![0x32; ELEMENTS / elements * bytes];
        let time = fastest(rounds, || {
            block.dequantize(black_box(&blocks), black_box(&mut out)).unwrap();
        });
        let [time, copy] = [time, copy].map(|time| time.as_secs_f64() * 1e6);
        println!("{:<10}{time:>10.1}{:>16.1}", block.name, time / copy);
    }
}
