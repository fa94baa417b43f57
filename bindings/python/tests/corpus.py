"""The corpus of the repository, as its lists describe it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parents[3] / "corpus"


def rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def number(text: str) -> int | None:
    return None if text == "-" else int(text)


@dataclass(frozen=True)
class Reject:
    path: Path
    rule: str
    offset: int | None
    object: int | None
    component: int | None
    stage: str
    options: dict[str, Any]


def options(text: str) -> dict[str, Any]:
    given: dict[str, Any] = {"limits": {}, "tolerate": [], "canonical": False}
    for option in text.split(" "):
        key, _, value = option.partition("=")
        if key == "tolerate":
            given["tolerate"].append(value)
        elif key == "limit":
            name, _, most = value.partition(":")
            given["limits"][name] = int(most)
        elif key == "canonical":
            given["canonical"] = True
        else:
            assert option == "-", option
    return given


def rejects() -> list[Reject]:
    found = []
    for folder in ("reject", "reject/interop", "v2/reject"):
        for row in rows(CORPUS / folder / "index.tsv"):
            found.append(
                Reject(
                    CORPUS / folder / row["file"],
                    row["rule"],
                    number(row["offset"]),
                    number(row["object"]),
                    number(row["component"]),
                    row["stage"],
                    options(row["options"]),
                )
            )
    return found


@dataclass(frozen=True)
class Sharded:
    path: Path
    rule: str
    options: dict[str, Any]


def sharded() -> list[Sharded]:
    folder = CORPUS / "v2/shards"
    listed = rows(folder / "index.tsv")
    return [Sharded(folder / row["file"], row["rule"], options(row["options"])) for row in listed]


def accepted() -> list[Path]:
    """Returns the paths of the zTensor files of the corpus whose whole content is valid."""
    found = []
    for folder in ("accept", "v2/accept"):
        only = {row["file"] for row in rows(CORPUS / folder / "opens-only.tsv")}
        paths = sorted((CORPUS / folder).glob("*.zt"))
        found += [path for path in paths if path.name not in only]
    return found + sorted((CORPUS / "accept").glob("*/*.zt")) + sorted((CORPUS / "v2/2.1").glob("*.zt"))


def others(folder: str) -> list[Path]:
    """Returns the paths of the files of all formats but zTensor in the folders named ``folder``, which is ``accept`` or
    ``reject``. Files in ``reject`` that only belong to another file there, such as the shards of an index, are left out, because
    they may be valid: their names have no rule, or a number above 1."""
    files = sorted((CORPUS / "other").glob(f"*/{folder}/*"))
    if folder == "accept":
        return files
    return [path for path in files if "--" in path.name and "-00002-of-" not in path.name]


@dataclass(frozen=True)
class Hash:
    """What the program that wrote a file of the corpus has recorded about one of its components."""

    path: Path
    name: str
    role: str
    length: int
    sha256: str


def hashes() -> list[Hash]:
    found = []
    lists = [*sorted((CORPUS / "accept").glob("*/hashes.tsv")), CORPUS / "v2/2.1/hashes.tsv"]
    for path in lists:
        with path.open() as file:
            next(file)
            for line in file:
                stem, name, role, length, sha256 = line.rstrip("\n").split("\t")
                of = path.parent / f"{stem}.zt"
                found.append(Hash(of, json.loads(name), role, int(length), sha256))
    return found
