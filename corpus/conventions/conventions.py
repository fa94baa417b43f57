"""Makes quantized tensors by the packages that define each convention, and the values that the packages read from them.

    python conventions.py FOLDER [SEED]

For each case, `NAME.safetensors` has the tensors of one quantized matrix, and `NAME.f32` its values as little-endian `f32` in row-major
order. Packages that compute in another type are asked for `float32`; where a package has no reader for a processor, the values come
from the formula in NumPy. Needs torch, numpy, safetensors, compressed-tensors and bitsandbytes.
"""

import pathlib
import sys

import bitsandbytes.functional as bnb
import numpy as np
import torch
from compressed_tensors.compressors import pack_to_int32, pack_fp4_to_uint8, unpack_from_int32
from safetensors.torch import save_file

FOLDER = pathlib.Path(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 65
RANDOM = np.random.default_rng(SEED)
torch.manual_seed(SEED)
NAME = "layer.proj"
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def write(case, tensors, values):
    tensors = {name: torch.as_tensor(tensor).contiguous() for name, tensor in tensors.items()}
    save_file(tensors, FOLDER / f"{case}.safetensors")
    values = torch.as_tensor(values).to(torch.float32).contiguous().numpy()
    (FOLDER / f"{case}.f32").write_bytes(values.astype("<f4").tobytes())


def weights(*shape):
    return torch.randn(*shape)


def mxfp4():
    """Makes the tensors of gpt-oss: two experts with three outputs and 64 inputs."""
    blocks = RANDOM.integers(0, 256, (2, 3, 2, 16), np.uint8)
    scales = RANDOM.integers(100, 140, (2, 3, 2), np.uint8)
    codes = np.stack([blocks & 15, blocks >> 4], -1).reshape(2, 3, 2, 32)
    values = np.ldexp(E2M1[codes], scales.astype(np.int32)[..., None] - 127).astype(np.float32)
    write("mxfp4", {"experts.proj_blocks": blocks, "experts.proj_scales": scales}, values.reshape(2, 3, 64))


def fp8():
    """Makes FP8 tensors with scales for blocks, rows, groups, and the whole tensor. The last block in each dimension
    is incomplete."""
    for case, shape, scale_shape, expand in [
        ("fp8-block", (130, 260), (2, 3), lambda s: s.repeat_interleave(128, 0)[:130].repeat_interleave(128, 1)[:, :260]),
        ("fp8-block-stack", (2, 130, 128), (2, 2, 1), lambda s: s.repeat_interleave(128, 1)[:, :130].repeat_interleave(128, 2)),
        ("fp8-row", (5, 6), (5, 1), lambda s: s),
        ("fp8-vector", (5, 6), (5,), lambda s: s[:, None]),
        ("fp8-group", (3, 64), (3, 2), lambda s: s.repeat_interleave(32, 1)),
        ("fp8-tensor", (5, 6), (), lambda s: s),
    ]:
        kind = torch.float8_e5m2 if case == "fp8-row" else torch.float8_e4m3fn
        own = torch.float32 if "block" in case else torch.bfloat16
        data = weights(*shape).to(kind)
        scale = (torch.rand(scale_shape) + 0.5).to(own)
        suffix = "scale_inv" if "block" in case else "scale"
        names = {f"{NAME}.weight": data, f"{NAME}.weight_{suffix}": scale}
        write(case, names, data.to(torch.float32) * expand(scale.to(torch.float32)))


def int8():
    """Makes int-quantized tensors of compressed-tensors, and LLM.int8() tensors of bitsandbytes."""
    for case, zero in [("int8", None), ("int8-zero-point", torch.randint(-9, 9, (5, 1), dtype=torch.int8))]:
        data = torch.randint(-128, 128, (5, 6), dtype=torch.int8)
        scale = torch.rand(5, 1) + 0.5
        names = {f"{NAME}.weight": data, f"{NAME}.weight_scale": scale}
        difference = data.to(torch.float32)
        if zero is not None:
            names[f"{NAME}.weight_zero_point"] = zero
            difference = difference - zero.to(torch.float32)
        write(case, names, difference * scale)
    data, scale, _ = bnb.int8_vectorwise_quant(weights(5, 6).to(torch.float16))
    names = {f"{NAME}.weight": data, f"{NAME}.SCB": scale, f"{NAME}.weight_format": torch.tensor(0, dtype=torch.uint8)}
    write("bnb-int8", names, bnb.int8_vectorwise_dequant(data, scale))


def nvfp4():
    codes = RANDOM.integers(0, 16, (3, 64), np.uint8)
    numbers = torch.as_tensor(E2M1[codes])
    scale = (torch.rand(3, 4) * 100 + 1).to(torch.float8_e4m3fn)
    wide = scale.to(torch.float32)
    packed = pack_fp4_to_uint8(numbers)
    assert (packed.numpy() == codes[:, ::2] | codes[:, 1::2] << 4).all()
    second = torch.tensor(0.0123)
    names = {f"{NAME}.weight": packed, f"{NAME}.weight_scale": scale, f"{NAME}.weight_scale_2": second}
    write("nvfp4-modelopt", names, numbers * (wide * second).repeat_interleave(16, 1))
    whole = torch.tensor([321.0])
    names = {f"{NAME}.weight_packed": packed, f"{NAME}.weight_scale": scale, f"{NAME}.weight_global_scale": whole}
    write("nvfp4-packed", names, numbers * (wide / whole).repeat_interleave(16, 1))


def dense_words(codes, bits):
    """Packs the codes of each row, the first one in the lowest bits."""
    places = (codes[..., None].astype(np.uint32) >> np.arange(bits, dtype=np.uint32)) & 1
    stream = places.reshape(*codes.shape[:-1], -1).astype(np.uint8)
    return np.packbits(stream, axis=-1, bitorder="little").view("<u4")


def gptq():
    inputs, outputs = 64, 32
    for bits in (2, 3, 4, 8):
        for case, size, index in [("", 32, None), ("-g-idx", 16, RANDOM.permutation(np.arange(64) // 16))]:
            groups = inputs // size
            codes = RANDOM.integers(0, 1 << bits, (inputs, outputs), np.uint8)
            zeros = RANDOM.integers(0, 1 << bits, (groups, outputs), np.uint8)
            scales = (RANDOM.random((groups, outputs)) + 0.5).astype(np.float16)
            names = {
                f"{NAME}.qweight": dense_words(codes.T, bits).T.astype("<u4").view("<i4"),
                f"{NAME}.qzeros": dense_words(zeros, bits).view("<i4"),
                f"{NAME}.scales": scales,
            }
            order = np.arange(inputs) // size
            if index is not None:
                order = index
                names[f"{NAME}.g_idx"] = index.astype("<i4")
            # A GPTQ file stores each zero point minus one.
            zero = zeros.astype(np.float32)[order] + 1
            names = {name: np.ascontiguousarray(tensor) for name, tensor in names.items()}
            write(f"gptq-{bits}{case}", names, scales.astype(np.float32)[order] * (codes - zero))


def awq():
    inputs, outputs, groups = 32, 16, 2
    codes = RANDOM.integers(0, 16, (inputs, outputs), np.uint32)
    zeros = RANDOM.integers(0, 16, (groups, outputs), np.uint32)
    scales = (RANDOM.random((groups, outputs)) + 0.5).astype(np.float16)

    def packed(codes):
        of_word = codes.reshape(codes.shape[0], -1, 8)[..., [0, 2, 4, 6, 1, 3, 5, 7]]
        return np.bitwise_or.reduce(of_word << np.arange(0, 32, 4, dtype=np.uint32), -1).view("<i4")

    names = {f"{NAME}.qweight": packed(codes), f"{NAME}.qzeros": packed(zeros), f"{NAME}.scales": scales}
    order = np.arange(inputs) // 16
    difference = codes.astype(np.float32) - zeros.astype(np.float32)[order]
    write("awq", names, scales.astype(np.float32)[order] * difference)


def packed():
    """Makes pack-quantized tensors of compressed-tensors. The number of rows is not a multiple of 32, so the last
    words of zero points are incomplete."""
    rows, columns, size = 34, 96, 32
    for bits in range(1, 9):
        for case in ("", "-zero-point", "-g-idx", "-channel"):
            groups = 1 if case == "-channel" else columns // size
            half = 1 << (bits - 1)
            codes = torch.randint(-half, half, (rows, columns), dtype=torch.int8)
            scale = torch.rand(rows, groups) + 0.5
            words = pack_to_int32(codes, bits)
            shape = torch.tensor([rows, columns])
            assert (unpack_from_int32(words, bits, shape) == codes).all()
            names = {f"{NAME}.weight_packed": words, f"{NAME}.weight_scale": scale, f"{NAME}.weight_shape": shape}
            order = torch.arange(columns) // (columns // groups)
            zero = torch.zeros(rows, groups, dtype=torch.int8)
            if case == "-zero-point":
                zero = torch.randint(-half, half, (rows, groups), dtype=torch.int8)
                names[f"{NAME}.weight_zero_point"] = pack_to_int32(zero, bits, packed_dim=0)
            if case == "-g-idx":
                order = order[torch.randperm(columns)]
                names[f"{NAME}.weight_g_idx"] = order.to(torch.int32)
            difference = codes.to(torch.float32) - zero.to(torch.float32)[:, order]
            write(f"packed-{bits}{case}", names, difference * scale[:, order])
    # Older releases of compressed-tensors packed only whole codes in a word, and left the rest of its bits unused.
    for bits in (3, 5, 6):
        in_word = 32 // bits
        codes = RANDOM.integers(0, 1 << bits, (3, 64), np.uint32)
        padded = np.pad(codes, ((0, 0), (0, -64 % in_word))).reshape(3, -1, in_word)
        words = np.bitwise_or.reduce(padded << np.arange(0, bits * in_word, bits, dtype=np.uint32), -1)
        scale = RANDOM.random((3, 2)).astype(np.float32) + 0.5
        names = {
            f"{NAME}.weight_packed": words.astype("<u4").view("<i4"),
            f"{NAME}.weight_scale": scale,
            f"{NAME}.weight_shape": np.array([3, 64]),
        }
        difference = codes.astype(np.float32) - (1 << (bits - 1))
        write(f"packed-{bits}-whole", names, difference * scale.repeat(32, 1))


def four_bits():
    """Makes 4-bit tensors of bitsandbytes. The last block is incomplete, and there are more blocks than one scale of
    the scales covers."""
    for kind in ("nf4", "fp4"):
        for case, shape, nested in [("", (5, 30), False), ("-nested", (260, 64), True), ("-odd", (3, 5), False)]:
            data, state = bnb.quantize_4bit(weights(*shape), blocksize=64, compress_statistics=nested, quant_type=kind)
            names = {f"{NAME}.weight": data}
            for key, part in state.as_dict(packed=True).items():
                names[f"{NAME}.weight.{key}"] = part
            write(f"{kind}{case}", names, bnb.dequantize_4bit(data, state))


def mlx():
    rows, columns = 3, 128
    for bits in (2, 3, 4, 5, 6, 8):
        codes = RANDOM.integers(0, 1 << bits, (rows, columns), np.uint8)
        scales = torch.as_tensor(RANDOM.random((rows, 2)) + 0.5).to(torch.bfloat16)
        biases = torch.as_tensor(RANDOM.random((rows, 2)) - 0.5).to(torch.bfloat16)
        words = dense_words(codes, bits)
        names = {
            f"{NAME}.weight": torch.as_tensor(words.view("<i4")).view(torch.uint32),
            f"{NAME}.scales": scales,
            f"{NAME}.biases": biases,
        }
        wide = [part.to(torch.float32).repeat_interleave(64, 1) for part in (scales, biases)]
        write(f"mlx-{bits}", names, torch.as_tensor(codes.astype(np.float32)) * wide[0] + wide[1])


for make in (mxfp4, fp8, int8, nvfp4, gptq, awq, packed, four_bits, mlx):
    make()
