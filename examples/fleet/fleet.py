"""Checks the files of a list on all nodes of a Ray cluster.

    find /shared/models -name '*.zt' | python fleet.py --address auto --table results

Paths are shipped, and no bytes: each node reads the files itself, which all nodes see under the same paths. The exit status is 0 if
all files are valid, 2 if a file could not be read, and 1 otherwise.
"""

from __future__ import annotations

import argparse
import functools
import math
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import ray
import ray.data
import zten

TEXT, NUMBER = pa.string(), pa.uint64()

SCHEMA = pa.schema(
    [
        pa.field("file", TEXT, nullable=False),
        pa.field("verdict", TEXT, nullable=False),
        ("rule", TEXT),
        ("clause", TEXT),
        ("offset", NUMBER),
        ("object", TEXT),
        ("component", TEXT),
        ("shard", TEXT),
        pa.field("message", TEXT, nullable=False),
    ]
)
"""The columns of :func:`zten.check_batch`. They have types of their own: a column that is empty in one
part of the table is not of the same type as elsewhere otherwise."""


def check_part(part: Mapping[str, Any], *, sandbox: bool) -> pa.Table:
    """Checks the files of one task on one processor, and returns a table with a row for each file."""
    paths = list(part["item"])
    columns = zten.check_batch(paths, sandbox=True, jobs=1) if sandbox else zten.check_batch(paths, threads=1)
    return pa.table(dict(columns), schema=SCHEMA)


def check_files(paths: Sequence[str], *, files_per_task: int = 500, sandbox: bool = False) -> ray.data.Dataset:
    """Returns a table with a row for each path, in no order. Files are checked when its rows are asked for.

    Args:
        paths: files, as all nodes see them.
        files_per_task: the largest number of files of a task, which are all checked again if the worker or its node is lost.
        sandbox: reads files in confined processes. All nodes need the command: ``pip install zten[cli]``.
    """
    check = functools.partial(check_part, sandbox=sandbox)
    return paths_of(paths, files_per_task).map_batches(check, batch_size=None)


def paths_of(paths: Sequence[str], files_per_task: int) -> ray.data.Dataset:
    """Returns a data set of the paths, in as many blocks as there are tasks, so that each task
    takes one block."""
    blocks = max(1, math.ceil(len(paths) / files_per_task))
    return ray.data.from_items(list(paths), override_num_blocks=blocks)


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks the files that standard input lists.")
    parser.add_argument("--address", help="of the cluster; without it, one on this machine")
    parser.add_argument("--table", help="a folder for the results, in Parquet")
    parser.add_argument("--files-per-task", type=int, default=500)
    parser.add_argument("--sandbox", action="store_true", help="read files in confined processes")
    arguments = parser.parse_args()
    # Paths are made absolute here, because the workers may run in another folder.
    paths = [os.path.abspath(line) for line in sys.stdin.read().split("\n") if line]
    if not paths:
        return 0
    ray.init(address=arguments.address)
    results = check_files(
        paths, files_per_task=arguments.files_per_task, sandbox=arguments.sandbox
    ).materialize()
    if arguments.table is not None:
        results.write_parquet(arguments.table)
    verdicts: Counter[str] = Counter()
    for part in results.iter_batches(batch_size=None, batch_format="pyarrow"):
        for row in part.select(["file", "verdict", "message"]).to_pylist():
            verdicts[row["verdict"]] += 1
            if row["verdict"] != "valid":
                print(f"{ascii(row['file'])}: {row['message']}")
    print(dict(verdicts), file=sys.stderr)
    return 2 if verdicts["error"] else int(verdicts.total() > verdicts["valid"])


if __name__ == "__main__":
    sys.exit(main())
