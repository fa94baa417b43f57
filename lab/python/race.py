"""Races zten and its peers in Python on files of other formats, in one run, and writes docs/python-races.md.

    python lab/python/race.py [--quick] [--write docs/python-races.md]

It needs zten, numpy, safetensors, gguf and torch. Contestants take turns, each in a process of its own. Each has read the file and
has run once before it is timed, and the best of some runs counts: what is compared is the work, not the disk and not the
first touch of memory. A ratio is the median of the ratios of the rounds.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import struct
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def write_safetensors(path: Path, count: int, rows: int, columns: int) -> None:
    """Writes ``count`` tensors of ``rows`` x ``columns`` as f32."""
    size = rows * columns * 4
    header = {
        f"model.layers.{at // 9}.part{at % 9}.weight": {
            "dtype": "F32",
            "shape": [rows, columns],
            "data_offsets": [at * size, (at + 1) * size],
        }
        for at in range(count)
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    block = bytes(range(256)) * (MIB // 256)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        left = count * size
        while left > 0:
            left -= file.write(block[: min(left, MIB)])


def write_gguf(path: Path, count: int, tokens: int) -> None:
    """Writes ``count`` tensors of 64 elements and a vocabulary."""
    import gguf
    import numpy as np

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_token_list([f"token{at}" for at in range(tokens)])
    for at in range(count):
        writer.add_tensor(f"blk.{at}.weight", np.full(64, at, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# Each contestant: what is imported, what is made before, and what is timed.
SETUP = """
import gc, sys, time
path = sys.argv[1]
{imports}
open(path, "rb").read()
def run():
{body}
run()
gc.collect()
best = None
for _ in range({repeat}):
    start = time.perf_counter()
    kept = run()
    took = time.perf_counter() - start
    del kept
    gc.collect()
    best = took if best is None else min(best, took)
print(best)
"""


def timed(python: str, path: Path, contestant: tuple[str, str], repeat: int) -> float:
    """Runs a contestant in a process of its own, and returns seconds."""
    imports, body = contestant
    body = "\n".join("    " + line for line in body.strip().splitlines())
    code = SETUP.format(imports=imports, body=body, repeat=repeat)
    output = subprocess.run(
        [python, "-c", code, str(path)], check=True, capture_output=True, text=True
    )
    return float(output.stdout)


TOUCH = "for tensor in tensors.values(): tensor.view(torch.uint8).flatten()[::4096].sum()"

RACES: list[dict[str, Any]] = [
    {
        "name": "names of 10,000 tensors",
        "file": "small",
        "repeat": 5,
        "wanted": 0.5,
        "zten": ("import zten", "with zten.open(path) as file: return list(file)"),
        "peer": (
            "from safetensors import safe_open",
            "with safe_open(path, 'np') as file: return list(file.keys())",
        ),
        "against": "safetensors",
    },
    {
        "name": "1 GiB into NumPy",
        "file": "large",
        "repeat": 3,
        "wanted": 0.6,
        "zten": ("import zten.numpy", "return zten.numpy.load_file(path)"),
        "peer": ("from safetensors.numpy import load_file", "return load_file(path)"),
        "against": "safetensors",
    },
    {
        "name": "1 GiB into PyTorch, mapped",
        "file": "large",
        "repeat": 3,
        "wanted": 1.0,
        "zten": ("import torch, zten.torch", "return zten.torch.load_file(path, map=True)"),
        "peer": ("import torch\nfrom safetensors.torch import load_file", "return load_file(path)"),
        "against": "safetensors",
    },
    {
        "name": "1 GiB into PyTorch, mapped and touched",
        "file": "large",
        "repeat": 3,
        "wanted": 1.2,
        "zten": (
            "import torch, zten.torch",
            f"tensors = zten.torch.load_file(path, map=True)\n{TOUCH}\nreturn tensors",
        ),
        "peer": (
            "import torch\nfrom safetensors.torch import load_file",
            f"tensors = load_file(path)\n{TOUCH}\nreturn tensors",
        ),
        "against": "safetensors",
    },
    {
        "name": "1,000 slices of 10 rows",
        "file": "large",
        "repeat": 3,
        "wanted": 1.0,
        "zten": (
            "import zten",
            "with zten.safe_open(path, 'np') as file:\n"
            "    return [file.get_slice(name)[10:20] for name in list(file.keys())[:50] for _ in range(20)]",
        ),
        "peer": (
            "from safetensors import safe_open",
            "with safe_open(path, 'np') as file:\n"
            "    return [file.get_slice(name)[10:20] for name in list(file.keys())[:50] for _ in range(20)]",
        ),
        "against": "safetensors",
    },
    {
        "name": "GGUF of 1,000 tensors and 32,000 tokens, listed",
        "file": "gguf",
        "repeat": 3,
        "wanted": 0.1,
        "zten": (
            "import zten",
            "with zten.open(path) as file: return [(name, file[name].shape) for name in file]",
        ),
        "peer": (
            "from gguf import GGUFReader",
            "return [(tensor.name, tuple(tensor.shape)) for tensor in GGUFReader(path).tensors]",
        ),
        "against": "gguf",
    },
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="Run one round on small files")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", type=Path, help="Write the page to this file")
    args = parser.parse_args()
    rounds = 1 if args.quick else args.rounds
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder, name) for name in ("small", "large", "gguf")}
        write_safetensors(files["small"], 10_000, 2, 2)
        write_safetensors(files["large"], 64, 1024, 64 if args.quick else 4096)
        write_gguf(files["gguf"], 1_000, 32_000)
        rows = []
        for race in RACES:
            pairs = []
            for _ in range(rounds):
                own = timed(sys.executable, files[race["file"]], race["zten"], race["repeat"])
                other = timed(sys.executable, files[race["file"]], race["peer"], race["repeat"])
                pairs.append((own, other))
            ratio = statistics.median(own / other for own, other in pairs)
            own, other = (statistics.median(side) for side in zip(*pairs, strict=True))
            verdict = "reached" if ratio <= race["wanted"] else "**not reached**"
            row = (
                f"| {race['name']} | {race['against']} | {own * 1e3:,.1f} | {other * 1e3:,.1f} "
                f"| {ratio:.2f} | {race['wanted']} | {verdict} |"
            )
            print(row, flush=True)
            rows.append(row)
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "safetensors", "gguf", "torch"))
    page = [
        "# Races in Python",
        "",
        "`lab/python/race.py` races zten and its peers on files of other formats in one run, and writes this page:",
        "`.ci/campaigns python-races`. Contestants take turns, each in a process of its own, over a file that is in the",
        "cache; each runs once, and then the best of some runs counts. Times are medians in milliseconds, a ratio is the",
        "median of the ratios of the rounds.",
        "",
        f"Python {platform.python_version()}, {packages}; {rounds} rounds.",
        "",
        "| | beside | zten, ms | peer, ms | ratio | wanted, at most | |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *rows,
        "",
    ]
    if args.write:
        args.write.write_text("\n".join(page))


if __name__ == "__main__":
    main()
