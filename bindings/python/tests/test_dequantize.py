"""Tests of the values of quantized tensors: reading parts of them, and using them as arrays."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import pytest

import zten

gguf: Any = pytest.importorskip("gguf")

INDICES: list[Any] = [
    0, -1, 3, slice(0, 2), slice(None), slice(1, None, 2), slice(None, None, -1), slice(2, 2), ..., (..., 0),
    (slice(0, 2), slice(1, 3)), (1, slice(None, None, 2)), (slice(1, 3), ..., slice(0, 1)), [0, 2], [1, 1, 0],
    ([0, 2], slice(0, 1)), (0, 0), (slice(None), -1), np.array([2, 0]),
]


def quantized() -> list[tuple[str, bytes | Path, str, dict[str, Any]]]:
    """Returns a tuple for each quantized tensor that has values in four folders of the corpus: a label for failures, the path of
    the file, the name of the tensor, and the options with which :func:`zten.open` opens the file."""
    found: list[tuple[str, bytes | Path, str, dict[str, Any]]] = []
    for folder in ("accept/1.2.3", "quantized", "v2/accept", "other/gguf/accept"):
        for path in sorted((corpus.CORPUS / folder).glob("*.*")):
            how: dict[str, Any] = {"tolerate": ["missing-zeros"]}
            try:
                with zten.open(path, **how) as file:
                    names = [name for name, tensor in file.items() if _is_quantized(tensor)]
            except (zten.Error, OSError):
                continue
            found += [(path.name, path, name, how) for name in names]
    return found


def _is_quantized(tensor: zten.Tensor) -> bool:
    try:
        return tensor.quantization is not None and tensor.dequantize().numpy().size > 0
    except zten.Error:
        return False


def model(path: Path, shape: tuple[int, ...] = (3, 40, 512), kind: Any = None) -> Any:
    """Writes a GGUF file at ``path`` with the quantized tensor ``w`` of ``shape`` and the type ``kind`` (Q8_0 by default), and
    returns the dequantized values of the tensor, which the package ``gguf`` computes."""
    kind = gguf.GGMLQuantizationType.Q8_0 if kind is None else kind
    values = np.random.default_rng(0).standard_normal(shape, np.float32)
    blocks = gguf.quants.quantize(values, kind)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("w", blocks, raw_dtype=kind)
    writer.add_tensor("bias", np.array([1.5], np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return gguf.quants.dequantize(blocks, kind).reshape(shape)


class Counted(io.BytesIO):
    """A file that counts the bytes read from it."""

    count = 0

    def read(self, size: int | None = -1) -> bytes:
        some = super().read(size)
        self.count += len(some)
        return some


def test_parts_are_those_of_the_whole() -> None:
    """Dequantizing a part of a tensor gives the values that the same part of the whole dequantized tensor has, for every tensor
    that :func:`quantized` returns: ``quantized_group``, layouts of generation 2 and blocks of GGUF, uncompressed and compressed."""
    files = quantized()
    layouts = set()
    for label, source, name, how in files:
        with zten.open(source, **how) as file:
            tensor = file[name]
            layouts.add(tensor.format.split(".")[0])
            whole = tensor.dequantize().numpy()
            for index in INDICES:
                try:
                    wanted = whole[index]
                except IndexError:
                    with pytest.raises(IndexError):
                        tensor[index]
                    continue
                for part in (tensor[index].dequantize(), tensor[index].dequantize(verify=True), tensor.dequantize()[index]):
                    assert part.dtype == np.float32
                    np.testing.assert_array_equal(part, wanted, f"{label} {name} {index}")
                assert tensor[index].shape == wanted.shape
    assert layouts >= {"quantized_group", "zt", "gguf"} and len(files) > 20, (layouts, len(files))


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0", "Q5_1"])
def test_parts_of_many_dimensions(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for shape in ((3, 40, 512), (512,), (2, 3, 2, 64), (5, 70016)):
        values = model(tmp_path / "w.gguf", shape, gguf.GGMLQuantizationType[kind])
        zten.convert(tmp_path / "w.gguf", tmp_path / "w.zt", zstd=3)
        for path in (tmp_path / "w.gguf", tmp_path / "w.zt"):
            with zten.open(path) as file:
                for _ in range(25):
                    starts = [int(rng.integers(0, size)) for size in shape]
                    index: tuple[Any, ...] = tuple(
                        slice(start, int(rng.integers(start, size + 1)), int(rng.integers(1, 3)))
                        if rng.random() < 0.7 else start
                        for start, size in zip(starts, shape, strict=True)
                    )[: int(rng.integers(1, len(shape) + 1))]
                    np.testing.assert_array_equal(file["w"][index].dequantize(), values[index], f"{shape} {index}")


def test_only_the_blocks_of_the_rows_are_read(tmp_path: Path) -> None:
    values = model(tmp_path / "w.gguf", (1000, 512))
    source = Counted((tmp_path / "w.gguf").read_bytes())
    row = 512 // 32 * 34
    with zten.open(source) as file:
        tensor = file["w"]
        reads: list[tuple[Any, int]] = [
            (lambda: tensor.dequantize(), 0),
            (lambda: tensor[:10], 0),
            (lambda: tensor[:10].dequantize(), 10 * row),
            (lambda: tensor.dequantize()[:10], 10 * row),
            (lambda: tensor.dequantize()[999, 500], 34),
            (lambda: tensor.dequantize()[[5, 6, 900]], 3 * row),
            (lambda: tensor.dequantize().numpy(), 1000 * row),
        ]
        for read, most in reads:
            before = source.count
            read()
            assert source.count - before == most
        np.testing.assert_array_equal(tensor.dequantize()[[5, 6, 900]], values[[5, 6, 900]])


def test_compressed_components_are_decoded_a_few_times(tmp_path: Path) -> None:
    """Dequantizing a part of a compressed tensor reads its components at most 17 times, whatever the number of rows: each native
    call decodes a component of generation 1.x from its beginning."""
    rows, columns = 4096, 1024
    rng = np.random.default_rng(2)
    words = rng.integers(-(2**31), 2**31, rows * columns // 8, np.int32)
    parts = {"packed_weight": words} | {role: np.ones(rows * columns // 32, np.float32) for role in ("scales", "zeros")}
    with zten.create(tmp_path / "q.zt", generation="1.2", zstd=1) as writer:
        packing = {"bits": 4, "group_size": 32, "packing": "8_per_i32"}
        writer.add_object("q", "quantized_group", [rows, columns], parts, attributes=packing)
    source = Counted((tmp_path / "q.zt").read_bytes())
    with zten.open(source) as file:
        tensor = file["q"]
        whole = tensor.dequantize().numpy()
        stored = sum(component.stored for component in tensor.components.values())
        for index in (list(range(0, rows, 2)), [rows - 1, 5, 5], (slice(None), 3), (slice(7, None, 5), slice(9, 2)), 0):
            before = source.count
            np.testing.assert_array_equal(tensor[index].dequantize(), whole[index])
            assert source.count - before <= 17 * stored


def test_values_are_like_an_array(tmp_path: Path) -> None:
    values = model(tmp_path / "w.gguf", (4, 64))
    with zten.open(tmp_path / "w.gguf") as file:
        lazy = file["w"].dequantize()
        assert isinstance(lazy, zten.Dequantized) and repr(lazy) == "<Dequantized 'w' gguf.q8_0 [4, 64]>"
        assert lazy.dtype == np.dtype(np.float32)
        assert (lazy.shape, lazy.ndim, lazy.size, lazy.nbytes) == ((4, 64), 2, 256, 1024)
        assert len(lazy) == 4 and len(list(lazy)) == 4
        x = np.ones((64, 2), np.float32)
        for ours, theirs in (
            (lazy @ x, values @ x), (lazy + 1, values + 1), (1 - lazy, 1 - values), (lazy == values, values == values),
            (np.asarray(lazy), values), (np.asarray(lazy, np.float16), values.astype(np.float16)),
            (lazy.astype(np.float64), values.astype(np.float64)), (lazy.mean(0), values.mean(0)), (lazy.T, values.T),
            (np.concatenate([lazy, lazy]), np.concatenate([values, values])), (np.abs(lazy), np.abs(values)),
        ):
            np.testing.assert_array_equal(ours, theirs)
        assert type(lazy[1, 2]) is np.float32 and lazy[1, 2] == values[1, 2]
        with pytest.raises(TypeError):
            lazy += 1
        for name in ("no_such_method", "_private", "__cuda_array_interface__"):
            assert not hasattr(lazy, name)
        wrong: Any
        for wrong, kind in ((4, IndexError), ("a", TypeError), (None, TypeError), ((0, 0, 0), IndexError)):
            with pytest.raises(kind):
                lazy[wrong]
        with pytest.raises(zten.Unsupported, match="use dequantize"):
            file["w"][:2].numpy()
        with pytest.raises(zten.Unsupported, match="not quantized"):
            file["bias"].dequantize()
        with pytest.raises(zten.Unsupported, match="not quantized"):
            file["bias"][:1].dequantize()
    with pytest.raises(ValueError, match="closed"):
        lazy.numpy()


def test_a_part_is_verified_on_request(tmp_path: Path) -> None:
    model(tmp_path / "w.gguf", (64, 512))
    zten.convert(tmp_path / "w.gguf", tmp_path / "w.zt")
    content = bytearray((tmp_path / "w.zt").read_bytes())
    with zten.open(tmp_path / "w.zt") as file:
        content[file["w"].components["data"].offset + 60 * 544 + 7] ^= 1
    with zten.open(bytes(content)) as file:
        assert file["w"][:3].dequantize().shape == (3, 512)
        reads: list[Any] = [lambda: file["w"][:3].dequantize(verify=True), file["w"].dequantize().numpy]
        for read in reads:
            with pytest.raises(zten.Invalid) as raised:
                read()
            assert raised.value.rule == "digest-mismatch"


def test_what_is_compressed_is_within_the_limit(tmp_path: Path) -> None:
    model(tmp_path / "w.gguf", (64, 512))
    zten.convert(tmp_path / "w.gguf", tmp_path / "w.zt", zstd=3)
    with zten.open(tmp_path / "w.zt", limits={"decoded": "1KiB"}) as file, pytest.raises(zten.LimitExceeded):
        file["w"][:3].dequantize()


def test_values_in_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    values = torch.from_numpy(model(tmp_path / "w.gguf", (4, 64)))
    with zten.open(tmp_path / "w.gguf") as file:
        lazy = file["w"].dequantize()
        assert torch.equal(lazy.torch(), values)
        assert torch.equal(lazy.torch(dtype="BF16"), values.to(torch.bfloat16))
        assert torch.equal(torch.as_tensor(lazy), values)
        assert torch.equal(torch.from_numpy(lazy[1:3]), values[1:3])


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("<f4", 1.5), ("<f8", 0.1), ("<f2", -2.0), ("<i8", -(1 << 62)), ("u1", 7), ("?", True), ("<c8", 1 + 2j), ("bf16", 1.5)],
)
def test_one_element_is_a_value_of_python(dtype: str, value: Any, tmp_path: Path) -> None:
    import ml_dtypes

    own: Any = ml_dtypes.bfloat16 if dtype == "bf16" else np.dtype(dtype)
    generations: list[Any] = ["1.2", "2", 2]
    for generation in generations:
        arrays = {
            "scalar": np.array(value, own), "one": np.full((1, 1), value, own), "three": np.full(3, value, own),
            "none": np.empty(0, own),
        }
        zten.numpy.save_file(arrays, tmp_path / "w.zt", generation=generation)
        with zten.open(tmp_path / "w.zt") as file:
            for one in (file["scalar"], file["one"], file["three"][1], file["one"][0]):
                assert one.item() == value and type(one.item()) is type(value)
                if isinstance(value, complex):
                    with pytest.raises(zten.Unsupported, match="not a float"):
                        float(one)
                else:
                    assert float(one) == float(value)
            for several in (file["three"], file["none"], file["three"][:2]):
                for read in (several.item, lambda several=several: float(several)):
                    with pytest.raises(zten.Unsupported, match="exactly one element"):
                        read()


def test_elements_in_the_dtype_that_is_asked_for(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    tensors = {
        "bf16": torch.arange(6, dtype=torch.bfloat16).reshape(2, 3), "f8": torch.ones(4).to(torch.float8_e4m3fn),
        "f32": torch.arange(4, dtype=torch.float32), "none": torch.empty(0, 3), "large": torch.ones(1 << 20, dtype=torch.bfloat16),
    }
    zten.torch.save_file(tensors, tmp_path / "w.zt")
    for map in (False, True):
        with zten.open(tmp_path / "w.zt", map=map) as file:
            for name, tensor in tensors.items():
                for dtype in (torch.float32, "f32", "FP32", "float32", "torch.float32", "bf16", "BFLOAT16", torch.float64):
                    wanted = dtype if not isinstance(dtype, str) else (
                        torch.float32 if "32" in dtype else torch.bfloat16
                    )
                    assert torch.equal(file[name].torch(dtype=dtype), tensor.to(wanted))
                    if tensor.ndim and len(tensor):
                        assert torch.equal(file[name][:1].torch(dtype=dtype), tensor[:1].to(wanted))
                if tensor.dtype != torch.float8_e4m3fn:
                    for convert in (torch.as_tensor, torch.asarray, torch.from_dlpack):
                        assert torch.equal(convert(file[name]), tensor)
            for wrong in ("f33", "", "f4_e2m1_x9"):
                with pytest.raises(ValueError, match="unknown dtype"):
                    file["bf16"].torch(dtype=wrong)


def test_dtypes_have_the_names_of_the_command() -> None:
    from zten import _types, _zten

    for spelled, name in (
        ("BF16", "bf16"), ("bf16", "bf16"), ("bfloat16", "bf16"), ("fp32", "f32"), ("Float32", "f32"), ("torch.half", "f16"),
        ("F8_E4M3", "f8_e4m3fn"), ("C64", "complex64"), ("BOOL", "bool"),
    ):
        assert _types.dtype_name(spelled) == name
    for name in _types._NUMPY:
        assert _zten.dtype(name) == _zten.dtype(name.upper()) == name
        assert _zten.dtype(_types.safetensors_dtype(name)) == name


def test_a_missing_name_is_an_error_of_both_kinds(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    zten.numpy.save_file({"layers.0.weight": np.zeros(1)}, path, generation=2)
    with zten.open(path) as file, zten.safe_open(path) as safe:
        assert file.generation == "2"
        for read in (
            lambda: file["layers.0.wieght"], lambda: safe.get_tensor("layers.0.wieght"),
            lambda: safe.get_slice("layers.0.wieght"), lambda: zten.numpy.load_file(path, names=["layers.0.wieght"]),
        ):
            for kind in (zten.Error, KeyError, zten.MissingTensor):
                with pytest.raises(kind, match="layers.0.w") as raised:
                    read()
                assert str(path) in str(raised.value)
        assert file.get("x") is None and "x" not in file


def test_a_tensor_says_what_it_is(tmp_path: Path) -> None:
    model(tmp_path / "w.gguf", (64, 512), gguf.GGMLQuantizationType.Q4_0)
    with zten.open(tmp_path / "w.gguf") as file:
        assert repr(file["w"]) == "<Tensor 'w' gguf.q4_0 [64, 512]>"
        assert repr(file["w"][:10]) == "<Slice of 'w' gguf.q4_0 [10, 512]>"
        assert repr(file["bias"]) == "<Tensor 'bias' f32 [1]>"
    with zten.create(tmp_path / "w.zt") as writer:
        writer.add_object("x", "later\x1b[31m\n", [2], {"data": np.zeros(2, np.uint8)})
    with zten.open(tmp_path / "w.zt") as file:
        assert repr(file["x"]).isprintable() and "later\\x1b[31m\\n" in repr(file["x"])


def test_without_pytorch_nothing_exports_bf16(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ml_dtypes

    monkeypatch.delitem(sys.modules, "torch", raising=False)

    zten.numpy.save_file({"w": np.zeros(2, ml_dtypes.bfloat16)}, tmp_path / "w.zt")
    with zten.open(tmp_path / "w.zt") as file, pytest.raises(zten.Unsupported, match="DLPack"):
        file["w"].__dlpack__()
