"""Exceptions about the content of a file."""

from __future__ import annotations

import os
from typing import Any

from . import _zten


class Error(Exception):
    """A file could not be read because of its content. The subclasses are :class:`Invalid`, :class:`Unsupported` and
    :class:`LimitExceeded`; ``except zten.Error`` catches all of them.

    A name that the file does not have raises :class:`MissingTensor`, which is a :class:`KeyError` too. An error of the system is
    an :class:`OSError`, and a wrong call is a :class:`ValueError`, :class:`TypeError` or :class:`IndexError`, as usual in
    Python. A call that does not support the content of the file, such as
    :meth:`Tensor.numpy` for blocks of GGUF, is :class:`Unsupported`.
    """

    message: str
    """The sentence, and in most errors the rule with its clause, and the place. Names in it are escaped."""
    rule: str | None
    """The id of the rule, limit or unsupported feature: ``"digest-mismatch"``. ``zten explain RULE`` explains it."""
    clause: str | None
    """The source of the rule: ``"v1.2 §4"``."""
    object: str | None
    """The name of the object with the fault: untrusted text of the file."""
    component: str | None
    """The role of the component."""
    shard: str | None
    """The name of the shard in which the offset is."""
    offset: int | None
    """The offset of the fault in the file; None if it is in compressed bytes, or about the whole file."""
    advice: str | None
    """What the owner of the file or the caller can do, as the command prints it; None if zten has no advice, or if
    the message itself says what to call instead. It is also a note of the exception (``__notes__``), so Python prints it below
    the message."""
    file: str | None
    """The path or URL; None for bytes and objects."""

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
        advice: str | None = None,
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
        self.advice = advice
        self.file = None if file is None else os.fspath(file)
        if advice is not None:
            self.add_note(advice)

    def __str__(self) -> str:
        return self.message if self.file is None else f"{self.file}: {self.message}"

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {
            name: getattr(self, name)
            for name in ("rule", "clause", "object", "component", "shard", "offset", "advice", "file")
        }
        return _again, (type(self), self.message, fields)


class Invalid(Error):
    """The file breaks a rule: it is damaged, or its writer has a fault."""


class Unsupported(Error):
    """The file may be valid, but has content that zten does not interpret, or that the call does not support."""


class LimitExceeded(Error):
    """The file needs more than a limit allows. If the rule without the prefix ``limit-`` is the name of a limit of
    :func:`zten.open`, ``limits={name: value}`` changes it."""


class MissingTensor(Error, KeyError):
    """The file has no tensor of the given name, or no tensor whose name matches the given pattern. The message suggests the most
    similar name that the file has. This class is a :class:`KeyError` too, because a file is a mapping."""


class SandboxError(OSError):
    """Files could not be checked in confined processes, and nothing is known about their content: the command ``zten`` is not
    installed or has another version than the package, the kernel cannot confine processes, or the command ended early.
    """


def _clause(rule: str) -> str | None:
    facts = _zten.explain(rule)
    return None if facts is None else facts["clause"]


def unserved(sentence: str, name: str, rule: str = "unsupported-format", **fields: Any) -> Unsupported:
    """Returns the error of a call that does not support the object ``name``. ``sentence`` says why, ``rule`` is the id of the
    unsupported feature, and ``fields`` are further fields of the error."""
    return Unsupported(f"{name!r}: {sentence}", object=name, rule=rule, clause=_clause(rule), **fields)


def unread(name: str, rule: str | None, file: str | None) -> Unsupported:
    """Returns the error for the object ``name`` of ``file``, whose bytes zten does not hand out. ``rule`` is the id of the rule
    that says why, and gives the error its message and advice."""
    facts = _zten.explain(rule or "")
    if facts is None:
        return unserved("zten does not hand out its content", name, rule or "unsupported-feature", file=file)
    sentence = f"zten does not hand out its content: {facts['message']} (rule {rule}, {facts['clause']})"
    return unserved(sentence, name, facts["id"], advice=facts["advice"], file=file)


def no_array_error(error: Exception, what: str, name: str, file: str | None) -> Error:
    """Returns the error for the object ``name`` of ``file``, for which NumPy, SciPy or PyTorch made no array, but raised ``error``.
    ``what`` describes the array. A :class:`MemoryError` becomes :class:`LimitExceeded`, any other exception
    :class:`Unsupported`."""
    if isinstance(error, MemoryError):
        sentence = f"{name!r}: there is no memory for it: {what}"
        rule = "limit-decoded"
        return LimitExceeded(sentence, object=name, rule=rule, clause=_clause(rule), file=file)
    return unserved(f"{what}: {error}", name, "unsupported-feature", file=file)


NO_ARRAY = (ValueError, TypeError, OverflowError, RuntimeError, MemoryError)
"""The exceptions that NumPy, SciPy and PyTorch raise for shapes that they do not support."""


def _again(kind: type[Error], message: str, fields: dict[str, Any]) -> Error:
    return kind(message, **fields)
