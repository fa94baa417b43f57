"""Tests that the content of an untrusted file raises no other exceptions than ``zten.Error``, and what the exceptions have."""

from __future__ import annotations

import importlib.util
import io
import pickle
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import pytest

import zten

HAS_TORCH = importlib.util.find_spec("torch") is not None
ENDS = {".zt", ".safetensors", ".gguf", ".npy", ".npz", ".json"}
INDICES = (slice(0, 1), slice(None), slice(None, None, -2), ..., (..., slice(1, None)), ())


def attempt(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Calls ``call`` with the arguments, and returns its result, or None if the call raises a ``zten.Error`` that has a message and
    a rule. A ``zten.Error`` that lacks either, and any other exception, fails the test."""
    try:
        return call(*arguments, **named)
    except zten.Error as error:
        assert error.message and error.rule, error
        return None


def read_tensor(tensor: zten.Tensor) -> None:
    for read in (
        tensor.numpy, lambda: tensor.numpy(verify=False), tensor.scipy, tensor.verify,
        lambda: tensor.dequantize().numpy(), lambda: tensor[(..., slice(3)) if tensor.shape else ...].dequantize(),
        lambda: tensor[:1].dequantize() if tensor.shape else None, tensor._repr_html_,
        tensor.item, lambda: float(tensor), lambda: tensor[...].item(),
        lambda: len(tensor), lambda: list(tensor), tensor.__dlpack__, lambda: tensor.quantization, lambda: tensor.attributes,
        lambda: np.asarray(tensor),
    ):
        attempt(read)
    assert repr(tensor) and tensor.ndim == len(tensor.shape)
    assert (tensor.size, tensor.nbytes, tensor.dtype, tensor.is_sparse) is not None
    frameworks = ("numpy", "torch") if HAS_TORCH else ("numpy",)
    for framework in frameworks:
        attempt(getattr(tensor, framework))
        for index in INDICES:
            part = attempt(tensor.__getitem__, index) if tensor.shape else None
            if part is not None:
                attempt(getattr(part, framework))
                assert repr(part)
    for component in tensor.components.values():
        attempt(component.tobytes)
        attempt(component.numpy)
        assert repr(component)


def read_file(path: Path, **how: Any) -> None:
    with zten.open(path, **how) as file:
        attempt(file.verify)
        assert repr(file) and file.attributes is not None and file.shards is not None
        assert len(file) == len(list(file)) and (file.version, file.is_data_shard) is not None
        for name in list(file)[:40]:
            read_tensor(file[name])


def read_safe(path: Path, framework: str) -> None:
    with zten.safe_open(path, framework=framework) as file:
        attempt(file.metadata)
        attempt(file.offset_keys)
        for name in file.keys()[:40]:
            attempt(file.get_tensor, name)
            part = attempt(file.get_slice, name)
            if part is not None:
                assert isinstance(part.get_dtype(), str) and part.get_shape() == list(part._tensor.shape)
                attempt(part.__getitem__, ...)


def test_every_file_of_the_corpus_raises_errors_of_the_package_alone() -> None:
    paths = [path for path in sorted(corpus.CORPUS.rglob("*")) if path.suffix in ENDS]
    assert len(paths) > 4000
    for path in paths:
        zten.check(path)
        attempt(zten.numpy.load_file, path)
        attempt(zten.numpy.load_file, path, map=True, verify=False)
        attempt(read_file, path)
        attempt(read_file, path, map=True)
        attempt(read_safe, path, "np")
        if HAS_TORCH:
            attempt(zten.torch.load_file, path)
            attempt(read_safe, path, "pt")


def unsupported(call: Callable[[], Any], path: Path, name: str) -> str | None:
    """Checks that ``call`` raises :class:`zten.Unsupported` about the object ``name`` of the file at ``path``, and returns the id
    of its rule."""
    with pytest.raises(zten.Unsupported) as raised:
        call()
    assert (raised.value.file, raised.value.object) == (str(path), name)
    assert raised.value.clause
    return raised.value.rule


HUGE = corpus.CORPUS / "accept/v01-shape-0-among-huge.zt"


def test_shapes_that_python_and_libraries_do_not_have_are_not_supported() -> None:
    with zten.open(HUGE) as file:
        for name, tensor in file.items():
            assert unsupported(tensor.numpy, HUGE, name) == "unsupported-feature"
            assert unsupported(tensor[...].numpy, HUGE, name) == "unsupported-feature"
            if HAS_TORCH:
                assert unsupported(tensor.torch, HUGE, name) == "unsupported-feature"
            if tensor.shape[0] > sys.maxsize:
                assert unsupported(tensor.__len__, HUGE, name) == "unsupported-feature"


def test_layouts_and_types_that_a_call_does_not_serve(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    with zten.create(path) as writer:
        writer.add("w", np.arange(3))
        writer.add("scalar", np.float32(1))
        writer.add_object("other", "later", [2], {"data": np.zeros(2, np.uint8)})
    with zten.open(path) as file:
        other, w = file["other"], file["w"]
        for read in (other.numpy, other.scipy, other.dequantize, lambda: other[0], w.scipy, w.dequantize):
            of = "w" if read in (w.scipy, w.dequantize) else "other"
            assert unsupported(read, path, of) == "unsupported-format"
        assert unsupported(file["scalar"].__len__, path, "scalar") == "unsupported-format"
        # A direct call of the native module raises the same kind of error as the methods in Python.
        with pytest.raises(zten.Unsupported, match="layout") as raised:
            file._reader.read_slice(list(file).index("other"), [(0, 1)], np.empty(1, np.uint8))
        assert (raised.value.rule, raised.value.object) == ("unsupported-format", "other")


def test_errors_have_the_advice_of_the_command_as_a_note(tmp_path: Path) -> None:
    """The advice that a report has is an attribute of the exception too, and a note, which Python prints below the message. Both
    survive pickling. An error without advice has no note."""
    path = tmp_path / "w.zt"
    zten.numpy.save_file({"w": np.zeros(100, np.float32)}, path)
    content = bytearray(path.read_bytes())
    with zten.open(path) as file:
        content[file["w"].components["data"].offset] ^= 1
    path.write_bytes(content)
    report = zten.check(path)
    assert report.rule == "digest-mismatch" and report.advice
    with pytest.raises(zten.Invalid) as raised:
        zten.numpy.load_file(path)
    for error in (raised.value, pickle.loads(pickle.dumps(raised.value))):
        assert error.advice == report.advice and error.__notes__ == [report.advice]
        assert (str(error), error.rule) == (f"{path}: {report.message}", report.rule)
    with pytest.raises(zten.LimitExceeded) as limited:
        zten.open(path, limits={"manifest": 8})
    assert limited.value.advice == zten.explain("limit-manifest").advice
    np.savez(tmp_path / "w.npz", w=np.array([1, "a"], object))
    with zten.open(tmp_path / "w.npz") as file:
        unread: list[Callable[[], Any]] = [file["w"].numpy, file["w"].scipy, file["w"].verify]
        for read in unread:
            with pytest.raises(zten.Unsupported) as refused:
                read()
            assert refused.value.advice == zten.explain("npy-objects").advice
    with zten.open(corpus.CORPUS / "accept/1.2.3/dense_all.zt") as file, pytest.raises(zten.MissingTensor) as missing:
        file["none"]
    assert missing.value.advice is None and not hasattr(missing.value, "__notes__")


def test_without_scipy_a_sparse_tensor_is_not_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    path = next((corpus.CORPUS / "accept").glob("*/coo_raw.zt"))
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with zten.open(path) as file:
        name = next(name for name, tensor in file.items() if tensor.is_sparse)
        for read in (file[name].scipy, lambda: zten.numpy.load_file(path)):
            with pytest.raises(zten.Unsupported, match="SciPy") as raised:
                read()
            assert isinstance(raised.value.__cause__, ImportError)
            assert (raised.value.rule, raised.value.file) == ("unsupported-feature", str(path))


def test_limits_are_asked_before_there_is_memory(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    zten.numpy.save_file({"w": np.zeros((1 << 12, 1 << 12), np.uint8)}, path, zstd=3)
    with zten.open(path, limits={"decoded": 1 << 20}) as file:
        tensor = file["w"]
        data = tensor.components["data"]
        reads: list[Callable[[], Any]] = [
            tensor.numpy, lambda: tensor[:].numpy(), lambda: tensor[::2].numpy(), lambda: tensor[1:, ::3].numpy(),
            lambda: tensor.numpy(verify=False), data.numpy, data.tobytes,
            lambda: zten.numpy.load_file(path, limits={"decoded": 1 << 20}),
        ]
        for read in reads:
            tracemalloc.start()
            with pytest.raises(zten.LimitExceeded) as raised:
                read()
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 1 << 20, peak
            assert (raised.value.rule, raised.value.object) == ("limit-decoded", "w")


def test_memory_that_there_is_not_is_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "w.zt"
    zten.numpy.save_file({"w": np.zeros(2 << 20, np.uint8)}, path)

    def full(*_: object) -> None:
        raise MemoryError

    with zten.open(path) as file:
        tensor = file["w"]
        monkeypatch.setattr(np, "empty", full)
        with pytest.raises(zten.LimitExceeded) as raised:
            tensor.numpy()
    assert (raised.value.rule, raised.value.object) == ("limit-decoded", "w")


class Calling(io.BytesIO):
    """A file object whose ``read`` first calls the function ``call``, with which tests call zten while zten reads the object."""

    call: Callable[[], object] | None = None

    def read(self, size: int | None = -1, /) -> bytes:
        if self.call is not None:
            self.call()
        return super().read(size)


@pytest.mark.parametrize("count", [4, 4 << 20])
def test_an_object_that_calls_the_package_as_it_is_read_is_an_error(count: int) -> None:
    content = zten.numpy.save({"w": np.zeros(count, np.float32)})
    source = Calling(content)
    file = zten.open(source)
    tensor = file["w"]
    outcomes: list[object] = []

    def run() -> None:
        for call in (tensor.numpy, file.verify, lambda: zten.check(source), lambda: zten.open(source)):
            source.call = call
            for read in (tensor.numpy, tensor[1:].numpy, file.verify, lambda: zten.open(source), lambda: zten.check(source)):
                try:
                    outcomes.append(read())
                except ValueError as error:
                    outcomes.append(str(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "it waits for itself"
    assert len(outcomes) == 20
    assert all("calls zten while it is read" in str(outcome) for outcome in outcomes), outcomes
    # Once `read` of the object does not call zten any more, the object can be read.
    source.call = None
    assert tensor.numpy().nbytes == 4 * count


def test_errors_of_the_system_have_the_path(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    zten.numpy.save_file({"w": np.zeros(100_000, np.float32)}, path)
    with zten.open(path) as file, zten.open(path, map=True, verify=False) as mapped:
        with path.open("r+b") as other:
            other.truncate(4096)
        for read in (file["w"].numpy, file["w"].verify, mapped["w"].numpy):
            with pytest.raises(OSError, match="shorter") as raised:
                read()
            assert raised.value.filename == str(path)
    for open_file in (zten.open, zten.numpy.load_file, zten.safe_open):
        with pytest.raises(FileNotFoundError) as missing:
            open_file(tmp_path / "none.zt")
        assert missing.value.filename == str(tmp_path / "none.zt")
