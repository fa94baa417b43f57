"""Tests of opaque tensors, such as text, dates and records of NumPy, and of unread tensors, such as Python objects."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import pytest

import zten

WAYS: list[dict[str, Any]] = [{}, {"map": True}, {"verify": False}, {"map": True, "verify": False}]

NESTED = np.dtype([("p", [("q", "<f8"), ("r", ">i2", (2,))]), ("s", "S2", (2, 3)), ("t", "<M8[D]")])
PADDED = np.dtype([("a", "u1"), ("b", "<f8"), ("c", "<U2")], align=True)
GAPS = np.dtype({"names": ["x", "y"], "formats": ["<f4", "<i4"], "offsets": [2, 8], "itemsize": 20})
TITLED = np.dtype([(("the title", "a"), "<f4"), ("b", "|V3")])


def records(dtype: np.dtype[Any], *shape: int) -> Any:
    count = int(np.prod(shape)) * dtype.itemsize
    # The bytes are small numbers, and the last two of each four are 0, so that four bytes are a valid character of
    # NumPy's text.
    content = np.arange(count, dtype=np.uint8) % 7
    for at in range(3, count, 4):
        content[at] = content[at - 1] = 0
    return content.view(dtype).reshape(shape)


ARRAYS: dict[str, Any] = {
    "text": np.array(["a", "bcd", "ünï", ""]),
    "big text": np.array(["a", "bcd"], ">U3"),
    "bytes": np.array([[b"ab", b""], [b"\xff\x00c", b"d"]]),
    "dates": np.array(["2001-02-03", "NaT"], "<M8[ns]"),
    "big dates": np.array(["2001-02-03", "1960-01-01"], ">M8[D]"),
    "steps": np.array(["2001-02-03T04:05"], "M8[25m]"),
    "durations": np.array([1, -5, 7], "<m8[s]"),
    "no unit": np.array([1, 2], "<m8"),
    "void": np.frombuffer(bytes(range(32)), "V16"),
    "long doubles": np.array([1.5, -np.inf, 1 / 3], np.longdouble),
    "long complex": np.array([1.5 + 2j], np.clongdouble),
    "records": np.array([(1, 2.5, "x"), (3, 4.5, "yz")], [("a", "<i4"), ("b", ">f8"), ("c", "<U3")]),
    "nested": records(NESTED, 3, 2),
    "padded": records(PADDED, 4),
    "gaps": records(GAPS, 4),
    "titled": records(TITLED, 2),
    "one field": records(np.dtype([("only", "<i8", (2, 2))]), 3),
    "columns": np.asfortranarray(np.array([["a", "bcd", "e"], ["f", "", "g"]])),
    "columns of records": np.asfortranarray(records(PADDED, 3, 2)),
    "cube": np.asfortranarray(np.array([f"{n}" for n in range(24)]).reshape(2, 3, 4)),
    "scalar": np.array("hello"),
    "one record": records(PADDED),
    "date": np.array("2020-01-01", "M8[s]"),
    "empty": np.empty((0, 3), "<U5"),
    "no records": np.empty((2, 0), PADDED),
    "length 0": np.ndarray((3,), "<U0"),
    "bytes of length 0": np.ndarray((2, 2), "S0"),
    "numbers": np.arange(6, dtype=np.float32).reshape(2, 3),
}


def equal(ours: Any, theirs: Any, what: object) -> None:
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), what
    # `array_equal` takes NaN and NaT for different from themselves, so equal bytes suffice. Equal elements suffice too, because
    # NumPy does not copy the padding of records.
    same = ours.tobytes() == theirs.tobytes() or np.array_equal(ours, theirs)
    assert repr(ours.dtype) == repr(theirs.dtype) and same, what


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_are_those_that_numpy_loads(tmp_path: Path, save: Callable[..., None]) -> None:
    path = tmp_path / "a.npz"
    save(path, **ARRAYS)
    assert zten.check(path), zten.check(path)
    with np.load(path) as file:
        wanted = {name: file[name] for name in file.files}
    for source in (path, path.read_bytes()):
        for how in WAYS:
            loaded = zten.numpy.load_file(source, **how)
            assert list(loaded) == list(wanted)
            with zten.open(source, **how) as file:
                for name, array in wanted.items():
                    tensor, what = file[name], (name, how)
                    assert (tensor.state, tensor.reason) == ("readable" if name == "numbers" else "opaque", None)
                    for ours in (loaded[name], tensor.numpy(), tensor.numpy(verify=True), np.asarray(tensor)):
                        equal(ours, array, what)
                    data = tensor.components["data"]
                    assert len(data.tobytes()) == tensor.nbytes == array.nbytes
                    if name != "numbers":
                        equal(data.numpy(), np.ascontiguousarray(array).reshape(-1), what)
                    if not array.ndim:
                        continue
                    for index in (slice(1, None), slice(None, None, -1), (0, ...), [0, 0], (slice(0, 1), ...)):
                        if array.shape[0] or isinstance(index, slice):
                            equal(tensor[index].numpy(), array[index], (name, how, index))
                            equal(tensor[index].numpy(verify=True), array[index], (name, how, index))


def test_single_arrays(tmp_path: Path) -> None:
    for name, array in ARRAYS.items():
        path = tmp_path / "a.npy"
        np.save(path, array)
        for how in WAYS:
            loaded = zten.numpy.load_file(path, **how)
            assert list(loaded) == ["a"]
            equal(loaded["a"], np.load(path), (name, how))


def test_views_of_a_map(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", ARRAYS["dates"])
    with zten.open(tmp_path / "a.npy", map=True, verify=False) as file:
        view = file["a"].numpy()
        assert not view.flags.writeable and not view.flags.owndata
        assert np.shares_memory(view, file["a"][1:].numpy())
    assert zten.numpy.load_file(tmp_path / "a.npy")["a"].flags.writeable


def test_fields_are_tensors_too(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", rec=ARRAYS["records"], other=ARRAYS["padded"])
    with zten.open(tmp_path / "a.npz") as file:
        assert [name for name in file if name.startswith("rec")] == ["rec", 'rec["a"]', 'rec["b"]']
        for field in "ab":
            tensor = file[f'rec["{field}"]']
            assert tensor.state == "readable" and repr(tensor).endswith(" [2]>")
            assert tensor.numpy().tolist() == ARRAYS["records"][field].tolist()
    assert set(zten.numpy.load_file(tmp_path / "a.npz")) == {"rec", "other"}
    loaded = zten.numpy.load_file(tmp_path / "a.npz", names="rec*")
    assert list(loaded) == ["rec", 'rec["a"]', 'rec["b"]']
    # An array whose name looks like that of a field of records, but which is an array of its own, is loaded.
    np.savez(tmp_path / "b.npz", **{"rec": ARRAYS["records"], 'rec["b"]': np.arange(3)})
    assert zten.numpy.load_file(tmp_path / "b.npz")['rec["b"]'].tolist() == [0, 1, 2]


def test_damaged_text_is_an_error(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", t=np.array(["abc", "def"]))
    with zten.open(tmp_path / "a.npz") as file:
        offset = file["t"].components["data"].offset
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[offset] ^= 1
    for read in (
        lambda: zten.numpy.load(content),
        lambda: zten.open(content)["t"].numpy(),
        lambda: zten.open(content)["t"].components["data"].numpy(),
        lambda: zten.open(content, map=True)["t"].numpy(),
    ):
        with pytest.raises(zten.Invalid) as raised:
            read()
        assert (raised.value.rule, raised.value.object) == ("zip-crc", "t")


def test_limits_of_opaque_arrays(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", t=np.zeros(1 << 18, "<U4"))
    for limits in ({"decoded": 4096}, {"decoded-total": 4096}):
        with pytest.raises(zten.LimitExceeded):
            zten.numpy.load_file(tmp_path / "a.npz", limits=limits)
    with pytest.raises(zten.LimitExceeded):
        zten.open(tmp_path / "a.npz", limits={"decoded": 4096})["t"].numpy()


def test_an_unread_tensor_names_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    objects = np.array([1, "a", None], object)
    rows = np.array([(1, "a")], [("n", "<i4"), ("o", object)])
    np.savez(path, objects=objects, x=np.arange(3), rows=rows)
    with zten.open(path) as file:
        assert file["x"].numpy().tolist() == [0, 1, 2]
        for name in ("objects", "rows"):
            tensor = file[name]
            assert (tensor.state, tensor.reason) == ("unread", "npy-objects")
            assert repr(tensor).endswith(" unread: npy-objects>")
            for read in (
                tensor.numpy, tensor.scipy, tensor.dequantize, tensor.verify, tensor.components["data"].tobytes,
                tensor.components["data"].numpy, lambda tensor=tensor: tensor[0:1], lambda tensor=tensor: np.asarray(tensor),
            ):
                with pytest.raises(zten.Unsupported, match="Python objects") as raised:
                    read()
                error = raised.value
                assert (error.rule, error.object, error.file) == ("npy-objects", name, str(path))
                assert f'"{name}"' in error.message
        with pytest.raises(zten.Unsupported, match="Python objects"):
            file.verify()
    with pytest.raises(zten.Unsupported) as raised:
        zten.numpy.load_file(path)
    assert (raised.value.rule, raised.value.object) == ("npy-objects", "objects")
    assert list(zten.numpy.load_file(path, names=["x"])) == ["x"]


def npy(descr: str, shape: str, content: bytes = b"", version: int = 1) -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"
    encoded = header.encode("utf-8" if version == 3 else "latin-1")
    size = len(encoded).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + encoded + content


def test_a_header_of_python_2() -> None:
    content = npy("[('aL2L', '<i4', (2L,)), ('n\xe9', '|S3')]", "(1L,)", b"12345678abc")
    loaded = zten.numpy.load(content)["arr_0"]
    assert loaded.dtype == np.dtype([("aL2L", "<i4", (2,)), ("n\xe9", "S3")])
    assert loaded.tobytes() == b"12345678abc"


@pytest.mark.parametrize(
    "content",
    [
        # NumPy does not have these dtypes. Of long doubles, the first file has the size that this machine does not have.
        npy("'<f12'", "(1,)", bytes(12)) if np.longdouble(1).itemsize != 12 else npy("'<f16'", "(1,)", bytes(16)),
        npy("'|V9999999999'", "(0,)"),
        npy("'<U4000000000'", "(0,)"),
        npy("'<M8[99999999999999999999s]'", "(1,)", bytes(8)),
        npy("[('a', '<f4', (99999999999, 0))]", "(1,)"),
        npy(f"[('a', '<f4', ({'1, ' * 70}))]", "(1,)", bytes(4)),
        npy("[('a', '<U1'), (('a', 'b'), '<U1')]", "(1,)", bytes(8)),
        npy("[('\\\\N{no such character}', '<U1')]", "(1,)", bytes(4)),
        npy("[('\\\\x', '<U1')]", "(1,)", bytes(4)),
        npy("[('a', " * 1000 + "'<U1'" + ")]" * 1000, "(1,)", bytes(4)),
        npy("[('a', " * 90 + "'<U1'" + ")]" * 90, "(1,)", bytes(4)),
        # NumPy has the dtypes, but no arrays of these shapes: they have too many dimensions, or more elements than NumPy can
        # address.
        npy("'|V0'", "(9223372036854775807,)"),
        npy("'|V0'", "(4294967296, 4294967296)"),
        npy("'<U0'", f"({'1, ' * 64})"),
        npy("'|V0'", f"({'1099511627776, ' * 1})"),
    ],
)
def test_hostile_dtypes_raise_only_errors_of_zten(content: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for read in (
            lambda: zten.numpy.load(content),
            lambda: zten.open(content, map=True)["arr_0"].numpy(),
            lambda: zten.open(content)["arr_0"][:1].numpy(),
            lambda: zten.open(content)["arr_0"].components["data"].numpy(),
        ):
            try:
                array = read()
            except zten.Error as error:
                assert "arr_0" in error.message and len(error.message) < 500
            else:
                array = array["arr_0"] if isinstance(array, dict) else array
                assert not array.dtype.hasobject


def test_a_spelling_that_hides_objects_makes_no_objects() -> None:
    for descr in (
        "'|O'", "'O'", "[('a', '|O')]", "[('a', '\\\\x4f')]", "[('a', '|\\\\x4f8')]", "[('a', [('b', 'O')])]", "[('a', 'O', (2,))]",
    ):
        file = zten.open(npy(descr, "(1,)", bytes(16)))
        assert file["arr_0"].state == "unread", descr
        with pytest.raises(zten.Unsupported):
            file["arr_0"].numpy()


def test_torch_has_no_opaque_dtypes(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "a.npz"
    np.savez(path, t=np.array(["ab"]), x=np.arange(3), r=ARRAYS["records"])
    with zten.open(path) as file, zten.open(path, map=True) as mapped:
        for read in (
            file["t"].torch, mapped["t"].torch, file["t"][:1].torch,
            lambda: zten.torch.load_file(path), lambda: zten.torch.load_file(path, map=True),
        ):
            with pytest.raises(zten.Unsupported, match="it is opaque") as raised:
                read()
            assert (raised.value.object, raised.value.rule) == ("t", "unsupported-type")
        assert file['r["a"]'].torch().tolist() == [1, 3]
    assert list(zten.torch.load_file(path, names=["x"])) == ["x"]


def test_states_of_the_corpus() -> None:
    """In all files of the corpus that can be opened, reading an unread tensor raises an error with the rule that is its reason,
    and in those that are accepted, the bytes of an opaque tensor can be read."""
    seen = set()
    for path in [*corpus.others("accept"), *corpus.others("reject"), *sorted((corpus.CORPUS / "accept").rglob("*.zt"))]:
        try:
            file = zten.open(path)
        except (zten.Error, OSError):
            continue
        with file:
            for tensor in file.values():
                seen.add(tensor.state)
                assert (tensor.reason is not None) == (tensor.state == "unread")
                if tensor.state == "unread":
                    for read in (tensor.numpy, tensor.scipy, tensor.dequantize):
                        with pytest.raises(zten.Unsupported) as raised:
                            read()
                        assert (raised.value.rule, raised.value.object) == (tensor.reason, tensor.name), path
                elif tensor.state == "opaque" and "accept" in path.parts:
                    for component in tensor.components.values():
                        assert component.nbytes in (None, len(component.tobytes()))
                if tensor.format.startswith("gguf."):
                    # Big-endian GGUF files do not define the byte order within some blocks, so zten does not interpret these.
                    state = "opaque" if tensor.format.endswith(".big_endian") else "readable"
                    assert tensor.state == state, path
    assert seen == {"readable", "opaque", "unread"}
