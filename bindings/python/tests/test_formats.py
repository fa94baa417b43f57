"""Tests of files of other formats: safetensors, indices, GGUF, ``.npy``, ``.npz`` and PyTorch."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import corpus
import gguf
import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

import zten

ZTEN = shutil.which("zten")
command = pytest.mark.skipif(ZTEN is None, reason="the command is not installed")
ACCEPTED, REJECTED = corpus.others("accept"), corpus.others("reject")
WAYS: list[dict[str, Any]] = [{}, {"map": True}, {"verify": False}, {"map": True, "verify": False}]


def said(paths: list[Path], *options: str) -> list[dict[str, Any]]:
    """Returns the reports that ``zten check --json`` with ``options`` prints about the files ``paths``, in the order of
    ``paths``, with the keys of a report of the package."""
    lines = subprocess.run(
        [str(ZTEN), "check", "--json", *options, "--", *map(str, paths)],
        capture_output=True, text=True, check=False,
    ).stdout.splitlines()
    found = {line["file"]: line for line in map(json.loads, lines)}
    for line in found.values():
        assert line.pop("schema") == 2
        # The command counts all invalid objects in `more`. The package stops at the first one, so it has no such field.
        line.pop("more")
    return [found[str(path)] for path in paths]


@command
def test_the_command_says_the_same() -> None:
    assert len(ACCEPTED) > 40 and len(REJECTED) > 100
    paths = ACCEPTED + REJECTED
    wanted = said(paths)
    for path, line in zip(paths, wanted, strict=True):
        assert zten.check(path).as_dict() == line, path
    columns = zten.check_batch(paths)
    assert columns == {key: [line[key] for line in wanted] for key in columns}
    for options, how in (
        (["--manifest-only"], {"manifest_only": True}),
        (["--canonical"], {"canonical": True}),
        (["--no-shards"], {"shards": False}),
        (["--limit=manifest=64"], {"limits": {"manifest": 64}}),
    ):
        for path, line in zip(paths, said(paths, *options), strict=True):
            assert zten.check(path, **how).as_dict() == line, (path, how)


@command
def test_bytes_and_objects_are_files_without_a_name(tmp_path: Path) -> None:
    copies = []
    for n, path in enumerate(ACCEPTED + REJECTED):
        folder = tmp_path / str(n)
        folder.mkdir()
        # The name of the copy must not differ from what zten calls the array of an `.npy` file without a name: `arr_0`.
        copies.append(folder / "arr_0")
        shutil.copy(path, copies[-1])
    for path, line in zip(copies, said(copies), strict=True):
        for source in (path.read_bytes(), io.BytesIO(path.read_bytes())):
            assert zten.check(source).as_dict() == {**line, "file": None}, path


# Rules about values that zten does not use. Only `zten.check` reports them; reading the file raises no error.
OF_MEANING = {
    "gguf-architecture", "gguf-byte-token", "gguf-count", "gguf-experts", "gguf-key", "gguf-token-id", "gguf-tokenizer-length",
    "gguf-tokenizer-type", "index-overlay",
}


def test_what_is_rejected_raises_its_rule() -> None:
    for path in REJECTED:
        report = zten.check(path)
        # A pickled object next to the arrays of an `.npz` file, and a program in an archive of PyTorch, are reported by a check,
        # but do not keep the arrays from being read.
        is_beside = report.rule == "torch-script" or report.rule == "format-pickle" and path.suffix == ".npz"
        if report.rule in OF_MEANING or is_beside:
            assert report.verdict == ("unsupported" if is_beside else "invalid"), path
            with zten.open(path) as file:
                file.verify()
            continue
        # The report is about the tensors that the file stores, so the file is opened without conventions.
        with pytest.raises(zten.Error) as raised, zten.open(path, conventions=False) as file:
            file.verify()
        error = raised.value
        kind = {"invalid": zten.Invalid, "unsupported": zten.Unsupported, "limit": zten.LimitExceeded}
        assert type(error) is kind[report.verdict], path
        assert (error.rule, error.offset, error.object) == (report.rule, report.offset, report.object)
        assert (error.message, error.file) == (report.message, str(path))


def calls(path: Path, target: Path) -> Iterator[Any]:
    """Yields calls of all functions that read a file. Each call may raise only a :class:`zten.Error`."""
    for how in WAYS:
        yield lambda how=how: zten.numpy.load_file(path, **how)
        yield lambda how=how: [t.numpy() for t in zten.open(path, **how).values()]
    for read in (
        lambda tensor: tensor[...].numpy(),
        lambda tensor: tensor.dequantize().numpy(),
        lambda tensor: tensor[:2].dequantize() if tensor.shape else tensor[...].dequantize(),
        lambda tensor: tensor.item(),
        lambda tensor: tensor.scipy(),
        lambda tensor: tensor.verify(),
        lambda tensor: tensor.attributes,
        lambda tensor: [part.tobytes() for part in tensor.components.values()],
        lambda tensor: [part.numpy() for part in tensor.components.values()],
    ):
        yield lambda read=read: [read(tensor) for tensor in zten.open(path).values()]
    yield lambda: zten.open(path).attributes
    yield lambda: zten.safe_open(path).metadata()
    yield lambda: [zten.safe_open(path).get_tensor(name) for name in zten.open(path, conventions=False)]
    yield lambda: zten.safe_open(path).offset_keys()
    yield lambda: zten.convert(path, target)
    yield lambda: zten.convert(path, target, generation="2")


def test_a_file_raises_nothing_but_errors_of_the_package(tmp_path: Path) -> None:
    for path in ACCEPTED + REJECTED:
        for call in calls(path, tmp_path / "out.zt"):
            try:
                call()
            except zten.Unsupported as error:
                # The error of a conversion may have no rule: a file that only `zten.check` rejects may have metadata that
                # no zTensor file can have.
                is_inexpressible = "the file can be read, but not written" in error.message
                assert error.rule or error.object or is_inexpressible, (path, error)
            except zten.Error as error:
                assert error.rule, (path, error)


def test_a_shape_that_numpy_has_no_array_of(tmp_path: Path) -> None:
    shape = [1] * 65
    header = json.dumps({"w": {"dtype": "F32", "shape": shape, "data_offsets": [0, 4]}}).encode()
    (tmp_path / "w.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    limits = {"rank": 65}
    for how in WAYS:
        with pytest.raises(zten.Unsupported, match="no array of shape") as raised:
            zten.numpy.load_file(tmp_path / "w.safetensors", limits=limits, **how)
        assert raised.value.object == "w"
        with zten.open(tmp_path / "w.safetensors", limits=limits, **how) as file:
            for read in (file["w"].numpy, file["w"][...].numpy):
                with pytest.raises(zten.Unsupported, match="no array of shape"):
                    read()
            assert file["w"].components["data"].numpy().tolist() == [0]


def equal(one: Any, other: Any, of: object) -> None:
    assert one.dtype == other.dtype and one.shape == other.shape, of
    assert one.tobytes() == other.tobytes(), of


def holds(path: Path, arrays: dict[str, Any]) -> None:
    """Checks that the file at ``path`` is valid, and that every way of reading it gives ``arrays``, the expected arrays by their
    names."""
    assert zten.check(path), zten.check(path)
    for how in WAYS:
        loaded = zten.numpy.load_file(path, **how)
        assert list(loaded) == list(arrays)
        with zten.open(path, **how) as file:
            for name, array in arrays.items():
                for read in (loaded[name], file[name].numpy(), file[name][...].numpy()):
                    equal(read, array, (path, name))
                if array.ndim:
                    equal(file[name][::-2].numpy(), array[::-2], (path, name))
                    equal(file[name][..., 1:].numpy(verify=True), array[..., 1:], (path, name))
    content = path.read_bytes()
    for source in (content, io.BytesIO(content)):
        for (_, read), array in zip(zten.numpy.load_file(source).items(), arrays.values(), strict=True):
            equal(read, array, path)
    with zten.safe_open(path) as safe:
        for name, array in arrays.items():
            equal(safe.get_tensor(name), array, (path, name))
            equal(safe.get_slice(name)[...], array, (path, name))


def native(array: Any) -> Any:
    """Converts an array to the form in which zten returns it: little-endian and in row-major order."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)


ARRAYS: dict[str, Any] = {
    "rows": np.arange(24, dtype="<f4").reshape(2, 3, 4),
    "columns": np.asfortranarray(np.arange(24, dtype="<f8").reshape(2, 3, 4)),
    "big": np.arange(6, dtype=">i2").reshape(3, 2),
    "big-columns": np.asfortranarray(np.arange(6, dtype=">c16").reshape(3, 2)),
    "bools": np.array([[True, False, True]]),
    "bool-columns": np.asfortranarray(np.array([[True, False], [True, True], [False, True]])),
    "scalar": np.array(1.5, np.float16),
    "none": np.empty((0, 3), np.uint64),
    "bytes": np.arange(5, dtype=np.uint8),
}


def test_arrays_of_numpy(tmp_path: Path) -> None:
    for name, array in ARRAYS.items():
        np.save(tmp_path / f"{name}.npy", array)
        holds(tmp_path / f"{name}.npy", {name: native(array)})
    wanted = {name: native(array) for name, array in ARRAYS.items()}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "w.npz", **ARRAYS)
        holds(tmp_path / "w.npz", wanted)
    with zten.open(tmp_path / "w.npz") as file:
        assert (file.format, file.generation, file.version, file.attributes) == ("npz", None, None, {})
        assert file["rows"].components["data"].encoding == "deflate"
        assert "npz" in repr(file)


def test_elements_that_lie_there_are_viewed_and_no_others(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", ARRAYS["rows"])
    viewed = zten.numpy.load_file(tmp_path / "rows.npy", map=True)["rows"]
    assert not viewed.flags.owndata and not viewed.flags.writeable and viewed.flags.aligned
    for name in ("columns", "big", "bools"):
        np.save(tmp_path / f"{name}.npy", ARRAYS[name])
        with zten.open(tmp_path / f"{name}.npy", map=True, verify=False) as file:
            assert file[name].numpy().flags.writeable, name
    # The length of the header is no multiple of 4, so the elements after it are not aligned, and the array is a copy and
    # not a view.
    header = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    odd = (len(header)).to_bytes(8, "little") + header + np.arange(2, dtype=np.float32).tobytes()
    assert len(header) % 4
    with zten.open(odd, map=True) as file:
        array = file["w"].numpy()
        assert array.tolist() == [0, 1] and array.flags.aligned and array.flags.writeable


def test_a_checksum_of_npz_is_compared_as_a_digest_is(tmp_path: Path) -> None:
    path = tmp_path / "w.npz"
    np.savez(path, w=np.zeros((4, 4), np.uint8), c=np.asfortranarray(np.zeros((4, 4), np.uint8)))
    with zten.open(path) as file:
        places = [part["data"].offset for part in (file["w"].components, file["c"].components)]
    content = bytearray(path.read_bytes())
    for place in places:
        content[place + 5] = 1
    path.write_bytes(content)
    report = zten.check(path)
    assert (report.rule, report.object) == ("zip-crc", "w")
    with zten.open(path) as file, zten.open(path, map=True) as mapped:
        for name in ("w", "c"):
            for read in (
                file[name].numpy, file[name].verify, file[name].components["data"].tobytes,
                lambda name=name: file[name][1:].numpy(verify=True), mapped[name].numpy,
            ):
                with pytest.raises(zten.Invalid) as raised:
                    read()
                assert raised.value.rule == "zip-crc"
        # Only "w" can be read without comparing its checksum: "c" is in column-major order, and is always read and verified as a
        # whole.
        assert file["w"].numpy(verify=False).sum() == 1
        assert file["w"][2:].numpy().sum() == 0


def test_what_an_npz_file_decodes_to_is_limited(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "w.npz", w=np.zeros(1 << 20, np.uint8))
    for limits in ({"decoded": 4096}, {"decoded-total": 4096}):
        for read in (
            lambda limits=limits: zten.numpy.load_file(tmp_path / "w.npz", limits=limits),
            lambda limits=limits: zten.open(tmp_path / "w.npz", limits=limits)["w"].numpy(),
            lambda limits=limits: zten.open(tmp_path / "w.npz", limits=limits).verify(),
        ):
            with pytest.raises(zten.LimitExceeded):
                read()


TENSORS: dict[str, Any] = {
    "a": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "b": np.arange(5, dtype=np.int64),
    "c": np.array([True, False]),
    "d": np.arange(6, dtype=np.float16).reshape(3, 2),
    "e": np.arange(6).astype(ml_dtypes.bfloat16),
    "f": np.array(7, np.uint16),
    "g": np.empty((0, 2), np.float64),
}


def test_tensors_of_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    safetensors.numpy.save_file(TENSORS, path, metadata={"format": "np", "x": "ä"})
    with zten.open(path) as file:
        order = list(file)
        assert file.attributes == {"format": "np", "x": "ä"} and file.format == "safetensors"
    assert sorted(order) == list(TENSORS)
    holds(path, {name: TENSORS[name] for name in order})
    with safetensors.safe_open(path, framework="np") as one, zten.safe_open(path) as other:
        assert one.metadata() == other.metadata() and list(one.offset_keys()) == other.offset_keys()
        for name in TENSORS:
            theirs, ours = one.get_slice(name), other.get_slice(name)
            assert theirs.get_shape() == ours.get_shape() and theirs.get_dtype() == ours.get_dtype()


def sharded(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Writes the tensors ``TENSORS`` to two safetensors files in ``folder``, with an index. Returns the path of the index, and
    the tensors in the order in which :func:`zten.open` lists them."""
    parts = {"one.safetensors": ["a", "b", "c"], "two.safetensors": ["d", "e", "f", "g"]}
    for part, names in parts.items():
        safetensors.numpy.save_file({name: TENSORS[name] for name in names}, folder / part)
    index = folder / "model.safetensors.index.json"
    weights = {name: part for part, names in parts.items() for name in names}
    index.write_text(json.dumps({"metadata": {}, "weight_map": weights}))
    with zten.open(index) as file:
        return index, {name: TENSORS[name] for name in file}


def test_an_index_and_its_files(tmp_path: Path) -> None:
    index, tensors = sharded(tmp_path)
    assert sorted(tensors) == list(TENSORS)
    assert zten.check(index).message.startswith("valid safetensors index file: 7 tensors")
    for how in WAYS:
        loaded = zten.numpy.load_file(index, **how)
        with zten.open(index, **how) as file:
            assert file.format == "safetensors-index"
            assert [(name, digest) for name, _, digest in file.shards] == [
                ("one.safetensors", None), ("two.safetensors", None)
            ]
            for name, tensor in tensors.items():
                for read in (loaded[name], file[name].numpy(), file[name][...].numpy()):
                    equal(read, tensor, name)
            assert file["d"].components["data"].shard == "two.safetensors"
            assert file.verify() == (7, 0)
    with zten.safe_open(index) as safe:
        assert safe.get_slice("a")[1, :, 2].tolist() == TENSORS["a"][1, :, 2].tolist()
        assert sorted(safe.offset_keys()) == list(TENSORS)
    # An index in memory has no name by which its format could be known, and no folder with the files that it lists.
    assert zten.check(index.read_bytes()).rule == "format-unknown"
    assert zten.check(index, shards=False).rule == "index-file"
    assert zten.convert(index, tmp_path / "w.zt") == 7
    for name, tensor in zten.numpy.load_file(tmp_path / "w.zt").items():
        equal(tensor, TENSORS[name], name)
    (tmp_path / "two.safetensors").unlink()
    with pytest.raises(zten.Invalid, match="is not in the folder") as raised:
        zten.open(index)
    assert (raised.value.rule, raised.value.shard) == ("index-file", "two.safetensors")


def test_the_index_decides_and_check_compares_copies(tmp_path: Path) -> None:
    ones, twos = np.ones(2, np.float32), np.full(2, 2, np.float32)
    index = tmp_path / "model.safetensors.index.json"
    weights = {"a": "one.safetensors", "b": "two.safetensors"}
    index.write_text(json.dumps({"metadata": {"total_size": 1.5e1, "x": [None]}, "weight_map": weights}))
    safetensors.numpy.save_file({"a": ones, "c": ones}, tmp_path / "one.safetensors")
    safetensors.numpy.save_file({"a": ones, "b": ones}, tmp_path / "two.safetensors")
    report = zten.check(index)
    rules = [str(note.rule) for note in report.notes]
    assert report and sorted(rules) == ["index-copy", "index-total-size", "index-unnamed"]
    safetensors.numpy.save_file({"a": twos, "b": ones}, tmp_path / "two.safetensors")
    report = zten.check(index)
    assert (report.rule, report.shard, report.object) == ("index-overlay", "two.safetensors", "a")
    with zten.open(index) as file:
        assert list(file) == ["a", "b"]
        equal(file["a"].numpy(), ones, "a")


def test_tensors_and_metadata_of_gguf(tmp_path: Path) -> None:
    path = tmp_path / "w.gguf"
    weights = np.linspace(-2, 3, 4 * 256, dtype=np.float32).reshape(4, 256)
    writer = gguf.GGUFWriter(path, "test")
    writer.add_uint32("a.number", 7)
    writer.add_float32("a.float", 0.5)
    writer.add_string("a.text", "ä")
    writer.add_array("a.list", [1, 2, 3])
    writer.add_bool("a.bool", True)
    writer.add_tensor("plain", weights)
    writer.add_tensor("half", weights.astype(np.float16))
    kinds = [gguf.GGMLQuantizationType.Q4_0, gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q5_1]
    blocks = {kind: gguf.quants.quantize(weights, kind) for kind in kinds}
    for kind, data in blocks.items():
        writer.add_tensor(kind.name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert zten.check(path), zten.check(path)
    with zten.open(path) as file, zten.open(path, map=True) as mapped:
        assert file.format == "gguf"
        found = file.attributes
        assert found["general.architecture"] == "test"
        wanted = {"number": 7, "float": 0.5, "text": "ä", "list": [1, 2, 3], "bool": True}
        assert {key: found[f"a.{key}"] for key in wanted} == wanted
        equal(file["plain"].numpy(), weights, path)
        equal(mapped["plain"].numpy(), weights, path)
        assert not mapped["plain"].numpy().flags.owndata
        equal(file["half"][1:3, ::5].numpy(), weights.astype(np.float16)[1:3, ::5], path)
        for kind, data in blocks.items():
            tensor = file[kind.name]
            assert tensor.format == f"gguf.{kind.name.lower()}" and tensor.dtype is None
            elements, size = gguf.GGML_QUANT_SIZES[kind]
            facts = {"ggml_type": kind.name, "block_elements": elements, "block_bytes": size}
            assert tensor.quantization == facts
            equal(tensor.dequantize(), gguf.quants.dequantize(data, kind).reshape(4, 256), kind)
            assert tensor.components["data"].tobytes() == data.tobytes()
            for read in (tensor.numpy, tensor.scipy, lambda tensor=tensor: tensor[0].numpy()):
                with pytest.raises(zten.Unsupported, match=kind.name) as raised:
                    read()
                assert (raised.value.object, raised.value.file) == (kind.name, str(path))
    with pytest.raises(zten.Unsupported) as raised:
        zten.numpy.load_file(path)
    assert raised.value.object == "Q4_0"
    for generation in ("1.2", "2"):
        zten.convert(path, tmp_path / "w.zt", generation=generation)
        with zten.open(tmp_path / "w.zt") as file:
            for kind, data in blocks.items():
                equal(file[kind.name].dequantize(), gguf.quants.dequantize(data, kind).reshape(4, 256), kind)


def test_gguf_in_several_files(tmp_path: Path) -> None:
    tensors = {f"t{n}": np.arange(8, dtype=np.float32).reshape(2, 4) + n for n in range(5)}
    writer = gguf.GGUFWriter(tmp_path / "w.gguf", "test", split_max_tensors=2)
    writer.add_uint32("a.number", 7)
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    first, second, third = sorted(tmp_path.glob("*.gguf"))
    assert first.name == "w-00001-of-00003.gguf"
    for how in WAYS:
        loaded = zten.numpy.load_file(first, **how)
        with zten.open(first, **how) as file:
            assert file.attributes["a.number"] == 7
            assert [name for name, _, _ in file.shards] == [second.name, third.name]
            for name, tensor in tensors.items():
                for read in (loaded[name], file[name].numpy(), file[name][...].numpy()):
                    equal(read, tensor, name)
    assert zten.convert(first, tmp_path / "w.zt") == 5
    for name, tensor in zten.numpy.load_file(tmp_path / "w.zt").items():
        equal(tensor, tensors[name], name)
    assert zten.check(first.read_bytes()).rule == "gguf-split"
    third.unlink()
    report = zten.check(first)
    assert (report.rule, report.shard) == ("gguf-split-file", third.name)


def test_blocks_of_every_type() -> None:
    """Dequantizing the blocks of GGUF in the corpus gives ``f32`` values of the shape of the tensor, and those that the package
    ``gguf`` computes, if the package has the type."""
    seen = set()
    for path in ACCEPTED:
        if path.suffix != ".gguf":
            continue
        with zten.open(path) as file:
            for tensor in file.values():
                if tensor.quantization is None:
                    continue
                kind = gguf.GGMLQuantizationType.__members__.get(tensor.quantization["ggml_type"])
                values = tensor.dequantize().numpy()
                assert values.shape == tensor.shape and values.dtype == np.float32
                if kind is None or not values.size:
                    continue
                data = np.frombuffer(tensor.components["data"].tobytes(), np.uint8)
                try:
                    wanted = gguf.quants.dequantize(data, kind)
                except NotImplementedError:
                    continue
                np.testing.assert_array_equal(values.ravel(), wanted.ravel())
                seen.add(kind)
    assert len(seen) > 1


@command
def test_checkpoints_of_pytorch(tmp_path: Path) -> None:
    folder = corpus.CORPUS / "other/torch"
    weight = [[0.5, -1.0], [2.0, float("inf")], [0.0, 3.25]]
    turned = [[0, 3], [1, 4], [2, 5]]
    path = folder / "accept/module.pt"
    for source in (path, path.read_bytes()):
        for how in WAYS:
            with zten.open(source, **how) as file:
                assert file.format == "torch" and file.generation is None and not file.attributes
                assert file["turned"].dtype == "bf16" and file["turned"].shape == (3, 2)
                assert file["turned"].numpy().astype("f4").tolist() == turned
                assert file["turned"][1:].numpy().astype("f4").tolist() == turned[1:]
                file.verify()
            arrays = zten.numpy.load_file(source, **how)
            assert arrays["embed.weight"].tolist() == arrays["head.weight"].tolist() == weight
            assert arrays["mask"].tolist() == [True, False, True]
    with zten.open(folder / "accept/training.pt") as file:
        assert file.attributes["epoch"] == 7 and file.attributes["note"] == "x"
        assert file.attributes["optimizer.param_groups.0.betas"] == [0.9, 0.999]
    for generation in ("1.2", "2"):
        zten.convert(path, tmp_path / "w.zt", generation=generation)
        with zten.open(tmp_path / "w.zt") as file:
            assert {name: tensor.numpy().tobytes() for name, tensor in file.items()} == {
                name: array.tobytes() for name, array in zten.numpy.load_file(path).items()
            }


def test_a_pickle_that_may_run_code_is_rejected(tmp_path: Path) -> None:
    """No call that reads a hostile file executes its code, or writes a converted file."""
    folder, ran = corpus.CORPUS / "other/torch/reject", tmp_path / "ran"
    hostile = tmp_path / "hostile.pt"
    command = f"touch {ran}".encode()
    pickle = b"\x80\x02cos\nsystem\nX" + len(command).to_bytes(4, "little") + command + b"\x85R."
    with zipfile.ZipFile(hostile, "w") as archive:
        archive.writestr("archive/data.pkl", pickle)
        archive.writestr("archive/version", "3\n")
    (tmp_path / "hostile.pkl").write_bytes(pickle)
    for path, rule in (
        (hostile, "torch-global"),
        (tmp_path / "hostile.pkl", "torch-global"),
        (folder / "torch-global--behind-unread.pt", "torch-global"),
        (folder / "torch-opcode--inst.pt", "torch-opcode"),
        (folder / "torch-trailing--pickle.pt", "torch-trailing"),
    ):
        assert zten.check(path).rule == rule
        for call in (
            lambda path=path: zten.open(path),
            lambda path=path: zten.open(path.read_bytes()),
            lambda path=path: zten.numpy.load_file(path),
            lambda path=path: zten.safe_open(path),
            lambda path=path: zten.convert(path, tmp_path / "out.zt"),
        ):
            with pytest.raises(zten.Invalid) as raised:
                call()
            assert raised.value.rule == rule and raised.value.offset is not None
    assert not ran.exists() and not (tmp_path / "out.zt").exists()


def test_files_are_converted_as_the_command_converts_them(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.zt", tmp_path / "theirs.zt"
    for path in ACCEPTED:
        for generation, digest in (("1.2", "sha256"), ("2", "xxh3")):
            how: Any = {"generation": generation, "digest": digest}
            command = [str(ZTEN), "convert", "--force", "--to", generation, str(path), str(theirs)]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            # The command fails, and asks for an option, before it writes the bytes of one storage many times.
            if "--tied copy writes all of it" in ended.stderr:
                tied = [*command, "--tied", "copy"]
                ended = subprocess.run(tied, capture_output=True, text=True, check=False)
            try:
                zten.convert(path, ours, **how)
            except zten.Unsupported as error:
                with zten.open(path) as file:
                    # The command leaves opaque tensors out where the package raises an error, so these files differ.
                    if any(tensor.state == "opaque" for tensor in file.values()):
                        continue
                assert ended.returncode and error.message in ended.stderr, (path, ended.stderr)
                continue
            assert ended.returncode == 0, (path, ended.stderr)
            assert ours.read_bytes() == theirs.read_bytes(), path
    (tmp_path / "text").write_text("no tensors\n")
    with pytest.raises(zten.Unsupported) as raised:
        zten.convert(tmp_path / "text", ours)
    assert raised.value.rule == "format-unknown"
