//! Makes, checks and applies patches between files, and between arrays in memory.

use std::collections::HashMap;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{PyArray1, PyArrayMethods as _, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zten::error::{Misuse, OutOfMemory};
use zten::formats::write::{self, Array, DeclaredArrays, written_generation};
use zten::shards::Files;
use zten::write::{FileSink, IoSink, WriteOptions};
use zten::{Error, Generation, ReadAt as _};
use zten_patch::{ArrayFile, ArrayUpdate, Chain, Model, Patch, PatchFailure, ReadArray, Settings};
use zten_report::check::stored;
use zten_report::digests::{hex, kind};

use crate::arrays;
use crate::error::CallFailure;
use crate::interrupt::{self, Cancel};
use crate::options::{Opening, Strictness};
use crate::output::PIECE;
use crate::source::{Given, Open};
use crate::value;
use crate::write::level;

/// An array as Python passes it: its name, dtype and shape, and its bytes, or `None` if they are fetched when they are read.
type ArrayArgs<'py> = (String, String, Vec<u64>, Option<PyReadonlyArray1<'py, u8>>);

/// A model as Python passes it: either a list of arrays with a function that returns the bytes of the array of a given number, or a
/// file.
#[derive(FromPyObject)]
pub(crate) enum GivenModel<'py> {
    Arrays(Vec<ArrayArgs<'py>>, Py<PyAny>),
    #[pyo3(transparent)]
    File(Bound<'py, PyAny>),
}

/// The old or the new model of a patch: an open file, or NumPy arrays whose names and shapes are known.
enum Side<'py> {
    File(Box<Open>, Option<PathBuf>),
    Arrays { list: DeclaredArrays, held: Vec<Option<PyReadonlyArray1<'py, u8>>>, fetch: Py<PyAny> },
}

impl<'py> Side<'py> {
    /// Opens the file `given` with the options `opening`, or makes the list of the names, dtypes and shapes of the arrays `given`.
    fn new(py: Python<'py>, given: GivenModel<'py>, opening: &Opening) -> PyResult<Self> {
        let (entries, fetch) = match given {
            GivenModel::File(file) => {
                let given = Given::from_python(&file)?;
                let path = given.path();
                return Ok(Self::File(Box::new(given.open(py, opening)?), path));
            }
            GivenModel::Arrays(entries, fetch) => (entries, fetch),
        };
        let (mut list, mut held) =
            (DeclaredArrays { arrays: Vec::new(), attributes: None }, Vec::new());
        for (name, element, shape, array) in entries {
            let described = Array::named(&element, shape).map_err(PyValueError::new_err)?;
            list.arrays.push((name, described));
            held.push(array);
        }
        Ok(Self::Arrays { list, held, fetch })
    }

    /// Returns the cost of reading this model, as the number of bytes for [`interrupt::run`], which starts a thread for much
    /// work: the stored bytes of a file, or [`u64::MAX`] if it is remote; the bytes of arrays.
    fn effort(&self) -> u64 {
        match self {
            Self::File(open, _) => open.effort(stored(open.manifest())),
            Self::Arrays { list, .. } => effort(list),
        }
    }

    /// Borrows this model in a form that can be read without the interpreter's lock.
    ///
    /// # Errors
    /// A `TypeError` if the bytes of an array are not contiguous.
    fn detached(&self, py: Python<'_>) -> PyResult<Detached<'_>> {
        Ok(match self {
            Self::File(open, _) => Detached::File(open),
            Self::Arrays { list, held, fetch } => {
                let slices = held.iter().map(|array| match array {
                    Some(array) => array.as_slice().map(Some),
                    None => Ok(None),
                });
                let slices: Result<Vec<_>, _> = slices.collect();
                let memory = Memory {
                    slices: slices?,
                    fetch: fetch.clone_ref(py),
                    fetched: Mutex::default(),
                };
                Detached::Arrays(list, memory)
            }
        })
    }

    /// Converts `error`, which reading this model returned, to a Python exception. The exception has the path of the model if the
    /// model is a file with a path.
    fn raised(&self, py: Python<'_>, error: Error) -> PyErr {
        match self {
            Self::File(open, path) => {
                CallFailure::reading(open.manifest(), error).at(py, path.as_deref())
            }
            Self::Arrays { .. } => CallFailure::from(error).at(py, None),
        }
    }
}

/// Returns the number of bytes of the elements of all arrays in `list` together, or [`u64::MAX`] if there are more.
fn effort(list: &DeclaredArrays) -> u64 {
    list.arrays.iter().fold(0, |sum, (_, array)| sum.saturating_add(array.bytes()))
}

/// One of the two models that a patch is made between, borrowed from a [`Side`] so that it can be read without the interpreter's
/// lock. Only arrays that have to be fetched by a Python function take that lock for each fetch.
enum Detached<'a> {
    /// An open file.
    File(&'a Open),
    /// The names, dtypes and shapes of NumPy arrays, and their bytes.
    Arrays(&'a DeclaredArrays, Memory<'a>),
}

impl Detached<'_> {
    /// Verifies the shards of a file, then calls `work` with this model and returns the result of `work`. After `cancel` was set,
    /// reads of the model fail. `blame` says which model an error is about: it converts the error to a failure.
    fn with<T>(
        &self,
        cancel: &Cancel,
        blame: impl Fn(Error) -> PatchFailure,
        work: impl FnOnce(&Model<'_>) -> Result<T, PatchFailure>,
    ) -> Result<T, PatchFailure> {
        match self {
            Self::File(open) => {
                let mut shards = open.all_shards(cancel).map_err(&blame)?;
                shards.verify().map_err(&blame)?;
                let root = open.root(cancel);
                let files = Files { root: &root, shards: &shards };
                let model = Model::new(open.manifest(), &files).map_err(&blame)?;
                work(&model.with_shard_bytes(open.shard_bytes()))
            }
            Self::Arrays(list, memory) => {
                let watched = WatchedArrays { arrays: memory, cancel };
                let file = ArrayFile::open(list, watched).map_err(&blame)?;
                work(&Model::of_arrays(list, &file).map_err(&blame)?)
            }
        }
    }

    /// Returns true for arrays in memory, and false for a file.
    fn is_arrays(&self) -> bool {
        matches!(self, Self::Arrays(..))
    }
}

/// The bytes of the arrays of a model. `slices` has `None` for an array that is on a device, or is not contiguous and
/// little-endian: the Python function `fetch` then returns the bytes for the index of the array.
struct Memory<'a> {
    slices: Vec<Option<&'a [u8]>>,
    fetch: Py<PyAny>,
    /// The array that `fetch` returned last: its index in the list of arrays, and its bytes.
    fetched: Mutex<Option<(usize, Py<PyArray1<u8>>)>>,
}

impl ReadArray for Memory<'_> {
    fn read_array(&self, number: usize, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        if let Some(slice) = self.slices.get(number).copied().flatten() {
            return slice.read_at(offset, buffer);
        }
        // Every thread takes this lock before the interpreter's lock. In different orders, two threads could wait for each other.
        let mut fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        let read = Python::attach(|py| -> PyResult<Result<(), Error>> {
            let array = match fetched.take() {
                Some((own, array)) if own == number => array,
                other => {
                    // The array that was fetched before is freed first, so that memory holds only one fetched array at a time.
                    drop(other);
                    let array = interrupt::reading(|| self.fetch.bind(py).call1((number,)))?;
                    let array = array.cast_into::<PyArray1<u8>>().map_err(PyErr::from)?;
                    array.unbind()
                }
            };
            let read = array.bind(py).readonly().as_slice()?.read_at(offset, buffer);
            *fetched = Some((number, array));
            Ok(read)
        });
        read.map_err(io::Error::from)?
    }
}

/// Arrays of a model whose reads fail after `cancel` was set.
struct WatchedArrays<'a, R> {
    arrays: &'a R,
    cancel: &'a Cancel,
}

impl<R: ReadArray> ReadArray for WatchedArrays<'_, R> {
    fn read_array(&self, number: usize, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.cancel.check()?;
        self.arrays.read_array(number, offset, buffer)
    }
}

/// The open files of patches, each with its path if it has one.
struct Patches(Vec<(Open, Option<PathBuf>)>);

impl Patches {
    /// Opens the patch files `given` with the options `opening`, and keeps their order.
    fn new(py: Python<'_>, given: &[Bound<'_, PyAny>], opening: &Opening) -> PyResult<Self> {
        let open = given.iter().map(|file| {
            let given = Given::from_python(file)?;
            let path = given.path();
            Ok((given.open(py, opening)?, path))
        });
        Ok(Self(open.collect::<PyResult<_>>()?))
    }

    /// Returns the cost of reading all patches, as the number of bytes for [`interrupt::run`], which starts a thread for much
    /// work: the sum of their stored bytes, or [`u64::MAX`] if one of them is remote.
    fn effort(&self) -> u64 {
        let efforts = self.0.iter().map(|(open, _)| open.effort(stored(open.manifest())));
        efforts.fold(0, u64::saturating_add)
    }

    /// Parses the description of each patch, calls `work` with the patches in their order, and returns the result of `work`. After
    /// `cancel` was set, reads of the patches fail.
    fn with<T>(
        &self,
        cancel: &Cancel,
        work: impl FnOnce(&[Patch<'_>]) -> Result<T, PatchFailure>,
    ) -> Result<T, PatchFailure> {
        let roots: Vec<_> = self.0.iter().map(|(open, _)| open.root(cancel)).collect();
        let mut patches = Vec::new();
        for (number, ((open, _), root)) in self.0.iter().zip(&roots).enumerate() {
            let failed = |error| PatchFailure::Patch(number, error);
            patches.try_reserve(1).map_err(|_| failed(OutOfMemory.into()))?;
            patches.push(Patch::open(open.manifest(), root).map_err(failed)?);
        }
        work(&patches)
    }
}

/// What a failed call was given: the old and the new model, the patches and the path of the output. [`raised`](Self::raised)
/// gives the exception the path of the file that the failure is about.
#[derive(Clone, Copy)]
struct Blamed<'b> {
    old: Option<&'b Side<'b>>,
    new: Option<&'b Side<'b>>,
    patches: Option<&'b Patches>,
    target: Option<&'b Path>,
}

impl Blamed<'_> {
    /// Converts `failure` to a Python exception with the path of the file that the failure is about, if that file has a path.
    fn raised(self, py: Python<'_>, failure: PatchFailure) -> PyErr {
        let of = |side: Option<&Side<'_>>, error: Error| match side {
            Some(side) => side.raised(py, error),
            None => CallFailure::from(error).at(py, None),
        };
        match failure {
            PatchFailure::Old(error) => of(self.old, error),
            PatchFailure::New(error) => of(self.new, error),
            PatchFailure::Patch(number, error) => {
                match self.patches.and_then(|own| own.0.get(number)) {
                    Some((open, path)) => {
                        CallFailure::reading(open.manifest(), error).at(py, path.as_deref())
                    }
                    None => CallFailure::from(error).at(py, None),
                }
            }
            PatchFailure::Output(error) => {
                arrays::raised(py, write::WriteFailure::Output(error), self.target)
            }
            PatchFailure::Inexpressible(why) => {
                arrays::raised(py, write::WriteFailure::Inexpressible(why), self.target)
            }
            other => PyValueError::new_err(other.to_string()),
        }
    }
}

/// A file to create at `path`. The file gets its name only when it is complete. If `overwrite` is false, an existing file at
/// `path` is an error.
struct NewFile<'p> {
    path: &'p Path,
    overwrite: bool,
}

impl NewFile<'_> {
    /// Creates the file without a name or under a temporary name, lets `work` write its content, and gives the file its name.
    /// Returns the result of `work`. If `work` fails or `cancel` was set, returns an error, and no file appears at the path.
    fn write<T>(
        &self,
        cancel: &Cancel,
        work: impl FnOnce(&mut BufWriter<std::fs::File>) -> Result<T, PatchFailure>,
    ) -> Result<T, PatchFailure> {
        let failed = |error: Error| PatchFailure::Output(error.into());
        let sink = FileSink::create(self.path).map_err(failed)?;
        let file = sink.file().try_clone().map_err(PatchFailure::Output)?;
        let mut out = BufWriter::with_capacity(PIECE, file);
        let done = work(&mut out)?;
        out.into_inner().map_err(|error| PatchFailure::Output(error.into_error()))?;
        cancel.check().map_err(PatchFailure::Output)?;
        let published = if self.overwrite { sink.publish() } else { sink.publish_new() };
        published.map_err(failed)?;
        Ok(done)
    }
}

/// The counts of a patch: the numbers of tensors that are unchanged, changed, held whole, removed and renamed, then the number of
/// changed elements and the number of decoded bytes of the new model.
type Counts = (u64, u64, u64, u64, u64, u64, u64);

/// Writes the patch that changes `old` into `new` to the path in `target`. Returns the counts of the patch, and the identities of
/// the tensors of `old` and of `new` in hexadecimal digits.
#[pyfunction]
#[pyo3(signature = (old, new, target, strictness, zstd))]
pub(crate) fn patch_make<'py>(
    py: Python<'py>,
    old: GivenModel<'py>,
    new: GivenModel<'py>,
    // The path of the patch, and whether an existing file is replaced.
    target: (PathBuf, bool),
    strictness: Strictness,
    zstd: Option<u8>,
) -> PyResult<(Counts, (String, String))> {
    let opening = strictness.any_form()?;
    let settings = Settings { level: level(zstd)?.unwrap_or_default() };
    let (old, new) = (Side::new(py, old, &opening)?, Side::new(py, new, &opening)?);
    let (path, overwrite) = target;
    let effort = old.effort().saturating_add(new.effort());
    let (before, after) = (old.detached(py)?, new.detached(py)?);
    let made = interrupt::run(py, effort, |cancel| {
        before.with(cancel, PatchFailure::Old, |before| {
            let is_arrays = after.is_arrays();
            after.with(cancel, PatchFailure::New, |after| {
                let like = is_arrays.then(|| after.clone().like(before));
                let file = NewFile { path: &path, overwrite };
                file.write(cancel, |out| {
                    let after = like.as_ref().unwrap_or(after);
                    let made = zten_patch::make(before, after, IoSink(out), &settings)?;
                    Ok(made.1)
                })
            })
        })
    })?;
    let blamed = Blamed { old: Some(&old), new: Some(&new), patches: None, target: Some(&path) };
    let summary = made.map_err(|failure| blamed.raised(py, failure))?;
    let counts = (
        summary.unchanged,
        summary.changed,
        summary.whole,
        summary.removed,
        summary.renamed,
        summary.elements,
        summary.bytes,
    );
    Ok((counts, (hex(&summary.base), hex(&summary.result))))
}

/// Applies `patches` to `old` one after another, and writes the result at the path in `target`. Returns the identity of the
/// tensors of the result in hexadecimal digits, or `None` if there are no patches.
#[pyfunction]
#[pyo3(signature = (old, patches, target, strictness))]
pub(crate) fn patch_apply<'py>(
    py: Python<'py>,
    old: GivenModel<'py>,
    patches: Vec<Bound<'py, PyAny>>,
    // The path of the new file, the suffix of its format, its generation, and whether an existing file is replaced.
    target: (PathBuf, String, Option<String>, bool),
    strictness: Strictness,
) -> PyResult<Option<String>> {
    let opening = strictness.any_form()?;
    let (path, format, generation, overwrite) = target;
    let format = arrays::format(&format)?;
    let asked = generation.as_deref().map(written_generation).transpose();
    let asked = asked.map_err(PyValueError::new_err)?;
    let old = Side::new(py, old, &opening)?;
    let patches = Patches::new(py, &patches, &opening)?;
    let own = match &old {
        Side::File(open, _) => open.manifest().generation(),
        Side::Arrays { .. } => None,
    };
    let effort = old.effort().saturating_add(patches.effort());
    let base = old.detached(py)?;
    let applied = interrupt::run(py, effort, |cancel| {
        base.with(cancel, PatchFailure::Old, |base| {
            patches.with(cancel, |patches| {
                let chain = Chain::new(base, patches)?;
                let wanted = asked.or_else(|| patches.last().and_then(Patch::generation)).or(own);
                let generation = match wanted {
                    Some(Generation::V2) => Generation::V2,
                    _ => Generation::V1_2,
                };
                let limits = *opening.options.limit();
                let options = WriteOptions::default().generation(generation).limits(limits);
                let file = NewFile { path: &path, overwrite };
                file.write(cancel, |out| chain.write(format, out, &options))?;
                Ok(chain.result())
            })
        })
    })?;
    let blamed =
        Blamed { old: Some(&old), new: None, patches: Some(&patches), target: Some(&path) };
    let result = applied.map_err(|failure| blamed.raised(py, failure))?;
    Ok(result.map(|result| hex(&result)))
}

/// Checks that applying `patches` to `old` gives the result that the patches promise, without writing a file. Returns the
/// identities of the tensors of `old` and of the result in hexadecimal digits, and the number of tensors of the result.
#[pyfunction]
#[pyo3(signature = (old, patches, strictness))]
pub(crate) fn patch_verify<'py>(
    py: Python<'py>,
    old: GivenModel<'py>,
    patches: Vec<Bound<'py, PyAny>>,
    strictness: Strictness,
) -> PyResult<(String, String, usize)> {
    let opening = strictness.any_form()?;
    let old = Side::new(py, old, &opening)?;
    let patches = Patches::new(py, &patches, &opening)?;
    let effort = old.effort().saturating_add(patches.effort());
    let base = old.detached(py)?;
    let verified = interrupt::run(py, effort, |cancel| {
        base.with(cancel, PatchFailure::Old, |base| {
            patches.with(cancel, |patches| zten_patch::verify(base, patches))
        })
    })?;
    let blamed = Blamed { old: Some(&old), new: None, patches: Some(&patches), target: None };
    let verified = verified.map_err(|failure| blamed.raised(py, failure))?;
    Ok((hex(&verified.base), hex(&verified.result), verified.tensors))
}

/// The description of a patch, as Python gets it: the identity of the base, the identity of the result and the format; for each
/// changed component its tensor's name, its role, its type, its digests before and after the change, and the size of the change
/// in bytes; the name and the type of each tensor that the patch holds whole; the names of removed tensors; the old and the new
/// names of renamed tensors; the attributes of the result, or `None` if the patch leaves them as they are.
type Shown<'py> = (
    (String, String, String),
    Vec<(String, String, String, String, String, u64)>,
    Vec<(String, String)>,
    Vec<String>,
    Vec<(String, String)>,
    Option<Bound<'py, PyDict>>,
);

/// Opens the file `patch`, and returns its description. The changes of elements are not read.
#[pyfunction]
#[pyo3(signature = (patch, strictness))]
pub(crate) fn patch_show<'py>(
    py: Python<'py>,
    patch: Bound<'py, PyAny>,
    strictness: Strictness,
) -> PyResult<Shown<'py>> {
    let patches = Patches::new(py, &[patch], &strictness.any_form()?)?;
    let mut shown = Ok(None);
    let read = patches.with(&Cancel::default(), |patches| {
        shown = patches.first().map(|patch| described(py, patch)).transpose();
        Ok(())
    });
    let blamed = Blamed { old: None, new: None, patches: Some(&patches), target: None };
    read.map_err(|failure| blamed.raised(py, failure))?;
    shown?.ok_or_else(|| PyValueError::new_err("no patch"))
}

/// Converts the description of `patch` to the tuple that Python gets.
fn described<'py>(py: Python<'py>, patch: &Patch<'_>) -> PyResult<Shown<'py>> {
    let changed = patch.changed().iter().map(|own| {
        let [name, role, kind] = [own.name, own.role, own.kind].map(str::to_owned);
        (name, role, kind, hex(&own.base), hex(&own.result), own.bytes())
    });
    let whole = patch.whole().map(|(name, tensor)| {
        let first = tensor.components().next();
        (name.to_owned(), first.map(|own| kind(&tensor, &own)).unwrap_or_default())
    });
    let renamed = patch.renamed().iter().map(|names| {
        let [old, new] = names.map(str::to_owned);
        (old, new)
    });
    let attributes = patch.attributes().map(|own| value::attributes(py, own)).transpose()?;
    Ok((
        (hex(&patch.base()), hex(&patch.result()), patch.format().to_owned()),
        changed.collect(),
        whole.collect(),
        patch.removed().iter().map(|name| (*name).to_owned()).collect(),
        renamed.collect(),
        attributes,
    ))
}

/// An array that is changed in place: its name, dtype and shape, and the index of its memory in the list that Python passes. Arrays
/// that share their memory have the same index.
type TargetArgs = (String, String, Vec<u64>, usize);

/// The memory of Python arrays, which a patch changes in place.
struct Writable<'a> {
    /// For each array, the index in `memory` of the slice with its bytes. Arrays that share their memory have the same index.
    places: Vec<usize>,
    memory: Vec<Mutex<&'a mut [u8]>>,
}

impl<'a> Writable<'a> {
    /// Locks and returns the bytes of array `number`, counted in the order of the arrays.
    ///
    /// # Errors
    /// [`Misuse::NoTensor`] if `number` is not below the number of arrays.
    fn memory(&self, number: usize) -> Result<MutexGuard<'_, &'a mut [u8]>, Error> {
        let memory = self.places.get(number).and_then(|place| self.memory.get(*place));
        let memory = memory.ok_or(Misuse::NoTensor)?;
        Ok(memory.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Copies `bytes` over the bytes of array `number` from byte `offset` on.
    ///
    /// # Errors
    /// [`Misuse::NoTensor`] if there is no such array, [`Misuse::Size`] if `bytes` would go beyond its end.
    fn write(&self, number: usize, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let mut memory = self.memory(number)?;
        let room = usize::try_from(offset).ok().and_then(|at| memory.get_mut(at..));
        let room = room.and_then(|room| room.get_mut(..bytes.len())).ok_or(Misuse::Size)?;
        room.copy_from_slice(bytes);
        Ok(())
    }
}

impl ReadArray for Writable<'_> {
    fn read_array(&self, number: usize, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.memory(number)?.read_at(offset, buffer)
    }
}

/// Checks `patches`, and then applies them in place to the arrays that `places` describes and whose bytes are in `memory`.
/// Returns the identity of the result in hexadecimal digits (`None` if there are no patches), and the indices of the entries of
/// `memory` that were written, of which one may occur several times.
#[pyfunction]
#[pyo3(signature = (places, memory, patches, strictness))]
pub(crate) fn patch_update<'py>(
    py: Python<'py>,
    places: Vec<TargetArgs>,
    mut memory: Vec<PyReadwriteArray1<'py, u8>>,
    patches: Vec<Bound<'py, PyAny>>,
    strictness: Strictness,
) -> PyResult<(Option<String>, Vec<usize>)> {
    let opening = strictness.any_form()?;
    let patches = Patches::new(py, &patches, &opening)?;
    let mut list = DeclaredArrays { arrays: Vec::new(), attributes: None };
    let mut own = Vec::new();
    for (name, element, shape, place) in places {
        let described = Array::named(&element, shape).map_err(PyValueError::new_err)?;
        list.arrays.push((name, described));
        own.push(place);
    }
    let (mut owners, mut twins, mut numbers) = (HashMap::new(), Vec::new(), HashMap::new());
    for (number, ((name, _), place)) in list.arrays.iter().zip(&own).enumerate() {
        numbers.insert(name.as_str(), number);
        match owners.get(place) {
            Some(first) => twins.push((*first, name.as_str())),
            None => {
                owners.insert(*place, name.as_str());
            }
        }
    }
    let mut slices = Vec::new();
    for array in &mut memory {
        slices.push(Mutex::new(array.as_slice_mut()?));
    }
    let writable = Writable { places: own, memory: slices };
    let effort = effort(&list).saturating_add(patches.effort());
    let checked = interrupt::run(py, effort, |cancel| {
        let watched = WatchedArrays { arrays: &writable, cancel };
        let file = ArrayFile::open(&list, watched).map_err(PatchFailure::Old)?;
        let base = Model::of_arrays(&list, &file).map_err(PatchFailure::Old)?;
        patches.with(cancel, |patches| {
            let chain = Chain::new(&base, patches)?;
            ArrayUpdate::new(&chain, &twins)?.check()?;
            Ok(chain.result())
        })
    })?;
    let blamed = Blamed { old: None, new: None, patches: Some(&patches), target: None };
    let result = checked.map_err(|failure| blamed.raised(py, failure))?;
    // Writing is never cancelled: an interrupt halfway would leave arrays of the old model next to arrays of the new one.
    let never = Cancel::default();
    let mut changed = Vec::new();
    let written = interrupt::run(py, effort, |_| {
        let file = ArrayFile::open(&list, &writable).map_err(PatchFailure::Old)?;
        let base = Model::of_arrays(&list, &file).map_err(PatchFailure::Old)?;
        patches.with(&never, |patches| {
            let chain = Chain::new(&base, patches)?;
            ArrayUpdate::new(&chain, &twins)?.write(&mut |name, offset, bytes| {
                let number = numbers.get(name).copied().ok_or(io::ErrorKind::NotFound)?;
                let place = writable.places.get(number).copied();
                if changed.last() != place.as_ref() {
                    changed.extend(place);
                }
                Ok(writable.write(number, offset, bytes)?)
            })
        })
    })?;
    written.map_err(|failure| blamed.raised(py, failure))?;
    Ok((result.map(|result| hex(&result)), changed))
}
