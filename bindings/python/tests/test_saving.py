"""Tests of saving tensors, and of the errors of saving."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zten

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")


class Frame:
    """An object with the methods by which zten recognizes a data frame, and from which NumPy could make an array."""

    def __dataframe__(self) -> None: ...

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        return np.zeros(3)


REJECTED: list[tuple[Any, str]] = [
    (np.ma.masked_array([1, 2], [False, True]), "masked"),
    (Frame(), "data frame"),
    (np.array(["x"]), "no type"),
    (np.zeros(2, np.longdouble), "no type"),
]


@pytest.mark.parametrize(("value", "match"), REJECTED)
def test_what_is_no_tensor_is_rejected_by_its_name(value: Any, match: str, tmp_path: Path) -> None:
    for call in (
        lambda: zten.numpy.save({"good": np.zeros(1), "layers.0": value}),
        lambda: zten.numpy.save_file({"layers.0": value}, tmp_path / "w.zt"),
    ):
        with pytest.raises(TypeError, match=match) as raised:
            call()
        assert str(raised.value).startswith("tensor 'layers.0': ")
    with pytest.raises(TypeError, match="tensor 'q': component 'data': "), zten.create(tmp_path / "w.zt") as writer:
        writer.add_object("q", "later", [2], {"data": value})
    assert list(tmp_path.iterdir()) == []


def test_names_and_attributes_are_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="the name 7 is not text"):
        zten.numpy.save({7: np.zeros(1)})  # type: ignore[dict-item]
    wrongs: list[tuple[dict[Any, Any], type[Exception], str]] = [
        ({"unit": object()}, TypeError, "attribute 'unit': "),
        ({"unit": {"deep": [1, {3j}]}}, TypeError, "attribute 'unit': "),
        ({"unit": 2**64}, OverflowError, "attribute 'unit': "),
        ({"unit": "\ud800"}, ValueError, "attribute 'unit': "),
        ({7: 1}, TypeError, "the attribute key 7 is not text"),
    ]
    for wrong, kind, match in wrongs:
        with pytest.raises(kind, match=f"^tensor 'w': {match}"), zten.create(tmp_path / "w.zt") as writer:
            writer.add("w", np.zeros(1), attributes=wrong)
        with pytest.raises(kind, match=f"^{match}"):
            zten.numpy.save({}, attributes=wrong)


def quantized(**changed: Any) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "shape": (16, 4), "packed_weight": np.zeros((2, 4), np.int32), "scales": np.ones((2, 4), np.float16),
        "zeros": np.zeros((2, 4), np.float16), "bits": 4, "group_size": 8, "packing": "8_per_i32",
    }
    return {**parts, **changed}


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"packing": "9_per_i32"}, "unknown packing '9_per_i32': expected 8_per_i32, 4_per_i32, 2_per_u8, 1_per_u8"),
        ({"bits": 8}, "codes of packing '8_per_i32' have 4"),
        ({"group_size": 0}, "expected 1 or more"),
        ({"shape": (17, 4)}, "a multiple of 8"),
        ({"packed_weight": np.zeros((4, 4), np.int32)}, r"'packed_weight' has the shape \(4, 4\), expected \(2, 4\)"),
        ({"packed_weight": np.zeros((2, 4), np.float32)}, "elements of float32, expected those of i32"),
        ({"scales": np.ones((2, 4, 1))}, r"'scales' has the shape \(2, 4, 1\), expected \(2, 4\)"),
        ({"zeros": np.ones(8)}, r"'zeros' has the shape \(8,\), expected \(2, 4\)"),
    ],
)
def test_quantized_parts_that_do_not_fit_are_rejected(changed: dict[str, Any], match: str, tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    with zten.create(path) as writer:
        writer.add_quantized("q", **quantized())
    assert zten.open(path)["q"].dequantize().shape == (16, 4)
    with pytest.raises(ValueError, match=f"tensor 'q': .*{match}"), zten.create(path) as writer:
        writer.add_quantized("q", **quantized(**changed))


def test_tied_weights_are_stored_once_in_generation_2_and_named_in_1_2(tmp_path: Path) -> None:
    # The array has 1 MiB, more than the 256 KiB that are copied and written at once.
    weights = np.arange(1 << 18, dtype=np.float32).reshape(512, 512)
    tied = {"embed": weights, "head": weights[:], "transposed": weights.T, "other": np.ones(3)}
    path = tmp_path / "w.zt"
    hows: list[dict[str, Any]] = [{}, {"zstd": 3}, {"canonical": True}]
    for how in hows:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            zten.numpy.save_file(tied, path, generation="2", **how)
        assert zten.check(path), zten.check(path)
        with zten.open(path) as file:
            offsets = {name: tensor.components["data"].offset for name, tensor in file.items()}
            assert offsets["embed"] == offsets["head"] != offsets["transposed"]
            for name, array in tied.items():
                assert (file[name].numpy() == array).all()
    with pytest.warns(UserWarning, match="'embed' and 'head' share their memory") as warned:
        zten.numpy.save_file(tied, path)
    assert len(warned) == 1
    assert zten.numpy.load_file(path).keys() == tied.keys()


def test_the_default_digest_is_that_of_the_generation(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    for how, wanted in (({}, "sha256"), ({"generation": "2"}, "xxh3"), ({"generation": "2", "digest": "sha256"}, "sha256")):
        with zten.create(path, **how) as writer:  # type: ignore[arg-type]
            writer.add("w", np.zeros(3))
        with zten.append(path) as writer:
            writer.add("more", np.zeros(3))
        with zten.open(path) as file:
            assert str(file["w"].components["data"].digest).startswith(wanted)
            own = "xxh3" if how else "sha256"
            assert str(file["more"].components["data"].digest).startswith(own)


@needs_torch
def test_sparse_tensors_of_torch(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")
    path = tmp_path / "w.zt"
    dense = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 0.5]])
    uncoalesced = torch.sparse_coo_tensor(torch.tensor([[0, 0], [1, 1]]), torch.tensor([1.0, 1.5]), (2, 3))
    half = dense.to(torch.bfloat16)
    tensors = {
        "coo": dense.to_sparse(), "csr": dense.to_sparse_csr(), "bf16": half.to_sparse(), "twice": uncoalesced,
        "rank": torch.ones(2, 2, 2).to_sparse(), "empty": torch.zeros(2, 3).to_sparse(),
    }
    for generation in ("1.2", "2"):
        zten.torch.save_file(tensors, path, generation=generation)
        assert zten.check(path), zten.check(path)
        with zten.open(path) as file:
            for name, tensor in tensors.items():
                found = file[name].scipy()
                assert found.format == ("csr" if name == "csr" else "coo")
                assert (found.toarray() == tensor.to_dense().float().numpy()).all(), name
    with pytest.raises(TypeError, match="tensor 'w': "):
        zten.torch.save({"v": torch.ones(1, device="meta"), "w": torch.ones(1, device="meta")} | {"v": torch.ones(1)})
    for wrong in (dense.to_sparse_csc(), torch.ones(2, 2).to_sparse(1)):
        with pytest.raises(TypeError, match="tensor 'w': a tensor of layout"):
            zten.torch.save({"w": wrong})


@needs_torch
def test_packed_fp4_of_torch(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")
    if not hasattr(torch, "float4_e2m1fn_x2"):
        pytest.skip("this version has no float4_e2m1fn_x2")
    path = tmp_path / "w.zt"
    codes = torch.arange(12, dtype=torch.uint8).reshape(3, 4) * 19
    packed = codes.view(torch.float4_e2m1fn_x2)
    zten.torch.save_file({"w": packed}, path, generation="2")
    with zten.open(path) as file:
        tensor = file["w"]
        assert (tensor.dtype, tensor.shape) == ("f4_e2m1", (3, 8))
        low, high = codes.numpy() & 15, codes.numpy() >> 4
        assert (tensor.numpy().view(np.uint8) == np.stack([low, high], -1).reshape(3, 8)).all()
        assert tensor.torch().dtype == torch.float4_e2m1fn_x2
        assert torch.equal(tensor.torch().view(torch.uint8), codes)
    assert zten.torch.load_file(path)["w"].shape == packed.shape
    with pytest.raises(TypeError, match="tensor 'w': zTensor 1.2 has no type"):
        zten.torch.save({"w": packed})


def test_wrong_arguments_say_what_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    zten.numpy.save_file({"w": np.zeros(1 << 20, np.uint8)}, path, zstd=3)
    with zten.open(path, limits={"decoded": "8GiB"}) as file:
        assert file._reader.decoded_limits[0] == 8 << 30
        for wrong in (0, slice(2), None):
            with pytest.raises(TypeError, match="expected the name of a tensor"):
                file[wrong]  # type: ignore[index]
    with pytest.raises(zten.LimitExceeded):
        zten.numpy.load_file(path, limits={"decoded": "4K"})
    limits: Any
    for limits, kind, match in (
        ({"decoded": "8 GB"}, ValueError, "limit 'decoded': invalid size \"8 GB\": expected a number of bytes"),
        ({"decoded": -1}, ValueError, "expected a number of bytes, or a text such as"),
        ({"decoded": 1.5}, TypeError, "expected a number of bytes, or a text such as"),
        ({"decoded": True}, TypeError, "limit 'decoded' is True, expected a number of bytes"),
        ({"decode": 1}, ValueError, "expected one of manifest, depth"),
        ({"depth": 300}, ValueError, "limit \"depth\""),
        ("8GiB", TypeError, "expected a mapping"),
    ):
        for open_file in (zten.open, zten.check, zten.numpy.load_file):
            with pytest.raises(kind, match=match):
                open_file(path, limits=limits)
    for how, error, match in (
        ({"generation": 3}, TypeError, 'generation is 3, expected "1.2" or "2"'),
            ({"generation": True}, TypeError, 'generation is True, expected "1.2" or "2"'),
        ({"generation": "3"}, ValueError, 'expected "1.2" or "2"'),
        ({"zstd": 9}, ValueError, "zstd is 9, expected a level from 1 to 5"),
        ({"zstd": 300}, ValueError, "zstd is 300, expected a level from 1 to 5"),
        ({"zstd": "fast"}, TypeError, "zstd is 'fast', expected a level from 1 to 5"),
        ({"digest": "md5"}, ValueError, 'expected "auto", "sha256"'),
    ):
        for save in (
            lambda how: zten.create(tmp_path / "new.zt", **how),
            lambda how: zten.numpy.save_file({}, tmp_path / "new.zt", **how),
            lambda how: zten.convert(path, tmp_path / "new.zt", **how),
        ):
            with pytest.raises(error, match=match):
                save(how)
    assert [file.name for file in tmp_path.iterdir()] == ["w.zt"]


ARRAYS: dict[str, Any] = {
    "b": np.arange(6, dtype=np.int16).reshape(2, 3),
    "a.weight": np.arange(12, dtype=np.float32).reshape(3, 4).T,
    "scalar": np.array(1.5),
    "none": np.zeros((0, 7), np.float64),
    "flags": np.array([True, False]),
    "every": np.arange(8, dtype=np.uint8)[::3],
}


def test_the_suffix_of_a_path_says_the_format_to_write(tmp_path: Path) -> None:
    import safetensors.numpy

    path = tmp_path / "w.safetensors"
    zten.numpy.save_file(ARRAYS, path, metadata={"format": "np"})
    contiguous = {name: np.asarray(array, order="C") for name, array in ARRAYS.items()}
    assert path.read_bytes() == safetensors.numpy.save(contiguous, {"format": "np"})
    assert zten.numpy.save(ARRAYS, metadata={"format": "np"}, format="safetensors") == path.read_bytes()
    zten.numpy.save_file(ARRAYS, tmp_path / "w.NPZ")
    with np.load(tmp_path / "w.NPZ", allow_pickle=False) as members:
        assert members.files == list(ARRAYS)
        for name, array in ARRAYS.items():
            assert members[name].dtype == array.dtype
            assert (members[name] == array).all() and members[name].shape == array.shape
    zten.numpy.save_file({"": ARRAYS["b"]}, tmp_path / "w.npy")
    assert (np.load(tmp_path / "w.npy") == ARRAYS["b"]).all()
    zten.numpy.save_file(ARRAYS, tmp_path / "w.zt")
    assert (tmp_path / "w.zt").read_bytes().startswith(b"ZTEN")
    zten.numpy.save_file(ARRAYS, tmp_path / "w", format="safetensors", metadata={"format": "np"})
    assert (tmp_path / "w").read_bytes() == path.read_bytes()
    for call in (
        lambda: zten.numpy.save_file(ARRAYS, tmp_path / "w.bin"),
        lambda: zten.create(tmp_path / "w.bin"),
        lambda: zten.convert(path, tmp_path / "w.bin"),
    ):
        with pytest.raises(ValueError, match=r"unknown suffix of .*: expected \.zt, \.safetensors, \.npz, \.npy"):
            call()
    with pytest.raises(ValueError, match="format is \"gguf\", expected \"zt\", \"safetensors\""):
        zten.numpy.save(ARRAYS, format="gguf")  # type: ignore[arg-type]
    only_for_zt: list[dict[str, Any]] = [{"generation": "2"}, {"digest": "sha256"}, {"zstd": 3}, {"canonical": True}]
    for option in only_for_zt:
        with pytest.raises(ValueError, match=f"a .safetensors file has no {next(iter(option))}"):
            zten.numpy.save_file(ARRAYS, path, **option)
    zten.numpy.save_file(ARRAYS, path, digest=None)


class Changing(dict[str, Any]):
    """A dictionary of arrays whose ``items`` have the dtype of the arrays, and whose look-up by name returns them as ``int32``."""

    def __getitem__(self, name: str) -> Any:
        return super().__getitem__(name).view(np.int32)


def test_a_dtype_that_changes_after_it_was_declared_is_an_error(tmp_path: Path) -> None:
    for suffix in ("safetensors", "npz", "npy"):
        path = tmp_path / f"w.{suffix}"
        with pytest.raises(ValueError, match="its dtype or shape changed while the file was written"):
            zten.numpy.save_file(Changing(w=np.zeros(3, np.float32)), path)
        assert not path.exists()


@pytest.mark.parametrize("suffix", ["zt", "safetensors", "npz"])
def test_large_arrays_come_back(tmp_path: Path, suffix: str) -> None:
    """Arrays that are larger than the pieces in which they are written have the same elements when they are read again, with each
    kind of digest and in each format."""
    noise = np.random.default_rng(0).integers(0, 2, (17 << 20) + 5, np.uint8)
    arrays = {"plain": noise, "truth": noise[:1 << 20].astype(np.bool_), "every": noise[: 3 << 20 : 3], "small": noise[:9]}
    path = tmp_path / f"w.{suffix}"
    ways: list[dict[str, Any]] = [{"digest": None}]
    if suffix == "zt":
        ways += [{"digest": "sha256"}, {"digest": "crc32c"}, {"generation": "2"}, {"generation": "2", "digest": None}]
    for how in ways:
        zten.numpy.save_file(arrays, path, **how)
        report = zten.check(path)
        assert report, report
        for name, array in zten.numpy.load_file(path).items():
            np.testing.assert_array_equal(array, arrays[name])
        saved = zten.numpy.save(arrays, format=suffix, **how)  # type: ignore[arg-type]
        assert saved == path.read_bytes()
        with zten.create(path, **({} if suffix != "zt" else how)) as writer:
            for name, array in arrays.items():
                writer.add(name, array)
        for name, array in zten.numpy.load_file(path).items():
            np.testing.assert_array_equal(array, arrays[name])


def test_a_writer_of_each_format_takes_tensors_one_by_one(tmp_path: Path) -> None:
    for suffix in ("safetensors", "npz"):
        path, all_at_once = tmp_path / f"w.{suffix}", tmp_path / f"all.{suffix}"
        with zten.create(path) as writer:
            for name, array in ARRAYS.items():
                writer.add(name, array)
            with pytest.raises(ValueError, match="the file already has a tensor \"b\""):
                writer.add("b", ARRAYS["b"])
        zten.numpy.save_file(ARRAYS, all_at_once)
        assert path.read_bytes() == all_at_once.read_bytes()
    with pytest.raises(ZeroDivisionError), zten.create(path) as writer:
        writer.add("a", np.zeros(1))
        raise ZeroDivisionError
    assert path.read_bytes() == all_at_once.read_bytes()
    with pytest.raises(zten.Unsupported, match="a .npy file holds exactly one"), zten.create(tmp_path / "w.npy") as writer:
        writer.add("a", np.zeros(1))
        writer.add("b", np.zeros(1))
    assert not (tmp_path / "w.npy").exists()
    with pytest.raises(zten.Unsupported, match="cannot hold attributes of a tensor"), zten.create(path) as writer:
        writer.add("a", np.zeros(1), attributes={"k": 1})
    with pytest.raises(zten.Unsupported, match="cannot hold the type complex128") as raised:
        zten.numpy.save_file({"z": np.zeros(1, np.complex128)}, tmp_path / "z.safetensors")
    assert raised.value.object == "z"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["all.npz", "all.safetensors", "w.npz", "w.safetensors"]


def test_attributes_survive_a_round_trip_through_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    attributes = {"epoch": 7, "text": "7", "config": {"lr": [1e-3, None, True], "": "ä"}, "large": 2**64 - 1}
    zten.numpy.save_file({"a": np.zeros(1)}, path, attributes=attributes)
    with zten.open(path) as file:
        assert file.attributes == attributes
    for wrong, what in ((b"x", "bytes"), (float("nan"), "a number that is not finite")):
        with pytest.raises(zten.Unsupported, match=f'the attribute "k" holds {what}'):
            zten.numpy.save_file({"a": np.zeros(1)}, path, attributes={"k": wrong})
    with pytest.raises(zten.Unsupported, match='the attribute "k" cannot be written to a .npz file'):
        zten.numpy.save_file({"a": np.zeros(1)}, tmp_path / "w.npz", metadata={"k": "v"})
    with zten.create(tmp_path / "v.safetensors") as writer:
        writer.attributes(attributes)
        writer.add("a", np.zeros(1))
    assert (tmp_path / "v.safetensors").read_bytes() == path.read_bytes()


def test_convert_writes_the_format_of_the_suffix(tmp_path: Path) -> None:
    path, other, again = tmp_path / "w.zt", tmp_path / "w.safetensors", tmp_path / "again.npz"
    zten.numpy.save_file(ARRAYS, path)
    assert zten.convert(path, other) == len(ARRAYS)
    assert zten.convert(other, again) == len(ARRAYS)
    for file in (other, again):
        loaded = zten.numpy.load_file(file)
        assert all((loaded[name] == array).all() for name, array in ARRAYS.items())
    with pytest.raises(FileExistsError) as raised:
        zten.convert(path, other, overwrite=False)
    assert raised.value.filename == str(other)
    zten.convert(path, other, overwrite=True)
    with pytest.raises(zten.Unsupported, match="exactly one"):
        zten.convert(path, tmp_path / "w.npy")
    with zten.create(path) as writer:
        writer.add_quantized("q", **quantized())
    with pytest.raises(zten.Unsupported, match='its layout is "quantized_group", expected dense'):
        zten.convert(path, other)


@needs_torch
def test_save_model_writes_safetensors_that_load_model_reads(tmp_path: Path) -> None:
    import safetensors
    import safetensors.torch
    import torch

    model = torch.nn.ModuleDict({"embed": torch.nn.Linear(3, 4, bias=False), "head": torch.nn.Linear(3, 4, bias=False)})
    model["head"].weight = model["embed"].weight
    path = tmp_path / "w.safetensors"
    zten.torch.save_model(model, path, {"format": "pt"})
    with safetensors.safe_open(path, "pt") as file:
        assert file.metadata() == {"format": "pt", "head.weight": "embed.weight"}
        assert list(file.keys()) == ["embed.weight"]
    missing, unexpected = safetensors.torch.load_model(model, path)
    assert not missing and not unexpected
    zten.torch.save_file({"w": torch.ones(3, 2, dtype=torch.bfloat16).T}, path)
    assert (safetensors.torch.load_file(path)["w"] == torch.ones(2, 3)).all()
