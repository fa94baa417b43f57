"""The class of open files, and :func:`zten.open`, which opens files of all formats."""

from __future__ import annotations

import errno
import mmap
import os
import sys
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from . import _html, _types, _zten
from ._errors import MissingTensor, unserved
from ._paths import Source, is_path, local, open_remote, resolved
from ._tensor import Tensor
from ._types import Array
from ._zten import Reader

if TYPE_CHECKING:
    from ._report import Summary
    from ._zten import _Digests, _Strictness

Limits: TypeAlias = Mapping[str, int | str]
"""Limits by their names, as numbers or sizes: ``{"decoded": "8GiB"}``."""

Digests: TypeAlias = str | os.PathLike[str] | bytes | Mapping[str, str | Mapping[str, str]]
"""A list of digests: its path, its text, or SHA-256 digests by the names of tensors."""


def strictness(
    limits: Limits | None,
    tolerate: Iterable[str],
    canonical: bool = False,
    shards: bool = True,
) -> _Strictness:
    """Converts the options for opening a file, which are those of :func:`zten.open`, to the tuple that the native module takes."""
    if isinstance(tolerate, str):
        tolerate = [tolerate]
    if limits is not None and not isinstance(limits, Mapping):
        raise TypeError(f'limits is {limits!r}, expected a mapping such as {{"decoded": "8GiB"}}')
    sizes = {name: _size(name, value) for name, value in (limits or {}).items()}
    return sizes, list(tolerate), canonical, shards


def _size(name: str, value: int | str) -> int:
    """Converts ``value``, the limit ``name``, to a number. A text may have a unit: ``"8GiB"``."""
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


def listed(digests: Digests | None) -> _Digests | None:
    """Converts a list of digests, which is given as for :func:`zten.open`, to what the native module takes; None stays None."""
    if isinstance(digests, Mapping):
        return {n: d if isinstance(d, str) else dict(d) for n, d in digests.items()}
    if isinstance(digests, str) and digests.startswith("# zten digests "):
        return digests.encode()
    return resolved(digests) if isinstance(digests, (str, os.PathLike)) else digests


class _Names(KeysView[str]):
    """The names of the objects of a file, as :meth:`File.keys` returns them. Iterating over them creates all names in one native
    call, which is faster than a call for each."""

    _mapping: Mapping[str, Any]

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping)


class File(Mapping[str, Tensor]):
    """An open file: a mapping from the names of its objects to :class:`Tensor`.

    :func:`zten.open` returns a file after it has validated all rules about the manifest, without reading data. A file is a
    context manager. Arrays that have been read, and views of a map, stay valid after the file is closed. Several threads may
    use a file at the same time, and the interpreter's lock is released while bytes are read, verified and decoded. A file that
    was opened by its path can be pickled: unpickling opens the path again.
    """

    __slots__ = ("_conventions", "_digests", "_map", "_maps", "_opened", "_reader", "_source", "_strictness", "_verify")

    def __init__(
        self,
        source: Source,
        how: _Strictness,
        map: bool,
        verify: bool,
        digests: _Digests | None = None,
        conventions: bool = False,
    ) -> None:
        self._source = local(source)
        self._strictness = how
        self._map = map
        # With a list of digests, each tensor that is read is compared with the list, whatever `verify` is.
        self._verify = verify or digests is not None
        self._digests = digests
        # True if the codes and scales of a quantized tensor, which the file stores as several tensors, are shown as one tensor.
        self._conventions = conventions
        self._maps: dict[bool, mmap.mmap | bytes | bytearray] = {}
        # The file of fsspec that was opened for this object, and is closed with it.
        self._opened = open_remote(self._source)
        try:
            read = self._source if self._opened is None else self._opened
            self._reader = Reader(read, how, digests, conventions)
        except BaseException:
            if self._opened is not None:
                self._opened.close()
            raise
        if map and not isinstance(self._source, bytes) and not self._reader.is_mappable:
            self.close()
            raise ValueError("map=True maps files that are opened by their path, or views bytes")

    def __getitem__(self, name: str) -> Tensor:
        """Returns the object ``name``. :class:`MissingTensor`, which is a :class:`KeyError` too, suggests the most similar
        name."""
        if not isinstance(name, str):
            raise TypeError(f"file[{name!r}]: expected the name of a tensor; list(file) has all names")
        try:
            return Tensor(self, self._reader.require(name))
        except KeyError as error:
            raise MissingTensor(str(error.args[0]), object=name, file=self._reader.path) from None

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
        return f"<File {name!s} {kind} tensors={len(self)}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._opened is None and not is_path(self._source):
            raise TypeError("only a file that was opened by its path, or a file of fsspec that was not open yet, can be pickled")
        source = os.fspath(self._source) if self._opened is None else self._source
        map, verify = self._map, self._verify
        return File, (source, self._strictness, map, verify, self._digests, self._conventions)

    def close(self) -> None:
        """Closes the file. Arrays stay valid, and tensors of the file can no longer be read. A map is released with the last
        array that is a view of it, and so is the file's descriptor before Python 3.13."""
        self._reader.close()
        self._maps.clear()
        if self._opened is not None:
            self._opened.close()

    @property
    def closed(self) -> bool:
        """True if the file is closed."""
        return self._reader.closed

    @property
    def format(self) -> str:
        """The format: ``"ztensor"``, ``"safetensors"``, ``"safetensors-index"``, ``"gguf"``, ``"npy"``,
        ``"npz"``, ``"torch"`` or ``"torch-index"``."""
        return self._reader.format

    @property
    def generation(self) -> str | None:
        """The generation of a zTensor file: ``"0.1"``, ``"1.1"``, ``"1.2"`` or ``"2"``.
        None for a file of another format."""
        return self._reader.generation

    @property
    def version(self) -> str | None:
        """The version number that a zTensor file of generation 1.x has in its header, such as ``"1.2.0"``; None for other files."""
        return self._reader.version

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the file, with the types of :attr:`Tensor.attributes`: the ``__metadata__`` of safetensors, and
        the metadata of GGUF."""
        return self._reader.attributes()

    @property
    def is_data_shard(self) -> bool:
        """True for a file of generation 2 that has blobs for other files, and no objects."""
        return self._reader.is_data_shard

    @property
    def shards(self) -> list[tuple[str, int, str | None]]:
        """The shards of the file: the name, the number of bytes and the digest of each. Files that an index of safetensors
        lists have no digest. Shards are looked for in the folder of the file, those of a zTensor file as ``STEM-NAME.zt``,
        unless it was opened with ``shards=False``."""
        return self._reader.shards()

    def summary(self) -> Summary:
        """Returns the totals of the file: the numbers of tensors, parameters and bytes, by dtype. No data is read."""
        from ._report import summary

        return summary(self)

    def identity(self) -> str:
        """Reads and verifies all of the file, and returns the SHA-256 of its list of digests, as ``zten hash --id`` does: the
        same 64 digits for the same tensors in any format, order and sharding. The codes and scales of a quantized tensor count as
        the tensors that the file stores. If this file shows them as one tensor, it is opened a second time to compute the
        identity.

        Raises:
            Invalid, Unsupported, LimitExceeded: the content breaks a rule, or cannot be read.
        """
        reader = self._reader
        if reader.is_grouped:
            reader = Reader(self._source if self._opened is None else self._opened, self._strictness, None)
        _, identity, objects = reader.hashed()
        if identity is None:
            unread = next(name for name, components in objects if any(one[3] is None for one in components))
            raise unserved("it cannot be read, so the file has no identity", unread, file=self._reader.path)
        return identity

    def _repr_html_(self) -> str:
        """Returns a table of the tensors as HTML, which notebooks show. Names of the file are escaped."""
        if self._reader.closed:
            return _html.text(repr(self))
        tensors = (Tensor(self, ordinal) for ordinal in range(len(self)))
        rows = ([tensor.name, tensor._kind, list(tensor.shape), tensor.state] for tensor in tensors)
        return _html.table(["tensor", "type", "shape", "state"], rows, len(self), f"{self!r}: {self.summary()}")

    def verify(self) -> tuple[int, int]:
        """Reads all of the file and its shards, and validates all rules about data. With a list of digests, all components
        are compared with the list.

        Returns:
            The number of components, and the number of components with a digest. All digests match.

        Raises:
            Invalid, Unsupported, LimitExceeded: the content breaks a rule, or cannot be read.
        """
        return self._reader.verify()

    def _verifies(self, verify: bool | None) -> bool:
        """Returns whether a call with the argument ``verify`` verifies the tensor that it reads. None means the option ``verify``
        of :func:`zten.open`. With a list of digests the result is always true."""
        return self._verify if verify is None or self._digests is not None else verify

    def _buffer(self, *, writable: bool = False) -> mmap.mmap | bytes | bytearray:
        """Returns all bytes of the file: a memory map, or the bytes of the source. A writable map is copy-on-write."""
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
                # With `trackfd=False`, the map does not keep a duplicate of the descriptor.
                return mmap.mmap(descriptor, 0, access=access, trackfd=False)
            return mmap.mmap(descriptor, 0, access=access)
        finally:
            os.close(descriptor)

    def _view(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], offset: int) -> Array:
        """Returns an array of ``shape`` and ``dtype`` that is a view of the memory map, from byte ``offset`` on: the elements of
        the tensor ``name``. When the file was opened, zten checked that these bytes are within the file. NumPy checks them
        against the length of the map again."""
        return _types.viewed(self._buffer(), offset, name, shape, dtype, self._reader)


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
    conventions: bool | None = None,
) -> File:
    """Opens a file of any format that zten reads: zTensor of the generations 0.1, 1.1, 1.2 and 2, safetensors, an index of
    several safetensors files in the same folder (``*.index.json``), GGUF, ``.npy``, ``.npz``, or a checkpoint of PyTorch, whose
    pickle is parsed without executing it. The first bytes decide the format, and the name of the file if they do not; ``bytes``
    and objects have no name.

    All rules about the manifest or header are validated: names, dtypes, shapes, sizes, and that each blob is within the file.
    No data is read before a tensor is, except the shapes of some quantized tensors: see ``conventions``.

    Args:
        source: a path of a file, or of a folder with one model, which may begin with ``~`` or ``file://``; a URL that begins
            with ``http://``, ``https://``, ``s3://`` or ``hf://``, if the package was built with remote files
            (``docs/remote.md``); ``bytes``; a ``bytearray`` or ``memoryview``, which is copied; an object with ``read`` and ``seek``, such as
            ``fs.open(path)`` of fsspec; or ``fsspec.open(url)``, which is opened and closed with the file.
        map: return dense arrays as views of a memory map, or of ``bytes``, if their elements are stored as they are read. Use
            it only for files that no other process changes: an array changes with its file even after verification, and
            reading beyond the end of a truncated file kills the process.
        verify: whether :meth:`Tensor.numpy` and :meth:`Tensor.torch` compare digests. With ``map=True`` each tensor is then
            read once as a whole; with ``verify=False`` only the pages that are used are read.
        limits: the limits that differ from their defaults: ``manifest``, ``depth``, ``rank``, ``keys``, ``shards``, ``window``,
            ``decoded``, ``decoded-total``. Sizes may be text: ``"8GiB"``.
        tolerate: faults to accept that are rejected by default: ``narrow-indices``, ``shared-blobs``, ``missing-zeros``,
            ``torch-global`` (classes that zten does not know in PyTorch checkpoints: nothing is imported, and the tensors are
            read).
        canonical: reject a file that is not in the canonical form.
        shards: look for the shards of a file of generation 2, and for the files of an index, in the same folder.
        digests: a list of digests that ``zten hash`` has printed (``docs/digests.md``): its path; its text, as ``bytes``, or as
            a ``str`` that begins with the first line of the list; or a mapping of names to SHA-256 digests, by role for a
            tensor with several components. Each tensor that is read is compared with the list, whatever ``verify`` is. Before
            a part of a tensor, or a view of a map, is returned, the whole tensor is read and compared once. :class:`Invalid`
            has the tensor and the rule ``list-changed``, or ``list-added`` for a tensor that is not in the list.
            :meth:`File.verify` also finds tensors that are missing in the file (``list-missing``).
        conventions: show tensors that a program has quantized and stored as several tensors, such as ``X_blocks`` and ``X_scales``,
            as one tensor ``X`` with these components, whose :meth:`Tensor.dequantize` returns the values (``docs/quantized.md``).
            A few conventions store the shape as a small tensor, which is read at once, except from a remote file. With False the
            file has the tensors that its header names. This is also what a list of ``digests`` names, so that the default is True
            without ``digests``, and False with them.

    Raises:
        Invalid, Unsupported, LimitExceeded: the manifest or header breaks a rule, or cannot be read.
        OSError: the file cannot be read.
        ValueError: ``digests`` is not a list of digests, or is given with ``conventions=True``; ``map`` is true for a file that
            cannot be mapped, such as a remote one; a limit or tolerance has no such name or value.
    """
    if conventions and digests is not None:
        raise ValueError("a list of digests names the tensors that the file stores: open it with conventions=False")
    conventions = digests is None if conventions is None else conventions
    how = strictness(limits, tolerate, canonical, shards)
    return File(source, how, map, verify, listed(digests), conventions)
