"""Patches between checkpoints: what changed between two models, made, shown, checked and applied.

>>> import numpy as np, zten.numpy, zten.patch
>>> old = {"w": np.zeros(1000, np.float32)}
>>> new = {"w": np.where(np.arange(1000) == 7, 1, 0).astype(np.float32)}
>>> zten.numpy.save_file(old, "old.safetensors")
>>> zten.patch.make("old.safetensors", new, "patch.zt").elements
1
>>> _ = zten.patch.apply("old.safetensors", "patch.zt", "new.safetensors")
>>> _ = zten.patch.update(old, "patch.zt")
>>> float(old["w"][7])
1.0

A patch is a file that anyone may have made: one that is damaged, or was made of other tensors, raises a :class:`zten.Error`. The
page `docs/patch.md` of the project describes the format.

A model is a file of any format that zten reads, also in shards, or a mapping of names to arrays of NumPy, tensors of PyTorch, or
other dense arrays that :func:`zten.numpy.save_file` takes. Contiguous arrays in the memory of the CPU are read where they are.
Others, such as tensors on a device, are copied one at a time. Do not change arrays while a call reads them. Besides the arrays,
memory is needed for the headers, 4 KiB for each array, and at most 18 MiB for each patch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _types, _write, _zten
from ._errors import Unsupported
from ._file import Limits, strictness
from ._paths import Path, Source, local, readable, resolved
from ._write import Format, Generation

__all__ = ["Change", "Model", "Patch", "Patches", "Summary", "Verified", "Whole", "apply", "make", "show", "update", "verify"]

Model: TypeAlias = Source | Mapping[str, Any]
"""A file, or arrays and tensors by their names."""

Patches: TypeAlias = Source | Sequence[Source]
"""A patch, or several, which are applied one after another."""


@dataclass(frozen=True)
class Summary:
    """The counts of a new patch, and the identities of its two models."""

    unchanged: int
    """The number of tensors that stay as they are, under the same or another name."""
    changed: int
    """The number of tensors in which elements change."""
    whole: int
    """The number of tensors that are added, or whose type, shape or attributes change."""
    removed: int
    """The number of tensors that are removed."""
    renamed: int
    """The number of tensors that are renamed."""
    elements: int
    """The number of elements that change, as far as they were stored one by one."""
    bytes: int
    """The decoded bytes of the new tensors."""
    base: str
    """The identity of the old tensors, as :meth:`zten.File.identity` returns it."""
    result: str
    """The identity of the new tensors."""


@dataclass(frozen=True)
class Change:
    """A component in which elements change."""

    name: str
    """The name of the tensor."""
    role: str
    """The role of the component: ``"data"`` for dense tensors."""
    type: str
    """The type and shape, such as ``"bf16[4096,4096]"``."""
    base: str
    """The SHA-256 of the decoded bytes before."""
    result: str
    """The SHA-256 of the decoded bytes after."""
    bytes: int
    """The number of bytes that describe the change, before compression."""


@dataclass(frozen=True)
class Whole:
    """A tensor whose elements are all in a patch, because the tensor is added, or its type, shape or attributes change."""

    name: str
    """The name of the tensor."""
    type: str
    """The type and shape of its first component."""


@dataclass(frozen=True)
class Patch:
    """What a patch changes: the tensors that it changes, replaces, removes and renames, and the identities of the models before and
    after."""

    base: str
    """The identity of the tensors from which the patch was made, as :meth:`zten.File.identity` returns it."""
    result: str
    """The identity of the tensors of the result."""
    format: str
    """The format of the file that the patch was made for, such as ``"safetensors"`` or ``"zTensor 2"``."""
    changed: tuple[Change, ...]
    """The components in which elements change."""
    whole: tuple[Whole, ...]
    """The tensors that are added, or whose type, shape or attributes change."""
    removed: tuple[str, ...]
    """The names of the tensors that are removed."""
    renamed: Mapping[str, str]
    """The new names of renamed tensors by their old names."""
    attributes: Mapping[str, Any] | None
    """The attributes of the result; None if they are those of the base."""


@dataclass(frozen=True)
class Verified:
    """What :func:`verify` has found: the identities of the model before and after the patches, and the number of tensors after
    them."""

    base: str
    """The identity of the base, as :meth:`zten.File.identity` returns it."""
    result: str
    """The identity of the result."""
    tensors: int
    """The number of tensors of the result."""


def make(
    old: Model,
    new: Model,
    path: Path,
    *,
    zstd: int | None = None,
    overwrite: bool = True,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
) -> Summary:
    """Writes the patch that changes ``old`` into ``new``. Both are read once, without the lock of the interpreter; tensors that may
    have been renamed are read twice.

    Arrays have no attributes of a file, so a patch from a file to arrays keeps those of the file.

    Args:
        old, new: files, or mappings of names to arrays and tensors, in any combination.
        path: the path of the patch. A file there is replaced when the patch is complete.
        zstd: the level of compression, from 1 to 5; None is the default of the command.
        overwrite: replace an existing file at the path.
        limits, tolerate: as for :func:`zten.open`, for files.

    Raises:
        Invalid, Unsupported, LimitExceeded: a file cannot be read.
        FileExistsError: a file exists at the path, and ``overwrite`` is False.
    """
    _write._check_form("2", zstd)
    target, how = resolved(path), strictness(limits, tolerate)
    with _model(old) as before, _model(new) as after:
        counts, (base, result) = _zten.patch_make(before, after, (target, overwrite), how, zstd)
    return Summary(*counts, base, result)


def apply(
    old: Model,
    patches: Patches,
    output: Path,
    *,
    format: Format | None = None,
    generation: Generation | None = None,
    overwrite: bool = True,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
) -> str | None:
    """Applies patches to ``old``, and writes the result at ``output``, which may be the path of ``old``.

    A file at the path is replaced only by the complete result, all of whose digests have been compared. Whatever goes wrong, also a
    kill or a full disk, leaves the old file or the new one.

    Args:
        old: a file, or arrays and tensors by their names. It is not changed.
        patches: a patch, or a sequence of patches, of which each was made of the result of the one before it.
        output: the path of the result. Its suffix decides the format: ``.zt``, ``.safetensors``, ``.npz`` or ``.npy``.
        format: the format, if the suffix of the path does not decide it.
        generation: the generation of a ``.zt`` file, ``"1.2"`` or ``"2"``. None is that of the file that the patch was made for,
            or of ``old``, and otherwise ``"1.2"``.
        overwrite: replace an existing file at the path.
        limits, tolerate: as for :func:`zten.open`, for all files.

    Returns:
        The identity of the result, as :meth:`zten.File.identity` returns it; None without patches.

    Raises:
        Invalid: ``old`` is not what the patch was made of (rule ``patch-base``), a patch is damaged, or a file is invalid.
        Unsupported, LimitExceeded: a file cannot be read, or the format cannot hold the result.
        FileExistsError: a file exists at the path, and ``overwrite`` is False.
    """
    target = resolved(output)
    own = None if generation is None else _write._named(generation)
    suffix = _write._format(target, format, (own or "1.2", "auto", False, False), None)
    how = strictness(limits, tolerate)
    with _model(old) as base, _sources(patches) as files:
        return _zten.patch_apply(base, files, (target, suffix, own, overwrite), how)


def update(
    tensors: Mapping[str, Any],
    patches: Patches,
    *,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
) -> str | None:
    """Applies patches to arrays and tensors in place.

    First the whole result is computed without writing it, and all digests are compared: a wrong base, a damaged patch, and a patch
    that was applied already raise an error and change nothing. Then the elements are written, which cannot be undone. If that
    fails, because a patch can no longer be read, a file has changed, or another thread has changed the arrays, an exception is
    raised and some tensors are new and others old: load them anew. An interrupt (Ctrl-C) is raised after all elements were
    written. Programs that need the old or the new model after any failure use :func:`apply`.

    Contiguous arrays and tensors in the memory of the CPU are changed where they are. All others, such as tensors on a device, are
    copied to the CPU first, all together, and those that changed are copied back at the end. Tensors that are the same memory,
    such as tied weights, are changed once. The order of the tensors and the attributes of a file do not matter.

    Args:
        tensors: arrays of NumPy and tensors of PyTorch by their names: all tensors that the patch was made of.
        patches: as for :func:`apply`.
        limits, tolerate: as for :func:`zten.open`, for the patches.

    Returns:
        The identity of the result; None without patches.

    Raises:
        Invalid: the tensors are not what the patch was made of (rule ``patch-base``), or a patch is damaged.
        Unsupported: a patch adds, removes or renames a tensor, or changes a type or shape; or it gives tensors that are the same
            memory different elements.
        TypeError, ValueError: an array is read-only, is neither an array of NumPy nor a tensor of PyTorch, shares a part of its
            memory with another, or has elements that share their memory, as an expanded tensor has.
    """
    how = strictness(limits, tolerate)
    places, memory, owners = _writable(tensors)
    with _sources(patches) as files:
        result, changed = _zten.patch_update(places, [held for held, _ in memory], files, how)
    for number in changed:
        _, put_back = memory[number]
        if put_back is not None:
            with _write.naming(f"tensor {owners[number]!r}"):
                put_back()
    return result


def verify(
    old: Model,
    patches: Patches,
    *,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
) -> Verified:
    """Checks that ``old`` has the tensors from which the patch was made, and that applying it gives the result that it promises.
    Nothing is written.

    Args:
        old, patches, limits, tolerate: as for :func:`apply`.

    Raises:
        Invalid: the rule ``patch-base``, or a patch is damaged.
        Unsupported, LimitExceeded: a file cannot be read.
    """
    how = strictness(limits, tolerate)
    with _model(old) as base, _sources(patches) as files:
        return Verified(*_zten.patch_verify(base, files, how))


def show(
    patch: Source,
    *,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
) -> Patch:
    """Returns the description of a patch. The changes themselves are not read.

    Args:
        patch, limits, tolerate: as for :func:`zten.open`.

    Raises:
        Invalid: the file is no patch (rule ``patch-file``), or its description is damaged.
        Unsupported, LimitExceeded: the file cannot be read.
    """
    with readable(local(patch)) as opened:
        ids, changed, whole, removed, renamed, attributes = _zten.patch_show(opened, strictness(limits, tolerate))
    return Patch(
        *ids,
        changed=tuple(Change(*one) for one in changed),
        whole=tuple(Whole(*one) for one in whole),
        removed=tuple(removed),
        renamed=dict(renamed),
        attributes=attributes,
    )


@contextmanager
def _model(model: Model) -> Iterator[Any]:
    """Yields what the native module takes for ``model``: for a file, the path, bytes or open file, which is closed at the end of
    the block; for arrays, what :func:`_arrays` returns."""
    if isinstance(model, Mapping):
        yield _arrays(model)
    else:
        with readable(local(model)) as opened:
            yield opened


@contextmanager
def _sources(patches: Patches) -> Iterator[list[Any]]:
    """Yields what the native module takes for ``patches``: a list of paths, bytes and open files, which are closed at the end of
    the block."""
    several = isinstance(patches, Sequence) and not isinstance(patches, (str, bytes, bytearray, memoryview))
    with ExitStack() as stack:
        given: Iterable[Any] = patches if several else [patches]  # type: ignore[assignment]
        yield [stack.enter_context(readable(local(patch))) for patch in given]


def _arrays(tensors: Mapping[str, Any]) -> tuple[list[_zten._Array], Callable[[int], _types.Bytes]]:
    """Returns a list of the name, dtype, shape and bytes of each array, and a function. The bytes of an array that is on a
    device, or is not contiguous and little-endian, are None in the list. The function copies them for the index of the array,
    when they are read."""
    values, entries = [], []
    for name, value in tensors.items():
        with _naming(name):
            value = _dense(name, value)
            shape, element = _write._declared(value)
            content = _write._part("data", value, "2")[1][4] if _is_plain(value) else None
            values.append((name, value))
            entries.append((name, element, shape, content))

    def fetch(number: int) -> _types.Bytes:
        name, value = values[number]
        _, element, shape, _ = entries[number]
        with _naming(name):
            own, part = _write._part("data", value, "2")
            if (part[2], own) != (element, shape):
                raise ValueError("its dtype or shape changed while it was read")
            return part[4]

    return entries, fetch


def _naming(name: object) -> Any:
    if not isinstance(name, str):
        raise TypeError(f"the name {name!r} is not text")
    return _write.naming(f"tensor {name!r}")


def _dense(name: str, value: Any) -> Any:
    """Checks that ``value``, the tensor ``name``, is dense, and returns it: as it is if it has the attributes ``shape`` and
    ``dtype``, otherwise as an array of NumPy.

    Raises:
        Unsupported: the tensor is sparse.
    """
    if _write._is_sparse(value) or (_write._is_torch(value) and str(value.layout) != "torch.strided"):
        raise Unsupported(f"tensor {name!r} is sparse: patches of arrays in memory take dense ones", object=name)
    is_described = hasattr(value, "shape") and hasattr(value, "dtype")
    return value if is_described else np.asarray(value)


def _is_plain(value: Any) -> bool:
    """Returns whether the memory of ``value`` has the bytes that a file would have: on the CPU, contiguous, little-endian, and
    not packed differently, as ``f4_e2m1`` is."""
    if _write._is_torch(value):
        is_view = value.is_conj() or value.is_neg()
        return bool(value.device.type == "cpu" and value.is_contiguous() and not is_view)
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray) or not value.flags.c_contiguous:
        return False
    return bool(value.dtype == value.dtype.newbyteorder("<") and value.dtype != _types.numpy_dtype("f4_e2m1"))


_Memory: TypeAlias = tuple[_types.Bytes, Callable[[], None] | None]


def _writable(tensors: Mapping[str, Any]) -> tuple[list[_zten._Place], list[_Memory], list[str]]:
    """Returns three lists about the arrays that a patch changes in place: the name, dtype and shape of each array, with the index
    of its memory in the second list; the bytes of each memory, which may be a copy, with a function that copies them back to the
    array, or None if the bytes are the array's own; and for each memory the name of the first array that has it.

    Raises:
        TypeError, ValueError: an array cannot be changed in place.
    """
    places: list[_zten._Place] = []
    memory: list[_Memory] = []
    owners: list[str] = []
    known: dict[Any, int] = {}
    ranges = []
    for name, value in tensors.items():
        with _naming(name):
            if not _write._is_torch(value) and not isinstance(value, np.ndarray):
                raise TypeError(f"{type(value)} cannot be changed in place: expected an array of NumPy or a tensor of PyTorch")
            value = _dense(name, value)
            if isinstance(value, np.ndarray) and not value.flags.writeable:
                raise ValueError("the array is read-only")
            shape, element = _write._declared(value)
            strides = value.strides if isinstance(value, np.ndarray) else value.stride()
            if 0 not in value.shape and any(length > 1 and stride == 0 for length, stride in zip(value.shape, strides, strict=True)):
                raise ValueError("elements of it share their memory, so they cannot change one by one")
            view, extent = _extent(value)
            number = known.get(view, len(memory))
            if number == len(memory):
                content = _write._part("data", value, "2")[1][4]
                back = None if _is_plain(value) else _copying_back(value, content)
                memory.append((content, back))
                owners.append(name)
                known[view] = number
                ranges.append((*extent, name))
            places.append((name, element, shape, number))
    ranges = sorted(one for one in ranges if one[1] < one[2])
    for (device, _, end, name), (other_device, start, _, other) in zip(ranges, ranges[1:], strict=False):
        if device == other_device and start < end:
            raise ValueError(f"tensors {name!r} and {other!r} share a part of their memory")
    return places, memory, owners


# NumPy 2 has moved this function from `numpy` to `numpy.lib.array_utils`, a module that NumPy 1.26 does not have.
_byte_bounds: Callable[[npt.NDArray[Any]], tuple[int, int]] = getattr(getattr(np.lib, "array_utils", np), "byte_bounds")


def _extent(value: Any) -> tuple[tuple[Any, ...], tuple[str, int, int]]:
    """Returns a key, which is equal for two arrays if they are the same view of the same memory, and the memory that the elements
    are in: the device, the address of the first byte, and the address after the last byte."""
    if isinstance(value, np.ndarray):
        start, end = _byte_bounds(value)
        where = ("cpu", start, end)
        strides: Any = value.strides
    else:
        size, strides = value.element_size(), value.stride()
        start = value.data_ptr()
        last = sum((length - 1) * stride for length, stride in zip(value.shape, strides, strict=True))
        where = (str(value.device), start, start + (last + 1) * size if value.numel() else start)
    # Arrays without elements may have the same address, but share no memory, so each gets a key of its own.
    own = () if where[1] < where[2] else (id(value),)
    return (*where, tuple(value.shape), tuple(strides), str(value.dtype), *own), where


def _copying_back(value: Any, content: _types.Bytes) -> Callable[[], None]:
    """Returns a function that copies the elements in ``content``, a copy of ``value`` in the form of a file, back to ``value``."""

    def array() -> None:
        if value.dtype == _types.numpy_dtype("f4_e2m1"):
            value[...] = _types.unpack(content, value.size).reshape(value.shape)
        else:
            value[...] = content.view(value.dtype.newbyteorder("<")).reshape(value.shape)

    def tensor() -> None:
        import torch

        value.detach().copy_(torch.from_numpy(content).view(value.dtype).reshape(value.shape))

    return tensor if _write._is_torch(value) else array
