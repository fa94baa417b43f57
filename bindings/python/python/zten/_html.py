"""Tables for notebooks. All text of files is untrusted: it is shortened and escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

_ROWS = 100
"""The largest number of rows that are shown."""

_WIDTH = 200
"""The largest number of characters of a cell."""


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], count: int, caption: str = "") -> str:
    """Returns an HTML table with the titles ``heads``, the first of the ``count`` rows ``rows``, and the line ``caption``."""
    lines = ["<table>"]
    if caption:
        lines.append(f"<caption>{text(caption)}</caption>")
    lines.append("<tr>" + "".join(f"<th>{text(head)}</th>" for head in heads) + "</tr>")
    lines += ["<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in islice(rows, _ROWS)]
    if count > _ROWS:
        lines.append(f"<tr><td colspan={len(heads)}>… and {count - _ROWS:,} more</td></tr>")
    return "\n".join([*lines, "</table>"])


def text(cell: object) -> str:
    """Returns the text of a cell as HTML: shortened, without characters that hide or reorder others, and escaped."""
    shown = f"{cell:.6g}" if isinstance(cell, float) else str(cell)
    shown = shown if len(shown) <= _WIDTH else f"{shown[: _WIDTH - 1]}…"
    return escape("".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in shown))
