"""Files written by zten, read by the Python package ztensor 1.2.3: every element.

read_1_2_3.py FOLDER    a folder with files.json, as `interop emit` writes it
"""

import pathlib
import sys

import ml_dtypes
import numpy as np
import ztensor

from common import NUMPY_NAMES, Tally, kinds, sha256, unordered

# NumPy knows the name `bfloat16` only because `ml_dtypes` has been imported.
assert np.dtype("bfloat16") == ml_dtypes.bfloat16
TALLY = Tally("written by zten, read by ztensor 1.2.3 in Python")
COMPLEX = "complex elements of dense objects: twice as many as it makes room for"
NO_SHAPE = "dense objects with dimensions of 2^63 and more: NumPy has none"
HUGE = "dimensions of 2^63 and more: read as negative numbers"


def is_complex(part):
    return (part["type"] or "").startswith("complex")


def metadata(reader, wanted):
    found = reader.metadata(wanted["name"])
    shape = wanted["shape"]
    if any(side >= 1 << 63 for side in shape):
        TALLY.otherwise(HUGE)
        shape = [side if side < 1 << 63 else side - (1 << 64) for side in shape]
    assert found.shape == shape, (found, wanted)
    assert found.format == wanted["format"], (found, wanted)
    attributes = kinds(found.attributes or {})
    entries = [[{"text": key}, value] for key, value in (wanted["attributes"] or {}).items()]
    assert unordered(attributes) == unordered({"map": entries}), (attributes, wanted)
    assert len(found.components) == len(wanted["components"])
    for part in wanted["components"]:
        component = found.components[part["role"]]
        assert component["dtype"] == NUMPY_NAMES[part["dtype"]], (component, part)
        assert component["type"] == part["type"], (component, part)


def dense(reader, wanted):
    """Reads a dense object with the methods for dense objects."""
    name, part = wanted["name"], next(p for p in wanted["components"] if p["role"] == "data")
    for array in (reader.read_numpy(name), reader[name], reader.read_numpy(name, copy=True)):
        assert array.dtype == np.dtype(NUMPY_NAMES[part["dtype"]])
        assert sha256(array) == part["sha256"], wanted
        if wanted["shape"]:
            assert array.shape == tuple(wanted["shape"]), (array.shape, wanted)
        else:
            TALLY.otherwise("scalars: given the shape (1,), complex ones (2,)")
            assert array.shape == ((2,) if is_complex(part) else (1,)), wanted
    TALLY.compared["dense arrays"] += 1


def components(reader, wanted):
    """Reads the components without the package's own classes, which reject some objects."""
    for part in wanted["components"]:
        buffer, dtype = reader._inner._read_component_raw(wanted["name"], part["role"])
        assert dtype == NUMPY_NAMES[part["dtype"]]
        assert buffer.nbytes == part["bytes"], (wanted, part)
        assert sha256(buffer) == part["sha256"], (wanted, part)
        TALLY.compared["components"] += 1


def whole(reader, wanted):
    tensor = reader.read(wanted["name"])
    assert set(tensor.components) == {part["role"] for part in wanted["components"]}
    for part in wanted["components"]:
        assert sha256(tensor.components[part["role"]]) == part["sha256"], (wanted, part)
    if wanted["format"] == "dense":
        dense(reader, wanted)


def unreadable(reader, wanted):
    """Returns whether the package cannot read the elements, because it makes room for half as
    many as there are."""
    part = next(part for part in wanted["components"] if part["role"] == "data")
    encoding = reader.metadata(wanted["name"]).components["data"]["encoding"]
    return is_complex(part) and part["bytes"] > 0 and (wanted["shape"] != [] or encoding == "zstd")


def one(path, file):
    reader = ztensor.Reader(str(path))
    wanted = {entry["name"]: entry for entry in file["objects"]}
    assert sorted(reader.keys()) == sorted(wanted)
    for entry in wanted.values():
        metadata(reader, entry)
        components(reader, entry)
        if entry["format"] == "dense" and any(side >= 1 << 63 for side in entry["shape"]):
            TALLY.rejects(NO_SHAPE, whole, reader, entry)
        elif entry["format"] == "dense" and unreadable(reader, entry):
            TALLY.rejects(COMPLEX, whole, reader, entry)
        else:
            whole(reader, entry)
        TALLY.compared["objects"] += 1
    TALLY.compared["files"] += 1


TALLY.listed(pathlib.Path(sys.argv[1]), one)
