"""Tests that an array never reaches beyond the validated bytes."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import corpus
import ml_dtypes
import numpy as np
import pytest

import zten
from zten import _types

DTYPES = [name for name in _types._NUMPY if name not in ("f8_e8m0", "f4_e2m1")]
SHAPES: list[tuple[int, ...]] = [(), (1,), (0,), (7,), (3, 5), (2, 0, 4), (2, 3, 4, 5), (1,) * 8]


def extent(array: Any) -> tuple[int, int]:
    low, high = np.lib.array_utils.byte_bounds(array)
    return int(low), int(high)


def base_of(array: Any) -> Any:
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", DTYPES)
def test_mapped_arrays_lie_within_their_blob(
    name: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    path = tmp_path / "w.zt"
    count = _types.product(shape)
    array = np.arange(count).astype(_types.numpy_dtype(name)).reshape(shape)
    others = {"before": np.ones(3, np.uint8), "w": array, "z": np.ones(9, np.uint8)}
    zten.numpy.save_file(others, path)
    with zten.open(path, map=True) as file:
        tensor = file["w"]
        mapped = tensor.numpy()
        assert mapped.shape == shape and mapped.dtype == array.dtype
        assert mapped.tobytes() == array.tobytes()
        if not count or name == "bool":
            return
        blob = tensor.components["data"]
        assert blob.stored == array.nbytes == mapped.nbytes
        whole = np.frombuffer(file._buffer(), np.uint8)
        start = extent(whole)[0] + blob.offset
        assert extent(mapped) == (start, start + blob.stored)
        assert isinstance(base_of(mapped), (mmap.mmap, memoryview))
        assert not mapped.flags.writeable
        for part, wanted in ((tensor[..., ::2], array[..., ::2]) if shape else (tensor[()], array),):
            assert part.numpy().tobytes() == wanted.tobytes()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("zstd", [None, 3])
def test_read_arrays_own_exactly_their_bytes(
    name: str, shape: tuple[int, ...], zstd: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "w.zt"
    array = np.arange(_types.product(shape)).astype(_types.numpy_dtype(name)).reshape(shape)
    zten.numpy.save_file({"w": array}, path, zstd=zstd)
    for source in (path, path.read_bytes()):
        for read in (zten.numpy.load_file(source)["w"], zten.open(source)["w"].numpy(verify=False)):
            # The array has memory of its own. If it is small, this is the memory of a bytearray to which nothing else
            # refers.
            assert read.flags.writeable and (
                read.flags.owndata
                or (isinstance(read.base, bytearray) and len(read.base) == array.nbytes)
            )
            assert read.nbytes == array.nbytes and read.shape == shape
            assert read.dtype == array.dtype and read.tobytes() == array.tobytes()


def test_every_mapped_array_of_the_corpus_lies_within_its_blob() -> None:
    checked = 0
    for path in corpus.accepted():
        with zten.open(path, map=True, verify=False) as file:
            for tensor in list(file.values())[:100]:
                if tensor.format != "dense" or any(size >= 1 << 31 for size in tensor.shape):
                    continue
                try:
                    array = tensor.numpy()
                except zten.Unsupported:
                    continue
                blob = tensor.components["data"]
                if not blob._direct or not tensor.size or tensor.dtype == "f4_e2m1":
                    assert base_of(array) is not file._maps.get(False)
                    continue
                start = extent(np.frombuffer(file._buffer(), np.uint8))[0] + blob.offset
                assert extent(array) == (start, start + blob.stored), path
                checked += 1
    assert checked > 150


def test_a_file_that_became_shorter_is_not_viewed(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    zten.numpy.save_file({"w": np.zeros(100_000, np.float32)}, path)
    with zten.open(path, map=True, verify=False) as file:
        with path.open("r+b") as other:
            other.truncate(4096)
        with pytest.raises(OSError, match="shorter"):
            file["w"].numpy()
    with pytest.raises(zten.Invalid):
        zten.open(path)
    zten.numpy.save_file({"w": np.zeros(100_000, np.float32)}, path)
    with zten.open(path) as file:
        with path.open("r+b") as other:
            other.truncate(4096)
        with pytest.raises(OSError, match="shorter"):
            file["w"].numpy()


def test_bytes_that_are_no_whole_elements_are_rejected() -> None:
    with zten.open(corpus.CORPUS / "accept/unsupported-layout--v01-any-size.zt") as file:
        data = file["w"].components["data"]
        assert (data.dtype, data.nbytes, len(data.tobytes())) == ("f32", 15, 15)
        with pytest.raises(zten.Unsupported, match="15 bytes, which are no multiple of 4"):
            data.numpy()


def test_packed_elements_of_every_layout() -> None:
    folder = corpus.CORPUS / "v2/accept"
    with zten.open(folder / "nibbles.zt") as file:
        for tensor in file.values():
            array = tensor.numpy()
            assert array.dtype == ml_dtypes.float4_e2m1fn and array.shape == tensor.shape
            part = tensor[..., 1:].numpy()
            assert part.tobytes() == array[..., 1:].tobytes()
    for name in ("csr-nibbles.zt", "coo-nibbles.zt"):
        with zten.open(folder / name) as file:
            for tensor in file.values():
                sparse = tensor.scipy()
                assert sparse.dtype == np.float32 and sparse.shape == tensor.shape


def test_sparse_indices_stay_within_the_shape() -> None:
    checked = 0
    for path in corpus.accepted():
        with zten.open(path) as file:
            for tensor in list(file.values())[:100]:
                if not tensor.is_sparse or any(size >= 1 << 31 for size in tensor.shape):
                    continue
                sparse = tensor.scipy()
                assert sparse.shape == tensor.shape
                for axis, size in zip(sparse.tocoo().coords, sparse.shape, strict=True):
                    assert len(axis) == 0 or (axis.min() >= 0 and axis.max() < size)
                checked += 1
    assert checked > 50


def test_what_does_not_fit_is_rejected_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    zten.numpy.save_file({"w": np.arange(12, dtype=np.uint8).reshape(3, 4)}, path)
    with zten.open(path) as file:
        reader = file._reader
        for wrong in (11, 13):
            with pytest.raises(ValueError, match="length"):
                reader.read([(0, 0)], [np.empty(wrong, np.uint8)])
            with pytest.raises(ValueError, match="length"):
                reader.read_slice(0, [], np.empty(wrong, np.uint8))
            with pytest.raises(ValueError, match="length"):
                reader.read_object(0, [np.empty(wrong, np.uint8)])
        for ranges in ([(0, 4)], [(2, 1)], [(0, 1), (0, 5)], [(0, 1)] * 3):
            with pytest.raises(IndexError):
                reader.read_slice(0, ranges, np.empty(12, np.uint8))
        read_only = np.empty(12, np.uint8)
        read_only.setflags(write=False)
        with pytest.raises(TypeError):
            reader.read([(0, 0)], [read_only])
        with pytest.raises(TypeError):
            reader.read([(0, 0)], [np.empty(12, np.int8)])
        shared = np.empty(12, np.uint8)
        with pytest.raises(TypeError):
            reader.read([(0, 0), (0, 0)], [shared, shared])
        for ordinal, component in ((1, 0), (0, 1)):
            with pytest.raises((ValueError, KeyError)):
                reader.read([(ordinal, component)], [np.empty(12, np.uint8)])
