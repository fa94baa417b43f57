//! Runs every reader on every file.

use std::sync::Mutex;
use std::thread;

use anyhow::{Result, anyhow, bail, ensure};
use zten_testkit::corpus;

use crate::child::Programs;
use crate::outcome::{Kind, Outcome};
use crate::readers::{READERS, Reader, ZTEN};
use crate::suite::{self, Entry, Expected};

/// The content that a program reports if it scans a file without reading tensors, as in `read.py`.
const SCANNED: &str = "-";

/// A file of the suite, and the outcomes of the readers that read it.
pub(crate) struct Given {
    pub(crate) entry: Entry,
    pub(crate) outcomes: Vec<(&'static Reader, Outcome)>,
}

/// Gives every file to `zten`, and each file that is compared to each reader that reads its format.
///
/// # Errors
/// A process cannot be started, or `zten` gives another verdict than the index.
pub(crate) fn everything() -> Result<Vec<Given>> {
    ensure!(!cfg!(debug_assertions), "build it with --release: there, what overflows wraps");
    let programs = Programs::start(&READERS)?;
    each(&suite::entries()?, |entry| given(&programs, entry))
}

fn given(programs: &Programs, entry: &Entry) -> Result<Given> {
    let path = corpus().join(&entry.file);
    let run = |reader| programs.run(reader, &path, entry.options());
    let ours = run(&ZTEN)?;
    check(entry, &ours)?;
    let mut outcomes = Vec::new();
    if entry.is_compared() {
        for reader in READERS.iter().filter(|reader| reader.is_given(entry)) {
            let mut outcome = run(reader)?;
            if entry.expected() == Expected::Valid && outcome.kind == Kind::Accepted {
                compare(&mut outcome, &ours);
            }
            outcomes.push((reader, outcome));
        }
        outcomes.push((&ZTEN, ours));
    }
    Ok(Given { entry: entry.clone(), outcomes })
}

/// Compares the content that a reader returned for a valid file with the content that `zten` reads.
fn compare(outcome: &mut Outcome, ours: &Outcome) {
    let [found, expected] = [&*outcome, ours].map(|one| one.content.as_deref().unwrap_or_default());
    if found == expected || found == SCANNED {
        return;
    }
    if found.split_whitespace().all(|sum| expected.contains(sum)) {
        outcome.kind = Kind::RejectedOnReading;
        "components are left out".clone_into(&mut outcome.message);
    } else {
        outcome.kind = Kind::Wrong;
        outcome.wrong.push(("content".to_owned(), "not what zten reads".to_owned()));
    }
}

/// Checks that the outcome of `zten` is that of the index.
fn check(entry: &Entry, outcome: &Outcome) -> Result<()> {
    let right = match &entry.rule {
        Some(rule) => {
            let on_reading = outcome.kind == Kind::RejectedOnReading;
            let stage = if on_reading { "content" } else { "open" };
            outcome.kind.is_rejection()
                && outcome.message == *rule
                && entry.stage.as_ref().is_none_or(|expected| expected == stage)
        }
        None => outcome.kind == Kind::Accepted,
    };
    ensure!(
        right,
        "{}: {outcome:?}, expected {}",
        entry.file,
        entry.rule.as_deref().unwrap_or("valid")
    );
    Ok(())
}

/// Runs `run` for all items on as many threads as there are processors. Returns the results in the order of the items.
fn each<I: Sync, R: Send>(items: &[I], run: impl Fn(&I) -> Result<R> + Sync) -> Result<Vec<R>> {
    let next = Mutex::new(items.iter().enumerate());
    let done = Mutex::new(Vec::new());
    let take = || next.lock().ok()?.next();
    let keep = |number: usize, result: R| -> Result<()> {
        done.lock().map_err(|_| anyhow!("a thread panicked"))?.push((number, result));
        Ok(())
    };
    let work = || -> Result<()> {
        while let Some((number, item)) = take() {
            keep(number, run(item)?)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            match thread.join() {
                Ok(result) => result?,
                Err(_) => bail!("a thread panicked"),
            }
        }
        Ok(())
    })?;
    let mut done = done.into_inner().map_err(|_| anyhow!("a thread panicked"))?;
    done.sort_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
