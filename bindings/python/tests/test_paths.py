"""Tests of the ways in which a file can be named."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zten

ARRAYS: dict[str, Any] = {"w": np.arange(60, dtype=np.float32).reshape(6, 10), "b": np.ones(3, np.int64)}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes a new folder with the model ``models/m.zt`` the home folder of the process, and returns it. The current folder is a
    different one."""
    home = tmp_path / "home of user"
    (home / "models").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    zten.numpy.save_file(ARRAYS, home / "models/m.zt")
    return home


def read_in_all_ways(source: Any) -> None:
    """Reads the model ``source`` by several functions that take a file, and checks that it has the arrays ``ARRAYS``."""
    for file in (zten.open(source), zten.safe_open(source)):
        with file:
            assert set(file.keys()) == set(ARRAYS)
    with zten.open(source) as file:
        np.testing.assert_array_equal(file["w"][1:3].numpy(), ARRAYS["w"][1:3])
        assert file.verify() == (2, 2)
    for name, array in zten.numpy.load_file(source).items():
        np.testing.assert_array_equal(array, ARRAYS[name])
    report = zten.check(source)
    assert report and report.verdict == "valid", report
    assert zten.convert(source, Path.cwd() / "copy.safetensors") == 2


def test_paths_of_the_home_folder_and_urls(home: Path) -> None:
    path = home / "models/m.zt"

    class Named:
        def __fspath__(self) -> str:
            return str(path)

    given: list[Any] = [
        "~/models/m.zt", Path("~/models/m.zt"), str(path), path, Named(), path.as_uri(), "file://localhost" + path.as_uri()[7:],
        path.as_uri().replace("file", "FILE"), "~/models", home / "models",
    ]
    assert "%20" in path.as_uri()
    for source in given:
        read_in_all_ways(source)
        with zten.open(source, map=True) as file:
            assert not file["w"].numpy().flags.writeable
            again = pickle.loads(pickle.dumps(file))
            assert list(again) == list(file)
    reports = zten.check_batch(given[:8])
    assert reports["verdict"] == ["valid"] * 8 and set(reports["file"]) == {str(path)}


def test_files_are_written_there(home: Path) -> None:
    url = (home / "models/new.zt").as_uri()
    zten.numpy.save_file(ARRAYS, "~/models/new.zt")
    with zten.append(url) as writer:
        writer.add("more", np.zeros(1))
    assert list(zten.open("~/models/new.zt")) == ["w", "b", "more"]
    with zten.create("~/models/other.zt") as writer:
        writer.add("x", np.zeros(1))
    assert zten.convert("~/models/other.zt", "file://" + str(home / "models/o.npz")) == 1
    with pytest.raises(FileExistsError):
        zten.convert("~/models/other.zt", "~/models/o.npz", overwrite=False)
    assert sorted(path.name for path in (home / "models").iterdir()) == ["m.zt", "new.zt", "o.npz", "other.zt"]
    assert list(Path.cwd().iterdir()) == []


def test_lists_of_digests_are_found_there(home: Path) -> None:
    (home / "m.digests").write_text("# zten digests 9\n")
    for digests in ("~/m.digests", (home / "m.digests").as_uri()):
        with pytest.raises(ValueError, match="unsupported version"):
            zten.open("~/models/m.zt", digests=digests)


@pytest.mark.parametrize("url", ["file://host/m.zt", "file:///m.zt?x=1", "file:///m.zt#x"])
def test_other_urls_of_files_are_rejected(url: str) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: zten.open(url), lambda: zten.check(url), lambda: zten.check_batch([url]),
        lambda: zten.numpy.save_file(ARRAYS, url, format="zt"),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="not the URL of a local file"):
            call()


def test_a_name_that_only_looks_like_one_is_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("./~", "file:x.zt", "a~b.zt", "~no-such-user-of-this-machine.zt"):
        zten.numpy.save_file(ARRAYS, name, format="zt")
        assert os.path.lexists(tmp_path / name) and list(zten.open(name)) == list(ARRAYS)


# ---- fsspec


@pytest.fixture
def bucket() -> Iterator[tuple[Any, str]]:
    """Yields a file system of fsspec in memory, and the URL of a model in it. The model is deleted after the test."""
    fsspec = pytest.importorskip("fsspec")
    fs = fsspec.filesystem("memory")
    with fs.open("/bucket/m.zt", "wb") as file:
        file.write(zten.numpy.save(ARRAYS))
    yield fs, "memory://bucket/m.zt"
    fs.rm("/bucket", recursive=True)


def test_files_of_fsspec(bucket: tuple[Any, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.chdir(tmp_path)
    fs, url = bucket
    read_in_all_ways(fsspec.open(url))
    with fs.open("/bucket/m.zt") as opened, zten.open(opened) as file:
        assert file["w"].numpy().sum() == ARRAYS["w"].sum()
    with fs.open("/bucket/m.zt") as opened:
        assert zten.check(opened)
    with zten.open(fsspec.open(url)) as file:
        again = pickle.loads(pickle.dumps(file))
        assert again["w"].numpy().sum() == ARRAYS["w"].sum()
        again.close()
        assert file["w"].numpy().sum() == ARRAYS["w"].sum()
    with pytest.raises(ValueError, match="map=True"):
        zten.open(fsspec.open(url), map=True)


def test_local_files_of_fsspec_are_paths(home: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    path = home / "models/m.zt"
    for source in (fsspec.open(str(path)), fsspec.open(f"file://{path}"), fsspec.open("~/models/m.zt")):
        read_in_all_ways(source)
        with zten.open(source, map=True) as file:
            assert not file["w"].numpy().flags.writeable and repr(str(path))[1:-1] in repr(file)
    with fsspec.filesystem("file").open(str(path)) as opened:
        read_in_all_ways(opened)
    with pytest.raises(ValueError, match="expected 'rb'"):
        zten.open(fsspec.open(str(path), "r"))


def test_a_compressed_file_of_fsspec_is_decompressed(home: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open(str(home / "m.zt.gz"), "wb", compression="gzip") as file:
        file.write((home / "models/m.zt").read_bytes())
    read_in_all_ways(fsspec.open(str(home / "m.zt.gz"), compression="gzip"))
    assert not zten.check(home / "m.zt.gz")


def test_what_is_opened_is_closed(bucket: tuple[Any, str]) -> None:
    """The package closes the files of fsspec that it has opened itself, even after an error, and leaves files open that the
    caller has opened."""
    fs, _ = bucket
    opened: list[Any] = []

    class Lazy:
        mode, compression, path = "rb", None, "/bucket/m.zt"

        def __init__(self) -> None:
            self.fs = fs

        def open(self) -> Any:
            opened.append(fs.open(self.path))
            opened[-1].seek(0)
            copy = type("Copy", (), {})()
            file = opened[-1]
            copy.read, copy.seek, copy.is_closed = file.read, file.seek, False

            def close() -> None:
                copy.is_closed = True

            copy.close = close
            opened[-1] = copy
            return copy

    source: Any = Lazy()
    with zten.open(source) as file:
        assert not opened[-1].is_closed
        file["w"].numpy()
    assert opened[-1].is_closed
    assert zten.check(source) and opened[-1].is_closed
    fs.pipe("/bucket/m.zt", b"no file of tensors")
    for call in (lambda: zten.open(source), lambda: zten.numpy.load_file(source), lambda: zten.convert(source, "x.npz")):
        with pytest.raises(zten.Error):
            call()
        assert opened[-1].is_closed
    fs.pipe("/bucket/m.zt", zten.numpy.save(ARRAYS))
    with fs.open("/bucket/m.zt") as own:
        zten.open(own).close()
        assert own.read(8) is not None


def test_a_missing_file_of_fsspec() -> None:
    fsspec = pytest.importorskip("fsspec")
    with pytest.raises(FileNotFoundError):
        zten.open(fsspec.open("memory://bucket/none.zt"))
    # An exception of the object that is read is raised unchanged, even by `check`, which otherwise reports errors.
    with pytest.raises(FileNotFoundError):
        zten.check(fsspec.open("memory://bucket/none.zt"))


def test_paths_of_universal_pathlib(bucket: tuple[Any, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upath = pytest.importorskip("upath")
    monkeypatch.chdir(tmp_path)
    read_in_all_ways(upath.UPath(bucket[1]))


def test_files_in_s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files in S3 that are opened through s3fs can be read. The server is moto, on this machine."""
    server, s3fs = pytest.importorskip("moto.server"), pytest.importorskip("s3fs")
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.chdir(tmp_path)
    threaded = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    threaded.start()
    try:
        host, port = threaded.get_host_and_port()
        options = {"endpoint_url": f"http://{host}:{port}", "key": "k", "secret": "s"}
        fs = s3fs.S3FileSystem(**options, skip_instance_cache=True)
        fs.mkdir("bucket")
        fs.pipe("bucket/m.zt", zten.numpy.save(ARRAYS))
        read_in_all_ways(fsspec.open("s3://bucket/m.zt", **options))
        with fs.open("bucket/m.zt") as opened, zten.open(opened) as file:
            sums: list[float] = []
            threads = [threading.Thread(target=lambda: sums.append(float(file["w"].numpy().sum()))) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sums == [float(ARRAYS["w"].sum())] * 4
    finally:
        threaded.stop()
