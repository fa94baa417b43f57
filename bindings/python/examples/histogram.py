"""Plots a histogram of the weights of a file: ``python histogram.py FILE [IMAGE]``.

Counts all floating-point tensors, whether dense, sparse or quantized, one at a time, so the memory is that of the
largest tensor. Prints the histogram if matplotlib is not installed or IMAGE is not given.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import zten

FLOATS = ("f64", "f32", "f16", "bf16", "f8_e4m3fn", "f8_e5m2", "f8_e4m3fnuz", "f8_e5m2fnuz", "f4_e2m1")

Counts = npt.NDArray[np.int64]


def weights(file: zten.File) -> Iterator[npt.NDArray[Any]]:
    """Yields the values of each tensor of ``file`` whose elements are floating-point numbers, after they have been verified:
    quantized tensors are dequantized, and sparse tensors have only their stored values."""
    for tensor in file.values():
        if tensor.quantization is not None:
            yield tensor.dequantize().ravel()
        elif tensor.dtype in FLOATS and tensor.is_sparse:
            yield tensor.scipy().data
        elif tensor.dtype in FLOATS and tensor.format == "dense":
            yield tensor.numpy().ravel()


def histogram(path: str, bins: int = 61) -> tuple[npt.NDArray[np.float64], Counts]:
    """Counts weights by size. Returns the edges of the bins, and a count for each bin. The bins span four standard
    deviations on both sides; weights beyond these are counted in the first or the last bin."""
    with zten.open(path) as file:
        count, total, squares = 0, 0.0, 0.0
        for values in weights(file):
            finite = values.astype(np.float64)
            finite = finite[np.isfinite(finite)]
            count += finite.size
            total += float(finite.sum())
            squares += float(np.square(finite).sum())
        mean = total / max(count, 1)
        spread = 4 * max(squares / max(count, 1) - mean**2, 0.0) ** 0.5 or 1.0
        edges = np.linspace(mean - spread, mean + spread, bins + 1)
        counts: Counts = np.zeros(bins, np.int64)
        for values in weights(file):
            finite = values.astype(np.float64)
            finite = np.clip(finite[np.isfinite(finite)], edges[0], edges[-1])
            counts += np.histogram(finite, edges)[0]
    return edges, counts


def main(path: str, image: str | None = None) -> None:
    edges, counts = histogram(path)
    if image is not None:
        import matplotlib.pyplot as plt

        plt.stairs(counts, edges, fill=True)
        plt.xlabel("weight")
        plt.ylabel("count")
        plt.yscale("log")
        plt.title(path)
        plt.savefig(image)
        return
    most = max(int(counts.max()), 1)
    for edge, count in zip(edges, counts, strict=False):
        print(f"{edge:+.3e} {count:>12} {'#' * round(60 * int(count) / most)}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("FILE [IMAGE]")
    main(*sys.argv[1:])
