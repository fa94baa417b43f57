"""Files as dictionaries of PyTorch tensors, as ``safetensors.torch`` has it. Needs PyTorch.

>>> import torch, zten.torch
>>> zten.torch.save_file({"weight": torch.ones(2, 3, dtype=torch.bfloat16)}, "model.zt")
>>> zten.torch.load_file("model.zt")["weight"].dtype
torch.bfloat16

``save_file`` and ``save`` are those of :mod:`zten.numpy`, which take tensors, too: those on a device are
copied from it. Tensors that share all of their memory are stored once in generation 2; in 1.2 each is, and a warning names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ._errors import Unsupported
from ._file import Digests, Limits, Source
from ._load import Names, Progress, Torch
from ._load import load as _load
from ._write import Digest, Format, Generation, Path, tied
from ._zten import shown, written_format
from .numpy import save, save_file

__all__ = ["load", "load_file", "load_model", "save", "save_file", "save_model"]


def load_file(
    source: Source,
    device: Any = "cpu",
    *,
    verify: bool = True,
    map: bool = False,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
    digests: Digests | None = None,
    names: Names | None = None,
    progress: Progress | None = None,
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
        names, progress: as of :func:`zten.numpy.load_file`.

    Raises:
        KeyError: no tensor has a name that is asked for.
        Invalid, Unsupported, LimitExceeded: as the file asks for; Unsupported also where an object is not dense,
            such as blocks of GGUF: :func:`zten.open` reads it.
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
    """All tensors of a file that is in memory. As :func:`load_file`."""
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
    """Writes the parameters and buffers of a :class:`torch.nn.Module` as a file of the format that the suffix of the path
    tells. Of those that share all of their memory, a zTensor file of generation 2 has all, stored once; other files have
    the first alone. The metadata of a safetensors file then says for each of the others which one has its elements, as
    ``safetensors.torch.save_model`` writes it.

    Args:
        model: the module.
        path, format, generation, digest, zstd: as of :func:`zten.create`.
        metadata: attributes of the file that are text.
    """
    state = model.state_dict()
    suffix = written_format(path, format)
    if generation != "2" or suffix != "zt":
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
    """Loads the parameters and buffers of a :class:`torch.nn.Module` from a file of any format. One that the file does not
    have, and that shares its memory with one that it has, is not missing.

    Args:
        model: the module, whose parameters are changed in place.
        source, limits, tolerate, digests: as of :func:`zten.open`.
        strict: have the file hold what the module does, and nothing else.
        device: where tensors are read to.

    Returns:
        The names that the file does not have, and those that the module does not have.

    Raises:
        Invalid, Unsupported, LimitExceeded: as the file asks for; Unsupported also where the file has not the tensors of
            the module, or they have other shapes.
    """
    state = load_file(source, device, limits=limits, tolerate=tolerate, digests=digests)
    own = model.state_dict()
    file = None if isinstance(source, (bytes, bytearray, memoryview)) or hasattr(source, "read") else source
    path = None if file is None else shown(file)
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
