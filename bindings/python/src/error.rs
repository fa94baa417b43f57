//! Errors of the library as Python's.

use std::io;
use std::path::Path;

use pyo3::exceptions::{
    PyIndexError, PyMemoryError, PyOSError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zten::error::Misuse;
use zten::source::OpenError;
use zten::write::{CopyError, PublishError, WriteError};
use zten::{Error, ErrorKind, Manifest, ReadError};
use zten_formats::Trouble;
use zten_present::finding::{Finding, Verdict};

/// Why a call failed, before it is Python's. It needs no lock of the interpreter.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The file could not be read or written.
    Io(io::Error),
    /// The file is to blame, or the library, where an invariant of it does not hold.
    Found(Box<Finding>),
    /// The call is to blame.
    Misuse(Misuse, String),
    /// Neither.
    OutOfMemory,
}

impl Failure {
    /// An error of the library, and the finding that describes it.
    fn new(error: &Error, find: impl FnOnce() -> Finding) -> Self {
        match error.kind() {
            ErrorKind::OutOfMemory => Self::OutOfMemory,
            // What is in the file cannot be read as it should be.
            ErrorKind::Misuse(Misuse::Quantization) => {
                Self::Found(Box::new(Finding { verdict: Verdict::Unsupported, ..find() }))
            }
            ErrorKind::Misuse(misuse) => Self::Misuse(misuse, find().to_string()),
            _ => Self::Found(Box::new(find())),
        }
    }

    /// Why a file was not opened.
    pub(crate) fn opening(error: OpenError) -> Self {
        match error {
            OpenError::Source(error) => Self::Io(error),
            OpenError::Refused(error) => Self::new(&error, || Finding::unnamed(&error, None)),
            OpenError::Manifest(refused) => {
                Self::new(&refused.error(), || Finding::opening(&refused))
            }
        }
    }

    /// The failure to open a file of that format.
    pub(crate) fn foreign(trouble: Trouble, format: Option<&'static str>) -> Self {
        match trouble {
            Trouble::Io(error) if error.kind() == io::ErrorKind::OutOfMemory => Self::OutOfMemory,
            Trouble::Io(error) => Self::Io(error),
            other => Self::Found(Box::new(Finding { format, ..other.finding() })),
        }
    }

    /// Why an object is not what it was asked for as.
    pub(crate) fn refused(manifest: &Manifest<Vec<u8>>, error: &Error) -> Self {
        Self::new(error, || Finding::reading(manifest, error))
    }

    /// Why content could not be read.
    pub(crate) fn reading(manifest: &Manifest<Vec<u8>>, error: ReadError<io::Error>) -> Self {
        match error {
            ReadError::Source(error) => Self::Io(error),
            ReadError::Refused(error) => Self::refused(manifest, &error),
        }
    }

    /// Why something could not be written: the place is that in the file to write.
    pub(crate) fn writing(error: WriteError<io::Error>) -> Self {
        match error {
            WriteError::Sink(error) => Self::Io(error),
            WriteError::Refused(error) => Self::new(&error, || Finding::unnamed(&error, None)),
        }
    }

    /// Why a file could not be copied.
    pub(crate) fn copying(
        manifest: &Manifest<Vec<u8>>,
        error: CopyError<io::Error, io::Error>,
    ) -> Self {
        match error {
            CopyError::Read(error) => Self::reading(manifest, error),
            CopyError::Write(WriteError::Sink(error)) => Self::Io(error),
            CopyError::Write(WriteError::Refused(error)) => Self::refused(manifest, &error),
            CopyError::Inexpressible(what) => {
                let finding = Finding::new(Verdict::Unsupported, what.sentence().to_string());
                Self::Found(Box::new(finding.named(manifest, what.error().place())))
            }
        }
    }

    /// Why a file did not get its name.
    pub(crate) fn publishing(error: PublishError) -> Self {
        Self::Io(error.into())
    }

    /// As Python's, about the file at the path.
    pub(crate) fn at(self, py: Python<'_>, path: Option<&Path>) -> PyErr {
        match self {
            Self::Io(error) => io_error(error, path),
            Self::Found(finding) => exception(py, &finding, path).unwrap_or_else(|error| error),
            Self::OutOfMemory => PyMemoryError::new_err("out of memory"),
            Self::Misuse(Misuse::Slice, sentence) => PyIndexError::new_err(sentence),
            Self::Misuse(Misuse::Format | Misuse::Type | Misuse::Compressed, sentence) => {
                PyTypeError::new_err(sentence)
            }
            Self::Misuse(Misuse::Aborted, sentence) => PyRuntimeError::new_err(sentence),
            Self::Misuse(Misuse::Announced, _) => {
                PyValueError::new_err("the bytes changed while they were written")
            }
            Self::Misuse(_, sentence) => PyValueError::new_err(sentence),
        }
    }
}

/// What the system says of the file at the path, with the path.
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
fn exception(py: Python<'_>, finding: &Finding, path: Option<&Path>) -> PyResult<PyErr> {
    let kind = match finding.verdict {
        Verdict::Refused => "Refused",
        Verdict::Unsupported => "Unsupported",
        Verdict::Limit => "LimitExceeded",
        _ => "Error",
    };
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
}
