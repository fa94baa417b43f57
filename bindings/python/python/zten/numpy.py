"""Files as dictionaries of NumPy arrays, as ``safetensors.numpy`` has it.

>>> import numpy as np, zten.numpy
>>> zten.numpy.save_file({"weight": np.ones((2, 3), np.float32)}, "model.zt")
>>> zten.numpy.load_file("model.zt")["weight"].shape
(2, 3)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ._file import Digests, Limits, Source
from ._load import Names, Progress
from ._load import load as _load
from ._write import Digest, Format, Generation, Path
from ._write import save as _save

__all__ = ["load", "load_file", "save", "save_file"]


def load_file(
    source: Source,
    *,
    verify: bool = True,
    map: bool = False,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
    digests: Digests | None = None,
    names: Names | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """All tensors of a file of any format by their names, in the order of the file, read on several threads.

    Dense tensors become arrays (bf16, FP8 and FP4 have the dtypes of :mod:`ml_dtypes`), sparse ones
    sparse arrays of SciPy. Memory is that of the arrays, the manifest, and a few MiB.

    Args:
        source: as of :func:`zten.open`.
        verify: compare digests; with ``map=True``, of a file that has digests or checksums, validate all of it
            first.
        map: arrays are read-only views of a memory map. What :func:`zten.open` says of it holds here:
            it is for files that no other process changes.
        limits, tolerate, digests: as of :func:`zten.open`.
        names: load these tensors alone: names or patterns (``"layers.[0-3].*"``), each of which has to match one.
        progress: called with the bytes that have been read, and those that there are, after each 64 MiB or tensor.

    Raises:
        KeyError: no tensor has a name that is asked for.
        Invalid, Unsupported, LimitExceeded: as the file asks for; Unsupported also where an object is neither
            dense nor sparse, such as blocks of GGUF: :func:`zten.open` reads it.
    """
    return _load(
        source,
        map=map,
        verify=verify,
        limits=limits,
        tolerate=tolerate,
        digests=digests,
        names=names,
        progress=progress,
    )


def load(
    data: bytes | bytearray | memoryview,
    *,
    verify: bool = True,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
) -> dict[str, Any]:
    """All tensors of a file that is in memory. As :func:`load_file`."""
    return _load(data, map=False, verify=verify, limits=limits, tolerate=tolerate)


def _merged(
    metadata: Mapping[str, str] | None, attributes: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """The attributes of a file, of which some may be given as metadata."""
    if metadata is None:
        return attributes
    for key, text in metadata.items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise TypeError(f"metadata {key!r} is {text!r}, expected text; attributes take other values")
    return {**metadata, **(attributes or {})}


def save_file(
    tensors: Mapping[str, Any],
    path: Path,
    *,
    metadata: Mapping[str, str] | None = None,
    attributes: Mapping[str, Any] | None = None,
    format: Format | None = None,
    generation: Generation = "1.2",
    digest: Digest | None = "auto",
    zstd: int | None = None,
    canonical: bool = False,
) -> None:
    """Writes a file of the format that the suffix of the path tells: ``.zt`` (1.2 or 2), ``.safetensors``, ``.npz`` or
    ``.npy``. Takes arrays and tensors of PyTorch by their names; in a ``.zt`` file also sparse arrays of SciPy.

    It is there, whole, or not at all. In canonical form objects are sorted.

    Args:
        tensors: what is written, in its order; in the order of their types in a ``.safetensors`` file.
        metadata: attributes of the file that are text, as safetensors has them.
        attributes: of the file. In a ``.safetensors`` file those that are not text become JSON text, which
            :attr:`zten.File.attributes` decodes again; the other formats have none.
        path, format, generation, digest, zstd, canonical: as of :func:`zten.create`.
    """
    _save(
        tensors,
        path,
        attributes=_merged(metadata, attributes),
        format=format,
        generation=generation,
        digest=digest,
        zstd=zstd,
        canonical=canonical,
    )


def save(
    tensors: Mapping[str, Any],
    *,
    metadata: Mapping[str, str] | None = None,
    attributes: Mapping[str, Any] | None = None,
    format: Format | None = None,
    generation: Generation = "1.2",
    digest: Digest | None = "auto",
    zstd: int | None = None,
    canonical: bool = False,
) -> bytes:
    """The same as ``bytes``, of a zTensor file or of that format. As :func:`save_file`."""
    file = _save(
        tensors,
        None,
        attributes=_merged(metadata, attributes),
        format=format,
        generation=generation,
        digest=digest,
        zstd=zstd,
        canonical=canonical,
    )
    return file or b""
