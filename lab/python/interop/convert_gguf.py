"""`zten convert` from GGUF, with every type that the package gguf knows. Tensors of the types `NOT_HELD` must be left out.

convert_gguf.py FOLDER ZTEN COUNT SEED
"""

import pathlib
import sys

import gguf
import numpy as np

from common import entry, exact
from conversion import Conversion

TYPES = gguf.GGMLQuantizationType
PLAIN = {
    TYPES.F32: "f32",
    TYPES.F16: "f16",
    TYPES.BF16: "bf16",
    TYPES.F64: "f64",
    TYPES.I8: "i8",
    TYPES.I16: "i16",
    TYPES.I32: "i32",
    TYPES.I64: "i64",
}
# Programs disagree on the size of a block of this type (36 or 40 bytes), so it is not written here.
NOT_HELD = [TYPES.Q8_1]
BLOCKS = [type for type in TYPES if type not in PLAIN and type not in NOT_HELD]


def tensor(rng, type):
    """Returns the shape, as NumPy has it, and the bytes of a random tensor."""
    elements, size = gguf.GGML_QUANT_SIZES[type]
    # The shape has one to four dimensions, which is the largest number in GGUF, and its rows are
    # whole blocks.
    outer = [int(side) for side in rng.integers(1, 5, rng.integers(0, 4))]
    shape = [*outer, int(rng.integers(1, 6)) * elements]
    count = int(np.prod(shape, dtype=np.int64))
    return shape, rng.bytes(count // elements * size)


def add(writer, name, type, shape, data):
    elements, size = gguf.GGML_QUANT_SIZES[type]
    in_bytes = [*shape[:-1], shape[-1] // elements * size]
    array = np.frombuffer(data, np.uint8).reshape(in_bytes)
    writer.add_tensor(name, array, raw_dtype=type)


def wanted(name, type, shape, data):
    if type in PLAIN:
        return entry(name, shape, "dense", [("data", PLAIN[type], None, data)])
    elements, size = gguf.GGML_QUANT_SIZES[type]
    attributes = {"ggml_type": type.name, "block_elements": elements, "block_bytes": size}
    format = f"gguf.{type.name.lower()}"
    return entry(name, shape, format, [("data", "u8", None, data)], attributes=attributes)


def metadata(rng, writer):
    """Writes some values of each type. Returns the values that are expected when they are read."""
    values = {
        "general.architecture": "llama",
        "a.u8": int(rng.integers(256)),
        "a.i64": -int(rng.integers(1 << 60)),
        "a.u64": int(rng.integers(1 << 60)) + (1 << 63),
        "a.f32": float(np.float32(rng.standard_normal())),
        "a.f64": float(rng.standard_normal()),
        "a.bool": bool(rng.integers(2)),
        "a.text": "重み\n",
        "a.texts": ["a", "", "重み"],
        "a.ints": [int(n) for n in rng.integers(-9, 9, 40)],
    }
    writer.add_uint8("a.u8", values["a.u8"])
    writer.add_int64("a.i64", values["a.i64"])
    writer.add_uint64("a.u64", values["a.u64"])
    writer.add_float32("a.f32", values["a.f32"])
    writer.add_float64("a.f64", values["a.f64"])
    writer.add_bool("a.bool", values["a.bool"])
    writer.add_string("a.text", values["a.text"])
    writer.add_array("a.texts", values["a.texts"])
    writer.add_array("a.ints", values["a.ints"])
    return values


def write(rng, path, tensors):
    writer = gguf.GGUFWriter(path, "llama")
    attributes = metadata(rng, writer)
    if rng.integers(3) == 0:
        alignment = 1 << int(rng.integers(3, 9))
        writer.add_custom_alignment(alignment)
        attributes["general.alignment"] = alignment
    for name, (type, shape, data) in tensors.items():
        add(writer, name, type, shape, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return exact(attributes)


def main(folder, zten, count, seed):
    conversion = Conversion("converted from GGUF", zten, folder)
    path = folder / "x.gguf"
    for at in range(count):
        rng = np.random.default_rng([seed, at])
        # The first file has every type, and each other file has some.
        types = [*PLAIN, *BLOCKS]
        if at > 0:
            types = [types[n] for n in rng.integers(0, len(types), rng.integers(1, 12))]
        tensors = {f"blk.{n}.weight": (type, *tensor(rng, type)) for n, type in enumerate(types)}
        try:
            attributes = write(rng, path, tensors)
            # The expected content is what the package itself reads. The tensors in `read` keep the file
            # mapped until `read` is assigned again.
            read = {found.name: found for found in gguf.GGUFReader(path).tensors}
            objects = []
            for name, (type, shape, data) in tensors.items():
                found = read[name]
                assert (
                    found.data.tobytes() == data and list(reversed(found.shape.tolist())) == shape
                )
                objects.append(wanted(name, type, shape, found.data.tobytes()))
            conversion.accepts(path, objects, attributes)
        except BaseException:
            print(f"converted from GGUF: file {at} of seed {seed}")
            raise
    rng = np.random.default_rng(seed)
    for type in NOT_HELD:
        bad = {"good": (TYPES.F32, [1], bytes(4)), "the bad one": (type, *tensor(rng, type))}
        write(rng, path, bad)
        conversion.leaves_out(
            path, "the bad one", f"{type.name}: where it ends cannot be known", True
        )
    conversion.report()


main(pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
