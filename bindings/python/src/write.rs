//! Writing files, and copying files of any generation.

use std::cmp::Ordering;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sha2::{Digest as _, Sha256};
use zten::shards::Files;
use zten::write::{
    Checksum, Copier, CopyError, FileSink, Level, NewComponent, NewObject, Settings, Sink,
    WriteError, canonical_order,
};
use zten::{ElementType, Error, Generation, LogicalType, Options, ReadError, StorageType};
use zten_formats::{Detected, Rule, find_without_profile, profile};
use zten_present::finding::{Finding, Verdict, stored};

use crate::cbor;
use crate::error::Failure;
use crate::interrupt::{self, Cancel};
use crate::options::{Opening, Strictness};
use crate::read;
use crate::source::{Given, Open};

/// Where a file goes.
enum Out {
    File(FileSink),
    Memory(Vec<u8>),
}

impl Sink for Out {
    type Error = io::Error;

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Memory(memory) => {
                let outcome: Result<(), Error> = Sink::write(memory, bytes);
                outcome.map_err(|_| io::ErrorKind::OutOfMemory.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Memory(_) => Ok(()),
        }
    }
}

/// How a file is written, as Python gives it: `generation`, `digest`, `canonical`.
#[derive(FromPyObject)]
pub(crate) struct Form(String, Option<String>, bool);

impl Form {
    /// What the library takes.
    fn settings(&self) -> PyResult<Settings> {
        let Self(generation, digest, canonical) = self;
        let generation = match generation.as_str() {
            "1.2" => Generation::V1_2,
            "2" => Generation::V2,
            other => {
                let sentence = format!("generation is {other:?}, expected \"1.2\" or \"2\"");
                return Err(PyValueError::new_err(sentence));
            }
        };
        let checksum = match (digest.as_deref(), generation) {
            (Some("sha256"), _) => Checksum::Sha256,
            (Some("crc32c"), Generation::V1_2) => Checksum::Crc32c,
            (Some("xxh3"), Generation::V2) => Checksum::Xxh3,
            (None, _) => Checksum::None,
            (Some(other), _) => {
                return Err(PyValueError::new_err(format!(
                    "digest is {other:?}, expected \"sha256\", \"crc32c\" or None in 1.2, \"sha256\", \"xxh3\" or None in 2"
                )));
            }
        };
        let settings = Settings::default().generation(generation).checksum(checksum);
        // The canonical form has digests of its own.
        Ok(if *canonical { settings.canonical() } else { settings })
    }
}

/// A level of compression.
fn level(zstd: Option<u8>) -> PyResult<Option<Level>> {
    let level = zstd.map(Level::new).transpose();
    level.map_err(|error| PyValueError::new_err(error.sentence().to_string()))
}

/// One component: role, type, elements, and its bytes.
type Part<'py> = (String, String, String, u64, PyReadonlyArray1<'py, u8>);

/// A file that is being written. `_zten.pyi` describes it.
#[pyclass(frozen, module = "zten._zten")]
pub(crate) struct Writer {
    /// None once it is finished or given up, and while a call is at work.
    open: Mutex<Option<Unfinished>>,
    path: Option<PathBuf>,
    level: Option<Level>,
    /// The order of roles that the canonical form asks for.
    order: fn(&str, &str) -> Ordering,
    /// True if components of equal bytes share them, so that digests have to be known before.
    shares: bool,
}

/// A file that has not been finished, and the memory that arrays are copied through.
struct Unfinished {
    writer: zten::write::Writer<Out>,
    buffer: Vec<u8>,
}

impl From<zten::write::Writer<Out>> for Unfinished {
    fn from(writer: zten::write::Writer<Out>) -> Self {
        Self { writer, buffer: Vec::new() }
    }
}

impl Writer {
    fn take(&self) -> PyResult<Unfinished> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        open.ok_or_else(|| PyValueError::new_err("the writer is closed, or another thread writes"))
    }

    fn put_back(&self, open: Unfinished) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(open);
    }

    fn failed(&self, py: Python<'_>, failure: Failure) -> PyErr {
        failure.at(py, self.path.as_deref())
    }
}

#[pymethods]
impl Writer {
    /// Begins a file at a path, or in memory.
    #[new]
    #[pyo3(signature = (path, form, zstd))]
    fn new(py: Python<'_>, path: Option<PathBuf>, form: Form, zstd: Option<u8>) -> PyResult<Self> {
        let (settings, level) = (form.settings()?, level(zstd)?);
        let begin = || {
            let out = match &path {
                Some(path) => Out::File(FileSink::create(path).map_err(Failure::Io)?),
                None => Out::Memory(Vec::new()),
            };
            zten::write::Writer::new(out, &settings).map_err(Failure::writing)
        };
        let writer = begin().map_err(|failure| failure.at(py, path.as_deref()))?;
        let second = form.0 == "2";
        let order = if second { Ord::cmp } else { canonical_order };
        let shares = second && form.2;
        Ok(Self { open: Mutex::new(Some(writer.into())), path, level, order, shares })
    }

    /// Goes on with the file at a path.
    #[staticmethod]
    #[pyo3(signature = (path, form, zstd))]
    fn append(py: Python<'_>, path: PathBuf, form: Form, zstd: Option<u8>) -> PyResult<Self> {
        let (settings, level) = (form.settings()?, level(zstd)?);
        let begin = || {
            let edition = FileSink::edition(&path, &Options::default());
            let (sink, manifest) = edition.map_err(|error| match error {
                ReadError::Source(error) => Failure::Io(error),
                ReadError::Refused(error) => Failure::opening(error.into()),
            })?;
            zten::write::Writer::append(Out::File(sink), &manifest, &settings)
                .map_err(Failure::writing)
        };
        let writer = py.detach(begin).map_err(|failure| failure.at(py, Some(&path)))?;
        let order = canonical_order;
        let open = Mutex::new(Some(writer.into()));
        Ok(Self { open, path: Some(path), level, order, shares: false })
    }

    /// Writes an object.
    #[pyo3(signature = (name, format, shape, parts, attributes))]
    fn add(
        &self,
        py: Python<'_>,
        name: &str,
        format: &str,
        shape: Vec<u64>,
        mut parts: Vec<Part<'_>>,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        // Canonical form asks for an order, and no other form for another.
        parts.sort_by(|(a, ..), (b, ..)| (self.order)(a, b));
        let attributes = attributes.map(cbor::attributes).transpose()?;
        let (mut components, mut contents, mut all) = (Vec::new(), Vec::new(), 0_u64);
        for (.., array) in &parts {
            let content = array.as_slice()?;
            all = all.saturating_add(u64::try_from(content.len())?);
            contents.push(content);
        }
        let mut digests = Vec::new();
        if self.shares {
            let mut open = self.take()?;
            let (open, sums) = interrupt::run(py, all, |cancel| {
                let sum = |content: &&[u8]| sha256(content, &mut open.buffer, cancel);
                let sums: Result<Vec<_>, Failure> = contents.iter().map(sum).collect();
                (open, sums)
            })?;
            self.put_back(open);
            digests = sums.map_err(|failure| self.failed(py, failure))?;
        }
        let mut digest = digests.iter();
        for (role, storage, element, count, _) in &parts {
            let element = element_type(storage, element)?;
            let mut component = NewComponent::new(role, element, *count);
            if let Some(level) = self.level {
                component = component.compressed(level);
            }
            if let Some(sha256) = digest.next() {
                component = component.announced(sha256);
            }
            components.push(component);
        }
        let mut object = NewObject::custom(name, &shape, format, &components);
        if let Some(attributes) = &attributes {
            object = object.attributes(attributes);
        }
        let roles = parts.iter().map(|(role, ..)| role.as_str());
        let bytes: Vec<_> = roles.zip(contents).collect();
        let mut open = self.take()?;
        let (open, written) = interrupt::run(py, all, |cancel| {
            let Unfinished { writer, buffer } = &mut open;
            let write = || {
                let mut out =
                    writer.object(&object).map_err(|error| Failure::writing(error.into()))?;
                for (role, bytes) in bytes {
                    copied(bytes, buffer, cancel, |copy| {
                        out.write(role, copy).map_err(Failure::writing)
                    })?;
                }
                out.end().map_err(|error| Failure::writing(error.into()))
            };
            let written = write();
            (open, written)
        })?;
        self.put_back(open);
        written.map_err(|failure| self.failed(py, failure))
    }

    /// Gives the file attributes.
    fn attributes(&self, py: Python<'_>, attributes: &Bound<'_, PyDict>) -> PyResult<()> {
        let attributes = cbor::attributes(attributes)?;
        let mut open = self.take()?;
        let outcome = open.writer.attributes(&attributes);
        self.put_back(open);
        outcome.map_err(|error| self.failed(py, Failure::writing(error.into())))
    }

    /// Ends the file: it has its name then, or is returned.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Unfinished { writer, .. } = self.take()?;
        let finished = py.detach(|| match writer.finish().map_err(Failure::writing)? {
            Out::File(file) => file.publish().map_err(Failure::publishing).map(|()| None),
            Out::Memory(bytes) => Ok(Some(bytes)),
        });
        let bytes = finished.map_err(|failure| self.failed(py, failure))?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Gives the file up: what was at its path stays.
    fn abort(&self) {
        drop(self.open.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Bytes that are copied at a time.
const PIECE: usize = 256 << 10;

/// The alignment of copies: into and out of memory so aligned, copying takes half the time.
const ALIGNMENT: usize = 4096;

/// Hands out copies of the bytes of an array, piece by piece, and sees signals in between.
///
/// Another thread of Python may write to the array at any moment. Each byte is read once, so what is
/// validated, hashed and written is the same.
fn copied(
    bytes: &[u8],
    buffer: &mut Vec<u8>,
    cancel: &Cancel,
    mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for piece in bytes.chunks(PIECE) {
        cancel.check().map_err(Failure::Io)?;
        buffer.clear();
        let most = piece.len().saturating_add(ALIGNMENT);
        buffer.try_reserve_exact(most).map_err(|_| Failure::OutOfMemory)?;
        let begin = buffer.as_ptr().align_offset(ALIGNMENT);
        buffer.resize(begin, 0);
        buffer.extend_from_slice(piece);
        take(buffer.get(begin..).unwrap_or_default())?;
    }
    Ok(())
}

/// The sha256 of the bytes of an array.
fn sha256(bytes: &[u8], buffer: &mut Vec<u8>, cancel: &Cancel) -> Result<[u8; 32], Failure> {
    let mut sum = Sha256::new();
    copied(bytes, buffer, cancel, |copy| {
        sum.update(copy);
        Ok(())
    })?;
    Ok(sum.finalize().into())
}

/// The type of elements that are stored as that, and are called so.
fn element_type<'a>(storage: &str, element: &'a str) -> PyResult<ElementType<'a>> {
    let known = StorageType::ALL.into_iter().find(|known| known.name() == storage);
    let storage = known
        .ok_or_else(|| PyValueError::new_err(format!("there is no storage type {storage:?}")))?;
    if element == storage.name() {
        return Ok(storage.into());
    }
    let logical = LogicalType::ALL.into_iter().find(|known| known.name() == element);
    Ok(logical.map_or(ElementType::UnknownLogical(element, storage), Into::into))
}

/// Writes what a file of any format holds as a file of zTensor: how many objects.
#[pyfunction]
#[pyo3(signature = (source, target, strictness, form, zstd))]
pub(crate) fn convert(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    target: PathBuf,
    strictness: Strictness,
    form: Form,
    zstd: Option<u8>,
) -> PyResult<u32> {
    let settings = form.settings()?;
    let level = level(zstd)?;
    // The canonical form is asked of what is written, and not of what is read.
    let unknown = Some(Detected::Misnamed(Rule::FormatUnknown));
    let opening = Opening { unknown, ..strictness.any_form()? };
    let given = Given::from_python(source)?;
    let path = given.path();
    let opened = py.detach(|| Open::new(given, &opening, &Cancel::default()));
    let open = opened.map_err(|failure| failure.at(py, path.as_deref()))?;
    let is_second = form.0 == "2";
    let missing = if is_second { find_without_profile(&open.manifest) } else { None };
    if let Some(finding) = missing {
        let finding = Finding { verdict: Verdict::Unsupported, ..finding };
        return Err(Failure::Found(Box::new(finding)).at(py, path.as_deref()));
    }
    let copied = interrupt::run(py, stored(&open.manifest), |cancel| {
        let sink = FileSink::create(&target).map_err(|error| (Failure::Io(error), true))?;
        // A file that is invalid is called so, whatever in it is not supported.
        let reading = |error: ReadError<io::Error>| {
            let is_unsupported =
                matches!(&error, ReadError::Refused(error) if error.is_unsupported());
            let found = if is_unsupported { read::verify(&open, cancel).err() } else { None };
            (found.unwrap_or_else(|| Failure::reading(&open.manifest, error)), false)
        };
        let (shards, verified) = open.verified_shards(cancel).map_err(reading)?;
        verified.map_err(reading)?;
        let files = Files { root: &open.root(cancel), shards: &shards };
        let mut copier = Copier::new(open.all_bytes(), open.limits());
        if let Some(level) = level {
            copier = copier.compressed(level);
        }
        if is_second {
            copier = copier.layouts(profile);
        }
        let sink = copier.file(&open.manifest, files, sink, &settings);
        let sink = sink.map_err(|error| match error {
            CopyError::Read(error) => reading(error),
            error => {
                let of_target = matches!(error, CopyError::Write(WriteError::Sink(_)));
                (Failure::copying(&open.manifest, error), of_target)
            }
        })?;
        cancel.check().map_err(|error| (Failure::Io(error), false))?;
        sink.publish().map_err(|error| (Failure::publishing(error), true))
    })?;
    copied.map_err(|(failure, of_target)| {
        failure.at(py, if of_target { Some(&target) } else { path.as_deref() })
    })?;
    Ok(open.manifest.len())
}
