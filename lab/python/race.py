"""Races the Python package with safetensors and the reference wheel. ``race.py [--quick]``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

QUICK = "--quick" in sys.argv
ROUNDS = 2 if QUICK else 7
NAMES = 1_000 if QUICK else 10_000
LARGE = (1 << 24) if QUICK else (1 << 30)


def keys_safetensors(path: str) -> int:
    from safetensors import safe_open

    with safe_open(path, framework="np") as file:
        return len(list(file.keys()))


def keys_zten(path: str) -> int:
    import zten

    with zten.open(path) as file:
        return len(list(file.keys()))


def keys_ztensor(path: str) -> int:
    import ztensor

    with ztensor.open(path) as file:
        return len(list(file.keys()))


def map_ztensor(path: str) -> int:
    import ztensor.numpy

    return len(ztensor.numpy.load_file(path))


def map_zten(path: str) -> int:
    import zten.numpy

    return len(zten.numpy.load_file(path, map=True, verify=False))


def load_safetensors(path: str) -> int:
    from safetensors.numpy import load_file

    return len(load_file(path))


def load_zten(path: str) -> int:
    import zten.numpy

    return len(zten.numpy.load_file(path))


def load_zten_unverified(path: str) -> int:
    import zten.numpy

    return len(zten.numpy.load_file(path, verify=False))


WORK: dict[str, Callable[[str], int]] = {
    name: work for name, work in list(globals().items())
    if name.startswith(("keys_", "map_", "load_"))
}


def once(work: str, path: str) -> float:
    """The best of several rounds in one process, in seconds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        WORK[work](path)
        best = min(best, time.perf_counter() - start)
    return best


def race(*contestants: tuple[str, Path]) -> list[float]:
    """The best time of each; they take turns."""
    best = [float("inf")] * len(contestants)
    for _ in range(1 if QUICK else 3):
        for at, (work, path) in enumerate(contestants):
            command = [sys.executable, __file__, "--work", work, str(path)]
            command += ["--quick"] if QUICK else []
            ended = subprocess.run(command, capture_output=True, text=True, check=True)
            best[at] = min(best[at], float(ended.stdout))
    return best


def main() -> None:
    import safetensors.numpy
    import zten
    import ztensor.numpy

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many = {f"model.layers.{n}.mlp.weight": np.full(16, n, np.float32) for n in range(NAMES)}
        safetensors.numpy.save_file(many, folder / "many.safetensors")
        ztensor.numpy.save_file(many, folder / "many-2.zt")
        zten.numpy.save_file(many, folder / "many.zt", digest=None)
        zten.numpy.save_file(many, folder / "many-sha256.zt")
        part = LARGE // 16
        large = {f"layer.{n}": np.full(part, n, np.uint8) for n in range(16)}
        safetensors.numpy.save_file(large, folder / "large.safetensors")
        ztensor.numpy.save_file(large, folder / "large-2.zt")
        zten.numpy.save_file(large, folder / "large.zt")
        del large

        def digests(file: str) -> str:
            with zten.open(folder / file) as opened:
                digest = next(iter(opened.values())).components["data"].digest
            return "none" if digest is None else digest.partition(":")[0]

        names, loads = f"names of {NAMES:,} tensors", f"load of {LARGE >> 20:,} MiB"
        # What is measured, the claim, our work on our file, and the other's on its own.
        races = [
            (f"{names}, 1.2, beside `safetensors`", "≤ 0.1",
             "keys_zten", "many.zt", "keys_safetensors", "many.safetensors"),
            (f"{names}, 1.2, each with a sha256, beside `safetensors`", "",
             "keys_zten", "many-sha256.zt", "keys_safetensors", "many.safetensors"),
            (f"{names}, 2, beside `ztensor`", "",
             "keys_zten", "many-2.zt", "keys_ztensor", "many-2.zt"),
            (f"mapped load of {NAMES:,} tensors, 2, beside `ztensor`", "≤ 1.1",
             "map_zten", "many-2.zt", "map_ztensor", "many-2.zt"),
            (f"mapped {loads}, 2, beside `ztensor`", "≤ 1.1",
             "map_zten", "large-2.zt", "map_ztensor", "large-2.zt"),
            (f"{loads}, 1.2, verified ({digests('large.zt')}), beside `safetensors`, unverified", "≤ 1.2",
             "load_zten", "large.zt", "load_safetensors", "large.safetensors"),
            (f"{loads}, 2, verified ({digests('large-2.zt')}), beside `safetensors`, unverified", "≤ 1.2",
             "load_zten", "large-2.zt", "load_safetensors", "large.safetensors"),
            (f"{loads}, 1.2, unverified, beside `safetensors`", "",
             "load_zten_unverified", "large.zt", "load_safetensors", "large.safetensors"),
        ]
        rows = [
            (what, claim, race((own, folder / own_file), (other, folder / other_file)))
            for what, claim, own, own_file, other, other_file in races
        ]
        print(f"{os.cpu_count()} processors, {sys.implementation.name} {sys.version.split()[0]}\n")
        print("| what | zten | other | ratio | claim |\n| --- | --- | --- | --- | --- |")
        for what, claim, (own, other) in rows:
            print(f"| {what} | {own * 1e3:.2f} ms | {other * 1e3:.2f} ms | {own / other:.2f} | {claim} |")


if __name__ == "__main__":
    if "--work" in sys.argv:
        at = sys.argv.index("--work")
        print(once(sys.argv[at + 1], sys.argv[at + 2]))
    else:
        main()
