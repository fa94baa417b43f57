"""Files as dictionaries of NumPy arrays, as ``safetensors.numpy`` has it.

>>> import numpy as np, zten.numpy
>>> zten.numpy.save_file({"weight": np.ones((2, 3), np.float32)}, "model.zt")
>>> zten.numpy.load_file("model.zt")["weight"].shape
(2, 3)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ._file import Digests, Limits
from ._load import Names, Progress
from ._load import load as _load
from ._paths import Path, Source
from ._write import Digest, Format, Generation
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
    dequantize: bool | str = False,
) -> dict[str, Any]:
    """Reads all tensors of a file of any format on several threads, and returns them by their names, in the order of the file.

    Dense tensors become arrays (bf16, FP8 and FP4 have the dtypes of :mod:`ml_dtypes`), and sparse tensors become sparse
    arrays of SciPy. Besides the arrays, memory is needed for the manifest and a few MiB of buffers.

    Text, dates and records of ``.npy`` and ``.npz`` files become the arrays that :func:`numpy.load` returns. The fields of
    records, which are tensors of their own in :func:`zten.open`, are left out unless ``names`` selects them.

    Args:
        source: the file, as for :func:`zten.open`.
        verify: compare digests. With ``map=True``, a file with digests or checksums is validated as a whole first.
        map: return read-only views of a memory map, as :func:`zten.open` describes: only for files that no other process
            changes.
        limits, tolerate, digests: as for :func:`zten.open`.
        names: load only these tensors: names or patterns such as ``"layers.[0-3].*"``, each of which has to match a tensor.
        progress: a function that is called with the number of bytes read and the number of all bytes of dense tensors: after
            every 64 MiB or less, but not within a tensor, and with ``verify=False`` after each tensor. ``True`` shows them on
            standard error.
        dequantize: return quantized tensors, such as blocks of GGUF, as arrays of ``float32``; ``"f16"`` and ``"bf16"`` convert
            the values to these dtypes. Tensors that a program has quantized and stored as several tensors, such as ``X_blocks`` and
            ``X_scales``, become one array ``X``, and ``names`` then has to match ``X``; this does not work with ``digests``, which
            have the names of the file. Without ``dequantize`` the result has the tensors that the file names.

    Raises:
        MissingTensor: a name or pattern matches no tensor.
        Invalid, Unsupported, LimitExceeded: the file cannot be read; Unsupported also if a tensor is unread, such
            as Python objects, or neither dense nor sparse, such as quantized blocks of GGUF, which :func:`zten.open` reads.
            ``names`` loads the others.
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
        dequantize=dequantize,
    )


def load(
    data: bytes | bytearray | memoryview,
    *,
    verify: bool = True,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
) -> dict[str, Any]:
    """Reads all tensors of a file whose bytes are ``data``, and returns them as :func:`load_file` does."""
    return _load(data, map=False, verify=verify, limits=limits, tolerate=tolerate)


def _merged(
    metadata: Mapping[str, str] | None, attributes: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """Returns the attributes of the file: those of ``metadata``, whose values are text, and those of ``attributes``. If both have
    a key, the value of ``attributes`` is used. Returns None if both are None."""
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
    """Writes a file of all ``tensors``. The suffix of the path decides the format: ``.zt`` (1.2 or 2), ``.safetensors``,
    ``.npz`` or ``.npy``.

    The file at the path is replaced only when the new file is complete.

    Args:
        tensors: arrays and tensors of PyTorch by their names; for a ``.zt`` file also sparse arrays of SciPy. They are written
            in their order, but sorted by dtype in a ``.safetensors`` file, and by name in the canonical form.
        metadata: attributes of the file whose values are text, as in safetensors.
        attributes: attributes of the file. In a ``.safetensors`` file, values that are not text become JSON text, which
            :attr:`zten.File.attributes` decodes. ``.npz`` and ``.npy`` files have no attributes.
        path, format, generation, digest, zstd, canonical: as for :func:`zten.create`.
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
    """Returns the bytes of the file that :func:`save_file` would write. Without ``format`` it is a zTensor file."""
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
