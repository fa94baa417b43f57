//! The native class of an open file, which lists its objects and reads their content.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use numpy::PyReadwriteArray1;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyTuple};
use zten::conventions::QuantizedForm;
use zten::element::{ByteOrder, StorageType};
use zten::error::Misuse;
use zten::finding::{Finding, Verdict, format_name};
use zten::formats::Block;
use zten::json::{self, value as json_value};
use zten::manifest::ElementType;
use zten::shards::Shard;
use zten::verify::DigestAlgorithm;
use zten::{Component, DType, Encoding, Error, ErrorKind, Generation, Layout, Tensor};
use zten_report::blocks::{reason, state};
use zten_report::check::stored;
use zten_report::notation;

use crate::content::{self, Hashed};
use crate::digests::{Enforced, GivenList};
use crate::error::{CallFailure, exception};
use crate::interrupt;
use crate::options::Strictness;
use crate::part::{self, IndexedPart};
use crate::read;
use crate::select::select;
use crate::source::{Given, Open};
use crate::value;

/// The Python class of an open file. `_zten.pyi` has the signatures of its methods.
#[pyclass(frozen, module = "zten._zten")]
pub(crate) struct Reader {
    /// The open file; `None` after it was closed. A call that runs at that moment keeps its own reference.
    open: RwLock<Option<Arc<Open>>>,
    /// The path or URL of the file for messages; `None` for `bytes` and objects.
    path: Option<PathBuf>,
}

impl Reader {
    /// Returns the open file.
    ///
    /// # Errors
    /// A `ValueError` if the file is closed.
    pub(crate) fn open(&self) -> PyResult<Arc<Open>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or_else(|| PyValueError::new_err("the file is closed"))
    }

    /// Calls `work` with the open file, without the interpreter's lock, and returns its result. `bytes` is the number of bytes
    /// that `work` reads; if they are many, a signal such as Ctrl-C can cancel the call.
    ///
    /// # Errors
    /// A `ValueError` if the file is closed; the exception for the error of `work`; the exception of a signal handler.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        bytes: u64,
        work: impl FnOnce(&Open, &interrupt::Cancel) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let open = self.open()?;
        let bytes = open.effort(bytes);
        let outcome = interrupt::run(py, bytes, |cancel| work(&open, cancel))?;
        outcome.map_err(|error| self.failed(py, &open, error))
    }

    /// Converts `error`, which reading the file `open` returned, to a Python exception with the path of the file.
    pub(crate) fn failed(&self, py: Python<'_>, open: &Open, error: Error) -> PyErr {
        CallFailure::reading(open.manifest(), error).at(py, self.path.as_deref())
    }
}

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (file, strictness, digests=None, conventions=false))]
    fn new(
        py: Python<'_>,
        file: &Bound<'_, PyAny>,
        strictness: Strictness,
        digests: Option<GivenList>,
        conventions: bool,
    ) -> PyResult<Self> {
        let opening = strictness.opening()?;
        let given = Given::from_python(file)?;
        let path = given.path();
        let mut open = given.open(py, &opening)?;
        if let Some(digests) = digests {
            open.digests = Some(Enforced::new(py, digests, open.manifest())?);
        }
        if conventions {
            let grouped =
                interrupt::run(py, open.effort(0), |cancel| open.with_conventions(cancel))?;
            open = grouped.map_err(|error| CallFailure::from(error).at(py, path.as_deref()))?;
        }
        Ok(Self { open: RwLock::new(Some(Arc::new(open))), path })
    }

    fn close(&self) {
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    #[getter]
    fn closed(&self) -> bool {
        self.open.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    #[getter]
    fn generation(&self) -> PyResult<Option<&'static str>> {
        Ok(self.open()?.manifest().generation().map(Generation::as_str))
    }

    /// Returns the path or URL of the file for messages, as a `str`, because a URL is no `pathlib.Path`. `None` for bytes and
    /// objects.
    #[getter]
    fn path(&self) -> Option<&OsStr> {
        self.path.as_deref().map(Path::as_os_str)
    }

    /// Returns the name of the file's format that `zten check --json` also has, such as `ztensor` or `safetensors-index`.
    #[getter]
    fn format(&self) -> PyResult<&'static str> {
        Ok(format_name(self.open()?.manifest()))
    }

    #[getter]
    fn version(&self) -> PyResult<Option<String>> {
        Ok(notation::version(self.open()?.manifest()))
    }

    #[getter]
    fn is_data_shard(&self) -> PyResult<bool> {
        Ok(self.open()?.manifest().is_data_shard())
    }

    #[getter]
    fn length(&self) -> PyResult<u64> {
        Ok(self.open()?.length())
    }

    /// Returns two limits in bytes: the size to which one compressed component may decode, and the size to which all compressed
    /// components together may decode.
    #[getter]
    fn decoded_limits(&self) -> PyResult<(u64, u64)> {
        let open = self.open()?;
        let bytes = open.length().saturating_add(open.shard_bytes());
        let limits = open.manifest().limits();
        Ok((limits.decoded(), limits.decoded_total(bytes)))
    }

    #[getter]
    fn is_mappable(&self) -> PyResult<bool> {
        Ok(cfg!(unix) && self.open()?.is_file())
    }

    fn descriptor(&self) -> PyResult<Option<i32>> {
        Ok(self.open()?.descriptor()?)
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.open()?.manifest().len())
    }

    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.open()?.manifest().tensors().map(|tensor| tensor.name()))
    }

    /// Returns the ordinals of the objects that `texts`, names or patterns, select, in the order of the file.
    ///
    /// # Errors
    /// A `KeyError` if a text selects no object.
    fn select(&self, texts: Vec<String>) -> PyResult<Vec<u32>> {
        let [ordinals] = select([&*self.open()?], &texts)?;
        Ok(ordinals)
    }

    /// Returns the shards that the file lists: the name, the number of bytes, and the digest if there is one.
    fn shards(&self) -> PyResult<Vec<(String, u64, Option<String>)>> {
        let open = self.open()?;
        let shards = open.manifest().shards();
        let digest = |s: &Shard<'_>| s.digest().map(|digest| digest.to_string());
        Ok(shards.map(|s| (s.name().to_owned(), s.size(), digest(&s))).collect())
    }

    fn has(&self, name: &str) -> PyResult<bool> {
        Ok(self.open()?.manifest().get(name).is_some())
    }

    /// Returns the ordinal of the object called `name`: its position in the file.
    ///
    /// # Errors
    /// A `KeyError` if the file has no such object.
    fn require(&self, name: &str) -> PyResult<u32> {
        let open = self.open()?;
        let found = open.manifest().tensor(name).map(|tensor| tensor.ordinal());
        found.map_err(|missing| PyKeyError::new_err(missing.to_string()))
    }

    /// Returns a tuple about object `ordinal`: its name, layout, shape, components, and its state with the id of the rule that
    /// says why zten does not read it, or `None`.
    fn object<'py>(&self, py: Python<'py>, ordinal: u32) -> PyResult<Bound<'py, PyTuple>> {
        let open = self.open()?;
        let object = object(&open, ordinal)?;
        let components = PyList::empty(py);
        for component in object.components() {
            components.append(described(py, &open, &component)?)?;
        }
        let (layout, shape, state) = (object.layout_name(), shape(py, &object)?, state(&object));
        (object.name(), layout, shape, components, (state.name(), reason(state))).into_pyobject(py)
    }

    /// Returns a tuple about each object: its name, its shape and, if it is dense and zten or NumPy knows its dtype, another
    /// tuple: the dtype, the ordinal and the offset of the component, the number of its decoded bytes, whether it is compressed,
    /// whether a memory map can show its elements, whether it can be verified by a digest or checksum, and the size of an element
    /// that only NumPy interprets.
    fn listing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let open = self.open()?;
        let list = PyList::empty(py);
        for object in open.manifest().tensors() {
            let data = object.component("data").filter(|_| object.layout() == Layout::Dense);
            let readable = data.filter(|data| {
                data.dtype() != DType::Unknown || opaque_size(data.element_type()).is_some()
            });
            let dense = readable.map(|data| {
                let (offset, length) = (data.extent().offset(), data.decoded_length());
                (
                    data.type_name(),
                    data.location().component(),
                    offset,
                    length,
                    data.encoding() != Encoding::Raw,
                    is_direct(&data),
                    is_verifiable(&open, &data),
                    opaque_size(data.element_type()),
                )
            });
            list.append((object.name(), shape(py, &object)?, dense))?;
        }
        Ok(list)
    }

    /// Returns the attributes of object `ordinal`, or those of the file if `ordinal` is `None`.
    #[pyo3(signature = (ordinal=None))]
    fn attributes<'py>(
        &self,
        py: Python<'py>,
        ordinal: Option<u32>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let open = self.open()?;
        let attributes = match ordinal {
            Some(ordinal) => object(&open, ordinal)?.attributes(),
            None => open.manifest().attributes(),
        };
        value::attributes(py, attributes)
    }

    /// Returns the attributes of the file as text. Values that are not text are converted to JSON. Returns `None` if the file
    /// has no map of attributes.
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let open = self.open()?;
        let Some(attributes) = open.manifest().own_attributes() else { return Ok(None) };
        let dictionary = PyDict::new(py);
        for (key, item) in attributes {
            let text = match item.value() {
                zten::attributes::Value::Text(chunks) if chunks.as_str().is_some() => {
                    chunks.as_str().unwrap_or_default().to_owned()
                }
                _ => {
                    let mut out = Vec::new();
                    json::to_writer(&mut out, &json_value::Json(item))?;
                    String::from_utf8_lossy(&out).into_owned()
                }
            };
            dictionary.set_item(key, text)?;
        }
        Ok(Some(dictionary))
    }

    /// Reads and validates all components of object `ordinal`.
    fn verify_object(&self, py: Python<'_>, ordinal: u32) -> PyResult<()> {
        let bytes = stored_of(&object(&*self.open()?, ordinal)?);
        self.work(py, bytes, |open, cancel| read::verify_object(open, ordinal, cancel))
    }

    /// Reads and validates the whole file. Returns the number of its components, and the number of components with a digest.
    fn verify(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let bytes = stored(self.open()?.manifest());
        let summary = self.work(py, bytes, read::verify)?;
        Ok((summary.components(), summary.digests()))
    }

    /// Reads and verifies the objects `ordinals`, and returns the JSON document of `zten stat --json` about them.
    fn statistics(&self, py: Python<'_>, ordinals: Vec<u32>) -> PyResult<String> {
        let bytes = stored(self.open()?.manifest());
        self.work(py, bytes, |open, cancel| content::statistics(open, &ordinals, cancel))
    }

    /// Reads and verifies the whole file, and returns its list of digests: the text of the list, the identity of the tensors, and
    /// the digests of the components of each object.
    fn hashed(&self, py: Python<'_>) -> PyResult<Hashed> {
        let bytes = stored(self.open()?.manifest());
        self.work(py, bytes, |open, cancel| {
            let ordinals: Vec<_> = open.manifest().tensors().map(|one| one.ordinal()).collect();
            content::hashed(open, &ordinals, cancel)
        })
    }

    /// Returns the content digest, in hexadecimal digits, of a file of generation 2 whose content has been verified before.
    ///
    /// # Errors
    /// A `ValueError` for an unknown algorithm; `zten.Unsupported` if the file is not of generation 2, is a data shard, or has a
    /// component without a digest or with one that is too weak for `algorithm`.
    fn content_digest(&self, py: Python<'_>, algorithm: &str) -> PyResult<String> {
        let algorithm = match algorithm {
            "sha256" => DigestAlgorithm::Sha256,
            "xxh3" => DigestAlgorithm::Xxh3,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "content is {algorithm:?}, expected \"sha256\" or \"xxh3\""
                )));
            }
        };
        let open = self.open()?;
        let digest = open.manifest().content_digest(algorithm);
        let digest = digest.map_err(|error| {
            let finding = Finding::new(Verdict::Unsupported, error.to_string());
            exception(py, &finding, self.path.as_deref())
        })?;
        Ok(digest.to_string())
    }

    /// Returns the totals of the file, such as the numbers of tensors and bytes, in two forms: the JSON document that `zten ls
    /// --json` has for them, and phrases to show to a user.
    fn totals(&self) -> PyResult<(String, Vec<String>)> {
        let open = self.open()?;
        content::totals(&open).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Reads, decodes and verifies several components into `arrays`, each of the decoded length of its component. `places` has,
    /// for each component, the ordinal of its object and its own ordinal in the object.
    fn read(
        &self,
        py: Python<'_>,
        places: Vec<(u32, u32)>,
        mut arrays: Vec<PyReadwriteArray1<'_, u8>>,
    ) -> PyResult<()> {
        let buffers: Vec<&mut [u8]> =
            arrays.iter_mut().map(|array| array.as_slice_mut()).collect::<Result<_, _>>()?;
        let bytes = buffers.iter().fold(0_u64, |sum, buffer| {
            sum.saturating_add(u64::try_from(buffer.len()).unwrap_or(u64::MAX))
        });
        self.work(py, bytes, |open, cancel| read::components(open, &places, buffers, cancel))
    }

    /// Reads and validates all components of object `ordinal` into `arrays`, which has an array of the decoded length or `None`
    /// for each component. Returns `bytes` for each component whose array is `None`, and `None` for the others.
    fn read_object<'py>(
        &self,
        py: Python<'py>,
        ordinal: u32,
        mut arrays: Vec<Option<PyReadwriteArray1<'py, u8>>>,
    ) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
        let mut buffers = Vec::new();
        for array in &mut arrays {
            buffers.push(array.as_mut().map(PyReadwriteArray1::as_slice_mut).transpose()?);
        }
        let bytes = stored_of(&object(&*self.open()?, ordinal)?);
        let grown =
            self.work(py, bytes, |open, cancel| read::object(open, ordinal, buffers, cancel))?;
        Ok(grown.into_iter().map(|bytes| bytes.map(|bytes| PyBytes::new(py, &bytes))).collect())
    }

    /// Reads a part of the dense object `ordinal` into `array`, the bytes of its elements. `ranges` has the start and end of the
    /// indices in each of the first dimensions; the last dimensions, for which it has none, are read as a whole.
    fn read_slice(
        &self,
        py: Python<'_>,
        ordinal: u32,
        ranges: Vec<(u64, u64)>,
        mut array: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<()> {
        let buffer = array.as_slice_mut()?;
        let ranges: Vec<_> = ranges.into_iter().map(|(start, end)| start..end).collect();
        let open = self.open()?;
        let own = object(&open, ordinal)?;
        // The number of bytes to read: those of the part if the file stores the elements as they are read, otherwise all of the
        // component.
        let bytes = match own.components().next() {
            Some(data) if is_direct(&data) => u64::try_from(buffer.len())?,
            _ => stored_of(&own),
        };
        self.work(py, bytes, |open, cancel| read::slice(open, ordinal, &ranges, buffer, cancel))
    }

    /// Returns the shape of the part of object `ordinal` that `index` selects. Returns `None` if [`part`](Self::part) does not
    /// support this kind of index.
    fn part_shape<'py>(
        &self,
        py: Python<'py>,
        ordinal: u32,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let open = self.open()?;
        let part = part::of_index(object(&open, ordinal)?.shape().to_vec(), Some(index));
        part.map(|part| PyTuple::new(py, part.shape)).transpose()
    }

    /// Reads the dense object `ordinal`, or the part of it that `index` selects, into new memory, and returns the bytes, the
    /// shape and the dtype of the part. If `verify` is true, the digest of a whole object is compared; a part has no digest.
    ///
    /// Returns `None` if the part is empty or larger than 1 MiB, the index is out of range or not supported, or the file does not
    /// store the elements as they are read. Python then uses [`read`](Self::read) or [`read_slice`](Self::read_slice).
    ///
    /// All of this is one call because, for a small tensor, each call from Python takes longer than the read.
    #[pyo3(signature = (ordinal, index, verify))]
    fn part<'py>(
        &self,
        py: Python<'py>,
        ordinal: u32,
        index: Option<&Bound<'py, PyAny>>,
        verify: bool,
    ) -> PyResult<Option<PartBytes<'py>>> {
        let open = self.open()?;
        let object = object(&open, ordinal)?;
        let Some((place, element, size)) = plain_element(&object) else { return Ok(None) };
        let Some(IndexedPart { ranges, shape }) = part::of_index(object.shape().to_vec(), index)
        else {
            return Ok(None);
        };
        let Some(length) = part::length(&ranges, size) else { return Ok(None) };
        let ranges = if index.is_some() { ranges } else { Vec::new() };
        let bytes = PyByteArray::new_with(py, length, |buffer| {
            let bytes = u64::try_from(buffer.len())?;
            self.work(py, bytes, |open, cancel| {
                if verify && ranges.is_empty() {
                    read::components(open, &[place], vec![buffer], cancel)
                } else {
                    read::slice(open, ordinal, &ranges, buffer, cancel)
                }
            })
        })?;
        Ok(Some((bytes, PyTuple::new(py, shape)?, element)))
    }

    /// Reads, decodes and verifies component `component` of object `ordinal`, and returns its decoded bytes.
    fn read_bytes<'py>(
        &self,
        py: Python<'py>,
        ordinal: u32,
        component: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let open = self.open()?;
        let own = object(&open, ordinal)?.component_at(component);
        let bytes = own.map_or(0, |own| own.extent().length());
        let decoded =
            self.work(py, bytes, |open, cancel| read::bytes(open, (ordinal, component), cancel))?;
        Ok(PyBytes::new(py, &decoded))
    }

    /// Fills `array` with the dequantized elements of the quantized object `ordinal`, in row-major order. Its digests are compared.
    fn dequantize(
        &self,
        py: Python<'_>,
        ordinal: u32,
        mut array: PyReadwriteArray1<'_, f32>,
    ) -> PyResult<()> {
        let values = array.as_slice_mut()?;
        let bytes = u64::try_from(values.len())?.saturating_mul(4);
        self.work(py, bytes, |open, cancel| {
            read::dequantize(open, ordinal, values, cancel).map_err(unfit)
        })
    }

    /// Fills `array` with the dequantized elements of object `ordinal` from `start` on, counted in row-major order. Only the blocks
    /// of these elements are read, and no digest is compared, unless there is a list of digests.
    fn dequantize_range(
        &self,
        py: Python<'_>,
        ordinal: u32,
        start: u64,
        mut array: PyReadwriteArray1<'_, f32>,
    ) -> PyResult<()> {
        let values = array.as_slice_mut()?;
        let bytes = u64::try_from(values.len())?.saturating_mul(4);
        self.work(py, bytes, |open, cancel| {
            read::dequantize_range(open, ordinal, start, values, cancel).map_err(unfit)
        })
    }

    /// Returns the name that listings show for object `ordinal` if it is a quantized tensor that the file stores as several
    /// tensors: `MXFP4 [32]`. Returns `None` for any other object.
    fn form(&self, ordinal: u32) -> PyResult<Option<String>> {
        let open = self.open()?;
        Ok(QuantizedForm::of(&object(&open, ordinal)?).map(|form| form.to_string()))
    }

    /// Returns whether this reader shows any group of tensors, such as codes and scales, as one quantized tensor.
    #[getter]
    fn is_grouped(&self) -> PyResult<bool> {
        let open = self.open()?;
        Ok(open.manifest().tensors().any(|tensor| QuantizedForm::of(&tensor).is_some()))
    }

    /// Returns whether the file stores any quantized tensor as several tensors, whether or not this reader shows them as one.
    fn has_groups(&self, py: Python<'_>) -> PyResult<bool> {
        let groups = self.work(py, 0, Open::groups)?;
        Ok(!groups.is_empty())
    }

    /// Returns the parameters of the quantized object `ordinal` by their names: `convention`, `bits` and `group_size` of a tensor
    /// that is stored as several tensors; `bits`, `group_size` and `packing` of a `quantized_group`; `bits`, `group_size` and
    /// `axis` of a `zt.quant_group/1`; `axis` and `block_size` of a `zt.mx/1`; the ggml type, and the elements and bytes of a
    /// block, of a tensor of GGUF. Returns `None` for any other object.
    fn quantization<'py>(
        &self,
        py: Python<'py>,
        ordinal: u32,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let open = self.open()?;
        let object = object(&open, ordinal)?;
        let facts = PyDict::new(py);
        match object.layout() {
            Layout::QuantizedGroup => {
                let quantization = object.quantization();
                let quantization = quantization.map_err(|error| self.failed(py, &open, error))?;
                facts.set_item("bits", quantization.bits())?;
                facts.set_item("group_size", quantization.group_size())?;
                facts.set_item("packing", quantization.packing().name())?;
            }
            Layout::Mx => {
                let mx = object.mx_blocks().map_err(|error| self.failed(py, &open, error))?;
                facts.set_item("axis", mx.axis())?;
                facts.set_item("block_size", mx.block_size())?;
            }
            Layout::QuantGroup => {
                let group = object.quant_group().map_err(|error| self.failed(py, &open, error))?;
                facts.set_item("bits", group.bits)?;
                facts.set_item("group_size", group.group_size)?;
                facts.set_item("axis", group.axis)?;
            }
            _ => {
                if let Some(form) = QuantizedForm::of(&object) {
                    facts.set_item("convention", form.convention.title())?;
                    facts.set_item("bits", form.bits)?;
                    facts.set_item("group_size", form.group_size)?;
                    return Ok(Some(facts));
                }
                let Some(block) = Block::of_layout(&object) else { return Ok(None) };
                facts.set_item("ggml_type", block.name)?;
                facts.set_item("block_elements", block.elements)?;
                facts.set_item("block_bytes", block.bytes)?;
            }
        }
        Ok(Some(facts))
    }
}

/// Returns object `ordinal` of the file `open`, without a source of its bytes.
///
/// # Errors
/// An `IndexError` if the file has no such object.
fn object(open: &Open, ordinal: u32) -> PyResult<Tensor<'_>> {
    let object = open.manifest().tensor_at(ordinal);
    object.ok_or_else(|| PyIndexError::new_err(format!("the file has no tensor {ordinal}")))
}

/// Corrects `error`, which dequantizing returned: [`Misuse::Buffer`] and [`Misuse::Slice`] become [`Misuse::Quantization`].
/// Python makes the array from the shape of the object, so if the array does not fit, the components of the object do not fit its
/// shape.
fn unfit(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Misuse(Misuse::Buffer | Misuse::Slice) => Misuse::Quantization.into(),
        _ => error,
    }
}

/// Returns the number of stored bytes of all components of `object`.
fn stored_of(object: &Tensor<'_>) -> u64 {
    let lengths = object.components().map(|component| component.extent().length());
    lengths.fold(0, u64::saturating_add)
}

fn shape<'py>(py: Python<'py>, object: &Tensor<'_>) -> PyResult<Bound<'py, PyTuple>> {
    let shape: Vec<u64> = object.shape().to_vec();
    PyTuple::new(py, shape)
}

/// Returns the size in bytes of an element if only NumPy interprets its type, such as text or dates; `None` for any other type.
fn opaque_size(element: ElementType<'_>) -> Option<u64> {
    match element {
        ElementType::Opaque(_, size) => Some(size),
        _ => None,
    }
}

/// What [`Reader::part`] returns about the part of an array: its bytes, its shape and the name of its dtype.
type PartBytes<'py> = (Bound<'py, PyByteArray>, Bound<'py, PyTuple>, &'static str);

/// Returns whether a memory map of the file can show the elements of `component`: they are stored as they are read, aligned, and
/// in the file itself and not in a shard.
fn is_direct(component: &Component<'_>) -> bool {
    let size = component.element_size().unwrap_or(1);
    is_plain(component)
        && component.extent().offset().is_multiple_of(size)
        && component.shard().is_none()
}

/// Returns whether the stored bytes of `component` are its elements as they are read: uncompressed, in row-major order and
/// little-endian. Bools do not count, because each byte has to be checked for 0 or 1.
fn is_plain(component: &Component<'_>) -> bool {
    component.encoding() == Encoding::Raw
        && !component.is_strided()
        && component.byte_order() == ByteOrder::Little
        && component.storage_type() != Some(StorageType::Bool)
}

/// Returns the ordinal of the dense `object` with the ordinal of its component, the name of its dtype, and the size of an element
/// in bytes. Returns `None` if the object is not dense, has an unknown dtype, or its elements are not stored as they are read.
fn plain_element(object: &Tensor<'_>) -> Option<((u32, u32), &'static str, u64)> {
    let data = object.component("data").filter(|_| object.layout() == Layout::Dense)?;
    let element = data.dtype();
    let is_known = !matches!(element, DType::Unknown | DType::F4E2M1) && is_plain(&data);
    let place = (object.ordinal(), data.location().component()?);
    is_known.then(|| Some((place, element.name(), data.element_size()?)))?
}

/// Returns whether the bytes of `component` can be compared with a digest: in the caller's list of digests, or with a digest or
/// checksum in the file.
fn is_verifiable(open: &Open, component: &Component<'_>) -> bool {
    open.digests.is_some() || component.digest().is_some() || component.has_checksum()
}

/// Describes `component` of the file `open` as the tuple that `_zten.pyi` calls `_Component`.
fn described<'py>(
    py: Python<'py>,
    open: &Open,
    component: &Component<'_>,
) -> PyResult<Bound<'py, PyTuple>> {
    let element = component.element_type();
    // Elements of a logical type that zten does not know can still be read as elements of their storage type.
    let read_as = match element {
        ElementType::UnknownLogical(_, storage) => Some(storage.name()),
        ElementType::UnknownOnLogical(_, logical) => Some(logical.name()),
        ElementType::Opaque(..) | ElementType::Unknown(_) => None,
        known => Some(known.name()),
    };
    let (extent, digest) = (component.extent(), notation::digest(component));
    let kind = (component.role(), component.type_name(), read_as, opaque_size(element));
    let place = (extent.offset(), extent.length(), component.decoded_length());
    let verifiable = is_verifiable(open, component);
    let stored =
        (component.encoding_name(), digest, component.shard(), is_direct(component), verifiable);
    (kind, place, stored).into_pyobject(py)
}
