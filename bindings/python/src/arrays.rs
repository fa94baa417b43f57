//! Writing files of other formats than zTensor: safetensors, `.npy` and `.npz`.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use zten::attributes::Attributes;
use zten::write::{Encoded, FileSink};
use zten::{DType, Error, ReadAt as _};
use zten_formats::write::{
    self, Array, ArrayList, ArraySource, Draft, Inexpressible, Settings, Subject, WrittenFormat,
    check_array, check_attributes,
};
use zten_report::finding::{Finding, Verdict};

use crate::cbor;
use crate::error::{Failure, exception};
use crate::interrupt::{self, Cancel};
use crate::write::{Part, copied};

/// Returns the format that a path's suffix tells, or that is given by its suffix: the suffix.
#[pyfunction]
#[pyo3(signature = (path, format))]
pub(crate) fn written_format(
    path: Option<PathBuf>,
    format: Option<&str>,
) -> PyResult<&'static str> {
    let found = match (format, &path) {
        (Some(format), _) => WrittenFormat::from_suffix(format),
        (None, Some(path)) => WrittenFormat::from_path(path),
        (None, None) => Some(WrittenFormat::ZTensor),
    };
    if let Some(found) = found {
        return Ok(found.suffix());
    }
    let known = WrittenFormat::ALL.map(WrittenFormat::suffix);
    Err(PyValueError::new_err(match (format, path) {
        (Some(format), _) => format!("format is {format:?}, expected {}", quoted(&known)),
        (None, path) => format!(
            "unknown suffix of {:?}: expected .{}, or format=, which names one of these",
            path.unwrap_or_default().to_string_lossy(),
            known.join(", .")
        ),
    }))
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
}

/// The format of a suffix that [`written_format`] returned.
pub(crate) fn format(suffix: &str) -> PyResult<WrittenFormat> {
    let found = WrittenFormat::from_suffix(suffix);
    found.ok_or_else(|| PyValueError::new_err(format!("unknown format {suffix:?}")))
}

/// Names, types and shapes of arrays, and the attributes of their file.
#[derive(Default)]
struct Declared {
    arrays: Vec<(String, Array)>,
    attributes: Option<Encoded>,
}

impl ArrayList for Declared {
    fn count(&self) -> usize {
        self.arrays.len()
    }

    fn name(&self, at: usize) -> &str {
        self.arrays.get(at).map_or("", |(name, _)| name)
    }

    fn array(&self, at: usize) -> Result<Array, String> {
        self.arrays
            .get(at)
            .map(|(_, array)| array.clone())
            .ok_or_else(|| "no such array".to_owned())
    }

    fn attributes(&self) -> Attributes<'_> {
        self.attributes.as_ref().map_or_else(Attributes::default, Encoded::entries)
    }
}

/// The place that a file goes to.
enum Place {
    File(FileSink, BufWriter<File>),
    Memory(Cursor<Vec<u8>>),
}

/// Bytes that are gathered before they are written.
const BUFFER: usize = 64 << 10;

impl Place {
    fn file(path: &Path) -> Result<Self, Error> {
        let sink = FileSink::create(path)?;
        let file = sink.file().try_clone().map_err(Error::from_write)?;
        Ok(Self::File(sink, BufWriter::with_capacity(BUFFER, file)))
    }

    /// Gives the file its name, or returns its bytes.
    fn publish(self) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Self::File(sink, out) => {
                out.into_inner().map_err(|error| Error::from_write(error.into_error()))?;
                sink.publish().map(|()| None)
            }
            Self::Memory(bytes) => Ok(Some(bytes.into_inner())),
        }
    }
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(_, out) => out.write(bytes),
            Self::Memory(out) => {
                let room = out.get_mut().try_reserve(bytes.len());
                room.map_err(|_| io::ErrorKind::OutOfMemory)?;
                out.write(bytes)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(_, out) => out.flush(),
            Self::Memory(_) => Ok(()),
        }
    }
}

impl Seek for Place {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(_, out) => out.seek(to),
            Self::Memory(out) => out.seek(to),
        }
    }
}

/// Returns the exception for a file that was not written.
pub(crate) fn raised(py: Python<'_>, failure: write::Failure<Error>, path: Option<&Path>) -> PyErr {
    match failure {
        write::Failure::Source(error) => Failure::from(error).at(py, path),
        // A bool that is neither 0 nor 1, or an array that has changed.
        write::Failure::Output(error) if error.kind() == io::ErrorKind::InvalidData => {
            PyValueError::new_err(error.to_string())
        }
        write::Failure::Output(error) => Failure::from(Error::from_write(error)).at(py, path),
        write::Failure::Inexpressible(Inexpressible { subject, sentence }) => {
            let mut finding = Finding::new(Verdict::Unsupported, sentence);
            if let Subject::Tensor(name) = subject {
                finding.object = Some(name);
            }
            exception(py, &finding, path)
        }
    }
}

/// The type of elements by the names of their storage and of themselves.
fn dtype(element: &str) -> PyResult<DType> {
    let found = DType::ALL.into_iter().find(|dtype| dtype.name() == element);
    found.ok_or_else(|| PyValueError::new_err(format!("unknown type {element:?}")))
}

/// The value in a lock, taken out.
fn taken<T>(lock: &Mutex<Option<T>>) -> PyResult<T> {
    let open = lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    open.ok_or_else(|| PyValueError::new_err("the writer is closed, or another thread writes"))
}

fn put_back<T>(lock: &Mutex<Option<T>>, value: T) {
    *lock.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
}

/// A file all of whose arrays are declared before the first is written. `_zten.pyi` describes it.
#[pyclass(frozen, module = "zten._zten")]
pub(crate) struct ArrayWriter {
    open: Mutex<Option<Begun>>,
    path: Option<PathBuf>,
}

/// A file whose header has been written, and the memory that arrays are copied through.
struct Begun {
    list: Declared,
    draft: Draft,
    out: Place,
    buffer: Vec<u8>,
}

impl Begun {
    /// Writes the next array.
    fn write(&mut self, bytes: &[u8], cancel: &Cancel) -> Result<(), write::Failure<Error>> {
        let Self { list, draft, out, buffer } = self;
        draft.begin_array(list, out)?;
        copied(bytes, buffer, cancel, |copy| draft.write(copy, out).map_err(Error::from_write))
            .map_err(|error| write::Failure::Output(error.into()))?;
        Ok(draft.end_array(out)?)
    }
}

#[pymethods]
impl ArrayWriter {
    /// Begins a file at a path, or in memory.
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
        let mut list = Declared { arrays: Vec::new(), attributes };
        for (name, element, shape) in arrays {
            list.arrays.push((name, Array { shape, dtype: dtype(&element)? }));
        }
        let begin = || {
            let mut out = match &path {
                Some(path) => Place::file(path).map_err(write::Failure::Source)?,
                None => Place::Memory(Cursor::default()),
            };
            let draft = Draft::begin(format, &list, &mut out, Settings::default())?;
            Ok((draft, out))
        };
        let (draft, out) = begin().map_err(|failure| raised(py, failure, path.as_deref()))?;
        let open = Mutex::new(Some(Begun { list, draft, out, buffer: Vec::new() }));
        Ok(Self { open, path })
    }

    /// Returns the array that is written next, by its place in the list; None if all have been written.
    fn next(&self) -> PyResult<Option<usize>> {
        let open = taken(&self.open)?;
        let next = open.draft.next();
        put_back(&self.open, open);
        Ok(next)
    }

    /// Writes the next array.
    fn write(&self, py: Python<'_>, array: PyReadonlyArray1<'_, u8>) -> PyResult<()> {
        let (bytes, mut open) = (array.as_slice()?, taken(&self.open)?);
        let (open, written) = interrupt::run(py, u64::try_from(bytes.len())?, |cancel| {
            let written = open.write(bytes, cancel);
            (open, written)
        })?;
        put_back(&self.open, open);
        written.map_err(|failure| raised(py, failure, self.path.as_deref()))
    }

    /// Ends the file: it has its name then, or is returned.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Begun { list, draft, mut out, .. } = taken(&self.open)?;
        let finished = py.detach(|| {
            draft.finish(&list, &mut out).map_err(Error::from_write)?;
            out.publish()
        });
        let failed = |error| raised(py, write::Failure::Source(error), self.path.as_deref());
        Ok(finished.map_err(failed)?.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Gives the file up: what was at its path stays.
    fn abort(&self) {
        drop(taken(&self.open));
    }
}

/// A file whose arrays come one by one. Their bytes go to a file without a name beside the target, and are copied from it
/// when all sizes are known. `_zten.pyi` describes it.
#[pyclass(frozen, module = "zten._zten")]
pub(crate) struct SpoolWriter {
    open: Mutex<Option<Spool>>,
    path: PathBuf,
    format: WrittenFormat,
}

/// The arrays so far.
struct Spool {
    list: Declared,
    names: HashSet<String>,
    /// The offset of the first byte of each array.
    starts: Vec<u64>,
    end: u64,
    /// Never published, so that it disappears with this.
    sink: FileSink,
    out: BufWriter<File>,
    buffer: Vec<u8>,
}

impl Spool {
    /// Copies all arrays to a file at `path`.
    fn publish(
        self,
        format: WrittenFormat,
        path: &Path,
        cancel: &Cancel,
    ) -> Result<(), write::Failure<Error>> {
        let Self { list, starts, sink, out, buffer, .. } = self;
        out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let mut place = Place::file(path).map_err(write::Failure::Source)?;
        let mut spooled = Spooled { list, starts, sink, buffer, cancel };
        write::write(format, &mut spooled, &mut place, Settings::default())?;
        cancel.check()?;
        place.publish().map(drop).map_err(write::Failure::Source)
    }
}

/// Arrays whose bytes are in a file.
struct Spooled<'c> {
    list: Declared,
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

/// Bytes that are read at once.
const PIECE: u64 = 256 << 10;

impl ArraySource for Spooled<'_> {
    type Error = Error;

    fn read(
        &mut self,
        at: usize,
        take: &mut write::ChunkFn<'_>,
    ) -> Result<(), write::Failure<Error>> {
        let Self { list, starts, sink, buffer, cancel } = self;
        let Some((start, (_, array))) = starts.get(at).zip(list.arrays.get(at)) else {
            return Ok(());
        };
        let (mut at, mut left) = (*start, array.bytes());
        while left > 0 {
            cancel.check()?;
            let piece = left.min(PIECE);
            buffer.resize(usize::try_from(piece).unwrap_or_default(), 0);
            sink.file().read_at(at, buffer).map_err(write::Failure::Source)?;
            take(buffer)?;
            at = at.saturating_add(piece);
            left = left.saturating_sub(piece);
        }
        Ok(())
    }
}

#[pymethods]
impl SpoolWriter {
    /// Begins a file at a path.
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
        let (sink, out) = begun.map_err(|error| Failure::from(error).at(py, Some(&path)))?;
        let (list, names, starts, buffer) = Default::default();
        let spool = Spool { list, names, starts, end: 0, sink, out, buffer };
        Ok(Self { open: Mutex::new(Some(spool)), path, format })
    }

    /// Writes an array.
    #[pyo3(signature = (name, format, shape, parts, attributes))]
    fn add(
        &self,
        py: Python<'_>,
        name: &str,
        format: &str,
        shape: Vec<u64>,
        parts: Vec<Part<'_>>,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let failed = |sentence: String| {
            raised(py, Inexpressible::tensor(name, sentence).into(), Some(&self.path))
        };
        let suffix = self.format.suffix();
        let [(role, _, element, _, array, _)] = parts.as_slice() else {
            return Err(failed(format!(
                "a .{suffix} file holds dense tensors, and this is {format}"
            )));
        };
        if format != "dense" || role != "data" {
            return Err(failed(format!(
                "a .{suffix} file holds dense tensors, and this is {format}"
            )));
        }
        if attributes.is_some() {
            return Err(failed(format!("a .{suffix} file has no attributes of a tensor")));
        }
        let described = Array { shape, dtype: dtype(element)? };
        check_array(self.format, name, &described)
            .map_err(|error| raised(py, error.into(), Some(&self.path)))?;
        let (bytes, mut open) = (array.as_slice()?, taken(&self.open)?);
        if !open.names.insert(name.to_owned()) {
            put_back(&self.open, open);
            return Err(PyValueError::new_err(format!("there is a tensor {name:?} already")));
        }
        let (open, written) = interrupt::run(py, u64::try_from(bytes.len())?, |cancel| {
            let Spool { out, buffer, .. } = &mut open;
            let written = copied(bytes, buffer, cancel, |copy| {
                out.write_all(copy).map_err(Error::from_write)
            });
            if written.is_ok() {
                open.list.arrays.push((name.to_owned(), described));
                open.starts.push(open.end);
                open.end = open.end.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            }
            (open, written)
        })?;
        // Behind bytes that were not all written nothing else has its place: the file is given up.
        written.map_err(|error| Failure::from(error).at(py, Some(&self.path)))?;
        put_back(&self.open, open);
        Ok(())
    }

    /// Gives the file attributes.
    fn attributes(&self, py: Python<'_>, attributes: &Bound<'_, PyDict>) -> PyResult<()> {
        let attributes = cbor::attributes(attributes)?;
        check_attributes(self.format, &attributes.entries())
            .map_err(|error| raised(py, error.into(), Some(&self.path)))?;
        let mut open = taken(&self.open)?;
        open.list.attributes = Some(attributes);
        put_back(&self.open, open);
        Ok(())
    }

    /// Ends the file: it has its name then.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let open = taken(&self.open)?;
        let (format, path, bytes) = (self.format, &self.path, open.end);
        let published = interrupt::run(py, bytes, |cancel| open.publish(format, path, cancel))?;
        published.map_err(|failure| raised(py, failure, Some(path)))
    }

    /// Gives the file up: what was at its path stays.
    fn abort(&self) {
        drop(taken(&self.open));
    }
}
