//! Every file by every reader.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use zten::rules::Row;
use zten_readers::ztensor_2;

use crate::cases::{self, Case};
use crate::child::Programs;
use crate::files::{Broken, Files};
use crate::outcome::{Kind, Outcome};
use crate::subjects::Subject;

/// A file that is refused, and what came of it, in the order of the readers.
pub(crate) struct Refused {
    pub(crate) file: String,
    pub(crate) row: &'static Row,
    pub(crate) outcomes: Vec<Outcome>,
    /// Whether `ztensor` 2.1.1 leaves layouts of its neighbour to the caller.
    pub(crate) foreign: bool,
}

/// A valid file, and what came of it, in the order of the readers.
pub(crate) struct Valid {
    pub(crate) file: String,
    pub(crate) outcomes: Vec<Outcome>,
}

/// A translated case, and what came of it.
pub(crate) struct Translated {
    pub(crate) case: Case,
    pub(crate) outcome: Outcome,
}

/// What came of the files of some generations, by the readers that know them.
pub(crate) struct Round {
    /// The last of them is ours.
    pub(crate) readers: &'static [Subject],
    pub(crate) refused: Vec<Refused>,
    pub(crate) valid: Vec<Valid>,
    /// Files that are refused in canonical form only, and those that go beyond a limit set low.
    pub(crate) left_out: [usize; 2],
    /// Valid files that hold what no reader has to know.
    pub(crate) opens_only: usize,
}

/// What everything came to.
pub(crate) struct Results {
    /// Generations 0.1 and 1.x.
    pub(crate) up_to_1: Round,
    /// Generation 2.
    pub(crate) of_2: Round,
    pub(crate) translated: Vec<Translated>,
}

/// Runs everything.
pub(crate) fn everything() -> Result<Results> {
    ensure!(!cfg!(debug_assertions), "build it with --release: there, what overflows wraps");
    let programs = Programs::start(&Subject::UP_TO_1)?;
    Ok(Results {
        up_to_1: round(&programs, &Subject::UP_TO_1, Files::up_to_1()?)?,
        of_2: round(&programs, &Subject::OF_2, Files::of_2()?)?,
        translated: translated(&programs)?,
    })
}

fn round(programs: &Programs, readers: &'static [Subject], files: Files) -> Result<Round> {
    let Files { broken, valid, opens_only } = files;
    let of = |option: &str| broken.iter().filter(|one| one.options.starts_with(option)).count();
    let left_out = [of("canonical="), of("limit=")];
    let (compared, ours_alone): (Vec<Broken>, Vec<Broken>) =
        broken.into_iter().partition(is_compared);
    ensure!(ours_alone.len() == left_out.iter().sum::<usize>(), "files of other options");
    each(&ours_alone, |one| {
        let outcome = programs.run(Subject::Zten, &one.path, &one.options)?;
        ours(&one.file, Some(&outcome), Some(&one.rule))
    })?;

    let by_all = |path: &Path, options: &str| -> Result<Vec<Outcome>> {
        readers.iter().map(|reader| programs.run(*reader, path, options)).collect()
    };
    let refused = each(&compared, |one| {
        let outcomes = by_all(&one.path, &one.options)?;
        let row = zten::rules::find(&one.rule).context("no such rule")?;
        ours(&one.file, outcomes.last(), Some(row.id))?;
        // A neighbour that it refuses is no excuse.
        let foreign = readers.iter().any(|reader| reader.is_2_1())
            && !ztensor_2::knows_layouts(&one.neighbour).unwrap_or(true);
        Ok(Refused { file: one.file.clone(), row, outcomes, foreign })
    })?;
    let valid = each(&valid, |one| {
        let outcomes = by_all(&one.path, "-")?;
        ours(&one.name, outcomes.last(), None)?;
        Ok(Valid { file: one.name.clone(), outcomes })
    })?;
    Ok(Round { readers, refused, valid, left_out, opens_only })
}

/// Whether other readers can have an opinion on it: they know neither the canonical form nor our
/// limits. What is refused with a tolerance is refused without.
fn is_compared(one: &Broken) -> bool {
    one.options == "-" || one.options.starts_with("tolerate=")
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
