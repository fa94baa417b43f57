"""Loading all tensors of a file."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from . import _types
from ._errors import MissingTensor
from ._file import Digests, File, Limits, open
from ._paths import Source
from ._tensor import Tensor
from ._types import Array, Bytes

if TYPE_CHECKING:
    from ._zten import _Dense

    _Object: TypeAlias = tuple[str, tuple[int, ...], _Dense | None]

Names: TypeAlias = str | Iterable[str]
"""Names of tensors, or patterns such as ``"layers.0.*"``."""

Progress: TypeAlias = Callable[[int, int], object] | bool
"""A function that is called with the number of bytes read, and the number of all bytes; True shows them on standard error."""

# The largest number of bytes that are verified between two calls of `progress`, unless a single tensor is larger.
_STEP = 64 << 20


def selected(file: File, names: Names | None) -> list[int] | None:
    """Returns the ordinals of the tensors of ``file`` that ``names``, names or patterns, select. Returns None, which means all
    tensors, if ``names`` is None.

    Raises:
        MissingTensor: a name or pattern matches no tensor.
    """
    if names is None:
        return None
    try:
        return file._reader.select([names] if isinstance(names, str) else list(names))
    except KeyError as error:
        raise MissingTensor(str(error.args[0]), file=file._reader.path) from None


def verify(file: File, selection: list[int] | None) -> None:
    """Reads and validates the tensors of ``file`` with the ordinals ``selection``, or the whole file if ``selection`` is None."""
    if selection is None:
        file.verify()
    for ordinal in selection or ():
        file._reader.verify_object(ordinal)


def load(
    source: Source,
    *,
    map: bool | None,
    verify: bool,
    limits: Limits | None,
    tolerate: Iterable[str],
    digests: Digests | None = None,
    kind: Callable[[File, Callable[[int, int], object] | None, str | None], _Arrays] | None = None,
    names: Names | None = None,
    progress: Progress | None = None,
    dequantize: bool | str = False,
) -> dict[str, Any]:
    """Returns all tensors, or those that ``names`` selects, by their names, in the order of the file: as arrays of NumPy, or as the
    loader that ``kind`` returns makes them. If ``map`` is None, the file is mapped if it can be mapped and has nothing to verify.
    The other arguments are those of :func:`zten.numpy.load_file`."""
    wanted = ("f32" if dequantize else None) if isinstance(dequantize, bool) else _types.dtype_name(dequantize)
    if wanted not in (None, "f32", "f16", "bf16"):
        raise ValueError(f"dequantize is {dequantize!r}, expected True, or one of f32, f16 and bf16")
    with open(
        source,
        map=bool(map),
        verify=verify,
        limits=limits,
        tolerate=tolerate,
        digests=digests,
        conventions=wanted is not None and digests is None,
    ) as file:
        if wanted is not None and digests is not None and file._reader.has_groups():
            raise ValueError(
                "digests and dequantize exclude each other for this file, whose quantized tensors are stored as several "
                "tensors: load it with digests to verify it, then again without digests to dequantize it"
            )
        arrays = (kind or _Arrays)(file, shown(file, progress), wanted)
        arrays.maps_if_possible = map is None
        try:
            return arrays.all(selected(file, names))
        finally:
            if isinstance(arrays.progress, _Bar):
                arrays.progress.end()


class _Bar:
    """Shows on standard error how much of a file has been read: on a terminal while it is read, and elsewhere only at the end."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._now: tuple[int, int] | None = None
        self._shown = 0.0

    def __call__(self, done: int, total: int) -> None:
        self._now = done, total
        if sys.stderr.isatty() and time.monotonic() - self._shown >= 0.1:
            self._shown = time.monotonic()
            self._write("\r", "")

    def end(self) -> None:
        """Shows how much has been read at last, and ends the line."""
        self._write("\r" if self._shown else "", "\n")

    def _write(self, before: str, after: str) -> None:
        text = "mapped"
        if self._now is not None:
            done, total = self._now
            text = f"{100 * done // total if total else 100:3} % of {total / 1e6:,.1f} MB"
        sys.stderr.write(f"{before}{self._name}: {text}{after}")
        sys.stderr.flush()


def shown(file: File, progress: Progress | None) -> Callable[[int, int], object] | None:
    """Returns the function to call with the progress of reading ``file``: ``progress`` itself if it is a function, and a progress
    bar if it is True. Returns None if no progress is reported."""
    if not isinstance(progress, bool):
        return progress
    name = "tensors" if file._reader.path is None else os.path.basename(file._reader.path)
    return _Bar(_types.shown(name)) if progress else None


def _without_fields(listed: list[tuple[int, _Object]]) -> list[tuple[int, _Object]]:
    """Returns the tensors ``listed`` without the tensors that are fields of NumPy records. The array of the records has the
    elements of its fields too, and :func:`numpy.load` does not return fields by names of their own."""
    # A field is listed with the offset of the array of records that it is a field of.
    records = {dense[2]: name for _, (name, _, dense) in listed if dense is not None and dense[7] is not None}

    def is_field(name: str, dense: _Dense | None) -> bool:
        if dense is None or dense[7] is not None or dense[2] not in records:
            return False
        return name.startswith(f'{records[dense[2]]}["')

    return [(ordinal, one) for ordinal, one in listed if not is_field(one[0], one[2])]


class _Arrays:
    """Loads tensors as arrays of NumPy. Dense arrays are allocated first, and then filled by one parallel read."""

    def __init__(
        self, file: File, progress: Callable[[int, int], object] | None, dequantize: str | None
    ) -> None:
        self.file = file
        self.progress = progress
        # True if the file is to be mapped when it can be mapped and has nothing to verify.
        self.maps_if_possible = False
        # The dtype of the values of quantized tensors; None if they are not dequantized.
        self.dequantize = dequantize
        self.places: list[tuple[int, int]] = []
        self.contents: list[Bytes] = []
        # The arrays of bools. A file of generation 0.1 may store a true bool as any byte except 0, which `read` replaces
        # by 1.
        self.bools: list[Array] = []

    def all(self, selection: list[int] | None) -> dict[str, Any]:
        file = self.file
        listed = list(enumerate(file._reader.listing()))
        if selection is not None:
            listed = [listed[ordinal] for ordinal in selection]
        else:
            listed = _without_fields(listed)
        listing = [one for _, one in listed]
        if self.maps_if_possible:
            # If there are digests or checksums, the tensors are read and verified instead: the content of a map may change after
            # it was verified.
            is_verified = file._verify and any(dense[6] for _, _, dense in listing if dense is not None)
            file._map = file._reader.is_mappable and not is_verified
        one, total = file._reader.decoded_limits
        compressed = [d[3] or 0 for _, _, d in listing if d is not None and d[4]]
        if max(compressed, default=0) > one or sum(compressed) > total:
            # `verify` raises the error for the exceeded limit, before memory for the arrays is allocated.
            file.verify()
        elif file._map and file._verify and any(d[6] for _, _, d in listing if d is not None):
            verify(file, selection)
        tensors: dict[str, Any] = {}
        for ordinal, (name, shape, dense) in listed:
            if dense is None or dense[3] is None or dense[0] == "f4_e2m1":
                tensors[name] = self.other(Tensor(file, ordinal))
                continue
            element, place, offset, nbytes, _, direct, _, opaque = dense
            if opaque is not None:
                tensors[name] = self.opaque(Tensor(file, ordinal), bool(file._map and direct and nbytes))
            elif file._map and direct and nbytes:
                tensors[name] = self.viewed(name, shape, element, offset)
            else:
                self.places.append((ordinal, place))
                tensors[name] = self.filled(name, shape, element)
        self.read()
        return tensors

    def viewed(self, name: str, shape: tuple[int, ...], element: str, offset: int) -> Any:
        """Returns the dense tensor ``name`` as a view of the memory map, from byte ``offset`` on. ``element`` is its dtype."""
        return self.file._view(name, shape, _types.numpy_dtype(element), offset)

    def filled(self, name: str, shape: tuple[int, ...], element: str) -> Any:
        """Returns a new dense tensor of ``shape`` and the dtype ``element``. :meth:`read` reads its elements later, with those of
        all other tensors."""
        return self.empty(name, shape, element)

    def empty(self, name: str, shape: tuple[int, ...], element: str) -> Array:
        """Allocates an array of the dtype that zTensor calls ``element`` for the tensor ``name``. :meth:`read` reads its elements
        later."""
        array = self.allocated(name, shape, _types.numpy_dtype(element))
        if element == "bool":
            self.bools.append(array)
        return array

    def allocated(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Allocates an array of the NumPy dtype ``dtype`` for the tensor ``name``. :meth:`read` reads its bytes later."""
        array = _types.empty(name, shape, dtype, self.file._reader)
        self.contents.append(_types.as_bytes(array))
        return array

    def opaque(self, tensor: Tensor, is_viewed: bool) -> Any:
        """Returns an array for ``tensor``, whose elements only NumPy interprets: text, dates, records or long doubles. The array
        is a view of the memory map if ``is_viewed`` is true; otherwise :meth:`read` reads its elements later."""
        name, shape, dtype, data = tensor.name, tensor.shape, tensor._numpy_dtype(), tensor._data
        if is_viewed:
            return self.file._view(name, shape, dtype, data.offset)
        self.places.append(data._place)
        return self.allocated(name, shape, dtype)

    def other(self, tensor: Tensor) -> Any:
        """Reads and returns a tensor that the common read of dense tensors does not handle: one that is sparse or quantized, has
        an unknown dtype, or has the dtype ``f4_e2m1``, two elements of which share a byte."""
        if self.dequantize is not None and tensor._is_quantized:
            return tensor.dequantize().numpy().astype(_types.numpy_dtype(self.dequantize), copy=False)
        return tensor.scipy() if tensor.is_sparse else tensor.numpy()

    def read(self) -> None:
        if not self.places:
            return
        if self.file._verify:
            self.verified()
        else:
            total, done = sum(content.nbytes for content in self.contents), 0
            for (ordinal, _), content in zip(self.places, self.contents, strict=True):
                Tensor(self.file, ordinal)._fill(content, False)
                done += content.nbytes
                if self.progress is not None:
                    self.progress(done, total)
        if self.file.generation == "0.1":
            for array in self.bools:
                np.not_equal(array.view(np.uint8), 0, out=array)

    def verified(self) -> None:
        """Reads and verifies all dense tensors in one native call or, if there is a function ``progress``, in several calls of
        about ``_STEP`` bytes, after each of which ``progress`` is called."""
        if self.progress is None:
            self.file._reader.read(self.places, self.contents)
            return
        total, done, start = sum(content.nbytes for content in self.contents), 0, 0
        self.progress(0, total)
        while start < len(self.places):
            end, step = start, 0
            while end < len(self.places) and (step == 0 or step + self.contents[end].nbytes <= _STEP):
                step += self.contents[end].nbytes
                end += 1
            self.file._reader.read(self.places[start:end], self.contents[start:end])
            start, done = end, done + step
            self.progress(done, total)


class Torch(_Arrays):
    """Loads tensors as tensors of PyTorch."""

    def viewed(self, name: str, shape: tuple[int, ...], element: str, offset: int) -> Any:
        import torch

        dtype = _types.torch_dtype(element)
        if dtype is None:
            return self.file[name].torch()
        count = _types.product(shape)
        buffer = self.file._buffer(writable=True)
        flat = torch.frombuffer(buffer, dtype=dtype, count=count, offset=offset)
        return _types.torch_tensor(lambda: flat.reshape(shape), name, shape, self.file._reader)

    def filled(self, name: str, shape: tuple[int, ...], element: str) -> Any:
        import torch

        dtype = _types.torch_dtype(element)
        if dtype is None:
            # `Tensor.torch` raises the error, which says that this version of PyTorch does not have the dtype.
            return self.file[name].torch()
        content = _types.as_bytes(self.empty(name, shape, element))

        def make() -> Any:
            flat = torch.frombuffer(content, dtype=dtype) if len(content) else torch.empty(0, dtype=dtype)
            return flat.reshape(shape)

        return _types.torch_tensor(make, name, shape, self.file._reader)

    def opaque(self, tensor: Tensor, is_viewed: bool) -> Any:
        # `Tensor.torch` raises the error, which says that the tensor is opaque.
        return tensor.torch()

    def other(self, tensor: Tensor) -> Any:
        if self.dequantize is not None and tensor._is_quantized:
            return tensor.dequantize().torch(dtype=self.dequantize)
        return tensor.torch()
