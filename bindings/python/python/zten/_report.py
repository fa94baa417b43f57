"""What a file contains: totals, statistics and digests, as the command reports them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from . import _html
from ._file import Digests, File, Limits, open
from ._load import Names, selected
from ._paths import Source
from ._values import integer


@dataclass(frozen=True)
class TypeTotals:
    """The totals of all components of one dtype."""

    dtype: str | None
    """The dtype; None for all types that zten does not know."""
    components: int
    """The number of components."""
    stored: int
    """The number of stored bytes."""
    decoded: int | None
    """The number of decoded bytes; None if it is unknown before decoding."""


@dataclass(frozen=True)
class Summary:
    """The totals of a file, with the keys of ``zten ls --json``. ``str`` returns them as a line of text."""

    objects: int
    """The number of tensors."""
    components: int
    """The number of components."""
    parameters: int | None
    """The number of elements of all readable tensors; None if it exceeds 64 bits."""
    stored: int
    """The number of stored bytes."""
    decoded: int | None
    """The number of decoded bytes; None if it is unknown before decoding."""
    dtypes: list[TypeTotals]
    """The totals of each dtype, the largest first."""
    text: str
    """The totals as text: ``"6,400 parameters: 25.0 KiB of f32"``."""

    def __str__(self) -> str:
        return self.text


def summary(file: File) -> Summary:
    """Returns the totals of ``file``."""
    text, phrases = file._reader.totals()
    document = json.loads(text, object_hook=integer)
    document["dtypes"] = [TypeTotals(**one) for one in document["dtypes"]]
    return Summary(**document, text=", ".join(phrases))


@dataclass(frozen=True)
class Statistics:
    """The statistics of the stored elements of a tensor, or of all tensors of a dtype."""

    count: int
    """The number of elements."""
    zeros: int
    """The number of zeros."""
    nan: int
    """The number of NaNs."""
    infinities: int
    """The number of infinities."""
    min: float | None
    """The smallest finite element; None if there are no finite elements."""
    max: float | None
    """The largest finite element."""
    mean: float | None
    """The mean of the finite elements."""
    deviation: float | None
    """The population standard deviation of the finite elements; None also if it is too large."""


@dataclass(frozen=True)
class TensorStatistics:
    """The statistics of a tensor."""

    name: str
    """The name: untrusted text."""
    layout: str
    """The layout."""
    dtype: str
    """The dtype or type of blocks; of a sparse tensor, the dtype of its values."""
    shape: tuple[int, ...]
    """The dimensions, outermost first."""
    skipped: str | None
    """The reason why there are no statistics; None if there are."""
    statistics: Statistics | None
    """The statistics; None if the elements are not numbers, or cannot be read as numbers."""
    implied_zeros: int | None
    """The number of zeros that a sparse tensor does not store; None for other tensors."""


@dataclass(frozen=True)
class TypeStatistics:
    """The statistics of all tensors of one dtype."""

    dtype: str
    """The dtype or type of blocks."""
    tensors: int
    """The number of tensors."""
    statistics: Statistics
    """The statistics of all their elements."""


class FileStatistics(Mapping[str, TensorStatistics]):
    """The statistics of the tensors of a file: a mapping from their names, in the order of the file."""

    totals: list[TypeStatistics]
    """The statistics of each dtype; the dtype with the most elements comes first."""

    def __init__(self, tensors: Mapping[str, TensorStatistics], totals: list[TypeStatistics]) -> None:
        self._tensors = dict(tensors)
        self.totals = totals

    def __getitem__(self, name: str) -> TensorStatistics:
        return self._tensors[name]

    def __iter__(self) -> Any:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        return f"<FileStatistics tensors={len(self)} dtypes={[total.dtype for total in self.totals]}>"

    def _repr_html_(self) -> str:
        def row(name: str, one: TensorStatistics) -> list[object]:
            seen = one.statistics
            numbers = (seen.min, seen.max, seen.mean, seen.deviation, seen.zeros, seen.nan, seen.infinities) if seen else ()
            return [name, one.dtype, list(one.shape), *(numbers or ["", "", "", "", "", "", one.skipped])]

        heads = ["tensor", "dtype", "shape", "min", "max", "mean", "deviation", "zeros", "NaN", "infinities"]
        return _html.table(heads, (row(*item) for item in self.items()), len(self))


def stat(
    source: Source,
    *,
    names: Names | None = None,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
    digests: Digests | None = None,
    conventions: bool | None = None,
) -> FileStatistics:
    """Reads and verifies the tensors of a file of any format, and returns the range, mean and spread of their elements, as
    ``zten stat`` does. Quantized tensors are dequantized while they are read, so memory does not grow with their size.

    Args:
        source, limits, tolerate, digests, conventions: as for :func:`zten.open`.
        names: only these tensors: names or patterns such as ``"layers.0.*"``, each of which has to match a tensor.

    Raises:
        MissingTensor: a name or pattern matches no tensor.
        Invalid, Unsupported, LimitExceeded: the content breaks a rule, or cannot be read.
    """
    with open(source, limits=limits, tolerate=tolerate, digests=digests, conventions=conventions) as file:
        chosen = selected(file, names)
        ordinals = list(range(len(file))) if chosen is None else chosen
        if digests is not None:
            for ordinal in ordinals:
                file._reader.verify_object(ordinal)
        document = json.loads(file._reader.statistics(ordinals), object_hook=integer)
    tensors = {}
    for one in document["objects"]:
        statistics = one.pop("statistics")
        own = None if statistics is None else Statistics(**statistics)
        tensors[one["name"]] = TensorStatistics(**{**one, "shape": tuple(one["shape"])}, statistics=own)
    totals = [TypeStatistics(one["dtype"], one["tensors"], Statistics(**one["statistics"])) for one in document["totals"]]
    return FileStatistics(tensors, totals)


@dataclass(frozen=True)
class ComponentDigest:
    """The digest of a decoded component, which depends on neither byte order nor compression."""

    role: str
    """The role of the component."""
    type: str
    """The dtype and shape, as the list of digests has them: ``"f32[2,3]"``."""
    bytes: int | None
    """The number of decoded bytes; None if it is unknown."""
    sha256: str | None
    """The SHA-256 of the decoded bytes; None for a component that cannot be read."""


class FileDigests(Mapping[str, list[ComponentDigest]]):
    """The digests of a file: a mapping from the names of its tensors, sorted by their bytes, to the digests of their components.

    ``text`` is the list of digests that ``zten hash`` prints, and that ``zten.open(path, digests=...)`` takes.
    """

    text: str
    """The list of digests. Files with the same tensors have the same list, whatever their formats."""
    identity: str | None
    """The SHA-256 of ``text``, which is the same for the same tensors in any format, order and sharding, as ``zten hash --id``
    prints it; None if a component cannot be read."""
    content: str | None
    """The content digest of a file of generation 2, if it was asked for."""

    def __init__(
        self, tensors: Mapping[str, list[ComponentDigest]], text: str, identity: str | None, content: str | None
    ) -> None:
        self._tensors = dict(tensors)
        self.text = text
        self.identity = identity
        self.content = content

    def __getitem__(self, name: str) -> list[ComponentDigest]:
        return self._tensors[name]

    def __iter__(self) -> Any:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, FileDigests) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<FileDigests tensors={len(self)}>"


def hash_file(
    source: Source,
    *,
    content: Literal["sha256", "xxh3"] | None = None,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
) -> FileDigests:
    """Reads and verifies all of a file of any format, and returns the SHA-256 of each decoded component, as ``zten hash`` does.
    The list names the tensors that the file stores, as ``zten.open(source, conventions=False)`` does.

    Args:
        source, limits, tolerate: as for :func:`zten.open`.
        content: also return the content digest of a file of generation 2, by this algorithm.

    Raises:
        Invalid, Unsupported, LimitExceeded: the content breaks a rule, or cannot be read; Unsupported also if the file has no
            content digest.
    """
    with open(source, limits=limits, tolerate=tolerate, conventions=False) as file:
        text, identity, objects = file._reader.hashed()
        digest = None if content is None else file._reader.content_digest(content)
    tensors = {name: [ComponentDigest(*one) for one in components] for name, components in objects}
    return FileDigests(tensors, text, identity, digest)
