"""Classes for values of attributes that Python has no type for, and reading large integers in JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tag:
    """A CBOR tag: a number that gives the value a meaning. RFC 8949 §3.4."""

    number: int
    value: Any


@dataclass(frozen=True)
class Simple:
    """A CBOR simple value that is not ``True``, ``False`` or ``None``; 23 is ``undefined``."""

    number: int


class Entries(tuple[tuple[Any, Any], ...]):
    """The entries ``(key, value)`` of a map that cannot be a :class:`dict`, in the order of the file. The keys of a
    :class:`dict` are text, bytes, numbers, booleans or None, and no two keys may be equal in Python, as ``1`` and ``True``
    are."""


def integer(document: dict[str, Any]) -> Any:
    """Returns the integer for ``{"$int": "…"}``, which stands in JSON for an integer that a double cannot represent. Returns any
    other ``document`` unchanged. It is an ``object_hook`` for the module ``json``."""
    return int(document["$int"]) if document.keys() == {"$int"} else document
