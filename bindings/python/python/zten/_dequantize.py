"""The values of quantized tensors, computed when they are used."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _types
from ._component import converted
from ._index import Index, Selection, select

if TYPE_CHECKING:
    from ._tensor import Tensor

Floats = npt.NDArray[np.float32]

_PIECE = 1 << 16
"""The number of elements up to which rows are dequantized as a whole if a part of each of several rows is needed."""

_CALLS = 16
"""The largest number of times that a compressed component is decoded for one part of a tensor."""


class Dequantized(np.lib.mixins.NDArrayOperatorsMixin):
    """The values of a quantized tensor as ``float32``, in row-major order. Nothing is read before a value is used:
    ``values[:10]`` reads and dequantizes ten rows, and everything else that an array can do dequantizes the whole tensor first.

    A whole tensor is verified by its digests. A part has no digest in the file, so it is not verified by one.
    """

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def __repr__(self) -> str:
        return f"<Dequantized {self._tensor.name!r} {self._tensor._kind} {list(self.shape)}>"

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions, outermost first."""
        return self._tensor.shape

    @property
    def dtype(self) -> np.dtype[np.float32]:
        """The dtype of the values: ``float32``."""
        return np.dtype(np.float32)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of values."""
        return self._tensor.size

    @property
    def nbytes(self) -> int:
        """The number of bytes of all values, 4 for each."""
        return 4 * self.size

    def numpy(self) -> Floats:
        """Reads, verifies and dequantizes the whole tensor to a new array.

        Raises:
            Invalid, Unsupported, LimitExceeded: the content breaks a rule, or cannot be read.
        """
        return self._tensor._dequantized()

    def torch(self, *, dtype: Any = None, device: Any = "cpu") -> Any:
        """Dequantizes the whole tensor to a new :class:`torch.Tensor`, and converts it to ``dtype``, which may be a dtype of
        PyTorch or its name: ``torch.bfloat16``, ``"bf16"``."""
        return self._tensor._floats_in_torch(self.numpy(), dtype, device)

    def __getitem__(self, index: Index) -> Any:
        """Dequantizes a part. Only the blocks of its rows are read, as ``tensor[index].dequantize()`` does. An index of integers
        alone returns a scalar, as for an array."""
        part = self._tensor._dequantized_part(index)
        return part if part.ndim else part[()]

    def __len__(self) -> int:
        return len(self._tensor)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.numpy())

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return converted(self.numpy(), dtype, copy)

    def __dlpack__(self, **how: Any) -> Any:
        """Dequantizes the whole tensor to a new array, and exports the array to a library that takes DLPack, such as PyTorch."""
        return self.numpy().__dlpack__(**how)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns the DLPack device of the values: always the CPU, number 0."""
        return 1, 0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Applies ``ufunc``, a function of NumPy such as ``np.add``, to the array of all values. The values cannot be the target
        of an operation, such as ``values += 1``."""
        if any(isinstance(one, Dequantized) for one in options.get("out", ())):
            return NotImplemented
        arrays = [one.numpy() if isinstance(one, Dequantized) else one for one in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def __getattr__(self, name: str) -> Any:
        """Returns the attribute or method ``name`` of the array of all values, such as ``values.astype``."""
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'Dequantized' object has no attribute {name!r}")
        return getattr(self.numpy(), name)


def part(tensor: Tensor, index: Index) -> Floats:
    """Reads and dequantizes the part of a quantized ``tensor`` that ``index`` selects. Only the blocks that have elements of the
    part are read, or whole rows if the part has a piece of each of several short rows. Of a tensor with compressed components,
    each component is decoded from its beginning."""
    selection = select(index, tensor.shape)
    has_parts = tensor.format.startswith("gguf.") or all(one.encoding == "raw" for one in tensor._components)
    if selection.rows is not None:
        array = _rows(tensor, selection) if has_parts else _decoded(tensor, selection.ranges, selection.rows)
        return np.asarray(array[(slice(None), *selection.rest[1:])])
    ranges = selection.ranges
    array = _block(tensor, ranges) if has_parts or not ranges else _decoded(tensor, ranges, np.arange(*ranges[0]))
    # Without the ellipsis, an index of integers alone would return a scalar of NumPy instead of an array.
    return np.asarray(array[(*selection.rest, ...)])


def _decoded(tensor: Tensor, ranges: Sequence[tuple[int, int]], rows: npt.NDArray[np.int64]) -> Floats:
    """Dequantizes ``rows`` of a ``tensor`` with compressed components, and returns their elements within ``ranges``, the start
    and end in each dimension. Each native call decodes a compressed component from its beginning, so the number of calls is at
    most ``_CALLS``, whatever the number of rows: one call for each row would take quadratic time."""
    shape, (first, last) = tensor.shape, ranges[0]
    array: Floats = tensor._room((len(rows), *(end - start for start, end in ranges[1:])), np.float32)
    if not array.size:
        return array
    inner = _types.product(shape[1:])
    step = max(-(-(last - first) // _CALLS), 16 * _PIECE // inner)
    for start in range(first, last, step):
        end = min(start + step, last)
        chosen = (start <= rows) & (rows < end)
        if chosen.any():
            room: Floats = tensor._room((end - start, *shape[1:]), np.float32)
            tensor._file._reader.dequantize_range(tensor._ordinal, start * inner, room.reshape(-1))
            array[chosen] = room[(slice(None), *(slice(*ends) for ends in ranges[1:]))][rows[chosen] - start]
    return array


def _rows(tensor: Tensor, selection: Selection) -> Floats:
    """Dequantizes the rows that ``selection.rows`` lists, in its order. Neighboring rows are read together, others one by one."""
    assert selection.rows is not None
    rows, places = np.unique(selection.rows, return_inverse=True)
    others = selection.ranges[1:]
    array: Floats = tensor._room((len(rows), *selection.read_shape[1:]), np.float32)
    ends = np.flatnonzero(np.diff(rows, append=-1) != 1) + 1
    start = 0
    for end in ends.tolist():
        array[start:end] = _block(tensor, [(int(rows[start]), int(rows[end - 1]) + 1), *others])
        start = end
    return array[places]


def _block(tensor: Tensor, ranges: Sequence[tuple[int, int]]) -> Floats:
    """Dequantizes the elements of ``tensor`` within ``ranges``, the start and end in each dimension, and returns them as an array
    of that shape."""
    shape, lengths = tensor.shape, [end - start for start, end in ranges]
    array: Floats = tensor._room(lengths, np.float32)
    if not array.size:
        return array
    read = tensor._file._reader.dequantize_range
    # Each run of elements takes a native call, so the last dimensions, which are small together, are dequantized as a whole:
    # those from number `whole` on. The dimension before them is read in runs of indices.
    whole = len(shape)
    while whole > 1 and _types.product(lengths[: whole - 1]) > 1 and _types.product(shape[whole - 1 :]) <= _PIECE:
        whole -= 1
    inner = _types.product(shape[whole:])
    cut = tuple(slice(*ends) for ends in ranges[whole:])
    is_whole = lengths[whole:] == list(shape[whole:])
    first, last = ranges[whole - 1] if whole else (0, 1)
    # The number of indices of dimension `whole - 1` in a run: all of them if the part has all elements of each index, otherwise
    # as many as bound the memory for elements that are dequantized and dropped.
    step = last - first if is_whole else max(1, 16 * _PIECE // max(inner, 1))
    for outer in itertools.product(*(range(*ends) for ends in ranges[: max(whole - 1, 0)])):
        row = 0
        for index, size in zip(outer, shape, strict=False):
            row = row * size + index
        row *= shape[whole - 1] if whole else 1
        target = array[tuple(at - start for at, (start, _) in zip(outer, ranges, strict=False))]
        for start in range(first, last, step):
            end = min(start + step, last)
            some = target[start - first : end - first] if whole else target
            if is_whole:
                read(tensor._ordinal, (row + start) * inner, some.reshape(-1))
            else:
                room: Floats = tensor._room((end - start, *shape[whole:]), np.float32)
                read(tensor._ordinal, (row + start) * inner, room.reshape(-1))
                some[...] = room[(slice(None), *cut)]
    return array
