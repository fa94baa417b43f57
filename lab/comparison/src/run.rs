//! Every file by every reader.

use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use zten::rules::Row;
use zten_testkit::{Reject, accepted, corpus, reject_index};

use crate::cases::{self, Case};
use crate::child::Programs;
use crate::outcome::{Kind, Outcome};
use crate::subjects::Subject;

/// A file that is refused, and what came of it, in the order of [`Subject::ZTENSOR`].
pub(crate) struct Refused {
    pub(crate) file: String,
    pub(crate) row: &'static Row,
    pub(crate) outcomes: Vec<Outcome>,
}

/// A valid file, and what came of it, in the order of [`Subject::ZTENSOR`].
pub(crate) struct Valid {
    pub(crate) file: String,
    pub(crate) outcomes: Vec<Outcome>,
}

/// A translated case, and what came of it.
pub(crate) struct Translated {
    pub(crate) case: Case,
    pub(crate) outcome: Outcome,
}

/// What everything came to.
pub(crate) struct Results {
    pub(crate) refused: Vec<Refused>,
    pub(crate) valid: Vec<Valid>,
    pub(crate) translated: Vec<Translated>,
    /// Files that are refused in canonical form only, and those that go beyond a limit set low.
    pub(crate) left_out: [usize; 2],
    /// Valid files that hold what no reader has to know.
    pub(crate) opens_only: usize,
}

/// Runs everything.
pub(crate) fn everything() -> Result<Results> {
    ensure!(!cfg!(debug_assertions), "build it with --release: there, what overflows wraps");
    let programs = Programs::start(&Subject::ZTENSOR)?;
    let all: Vec<Reject> = reject_index().collect();
    let of = |option: &str| all.iter().filter(|row| row.given.starts_with(option)).count();
    let left_out = [of("canonical="), of("limit=")];
    let (rejects, ours_alone): (Vec<&Reject>, Vec<&Reject>) =
        all.iter().partition(|row| is_compared(row));
    ensure!(ours_alone.len() == left_out.iter().sum::<usize>(), "files of other options");
    each(&ours_alone, |reject| {
        let outcome = programs.run(Subject::Zten, &reject.path, &reject.given)?;
        ours(&reject.file, Some(&outcome), Some(&reject.expected.rule))
    })?;

    let refused = each(&rejects, |reject| {
        let outcomes = by_all(&programs, &reject.path, &reject.given)?;
        let row = zten::rules::find(&reject.expected.rule).context("no such rule")?;
        let file = reject.path.strip_prefix(corpus())?.display().to_string();
        ours(&file, outcomes.last(), Some(row.id))?;
        Ok(Refused { file, row, outcomes })
    })?;
    let (files, opens_only): (Vec<_>, Vec<_>) =
        accepted().partition(|file| file.opens_only.is_none());
    let valid = each(&files, |accepted| {
        let path = corpus().join("accept").join(&accepted.name);
        let outcomes = by_all(&programs, &path, "-")?;
        ours(&accepted.name, outcomes.last(), None)?;
        Ok(Valid { file: accepted.name.clone(), outcomes })
    })?;
    let translated = translated(&programs)?;
    Ok(Results { refused, valid, translated, left_out, opens_only: opens_only.len() })
}

/// Whether other readers can have an opinion on it: they know neither the canonical form nor our
/// limits. What is refused with a tolerance is refused without.
fn is_compared(reject: &Reject) -> bool {
    reject.given == "-" || reject.given.starts_with("tolerate=")
}

fn by_all(programs: &Programs, path: &std::path::Path, options: &str) -> Result<Vec<Outcome>> {
    Subject::ZTENSOR.iter().map(|subject| programs.run(*subject, path, options)).collect()
}

/// That ours did what the corpus says.
fn ours(file: &str, outcome: Option<&Outcome>, rule: Option<&str>) -> Result<()> {
    let outcome = outcome.context("no outcome")?;
    let right = match rule {
        Some(rule) => outcome.kind.is_refusal() && outcome.message == rule,
        None => outcome.kind == Kind::Accepted,
    };
    ensure!(right, "{file}: {outcome:?}, where the corpus has {rule:?}");
    Ok(())
}

fn translated(programs: &Programs) -> Result<Vec<Translated>> {
    let folder = tempfile::tempdir()?;
    let cases: Vec<(usize, Case)> = cases::all().into_iter().enumerate().collect();
    each(&cases, |(number, case)| {
        let path: PathBuf = folder.path().join(format!("{number}.safetensors"));
        case.write(&path)?;
        let outcome = programs.run(Subject::Safetensors, &path, "-")?;
        std::fs::remove_file(path)?;
        Ok(Translated { case: case.clone(), outcome })
    })
}

/// The results for all items, in their order, by as many threads as there are processors.
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
