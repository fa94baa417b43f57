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

# The number of bytes that are read between two calls of `progress`, unless a single tensor is larger.
_STEP = 64 << 20


def selected(file: File, names: Names | None) -> list[int] | None:
    """Returns the ordinals of the tensors that match ``names``; None for all tensors."""
    if names is None:
        return None
    try:
        return file._reader.select([names] if isinstance(names, str) else list(names))
    except KeyError as error:
        raise MissingTensor(str(error.args[0]), file=file._reader.path) from None


def verify(file: File, selection: list[int] | None) -> None:
    """Validates the tensors ``selection`` of a file, or the whole file if it is None."""
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
    """Returns all tensors by their names, in the order of the file, as arrays of NumPy or as ``kind`` creates them. If ``map`` is
    None, the file is mapped if it may be."""
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
                "quantized tensors are stored as several tensors, which the list of digests names: "
                "verify the file by the list first, and dequantize it without"
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
        """Shows the last state, and ends the line."""
        self._write("\r" if self._shown else "", "\n")

    def _write(self, before: str, after: str) -> None:
        text = "mapped"
        if self._now is not None:
            done, total = self._now
            text = f"{100 * done // total if total else 100:3} % of {total / 1e6:,.1f} MB"
        sys.stderr.write(f"{before}{self._name}: {text}{after}")
        sys.stderr.flush()


def shown(file: File, progress: Progress | None) -> Callable[[int, int], object] | None:
    """Returns the function that is called with the progress of reading ``file``; None if there is none."""
    if not isinstance(progress, bool):
        return progress
    name = "tensors" if file._reader.path is None else os.path.basename(file._reader.path)
    return _Bar(_types.shown(name)) if progress else None


def _without_fields(listed: list[tuple[int, _Object]]) -> list[tuple[int, _Object]]:
    """Leaves out the fields of records: the array of the records has their elements, and :func:`numpy.load` has no such names."""
    # A field and its records have the same offset.
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
        # Whether the file is mapped if it may be.
        self.maps_if_possible = False
        # The dtype to which quantized tensors are dequantized, if they are.
        self.dequantize = dequantize
        self.places: list[tuple[int, int]] = []
        self.contents: list[Bytes] = []
        # Bools of 0.1 are any byte.
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
        """Returns a view of a dense tensor in the map."""
        return self.file._view(name, shape, _types.numpy_dtype(element), offset)

    def filled(self, name: str, shape: tuple[int, ...], element: str) -> Any:
        """Returns a dense tensor whose elements :meth:`read` will fill."""
        return self.empty(name, shape, element)

    def empty(self, name: str, shape: tuple[int, ...], element: str) -> Array:
        """Allocates an array whose elements :meth:`read` will fill."""
        array = self.allocated(name, shape, _types.numpy_dtype(element))
        if element == "bool":
            self.bools.append(array)
        return array

    def allocated(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Allocates an array of ``dtype`` whose bytes :meth:`read` will fill."""
        array = _types.empty(name, shape, dtype, self.file._reader)
        self.contents.append(_types.as_bytes(array))
        return array

    def opaque(self, tensor: Tensor, is_viewed: bool) -> Any:
        """Returns text, dates, records or long doubles of NumPy: a view in the map, or an array that :meth:`read` will fill."""
        name, shape, dtype, data = tensor.name, tensor.shape, tensor._numpy_dtype(), tensor._data
        if is_viewed:
            return self.file._view(name, shape, dtype, data.offset)
        self.places.append(data._place)
        return self.allocated(name, shape, dtype)

    def other(self, tensor: Tensor) -> Any:
        """Reads a tensor that is not dense, has an unknown dtype, or has to be unpacked."""
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
        """Reads and verifies all tensors at once, or in steps between which ``progress`` is called."""
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
            # The call raises the error that PyTorch does not have this dtype.
            return self.file[name].torch()
        content = _types.as_bytes(self.empty(name, shape, element))

        def make() -> Any:
            flat = torch.frombuffer(content, dtype=dtype) if len(content) else torch.empty(0, dtype=dtype)
            return flat.reshape(shape)

        return _types.torch_tensor(make, name, shape, self.file._reader)

    def opaque(self, tensor: Tensor, is_viewed: bool) -> Any:
        # The call raises the error that the tensor is opaque.
        return tensor.torch()

    def other(self, tensor: Tensor) -> Any:
        if self.dequantize is not None and tensor._is_quantized:
            return tensor.dequantize().torch(dtype=self.dequantize)
        return tensor.torch()
