//! Running out of memory for good: whatever the size of the heap, a call succeeds or returns an error. In the test
//! program `out_of_memory`, on the other hand, a single allocation fails, and later allocations succeed.

#[path = "out_of_memory/work.rs"]
#[allow(dead_code, clippy::allow_attributes, reason = "`out_of_memory` uses the rest")]
mod work;

use std::alloc::System;
use std::cell::Cell;

use alloc_chaos::{ChaosAllocator, Check};
use cap::Cap;
use work::{WORKS, is_memory};
use zten::write::Checksum;
use zten::{Error, OpenOptions};
use zten_testkit::{accepted, accepted_v2, reject_index, reject_index_v2};

/// The allocator, which has a limit on all allocated bytes, and counts allocations.
#[global_allocator]
static ALLOCATOR: Cap<ChaosAllocator> = Cap::new(ChaosAllocator::<System>::system(), usize::MAX);

/// Runs `work` with a heap of `bytes` bytes. Returns the result of `work` and the number of its allocations.
fn run(bytes: usize, work: &impl Fn() -> Result<(), Error>) -> (Result<(), Error>, usize) {
    let outcome = Cell::new(Ok(()));
    let report = Check::new().failure_range(0..0).run(|| {
        ALLOCATOR.set_limit(ALLOCATOR.allocated() + bytes).unwrap();
        outcome.set(work());
        ALLOCATOR.set_limit(usize::MAX).unwrap();
    });
    assert!(report.baseline().outcome().is_completed(), "{report}");
    (outcome.into_inner(), report.baseline_allocations())
}

/// Runs `work` with heaps of many sizes, from none to enough. Each run must have the usual result, or end with an error of
/// running out of memory. Returns the number of sizes at which `work` makes another number of allocations than with one byte
/// less.
///
/// A larger heap lets `work` make more allocations. If two sizes of the heap allow equally many, the sizes between them
/// are skipped.
fn sweep(what: &str, work: &impl Fn() -> Result<(), Error>) -> usize {
    let usual = run(1 << 30, work);
    let validated = |bytes| {
        let (outcome, count) = run(bytes, work);
        if outcome != usual.0 {
            assert!(outcome.as_ref().is_err_and(is_memory), "{what}: {outcome:?}");
        }
        count
    };
    let mut enough = 1;
    while run(enough, work) != usual {
        enough *= 2;
    }
    let mut differences = 0;
    let mut open = vec![((0, validated(0)), (enough, validated(enough)))];
    while let Some((few, many)) = open.pop() {
        if few.1 == many.1 {
            continue;
        }
        let middle = usize::midpoint(few.0, many.0);
        if middle == few.0 {
            differences += 1;
            continue;
        }
        let middle = (middle, validated(middle));
        open.extend([(few, middle), (middle, many)]);
    }
    differences
}

/// Runs all kinds of reading on all accepted files and every tenth rejected file, and all kinds of writing. No other thread may
/// run, because the limit holds for the whole process. Does nothing under Miri, or with the feature `zstd-ruzstd`.
fn main() {
    if cfg!(miri) {
        println!("left out: it has an allocator of its own");
        return;
    }
    if cfg!(feature = "zstd-ruzstd") {
        println!("left out: that decoder does not ask whether there is memory");
        return;
    }
    let mut differences = 0;
    for (name, work) in WORKS {
        for file in accepted().chain(accepted_v2()) {
            let what = format!("{name}, {}", file.name);
            differences += sweep(&what, &|| work(&file.bytes, &OpenOptions::default()));
        }
        for row in reject_index().chain(reject_index_v2()).step_by(10) {
            let file = row.read();
            let what = format!("{name}, {}", row.file);
            differences += sweep(&what, &|| work(&file, &row.options));
        }
    }
    for level in [None, Some(1), Some(5)] {
        differences += sweep("write", &|| work::write(Checksum::Sha256, level));
    }
    differences += sweep("write shards", &work::write_shards);
    println!("{differences} limits that make a difference");
    assert!(differences > 50_000, "only {differences} limits make a difference");
}
