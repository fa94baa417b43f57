"""Writes files with the packages safetensors, gguf and numpy, with every type, shape, name and vocabulary that they
can write. zten must find each file valid, with the content that was written.

valid.py FOLDER ZTEN COUNT SEED
"""

import datetime
import decimal
import json
import pathlib
import sys

import gguf
import ml_dtypes
import numpy as np
import pandas
import safetensors.numpy
import scipy.sparse

import arrays
import models
import tensors
from common import ZTEN_NAMES, Tally, Zten, sha256

NUMBERS = [dtype for dtype in arrays.DTYPES if dtype != ml_dtypes.bfloat16]
NUMBERS += [np.dtype("complex64"), np.dtype("complex128")]
# The number of files for each call of `zten`.
CALL = 250

RECORDS = np.dtype([("a", "i4"), ("b", "f8", (2,)), ("c", [("d", "U1"), ("e", ">f2")])])

# Arrays whose elements zten does not interpret. Their bytes are compared.
OPAQUE = {
    "long doubles": np.arange(3, dtype=np.longdouble) / 3,
    "text": np.array([["a", "bc"], ["é", ""]], order="F"),
    "text in the other byte order": np.array(["a", "bc"]).astype(">U2"),
    "bytes": np.array([b"a", b"bc"]),
    "no characters": np.zeros(3, "U0"),
    "dates": np.array(["2020-01-01", "NaT"], "datetime64[D]"),
    "durations": np.array(7, ">m8[25us]"),
    "bfloat16, which NumPy writes as void": np.ones(2, ml_dtypes.bfloat16),
    "records": np.array([(1, (2, 3), ("x", 4)), (5, (6, 7), ("y", 8))], RECORDS),
    "records with padding": np.zeros(3, np.dtype([("a", "i1"), ("b", "f8")], align=True)),
    "records of pandas": pandas.DataFrame({"n": [1, 2], "x": [0.5, 1.5]}).to_records(),
    "dates of pandas": pandas.date_range("2020-01-01", periods=3).to_numpy(),
}

# Arrays of Python objects, which NumPy reads by unpickling.
OBJECTS = {
    "objects": np.array([{}, [], 1, None, 2.5, "a", b"a"], object),
    "dates and numbers": np.array([datetime.date(2020, 1, 1), decimal.Decimal("1.5")], object),
    "arrays": np.array([np.arange(3), np.arange(2)], object),
    "text of pandas": pandas.Series(["a", None]).to_numpy(object),
    "records of objects": np.array([(1, "a")], [("a", "i4"), ("b", object)]),
}

# Every format of scipy.sparse that `save_npz` takes.
SPARSE = ["csr", "csc", "coo", "bsr", "dia"]


def shape(rng):
    kind = rng.integers(16)
    if kind == 0:
        return ()
    if kind == 1:
        # The shape has 63 dimensions. NumPy allows 64, and the two parts of complex numbers take
        # one of them.
        return (1,) * 62 + (int(rng.integers(0, 3)),)
    return tuple(side if side < 20_000 else 2_003 for side in arrays.shape(rng))


def array(rng, dtypes=NUMBERS):
    """Returns an array of any type, order and byte order."""
    dtype = dtypes[rng.integers(len(dtypes))]
    return arrays.laid_out(rng, dtype, shape(rng))


def held(array):
    """Returns the array as zten has it: type, shape and little-endian elements, with the last index varying fastest."""
    name = (
        array.dtype.newbyteorder("=").name
        if array.dtype.isnative
        else array.dtype.newbyteorder().name
    )
    little = array.dtype if array.dtype == ml_dtypes.bfloat16 else array.dtype.newbyteorder("<")
    return ZTEN_NAMES.get(name, name), array.shape, np.ascontiguousarray(array.astype(little))


def names(rng):
    """Returns the names of the tensors of a file: none, a few or many."""
    return arrays.names(
        rng, int([0, 1, rng.integers(2, 9), rng.integers(2, 9), 300][rng.integers(5)])
    )


def safetensors_file(rng, path):
    metadata = [None, {}, {"format": "pt"}, {"重み": "\n\0", "": "x" * 3000}][rng.integers(4)]
    wanted = {}
    if rng.integers(2):
        # The package writes the bytes of an array in the order of memory, so each array is copied
        # into row-major order.
        made = {name: array(rng, arrays.DTYPES).copy(order="C") for name in names(rng)[:60]}
        metadata = metadata or ({} if made else None)
        safetensors.numpy.save_file(made, path, metadata)
        wanted = {name: held(array) for name, array in made.items()}
    else:
        made = {}
        for name in names(rng)[:60]:
            type = list(tensors.HELD)[rng.integers(len(tensors.HELD))]
            bits, storage, logical = tensors.HELD[type]
            made[name] = type, sides, data = tensors.random(rng, type, bits)
            wanted[name] = logical or storage, sides, np.frombuffer(data, np.uint8)
        if rng.integers(2):
            sides = [int(side) for side in rng.integers(0, 5, rng.integers(1, 4))]
            data = rng.bytes(int(np.prod(sides)))
            # A byte holds two elements of this type, so the last dimension is half as large in
            # the package.
            made["fp4"] = "float4_e2m1fn_x2", sides, data
            wanted["fp4"] = "f4_e2m1", [*sides[:-1], 2 * sides[-1]], np.frombuffer(data, np.uint8)
        tensors.write(path, made, metadata or ({} if made else None))
    return [(path, wanted)]


def npy_file(rng, path):
    made = array(rng)
    path = path.with_stem(path.stem + [" 重み", ".layer.0", "-a'b", ""][rng.integers(4)])
    with path.open("wb") as file:
        version = [None, (1, 0), (2, 0), (3, 0)][rng.integers(4)]
        np.lib.format.write_array(file, made, version, allow_pickle=False)
    return [(path, {path.stem: held(made)})]


def uninterpreted(folder):
    """Writes arrays that zten does not interpret, and matrices of SciPy, whose formats are text. Returns the files as `written`."""
    files = {}
    for at, made in enumerate(OPAQUE.values()):
        wanted = {"x": (None, made.shape, np.ascontiguousarray(made))}
        for name, number in fields(made):
            wanted[f'x["{name}"]'] = held(number)
        path = folder / f"opaque-{at}" / "x.npy"
        path.parent.mkdir()
        np.save(path, made)
        files[path] = -1, wanted
        for save, kind in ((np.savez, "stored"), (np.savez_compressed, "deflated")):
            path = folder / f"opaque-{at}-{kind}.npz"
            save(path, x=made, y=np.arange(3))
            files[path] = -1, {**wanted, "y": held(np.arange(3))}
    dense = np.array([[0, 1.5, 0, 0], [2.5, 0, 0, -1]])
    for format in SPARSE:
        path = folder / f"scipy-{format}.npz"
        scipy.sparse.save_npz(path, getattr(scipy.sparse, f"{format}_array")(dense))
        with np.load(path) as made:
            files[path] = -1, {
                name: (None, array.shape, array) if array.dtype.kind in "SU" else held(array)
                for name, array in made.items()
            }
    return files


def fields(array):
    """Yields the names and arrays of those fields of an array of records that are numbers."""
    for name in array.dtype.names or ():
        if array.dtype[name].base.kind in "iufc" and array.dtype[name].base.names is None:
            yield name, array[name]


def npz_file(rng, path):
    made = {name: array(rng) for name in names(rng)[:40]}
    (np.savez_compressed if rng.integers(2) else np.savez)(path, **made)
    return [(path, {name: held(array) for name, array in made.items()})]


MAKERS = {
    ".gguf": models.write,
    ".safetensors": safetensors_file,
    ".npy": npy_file,
    ".npz": npz_file,
}


def without_counterpart(folder):
    """Writes files that are known to be rejected. Returns each with its verdict and the reason."""
    known = {}
    for at, (why, made) in enumerate(OBJECTS.items()):
        path = folder / f"known-{at}.npy"
        np.save(path, made)
        known[path] = "unsupported npy-objects", f"{why}, which are pickled"
        path = path.with_suffix(".npz")
        np.savez(path, x=made, y=np.arange(3))
        known[path] = "unsupported npy-objects", f"{why}, which are pickled, in an archive"
    path = folder / "known-empty.safetensors"
    tensors.write(path, {}, {})
    why = "no tensors, and metadata without entries: a header that the package itself does not read"
    known[path] = "invalid safetensors-json", why
    types = gguf.GGMLQuantizationType
    for name, type, verdict, why, options in (
        (
            "q8_1",
            types.Q8_1,
            "unsupported gguf-tensor-type",
            "Q8_1: where it ends cannot be known",
            {},
        ),
        (
            "aligned",
            types.Q8_0,
            "invalid gguf-trailing",
            "several files, of which the first alone tells the alignment that all have",
            {"split_max_tensors": 1},
        ),
    ):
        path = folder / f"known-{name}.gguf"
        writer = gguf.GGUFWriter(path, "llama", **options)
        if name == "aligned":
            writer.add_custom_alignment(1024)
        data = np.ones(gguf.GGML_QUANT_SIZES[type][1], np.uint8)
        held = {"a": (data, type, None), "b": (data, type, None)}
        for part, _ in models.finish(writer, held, path, streams=False):
            known[part] = verdict, f"{why}, GGUF"
    return known


def written(folder, count, seed):
    """Writes the files. Returns each path with its seed and its content."""
    files = {}
    for at in range(count):
        rng = np.random.default_rng([seed, at])
        # Of five files, two are GGUF files.
        suffix = [".gguf", ".safetensors", ".gguf", ".npy", ".npz"][at % 5]
        below = folder / f"{at // 100}"
        below.mkdir(exist_ok=True)
        try:
            for path, wanted in MAKERS[suffix](rng, below / f"{at:04}{suffix}"):
                files[path] = at, wanted
        except BaseException:
            print(f"files of other programs: file {at} of seed {seed}")
            raise
    return files


def described(type, sides, read):
    """Returns the type and shape as zten writes them. If `type` is None, the type is taken from `read`, with the name that NumPy gave it."""
    shape = f"[{','.join(map(str, sides))}]"
    if type is None and read and read[0][0].endswith(shape):
        return read[0][0]
    return f"{type}{shape}"


def main(folder, zten, count, seed):
    tally, zten = Tally("files of other programs"), Zten(zten)
    files = written(folder, count, seed) | uninterpreted(folder)
    # With fewer files, it is left to chance whether each method of the writer is called.
    assert count < 1000 or not models.not_called(), f"never called: {models.not_called()}"
    known = without_counterpart(folder)
    _, out, errors = zten.call("check", "--json", "-r", folder)
    found = {pathlib.Path(line["file"]): line for line in map(json.loads, out.splitlines())}
    assert found.keys() == files.keys() | known.keys(), (errors, found.keys() ^ files.keys())
    alarms = 0
    for path, (at, _) in files.items():
        if found[path]["verdict"] != "valid":
            print(f"false alarm: file {at} of seed {seed}: {path.name}: {found[path]['message']}")
            alarms += 1
    assert alarms == 0, f"{alarms} false alarms"
    for path, (verdict, why) in known.items():
        assert f"{found[path]['verdict']} {found[path]['rule']}" == verdict, found[path]
        tally.known["REJECTED", why] += 1
    paths = list(files)
    for start in range(0, len(paths), CALL):
        status, out, errors = zten.call("hash", "--json", *paths[start : start + CALL])
        assert status == 0, errors
        for line in map(json.loads, out.splitlines()):
            path = pathlib.Path(line["file"])
            at, wanted = files[path]
            read = {
                entry["name"]: [(part["type"], part["sha256"]) for part in entry["components"]]
                for entry in line["objects"]
            }
            wanted = {
                name: [(described(type, sides, read.get(name)), sha256(data))]
                for name, (type, sides, data) in wanted.items()
            }
            differ = {name: (read.get(name), wanted.get(name)) for name in read.keys() | wanted}
            differ = {name: pair for name, pair in differ.items() if pair[0] != pair[1]}
            assert not differ, f"file {at} of seed {seed}: {path.name}: read, wanted: {differ}"
            tally.compared["tensors"] += len(read)
            tally.compared[path.suffix] += 1
    tally.report()


main(pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
