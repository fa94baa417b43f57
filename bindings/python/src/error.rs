//! Errors of the library as Python's.

use std::error::Error as _;
use std::io;
use std::path::Path;

use pyo3::exceptions::{
    PyIndexError, PyMemoryError, PyOSError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zten::error::Misuse;
use zten::{Error, ErrorKind, Manifest};
use zten_formats::Trouble;
use zten_report::digests::Mismatch;
use zten_report::finding::{Finding, Verdict};

/// The reason why a call failed, before it is Python's. It needs no lock of the interpreter.
#[derive(Debug)]
pub(crate) struct Failure {
    error: Error,
    pub(crate) finding: Box<Finding>,
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        Self::new(Finding::from_error(&error), error)
    }
}

impl Failure {
    fn new(mut finding: Finding, error: Error) -> Self {
        if let ErrorKind::Misuse(Misuse::Quantization) | ErrorKind::Inexpressible(_) = error.kind()
        {
            // What is in the file cannot be read or written as it should be.
            finding.verdict = Verdict::Unsupported;
        }
        Self { error, finding: Box::new(finding) }
    }

    /// The failure to open a file, which is of that format, as far as it is known.
    pub(crate) fn opening(trouble: Trouble, format: Option<&'static str>) -> Self {
        let mut finding = trouble.finding();
        finding.format = format.or(finding.format);
        Self::new(finding, trouble.into())
    }

    /// The failure to read or copy a file that was opened.
    pub(crate) fn reading(manifest: &Manifest<impl AsRef<[u8]>>, error: Error) -> Self {
        Self::new(Finding::reading(manifest, &error), error)
    }

    /// Returns whether it was raised by a Python object that was read from.
    pub(crate) fn was_raised(&self) -> bool {
        cause::<PyErr>(&self.error).is_some()
    }

    /// Returns the exception of Python's, about the file at the path.
    pub(crate) fn at(self, py: Python<'_>, path: Option<&Path>) -> PyErr {
        let Self { error, finding } = self;
        if let Some(mismatch) = cause::<Mismatch>(&error) {
            return exception(py, &mismatch.finding(), path);
        }
        match error.kind() {
            ErrorKind::Read | ErrorKind::Write | ErrorKind::NotDurable => {
                io_error(error.into(), path)
            }
            ErrorKind::OutOfMemory => PyMemoryError::new_err("out of memory"),
            ErrorKind::Misuse(Misuse::Slice) => PyIndexError::new_err(finding.to_string()),
            ErrorKind::Misuse(Misuse::Layout | Misuse::Type | Misuse::Compressed) => {
                PyTypeError::new_err(finding.to_string())
            }
            ErrorKind::Misuse(Misuse::Aborted) => PyRuntimeError::new_err(finding.to_string()),
            ErrorKind::Misuse(Misuse::Announced) => {
                PyValueError::new_err("the bytes changed while they were written")
            }
            ErrorKind::Misuse(_) if finding.verdict != Verdict::Unsupported => {
                PyValueError::new_err(finding.to_string())
            }
            _ => exception(py, &finding, path),
        }
    }
}

/// The error of that type that a source of bytes failed with.
fn cause<E: std::error::Error + 'static>(error: &Error) -> Option<&E> {
    let system = error.source().and_then(|error| error.downcast_ref::<io::Error>());
    system.and_then(io::Error::get_ref).and_then(|error| error.downcast_ref())
}

/// The error of the system for the file at the path, with the path.
fn io_error(error: io::Error, path: Option<&Path>) -> PyErr {
    match (error.raw_os_error(), path) {
        (Some(number), Some(path)) => {
            // Which subclass of `OSError` it is, its constructor finds out.
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((number, text, path.as_os_str().to_owned()))
        }
        (None, _) if error.get_ref().is_none() => {
            PyOSError::new_err(Finding::io(&error).to_string())
        }
        _ => error.into(),
    }
}

/// One of the package's exceptions, with the fields of the finding.
pub(crate) fn exception(py: Python<'_>, finding: &Finding, path: Option<&Path>) -> PyErr {
    let kind = match finding.verdict {
        Verdict::Refused => "Refused",
        Verdict::Unsupported => "Unsupported",
        Verdict::Limit => "LimitExceeded",
        _ => "Error",
    };
    let make = || {
        let fields = PyDict::new(py);
        fields.set_item("rule", finding.row.map(|row| row.id))?;
        fields.set_item("clause", finding.clause())?;
        fields.set_item("object", &finding.object)?;
        fields.set_item("component", &finding.component)?;
        fields.set_item("shard", &finding.shard)?;
        fields.set_item("offset", finding.offset)?;
        fields.set_item("file", path.map(Path::to_owned))?;
        let class = py.import("zten._errors")?.getattr(kind)?;
        Ok(PyErr::from_value(class.call((finding.to_string(),), Some(&fields))?))
    };
    make().unwrap_or_else(|error| error)
}
