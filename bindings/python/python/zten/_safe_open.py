"""The interface of ``safetensors.safe_open``, for files of every format that is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from . import _types
from ._file import Digests, Source, open
from ._index import Index
from ._tensor import Tensor

_FRAMEWORKS = {"np": False, "numpy": False, "pt": True, "torch": True, "pytorch": True}


class SafeSlice:
    """A tensor that is read by parts, as ``safetensors`` gives it: ``get_slice(name)[0:10]``."""

    __slots__ = ("_is_torch", "_owner", "_tensor")

    def __init__(self, owner: safe_open, tensor: Tensor) -> None:
        self._owner = owner
        self._tensor = tensor
        tensor._elements()

    def get_shape(self) -> list[int]:
        """The dimensions of the tensor."""
        return list(self._tensor.shape)

    def get_dtype(self) -> str:
        """The type of its elements, as safetensors calls it: ``"BF16"``."""
        return _types.safetensors_dtype(str(self._tensor.dtype))

    def __repr__(self) -> str:
        return f"<SafeSlice {self._tensor.name!r} {self.get_dtype()} {self.get_shape()}>"

    def __len__(self) -> int:
        return len(self._tensor)

    def __getitem__(self, index: Index) -> Any:
        """Reads a part, and no other byte. No digest is of a part."""
        if self._owner.is_torch:
            return self._tensor[index].torch(device=self._owner.device)
        return self._tensor._sliced(index, verify=False)


class safe_open:
    """A file of any format that is read, by the interface of ``safetensors.safe_open``.

    Args:
        filename: as of :func:`zten.open`.
        framework: ``"np"`` or ``"pt"``.
        device: where tensors of PyTorch go.
        verify: compare digests of tensors that are read whole.
        digests: as of :func:`zten.open`.
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
        self._file = open(filename, verify=verify, digests=digests)

    def __repr__(self) -> str:
        return f"<safe_open {self._file!r} framework={'pt' if self.is_torch else 'np'}>"

    def __contains__(self, name: object) -> bool:
        return name in self._file

    def __iter__(self) -> Iterator[str]:
        return iter(self._file)

    def __len__(self) -> int:
        return len(self._file)

    def keys(self) -> list[str]:
        """The names of the tensors."""
        return list(self._file)

    def offset_keys(self) -> list[str]:
        """The names of the tensors, in the order of their bytes, one file after another."""
        placed = [(min(((c.shard or "", c.offset) for c in t.components.values()), default=("", 0)), name)
                  for name, t in self._file.items()]
        # Empty tensors lie where others begin: these stay in the order of the file.
        return [name for _, name in sorted(placed, key=lambda one: one[0])]

    def metadata(self) -> dict[str, str] | None:
        """The attributes of the file: what is no text, as JSON. None if it has none."""
        return self._file._reader.metadata()

    def get_tensor(self, name: str) -> Any:
        """The tensor of that name, whole: an array, or a :class:`torch.Tensor`."""
        tensor = self._file[name]
        return tensor.torch(device=self.device) if self.is_torch else tensor.numpy()

    def get_slice(self, name: str) -> SafeSlice:
        """The tensor of that name, to be read by parts."""
        return SafeSlice(self, self._file[name])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()
