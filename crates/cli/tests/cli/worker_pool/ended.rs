//! Tests of a check that is ended before all files have been checked.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{check, folder_of, start, text, verdicts};
use crate::files::{file, object, raw};
use crate::json_lines;

/// Returns the child processes of a process.
pub(super) fn children(of: u32) -> Vec<u32> {
    let path = format!("/proc/{of}/task/{of}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().map(|id| id.parse().unwrap()).collect()
}

/// Calls `what` until it returns a value. Panics after a minute without one.
fn until<T>(what: impl Fn() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = what() {
            return found;
        }
        assert!(Instant::now() < end, "it does not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn signal(id: u32, signal: Signal) {
    let _ = kill(Pid::from_raw(id.try_into().unwrap()), signal);
}

fn is_gone(id: u32) -> bool {
    // A process that has ended but was not waited for has no memory.
    std::fs::read(format!("/proc/{id}/statm")).map_or(true, |text| text.starts_with(b"0 "))
}

/// Starts a check, and waits until it has workers. Returns the check and the ids of its workers.
fn at_work(args: &[&str]) -> (Child, Vec<u32>) {
    let child = start(args);
    let workers = until(|| Some(children(child.id())).filter(|workers| !workers.is_empty()));
    (child, workers)
}

#[test]
fn readers_that_leave_are_no_failure() {
    unless_emulated!();
    let (folder, _) = folder_of(5_000);
    for more in [&["--jobs=2"][..], &["--jobs=1", "--json"], &["--no-sandbox"]] {
        let mut child = start(&[&["-r", text(folder.path())], more].concat());
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0; 1]).unwrap();
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
    }
}

/// Checks that a worker that is stopped for longer than `--idle-timeout` is killed, and that another worker gets its
/// remaining files.
#[test]
fn a_worker_that_does_nothing_is_killed() {
    unless_emulated!();
    let (folder, paths) = folder_of(5_000);
    let (child, workers) = at_work(&["-r", "--json", "--idle-timeout=1", text(folder.path())]);
    // `--idle-timeout` applies only after the worker has executed its program: until then, the call that starts the worker
    // waits without a limit. So the test waits for the worker's own command line before it stops the worker.
    let line = format!("/proc/{}/cmdline", workers[0]);
    until(|| std::fs::read(&line).ok().filter(|line| line.ends_with(b"--worker\0")));
    signal(workers[0], Signal::SIGSTOP);
    let output = child.wait_with_output().unwrap();
    let lines = json_lines(&output.stdout);
    let found = verdicts(&lines);
    assert!(found.iter().map(|(file, _)| *file).eq(paths.iter().map(|path| text(path))));
    // If the killed worker had a single file left, that file is not tried again.
    let errors = found.iter().filter(|(_, verdict)| *verdict != "valid").count();
    assert!(errors <= 1, "{errors}");
    assert!(is_gone(workers[0]));
}

#[test]
fn a_signal_leaves_no_process() {
    unless_emulated!();
    let (folder, _) = folder_of(5_000);
    let (mut child, workers) = at_work(&["-r", "--jobs=2", text(folder.path())]);
    // An interrupt has the same effect, but shells make their background processes ignore it.
    signal(child.id(), Signal::SIGTERM);
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    // The last line of the output is complete.
    assert!(out.is_empty() || out.ends_with('\n'), "{out}");
    until(|| workers.iter().all(|id| is_gone(*id)).then_some(()));
}

#[test]
fn unreported_files_are_checked_by_another_worker() {
    unless_emulated!();
    let (folder, paths) = folder_of(5_000);
    let (child, mut workers) = at_work(&["-r", "--json", "--jobs=2", text(folder.path())]);
    let id = child.id();
    let thread = std::thread::spawn(move || {
        let mut killed = 0;
        for _ in 0..10 {
            for worker in &workers {
                signal(*worker, Signal::SIGKILL);
            }
            killed += workers.len();
            std::thread::sleep(Duration::from_millis(20));
            workers = children(id);
        }
        killed
    });
    let output = child.wait_with_output().unwrap();
    let killed = thread.join().unwrap();
    let lines = json_lines(&output.stdout);
    let found = verdicts(&lines);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(found.len(), paths.len(), "{stderr}");
    assert!(found.iter().map(|(name, _)| *name).eq(paths.iter().map(|path| text(path))));
    let errors = found.iter().filter(|(_, verdict)| *verdict != "valid").count();
    assert!(errors <= killed && killed > 0, "{errors} of {killed}");
}

/// Checks that only the file that a worker was checking when it was killed is reported.
#[test]
fn a_file_that_ends_a_process_is_a_line() {
    unless_emulated!();
    let length = 3_usize << 30;
    let component = ("data", raw("u8", 64, length, &[]));
    let path = file("workers-3-gib.zt", &[("x", object("dense", &[length], &[component]))], &[]);
    let manifest = std::fs::read(&path).unwrap().split_off(64);
    let large = File::create(&path).unwrap();
    let write = |bytes: &[u8], at: u64| {
        std::os::unix::fs::FileExt::write_all_at(&large, bytes, at).unwrap();
    };
    write(b"ZTEN1000", 0);
    write(&manifest, 64 + u64::try_from(length).unwrap());
    let (_folder, paths) = folder_of(4);
    let mut names: Vec<_> = paths.iter().map(|path| text(path)).collect();
    names.insert(2, text(&path));
    let mut child = start(&[&["--json", "--jobs=1"], &names[..]].concat());
    // Once the files before it have been reported, the worker is checking the large file.
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    for _ in 0..2 {
        std::io::BufRead::read_line(&mut out, &mut text).unwrap();
    }
    let large = until(|| {
        let workers = children(child.id());
        let is_at_it = |id: &u32| {
            let open = std::fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten();
            let mut names =
                open.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
            names.any(|name| name.ends_with("workers-3-gib.zt"))
        };
        workers.into_iter().find(is_at_it)
    });
    signal(large, Signal::SIGKILL);
    out.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    let lines = json_lines(text.as_bytes());
    let wanted = names
        .iter()
        .map(|name| (*name, if name.ends_with("3-gib.zt") { "error" } else { "valid" }));
    assert_eq!(verdicts(&lines), wanted.collect::<Vec<_>>());
    let message = lines[2]["message"].as_str().unwrap();
    assert!(message.contains("has ended: it was killed (SIGKILL)"), "{message}");
    std::fs::remove_file(&path).unwrap();
    assert!(check(&["--jobs=1", names[0]]).status.success());
}
