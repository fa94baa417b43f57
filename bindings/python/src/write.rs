//! Writes zTensor files from Python arrays, and converts files of any format.

use std::cmp::Ordering;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sha2::{Digest as _, Sha256};
use zten::attributes::Attributes;
use zten::conventions::{Composites, Restored};
use zten::element::{LogicalType, StorageType};
use zten::error::OutOfMemory;
use zten::finding::{Finding, Verdict};
use zten::formats::write::{
    self, Array, ArrayList, ArraySource, ChunkFn, Inexpressible, Settings, Tensors, WriteFailure,
    WrittenFormat, written_generation,
};
use zten::formats::{find_without_profile, profile};
use zten::manifest::ElementType;
use zten::manifest::Manifest;
use zten::shards::{Files, Source};
use zten::verify::Verifier;
use zten::view::Packing;
use zten::write::{
    Checksum, Copier, FileSink, Level, NewComponent, NewObject, WriteOptions, canonical_order,
};
use zten::{Error, ErrorKind, Generation, OpenOptions};
use zten_report::check::stored;

use crate::arrays;
use crate::cbor;
use crate::error::{CallFailure, exception};
use crate::interrupt::{self, Cancel};
use crate::options::Strictness;
use crate::output::{HASHED_PIECE, Output, PIECE, Pieces};
use crate::read;
use crate::source::Given;

/// How to write a new zTensor file, as Python passes it: its generation, the kind of its digests, whether it is in the canonical
/// form, and whether components with equal bytes are stored once.
#[derive(FromPyObject)]
pub(crate) struct FileForm(String, Option<String>, bool, bool);

impl FileForm {
    /// Converts this form to the options with which the library writes a file.
    ///
    /// # Errors
    /// A `ValueError` for an unknown generation, and for a digest that the generation does not have.
    fn options(&self) -> PyResult<WriteOptions> {
        let Self(generation, digest, canonical, shares) = self;
        let generation = written_generation(generation).map_err(PyValueError::new_err)?;
        let checksum = match (digest.as_deref(), generation) {
            (Some("auto"), _) => None,
            (Some("sha256"), _) => Some(Checksum::Sha256),
            (Some("crc32c"), Generation::V1_2) => Some(Checksum::Crc32c),
            (Some("xxh3"), Generation::V2) => Some(Checksum::Xxh3),
            (None, _) => Some(Checksum::None),
            (Some(other), _) => {
                return Err(PyValueError::new_err(format!(
                    "digest is {other:?}, expected \"auto\", \"sha256\", \"crc32c\" or None in 1.2, \"auto\", \"sha256\", \"xxh3\" or None in 2"
                )));
            }
        };
        let options = WriteOptions::default().generation(generation);
        let options = checksum.into_iter().fold(options, WriteOptions::checksum);
        let options = if *shares { options.sharing() } else { options };
        // The canonical form prescribes the digests, so this option is set last and overrides `digest`.
        Ok(if *canonical { options.canonical() } else { options })
    }
}

/// Returns all packings of quantized codes into words: the name, the number of codes in a word, the dtype of a word, and the
/// number of bits of a code.
#[pyfunction]
pub(crate) fn packings() -> Vec<(&'static str, u8, &'static str, u8)> {
    let facts = |p: Packing| (p.name(), p.codes(), p.word().name(), p.bits());
    Packing::ALL.into_iter().map(facts).collect()
}

/// Converts `zstd`, a compression level of zstd from 1 to 5, to the type of the library. `None`, no compression, stays `None`.
///
/// # Errors
/// A `ValueError` for any other number.
pub(crate) fn level(zstd: Option<u8>) -> PyResult<Option<Level>> {
    let level = zstd.map(Level::new).transpose();
    level.map_err(|error| PyValueError::new_err(error.sentence().to_string()))
}

/// A component to write, as Python passes it: its role, the name of its storage dtype, the name of its dtype, its number of
/// elements, its bytes, and whether its tensor is tied to an earlier tensor. The SHA-256 of a tied component is computed before
/// it is written, so that the writer finds the earlier component and stores the bytes once.
pub(crate) type ComponentArgs<'py> = (String, String, String, u64, PyReadonlyArray1<'py, u8>, bool);

/// The Python class of a zTensor file that is being written. `_zten.pyi` has the signatures of its methods.
#[pyclass(frozen, module = "zten._zten")]
pub(crate) struct Writer {
    /// The unfinished file. `None` during a call, after the file was finished or aborted, and after a signal handler raised an
    /// exception while an object was added.
    open: Mutex<Option<Unfinished>>,
    /// The path of the file that is written; `None` for a file in memory.
    path: Option<PathBuf>,
    level: Option<Level>,
    /// Compares two roles by the order in which the components of an object are written.
    order: fn(&str, &str) -> Ordering,
    /// True if components with equal bytes are stored once. The digest of a component is then computed before the component is
    /// written.
    shares: bool,
}

/// An unfinished file, and the buffer through which arrays are copied.
struct Unfinished {
    writer: zten::Writer<Output>,
    buffer: Vec<u8>,
}

impl From<zten::Writer<Output>> for Unfinished {
    fn from(writer: zten::Writer<Output>) -> Self {
        Self { writer, buffer: Vec::new() }
    }
}

impl Writer {
    /// Takes the unfinished file out of this writer, for one call. Until [`put_back`](Self::put_back) puts it back, all other
    /// calls fail, because two threads cannot write one file at the same time.
    ///
    /// # Errors
    /// A `ValueError` if the writer is closed, or another thread uses it.
    fn take(&self) -> PyResult<Unfinished> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        open.ok_or_else(|| PyValueError::new_err("the writer is closed, or another thread uses it"))
    }

    /// Puts the unfinished file `open`, which [`take`](Self::take) took, back for the next call.
    fn put_back(&self, open: Unfinished) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(open);
    }

    /// Converts `error`, which writing the file returned, to a Python exception with the path of the file.
    fn failed(&self, py: Python<'_>, error: Error) -> PyErr {
        CallFailure::from(error).at(py, self.path.as_deref())
    }
}

#[pymethods]
impl Writer {
    /// Begins a file of the form `form` at `path`, or in memory if `path` is `None`. `zstd` is the level at which its components
    /// are compressed; `None` does not compress.
    #[new]
    #[pyo3(signature = (path, form, zstd))]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        form: FileForm,
        zstd: Option<u8>,
    ) -> PyResult<Self> {
        let (options, level) = (form.options()?, level(zstd)?);
        let begin = || zten::Writer::new(Output::new(path.as_deref())?, &options.hashing_thread());
        let writer = begin().map_err(|error| CallFailure::from(error).at(py, path.as_deref()))?;
        let second = form.0 == "2";
        let order = if second { Ord::cmp } else { canonical_order };
        let shares = second && form.2;
        Ok(Self { open: Mutex::new(Some(writer.into())), path, level, order, shares })
    }

    /// Begins a new edition of the file at `path`, to which objects are appended.
    #[staticmethod]
    #[pyo3(signature = (path, form, zstd))]
    fn append(py: Python<'_>, path: PathBuf, form: FileForm, zstd: Option<u8>) -> PyResult<Self> {
        let (options, level) = (form.options()?, level(zstd)?);
        let begin = || {
            let (sink, manifest) = FileSink::edition(&path, &OpenOptions::default())?;
            zten::Writer::append(Output::File(sink), &manifest, &options.hashing_thread())
        };
        let writer = py.detach(begin);
        let writer = writer.map_err(|error| CallFailure::from(error).at(py, Some(&path)))?;
        let order = canonical_order;
        let open = Mutex::new(Some(writer.into()));
        Ok(Self { open, path: Some(path), level, order, shares: false })
    }

    /// Writes the object `name` of the layout `format`, whose components are `parts`.
    #[pyo3(signature = (name, format, shape, parts, attributes))]
    fn add(
        &self,
        py: Python<'_>,
        name: &str,
        format: &str,
        shape: Vec<u64>,
        mut parts: Vec<ComponentArgs<'_>>,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        // A canonical file must have its roles in the order of `self.order`. Other files may have any order, so they get
        // this order too.
        parts.sort_by(|(a, ..), (b, ..)| (self.order)(a, b));
        let attributes = attributes.map(cbor::attributes).transpose()?;
        let (mut components, mut contents, mut all) = (Vec::new(), Vec::new(), 0_u64);
        for (.., array, _) in &parts {
            let content = array.as_slice()?;
            all = all.saturating_add(u64::try_from(content.len())?);
            contents.push(content);
        }
        let mut digests = Vec::new();
        if self.shares || parts.iter().any(|(.., is_tied)| *is_tied) {
            let mut open = self.take()?;
            let (open, sums) = interrupt::run(py, all, |cancel| {
                let sum = |content: &&[u8]| sha256(content, &mut open.buffer, cancel);
                let sums: Result<Vec<_>, Error> = contents.iter().map(sum).collect();
                (open, sums)
            })?;
            self.put_back(open);
            digests = sums.map_err(|error| self.failed(py, error))?;
        }
        let mut digest = digests.iter();
        for (role, storage, element, count, ..) in &parts {
            let element = element_type(storage, element)?;
            let mut component = NewComponent::new(role, element, *count);
            if let Some(level) = self.level {
                component = component.compressed(level);
            }
            if let Some(sha256) = digest.next() {
                component = component.with_known_sha256(sha256);
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
                let mut out = writer.object(&object)?;
                let mut pieces = Pieces { buffer, size: HASHED_PIECE, cancel };
                for (role, bytes) in bytes {
                    pieces.pass(bytes, out.only_stores(), |piece| out.write_part(role, piece))?;
                }
                out.finish()
            };
            let written = write();
            (open, written)
        })?;
        self.put_back(open);
        written.map_err(|error| self.failed(py, error))
    }

    /// Sets the attributes of the new file, in place of attributes that were set before.
    fn attributes(&self, py: Python<'_>, attributes: &Bound<'_, PyDict>) -> PyResult<()> {
        let attributes = cbor::attributes(attributes)?;
        let mut open = self.take()?;
        let outcome = open.writer.attributes_encoded(&attributes);
        self.put_back(open);
        outcome.map_err(|error| self.failed(py, error))
    }

    /// Ends the file: a file on disk gets its name, and the bytes of a file in memory are returned.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Unfinished { writer, .. } = self.take()?;
        let finished = py.detach(|| writer.finish());
        let bytes = finished.map_err(|error| self.failed(py, error))?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Deletes the unfinished file. A file that was at the path stays as it was.
    fn abort(&self) {
        drop(self.open.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Returns the SHA-256 of `bytes`. They are copied to `buffer` piece by piece before they are hashed, because another Python
/// thread may change them. Fails if `cancel` is set.
fn sha256(bytes: &[u8], buffer: &mut Vec<u8>, cancel: &Cancel) -> Result<[u8; 32], Error> {
    let mut sum = Sha256::new();
    Pieces { buffer, size: PIECE, cancel }.copied(bytes, |copy| {
        sum.update(copy);
        Ok(())
    })?;
    Ok(sum.finalize().into())
}

/// Returns the element type with the storage dtype called `storage` and the name `element`, which may be a type that the library
/// does not know.
///
/// # Errors
/// A `ValueError` if there is no storage dtype called `storage`.
fn element_type<'a>(storage: &str, element: &'a str) -> PyResult<ElementType<'a>> {
    let known = StorageType::ALL.into_iter().find(|known| known.name() == storage);
    let storage = known.ok_or_else(|| {
        PyValueError::new_err(format!("unknown storage type {storage:?} of a component"))
    })?;
    if element == storage.name() {
        return Ok(storage.into());
    }
    let logical = LogicalType::ALL.into_iter().find(|known| known.name() == element);
    Ok(logical.map_or(ElementType::UnknownLogical(element, storage), Into::into))
}

/// The tensors of a file that is converted to another format. Each quantized object that was made of several tensors, such as
/// codes and scales, is replaced by these tensors, because other formats cannot hold such an object.
struct Arrays<'a> {
    tensors: Tensors<'a>,
    /// The tensors that replace quantized objects. `None` if no object is replaced.
    restored: Option<Restored<'a>>,
    source: &'a dyn Source,
    /// Verifies the components of quantized objects while the tensors that replace them are read.
    verifier: Verifier,
}

impl<'a> Arrays<'a> {
    fn new<B: AsRef<[u8]>>(
        manifest: &'a Manifest<B>,
        source: &'a dyn Source,
        verifier: impl Fn() -> Verifier,
    ) -> Result<Self, WriteFailure<Error>> {
        let objects = manifest.tensors().map(|object| (object, object.name()));
        let failed = |error: OutOfMemory| WriteFailure::Source(error.into());
        let restored = Restored::find(objects).map_err(failed)?;
        let tensors = Tensors::new(manifest, source, verifier()).map_err(WriteFailure::Source)?;
        if let Some(restored) = &restored
            && let Some(name) = restored.repeated_name(|at| tensors.name(at)).map_err(failed)?
        {
            let sentence =
                "two tensors would have this name after the quantized tensors are restored";
            return Err(Inexpressible::tensor(name, sentence).into());
        }
        Ok(Self { tensors, restored, source, verifier: verifier() })
    }

    /// Returns the index of the object of the file that is written as array `at`. Returns `None` if array `at` replaces a
    /// quantized object or a part of it.
    fn object(&self, at: usize) -> Option<usize> {
        self.restored.as_ref().map_or(Some(at), |restored| restored.object(at))
    }
}

impl ArrayList for Arrays<'_> {
    fn count(&self) -> usize {
        self.restored.as_ref().map_or(self.tensors.count(), Restored::count)
    }

    fn name(&self, at: usize) -> &str {
        match self.restored.as_ref().and_then(|restored| restored.original(at)) {
            Some(original) => original.name(),
            None => self.object(at).map_or("", |at| self.tensors.name(at)),
        }
    }

    fn array(&self, at: usize) -> Result<Array, String> {
        match self.restored.as_ref().and_then(|restored| restored.original(at)) {
            Some(original) => {
                Ok(Array { shape: original.shape().to_vec(), dtype: original.dtype() })
            }
            None => self.tensors.array(self.object(at).ok_or("no such tensor")?),
        }
    }

    fn attributes(&self) -> Attributes<'_> {
        self.tensors.attributes()
    }
}

impl ArraySource for Arrays<'_> {
    type Error = Error;

    fn read(&mut self, at: usize, take: &mut ChunkFn<'_>) -> Result<(), WriteFailure<Error>> {
        if let Some(original) = self.restored.as_ref().and_then(|restored| restored.original(at)) {
            let mut stopped = None;
            let read = original.read(self.source, &mut self.verifier, &mut |chunk| {
                if stopped.is_none() {
                    stopped = take(chunk).err();
                }
                Ok(())
            });
            return match stopped {
                Some(error) => Err(WriteFailure::Output(error)),
                None => read.map_err(WriteFailure::Source),
            };
        }
        self.object(at).map_or(Ok(()), |at| self.tensors.read(at, take))
    }
}

/// Converts the file `source`, of any format that zten reads, and returns the number of objects that were written.
#[pyfunction]
#[pyo3(signature = (source, target, strictness, form, zstd))]
pub(crate) fn convert(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    // The path of the new file, the suffix of its format, and whether an existing file is replaced.
    target: (PathBuf, String, bool),
    strictness: Strictness,
    form: FileForm,
    zstd: Option<u8>,
) -> PyResult<usize> {
    let (target, format, overwrite) = target;
    let (options, format) = (form.options()?, arrays::format(&format)?);
    let level = level(zstd)?;
    // The option `canonical` is about the target. The source may have any form.
    let opening = strictness.any_form()?;
    let given = Given::from_python(source)?;
    let path = given.path();
    let open = given.open(py, &opening)?;
    let manifest = open.manifest();
    let publish = |sink: FileSink| if overwrite { sink.publish() } else { sink.publish_new() };
    if format != WrittenFormat::ZTensor {
        if manifest.is_data_shard() {
            let sentence = "it is a data shard, which another file describes";
            let finding = Finding::new(Verdict::Unsupported, sentence.to_owned());
            return Err(exception(py, &finding, path.as_deref()));
        }
        let written = interrupt::run(py, open.effort(stored(manifest)), |cancel| {
            let input = WriteFailure::Source;
            let mut shards = open.all_shards(cancel).map_err(input)?;
            shards.verify().map_err(input)?;
            let root = open.root(cancel);
            let files = Files { root: &root, shards: &shards };
            let verifier = || Verifier::new(manifest).with_shard_bytes(open.shard_bytes());
            let mut arrays = Arrays::new(manifest, &files, verifier)?;
            let sink = FileSink::create(&target).map_err(io::Error::from)?;
            let mut out = BufWriter::with_capacity(PIECE, sink.file().try_clone()?);
            write::write(format, &mut arrays, &mut out, Settings::default())?;
            drop(out);
            cancel.check()?;
            publish(sink).map_err(io::Error::from)?;
            Ok(arrays.count())
        })?;
        let of_target = matches!(written, Err(WriteFailure::Output(_)));
        let about = if of_target { Some(target.as_path()) } else { path.as_deref() };
        return written.map_err(|failure: WriteFailure<Error>| match failure {
            WriteFailure::Source(error) => CallFailure::reading(manifest, error).at(py, about),
            failure => arrays::raised(py, failure, about),
        });
    }
    let is_second = form.0 == "2";
    let missing = if is_second { find_without_profile(manifest.tensors()) } else { None };
    if let Some(finding) = missing {
        let finding = Finding { verdict: Verdict::Unsupported, ..finding };
        return Err(exception(py, &finding, path.as_deref()));
    }
    let copied = interrupt::run(py, open.effort(stored(manifest)), |cancel| {
        // Generation 2 can store tied tensors once. The writer finds them by the SHA-256 of all bytes, which is computed only
        // if the source has ties.
        let options =
            if is_second && write::has_ties(manifest)? { options.sharing() } else { options };
        let mut sink = FileSink::create(&target)?;
        let generation = if is_second { Generation::V2 } else { Generation::V1_2 };
        let mut copy = || {
            let mut shards = open.all_shards(cancel)?;
            shards.verify()?;
            let files = Files { root: &open.root(cancel), shards: &shards };
            let own_name = |ordinal| manifest.tensor_at(ordinal).map(|tensor| tensor.name());
            let composites = Composites::find(open.archive(), &files, generation, &own_name)?;
            let joined = composites.objects().members().saturating_sub(composites.forms().len());
            let mut copier = Copier::new(manifest)
                .with_shard_bytes(open.shard_bytes())
                .joined(composites.objects());
            if let Some(level) = level {
                copier = copier.compressed(level);
            }
            if is_second {
                copier = copier.layouts(profile);
            }
            copier.file(manifest, &files, &mut sink, &options)?;
            Ok(manifest.len().saturating_sub(joined))
        };
        // Copying stops at the first unsupported object. The file may break a rule in a later object, which is more important to
        // report.
        let count = copy().map_err(|error: Error| match error.kind() {
            ErrorKind::Unsupported(_) => read::verify(&open, cancel).err().unwrap_or(error),
            _ => error,
        })?;
        cancel.check()?;
        publish(sink)?;
        Ok(count)
    })?;
    copied.map_err(|error: Error| {
        let of_target = matches!(error.kind(), ErrorKind::Write | ErrorKind::NotDurable);
        let failure = CallFailure::reading(manifest, error);
        failure.at(py, if of_target { Some(&target) } else { path.as_deref() })
    })
}
