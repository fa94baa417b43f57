"""The ways in which a file is named: paths, ``~``, ``file:`` URLs, and the open files of fsspec."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Protocol, TypeAlias, TypeGuard

Path: TypeAlias = str | os.PathLike[str]


class RemoteFile(Protocol):
    """A file of a file system of fsspec that is not open yet: ``fsspec.open(url)``, or a ``UPath``."""

    @property
    def fs(self) -> Any: ...
    @property
    def path(self) -> str: ...


Source: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes] | RemoteFile
"""The types of sources from which a file can be read."""


def resolved(path: Path) -> Path:
    """Returns the path that ``path`` means: ``~`` at its beginning is the home folder, and a ``file:`` URL is the path in it.

    Raises:
        ValueError: the URL has another host than ``localhost``, or a query or fragment.
    """
    text = os.fspath(path)
    if not isinstance(text, str):
        return path
    if text.startswith("~"):
        return os.path.expanduser(text)
    return _of_url(text) if text[:7].lower() == "file://" else path


def _of_url(url: str) -> str:
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or parts.query or parts.fragment:
        raise ValueError(f"{url!r} is not the URL of a local file, such as file:///folder/model.zt")
    return url2pathname(parts.path)


def local(source: Source) -> Any:
    """Returns ``source`` in a form that can be read: a path for a path, a ``file:`` URL, or a file in the local file system of
    fsspec, which can then be mapped; ``bytes`` for ``bytes``, and as a copy for a ``bytearray`` or ``memoryview``, which may
    change while it is read; any other source as it is."""
    if isinstance(source, (bytearray, memoryview)):
        return bytes(source)
    if isinstance(source, bytes) or _is_open(source):
        return source
    if _is_remote(source):
        return _local_path(source) or source
    if isinstance(source, (str, os.PathLike)):
        return resolved(source)
    return source


def is_path(source: object) -> TypeGuard[Path]:
    """Returns whether ``source`` is a path or URL, and not bytes or an object with ``read``."""
    return isinstance(source, (str, os.PathLike)) and not _is_open(source)


@contextmanager
def readable(source: Any) -> Iterator[Any]:
    """Yields the file that the native module reads for ``source``, a value that :func:`local` has returned: a file of fsspec that
    is not open yet is opened, and closed at the end of the block; any other source is yielded as it is."""
    opened = open_remote(source)
    try:
        yield source if opened is None else opened
    finally:
        if opened is not None:
            opened.close()


def open_remote(source: Any) -> Any:
    """Opens ``source`` and returns the open file if ``source`` is a file of fsspec that is not open yet. Returns None for any other
    source.

    Raises:
        ValueError: the file would be opened as text, or for writing.
    """
    if isinstance(source, bytes) or _is_open(source) or not _is_remote(source):
        return None
    mode = getattr(source, "mode", "rb")
    if mode != "rb":
        raise ValueError(f"the mode of the file is {mode!r}, expected 'rb'")
    # A `UPath` has neither a mode nor a compression, and its own `open` opens the file as text.
    return source.open() if hasattr(source, "compression") else source.fs.open(source.path, "rb")


def _is_open(source: Any) -> bool:
    return hasattr(source, "read") and hasattr(source, "seek")


def _is_remote(source: Any) -> bool:
    return not isinstance(source, str) and hasattr(source, "fs") and hasattr(source, "path")


def _local_path(source: Any) -> str | None:
    """Returns the local path of ``source`` if it is a file of fsspec in the local file system that fsspec does not decompress.
    Returns None for any other source."""
    protocol = getattr(source.fs, "protocol", ())
    protocols = (protocol,) if isinstance(protocol, str) else protocol
    is_plain = getattr(source, "compression", None) is None and getattr(source, "mode", "rb") == "rb"
    return str(source.path) if is_plain and "file" in protocols else None
