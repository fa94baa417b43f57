"""The differences of two files, as the command reports them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from . import _html, _zten
from ._errors import MissingTensor
from ._file import File, Limits, strictness
from ._load import Names
from ._paths import Source
from ._values import integer


@dataclass(frozen=True)
class AttributeChange:
    """An attribute of a file or a tensor that is not the same in both files."""

    key: str
    """The key: untrusted text."""
    change: Literal["added", "removed", "changed"]
    """The kind of the change."""
    old: Any
    """The value in the old file, with the types of :attr:`Tensor.attributes`; None if the attribute was added."""
    new: Any
    """The value in the new file; None if the attribute was removed."""


@dataclass(frozen=True)
class ElementChanges:
    """How the elements of a tensor or component differ between the old and the new file. Numbers that are computed from
    differences leave out pairs in which an element is NaN or infinite."""

    count: int
    """The number of elements."""
    changed: int
    """The number of elements that differ."""
    not_finite: int
    """The number of differing pairs in which an element is NaN or infinite."""
    new_nan: int
    """The number of elements that are NaN in the new file only."""
    beyond: int | None = None
    """The number of elements that differ by more than the tolerance; None without ``rtol`` and ``atol``."""
    max: float | None = None
    """The largest absolute difference; None if the elements are not numbers."""
    mean: float | None = None
    """The mean absolute difference of all elements."""
    relative: float | None = None
    """The largest difference relative to the larger of the two magnitudes: 0 to 2."""
    relative_norm: float | None = None
    """The Euclidean norm of the difference divided by the norm of the old elements; None if that is 0, or a sum overflows."""
    cosine: float | None = None
    """The cosine of the angle between the old and the new elements; None if all elements of a file are 0, or a sum overflows."""


@dataclass(frozen=True)
class ComponentChange:
    """How a tensor's component of one role differs between the old and the new file."""

    role: str
    """The role of the component."""
    change: Literal["added", "removed", "changed"]
    """The kind of the change."""
    content: bool
    """True if the bytes differ."""
    dtype: tuple[str, str] | None = None
    """The old and the new dtype; None if they are the same."""
    elements: ElementChanges | None = None
    """The differences of the elements, if those of the tensor were not compared and both components have as many."""


@dataclass(frozen=True)
class TensorChange:
    """How a tensor that is in both files differs between them. Each field is about one property, such as the shape, and is None
    or empty if this property is the same in both files."""

    name: str
    """The name in the new file: untrusted text."""
    old: str
    """The name in the old file, which differs for a renamed tensor."""
    layout: tuple[str, str] | None
    """The old and the new layout."""
    shape: tuple[tuple[int, ...], tuple[int, ...]] | None
    """The old and the new shape."""
    elements: ElementChanges | None
    """The differences of the values, if both tensors are dense or can be dequantized, and have one shape."""
    components: list[ComponentChange]
    """The components that differ."""
    attributes: list[AttributeChange]
    """The attributes that differ."""
    text: str
    """The changes as text, as ``zten diff`` prints them: ``"1 of 6 elements changed (max 0.5, ...)"``."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class FileChanges:
    """The differences of two files, with the keys of ``zten diff --json``. ``str`` returns the totals as a line of text."""

    equal: bool
    """True if nothing differs, or only within the tolerance, and every tensor was compared."""
    attributes: list[AttributeChange]
    """The attributes of the files that differ. They are compared only if all tensors are."""
    added: list[str]
    """The names of tensors that only the new file has."""
    removed: list[str]
    """The names of tensors that only the old file has."""
    renamed: list[TensorChange]
    """The tensors with the content, type and shape of a removed one."""
    changed: dict[str, TensorChange]
    """The tensors that differ, by their names."""
    unread: list[str]
    """The names of tensors that cannot be read in one of the files, and so were not compared."""
    summary: dict[str, int]
    """The numbers of tensors: ``added``, ``removed``, ``renamed``, ``changed``, ``equal``, ``unread``, and, with a tolerance,
    ``within``."""
    text: str
    """The totals as text: ``"tensors: 1 changed, 0 added, 0 removed, 0 renamed, 7 equal"``."""

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        # `if zten.diff(a, b)` could be read as "if they are the same" and as "if they differ".
        raise TypeError("the differences of two files are neither true nor false; use .equal")

    def _repr_html_(self) -> str:
        def numbers(elements: ElementChanges | None) -> list[object]:
            if elements is None:
                return ["", "", "", ""]
            found = (elements.max, elements.relative_norm, elements.cosine)
            return [f"{elements.changed:,} of {elements.count:,}", *("" if one is None else one for one in found)]

        empty = numbers(None)
        rows: list[list[object]] = [[name, "added", *empty] for name in self.added]
        rows += [[name, "removed", *empty] for name in self.removed]
        rows += [[one.name, f"renamed from {one.old}", *empty] for one in self.renamed]
        rows += [[name, one.text, *numbers(one.elements)] for name, one in self.changed.items()]
        rows += [[name, "unread", *empty] for name in self.unread]
        heads = ["tensor", "change", "elements", "max", "relative norm", "cosine"]
        return _html.table(heads, rows, len(rows), self.text)


def diff(
    old: Source,
    new: Source,
    *,
    names: Names | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    plain: bool = False,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
) -> FileChanges:
    """Reads and verifies two files of any formats, and returns the differences of their contents, as ``zten diff`` does. Byte
    order, compression, alignment and order are not content: a file and its conversion are equal.

    Args:
        old, new: the files, as for :func:`zten.open`.
        names: compare only these tensors: names or patterns such as ``"layers.0.*"``, each of which has to match a tensor of
            one of the files.
        rtol, atol: accept an element that differs from the old one by at most ``atol + rtol * abs(old)``. The dtype and layout
            may then differ, too.
        plain: compare the codes and scales that a file stores for a quantized tensor, and not the values.
        limits, tolerate: as for :func:`zten.open`, of both files.

    Raises:
        MissingTensor: a name or pattern matches no tensor of either file.
        Invalid, Unsupported, LimitExceeded: the content of a file breaks a rule, or cannot be read.
    """
    how = strictness(limits, tolerate)
    patterns = [names] if isinstance(names, str) else None if names is None else list(names)
    with File(old, how, False, True, None, not plain) as before, File(new, how, False, True, None, not plain) as after:
        try:
            text, totals, texts = _zten.diff(before._reader, after._reader, patterns, (rtol, atol))
        except KeyError as error:
            raise MissingTensor(str(error.args[0])) from None
        document = json.loads(text, object_hook=integer)
        changes = _Changes(before, after, dict(texts))
        return FileChanges(
            equal=document["equal"],
            attributes=changes.attributes(document["attributes"], None),
            added=document["added"],
            removed=document["removed"],
            renamed=[changes.tensor(one) for one in document["renamed"]],
            changed={one["name"]: changes.tensor(one) for one in document["changed"]},
            unread=document["unread"],
            summary=document["summary"],
            text=totals,
        )


class _Changes:
    """Converts the JSON document of a comparison to objects. The values of attributes are taken from the two files and not from the
    document, because JSON has fewer types than attributes."""

    def __init__(self, old: File, new: File, texts: Mapping[str, str]) -> None:
        self._old = old._reader
        self._new = new._reader
        self._texts = texts

    def attributes(self, changes: list[dict[str, Any]], names: tuple[str, str] | None) -> list[AttributeChange]:
        """Converts ``changes``, the part of the document about attributes: those of the files if ``names`` is None, otherwise
        those of the tensor that has the first of ``names`` in the old file and the second in the new file."""
        if not changes:
            return []
        old_ordinal, new_ordinal = (None, None) if names is None else (self._old.require(names[0]), self._new.require(names[1]))
        old, new = self._old.attributes(old_ordinal), self._new.attributes(new_ordinal)

        def kind(change: dict[str, Any]) -> Literal["added", "removed", "changed"]:
            return "changed" if "old" in change and "new" in change else "removed" if "old" in change else "added"

        return [AttributeChange(one["key"], kind(one), old.get(one["key"]), new.get(one["key"])) for one in changes]

    def tensor(self, change: dict[str, Any]) -> TensorChange:
        """Converts ``change``, the part of the document about a changed or renamed tensor."""
        name, layout, shape = change["name"], change.get("layout"), change.get("shape")
        old = change.get("old", name)
        return TensorChange(
            name=name,
            old=old,
            layout=layout and (layout["old"], layout["new"]),
            shape=shape and (tuple(shape["old"]), tuple(shape["new"])),
            elements=_elements(change),
            components=[_component(one) for one in change.get("components", [])],
            attributes=self.attributes(change.get("attributes", []), (old, name)),
            text=self._texts[name],
        )


def _elements(change: dict[str, Any]) -> ElementChanges | None:
    """Converts the part ``elements`` of ``change``, which is about a tensor or component. Returns None if its elements were not
    compared."""
    elements = change.get("elements")
    return None if elements is None else ElementChanges(**elements)


def _component(change: dict[str, Any]) -> ComponentChange:
    """Converts ``change``, the part of the document about a component."""
    dtype = change.get("dtype")
    return ComponentChange(
        role=change["role"],
        change=change["change"],
        content=change["content"],
        dtype=dtype and (dtype["old"], dtype["new"]),
        elements=_elements(change),
    )
