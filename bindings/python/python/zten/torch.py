"""Files as dictionaries of PyTorch tensors, as ``safetensors.torch`` has it. Needs PyTorch.

>>> import torch, zten.torch
>>> zten.torch.save_file({"weight": torch.ones(2, 3, dtype=torch.bfloat16)}, "model.zt")
>>> zten.torch.load_file("model.zt")["weight"].dtype
torch.bfloat16

``save_file`` and ``save`` are the functions of :mod:`zten.numpy`, which also take tensors, and copy tensors on a device to
the CPU. Tensors that share all of their memory are stored once in a zTensor file of generation 2; other files store each of
them, with a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ._errors import Unsupported
from ._file import Digests, Limits
from ._load import Names, Progress, Torch
from ._load import load as _load
from ._paths import Path, Source, is_path, local
from ._write import Digest, Format, Generation, tied
from ._zten import shown, written_format
from .numpy import save, save_file

__all__ = ["load", "load_file", "load_model", "save", "save_file", "save_model"]


def load_file(
    source: Source,
    device: Any = "cpu",
    *,
    verify: bool = True,
    map: bool | None = None,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
    digests: Digests | None = None,
    names: Names | None = None,
    progress: Progress | None = None,
    dequantize: bool | str = False,
) -> dict[str, Any]:
    """Returns all tensors of a file of any format by their names, in the order of the file, on ``device``.

    A file without digests and checksums, such as a safetensors file, is mapped, as ``safetensors.torch`` does: the call returns at
    once, and the pages of a tensor are read when it is used. Writing to a tensor does not change the file. Do not map a file that
    another process may change or truncate meanwhile, or on a network file system that may fail: reading beyond the end of a
    truncated file kills the process. ``map=False`` reads all tensors into memory of their own, on several threads. So does the
    default for a file that has something to verify, for bytes and open files, and on Windows.

    Args:
        source: the file, as for :func:`zten.open`.
        device: the device to which tensors are moved.
        verify: compare digests.
        map: return views of a copy-on-write memory map, as :func:`zten.open` describes. True also maps a file that has digests or
            checksums, which are then verified first; False never maps.
        limits, tolerate, digests: as for :func:`zten.open`.
        names, progress, dequantize: as for :func:`zten.numpy.load_file`.

    Raises:
        MissingTensor: a name or pattern matches no tensor.
        Invalid, Unsupported, LimitExceeded: the file cannot be read; Unsupported also if a tensor is unread, is opaque,
            such as text of NumPy, or is not dense, such as quantized blocks of GGUF, which :func:`zten.open` reads. ``names``
            loads the others.
    """
    tensors = _load(
        source,
        map=map,
        verify=verify,
        limits=limits,
        tolerate=tolerate,
        digests=digests,
        kind=Torch,
        names=names,
        progress=progress,
        dequantize=dequantize,
    )
    return {name: tensor.to(device) for name, tensor in tensors.items()}


def load(
    data: bytes | bytearray | memoryview,
    device: Any = "cpu",
    *,
    verify: bool = True,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
) -> dict[str, Any]:
    """Reads all tensors of a file whose bytes are ``data``, and returns them on ``device``, as :func:`load_file` does."""
    return load_file(data, device=device, verify=verify, limits=limits, tolerate=tolerate)


def save_model(
    model: Any,
    path: Path,
    metadata: Mapping[str, str] | None = None,
    *,
    format: Format | None = None,
    generation: Generation = "1.2",
    digest: Digest | None = "auto",
    zstd: int | None = None,
) -> None:
    """Writes the parameters and buffers of a :class:`torch.nn.Module`. The suffix of the path decides the format.

    If several parameters share all of their memory, a zTensor file of generation 2 lists each, and stores their elements
    once. Other files have only the first of them. The metadata of a safetensors file then maps the name of each omitted
    parameter to the name of the first one, as ``safetensors.torch.save_model`` does.

    Args:
        model: the module.
        path, format, generation, digest, zstd: as for :func:`zten.create`.
        metadata: attributes of the file whose values are text.
    """
    state = model.state_dict()
    suffix = written_format(path, format)
    if generation not in ("2", 2) or suffix != "zt":
        ties = tied(state)
        state = {name: tensor for name, tensor in state.items() if name not in ties}
        if ties and suffix == "safetensors":
            metadata = {**(metadata or {}), **ties}
    save_file(state, path, metadata=metadata, format=format, generation=generation, digest=digest, zstd=zstd)


def load_model(
    model: Any,
    source: Source,
    strict: bool = True,
    device: Any = "cpu",
    *,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
    digests: Digests | None = None,
) -> tuple[list[str], list[str]]:
    """Loads the parameters and buffers of a :class:`torch.nn.Module` from a file of any format. A parameter that the file lacks
    does not count as missing if it shares its memory with a parameter that the file has.

    Args:
        model: the module, whose parameters are changed in place.
        source, limits, tolerate, digests: as for :func:`zten.open`.
        strict: raise if parameters are missing in the file, or the file has further tensors.
        device: the device to which tensors are read.

    Returns:
        The names of the parameters that the file lacks, and the names of the tensors that the module lacks.

    Raises:
        Invalid, Unsupported, LimitExceeded: the file cannot be read; Unsupported also if a tensor has another shape than its
            parameter, or for the reasons of ``strict``.
    """
    state = load_file(source, device, limits=limits, tolerate=tolerate, digests=digests)
    own = model.state_dict()
    source = local(source)
    path = shown(source) if is_path(source) else None
    wrong = [
        f"{name!r} has the shape {tuple(state[name].shape)}, expected {tuple(own[name].shape)}"
        for name in state
        if name in own and state[name].shape != own[name].shape
    ]
    ties = tied(own)
    alike = {name: ties.get(name, name) for name in own}
    there = {alike[name] for name in state if name in own}
    missing = [name for name in own if name not in state and alike[name] not in there]
    unexpected = [name for name in state if name not in own]
    if strict:
        wrong += [f"no tensor {name!r}" for name in missing]
        wrong += [f"{name!r} is not one of the module" for name in unexpected]
    if wrong:
        more = f", and {len(wrong) - 8} more" if len(wrong) > 8 else ""
        raise Unsupported(f"the file is not of this module: {', '.join(wrong[:8])}{more}", file=path)
    model.load_state_dict(state, strict=False)
    return missing, unexpected
