"""One component of an object, and what its elements become."""

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
    """One blob of an object, and how it is stored."""

    __slots__ = (
        "_direct",
        "_file",
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
    """The type of the elements, by the name that zTensor 1.2 has for it: ``"f32"``. Any text of the
    file where the type is not known."""
    encoding: str
    """``"raw"``, ``"zstd"``, ``"zt.zstd-seekable/1"``, ``"deflate"`` (of ``.npz``), or a name that is not
    known."""
    offset: int
    """The first byte of its blob, in the file or in the shard."""
    stored: int
    """The bytes of its blob."""
    nbytes: int | None
    """The number of decoded bytes. None where only decoding tells."""
    digest: str | None
    """The digest, as written in the file."""
    shard: str | None
    """The name of the other file that its blob is in."""

    def __init__(self, file: File, place: tuple[int, int], described: _Component) -> None:
        (self.role, self.dtype, self._read_as) = described[0]
        (self.offset, self.stored, self.nbytes) = described[1]
        (self.encoding, self.digest, self.shard, self._direct, self._verifiable) = described[2]
        self._file = file
        self._place = place

    def __repr__(self) -> str:
        return f"<Component {self.role!r} {self.dtype!r} {self.encoding} nbytes={self.nbytes}>"

    def tobytes(self) -> bytes:
        """Returns the content: decoded, little-endian, and verified by its digest.

        Raises:
            Invalid, Unsupported, LimitExceeded: as the content asks for.
        """
        return self._file._reader.read_bytes(*self._place)

    def numpy(self) -> Array:
        """Returns the elements, in one dimension: decoded and verified. For an unknown type, those
        that it is stored as. Two to a byte (``f4_e2m1``) are unpacked, all that there are room for.

        Raises:
            Invalid, Unsupported, LimitExceeded: as the content asks for; Unsupported also where its bytes are
                no multiple of those of an element, which layouts that are not known allow.
        """
        content = np.frombuffer(self.tobytes(), np.uint8)
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

    def _unserved(self, sentence: str, rule: str) -> Unsupported:
        name = self._file._reader.object(self._place[0])[0]
        return unserved(sentence, name, rule, component=self.role, file=self._file._reader.path)

    def _admit(self) -> None:
        """Has what asks for more than the limit allows rejected, before there is memory for it."""
        if self.encoding == "raw" or self.nbytes is None:
            return
        if self.nbytes > self._file._reader.decoded_limits[0]:
            self._file._reader.verify_object(self._place[0])

    def _raw(self) -> Bytes:
        """Returns the content, decoded and verified, in an array of its own."""
        if self.nbytes is None:
            return np.frombuffer(bytearray(self.tobytes()), np.uint8)
        content = self._room(self.nbytes)
        self._file._reader.read([self._place], [content])
        return content

    def _room(self, nbytes: int) -> Bytes:
        """Memory for its content, which the limits allow."""
        self._admit()
        try:
            return np.empty(nbytes, np.uint8)
        except NO_ARRAY as error:
            reader = self._file._reader
            name = reader.object(self._place[0])[0]
            raise no_array_error(error, f"{nbytes} bytes", name, reader.path) from None


def converted(array: Array, dtype: npt.DTypeLike | None, copy: bool | None) -> Array:
    """Returns a new array for ``np.asarray``, which need not copy it."""
    if copy is False:
        raise ValueError("the elements have to be read into memory: copy=False is not possible")
    return array if dtype is None else array.astype(dtype, copy=False)


def truth(array: Array) -> None:
    """Makes 1 of what is not 0: bools of 0.1 are any byte."""
    codes = array.view(np.uint8)
    np.not_equal(codes, 0, out=array)


def to_torch(dtype: Any, array: Array) -> Any:
    import torch

    if not array.size:
        return torch.empty(array.shape, dtype=dtype)
    content = _types.as_bytes(np.array(array, order="C", copy=True))
    return torch.frombuffer(content, dtype=dtype).reshape(array.shape)


def scipy_indices(element: str, content: Bytes) -> Array:
    """Indices as SciPy takes them. They have been found to be less than 2**63, and not negative."""
    array = content.view(_types.numpy_dtype(element))
    if element in ("i32", "i64"):
        return array
    return array.view(np.int64) if element == "u64" else array.astype(np.int64)


def scipy_values(element: str, content: Bytes, *, count: int) -> Array:
    """Values as SciPy takes them."""
    if element == "f4_e2m1":
        return _types.unpack(content, count).astype(np.float32)
    if element == "bool":
        return _types.truth(content)
    array = content.view(_types.numpy_dtype(element))
    is_native = element in ("f32", "f64", "complex64", "complex128") or element[0] in "iu"
    return array if is_native else array.astype(np.float32)
