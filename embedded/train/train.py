"""Trains the network once: 64 -> 48 -> 32 -> 10 on the digits that scikit-learn carries.

    python train.py ../network

Writes the weights (digits.safetensors), and eight digits that were held out of the training
(inputs.u8: 8 x 64 bytes from 0 to 16, row-major; labels.txt).

Rows of a weight are outputs, columns are inputs. layer2.weight keeps 8 bits of mantissa, so that
there is something to compress. layer3.weight is FP8 (e4m3fn) with a scale for each row.
"""

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors import TensorSpec, serialize
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

INPUTS = 8


def quantized(weight):
    """Returns the rows of `weight` in FP8, each scaled so that its largest element is the largest
    FP8 number, and the factor that restores each row."""
    largest = np.float32(ml_dtypes.finfo(ml_dtypes.float8_e4m3fn).max)
    scale = (np.abs(weight).max(axis=1) / largest).astype(np.float32)
    return (weight / scale[:, None]).astype(ml_dtypes.float8_e4m3fn), scale


def described(tensor):
    """Converts a PyTorch tensor for the function of `safetensors` that takes raw bytes, because
    its functions for NumPy do not know FP8."""
    data = {"data_ptr": tensor.ctypes.data, "data_len": tensor.nbytes}
    return TensorSpec(dtype=tensor.dtype.name, shape=tensor.shape, **data)


def main():
    folder = Path(sys.argv[1])
    digits = load_digits()
    train = np.random.default_rng(1).permutation(len(digits.data))
    held_out, train = train[:300], train[300:]
    network = MLPClassifier((48, 32), alpha=0.01, max_iter=1000, random_state=1)
    network.fit(digits.data[train] / 16, digits.target[train])
    print("right of held out:", network.score(digits.data[held_out] / 16, digits.target[held_out]))

    tensors = {}
    for layer, (weight, bias) in enumerate(zip(network.coefs_, network.intercepts_), 1):
        weight = np.ascontiguousarray(weight.T, dtype=np.float32)
        if layer == 2:
            weight = weight.astype(ml_dtypes.bfloat16).astype(np.float32)
        if layer == 3:
            weight, tensors["layer3.scale"] = quantized(weight)
        tensors[f"layer{layer}.weight"] = weight
        tensors[f"layer{layer}.bias"] = bias.astype(np.float32)
    file = serialize({name: described(tensor) for name, tensor in tensors.items()})
    (folder / "digits.safetensors").write_bytes(file)

    chosen = [next(i for i in held_out if digits.target[i] == digit) for digit in range(INPUTS)]
    (folder / "inputs.u8").write_bytes(digits.data[chosen].astype(np.uint8).tobytes())
    (folder / "labels.txt").write_text("".join(f"{digits.target[i]}\n" for i in chosen))


main()
