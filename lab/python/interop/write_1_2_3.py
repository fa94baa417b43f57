"""Files written by the Python package ztensor 1.2.3, read by the command `zten`: every element.

write_1_2_3.py FOLDER ZTEN COUNT SEED
"""

import pathlib
import sys

import numpy as np
import ztensor
import ztensor.numpy

import arrays
from common import Tally, Zten, entry, exact

TALLY = Tally("written by ztensor 1.2.3 in Python, read by zten")
FP8 = ["f8_e4m3fn", "f8_e5m2", "f8_e4m3fnuz", "f8_e5m2fnuz"]


def attributes(rng):
    """Returns what is written, and what is read."""
    made = {
        "bits": int(rng.integers(-9, 9)),
        "big": int(rng.integers(1 << 40, 1 << 62)),
        "scale": float(rng.standard_normal()),
        "none": None,
        "flag": bool(rng.integers(2)),
        "text": "重み",
        "list": [1, [2.5, "x"], {}, {"deep": [None]}],
    }
    made["bytes"] = b"\x00\xff"
    return made, exact(made)


def kwargs(rng):
    compress = [None, False, True, 1, 5, int(rng.integers(1, 15))][rng.integers(6)]
    return {"compress": compress, "checksum": ["none", "crc32c", "sha256"][rng.integers(3)]}


def dense(rng, writer, name):
    """The ways for dense arrays."""
    if rng.integers(2):
        array = arrays.array(rng)
        writer.write_numpy(name, array, **kwargs(rng))
        return arrays.dense(name, array)
    given, read = attributes(rng) if rng.integers(3) == 0 else (None, None)
    kind = rng.integers(4)
    if kind == 0:
        array, type = arrays.array(rng, "uint8"), FP8[rng.integers(4)]
        shape = array.shape
    elif kind == 1:
        shape = arrays.shape(rng)
        name_of, type = [("float32", "complex64"), ("float64", "complex128")][rng.integers(2)]
        array = arrays.array(rng, name_of, (*shape, 2))
    elif kind == 2:
        # A scalar keeps its shape here, which `write_numpy` makes (1,).
        array, type, shape = arrays.array(rng, sides=()), None, ()
    else:
        array, type = arrays.array(rng), None
        shape = array.shape
    tensor = ztensor.Tensor({"data": array}, shape=shape, type=type, attributes=given)
    writer.write(name, tensor, **kwargs(rng))
    parts = [("data", arrays.zten_name(array.dtype), type, arrays.row(array))]
    return entry(name, shape, "dense", parts, attributes=read)


def several(rng, writer, name, format, shape, parts, type=None, given=None, read=None):
    tensor = ztensor.Tensor(parts, shape=shape, format=format, type=type, attributes=given)
    writer.write(name, tensor, **kwargs(rng))
    return entry(
        name,
        shape,
        format,
        [
            (role, arrays.zten_name(array.dtype), type if role == "values" else None, arrays.row(array))
            for role, array in parts.items()
        ],
        attributes=read,
    )


def sparse_csr(rng, writer, name):
    nnz, indices, indptr, shape = arrays.csr(rng)
    values = arrays.array(rng, sides=(nnz,))
    type = FP8[rng.integers(4)] if values.dtype == np.uint8 else None
    parts = {"values": values, "indices": indices, "indptr": indptr}
    return several(rng, writer, name, "sparse_csr", shape, parts, type)


def sparse_coo(rng, writer, name):
    nnz, coords, shape = arrays.coo(rng)
    parts = {"values": arrays.array(rng, sides=(nnz,)), "coords": coords}
    return several(rng, writer, name, "sparse_coo", shape, parts)


def quantized_group(rng, writer, name):
    groups, outputs = int(rng.integers(1, 6)), int(rng.integers(1, 9))
    parts = {
        "packed_weight": arrays.array(rng, "int32", (groups * 4, outputs)),
        "scales": arrays.array(rng, "float16", (groups, outputs)),
        "zeros": arrays.array(rng, "float16", (groups, outputs)),
    }
    given = {"bits": 4, "group_size": 32, "packing": "8_per_i32"}
    shape = (groups * 32, outputs)
    return several(rng, writer, name, "quantized_group", shape, parts, None, given, given)


def custom(rng, writer, name):
    parts = {f"role {at}": arrays.array(rng) for at in range(rng.integers(1, 4))}
    given, read = attributes(rng)
    return several(rng, writer, name, "of our own", (3, 1 << 40), parts, None, given, read)


WAYS = [dense, dense, dense, sparse_csr, sparse_coo, quantized_group, custom]


def one(rng, path):
    """One file, now and then appended to, and with arrays that are replaced or removed."""
    names = arrays.names(rng, int(rng.integers(0, 12)))
    cut = int(rng.integers(len(names) + 1))
    wanted = []

    def add(writer, names):
        for name in names:
            wanted.append(WAYS[rng.integers(len(WAYS))](rng, writer, name))

    with ztensor.Writer(str(path)) as writer:
        add(writer, names[:cut])
        writer.write_numpy("replaced", np.zeros(9, np.int16), checksum="crc32c")
        writer.write_numpy("removed", np.ones(9, np.int16))
    writer = ztensor.Writer.append(str(path))
    add(writer, names[cut:])
    writer.finish()
    replaced = arrays.array(rng, "int16", (9,))
    ztensor.replace_tensor(str(path), "replaced", replaced)
    wanted.append(entry("replaced", (9,), "dense", [("data", "i16", None, arrays.row(replaced))]))
    if rng.integers(2):
        before = path.with_suffix(".before.zt")
        path.rename(before)
        ztensor.remove_tensors(str(before), str(path), ["removed"])
        before.unlink()
    else:
        ones = np.ones(9, np.int16)
        wanted.append(entry("removed", (9,), "dense", [("data", "i16", None, arrays.row(ones))]))
    return wanted


def narrow(rng, path, zten):
    """Indices as SciPy has them: 1.2 forbids them, and zten reads them if told to."""
    nnz, indices, indptr, shape = arrays.csr(rng)
    parts = {
        "values": arrays.array(rng, sides=(nnz,)),
        "indices": indices.astype(np.int32),
        "indptr": indptr.astype(np.int64),
    }
    with ztensor.Writer(str(path)) as writer:
        wanted = several(rng, writer, "m", "sparse_csr", shape, parts)
    status, verdict, _ = zten.call("check", path)
    assert status == 1 and b"index-dtype" in verdict, verdict
    zten.agrees(path, [wanted], "--tolerate", "narrow-indices")
    TALLY.known[
        "REJECTED", "indices that are not u64 (v1.2 §3): without --tolerate narrow-indices"
    ] += 1


def scalar(path, zten):
    """Applies `write_numpy` to an array without dimensions."""
    with ztensor.Writer(str(path)) as writer:
        writer.write_numpy("s", np.array(2.5))
    zten.agrees(path, [entry("s", (1,), "dense", [("data", "f64", None, np.array(2.5).tobytes())])])
    TALLY.otherwise("scalars: `write_numpy` writes them with the shape (1,)")


def either(at, rng, path):
    return arrays.saved(rng, path, ztensor.numpy.save_file) if at % 5 == 0 else one(rng, path)


def main(folder, zten, count, seed):
    arrays.written(TALLY, zten, (folder, count, seed), either)
    narrow(np.random.default_rng(seed), folder / "narrow.zt", zten)
    scalar(folder / "scalar.zt", zten)
    TALLY.report()


main(pathlib.Path(sys.argv[1]), Zten(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
