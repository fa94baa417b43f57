"""Tests of the interface of safetensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open as reference
from safetensors.numpy import save_file

import zten


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    arrays: dict[str, Any] = {
        "a": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
        "b": np.arange(5, dtype=np.int64),
        "c": np.array([True, False]),
        "d": np.arange(6, dtype=np.float16).reshape(3, 2),
    }
    save_file(arrays, tmp_path / "w.safetensors", metadata={"format": "np", "x": "y"})
    zten.numpy.save_file(arrays, tmp_path / "w.zt", attributes={"format": "np", "x": "y"})
    return tmp_path / "w.safetensors", tmp_path / "w.zt"


def test_it_gives_what_safetensors_gives(files: tuple[Path, Path]) -> None:
    theirs, ours = files
    with reference(theirs, framework="np") as one, zten.safe_open(ours, framework="np") as other:
        assert sorted(one.keys()) == sorted(other.keys()) == sorted(other.offset_keys())
        assert one.metadata() == other.metadata()
        for name in one.keys():
            np.testing.assert_array_equal(one.get_tensor(name), other.get_tensor(name))
            slices = one.get_slice(name), other.get_slice(name)
            assert slices[0].get_shape() == slices[1].get_shape()
            assert slices[0].get_dtype() == slices[1].get_dtype()
            for index in (slice(0, 1), slice(1, None), slice(None), Ellipsis):
                np.testing.assert_array_equal(slices[0][index], slices[1][index])
        np.testing.assert_array_equal(one.get_slice("a")[:, 1:, 2], other.get_slice("a")[:, 1:, 2])


def test_what_is_no_text_is_json(tmp_path: Path) -> None:
    zten.numpy.save_file({}, tmp_path / "w.zt", attributes={"a": [1, None], "b": "text"})
    with zten.safe_open(tmp_path / "w.zt") as file:
        assert file.metadata() == {"a": "[1,null]", "b": "text"} and file.keys() == []
    zten.numpy.save_file({}, tmp_path / "w.zt")
    assert zten.safe_open(tmp_path / "w.zt").metadata() is None
    with pytest.raises(ValueError, match="framework"):
        zten.safe_open(tmp_path / "w.zt", framework="x")


@pytest.mark.parametrize(
    "index",
    [0, -1, slice(None), slice(2, 0), slice(None, None, -1), slice(5, None, -2), slice(1, 6, 3), ...,
     (..., 1), (1, ...), (slice(1, 2), slice(None, None, 2)), (0, 1, 2), (slice(0, 0), 1), ()],
)
def test_an_index_means_what_it_means_to_numpy(index: Any, tmp_path: Path) -> None:
    array = np.arange(7 * 5 * 4, dtype=np.int16).reshape(7, 5, 4)
    for zstd in (None, 1):
        zten.numpy.save_file({"w": array}, tmp_path / "w.zt", zstd=zstd)
        with zten.open(tmp_path / "w.zt") as file:
            part = file["w"][index]
            assert part.shape == array[index].shape and part.dtype == "i16"
            np.testing.assert_array_equal(part.numpy(), array[index])
            np.testing.assert_array_equal(part.numpy(verify=True), array[index])


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<i2", ">u8", "?", "u1"])
def test_columns_of_many_rows_are_those_of_numpy(dtype: str, tmp_path: Path) -> None:
    """Slices of arrays with many rows have the elements that NumPy returns for the same index, whether the pieces of the rows are
    close enough to be read together or are read one by one."""
    rng = np.random.default_rng(0)
    for shape in ((901, 21), (5, 203, 7), (1, 901, 3, 4), (41, 3001), (7, 3, 2500)):
        array = rng.integers(0, 2 if dtype == "?" else 100, shape).astype(dtype)
        np.save(tmp_path / "w.npy", array)
        for source in (tmp_path / "w.npy", (tmp_path / "w.npy").read_bytes()):
            with zten.open(source) as file:
                (name,) = file
                for index in (
                    (..., slice(1, 3)), (..., 0), (slice(1, None), ..., slice(0, 1)), (slice(3, -1), ..., -1),
                    (0, ..., slice(1, 2)), (slice(None, None, 2), ..., slice(0, 2)), (slice(None), 1),
                    (slice(None), slice(1, 2)), (..., slice(None, None, -2)), (..., slice(2, 2)),
                ):
                    np.testing.assert_array_equal(file[name][index].numpy(), array[index])


def test_the_first_wrong_bool_of_many_rows_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    zten.numpy.save_file({"w": np.zeros((9000, 3), np.bool_)}, path)
    with zten.open(path) as file:
        offset = file["w"].components["data"].offset
    content = bytearray(path.read_bytes())
    for row in (8999, 4501, 1200):
        content[offset + row * 3 + 1] = 2
        path.write_bytes(content)
        with zten.open(path) as file, pytest.raises(zten.Invalid) as raised:
            file["w"][:, 1].numpy()
        assert (raised.value.rule, raised.value.offset) == ("bool-value", offset + row * 3 + 1)


def test_a_slice_of_a_mapped_file_is_a_view(tmp_path: Path) -> None:
    array = np.arange(7 * 5, dtype=np.int32).reshape(7, 5)
    zten.numpy.save_file({"w": array}, tmp_path / "w.zt")
    with zten.open(tmp_path / "w.zt", map=True) as file:
        for index in (slice(2, 5), (slice(None, None, -2), slice(1, 3)), 3):
            part = file["w"][index].numpy()
            np.testing.assert_array_equal(part, array[index])
            assert np.shares_memory(part, file["w"].numpy()) and not part.flags.writeable


def test_other_indices_are_rejected(tmp_path: Path) -> None:
    zten.numpy.save_file({"w": np.zeros((2, 3))}, tmp_path / "w.zt")
    with zten.open(tmp_path / "w.zt") as file:
        wrong: Any
        for wrong, kind in (
            (2, IndexError), (-3, IndexError), ((0, 0, 0), IndexError), ((..., ...), IndexError),
            (None, TypeError), ("a", TypeError), ([2], IndexError), (True, TypeError), (1.0, TypeError),
        ):
            with pytest.raises(kind):
                file["w"][wrong]


def test_a_slice_reads_its_bytes_alone(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    zten.numpy.save_file({"w": np.zeros((4, 16), np.uint8)}, path)
    with zten.open(path) as file:
        at = file["w"].components["data"].offset
    content = bytearray(path.read_bytes())
    content[at + 20] = 1
    path.write_bytes(content)
    with zten.open(path) as file:
        assert file["w"][2:].numpy().sum() == 0
        assert file["w"][1].numpy().sum() == 1
        for read in (
            lambda: file["w"].numpy(), lambda: file["w"][2:].numpy(verify=True), file["w"].verify
        ):
            with pytest.raises(zten.Invalid) as raised:
                read()
            assert raised.value.rule == "digest-mismatch"
        assert file["w"].numpy(verify=False).sum() == 1
    hows: list[dict[str, Any]] = [{}, {"map": True}]
    for how in hows:
        with pytest.raises(zten.Invalid):
            zten.numpy.load_file(path, **how)
        assert zten.numpy.load_file(path, verify=False, **how)["w"].sum() == 1
    with zten.open(path, map=True) as file, pytest.raises(zten.Invalid):
        file["w"].numpy()
