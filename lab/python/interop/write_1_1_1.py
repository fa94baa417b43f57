"""Files written by the Python package ztensor 1.1.1, read by the command `zten`: every element.

write_1_1_1.py FOLDER ZTEN COUNT SEED
"""

import pathlib
import sys

import numpy as np
import ztensor
import ztensor.numpy

import arrays
from common import Tally, Zten, entry

TALLY = Tally("written by ztensor 1.1.1 in Python, read by zten")


def dense(rng, writer, name):
    array = arrays.array(rng)
    compress = [False, True, 1, int(rng.integers(1, 15))][rng.integers(4)]
    writer.add_tensor(name, array, compress=compress)
    return arrays.dense(name, array)


def sparse_csr(rng, writer, name):
    nnz, indices, indptr, shape = arrays.csr(rng)
    values = arrays.array(rng, sides=(nnz,))
    # It makes them u64 whatever they were.
    given = indices.astype([np.int32, np.int64, np.uint64][rng.integers(3)])
    writer.add_sparse_csr(name, values, given, indptr.astype(np.int64), shape)
    return entry(
        name,
        shape,
        "sparse_csr",
        [
            ("values", arrays.zten_name(values.dtype), None, arrays.row(values)),
            ("indices", "u64", None, arrays.row(indices)),
            ("indptr", "u64", None, arrays.row(indptr)),
        ],
    )


def sparse_coo(rng, writer, name):
    nnz, coords, shape = arrays.coo(rng)
    values = arrays.array(rng, sides=(nnz,))
    writer.add_sparse_coo(
        name, values, coords.astype([np.int64, np.uint64][rng.integers(2)]), shape
    )
    return entry(
        name,
        shape,
        "sparse_coo",
        [
            ("values", arrays.zten_name(values.dtype), None, arrays.row(values)),
            ("coords", "u64", None, arrays.row(coords)),
        ],
    )


WAYS = [dense, dense, sparse_csr, sparse_coo]


def one(rng, path):
    wanted = []
    with ztensor.Writer(str(path)) as writer:
        for name in arrays.names(rng, int(rng.integers(0, 12))):
            wanted.append(WAYS[rng.integers(len(WAYS))](rng, writer, name))
    return wanted


def either(at, rng, path):
    return arrays.saved(rng, path, ztensor.numpy.save_file) if at % 5 == 0 else one(rng, path)


def main(folder, zten, count, seed):
    arrays.written(TALLY, zten, (folder, count, seed), either)
    TALLY.report()


main(pathlib.Path(sys.argv[1]), Zten(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
