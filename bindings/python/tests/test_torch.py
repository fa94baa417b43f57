"""Tests with PyTorch, if it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import corpus
import pytest

import zten
from zten import _types

torch = pytest.importorskip("torch", reason="!!! NOT TESTED: torch is not installed")


def test_every_type_comes_back(tmp_path: Path) -> None:
    import zten.torch

    path = tmp_path / "w.zt"
    tensors = {}
    for name, own in _types._TORCH.items():
        if name != "f8_e8m0" and hasattr(torch, own):
            tensors[name] = torch.arange(12).to(getattr(torch, own)).reshape(3, 4)
    tensors["scalar"], tensors["empty"] = torch.tensor(1.5), torch.empty(0, 3)
    hows: list[dict[str, Any]] = [{}, {"zstd": 3}]
    loads: list[dict[str, Any]] = [
        {}, {"map": True}, {"verify": False}, {"map": True, "verify": False}
    ]
    for how in hows:
        zten.torch.save_file(tensors, path, **how)
        assert zten.check(path)
        for load in loads:
            read = zten.torch.load_file(path, **load)
            for name, tensor in tensors.items():
                assert read[name].dtype == tensor.dtype and read[name].shape == tensor.shape
                flat = (read[name].reshape(-1), tensor.reshape(-1))
                assert not tensor.numel() or torch.equal(*(t.view(torch.uint8) for t in flat))
    assert zten.torch.load(zten.torch.save(tensors)).keys() == tensors.keys()


def test_a_map_can_be_written_to_and_the_file_stays(tmp_path: Path) -> None:
    import zten.torch

    path = tmp_path / "w.zt"
    zten.torch.save_file({"w": torch.zeros(1000)}, path)
    before = path.read_bytes()
    tensor = zten.torch.load_file(path, map=True)["w"]
    tensor += 1
    assert tensor.sum() == 1000 and path.read_bytes() == before


def test_tensors_that_are_loaded_together_are_those_that_are_read_one_by_one() -> None:
    import zten.torch

    compared = 0
    for path in (*corpus.CORPUS.glob("accept/*/*.zt"), *corpus.CORPUS.glob("other/*/accept/*")):
        for source in (path, path.read_bytes()):
            try:
                with zten.open(source) as file:
                    if any(size >> 31 for tensor in file.values() for size in tensor.shape):
                        # Files with a dimension of 2**31 or more are left out.
                        continue
                    alone = {name: tensor.torch() for name, tensor in file.items()}
            except zten.Error as error:
                with pytest.raises(type(error)):
                    zten.torch.load_file(source)
                continue
            loaded = zten.torch.load_file(source)
            assert list(loaded) == list(alone)
            for name, tensor in alone.items():
                assert loaded[name].shape == tensor.shape and loaded[name].dtype == tensor.dtype
                flat = (loaded[name].reshape(-1), tensor.reshape(-1))
                assert not tensor.numel() or torch.equal(*(t.view(torch.uint8) for t in flat))
                compared += 1
    assert compared > 200


def test_the_interface_of_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    zten.numpy.save_file({"w": torch.arange(6, dtype=torch.bfloat16).reshape(2, 3)}, path)
    with zten.safe_open(path, framework="pt") as file:
        assert file.get_tensor("w").dtype == torch.bfloat16
        assert file.get_slice("w")[1:].tolist() == [[3, 4, 5]]


def test_what_pytorch_has_no_element_for() -> None:
    with zten.open(corpus.CORPUS / "v2/accept/nibbles.zt") as file:
        for tensor in file.values():
            with pytest.raises(zten.Unsupported, match="f4_e2m1"):
                tensor.torch()


def test_views_that_conjugate_or_negate_are_written_as_they_read() -> None:
    import zten.torch

    numbers = torch.tensor([1 + 2j, 3 - 4j])
    views = {"conjugate": numbers.conj(), "imaginary": torch._neg_view(torch.tensor([2.0, -4.0]))}
    loaded = zten.torch.load(zten.torch.save(views))
    assert loaded["conjugate"].tolist() == [1 - 2j, 3 + 4j]
    assert loaded["imaginary"].tolist() == [-2.0, 4.0]


def test_one_element_of_any_stride_is_saved(tmp_path: Path) -> None:
    import zten.torch

    path, base = tmp_path / "w.zt", torch.arange(12.0).reshape(3, 4)
    tensors = {
        "first": torch.arange(2.0)[::2],
        "second": torch.arange(2.0)[1::2],
        "bf16": torch.arange(2.0, dtype=torch.bfloat16)[1::2],
        "complex": torch.tensor([1 + 2j, 3])[::2],
        "conjugated": torch.tensor([1 + 2j, 3]).conj()[::2],
        "bool": torch.tensor([False, True])[1::2],
        "middle": base[1:2, 2::3],
        "transposed": base.t()[3:, 1:2],
        "expanded": torch.arange(3.0).expand(2, 3)[:1, 2:],
        "scalar": base[2, 1],
        "empty": base[3:, ::2],
        "columns": base[:, ::2],
    }
    zten.torch.save_file(tensors, path)
    for name, read in zten.torch.load_file(path).items():
        assert read.shape == tensors[name].shape and torch.equal(read, tensors[name]), name


def test_tensors_of_other_formats(tmp_path: Path) -> None:
    import numpy as np
    import safetensors.torch

    import zten.torch

    path = tmp_path / "w.safetensors"
    tensors = {"a": torch.arange(12.0).reshape(3, 4), "b": torch.ones(5, dtype=torch.bfloat16)}
    safetensors.torch.save_file(tensors, path)
    columns = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    np.savez(tmp_path / "w.npz", columns=columns, big=columns.astype(">f8"), rows=np.arange(4))
    hows: list[dict[str, Any]] = [{}, {"map": True}, {"verify": False}]
    for how in hows:
        read = zten.torch.load_file(path, **how)
        assert all(torch.equal(read[name], tensor) for name, tensor in tensors.items())
        read = zten.torch.load_file(tmp_path / "w.npz", **how)
        assert read["columns"].tolist() == read["big"].tolist() == columns.tolist()
        assert read["rows"].tolist() == [0, 1, 2, 3]
    with zten.open(corpus.CORPUS / "other/gguf/accept/blocks.gguf") as file:
        for tensor in file.values():
            if tensor.quantization is not None:
                with pytest.raises(zten.Unsupported, match="dequantize"):
                    tensor.torch()


def test_checkpoints_are_loaded_as_pytorch_loads_them(tmp_path: Path) -> None:
    import zten.torch

    def tied() -> Any:
        model = torch.nn.ModuleDict({
            "embed": torch.nn.Embedding(5, 3),
            "norm": torch.nn.BatchNorm1d(3),
            "head": torch.nn.Linear(3, 5, bias=False),
        })
        model["head"].weight = model["embed"].weight
        return model

    model, path = tied(), tmp_path / "model.pt"
    model["norm"](torch.randn(4, 3))
    state = model.state_dict()
    state["turned"] = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).t()
    hows: list[dict[str, Any]] = [{}, {"map": True}, {"verify": False}]
    for protocol in (2, 4):
        torch.save(state, path, pickle_protocol=protocol)
        for how in hows:
            for source in (path, path.read_bytes()):
                read = zten.torch.load_file(source, **how)
                assert list(read) == list(state)
                for name, tensor in state.items():
                    assert read[name].dtype == tensor.dtype and torch.equal(read[name], tensor)
    torch.save(model.state_dict(), path)
    other = tied()
    assert zten.torch.load_model(other, path) == ([], [])
    assert torch.equal(other["head"].weight, model["embed"].weight)
    with zten.safe_open(path, framework="pt") as file:
        assert torch.equal(file.get_tensor("head.weight"), model["head"].weight)
    with pytest.raises(zten.Invalid) as raised:
        zten.torch.load_file(corpus.CORPUS / "other/torch/reject/torch-global--os.pt")
    assert raised.value.rule == "torch-global" and raised.value.file is not None


def test_a_file_is_mapped_if_nothing_has_to_be_verified(tmp_path: Path) -> None:
    """``load_file`` maps a file unless it has something to verify, and ``map`` and ``verify`` change that. A mapped tensor shows
    bytes that are written to the file later; a tensor that was read into memory does not."""
    tensors = {"a": torch.arange(5000, dtype=torch.float32), "b": torch.ones(3, 4, dtype=torch.bfloat16), "t": torch.tensor([True])}
    safe, plain, summed, old = (tmp_path / name for name in ("w.safetensors", "plain.zt", "summed.zt", "w.pt"))
    zten.torch.save_file(tensors, safe)
    zten.torch.save_file(tensors, plain, digest=None)
    zten.torch.save_file(tensors, summed)
    torch.save(tensors, old)
    files: list[tuple[Any, dict[str, Any], bool]] = [
        (safe, {}, True), (str(safe), {}, True), (safe, {"map": True}, True), (safe, {"map": False}, False),
        (plain, {}, True), (summed, {}, False), (summed, {"verify": False}, True), (summed, {"map": True}, True),
        (old, {}, False), (old, {"verify": False}, True), (safe, {"names": "a"}, True),
        (safe.read_bytes(), {}, False), (safe, {"digests": zten.hash(safe).text}, False),
    ]
    for source, how, is_mapped in files:
        loaded = zten.torch.load_file(source, **how)
        for name, tensor in loaded.items():
            assert torch.equal(tensor, tensors[name])
        with zten.open(source) as file:
            offset = file["a"].components["data"].offset
        if isinstance(source, bytes):
            continue
        content = Path(source).read_bytes()
        with Path(source).open("r+b") as opened:
            opened.seek(offset)
            opened.write(b"\xff" * 4)
        assert bool(torch.isnan(loaded["a"][0])) == is_mapped, (source, how)
        # Writing to a loaded tensor does not change the file.
        loaded["a"][1] = 7.0
        with Path(source).open("r+b") as opened:
            assert opened.read()[offset : offset + 4] == b"\xff" * 4
            opened.seek(0)
            opened.write(content)
        assert torch.equal(zten.torch.load_file(source)["a"], tensors["a"])


def test_a_mapped_file_may_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    zten.torch.save_file({"a": torch.zeros(100)}, path)
    loaded = zten.torch.load_file(path)
    loaded["a"] += 1
    zten.torch.save_file(loaded, path)
    assert torch.equal(zten.torch.load_file(path)["a"], torch.ones(100)) and torch.equal(loaded["a"], torch.ones(100))


def test_what_mapping_shows_as_progress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zten.torch.save_file({"a": torch.zeros(100)}, tmp_path / "w.safetensors")
    zten.torch.load_file(tmp_path / "w.safetensors", progress=True)
    assert capsys.readouterr().err == "w.safetensors: mapped\n"
    zten.torch.load_file(tmp_path / "w.safetensors", progress=True, map=False)
    assert capsys.readouterr().err == "w.safetensors: 100 % of 0.0 MB\n"
