"""Helpers of the scripts about safetensors files that the package safetensors writes."""

import ctypes
import json

import numpy as np
import safetensors

# By the name of each type in the package: the number of bits of an element, its storage type in
# zten, and its logical type in zten, if it has one.
HELD = {
    "bool": (8, "bool", None),
    "uint8": (8, "u8", None),
    "int8": (8, "i8", None),
    "int16": (16, "i16", None),
    "uint16": (16, "u16", None),
    "float16": (16, "f16", None),
    "bfloat16": (16, "bf16", None),
    "int32": (32, "i32", None),
    "uint32": (32, "u32", None),
    "float32": (32, "f32", None),
    "float64": (64, "f64", None),
    "int64": (64, "i64", None),
    "uint64": (64, "u64", None),
    "float8_e4m3fn": (8, "u8", "f8_e4m3fn"),
    "float8_e5m2": (8, "u8", "f8_e5m2"),
    "float8_e4m3fnuz": (8, "u8", "f8_e4m3fnuz"),
    "float8_e5m2fnuz": (8, "u8", "f8_e5m2fnuz"),
    "float8_e8m0fnu": (8, "u8", "f8_e8m0"),
    "complex64": (64, "f32", "complex64"),
}


def write(path, tensors, metadata=None):
    """Writes a safetensors file of `tensors`, which has the type, shape and bytes of each tensor by its name."""
    kept, specs = [], {}
    for name, (dtype, shape, data) in tensors.items():
        buffer = ctypes.create_string_buffer(data, max(len(data), 1))
        kept.append(buffer)
        specs[name] = safetensors.TensorSpec(
            dtype=dtype, shape=list(shape), data_ptr=ctypes.addressof(buffer), data_len=len(data)
        )
    safetensors.serialize_file(specs, str(path), metadata)


def listed(path):
    """Returns the content of the file, from its bytes alone: name to shape and bytes, and the metadata, or `None` if it has
    none."""
    file = path.read_bytes()
    size = int.from_bytes(file[:8], "little")
    header = json.loads(file[8 : 8 + size])
    metadata = header.pop("__metadata__", None)
    data = file[8 + size :]
    return {
        name: (info["shape"], data[slice(*info["data_offsets"])]) for name, info in header.items()
    }, metadata


def random(rng, dtype, bits):
    shape = [
        int(side) for side in rng.integers(0 if rng.integers(5) == 0 else 1, 6, rng.integers(0, 5))
    ]
    if rng.integers(20) == 0:
        shape = [int(rng.integers(100_000, 400_000))]
    data = rng.bytes(int(np.prod(shape, dtype=np.int64)) * bits // 8)
    if dtype == "bool":
        data = bytes(byte & 1 for byte in data)
    return dtype, shape, data
