//! Tests that each of several clients, which send thousands of files to the HTTP server, receives the right verdict.
//!
//! Each file of the corpus is sent once. The variable `ZTEN_SERVICE_FILES` sets another number of files.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use super::client::post;
use super::served::{Served, plenty};
use crate::samples::{Known, mixed, samples};

/// The number of clients, which is more than the number of workers.
const CLIENTS: usize = 8;

#[test]
fn thousands_of_files() {
    let mut samples: Vec<_> = samples().collect();
    samples.sort_by_cached_key(|sample| mixed(&sample.path));
    let wanted = std::env::var("ZTEN_SERVICE_FILES").ok();
    let wanted = wanted.map_or(samples.len(), |number| number.parse().unwrap());
    let served = Served::honest(plenty());
    let (next, valid) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= wanted {
                        return;
                    }
                    let sample = &samples[at % samples.len()];
                    let answer = post(served.address, &fs::read(&sample.path).unwrap());
                    let name = sample.path.display();
                    assert_eq!(answer.status, 200, "{name}: {answer:?}");
                    match &sample.known {
                        Known::Valid => {
                            assert_eq!(answer.text("verdict"), "valid", "{name}");
                            valid.fetch_add(1, Ordering::Relaxed);
                        }
                        Known::Invalid(rule, offset) => {
                            // The files are sent without names, so a file with a damaged magic is not recognized as
                            // zTensor.
                            let found = answer.text("rule");
                            let is_other = ["format-unknown", "format-empty"].contains(&found)
                                && ["header-magic", "file-size"].contains(&rule.as_str());
                            assert!(found == *rule || is_other, "{name}: {found}");
                            if is_other {
                                continue;
                            }
                            let found = answer.body["offset"].as_u64();
                            assert!(offset.is_none() || *offset == found, "{name}: {answer:?}");
                        }
                    }
                }
            });
        }
    });
    let (seconds, valid) = (start.elapsed().as_secs_f64(), valid.into_inner());
    let rate = wanted as f64 / seconds;
    println!(
        "{wanted} files, {valid} valid, {CLIENTS} clients: {seconds:.1} s, {rate:.0} requests a second"
    );
    assert!(valid > 0);
}
