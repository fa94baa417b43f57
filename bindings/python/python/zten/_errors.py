"""Exceptions that a file causes."""

from __future__ import annotations

import os
from typing import Any

from . import _zten


class Error(Exception):
    """A file could not be read for what is in it. Its kinds are :class:`Invalid`,
    :class:`Unsupported` and :class:`LimitExceeded`; ``except zten.Error`` catches all of them.

    What the system fails with is an :class:`OSError`, and a wrong call is a :class:`ValueError`,
    :class:`TypeError`, :class:`KeyError` or :class:`IndexError`, as everywhere in Python. A call that does
    not serve what is in a file, such as :meth:`Tensor.numpy` of blocks of GGUF, is :class:`Unsupported`.
    """

    message: str
    """The sentence, the rule with its clause, and the place. Names in it are escaped."""
    rule: str | None
    """The id of the rule, limit or unsupported feature: ``"digest-mismatch"``. ``zten explain RULE``
    says more."""
    clause: str | None
    """The source of the rule: ``"v1.2 §4"``."""
    object: str | None
    """The name of the object that the error is in: any text, as the file has it."""
    component: str | None
    """The role of the component."""
    shard: str | None
    """The name of the shard that the offset is in."""
    offset: int | None
    """The byte of the file. None where the bytes are compressed, or the whole file is meant."""
    file: str | None
    """The path, where there is one."""

    def __init__(
        self,
        message: str,
        *,
        rule: str | None = None,
        clause: str | None = None,
        object: str | None = None,
        component: str | None = None,
        shard: str | None = None,
        offset: int | None = None,
        file: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.rule = rule
        self.clause = clause
        self.object = object
        self.component = component
        self.shard = shard
        self.offset = offset
        self.file = None if file is None else os.fspath(file)

    def __str__(self) -> str:
        return self.message if self.file is None else f"{self.file}: {self.message}"

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {
            name: getattr(self, name)
            for name in ("rule", "clause", "object", "component", "shard", "offset", "file")
        }
        return _again, (type(self), self.message, fields)


class Invalid(Error):
    """The file breaks a rule: it is damaged, or its writer is at fault."""


class Unsupported(Error):
    """The file may be valid, and holds what this reader does not read, or the call does not serve."""


class LimitExceeded(Error):
    """The file asks for more than a limit allows. ``limits={name: value}`` changes the limit, whose
    name is that of the rule without ``limit-``."""


def _clause(rule: str) -> str | None:
    facts = _zten.explain(rule)
    return None if facts is None else facts["clause"]


def unserved(sentence: str, name: str, rule: str = "unsupported-format", **fields: Any) -> Unsupported:
    """The error for an object that a call does not serve."""
    return Unsupported(f"{name!r}: {sentence}", object=name, rule=rule, clause=_clause(rule), **fields)


def no_array_error(error: Exception, what: str, name: str, file: str | None) -> Error:
    """The error for an object that a library or the machine has no array for, which is what it says."""
    if isinstance(error, MemoryError):
        sentence = f"{name!r}: there is no memory for it: {what}"
        rule = "limit-decoded"
        return LimitExceeded(sentence, object=name, rule=rule, clause=_clause(rule), file=file)
    return unserved(f"{what}: {error}", name, "unsupported-feature", file=file)


NO_ARRAY = (ValueError, TypeError, OverflowError, RuntimeError, MemoryError)
"""The errors of NumPy, SciPy and PyTorch for shapes that they have no arrays of."""


def _again(kind: type[Error], message: str, fields: dict[str, Any]) -> Error:
    return kind(message, **fields)
