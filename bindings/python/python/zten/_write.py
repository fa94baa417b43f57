"""Writing and converting files."""

from __future__ import annotations

import errno
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from . import _types, _zten
from ._errors import Unsupported
from ._file import Limits, Source, frozen, open, strictness
from ._types import Array, Bytes

Digest: TypeAlias = Literal["auto", "sha256", "crc32c", "xxh3"]
"""The digests that are written: ``"crc32c"`` in 1.2 alone, ``"xxh3"`` in 2 alone; ``"auto"`` is sha256 in 1.2, xxh3 in 2."""

Generation: TypeAlias = Literal["1.2", "2"]
"""The generations that are written."""

Format: TypeAlias = Literal["zt", "safetensors", "npz", "npy"]
"""The formats that are written, by the suffixes of their files."""

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

    __slots__ = ("_format", "_generation", "_writer")

    def __init__(
        self, writer: _zten.Writer | _zten.SpoolWriter, generation: str = "1.2", format: str = "zt"
    ) -> None:
        self._writer = writer
        # The types of other formats are those of 2.
        self._generation = generation if format == "zt" else "2"
        self._format = format

    def __repr__(self) -> str:
        if self._format != "zt":
            return f"<Writer of .{self._format}>"
        return f"<Writer of generation {self._generation}>"

    def add(self, name: str, value: Any, *, attributes: Mapping[str, Any] | None = None) -> None:
        """Writes a tensor: a NumPy array or scalar, a :class:`torch.Tensor`, also a sparse one (CSR and COO), or a
        sparse array or matrix of SciPy (CSR and COO; others are made CSR). A ``float4_e2m1fn_x2`` of PyTorch is written as
        what it is: twice as many elements of ``f4_e2m1``. The interpreter's lock is released while it is written. If another thread changes it meanwhile, old and new elements are mixed: what is
        validated and hashed is what is written. The canonical form of 2 reads it twice, and rejects that.

        Raises:
            TypeError: the generation has no type for the elements, or it is no tensor: a masked array, a data frame.
            Unsupported: the format of the file, which is not zTensor, has no place for it: a sparse tensor, an attribute, a
                type or a name that the format does not have.
            ValueError: the elements changed while they were written in the canonical form of 2.
            Invalid: it breaks a rule; above all, there is an object of that name already.
        """
        self._add_value(name, value, attributes, False)

    def _add_value(
        self, name: str, value: Any, attributes: Mapping[str, Any] | None, is_tied: bool
    ) -> None:
        with naming(f"tensor {name!r}"):
            shape, format, parts = self._parts(value)
            if is_tied:
                parts = [(*part[:5], True) for part in parts]
            self._add(name, format, shape, parts, attributes)

    def _parts(self, value: Any) -> tuple[Sequence[int], str, list[Part]]:
        """The shape, format and components of a tensor."""
        if _is_torch(value) and str(value.layout) != "torch.strided":
            shape, kind, components = _sparse_torch(value)
        elif _is_sparse(value):
            shape, kind, components = _sparse_scipy(value, self._generation)
        else:
            shape, part = _part("data", value, self._generation)
            return shape, "dense", [part]
        format = f"zt.{kind}/1" if self._generation == "2" else kind
        return shape, format, self._components(components)

    def _components(self, components: Mapping[str, Any]) -> list[Part]:
        parts = []
        for role, value in components.items():
            with naming(f"component {role!r}"):
                parts.append(_part(role, value, self._generation)[1])
        return parts

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
            ValueError: the packing is not known, or the components are not of the shape that it asks for.
        """
        if self._generation == "2":
            raise TypeError(f"tensor {name!r}: generation 2 has no quantized_group")
        components = {"packed_weight": packed_weight, "scales": scales, "zeros": zeros}
        with naming(f"tensor {name!r}"):
            _check_quantized(shape, components, (bits, group_size, packing))
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
        with naming(f"tensor {name!r}"):
            self._add(name, format, shape, self._components(components), attributes)

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


def create(
    path: Path,
    *,
    format: Format | None = None,
    generation: Generation = "1.2",
    digest: Digest | None = "auto",
    zstd: int | None = None,
    canonical: bool = False,
) -> Writer:
    """Begins a file that is to be at the path, in place of what is there.

    The suffix of the path is the format: ``.zt``, ``.safetensors``, ``.npz`` or ``.npy``. The header of the last three
    states the sizes of all tensors: tensors go to a file without a name first, and are copied once when it is finished.

    Args:
        path: where it is to be. A link there is rejected.
        format: the format, whatever the suffix is.
        generation, digest, zstd, canonical: of a ``.zt`` file alone.
        generation: ``"1.2"``, or ``"2"``, which has more types (``f8_e8m0``, ``f4_e2m1``).
        digest: what each component gets, over its stored bytes in 1.2, over its decoded ones in 2.
            The canonical form has a sha256, in 2 an xxh3, whatever is given.
        zstd: the level of compression, from 1 to 5; None does not compress.
        canonical: write the canonical form, of which there is one for one content: objects then come in
            the order of their names, in 1.2 shorter ones first, in 2 by their bytes, and are not
            compressed.

    Raises:
        ValueError: the suffix is not known, or the format has no such option.
    """
    form = generation, digest, canonical, False
    suffix = _format(path, format, form, zstd)
    if suffix != "zt":
        return Writer(_zten.SpoolWriter(path, suffix), format=suffix)
    return Writer(_writer(path, form, zstd), generation)


def append(path: Path, *, digest: Digest | None = "auto", zstd: int | None = None) -> Writer:
    """Goes on with the file at the path, which stays as it is until the new edition is published. It
    keeps its generation. Arguments are those of :func:`create`.

    Raises:
        ValueError: it is of 0.1, a data shard, or canonical, which nothing can be added to.
    """
    _check_form("2", zstd)
    with open(path, shards=False) as file:
        generation = "2" if file.generation == "2" else "1.2"
    return Writer(_zten.Writer.append(path, (generation, digest, False, False), zstd), generation)


def convert(
    source: Source,
    target: Path,
    *,
    overwrite: bool = True,
    format: Format | None = None,
    generation: Generation = "1.2",
    digest: Digest | None = "auto",
    zstd: int | None = None,
    canonical: bool = False,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
    shards: bool = True,
) -> int:
    """Writes what a file of any format that :func:`zten.open` reads holds as a file of the format that the suffix of
    the target tells: zTensor of 1.2 or 2, safetensors, ``.npz`` or ``.npy``. Validates all that it reads. Parts that
    are in shards become parts of the one file. Blocks of GGUF stay as they are in a zTensor file.

    Args:
        source, limits, tolerate, shards: as of :func:`zten.open`.
        target, format, generation, digest, zstd, canonical: as of :func:`create`.
        overwrite: replace a file that is at the target, as all functions that write files do; False makes that an error.

    Returns:
        How many objects were written.

    Raises:
        FileExistsError: a file is at the target, and ``overwrite`` is False.
        ValueError: the suffix is not known, or the format has no such option.
        Invalid, Unsupported, LimitExceeded: as the content asks for; Unsupported also where it is
            valid, and cannot be expressed in that format or generation.
    """
    form = generation, digest, canonical, False
    suffix = _format(target, format, form, zstd)
    if not overwrite and os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, "a file exists there, and overwrite is False", os.fspath(target))
    how = strictness(limits, tolerate, shards=shards)
    return _zten.convert(frozen(source), (target, suffix, overwrite), how, form, zstd)


def save(
    tensors: Mapping[str, Any],
    path: Path | None,
    *,
    attributes: Mapping[str, Any] | None,
    format: Format | None,
    generation: Generation,
    digest: Digest | None,
    zstd: int | None,
    canonical: bool,
) -> bytes | None:
    """Writes all tensors at a path, or returns the file."""
    names = list(tensors)
    suffix = _format(path, format, (generation, digest, canonical, False), zstd)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"the name {name!r} is not text")
    ties = tied(tensors)
    if ties and (suffix != "zt" or generation != "2"):
        one, other = next(iter(ties.items()))
        what = f"generation {generation}" if suffix == "zt" else f"a .{suffix} file"
        warnings.warn(
            f"tensors {other!r} and {one!r} share their memory, and {what} stores it twice: "
            "a .zt file with generation=\"2\" stores it once",
            stacklevel=3,
        )
    if suffix != "zt":
        return _save_arrays(tensors, path, suffix, attributes)
    shares = bool(ties) and generation == "2"
    native = _writer(path, (generation, digest, canonical, shares), zstd)
    writer = Writer(native, generation)
    try:
        if attributes is not None:
            writer.attributes(attributes)
        if canonical:
            names.sort(key=str.encode)
            if generation == "1.2":
                names.sort(key=lambda name: len(name.encode()))
        for name in names:
            # Data of a declared digest is stored once; the first of tied ones need not be.
            writer._add_value(name, tensors[name], None, shares and name in ties)
        return native.finish()
    except BaseException:
        writer.abort()
        raise


def _save_arrays(
    tensors: Mapping[str, Any], path: Path | None, suffix: str, attributes: Mapping[str, Any] | None
) -> bytes | None:
    """Writes dense tensors as a file of another format than zTensor, or returns it. All are declared before the first is
    written; only one that is not contiguous, or not in memory, is copied, and one at a time."""
    declared = []
    for name, value in tensors.items():
        with naming(f"tensor {name!r}"):
            if _is_sparse(value) or (_is_torch(value) and str(value.layout) != "torch.strided"):
                raise Unsupported(
                    f"tensor {name!r} is sparse: a .{suffix} file holds dense tensors", object=name, file=_shown(path)
                )
            shape, element = _declared(value)
            declared.append((name, element, shape))
    own = None if attributes is None else dict(attributes)
    writer = _zten.ArrayWriter(path, suffix, declared, own)
    try:
        while (at := writer.next()) is not None:
            name = declared[at][0]
            with naming(f"tensor {name!r}"):
                shape, part = _part("data", tensors[name], "2")
                if shape != declared[at][2]:
                    raise ValueError("its shape changed while the file was written")
                writer.write(part[4])
        return writer.finish()
    except BaseException:
        writer.abort()
        raise


def _shown(path: Path | None) -> str | None:
    return None if path is None else _zten.shown(path)


def _declared(value: Any) -> tuple[list[int], str]:
    """The shape and type of a dense tensor, without a look at its elements where it has both."""
    if not hasattr(value, "shape") or not hasattr(value, "dtype") or hasattr(value, "__dataframe__"):
        shape, part = _part("data", value, "2")
        return shape, part[2]
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("a masked array has elements that are none: filled() gives one that has not")
    shape = [int(size) for size in value.shape]
    if not _is_torch(value):
        return shape, _types.from_numpy(np.dtype(value.dtype), "2")[1]
    if str(value.dtype) == "torch.float4_e2m1fn_x2":
        if not shape:
            raise TypeError(f"a scalar of {value.dtype} is two elements")
        return [*shape[:-1], shape[-1] * 2], "f4_e2m1"
    return shape, _types.from_torch(value.dtype, "2")[1]


def _format(path: Path | None, format: str | None, form: tuple[str, str | None, bool, bool], zstd: object) -> str:
    """The suffix of the format that is written, which has all options that are given."""
    generation, digest, canonical, _ = form
    _check_form(generation, zstd)
    suffix = _zten.written_format(path, format)
    given = {
        "generation": generation != "1.2", "digest": digest not in ("auto", None), "zstd": zstd is not None,
        "canonical": canonical,
    }
    for option, is_given in given.items():
        if suffix != "zt" and is_given:
            raise ValueError(f"a .{suffix} file has no {option}: only a .zt file has")
    return suffix


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Has errors of a value say which it is."""
    try:
        yield
    except (TypeError, NotImplementedError) as error:
        raise TypeError(f"{what}: {error}") from error
    except OverflowError as error:
        raise OverflowError(f"{what}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


def tied(tensors: Mapping[str, Any]) -> dict[str, str]:
    """The tensors that share all of their memory with one before them, and that one."""
    seen: dict[Any, str] = {}
    ties = {}
    for name, value in tensors.items():
        place: Any = None
        if _is_torch(value) and str(value.layout) == "torch.strided" and value.numel() and not value.is_meta:
            place = str(value.device), value.data_ptr(), tuple(value.shape), value.stride(), value.dtype
        elif isinstance(value, np.ndarray) and value.size:
            place = value.ctypes.data, value.shape, value.strides, value.dtype
        if place is not None and seen.setdefault(place, name) != name:
            ties[name] = seen[place]
    return ties


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_sparse(value: Any) -> bool:
    return hasattr(value, "tocsr") and hasattr(value, "format")


def _sparse_scipy(value: Any, generation: str) -> tuple[Sequence[int], str, dict[str, Any]]:
    """The shape of a sparse array of SciPy, its format, and its components."""
    is_coo = value.format == "coo"
    value = value if is_coo else value.tocsr()
    if generation == "2":
        # No cell of it has two values, and the indices of a row are sorted.
        value = value.copy()
        value.sum_duplicates()
    if is_coo:
        axes = value.coords if hasattr(value, "coords") else (value.row, value.col)
        coords = np.stack([np.asarray(axis, np.uint64) for axis in axes])
        return value.shape, "sparse_coo", {"coords": coords, "values": value.data}
    indptr, indices = value.indptr.astype(np.uint64), value.indices.astype(np.uint64)
    return value.shape, "sparse_csr", {"indptr": indptr, "values": value.data, "indices": indices}


def _sparse_torch(value: Any) -> tuple[Sequence[int], str, dict[str, Any]]:
    """The shape of a sparse tensor of PyTorch, its format, and its components."""
    layout, value = str(value.layout).removeprefix("torch."), value.detach()

    def index(tensor: Any) -> Array:
        return np.asarray(tensor.cpu().numpy(), np.uint64)

    if layout == "sparse_coo" and value.dense_dim() == 0:
        value = value.coalesce()
        return value.shape, layout, {"coords": index(value.indices()), "values": value.values()}
    if layout == "sparse_csr" and value.ndim == 2 and value.values().ndim == 1:
        indptr, indices = index(value.crow_indices()), index(value.col_indices())
        return value.shape, layout, {"indptr": indptr, "values": value.values(), "indices": indices}
    raise TypeError(
        f"a tensor of layout {value.layout} with {value.ndim} dimensions: expected strided, sparse_csr of 2 "
        "dimensions, or sparse_coo without dense dimensions"
    )


def _check_quantized(
    shape: Sequence[int], components: Mapping[str, Any], how: tuple[int, int, str]
) -> None:
    """Holds the components of a ``quantized_group`` against its shape and attributes."""
    bits, group_size, packing = how
    known = {name: (codes, word, bits) for name, codes, word, bits in _zten.packings()}
    if packing not in known:
        raise ValueError(f"unknown packing {packing!r}: expected {', '.join(known)}")
    codes, word, own_bits = known[packing]
    if bits != own_bits:
        raise ValueError(f"bits is {bits}, and codes of packing {packing!r} have {own_bits}")
    if group_size < 1:
        raise ValueError(f"group_size is {group_size}, expected 1 or more")
    if len(shape) != 2 or shape[0] % codes:
        raise ValueError(f"shape {tuple(shape)}: expected inputs, a multiple of {codes}, and outputs")
    groups = (-(-shape[0] // group_size), shape[1])
    for role, expected in ("packed_weight", (shape[0] // codes, shape[1])), ("scales", groups), ("zeros", groups):
        value = components[role]
        found = tuple(value.shape if hasattr(value, "shape") else np.shape(value))
        if found != expected:
            raise ValueError(f"component {role!r} has the shape {found}, expected {expected}")
    element = str(getattr(components["packed_weight"], "dtype", "")).removeprefix("torch.")
    if element != {"i32": "int32", "u8": "uint8"}[word]:
        raise ValueError(f"component 'packed_weight' has elements of {element}, expected those of {word}")


def _writer(path: Path | None, form: tuple[str, str | None, bool, bool], zstd: int | None) -> _zten.Writer:
    """Begins a file, if there are such files."""
    _check_form(form[0], zstd)
    return _zten.Writer(path, form, zstd)


def _check_form(generation: object, zstd: object) -> None:
    if not isinstance(generation, str):
        raise TypeError(f'generation is {generation!r}, expected "1.2" or "2"')
    if zstd is not None and (not isinstance(zstd, int) or isinstance(zstd, bool)):
        raise TypeError(f"zstd is {zstd!r}, expected a level from 1 to 5, or None")
    if isinstance(zstd, int) and not 1 <= zstd <= 5:
        raise ValueError(f"zstd is {zstd}, expected a level from 1 to 5, or None")


def _part(
    role: str, value: Any, generation: str
) -> tuple[list[int], Part]:
    """The shape of an array, and what is written of it."""
    if _is_torch(value):
        return _torch_part(role, value, generation)
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("a masked array has elements that are none: filled() gives one that has not")
    if hasattr(value, "__dataframe__"):
        raise TypeError("a data frame is not a tensor: write its columns, or what to_numpy() gives")
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

    shape, is_packed = list(value.shape), str(value.dtype) == "torch.float4_e2m1fn_x2"
    if is_packed and generation != "2":
        raise TypeError(f"zTensor {generation} has no type for elements of {value.dtype}")
    if is_packed and not shape:
        raise TypeError(f"a scalar of {value.dtype} is two elements")
    if is_packed:
        shape[-1] *= 2
        storage, element = "u8", "f4_e2m1"
    else:
        storage, element = _types.from_torch(value.dtype, generation)
    # A view may conjugate or negate what is in memory.
    value = value.detach().cpu()
    if value.is_conj() or value.is_neg():
        value = value.resolve_conj().resolve_neg()
    # One element is contiguous whatever its stride is, and stays so when it is reshaped: a view of it as bytes needs a stride
    # of 1.
    flat = value.contiguous().as_strided((value.numel(),), (1,))
    content = flat.view(torch.uint8).numpy() if flat.numel() else np.empty(0, np.uint8)
    return shape, (role, storage, element, math.prod(shape), content, False)
