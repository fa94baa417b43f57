"""Races the Python package with safetensors, gguf and the reference wheel, in one run.

    python lab/python/race.py [--quick] [--turns 7] [--only saving] [--write lab/results/python-races.md]

Needs zten, numpy, ml_dtypes, safetensors, gguf, torch and ztensor 2.1.2: `.ci/campaigns python-races` installs them.
`--quick` races with little data, to see that it runs.

Contestants take turns, each in a process of its own, which does its work once and then several times, of which the best
counts: compared is the work, and neither the first touch of memory nor, except in the races of saving, the disk. Who saves a file
begins without one, and after the disk has all that was written before.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np


def names_zten(path: str) -> Any:
    import zten

    with zten.open(path) as file:
        return list(file)


def names_safetensors(path: str) -> Any:
    from safetensors import safe_open

    with safe_open(path, framework="np") as file:
        return list(file.keys())


def names_ztensor(path: str) -> Any:
    import ztensor

    with ztensor.open(path) as file:
        return list(file.keys())


def load_zten(path: str) -> Any:
    import zten.numpy

    return zten.numpy.load_file(path)


def load_zten_unverified(path: str) -> Any:
    import zten.numpy

    return zten.numpy.load_file(path, verify=False)


def load_safetensors(path: str) -> Any:
    from safetensors.numpy import load_file

    return load_file(path)


def map_zten(path: str) -> Any:
    import zten.numpy

    return zten.numpy.load_file(path, map=True, verify=False)


def map_ztensor(path: str) -> Any:
    import ztensor.numpy

    return ztensor.numpy.load_file(path)


def torch_zten(path: str) -> Any:
    import zten.torch

    return zten.torch.load_file(path)


def torch_safetensors(path: str) -> Any:
    from safetensors.torch import load_file

    return load_file(path)


def touched(tensors: Any) -> Any:
    """Reads a byte of each page of all tensors."""
    import torch

    return [tensor.view(torch.uint8).flatten()[::4096].sum() for tensor in tensors.values()]


def touch_zten(path: str) -> Any:
    return touched(torch_zten(path))


def touch_safetensors(path: str) -> Any:
    return touched(torch_safetensors(path))


def sliced(file: Any) -> Any:
    """Takes 1,000 slices of 10 rows, of all tensors in turn."""
    names = list(file.keys())
    return [file.get_slice(names[at % len(names)])[10:20] for at in range(1_000)]


def slices_zten(path: str) -> Any:
    import zten

    with zten.safe_open(path, "np") as file:
        return sliced(file)


def slices_safetensors(path: str) -> Any:
    from safetensors import safe_open

    with safe_open(path, "np") as file:
        return sliced(file)


def columns(matrix: Any, width: int) -> Any:
    """Takes 200 slices of `width` columns and all rows, in memory of their own."""
    starts = range(0, 200 * 8, 8)
    return [np.ascontiguousarray(matrix[:, start:start + width]) for start in starts]


def columns_zten(path: str, width: int = 4) -> Any:
    import zten

    with zten.safe_open(path, "np") as file:
        return columns(file.get_slice("matrix"), width)


def columns_mapped_zten(path: str, width: int = 4) -> Any:
    import zten

    with zten.open(path, map=True, verify=False) as file:
        return columns(file["matrix"], width)


def columns_safetensors(path: str, width: int = 4) -> Any:
    from safetensors import safe_open

    with safe_open(path, "np") as file:
        return columns(file.get_slice("matrix"), width)


def wide_zten(path: str) -> Any:
    return columns_zten(path, 256)


def wide_mapped_zten(path: str) -> Any:
    return columns_mapped_zten(path, 256)


def wide_safetensors(path: str) -> Any:
    return columns_safetensors(path, 256)


@cache
def saved(count: int, quick: bool) -> dict[str, Any]:
    """Returns `count` arrays of 400 MiB together, or of 8 MiB if `quick`, by their names."""
    elements = (400 << 18) // count // (50 if quick else 1)
    return {f"layer.{at}": np.full(elements, at, np.float32) for at in range(count)}


def arrays_of(path: str) -> dict[str, Any]:
    """Returns the arrays that a race of saving writes. If the name of the file has the word
    "large", they are 8 arrays, and otherwise 10,000. If it has the word "quick", they have
    little data."""
    name = Path(path).name
    return saved(8 if "large" in name else 10_000, "quick" in name)


def save_zten(path: str) -> None:
    import zten.numpy

    zten.numpy.save_file(arrays_of(path), path, digest=None)


def save_sha256_zten(path: str) -> None:
    import zten.numpy

    zten.numpy.save_file(arrays_of(path), path, digest="sha256")


def save_safetensors(path: str) -> None:
    from safetensors.numpy import save_file

    save_file(arrays_of(path), path)


@cache
def saved_tensors(path: str) -> dict[str, Any]:
    import torch

    return {name: torch.from_numpy(array) for name, array in arrays_of(path).items()}


def save_torch_zten(path: str) -> None:
    import zten.torch

    zten.torch.save_file(saved_tensors(path), path)


def save_torch_safetensors(path: str) -> None:
    from safetensors.torch import save_file

    save_file(saved_tensors(path), path)


def got(file: Any) -> Any:
    """Reads 1,000 of the tensors of `file`, one by one, by their names."""
    return [file.get_tensor(name) for name in list(file.keys())[:1_000]]


def got_zten(path: str) -> Any:
    import zten

    with zten.safe_open(path, "np") as file:
        return got(file)


def got_safetensors(path: str) -> Any:
    from safetensors import safe_open

    with safe_open(path, "np") as file:
        return got(file)


def torchload_zten(path: str) -> Any:
    import zten.torch

    return zten.torch.load_file(path, map=False)


def gguf_zten(path: str) -> Any:
    import zten

    with zten.open(path) as file:
        return [(name, file[name].shape) for name in file]


def gguf_gguf(path: str) -> Any:
    from gguf import GGUFReader

    return [(tensor.name, tuple(tensor.shape)) for tensor in GGUFReader(path).tensors]


WORK: dict[str, Callable[[str], Any]] = {
    name: work for name, work in list(globals().items())
    if name.startswith(("names_", "load_", "map_", "torch_", "torchload_", "got_", "touch_", "slices_", "gguf_", "save_"))
    or name.startswith(("columns_", "wide_"))
}


def once(work: str, path: str, rounds: int) -> float:
    """Does the work once, and then ``rounds`` times. Returns the shortest time in seconds."""
    WORK[work](path)
    best = float("inf")
    for _ in range(rounds):
        if work.startswith("save_"):
            # Neither writing that the system still has to do, nor deleting the file of the last round, counts in the
            # time.
            os.unlink(path)
            os.sync()
        start = time.perf_counter()
        kept = WORK[work](path)
        best = min(best, time.perf_counter() - start)
        del kept
    if work.startswith("save_"):
        os.unlink(path)
    return best


@dataclass(frozen=True)
class Race:
    """A race: the work of zten on its file, the work of a peer on its own file, and the largest
    ratio of the times that is claimed."""

    what: str
    claim: float | None
    own: tuple[str, Path]
    peer: tuple[str, Path]

    def run(self, turns: int, rounds: int) -> tuple[float, float, float]:
        """Returns the median times of zten and of the peer in seconds, and the median of the
        ratios of their times."""
        def timed(work: str, path: Path) -> float:
            command = [sys.executable, __file__, "--work", work, str(path), str(rounds)]
            return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

        pairs = [(timed(*self.own), timed(*self.peer)) for _ in range(turns)]
        own, peer = (statistics.median(times) for times in zip(*pairs, strict=True))
        return own, peer, statistics.median(own / peer for own, peer in pairs)


def write_gguf(path: Path, count: int, tokens: int) -> None:
    """Writes a GGUF file with `count` tensors of 64 elements and a vocabulary of `tokens` tokens."""
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_token_list([f"token{at}" for at in range(tokens)])
    for at in range(count):
        writer.add_tensor(f"blk.{at}.weight", np.full(64, at, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def saving(folder: Path, memory: Path | None, quick: bool) -> list[Race]:
    """Lists the races of saving: to the disk of `folder`, and to `memory`, a folder in memory, if there is one. With `quick`, 8 MiB
    are saved instead of 400 MiB. Many small tensors are saved to memory alone, because each race of saving takes a minute."""
    size = "400 MiB" if not quick else "8 MiB"
    suffix = "-quick" if quick else ""

    def race(what: str, claim: float | None, place: Path, own: str, own_file: str, peer: str) -> Race:
        return Race(
            what, claim, (own, place / own_file),
            (peer, place / f"{Path(own_file).stem}-peer.safetensors"),
        )

    listed = []
    places = [("disk", folder)] + ([("memory", memory)] if memory else [])
    for medium, place in places:
        for count, kind in ((8, "large"), (10_000, "many")) if medium == "memory" else ((8, "large"),):
            what = f"saving {size} in {count:,} tensors to {medium}"
            file = f"{kind}{suffix}"
            listed += [
                race(f"{what}, 1.2 without digest", 1.0, place, "save_zten", f"{file}.zt", "save_safetensors"),
                race(f"{what}, 1.2 with sha256", 2.0, place, "save_sha256_zten", f"{file}.zt", "save_safetensors"),
            ]
            if kind == "large":
                listed.append(race(f"{what}, safetensors", 1.0, place, "save_zten", f"{file}.safetensors", "save_safetensors"))
            else:
                what = f"saving {size} of PyTorch in {count:,} tensors to {medium}"
                listed.append(race(f"{what}, safetensors", None, place, "save_torch_zten", f"{file}.safetensors", "save_torch_safetensors"))
    return listed


def races(folder: Path, memory: Path | None, quick: bool) -> list[Race]:
    """Writes the files, and returns the races."""
    import safetensors.numpy
    import zten.numpy
    import ztensor.numpy

    count, rows = (1_000, 64) if quick else (10_000, 4_096)
    many = {f"model.layers.{at}.mlp.weight": np.full(16, at, np.float32) for at in range(count)}
    large = {f"layer.{at}": np.full((rows, 1_024), at, np.float32) for at in range(64)}
    size = sum(array.nbytes for array in large.values()) >> 20
    small = {name: np.resize(array, 64) for name, array in list(many.items())[:1_000]}
    for name, arrays in (("small", small), ("many", many), ("large", large)):
        safetensors.numpy.save_file(arrays, folder / f"{name}.safetensors")
        ztensor.numpy.save_file(arrays, folder / f"{name}-2.zt")
        zten.numpy.save_file(arrays, folder / f"{name}-sha256.zt", digest="sha256")
    zten.numpy.save_file(many, folder / "many.zt", digest=None)
    matrix = {"matrix": np.arange(rows * 4_096, dtype=np.float32).reshape(rows, 4_096)}
    safetensors.numpy.save_file(matrix, folder / "matrix.safetensors")
    zten.numpy.save_file(matrix, folder / "matrix.zt")
    write_gguf(folder / "tokens.gguf", count // 10, 32_000)

    def race(what: str, claim: float | None, own: str, peer: str) -> Race:
        """Returns a race of two contestants, each of which is a work and a file."""
        sides = [(work, folder / file) for work, file in (own.split(), peer.split())]
        return Race(what, claim, sides[0], sides[1])

    names = f"names of {count:,} tensors"
    return [
        race(f"{names}, safetensors", 0.5, "names_zten many.safetensors", "names_safetensors many.safetensors"),
        race(f"{names}, 1.2", 0.1, "names_zten many.zt", "names_safetensors many.safetensors"),
        race(f"{names}, 1.2 with sha256", None, "names_zten many-sha256.zt", "names_safetensors many.safetensors"),
        race(f"{names}, 2", None, "names_zten many-2.zt", "names_ztensor many-2.zt"),
        race(f"mapped load of {count:,} tensors, 2", 1.1, "map_zten many-2.zt", "map_ztensor many-2.zt"),
        race(f"mapped load of {size:,} MiB, 2", 1.1, "map_zten large-2.zt", "map_ztensor large-2.zt"),
        race(f"load of {size:,} MiB, safetensors", 0.6, "load_zten large.safetensors", "load_safetensors large.safetensors"),
        race(f"load of {size:,} MiB, 1.2, unverified", None, "load_zten_unverified large-sha256.zt", "load_safetensors large.safetensors"),
        race(f"load of {size:,} MiB, 1.2, verified by sha256", 1.2, "load_zten large-sha256.zt", "load_safetensors large.safetensors"),
        race(f"load of {size:,} MiB, 2, verified by xxh3", 1.2, "load_zten large-2.zt", "load_safetensors large.safetensors"),
        race(f"{size:,} MiB into PyTorch, safetensors", 1.0, "torch_zten large.safetensors", "torch_safetensors large.safetensors"),
        race("the same, a byte of each page read", 1.2, "touch_zten large.safetensors", "touch_safetensors large.safetensors"),
        race("1,000 verified tensors of 256 bytes, 1.2 with sha256", 4.0, "got_zten small-sha256.zt", "got_safetensors small.safetensors"),
        race(f"{count:,} tensors into PyTorch, safetensors", 1.2, "torch_zten many.safetensors", "torch_safetensors many.safetensors"),
        race(f"{size:,} MiB into PyTorch, read and not mapped, safetensors", None, "torchload_zten large.safetensors", "torch_safetensors large.safetensors"),
        race("1,000 slices of 10 rows, safetensors", 1.0, "slices_zten large.safetensors", "slices_safetensors large.safetensors"),
        *(
            race(f"200 slices of {width} of 4,096 columns and {rows:,} rows, {how}", claim, own, f"{work}_safetensors matrix.safetensors")
            for width, work in ((4, "columns"), (256, "wide"))
            for how, claim, own in (
                ("safetensors", 1.2, f"{work}_zten matrix.safetensors"),
                ("1.2", 1.2, f"{work}_zten matrix.zt"),
                ("mapped", 1.2, f"{work}_mapped_zten matrix.safetensors"),
            )
        ),
        *saving(folder, memory, quick),
        race(f"GGUF of {count // 10:,} tensors and 32,000 tokens, listed", 0.1, "gguf_zten tokens.gguf", "gguf_gguf tokens.gguf"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Race the Python package with other readers")
    parser.add_argument("--turns", type=int, default=7, help="the number of turns of each contestant")
    parser.add_argument("--only", default="", help="race only what has this in its description")
    parser.add_argument("--quick", action="store_true", help="race with little data")
    parser.add_argument("--write", type=Path, help="write the page to this file")
    args = parser.parse_args()
    turns, rounds = (1, 1) if args.quick else (args.turns, 3)
    table = ["| what | beside | zten | peer | ratio | claim | |", "| --- | --- | --- | --- | --- | --- | --- |"]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        memory = None
        if os.path.isdir("/dev/shm"):
            memory = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
        for race in races(folder, memory, args.quick):
            if args.only not in race.what:
                continue
            own, peer, ratio = race.run(turns, rounds)
            claim, reached = "", ""
            if race.claim is not None:
                claim, reached = f"≤ {race.claim}", "reached" if ratio <= race.claim else "**not reached**"
            beside = race.peer[0].rpartition("_")[2]
            table.append(f"| {race.what} | `{beside}` | {own * 1e3:,.2f} ms | {peer * 1e3:,.2f} ms | {ratio:.2f} | {claim} | {reached} |")
            print(table[-1], flush=True)
    packages = ("numpy", "safetensors", "gguf", "torch", "ztensor")
    page = [
        "# Races in Python",
        "",
        "`.ci/campaigns python-races` races the Python package with `safetensors`, `gguf` and the reference package `ztensor`, all in one",
        "run, and writes this page. The contestants take turns, each in a process of its own. A process does its work once to warm up, and",
        "then several times, and the fastest time counts. The files that are read are in the page cache. A time is the median of all turns,",
        "and a ratio is the median of the ratios of all turns. A ratio below 1 means that `zten` is faster.",
        "",
        "Files are saved to the disk of the temporary folder, and to `/dev/shm`, which is in memory. Before each round, the data that is still",
        "to be written goes to the disk. `zten` waits until the new file is on the disk, because it promises that a published file is durable.",
        "The peer does not wait. In memory, neither has to wait.",
        "",
        f"{os.cpu_count()} processors, {platform.python_implementation()} {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in packages) + f"; {turns} turns of {rounds} rounds.",
        "",
        *table,
        "",
    ]
    if args.write:
        args.write.write_text("\n".join(page))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        print(once(sys.argv[2], sys.argv[3], int(sys.argv[4])))
    else:
        main()
