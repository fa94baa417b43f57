//! Tests that the service checks thousands of valid and hostile files at the same time without a wrong verdict and without
//! a leak.
//!
//! Each file of the corpus is checked once. The variable `ZTEN_SERVICE_FILES` sets another number of files.
// Other systems cannot confine workers, so workers there do not read files.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
#![allow(
    clippy::allow_attributes,
    clippy::cast_precision_loss,
    missing_docs,
    reason = "a test that panics has failed"
)]

#[path = "service/samples.rs"]
mod samples;

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

use samples::{Known, Sample, mixed, samples};
use zten_service::{Checked, Service, Settings};
use zten_worker::{Budget, JobError};

/// What the worker does with a file of the test.
enum Behavior {
    /// The worker checks the file, with this result.
    Honest(Known),
    /// The worker gives an invalid answer, or no answer.
    Lie,
}

struct Task {
    path: PathBuf,
    behavior: Behavior,
}

/// Returns the samples of the corpus, and files in `folder`, which it writes, that make the lying worker misbehave. All are
/// shuffled.
fn tasks(folder: &std::path::Path) -> Vec<Task> {
    let honest =
        samples().map(|Sample { path, known }| Task { path, behavior: Behavior::Honest(known) });
    let lies =
        ["nothing", "abort", "memory", "socket", "endless", "unknown rule", "panic", "sleep"];
    let lies = lies.map(|behavior| {
        let path = folder.join(behavior);
        fs::write(&path, behavior).unwrap();
        Task { path, behavior: Behavior::Lie }
    });
    let mut tasks: Vec<_> = honest.chain(lies).collect();
    tasks.sort_by_cached_key(|task| mixed(&task.path));
    tasks
}

/// Checks that the verdict of the service `honest` is the expected one, or, if the file makes its worker lie, that the service
/// `lying` gives no verdict.
fn validate(honest: &Service, lying: &Service, task: &Task) -> Result<(), String> {
    let file = File::open(&task.path).map_err(|error| error.to_string())?;
    let service = if matches!(task.behavior, Behavior::Lie) { lying } else { honest };
    // The suffix determines the format of a file with a wrong magic, as in the command.
    let name = task.path.to_str().unwrap();
    match (&task.behavior, service.check(name, file)) {
        (Behavior::Honest(Known::Valid), Ok(Checked::Valid { .. })) => Ok(()),
        (Behavior::Honest(Known::Invalid(rule, offset)), Ok(Checked::Rejected { finding, .. }))
            if finding.row.is_some_and(|row| row.id() == rule)
                && (offset.is_none() || *offset == finding.offset) =>
        {
            Ok(())
        }
        (Behavior::Lie, Err(JobError::Deadline(_) | JobError::Ended(_) | JobError::Answer(_))) => {
            Ok(())
        }
        (_, other) => Err(format!("{other:?}")),
    }
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Returns the number of child processes of this process, including ended ones that were not waited for.
fn children() -> usize {
    let own = std::process::id().to_string();
    let stats = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok());
    // The fields of `/proc/PID/stat` are the number of the process, its name in brackets, which may contain any
    // bytes, its state, and its parent.
    let parent = |stat: &String| stat.rsplit(')').next()?.split(' ').nth(2).map(str::to_owned);
    stats.filter(|stat| parent(stat) == Some(own.clone())).count()
}

/// Returns the resident memory of this process in KiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn thousands_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = tasks(folder.path());
    let wanted = std::env::var("ZTEN_SERVICE_FILES").ok();
    let wanted = wanted.map_or(tasks.len(), |number| number.parse().unwrap());
    let threads = available_parallelism().map_or(2, usize::from);
    // The limits are generous, so that a busy machine does not fail checks of valid files.
    let started = |program: &str, time| {
        let default = Settings::default();
        let budget = Budget { deadline: time, processor_time: time, ..default.budget };
        let program = Some((program.into(), Vec::new()));
        let wait = Duration::from_secs(600);
        Service::start(Settings { budget, program, wait, ..default }).unwrap()
    };
    let honest = started(env!("CARGO_BIN_EXE_zten-service"), Duration::from_secs(60));
    let lying = started(env!("CARGO_BIN_EXE_zten-service-liar"), Duration::from_millis(500));

    let run = |number: usize| {
        let (next, valid) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let lost = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        if at >= number {
                            return;
                        }
                        let task = &tasks[at % tasks.len()];
                        let validated = validate(&honest, &lying, task);
                        let name = task.path.display();
                        validated.unwrap_or_else(|why| panic!("{name}: {why}"));
                        match task.behavior {
                            Behavior::Honest(Known::Valid) => valid.fetch_add(1, Ordering::Relaxed),
                            Behavior::Lie => lost.fetch_add(1, Ordering::Relaxed),
                            Behavior::Honest(Known::Invalid(..)) => 0,
                        };
                    }
                });
            }
        });
        (valid.into_inner(), lost.into_inner())
    };

    // The first files bring the memory of the allocator to its steady size.
    run(tasks.len().min(500));
    let (open, memory, start) = (descriptors(), resident(), Instant::now());
    let (valid, lost) = run(wanted);
    let seconds = start.elapsed().as_secs_f64();
    let grown = resident().saturating_sub(memory);
    let rate = wanted as f64 / seconds;
    println!(
        "{wanted} files, {valid} valid, {lost} lost their worker, the others rejected; {threads} at a \
         time: {seconds:.1} s, {rate:.0} files a second, {grown} KiB more memory"
    );
    assert!(valid > 0 && lost > 0);
    drop((honest, lying));
    // Dropping the services has closed the sockets of their workers, too, so fewer descriptors are open than during the
    // run.
    assert!(descriptors() < open, "descriptors");
    assert_eq!(children(), 0, "processes");
    assert!(grown < 8 << 10, "{grown} KiB");
}
