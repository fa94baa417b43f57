"""Objects of a file, and parts of objects."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from . import _html, _types
from ._component import Component, converted, moved, scipy_indices, scipy_values, to_torch, truth
from ._dequantize import Dequantized, Floats
from ._dequantize import part as dequantized_part
from ._errors import NO_ARRAY, Error, Unsupported, no_array_error, unread, unserved
from ._index import Index, Selection, select
from ._types import Array, Bytes

if TYPE_CHECKING:
    from ._file import File


class Slice:
    """A part of a dense or quantized tensor, ``tensor[0:10]``, which has not been read yet."""

    __slots__ = ("_index", "_tensor", "shape")

    shape: tuple[int, ...]
    """The dimensions, outermost first."""

    def __init__(self, tensor: Tensor, index: Index) -> None:
        self._tensor = tensor
        self._index = index
        shape = tensor._file._reader.part_shape(tensor._ordinal, index)
        self.shape = select(index, tensor.shape).shape if shape is None else shape

    @property
    def dtype(self) -> str | None:
        """The dtype of the tensor of which this is a part, as :attr:`Tensor.dtype` returns it."""
        return self._tensor.dtype

    def __repr__(self) -> str:
        return f"<Slice of {self._tensor.name!r} {self._tensor._kind} {list(self.shape)}>"

    def numpy(self, *, verify: bool = False) -> Array:
        """Reads the part as an array. Of most tensors, only the bytes of the part are read, and the skipped elements of a slice with
        a step. A tensor that is of ``f4_e2m1``, is not in row-major order, or is compared with a digest is read whole; one that is
        compressed is decoded from its beginning, or by frames.

        A part has no digest in the file. With ``verify=True`` the whole tensor is read and verified first.

        Raises:
            Invalid, Unsupported, LimitExceeded: the content breaks a rule, or cannot be read.
        """
        return self._tensor._sliced(self._index, verify)

    def dequantize(self, *, verify: bool = False) -> Floats:
        """Dequantizes the part to an array of ``float32``. Only the blocks of its rows are read; components that are compressed
        are decoded as a whole. With ``verify=True`` the whole tensor is read and verified first.

        Raises:
            Invalid, Unsupported, LimitExceeded: the content breaks a rule, or cannot be read; Unsupported also if the tensor is
                not quantized.
        """
        self._tensor._require_quantized()
        if verify:
            self._tensor.verify()
        return self._tensor._dequantized_part(self._index)

    def item(self) -> Any:
        """Reads the only element of the part as a value of Python, as :meth:`Tensor.item` does."""
        return self._tensor._item(self.numpy() if self.shape == () or _types.product(self.shape) == 1 else None)

    def __float__(self) -> float:
        return self._tensor._as_float(self.item())

    def torch(self, *, dtype: Any = None, verify: bool = False, device: Any = "cpu") -> Any:
        """Reads the part as a :class:`torch.Tensor`, as :meth:`numpy` does, and converts it to ``dtype``, as :meth:`Tensor.torch`
        does. Raises :class:`Unsupported` for a tensor of ``f4_e2m1``, too."""
        tensor, own, wanted = self._tensor, self._tensor._torch_dtype(), _types.torch_dtype_of(dtype)
        if self.dtype == "f4_e2m1":
            sentence = "PyTorch packs two elements of f4_e2m1 into one, and cannot slice these; numpy() reads single elements"
            raise tensor._unserved(sentence, "unsupported-type")
        array = self.numpy(verify=verify)
        part = tensor._in_torch(lambda: to_torch(own, array), array.shape)
        return moved(part, wanted, device)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> Array:
        return converted(self.numpy(), dtype, copy)


# The largest number of empty rows that are iterated: a small file can claim any number of rows without elements.
_EMPTY_ROWS = 1 << 16

_CSR = ("sparse_csr", "zt.sparse_csr/1")
_COO = ("sparse_coo", "zt.sparse_coo/1")


class Tensor:
    """An object of a file, whose data has not been read yet.

    ======================== ============== =====================================================
    ``format``               call           gives
    ======================== ============== =====================================================
    ``dense``                `numpy()`      an array; ``tensor[0:10].numpy()`` a part of it
    ..                       `torch()`      a :class:`torch.Tensor`
    ``sparse_csr``           `scipy()`      :class:`scipy.sparse.csr_array`
    ``sparse_coo``           `scipy()`      :class:`scipy.sparse.coo_array`
    ``quantized_group``      `dequantize()` values as ``float32``; so of ``zt.mx/1``, ``zt.quant_group/1``,
    ..                       ..             ``gguf.q4_k`` and ``quant.mxfp4``
    ..                       ..             ``tensor[0:10].dequantize()`` some rows
    any                      `components`   each :class:`Component`, as it is stored
    ======================== ============== =====================================================

    In generation 2 the sparse formats are called ``zt.sparse_csr/1`` and ``zt.sparse_coo/1``. A tensor that a program has quantized
    and stored as several tensors has the format of its convention, such as ``quant.mxfp4``, and these tensors as components.

    A tensor may be opaque or unread: see :attr:`state`.
    """

    __slots__ = (
        "_described",
        "_element",
        "_file",
        "_listed",
        "_ordinal",
        "format",
        "name",
        "reason",
        "shape",
        "state",
    )

    name: str
    """The name: untrusted text, which may be empty or have control characters."""
    format: str
    """The layout of the components."""
    shape: tuple[int, ...]
    """The dimensions, outermost first."""
    state: Literal["readable", "opaque", "unread"]
    """``"readable"``; ``"opaque"``: the bytes can be read, but zten does not interpret them, such as text, dates and records of
    NumPy, which :meth:`numpy` returns with the dtype of the file, or a type or layout that zten does not know; ``"unread"``:
    the bytes are not handed out, such as pickled Python objects, and every call that reads the tensor raises
    :class:`Unsupported`. The other tensors of the file can be read."""
    reason: str | None
    """The id of the rule that says why an unread tensor is not read: ``"npy-objects"``. None for other tensors.
    :func:`zten.explain` describes the rule."""

    def __init__(self, file: File, ordinal: int) -> None:
        self._file = file
        self._ordinal = ordinal
        self.name, self.format, self.shape, self._described, state = file._reader.object(ordinal)
        self.state, self.reason = state
        self._listed: list[Component] | None = None
        self._element: str | None = None

    def __repr__(self) -> str:
        state = {"readable": "", "opaque": " opaque"}.get(self.state, f" unread: {self.reason}")
        return f"<Tensor {self.name!r} {self._kind} {list(self.shape)}{state}>"

    @property
    def _kind(self) -> str:
        """Returns a few words about the tensor for tables: the dtype of a dense tensor; the layout of any other tensor, such as
        ``gguf.q4_0``, with its dtype if it has one; for a tensor that is stored as several tensors, the name that ``zten ls``
        shows, such as ``MXFP4 [32]``."""
        if (form := self._form) is not None:
            return form
        parts = [None if self.format == "dense" else self.format, self.dtype]
        return " ".join(_types.shown(part) for part in parts if part is not None)

    def _repr_html_(self) -> str:
        """Returns a table of the components for notebooks. Text of the file is escaped."""
        rows = ([one.role, one.dtype, one.encoding, one.stored, one.digest or ""] for one in self._components)
        heads = ["component", "dtype", "encoding", "stored bytes", "digest"]
        return _html.table(heads, rows, len(self._components), repr(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return _tensor, (self._file, self.name)

    @property
    def _components(self) -> list[Component]:
        """The components of the tensor, in the order of the file. The list is created when it is first used, because a small
        tensor can be read faster without it."""
        if self._listed is None:
            self._listed = [
                Component(self._file, (self._ordinal, place), described)
                for place, described in enumerate(self._described)
            ]
        return self._listed

    @property
    def components(self) -> Mapping[str, Component]:
        """The components by their roles, in the order of the file."""
        return MappingProxyType({component.role: component for component in self._components})

    @property
    def dtype(self) -> str | None:
        """The dtype of the elements: ``"f32"``, ``"bf16"``, ``"f8_e4m3fn"``, ``"complex64"``, ... For a sparse tensor, the
        dtype of its values. None if the components are not elements, as in quantized tensors. An unknown or opaque dtype is
        untrusted text of the file: ``"<U7"``."""
        if self.format.startswith(("gguf.", "quant.")) and self._is_quantized:
            return None
        return next((c.dtype for c in self._components if c.role in ("data", "values")), None)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements, including zeros that a sparse tensor does not store."""
        return _types.product(self.shape)

    @property
    def nbytes(self) -> int | None:
        """The number of decoded bytes of all components; None if it is unknown before decoding."""
        lengths = [component.nbytes for component in self._components]
        return sum(length for length in lengths if length is not None) if None not in lengths else None

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes. Values are integers, floats, texts, bytes, lists, dictionaries, ``True``, ``False`` and ``None``;
        :class:`zten.Tag`, :class:`zten.Simple` and :class:`zten.Entries` represent all other values of CBOR."""
        return self._file._reader.attributes(self._ordinal)

    @property
    def is_sparse(self) -> bool:
        """True if the layout is sparse, so that :meth:`scipy` reads the tensor."""
        return self.format in _CSR or self.format in _COO

    @property
    def quantization(self) -> dict[str, Any] | None:
        """The parameters of a quantized tensor: ``bits``, ``group_size`` and ``packing`` of a ``quantized_group``; ``bits``,
        ``group_size`` and ``axis`` of a ``zt.quant_group/1``; ``axis`` and ``block_size`` of a ``zt.mx/1``; ``ggml_type``,
        ``block_elements`` and ``block_bytes`` of blocks of GGUF; ``convention``, ``bits`` and ``group_size`` (0: a whole row or
        more) of a tensor that is stored as several tensors. None for any other tensor.

        Raises:
            Unsupported: the attributes are missing or unknown.
        """
        return self._file._reader.quantization(self._ordinal)

    def verify(self) -> None:
        """Reads all components, and validates all rules about data: digests, compression, bools, indices.

        Raises:
            Invalid, Unsupported, LimitExceeded: the content breaks a rule, or cannot be read.
        """
        self._file._reader.verify_object(self._ordinal)

    def numpy(self, *, verify: bool | None = None) -> Array:
        """Reads a dense tensor as an array, in row-major order.

        The array is new and writable, unless the file was opened with ``map=True``. Then it is a read-only view of the map if
        the elements are stored as they are read: uncompressed, in row-major order, little-endian, aligned, in this file, and
        neither bools nor FP4.

        The default of ``verify`` is the option of the file. With ``verify=False`` digests of uncompressed components are not
        compared; compressed components and those of ``f4_e2m1`` are always verified.

        bf16, FP8 and FP4 have the dtypes of :mod:`ml_dtypes`. Text, dates, records and long doubles of NumPy files have the
        dtype that the file names, with its byte order.

        Raises:
            Invalid, Unsupported, LimitExceeded: the content breaks a rule, or cannot be read; Unsupported also if the tensor is
                not dense, is unread, or has a dtype that this NumPy does not have.
        """
        verify = self._file._verifies(verify)
        if not self._file._map and (part := self._part(None, verify)) is not None:
            return part
        element = self._elements()
        data = self._data
        shape = self.shape
        if element == "f4_e2m1":
            flat = _types.unpack(self._content(data, verify), self.size)
            return _types.reshaped(flat, self.name, shape, self._file._reader)
        if self._is_mapped(data, verify):
            return self._file._view(self.name, shape, self._numpy_dtype(), data.offset)
        dtype = self._numpy_dtype()
        data._admit()
        array = self._room(shape, dtype)
        self._fill(_types.as_bytes(array), verify)
        if element == "bool":
            truth(array)
        return array

    def torch(self, *, dtype: Any = None, verify: bool | None = None, device: Any = "cpu") -> Any:
        """Reads a dense tensor as a new :class:`torch.Tensor`, as :meth:`numpy` does, and converts it to ``dtype``: a dtype of
        PyTorch, or its name in any spelling, such as ``"bf16"`` or ``"BFLOAT16"``.

        If the file was opened with ``map=True``, the tensor is a view of a copy-on-write map: writing to it does not change the
        file.

        ``f4_e2m1`` becomes ``float4_e2m1fn_x2``, whose elements are pairs, so the last dimension is halved. If it is odd, use
        :meth:`numpy`, which unpacks the elements.

        Raises:
            Invalid, Unsupported, LimitExceeded: the content breaks a rule, or cannot be read; Unsupported also if the tensor is
                not dense, is unread, or is an opaque array of NumPy, or this version of PyTorch does not have the dtype.
        """
        import torch

        verify, wanted = self._file._verifies(verify), _types.torch_dtype_of(dtype)
        dtype, shape = self._torch_dtype(), self.shape
        if not self._file._map:
            part = self._file._reader.part(self._ordinal, None, verify)
            if part is not None:
                return moved(torch.frombuffer(part[0], dtype=dtype).reshape(part[1]), wanted, device)
        element = self._elements()
        data = self._data
        if element == "f4_e2m1":
            # An element of PyTorch's `float4_e2m1fn_x2` is a pair of elements of `f4_e2m1`.
            shape = (*shape[:-1], shape[-1] // 2)
        count = _types.product(shape)
        if not count:
            self._content(data, verify)
            return moved(self._in_torch(lambda: torch.empty(shape, dtype=dtype)), wanted, device)
        if element != "f4_e2m1" and self._is_mapped(data, verify):
            flat = torch.frombuffer(
                self._file._buffer(writable=True), dtype=dtype, count=count, offset=data.offset
            )
        else:
            content = self._content(data, verify)
            if element == "bool":
                truth(content.view(np.bool_))
            flat = torch.frombuffer(content, dtype=torch.uint8).view(dtype)
        return moved(self._in_torch(lambda: flat.reshape(shape)), wanted, device)

    def item(self) -> Any:
        """Reads the only element of a dense tensor as a value of Python: ``int``, ``float``, ``complex`` or ``bool``. The value
        of an ``f32`` or ``bf16`` is exact.

        Raises:
            Invalid, Unsupported, LimitExceeded: the content breaks a rule, or cannot be read; Unsupported also if the tensor has
                another number of elements than one.
        """
        return self._item(self.numpy() if self.size == 1 else None)

    def _item(self, array: Array | None) -> Any:
        """Returns the only element of ``array`` as a value of Python. ``array`` is None if the tensor does not have exactly one
        element.

        Raises:
            Unsupported: ``array`` is None.
        """
        if array is None:
            raise self._unserved("it does not have exactly one element")
        # `item` of an array of `ml_dtypes` returns a scalar of that package, and not a `float` of Python.
        return array.astype(np.float64).item() if self._elements() in _types.SMALL_FLOATS else array.item()

    def _as_float(self, value: Any) -> float:
        """Converts ``value``, the only element of the tensor as :meth:`item` returns it, to a float.

        Raises:
            Unsupported: the element is a complex number.
        """
        if not isinstance(value, (int, float)):
            raise self._unserved(f"an element of type {_types.shown(str(self.dtype))} is not a float", "unsupported-type")
        return float(value)

    def __float__(self) -> float:
        return self._as_float(self.item())

    def scipy(self) -> Any:
        """Reads a sparse tensor as :class:`scipy.sparse.csr_array` or :class:`scipy.sparse.coo_array`. All components are read
        and verified by their digests, and all indices are validated.

        Values of f16, bf16, FP8 and FP4 become ``float32``, which represents them exactly: SciPy has no arrays of these dtypes.

        Raises:
            Invalid, Unsupported, LimitExceeded: the content breaks a rule, or cannot be read; Unsupported also if the tensor is
                not sparse, or a dimension is 2**63 or more.
        """
        self._require_read()
        if not self.is_sparse:
            raise self._unserved(f"layout {self.format!r} is not sparse")
        if any(dimension >= 1 << 63 for dimension in self.shape):
            raise self._unserved(f"SciPy has no array of shape {self.shape}", "unsupported-feature")
        try:
            import scipy.sparse
        except ImportError as error:
            sentence = "SciPy, which has sparse arrays, is not installed: pip install zten[scipy]"
            raise self._unserved(sentence, "unsupported-feature") from error

        parts = self._whole()
        try:
            if self.format in _CSR:
                indices, indptr = (scipy_indices(*parts[role]) for role in ("indices", "indptr"))
                values = scipy_values(*parts["values"], count=len(indices))
                return scipy.sparse.csr_array((values, indices, indptr), shape=self.shape)
            coords = scipy_indices(*parts["coords"])
            count = len(coords) // self.ndim if self.ndim else 0
            values = scipy_values(*parts["values"], count=count)
            return scipy.sparse.coo_array(
                (values, tuple(coords.reshape(self.ndim, count))), shape=self.shape
            )
        except NO_ARRAY as error:
            what = f"SciPy has no array of shape {self.shape}"
            raise no_array_error(error, what, self.name, self._file._reader.path) from None

    def dequantize(self) -> Dequantized:
        """Returns the values of a quantized tensor as ``float32``, which are computed when they are used: ``numpy()`` and
        ``torch()`` dequantize the whole tensor, and ``tensor.dequantize()[:10]`` reads and dequantizes ten rows.

        Raises:
            Invalid, Unsupported, LimitExceeded: the tensor is unread; Unsupported also if the tensor is not quantized, or its
                attributes are missing or unknown. Using the values raises the errors of their content.
        """
        self._require_quantized()
        return Dequantized(self)

    def _require_quantized(self) -> None:
        """Raises :class:`zten.Unsupported` if the tensor is unread or not quantized."""
        self._require_read()
        if self.quantization is None:
            raise self._unserved(f"layout {_types.short(self.format)} is not quantized")

    def _dequantized(self) -> Floats:
        """Reads, verifies and dequantizes the whole quantized tensor, and returns its values as a new array."""
        for component in self._components:
            component._admit()
        reader = self._file._reader
        try:
            array = self._room(self.shape, np.float32)
        except Error:
            # If a component does not fit the shape, this is a better error than that NumPy cannot make the array. The
            # native call checks the components before it looks at the buffer.
            reader.dequantize(self._ordinal, np.empty(0, np.float32))
            raise
        reader.dequantize(self._ordinal, array.reshape(-1))
        return array

    def _dequantized_part(self, index: Index) -> Floats:
        """Reads and dequantizes the part of the quantized tensor that ``index`` selects, and returns its values as a new array."""
        for component in self._components:
            component._admit()
        return dequantized_part(self, index)

    def _floats_in_torch(self, array: Floats, dtype: Any, device: Any) -> Any:
        """Converts ``array``, dequantized values, to a tensor of PyTorch on ``device``, of ``dtype`` unless it is None."""
        import torch

        wanted = _types.torch_dtype_of(dtype)
        return moved(self._in_torch(lambda: torch.from_numpy(array), array.shape), wanted, device)

    def __getitem__(self, index: Index) -> Slice:
        """Returns a part of a dense or quantized tensor, which is not read yet. The index has integers, slices and an ellipsis,
        as for an array. Its first item may be a list or mask of rows, ``tensor[[0, 5, 7]]``. Only these rows are read, unless the
        tensor is compressed, is of ``f4_e2m1``, is not in row-major order, or is compared with a digest."""
        if not self._is_quantized:
            self._elements()
        return Slice(self, index)

    def __len__(self) -> int:
        if not self.shape:
            raise self._unserved("a scalar has no length")
        if self.shape[0] > sys.maxsize:
            raise self._unserved(f"Python has no length {self.shape[0]}", "unsupported-feature")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """Reads a dense tensor, and iterates over its rows, as iterating over the array that :meth:`numpy` returns does."""
        if len(self) > _EMPTY_ROWS and not (self.size and self.nbytes):
            raise self._unserved(f"it has {len(self)} rows without elements", "unsupported-feature")
        return iter(self.numpy())

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> Array:
        return converted(self.numpy(), dtype, copy)

    def __dlpack__(self, **how: Any) -> Any:
        """Reads a dense tensor into a new array, and exports the array to a library that takes DLPack, such as PyTorch."""
        array = self.numpy()
        array = array if array.flags.writeable else array.copy()
        try:
            return array.__dlpack__(**how)
        except BufferError:
            # NumPy exports neither bf16 nor FP8. PyTorch does, so that `torch.as_tensor` takes them.
            exporter = self._torch_exporter()
        if exporter is not None:
            try:
                return exporter.__dlpack__(**how)
            except (BufferError, RuntimeError):
                pass
        sentence = f"there is no DLPack for elements of {_types.short(str(self.dtype))}"
        raise self._unserved(sentence, "unsupported-type")

    def _torch_exporter(self) -> Any:
        """Reads the tensor as a tensor of PyTorch. Returns None if the program has not imported PyTorch, or PyTorch does not have
        the dtype."""
        if "torch" not in sys.modules:
            return None
        element = self._elements()
        is_known = element not in (_types.OPAQUE, "f4_e2m1") and _types.torch_dtype(element) is not None
        return self.torch() if is_known else None

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns the DLPack device on which the exported array is: always the CPU, number 0."""
        return 1, 0

    def _require_read(self) -> None:
        """Raises an error that says why zten does not hand out the bytes of this tensor, if its :attr:`state` is ``"unread"``."""
        if self.state != "unread":
            return
        if self.format == "dense":
            # Reading the component raises the error of the library, which has the offset of the fault too.
            self._data.tobytes()
        raise unread(self.name, self.reason, self._file._reader.path)

    @property
    def _is_quantized(self) -> bool:
        """True if the layout is one of those that :meth:`dequantize` reads. Its attributes may still be missing or unknown."""
        is_layout = self.format in ("quantized_group", "zt.mx/1", "zt.quant_group/1") or self.format.startswith("gguf.")
        return is_layout or self._form is not None

    @property
    def _form(self) -> str | None:
        """The name that ``zten ls`` shows for a quantized tensor that is stored as several tensors, such as ``MXFP4 [32]``; None
        for any other tensor."""
        return self._file._reader.form(self._ordinal) if self.format.startswith("quant.") else None

    def _elements(self) -> str:
        """Returns the name of the dtype as which the elements of a dense tensor are read, or ``OPAQUE`` for elements that only
        NumPy interprets.

        Raises:
            Invalid, Unsupported: the tensor is unread, is not dense, or has elements of an unknown size.
        """
        if self._element is not None:
            return self._element
        self._require_read()
        if self.format != "dense":
            how = "dequantize()" if self._is_quantized else "components"
            how = "scipy()" if self.is_sparse else how
            raise self._unserved(f"layout {self.format!r} is not dense; use {how}")
        data = self._data
        if data._opaque_size is not None:
            self._element = _types.OPAQUE
            return _types.OPAQUE
        if data._read_as is None:
            raise self._unserved(f"elements of type {data.dtype!r} cannot be read", "unsupported-type")
        if data.dtype != data._read_as and data.nbytes != (
            self.size * _types.numpy_dtype(data._read_as).itemsize
        ):
            raise self._unserved(
                f"the size of elements of type {data.dtype!r} is not known: "
                f"components[{data.role!r}].numpy() reads them as their storage type",
                "unsupported-type",
            )
        self._element = data._read_as
        return data._read_as

    def _numpy_dtype(self) -> np.dtype[Any]:
        """Returns the NumPy dtype of the elements of a dense tensor."""
        element = self._elements()
        return self._data._opaque_dtype(self.name) if element == _types.OPAQUE else _types.numpy_dtype(element)

    def _torch_dtype(self) -> Any:
        """Returns the PyTorch dtype of the elements of a dense tensor.

        Raises:
            Unsupported: PyTorch does not have the dtype, or has ``f4_e2m1`` only in pairs and the last dimension is odd.
        """
        element = self._elements()
        if element == _types.OPAQUE:
            sentence = f"it is opaque: PyTorch has no dtype for {_types.short(str(self.dtype))}; numpy() reads it"
            raise self._unserved(sentence, "unsupported-type")
        dtype = _types.torch_dtype(element)
        if element == "f4_e2m1" and (not self.shape or self.shape[-1] % 2):
            sentence = "PyTorch packs two elements of f4_e2m1 into one, and the last dimension is odd; numpy() reads single elements"
            raise self._unserved(sentence, "unsupported-type")
        if dtype is None:
            sentence = f"this version of PyTorch has no dtype for {element}; numpy() reads it"
            raise self._unserved(sentence, "unsupported-type")
        return dtype

    def _unserved(self, sentence: str, rule: str = "unsupported-format") -> Unsupported:
        """Returns the error of a call that does not support this tensor. ``sentence`` says why, and ``rule`` is the id of the
        unsupported feature."""
        return unserved(sentence, self.name, rule, file=self._file._reader.path)

    def _room(self, shape: Sequence[int], dtype: npt.DTypeLike) -> Array:
        """Allocates an array of ``shape`` and ``dtype`` for elements of this tensor.

        Raises:
            Unsupported, LimitExceeded: NumPy does not support the shape, or there is no memory for the array.
        """
        return _types.empty(self.name, shape, dtype, self._file._reader)

    def _in_torch(self, make: Callable[[], Any], shape: tuple[int, ...] | None = None) -> Any:
        """Calls ``make``, and returns the tensor of PyTorch that it creates, of ``shape`` or of the shape of this tensor. Raises a
        :class:`zten.Error` if PyTorch does not support the shape."""
        shape = self.shape if shape is None else shape
        return _types.torch_tensor(make, self.name, shape, self._file._reader)

    @property
    def _data(self) -> Component:
        """The only component of a dense tensor, of the role ``data``. When the file was opened, zten checked that a dense tensor
        has it."""
        return next(component for component in self._components if component.role == "data")

    def _fill(self, content: Bytes, verify: bool) -> None:
        reader = self._file._reader
        if verify or self._data.encoding != "raw":
            reader.read([self._data._place], [content])
        else:
            reader.read_slice(self._ordinal, [], content)

    def _content(self, data: Component, verify: bool) -> Bytes:
        """Reads and returns the decoded bytes of a dense tensor, whose component is ``data``. The digest of an uncompressed
        component that is not of ``f4_e2m1`` is compared only if ``verify`` is true."""
        if verify or data._read_as == "f4_e2m1" or data.nbytes is None:
            return data._raw()
        content = data._room(data.nbytes)
        self._fill(content, verify)
        return content

    def _is_mapped(self, data: Component, verify: bool) -> bool:
        """Returns whether the elements of the component ``data`` are a view of the memory map. If they are, ``verify`` is true,
        and there is a digest to compare, the tensor is verified first."""
        if not (data._direct and self._file._map and self.size):
            return False
        if verify and data._verifiable:
            self.verify()
        return True

    def _part(self, index: Index | None, verify: bool) -> Array | None:
        """Reads the part of a dense tensor that ``index`` selects in one native call. Returns None if the native module does not
        read this part in one call, because it is empty or large, the index is not common, or the elements are not stored as they
        are read."""
        part = self._file._reader.part(self._ordinal, index, verify)
        if part is None:
            return None
        content, shape, element = part
        return np.ndarray(shape, _types.numpy_dtype(element), content)

    def _sliced(self, index: Index, verify: bool) -> Array:
        if not (self._file._map or verify) and (part := self._part(index, False)) is not None:
            return part
        element = self._elements()
        # With a list of digests, the native call compares the whole tensor only once, while a view of the map would be
        # compared each time.
        is_viewed = element != "f4_e2m1" and self._file._digests is None
        if is_viewed and self._is_mapped(data := self._data, verify):
            view = self._file._view(self.name, self.shape, self._numpy_dtype(), data.offset)
            # An index of integers alone gives a scalar of NumPy. The dtype is passed on because NumPy gives a scalar of text the
            # dtype of its own length.
            return np.asarray(view[index], view.dtype)
        selection = select(index, self.shape)
        if element == "f4_e2m1":
            # Two elements of `f4_e2m1` share a byte, so the whole array is unpacked before the part is taken.
            whole = self.numpy(verify=True)
            if selection.rows is not None:
                whole = whole[selection.rows]
            ranges = [slice(*ends) for ends in selection.ranges]
            if selection.rows is not None:
                ranges[0] = slice(None)
            return np.asarray(whole[tuple(ranges)][selection.rest])
        if verify:
            self.verify()
        dtype, rows = self._numpy_dtype(), selection.rows
        self._data._admit()
        if rows is None:
            array = self._room(selection.read_shape, dtype)
            self._file._reader.read_slice(self._ordinal, selection.ranges, _types.as_bytes(array))
        else:
            array = self._rows(selection, dtype)
        if element == "bool":
            truth(array)
        # Without the ellipsis, an index of integers alone would return a scalar, and a scalar of text would lose its dtype.
        return np.asarray(array[(*selection.rest, ...)] if rows is None else array[(slice(None), *selection.rest[1:])])

    def _rows(self, selection: Selection, dtype: np.dtype[Any]) -> Array:
        """Reads the rows that ``selection.rows`` lists, in its order, as an array of ``dtype``. Neighboring rows are read
        together, others one by one. Of a compressed component, all rows from the first to the last selected one are read."""
        assert selection.rows is not None
        reader, (span, *others) = self._file._reader, selection.ranges
        if self._data.encoding != "raw":
            array = self._room(selection.read_shape, dtype)
            reader.read_slice(self._ordinal, selection.ranges, _types.as_bytes(array))
            return np.asarray(array[selection.rows - span[0]])
        rows, places = np.unique(selection.rows, return_inverse=True)
        array = self._room((len(rows), *selection.read_shape[1:]), dtype)
        ends = np.flatnonzero(np.diff(rows, append=-1) != 1) + 1
        start = 0
        for end in ends.tolist():
            ranges = [(int(rows[start]), int(rows[end - 1]) + 1), *others]
            reader.read_slice(self._ordinal, ranges, _types.as_bytes(array[start:end]))
            start = end
        return np.asarray(array[places])

    def _whole(self) -> dict[str, tuple[str, Bytes]]:
        """Reads and validates all components of the tensor together. Returns the dtype and the decoded bytes of each component by
        its role."""
        arrays: list[Bytes | None] = []
        for component in self._components:
            length = component.nbytes
            arrays.append(None if length is None else component._room(length))
        grown = self._file._reader.read_object(self._ordinal, arrays)
        whole = {}
        for component, array, content in zip(self._components, arrays, grown, strict=True):
            if array is None:
                array = np.frombuffer(bytearray(content or b""), np.uint8)
            whole[component.role] = (str(component._read_as), array)
        return whole


def _tensor(file: File, name: str) -> Tensor:
    return file[name]
