"""Blocks of every type of ggml, and their elements as the Python package gguf computes them.

blocks.py FOLDER SEED COUNT

The files here: `blocks.py . 1 4`, with the packages of `lab/python/interop/formats.txt`. A file `TYPE.bin` has the elements and
the bytes of one block (u32), the blocks, and the elements of all of them (f32). `TYPE` is not always one that gguf computes: those
are below. `.ci/interop` makes other blocks of each type and has the same test read them.

blocks.py --codebooks FILE

Writes the tables of gguf as `crates/formats/src/gguf/dequantize/codebooks.bin` has them.
"""

import pathlib
import sys

import gguf
import numpy as np
from gguf import quants

SIZES = {
    type.name: size
    for type, size in gguf.GGML_QUANT_SIZES.items()
    if size[0] > 1 and type.name != "Q8_1"
} | {"Q2_0": (64, 18)}
# The offsets in a block of its scales, which are f16 numbers.
SCALES = {
    "Q4_0": [0],
    "Q4_1": [0, 2],
    "Q5_0": [0],
    "Q5_1": [0, 2],
    "Q8_0": [0],
    "Q2_K": [80, 82],
    "Q3_K": [108],
    "Q4_K": [0, 2],
    "Q5_K": [0, 2],
    "Q6_K": [208],
    "IQ2_XXS": [0],
    "IQ2_XS": [0],
    "IQ2_S": [0],
    "IQ3_XXS": [0],
    "IQ3_S": [0],
    "IQ1_S": [0],
    "IQ4_NL": [0],
    "IQ4_XS": [0],
    "TQ1_0": [52],
    "TQ2_0": [64],
    "Q1_0": [0],
    "Q2_0": [0],
}
# Special f16 numbers: both infinities, two NaNs, -0, the largest finite number, and the smallest and the largest
# subnormal number.
SPECIAL = np.array([0x7C00, 0xFE01, 0x0001, 0xFBFF, 0x8000, 0xFC00, 0x7D00, 0x83FF], "<u2")
TABLES = [
    (quants.IQ2_XXS, 2),
    (quants.IQ2_XS, 2),
    (quants.IQ2_S, 2),
    (quants.IQ1_S, 2),
    (quants.IQ3_XXS, 3),
    (quants.IQ3_S, 3),
]


def half(blocks):
    return blocks[:, :2].copy().view(np.float16).astype(np.float32)


def bits(packed, width):
    """Returns the numbers of `width` bits in `packed`. In each byte, the number in the lowest bits comes first."""
    shifts = np.arange(0, 8, width, dtype=np.uint8)
    return (packed[:, :, None] >> shifts & (1 << width) - 1).reshape(len(packed), -1)


def q1_0(blocks):
    return half(blocks) * np.where(bits(blocks[:, 2:], 1) == 0, np.float32(-1), np.float32(1))


def q2_0(blocks):
    return half(blocks) * (bits(blocks[:, 2:], 2).astype(np.float32) - np.float32(1))


def q8_k(blocks):
    scales = blocks[:, :4].copy().view(np.float32)
    return scales * blocks[:, 4:260].view(np.int8).astype(np.float32)


OWN = {"Q1_0": q1_0, "Q2_0": q2_0, "Q8_K": q8_k}


def dequantize(name, blocks):
    if name in OWN:
        return OWN[name](blocks)
    return quants.dequantize(blocks, gguf.GGMLQuantizationType[name])


def write(folder, seed, count):
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    for at, (name, (elements, size)) in enumerate(SIZES.items()):
        blocks = rng.integers(0, 256, (count, size), np.uint8)
        for row in range(1, count, 2):
            for column in SCALES.get(name, []):
                special = SPECIAL[(at + row // 2 + column) % len(SPECIAL)]
                blocks[row, column : column + 2] = np.frombuffer(special.tobytes(), np.uint8)
        with np.errstate(all="ignore"):
            values = dequantize(name, blocks)
        assert values.dtype == np.float32 and values.shape == (count, elements), name
        header = np.array([elements, size], "<u4")
        data = header.tobytes() + blocks.tobytes() + values.astype("<f4").tobytes()
        (folder / f"{name}.bin").write_bytes(data)


def codebooks(path):
    packed = b""
    for table, width in TABLES:
        table.init_grid()
        values = {value: at for at, value in enumerate(table.grid_map)}
        places = np.array([values[int(value)] for value in table.grid.ravel()], np.uint8)
        digits = places[:, None] >> np.arange(width, dtype=np.uint8) & 1
        packed += np.packbits(digits.ravel(), bitorder="little").tobytes()
    path.write_bytes(packed)


if sys.argv[1] == "--codebooks":
    codebooks(pathlib.Path(sys.argv[2]))
else:
    write(pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
