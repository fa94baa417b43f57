//! The globals that a checkpoint may import, and the dtypes of elements. No global is ever called: the machine implements
//! the effect of each allowed function.

#[cfg(feature = "std")]
use alloc::format;
#[cfg(feature = "std")]
use alloc::string::String;

use crate::element::{LogicalType, StorageType};
use crate::formats::kind::FormatDType::{self, Logical, Plain};

use super::pickle::TensorLayout;

/// A global (a class, function or constant of a Python module) that a pickle may import, and what calling it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Global {
    /// Makes an ordered dictionary, the type of a module's `state_dict`.
    OrderedDict,
    /// `torch.Size`, which makes a shape from a tuple.
    Size,
    /// Makes a device from its name, or from its kind and a number.
    Device,
    /// A function that makes a tensor from a storage. The fields are the smallest and the largest number of arguments, and the
    /// position of the dtype among them, if there is one.
    Tensor(u8, u8, Option<u8>),
    /// A function that makes a parameter from a tensor. The field is the number of arguments.
    Parameter(u8),
    /// A class of storages with elements of this dtype.
    Storage(Dtype),
    /// The class of storages of bytes without a dtype.
    Untyped,
    /// A dtype of PyTorch, such as `torch.float32`.
    Dtype(Dtype),
    /// Another class or function of the tables [`OF_TORCH`] and [`OF_OTHERS`].
    Known(Known),
}

/// A class or function that the machine knows. A call must have exactly the arguments that the program which defines the class
/// or function writes into pickles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    // Classes and functions of PyTorch.
    /// Makes a sparse tensor from tensors of indices and values.
    Sparse,
    /// Makes a layout from its name, such as `torch.sparse_coo`.
    Layout,
    /// Makes a quantized tensor.
    Quantized,
    /// A scheme of quantization.
    QuantizationScheme,
    /// Makes a tensor on the device `meta`, which has a shape and no elements.
    Meta,
    /// Makes a nested tensor: a list of tensors of different shapes.
    Nested,
    /// Makes a tensor of a subclass that holds other tensors.
    Wrapper,
    /// Makes a tensor on a device without storages, from an array or from a tensor.
    DeviceTensor,
    /// Makes a tensor of a given class: a plain tensor or a parameter with attributes, or a tensor of a subclass.
    OfType,
    /// `torch.Tensor`, which is also the class of tensors that [`OfType`](Self::OfType) makes.
    TensorClass,
    /// A class of tensors with a dtype, which old programs used in place of the dtype.
    TypedTensor,
    /// The class of parameters, which old programs called to make a parameter.
    ParameterClass,
    /// The class of storages with a dtype.
    TypedStorage,
    /// A list of numbers or tensors in the data of a TorchScript program.
    ScriptList,
    /// Gives a value of a TorchScript program its type, which zten drops.
    ScriptType,

    // Classes and functions of the standard library of Python.
    Set,
    FrozenSet,
    /// Makes empty bytes, as pickles of protocol 2 spell them.
    Bytes,
    Counter,
    DefaultDict,
    Deque,
    ByteArray,
    Complex,
    Slice,
    Range,
    /// Encodes a text. Pickles of protocol 2 spell bytes as texts that this function encodes in Latin-1.
    Encode,
    /// `argparse.Namespace` or `types.SimpleNamespace`: a class whose instances have attributes and nothing else.
    Namespace,
    Path,
    Date,
    Time,
    DateTime,
    TimeDelta,
    TimeZone,
    Uuid,
    Decimal,
    Fraction,
    /// A built-in class, such as `list`, that may occur only as the factory of a `defaultdict`.
    Factory,

    // Classes and functions of NumPy.
    /// Makes an empty NumPy array. A later BUILD instruction sets the shape, dtype and bytes of the array.
    Reconstruct,
    /// Makes a NumPy array from bytes, as pickles of protocol 5 do.
    FromBuffer,
    /// Makes a NumPy scalar from a NumPy dtype and bytes.
    Scalar,
    /// A class of arrays. Calling it with a buffer would make an array of any bytes, even of pointers, so only
    /// [`Reconstruct`](Self::Reconstruct) may have it as an argument.
    Array,
    /// Makes a NumPy dtype from its name.
    NumpyDtype,
    /// A class in `numpy.dtypes`, such as `Float32DType`: the class of a single dtype.
    DtypeClass,
    /// The NumPy class of records (elements with named fields), which occurs in the dtype of an array of records.
    Record,
}

/// A row of [`OF_TORCH`] or [`OF_OTHERS`]: modules separated by spaces, names separated by spaces, and the class or function
/// that each name means in each of these modules. Messages use the first module and the first name.
type Row = (&'static str, &'static str, Known);

/// A dtype of elements: the row number in [`DTYPES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dtype(u8);

impl Dtype {
    fn row(self) -> Option<&'static (&'static str, &'static str, u8, Option<FormatDType>)> {
        DTYPES.get(usize::from(self.0))
    }

    /// Returns the name of the dtype in PyTorch, such as `float32`.
    pub(super) fn name(self) -> &'static str {
        self.row().map_or("", |row| row.0)
    }

    /// Returns whether tensors of this dtype may require gradients: floats and complex numbers may.
    pub(super) fn has_gradients(self) -> bool {
        ["float", "bfloat", "complex"].iter().any(|prefix| self.name().starts_with(prefix))
    }

    /// Returns the width of an element in bytes.
    pub(super) fn width(self) -> u64 {
        self.row().map_or(1, |row| row.2.into())
    }

    /// Returns the type that elements of this dtype have in an archive, or `None` if zTensor has no type for them.
    pub(super) fn kind(self) -> Option<FormatDType> {
        self.row().and_then(|row| row.3)
    }
}

/// The dtypes of PyTorch: the name, the class of storages (empty if the dtype has no class of its own), the width of an
/// element in bytes, and the type of elements in an archive (`None` if zTensor has no type for them).
const DTYPES: [(&str, &str, u8, Option<FormatDType>); 47] = [
    ("float32", "FloatStorage", 4, Some(Plain(StorageType::F32))),
    ("float64", "DoubleStorage", 8, Some(Plain(StorageType::F64))),
    ("float16", "HalfStorage", 2, Some(Plain(StorageType::F16))),
    ("bfloat16", "BFloat16Storage", 2, Some(Plain(StorageType::Bf16))),
    ("int64", "LongStorage", 8, Some(Plain(StorageType::I64))),
    ("int32", "IntStorage", 4, Some(Plain(StorageType::I32))),
    ("int16", "ShortStorage", 2, Some(Plain(StorageType::I16))),
    ("int8", "CharStorage", 1, Some(Plain(StorageType::I8))),
    ("uint8", "ByteStorage", 1, Some(Plain(StorageType::U8))),
    ("bool", "BoolStorage", 1, Some(Plain(StorageType::Bool))),
    ("complex64", "ComplexFloatStorage", 8, Some(Logical(LogicalType::Complex64))),
    ("complex128", "ComplexDoubleStorage", 16, Some(Logical(LogicalType::Complex128))),
    ("uint16", "", 2, Some(Plain(StorageType::U16))),
    ("uint32", "", 4, Some(Plain(StorageType::U32))),
    ("uint64", "", 8, Some(Plain(StorageType::U64))),
    ("float8_e4m3fn", "", 1, Some(Logical(LogicalType::F8E4M3Fn))),
    ("float8_e5m2", "", 1, Some(Logical(LogicalType::F8E5M2))),
    ("float8_e4m3fnuz", "", 1, Some(Logical(LogicalType::F8E4M3Fnuz))),
    ("float8_e5m2fnuz", "", 1, Some(Logical(LogicalType::F8E5M2Fnuz))),
    ("float8_e8m0fnu", "", 1, Some(Logical(LogicalType::F8E8M0))),
    ("float4_e2m1fn_x2", "", 1, None),
    ("complex32", "", 4, None),
    ("quint8", "QUInt8Storage", 1, None),
    ("qint8", "QInt8Storage", 1, None),
    ("qint32", "QInt32Storage", 4, None),
    ("quint4x2", "QUInt4x2Storage", 1, None),
    ("quint2x4", "QUInt2x4Storage", 1, None),
    ("bits8", "", 1, None),
    ("int1", "", 1, None),
    ("int2", "", 1, None),
    ("int3", "", 1, None),
    ("int4", "", 1, None),
    ("int5", "", 1, None),
    ("int6", "", 1, None),
    ("int7", "", 1, None),
    ("uint1", "", 1, None),
    ("uint2", "", 1, None),
    ("uint3", "", 1, None),
    ("uint4", "", 1, None),
    ("uint5", "", 1, None),
    ("uint6", "", 1, None),
    ("uint7", "", 1, None),
    ("bits1x8", "", 1, None),
    ("bits2x4", "", 1, None),
    ("bits4x2", "", 1, None),
    ("bits16", "", 2, None),
    ("bcomplex32", "", 4, None),
];

/// Globals that are not in the tables [`OF_TORCH`] and [`OF_OTHERS`]: the module, the name, and what the machine does. PyTorch
/// also imports these globals when it loads with `weights_only=True`.
const GLOBALS: [(&str, &str, Global); 9] = [
    ("collections", "OrderedDict", Global::OrderedDict),
    ("torch._utils", "_rebuild_tensor_v2", Global::Tensor(6, 7, None)),
    ("torch._utils", "_rebuild_tensor_v3", Global::Tensor(7, 8, Some(6))),
    ("torch._utils", "_rebuild_tensor", Global::Tensor(4, 4, None)),
    ("torch._utils", "_rebuild_parameter", Global::Parameter(3)),
    ("torch._utils", "_rebuild_parameter_with_state", Global::Parameter(4)),
    ("torch.storage", "UntypedStorage", Global::Untyped),
    ("torch", "Size", Global::Size),
    ("torch", "device", Global::Device),
];

impl Global {
    /// Returns the module and the name of a global that has a row of its own in [`GLOBALS`]; `None` for any other global.
    pub(super) fn name(self) -> Option<(&'static str, &'static str)> {
        GLOBALS.iter().find(|row| row.2 == self).map(|row| (row.0, row.1))
    }

    /// Returns the smallest and the largest number of arguments of a function that makes a tensor or a parameter; `None` for
    /// any other global.
    pub(super) fn arguments(self) -> Option<(u8, u8)> {
        match self {
            Self::Tensor(least, most, _) => Some((least, most)),
            Self::Parameter(count) => Some((count, count)),
            _ => None,
        }
    }
}

/// The classes and functions that PyTorch, too, imports when it loads with `weights_only=True`.
const OF_TORCH: [Row; 18] = [
    ("torch._utils", "_rebuild_sparse_tensor", Known::Sparse),
    ("torch.serialization", "_get_layout", Known::Layout),
    ("torch._utils", "_rebuild_qtensor", Known::Quantized),
    (
        "torch",
        "per_tensor_affine per_tensor_symmetric per_channel_affine per_channel_symmetric per_channel_affine_float_qparams",
        Known::QuantizationScheme,
    ),
    ("torch._utils", "_rebuild_meta_tensor_no_storage", Known::Meta),
    ("torch._utils", "_rebuild_wrapper_subclass", Known::Wrapper),
    (
        "torch._utils",
        "_rebuild_device_tensor_from_numpy _rebuild_device_tensor_from_cpu_tensor",
        Known::DeviceTensor,
    ),
    ("torch._tensor", "_rebuild_from_type_v2", Known::OfType),
    ("torch", "Tensor", Known::TensorClass),
    ("torch.nn.parameter", "Parameter", Known::ParameterClass),
    ("torch.storage", "TypedStorage", Known::TypedStorage),
    ("builtins __builtin__", "set", Known::Set),
    ("collections", "Counter", Known::Counter),
    ("builtins __builtin__", "bytearray", Known::ByteArray),
    ("builtins __builtin__", "complex", Known::Complex),
    ("_codecs", "encode", Known::Encode),
    // Only the data of a TorchScript program may import the next two rows. PyTorch reads such a program with `torch.jit.load`,
    // so the rows are no reason to note that PyTorch does not read the file.
    (
        "torch.jit._pickle",
        "build_intlist build_tensorlist build_doublelist build_boollist",
        Known::ScriptList,
    ),
    ("torch.jit._pickle", "restore_type_tag", Known::ScriptType),
];

/// The classes and functions of the standard library, of NumPy and of PyTorch itself that PyTorch does not import when it
/// loads with `weights_only=True`. Building their values runs no code that the author of a file has chosen, and costs no
/// more than the bytes that describe the values.
const OF_OTHERS: [Row; 30] = [
    (
        "numpy._core.multiarray numpy.core.multiarray numpy.core._internal",
        "_reconstruct",
        Known::Reconstruct,
    ),
    ("numpy._core.numeric numpy.core.numeric", "_frombuffer", Known::FromBuffer),
    ("numpy._core.multiarray numpy.core.multiarray", "scalar", Known::Scalar),
    ("numpy", "ndarray recarray matrix", Known::Array),
    ("numpy.rec numpy._core.records numpy.core.records", "recarray", Known::Array),
    ("numpy.matrixlib.defmatrix", "matrix", Known::Array),
    ("numpy", "dtype", Known::NumpyDtype),
    ("numpy.rec numpy._core.records numpy.core.records numpy", "record", Known::Record),
    ("builtins __builtin__", "frozenset", Known::FrozenSet),
    ("builtins __builtin__", "bytes", Known::Bytes),
    ("collections", "defaultdict", Known::DefaultDict),
    ("collections", "deque", Known::Deque),
    ("builtins __builtin__", "slice", Known::Slice),
    ("builtins __builtin__", "range xrange", Known::Range),
    ("argparse", "Namespace", Known::Namespace),
    ("types", "SimpleNamespace", Known::Namespace),
    (
        "pathlib pathlib._local",
        "Path PurePath PosixPath PurePosixPath WindowsPath PureWindowsPath",
        Known::Path,
    ),
    ("datetime", "date", Known::Date),
    ("datetime", "time", Known::Time),
    ("datetime", "datetime", Known::DateTime),
    ("datetime", "timedelta", Known::TimeDelta),
    ("datetime", "timezone", Known::TimeZone),
    ("uuid", "UUID", Known::Uuid),
    ("decimal", "Decimal", Known::Decimal),
    ("fractions", "Fraction", Known::Fraction),
    ("builtins __builtin__", "list dict int float str tuple bool", Known::Factory),
    ("__builtin__", "unicode long", Known::Factory),
    ("numpy.dtypes", "", Known::DtypeClass),
    ("torch._utils", "_rebuild_nested_tensor", Known::Nested),
    ("torch.nn", "Parameter", Known::ParameterClass),
];

impl Known {
    /// Returns the module and the name of the class or function, for messages.
    pub(super) fn name(self) -> (&'static str, &'static str) {
        let mut rows = OF_TORCH.iter().chain(&OF_OTHERS);
        let first = |words: &'static str| words.split(' ').next().unwrap_or_default();
        rows.find(|row| row.2 == self).map_or(("", ""), |row| (first(row.0), first(row.1)))
    }
}

/// Returns the names of the classes and functions that zten knows and that PyTorch does not import when it loads with
/// `weights_only=True`, each with the first of its modules.
#[cfg(feature = "std")]
pub(in crate::formats) fn known_by_zten_alone() -> impl Iterator<Item = String> {
    OF_OTHERS.iter().flat_map(|(modules, names, _)| {
        let module = modules.split(' ').next().unwrap_or_default();
        names.split(' ').map(move |name| match name {
            "" => format!("{module}.*"),
            name => format!("{module}.{name}"),
        })
    })
}

/// Returns whether `word` is one of the words of `list`, which are separated by spaces.
fn has(list: &str, word: &[u8]) -> bool {
    !word.is_empty() && list.split(' ').any(|other| other.as_bytes() == word)
}

/// Returns whether `word` is a Python identifier of ASCII characters.
pub(super) fn is_word(word: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    word.iter().all(is_letter) && word.first().is_some_and(|first| !first.is_ascii_digit())
}

/// Returns whether `module` is the path of a module: identifiers with dots between them.
pub(super) fn is_path(module: &[u8]) -> bool {
    module.split(|byte| *byte == b'.').all(is_word)
}

/// Returns whether `module` is a module that a TorchScript program defines.
pub(super) fn is_of_script(module: &[u8]) -> bool {
    module == b"__torch__" || module.starts_with(b"__torch__.")
}

/// Returns whether `name` is a class of a single dtype in the module `numpy.dtypes`, such as `Float32DType`.
fn is_class_of_dtype(name: &[u8]) -> bool {
    name.len() > 5 && name.ends_with(b"DType") && name.iter().all(u8::is_ascii_alphanumeric)
}

/// Returns the layout that PyTorch calls `name`, such as `torch.sparse_coo`: `Other` if it is neither COO nor CSR. Returns `None`
/// if PyTorch has no such layout.
pub(super) fn layout(name: &[u8]) -> Option<TensorLayout> {
    match name {
        b"torch.sparse_coo" => Some(TensorLayout::Coo),
        b"torch.sparse_csr" => Some(TensorLayout::Csr),
        b"torch.sparse_csc" | b"torch.sparse_bsr" | b"torch.sparse_bsc" | b"torch.strided"
        | b"torch._mkldnn" | b"torch.jagged" => Some(TensorLayout::Other),
        _ => None,
    }
}

/// The highest number of a device: PyTorch stores the number in a signed byte.
pub(super) const LAST_DEVICE: u16 = 127;

/// Returns whether `name` is a kind of device that PyTorch knows without an extension package.
pub(super) fn is_kind(name: &[u8]) -> bool {
    const KINDS: [&str; 20] = [
        "cpu",
        "cuda",
        "mps",
        "meta",
        "xpu",
        "xla",
        "hpu",
        "mtia",
        "privateuseone",
        "ipu",
        "mkldnn",
        "opengl",
        "opencl",
        "ideep",
        "hip",
        "ve",
        "fpga",
        "maia",
        "lazy",
        "vulkan",
    ];
    KINDS.iter().any(|kind| kind.as_bytes() == name)
}

/// Splits the name of a device, such as `cuda:0`, into its kind and its number, which is optional. Returns `None` if `name` is
/// not the name of a device. Any lower-case kind is accepted, since extension packages define kinds of their own.
pub(super) fn device(name: &[u8]) -> Option<(&[u8], Option<u16>)> {
    let mut parts = name.splitn(2, |byte| *byte == b':');
    let kind = parts.next()?;
    let is_letter = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
    if !kind.first()?.is_ascii_lowercase() || !kind.iter().all(is_letter) {
        return None;
    }
    let Some(number) = parts.next() else { return Some((kind, None)) };
    let is_number = (1..=3).contains(&number.len())
        && number.iter().all(u8::is_ascii_digit)
        && (number.len() == 1 || number.first() != Some(&b'0'));
    let number = str::from_utf8(number).ok().filter(|_| is_number)?.parse().ok()?;
    Some((kind, Some(number)))
}

/// Returns whether `name` is a built-in attribute of tensors that a state must not set: setting it fails, or changes the tensor.
pub(super) fn is_property(name: &[u8]) -> bool {
    const PROPERTIES: [&str; 53] = [
        "H",
        "T",
        "__class__",
        "__cuda_array_interface__",
        "__dict__",
        "__weakref__",
        "_backward_hooks",
        "_base",
        "_cdata",
        "_grad",
        "_grad_fn",
        "_has_grad_dtype_override",
        "_has_symbolic_sizes_strides",
        "_post_accumulate_grad_hooks",
        "_python_dispatch",
        "_version",
        "data",
        "device",
        "dtype",
        "grad",
        "grad_dtype",
        "grad_fn",
        "imag",
        "is_cpu",
        "is_cuda",
        "is_ipu",
        "is_leaf",
        "is_maia",
        "is_meta",
        "is_mkldnn",
        "is_mps",
        "is_mtia",
        "is_nested",
        "is_quantized",
        "is_sparse",
        "is_sparse_csr",
        "is_vulkan",
        "is_xla",
        "is_xpu",
        "itemsize",
        "layout",
        "mH",
        "mT",
        "name",
        "names",
        "nbytes",
        "ndim",
        "output_nr",
        "real",
        "requires_grad",
        "retains_grad",
        "shape",
        "volatile",
    ];
    PROPERTIES.iter().any(|property| property.as_bytes() == name)
}

/// A global that a pickle may import, as [`find`] returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) global: Global,
    /// Whether PyTorch imports the global, too, when it loads with `weights_only=True`.
    pub(super) is_of_torch: bool,
}

/// Finds the global `name` of `module`. Returns `None` if a pickle must not import it.
pub(super) fn find(module: &[u8], name: &[u8]) -> Option<Import> {
    let of_torch = |global| Some(Import { global, is_of_torch: true });
    let listed = GLOBALS.iter().find(|row| row.0.as_bytes() == module && row.1.as_bytes() == name);
    if let Some((_, _, global)) = listed {
        return of_torch(*global);
    }
    let is_named = |row: &&Row| has(row.0, module) && has(row.1, name);
    if let Some((_, _, known)) = OF_TORCH.iter().find(is_named) {
        return of_torch(Global::Known(*known));
    }
    if let Some((_, _, known)) = OF_OTHERS.iter().find(is_named) {
        return Some(Import { global: Global::Known(*known), is_of_torch: false });
    }
    if module == b"numpy.dtypes" && is_class_of_dtype(name) {
        let global = Global::Known(Known::DtypeClass);
        return Some(Import { global, is_of_torch: false });
    }
    let global = DTYPES.iter().zip(0..).find_map(|((dtype, class, _, kind), place)| {
        let stem = class.strip_suffix("Storage").unwrap_or_default();
        let suffix = name.strip_prefix(stem.as_bytes()).filter(|_| !stem.is_empty());
        let is_plain = matches!(kind, Some(Plain(_)));
        let is_bool = *kind == Some(Plain(StorageType::Bool));
        // PyTorch has no classes of quantized storages on a GPU, of quantized or complex tensors, or of sparse tensors of bools.
        match (module, suffix) {
            (b"torch", _) if dtype.as_bytes() == name => Some(Global::Dtype(Dtype(place))),
            (b"torch", Some(b"Storage")) => Some(Global::Storage(Dtype(place))),
            (b"torch.cuda", Some(b"Storage")) if kind.is_some() => {
                Some(Global::Storage(Dtype(place)))
            }
            (b"torch" | b"torch.cuda", Some(b"Tensor")) if is_plain => {
                Some(Global::Known(Known::TypedTensor))
            }
            (b"torch.sparse" | b"torch.cuda.sparse", Some(b"Tensor")) if is_plain && !is_bool => {
                Some(Global::Known(Known::TypedTensor))
            }
            _ => None,
        }
    });
    global.and_then(of_torch)
}

/// The dtype of the elements of an untyped storage: `uint8`.
pub(super) const BYTES: Dtype = Dtype(8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_others_are_imported() {
        for (module, name) in [
            ("numpy._core.multiarray", "_reconstruct"),
            ("numpy", "dtype"),
            ("numpy.dtypes", "Float64DType"),
            ("datetime", "timedelta"),
            ("argparse", "Namespace"),
            ("torch._utils", "_rebuild_nested_tensor"),
            ("torch.nn", "Parameter"),
        ] {
            let found = find(module.as_bytes(), name.as_bytes());
            assert!(found.is_some_and(|found| !found.is_of_torch), "{module}.{name}");
        }
        for (module, name) in [
            ("numpy", "load"),
            ("numpy.dtypes", "os.systemDType"),
            ("numpy.dtypes", ""),
            ("numpy.dtypes", "DType"),
            ("builtins", "eval"),
            ("builtins", "set frozenset"),
            ("builtins", ""),
            ("builtins __builtin__", "set"),
            ("datetime datetime", "date"),
            ("os", "system"),
            ("pathlib", "os.system"),
            ("torch.cuda", "QInt8Storage"),
            ("torch", "QInt8Tensor"),
            ("torch", "ComplexFloatTensor"),
            ("torch.sparse", "BoolTensor"),
            ("torch.sparse", "FloatStorage"),
            ("", ""),
            ("", "set"),
        ] {
            assert_eq!(find(module.as_bytes(), name.as_bytes()), None, "{module}.{name}");
        }
    }

    #[test]
    fn every_class_has_a_name() {
        for (modules, names, known) in OF_TORCH.iter().chain(&OF_OTHERS) {
            assert!(!known.name().0.is_empty());
            for module in modules.split(' ') {
                for name in names.split(' ').filter(|name| !name.is_empty()) {
                    let found = find(module.as_bytes(), name.as_bytes()).map(|found| found.global);
                    assert_eq!(found, Some(Global::Known(*known)), "{module}.{name}");
                }
            }
        }
    }

    #[test]
    fn names_are_found() {
        assert_eq!(BYTES.name(), "uint8");
        for (name, class, width, kind) in DTYPES {
            let find = |name: &str| find(b"torch", name.as_bytes()).map(|found| found.global);
            let Some(Global::Dtype(dtype)) = find(name) else { panic!("{name}") };
            assert_eq!((dtype.name(), dtype.width()), (name, u64::from(width)));
            if let Some(kind) = kind {
                assert_eq!(kind.bytes(&[1]), Some(dtype.width()), "{name}");
            }
            if !class.is_empty() {
                assert_eq!(find(class), Some(Global::Storage(dtype)));
            }
        }
        for (module, name, global) in GLOBALS {
            let found = find(module.as_bytes(), name.as_bytes());
            assert_eq!(found, Some(Import { global, is_of_torch: true }));
        }
        for name in ["cpu", "cuda:0", "cuda:127", "mps", "npu:0", "xpu", "mlu", "private_1:12"] {
            assert!(device(name.as_bytes()).is_some(), "{name}");
        }
        for name in
            ["", "11", "cpu:", "cuda:x", "cuda:0:1", "cuda:1000", "cuda:01", "CPU", "c p", ":0"]
        {
            assert!(device(name.as_bytes()).is_none(), "{name}");
        }
        for (module, name) in [("torch", ""), ("torch", "load"), ("os", "system"), ("", "set")] {
            assert_eq!(find(module.as_bytes(), name.as_bytes()), None, "{module}.{name}");
        }
    }
}
