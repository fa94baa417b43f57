"""Checking files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

from . import _zten
from ._file import Limits, Source, frozen, strictness


@dataclass(frozen=True)
class Note:
    """A note on a file: a known loader may stumble over it, or something was left out."""

    rule: str | None
    """The id of the rule."""
    clause: str | None
    """The source of the rule."""
    offset: int | None
    """The byte of the file, or of the shard."""
    object: str | None
    """The name of the object."""
    component: str | None
    """The role of the component."""
    shard: str | None
    """The name of the shard."""
    more: int
    """The number of further places to which the note applies."""
    message: str
    """The sentence, the rule with its clause, and the place."""
    advice: str | None
    """The advice for whoever has the file."""


@dataclass(frozen=True)
class Report:
    """The report on a file: the keys of ``zten check --json``. It is true if
    nothing is wrong. It can be pickled."""

    file: str | None
    """The path, of a URL without user, password and query; None of what has none."""
    verdict: str
    """``"valid"``; ``"manifest-valid"``, where no data was looked at; ``"invalid"``: it breaks a rule;
    ``"unsupported"``: it may be valid; ``"limit"``: it asks for more than a limit allows; ``"error"``:
    it could not be read."""
    level: str | None
    """``"error"``, or ``"warning"``, where the file may be valid for another reader; None of a valid file."""
    format: str | None
    """The format: ``"ztensor"``, ``"safetensors"``, ``"gguf"``, ...; None where it is not known."""
    rule: str | None
    """The id of the rule, limit or unsupported feature."""
    clause: str | None
    """The source of the rule: ``"v1.2 §4"``."""
    offset: int | None
    """The byte of the file, or of the shard."""
    object: str | None
    """The name of the object."""
    component: str | None
    """The role of the component."""
    shard: str | None
    """The name of the shard."""
    message: str
    """The sentence, the rule with its clause, and the place. Names in it are escaped."""
    advice: str | None
    """The advice for whoever has the file."""
    notes: list[Note]
    """The notes on the file, which is valid all the same unless it has a finding."""

    def __bool__(self) -> bool:
        return self.verdict in ("valid", "manifest-valid")

    def __str__(self) -> str:
        return self.message if self.file is None else f"{self.file}: {self.message}"

    def as_dict(self) -> dict[str, Any]:
        """The fields by their names."""
        return asdict(self)


@dataclass(frozen=True)
class Rule:
    """A rule, limit or unsupported feature of the catalog: what ``zten explain`` prints."""

    id: str
    """The id, as :attr:`Error.rule` has it."""
    holds: str
    """The sentence that is true of a valid file."""
    message: str
    """The fault of a file that breaks it; ``{}`` stands for the number that was found."""
    clause: str
    """The clause that it comes from: ``"v1.2 §4"``."""
    scope: str
    """The generations, or other formats, that it holds for."""
    advice: str
    """The advice for whoever has such a file."""

    def __str__(self) -> str:
        return f"{self.id} ({self.clause})\n{self.holds}\n{self.advice}"


def explain(rule: str) -> Rule:
    """Looks up a rule: what it requires, the clause that it comes from, and the advice.

    Args:
        rule: the id of a rule, limit or unsupported feature: ``error.rule``, ``report.rule``.

    Raises:
        KeyError: there is none of that id.
    """
    if not isinstance(rule, str):
        raise TypeError(f"rule is {rule!r}, expected the id of a rule, such as \"digest-mismatch\"")
    facts = _zten.explain(rule)
    if facts is None:
        raise KeyError(f"no rule has the id {rule!r}; `zten explain` lists all")
    return Rule(**facts)


class Columns(TypedDict):
    """The reports on many files, as columns: those of :class:`Report`. Data frames take them,
    ``pandas.DataFrame(columns)``, and so does Arrow."""

    file: list[str]
    verdict: list[str]
    level: list[str | None]
    format: list[str | None]
    rule: list[str | None]
    clause: list[str | None]
    offset: list[int | None]
    object: list[str | None]
    component: list[str | None]
    shard: list[str | None]
    message: list[str]
    advice: list[str | None]
    notes: list[list[_zten._Note]]


def check(
    source: Source,
    *,
    manifest_only: bool = False,
    canonical: bool = False,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
    shards: bool = True,
) -> Report:
    """Checks a file: reads all of it, and validates every rule. What is wrong with the file
    is reported, not raised; so is a file that cannot be read.

    Args:
        source: as of :func:`zten.open`.
        manifest_only: read no data.
        canonical: ask for the canonical form, too.
        limits, tolerate, shards: as of :func:`zten.open`.
    """
    how = strictness(limits, tolerate, canonical, shards)
    found = _zten.check(frozen(source), how, manifest_only)
    path = _zten.shown(source) if isinstance(source, (str, os.PathLike)) else None
    notes = [Note(**note) for note in found["notes"]]
    fields: dict[str, Any] = {**found, "file": path, "notes": notes}
    return Report(**fields)


def check_batch(
    paths: Iterable[str | os.PathLike[str]],
    *,
    manifest_only: bool = False,
    canonical: bool = False,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
    shards: bool = True,
    threads: int | None = None,
) -> Columns:
    """Checks many files on several threads. It raises nothing for whatever is wrong with any of them:
    a file that is not there has the verdict ``"error"``. The order is that of the paths.

    Args:
        paths: the files.
        threads: how many files are read at a time; as many as there are processors by default.
        manifest_only, canonical, limits, tolerate, shards: as of :func:`check`.

    Returns:
        Columns, each as long as there are paths.
    """
    if isinstance(paths, (str, bytes, os.PathLike)):
        raise TypeError(f"paths is {type(paths).__name__}, expected an iterable of paths; check() takes one")
    files = [os.fsdecode(path) for path in paths]
    how = strictness(limits, tolerate, canonical, shards)
    threads = (os.cpu_count() or 1) if threads is None else max(threads, 1)
    found = _zten.check_batch(files, how, manifest_only, threads)
    return Columns(
        file=[_zten.shown(path) for path in files],
        verdict=[one["verdict"] for one in found],
        level=[one["level"] for one in found],
        format=[one["format"] for one in found],
        rule=[one["rule"] for one in found],
        clause=[one["clause"] for one in found],
        offset=[one["offset"] for one in found],
        object=[one["object"] for one in found],
        component=[one["component"] for one in found],
        shard=[one["shard"] for one in found],
        message=[one["message"] for one in found],
        advice=[one["advice"] for one in found],
        notes=[one["notes"] for one in found],
    )
