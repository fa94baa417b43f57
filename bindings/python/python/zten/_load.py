"""All tensors of a file at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import _types
from ._file import Digests, File, Source, open
from ._tensor import Tensor
from ._types import Array, Bytes


def load(
    source: Source,
    *,
    map: bool,
    verify: bool,
    limits: Mapping[str, int] | None,
    tolerate: Iterable[str],
    digests: Digests | None = None,
) -> dict[str, Any]:
    """All tensors as arrays, by their names, in the order of the file."""
    with open(
        source, map=map, verify=verify, limits=limits, tolerate=tolerate, digests=digests
    ) as file:
        return _Load(file).all()


class _Load:
    """Arrays of a file, most of which are filled together."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.places: list[tuple[int, int]] = []
        self.contents: list[Bytes] = []
        # Bools of 0.1 are any byte.
        self.bools: list[Array] = []

    def all(self) -> dict[str, Any]:
        file = self.file
        listing = file._reader.listing()
        one, total = file._reader.decoded_limits
        compressed = [d[3] or 0 for _, _, d in listing if d is not None and d[4]]
        if max(compressed, default=0) > one or sum(compressed) > total:
            # It says which limit that is, before there is memory for anything.
            file.verify()
        elif file._map and file._verify and any(d[6] for _, _, d in listing if d is not None):
            file.verify()
        tensors: dict[str, Any] = {}
        for ordinal, (name, shape, dense) in enumerate(listing):
            if dense is None or dense[3] is None:
                tensors[name] = self.other(ordinal)
                continue
            element, place, offset, nbytes, _, direct, _ = dense
            if file._map and direct and nbytes and element != "f4_e2m1":
                tensors[name] = file._view(name, shape, element, offset)
            elif element == "f4_e2m1":
                tensors[name] = self.other(ordinal)
            else:
                array = _types.empty(name, shape, _types.numpy_dtype(element))
                tensors[name] = self.filled((ordinal, place), array)
        self.read()
        return tensors

    def filled(self, place: tuple[int, int], array: Array) -> Array:
        """An array that is going to be filled."""
        self.places.append(place)
        self.contents.append(_types.as_bytes(array))
        if array.dtype == np.bool_:
            self.bools.append(array)
        return array

    def other(self, ordinal: int) -> Any:
        """What is not a dense array of a known type, or has to be unpacked."""
        tensor = Tensor(self.file, ordinal)
        if tensor.is_sparse:
            return tensor.scipy()
        return tensor.numpy()

    def read(self) -> None:
        if not self.places:
            return
        if self.file._verify:
            self.file._reader.read(self.places, self.contents)
        else:
            for (ordinal, _), content in zip(self.places, self.contents, strict=True):
                Tensor(self.file, ordinal)._fill(content, False)
        if self.file.generation == "0.1":
            for array in self.bools:
                np.not_equal(array.view(np.uint8), 0, out=array)
