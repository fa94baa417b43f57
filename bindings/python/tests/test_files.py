"""Tests of opening, closing, pickling, threads and interruption."""

from __future__ import annotations

import errno
import gc
import io
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import pytest

import zten

DENSE = corpus.CORPUS / "accept/1.2.3/dense_all.zt"


def descriptors() -> set[str]:
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            pass
    return found


linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")


@linux
def test_a_map_takes_a_descriptor_of_its_own() -> None:
    """Each call of ``descriptor`` returns a duplicate that the caller closes, so a memory map shows the validated file even if
    the number of the file's own descriptor is used for another file."""
    with zten.open(DENSE, map=True) as file:
        before = len(os.listdir("/proc/self/fd"))
        own, another = file._reader.descriptor(), file._reader.descriptor()
        assert own is not None and another is not None and own != another
        os.close(own)
        os.close(another)
        assert len(os.listdir("/proc/self/fd")) == before
        file["t_f32"].numpy()
        kept = 0 if sys.version_info >= (3, 13) else 1
        assert len(os.listdir("/proc/self/fd")) == before + kept


def test_a_file_is_a_mapping() -> None:
    with zten.open(DENSE) as file:
        assert len(file) == 13 and "t_f32" in file and "x" not in file and not file.__contains__(3)
        assert list(file.keys()) == list(file) == [tensor.name for tensor in file.values()]
        assert dict(file.items()).keys() == set(file)
        assert file.get("x") is None
        with pytest.raises(KeyError, match='did you mean "t_f32"'):
            file["t_fp32"]
        assert file.generation == "1.2" and file.version == "1.2.0"
        tensor = file["t_f32"]
        assert (tensor.shape, tensor.dtype, tensor.nbytes) == ((2, 3), "f32", 24)
        assert (tensor.format, tensor.ndim, tensor.size, len(tensor)) == ("dense", 2, 6, 2)
        assert np.asarray(tensor).tolist() == tensor.numpy().tolist()
        assert np.asarray(tensor[0], np.float64).tolist() == [-1.25, -0.75, -0.25]
        assert "t_f32" in repr(tensor) and "1.2" in repr(file)


def test_sources() -> None:
    content = DENSE.read_bytes()
    wanted = zten.numpy.load_file(DENSE)
    for source in (
        str(DENSE), DENSE, content, bytearray(content), memoryview(content), io.BytesIO(content)
    ):
        for name, array in zten.numpy.load_file(source).items():
            assert array.tobytes() == wanted[name].tobytes()
        assert zten.check(source)
    with DENSE.open("rb") as raw:
        assert zten.numpy.load_file(raw).keys() == wanted.keys()
    with zten.open(content, map=True) as file:
        view = file["t_f32"].numpy()
        assert not view.flags.owndata and view.tobytes() == wanted["t_f32"].tobytes()
    with pytest.raises(ValueError, match="map"):
        zten.open(io.BytesIO(content), map=True)
    with pytest.raises(TypeError, match="path"):
        zten.open(3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError) as raised:
        zten.open("no such file")
    assert raised.value.filename == "no such file"


def test_opening_a_folder_opens_its_only_model(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder without a model file") as raised:
        zten.open(tmp_path)
    assert (raised.value.errno, raised.value.filename) == (errno.EISDIR, str(tmp_path))
    zten.numpy.save_file({"w": np.arange(3)}, tmp_path / "model.zt")
    (tmp_path / "config.json").write_text("{}")
    with zten.open(tmp_path) as file:
        assert file["w"].numpy().tolist() == [0, 1, 2]
    assert zten.check(tmp_path)
    (tmp_path / "other.zt").write_bytes((tmp_path / "model.zt").read_bytes())
    with pytest.raises(IsADirectoryError, match="2 models: model.zt, other.zt"):
        zten.open(tmp_path)


def test_what_an_object_raises_is_raised() -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise ZeroDivisionError("broken")

    class TooMuch(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read((size or 0) + 1)

    content = DENSE.read_bytes()
    for call in (zten.open, zten.check):
        with pytest.raises(ZeroDivisionError, match="broken"):
            call(Broken(content))
    with pytest.raises(ValueError, match="more bytes"):
        zten.open(TooMuch(content))


def test_a_closed_file_cannot_be_read_and_arrays_outlive_it() -> None:
    file = zten.open(DENSE, map=True)
    tensor, view = file["t_f32"], file["t_f32"].numpy()
    file.close()
    assert file.closed and view[0, 0] == -1.25
    file.close()
    for call in (lambda: list(file), lambda: file["t_f32"], tensor.numpy, file.verify):
        with pytest.raises(ValueError, match="closed"):
            call()
    assert "closed" in repr(file)


@linux
def test_no_descriptor_is_left_open() -> None:
    # Errors that other tests have caught still refer to open files, which the collection closes.
    gc.collect()
    before = descriptors()
    with zten.open(DENSE) as file:
        assert any(name.endswith("dense_all.zt") for name in descriptors())
        file.verify()
    assert descriptors() == before
    zten.numpy.load_file(DENSE)
    zten.check(DENSE)
    zten.check_batch([DENSE, DENSE, "no such file"])
    for reject in corpus.rejects()[::300]:
        zten.check(reject.path)
        with pytest.raises(zten.Error):
            zten.open(reject.path, **reject.options).verify()
    assert descriptors() == before
    zten.open(DENSE)  # dropped
    assert descriptors() == before
    arrays = zten.numpy.load_file(DENSE, map=True)
    del arrays
    with zten.open(DENSE, map=True) as file:
        array = file["t_f32"].numpy()
    if sys.version_info >= (3, 13):
        assert descriptors() == before
    del array
    assert descriptors() == before
    for root in corpus.sharded():
        zten.check(root.path, **root.options)
    assert descriptors() == before


def test_pickles() -> None:
    report = zten.check(corpus.rejects()[0].path)
    assert pickle.loads(pickle.dumps(report)) == report
    with zten.open(DENSE, verify=False, limits={"keys": 99}) as file:
        tensor = pickle.loads(pickle.dumps(file["t_i8"]))
        assert tensor.numpy().tolist() == file["t_i8"].numpy().tolist()
        again = pickle.loads(pickle.dumps(file))
        assert list(again) == list(file)
        assert (again._strictness, again._verify) == (file._strictness, False)
        again.close()
    with pytest.raises(TypeError, match="path"):
        pickle.dumps(zten.open(DENSE.read_bytes()))
    with pytest.raises(zten.Error) as raised:
        zten.open(corpus.rejects()[0].path, **corpus.rejects()[0].options)
    error = pickle.loads(pickle.dumps(raised.value))
    assert type(error) is type(raised.value) and vars(error) == vars(raised.value)


def test_threads_read_one_file(tmp_path: Path) -> None:
    path = tmp_path / "w.zt"
    arrays = {str(n): np.full(200_000, n, np.int32) for n in range(32)}
    zten.numpy.save_file(arrays, path)
    for source in (path, path.read_bytes(), io.BytesIO(path.read_bytes())):
        with zten.open(source) as file, ThreadPoolExecutor(8) as pool:
            read = list(pool.map(lambda name: file[name].numpy(), arrays))
        assert all((one == other).all() for one, other in zip(read, arrays.values(), strict=True))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the path of a zTensor file with 12 tensors of 64 MiB of zeros each, so that reading it takes long enough to
    interrupt."""
    path = tmp_path_factory.mktemp("large") / "large.zt"
    with zten.create(path) as writer:
        zeros = np.zeros(1 << 26, np.uint8)
        for n in range(12):
            writer.add(str(n), zeros)
    return path


def test_the_lock_is_released(large: Path) -> None:
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    for work in (
        lambda: zten.check(large),
        lambda: zten.numpy.load_file(large),
        lambda: zten.open(large)["3"].numpy(),
    ):
        done.clear()
        ticks = 0
        thread = threading.Thread(target=tick)
        thread.start()
        start = time.monotonic()
        work()
        took = time.monotonic() - start
        done.set()
        thread.join()
        # If the call held the interpreter's lock, the counter would reach only one or two.
        assert ticks > min(5, took / 0.02), (ticks, took)


@pytest.mark.parametrize("call", ["check", "check_batch", "load_file", "verify", "convert", "save"])
def test_an_interrupt_ends_long_work(call: str, large: Path, tmp_path: Path) -> None:
    # The signal is sent after a tenth of the call's time. A call that noticed it only at its end would need nine tenths more.
    script = f"""
import signal, sys, threading, os, time
import numpy as np, zten
# A shell that starts this process in the background has it ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
path, complete, target = sys.argv[1:]
calls = {{
    "check": lambda out: zten.check(path),
    "check_batch": lambda out: zten.check_batch([path] * 2, threads=2),
    "load_file": lambda out: zten.numpy.load_file(path),
    "verify": lambda out: zten.open(path).verify(),
    "convert": lambda out: zten.convert(path, out, zstd=1),
    "save": lambda out: zten.numpy.save_file({{"0": data, "1": data}}, out, zstd=1),
}}
data = np.zeros(1 << 28, np.uint8) if {call!r} == "save" else None
call = calls[{call!r}]
start = time.monotonic()
call(complete)
took = time.monotonic() - start
def interrupt():
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(took / 10, interrupt).start()
try:
    while True:
        call(target)
except KeyboardInterrupt:
    print(time.monotonic() - sent, took, flush=True)
"""
    complete, target = tmp_path / "complete.zt", tmp_path / "target.zt"
    ended = subprocess.run(
        [sys.executable, "-c", script, str(large), str(complete), str(target)],
        capture_output=True, text=True, timeout=600, check=False,
    )
    assert ended.returncode == 0, ended.stderr
    waited, took = map(float, ended.stdout.split())
    assert waited < took / 2, (waited, took)
    assert not target.exists()


@pytest.mark.parametrize("call", ["check", "open"])
def test_an_interrupt_does_not_wait_for_a_large_header(call: str, tmp_path: Path) -> None:
    """A call that parses a large header raises :class:`KeyboardInterrupt` at once. Parsing a pickle of 32 MiB takes long and does
    not read the file, so no read could notice the interrupt."""
    path = tmp_path / "large.pt"
    items = b"K\x01" * (16 << 20)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x02}X\1\0\0\0a](" + items + b"es.")
        archive.writestr("a/version", b"3\n")
    script = """
import os, signal, sys, threading, time
import zten
signal.signal(signal.SIGINT, signal.default_int_handler)
path, call = sys.argv[1:]
call = {"check": zten.check, "open": zten.open}[call]
start = time.monotonic()
call(path)
took = time.monotonic() - start
def interrupt():
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(took / 10, interrupt).start()
try:
    call(path)
except KeyboardInterrupt:
    print(time.monotonic() - sent, took, flush=True)
"""
    ended = subprocess.run(
        [sys.executable, "-c", script, str(path), call],
        capture_output=True, text=True, timeout=600, check=False,
    )
    assert ended.returncode == 0, ended.stderr
    waited, took = map(float, ended.stdout.split())
    assert waited < took / 2, (waited, took)


@linux
def test_memory_of_load_file(tmp_path: Path) -> None:
    """``load_file`` needs memory for the data, the manifest and at most 8 MiB more."""
    path = tmp_path / "w.zt"
    with zten.create(path) as writer:
        for n in range(1000):
            writer.add(f"layer.{n}", np.full(1 << 16, n % 256, np.uint8))
        writer.add("large", np.zeros(1 << 27, np.uint8))
    script = """
import sys, zten
def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
zten.check(sys.argv[2]); zten.numpy.load_file(sys.argv[2])
before = peak()
tensors = zten.numpy.load_file(sys.argv[1])
print(peak() - before, sum(t.nbytes for t in tensors.values()))
"""
    ended = subprocess.run(
        [sys.executable, "-c", script, str(path), str(DENSE)],
        capture_output=True, text=True, check=True,
    )
    grown, data = map(int, ended.stdout.split())
    manifest = path.stat().st_size - data
    assert data > 1 << 27 and grown <= data + manifest + (8 << 20), (grown, data)


def test_other_signals_do_not_end_work(large: Path) -> None:
    caught = []
    old = signal.signal(signal.SIGUSR1, lambda number, frame: caught.append(number))
    try:
        timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGUSR1))
        timer.start()
        assert zten.check(large)
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, old)
    assert caught == [signal.SIGUSR1]


def test_reports(tmp_path: Path) -> None:
    report = zten.check(DENSE)
    assert report and report.verdict == "valid"
    assert report.message == "valid (1.2, 13 tensors, 13 components, 282 B of data)"
    shard = corpus.CORPUS / "v2/accept/data-shard.zt"
    for path in (DENSE, shard):
        assert zten.check(path).verdict == "valid"
        assert zten.check(path, manifest_only=True).verdict == "manifest-valid"
    assert not zten.check(DENSE, canonical=True)
    missing = zten.check(tmp_path / "none.zt")
    assert missing.verdict == "error" and "No such file" in missing.message
    columns = zten.check_batch([DENSE, tmp_path / "none.zt", tmp_path], threads=3)
    assert columns["verdict"] == ["valid", "error", "error"]
    assert zten.check_batch([])["file"] == []
    wrong: dict[str, Any]
    for wrong in ({"limits": {"x": 1}}, {"limits": {"depth": 1}}, {"tolerate": "x"}):
        with pytest.raises(ValueError, match="expected one of"):
            zten.check(DENSE, **wrong)
