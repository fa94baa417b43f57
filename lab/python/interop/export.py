"""`zten convert` into safetensors, .npy and .npz, which the packages read; and from safetensors in
several files.

export.py FOLDER ZTEN COUNT SEED
"""

import json
import pathlib
import sys
import zipfile

import ml_dtypes
import numpy as np
import safetensors

import arrays
from common import Tally, Zten
from tensors import HELD, listed, random, write

# The options of `zten convert` for each generation, with and without compression.
OPTIONS = [["--to", "1.2"], ["--to", "1.2", "--zstd"], ["--to", "2"], ["--to", "2", "--zstd"]]
NUMPY = [dtype for dtype in arrays.DTYPES if dtype != ml_dtypes.bfloat16]
NUMPY += [np.dtype("complex64"), np.dtype("complex128")]


class Export:
    def __init__(self, zten, folder):
        self.zten, self.folder, self.tally = Zten(zten), folder, Tally("exported")

    def convert(self, path, to, *options):
        to = self.folder / to
        status, _, errors = self.zten.call("convert", "--force", path, to, *options)
        assert status == 0, (path, to, options, errors)
        self.tally.compared["conversions"] += 1
        return to

    def through(self, path, suffix):
        """Converts the file to zTensor with each of the ``OPTIONS``, and back to its own format. Yields the path of each result."""
        for options in OPTIONS:
            yield self.convert(self.convert(path, "x.zt", *options), f"out.{suffix}")


def read(path):
    """Returns the content that the package reads."""
    found = dict(safetensors.deserialize(path.read_bytes()))
    return {
        name: (entry["dtype"], list(entry["shape"]), bytes(entry["data"]))
        for name, entry in found.items()
    }


def of_safetensors(rng, export):
    tensors = {
        f"{['model.', '重み ', 'x' * 300, 'a/b.'][rng.integers(4)]}{n}": random(
            rng, str(dtype), HELD[str(dtype)][0]
        )
        for n, dtype in enumerate(rng.choice(list(HELD), rng.integers(1, 12)))
    }
    tensors["scales"] = ("float8_e8m0fnu", [5], rng.bytes(5))
    tensors["pairs"] = ("float4_e2m1fn_x2", [3, 2], rng.bytes(6))
    metadata = [None, {"format": "pt", "重み": "\n\""}][rng.integers(2)]
    path = export.folder / "x.safetensors"
    write(path, tensors, metadata)
    wanted, (_, texts) = read(path), listed(path)
    # 1.2 knows only the names of the last two types, so they are converted back through 2.
    for options in ([], ["--zstd"]):
        first = export.convert(path, "1.zt", *options)
        second = export.convert(first, "2.zt", "--to", "2")
        out = export.convert(second, "out.safetensors")
        assert read(out) == wanted
        assert listed(out)[1] == texts
        # Without metadata, the file is as long as the one that the package wrote.
        assert len(out.read_bytes()) == len(path.read_bytes()) or texts
    export.tally.compared["safetensors"] += 1
    of_several(rng, export, tensors, metadata)


def of_several(rng, export, tensors, metadata):
    """Writes the tensors to one to three files with an index, and checks that the conversion of the index into one file has the
    tensors of ``x.safetensors``."""
    folder = export.folder / "several"
    folder.mkdir()
    count = int(rng.integers(1, 4))
    parts = [{} for _ in range(count)]
    for name, tensor in tensors.items():
        parts[rng.integers(count)][name] = tensor
    weights, size = {}, 0
    for at, part in enumerate(parts):
        path = folder / f"model-{at + 1:05}-of-{count:05}.safetensors"
        write(path, part, metadata)
        weights |= dict.fromkeys(part, path.name)
        size += sum(len(data) for _, data in listed(path)[0].values())
    index = {"metadata": {"total_size": size}, "weight_map": weights}
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps(index))
    whole = read(export.folder / "x.safetensors")
    out = export.convert(export.convert(path, "x.zt", "--to", "2"), "out.safetensors")
    assert read(out) == whole
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    export.tally.compared["indices"] += 1


def of_numpy(rng, export):
    def array():
        dtype = NUMPY[rng.integers(len(NUMPY))]
        if dtype.kind != "c":
            return arrays.array(rng, dtype)
        sides = arrays.shape(rng)
        part = np.dtype(f"f{dtype.itemsize // 2}")
        return arrays.array(rng, part, (*sides, 2)).copy().view(dtype).reshape(sides)

    def same(read, made):
        assert read.dtype == made.dtype and read.shape == made.shape
        assert read.tobytes() == made.tobytes()

    made = {
        f"{['a', '重み', 'deep/', 'x' * 90][rng.integers(4)]}{at}": array()
        for at in range(rng.integers(0, 8))
    }
    path = export.folder / "x.npz"
    np.savez(path, **made)
    for out in export.through(path, "npz"):
        with zipfile.ZipFile(out) as archive:
            assert archive.testzip() is None
        with np.load(out) as read:
            assert set(read.files) == set(made)
            for name in made:
                same(read[name], made[name])
    path, one = export.folder / "x.npy", array()
    np.save(path, one)
    for out in export.through(path, "npy"):
        same(np.load(out), one)
    export.tally.compared["NumPy files"] += 2


def main(folder, zten, count, seed):
    export = Export(zten, folder)
    for at in range(count):
        rng = np.random.default_rng([seed, at])
        try:
            of_safetensors(rng, export)
            of_numpy(rng, export)
        except BaseException:
            print(f"exported: file {at} of seed {seed}")
            raise
    export.tally.report()


main(pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
