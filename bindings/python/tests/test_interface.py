"""Tests of the interface that users expect of a package for tensor files."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import zten

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")

ARRAYS: dict[str, Any] = {
    "layers.0.w": np.arange(120, dtype=np.float32).reshape(10, 3, 4),
    "layers.1.w": np.arange(60, dtype=np.int16).reshape(10, 6),
    "layers.10.w": np.arange(10).astype(ml_dtypes.bfloat16),
    "head": np.arange(12) % 3 == 0,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    zten.numpy.save_file(ARRAYS, tmp_path / "w.zt", metadata={"format": "np"}, attributes={"step": 7})
    return tmp_path / "w.zt"


ROWS: list[Any] = [
    [0, 5, 7], [7, 0, 0, -1], [], np.array([3]), np.array([1, 2], np.uint8), np.arange(10) % 2 == 0,
    [True] * 10, [False] * 10, [-10, 9],
]


@pytest.mark.parametrize("how", [{}, {"zstd": 3}, {"generation": "2"}])
def test_rows_by_lists_and_masks(how: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    arrays = dict(ARRAYS)
    if how == {"generation": "2"}:
        arrays["fp4"] = np.ones((10, 4)).astype(ml_dtypes.float4_e2m1fn)
    zten.numpy.save_file(arrays, path, **how)
    for mapped in (False, True):
        with zten.open(path, map=mapped, verify=False) as file:
            for name in arrays.keys() - {"head"}:
                tensor, array = file[name], arrays[name]
                for rows in ROWS:
                    wanted = array[rows if len(rows) else np.empty(0, np.int64)]
                    part = tensor[rows]
                    assert part.shape == wanted.shape, (name, rows)
                    found = part.numpy()
                    assert found.dtype == array.dtype and found.shape == wanted.shape
                    assert found.tobytes() == wanted.tobytes(), (name, rows)
                    assert part.numpy(verify=True).tobytes() == wanted.tobytes()
                    if array.ndim > 1:
                        found = tensor[rows, ..., 1:3].numpy()
                        assert found.tobytes() == wanted[..., 1:3].tobytes()
            w = file["layers.0.w"]
            assert w[[2, 4], 1].numpy().tolist() == ARRAYS["layers.0.w"][[2, 4], 1].tolist()
            for wrong, kind in (
                ([10], IndexError), ([-11], IndexError), ([True], IndexError), ([1.5], TypeError),
                ([[1]], TypeError), (np.empty(0), TypeError), ((0, [1]), TypeError), (["a"], TypeError),
            ):
                with pytest.raises(kind):
                    w[wrong]  # type: ignore[index]


def test_rows_are_iterated(path: Path) -> None:
    with zten.open(path) as file:
        for name, array in ARRAYS.items():
            rows = list(file[name])
            assert len(rows) == len(file[name]) == len(array)
            assert all(np.array_equal(one, other) for one, other in zip(rows, array, strict=True))


def test_dlpack(path: Path) -> None:
    for mapped in (False, True):
        with zten.open(path, map=mapped) as file:
            for name in ("layers.0.w", "layers.1.w"):
                assert np.array_equal(np.from_dlpack(file[name]), ARRAYS[name])
            # If PyTorch is imported, it exports the bf16 tensor. NumPy then rejects the dtype with its own message.
            with pytest.raises((zten.Unsupported, RuntimeError), match="DLPack|DLTensor"):
                np.from_dlpack(file["layers.10.w"])


def test_some_tensors_are_loaded_by_name_or_pattern(path: Path) -> None:
    for names, wanted in (
        ("layers.*", ["layers.0.w", "layers.1.w", "layers.10.w"]),
        (["layers.[01].w", "head"], ["layers.0.w", "layers.1.w", "head"]),
        (["head"], ["head"]),
        ([], []),
    ):
        for how in ({}, {"verify": False}, {"map": True}, {"map": True, "verify": False}):
            loaded = zten.numpy.load_file(path, names=names, **how)  # type: ignore[arg-type]
            assert list(loaded) == wanted
            assert all(np.array_equal(loaded[name], ARRAYS[name]) for name in wanted)
    with pytest.raises(KeyError, match="no name of a tensor matches"):
        zten.numpy.load_file(path, names=["head", "layer.*"])


def test_what_is_not_loaded_is_not_verified(path: Path) -> None:
    with zten.open(path) as file:
        offset = file["layers.1.w"].components["data"].offset
    with path.open("r+b") as file_of_path:
        file_of_path.seek(offset)
        file_of_path.write(b"\1")
    for how in ({}, {"map": True}):
        assert list(zten.numpy.load_file(path, names="head", **how)) == ["head"]  # type: ignore[arg-type]
        with pytest.raises(zten.Invalid):
            zten.numpy.load_file(path, names="layers.1.w", **how)  # type: ignore[arg-type]


def test_progress_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from zten import _load

    monkeypatch.setattr(_load, "_STEP", 200)
    total = sum(array.nbytes for array in ARRAYS.values())
    for verify in (True, False):
        told: list[tuple[int, int]] = []
        loaded = zten.numpy.load_file(path, verify=verify, progress=lambda done, all: told.append((done, all)))
        assert all(np.array_equal(loaded[name], array) for name, array in ARRAYS.items())
        assert told[-1] == (total, total) and told == sorted(told) and len(told) >= 3

    class Stop(Exception): ...

    def stop(done: int, all: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        zten.numpy.load_file(path, progress=stop)


def test_metadata_is_saved(path: Path) -> None:
    with zten.open(path) as file:
        assert file.attributes == {"format": "np", "step": 7}
    with pytest.raises(TypeError, match="metadata 'step' is 7, expected text"):
        zten.numpy.save({}, metadata={"step": 7})  # type: ignore[dict-item]


def test_safe_open_is_a_collection(path: Path) -> None:
    with zten.safe_open(path) as file:
        assert "head" in file and "none" not in file and 7 not in file
        assert list(file) == list(ARRAYS) == file.keys() and len(file) == 4
        part = file.get_slice("layers.0.w")
        assert len(part) == 10 and "layers.0.w" in repr(part) and str(path) in repr(file)
        assert part[[1, 3]].tolist() == ARRAYS["layers.0.w"][[1, 3]].tolist()


def test_everything_has_a_repr(path: Path, tmp_path: Path) -> None:
    with zten.open(path) as file, zten.create(tmp_path / "new.zt") as writer:
        tensor = file["head"]
        for one in (file, tensor, tensor[1:], tensor.components["data"], writer, zten.safe_open(path)):
            assert " at 0x" not in repr(one), one


def test_rules_are_explained() -> None:
    rule = zten.explain("digest-mismatch")
    assert rule.id == "digest-mismatch" and rule.clause and rule.holds and rule.advice
    assert "digest-mismatch" in str(rule)
    for rule_id in ("limit-decoded", "unsupported-type", "zip-crc", "list-changed"):
        assert zten.explain(rule_id).id == rule_id
    with pytest.raises(KeyError, match="no rule has the id"):
        zten.explain("digest")
    with pytest.raises(TypeError, match="expected the id of a rule"):
        zten.explain(7)  # type: ignore[arg-type]


def test_one_path_is_no_batch(path: Path) -> None:
    for one in (str(path), path, b"w.zt"):
        with pytest.raises(TypeError, match="expected an iterable of paths"):
            zten.check_batch(one)  # type: ignore[arg-type]


@pytest.mark.skipif(shutil.which("mypy") is None, reason="mypy is not installed")
def test_types_of_the_package_are_strict(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(
        "import zten\n\n"
        "tensors = zten.torch.load_file('w.zt', 'cpu', names=['a.*'])\n"
        "zten.torch.save_file(tensors, 'v.zt', metadata={'a': 'b'}, generation='2')\n"
        "arrays = zten.numpy.load_file('w.zt', limits={'decoded': '8GiB'}, progress=print)\n"
        "tensor = zten.open('w.zt')['w']\n"
        "rows = tensor[[0, 5, 7], ..., 1:].numpy()\n"
        "values = tensor[:10].dequantize() + tensor.dequantize()[:10].mean()\n"
        "total: float = float(tensor[0, 0]) + float(tensor.dequantize().numpy().sum())\n"
        "half = tensor.torch(dtype='bf16')\n"
        "zten.numpy.save_file(arrays, 'w.zt', generation=2)\n"
        "try:\n    tensor = zten.open('w.zt')['v']\nexcept zten.MissingTensor as error:\n    print(error.object)\n"
        "statistics = zten.stat('w.zt', names='a.*')['a.w'].statistics\n"
        "if statistics is not None and statistics.mean is not None:\n    total += statistics.mean\n"
        "changed = zten.diff('w.zt', 'w.gguf', names=['a.*'], rtol=1e-3).changed['a.w'].elements\n"
        "if changed is not None and changed.max is not None:\n    total += changed.max\n"
        "text: str = zten.hash('w.zt', content='sha256').text + str(zten.open('w.zt').summary())\n"
        "zten.torch.load_file('~/w.gguf', map=False, dequantize='bf16', progress=True)\n"
        "print(zten.explain('digest-mismatch').advice, zten.check('w.zt').verdict)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "user.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )
    assert ended.returncode == 0, ended.stdout


@needs_torch
def test_models_are_saved_and_loaded(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")

    class Model(torch.nn.Module):  # type: ignore[misc, name-defined, valid-type, unused-ignore]
        def __init__(self, size: int = 5) -> None:
            super().__init__()
            self.embed = torch.nn.Embedding(8, size)
            self.norm = torch.nn.LayerNorm(size)
            self.head = torch.nn.Linear(size, 8, bias=False)
            self.head.weight = self.embed.weight
            self.register_buffer("mask", torch.ones(3, dtype=torch.bool))

    path = tmp_path / "m.zt"
    for generation in ("1.2", "2"):
        model, other = Model(), Model()
        zten.torch.save_model(model, path, {"format": "pt"}, generation=generation)
        with zten.open(path) as file:
            assert file.attributes == {"format": "pt"}
            assert ("head.weight" in file) == (generation == "2")
        assert zten.torch.load_model(other, path, device="cpu") == ([], [])
        for name, tensor in model.state_dict().items():
            assert torch.equal(tensor, other.state_dict()[name]), name
        assert other.head.weight is other.embed.weight
    with pytest.raises(zten.Unsupported, match=r"'embed.weight' has the shape \(8, 5\), expected \(8, 6\)") as raised:
        zten.torch.load_model(Model(6), path)
    assert raised.value.file == str(path)
    zten.torch.save_file({"norm.weight": torch.ones(5), "more": torch.ones(1)}, path)
    with pytest.raises(zten.Unsupported, match="no tensor 'embed.weight'.*'more' is not one of the module"):
        zten.torch.load_model(Model(), path)
    missing, unexpected = zten.torch.load_model(Model(), path.read_bytes(), strict=False)
    assert unexpected == ["more"] and "embed.weight" in missing and "norm.weight" not in missing


@needs_torch
def test_tensors_are_loaded_to_a_device_by_name(path: Path) -> None:
    torch: Any = pytest.importorskip("torch")

    told: list[tuple[int, int]] = []
    loaded = zten.torch.load_file(path, "cpu", names="layers.*", progress=lambda *now: told.append(now))
    assert list(loaded) == ["layers.0.w", "layers.1.w", "layers.10.w"]
    assert told[-1][0] == told[-1][1] > 0 and len(told) == 2
    assert zten.torch.load_file(path, device="meta")["head"].device.type == "meta"
    assert zten.torch.load(path.read_bytes(), "cpu").keys() == ARRAYS.keys()
    assert torch.equal(torch.from_dlpack(zten.open(path)["layers.0.w"]), torch.from_numpy(ARRAYS["layers.0.w"]))
