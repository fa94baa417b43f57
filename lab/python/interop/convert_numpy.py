"""`zten convert` from .npy and .npz, with every type that NumPy can write.

convert_numpy.py FOLDER ZTEN COUNT SEED
"""

import pathlib
import sys

import ml_dtypes
import numpy as np

import arrays
from common import ZTEN_NAMES, entry
from conversion import Conversion

HELD = [dtype for dtype in arrays.DTYPES if dtype != ml_dtypes.bfloat16]
HELD += [np.dtype("complex64"), np.dtype("complex128")]
NOT_HELD = {
    "longdouble": np.zeros(3, np.longdouble),
    "clongdouble": np.zeros(3, np.clongdouble),
    "text": np.array(["a", "bc"]),
    "bytes": np.array([b"a", b"bc"]),
    "dates": np.array(["2020-01-01"], "datetime64[D]"),
    "time differences": np.array([1, 2], "timedelta64[s]"),
    "records": np.zeros(2, [("a", "i4"), ("b", "f8")]),
    "void": np.zeros(2, "V7"),
    "bfloat16, which NumPy writes as void": np.zeros(2, ml_dtypes.bfloat16),
    "FP8, which NumPy writes as void": np.zeros(2, ml_dtypes.float8_e5m2),
}


def array(rng, dtype):
    """Returns an array in either byte order and either order of the indices."""
    sides = () if rng.integers(8) == 0 else arrays.shape(rng)
    return arrays.laid_out(rng, dtype, sides)


def wanted(name, array):
    """Returns the content as NumPy reads it: little-endian, with the last index varying fastest."""
    dtype = array.dtype.newbyteorder("<")
    data = array.astype(dtype).tobytes(order="C")
    logical = array.dtype.newbyteorder("=").name if array.dtype.kind == "c" else None
    storage = (
        f"f{array.dtype.itemsize * 4}"
        if logical
        else ZTEN_NAMES[array.dtype.newbyteorder("=").name]
    )
    return entry(name, array.shape, "dense", [("data", storage, logical, data)])


def npy(rng, conversion, path, array):
    version = [(1, 0), (2, 0), (3, 0)][rng.integers(3)]
    with path.open("wb") as file:
        np.lib.format.write_array(file, array, version, allow_pickle=False)
    read = np.load(path)
    assert read.tobytes() == array.tobytes() and read.dtype == array.dtype
    conversion.accepts(path, [wanted(path.stem, read)], None)


def npz(rng, conversion, path):
    made = {
        f"{['a', '重み', 'deep/', 'x' * 90][rng.integers(4)]}{at}": array(
            rng, HELD[rng.integers(len(HELD))]
        )
        for at in range(rng.integers(0, 8))
    }
    (np.savez_compressed if rng.integers(2) else np.savez)(path, **made)
    with np.load(path) as read:
        conversion.accepts(path, [wanted(name, read[name]) for name in read.files], None)


def main(folder, zten, count, seed):
    conversion = Conversion("converted from NumPy", zten, folder)
    for at in range(count):
        rng = np.random.default_rng([seed, at])
        try:
            # Every type occurs before any type is repeated.
            npy(rng, conversion, folder / f"array {at}.npy", array(rng, HELD[at % len(HELD)]))
            npz(rng, conversion, folder / f"{at}.npz")
        except BaseException:
            print(f"converted from NumPy: file {at} of seed {seed}")
            raise
    for why, bad in NOT_HELD.items():
        path = folder / "the bad one.npy"
        np.save(path, bad)
        conversion.leaves_out(path, "the bad one", f"{why}: zTensor has nothing for it", False)
        path = folder / "x.npz"
        np.savez(path, good=np.zeros(2), **{"the bad one": bad})
        conversion.leaves_out(path, "the bad one", f"{why}, in an archive", True)
    path = folder / "the bad one.npy"
    np.save(path, np.array([{}, []], object), allow_pickle=True)
    conversion.rejects(path, "the bad one", "objects, which are pickled: never read")
    conversion.report()


main(pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
