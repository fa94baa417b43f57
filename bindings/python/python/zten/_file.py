"""Open files."""

from __future__ import annotations

import errno
import mmap
import os
import sys
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import IO, TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from . import _types, _zten
from ._errors import NO_ARRAY, no_array_error
from ._tensor import Tensor
from ._types import Array
from ._zten import Reader

if TYPE_CHECKING:
    from ._zten import _Digests, _Strictness

Source: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes]
"""The types that a file is read from."""

Limits: TypeAlias = Mapping[str, int | str]
"""Limits by their names: numbers, or sizes as text: ``{"decoded": "8GiB"}``."""

Digests: TypeAlias = str | os.PathLike[str] | bytes | Mapping[str, str | Mapping[str, str]]
"""A list of digests: its path, its text, or SHA-256 digests by the names of tensors."""


def strictness(
    limits: Limits | None,
    tolerate: Iterable[str],
    canonical: bool = False,
    shards: bool = True,
) -> _Strictness:
    """The strictness, as the native module takes it."""
    if isinstance(tolerate, str):
        tolerate = [tolerate]
    if limits is not None and not isinstance(limits, Mapping):
        raise TypeError(f'limits is {limits!r}, expected a mapping such as {{"decoded": "8GiB"}}')
    sizes = {name: _size(name, value) for name, value in (limits or {}).items()}
    return sizes, list(tolerate), canonical, shards


def _size(name: str, value: int | str) -> int:
    """A limit, as the native part takes it."""
    if isinstance(value, str):
        try:
            return _zten.size(value)
        except ValueError as error:
            raise ValueError(f"limit {name!r}: {error}") from None
    expected = f'limit {name!r} is {value!r}, expected a number of bytes, or a text such as "8GiB"'
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(expected)
    if not 0 <= value.__index__() < 1 << 64:
        raise ValueError(expected)
    return value.__index__()


def frozen(source: Source) -> Any:
    """Returns an immutable source: a buffer that may change is copied."""
    if isinstance(source, (bytearray, memoryview)):
        return bytes(source)
    return source


def listed(digests: Digests | None) -> _Digests | None:
    """A list of digests, as the native part takes it."""
    if isinstance(digests, Mapping):
        return {n: d if isinstance(d, str) else dict(d) for n, d in digests.items()}
    if isinstance(digests, str) and digests.startswith("# zten digests "):
        return digests.encode()
    return digests


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

    __slots__ = ("_digests", "_map", "_maps", "_reader", "_source", "_strictness", "_verify")

    def __init__(
        self,
        source: Source,
        how: _Strictness,
        map: bool,
        verify: bool,
        digests: _Digests | None = None,
    ) -> None:
        self._source = frozen(source)
        self._strictness = how
        self._map = map
        # Listed components are always compared.
        self._verify = verify or digests is not None
        self._digests = digests
        self._maps: dict[bool, mmap.mmap | bytes | bytearray] = {}
        self._reader = Reader(self._source, how, digests)
        if map and not isinstance(self._source, bytes) and not self._reader.is_mappable:
            self.close()
            raise ValueError("map=True maps files that are opened by their path, or views bytes")

    def __getitem__(self, name: str) -> Tensor:
        """The object of that name. A :class:`KeyError` says which name is nearest."""
        if not isinstance(name, str):
            raise TypeError(f"file[{name!r}]: expected the name of a tensor; list(file) has all names")
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
        name = self._reader.path or "in memory"
        if self._reader.closed:
            return f"<File {name!s} closed>"
        kind = self.format if self.generation is None else f"{self.format} {self.generation}"
        return f"<File {name!s} {kind} objects={len(self)}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if not isinstance(self._source, (str, os.PathLike)):
            raise TypeError("only a file that was opened by its path can be pickled")
        source, map, verify = os.fspath(self._source), self._map, self._verify
        return File, (source, self._strictness, map, verify, self._digests)

    def close(self) -> None:
        """Closes the file. Arrays stay; tensors of it can no longer be read. A map, and with it the
        file's descriptor before Python 3.13, goes with the last array that is a view of it."""
        self._reader.close()
        self._maps.clear()

    @property
    def closed(self) -> bool:
        """True if the file is closed."""
        return self._reader.closed

    @property
    def format(self) -> str:
        """The format: ``"ztensor"``, ``"safetensors"``, ``"safetensors-index"``, ``"gguf"``, ``"npy"``,
        ``"npz"`` or ``"torch"``."""
        return self._reader.format

    @property
    def generation(self) -> str | None:
        """The generation of zTensor that it follows: ``"0.1"``, ``"1.1"``, ``"1.2"`` or ``"2"``.
        None for a file of another format."""
        return self._reader.generation

    @property
    def version(self) -> str | None:
        """The version that a file of 1.x names."""
        return self._reader.version

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the file, as :attr:`Tensor.attributes`: of safetensors its ``__metadata__``, of GGUF
        its metadata."""
        return self._reader.attributes()

    @property
    def is_data_shard(self) -> bool:
        """True for a file of generation 2 that holds blobs for other files, and lists nothing."""
        return self._reader.is_data_shard

    @property
    def shards(self) -> list[tuple[str, int, str | None]]:
        """The other files that parts of it are in, each with its bytes and digest; those that an index of
        safetensors names have no digest. They are looked for beside it, of a zTensor file as
        ``STEM-NAME.zt``, unless it was opened with ``shards=False``."""
        return self._reader.shards()

    def verify(self) -> tuple[int, int]:
        """Reads all of it, its shards too, and validates what opening does not. How many components
        were read, and how many of them have a digest, all of which match. With a list of digests, all is
        compared with that.

        Raises:
            Invalid, Unsupported, LimitExceeded: as the content asks for.
        """
        return self._reader.verify()

    def _verifies(self, verify: bool | None) -> bool:
        """Returns True if a tensor is verified as it is read, if ``verify`` is set."""
        return self._verify if verify is None or self._digests is not None else verify

    def _buffer(self, *, writable: bool = False) -> mmap.mmap | bytes | bytearray:
        """All bytes of the file, as they lie."""
        buffer = self._maps.get(writable)
        if buffer is None:
            buffer = self._mapped(writable)
            if len(buffer) < self._reader.length:
                path = self._reader.path
                raise OSError(errno.EIO, "the file became shorter while it was read", path)
            self._maps[writable] = buffer
        return buffer

    def _mapped(self, writable: bool) -> mmap.mmap | bytes | bytearray:
        if isinstance(self._source, bytes):
            return bytearray(self._source) if writable else self._source
        access = mmap.ACCESS_COPY if writable else mmap.ACCESS_READ
        descriptor = self._reader.descriptor()
        assert descriptor is not None
        try:
            if sys.version_info >= (3, 13):
                # The map needs the file no longer.
                return mmap.mmap(descriptor, 0, access=access, trackfd=False)
            return mmap.mmap(descriptor, 0, access=access)
        finally:
            os.close(descriptor)

    def _view(self, name: str, shape: tuple[int, ...], element: str, offset: int) -> Array:
        """Elements of an object where they lie, which opening has shown to be in the file: NumPy holds them
        against the buffer again."""
        buffer = self._buffer()
        try:
            return np.ndarray(shape, _types.numpy_dtype(element), buffer, offset)
        except NO_ARRAY as error:
            what = f"NumPy has no array of shape {shape}"
            raise no_array_error(error, what, name, self._reader.path) from None


def open(
    source: Source,
    *,
    map: bool = False,
    verify: bool = True,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
    canonical: bool = False,
    shards: bool = True,
    digests: Digests | None = None,
) -> File:
    """Opens a file of any format that is read: zTensor of any generation (0.1, 1.1, 1.2 or 2), safetensors,
    an index of several safetensors files, whose files lie beside it (``*.index.json``), GGUF, ``.npy``, ``.npz`` or a
    checkpoint of PyTorch, of which nothing is executed.
    The first bytes tell the format, and only where they do not, the name; ``bytes`` and objects have none.

    Every rule that the manifest or header can be validated by is validated, and no data is read: names, types,
    shapes, sizes, and that every blob lies in the file. Data is read, verified and decoded when it is
    asked for.

    Args:
        source: a path, or a name that begins with ``http://``, ``https://`` or ``s3://``, where that was
            built in (``docs/remote.md``); ``bytes``; a ``bytearray`` or ``memoryview``, which is copied; or an object
            with ``read`` and ``seek``.
        map: dense arrays are views of a memory map, where elements lie there as they are. This is for
            files that no other process changes: an array changes when its file does, whatever was
            verified before, and a file that is cut kills the process that touches what was there. Of
            ``bytes``, arrays are views of them.
        verify: whether :meth:`Tensor.numpy` and :meth:`Tensor.torch` compare digests. With
            ``map=True`` this reads all of a tensor once; ``verify=False`` reads nothing before it is
            used.
        limits: what to change of the limits: ``manifest``, ``depth``, ``rank``, ``keys``,
            ``shards``, ``window``, ``decoded``, ``decoded-total``; sizes also as text, ``"8GiB"``.
        tolerate: kinds of files to accept that are rejected by default: ``narrow-indices``,
            ``shared-blobs``, ``missing-zeros``.
        canonical: accept no other than the canonical form.
        shards: look for the shards of a file of generation 2 beside it, and for the files of an index.
        digests: a list that ``zten hash`` has printed (``docs/digests.md``): its path; its text, as ``bytes``, or as
            a ``str`` that begins with its first line; or a mapping of names to SHA-256 digests, of a tensor with
            several components by their roles. Every tensor that is read is compared with it, whatever ``verify``
            says: of a part, or of a view of a map, the whole tensor is read and compared before, once.
            :class:`Invalid` has the tensor and the rule: ``list-changed``, or ``list-added`` for one that is
            not listed. :meth:`File.verify` compares all, and finds what is missing (``list-missing``), too.

    Raises:
        Invalid, Unsupported, LimitExceeded: as the manifest asks for.
        OSError: the file cannot be read.
        ValueError: ``digests`` is no list of digests.
    """
    how = strictness(limits, tolerate, canonical, shards)
    return File(source, how, map, verify, listed(digests))
