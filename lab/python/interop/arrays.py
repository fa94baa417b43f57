"""Makes random arrays of every type and shape that NumPy has and a file can hold."""

import ml_dtypes
import numpy as np

from common import ZTEN_NAMES, entry

DTYPES = [
    np.dtype(name)
    for name in (
        "float64",
        "float32",
        "float16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint64",
        "uint32",
        "uint16",
        "uint8",
        "bool",
    )
] + [np.dtype(ml_dtypes.bfloat16)]
NAMES = [
    "layer.{}.weight",
    "layer.{}.bias",
    "重み {}",
    "e\u0301 {}",
    "\N{WOMAN} {}",
    "a\n\"b\\ {}",
    "{}" + "x" * 300,
]


def zten_name(dtype):
    return ZTEN_NAMES[dtype.name]


def shape(rng):
    kind = rng.integers(12)
    if kind == 0:
        return (int(rng.integers(20_000, 200_000)),)
    if kind == 1:
        return (int(rng.integers(3)), 0, int(rng.integers(9)))
    if kind == 2:
        return (1,) * int(rng.integers(1, 30))
    return tuple(int(side) for side in rng.integers(1, 7, rng.integers(1, 6)))


def array(rng, dtype=None, sides=None):
    """Returns an array with random bits, sometimes with compressible content or with strides.
    `dtype` and `sides` (the shape) are random unless they are given."""
    dtype = DTYPES[rng.integers(len(DTYPES))] if dtype is None else np.dtype(dtype)
    sides = shape(rng) if sides is None else sides
    count = int(np.prod(sides, dtype=np.int64))
    if dtype == np.bool_:
        made = rng.integers(0, 2, count).astype(np.bool_)
    elif rng.integers(3) == 0:
        made = (np.arange(count) // 5 % 11).astype(dtype)
    else:
        made = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype)
    made = made.reshape(sides)
    if made.ndim == 2 and rng.integers(3) == 0:
        made = np.asfortranarray(made)
    return made


def laid_out(rng, dtype, sides):
    """Returns an array in either order of its indices and either byte order. NumPy has bfloat16 in one byte order
    only."""
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        made = array(rng, part, (*sides, 2)).copy().view(dtype).reshape(sides)
    else:
        made = array(rng, dtype, sides)
    if rng.integers(3) == 0:
        made = np.asfortranarray(made)
    if rng.integers(3) == 0 and dtype != ml_dtypes.bfloat16:
        made = made.astype(dtype.newbyteorder(">"))
    return made


def csr(rng):
    """Returns a random matrix: the number of values, the indices, the row pointers, and the shape."""
    rows, columns = int(rng.integers(0, 20)), int(rng.integers(1, 1 << 20))
    counts = rng.integers(0, 6, rows)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)
    nnz = int(indptr[-1])
    indices = rng.integers(0, columns, nnz).astype(np.uint64)
    return nnz, indices, indptr, (rows, columns)


def coo(rng):
    """Returns a random list of coordinates: the number of values, the coordinates dimension by dimension, and the
    shape."""
    sides = tuple(int(side) for side in rng.integers(1, 1 << 20, rng.integers(1, 5)))
    nnz = int(rng.integers(0, 60))
    coords = np.array([rng.integers(0, side, nnz) for side in sides]).astype(np.uint64)
    return nnz, coords, sides


def names(rng, count):
    return [NAMES[rng.integers(len(NAMES))].format(at) for at in range(count)]


def written(tally, zten, files, make):
    """Has ``make`` write each file, and checks that the command agrees about its content. ``files`` are a folder, a
    number of files, and a seed."""
    folder, count, seed = files
    for at in range(count):
        rng = np.random.default_rng([seed, at])
        path = folder / f"{at}.zt"
        try:
            wanted = make(at, rng, path)
            tally.compared["components"] += zten.agrees(path, wanted)
        except BaseException:
            print(f"{tally.title}: file {at} of seed {seed}")
            raise
        tally.compared["files"] += 1
        tally.compared["objects"] += len(wanted)
        path.unlink()


def row(array):
    """Returns the bytes of an array in little-endian, row-major order."""
    return np.ascontiguousarray(array).tobytes()


def dense(name, array):
    """Returns the expected entry of a dense tensor for `Zten.agrees`."""
    return entry(name, array.shape, "dense", [("data", zten_name(array.dtype), None, row(array))])


def saved(rng, path, save_file):
    """Saves random arrays in one call of `save_file`, and returns their expected entries."""
    made = {name: array(rng) for name in names(rng, int(rng.integers(0, 8)))}
    save_file(made, path, compression=[False, True, 4][rng.integers(3)])
    return [dense(name, array) for name, array in made.items()]
