"""The native module of the package. Use :mod:`zten` instead: this module may change in any release."""

import os
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypedDict, final

import numpy as np
import numpy.typing as npt

_Bytes: TypeAlias = npt.NDArray[np.uint8]
# Limits, tolerances, whether the file has to be canonical, whether shards are opened.
_Strictness: TypeAlias = tuple[dict[str, int], list[str], bool, bool]
# The text of a list of digests; digests by the names of tensors, or by name and role of a component; or the path of a list.
_Digests: TypeAlias = bytes | dict[str, str | dict[str, str]] | str | os.PathLike[str]
# Generation, digest, canonical, whether components with equal bytes are stored once.
_Form: TypeAlias = tuple[str, str | None, bool, bool]
# Role, dtype, the dtype as which the elements can be read, and the size of an element of an opaque dtype of NumPy; offset,
# number of stored bytes, number of decoded bytes; encoding, digest, shard, whether the stored bytes are the elements as they
# are read, whether there is a digest or checksum.
_Component: TypeAlias = tuple[
    tuple[str, str, str | None, int | None],
    tuple[int, int, int | None],
    tuple[str, str | None, str | None, bool, bool],
]
# Dtype, ordinal in the object, offset, number of decoded bytes, whether the component is compressed, whether the stored bytes
# are the elements as they are read, whether there is a digest or checksum, the size of an element of an opaque dtype of NumPy.
_Dense: TypeAlias = tuple[str, int, int, int | None, bool, bool, bool, int | None]
# Name, dtype, shape and bytes of an array in memory. Bytes that are None are fetched when they are read.
_Array: TypeAlias = tuple[str, str, list[int], _Bytes | None]
# A file; or arrays, and a function that returns the bytes of the array with a given number.
_Model: TypeAlias = Any | tuple[list[_Array], Callable[[int], _Bytes]]
# Name, dtype and shape of an array that is changed in place, and the number of its memory.
_Place: TypeAlias = tuple[str, str, list[int], int]
# The state, and the id of the rule that says why an object is unread.
_State: TypeAlias = tuple[Literal["readable", "opaque", "unread"], str | None]

class _Note(TypedDict):
    rule: str | None
    clause: str | None
    offset: int | None
    object: str | None
    component: str | None
    shard: str | None
    more: int
    message: str
    advice: str | None
    page: str | None

class _Found(TypedDict):
    verdict: str
    level: str | None
    format: str | None
    rule: str | None
    clause: str | None
    offset: int | None
    object: str | None
    component: str | None
    shard: str | None
    message: str
    advice: str | None
    page: str | None
    notes: list[_Note]

def check(file: Any, strictness: _Strictness, manifest_only: bool) -> _Found: ...
def check_batch(
    files: list[str], strictness: _Strictness, manifest_only: bool, threads: int
) -> list[_Found]: ...
def convert(
    source: Any,
    # The path, the suffix of the format, and whether an existing file is replaced.
    target: tuple[str | os.PathLike[str], str, bool],
    strictness: _Strictness,
    form: _Form,
    zstd: int | None,
) -> int: ...
def diff(
    old: Reader,
    new: Reader,
    patterns: list[str] | None,
    # The relative and the absolute difference that is accepted.
    tolerance: tuple[float | None, float | None],
    # The JSON document, the totals as text, and the changes of changed and renamed tensors as text, by their new names.
) -> tuple[str, str, list[tuple[str, str]]]: ...
def written_format(path: str | os.PathLike[str] | None, format: str | None) -> str: ...
def shown(path: str | os.PathLike[str]) -> str: ...
def size(text: str) -> int: ...
def dtype(name: str) -> str | None: ...
def explain(id: str) -> dict[str, str] | None: ...
def packings() -> list[tuple[str, int, str, int]]: ...
def patch_make(
    old: _Model,
    new: _Model,
    # The path, and whether an existing file is replaced.
    target: tuple[str | os.PathLike[str], bool],
    strictness: _Strictness,
    zstd: int | None,
    # The numbers of tensors unchanged, changed, whole, removed and renamed, of elements, and of bytes; the identities.
) -> tuple[tuple[int, int, int, int, int, int, int], tuple[str, str]]: ...
def patch_apply(
    old: _Model,
    patches: list[Any],
    # The path, the suffix of the format, the generation, and whether an existing file is replaced.
    target: tuple[str | os.PathLike[str], str, str | None, bool],
    strictness: _Strictness,
) -> str | None: ...
def patch_verify(old: _Model, patches: list[Any], strictness: _Strictness) -> tuple[str, str, int]: ...
def patch_show(
    patch: Any, strictness: _Strictness
) -> tuple[
    # The identities of base and result, and the format.
    tuple[str, str, str],
    # Name, role, type, the digests before and after, and the bytes of each change.
    list[tuple[str, str, str, str, str, int]],
    # Name and type of each whole tensor.
    list[tuple[str, str]],
    # Removed names; old and new names; attributes.
    list[str],
    list[tuple[str, str]],
    dict[str, Any] | None,
]: ...
def patch_update(
    places: list[_Place], memory: list[_Bytes], patches: list[Any], strictness: _Strictness
) -> tuple[str | None, list[int]]: ...
@final
class Reader:
    def __init__(
        self,
        file: Any,
        strictness: _Strictness,
        digests: _Digests | None = None,
        # Whether each group of tensors that follows a convention of quantization is one tensor.
        conventions: bool = False,
    ) -> None: ...
    @property
    def closed(self) -> bool: ...
    @property
    def path(self) -> str | None: ...
    @property
    def format(self) -> str: ...
    @property
    def generation(self) -> str | None: ...
    @property
    def version(self) -> str | None: ...
    @property
    def is_data_shard(self) -> bool: ...
    @property
    def length(self) -> int: ...
    @property
    def decoded_limits(self) -> tuple[int, int]: ...
    def close(self) -> None: ...
    @property
    def is_mappable(self) -> bool: ...
    def descriptor(self) -> int | None: ...
    def __len__(self) -> int: ...
    def names(self) -> list[str]: ...
    def select(self, patterns: list[str]) -> list[int]: ...
    def shards(self) -> list[tuple[str, int, str | None]]: ...
    def has(self, name: str) -> bool: ...
    def require(self, name: str) -> int: ...
    def object(self, ordinal: int) -> tuple[str, str, tuple[int, ...], list[_Component], _State]: ...
    def listing(self) -> list[tuple[str, tuple[int, ...], _Dense | None]]: ...
    def attributes(self, ordinal: int | None = None) -> dict[str, Any]: ...
    def metadata(self) -> dict[str, str] | None: ...
    def verify_object(self, ordinal: int) -> None: ...
    def verify(self) -> tuple[int, int]: ...
    def statistics(self, ordinals: list[int]) -> str: ...
    def hashed(
        self,
    ) -> tuple[str, str | None, list[tuple[str, list[tuple[str, str, int | None, str | None]]]]]: ...
    def content_digest(self, algorithm: str) -> str: ...
    def totals(self) -> tuple[str, list[str]]: ...
    def read(self, places: list[tuple[int, int]], arrays: list[_Bytes]) -> None: ...
    def read_object(self, ordinal: int, arrays: list[_Bytes | None]) -> list[bytes | None]: ...
    def read_slice(
        self, ordinal: int, ranges: list[tuple[int, int]], array: _Bytes
    ) -> None: ...
    def part_shape(self, ordinal: int, index: Any) -> tuple[int, ...] | None: ...
    def part(
        self, ordinal: int, index: Any, verify: bool
    ) -> tuple[bytearray, tuple[int, ...], str] | None: ...
    def read_bytes(self, ordinal: int, component: int) -> bytes: ...
    def dequantize(self, ordinal: int, array: npt.NDArray[np.float32]) -> None: ...
    def dequantize_range(self, ordinal: int, start: int, array: npt.NDArray[np.float32]) -> None: ...
    @property
    def is_grouped(self) -> bool: ...
    def form(self, ordinal: int) -> str | None: ...
    def has_groups(self) -> bool: ...
    def quantization(self, ordinal: int) -> dict[str, Any] | None: ...

@final
class Writer:
    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        form: _Form,
        zstd: int | None,
    ) -> None: ...
    @staticmethod
    def append(
        path: str | os.PathLike[str], form: _Form, zstd: int | None
    ) -> Writer: ...
    def add(
        self,
        name: str,
        format: str,
        shape: list[int],
        parts: list[tuple[str, str, str, int, _Bytes, bool]],
        attributes: dict[str, Any] | None,
    ) -> None: ...
    def attributes(self, attributes: dict[str, Any]) -> None: ...
    def finish(self) -> bytes | None: ...
    def abort(self) -> None: ...

@final
class ArrayWriter:
    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        format: str,
        # Name, dtype, shape.
        arrays: list[tuple[str, str, list[int]]],
        attributes: dict[str, Any] | None,
    ) -> None: ...
    def next(self) -> int | None: ...
    def write(self, array: _Bytes) -> None: ...
    def finish(self) -> bytes | None: ...
    def abort(self) -> None: ...

@final
class SpoolWriter:
    def __init__(self, path: str | os.PathLike[str], format: str) -> None: ...
    def add(
        self,
        name: str,
        format: str,
        shape: list[int],
        parts: list[tuple[str, str, str, int, _Bytes, bool]],
        attributes: dict[str, Any] | None,
    ) -> None: ...
    def attributes(self, attributes: dict[str, Any]) -> None: ...
    def finish(self) -> None: ...
    def abort(self) -> None: ...
