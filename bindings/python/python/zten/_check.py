"""The functions that check files, and the reports that they return."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

from . import _sandbox, _zten
from ._file import Limits, strictness
from ._paths import Source, is_path, local, readable, resolved


@dataclass(frozen=True)
class Note:
    """A note on a valid file: a known loader may fail to read the file, or zten did not check or convert a part of it."""

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
    """What the owner of the file can do."""
    page: str | None
    """The address of the page about the rule."""


@dataclass(frozen=True)
class Report:
    """The report on a file, with the keys of ``zten check --json``. ``bool(report)`` is true for a valid file. A report can
    be pickled."""

    file: str | None
    """The path or URL of the file, without user, password and query; None for bytes and objects."""
    verdict: str
    """``"valid"``; ``"manifest-valid"``: the header is valid, and the data was not read; ``"invalid"``: the file breaks a
    rule; ``"unsupported"``: zten does not interpret the file, which may be valid; ``"limit"``: the file needs more than a
    limit allows; ``"error"``: the file could not be read."""
    level: str | None
    """``"error"``; ``"warning"`` if the file may be valid for another reader; None for a valid file."""
    format: str | None
    """The format: ``"ztensor"``, ``"safetensors"``, ``"gguf"``, ...; None if it is unknown."""
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
    """What the owner of the file can do."""
    page: str | None
    """The address of the page about the rule."""
    notes: list[Note]
    """The notes on the file. A valid file can have notes."""

    def __bool__(self) -> bool:
        return self.verdict in ("valid", "manifest-valid")

    def __str__(self) -> str:
        return self.message if self.file is None else f"{self.file}: {self.message}"

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields of this report as a dictionary, by their names, in which notes are dictionaries too."""
        return asdict(self)


@dataclass(frozen=True)
class Rule:
    """A rule, limit or unsupported feature of the catalog: what ``zten explain`` prints."""

    id: str
    """The id, as :attr:`Error.rule` has it."""
    holds: str
    """The sentence that is true of a valid file."""
    message: str
    """The fault of a file that breaks the rule; ``{}`` is the place of the number in the file."""
    clause: str
    """The clause of the specification: ``"v1.2 §4"``."""
    scope: str
    """The generations of zTensor, or the other formats, that have the rule."""
    advice: str
    """What the owner of a file that breaks the rule can do."""

    def __str__(self) -> str:
        return f"{self.id} ({self.clause})\n{self.holds}\n{self.advice}"


def explain(rule: str) -> Rule:
    """Looks up a rule, and returns its requirement, its clause in the specification, and its advice.

    Args:
        rule: the id of a rule, limit or unsupported feature: ``error.rule``, ``report.rule``.

    Raises:
        KeyError: no rule has that id.
    """
    if not isinstance(rule, str):
        raise TypeError(f"rule is {rule!r}, expected the id of a rule, such as \"digest-mismatch\"")
    facts = _zten.explain(rule)
    if facts is None:
        raise KeyError(f"no rule has the id {rule!r}; `zten explain` lists all rules")
    return Rule(**facts)


class Columns(TypedDict):
    """The reports on many files: one list for each field of :class:`Report`. ``pandas.DataFrame(columns)`` and Arrow make
    a table of them."""

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
    page: list[str | None]
    notes: list[list[_zten._Note]]


def check(
    source: Source,
    *,
    manifest_only: bool = False,
    canonical: bool = False,
    limits: Limits | None = None,
    tolerate: Iterable[str] = (),
    shards: bool = True,
    sandbox: bool = False,
) -> Report:
    """Reads all of a file, validates every rule, and returns a report. Faults of the file are in the report and raise no
    exception, even if the file cannot be read.

    Args:
        source: the file, as for :func:`zten.open`.
        manifest_only: validate only the header, and read no data.
        canonical: require the canonical form, too.
        limits, tolerate, shards: as for :func:`zten.open`.
        sandbox: read the file in a confined process (Linux), which the command ``zten`` starts: ``pip install zten[cli]``.
            ``source`` is a path. The report is the same. If the process is ended, the verdict is ``"error"`` and the message
            says why: a limit on memory or time, or a forbidden system call.

    Raises:
        SandboxError: the command is not installed or has another version, or the kernel cannot confine processes.
    """
    how, source = strictness(limits, tolerate, canonical, shards), local(source)
    if sandbox:
        if not is_path(source):
            raise TypeError(f"source is {type(source).__name__}, expected a path: the sandbox opens files by their paths")
        # Checking no files raises the exceptions for wrong options, before a process is started.
        _zten.check_batch([], how, manifest_only, 1)
        found = _sandbox.check([os.fsdecode(source)], how, manifest_only, None)[0]
    else:
        with readable(source) as opened:
            found = _zten.check(opened, how, manifest_only)
    path = _zten.shown(source) if is_path(source) else None
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
    sandbox: bool = False,
    jobs: int | None = None,
) -> Columns:
    """Checks many files on several threads. Faults of the files raise no exception: a missing file has the verdict
    ``"error"``.

    Args:
        paths: the files.
        threads: the number of files that are read at the same time; the number of processors by default.
        sandbox: read the files in confined processes, as for :func:`check`. A process that is ended is replaced by another,
            so one file cannot keep the others from being checked.
        jobs: the number of confined processes, at most 256; the number of processors by default. With ``sandbox`` it takes
            the place of ``threads``.
        manifest_only, canonical, limits, tolerate, shards: as for :func:`check`.

    Returns:
        Columns with one row for each path, in the order of the paths.

    Raises:
        SandboxError: as for :func:`check`.
    """
    if isinstance(paths, (str, bytes, os.PathLike)):
        raise TypeError(f"paths is {type(paths).__name__}, expected an iterable of paths; check() takes one path")
    files = [os.fsdecode(resolved(path)) for path in paths]
    how = strictness(limits, tolerate, canonical, shards)
    if (jobs if not sandbox else threads) is not None:
        raise ValueError("jobs is for sandbox=True, and threads for sandbox=False")
    given = jobs if sandbox else threads
    workers = (os.cpu_count() or 1) if given is None else max(given, 1)
    if sandbox:
        # Checking no files raises the exceptions for wrong options, before a process is started.
        _zten.check_batch([], how, manifest_only, 1)
        found = _sandbox.check(files, how, manifest_only, workers)
    else:
        found = _zten.check_batch(files, how, manifest_only, workers)
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
        page=[one["page"] for one in found],
        notes=[one["notes"] for one in found],
    )
