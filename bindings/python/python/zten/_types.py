"""Conversions between the names of dtypes in zTensor and the dtypes of NumPy, PyTorch and safetensors, and making arrays of these
dtypes."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from . import _zten
from ._errors import NO_ARRAY, no_array_error, unserved

if TYPE_CHECKING:
    from ._zten import Reader

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

_NUMPY: dict[str, Any] = {
    "f64": "<f8",
    "f32": "<f4",
    "f16": "<f2",
    "i64": "<i8",
    "i32": "<i4",
    "i16": "<i2",
    "i8": "i1",
    "u64": "<u8",
    "u32": "<u4",
    "u16": "<u2",
    "u8": "u1",
    "bool": "?",
    "complex64": "<c8",
    "complex128": "<c16",
    "bf16": ml_dtypes.bfloat16,
    "f8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8_e5m2": ml_dtypes.float8_e5m2,
    "f8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8_e8m0": ml_dtypes.float8_e8m0fnu,
    # A NumPy array has one element of FP4 in each byte, and a file has two.
    "f4_e2m1": ml_dtypes.float4_e2m1fn,
}

_TORCH = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u64": "uint64",
    "u32": "uint32",
    "u16": "uint16",
    "u8": "uint8",
    "bool": "bool",
    "complex64": "complex64",
    "complex128": "complex128",
    "f8_e4m3fn": "float8_e4m3fn",
    "f8_e5m2": "float8_e5m2",
    "f8_e4m3fnuz": "float8_e4m3fnuz",
    "f8_e5m2fnuz": "float8_e5m2fnuz",
    "f8_e8m0": "float8_e8m0fnu",
}

_SAFETENSORS = {
    "f64": "F64",
    "f32": "F32",
    "f16": "F16",
    "bf16": "BF16",
    "i64": "I64",
    "i32": "I32",
    "i16": "I16",
    "i8": "I8",
    "u64": "U64",
    "u32": "U32",
    "u16": "U16",
    "u8": "U8",
    "bool": "BOOL",
    "complex64": "C64",
    "f8_e4m3fn": "F8_E4M3",
    "f8_e5m2": "F8_E5M2",
    "f8_e8m0": "F8_E8M0",
    "f4_e2m1": "F4",
}

# Maps each dtype that is not a storage dtype to the storage dtype with which files of generation 1.2 store its elements.
_STORAGE = {
    "complex64": "f32",
    "complex128": "f64",
    "f8_e4m3fn": "u8",
    "f8_e5m2": "u8",
    "f8_e4m3fnuz": "u8",
    "f8_e5m2fnuz": "u8",
    "f8_e8m0": "u8",
    "f4_e2m1": "u8",
}

SMALL_FLOATS = ("bf16", "f8_e4m3fn", "f8_e5m2", "f8_e4m3fnuz", "f8_e5m2fnuz", "f8_e8m0", "f4_e2m1")
"""The float dtypes that are those of :mod:`ml_dtypes` in NumPy."""

OPAQUE = "opaque"
"""Takes the place of the name of a dtype for elements that only NumPy interprets: text, dates, records, long doubles."""

# Matches a quoted string, or the suffix `L` of an integer outside of strings: Python 2 wrote the shape `(2,)` as `(2L,)`.
_LONG = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?<=\d)L""")

# Dtypes that only generation 2 of zTensor has.
_SINCE_2 = ("f8_e8m0", "f4_e2m1")


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """Returns the NumPy dtype, little-endian, of the elements that zTensor calls ``name``, such as ``"bf16"``."""
    dtype: np.dtype[Any] = np.dtype(_NUMPY[name])
    return dtype


def opaque_dtype(spelled: str, size: int, name: str, reader: Reader) -> np.dtype[Any]:
    """Returns the NumPy dtype that the file spells as ``spelled``, for the object ``name``, whose elements have ``size`` bytes.

    The spelling is untrusted. Raises a :class:`zten.Error` if NumPy does not have the dtype. A dtype of Python objects is never
    returned: its elements would be pointers.
    """
    try:
        # Evaluating the untrusted list is safe: the native module has checked that it has only tuples, strings and numbers, and
        # Python limits how deep it may nest.
        is_list = spelled.startswith("[")
        descr: Any = ast.literal_eval(_LONG.sub(lambda found: found[1] or "", spelled)) if is_list else spelled
        dtype: np.dtype[Any] = np.lib.format.descr_to_dtype(descr)
    except Exception as error:
        sentence = f"NumPy {np.__version__} has no dtype {short(spelled)}: {error}"
        raise unserved(sentence, name, "unsupported-type", file=reader.path) from None
    if dtype.hasobject or dtype.itemsize != size:
        found = "holds Python objects" if dtype.hasobject else f"takes {dtype.itemsize} bytes"
        sentence = f"dtype {short(spelled)} {found} in NumPy {np.__version__}, expected {size} bytes"
        raise unserved(sentence, name, "unsupported-type", file=reader.path)
    return dtype


def shown(text: str) -> str:
    """Returns untrusted text on one line: as it is if it is short, printable and ASCII, otherwise its start, quoted and escaped."""
    return text if len(text) <= 80 and text.isascii() and text.isprintable() else short(text)


def short(spelled: str) -> str:
    """Returns ``spelled``, a dtype or other text of the file, quoted for a message, and cut to 80 characters: records can have
    thousands of fields."""
    return repr(spelled if len(spelled) <= 80 else f"{spelled[:79]}…")


def torch_dtype(name: str) -> Any:
    """Returns the PyTorch dtype of the elements that zTensor calls ``name``, such as ``"bf16"``; None if this version of PyTorch
    does not have the dtype."""
    import torch

    own = "float4_e2m1fn_x2" if name == "f4_e2m1" else _TORCH.get(name, "")
    return getattr(torch, own, None)


def torch_dtype_of(dtype: Any) -> Any:
    """Returns the PyTorch dtype that a caller means by ``dtype``: a dtype of PyTorch, None, or a name in any spelling that
    :func:`dtype_name` knows.

    Raises:
        ValueError: no dtype has that name, or this version of PyTorch does not have the dtype.
    """
    if not isinstance(dtype, str):
        return dtype
    found = torch_dtype(dtype_name(dtype))
    if found is None:
        raise ValueError(f"this version of PyTorch has no dtype {dtype!r}")
    return found


def dtype_name(spelled: str) -> str:
    """Returns the name in zTensor of the dtype that ``spelled`` means: ``"bf16"`` for ``"BF16"``, ``"bfloat16"`` and
    ``"torch.bfloat16"``. Without the prefix ``torch.``, the names are those that the command ``zten`` accepts.

    Raises:
        ValueError: no dtype has that name.
    """
    name = _zten.dtype(spelled.removeprefix("torch."))
    if name is None:
        raise ValueError(f"unknown dtype {spelled!r}, expected a name such as {'bf16'!r}, {'float32'!r} or {'F8_E4M3'!r}")
    return name


def safetensors_dtype(name: str) -> str:
    """Returns the name that safetensors has for the dtype that zTensor calls ``name``: ``"BF16"`` for ``"bf16"``. For a dtype that
    safetensors does not have, returns ``name`` in capitals."""
    return _SAFETENSORS.get(name, name.upper())


@cache
def from_numpy(dtype: np.dtype[Any], generation: str = "1.2") -> tuple[str, str]:
    """Returns the names of the storage dtype and of the dtype with which zTensor of ``generation`` stores the NumPy ``dtype``:
    ``("u8", "f8_e5m2")``.

    Raises:
        TypeError: the generation has no dtype for these elements.
    """
    native = dtype.newbyteorder("<")
    for name in _NUMPY:
        if numpy_dtype(name) == native and (generation == "2" or name not in _SINCE_2):
            return _STORAGE.get(name, name), name
    raise TypeError(f"zTensor {generation} has no type for elements of {dtype}")


def from_torch(dtype: Any, generation: str = "1.2") -> tuple[str, str]:
    """Returns the names of the storage dtype and of the dtype with which zTensor of ``generation`` stores the PyTorch ``dtype``:
    ``("u8", "f8_e5m2")``.

    Raises:
        TypeError: the generation has no dtype for these elements.
    """
    name = str(dtype).removeprefix("torch.")
    for own, torch_name in _TORCH.items():
        if torch_name == name and (generation == "2" or own not in _SINCE_2):
            return _STORAGE.get(own, own), own
    raise TypeError(f"zTensor {generation} has no type for elements of {dtype}")


def empty(
    name: str, shape: Sequence[int], dtype: npt.DTypeLike, reader: Reader
) -> Array:
    """Allocates an array of ``shape`` and ``dtype`` for the object ``name`` of the file ``reader``. Raises a :class:`zten.Error`
    if NumPy does not support the number or size of the dimensions, or there is no memory for the array."""
    try:
        dtype = np.dtype(dtype)
        # `np.empty` replaces text of length 0 by text of length 1.
        return np.empty(tuple(shape), dtype) if dtype.itemsize else np.ndarray(tuple(shape), dtype)
    except NO_ARRAY as error:
        raise no_array_error(error, f"NumPy has no array of shape {tuple(shape)}", name, reader.path) from None


def viewed(
    buffer: Any, offset: int, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], reader: Reader
) -> Array:
    """Returns an array of ``shape`` and ``dtype`` that is a view of ``buffer`` from byte ``offset`` on: the elements of the
    object ``name`` of the file ``reader``. Raises a :class:`zten.Error` if NumPy does not support the shape."""
    try:
        return np.ndarray(shape, dtype, buffer, offset)
    except NO_ARRAY as error:
        raise no_array_error(error, f"NumPy has no array of shape {shape}", name, reader.path) from None


def reshaped(array: Array, name: str, shape: tuple[int, ...], reader: Reader) -> Array:
    """Reshapes ``array`` to ``shape``, the shape of the object ``name`` of the file ``reader``. Raises a :class:`zten.Error` if
    NumPy does not support the shape."""
    try:
        return array.reshape(shape)
    except NO_ARRAY as error:
        raise no_array_error(error, f"NumPy has no array of shape {shape}", name, reader.path) from None


def torch_tensor(make: Callable[[], Any], name: str, shape: Sequence[int], reader: Reader) -> Any:
    """Calls ``make``, and returns the tensor of PyTorch that it creates, of ``shape``, for the object ``name`` of the file
    ``reader``. Raises a :class:`zten.Error` if PyTorch does not support the shape."""
    try:
        return make()
    except NO_ARRAY as error:
        what = f"PyTorch has no tensor of shape {tuple(shape)}"
        raise no_array_error(error, what, name, reader.path) from None


def as_bytes(array: Array) -> Bytes:
    """Returns a view of the memory of ``array``, which is contiguous, as an array of bytes in one dimension."""
    return array.reshape(-1).view(np.uint8) if array.itemsize else np.empty(0, np.uint8)


def truth(content: Bytes) -> Array:
    """Converts ``content``, one byte for each element, to an array of bools. Each byte that is not 0 is true, as in files of
    generation 0.1."""
    return np.not_equal(content, 0)


def unpack(packed: Bytes, count: int) -> Array:
    """Unpacks ``count`` elements of ``f4_e2m1`` from ``packed``, which has two in each byte, to an array with one element in each
    byte. The first element of a pair is in the low four bits."""
    codes = np.empty(count, np.uint8)
    np.bitwise_and(packed[: (count + 1) // 2], 15, out=codes[0::2])
    np.right_shift(packed[: count // 2], 4, out=codes[1::2])
    return codes.view(ml_dtypes.float4_e2m1fn)


def pack(codes: Bytes) -> Bytes:
    """Packs ``codes``, elements of ``f4_e2m1`` in the low four bits of a byte each, to two elements in each byte. The first
    element of a pair is in the low four bits. After an odd number of elements, the last high bits are 0."""
    packed = np.bitwise_and(codes[0::2], np.uint8(15))
    high = np.left_shift(codes[1::2], np.uint8(4))
    packed[: len(high)] |= high
    return packed


def product(shape: Sequence[int]) -> int:
    """Returns the number of elements of an array of ``shape``."""
    return math.prod(shape)
