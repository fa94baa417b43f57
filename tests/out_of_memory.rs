//! Running out of memory: whichever single allocation fails, the call returns an error.
#![cfg(all(
    feature = "std",
    feature = "write",
    feature = "zstd",
    not(any(feature = "zstd-ruzstd", miri))
))]

#[cfg(all(feature = "numpy", feature = "parts", feature = "safetensors", feature = "torch"))]
#[path = "out_of_memory/formats.rs"]
mod formats;
#[path = "out_of_memory/work.rs"]
mod work;

use std::cell::Cell;
use std::sync::Mutex;

use alloc_chaos::{ChaosAllocator, Check};
use work::{WORKS, is_memory};
use zten::write::Checksum;
use zten::{Error, OpenOptions};
use zten_testkit::{accepted, accepted_v2, reject_index, reject_index_v2};

#[global_allocator]
static ALLOCATOR: ChaosAllocator = ChaosAllocator::system();

/// The lock that keeps tests from running at the same time, because they share the allocator.
static ONE: Mutex<()> = Mutex::new(());

/// The numbers of outcomes when each allocation of a piece of work fails in turn.
#[derive(Default)]
struct Tally {
    /// The number of allocations that failed.
    failed: usize,
    /// The number of failures that changed the outcome only by removing the names from an error.
    unnamed: usize,
    /// The number of failures that did not change the outcome.
    harmless: usize,
}

/// Returns the names of the tensor and the component of an error.
fn names(outcome: &Result<(), Error>) -> [Option<&str>; 2] {
    let error = outcome.as_ref().err();
    [error.and_then(Error::tensor), error.and_then(Error::component)]
}

/// Fails each allocation of `work` in turn, and calls `judge` with each outcome and the outcome with enough memory. Returns the
/// number of allocations that failed. `judge` must not take memory.
fn sweep<E>(
    what: &str,
    work: impl Fn() -> Result<(), E>,
    judge: impl Fn(&Result<(), E>, &Result<(), E>),
) -> usize {
    let usual = work();
    // The first run only counts the allocations, and none of them fails.
    let is_counted = Cell::new(false);
    let report = Check::new().run(|| {
        let outcome = work();
        if is_counted.replace(true) {
            judge(&outcome, &usual);
        }
    });
    // Every allocation must have failed once.
    let all = report.injected_failures() == report.baseline_allocations();
    let well = report.baseline().outcome().is_completed() && report.first_failure().is_none();
    assert!(all && well && !report.is_truncated(), "{what}: {report}");
    report.tested_failures()
}

impl Tally {
    /// Fails each allocation of `work` in turn. Each time the outcome must be `OutOfMemory`, or the outcome with enough
    /// memory, except that names may be missing from an error.
    fn sweep(&mut self, what: &str, work: impl Fn() -> Result<(), Error>) {
        let (harmless, unnamed) = (Cell::new(0), Cell::new(0));
        self.failed += sweep(what, work, |outcome, usual| {
            if outcome != usual {
                assert!(outcome.as_ref().is_err_and(is_memory), "{what}: {outcome:?}");
            } else if names(outcome) == names(usual) {
                harmless.set(harmless.get() + 1);
            } else {
                let pairs = names(outcome).into_iter().zip(names(usual));
                assert!(pairs.into_iter().all(|(own, usual)| own.is_none() || own == usual));
                unnamed.set(unnamed.get() + 1);
            }
        });
        self.unnamed += unnamed.get();
        self.harmless += harmless.get();
    }

    /// Checks the counts: at least `least` allocations, fewer than a fifth of them harmless. Shrinking an index is
    /// harmless, because the index is used unshrunk if there is no memory.
    fn validate(&self, what: &str, least: usize) {
        let Self { failed, unnamed, harmless } = self;
        println!("{what}: {failed} failed, {unnamed} of them took a name, {harmless} nothing");
        assert!(self.failed >= least, "{what}: only {} allocations", self.failed);
        assert!(self.harmless * 5 < self.failed, "{what}: {} harmless", self.harmless);
    }
}

#[test]
fn accepted_files() {
    let _one = ONE.lock();
    for (name, work) in WORKS {
        let mut tally = Tally::default();
        for file in accepted().chain(accepted_v2()) {
            let what = format!("{name}, {}", file.name);
            tally.sweep(&what, || work(&file.bytes, &OpenOptions::default()));
        }
        tally.validate(name, 1000);
    }
}

#[test]
fn rejected_files() {
    let _one = ONE.lock();
    for (name, work) in &WORKS[..4] {
        let mut tally = Tally::default();
        for row in reject_index().chain(reject_index_v2()) {
            let file = row.read();
            let what = format!("{name}, {}", row.file);
            tally.sweep(&what, || work(&file, &row.options));
        }
        tally.validate(name, 1500);
    }
}

#[test]
fn files_that_are_read_at_positions() {
    let _one = ONE.lock();
    let mut tally = Tally::default();
    let accepted = accepted().chain(accepted_v2()).map(|file| (file.path, OpenOptions::default()));
    let sharded = zten_testkit::sharded().map(|row| (row.path, row.options));
    for (path, options) in accepted.chain(sharded) {
        tally.sweep(&path.display().to_string(), || work::open_path(&path, &options));
    }
    tally.validate("open a file", 2000);
}

#[test]
fn writing_survives_failed_allocations() {
    let _one = ONE.lock();
    for level in [None, Some(1), Some(5)] {
        for checksum in [Checksum::None, Checksum::Crc32c, Checksum::Sha256] {
            let mut tally = Tally::default();
            let what = format!("write, {level:?}, {checksum:?}");
            tally.sweep(&what, || work::write(checksum, level));
            tally.sweep(&what, || work::write_elements(checksum, level));
            tally.validate(&what, 60);
        }
    }
}

/// An error that should have names is returned without them if there is no memory for the names.
#[test]
fn errors_with_names() {
    let _one = ONE.lock();
    for (what, work) in work::NAMED {
        let usual = work().unwrap_err();
        assert!(usual.tensor().is_some() && !is_memory(&usual), "{what}: {usual}");
        let mut tally = Tally::default();
        tally.sweep(what, work);
        assert!(tally.unnamed > 0, "{what}");
    }
}

#[test]
fn shards_that_are_written() {
    let _one = ONE.lock();
    let mut tally = Tally::default();
    tally.sweep("write shards", work::write_shards);
    tally.validate("write shards", 40);
}

#[test]
fn files_with_shards() {
    let _one = ONE.lock();
    let mut tally = Tally::default();
    for row in zten_testkit::sharded() {
        let root = std::fs::read(&row.path).unwrap();
        let stem = row.path.file_stem().unwrap().to_str().unwrap();
        let mut siblings = Vec::new();
        for other in std::fs::read_dir(row.path.parent().unwrap()).unwrap() {
            let other = other.unwrap().path();
            let name = other.file_name().unwrap().to_str().unwrap().strip_suffix(".zt");
            let shard = name.and_then(|name| name.strip_prefix(stem)?.strip_prefix('-'));
            siblings.extend(shard.map(|shard| (shard.to_owned(), std::fs::read(&other).unwrap())));
        }
        let what = row.path.display().to_string();
        let file = work::Sharded { root: &root, shards: &siblings, options: &row.options };
        tally.sweep(&what, || file.bind());
        tally.sweep(&what, || file.own(false));
        tally.sweep(&what, || file.own(true));
    }
    tally.validate("files with shards", 240);
}
