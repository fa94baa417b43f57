"""Checking files in confined processes, by the command ``zten``."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Any

from . import _zten
from ._errors import SandboxError
from ._values import integer

if TYPE_CHECKING:
    from ._zten import _Found, _Strictness

_SCHEMA = 2
"""The schema version of the JSON documents that the command prints, which ``docs/json.md`` describes."""

_MAX_JOBS = 256
"""The largest number of confined processes that the command starts."""

_PATH_MAX = 4096
"""The length in bytes from which Linux rejects a path: ``PATH_MAX``, which includes the NUL at the end."""

_OPTION = "; -r checks all files in it"
"""The advice that the command appends to the error about a folder (``crates/cli/src/commands/check/entries.rs``). It is removed,
because the package has no such option."""

_FIELDS = (
    "verdict",
    "level",
    "format",
    "rule",
    "clause",
    "offset",
    "object",
    "component",
    "shard",
    "message",
    "advice",
    "page",
)

_NOTE_FIELDS = (
    "rule",
    "clause",
    "offset",
    "object",
    "component",
    "shard",
    "more",
    "message",
    "advice",
    "page",
)


def check(files: list[str], how: _Strictness, manifest_only: bool, jobs: int | None) -> list[_Found]:
    """Checks ``files`` in up to ``jobs`` confined processes, and returns their reports in the order of ``files``. If ``jobs`` is
    None, one process checks all files, on several threads. ``how`` and ``manifest_only`` are the options of the check.

    Raises:
        SandboxError: the command is missing or ended early, or the kernel cannot confine processes.
    """
    paths = [os.fsencode(file) for file in files]
    # The list for the command cannot hold these paths: they are empty, too long, or contain the byte that ends a name.
    # No file has such a path, so checking them in this process reads no file.
    nameless = [n for n, path in enumerate(paths) if not path or b"\0" in path or len(path) >= _PATH_MAX]
    found = dict(
        zip(nameless, _zten.check_batch([files[n] for n in nameless], how, manifest_only, 1), strict=True)
    )
    listed = [n for n in range(len(paths)) if n not in found]
    command = _command()
    if listed:
        arguments = _arguments(how, manifest_only, min(jobs, len(listed)) if jobs else None)
        # The command takes the name "-" for its standard input, so a file of this name is passed as "./-".
        names = (b"./-" if paths[n] == b"-" else paths[n] for n in listed)
        lines = _run(command, arguments, b"".join(name + b"\0" for name in names), len(listed))
        found.update(zip(listed, map(_report, lines), strict=True))
    return [found[n] for n in range(len(paths))]


def _arguments(how: _Strictness, manifest_only: bool, jobs: int | None) -> list[str]:
    """Returns the arguments with which the command ``zten`` checks files under the options of a check. The native module has
    already accepted these options. Raises a ``ValueError`` for ``canonical`` together with ``tolerate``, which only the sandbox
    rejects."""
    limits, tolerate, canonical, shards = how
    if canonical and tolerate:
        raise ValueError("canonical and tolerate exclude each other in the sandbox: a tolerated file is not canonical")
    arguments = ["check", "--json", "--require-sandbox", "--color=never", "--null", "--files-from=-"]
    arguments += [f"--limit={name}={value}" for name, value in limits.items()]
    arguments += [f"--tolerate={name}" for name in tolerate]
    arguments += ["--manifest-only"] * manifest_only + ["--canonical"] * canonical
    arguments += [] if shards else ["--no-shards"]
    return arguments if jobs is None else [*arguments, f"--jobs={min(jobs, _MAX_JOBS)}"]


def _run(command: str, arguments: list[str], names: bytes, number: int) -> list[bytes]:
    """Runs the program ``command`` with ``arguments`` and the list of files ``names`` on its standard input, and returns the
    lines that it prints, which have to be ``number`` many.

    Raises:
        SandboxError: the command failed, or printed more or fewer lines.
    """
    # `run` kills the command if an exception, such as `KeyboardInterrupt`, ends the wait. The command's workers end with it.
    ended = subprocess.run([command, *arguments], input=names, capture_output=True, check=False)
    lines = ended.stdout.splitlines()
    if ended.returncode not in range(4) or len(lines) != number:
        said = ended.stderr.decode(errors="replace").strip()
        if not said:
            status = ended.returncode
            said = f"it ended with status {status}" if status >= 0 else f"signal {-status} ended it"
        raise SandboxError(f"`zten check` has checked {len(lines)} of {number} files: {said}")
    return lines


def _report(line: bytes) -> _Found:
    """Converts ``line``, one JSON document of ``zten check --json``, to a report."""
    try:
        document = json.loads(line, object_hook=integer)
        if document["schema"] != _SCHEMA:
            raise ValueError
        notes = [{name: note[name] for name in _NOTE_FIELDS} for note in document["notes"]]
        fields: Any = {**{name: document[name] for name in _FIELDS}, "notes": notes}
    except (ValueError, KeyError, TypeError):
        raise SandboxError("the command `zten` printed a report that this package cannot read") from None
    found: _Found = fields
    if found["verdict"] == "error":
        found["message"] = found["message"].removesuffix(_OPTION)
    return found


def _command() -> str:
    """Returns the path of the command ``zten`` that checks files: the one in the environment of this package, or else the one on
    ``PATH``.

    Raises:
        SandboxError: the system is not Linux, no command is found or it cannot be run, or its version is not the version of this
            package.
    """
    from . import __version__

    if not sys.platform.startswith("linux"):
        raise SandboxError("only Linux can confine the processes that check files: call without `sandbox`")
    advice = f"`pip install zten-cli=={__version__}` installs it"
    path = _installed() or shutil.which("zten")
    if path is None:
        raise SandboxError(f"the command `zten`, which starts confined processes, is not installed: {advice}")
    try:
        state = os.stat(path)
        version = _version(path, state.st_ino, state.st_mtime_ns)
    except OSError as error:
        raise SandboxError(f"the command {path!r} cannot be run: {error}; {advice}") from error
    if version != f"zten {__version__}":
        raise SandboxError(f"{path!r} is {version!r}, expected version {__version__} of the package: {advice}")
    return path


def _installed() -> str | None:
    """Returns the path of the command ``zten`` that pip has installed into the environment of this package; None if it has
    installed none."""
    try:
        files = metadata.files("zten-cli") or []
    except metadata.PackageNotFoundError:
        return None
    paths = (os.fspath(file.locate()) for file in files if file.name == "zten")
    return next((path for path in paths if os.path.isfile(path)), None)


# The program at `path` may be replaced while this process runs. A replaced file has another inode or another time of its last
# change, so that the cache is not used for it.
@functools.lru_cache(maxsize=8)
def _version(path: str, inode: int, changed: int) -> str:
    """Returns what the program at ``path`` prints for ``--version``. The other arguments are the keys of the cache: the inode of
    the file and the time of its last change."""
    ended = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return ended.stdout.decode(errors="replace").strip()
