"""Attribute values that Python has no type for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tag:
    """A CBOR tag: a number that says how the value is meant. RFC 8949 §3.4."""

    number: int
    value: Any


@dataclass(frozen=True)
class Simple:
    """A CBOR simple value that is not ``True``, ``False`` or ``None``; 23 is ``undefined``."""

    number: int


class Entries(tuple[tuple[Any, Any], ...]):
    """The entries of a map that is no :class:`dict`: ``(key, value)`` in the order of the file. Keys of
    a :class:`dict` are text, bytes, numbers, booleans or None, no two of which Python takes for equal
    (``1`` and ``True`` are)."""
