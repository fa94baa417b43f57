"""Computes from an index, such as ``tensor[0:10, ::2]``, which range of each dimension has to be read, and which elements of the
array that is read the index selects."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, NamedTuple, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

_Basic: TypeAlias = SupportsIndex | slice | EllipsisType
_Rows: TypeAlias = Sequence[int] | Sequence[bool] | npt.NDArray[Any]

Index: TypeAlias = _Basic | _Rows | tuple[_Basic | _Rows, ...]
"""Integers, slices and an ellipsis; the first of them may be a list or mask of rows."""


class Selection(NamedTuple):
    """The part of an array that an index selects: what has to be read, and what is then taken of it."""

    ranges: list[tuple[int, int]]
    """The start and end of the indices to read in each dimension."""
    rest: tuple[int | slice, ...]
    """The index of the part in the array that is read."""
    shape: tuple[int, ...]
    """The shape of the part."""
    rows: npt.NDArray[np.int64] | None = None
    """The selected rows in their order, if the index has a list or mask of rows."""

    @property
    def read_shape(self) -> tuple[int, ...]:
        """The shape of the array that is read from the file, of which ``rest`` and ``rows`` then take the part: the length of the
        range in each dimension. An integer reads a range of length 1, and a slice with a step its whole range."""
        return tuple(end - start for start, end in self.ranges)


def select(index: Index, shape: tuple[int, ...]) -> Selection:
    """Returns the part of an array of ``shape`` that ``index`` selects: integers, slices and an ellipsis with the meaning of
    NumPy. The first item may be a list or array of integers, or of one boolean for each row."""
    items: tuple[Any, ...] = index if isinstance(index, tuple) else (index,)
    if items and isinstance(items[0], (list, np.ndarray)) and np.ndim(items[0]) > 0:
        if not shape:
            raise IndexError("1 index for 0 dimensions")
        rows = _rows(items[0], shape[0])
        span = (int(rows.min()), int(rows.max()) + 1) if len(rows) else (0, 0)
        part = select((slice(0, 0), *items[1:]), shape)
        return Selection([span, *part.ranges[1:]], part.rest, (len(rows), *part.shape[1:]), rows)
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index has one ellipsis at most")
    if Ellipsis not in items:
        items = (*items, Ellipsis)
    at = items.index(Ellipsis)
    whole = len(shape) - (len(items) - 1)
    if whole < 0:
        raise IndexError(f"too many indices: expected at most {len(shape)}, found {len(items) - 1}")
    items = (*items[:at], *[slice(None)] * whole, *items[at + 1 :])
    ranges: list[tuple[int, int]] = []
    rest: list[int | slice] = []
    taken: list[int] = []
    for item, size in zip(items, shape, strict=True):
        if isinstance(item, slice):
            places = range(size)[item]
            # Computes the length of `places`. `len(places)` would raise an exception for 2**63 or more indices.
            count = max(0, -((places.start - places.stop) // places.step))
            if count == 0:
                ranges.append((0, 0))
                rest.append(slice(None))
            else:
                ends = places[0], places[-1]
                ranges.append((min(ends), max(ends) + 1))
                rest.append(slice(None, None, places.step))
            taken.append(count)
        elif isinstance(item, SupportsIndex) and not isinstance(item, bool):
            place = item.__index__()
            if not -size <= place < size:
                raise IndexError(f"index {place} is out of range for a dimension of {size}")
            place %= size
            ranges.append((place, place + 1))
            rest.append(0)
        else:
            raise TypeError(
                f"index {item!r}: expected an integer, a slice or an ellipsis, or first of all a list or mask of rows"
            )
    return Selection(ranges, tuple(rest), tuple(taken))


def _rows(given: Sequence[Any] | npt.NDArray[Any], size: int) -> npt.NDArray[np.int64]:
    """Returns the numbers of the rows that ``given`` selects of an array with ``size`` rows, in its order: a list of row numbers,
    in which -1 is the last row, or a mask with a bool for each row."""
    rows = np.asarray(given if isinstance(given, np.ndarray) or given else np.empty(0, np.int64))
    if rows.ndim != 1 or rows.dtype.kind not in "biu":
        raise TypeError("rows are a list of integers, or of booleans, in one dimension")
    if rows.dtype == np.bool_:
        if len(rows) != size:
            raise IndexError(f"a mask of {len(rows)} rows for a dimension of {size}")
        return np.flatnonzero(rows).astype(np.int64)
    for row in (rows.min(), rows.max()) if len(rows) else ():
        if not -size <= int(row) < size:
            raise IndexError(f"index {row} is out of range for a dimension of {size}")
    places = rows.astype(np.int64)
    return np.where(places < 0, places + min(size, 1 << 62), places)
