"""Tests of tensors that programs quantize and store as several tensors: the files in ``corpus/conventions``."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import pytest

import zten

FOLDER = corpus.CORPUS / "conventions"
CASES = sorted(path.stem for path in FOLDER.glob("*.safetensors"))
MXFP4 = FOLDER / "mxfp4.safetensors"


def wanted(case: str) -> Any:
    """Returns the dequantized values of the file ``case``, as the package that defines its convention computed them: ``float32``,
    in one dimension."""
    return np.fromfile(FOLDER / f"{case}.f32", "<f4")


def same(one: Any, other: Any, what: str) -> None:
    """Checks that the arrays ``one`` and ``other`` are both ``float32`` and equal bit by bit, including NaNs. ``what`` names the
    case in a failure."""
    assert one.shape == other.shape and one.dtype == other.dtype == np.float32, what
    np.testing.assert_array_equal(np.ascontiguousarray(one).view(np.uint32), np.ascontiguousarray(other).view(np.uint32), what)


class Counted(io.BytesIO):
    """A file that counts the bytes read from it."""

    count = 0

    def read(self, size: int | None = -1) -> bytes:
        some = super().read(size)
        self.count += len(some)
        return some


def test_there_are_cases() -> None:
    assert len(CASES) > 40


@pytest.mark.parametrize("case", CASES)
def test_values_and_parts_of_them(case: str) -> None:
    with zten.open(FOLDER / f"{case}.safetensors") as file:
        (tensor,) = file.values()
        whole = tensor.dequantize().numpy()
        same(whole, wanted(case).reshape(tensor.shape), case)
        assert tensor.format.startswith("quant.") and tensor.dtype is None and tensor.state == "readable"
        assert tensor.quantization is not None and tensor.quantization["convention"] in repr(tensor)
        assert set(tensor.components) >= {"scales", "blocks"} if case == "mxfp4" else len(tensor.components) > 1
        rng = np.random.default_rng(len(case))
        for _ in range(10):
            ends = [sorted(rng.integers(0, size + 1, 2).tolist()) for size in tensor.shape]
            ranges = [slice(start, end, int(rng.integers(1, 3))) for start, end in ends]
            index: Any = tuple(ranges[: int(rng.integers(1, len(ranges) + 1))])
            same(tensor[index].dequantize(), whole[index], f"{case} {index}")
            same(np.asarray(tensor.dequantize()[index]), whole[index], f"{case} {index}")
        rows = rng.integers(0, tensor.shape[0], 3).tolist()
        same(tensor[rows].dequantize(verify=True), whole[rows], f"{case} {rows}")
        # `File.verify` returns the number of components that it has checked: all components of the only tensor.
        tensor.verify()
        assert file.verify()[0] == len(tensor.components)


def test_names() -> None:
    with zten.open(MXFP4) as file:
        assert list(file) == ["experts.proj"] and "experts.proj_blocks" not in file
        tensor = file["experts.proj"]
        assert repr(tensor) == "<Tensor 'experts.proj' MXFP4 [32] [2, 3, 64]>"
        assert repr(tensor.dequantize()) == "<Dequantized 'experts.proj' MXFP4 [32] [2, 3, 64]>"
        assert repr(tensor[0:1]) == "<Slice of 'experts.proj' MXFP4 [32] [1, 3, 64]>"
        assert tensor.format == "quant.mxfp4"
        assert tensor.quantization == {"convention": "MXFP4", "bits": 4, "group_size": 32}
        assert {role: (one.dtype, one.nbytes) for role, one in tensor.components.items()} == {"blocks": ("u8", 192), "scales": ("u8", 12)}
        assert "MXFP4 [32]" in tensor._repr_html_() and file.summary().parameters == 384
        with pytest.raises(zten.Unsupported, match="use dequantize"):
            tensor.numpy()
        with pickle.loads(pickle.dumps(file)) as again:
            assert list(again) == ["experts.proj"]
    with zten.open(MXFP4, conventions=False) as plain:
        assert list(plain) == ["experts.proj_blocks", "experts.proj_scales"]
        assert plain["experts.proj_scales"].numpy().shape == (2, 3, 2)
        assert plain["experts.proj_blocks"].quantization is None
        with pytest.raises(zten.Unsupported, match="not quantized"):
            plain["experts.proj_blocks"].dequantize()
        with pickle.loads(pickle.dumps(plain)) as again:
            assert list(again) == ["experts.proj_blocks", "experts.proj_scales"]


def test_what_keeps_the_names_of_the_file(tmp_path: Path) -> None:
    plain = ["experts.proj_blocks", "experts.proj_scales"]
    digests = zten.hash(MXFP4)
    assert list(digests) == plain and list(zten.safe_open(MXFP4).keys()) == plain
    assert list(zten.numpy.load_file(MXFP4)) == plain and zten.check(MXFP4)
    # A file that is opened with a list of digests shows the tensors as they are stored, because the list has the digests
    # of these.
    with zten.open(MXFP4, digests=digests.text) as file:
        assert list(file) == plain and file.verify() == (2, 0)
    with pytest.raises(ValueError, match="conventions=False"):
        zten.open(MXFP4, digests=digests.text, conventions=True)
    with pytest.raises(ValueError, match="digests and dequantize exclude each other"):
        zten.numpy.load_file(MXFP4, dequantize=True, digests=digests.text)
    assert list(zten.stat(MXFP4, digests=digests.text)) == plain
    with zten.open(MXFP4) as grouped:
        assert grouped.identity() == digests.identity
    assert zten.convert(MXFP4, tmp_path / "again.safetensors") == 2
    with zten.open(tmp_path / "again.safetensors", conventions=False) as file:
        assert sorted(file) == plain


@pytest.mark.parametrize(("case", "generation"), [("mxfp4", "2"), ("gptq-4", "1.2"), ("int8-zero-point", "2")])
def test_objects_become_the_tensors_that_they_were_made_of(case: str, generation: Any, tmp_path: Path) -> None:
    source, back = FOLDER / f"{case}.safetensors", tmp_path / "back.safetensors"
    assert zten.convert(source, tmp_path / "x.zt", generation=generation) == 1
    with zten.open(tmp_path / "x.zt") as file:
        assert not next(iter(file.values())).format.startswith("quant.")
    assert zten.convert(tmp_path / "x.zt", back) > 1
    assert back.read_bytes() == source.read_bytes()


def test_all_tensors_are_dequantized() -> None:
    values = wanted("mxfp4").reshape(2, 3, 64)
    same(zten.numpy.load_file(MXFP4, dequantize=True)["experts.proj"], values, "f32")
    half = zten.numpy.load_file(MXFP4, dequantize="f16", names="experts.*")["experts.proj"]
    np.testing.assert_array_equal(half, values.astype(np.float16))


def test_statistics() -> None:
    values = wanted("mxfp4").astype(np.float64)
    (seen,) = zten.stat(MXFP4).values()
    assert (seen.name, seen.layout, seen.shape) == ("experts.proj", "quant.mxfp4", (2, 3, 64))
    assert seen.statistics is not None and seen.statistics.count == values.size
    assert (seen.statistics.min, seen.statistics.max) == (values.min(), values.max())
    assert seen.statistics.mean == pytest.approx(values.mean()) and seen.statistics.deviation == pytest.approx(values.std())
    assert list(zten.stat(MXFP4, conventions=False)) == ["experts.proj_blocks", "experts.proj_scales"]


def test_only_the_rows_of_a_part_are_read() -> None:
    source = Counted(MXFP4.read_bytes())
    with zten.open(source) as file:
        tensor = file["experts.proj"]
        reads: list[tuple[Any, int]] = [((0, 1), 1), ((slice(1, 2), slice(0, 2)), 2), (1, 3)]
        for index, rows in reads:
            before = source.count
            tensor[index].dequantize()
            # A row of 64 codes takes 32 bytes of codes and 2 bytes of scales.
            assert source.count - before == rows * 34, index


def test_damaged_groups() -> None:
    """A file of which one random bit is flipped either raises a :class:`zten.Error`, or its quantized tensors still have values of
    their shapes."""
    rng = np.random.default_rng(7)
    for case in ("mxfp4", "gptq-4-g-idx", "packed-4-zero-point", "nf4-nested", "nvfp4-packed"):
        good = (FOLDER / f"{case}.safetensors").read_bytes()
        for _ in range(60):
            damaged = bytearray(good)
            damaged[int(rng.integers(0, len(good)))] ^= 1 << int(rng.integers(0, 8))
            try:
                with zten.open(damaged) as file:
                    for tensor in file.values():
                        if tensor.quantization is not None:
                            assert tensor.dequantize().numpy().shape == tensor.shape
                            tensor[0:1].dequantize()
            except zten.Error:
                pass


def test_shards(tmp_path: Path) -> None:
    """A quantized tensor can be read although each of the tensors that it is stored as is in another file of an index."""
    case = "packed-4-zero-point"
    with zten.open(FOLDER / f"{case}.safetensors", conventions=False) as plain:
        files = {}
        for number, (name, tensor) in enumerate(plain.items()):
            files[name] = f"model-{number}.safetensors"
            zten.numpy.save_file({name: tensor.numpy()}, tmp_path / files[name])
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": files}))
    with zten.open(index) as file:
        (tensor,) = file.values()
        same(tensor.dequantize().numpy(), wanted(case).reshape(tensor.shape), case)
        same(tensor[3:5].dequantize(), wanted(case).reshape(tensor.shape)[3:5], case)


def test_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    values = torch.from_numpy(wanted("mxfp4").reshape(2, 3, 64))
    with zten.open(MXFP4) as file:
        lazy = file["experts.proj"].dequantize()
        assert torch.equal(lazy.torch(), values)
        assert torch.equal(lazy.torch(dtype=torch.bfloat16), values.to(torch.bfloat16))
        assert torch.equal(lazy.torch(dtype="bf16"), values.to(torch.bfloat16))
    loaded = zten.torch.load_file(MXFP4, dequantize="bf16")["experts.proj"]
    assert torch.equal(loaded, values.to(torch.bfloat16))
