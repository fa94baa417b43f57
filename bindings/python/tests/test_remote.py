"""Files over HTTP, where that was built in: ``ZTEN_REMOTE=1`` says that it was."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import zten
import zten.numpy
from corpus import CORPUS

REMOTE = os.environ.get("ZTEN_REMOTE") == "1"
remote = pytest.mark.skipif(not REMOTE, reason="built without the feature remote")


class Server:
    """Serves the files of a folder by ranges, and counts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.requests: list[str] = []
        self.paths: list[str] = []
        self.sent = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                asked = self.headers["Range"].removeprefix("bytes=")
                server.requests.append(asked)
                server.paths.append(self.path)
                path = server.folder / self.path.split("?")[0].lstrip("/")
                if not path.is_file():
                    self.send_response(404)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                data = path.read_bytes()
                first, last = asked.split("-")
                start = int(first) if first else max(0, len(data) - int(last))
                end = int(last) + 1 if first else len(data)
                tag = f'"{hash(data)}"'
                if self.headers.get("If-Match", tag) != tag:
                    self.send_response(412)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("ETag", tag)
                self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
                self.send_header("Content-Length", str(end - start))
                self.end_headers()
                self.wfile.write(data[start:end])
                server.sent += end - start

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def name(self, file: str) -> str:
        return f"http://127.0.0.1:{self.http.server_port}/{file}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.mark.skipif(REMOTE, reason="built with the feature remote")
def test_without_the_feature_it_says_how_to_have_it() -> None:
    with pytest.raises(OSError, match="built with the feature remote") as raised:
        zten.open("https://example.org/model.zt?signature=secret")
    assert "secret" not in str(raised.value)
    [found] = list(zten.check_batch(["s3://bucket/model.zt"])["verdict"])
    assert found == "error"


@remote
def test_files_are_read_by_ranges(tmp_path: Path, server: Server) -> None:
    weights = np.arange(1 << 20, dtype=np.float32).reshape(1024, 1024)
    zten.numpy.save_file({"a": weights, "b": weights + 1, "c": weights + 2}, tmp_path / "model.zt")
    with zten.open(server.name("model.zt")) as file:
        assert list(file) == ["a", "b", "c"]
        listed = server.sent
        assert len(server.requests) <= 3
        assert listed <= (64 << 10) + 64
        assert np.array_equal(file["b"].numpy(), weights + 1)
        assert server.sent - listed <= weights.nbytes * 1.05
    assert zten.check(server.name("model.zt")).verdict == "valid"
    loaded = zten.numpy.load_file(server.name("model.zt"))
    assert np.array_equal(loaded["c"], weights + 2)


@remote
def test_a_slice_fetches_its_bytes(tmp_path: Path, server: Server) -> None:
    weights = np.arange(1 << 20, dtype=np.float32).reshape(1024, 1024)
    zten.numpy.save_file({"a": weights, "b": weights}, tmp_path / "model.zt", digest=None)
    with zten.open(server.name("model.zt")) as file:
        before = server.sent
        assert np.array_equal(file["a"][100:200], weights[100:200])
        assert server.sent - before <= 100 * 4096 * 1.05


@remote
def test_a_file_that_changes_and_one_that_is_not_valid(tmp_path: Path, server: Server) -> None:
    path = tmp_path / "model.zt"
    weights = np.arange(1 << 18, dtype=np.float32)
    zten.numpy.save_file({"a": weights}, path)
    with zten.open(server.name("model.zt")) as file:
        path.write_bytes(path.read_bytes() + b"more")
        with pytest.raises(OSError, match="changed"):
            file["a"].numpy()
    path.write_bytes(b"ZTEN1000" + bytes(64))
    with pytest.raises(zten.Refused) as refused:
        zten.open(server.name("model.zt"))
    assert refused.value.rule == zten.check(path).rule


@remote
def test_secrets_are_not_shown(server: Server) -> None:
    for name in ["http://user:secret@127.0.0.1/a.zt", "http://127.0.0.1:1/a.zt?signature=secret"]:
        with pytest.raises(OSError) as raised:
            zten.open(name)
        assert "secret" not in str(raised.value), raised.value


@remote
def test_shards_are_fetched_when_they_are_read(server: Server) -> None:
    server.folder = CORPUS / "v2" / "shards"
    with zten.open(server.name("csr.zt")) as file, zten.open(server.folder / "csr.zt") as here:
        assert list(file) == ["w"]
        assert server.paths == ["/csr.zt"]
        indptr = file["w"].components["indptr"].tobytes()
        assert indptr == here["w"].components["indptr"].tobytes()
        assert server.paths == ["/csr.zt", "/csr-a.zt"]
        assert file.verify() == here.verify()
        assert file.verify() == here.verify()
        assert server.paths == ["/csr.zt", "/csr-a.zt", "/csr-bb.zt"]
    for root in sorted(server.folder.glob("*.zt")):
        there, wanted = zten.check(server.name(root.name)), zten.check(root)
        assert (there.verdict, there.rule) == (wanted.verdict, wanted.rule), root
    found = zten.check(server.name("csr.zt") + "?signature=secret")
    assert (found.verdict, found.rule) == ("unsupported", "unsupported-shard")
    assert "/csr-a.zt?signature=secret" not in server.paths
    found = zten.check(server.name("csr.zt"), shards=False)
    assert found.rule == "unsupported-shard"
