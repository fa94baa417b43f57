//! The globals that a checkpoint may import, and the dtypes of elements. No global is ever called: the machine implements
//! the effect of each allowed function.

use crate::element::{LogicalType, StorageType};
use crate::formats::kind::Kind::{self, Logical, Plain};

/// A global that a pickle may import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Global {
    /// Makes an ordered dictionary, the type of a module's `state_dict`.
    OrderedDict,
    /// Makes a shape from a tuple.
    Size,
    /// Makes a device from its name, or from its kind and a number.
    Device,
    /// Makes a set from a list, as pickles before protocol 4 do.
    Set,
    /// Makes a tensor from a storage: the smallest and largest number of arguments, and the position of the dtype argument.
    Tensor(u8, u8, Option<u8>),
    /// Makes a parameter from a tensor: the number of arguments.
    Parameter(u8),
    /// A class of storages with elements of this dtype.
    Storage(Dtype),
    /// The class of storages of bytes without a dtype.
    Untyped,
    /// A dtype.
    Dtype(Dtype),
    /// A class of NumPy's arrays. Calling it with a buffer makes an array of any bytes, even of pointers, so only NumPy's own
    /// function for pickled arrays may have it as an argument.
    Array,
    /// A known, harmless global whose results zten does not read: they are unsupported.
    Unread,
}

/// A dtype of elements: the row number in [`DTYPES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dtype(u8);

impl Dtype {
    fn row(self) -> Option<&'static (&'static str, &'static str, u8, Option<Kind>)> {
        DTYPES.get(usize::from(self.0))
    }

    /// The name of the dtype.
    pub(super) fn name(self) -> &'static str {
        self.row().map_or("", |row| row.0)
    }

    /// Returns whether tensors of this dtype may require gradients: floats and complex numbers may.
    pub(super) fn has_gradients(self) -> bool {
        ["float", "bfloat", "complex"].iter().any(|prefix| self.name().starts_with(prefix))
    }

    /// The width of an element in bytes.
    pub(super) fn width(self) -> u64 {
        self.row().map_or(1, |row| row.2.into())
    }

    /// The kind of elements in an archive; `None` if zten has no such elements.
    pub(super) fn kind(self) -> Option<Kind> {
        self.row().and_then(|row| row.3)
    }
}

/// The dtypes: the name, the class of storages (empty if the dtype has no class of its own), the width of an element in bytes,
/// and the kind of elements.
const DTYPES: [(&str, &str, u8, Option<Kind>); 47] = [
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

/// All globals that are not in [`DTYPES`]: the module, the name, and the meaning. PyTorch allows the unread globals, too, when
/// it loads with `weights_only=True`.
const GLOBALS: [(&str, &str, Global); 33] = [
    ("collections", "OrderedDict", Global::OrderedDict),
    ("torch._utils", "_rebuild_tensor_v2", Global::Tensor(6, 7, None)),
    ("torch._utils", "_rebuild_tensor_v3", Global::Tensor(7, 8, Some(6))),
    ("torch._utils", "_rebuild_tensor", Global::Tensor(4, 4, None)),
    ("torch._utils", "_rebuild_parameter", Global::Parameter(3)),
    ("torch._utils", "_rebuild_parameter_with_state", Global::Parameter(4)),
    ("torch.storage", "UntypedStorage", Global::Untyped),
    ("torch", "Size", Global::Size),
    ("torch", "device", Global::Device),
    ("__builtin__", "set", Global::Set),
    ("builtins", "set", Global::Set),
    ("collections", "Counter", Global::Unread),
    ("torch._utils", "_rebuild_sparse_tensor", Global::Unread),
    ("torch._utils", "_rebuild_qtensor", Global::Unread),
    ("torch._utils", "_rebuild_meta_tensor_no_storage", Global::Unread),
    ("torch._utils", "_rebuild_wrapper_subclass", Global::Unread),
    ("torch._utils", "_rebuild_device_tensor_from_numpy", Global::Unread),
    ("torch._utils", "_rebuild_device_tensor_from_cpu_tensor", Global::Unread),
    ("torch._tensor", "_rebuild_from_type_v2", Global::Unread),
    ("torch.serialization", "_get_layout", Global::Unread),
    ("torch.nn.parameter", "Parameter", Global::Unread),
    ("torch", "per_tensor_affine", Global::Unread),
    ("torch", "per_tensor_symmetric", Global::Unread),
    ("torch", "per_channel_affine", Global::Unread),
    ("torch", "per_channel_symmetric", Global::Unread),
    ("torch", "per_channel_affine_float_qparams", Global::Unread),
    ("torch", "Tensor", Global::Unread),
    ("torch.storage", "TypedStorage", Global::Unread),
    ("_codecs", "encode", Global::Unread),
    ("__builtin__", "bytearray", Global::Unread),
    ("builtins", "bytearray", Global::Unread),
    ("__builtin__", "complex", Global::Unread),
    ("builtins", "complex", Global::Unread),
];

/// The classes and functions that pickles of arrays of Python objects may import: modules and names, both separated by spaces.
/// Calling them builds plain values, and runs no code that the author of a file has chosen.
const OBJECTS: [(&str, &str); 14] = [
    ("numpy", "dtype"),
    ("numpy.core.multiarray numpy._core.multiarray", "_reconstruct scalar"),
    // NumPy before 1.0.
    ("numpy.core._internal", "_reconstruct"),
    ("numpy.core.records numpy._core.records numpy.rec", "record"),
    ("numpy.core.numeric numpy._core.numeric", "_frombuffer"),
    ("builtins __builtin__", "set frozenset complex slice range xrange bytearray"),
    ("collections", "Counter defaultdict deque OrderedDict"),
    ("datetime", "date datetime time timedelta timezone"),
    ("decimal", "Decimal"),
    ("fractions", "Fraction"),
    ("uuid", "UUID"),
    ("argparse", "Namespace"),
    ("types", "SimpleNamespace"),
    ("pathlib pathlib._local", "Path PurePath PosixPath PurePosixPath WindowsPath PureWindowsPath"),
];

/// The classes of NumPy's arrays: the modules, separated by spaces, and the names.
const ARRAYS: [(&str, &str); 3] = [
    ("numpy", "ndarray recarray matrix"),
    ("numpy.core.records numpy._core.records numpy.rec", "recarray"),
    ("numpy.matrixlib.defmatrix", "matrix"),
];

/// Returns the global that the pickle of an array of Python objects may import as `name` of `module`. Returns `None` if it
/// must not import this name.
pub(super) fn of_objects(module: &[u8], name: &[u8]) -> Option<Global> {
    if ARRAYS.iter().any(|(modules, names)| has(modules, module) && has(names, name)) {
        return Some(Global::Array);
    }
    is_of_objects(module, name).then_some(Global::Unread)
}

/// Returns whether `word` is one of the words of `list`, which are separated by spaces.
fn has(list: &str, word: &[u8]) -> bool {
    list.split(' ').any(|other| other.as_bytes() == word)
}

/// Returns whether `name` of `module` builds plain values.
fn is_of_objects(module: &[u8], name: &[u8]) -> bool {
    let is_dtype = module == b"numpy.dtypes"
        && name.ends_with(b"DType")
        && name.iter().all(u8::is_ascii_alphanumeric);
    is_dtype || OBJECTS.iter().any(|(modules, names)| has(modules, module) && has(names, name))
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

/// Returns whether `name` is a built-in attribute of every tensor that is read-only, or that changes the tensor when it is set.
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

/// Finds the global `name` of `module`. Returns `None` if a pickle must not import it.
pub(super) fn find(module: &[u8], name: &[u8]) -> Option<Global> {
    let listed = GLOBALS.iter().find(|row| row.0.as_bytes() == module && row.1.as_bytes() == name);
    if let Some((_, _, global)) = listed {
        return Some(*global);
    }
    DTYPES.iter().zip(0..).find_map(|((dtype, class, ..), place)| {
        let stem = class.strip_suffix("Storage").unwrap_or_default();
        let kind = name.strip_prefix(stem.as_bytes()).filter(|_| !stem.is_empty());
        match (module, kind) {
            (b"torch", _) if dtype.as_bytes() == name => Some(Global::Dtype(Dtype(place))),
            (b"torch" | b"torch.cuda", Some(b"Storage")) => Some(Global::Storage(Dtype(place))),
            // Classes of tensors, which old programs used in place of a dtype.
            (
                b"torch" | b"torch.cuda" | b"torch.sparse" | b"torch.cuda.sparse",
                Some(b"Tensor"),
            ) => Some(Global::Unread),
            _ => None,
        }
    })
}

/// The dtype of the elements of an untyped storage: `uint8`.
pub(super) const BYTES: Dtype = Dtype(8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_import_values_alone() {
        for (module, name) in [
            ("numpy._core.multiarray", "_reconstruct"),
            ("numpy", "dtype"),
            ("numpy.dtypes", "Float64DType"),
            ("datetime", "timedelta"),
            ("__builtin__", "complex"),
        ] {
            assert!(is_of_objects(module.as_bytes(), name.as_bytes()), "{module}.{name}");
        }
        for (module, name) in [
            ("numpy", "load"),
            ("numpy.dtypes", "os.systemDType"),
            ("numpy.dtypes", ""),
            ("builtins", "eval"),
            ("builtins", "set frozenset"),
            ("builtins", ""),
            ("datetime datetime", "date"),
            ("os", "system"),
            ("pathlib", "os.system"),
            ("", ""),
        ] {
            assert!(!is_of_objects(module.as_bytes(), name.as_bytes()), "{module}.{name}");
        }
    }

    #[test]
    fn names_are_found() {
        assert_eq!(BYTES.name(), "uint8");
        for (name, class, width, kind) in DTYPES {
            let Some(Global::Dtype(dtype)) = find(b"torch", name.as_bytes()) else {
                panic!("{name}")
            };
            assert_eq!((dtype.name(), dtype.width()), (name, u64::from(width)));
            if let Some(kind) = kind {
                assert_eq!(kind.bytes(&[1]), Some(dtype.width()), "{name}");
            }
            if !class.is_empty() {
                assert_eq!(find(b"torch", class.as_bytes()), Some(Global::Storage(dtype)));
            }
        }
        for (module, name, global) in GLOBALS {
            assert_eq!(find(module.as_bytes(), name.as_bytes()), Some(global));
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
