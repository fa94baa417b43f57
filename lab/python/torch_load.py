"""Times `zten.torch.load_file` beside `safetensors.torch.load_file`, and reading a byte of every page of what they return.

    python lab/python/torch_load.py [--gigabytes 2.7] [--pairs 15] [--write lab/results/torch-load.md]

Needs zten, numpy, safetensors and torch. Each call runs in a process of its own, over a file that is in the system's cache, and
is the first call of the process: loading a model is done once. The two take turns, and which one begins alternates.
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
from importlib.metadata import version
from pathlib import Path
from typing import Any

TENSORS = 290
"""The number of tensors of the model, as a model of 32 layers has."""

CASES = [
    ("`load_file(path)`", "load", 1.2),
    ("`load_file(path)`, and a byte of every page", "touch", 1.2),
    ("`load_file(path, map=False)`, and a byte of every page", "read", None),
]
"""What is timed, the argument for it, and the largest ratio that is claimed."""


def make(path: Path, size: int) -> None:
    """Writes a safetensors file of about `size` bytes."""
    import torch
    from safetensors.torch import save_file

    rows = size // TENSORS // 2 // 4096
    save_file({f"layers.{n}.weight": torch.full((rows, 4096), n, dtype=torch.bfloat16) for n in range(TENSORS)}, path)


def timed(who: str, what: str, path: str) -> float:
    """Loads the file once, and returns the time in milliseconds."""
    import torch

    load: Any
    if who == "zten":
        from zten.torch import load_file as load
    else:
        from safetensors.torch import load_file as load
    options = {"map": False} if who == "zten" and what == "read" else {}
    start = time.perf_counter()
    tensors = load(path, **options)
    if what != "load":
        total = sum(int(tensor.view(torch.uint8).flatten()[::4096].sum()) for tensor in tensors.values())
        assert total >= 0 and len(tensors) == TENSORS
    return (time.perf_counter() - start) * 1e3


def pair(what: str, path: Path, turn: int) -> tuple[float, float]:
    """Returns the times of zten and of safetensors, each measured in a process of its own. `turn`
    decides which one begins."""
    def run(who: str) -> float:
        command = [sys.executable, __file__, "--one", who, what, str(path)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    if turn % 2:
        peer, own = run("safetensors"), run("zten")
    else:
        own, peer = run("zten"), run("safetensors")
    return own, peer


def main() -> None:
    parser = argparse.ArgumentParser(description="Time loading a model into PyTorch")
    parser.add_argument("--gigabytes", type=float, default=2.7, help="the size of the model")
    parser.add_argument("--pairs", type=int, default=15, help="the number of turns of each")
    parser.add_argument("--write", type=Path, help="write the page to this file")
    args = parser.parse_args()
    table = ["| call | zten, ms | safetensors, ms | ratio | claim | |", "| --- | --- | --- | --- | --- | --- |"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        make(path, int(args.gigabytes * 1e9))
        for name, what, claim in CASES:
            pair(what, path, 0)
            pairs = [pair(what, path, turn) for turn in range(args.pairs)]
            own, peer = (statistics.median(times) for times in zip(*pairs, strict=True))
            ratio = statistics.median(own / peer for own, peer in pairs)
            claimed = "" if claim is None else f"≤ {claim}"
            reached = "" if claim is None else "reached" if ratio <= claim else "**not reached**"
            table.append(f"| {name} | {own:,.1f} | {peer:,.1f} | {ratio:.2f} | {claimed} | {reached} |")
            print(table[-1], flush=True)
    packages = ", ".join(f"{name} {version(name)}" for name in ("safetensors", "torch"))
    page = [
        "# Loading into PyTorch",
        "",
        f"`lab/python/torch_load.py` loads a safetensors file of {args.gigabytes} GB, which has {TENSORS} tensors of bf16, with `zten.torch.load_file` and",
        "with `safetensors.torch.load_file`. Some rows also read a byte of every page of the tensors. The file is in the page cache. Each call",
        "is the first one in a new process. A time is the median of all pairs, and a ratio is the median of the ratios of all pairs. A ratio",
        "below 1 means that `zten` is faster.",
        "",
        f"{os.cpu_count()} processors, {platform.python_implementation()} {platform.python_version()}, {packages};",
        f"{args.pairs} pairs.",
        "",
        *table,
        "",
        "By default both packages map the file. The last row shows what `map=False` costs: `zten` then reads all bytes into its own memory, so",
        "changes of the file do not change the tensors, and truncating the file does not kill the process. The peer maps the file in this row",
        "too.",
        "",
    ]
    if args.write:
        args.write.write_text("\n".join(page))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(timed(*sys.argv[2:]))
    else:
        main()
