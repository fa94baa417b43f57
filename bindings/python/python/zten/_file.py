"""Open files, and what is in them."""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterable, Iterator, KeysView, Mapping
from types import MappingProxyType, TracebackType
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _types
from ._errors import Unsupported
from ._index import Index, Selection, select
from ._types import Array, Bytes
from ._zten import Reader

if TYPE_CHECKING:
    from ._zten import _Component, _Strictness

Source: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes]
"""What a file is read from."""


def strictness(
    limits: Mapping[str, int] | None,
    tolerate: Iterable[str],
    canonical: bool = False,
    shards: bool = True,
) -> _Strictness:
    """How strict to be, as the native part takes it."""
    if isinstance(tolerate, str):
        tolerate = [tolerate]
    return dict(limits or {}), list(tolerate), canonical, shards


def frozen(source: Source) -> Any:
    """What is read from, and stays as it is: a buffer that may change is copied."""
    if isinstance(source, (bytearray, memoryview)):
        return bytes(source)
    return source


class Component:
    """One blob of an object, and how it is stored."""

    __slots__ = (
        "_direct",
        "_file",
        "_place",
        "_read_as",
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
    """Its role in the object: ``"data"``, ``"values"``, ..."""
    dtype: str
    """What its elements are, by the name that zTensor 1.2 has for it: ``"f32"``. Any text of the
    file where the type is not known."""
    encoding: str
    """``"raw"``, ``"zstd"``, ``"zt.zstd-seekable/1"``, or a name that is not known."""
    offset: int
    """The first byte of its blob, in the file or in the shard."""
    stored: int
    """The bytes of its blob."""
    nbytes: int | None
    """Its bytes once decoded. None where only decoding tells."""
    digest: str | None
    """Its digest, as the file spells it."""
    shard: str | None
    """The name of the other file that its blob is in."""

    def __init__(self, file: File, place: tuple[int, int], described: _Component) -> None:
        (self.role, self.dtype, self._read_as) = described[0]
        (self.offset, self.stored, self.nbytes) = described[1]
        (self.encoding, self.digest, self.shard, self._direct) = described[2]
        self._file = file
        self._place = place

    def __repr__(self) -> str:
        return f"<Component {self.role!r} {self.dtype!r} {self.encoding} nbytes={self.nbytes}>"

    def tobytes(self) -> bytes:
        """Its content: decoded, little-endian, and verified by its digest.

        Raises:
            Refused, Unsupported, LimitExceeded: as the content asks for.
        """
        return self._file._reader.read_bytes(*self._place)

    def numpy(self) -> Array:
        """Its elements, in one dimension: decoded and verified. Of a type that is not known, those
        that it is stored as. Two to a byte (``f4_e2m1``) are unpacked, all that there are room for.

        Raises:
            Refused, Unsupported, LimitExceeded: as the content asks for.
        """
        content = np.frombuffer(self.tobytes(), np.uint8)
        if self._read_as is None:
            raise Unsupported(f"elements of type {self.dtype!r} cannot be read")
        if self._read_as == "f4_e2m1":
            return _types.unpack(content, 2 * len(content))
        if self._read_as == "bool":
            return _types.truth(content)
        return content.view(_types.numpy_dtype(self._read_as))

    def _admit(self) -> None:
        """Has what asks for more than the limit allows refused, before there is memory for it."""
        if self.encoding == "raw" or self.nbytes is None:
            return
        if self.nbytes > self._file._reader.decoded_limits[0]:
            self._file._reader.verify_object(self._place[0])

    def _raw(self) -> Bytes:
        """Its content, decoded and verified, in an array of its own."""
        if self.nbytes is None:
            return np.frombuffer(bytearray(self.tobytes()), np.uint8)
        self._admit()
        content = np.empty(self.nbytes, np.uint8)
        self._file._reader.read([self._place], [content])
        return content


class Slice:
    """A part of a dense tensor, of which nothing is read yet: ``tensor[0:10]``."""

    __slots__ = ("_selection", "_tensor", "dtype", "shape")

    shape: tuple[int, ...]
    """Its dimensions, outermost first."""
    dtype: str
    """What its elements are, as :attr:`Tensor.dtype`."""

    def __init__(self, tensor: Tensor, selection: Selection) -> None:
        self._tensor = tensor
        self._selection = selection
        self.shape = selection.shape
        self.dtype = str(tensor.dtype)

    def __repr__(self) -> str:
        return f"<Slice of {self._tensor.name!r} {self.dtype} {self.shape}>"

    def numpy(self, *, verify: bool = False) -> Array:
        """The part as an array. Only its bytes are read, and where a step is left out those between.

        No digest is of a part. With ``verify=True`` the whole tensor is read and verified first.

        Raises:
            Refused, Unsupported, LimitExceeded: as the content asks for.
        """
        return self._tensor._sliced(self._selection, verify)

    def torch(self, *, verify: bool = False, device: Any = "cpu") -> Any:
        """The part as a :class:`torch.Tensor`. As :meth:`numpy`."""
        return _to_torch(self._tensor._elements(), self.numpy(verify=verify), device)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> Array:
        return _converted(self.numpy(), dtype, copy)


_CSR = ("sparse_csr", "zt.sparse_csr/1")
_COO = ("sparse_coo", "zt.sparse_coo/1")


class Tensor:
    """One object of a file, of which nothing is read yet.

    ======================== ============== =====================================================
    ``format``               call           gives
    ======================== ============== =====================================================
    ``dense``                `numpy()`      an array; ``tensor[0:10].numpy()`` a part of it
    ..                       `torch()`      a :class:`torch.Tensor`
    ``sparse_csr``           `scipy()`      :class:`scipy.sparse.csr_array`
    ``sparse_coo``           `scipy()`      :class:`scipy.sparse.coo_array`
    ``quantized_group``      `dequantize()` an array of ``float32``; so of ``zt.mx/1``
    any                      `components`   each :class:`Component`, as it is stored
    ======================== ============== =====================================================

    The formats of generation 2 are called ``zt.sparse_csr/1`` and ``zt.sparse_coo/1``.
    """

    __slots__ = ("_components", "_file", "_ordinal", "format", "name", "shape")

    name: str
    """Its name: any text, the empty one and control characters included."""
    format: str
    """How its components make up a tensor."""
    shape: tuple[int, ...]
    """Its dimensions, outermost first."""

    def __init__(self, file: File, ordinal: int) -> None:
        self._file = file
        self._ordinal = ordinal
        self.name, self.format, self.shape, components = file._reader.object(ordinal)
        self._components = [
            Component(file, (ordinal, place), described)
            for place, described in enumerate(components)
        ]

    def __repr__(self) -> str:
        return f"<Tensor {self.name!r} {self.format} {self.dtype} {self.shape}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _tensor, (self._file, self.name)

    @property
    def components(self) -> Mapping[str, Component]:
        """Its components by their roles, in the order of the file."""
        return MappingProxyType({component.role: component for component in self._components})

    @property
    def dtype(self) -> str | None:
        """What its elements are: ``"f32"``, ``"bf16"``, ``"f8_e4m3fn"``, ``"complex64"``, ... Of a
        sparse tensor, its values. None where components are not elements of the tensor."""
        return next((c.dtype for c in self._components if c.role in ("data", "values")), None)

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements it has, zeros that are not stored included."""
        return _types.product(self.shape)

    @property
    def nbytes(self) -> int | None:
        """Bytes of its components once decoded. None where only decoding tells."""
        lengths = [component.nbytes for component in self._components]
        return sum(length for length in lengths if length is not None) if None not in lengths else None

    @property
    def attributes(self) -> dict[str, Any]:
        """Its attributes. Integers, floats, texts, bytes, lists, dictionaries, ``True``, ``False`` and
        ``None`` are Python's; :class:`zten.Tag`, :class:`zten.Simple` and :class:`zten.Entries` stand
        for the rest of CBOR."""
        return self._file._reader.attributes(self._ordinal)

    @property
    def is_sparse(self) -> bool:
        """Whether :meth:`scipy` reads it."""
        return self.format in _CSR or self.format in _COO

    @property
    def quantization(self) -> dict[str, Any] | None:
        """``bits``, ``group_size`` and ``packing`` of a ``quantized_group``; ``axis`` and
        ``block_size`` of a ``zt.mx/1``; None of anything else.

        Raises:
            ValueError: the attributes are missing or not known.
        """
        return self._file._reader.quantization(self._ordinal)

    def verify(self) -> None:
        """Reads all of it, and validates what opening does not: digests, compression, bools, indices.

        Raises:
            Refused, Unsupported, LimitExceeded: as the content asks for.
        """
        self._file._reader.verify_object(self._ordinal)

    def numpy(self, *, verify: bool | None = None) -> Array:
        """A dense tensor as an array, in row-major order.

        The array owns its memory and can be written to, unless the file was opened with ``map=True``:
        then it is a read-only view of the map, where the elements lie there as they are (raw,
        little-endian, no bools, not two to a byte).

        ``verify`` is what the file was opened with, by default true. With ``verify=False`` digests of
        raw components are not compared; what is compressed is verified always.

        bf16, FP8 and FP4 have the dtypes of :mod:`ml_dtypes`.

        Raises:
            TypeError: it is not dense.
            Refused, Unsupported, LimitExceeded: as the content asks for.
        """
        verify = self._file._verify if verify is None else verify
        element = self._elements()
        data = self._data
        shape = self.shape
        if element == "f4_e2m1":
            return _types.unpack(self._content(data, verify), self.size).reshape(shape)
        if data._direct and self._file._map and self.size:
            if verify:
                self.verify()
            return self._file._view(shape, element, data.offset)
        data._admit()
        array = _types.empty(shape, _types.numpy_dtype(element))
        self._fill(_types.as_bytes(array), verify)
        if element == "bool":
            _truth(array)
        return array

    def torch(self, *, verify: bool | None = None, device: Any = "cpu") -> Any:
        """A dense tensor as a :class:`torch.Tensor`, in memory of its own. As :meth:`numpy`.

        Of a file that was opened with ``map=True`` it is a view of a map whose pages are copied when
        they are written to: what is written never reaches the file.

        ``f4_e2m1`` has no element in PyTorch: :meth:`numpy` unpacks it.

        Raises:
            TypeError: it is not dense, or this version of PyTorch has no such type.
            Refused, Unsupported, LimitExceeded: as the content asks for.
        """
        import torch

        verify = self._file._verify if verify is None else verify
        element = self._elements()
        dtype = _types.torch_dtype(element)
        data = self._data
        if not self.size:
            self._content(data, verify)
            return torch.empty(self.shape, dtype=dtype, device=device)
        if data._direct and self._file._map:
            if verify:
                self.verify()
            flat = torch.frombuffer(
                self._file._buffer(writable=True), dtype=dtype, count=self.size, offset=data.offset
            )
        else:
            content = self._content(data, verify)
            if element == "bool":
                _truth(content.view(np.bool_))
            flat = torch.frombuffer(content, dtype=dtype)
        return flat.reshape(self.shape).to(device)

    def scipy(self) -> Any:
        """A sparse tensor as :class:`scipy.sparse.csr_array` or :class:`scipy.sparse.coo_array`: all
        of it read, its indices validated, and verified by its digests.

        Values of f16, bf16, FP8 and FP4 become ``float32``, which holds all of them: SciPy has no
        arrays of these types.

        Raises:
            TypeError: it is not sparse.
            OverflowError: a dimension is 2**63 or more.
            Refused, Unsupported, LimitExceeded: as the content asks for.
        """
        if not self.is_sparse:
            raise TypeError(f"{self.name!r} is {self.format}, and not sparse")
        if any(dimension >= 1 << 63 for dimension in self.shape):
            raise OverflowError(f"SciPy has no array of shape {self.shape}")
        import scipy.sparse

        parts = self._whole()
        if self.format in _CSR:
            indices, indptr = (_indices(*parts[role]) for role in ("indices", "indptr"))
            values = _values(*parts["values"], count=len(indices))
            return scipy.sparse.csr_array((values, indices, indptr), shape=self.shape)
        coords = _indices(*parts["coords"])
        count = len(coords) // self.ndim
        values = _values(*parts["values"], count=count)
        return scipy.sparse.coo_array(
            (values, tuple(coords.reshape(self.ndim, count))), shape=self.shape
        )

    def dequantize(self) -> npt.NDArray[np.float32]:
        """The values of a quantized tensor as an array of ``float32``, in row-major order.

        Raises:
            TypeError: it is of another format.
            ValueError: the attributes are missing or not known, or do not fit the components.
            Refused, Unsupported, LimitExceeded: as the content asks for.
        """
        if self.quantization is None:
            raise TypeError(f"{self.name!r} is {self.format}, and not quantized")
        for component in self._components:
            component._admit()
        array = _types.empty(self.shape, np.dtype(np.float32))
        self._file._reader.dequantize(self._ordinal, array)
        return array

    def __getitem__(self, index: Index) -> Slice:
        """A part of a dense tensor: integers, slices and an ellipsis, as of an array."""
        self._elements()
        return Slice(self, select(index, self.shape))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> Array:
        return _converted(self.numpy(), dtype, copy)

    def _elements(self) -> str:
        """The type that a dense tensor's elements are read as."""
        if self.format != "dense":
            how = "dequantize()" if self.format in ("quantized_group", "zt.mx/1") else "components"
            how = "scipy()" if self.is_sparse else how
            raise TypeError(f"{self.name!r} is {self.format!r}, and not dense: see {how}")
        data = self._data
        if data._read_as is None:
            # It says what is not supported.
            data.tobytes()
            raise Unsupported(f"elements of type {data.dtype!r} cannot be read")
        if data.dtype != data._read_as and data.nbytes != (
            self.size * _types.numpy_dtype(data._read_as).itemsize
        ):
            raise TypeError(
                f"what elements of type {data.dtype!r} take is not known: "
                f"components[{data.role!r}] has what they are stored as"
            )
        return data._read_as

    @property
    def _data(self) -> Component:
        """What holds the elements of a dense tensor, which opening has found to be there."""
        return next(component for component in self._components if component.role == "data")

    def _fill(self, content: Bytes, verify: bool) -> None:
        reader = self._file._reader
        if verify or self._data.encoding != "raw":
            reader.read([self._data._place], [content])
        else:
            reader.read_slice(self._ordinal, [], content)

    def _content(self, data: Component, verify: bool) -> Bytes:
        """The decoded bytes of a dense tensor."""
        if verify or data._read_as == "f4_e2m1" or data.nbytes is None:
            return data._raw()
        data._admit()
        content = np.empty(data.nbytes, np.uint8)
        self._fill(content, verify)
        return content

    def _sliced(self, selection: Selection, verify: bool) -> Array:
        element = self._elements()
        if element == "f4_e2m1":
            # Two share a byte: they are taken apart first.
            ranges = tuple(slice(*ends) for ends in selection.ranges)
            whole = self.numpy(verify=True)
            return np.asarray(whole[ranges][selection.rest])
        if verify:
            self.verify()
        array = _types.empty(selection.read_shape, _types.numpy_dtype(element))
        self._file._reader.read_slice(self._ordinal, selection.ranges, _types.as_bytes(array))
        if element == "bool":
            _truth(array)
        return np.asarray(array[selection.rest])

    def _whole(self) -> dict[str, tuple[str, Bytes]]:
        """All components, read and validated together: what each is, and its content."""
        arrays: list[Bytes | None] = []
        for component in self._components:
            component._admit()
            length = component.nbytes
            arrays.append(None if length is None else np.empty(length, np.uint8))
        grown = self._file._reader.read_object(self._ordinal, arrays)
        whole = {}
        for component, array, content in zip(self._components, arrays, grown, strict=True):
            if array is None:
                array = np.frombuffer(bytearray(content or b""), np.uint8)
            whole[component.role] = (str(component._read_as), array)
        return whole


class _Names(KeysView[str]):
    """The names of the objects, which are made all at once."""

    _mapping: Mapping[str, Any]

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping)


class File(Mapping[str, Tensor]):
    """An open file: a mapping from the names of its objects to :class:`Tensor`.

    Made by :func:`zten.open`. Opening has validated every rule that the manifest can be validated by,
    and read no data. It is a context manager; arrays that have been read, and views of a map, outlive
    it. It may be used by several threads at a time, and the interpreter's lock is released while
    bytes are read, verified and decoded. One that was opened by its path can be pickled: it is opened
    again where it is unpickled.
    """

    __slots__ = ("_arguments", "_map", "_maps", "_reader", "_source", "_verify")

    def __init__(
        self,
        source: Source,
        *,
        map: bool = False,
        verify: bool = True,
        limits: Mapping[str, int] | None = None,
        tolerate: Iterable[str] = (),
        canonical: bool = False,
        shards: bool = True,
    ) -> None:
        self._arguments: dict[str, Any] = {
            "map": map,
            "verify": verify,
            "limits": dict(limits or {}),
            "tolerate": [tolerate] if isinstance(tolerate, str) else list(tolerate),
            "canonical": canonical,
            "shards": shards,
        }
        self._source = frozen(source)
        self._map = map
        self._verify = verify
        self._maps: dict[bool, mmap.mmap | bytes | bytearray] = {}
        self._reader = Reader(
            self._source, strictness(limits, self._arguments["tolerate"], canonical, shards)
        )
        if map and not isinstance(self._source, bytes) and self._reader.descriptor() is None:
            self.close()
            raise ValueError("map=True maps files that are opened by their path, or views bytes")

    def __getitem__(self, name: str) -> Tensor:
        """The object of that name. A :class:`KeyError` says which name is nearest."""
        return Tensor(self, self._reader.require(name))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._reader.has(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._reader.names())

    def __len__(self) -> int:
        return len(self._reader)

    def keys(self) -> KeysView[str]:
        """The names of the objects, in the order of the file."""
        return _Names(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        name = self._source if isinstance(self._source, (str, os.PathLike)) else "in memory"
        if self._reader.closed:
            return f"<File {name!s} closed>"
        return f"<File {name!s} generation={self.generation} objects={len(self)}>"

    def __enter__(self) -> File:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if not isinstance(self._source, (str, os.PathLike)):
            raise TypeError("only a file that was opened by its path can be pickled")
        return _open, (os.fspath(self._source), self._arguments)

    def close(self) -> None:
        """Closes the file. Arrays stay; tensors of it can no longer be read. A map, and with it the
        file's descriptor before Python 3.13, goes with the last array that is a view of it."""
        self._reader.close()
        self._maps.clear()

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._reader.closed

    @property
    def generation(self) -> str:
        """Which rules it follows: ``"0.1"``, ``"1.1"``, ``"1.2"`` or ``"2"``."""
        return self._reader.generation

    @property
    def version(self) -> str | None:
        """The version that a file of 1.x names."""
        return self._reader.version

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the file, as :attr:`Tensor.attributes`."""
        return self._reader.attributes()

    @property
    def is_data_shard(self) -> bool:
        """Whether it is a file of generation 2 that holds blobs for other files, and lists nothing."""
        return self._reader.is_data_shard

    @property
    def shards(self) -> list[tuple[str, int, str]]:
        """The other files that parts of it are in, each with its bytes and digest. They are looked
        for beside it, as ``STEM-NAME.zt``, unless it was opened with ``shards=False``."""
        return self._reader.shards()

    def verify(self) -> tuple[int, int]:
        """Reads all of it, its shards too, and validates what opening does not. How many components
        were read, and how many of them have a digest, all of which match.

        Raises:
            Refused, Unsupported, LimitExceeded: as the content asks for.
        """
        return self._reader.verify()

    def _buffer(self, *, writable: bool = False) -> mmap.mmap | bytes | bytearray:
        """All bytes of the file, as they lie."""
        buffer = self._maps.get(writable)
        if buffer is None:
            buffer = self._mapped(writable)
            if len(buffer) < self._reader.length:
                raise OSError("the file became shorter while it was read")
            self._maps[writable] = buffer
        return buffer

    def _mapped(self, writable: bool) -> mmap.mmap | bytes | bytearray:
        if isinstance(self._source, bytes):
            return bytearray(self._source) if writable else self._source
        descriptor = self._reader.descriptor()
        assert descriptor is not None
        access = mmap.ACCESS_COPY if writable else mmap.ACCESS_READ
        if sys.version_info >= (3, 13):
            # The map needs the file no longer.
            return mmap.mmap(descriptor, 0, access=access, trackfd=False)
        return mmap.mmap(descriptor, 0, access=access)

    def _view(self, shape: tuple[int, ...], element: str, offset: int) -> Array:
        """Elements where they lie, which opening has shown to be in the file: NumPy holds them against
        the buffer again."""
        buffer = self._buffer()
        try:
            return np.ndarray(shape, _types.numpy_dtype(element), buffer, offset)
        except ValueError as error:
            raise OverflowError(f"NumPy has no array of shape {shape}: {error}") from None


def open(
    source: Source,
    *,
    map: bool = False,
    verify: bool = True,
    limits: Mapping[str, int] | None = None,
    tolerate: Iterable[str] = (),
    canonical: bool = False,
    shards: bool = True,
) -> File:
    """Opens a zTensor file of any generation: 0.1, 1.1, 1.2 or 2.

    Every rule that the manifest can be validated by is validated, and no data is read: names, types,
    shapes, sizes, and that every blob lies in the file. Data is read, verified and decoded when it is
    asked for.

    Args:
        source: a path, ``bytes`` or another buffer (which is copied, unless it is ``bytes``), or an
            object with ``read`` and ``seek``.
        map: dense arrays are views of a memory map, where elements lie there as they are. This is for
            files that no other process changes: an array changes when its file does, whatever was
            verified before, and a file that is cut kills the process that touches what was there. Of
            ``bytes``, arrays are views of them.
        verify: whether :meth:`Tensor.numpy` and :meth:`Tensor.torch` compare digests. With
            ``map=True`` this reads all of a tensor once; ``verify=False`` reads nothing before it is
            used.
        limits: what to change of the limits: ``manifest``, ``depth``, ``rank``, ``keys``,
            ``shards``, ``window``, ``decoded``, ``decoded-total``.
        tolerate: kinds of files to accept that are refused by default: ``narrow-indices``,
            ``shared-blobs``, ``missing-zeros``.
        canonical: accept no other than the canonical form.
        shards: look for the shards of a file of generation 2 beside it.

    Raises:
        Refused, Unsupported, LimitExceeded: as the manifest asks for.
        OSError: the file cannot be read.
    """
    return File(
        source,
        map=map,
        verify=verify,
        limits=limits,
        tolerate=tolerate,
        canonical=canonical,
        shards=shards,
    )


def _open(path: str, arguments: dict[str, Any]) -> File:
    return File(path, **arguments)


def _tensor(file: File, name: str) -> Tensor:
    return file[name]


def _converted(array: Array, dtype: npt.DTypeLike | None, copy: bool | None) -> Array:
    """What ``np.asarray`` asks for: the array is new, and need not be copied."""
    if copy is False:
        raise ValueError("the elements have to be read into memory: copy=False is not possible")
    return array if dtype is None else array.astype(dtype, copy=False)


def _truth(array: Array) -> None:
    """Makes 1 of what is not 0: bools of 0.1 are any byte."""
    codes = array.view(np.uint8)
    np.not_equal(codes, 0, out=array)


def _to_torch(element: str, array: Array, device: Any) -> Any:
    import torch

    dtype = _types.torch_dtype(element)
    if not array.size:
        return torch.empty(array.shape, dtype=dtype, device=device)
    content = _types.as_bytes(np.array(array, order="C", copy=True))
    return torch.frombuffer(content, dtype=dtype).reshape(array.shape).to(device)


def _indices(element: str, content: Bytes) -> Array:
    """Indices as SciPy takes them. They have been found to be less than 2**63, and not negative."""
    array = content.view(_types.numpy_dtype(element))
    if element in ("i32", "i64"):
        return array
    return array.view(np.int64) if element == "u64" else array.astype(np.int64)


def _values(element: str, content: Bytes, *, count: int) -> Array:
    """Values as SciPy takes them."""
    if element == "f4_e2m1":
        return _types.unpack(content, count).astype(np.float32)
    if element == "bool":
        return _types.truth(content)
    array = content.view(_types.numpy_dtype(element))
    is_native = element in ("f32", "f64", "complex64", "complex128") or element[0] in "iu"
    return array if is_native else array.astype(np.float32)
