//! Measures opening a safetensors file in memory, compared with the `safetensors` crate opening the same file in the same run.
//!
//! `cargo bench --bench open_formats`
#![allow(
    clippy::allow_attributes,
    clippy::cast_precision_loss,
    reason = "a benchmark may panic, and its numbers are small"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use safetensors::SafeTensors;
use zten::OpenOptions;
use zten_corpus::other::safetensors::file;
use zten_testkit::generate::names;

/// The number of rounds of each case. `--quick` runs fewer, only to show that the benchmark works.
const ROUNDS: usize = 21;
const QUICK: usize = 3;
/// The number of bytes of each tensor.
const BYTES: usize = 128;

/// Returns the header of a safetensors file with tensors called `names`, in the form that most writers use, or with
/// white space if `is_spaced`.
fn header(names: &[String], is_spaced: bool) -> String {
    let header = zten_testkit::safetensors::header(
        names.iter().map(|name| (name, "BF16", [4, 16], BYTES as u64)),
    );
    if is_spaced { header.replace(',', ", ").replace(':', ": ") } else { header }
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let rounds = if quick { QUICK } else { ROUNDS };
    println!("minimum of {rounds} rounds, ns/tensor\n");
    println!("{:<20}{:>12}{:>14}{:>10}", "tensors", "zten", "safetensors", "times");
    for (count, is_spaced) in [(1_000, false), (10_000, false), (100_000, false), (100_000, true)] {
        let header = header(&names(count), is_spaced);
        let bytes = file(&header, &vec![0; count * BYTES]);
        let runs: [&dyn Fn(); 2] = [
            &|| {
                let opened = OpenOptions::default().from_bytes(black_box(bytes.as_slice()));
                assert_eq!(opened.unwrap().len(), count);
            },
            &|| assert_eq!(SafeTensors::deserialize(black_box(&bytes)).unwrap().len(), count),
        ];
        // zten and the `safetensors` crate take turns, so that other load on the machine affects both alike.
        let mut fastest = [Duration::MAX; 2];
        for _ in 0..rounds {
            for (run, fastest) in runs.iter().zip(&mut fastest) {
                let start = Instant::now();
                run();
                *fastest = start.elapsed().min(*fastest);
            }
        }
        let [own, peer] = fastest.map(|time| time.as_secs_f64() * 1e9 / count as f64);
        let label = format!("{count}{}", if is_spaced { ", spaced" } else { "" });
        println!("{label:<20}{own:>12.1}{peer:>14.1}{:>10.2}", peer / own);
    }
}
