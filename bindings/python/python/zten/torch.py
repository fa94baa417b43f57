"""Files as dictionaries of PyTorch tensors, as ``safetensors.torch`` has it. Needs PyTorch.

>>> import torch, zten.torch
>>> zten.torch.save_file({"weight": torch.ones(2, 3, dtype=torch.bfloat16)}, "model.zt")
>>> zten.torch.load_file("model.zt")["weight"].dtype
torch.bfloat16
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ._file import File, Source
from ._write import Digest, Generation, Path
from ._write import save as _save

__all__ = ["load", "load_file", "save", "save_file"]


def load_file(
    source: Source,
    *,
    device: Any = "cpu",
    verify: bool = True,
    map: bool = False,
    limits: Mapping[str, int] | None = None,
    tolerate: Iterable[str] = (),
) -> dict[str, Any]:
    """All tensors of a file by their names, in the order of the file: each is read, verified, and then
    sent to the device.

    Args:
        source: as of :func:`zten.open`.
        device: where tensors go.
        verify: compare digests.
        map: tensors are views of a memory map whose pages are copied when they are written to. What
            :func:`zten.open` says of maps holds here: it is for files that no other process changes.
        limits, tolerate: as of :func:`zten.open`.

    Raises:
        TypeError: there is an object that is not dense; :func:`zten.open` reads it.
        Refused, Unsupported, LimitExceeded: as the file asks for.
    """
    with File(source, map=map, verify=verify, limits=limits, tolerate=tolerate) as file:
        return {name: tensor.torch(device=device) for name, tensor in file.items()}


def load(
    data: bytes | bytearray | memoryview,
    *,
    device: Any = "cpu",
    verify: bool = True,
    limits: Mapping[str, int] | None = None,
    tolerate: Iterable[str] = (),
) -> dict[str, Any]:
    """All tensors of a file that is in memory. As :func:`load_file`."""
    return load_file(data, device=device, verify=verify, limits=limits, tolerate=tolerate)


def save_file(
    tensors: Mapping[str, Any],
    path: Path,
    *,
    attributes: Mapping[str, Any] | None = None,
    generation: Generation = "1.2",
    digest: Digest | None = "sha256",
    zstd: int | None = None,
    canonical: bool = False,
) -> None:
    """Writes a file of 1.2 or 2, as :func:`zten.numpy.save_file`. Tensors on a device are copied from it.

    Tensors that share memory are written one by one.
    """
    _save(
        tensors,
        path,
        attributes=attributes,
        generation=generation,
        digest=digest,
        zstd=zstd,
        canonical=canonical,
    )


def save(
    tensors: Mapping[str, Any],
    *,
    attributes: Mapping[str, Any] | None = None,
    generation: Generation = "1.2",
    digest: Digest | None = "sha256",
    zstd: int | None = None,
    canonical: bool = False,
) -> bytes:
    """The same as ``bytes``."""
    file = _save(
        tensors,
        None,
        attributes=attributes,
        generation=generation,
        digest=digest,
        zstd=zstd,
        canonical=canonical,
    )
    return file or b""
