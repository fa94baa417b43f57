//! Converts errors of the library to Python exceptions.

use std::error::Error as _;
use std::io;
use std::path::Path;

use pyo3::exceptions::{
    PyIndexError, PyMemoryError, PyOSError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zten::error::Misuse;
use zten::finding::{Finding, Verdict};
use zten::rules::{Row, Unsupported};
use zten::{Error, ErrorKind, Manifest};
use zten_report::digests::Mismatch;

/// The error of a failed call, from which [`at`](Self::at) makes a Python exception. Unlike the exception, it can be created
/// without the interpreter's lock.
#[derive(Debug)]
pub(crate) struct CallFailure {
    error: Error,
    pub(crate) finding: Box<Finding>,
}

impl<E: Into<Error>> From<E> for CallFailure {
    fn from(error: E) -> Self {
        let error = error.into();
        Self::new(Finding::from_error(&error), error)
    }
}

impl CallFailure {
    fn new(mut finding: Finding, error: Error) -> Self {
        if let ErrorKind::Misuse(Misuse::Quantization) | ErrorKind::Inexpressible(_) = error.kind()
        {
            // The arguments of the call were right, and the call failed because of the content of the file. So the
            // verdict is about the file.
            finding.verdict = Verdict::Unsupported;
        }
        Self { error, finding: Box::new(finding) }
    }

    /// Makes the failure of opening a file from `error`. `format` is the name of the file's format, or `None` if it is unknown.
    pub(crate) fn opening(error: Error, format: Option<&'static str>) -> Self {
        let mut finding = Finding::from_error(&error);
        finding.format = format.or(finding.format);
        Self::new(finding, error)
    }

    /// Makes the failure of reading or copying an open file from `error`. `manifest` is the manifest of the file, from which the
    /// failure gets the names of the object and the component. A call that the content of the file does not allow becomes
    /// unsupported.
    pub(crate) fn reading(manifest: &Manifest<impl AsRef<[u8]>>, error: Error) -> Self {
        let mut finding = Finding::reading(manifest, &error);
        if let Some(feature) = unserved(error.kind()) {
            finding.verdict = Verdict::Unsupported;
            finding.row = Some(feature.row());
        }
        Self::new(finding, error)
    }

    /// Returns whether the cause is an exception that the methods of the Python object raised from which the file is read.
    pub(crate) fn was_raised(&self) -> bool {
        cause::<PyErr>(&self.error).is_some()
    }

    /// Converts this failure to a Python exception about the file at `path`, or about a file without a path if `path` is `None`.
    pub(crate) fn at(self, py: Python<'_>, path: Option<&Path>) -> PyErr {
        let Self { error, finding } = self;
        if let Some(mismatch) = cause::<Mismatch>(&error) {
            return exception(py, &mismatch.finding(), path);
        }
        match error.kind() {
            ErrorKind::Read | ErrorKind::Write | ErrorKind::NotDurable => {
                io_error(py, error.into(), path)
            }
            _ if finding.verdict == Verdict::Unsupported => exception(py, &finding, path),
            ErrorKind::OutOfMemory => PyMemoryError::new_err("out of memory"),
            ErrorKind::Misuse(Misuse::Slice) => PyIndexError::new_err(finding.to_string()),
            ErrorKind::Misuse(Misuse::Layout | Misuse::Type | Misuse::Compressed) => {
                PyTypeError::new_err(finding.to_string())
            }
            ErrorKind::Misuse(Misuse::Aborted) => PyRuntimeError::new_err(finding.to_string()),
            ErrorKind::Misuse(Misuse::Announced) => {
                PyValueError::new_err("the bytes changed while they were written")
            }
            ErrorKind::Misuse(_) => PyValueError::new_err(finding.to_string()),
            _ => exception(py, &finding, path),
        }
    }
}

/// Returns the feature of the file that is not supported by a call which failed with an error of `kind`. Returns `None` if the
/// arguments of the call were wrong, or the error is about something else.
fn unserved(kind: ErrorKind) -> Option<Unsupported> {
    let ErrorKind::Misuse(misuse) = kind else { return None };
    match misuse {
        Misuse::Layout | Misuse::Quantization | Misuse::Size => Some(Unsupported::Format),
        Misuse::Type => Some(Unsupported::LogicalType),
        Misuse::Compressed => Some(Unsupported::Encoding),
        _ => None,
    }
}

/// Returns the error of type `E` inside `error`, if `error` is that a source of bytes failed with an `E`.
fn cause<E: std::error::Error + 'static>(error: &Error) -> Option<&E> {
    let system = error.source().and_then(|error| error.downcast_ref::<io::Error>());
    system.and_then(io::Error::get_ref).and_then(|error| error.downcast_ref())
}

/// Converts `error` to an `OSError` with an `errno` and `path`. Without a path, an error that zten made itself has no `errno`. If
/// `error` is an exception that a Python object raised, returns this exception unchanged.
fn io_error(py: Python<'_>, error: io::Error, path: Option<&Path>) -> PyErr {
    let number = error.raw_os_error();
    let was_raised = error.get_ref().and_then(|inner| inner.downcast_ref::<PyErr>()).is_some();
    let sentence = match number {
        Some(_) => error.to_string(),
        None => Finding::io(&error).to_string(),
    };
    let sentence = sentence.split(" (os error").next().unwrap_or_default().to_owned();
    match (number, path) {
        _ if was_raised => error.into(),
        // The constructor of `OSError` returns the subclass for the number, such as `FileNotFoundError`.
        (Some(number), Some(path)) => {
            PyOSError::new_err((number, sentence, path.as_os_str().to_owned()))
        }
        (Some(_), None) => error.into(),
        (None, None) => PyOSError::new_err(sentence),
        (None, Some(path)) => {
            let errno = errno(error.kind());
            let class = PyErr::from(error).get_type(py);
            let made = class.call1((errno, sentence, path.as_os_str()));
            made.map_or_else(|error| error, PyErr::from_value)
        }
    }
}

/// Returns the `errno` of an error of `kind` that zten made itself, without a system call, so that `errno` agrees with the
/// subclass of `OSError`. The returned numbers are the same on all systems. Kinds without a number here get 5, `EIO`.
fn errno(kind: io::ErrorKind) -> i32 {
    match kind {
        io::ErrorKind::NotFound => 2,
        io::ErrorKind::OutOfMemory => 12,
        io::ErrorKind::PermissionDenied => 13,
        io::ErrorKind::AlreadyExists => 17,
        io::ErrorKind::NotADirectory => 20,
        io::ErrorKind::IsADirectory => 21,
        io::ErrorKind::InvalidInput => 22,
        io::ErrorKind::StorageFull => 28,
        io::ErrorKind::BrokenPipe => 32,
        _ => 5,
    }
}

/// Returns an exception of this package about the file at `path`: `zten.Invalid`, `zten.Unsupported`, `zten.LimitExceeded` or
/// `zten.Error`, by the verdict of `finding`, with the rule, the place and the advice of `finding` in its fields.
pub(crate) fn exception(py: Python<'_>, finding: &Finding, path: Option<&Path>) -> PyErr {
    let kind = match finding.verdict {
        Verdict::Invalid => "Invalid",
        Verdict::Unsupported => "Unsupported",
        Verdict::Limit => "LimitExceeded",
        _ => "Error",
    };
    let make = || {
        let fields = PyDict::new(py);
        fields.set_item("rule", finding.row.map(Row::id))?;
        fields.set_item("clause", finding.clause())?;
        fields.set_item("object", &finding.object)?;
        fields.set_item("component", &finding.component)?;
        fields.set_item("shard", &finding.shard)?;
        fields.set_item("offset", finding.offset)?;
        fields.set_item("advice", finding.advice())?;
        fields.set_item("file", path.map(Path::as_os_str))?;
        let class = py.import("zten._errors")?.getattr(kind)?;
        Ok(PyErr::from_value(class.call((finding.to_string(),), Some(&fields))?))
    };
    make().unwrap_or_else(|error| error)
}
