"""Writing and converting files."""

from __future__ import annotations

import errno
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Self, TypeAlias, cast

import numpy as np

from . import _types, _zten
from ._errors import Unsupported
from ._file import Limits, open, strictness
from ._paths import Path, Source, local, readable, resolved
from ._types import Array, Bytes

Digest: TypeAlias = Literal["auto", "sha256", "crc32c", "xxh3"]
"""The digests that zten writes. ``"auto"`` is sha256 in 1.2 and xxh3 in 2; only 1.2 has ``"crc32c"``, and only 2 ``"xxh3"``."""

Generation: TypeAlias = Literal["1.2", "2", 2]
"""The generations of zTensor that zten writes. ``2`` is ``"2"``."""

Format: TypeAlias = Literal["zt", "safetensors", "npz", "npy"]
"""The formats that zten writes, named by the suffixes of their files."""

# A component to write: its role, its storage dtype, its dtype, its number of elements, its bytes, and whether an earlier
# component may have the same bytes, which are then stored once.
Part: TypeAlias = tuple[str, str, str, int, Bytes, bool]


class Writer:
    """A file that is being written, object by object. :func:`zten.create` and :func:`zten.append` return one.

    As a context manager it publishes the file at the end of the block, and deletes the unfinished file after an exception.
    Whenever the program or the machine stops, the file at the path is either the old file or the complete new one. Objects
    are validated by the same rules as when a file is read.
    """

    __slots__ = ("_format", "_generation", "_writer")

    def __init__(
        self, writer: _zten.Writer | _zten.SpoolWriter, generation: str = "1.2", format: str = "zt"
    ) -> None:
        self._writer = writer
        # For a file of another format, values are converted as for generation 2, which has all dtypes of the other formats.
        self._generation = generation if format == "zt" else "2"
        self._format = format

    def __repr__(self) -> str:
        if self._format != "zt":
            return f"<Writer of .{self._format}>"
        return f"<Writer of generation {self._generation}>"

    def add(self, name: str, value: Any, *, attributes: Mapping[str, Any] | None = None) -> None:
        """Writes the tensor ``value``: a NumPy array or scalar, a dense or sparse :class:`torch.Tensor` (CSR or COO), or a
        sparse array or matrix of SciPy (CSR or COO; other layouts are converted to CSR). An element of PyTorch's
        ``float4_e2m1fn_x2`` is written as two elements of ``f4_e2m1``.

        The interpreter's lock is released meanwhile. If another thread changes the elements, the file has a mixture of old
        and new elements, and a digest of exactly that mixture. The canonical form of 2 reads the elements twice, and detects
        such a change.

        Raises:
            TypeError: the generation has no dtype for the elements, or the value is a masked array or a data frame.
            Unsupported: the file is not a zTensor file, and its format has no sparse tensors, no attributes of tensors, or
                not this dtype or name.
            ValueError: the elements changed while they were written in the canonical form of 2.
            Invalid: the tensor breaks a rule: most often, the file has an object of that name already.
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
        """Converts ``value``, as :meth:`add` takes it, to an object of the file: its shape, its layout and its components."""
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
        """Writes a tensor of the layout ``quantized_group``: packed codes, and a scale and a zero point for each group.

        Args:
            shape: the numbers of inputs and outputs of the weights.
            packed_weight: words of codes, as ``int32`` or ``uint8`` of the shape ``[inputs / codes, outputs]``.
            scales, zeros: ``float32``, ``float16`` or ``bfloat16`` of the shape ``[groups, outputs]``.
            bits, group_size, packing: the number of bits of a code, the number of inputs in a group, and the name of the
                packing. They are written as attributes.
            attributes: further attributes of the tensor.

        Raises:
            TypeError: the file is of generation 2, which does not have this layout.
            ValueError: the packing is unknown, or a component does not have the shape that the packing requires.
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
        """Writes an object of the layout ``format``, with its components by their roles. The rules of a known layout are
        validated; an unknown layout is written as it is."""
        with naming(f"tensor {name!r}"):
            self._add(name, format, shape, self._components(components), attributes)

    def attributes(self, attributes: Mapping[str, Any]) -> None:
        """Sets the attributes of the file, and replaces the attributes that were set before. Keys are text. Values are
        integers, floats, texts, bytes, lists, dictionaries, booleans, None, :class:`zten.Tag`, :class:`zten.Simple` and
        :class:`zten.Entries`."""
        self._writer.attributes(dict(attributes))

    def finish(self) -> None:
        """Writes the manifest, and gives the file its path, in place of a file that was there."""
        self._writer.finish()

    def abort(self) -> None:
        """Deletes the unfinished file. A file that was at the path stays as it was."""
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
    """Begins a file, which replaces the file at ``path`` when it is finished.

    The suffix of the path decides the format: ``.zt``, ``.safetensors``, ``.npz`` or ``.npy``. Files of the last three
    formats begin with the sizes of all tensors, so tensors are first written to an unnamed file in the same folder, and
    copied once when the writer is finished.

    Args:
        path: the path of the new file, which may begin with ``~`` or ``file://``. A symbolic link at the path is rejected.
        format: the format, if the suffix of the path does not decide it.
        generation: ``"1.2"``, or ``"2"``, which has more dtypes (``f8_e8m0``, ``f4_e2m1``). Only for ``.zt`` files, like all
            following arguments.
        digest: the digest of each component: over the stored bytes in 1.2, over the decoded bytes in 2. The canonical form
            always has sha256 in 1.2 and xxh3 in 2.
        zstd: the compression level, from 1 to 5; None does not compress.
        canonical: write the canonical form, in which equal contents are equal files. Objects have to come in the order of
            their names, in 1.2 shorter names first, in 2 by their bytes, and are not compressed.

    Raises:
        ValueError: zten does not write files with this suffix, or the format does not have one of the options.
    """
    form, path = (_named(generation), digest, canonical, False), resolved(path)
    suffix = _format(path, format, form, zstd)
    if suffix != "zt":
        return Writer(_zten.SpoolWriter(path, suffix), format=suffix)
    return Writer(_writer(path, form, zstd), form[0])


def append(path: Path, *, digest: Digest | None = "auto", zstd: int | None = None) -> Writer:
    """Begins a new edition of the file at ``path``, to which objects are added. The file stays as it is until the new edition
    is published, which has the same generation. The arguments are those of :func:`create`.

    Raises:
        ValueError: the file is of generation 0.1, a data shard, or canonical: objects cannot be added to such files.
    """
    _check_form("2", zstd)
    path = resolved(path)
    with open(path, shards=False, conventions=False) as file:
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
    """Converts a file of any format that :func:`zten.open` reads. The suffix of the target decides the new format: zTensor
    1.2 or 2, safetensors, ``.npz`` or ``.npy``. All bytes that are read are validated. A model in several files becomes one
    file. A zTensor file keeps the quantized blocks of GGUF as they are. A quantized tensor that is stored as several tensors
    becomes one object of a zTensor file whose generation has its form, and becomes these tensors again in a file of another
    format.

    Args:
        source, limits, tolerate, shards: as for :func:`zten.open`.
        target: the path of the new file. A symbolic link at the path is rejected.
        format, generation, digest, zstd, canonical: as for :func:`create`.
        overwrite: replace an existing file at the target. This is the default of all functions that write files.

    Returns:
        The number of objects that were written.

    Raises:
        FileExistsError: a file exists at the target, and ``overwrite`` is False.
        ValueError: zten does not write files with this suffix, or the format does not have one of the options.
        Invalid, Unsupported, LimitExceeded: the source cannot be read; Unsupported also if the new format or generation
            cannot hold a tensor or attribute of a valid source.
    """
    form, target = (_named(generation), digest, canonical, False), resolved(target)
    suffix = _format(target, format, form, zstd)
    if not overwrite and os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, "the file exists already, and overwrite is False", os.fspath(target))
    how = strictness(limits, tolerate, shards=shards)
    with readable(local(source)) as opened:
        return _zten.convert(opened, (target, suffix, overwrite), how, form, zstd)


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
    """Writes a file with all ``tensors`` at ``path``, or returns the bytes of the file if ``path`` is None. The other arguments
    are those of :func:`zten.numpy.save_file`."""
    names, own = list(tensors), _named(generation)
    path = None if path is None else resolved(path)
    suffix = _format(path, format, (own, digest, canonical, False), zstd)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"the name {name!r} is not text")
    ties = tied(tensors)
    if ties and (suffix != "zt" or own != "2"):
        one, other = next(iter(ties.items()))
        what = f"generation {own}" if suffix == "zt" else f"a .{suffix} file"
        warnings.warn(
            f"tensors {other!r} and {one!r} share their memory, and {what} stores it twice: "
            "a .zt file with generation=\"2\" stores it once",
            stacklevel=3,
        )
    if suffix != "zt":
        return _save_arrays(tensors, path, suffix, attributes)
    shares = bool(ties) and own == "2"
    native = _writer(path, (own, digest, canonical, shares), zstd)
    writer = Writer(native, own)
    try:
        if attributes is not None:
            writer.attributes(attributes)
        if canonical:
            names.sort(key=str.encode)
            if own == "1.2":
                names.sort(key=lambda name: len(name.encode()))
        for name in names:
            # The writer stores a component once if its digest is declared before its bytes come. The first of several tied
            # tensors needs no declared digest, which saves hashing it twice.
            writer._add_value(name, tensors[name], None, shares and name in ties)
        return native.finish()
    except BaseException:
        writer.abort()
        raise


def _save_arrays(
    tensors: Mapping[str, Any], path: Path | None, suffix: str, attributes: Mapping[str, Any] | None
) -> bytes | None:
    """Writes dense tensors as a safetensors, ``.npz`` or ``.npy`` file at ``path``, or returns its bytes if the path is None.
    All names, dtypes and shapes are declared before the first tensor is written. A tensor is copied to contiguous memory of
    the CPU only when its turn comes, so that there is at most one such copy."""
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
                if (part[2], shape) != declared[at][1:]:
                    raise ValueError("its dtype or shape changed while the file was written")
                writer.write(part[4])
        return writer.finish()
    except BaseException:
        writer.abort()
        raise


def _shown(path: Path | None) -> str | None:
    return None if path is None else _zten.shown(path)


def _declared(value: Any) -> tuple[list[int], str]:
    """Returns the shape of ``value``, a dense tensor or an array, and the name that its dtype has in zTensor. The elements of a
    value with the attributes ``shape`` and ``dtype`` are not read, because they may be on a device."""
    if not hasattr(value, "shape") or not hasattr(value, "dtype") or hasattr(value, "__dataframe__"):
        shape, part = _part("data", value, "2")
        return shape, part[2]
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("a masked array has elements without values: call filled() first")
    shape = [int(size) for size in value.shape]
    if not _is_torch(value):
        return shape, _types.from_numpy(np.dtype(value.dtype), "2")[1]
    if str(value.dtype) == "torch.float4_e2m1fn_x2":
        if not shape:
            raise TypeError(f"a scalar of {value.dtype} holds two elements")
        return [*shape[:-1], shape[-1] * 2], "f4_e2m1"
    return shape, _types.from_torch(value.dtype, "2")[1]


def _named(generation: Generation) -> str:
    """Returns ``generation`` as text: ``"2"`` for the number 2. Any other value is returned as it is, and ``_check_form`` and the
    native module reject wrong ones."""
    is_two = type(generation) is int and generation == 2
    return "2" if is_two else cast(str, generation)


def _format(path: Path | None, format: str | None, form: tuple[str, str | None, bool, bool], zstd: object) -> str:
    """Returns the suffix, without its dot, of the format to write: ``format``, or else the suffix of ``path``.

    Raises:
        ValueError: zten does not write this format, or an option of ``form`` or ``zstd`` differs from its default (a digest of
            None does not count), and the format is not that of ``.zt`` files, which alone has these options.
    """
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
    """Prefixes the message of a :class:`TypeError`, :class:`ValueError` or :class:`OverflowError` that is raised in the block with
    ``what``, which names the tensor or component. A :class:`NotImplementedError` becomes a :class:`TypeError`."""
    try:
        yield
    except (TypeError, NotImplementedError) as error:
        raise TypeError(f"{what}: {error}") from error
    except OverflowError as error:
        raise OverflowError(f"{what}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


def tied(tensors: Mapping[str, Any]) -> dict[str, str]:
    """Returns the tensors that are the same view of the same memory as an earlier tensor, such as tied weights: the name of each,
    with the name of the first tensor that is this view."""
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
    """Returns what is written of ``value``, a sparse array of SciPy, in a file of ``generation``: its shape, its layout, and
    arrays for the components by their roles."""
    is_coo = value.format == "coo"
    value = value if is_coo else value.tocsr()
    if generation == "2":
        # Generation 2 requires at most one value for each cell, and sorted indices in each row.
        value = value.copy()
        value.sum_duplicates()
    if is_coo:
        axes = value.coords if hasattr(value, "coords") else (value.row, value.col)
        coords = np.stack([np.asarray(axis, np.uint64) for axis in axes])
        return value.shape, "sparse_coo", {"coords": coords, "values": value.data}
    indptr, indices = value.indptr.astype(np.uint64), value.indices.astype(np.uint64)
    return value.shape, "sparse_csr", {"indptr": indptr, "values": value.data, "indices": indices}


def _sparse_torch(value: Any) -> tuple[Sequence[int], str, dict[str, Any]]:
    """Returns what is written of ``value``, a sparse tensor of PyTorch: its shape, its layout, and arrays or tensors for the
    components by their roles.

    Raises:
        TypeError: the layout is neither CSR of two dimensions nor COO without dense dimensions.
    """
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
    """Checks that the shapes of ``components``, those of a ``quantized_group``, and the dtype of its ``packed_weight``, follow from
    its ``shape`` and from ``how``: its number of bits, its group size and its packing.

    Raises:
        ValueError: they do not, or the packing is unknown.
    """
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
    """Checks the options of a zTensor file, and begins the file at ``path``, or in memory if ``path`` is None."""
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
    """Converts ``value``, an array or dense tensor, to a component with the role ``role`` of a file of ``generation``. Returns
    the shape of the value, and the component.

    Raises:
        TypeError: the generation has no dtype for the elements, or the value is a masked array or a data frame.
    """
    if _is_torch(value):
        return _torch_part(role, value, generation)
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("a masked array has elements without values: call filled() first")
    if hasattr(value, "__dataframe__"):
        raise TypeError("a data frame is not a tensor: write its columns, or what to_numpy() gives")
    array: Array = np.asarray(value)
    storage, element = _types.from_numpy(array.dtype, generation)
    # Files hold little-endian elements in row-major order. NumPy copies an array only if it differs from that.
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
        raise TypeError(f"a scalar of {value.dtype} holds two elements")
    if is_packed:
        shape[-1] *= 2
        storage, element = "u8", "f4_e2m1"
    else:
        storage, element = _types.from_torch(value.dtype, generation)
    # A view of PyTorch may be marked as conjugated or negated. The elements in memory, which are written, are not
    # conjugated or negated until `resolve_conj` and `resolve_neg` copy them.
    value = value.detach().cpu()
    if value.is_conj() or value.is_neg():
        value = value.resolve_conj().resolve_neg()
    # PyTorch considers a tensor of one element contiguous for any stride, so `contiguous` and `reshape` keep its stride. A view
    # as bytes requires a stride of 1.
    flat = value.contiguous().as_strided((value.numel(),), (1,))
    content = flat.view(torch.uint8).numpy() if flat.numel() else np.empty(0, np.uint8)
    return shape, (role, storage, element, math.prod(shape), content, False)
