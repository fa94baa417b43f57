//! Checks files. The reports are those of the command `zten check`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zten::finding::{Finding, Verdict, format_name};
use zten::network;
use zten::rules;
use zten::verify;
use zten_report::check::{Note, Report, Scope, Valid, summary, with_notes};
use zten_report::digests::Difference;
use zten_report::stores;

use crate::error::CallFailure;
use crate::interrupt::{self, Cancel};
use crate::options::{Opening, Strictness};
use crate::read;
use crate::source::{Given, Open};

/// A report with the fields of `docs/json.md`, except for `file`.
#[derive(IntoPyObject)]
pub(crate) struct CheckReport {
    verdict: &'static str,
    level: Option<&'static str>,
    format: Option<String>,
    rule: Option<&'static str>,
    clause: Option<String>,
    offset: Option<u64>,
    object: Option<String>,
    component: Option<String>,
    shard: Option<String>,
    message: String,
    advice: Option<&'static str>,
    page: Option<String>,
    notes: Vec<FoundNote>,
}

/// A note of a report, with the fields of `docs/json.md`.
#[derive(IntoPyObject)]
pub(crate) struct FoundNote {
    rule: Option<&'static str>,
    clause: Option<String>,
    offset: Option<u64>,
    object: Option<String>,
    component: Option<String>,
    shard: Option<String>,
    more: u64,
    message: String,
    advice: Option<&'static str>,
    page: Option<String>,
}

impl From<Note<'_>> for FoundNote {
    fn from(note: Note<'_>) -> Self {
        Self {
            rule: note.rule,
            clause: note.clause,
            offset: note.offset,
            object: note.object.map(str::to_owned),
            component: note.component.map(str::to_owned),
            shard: note.shard.map(str::to_owned),
            more: note.more,
            message: note.message,
            advice: note.advice,
            page: note.page,
        }
    }
}

impl From<Report<'_>> for CheckReport {
    fn from(report: Report<'_>) -> Self {
        Self {
            verdict: report.verdict,
            level: report.level,
            format: report.format.map(str::to_owned),
            rule: report.rule,
            clause: report.clause,
            offset: report.offset,
            object: report.object.map(str::to_owned),
            component: report.component.map(str::to_owned),
            shard: report.shard.map(str::to_owned),
            message: report.message.into_owned(),
            advice: report.advice,
            page: report.page,
            notes: report.notes.into_iter().map(FoundNote::from).collect(),
        }
    }
}

impl From<Finding> for CheckReport {
    fn from(finding: Finding) -> Self {
        Report::found(&finding, None).into()
    }
}

impl From<CallFailure> for CheckReport {
    fn from(failure: CallFailure) -> Self {
        (*failure.finding).into()
    }
}

/// The options of a check.
#[derive(Clone, Copy)]
struct Plan {
    opening: Opening,
    scope: Scope,
    canonical: bool,
}

impl Plan {
    /// Converts the arguments of a call of `check` or `check_batch` to the options of a check.
    ///
    /// # Errors
    /// A `ValueError` for an unknown limit or tolerance, and for a limit that is out of range.
    fn new(strictness: &Strictness, manifest_only: bool) -> PyResult<Self> {
        let scope = if manifest_only { Scope::Manifest } else { Scope::All };
        let canonical = strictness.canonical();
        Ok(Self { opening: strictness.opening()?, scope, canonical })
    }

    /// Checks the file `given`, and returns its report. A file in a store of downloaded models, which is named after its digest, is
    /// also compared with this digest, unless only the manifest is checked or the file could not be read. Most faults of the file
    /// are returned as a [`CallFailure`], which callers convert to a report.
    fn check(&self, given: Given, cancel: &Cancel) -> Result<CheckReport, CallFailure> {
        if self.scope != Scope::All {
            return self.check_content(given, cancel);
        }
        let given = given.hashed();
        let source = given.source();
        let found = self.check_content(given, cancel);
        let (is_unread, format) = match &found {
            Ok(found) => (found.verdict == Verdict::Error.as_str(), found.format.clone()),
            Err(failure) => {
                let Finding { verdict, format, .. } = &*failure.finding;
                (*verdict == Verdict::Error, format.map(str::to_owned))
            }
        };
        let Some(blob) = source.hashed().filter(|_| !is_unread) else { return found };
        match blob.expected().compare(&blob.finish()?) {
            Some(differs) => Ok(CheckReport { format, ..differs.into() }),
            None => found,
        }
    }

    /// Checks the file `given` as [`check`](Self::check) does, but does not compare it with a digest in its name.
    fn check_content(&self, given: Given, cancel: &Cancel) -> Result<CheckReport, CallFailure> {
        let (recognition, misnamed) = given.recognize(cancel)?;
        let opened = Open::of_recognized(given, recognition, &self.opening, cancel);
        let open = match (opened, misnamed) {
            (Ok(_), Some(misnamed)) => return Ok(misnamed.into()),
            // A rule that the bytes break is more important than the wrong suffix, and is reported. An unsupported
            // feature is not, because the file may not even have the format that zten took it for.
            (Err(failure), Some(misnamed)) if failure.finding.verdict == Verdict::Unsupported => {
                return Ok(misnamed.into());
            }
            (opened, _) => opened?,
        };
        let manifest = open.manifest();
        let (_, mut notes) = Finding::split(Finding::of_open(manifest));
        // An error in the header that did not keep the file from being opened is reported only if no error of the content is more
        // important.
        let mut outcome = |report: verify::Report<'_>| {
            notes = report.all_notes(manifest);
            let fault = report.fault().filter(verify::Fault::is_of_opening);
            match fault.map(|fault| fault.finding(manifest)) {
                None => report.into_result().map(|_| None),
                found => Ok(found),
            }
        };
        let found = if self.scope == Scope::All && !manifest.is_data_shard() {
            read::check(&open, cancel, outcome)
        } else {
            outcome(verify::Report::of_opening(manifest, &()))
        };
        let fault = match found {
            Ok(None) => None,
            Ok(Some(finding)) => Some(Box::new(finding)),
            Err(error) => match CallFailure::reading(manifest, error) {
                raised if raised.was_raised() => return Err(raised),
                failure => Some(failure.finding),
            },
        };
        if let Some(finding) = fault {
            return Ok(Report::found(&finding, None).with_notes(&notes).into());
        }
        let (verdict, message) = summary(manifest, self.scope, self.canonical, open.length());
        let message = with_notes(message, notes.len());
        let format = format_name(manifest);
        let valid = Valid { verdict, format, message: &message, notes: &notes };
        Ok(Report::valid(&valid).into())
    }
}

/// Checks one file, and returns its report.
///
/// # Errors
/// Wrong arguments, and exceptions of the Python object from which the file is read. Faults of the file are in the report.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    file: &Bound<'_, PyAny>,
    strictness: Strictness,
    manifest_only: bool,
) -> PyResult<CheckReport> {
    let plan = Plan::new(&strictness, manifest_only)?;
    let found = if let Ok(path) = file.extract::<PathBuf>() {
        // The path is opened as part of the check: a file that cannot be opened has a report, too.
        let check = move |cancel: &_| plan.check(Given::from_path(&path)?, cancel);
        interrupt::run_or_abandon(py, u64::MAX, check)?
    } else {
        let given = Given::from_python(file)?;
        given.run(py, u64::MAX, move |given, cancel| plan.check(given, cancel))?
    };
    match found {
        Ok(found) => Ok(found),
        Err(failure) if failure.was_raised() => Err(failure.at(py, None)),
        Err(failure) => Ok(failure.into()),
    }
}

/// Checks `files` on up to `threads` threads, and returns their reports in the order of `files`.
#[pyfunction]
pub(crate) fn check_batch(
    py: Python<'_>,
    files: Vec<PathBuf>,
    strictness: Strictness,
    manifest_only: bool,
    threads: usize,
) -> PyResult<Vec<CheckReport>> {
    let plan = Plan::new(&strictness, manifest_only)?;
    let mut done = interrupt::run(py, u64::MAX, |cancel| {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(path) = files.get(at).filter(|_| !cancel.is_set()) else { break };
                let check = || plan.check(Given::from_path(path)?, cancel);
                let found = interrupt::until(cancel, check).unwrap_or_else(CheckReport::from);
                done.lock().unwrap_or_else(PoisonError::into_inner).push((at, found));
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads.min(files.len()) {
                // If the system refuses another thread, the threads that are running check all files, so the failure is ignored.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        done.into_inner().unwrap_or_else(PoisonError::into_inner)
    })?;
    done.sort_unstable_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, found)| found).collect())
}

/// Returns `path` for messages: a URL without user, password and query, which may be secret.
#[pyfunction]
pub(crate) fn shown(path: PathBuf) -> OsString {
    network::shown(&path).into_owned().into_os_string()
}

/// Parses a size as the command takes it, such as `8GiB`, and returns the number of bytes.
#[pyfunction]
pub(crate) fn size(text: &str) -> PyResult<u64> {
    zten_report::size::parse(text).map_err(PyValueError::new_err)
}

/// Returns the name in zTensor of the dtype that `name` means, as the command takes it: `bf16` for `BF16` and `bfloat16`. Returns
/// `None` if no dtype has this name.
#[pyfunction]
pub(crate) fn dtype(name: &str) -> Option<&'static str> {
    zten_report::dtype::parse(name)
}

/// Returns the facts about the rule, limit or unsupported feature `id`, or `None` if the id is unknown.
#[pyfunction]
pub(crate) fn explain<'py>(py: Python<'py>, id: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
    let listed = Difference::ALL.iter().map(|difference| difference.row());
    let own = rules::rows().chain(zten::formats::rules::rows());
    let mut rows = own.chain(listed).chain(stores::ROWS.iter().copied());
    let Some(row) = rows.find(|row| row.id() == id) else { return Ok(None) };
    let facts = PyDict::new(py);
    for (key, text) in [
        ("id", row.id()),
        ("holds", row.holds()),
        ("message", row.broken()),
        ("clause", row.source().clause()),
        ("scope", row.scope().as_str()),
        ("advice", row.advice()),
    ] {
        facts.set_item(key, text)?;
    }
    Ok(Some(facts))
}
