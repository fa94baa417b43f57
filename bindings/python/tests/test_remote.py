"""Tests of files over HTTP. They run if ``ZTEN_REMOTE=1`` says that the extension was built with remote files."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import zten
import zten.numpy
from corpus import CORPUS, others

REMOTE = os.environ.get("ZTEN_REMOTE") == "1"
remote = pytest.mark.skipif(not REMOTE, reason="built without the feature remote")


class Server:
    """A server of ranges of the files in a folder, which counts its replies."""

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


class Liar:
    """A server that replies as a test says, and records the requested paths."""

    def __init__(self, answer: Callable[[BaseHTTPRequestHandler], None]) -> None:
        self.paths: list[str] = []
        liar = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                liar.paths.append(self.path)
                answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.name = f"http://127.0.0.1:{self.http.server_port}/file.zt"

    def __enter__(self) -> Liar:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.mark.skipif(REMOTE, reason="built with the feature remote")
def test_without_the_feature_it_says_how_to_have_it() -> None:
    with pytest.raises(OSError, match="build it with the feature remote") as raised:
        zten.open("https://example.org/model.zt?signature=secret")
    assert "secret" not in str(raised.value)
    found = list(zten.check_batch(["s3://bucket/model.zt", "hf://o/m/model.zt"])["verdict"])
    assert found == ["error", "error"]


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
    zten.numpy.save_file({"a": weights, "b": weights.copy()}, tmp_path / "model.zt", digest=None)
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
    with pytest.raises(zten.Invalid) as rejected:
        zten.open(server.name("model.zt"))
    assert rejected.value.rule == zten.check(path).rule


@remote
def test_secrets_are_not_shown(server: Server) -> None:
    for name in ["http://user:secret@127.0.0.1/a.zt", "http://127.0.0.1:1/a.zt?signature=secret"]:
        with pytest.raises(OSError) as raised:
            zten.open(name)
        assert "secret" not in str(raised.value), raised.value


@remote
def test_the_query_of_a_url_is_not_shown(tmp_path: Path, server: Server) -> None:
    zten.numpy.save_file({"w": np.zeros(3)}, tmp_path / "w.zt")
    (tmp_path / "bad.zt").write_bytes(bytes(64))
    url, bad = (server.name(name) + "?signature=secret" for name in ("w.zt", "bad.zt"))
    shown = server.name("w.zt") + "?..."
    with zten.open(url) as file:
        texts = [repr(file), repr(file["w"]), repr(file["w"].components)]
        with pytest.raises(zten.Unsupported) as raised:
            file["w"].scipy()
        assert raised.value.file == shown
    texts += [repr(file), str(raised.value)]
    with zten.safe_open(url) as safe:
        texts.append(repr(safe))
    report = zten.check(url)
    assert report.file == shown and report
    assert zten.check_batch([url, bad])["file"] == [shown, server.name("bad.zt") + "?..."]
    with pytest.raises(zten.Invalid) as rejected:
        zten.open(bad)
    texts += [repr(report), str(report), repr(rejected.value), str(rejected.value), repr(zten.check(bad))]
    texts += [str(zten.check_batch([url, bad]))]
    assert not [text for text in texts if "secret" in text]


INTERRUPTED = """
import os, signal, sys, threading, time, numpy as np, zten
# A shell that starts this process in the background has it ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
sent = []
def call(name, do):
    # The signal is sent after the server has begun to delay its reply.
    def send():
        while not os.path.exists(sys.argv[2]):
            time.sleep(0.005)
        time.sleep(0.1)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    if os.path.exists(sys.argv[2]):
        os.remove(sys.argv[2])
    threading.Thread(target=send, daemon=True).start()
    try:
        do()
    except KeyboardInterrupt:
        print(name, round(1000 * (time.monotonic() - sent[-1])), flush=True)
    else:
        print(name, "was not interrupted", flush=True)
url = sys.argv[1]
with zten.open(url) as file:
    tensor = file["w"]
    open(sys.argv[3], "w").close()
    call("numpy", tensor.numpy)
    call("slice", tensor[:10].numpy)
    call("component", tensor.components["data"].tobytes)
    call("verify", file.verify)
call("open", lambda: zten.open(url))
call("check", lambda: zten.check(url))
call("check_batch", lambda: zten.check_batch([url] * 3))
call("load_file", lambda: zten.numpy.load_file(url))
call("convert", lambda: zten.convert(url, sys.argv[3] + ".zt"))
"""


@remote
@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is sent to the process")
def test_an_interrupt_ends_every_call(tmp_path: Path) -> None:
    zten.numpy.save_file({"w": np.zeros((1 << 16, 4), np.float32)}, tmp_path / "w.zt")
    content = (tmp_path / "w.zt").read_bytes()
    waits, holds = tmp_path / "waits", tmp_path / "holds"

    def answer(request: BaseHTTPRequestHandler) -> None:
        first, last = request.headers["Range"].removeprefix("bytes=").split("-")
        start = int(first) if first else max(0, len(content) - int(last))
        part = content[start : int(last) + 1 if first else len(content)]
        request.send_response(206)
        request.send_header("ETag", '"1"')
        request.send_header("Content-Range", f"bytes {start}-{start + len(part) - 1}/{len(content)}")
        request.send_header("Content-Length", str(len(part)))
        request.end_headers()
        if holds.exists():
            request.wfile.write(part[: len(part) // 2])
            request.wfile.flush()
            waits.touch()
            # Waits until the client has disconnected, so the client gets only half of the reply.
            request.connection.settimeout(60)
            try:
                request.connection.recv(1)
            except OSError:
                pass
            request.close_connection = True
        else:
            request.wfile.write(part)

    with Liar(answer) as liar:
        ended = subprocess.run(
            [sys.executable, "-c", INTERRUPTED, liar.name, str(waits), str(holds)],
            capture_output=True, text=True, timeout=120, check=False,
        )
    assert ended.returncode == 0, ended.stderr
    calls = [line.rsplit(" ", 1) for line in ended.stdout.splitlines()]
    assert len(calls) == 9, ended.stdout
    # Each call ends within 50 ms. On a busy machine some calls take longer, so only the median of the nine is compared
    # with 50 ms.
    assert all(wait.isdigit() and int(wait) < 250 for _, wait in calls), ended.stdout
    assert sorted(int(wait) for _, wait in calls)[4] < 50, ended.stdout


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


@remote
def test_files_of_other_formats_are_what_they_are_here(server: Server) -> None:
    folder = server.folder = CORPUS / "other"
    for path in others("accept") + others("reject"):
        there, here = zten.check(server.name(str(path.relative_to(folder)))), zten.check(path)
        # A server cannot return a range of an empty file, so reports on empty files are not compared.
        if path.stat().st_size:
            assert replace(there, file=here.file) == here
    folder = server.folder = CORPUS / "other/index/accept"
    server.paths.clear()
    with zten.open(server.name("two.index.json")) as file, zten.open(folder / "two.index.json") as here_too:
        assert set(server.paths) == {"/two.index.json", "/a.safetensors", "/b.safetensors"}
        assert file.shards == here_too.shards
        for name, tensor in here_too.items():
            assert file[name].numpy().tobytes() == tensor.numpy().tobytes()
            assert file[name][...].numpy().tobytes() == tensor.numpy().tobytes()
    # The query may be a signature for the index alone, so the URLs of the files that it names are not derived.
    assert zten.check(server.name("two.index.json") + "?signature=secret").rule == "index-file"


@remote
def test_a_slice_of_a_file_of_an_index_fetches_its_bytes(tmp_path: Path, server: Server) -> None:
    weights = np.arange(1 << 20, dtype=np.float32).reshape(1024, 1024)
    header = b'{"a":{"dtype":"F32","shape":[1024,1024],"data_offsets":[0,4194304]}} '
    part = len(header).to_bytes(8, "little") + header + weights.tobytes()
    (tmp_path / "one.safetensors").write_bytes(part)
    (tmp_path / "m.safetensors.index.json").write_text('{"weight_map":{"a":"one.safetensors"}}')
    with zten.open(server.name("m.safetensors.index.json")) as file:
        before = server.sent
        assert np.array_equal(file["a"][100:200], weights[100:200])
        assert server.sent - before <= 100 * 4096 * 1.05


@remote
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_what_a_server_claims_takes_no_memory() -> None:
    manifest = 1 << 30
    length = manifest + 24
    footer = manifest.to_bytes(8, "little") + b"ZTEN1000"

    def answer(request: BaseHTTPRequestHandler) -> None:
        first, last = request.headers["Range"].removeprefix("bytes=").split("-")
        start = int(first) if first else length - int(last)
        end = int(last) + 1 if first else length
        if end - start > 64 << 10:
            request.send_response(404)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        body = bytearray(end - start)
        if start == 0:
            body[:8] = b"ZTEN1000"[: len(body)]
        if end == length:
            body[-16:] = footer
        request.send_response(206)
        request.send_header("ETag", '"1"')
        request.send_header("Content-Range", f"bytes {start}-{end - 1}/{length}")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    script = """
import sys, zten
def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
before = peak()
for open_it in [zten.open, lambda name: list(zten.check_batch([name] * 4)["verdict"])]:
    try:
        assert open_it(sys.argv[1]) == ["error"] * 4
    except OSError as error:
        assert "no such file" in str(error), error
print(peak() - before)
"""
    with Liar(answer) as liar:
        ended = subprocess.run(
            [sys.executable, "-c", script, liar.name], capture_output=True, text=True, timeout=120, check=False
        )
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) < 64 << 20


@remote
def test_files_on_the_hub_are_read_at_one_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.arange(1 << 18, dtype=np.float32).reshape(512, 512)
    header = b'{"a":{"dtype":"F32","shape":[512,512],"data_offsets":[0,1048576]}} '
    files = {
        "m.safetensors.index.json": b'{"weight_map":{"a":"one.safetensors"}}',
        "one.safetensors": len(header).to_bytes(8, "little") + header + weights.tobytes(),
    }
    commits = [f"{number:040x}" for number in range(100)]
    tokens: list[str | None] = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        tokens.append(request.headers["Authorization"])
        organization, model, _, revision, name = request.path.lstrip("/").split("/")
        # The branch has a new commit at each request.
        commit = revision if revision in commits else commits[len(tokens)]
        data = files.get(name) if (organization, model) == ("o", "m") else None
        if data is None:
            request.send_response(404)
            request.send_header("X-Error-Code", "EntryNotFound" if model == "m" else "RepoNotFound")
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        first, last = request.headers["Range"].removeprefix("bytes=").split("-")
        start = int(first) if first else max(0, len(data) - int(last))
        part = data[start : int(last) + 1 if first else len(data)]
        request.send_response(206)
        request.send_header("X-Repo-Commit", commit)
        request.send_header("ETag", f'"{name}"')
        request.send_header("Content-Range", f"bytes {start}-{start + len(part) - 1}/{len(data)}")
        request.send_header("Content-Length", str(len(part)))
        request.end_headers()
        request.wfile.write(part)

    with Liar(answer) as liar:
        monkeypatch.setenv("HF_ENDPOINT", liar.name.removesuffix("/file.zt"))
        monkeypatch.setenv("HF_TOKEN", "hidden")
        with zten.open("hf://o/m/m.safetensors.index.json") as file:
            assert np.array_equal(file["a"][100:200], weights[100:200])
        first, *later = liar.paths
        assert first == "/o/m/resolve/main/m.safetensors.index.json"
        assert later and {path.split("/")[4] for path in later} == {commits[1]}
        assert set(tokens) == {"Bearer hidden"}
        assert zten.check("hf://o/m@v1/one.safetensors")
        for name, complaint in [("o/m/none.zt", "no such file"), ("o/other/m.zt", "private or does not exist")]:
            with pytest.raises(OSError, match=complaint) as raised:
                zten.open(f"hf://{name}")
            assert "hidden" not in str(raised.value)
        with pytest.raises(OSError, match="has another name with one"):
            zten.open("hf://gpt2/model.safetensors")


@remote
def test_servers_that_contradict_themselves() -> None:
    def with_headers(*headers: tuple[str, str]) -> Callable[[BaseHTTPRequestHandler], None]:
        def answer(request: BaseHTTPRequestHandler) -> None:
            request.send_response(206)
            for name, value in (("Content-Length", "1"), *headers):
                request.send_header(name, value)
            request.end_headers()
            request.wfile.write(b"Z")

        return answer

    whole = ("Content-Range", "bytes 0-0/1")
    for headers, complaint in [
        ((whole, ("ETag", '"1"'), ("ETag", '"2"')), "different values of the header ETag"),
        ((whole, ("Content-Range", "bytes 0-0/2"), ("ETag", '"1"')), "different values of the header Content-Range"),
        ((whole, ("ETag", "")), "neither an ETag nor"),
        ((whole, ("ETag", 'W/""')), "neither an ETag nor"),
    ]:
        with Liar(with_headers(*headers)) as liar, pytest.raises(OSError, match=complaint):
            zten.open(liar.name)


@remote
def test_names_are_requested_as_they_are(server: Server) -> None:
    for name in ["a\tb.zt", "a\nb.zt", "a\rb.zt", "a\\b.zt", "a.zt "]:
        with pytest.raises(OSError, match="control character"):
            zten.open(server.name(name))
    with pytest.raises(OSError, match="control character"):
        zten.open("s3://bucket/a\tb.zt")
    assert server.paths == []
