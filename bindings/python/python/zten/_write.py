"""Writing and converting files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from . import _types, _zten
from ._file import Source, frozen, open, strictness
from ._types import Array, Bytes

Digest: TypeAlias = Literal["sha256", "crc32c", "xxh3"]
"""The digests that are written: ``"crc32c"`` in 1.2 alone, ``"xxh3"`` in 2 alone."""

Generation: TypeAlias = Literal["1.2", "2"]
"""The generations that are written."""

Path: TypeAlias = str | os.PathLike[str]

# Role, storage type, type, elements, bytes, whether the bytes may be stored already.
Part: TypeAlias = tuple[str, str, str, int, Bytes, bool]


class Writer:
    """A file that is being written, object by object. Made by :func:`zten.create` and
    :func:`zten.append`.

    As a context manager it publishes the file at the end, or, after an exception, gives it up:
    whenever the program or the machine stops, what is at the path is what it was, or all new. What is
    written is validated by what validates files that are read.
    """

    __slots__ = ("_generation", "_writer")

    def __init__(self, writer: _zten.Writer, generation: str = "1.2") -> None:
        self._writer = writer
        self._generation = generation

    def add(self, name: str, value: Any, *, attributes: Mapping[str, Any] | None = None) -> None:
        """Writes a tensor: a NumPy array or scalar, a :class:`torch.Tensor`, or a sparse array or
        matrix of SciPy (CSR and COO; others are made CSR). The interpreter's lock is released while it
        is written. If another thread changes it meanwhile, old and new elements are mixed: what is
        validated and hashed is what is written. The canonical form of 2 reads it twice, and refuses that.

        Raises:
            TypeError: the generation has no type for the elements.
            ValueError: the elements changed while they were written in the canonical form of 2.
            Refused: it breaks a rule; above all, there is an object of that name already.
        """
        if _is_sparse(value):
            self._add_sparse(name, value, attributes)
            return
        shape, part = _part("data", value, self._generation)
        self._add(name, "dense", shape, [part], attributes)

    def add_quantized(
        self,
        name: str,
        shape: Sequence[int],
        *,
        packed_weight: Any,
        scales: Any,
        zeros: Any,
        bits: int,
        group_size: int,
        packing: str,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes a ``quantized_group``: words of codes, and a scale and a zero point for each group.

        Args:
            shape: inputs and outputs of the weights.
            packed_weight: ``int32`` or ``uint8`` words of codes, ``[inputs / codes, outputs]``.
            scales, zeros: ``float32``, ``float16`` or ``bfloat16``, ``[groups, outputs]``.
            bits, group_size, packing: how codes are packed; written as attributes.
            attributes: more attributes.

        Raises:
            TypeError: the file is of generation 2, which has no such format.
        """
        if self._generation == "2":
            raise TypeError("generation 2 has no quantized_group")
        components = {"packed_weight": packed_weight, "scales": scales, "zeros": zeros}
        own = {"bits": bits, "group_size": group_size, "packing": packing}
        self.add_object(name, "quantized_group", shape, components, attributes={**(attributes or {}), **own})

    def add_object(
        self,
        name: str,
        format: str,
        shape: Sequence[int],
        components: Mapping[str, Any],
        *,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes an object of any format, known or not, with its components by their roles. What a
        known format asks for is validated."""
        parts = [_part(role, value, self._generation)[1] for role, value in components.items()]
        self._add(name, format, shape, parts, attributes)

    def attributes(self, attributes: Mapping[str, Any]) -> None:
        """Gives the file attributes, in place of those that it has: integers, floats, texts, bytes,
        lists, dictionaries, booleans and None, by keys that are text; :class:`zten.Tag`,
        :class:`zten.Simple` and :class:`zten.Entries`."""
        self._writer.attributes(dict(attributes))

    def finish(self) -> None:
        """Writes the manifest, and puts the file where it is to be."""
        self._writer.finish()

    def abort(self) -> None:
        """Gives the file up. What was at the path stays."""
        self._writer.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        if kind is None:
            self.finish()
        else:
            self.abort()

    def _add(
        self,
        name: str,
        format: str,
        shape: Sequence[int],
        parts: list[Part],
        attributes: Mapping[str, Any] | None,
    ) -> None:
        own = None if attributes is None else dict(attributes)
        self._writer.add(name, format, [int(size) for size in shape], parts, own)

    def _add_sparse(self, name: str, value: Any, attributes: Mapping[str, Any] | None) -> None:
        is_coo = value.format == "coo"
        value = value if is_coo else value.tocsr()
        kind = "sparse_coo" if is_coo else "sparse_csr"
        if self._generation == "2":
            # No cell of it has two values, and the indices of a row are sorted.
            value = value.copy()
            value.sum_duplicates()
            kind = f"zt.{kind}/1"
        if is_coo:
            axes = value.coords if hasattr(value, "coords") else (value.row, value.col)
            coords = np.stack([np.asarray(axis, np.uint64) for axis in axes])
            components = {"coords": coords, "values": value.data}
        else:
            components = {
                "indptr": value.indptr.astype(np.uint64),
                "values": value.data,
                "indices": value.indices.astype(np.uint64),
            }
        self.add_object(name, kind, value.shape, components, attributes=attributes)


def create(
    path: Path,
    *,
    generation: Generation = "1.2",
    digest: Digest | None = "sha256",
    zstd: int | None = None,
    canonical: bool = False,
) -> Writer:
    """Begins a file that is to be at the path, in place of what is there.

    Args:
        path: where it is to be. A link there is refused.
        generation: ``"1.2"``, or ``"2"``, which has more types (``f8_e8m0``, ``f4_e2m1``).
        digest: what each component gets, over its stored bytes in 1.2, over its decoded ones in 2.
            The canonical form has a sha256, in 2 an xxh3, whatever is given.
        zstd: the level of compression, from 1 to 5; None does not compress.
        canonical: write the canonical form, of which there is one for one content: objects then come in
            the order of their names, in 1.2 shorter ones first, in 2 by their bytes, and are not
            compressed.
    """
    form = generation, digest, canonical, False
    return Writer(_zten.Writer(path, form, zstd), generation)


def append(path: Path, *, digest: Digest | None = "sha256", zstd: int | None = None) -> Writer:
    """Goes on with the file at the path, which stays as it is until the new edition is published. It
    keeps its generation. Arguments are those of :func:`create`.

    Raises:
        ValueError: it is of 0.1, a data shard, or canonical, which nothing can be added to.
    """
    with open(path, shards=False) as file:
        generation = "2" if file.generation == "2" else "1.2"
    return Writer(_zten.Writer.append(path, (generation, digest, False, False), zstd), generation)


def convert(
    source: Source,
    target: Path,
    *,
    generation: Generation = "1.2",
    digest: Digest | None = "sha256",
    zstd: int | None = None,
    canonical: bool = False,
    limits: Mapping[str, int] | None = None,
    tolerate: Iterable[str] = (),
    shards: bool = True,
) -> int:
    """Writes what a file of any format that :func:`zten.open` reads holds as a zTensor file of 1.2 or 2, and
    validates all that it reads. Parts that are in shards become parts of the one file. Blocks of GGUF stay
    as they are.

    Args:
        source, limits, tolerate, shards: as of :func:`zten.open`.
        target, generation, digest, zstd, canonical: as of :func:`create`.

    Returns:
        How many objects were written.

    Raises:
        Refused, Unsupported, LimitExceeded: as the content asks for; Unsupported also where it is
            valid, and cannot be expressed in that generation.
    """
    how = strictness(limits, tolerate, shards=shards)
    return _zten.convert(frozen(source), target, how, (generation, digest, canonical, False), zstd)


def save(
    tensors: Mapping[str, Any],
    path: Path | None,
    *,
    attributes: Mapping[str, Any] | None,
    generation: Generation,
    digest: Digest | None,
    zstd: int | None,
    canonical: bool,
) -> bytes | None:
    """Writes all tensors at a path, or returns the file."""
    native = _zten.Writer(path, (generation, digest, canonical, False), zstd)
    writer = Writer(native, generation)
    try:
        if attributes is not None:
            writer.attributes(attributes)
        names = list(tensors)
        if canonical:
            names.sort(key=str.encode)
            if generation == "1.2":
                names.sort(key=lambda name: len(name.encode()))
        for name in names:
            writer.add(name, tensors[name])
        return native.finish()
    except BaseException:
        writer.abort()
        raise


def _is_sparse(value: Any) -> bool:
    return hasattr(value, "tocsr") and hasattr(value, "format")


def _part(
    role: str, value: Any, generation: str
) -> tuple[list[int], Part]:
    """The shape of an array, and what is written of it."""
    if type(value).__module__.partition(".")[0] == "torch":
        return _torch_part(role, value, generation)
    array: Array = np.asarray(value)
    storage, element = _types.from_numpy(array.dtype, generation)
    # Little-endian and contiguous, as it is if it is that.
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    content = _types.as_bytes(little)
    if element == "f4_e2m1":
        content = _types.pack(content)
    return list(array.shape), (role, storage, element, array.size, content, False)


def _torch_part(
    role: str, value: Any, generation: str
) -> tuple[list[int], Part]:
    import torch

    storage, element = _types.from_torch(value.dtype, generation)
    # A view may conjugate or negate what is in memory.
    flat = value.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
    content = flat.view(torch.uint8).numpy() if flat.numel() else np.empty(0, np.uint8)
    return list(value.shape), (role, storage, element, value.numel(), content, False)
