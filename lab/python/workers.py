"""Times two builds of the command beside each other, and the new one with and without its sandbox: what a confined process costs.
Then checks 20,000 files with few descriptors.

    python3 lab/python/workers.py OLD NEW [--pairs N]

The builds take turns, and which one begins alternates. The median of the differences of all pairs is what the new build
takes more.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "corpus/accept/1.2.3/dense_all.zt"
MODEL = 242_000_000
"""The bytes of data of the large file: a model of 121 million elements of 16 bits."""


def seconds(program: str, *arguments: str) -> float:
    start = time.perf_counter()
    ended = subprocess.run([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    taken = time.perf_counter() - start
    assert ended.returncode == 0 and not ended.stderr, (program, arguments, ended)
    return taken


def pairs(number: int, old: tuple[str, ...], new: tuple[str, ...]) -> tuple[float, float, float]:
    """Returns the medians of both commands, and of their differences."""
    seconds(*old), seconds(*new)
    times = []
    for turn in range(number):
        first, second = (old, new) if turn % 2 else (new, old)
        one, other = seconds(*first), seconds(*second)
        times.append((one, other) if turn % 2 else (other, one))
    before, after = zip(*times, strict=True)
    return statistics.median(before), statistics.median(after), statistics.median(b - a for a, b in times)


def row(name: str, before: float, after: float, more: float) -> None:
    print(f"| {name} | {before * 1e3:.1f} | {after * 1e3:.1f} | {more * 1e3:+.2f} ms ({more / before:+.1%}) |", flush=True)


def model(program: str, folder: Path) -> Path:
    """Writes a model with digests: without them, and in dtypes of which every value is valid, data would not be read."""
    plain, made = folder / "model.safetensors", folder / "model.zt"
    entry = {"dtype": "BF16", "shape": [MODEL // 2], "data_offsets": [0, MODEL]}
    header = json.dumps({"weight": entry}).encode()
    block = bytes(range(250)) * 4000
    plain.write_bytes(len(header).to_bytes(8, "little") + header + block * (MODEL // len(block)))
    subprocess.run([program, "convert", str(plain), str(made)], stdout=subprocess.DEVNULL, check=True)
    plain.unlink()
    return made


def copies(folder: Path, number: int) -> Path:
    folder.mkdir()
    content = SMALL.read_bytes()
    for name in range(number):
        (folder / f"{name}.zt").write_bytes(content)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--pairs", type=int, default=101)
    given = parser.parse_args()
    old, new = os.path.abspath(given.old), os.path.abspath(given.new)
    few = max(given.pairs // 5, 3)
    with tempfile.TemporaryDirectory() as at:
        folder = copies(Path(at) / "small", 5000)
        large = model(new, Path(at))
        calls = [
            ("`ls`, a small file", given.pairs, ["ls", str(SMALL)]),
            ("`check`, a small file", given.pairs, ["check", str(SMALL)]),
            ("`ls`, a model of 242 MB", given.pairs, ["ls", str(large)]),
            ("`check`, a model of 242 MB", few, ["check", str(large)]),
            ("`check -r -q`, 5,000 small files", few, ["check", "-r", "-q", str(folder)]),
            ("`check -r -q --jobs 2`, 5,000 small files", few, ["check", "-r", "-q", "--jobs", "2", str(folder)]),
        ]
        print("| call | old, ms | new, ms | more |\n| --- | --- | --- | --- |")
        for name, number, call in calls:
            row(name, *pairs(number, (old, *call), (new, *call)))
        print("\n| call | without sandbox, ms | sandbox, ms | more |\n| --- | --- | --- | --- |")
        for name, number, call in calls:
            if "--jobs" not in call:
                row(name, *pairs(number, (new, "--no-sandbox", *call), (new, *call)))
        many = copies(Path(at) / "many", 20_000)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
        lines = subprocess.run([new, "check", "-r", "--json", "--jobs", "2", str(many)], capture_output=True, check=True)
        files = {json.loads(line)["file"] for line in lines.stdout.splitlines()}
        print(f"\n20,000 files with 256 descriptors: {len(files)} results, {len(lines.stderr)} bytes of messages")
        assert len(files) == 20_000


main()
