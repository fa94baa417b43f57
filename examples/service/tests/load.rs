//! Thousands of files, valid and hostile, several at a time: no wrong verdict, and no leak.
//!
//! The corpus once, or as many files as `ZTEN_SERVICE_FILES` says.
// Elsewhere no worker can be confined, and none reads anything.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
#![allow(
    clippy::allow_attributes,
    clippy::cast_precision_loss,
    missing_docs,
    reason = "one that panics has failed"
)]

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

use zten_service::{Loss, Service, Settings, Verdict, Want};

/// What is known of a file.
enum Known {
    Valid,
    /// Refused by that rule, at that byte.
    Refused(String, Option<u64>),
    /// What its worker is told to do, which loses it.
    Lie,
}

struct Sample {
    path: PathBuf,
    known: Known,
}

/// Files of the corpus that are validated without options, and among them some that take over their
/// worker.
fn samples(folder: &std::path::Path) -> Vec<Sample> {
    let root = zten_testkit::corpus().join("accept");
    let accepted = zten_testkit::accepted().map(|file| {
        let known = file.opens_only.map(|rule| Known::Refused(rule, None));
        Sample { path: root.join(&file.name), known: known.unwrap_or(Known::Valid) }
    });
    let refused = zten_testkit::reject_index().filter(|row| row.given == "-").map(|row| Sample {
        path: row.path,
        known: Known::Refused(row.expected.rule, row.expected.offset),
    });
    let lies = ["nothing", "abort", "memory", "socket", "endless", "not sealed", "a file", "sleep"];
    let lies = lies.map(|deed| {
        let path = folder.join(deed);
        fs::write(&path, deed).unwrap();
        Sample { path, known: Known::Lie }
    });
    let mut samples: Vec<_> = accepted.chain(refused).chain(lies).collect();
    // Valid and hostile ones mixed, in the same order each time.
    samples.sort_by_cached_key(|sample| {
        let name = sample.path.file_name().unwrap().as_encoded_bytes();
        name.iter().fold(0_u32, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
    });
    samples
}

/// What the service finds, held against what is known; the bytes that it may look at.
fn validate(honest: &Service, lying: &Service, sample: &Sample) -> Result<usize, String> {
    let file = File::open(&sample.path).map_err(|error| error.to_string())?;
    let service = if matches!(sample.known, Known::Lie) { lying } else { honest };
    let verdict = service.check(file, Want::Content).map_err(|error| error.to_string())?;
    match (&sample.known, verdict) {
        (Known::Valid, Verdict::Valid(model)) => {
            let components = model.facts.objects.iter().flat_map(|object| &object.components);
            // A caller that touches every byte finds it there.
            Ok(components
                .map(|component| {
                    let bytes = model.bytes(component).unwrap();
                    std::hint::black_box(bytes.iter().fold(0, |sum, byte| sum ^ byte));
                    bytes.len()
                })
                .sum())
        }
        (Known::Refused(rule, offset), Verdict::Refused(refusal))
            if refusal.rule.as_deref() == Some(rule)
                && (offset.is_none() || *offset == refusal.offset) =>
        {
            Ok(0)
        }
        (Known::Lie, Verdict::Lost(Loss::Time | Loss::Ended(_) | Loss::Answer(_))) => Ok(0),
        (_, other) => Err(format!("{other:?}")),
    }
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Processes that this one has started and that are still there, dead or alive.
fn children() -> usize {
    let own = std::process::id().to_string();
    let stats = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok());
    // Its name, which may be anything in brackets; its state; its parent.
    let parent = |stat: &String| stat.rsplit(')').next()?.split(' ').nth(2).map(str::to_owned);
    stats.filter(|stat| parent(stat) == Some(own.clone())).count()
}

/// KiB of memory in use.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn thousands_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let samples = samples(folder.path());
    let wanted = std::env::var("ZTEN_SERVICE_FILES").ok();
    let wanted = wanted.map_or(samples.len(), |number| number.parse().unwrap());
    let threads = available_parallelism().map_or(2, usize::from);
    // What is valid must not be lost on a machine that has much else to do.
    let patient = Settings { time: Duration::from_secs(60), ..Settings::default() };
    let honest = Service::new(env!("CARGO_BIN_EXE_zten-service-worker"), patient);
    let hurried = Settings { time: Duration::from_millis(500), ..patient };
    let lying = Service::new(env!("CARGO_BIN_EXE_zten-service-liar"), hurried);

    let run = |number: usize| {
        let (next, valid) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (lost, bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        if at >= number {
                            return;
                        }
                        let sample = &samples[at % samples.len()];
                        let validated = validate(&honest, &lying, sample);
                        let name = sample.path.display();
                        let length = validated.unwrap_or_else(|why| panic!("{name}: {why}"));
                        bytes.fetch_add(length, Ordering::Relaxed);
                        match sample.known {
                            Known::Valid => valid.fetch_add(1, Ordering::Relaxed),
                            Known::Lie => lost.fetch_add(1, Ordering::Relaxed),
                            Known::Refused(..) => 0,
                        };
                    }
                });
            }
        });
        (valid.into_inner(), lost.into_inner(), bytes.into_inner())
    };

    // The first files bring the allocator to its size.
    run(samples.len().min(500));
    let (open, memory, start) = (descriptors(), resident(), Instant::now());
    let (valid, lost, bytes) = run(wanted);
    let seconds = start.elapsed().as_secs_f64();
    let grown = resident().saturating_sub(memory);
    let rate = wanted as f64 / seconds;
    println!(
        "{wanted} files, {valid} valid, {lost} lost their worker, the others refused; {threads} at a \
         time: {seconds:.1} s, {rate:.0} files a second, {bytes} bytes of content; \
         {grown} KiB more memory"
    );
    assert!(valid > 0 && lost > 0 && bytes > 0);
    assert_eq!(descriptors(), open, "descriptors");
    assert_eq!(children(), 0, "processes");
    assert!(grown < 8 << 10, "{grown} KiB");
}
