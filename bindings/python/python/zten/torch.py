"""Files as dictionaries of PyTorch tensors, as ``safetensors.torch`` has it. Needs PyTorch.

>>> import torch, zten.torch
>>> zten.torch.save_file({"weight": torch.ones(2, 3, dtype=torch.bfloat16)}, "model.zt")
>>> zten.torch.load_file("model.zt")["weight"].dtype
torch.bfloat16

``save_file`` and ``save`` are those of :mod:`zten.numpy`, which take tensors, too: those on a device are
copied from it, and tensors that share memory are written one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ._file import Digests, Limits, Source
from ._load import Torch
from ._load import load as _load
from .numpy import save, save_file

__all__ = ["load", "load_file", "save", "save_file"]


def load_file(
    source: Source,
    *,
    device: Any = "cpu",
    verify: bool = True,
    map: bool = False,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
    digests: Digests | None = None,
) -> dict[str, Any]:
    """All tensors of a file of any format by their names, in the order of the file, read and verified on several threads,
    and then sent to the device.

    Args:
        source: as of :func:`zten.open`.
        device: where tensors go.
        verify: compare digests.
        map: tensors are views of a memory map whose pages are copied when they are written to. What
            :func:`zten.open` says of maps holds here: it is for files that no other process changes.
        limits, tolerate, digests: as of :func:`zten.open`.

    Raises:
        Refused, Unsupported, LimitExceeded: as the file asks for; Unsupported also where an object is not dense,
            such as blocks of GGUF: :func:`zten.open` reads it.
    """
    tensors = _load(
        source, map=map, verify=verify, limits=limits, tolerate=tolerate, digests=digests, kind=Torch
    )
    return {name: tensor.to(device) for name, tensor in tensors.items()}


def load(
    data: bytes | bytearray | memoryview,
    *,
    device: Any = "cpu",
    verify: bool = True,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
) -> dict[str, Any]:
    """All tensors of a file that is in memory. As :func:`load_file`."""
    return load_file(data, device=device, verify=verify, limits=limits, tolerate=tolerate)
