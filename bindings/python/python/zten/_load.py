"""All tensors of a file at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from . import _types
from ._file import Digests, File, Limits, Source, open
from ._tensor import Tensor
from ._types import Array, Bytes


Names: TypeAlias = str | Iterable[str]
"""Names of tensors, or patterns of them: ``"layers.0.*"``."""

Progress: TypeAlias = Callable[[int, int], object]
"""Called with the bytes that have been read, and those that there are."""

# Bytes that are read between two calls of `progress`.
_STEP = 64 << 20


def selected(file: File, names: Names | None) -> list[int] | None:
    """The places of the tensors of these names, if only some are asked for."""
    if names is None:
        return None
    return file._reader.select([names] if isinstance(names, str) else list(names))


def verify(file: File, selection: list[int] | None) -> None:
    """Validates all of a file, or those tensors of it."""
    if selection is None:
        file.verify()
    for ordinal in selection or ():
        file._reader.verify_object(ordinal)


def load(
    source: Source,
    *,
    map: bool,
    verify: bool,
    limits: Limits | None,
    tolerate: Iterable[str],
    digests: Digests | None = None,
    kind: Callable[[File, Progress | None], _Arrays] | None = None,
    names: Names | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """All tensors by their names, in the order of the file: as arrays, if no other ``kind`` is given."""
    with open(
        source, map=map, verify=verify, limits=limits, tolerate=tolerate, digests=digests
    ) as file:
        return (kind or _Arrays)(file, progress).all(selected(file, names))


class _Arrays:
    """Arrays of a file, most of which are filled together."""

    def __init__(self, file: File, progress: Progress | None) -> None:
        self.file = file
        self.progress = progress
        self.places: list[tuple[int, int]] = []
        self.contents: list[Bytes] = []
        # Bools of 0.1 are any byte.
        self.bools: list[Array] = []

    def all(self, selection: list[int] | None) -> dict[str, Any]:
        file = self.file
        listed = list(enumerate(file._reader.listing()))
        if selection is not None:
            listed = [listed[ordinal] for ordinal in selection]
        listing = [one for _, one in listed]
        one, total = file._reader.decoded_limits
        compressed = [d[3] or 0 for _, _, d in listing if d is not None and d[4]]
        if max(compressed, default=0) > one or sum(compressed) > total:
            # It says which limit that is, before there is memory for anything.
            file.verify()
        elif file._map and file._verify and any(d[6] for _, _, d in listing if d is not None):
            verify(file, selection)
        tensors: dict[str, Any] = {}
        for ordinal, (name, shape, dense) in listed:
            if dense is None or dense[3] is None or dense[0] == "f4_e2m1":
                tensors[name] = self.other(Tensor(file, ordinal))
                continue
            element, place, offset, nbytes, _, direct, _ = dense
            if file._map and direct and nbytes:
                tensors[name] = self.viewed(name, shape, element, offset)
            else:
                self.places.append((ordinal, place))
                tensors[name] = self.filled(name, shape, element)
        self.read()
        return tensors

    def viewed(self, name: str, shape: tuple[int, ...], element: str, offset: int) -> Any:
        """Elements where they lie in the map."""
        return self.file._view(name, shape, element, offset)

    def filled(self, name: str, shape: tuple[int, ...], element: str) -> Any:
        """Elements that are going to be filled."""
        return self.empty(name, shape, element)

    def empty(self, name: str, shape: tuple[int, ...], element: str) -> Array:
        """An array that is going to be filled."""
        array = _types.empty(name, shape, _types.numpy_dtype(element), self.file._reader)
        self.contents.append(_types.as_bytes(array))
        if element == "bool":
            self.bools.append(array)
        return array

    def other(self, tensor: Tensor) -> Any:
        """Reads a tensor that is not dense, is of an unknown type, or has to be unpacked."""
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
        """Reads all at once, or in steps between which progress is told."""
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
    """Tensors of PyTorch of a file, most of which are filled together."""

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
            # It says so.
            return self.file[name].torch()
        content = _types.as_bytes(self.empty(name, shape, element))

        def make() -> Any:
            flat = torch.frombuffer(content, dtype=dtype) if len(content) else torch.empty(0, dtype=dtype)
            return flat.reshape(shape)

        return _types.torch_tensor(make, name, shape, self.file._reader)

    def other(self, tensor: Tensor) -> Any:
        return tensor.torch()
