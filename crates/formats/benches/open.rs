//! Parsing the header of a safetensors file, beside the `safetensors` crate opening the same file in the same run.
//!
//! `cargo bench -p zten-formats --bench open`
#![allow(
    clippy::allow_attributes,
    clippy::cast_precision_loss,
    reason = "a benchmark may panic, and its numbers are small"
)]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use safetensors::SafeTensors;
use zten::Limits;
use zten_corpus::other::safetensors::file;
use zten_formats::{Source, open, safetensors_tensors};
use zten_testkit::generate::names;

/// Rounds of each case; `--quick` takes fewer, to see that it runs.
const ROUNDS: usize = 21;
const QUICK: usize = 3;
/// Bytes of each tensor.
const BYTES: usize = 128;

/// The header of a file with those tensors, as most writers have it or with white space.
fn header(names: &[String], is_spaced: bool) -> String {
    let entries = names.iter().enumerate().map(|(at, name)| {
        let (begin, end) = (at * BYTES, (at + 1) * BYTES);
        if is_spaced {
            format!(r#""{name}": {{"dtype": "BF16", "shape": [4, 16], "data_offsets": [{begin}, {end}]}}"#)
        } else {
            format!(r#""{name}":{{"dtype":"BF16","shape":[4,16],"data_offsets":[{begin},{end}]}}"#)
        }
    });
    let entries: Vec<_> = entries.collect();
    format!("{{{}}}", entries.join(if is_spaced { ", " } else { "," }))
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let rounds = if quick { QUICK } else { ROUNDS };
    println!("minimum of {rounds} rounds, ns/tensor\n");
    println!(
        "{:<20}{:>12}{:>12}{:>12}{:>16}{:>14}",
        "tensors", "parse", "open", "safetensors", "x parse", "x open"
    );
    for (count, is_spaced) in [(1_000, false), (10_000, false), (100_000, false), (100_000, true)] {
        let header = header(&names(count), is_spaced);
        let bytes = file(&header, &vec![0; count * BYTES]);
        let source = Source::from(bytes.clone());
        let limits = Limits::default();
        let runs: [&dyn Fn(); 3] = [
            &|| {
                let tensors = safetensors_tensors(black_box(header.as_bytes()), &limits);
                assert_eq!(tensors.unwrap(), count);
            },
            &|| {
                let opened = open(source.clone(), Vec::new(), Path::new("x"), &limits);
                assert_eq!(opened.unwrap().tensors().len(), count);
            },
            &|| assert_eq!(SafeTensors::deserialize(black_box(&bytes)).unwrap().len(), count),
        ];
        // Interleaved, so that what the machine does otherwise falls on all of them alike.
        let mut fastest = [Duration::MAX; 3];
        for _ in 0..rounds {
            for (run, fastest) in runs.iter().zip(&mut fastest) {
                let start = Instant::now();
                run();
                *fastest = start.elapsed().min(*fastest);
            }
        }
        let [parse, open, peer] = fastest.map(|time| time.as_secs_f64() * 1e9 / count as f64);
        let label = format!("{count}{}", if is_spaced { ", spaced" } else { "" });
        println!(
            "{label:<20}{parse:>12.1}{open:>12.1}{peer:>12.1}{:>16.2}{:>14.2}",
            peer / parse,
            peer / open
        );
    }
}
