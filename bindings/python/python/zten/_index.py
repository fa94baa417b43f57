"""Which part of an array an index is: what is read of it, and what is then taken of that."""

from __future__ import annotations

from types import EllipsisType
from typing import NamedTuple, SupportsIndex, TypeAlias

Index: TypeAlias = SupportsIndex | slice | EllipsisType | tuple[SupportsIndex | slice | EllipsisType, ...]


class Selection(NamedTuple):
    """A part of an array."""

    ranges: list[tuple[int, int]]
    """What is read of each dimension."""
    rest: tuple[int | slice, ...]
    """The index of the part in what is read."""
    shape: tuple[int, ...]
    """The dimensions of the part."""

    @property
    def read_shape(self) -> tuple[int, ...]:
        """The dimensions of what is read."""
        return tuple(end - start for start, end in self.ranges)


def select(index: Index, shape: tuple[int, ...]) -> Selection:
    """The part that a basic index of NumPy's is: integers, slices and an ellipsis."""
    items = index if isinstance(index, tuple) else (index,)
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index has one ellipsis at most")
    if Ellipsis not in items:
        items = (*items, Ellipsis)
    at = items.index(Ellipsis)
    whole = len(shape) - (len(items) - 1)
    if whole < 0:
        raise IndexError(f"{len(items) - 1} indices for {len(shape)} dimensions")
    items = (*items[:at], *[slice(None)] * whole, *items[at + 1 :])
    ranges: list[tuple[int, int]] = []
    rest: list[int | slice] = []
    taken: list[int] = []
    for item, size in zip(items, shape, strict=True):
        if isinstance(item, slice):
            places = range(size)[item]
            # Not `len`, which takes no dimension of 2**63 or more.
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
            raise TypeError(f"index {item!r}: expected an integer, a slice or an ellipsis")
    return Selection(ranges, tuple(rest), tuple(taken))
