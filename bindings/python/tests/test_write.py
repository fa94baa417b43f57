"""Tests of writing and converting files, and of reading them back."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import corpus
import ml_dtypes
import numpy as np
import pytest
import scipy.sparse
from safetensors.numpy import save_file as save_safetensors

import zten
from zten import _types

BF16 = ml_dtypes.bfloat16


def test_every_type_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    names = [name for name in _types._NUMPY if name not in ("f8_e8m0", "f4_e2m1")]
    arrays = {name: np.arange(12).astype(_types.numpy_dtype(name)).reshape(3, 4) for name in names}
    for how in ({}, {"zstd": 3}, {"digest": "crc32c"}, {"digest": None}, {"canonical": True}):
        zten.numpy.save_file(arrays, path, **how)
        assert zten.check(path, canonical="canonical" in how)
        read = zten.numpy.load_file(path)
        assert read.keys() == arrays.keys()
        for name, array in arrays.items():
            assert read[name].dtype == array.dtype and read[name].tobytes() == array.tobytes()
        with zten.open(path) as file:
            assert [file[name].dtype for name in names] == names
            digest = file["f32"].components["data"].digest
            wanted = how.get("digest", "sha256")
            assert (digest is None) == (wanted is None)
            assert digest is None or digest.startswith(str(wanted))
    assert zten.numpy.load(zten.numpy.save(arrays)).keys() == arrays.keys()


def test_every_type_comes_back_in_generation_2(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    arrays = {
        name: np.arange(15).astype(np.float32).clip(1, 6).astype(_types.numpy_dtype(name)).reshape(3, 5)
        for name in _types._NUMPY
    }
    arrays["scalar"], arrays["none"] = np.array(1.5), np.empty((0, 3), np.int8)
    hows: list[dict[str, Any]] = [{}, {"zstd": 3}, {"digest": "xxh3"}, {"digest": None}]
    for how in hows:
        zten.numpy.save_file(arrays, path, generation="2", attributes={"k": [1, "x"]}, **how)
        report = zten.check(path)
        assert report, report
        read = zten.numpy.load_file(path)
        assert read.keys() == arrays.keys()
        for name, array in arrays.items():
            assert read[name].dtype == array.dtype and read[name].shape == array.shape
            assert read[name].tobytes() == array.tobytes(), name
        with zten.open(path, map=True) as file:
            assert file.generation == "2" and file.attributes == {"k": [1, "x"]}
            assert file["f32"].numpy().tobytes() == arrays["f32"].tobytes()
            digest = file["f32"].components["data"].digest
            wanted = how.get("digest", "xxh3")
            assert (digest or "None").startswith(str(wanted))
    wrongs: list[dict[str, Any]] = [
        {"generation": "3"}, {"generation": "2", "digest": "crc32c"}, {"digest": "xxh3"}
    ]
    for wrong in wrongs:
        with pytest.raises(ValueError, match="expected"):
            zten.create(path, **wrong)
    with zten.append(path) as writer:
        writer.add("appended", np.ones(3))
    with zten.open(path) as file:
        assert file.generation == "2" and file.attributes == {"k": [1, "x"]}
        assert file["appended"].numpy().tolist() == [1, 1, 1]
        assert file["f32"].numpy().tobytes() == arrays["f32"].tobytes()
    with pytest.raises(TypeError, match="quantized_group"), zten.create(path, generation="2") as writer:
        writer.add_quantized(
            "q", (1, 1), packed_weight=0, scales=0, zeros=0, bits=4, group_size=1, packing="x"
        )


def test_sparse_comes_back_in_generation_2(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    # The array has two values for the cell (1, 2). The file has one value, their sum.
    coo = scipy.sparse.coo_array(([1.0, 2.0, 4.0], ([1, 0, 1], [2, 1, 2])), shape=(2, 3))
    csr = scipy.sparse.csr_array(([1.0, 2.0], [2, 0], [0, 2, 2]), shape=(2, 3))
    zten.numpy.save_file({"coo": coo, "csr": csr}, path, generation="2")
    assert zten.check(path), zten.check(path)
    read = zten.numpy.load_file(path)
    assert (read["coo"].toarray() == coo.toarray()).all()
    assert (read["csr"].toarray() == csr.toarray()).all()
    assert coo.nnz == 3 and csr.indices.tolist() == [2, 0]


def test_any_order_of_bytes_and_memory_is_written(tmp_path: Path) -> None:
    array = np.arange(24, dtype=">i4").reshape(2, 3, 4)
    odd = {"big": array, "fortran": np.asfortranarray(array), "step": array[:, ::2, ::-1], "0d": array[0, 0, 0]}
    zten.numpy.save_file(odd, tmp_path / "w.zt")
    for name, read in zten.numpy.load_file(tmp_path / "w.zt").items():
        assert read.tolist() == odd[name].tolist() and read.flags.c_contiguous


def test_what_has_no_type_is_named(tmp_path: Path) -> None:
    for value in (np.array(["x"]), np.array([None]), np.zeros(2, "M8[s]"), np.zeros(2, np.longdouble)):
        with pytest.raises(TypeError, match="no type"):
            zten.numpy.save_file({"w": value}, tmp_path / "w.zt")
    assert list(tmp_path.iterdir()) == []


def test_attributes(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    attributes = {
        "int": 1, "negative": -1, "large": 2**64 - 1, "least": -(2**64), "float": 0.1, "inf": math.inf,
        "text": "ä\n重", "bytes": b"\0\xff", "none": None, "true": True, "list": [1, [2.5, "x"], []],
        "map": {"a": {}, "b": {1: 2}}, "tag": zten.Tag(42, ["x"]), "simple": zten.Simple(99),
        "undefined": zten.Simple(23), "entries": zten.Entries([(1, 2), (1, 3)]), "scalar": np.int8(-7),
    }
    with zten.create(path) as writer:
        writer.add("w", np.zeros(2), attributes=attributes)
        writer.attributes(attributes)
    with zten.open(path) as file:
        for read in (file.attributes, file["w"].attributes):
            assert read == {**attributes, "scalar": -7}
            assert type(read["entries"]) is zten.Entries and type(read["true"]) is bool
        assert zten.safe_open(path).metadata() == file._reader.metadata()
    for wrong, kind in (
        ({"x": object()}, TypeError), ({"x": 2**64}, OverflowError), ({1: 2}, TypeError),
        ({"x": {"y": {3j}}}, TypeError),
    ):
        with pytest.raises(kind), zten.create(path) as writer:
            writer.attributes(wrong)  # type: ignore[arg-type]
    growing: dict[str, Any] = {"a": 1}

    class Grows:
        dtype = None

        def item(self) -> int:
            growing[str(len(growing))] = 1
            items.append(1)
            return 7

    growing["b"] = items = [Grows(), 2]
    with zten.create(path) as writer:
        writer.attributes({"x": growing, "y": 0})
    with zten.open(path) as file:
        assert file.attributes == {"x": {"a": 1, "b": [7, 2]}, "y": 0}
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="64"), zten.create(path) as writer:
        writer.attributes({"deep": deep})
    assert zten.check(path)


def test_keys_that_are_no_text_or_number_are_not_hashed() -> None:
    def nested(bits: int) -> Any:
        """Returns ten nested tags, whose numbers are 0 or 2**61 - 1 by the bits of ``bits``. All of them have the same hash,
        because Python reduces numbers modulo 2**61 - 1 to hash them."""
        value: Any = 0
        for bit in range(10):
            value = zten.Tag((2**61 - 1) * (bits >> bit & 1), value)
        return value

    keys = [nested(bits) for bits in range(1 << 10)]
    assert len({hash(key) for key in keys}) == 1 and keys[1] != keys[2]
    colliding = zten.Entries((key, at) for at, key in enumerate(keys))
    attributes = {"map": colliding, "simple": {zten.Simple(99): 1}, "list": zten.Entries([([], 1)])}
    plain = {"plain": {"x": 1, b"x": 2, 3: 3, -4: 4, 0.5: 5, None: 6, True: 7}}
    file = zten.numpy.save({}, attributes={**attributes, **plain})
    read = zten.open(file).attributes
    assert read["map"] == colliding and type(read["map"]) is zten.Entries
    assert read["simple"] == zten.Entries([(zten.Simple(99), 1)]) and type(read["list"]) is zten.Entries
    assert read["plain"] == plain["plain"]


def test_attributes_of_the_corpus_are_written_again(tmp_path: Path) -> None:
    written = 0
    for path in corpus.accepted():
        with zten.open(path) as file:
            attributes = file.attributes
        if not attributes:
            continue
        with zten.create(tmp_path / "w.zt") as writer:
            writer.attributes(attributes)
        with zten.open(tmp_path / "w.zt") as file:
            assert repr(file.attributes) == repr(attributes), path
        written += 1
    assert written > 20


def test_sparse_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    generator = np.random.default_rng(1)
    dense = generator.random((20, 30)) * (generator.random((20, 30)) < 0.1)
    tensor = np.zeros((3, 4, 5))
    tensor[1, 2, 3], tensor[0, 0, 4] = 1.5, -2.5
    sparse = {
        "csr": scipy.sparse.csr_array(dense),
        "coo": scipy.sparse.coo_array(dense),
        "csc": scipy.sparse.csc_matrix(dense),
        "nd": scipy.sparse.coo_array(tensor),
        "empty": scipy.sparse.csr_array((0, 4)),
    }
    for zstd in (None, 3):
        zten.numpy.save_file(sparse, path, zstd=zstd)
        assert zten.check(path)
        with zten.open(path) as file:
            assert [t.format for t in file.values()] == [
                "sparse_csr", "sparse_coo", "sparse_csr", "sparse_coo", "sparse_csr"
            ]
        for name, read in zten.numpy.load_file(path).items():
            assert (read.toarray() == sparse[name].toarray()).all(), name
    with zten.open(path) as file:
        for call in (file["csr"].numpy, lambda: file["csr"][0], file["csr"].dequantize):
            with pytest.raises(zten.Unsupported, match="sparse_csr"):
                call()


def test_values_that_scipy_lacks_are_widened(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    components = {
        "indptr": np.array([0, 1, 2], np.uint64),
        "indices": np.array([1, 0], np.uint64),
        "values": np.array([1.5, -2], BF16),
    }
    with zten.create(path) as writer:
        writer.add_object("w", "sparse_csr", [2, 2], components)
        with pytest.raises(zten.Invalid, match="index"):
            writer.add_object("x", "sparse_csr", [2, 1], components)
        writer.abort()
        with pytest.raises(ValueError, match="closed"):
            writer.add("y", np.zeros(1))
        with pytest.raises(ValueError, match="closed"):
            writer.finish()
        writer._writer = zten.create(path)._writer
        writer.add_object("w", "sparse_csr", [2, 2], components)
    with zten.open(path) as file:
        assert file["w"].dtype == "bf16"
        assert file["w"].scipy().toarray().tolist() == [[0, 1.5], [-2, 0]]


def test_quantized_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    codes = np.arange(64, dtype=np.uint32).reshape(8, 8) % 16
    words = np.zeros((1, 8), np.uint32)
    for row in range(8):
        words[0] |= codes[row] << np.uint32(4 * row)
    scales, zeros = np.full((1, 8), 0.5, np.float16), np.full((1, 8), 8, np.float16)
    with zten.create(path, zstd=1) as writer:
        writer.add_quantized(
            "q", (8, 8), packed_weight=words.view(np.int32), scales=scales, zeros=zeros,
            bits=4, group_size=8, packing="8_per_i32", attributes={"of": "test"},
        )
    with zten.open(path) as file:
        assert file["q"].attributes["of"] == "test"
        assert file["q"].quantization == {"bits": 4, "group_size": 8, "packing": "8_per_i32"}
        assert (file["q"].dequantize() == 0.5 * (codes.astype(np.float32) - 8)).all()


def test_quantized_is_verified_in_files_and_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    words, group = np.zeros((1, 8), np.int32), np.ones((1, 8), np.float16)
    with zten.create(path) as writer:
        writer.add_quantized(
            "q", (8, 8), packed_weight=words, scales=group, zeros=group,
            bits=4, group_size=8, packing="8_per_i32",
        )
    content = bytearray(path.read_bytes())
    with zten.open(bytes(content)) as file:
        assert (file["q"].dequantize() == -1).all()
    content[content.index(group.tobytes())] = 1
    path.write_bytes(content)
    for source in (path, bytes(content)):
        with zten.open(source) as file, pytest.raises(zten.Invalid) as raised:
            file["q"].dequantize().numpy()
        assert raised.value.rule == "digest-mismatch"


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    with pytest.raises(ZeroDivisionError), zten.create(path) as writer:
        writer.add("w", np.zeros(3))
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    zten.numpy.save_file({"a": np.zeros(3)}, path)
    before = path.read_bytes()
    with pytest.raises(zten.Invalid) as raised, zten.append(path) as writer:
        writer.add("a", np.zeros(3))
    assert raised.value.rule == "duplicate-name" and path.read_bytes() == before
    with zten.append(path) as writer:
        writer.add("b", np.ones(3))
    assert list(zten.numpy.load_file(path)) == ["a", "b"]
    wrongs: list[dict[str, Any]] = [{"digest": "md5"}, {"zstd": 99}]
    for wrong in wrongs:
        with pytest.raises(ValueError, match="digest|level"):
            zten.create(path, **wrong)
    with pytest.raises(FileNotFoundError):
        zten.create(tmp_path / "none" / "w.zt")


@pytest.mark.parametrize("generation", ["1.2", "2"])
def test_canonical_files_are_equal(tmp_path: Path, generation: Any) -> None:
    one, other = tmp_path / "one.zt", tmp_path / "other.zt"
    arrays = {"bb": np.zeros(1 << 20), "a": np.ones(2, np.int8), "ab": np.zeros((0, 2))}
    arrays["cc"] = np.zeros(1 << 20)
    how: dict[str, Any] = {"generation": generation, "canonical": True}
    zten.numpy.save_file(arrays, one, attributes={"x": 1, "y": [2]}, **how)
    backwards = dict(reversed(arrays.items()))
    zten.numpy.save_file(backwards, other, attributes={"y": [2], "x": 1}, **how)
    assert one.read_bytes() == other.read_bytes()
    # In generation 2, equal arrays are stored once.
    copies = 1 if generation == "2" else 2
    assert one.stat().st_size // (8 << 20) == copies
    assert list(zten.open(one)) == ["a", "ab", "bb", "cc"] and zten.check(one, canonical=True)


@contextmanager
def repeating(change: Callable[[], object]) -> Iterator[None]:
    """Calls ``change`` again and again in another thread, until the end of the block."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.is_set():
            change()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize(
    "how",
    [
        {"digest": "sha256"}, {"digest": "crc32c"}, {"zstd": 1}, {"canonical": True},
        {"generation": "2", "digest": "xxh3"}, {"generation": "2", "zstd": 1},
        {"generation": "2", "canonical": True},
    ],
)
def test_the_digest_of_a_changing_array_is_that_of_what_is_written(tmp_path: Path, how: dict[str, Any]) -> None:
    path = tmp_path / "w.zt"
    array = np.resize(np.arange(256, dtype=np.uint8), 8 << 20)
    tensors = {"a": array.copy(), "b": array}
    for _ in range(3):
        with repeating(lambda: np.bitwise_xor(array, 1, out=array)):
            try:
                zten.numpy.save_file(tensors, path, **how)
            except ValueError as error:
                # The canonical form of generation 2 stores equal arrays once. Their bytes are read twice, to hash and to write
                # them, so a change between the two reads is detected.
                assert how == {"generation": "2", "canonical": True}
                assert "changed while they were written" in str(error) and not path.exists()
                continue
        report = zten.check(path, canonical="canonical" in how)
        assert report, report
        path.unlink()


def test_a_changing_array_is_validated_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    truths = np.zeros(1 << 20, np.bool_)
    numbers = truths.view(np.uint8)

    def change() -> None:
        numbers[200_000] = 2
        numbers[200_000] = 0

    outcomes: set[str | None] = set()
    with repeating(change):
        for _ in range(50):
            try:
                zten.numpy.save_file({"b": truths}, path, digest=None)
            except zten.Invalid as rejected:
                outcomes.add(rejected.rule)
            else:
                report = zten.check(path)
                assert report, report
                outcomes.add(None)
    assert outcomes <= {None, "bool-value"}


def test_converting(tmp_path: Path) -> None:
    target = tmp_path / "new.zt"
    converted: set[str] = set()
    canonical = 0
    for path in corpus.accepted():
        with zten.open(path) as file:
            generation, names = file.generation, list(file)
        try:
            count = zten.convert(path, target, zstd=3)
        except zten.Unsupported:
            continue
        assert count == len(names)
        assert generation is not None
        converted.add(generation)
        with zten.open(path) as old, zten.open(target) as new:
            assert new.generation == "1.2" and list(new) == names
            for name in names[:20]:
                assert old[name].shape == new[name].shape
        try:
            zten.convert(target, target, canonical=True)
        except zten.Unsupported as error:
            assert "canonical form" in error.message
            continue
        assert zten.check(target, canonical=True)
        canonical += 1
    assert converted >= {"0.1", "1.1", "1.2", "2"} and canonical > 300
    for root in corpus.sharded():
        if root.rule == "-":
            zten.convert(root.path, target, generation="2")
            with zten.open(target) as file:
                assert not file.shards and file.verify()[0]
    dense = corpus.CORPUS / "accept/1.2.3/dense_all.zt"
    zten.convert(dense, target, generation="2")
    assert zten.check(target) and zten.open(target).generation == "2"
    for name, array in zten.numpy.load_file(dense).items():
        assert zten.numpy.load_file(target)[name].tobytes() == array.tobytes()
    with pytest.raises(zten.Invalid):
        zten.convert(corpus.CORPUS / "reject/blob-alignment--v12-72.zt", target)
    save_safetensors({"w": np.zeros(3)}, tmp_path / "w.safetensors")
    assert zten.convert(tmp_path / "w.safetensors", target) == 1
    assert zten.numpy.load_file(target)["w"].tolist() == [0, 0, 0]
    with pytest.raises(zten.Invalid):
        zten.append(tmp_path / "w.safetensors")
