//! Checking files: what is said of each is what the command says.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use pyo3::prelude::*;
use zten_present::finding::{self, Finding, Scope, Verdict};

use crate::error::Failure;
use crate::interrupt::{self, Cancel};
use crate::options::{Opening, Strictness};
use crate::read;
use crate::source::{Given, Open};

/// The fields of `docs/json.md`, but for the file.
#[derive(IntoPyObject)]
pub(crate) struct Found {
    verdict: &'static str,
    format: Option<&'static str>,
    rule: Option<&'static str>,
    clause: Option<String>,
    offset: Option<u64>,
    object: Option<String>,
    component: Option<String>,
    shard: Option<String>,
    message: String,
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Self {
        Self {
            verdict: finding.verdict.as_str(),
            format: finding.format,
            rule: finding.row.map(|row| row.id),
            clause: finding.clause(),
            offset: finding.offset,
            message: finding.to_string(),
            object: finding.object,
            component: finding.component,
            shard: finding.shard,
        }
    }
}

/// How to check.
#[derive(Clone, Copy)]
struct Plan {
    opening: Opening,
    scope: Scope,
    canonical: bool,
}

impl Plan {
    fn new(strictness: &Strictness, manifest_only: bool) -> PyResult<Self> {
        let scope = if manifest_only { Scope::Manifest } else { Scope::All };
        let canonical = strictness.canonical();
        Ok(Self { opening: strictness.opening()?, scope, canonical })
    }

    /// What is valid about a file, or what is wrong with it.
    fn check(&self, given: Given, cancel: &Cancel) -> Result<Found, Failure> {
        let open = Open::new(given, &self.opening, cancel)?;
        if self.scope == Scope::All && !open.manifest.is_data_shard() {
            read::verify(&open, cancel)?;
        }
        let (verdict, message) =
            finding::summary(&open.manifest, self.scope, self.canonical, open.length);
        let mut finding = Finding::new(verdict, message);
        finding.format = Some(finding::format_name(&open.manifest));
        Ok(finding.into())
    }
}

/// Checks one file. Whatever is wrong with it is what is returned; what is wrong with the call is
/// raised, and so is what a Python object raises that is read from.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    file: &Bound<'_, PyAny>,
    strictness: Strictness,
    manifest_only: bool,
) -> PyResult<Found> {
    let plan = Plan::new(&strictness, manifest_only)?;
    let given = match file.extract::<PathBuf>() {
        // A file that cannot be opened has a report, too.
        Ok(path) => match py.detach(|| Given::from_path(&path)) {
            Ok(given) => given,
            Err(error) => return Ok(Finding::io(&error).into()),
        },
        Err(_) => Given::from_python(file)?,
    };
    let found = interrupt::run(py, u64::MAX, |cancel| plan.check(given, cancel))?;
    match found {
        Ok(found) => Ok(found),
        Err(Failure::Io(error))
            if error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<PyErr>) =>
        {
            Err(error.into())
        }
        Err(failure) => Ok(found_of(failure)),
    }
}

/// Checks many files on as many threads: a report of each, in their order.
#[pyfunction]
pub(crate) fn check_batch(
    py: Python<'_>,
    files: Vec<PathBuf>,
    strictness: Strictness,
    manifest_only: bool,
    threads: usize,
) -> PyResult<Vec<Found>> {
    let plan = Plan::new(&strictness, manifest_only)?;
    let mut done = interrupt::run(py, u64::MAX, |cancel| {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(path) = files.get(at).filter(|_| !cancel.is_set()) else { break };
                let found = match Given::from_path(path) {
                    Ok(given) => plan.check(given, cancel).unwrap_or_else(found_of),
                    Err(error) => Finding::io(&error).into(),
                };
                done.lock().unwrap_or_else(PoisonError::into_inner).push((at, found));
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads.min(files.len()) {
                // Where no thread can be had, those that there are do the work.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        done.into_inner().unwrap_or_else(PoisonError::into_inner)
    })?;
    done.sort_unstable_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, found)| found).collect())
}

fn found_of(failure: Failure) -> Found {
    match failure {
        Failure::Io(error) => Finding::io(&error).into(),
        Failure::Found(finding) => (*finding).into(),
        Failure::Misuse(_, sentence) => Finding::new(Verdict::Error, sentence).into(),
        Failure::OutOfMemory => Finding::new(Verdict::Error, "out of memory".to_owned()).into(),
    }
}
