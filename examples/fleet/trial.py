"""Tries `fleet.py` on a cluster of two nodes on this machine, of which a worker and then a node is killed.

    python trial.py [--files N]

Of the files 20 are damaged. Each pass has to find exactly those, and every file once. A worker that is to be killed
waits with the results of its task in hand until that has happened, so no pass depends on time.
"""

from __future__ import annotations

import argparse
import functools
import json
import logging
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import ray
import ray.data
import zten.numpy
from ray.cluster_utils import Cluster

import fleet

DAMAGED = 20

PATIENCE = 120
"""The time limit in seconds for steps that take a few seconds."""

NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 << 20}


def flipped(place: int) -> Callable[[bytearray], None]:
    """Returns a function that changes the byte of a file at `place`."""

    def damage(data: bytearray) -> None:
        data[place] ^= 1

    return damage


def shortened(data: bytearray) -> None:
    """Removes the last byte of a file."""
    del data[-1]


# The damaged bytes are the magic, the first byte of the tensor, the footer, and the end of the
# file.
DAMAGES: list[tuple[str, Callable[[bytearray], None]]] = [
    ("header-magic", flipped(0)),
    ("digest-mismatch", flipped(64)),
    ("footer-magic", flipped(-1)),
    ("footer-magic", shortened),
]


def write_files(folder: Path, number: int) -> tuple[list[str], dict[str, str]]:
    """Writes files with different contents. Returns their paths, and the rules that the damaged files break."""
    paths, damaged = [], {}
    for at in range(number):
        data = bytearray(zten.numpy.save({"w": np.arange(at, at + 16, dtype=np.float32)}))
        path = folder / f"{at // 1000:03}" / f"{at:06}.zt"
        path.parent.mkdir(exist_ok=True)
        # The damaged files are spread evenly over the list.
        place, rest = divmod(at * DAMAGED, number)
        if rest < DAMAGED:
            rule, damage = DAMAGES[place % len(DAMAGES)]
            damage(data)
            damaged[str(path)] = rule
        path.write_bytes(data)
        paths.append(str(path))
    if len(damaged) != DAMAGED:
        raise AssertionError(f"{len(damaged)} files are damaged")
    return paths, damaged


def check_part(part: Mapping[str, Any], *, meeting: Path | None, driver: str) -> pa.Table:
    """Calls :func:`fleet.check_part`, and adds the process and the node. With a meeting, the first task on another node
    than the driver's writes them there, and waits for its end. It raises if it is not killed within `PATIENCE`."""
    table = fleet.check_part(part, sandbox=False)
    node = ray.get_runtime_context().get_node_id()
    if meeting is not None and node != driver and not meeting.exists():
        own = meeting.with_suffix(f".{os.getpid()}")
        own.write_text(json.dumps({"process": os.getpid(), "node": node}))
        try:
            os.link(own, meeting)
        except FileExistsError:
            pass
        else:
            time.sleep(PATIENCE)
            raise AssertionError("the task was not killed")
    table = table.append_column("process", pa.array([os.getpid()] * len(table), pa.int64()))
    return table.append_column("node", pa.array([node] * len(table), pa.string()))


class Killer(threading.Thread):
    """A thread that waits for a task that reports its process and node, and kills one of them."""

    def __init__(self, meeting: Path, kill: Callable[[dict[str, Any]], None]) -> None:
        super().__init__(daemon=True)
        self.meeting, self.kill = meeting, kill
        self.killed: dict[str, Any] | None = None

    def run(self) -> None:
        end = time.monotonic() + PATIENCE
        while not self.meeting.exists():
            if time.monotonic() > end:
                return
            time.sleep(0.01)
        victim = json.loads(self.meeting.read_text())
        self.kill(victim)
        self.killed = victim


class Trial:
    """A trial: the files, and the verdicts that `fleet.py` must find."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder = folder
        files = folder / "files"
        files.mkdir()
        self.paths, self.damaged = write_files(files, number)
        self.files_per_task = max(1, number // 40)

    def run(self, name: str, kill: Callable[[dict[str, Any]], None] | None = None) -> pa.Table:
        """Checks all files in one pass, during which `kill` ends one task or its node, and returns the results. Without `kill`
        nothing is ended. A wrong result raises, and so does a pass in which no task could be ended."""
        killer = None
        if kill is not None:
            killer = Killer(self.folder / f"meeting {name}", kill)
            killer.start()
        start = time.monotonic()
        driver = ray.get_runtime_context().get_node_id()
        meeting = None if killer is None else killer.meeting
        check = functools.partial(check_part, meeting=meeting, driver=driver)
        paths = fleet.paths_of(self.paths, self.files_per_task)
        results = paths.map_batches(check, batch_size=None)
        parts = list(results.iter_batches(batch_size=None, batch_format="pyarrow"))
        seconds = time.monotonic() - start
        table = pa.concat_tables(parts)
        self.validate(table)
        if killer is not None:
            killer.join(PATIENCE)
            if killer.killed is None:
                raise AssertionError(f"{name}: no task was killed")
        nodes = len(set(table["node"].to_pylist()))
        rate = len(self.paths) / seconds
        print(
            f"{name}: {len(table)} files, {len(self.damaged)} of them damaged, results of {nodes} "
            f"nodes, {seconds:.1f} s, {rate:.0f} files a second",
            flush=True,
        )
        return table

    def validate(self, table: pa.Table) -> None:
        """Checks that every file has one row, and that exactly the damaged files are rejected,
        each by its rule."""
        files = table["file"].to_pylist()
        if sorted(files) != sorted(self.paths):
            lost, new = set(self.paths) - set(files), len(files) - len(set(files))
            raise AssertionError(f"{len(lost)} files are lost, {new} are there again")
        verdicts = zip(files, table["verdict"].to_pylist(), table["rule"].to_pylist(), strict=True)
        found = {file: (verdict, rule) for file, verdict, rule in verdicts if verdict != "valid"}
        wanted = {file: ("invalid", rule) for file, rule in self.damaged.items()}
        if found != wanted:
            raise AssertionError(f"found {found}, and not {wanted}")


def kill_process(victim: dict[str, Any]) -> None:
    """Kills the process of the worker that `victim` describes."""
    os.kill(victim["process"], signal.SIGKILL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    number = parser.parse_args().files
    if number < DAMAGED:
        parser.error(f"{DAMAGED} files at least")
    # By default, SIGTERM would end this process at once, and leave the processes that it has started. `sys.exit` ends
    # them, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    other = cluster.add_node(**NODE)
    ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(Path(folder), number)
            trial.run("a worker killed", kill_process)
            table = trial.run("nothing killed")
            if len(set(table["node"].to_pylist())) != 2:
                raise AssertionError("one of the two nodes did nothing")
            trial.run("a node killed", lambda _: cluster.remove_node(other, allow_graceful=False))
    finally:
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()
