"""The interface of ``safetensors.safe_open``, for files of all formats that zten reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from . import _types
from ._file import Digests, open
from ._index import Index
from ._paths import Source
from ._tensor import Tensor

_FRAMEWORKS = {"np": False, "numpy": False, "pt": True, "torch": True, "pytorch": True}


class SafeSlice:
    """A tensor that is read in parts, with the interface of ``safetensors``: ``get_slice(name)[0:10]``."""

    __slots__ = ("_is_torch", "_owner", "_tensor")

    def __init__(self, owner: safe_open, tensor: Tensor) -> None:
        self._owner = owner
        self._tensor = tensor
        tensor._elements()

    def get_shape(self) -> list[int]:
        """Returns the numbers of elements in each dimension of the tensor, outermost first."""
        return list(self._tensor.shape)

    def get_dtype(self) -> str:
        """Returns the dtype by its name in safetensors: ``"BF16"``."""
        return _types.safetensors_dtype(str(self._tensor.dtype))

    def __repr__(self) -> str:
        return f"<SafeSlice {self._tensor.name!r} {self.get_dtype()} {self.get_shape()}>"

    def __len__(self) -> int:
        return len(self._tensor)

    def __getitem__(self, index: Index) -> Any:
        """Reads the part of the tensor that ``index`` selects, as :meth:`zten.Slice.numpy` does: of most tensors, no other bytes. A
        part has no digest in the file, so it is not verified by one."""
        if self._owner.is_torch:
            return self._tensor[index].torch(device=self._owner.device)
        return self._tensor._sliced(index, verify=False)


class safe_open:
    """An open file of any format that zten reads, with the interface of ``safetensors.safe_open``. Its names are those that
    ``safetensors`` returns: a quantized tensor that is stored as several tensors has the name of each.

    Args:
        filename: the file, as for :func:`zten.open`.
        framework: ``"np"`` or ``"pt"``.
        device: the device to which tensors of PyTorch are moved.
        verify: compare digests of tensors that are read as a whole.
        digests: as for :func:`zten.open`.
    """

    def __init__(
        self,
        filename: Source,
        framework: str = "np",
        device: Any = "cpu",
        *,
        verify: bool = True,
        digests: Digests | None = None,
    ) -> None:
        if framework not in _FRAMEWORKS:
            raise ValueError(f'framework is {framework!r}, expected "np" or "pt"')
        self.is_torch = _FRAMEWORKS[framework]
        self.device = device
        self._file = open(filename, verify=verify, digests=digests, conventions=False)

    def __repr__(self) -> str:
        return f"<safe_open {self._file!r} framework={'pt' if self.is_torch else 'np'}>"

    def __contains__(self, name: object) -> bool:
        return name in self._file

    def __iter__(self) -> Iterator[str]:
        return iter(self._file)

    def __len__(self) -> int:
        return len(self._file)

    def keys(self) -> list[str]:
        """Returns the names of the tensors."""
        return list(self._file)

    def offset_keys(self) -> list[str]:
        """Returns the names of the tensors in the order of their offsets, shard by shard."""
        placed = [(min(((c.shard or "", c.offset) for c in t.components.values()), default=("", 0)), name)
                  for name, t in self._file.items()]
        # An empty tensor can have the offset of another tensor. The sort is stable, so these two tensors stay in the order of the
        # file.
        return [name for _, name in sorted(placed, key=lambda one: one[0])]

    def metadata(self) -> dict[str, str] | None:
        """Returns the attributes of the file as text; values that are not text become JSON. None if the file has none."""
        return self._file._reader.metadata()

    def get_tensor(self, name: str) -> Any:
        """Reads the tensor ``name``: as an array of NumPy for the framework ``"np"``, as a :class:`torch.Tensor` for ``"pt"``."""
        tensor = self._file[name]
        return tensor.torch(device=self.device) if self.is_torch else tensor.numpy()

    def get_slice(self, name: str) -> SafeSlice:
        """Returns the tensor ``name`` as an object whose parts can be read: ``file.get_slice(name)[0:10]``. Nothing is read yet."""
        return SafeSlice(self, self._file[name])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()
