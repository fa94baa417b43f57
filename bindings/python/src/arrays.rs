//! Writes safetensors, `.npy` and `.npz` files. The sibling module `write` writes zTensor files.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use zten::attributes::Attributes;
use zten::error::Misuse;
use zten::finding::{Finding, Verdict};
use zten::formats::write::{
    self, Array, ArrayList, ArraySource, DeclaredArrays, Draft, Inexpressible, Settings, Subject,
    WrittenFormat, check_array, check_attributes,
};
use zten::num::u64_from_usize;
use zten::write::{FileSink, Sink as _};
use zten::{Error, ReadAt as _};

use crate::cbor;
use crate::error::{CallFailure, exception};
use crate::interrupt::{self, Cancel};
use crate::output::{Output, PIECE, Pieces};
use crate::write::ComponentArgs;

/// Returns the suffix, without its dot, of the format to write: `format` if it is given, otherwise the suffix of `path`. If
/// neither is given, the format is zTensor.
///
/// # Errors
/// A `ValueError` if zten does not write the format.
#[pyfunction]
#[pyo3(signature = (path, format))]
pub(crate) fn written_format(
    path: Option<PathBuf>,
    format: Option<&str>,
) -> PyResult<&'static str> {
    let chosen = WrittenFormat::choose(path.as_deref(), format);
    chosen.map(WrittenFormat::suffix).map_err(PyValueError::new_err)
}

/// Returns the format whose files have the suffix `suffix`, without its dot, as [`written_format`] returns it.
pub(crate) fn format(suffix: &str) -> PyResult<WrittenFormat> {
    let found = WrittenFormat::from_suffix(suffix);
    found.ok_or_else(|| PyValueError::new_err(format!("unknown format {suffix:?}")))
}

/// The size of the write buffer of an unnamed file, in bytes.
const BUFFER: usize = 64 << 10;

/// Converts `failure`, why a file could not be written, to a Python exception. `path` is the path of the file, or `None` for a
/// file in memory.
pub(crate) fn raised(
    py: Python<'_>,
    failure: write::WriteFailure<Error>,
    path: Option<&Path>,
) -> PyErr {
    match failure {
        write::WriteFailure::Source(error) => CallFailure::from(error).at(py, path),
        // The writer returns `InvalidData` for a bool that is neither 0 nor 1, and for an array whose size has changed since it
        // was declared.
        write::WriteFailure::Output(error) if error.kind() == io::ErrorKind::InvalidData => {
            PyValueError::new_err(error.to_string())
        }
        write::WriteFailure::Output(error) => {
            CallFailure::from(Error::from_write(error)).at(py, path)
        }
        write::WriteFailure::Inexpressible(Inexpressible { subject, sentence }) => {
            let mut finding = Finding::new(Verdict::Unsupported, sentence);
            if let Subject::Tensor(name) = subject {
                finding.object = Some(name);
            }
            exception(py, &finding, path)
        }
    }
}

/// Describes an array of the shape `shape` whose dtype has the name `element` in zTensor.
///
/// # Errors
/// A `ValueError` for an unknown dtype.
fn described(element: &str, shape: Vec<u64>) -> PyResult<Array> {
    Array::named(element, shape).map_err(PyValueError::new_err)
}

/// Takes the value out of `lock`, for one call of a writer. Until [`put_back`] puts the value back, all other calls of the writer
/// fail, because two threads cannot write one file at the same time.
///
/// # Errors
/// A `ValueError` if the value is not there: the writer is closed, or another thread uses it.
fn taken<T>(lock: &Mutex<Option<T>>) -> PyResult<T> {
    let open = lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    open.ok_or_else(|| PyValueError::new_err("the writer is closed, or another thread uses it"))
}

/// Puts `value`, which [`taken`] took, back into `lock`, so that the next call of the writer can take it.
fn put_back<T>(lock: &Mutex<Option<T>>, value: T) {
    *lock.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
}

/// A file that is being written, all of whose arrays were declared at its beginning. `_zten.pyi` has the signatures.
#[pyclass(frozen, module = "zten._zten")]
pub(crate) struct ArrayWriter {
    /// The unfinished file. `None` during a call, after the file was finished or aborted, and after a signal handler raised an
    /// exception while an array was written.
    open: Mutex<Option<Begun>>,
    /// The path of the file that is written; `None` for a file in memory.
    path: Option<PathBuf>,
}

/// A file whose header has been written, and the buffer through which arrays are copied.
struct Begun {
    list: DeclaredArrays,
    draft: Draft,
    out: Output,
    buffer: Vec<u8>,
}

impl Begun {
    /// Writes the array whose turn it is in the file. `bytes` are its elements, little-endian. Fails if `cancel` is set.
    fn write(&mut self, bytes: &[u8], cancel: &Cancel) -> Result<(), write::WriteFailure<Error>> {
        let Self { list, draft, out, buffer } = self;
        draft.begin_array(list, out)?;
        let mut pieces = Pieces { buffer, size: PIECE, cancel };
        let only_stores = draft.only_stores();
        let mut write = |piece: &[u8]| draft.write(piece, out).map_err(Error::from_write);
        pieces
            .pass(bytes, only_stores, &mut write)
            .map_err(|error| write::WriteFailure::Output(error.into()))?;
        Ok(draft.end_array(out)?)
    }
}

#[pymethods]
impl ArrayWriter {
    /// Begins a file of `format` at `path`, or in memory if `path` is `None`. `arrays` has the name, dtype and shape of each
    /// array that the file will hold.
    #[new]
    #[pyo3(signature = (path, format, arrays, attributes))]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        format: &str,
        arrays: Vec<(String, String, Vec<u64>)>,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let format = self::format(format)?;
        let attributes = attributes.map(cbor::attributes).transpose()?;
        let mut list = DeclaredArrays { arrays: Vec::new(), attributes };
        for (name, element, shape) in arrays {
            list.arrays.push((name, described(&element, shape)?));
        }
        let begin = || {
            let mut out = Output::new(path.as_deref()).map_err(write::WriteFailure::Source)?;
            let draft = Draft::begin(format, &list, &mut out, Settings::default())?;
            Ok((draft, out))
        };
        let (draft, out) = begin().map_err(|failure| raised(py, failure, path.as_deref()))?;
        let open = Mutex::new(Some(Begun { list, draft, out, buffer: Vec::new() }));
        Ok(Self { open, path })
    }

    /// Returns which array has to be written next, as its index in the list `arrays` that was given to the constructor:
    /// safetensors files sort arrays by their dtypes. Returns `None` after the last array.
    fn next(&self) -> PyResult<Option<usize>> {
        let open = taken(&self.open)?;
        let next = open.draft.next();
        put_back(&self.open, open);
        Ok(next)
    }

    /// Writes `array`, the little-endian bytes of the elements of the array whose index [`next`](Self::next) returned.
    fn write(&self, py: Python<'_>, array: PyReadonlyArray1<'_, u8>) -> PyResult<()> {
        let (bytes, mut open) = (array.as_slice()?, taken(&self.open)?);
        let (open, written) = interrupt::run(py, u64::try_from(bytes.len())?, |cancel| {
            let written = open.write(bytes, cancel);
            (open, written)
        })?;
        put_back(&self.open, open);
        written.map_err(|failure| raised(py, failure, self.path.as_deref()))
    }

    /// Ends the file: a file on disk gets its name, and the bytes of a file in memory are returned.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Begun { list, draft, mut out, .. } = taken(&self.open)?;
        let finished = py.detach(|| {
            draft.finish(&list, &mut out).map_err(Error::from_write)?;
            out.finish()
        });
        let failed = |error| raised(py, write::WriteFailure::Source(error), self.path.as_deref());
        Ok(finished.map_err(failed)?.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Deletes the unfinished file. A file that was at the path stays as it was.
    fn abort(&self) {
        drop(taken(&self.open));
    }
}

/// A file that is being written, whose arrays are added one by one. The header, which comes first, has the sizes of all arrays,
/// so their bytes are first written to an unnamed file in the folder of the target. `_zten.pyi` has the signatures.
#[pyclass(frozen, module = "zten._zten")]
pub(crate) struct SpoolWriter {
    /// The arrays that were added so far. `None` during a call, after the file was finished or aborted, and after writing an
    /// array failed halfway.
    open: Mutex<Option<Spool>>,
    path: PathBuf,
    format: WrittenFormat,
}

/// The arrays that have been added, and the unnamed file with their bytes.
struct Spool {
    list: DeclaredArrays,
    /// The names of the arrays, by which a second array of the same name is rejected.
    names: HashSet<String>,
    /// The offset of the first byte of each array in the unnamed file.
    starts: Vec<u64>,
    /// The number of bytes that have been written to the unnamed file, where the next array begins.
    end: u64,
    /// The unnamed file. It is never published, so the system deletes it when the last handle is closed.
    sink: FileSink,
    out: BufWriter<File>,
    buffer: Vec<u8>,
}

impl Spool {
    /// Copies all arrays from the unnamed file to a new file of `format`, which then replaces the file at `path`.
    fn publish(
        self,
        format: WrittenFormat,
        path: &Path,
        cancel: &Cancel,
    ) -> Result<(), write::WriteFailure<Error>> {
        let Self { list, starts, sink, out, buffer, .. } = self;
        out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let mut target = Output::new(Some(path)).map_err(write::WriteFailure::Source)?;
        let mut spooled = Spooled { list, starts, sink, buffer, cancel };
        write::write(format, &mut spooled, &mut target, Settings::default())?;
        cancel.check()?;
        target.finish().map(drop).map_err(write::WriteFailure::Source)
    }
}

/// Arrays whose bytes are read from the unnamed file of a [`Spool`].
struct Spooled<'c> {
    list: DeclaredArrays,
    /// The offset of the first byte of each array in the unnamed file.
    starts: Vec<u64>,
    sink: FileSink,
    buffer: Vec<u8>,
    cancel: &'c Cancel,
}

impl ArrayList for Spooled<'_> {
    fn count(&self) -> usize {
        self.list.count()
    }

    fn name(&self, at: usize) -> &str {
        self.list.name(at)
    }

    fn array(&self, at: usize) -> Result<Array, String> {
        self.list.array(at)
    }

    fn attributes(&self) -> Attributes<'_> {
        self.list.attributes()
    }
}

impl ArraySource for Spooled<'_> {
    type Error = Error;

    fn read(
        &mut self,
        at: usize,
        take: &mut write::ChunkFn<'_>,
    ) -> Result<(), write::WriteFailure<Error>> {
        let Self { list, starts, sink, buffer, cancel } = self;
        let Some((start, (_, array))) = starts.get(at).zip(list.arrays.get(at)) else {
            return Err(write::WriteFailure::Source(Misuse::NoTensor.into()));
        };
        let (mut at, mut left) = (*start, array.bytes());
        while left > 0 {
            cancel.check()?;
            buffer.resize(usize::try_from(left).unwrap_or(PIECE).min(PIECE), 0);
            sink.file().read_at(at, buffer).map_err(write::WriteFailure::Source)?;
            take(buffer)?;
            let piece = u64_from_usize(buffer.len());
            at = at.saturating_add(piece);
            left = left.saturating_sub(piece);
        }
        Ok(())
    }
}

#[pymethods]
impl SpoolWriter {
    /// Creates the unnamed file, in the folder of `path`, in which arrays are collected until a file of `format` is written at
    /// `path`.
    #[new]
    #[pyo3(signature = (path, format))]
    fn new(py: Python<'_>, path: PathBuf, format: &str) -> PyResult<Self> {
        let format = self::format(format)?;
        let create = || {
            let sink = FileSink::create(&path)?;
            let file = sink.file().try_clone().map_err(Error::from_write)?;
            Ok((sink, BufWriter::with_capacity(BUFFER, file)))
        };
        let begun: Result<_, Error> = create();
        let (sink, out) = begun.map_err(|error| CallFailure::from(error).at(py, Some(&path)))?;
        let (list, names, starts, buffer) = Default::default();
        let spool = Spool { list, names, starts, end: 0, sink, out, buffer };
        Ok(Self { open: Mutex::new(Some(spool)), path, format })
    }

    /// Adds an array, the only one of `parts`. Its bytes are written to the unnamed file.
    ///
    /// # Errors
    /// `zten.Unsupported` if the object is not dense, has attributes, or has a name or dtype that the file's format lacks; a
    /// `ValueError` if the dtype is unknown, an array of that name was added before, or the writer is closed or in use by another
    /// thread; the errors of writing.
    #[pyo3(signature = (name, format, shape, parts, attributes))]
    fn add(
        &self,
        py: Python<'_>,
        name: &str,
        format: &str,
        shape: Vec<u64>,
        parts: Vec<ComponentArgs<'_>>,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let failed = |sentence: String| {
            raised(py, Inexpressible::tensor(name, sentence).into(), Some(&self.path))
        };
        let suffix = self.format.suffix();
        if format != "dense" {
            return Err(failed(format!(
                "a .{suffix} file holds dense tensors only, found the layout {format}"
            )));
        }
        let [(role, _, element, _, array, _)] = parts.as_slice() else {
            return Err(failed(format!(
                "a .{suffix} file holds tensors with one component only, found {}",
                parts.len()
            )));
        };
        if role != "data" {
            return Err(failed(format!(
                "a .{suffix} file holds the component data only, found {role}"
            )));
        }
        if attributes.is_some() {
            return Err(failed(format!("a .{suffix} file cannot hold attributes of a tensor")));
        }
        let described = described(element, shape)?;
        check_array(self.format, name, &described)
            .map_err(|error| raised(py, error.into(), Some(&self.path)))?;
        let (bytes, mut open) = (array.as_slice()?, taken(&self.open)?);
        if !open.names.insert(name.to_owned()) {
            put_back(&self.open, open);
            return Err(PyValueError::new_err(format!("the file already has a tensor {name:?}")));
        }
        let (open, written) = interrupt::run(py, u64::try_from(bytes.len())?, |cancel| {
            let Spool { out, buffer, .. } = &mut open;
            // Here the bytes are only written to a temporary file and not validated (`true`), so `pass` need not copy each piece
            // first. `publish` validates the bytes when it copies them from the temporary file.
            let mut pieces = Pieces { buffer, size: PIECE, cancel };
            let written =
                pieces.pass(bytes, true, |piece| out.write_all(piece).map_err(Error::from_write));
            if written.is_ok() {
                open.list.arrays.push((name.to_owned(), described));
                open.starts.push(open.end);
                open.end = open.end.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            }
            (open, written)
        })?;
        // After a failed write the end of the unnamed file is unknown, so the writer stays closed.
        written.map_err(|error| CallFailure::from(error).at(py, Some(&self.path)))?;
        put_back(&self.open, open);
        Ok(())
    }

    /// Sets the attributes of the new file, in place of attributes that were set before.
    fn attributes(&self, py: Python<'_>, attributes: &Bound<'_, PyDict>) -> PyResult<()> {
        let attributes = cbor::attributes(attributes)?;
        check_attributes(self.format, &attributes.entries())
            .map_err(|error| raised(py, error.into(), Some(&self.path)))?;
        let mut open = taken(&self.open)?;
        open.list.attributes = Some(attributes);
        put_back(&self.open, open);
        Ok(())
    }

    /// Copies all arrays to a new file, which then replaces the file at the path.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let open = taken(&self.open)?;
        let (format, path, bytes) = (self.format, &self.path, open.end);
        let published = interrupt::run(py, bytes, |cancel| open.publish(format, path, cancel))?;
        published.map_err(|failure| raised(py, failure, Some(path)))
    }

    /// Deletes the unfinished file. A file that was at the path stays as it was.
    fn abort(&self) {
        drop(taken(&self.open));
    }
}
