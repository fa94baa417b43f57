"""Tests of patches between files, and between arrays in memory."""

from __future__ import annotations

import hashlib
import importlib.util
import random
import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zten
import zten.numpy
import zten.patch
from zten import _types

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")

Arrays = dict[str, Any]
DTYPES = sorted(_types._NUMPY)
SUFFIXES = ["zt", "safetensors", "npz"]
# The dtypes of zTensor files that safetensors files do not have.
ONLY_ZT = {"complex128", "f8_e4m3fnuz", "f8_e5m2fnuz"}
NUMPY_OWN = {name for name in DTYPES if name not in _types.SMALL_FLOATS}


def elements(dtype: str, count: int, seed: int) -> Any:
    """Returns an array of ``count`` elements of the dtype that zTensor calls ``dtype``. ``seed`` decides the random bits of the
    elements, which are valid for the dtype."""
    own = _types.numpy_dtype(dtype)
    content = np.random.default_rng(seed).integers(0, 256, count * own.itemsize, np.uint8)
    if dtype in ("bool", "f4_e2m1"):
        content &= 1 if dtype == "bool" else 15
    return content.view(own)


def stepped(array: Any, share: float, seed: int) -> Any:
    """Returns a copy of ``array`` in which the lowest bit of some bytes is flipped: of each byte with the probability ``share``."""
    changed = array.copy()
    content = changed.reshape(-1).view(np.uint8)
    content ^= (np.random.default_rng(seed).random(len(content)) < share).astype(np.uint8)
    return changed


def pair(share: float = 0.02, dtypes: list[str] = DTYPES, count: int = 7000) -> tuple[Arrays, Arrays]:
    """Returns an old and a new model: a tensor of ``count`` elements for each of ``dtypes``, in which each byte has changed with
    the probability ``share``, and three tensors that have not changed."""
    old = {dtype: elements(dtype, count, at).reshape(7, 100, -1) for at, dtype in enumerate(dtypes)}
    new = {dtype: stepped(array, share, at) for at, (dtype, array) in enumerate(old.items())}
    for model in (old, new):
        model["same"] = np.arange(10, dtype=np.int32)
        model["empty"] = np.zeros((0, 3), np.float32)
        model["scalar"] = np.array(3.5)
    return old, new


def assert_equal(found: Arrays, expected: Arrays) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape), name
        assert found[name].tobytes() == array.tobytes(), name


def copied(model: Arrays) -> Arrays:
    return {name: array.copy() for name, array in model.items()}


def saved(model: Arrays, path: Path) -> Path:
    how: Any = {"generation": "2"} if path.suffix == ".zt" else {}
    zten.numpy.save_file(model, path, **how)
    return path


@pytest.mark.parametrize("share", [0, 0.0001, 0.02, 1])
@pytest.mark.parametrize("sides", ["arrays", "old", "new", "files"])
def test_every_dtype_between_files_and_arrays(share: float, sides: str, tmp_path: Path) -> None:
    # Arrays get more elements than one frame of a patch describes, so that several frames are used.
    old, new = pair(share, count=70_000 if sides == "arrays" else 7000)
    before = saved(old, tmp_path / "old.zt")
    after: Any = saved(new, tmp_path / "new.zt") if sides in ("new", "files") else new
    made = zten.patch.make(before if sides in ("old", "files") else old, after, tmp_path / "p.zt")
    # With the share 0.0001, it can happen that no element changes.
    assert share == 0.0001 or (made.changed > 0) == (share > 0)
    assert made.changed + made.unchanged == len(new)
    assert (made.whole, made.removed, made.renamed) == (0, 0, 0)

    identity = zten.patch.apply(old if sides == "arrays" else before, tmp_path / "p.zt", tmp_path / "out.zt")
    assert_equal(zten.numpy.load_file(tmp_path / "out.zt"), new)
    assert identity == made.result == zten.open(tmp_path / "out.zt").identity()

    in_place = copied(old)
    assert zten.patch.update(in_place, tmp_path / "p.zt") == identity
    assert_equal(in_place, new)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("target", SUFFIXES)
def test_every_format(suffix: str, target: str, tmp_path: Path) -> None:
    both = (suffix, target)
    names = [name for name in DTYPES if "safetensors" not in both or name not in ONLY_ZT]
    names = [name for name in names if "npz" not in both or name in NUMPY_OWN]
    old, new = pair(dtypes=names)
    path = saved(old, tmp_path / f"old.{suffix}")
    zten.patch.make(path, new, tmp_path / "p.zt")
    # Generation 1.2 has no f4_e2m1.
    generation: Any = "2" if target == "zt" else None
    zten.patch.apply(path, tmp_path / "p.zt", tmp_path / f"new.{target}", generation=generation)
    assert_equal(zten.numpy.load_file(tmp_path / f"new.{target}"), new)
    # The output may be the path of the old model, which it then replaces.
    if suffix == target:
        zten.patch.apply(path, tmp_path / "p.zt", path)
        assert path.read_bytes() == (tmp_path / f"new.{target}").read_bytes()


def test_attributes_of_a_file_are_kept_if_arrays_have_none(tmp_path: Path) -> None:
    old, new = pair(dtypes=["f32"])
    zten.numpy.save_file(old, tmp_path / "old.safetensors", metadata={"format": "pt"})
    zten.patch.make(tmp_path / "old.safetensors", new, tmp_path / "p.zt")
    assert zten.patch.show(tmp_path / "p.zt").attributes is None
    assert zten.patch.show(tmp_path / "p.zt").format == "safetensors"
    zten.patch.apply(tmp_path / "old.safetensors", tmp_path / "p.zt", tmp_path / "new.safetensors")
    with zten.open(tmp_path / "new.safetensors") as file:
        assert file.attributes == {"format": "pt"}
    zten.numpy.save_file(new, tmp_path / "new.zt", attributes={"step": 7})
    zten.patch.make(old, tmp_path / "new.zt", tmp_path / "q.zt")
    assert zten.patch.show(tmp_path / "q.zt").attributes == {"step": 7}


def test_chains_and_changed_names(tmp_path: Path) -> None:
    models = [pair(dtypes=["f32", "bf16", "i8"])[0]]
    for step in range(3):
        models.append({name: stepped(array, 0.01, step) for name, array in models[-1].items()})
    # The last patch adds, removes and renames tensors, and changes types.
    last = dict(models[-1])
    last["added"], last["moved"] = np.arange(3), last.pop("f32")
    last["i8"] = last["i8"].astype(np.int16)
    del last["empty"]
    models.append(last)
    patches = []
    for step, (old, new) in enumerate(zip(models, models[1:])):
        patches.append(tmp_path / f"{step}.zt")
        made = zten.patch.make(old, new, patches[-1])
    assert (made.whole, made.removed, made.renamed) == (2, 1, 1)
    shown = zten.patch.show(patches[-1])
    assert shown.removed == ("empty",) and shown.renamed == {"f32": "moved"}
    assert [own.name for own in shown.whole] == ["i8", "added"]
    assert shown.whole[1].type == "i64[3]" and shown.result == made.result
    assert [own.type for own in zten.patch.show(patches[0]).changed][0] == "f32[7,100,10]"

    verified = zten.patch.verify(models[0], patches)
    assert (verified.base, verified.result) == (zten.patch.show(patches[0]).base, made.result)
    assert verified.tensors == len(last)
    zten.patch.apply(models[0], patches, tmp_path / "out.zt")
    assert_equal(zten.numpy.load_file(tmp_path / "out.zt"), last)

    tensors = copied(models[0])
    zten.patch.update(tensors, patches[:-1])
    assert_equal(tensors, models[-2])
    with pytest.raises(zten.Unsupported, match="removes it|another name|adds it"):
        zten.patch.update(tensors, patches[-1])
    assert_equal(tensors, models[-2])
    with pytest.raises(zten.Invalid) as raised:
        zten.patch.verify(models[0], patches[::-1])
    assert raised.value.rule == "patch-base"


def check_unchanged(old: Arrays, patch: Any, tmp_path: Path) -> zten.Error:
    """Checks that each way of using a patch raises a :class:`zten.Error` and changes nothing. Returns the error of
    ``zten.patch.update``."""
    target = tmp_path / "target.zt"
    target.write_bytes(b"as it was")
    tensors = copied(old)
    errors = []
    for use in (
        lambda: zten.patch.apply(old, patch, target),
        lambda: zten.patch.update(tensors, patch),
        lambda: zten.patch.verify(old, patch),
    ):
        with pytest.raises(zten.Error) as raised:
            use()
        errors.append(raised.value)
    assert_equal(tensors, old)
    assert target.read_bytes() == b"as it was"
    assert {path.name for path in tmp_path.iterdir()} <= {"target.zt", "p.zt"}
    return errors[1]


def test_a_wrong_base_and_a_patch_that_was_applied_already(tmp_path: Path) -> None:
    old, new = pair()
    zten.patch.make(old, new, tmp_path / "p.zt")
    error = check_unchanged(new, tmp_path / "p.zt", tmp_path)
    assert error.rule == "patch-base" and "applied already" in str(error)
    for name in ("f32", "same"):
        other = copied(old)
        other[name].reshape(-1)[-1] = 99
        assert check_unchanged(other, tmp_path / "p.zt", tmp_path).rule == "patch-base"
    for other in ({**old, "more": np.zeros(2)}, {name: old[name] for name in old if name != "bf16"}):
        assert check_unchanged(other, tmp_path / "p.zt", tmp_path).rule == "patch-base"
    retyped = {**old, "f32": old["f32"].view(np.int32)}
    assert check_unchanged(retyped, tmp_path / "p.zt", tmp_path).rule == "patch-base"


def test_cut_and_damaged_patches(tmp_path: Path) -> None:
    old, new = pair(dtypes=["f32", "bf16", "bool", "f8_e4m3fn"])
    zten.patch.make(old, new, tmp_path / "p.zt")
    content = (tmp_path / "p.zt").read_bytes()
    rng = random.Random(5)
    for length in [0, 1, 7, 8, len(content) - 1, *(rng.randrange(len(content)) for _ in range(12))]:
        check_unchanged(old, content[:length], tmp_path)
    rejected = 0
    places = [at for at, byte in enumerate(content) if byte]
    for at in rng.sample(places, 150):
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.randrange(8)
        # A changed byte that no rule covers, such as padding, has no effect, so `update` may also give the right result.
        tensors = copied(old)
        try:
            zten.patch.update(tensors, bytes(damaged))
        except zten.Error:
            rejected += 1
            assert_equal(tensors, old)
        else:
            assert_equal(tensors, new)
    assert rejected > 140
    for other in (zten.numpy.save(old, generation="2"), zten.numpy.save(old, format="safetensors"), b"PK", b"\x80\x02"):
        check_unchanged(old, other, tmp_path)
    with pytest.raises(zten.Invalid) as raised:
        zten.patch.show(zten.numpy.save(old, generation="2"))
    assert raised.value.rule == "patch-file"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_patch_that_makes_invalid_bools(suffix: str, tmp_path: Path) -> None:
    """A patch whose digests all match is rejected, and changes nothing, if a bool of its result is neither 0 nor 1."""
    bits = np.arange(8, dtype=np.uint8) % 2
    old, new = {"w": bits.astype(np.bool_)}, bits * 2
    zten.patch.make({"w": bits}, {"w": new}, tmp_path / "p.zt")
    with zten.open(tmp_path / "p.zt") as file:
        attributes, chunks = file.attributes, {name: tensor.numpy() for name, tensor in file.items()}
    record = attributes["zten.patch"]
    record["changed"][0]["kind"] = "bool[8]"
    for side, content in ("base", bits), ("result", new):
        digest = hashlib.sha256(content.tobytes()).hexdigest()
        line = f"# zten digests 1\n{digest}  8  bool[8]  w/data\n"
        record[side] = hashlib.sha256(line.encode()).digest()
    hostile = zten.numpy.save(chunks, attributes=attributes, generation="2")
    with pytest.raises(zten.Error):
        zten.patch.apply(old, hostile, tmp_path / f"new.{suffix}")
    assert not (tmp_path / f"new.{suffix}").exists()
    with pytest.raises(zten.Error, match="bool"):
        zten.patch.update(old, hostile)
    assert old["w"].view(np.uint8).tolist() == bits.tolist()


def test_arrays_that_need_a_copy(tmp_path: Path) -> None:
    base = np.arange(60_000, dtype=np.float32).reshape(200, 300)
    old = {
        "columns": np.asfortranarray(base),
        "rows": base[::2],
        "big": base.astype(">f4"),
        "list": [[1.5, 2.5], [3.5, 4.5]],
        "buffer": memoryview(bytearray(b"abcdef")),
        "f4": elements("f4_e2m1", 77, 1),
    }
    new: Arrays = {name: np.array(value) + 1 if name not in ("f4", "buffer") else np.array(value) for name, value in old.items()}
    new["f4"] = elements("f4_e2m1", 77, 2)
    new["big"] = new["big"].astype("<f4")
    made = zten.patch.make(old, new, tmp_path / "p.zt")
    assert made.changed == 5
    zten.patch.apply(old, tmp_path / "p.zt", tmp_path / "new.zt")
    assert_equal(zten.numpy.load_file(tmp_path / "new.zt"), new)
    with pytest.raises(TypeError, match="'list'.*in place"):
        zten.patch.update(old, tmp_path / "p.zt")

    own = {name: old[name] for name in ("columns", "rows", "big", "f4")}
    with pytest.raises(zten.Invalid):
        zten.patch.update(own, tmp_path / "p.zt")
    zten.patch.make(own, {name: new[name] for name in own}, tmp_path / "q.zt")
    zten.patch.update(own, tmp_path / "q.zt")
    for name, array in own.items():
        assert np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes() == new[name].tobytes(), name


def test_arrays_that_share_memory(tmp_path: Path) -> None:
    base = np.arange(1000, dtype=np.float32)
    tied = {"one": base, "other": base.view(), "alone": base.copy()}
    new = stepped(base, 0.1, 3)
    zten.patch.make(tied, {"one": new, "other": new, "alone": base}, tmp_path / "p.zt")
    zten.patch.update(tied, tmp_path / "p.zt")
    assert base.tobytes() == new.tobytes() and tied["other"].tobytes() == new.tobytes()
    # This patch gives the tensors "one" and "other", which share their memory, different elements.
    zten.patch.make(tied, {**tied, "one": new * 2}, tmp_path / "q.zt")
    with pytest.raises(zten.Unsupported, match="shares its memory"):
        zten.patch.update(tied, tmp_path / "q.zt")
    assert base.tobytes() == new.tobytes()
    with pytest.raises(ValueError, match="share a part"):
        zten.patch.update({"one": base, "part": base[10:]}, tmp_path / "p.zt")
    repeated = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (3,), (0,))
    zten.patch.make({"w": repeated}, {"w": np.arange(3, dtype=np.float32)}, tmp_path / "r.zt")
    with pytest.raises(ValueError, match="elements of it share their memory"):
        zten.patch.update({"w": repeated}, tmp_path / "r.zt")
    assert repeated.tolist() == [0, 0, 0]
    base.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        zten.patch.update({"one": base}, tmp_path / "p.zt")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (np.array(["a"]), TypeError), (np.array([object()]), TypeError), (np.zeros(2, "datetime64[s]"), TypeError),
        (np.ma.masked_array([1.0], [True]), TypeError), ("text", TypeError),
    ],
)
def test_values_that_are_no_tensors(value: Any, kind: type[Exception], tmp_path: Path) -> None:
    for old, new in (({"w": value}, {}), ({}, {"w": value})):
        with pytest.raises(kind, match="'w'"):
            zten.patch.make(old, new, tmp_path / "p.zt")
    with pytest.raises(TypeError, match="not text"):
        zten.patch.make({1: np.zeros(2)}, {}, tmp_path / "p.zt")  # type: ignore[dict-item]
    assert not list(tmp_path.iterdir())


def test_arguments(tmp_path: Path) -> None:
    old, new = pair(dtypes=["f32"])
    path = tmp_path / "p.zt"
    small = zten.patch.make(old, new, path, zstd=5)
    with pytest.raises(FileExistsError):
        zten.patch.make(old, new, path, overwrite=False)
    with pytest.raises(FileExistsError):
        zten.patch.apply(old, path, path, overwrite=False)
    for level in (0, 6):
        with pytest.raises(ValueError, match="zstd"):
            zten.patch.make(old, new, path, zstd=level)
    with pytest.raises(ValueError, match="generation"):
        zten.patch.apply(old, path, tmp_path / "new.safetensors", generation="2")
    for own in ("1.2", "2"):
        zten.patch.apply(old, path, tmp_path / "new.zt", generation=own)
        assert zten.open(tmp_path / "new.zt").generation == own
    with pytest.raises(ValueError, match="gguf"):
        zten.patch.apply(old, path, tmp_path / "new.gguf")
    with pytest.raises(FileNotFoundError):
        zten.patch.apply(old, tmp_path / "missing.zt", tmp_path / "new.zt")
    with pytest.raises(FileNotFoundError):
        zten.patch.make(tmp_path / "missing.zt", new, path)
    with pytest.raises(zten.LimitExceeded):
        zten.patch.show(path, limits={"manifest": 16})
    assert zten.patch.apply(old, [], tmp_path / "same.zt") is None
    assert_equal(zten.numpy.load_file(tmp_path / "same.zt"), old)
    with open(path, "rb") as file:
        assert zten.patch.show(file).result == small.result
    for source in (path.read_bytes(), str(path), [path.read_bytes()]):
        assert zten.patch.verify(old, source).result == small.result


def test_other_threads_run_while_a_patch_is_made(tmp_path: Path) -> None:
    old = {"w": np.zeros(32 << 20, np.uint8)}
    new = {"w": np.ones(32 << 20, np.uint8)}
    done = threading.Event()
    turns = 0

    def count() -> None:
        nonlocal turns
        while not done.wait(0.001):
            turns += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        zten.patch.make(old, new, tmp_path / "p.zt")
    finally:
        done.set()
        thread.join()
    assert turns > 1


@needs_torch
def test_tensors_of_torch(tmp_path: Path) -> None:
    import torch

    names = [dtype for dtype in ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64", "uint8", "bool", "complex64")]
    old, new = {}, {}
    for at, name in enumerate(names):
        dtype = getattr(torch, name)
        content = torch.from_numpy(np.random.default_rng(at).integers(0, 2, 3000 * dtype.itemsize, np.uint8))
        old[name] = content.view(dtype).reshape(30, 100)
        flipped = content.clone()
        flipped[:: 7 * dtype.itemsize] ^= 1
        new[name] = flipped.view(dtype).reshape(30, 100)
    weight = torch.nn.Parameter(torch.randn(40, 50))
    old["parameter"], new["parameter"] = weight, weight.detach() * 1.01
    old["transposed"], new["transposed"] = torch.randn(50, 40).T, torch.randn(40, 50)
    old["tied"], new["tied"] = old["float32"], new["float32"]

    made = zten.patch.make(old, new, tmp_path / "p.zt")
    assert made.changed == len(new)
    zten.patch.apply(old, tmp_path / "p.zt", tmp_path / "new.safetensors")
    loaded = zten.torch.load_file(tmp_path / "new.safetensors")
    places = {name: tensor.data_ptr() for name, tensor in old.items()}
    zten.patch.update(old, tmp_path / "p.zt")
    for name, tensor in new.items():
        for found in (loaded[name], old[name].detach()):
            assert found.dtype == tensor.dtype
            assert torch.equal(found.contiguous().view(torch.uint8), tensor.contiguous().view(torch.uint8)), name
        assert old[name].data_ptr() == places[name]
    assert weight.requires_grad and old["parameter"] is weight
    with pytest.raises(zten.Invalid, match="applied already"):
        zten.patch.update(old, tmp_path / "p.zt")
    with pytest.raises(zten.Unsupported, match="sparse"):
        zten.patch.make({"w": torch.eye(3).to_sparse()}, {}, tmp_path / "q.zt")
    with pytest.raises(TypeError):
        zten.patch.make({"w": torch.empty(3, device="meta")}, {}, tmp_path / "q.zt")
    expanded = {"w": torch.zeros(1).expand(3), "x": torch.zeros(2)}
    zten.patch.make(expanded, {"w": torch.ones(3), "x": torch.ones(2)}, tmp_path / "q.zt")
    with pytest.raises(ValueError, match="elements of it share their memory"):
        zten.patch.update(expanded, tmp_path / "q.zt")
    assert not expanded["w"].any() and not expanded["x"].any()
    views = {"whole": weight, "part": weight[:2]}
    with pytest.raises(ValueError, match="share a part"):
        zten.patch.update(views, tmp_path / "p.zt")
