"""Components of objects, and the conversion of their elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _types
from ._errors import NO_ARRAY, Unsupported, no_array_error, unserved
from ._types import Array, Bytes

if TYPE_CHECKING:
    from ._file import File
    from ._zten import _Component


class Component:
    """A component of an object: a blob, and the way in which it is stored."""

    __slots__ = (
        "_direct",
        "_file",
        "_opaque",
        "_opaque_size",
        "_place",
        "_read_as",
        "_verifiable",
        "digest",
        "dtype",
        "encoding",
        "nbytes",
        "offset",
        "role",
        "shard",
        "stored",
    )

    role: str
    """The role in the object: ``"data"``, ``"values"``, ..."""
    dtype: str
    """The dtype of the elements, by its name in zTensor: ``"f32"``. An unknown dtype is untrusted text of the file."""
    encoding: str
    """The encoding: ``"raw"``, ``"zstd"``, ``"zt.zstd-seekable/1"``, ``"deflate"`` (of ``.npz``), or an unknown name."""
    offset: int
    """The offset of the blob in the file or in the shard."""
    stored: int
    """The number of stored bytes."""
    nbytes: int | None
    """The number of decoded bytes; None if it is unknown before decoding."""
    digest: str | None
    """The digest, as it is written in the file; None if there is none."""
    shard: str | None
    """The name of the shard with the blob; None if the blob is in the file itself."""

    def __init__(self, file: File, place: tuple[int, int], described: _Component) -> None:
        (self.role, self.dtype, self._read_as, self._opaque_size) = described[0]
        (self.offset, self.stored, self.nbytes) = described[1]
        (self.encoding, self.digest, self.shard, self._direct, self._verifiable) = described[2]
        self._file = file
        self._place = place
        self._opaque: np.dtype[Any] | None = None

    def __repr__(self) -> str:
        return f"<Component {self.role!r} {self.dtype!r} {self.encoding} nbytes={self.nbytes}>"

    def tobytes(self) -> bytes:
        """Returns the content: decoded, little-endian, and verified by its digest.

        Raises:
            Invalid, Unsupported, LimitExceeded: the content breaks a rule, or cannot be read.
        """
        return self._file._reader.read_bytes(*self._place)

    def numpy(self) -> Array:
        """Returns the elements, decoded and verified, as an array of one dimension. Elements of an unknown dtype are returned
        with their storage dtype, and those of an opaque NumPy array with the dtype that its header names. ``f4_e2m1`` is
        unpacked, two elements from each byte.

        Raises:
            Invalid, Unsupported, LimitExceeded: the content breaks a rule, or cannot be read; Unsupported also if the number
                of bytes is not a multiple of the size of an element, which unknown layouts allow.
        """
        content = np.frombuffer(self.tobytes(), np.uint8)
        if self._opaque_size is not None:
            name, _, shape, _, _ = self._file._reader.object(self._place[0])
            dtype = self._opaque_dtype(name)
            return _types.viewed(content, 0, name, (_types.product(shape),), dtype, self._file._reader)
        if self._read_as is None:
            raise self._unserved(f"elements of type {self.dtype!r} cannot be read", "unsupported-type")
        if self._read_as == "f4_e2m1":
            return _types.unpack(content, 2 * len(content))
        if self._read_as == "bool":
            return _types.truth(content)
        dtype = _types.numpy_dtype(self._read_as)
        if len(content) % dtype.itemsize:
            raise self._unserved(
                f"component {self.role!r} has {len(content)} bytes, which are no multiple of "
                f"{dtype.itemsize}, the size of {self._read_as}",
                "unsupported-type",
            )
        return content.view(dtype)

    def _opaque_dtype(self, name: str) -> np.dtype[Any]:
        """Returns the NumPy dtype of this component, whose elements are opaque: a dtype that only NumPy interprets. ``name`` is
        the name of its object, for the message of an error."""
        if self._opaque is None:
            assert self._opaque_size is not None
            self._opaque = _types.opaque_dtype(self.dtype, self._opaque_size, name, self._file._reader)
        return self._opaque

    def _unserved(self, sentence: str, rule: str) -> Unsupported:
        name = self._file._reader.object(self._place[0])[0]
        return unserved(sentence, name, rule, component=self.role, file=self._file._reader.path)

    def _admit(self) -> None:
        """Raises :class:`zten.LimitExceeded` if decoding this component would exceed the limit ``decoded``. It is called before
        memory is allocated for the content."""
        if self.encoding == "raw" or self.nbytes is None:
            return
        if self.nbytes > self._file._reader.decoded_limits[0]:
            self._file._reader.verify_object(self._place[0])

    def _raw(self) -> Bytes:
        """Reads, decodes and verifies the component, and returns its content as a new, writable array of bytes."""
        if self.nbytes is None:
            return np.frombuffer(bytearray(self.tobytes()), np.uint8)
        content = self._room(self.nbytes)
        self._file._reader.read([self._place], [content])
        return content

    def _room(self, nbytes: int) -> Bytes:
        """Checks the limit ``decoded``, and then allocates memory for ``nbytes`` bytes of content.

        Raises:
            LimitExceeded: the component exceeds the limit, or there is no memory for it.
        """
        self._admit()
        try:
            return np.empty(nbytes, np.uint8)
        except NO_ARRAY as error:
            reader = self._file._reader
            name = reader.object(self._place[0])[0]
            raise no_array_error(error, f"{nbytes} bytes", name, reader.path) from None


def converted(array: Array, dtype: npt.DTypeLike | None, copy: bool | None) -> Array:
    """Returns ``array``, which was just read and which nothing else refers to, as ``__array__`` has to return it: converted to
    ``dtype`` unless it is None. The array is copied only if its dtype differs.

    Raises:
        ValueError: ``copy`` is False, which asks for an array without reading anything into memory.
    """
    if copy is False:
        raise ValueError("the elements have to be read into memory: copy=False is not possible")
    return array if dtype is None else array.astype(dtype, copy=False)


def truth(array: Array) -> None:
    """Replaces each byte of a bool ``array`` that is not 0 by 1, in place: files of generation 0.1 may store a true bool as any
    byte, and NumPy expects 1."""
    codes = array.view(np.uint8)
    np.not_equal(codes, 0, out=array)


def moved(tensor: Any, dtype: Any, device: Any) -> Any:
    """Moves ``tensor``, a tensor of PyTorch, to ``device``, and converts it to ``dtype`` unless ``dtype`` is None."""
    return tensor.to(device) if dtype is None else tensor.to(device, dtype)


def to_torch(dtype: Any, array: Array) -> Any:
    import torch

    if not array.size:
        return torch.empty(array.shape, dtype=dtype)
    content = _types.as_bytes(np.array(array, order="C", copy=True))
    return torch.frombuffer(content, dtype=dtype).reshape(array.shape)


def scipy_indices(element: str, content: Bytes) -> Array:
    """Converts ``content``, the bytes of indices of the dtype ``element``, to an array of signed integers, which SciPy requires.
    The indices have been validated: none is negative, or 2**63 or more."""
    array = content.view(_types.numpy_dtype(element))
    if element in ("i32", "i64"):
        return array
    return array.view(np.int64) if element == "u64" else array.astype(np.int64)


def scipy_values(element: str, content: Bytes, *, count: int) -> Array:
    """Converts ``content``, the bytes of ``count`` values of the dtype ``element``, to an array of a dtype that SciPy has: f16,
    bf16, FP8 and FP4 become ``float32``, all other dtypes stay as they are."""
    if element == "f4_e2m1":
        return _types.unpack(content, count).astype(np.float32)
    if element == "bool":
        return _types.truth(content)
    array = content.view(_types.numpy_dtype(element))
    is_native = element in ("f32", "f64", "complex64", "complex128") or element[0] in "iu"
    return array if is_native else array.astype(np.float32)
