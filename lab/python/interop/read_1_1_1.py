"""Reads files that zten has written with the Python package ztensor 1.1.1: every element that the package can read.

    read_1_1_1.py FOLDER    a folder with files.json, as `interop emit` writes it

The package reads 1.1, and ignores the fields that 1.2 has added: `type` and `uncompressed_length`.
"""

import pathlib
import sys

import numpy as np
import scipy.sparse
import ztensor

from common import NUMPY_NAMES, Tally, sha256

TALLY = Tally("written by zten, read by ztensor 1.1.1 in Python")
# SciPy has no matrices of these types.
NO_MATRIX = {"f16", "bf16"}


def part_of(wanted, role):
    return next(part for part in wanted["components"] if part["role"] == role)


def components(reader, wanted):
    for part in wanted["components"]:
        array, _view = reader._read_component(wanted["name"], part["role"], lambda: np.uint8)
        assert array.nbytes == part["bytes"], (wanted, part)
        assert sha256(array) == part["sha256"], (wanted, part)
        TALLY.compared["components"] += 1


def dense(reader, wanted):
    part = part_of(wanted, "data")
    for array in (
        reader[wanted["name"]],
        reader.read_tensor(wanted["name"], verify_checksum=True),
        reader.read_tensors([wanted["name"]], verify_checksum=True)[0],
    ):
        assert array.dtype == np.dtype(NUMPY_NAMES[part["dtype"]])
        assert array.shape == tuple(wanted["shape"]), (array.shape, wanted)
        assert sha256(np.asarray(array)) == part["sha256"], wanted
    TALLY.compared["dense arrays"] += 1


def csr(reader, wanted):
    matrix = reader[wanted["name"]]
    assert isinstance(matrix, scipy.sparse.csr_matrix) and matrix.shape == tuple(wanted["shape"])
    assert sha256(matrix.data) == part_of(wanted, "values")["sha256"]
    assert sha256(matrix.indices.astype(np.uint64)) == part_of(wanted, "indices")["sha256"]
    assert sha256(matrix.indptr.astype(np.uint64)) == part_of(wanted, "indptr")["sha256"]
    TALLY.compared["CSR matrices"] += 1


def coo(reader, wanted):
    matrix = reader[wanted["name"]]
    assert isinstance(matrix, scipy.sparse.coo_matrix) and matrix.shape == tuple(wanted["shape"])
    assert sha256(matrix.data) == part_of(wanted, "values")["sha256"]
    coords = np.concatenate([matrix.row, matrix.col]).astype(np.uint64)
    assert sha256(coords) == part_of(wanted, "coords")["sha256"]
    TALLY.compared["COO matrices"] += 1


def whole(reader, wanted):
    """Reads an object with the methods for its format."""
    format, shape = wanted["format"], wanted["shape"]
    rejected = lambda why: TALLY.rejects(why, reader.read_tensor, wanted["name"])
    if format == "dense":
        part = part_of(wanted, "data")
        is_complex = (part["type"] or "").startswith("complex")
        if any(side >= 1 << 63 for side in shape):
            rejected("dense objects with dimensions of 2^63 and more: NumPy has none")
        elif is_complex and part["bytes"]:
            rejected("complex elements of dense objects: 1.1.1 has no types but dtypes")
        else:
            dense(reader, wanted)
    elif format in ("sparse_csr", "sparse_coo"):
        values = part_of(wanted, "values")
        if values["dtype"] in NO_MATRIX:
            TALLY.skips("matrices of values that SciPy has none for: read by component")
        elif (values["type"] or "").startswith("complex"):
            TALLY.skips("matrices of complex values: read by component")
        elif format == "sparse_coo" and len(shape) != 2:
            rejected("COO of other ranks than 2: SciPy's class has none")
        elif max(shape) >= 1 << 31:
            TALLY.skips("matrices with dimensions of 2^31 and more: read by component")
        elif format == "sparse_csr":
            csr(reader, wanted)
        else:
            coo(reader, wanted)
    else:
        rejected("other formats than dense and sparse: read by component")


def metadata(reader, wanted):
    found = reader.metadata(wanted["name"])
    assert found.name == wanted["name"]
    assert list(found.shape) == wanted["shape"], (found.shape, wanted)
    assert found.layout == wanted["format"]


def one(path, file):
    if any("text" not in value for value in (file["attributes"] or {}).values()):
        why = "files with attributes that are not text: 1.1.1 does not open them"
        TALLY.rejects(why, ztensor.Reader, str(path))
        return
    reader = ztensor.Reader(str(path))
    assert len(reader) == len(file["objects"])
    # The list of the package passes through C strings, so it leaves out names with a NUL.
    wanted = [entry for entry in file["objects"] if "\0" not in entry["name"]]
    for _ in range(len(wanted), len(file["objects"])):
        TALLY.skips("objects with NUL in their name: it does not list them")
    assert sorted(reader.tensor_names) == sorted(entry["name"] for entry in wanted)
    for entry in wanted:
        metadata(reader, entry)
        components(reader, entry)
        whole(reader, entry)
        TALLY.compared["objects"] += 1
    TALLY.compared["files"] += 1


TALLY.listed(pathlib.Path(sys.argv[1]), one)
