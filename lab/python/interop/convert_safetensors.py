"""`zten convert` from safetensors, with every type that the package safetensors can write.

convert_safetensors.py FOLDER ZTEN COUNT SEED
"""

import pathlib
import sys

import numpy as np

from common import entry
from conversion import Conversion
from tensors import HELD, listed, random, write

# Types of safetensors of which 1.2 knows only the name: that name, and the number of bits of an
# element (of a pair of elements for the second type).
NAMED = {"float8_e8m0fnu": ("f8_e8m0", 8), "float4_e2m1fn_x2": ("f4_e2m1", 8)}


def main(folder, zten, count, seed):
    conversion = Conversion("converted from safetensors", zten, folder)
    path = folder / "x.safetensors"
    for at in range(count):
        rng = np.random.default_rng([seed, at])
        # The first file has every type, and each other file has some.
        dtypes = list(HELD) if at == 0 else rng.choice(list(HELD), rng.integers(0, 12))
        tensors = {
            f"{['model.', '重み ', 'x' * 300, ''][rng.integers(4)]}{n}": random(
                rng, str(dtype), HELD[str(dtype)][0]
            )
            for n, dtype in enumerate(dtypes)
        }
        metadata = [None, {"format": "pt", "重み": "\n\""}][rng.integers(2)]
        try:
            write(path, tensors, metadata)
            found, said = listed(path)
            wanted = []
            for name, (dtype, _, _) in tensors.items():
                shape, data = found[name]
                _, storage, logical = HELD[dtype]
                wanted.append(entry(name, shape, "dense", [("data", storage, logical, data)]))
            conversion.accepts(path, wanted, said)
        except BaseException:
            print(f"converted from safetensors: file {at} of seed {seed}")
            raise
    for dtype, (name, bits) in NAMED.items():
        write(path, {"x": (dtype, [8], bytes(range(bits)))})
        shape, data = listed(path)[0]["x"]
        conversion.accepts(path, [entry("x", shape, "dense", [("data", "u8", name, data)])], None)
    write(path, {"good": ("uint8", [1], b"x"), "the bad one": ("bool", [3], b"\0\1\2")})
    conversion.rejects(path, "the bad one", "bools other than 0 and 1")
    conversion.report()


main(pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
