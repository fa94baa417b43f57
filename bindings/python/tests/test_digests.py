"""Tests of reading files with a list of digests."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zten
import zten.numpy
from corpus import CORPUS

HEADER = "# zten digests 1\n"


def sha256(array: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def line(name: str, array: np.ndarray[Any, Any], role: str = "data") -> str:
    kind = {"float32": "f32", "uint8": "u8", "int16": "i16"}[str(array.dtype)]
    shape = ",".join(map(str, array.shape))
    return f"{sha256(array)}  {array.nbytes}  {kind}[{shape}]  {name}/{role}\n"


TENSORS: dict[str, np.ndarray[Any, Any]] = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b": np.arange(300, dtype=np.uint8),
    "c": np.full((4,), -3, np.int16),
}
LIST = HEADER + "".join(line(name, array) for name, array in TENSORS.items())


@pytest.fixture(params=["zt", "zstd.zt", "safetensors", "npz"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"file.{request.param}"
    if path.suffix == ".npz":
        # The file has the arrays in column-major order, which must not change their digests.
        columns: dict[str, Any] = {n: np.asfortranarray(a) for n, a in TENSORS.items()}
        np.savez_compressed(path, **columns)
    elif path.suffix == ".safetensors":
        path.write_bytes(safetensors(TENSORS))
    else:
        zten.numpy.save_file(TENSORS, path, digest=None, zstd=3 if "zstd" in path.name else None)
    return path


def safetensors(tensors: dict[str, Any]) -> bytes:
    import json

    header, data = {}, b""
    kinds = {"float32": "F32", "uint8": "U8", "int16": "I16"}
    for name, array in tensors.items():
        offsets = [len(data), len(data) + array.nbytes]
        kind = kinds[str(array.dtype)]
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": offsets}
        data += array.tobytes()
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + data


def rejected(call: Any, rule: str, name: str) -> zten.Error:
    with pytest.raises(zten.Invalid) as raised:
        call()
    error = raised.value
    assert (error.rule, error.object, error.component) == (rule, name, "data")
    return error


def reads(file: zten.File, name: str) -> list[Any]:
    """Returns functions that read all or a part of the tensor ``name``, one for each way in which the package reads."""
    tensor = file[name]
    return [
        tensor.numpy,
        lambda: tensor.numpy(verify=False),
        tensor[1:2].numpy,
        lambda: tensor[...].numpy(),
        lambda: np.asarray(tensor),
        tensor.verify,
        tensor.components["data"].tobytes,
        tensor.components["data"].numpy,
    ]


@pytest.mark.parametrize("verify", [True, False])
def test_what_is_listed_is_read(path: Path, tmp_path: Path, verify: bool) -> None:
    listed = tmp_path / "list"
    listed.write_text(LIST)
    names = {name: sha256(array) for name, array in TENSORS.items()}
    roles = {name: {"data": digest} for name, digest in names.items()}
    for digests in (listed, str(listed), LIST, LIST.encode(), names, roles):
        with zten.open(path, verify=verify, digests=digests) as file:
            for name, array in TENSORS.items():
                for read in reads(file, name):
                    read()
                np.testing.assert_array_equal(file[name].numpy(), array)
            assert file.verify()[0] == 3
            again = pickle.loads(pickle.dumps(file))
            np.testing.assert_array_equal(again["a"].numpy(), TENSORS["a"])
        loaded = zten.numpy.load_file(path, verify=verify, digests=digests)
        assert {name: array.tobytes() for name, array in loaded.items()} == {
            name: array.tobytes() for name, array in TENSORS.items()
        }
        with zten.safe_open(path, digests=digests) as opened:
            assert opened.get_slice("b")[2:4].tolist() == [2, 3]


@pytest.mark.parametrize("map", [True, False])
@pytest.mark.parametrize("verify", [True, False])
def test_what_differs_is_rejected_however_it_is_read(path: Path, verify: bool, map: bool) -> None:
    changed = LIST.replace(sha256(TENSORS["b"]), sha256(TENSORS["a"]))
    shape = LIST.replace("u8[300]", "u8[3,100]")
    added = LIST.replace(line("b", TENSORS["b"]), "")
    mapping = {"a": sha256(TENSORS["a"]), "b": "0" * 64, "c": sha256(TENSORS["c"])}
    for digests, rule in (
        (changed, "list-changed"),
        (shape, "list-changed"),
        (added, "list-added"),
        (mapping, "list-changed"),
    ):
        with zten.open(path, verify=verify, map=map, digests=digests) as file:
            for read in reads(file, "b"):
                error = rejected(read, rule, "b")
                assert isinstance(error, zten.Error) and str(path) in str(error.file)
            rejected(file.verify, rule, "b")
            file["a"].numpy()
            copy = pickle.loads(pickle.dumps(file))
            rejected(copy["b"].numpy, rule, "b")
        rejected(
            lambda: zten.numpy.load_file(path, map=map, verify=verify, digests=digests), rule, "b"
        )
        opened = zten.safe_open(path, verify=verify, digests=digests)
        rejected(lambda: opened.get_tensor("b"), rule, "b")
        rejected(lambda: opened.get_slice("b")[0:1], rule, "b")
        error = rejected(lambda: zten.open(path.read_bytes(), digests=digests)["b"].numpy(), rule, "b")
        assert "list of digests" in error.message and f"rule {rule}" in str(error)


def test_what_is_missing_is_found_by_verify(path: Path) -> None:
    more = LIST + line("d", TENSORS["c"])
    with zten.open(path, digests=more) as file:
        file["a"].numpy()
        rejected(file.verify, "list-missing", "d")
    with zten.open(path, digests={"a": sha256(TENSORS["a"])}) as file:
        file["a"].numpy()
        rejected(file.verify, "list-added", "b")


def test_several_components_have_digests_by_role(tmp_path: Path) -> None:
    scipy = pytest.importorskip("scipy.sparse")
    path = tmp_path / "sparse.zt"
    sparse = scipy.csr_array(np.eye(3, dtype=np.float32))
    zten.numpy.save_file({"s": sparse}, path)
    with zten.open(path) as file:
        sums = {role: hashlib.sha256(c.tobytes()).hexdigest() for role, c in file["s"].components.items()}
    with zten.open(path, digests={"s": sums}) as file:
        assert file["s"].scipy().sum() == 3
        file.verify()
    with pytest.raises(ValueError, match="several components, expected a mapping of roles"):
        zten.open(path, digests={"s": sums["values"]})
    with zten.open(path, digests={"s": {**sums, "values": "0" * 64}}) as file:
        with pytest.raises(zten.Invalid) as raised:
            file["s"].scipy()
        assert (raised.value.rule, raised.value.component) == ("list-changed", "values")


def test_quantized_tensors_are_compared(tmp_path: Path) -> None:
    tried = 0
    for path in sorted((CORPUS / "other/gguf/accept").glob("*.gguf")):
        try:
            file = zten.open(path)
        except zten.Error:
            continue
        for name, tensor in file.items():
            if tensor.quantization is None:
                continue
            sums = {name: {r: hashlib.sha256(c.tobytes()).hexdigest() for r, c in tensor.components.items()}}
            zten.open(path, digests=sums)[name].dequantize().numpy()
            with pytest.raises(zten.Invalid, match="list-changed"):
                zten.open(path, digests={name: "0" * 64})[name].dequantize().numpy()
            with pytest.raises(zten.Invalid, match="list-changed"):
                zten.open(path, digests={name: "0" * 64})[name].dequantize()[..., :1]
            tried += 1
    assert tried >= 3


def test_unusable_lists_are_errors(tmp_path: Path) -> None:
    path = CORPUS / "accept/1.2.3/attributes.zt"
    for digests, wanted in (
        (b"", "incomplete list of digests"),
        (b"{}\n", "not a list of digests: expected the first line"),
        (LIST + LIST, "a second list of digests begins"),
        ({"t": "x"}, "invalid SHA-256"),
    ):
        with pytest.raises(ValueError, match=wanted):
            zten.open(path, digests=digests)
    with pytest.raises(ValueError, match="exceeds the limit manifest of 1000 bytes"):
        zten.open(path, digests=LIST * 10, limits={"manifest": 1000})
    with pytest.raises(FileNotFoundError):
        zten.open(path, digests=tmp_path / "missing")
    with pytest.raises(OSError, match="is a directory"):
        zten.open(path, digests=tmp_path)
    with pytest.raises(TypeError):
        zten.open(path, digests=3)  # type: ignore[arg-type]


def documented() -> Any:
    """Returns the function ``identity`` that is printed in ``docs/digests.md``, which computes an identity without zten."""
    page = (CORPUS.parent / "docs/digests.md").read_text()
    code = page.split("```python\ndef identity", 1)[1].split("```", 1)[0]
    assert len(code.splitlines()) <= 10
    names: dict[str, Any] = {"hashlib": hashlib}
    exec("def identity" + code, names)
    return names["identity"]


NAMES = ["", "a b", "a/b", "a/data", 'a"b', "\\", "\u200b", "é", "…", "\U0001f600", "\n"]


def test_the_documented_identity_is_that_of_the_file(path: Path, tmp_path: Path) -> None:
    identity = documented()(TENSORS)
    with zten.open(path) as file:
        assert file.identity() == zten.hash(path).identity == identity
    assert hashlib.sha256(zten.hash(path).text.encode()).hexdigest() == identity
    kinds = ["?", "i1", "<i2", "<i8", "u1", "<u4", "<f2", "<f4", "<f8", "<c8", "<c16"]
    arrays = {name: np.arange(6).astype(kind).reshape(2, 3) for name, kind in zip(NAMES, kinds, strict=True)}
    arrays["scalar"], arrays["none"] = np.array(2.0), np.zeros((0, 3), np.int32)
    target = tmp_path / "names.zt"
    zten.numpy.save_file(arrays, target)
    assert zten.open(target).identity() == documented()(arrays)
    with zten.open(safetensors({})) as file:
        assert file.identity() == documented()({})


def test_strides_byte_order_and_shared_storages_make_no_difference(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    identity = documented()
    for stored in (array.astype(">f4"), np.asfortranarray(array)):
        np.save(tmp_path / "a.npy", stored)
        with zten.open(tmp_path / "a.npy") as file:
            (name,) = file
            assert file.identity() == identity({name: array})
    torch = pytest.importorskip("torch")
    weight = torch.from_numpy(array)
    torch.save({"turned": weight.T, "tied": weight, "w": weight}, tmp_path / "a.pt")
    assert zten.hash(tmp_path / "a.pt").identity == identity({"turned": array.T, "tied": array, "w": array})


def test_an_unread_tensor_leaves_no_identity() -> None:
    path = CORPUS / "accept/unsupported-dtype--v01-unknown.zt"
    with zten.open(path) as file, pytest.raises(zten.Unsupported, match="no identity") as raised:
        file.identity()
    assert raised.value.object is not None
    assert zten.hash(path).identity is None
