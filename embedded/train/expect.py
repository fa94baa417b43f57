"""Computes with NumPy what the network makes of the inputs, from the weights as they are stored.

    python expect.py ../network            writes expected.tsv: class, then ten logits, a row a digit
    python expect.py ../network --check    compares with it instead

All arithmetic is in float32; FP8 weights are widened and scaled before they are multiplied.
"""

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors import deserialize

DTYPES = {"F32": np.float32, "F8_E4M3": ml_dtypes.float8_e4m3fn}


def main():
    folder = Path(sys.argv[1])
    tensors = {}
    for name, tensor in deserialize((folder / "digits.safetensors").read_bytes()):
        stored = np.frombuffer(tensor["data"], DTYPES[tensor["dtype"]])
        tensors[name] = stored.reshape(tensor["shape"]).astype(np.float32)
    x = np.fromfile(folder / "inputs.u8", np.uint8).reshape(-1, 64).astype(np.float32) / np.float32(16)
    for layer in (1, 2, 3):
        weight = tensors[f"layer{layer}.weight"]
        if f"layer{layer}.scale" in tensors:
            weight = weight * tensors[f"layer{layer}.scale"][:, None]
        x = x @ weight.T + tensors[f"layer{layer}.bias"]
        if layer < 3:
            x = np.maximum(x, np.float32(0))
    assert x.dtype == np.float32
    labels = np.loadtxt(folder / "labels.txt", dtype=int)
    print("right:", int((x.argmax(axis=1) == labels).sum()), "of", len(labels))

    if "--check" in sys.argv[2:]:
        expected = np.loadtxt(folder / "expected.tsv", delimiter="\t", dtype=np.float32)
        assert (expected[:, 0] == x.argmax(axis=1)).all(), "another class"
        # NumPy may add in another order than when `expected.tsv` was written, and so round differently.
        assert np.allclose(expected[:, 1:], x, rtol=0, atol=1e-4), "other logits"
        return
    rows = ("\t".join([str(row.argmax()), *(repr(float(logit)) for logit in row)]) for row in x)
    (folder / "expected.tsv").write_text("".join(row + "\n" for row in rows))


main()
