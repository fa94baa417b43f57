"""Tests of checking files in confined processes."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import corpus
import pytest

import zten
from zten import _sandbox

DENSE = corpus.CORPUS / "accept/1.2.3/dense_all.zt"
ZTEN = shutil.which("zten")


def is_confining() -> bool:
    """Returns whether the command ``zten`` is installed and can confine a process on this machine."""
    call = [str(ZTEN), "check", "-q", "--require-sandbox", str(DENSE)]
    return ZTEN is not None and subprocess.run(call, capture_output=True, check=False).returncode == 0


confined = pytest.mark.skipif(not is_confining(), reason="the command is not installed, or the kernel cannot confine")
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines processes")


def rows(columns: zten.Columns) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@confined
def test_every_file_of_the_corpus_has_the_same_report() -> None:
    paths = sorted(path for path in corpus.CORPUS.rglob("*") if path.is_file())
    assert len(paths) > 1000
    here, there = rows(zten.check_batch(paths)), rows(zten.check_batch(paths, sandbox=True, jobs=2))
    for own, other in zip(here, there, strict=True):
        assert own == other
    verdicts = {row["verdict"] for row in there}
    assert {"valid", "invalid", "unsupported", "limit"} <= verdicts, verdicts
    # Some of the compared reports have notes, so that notes were compared too.
    assert any(row["notes"] for row in there)


@confined
def test_options_have_the_same_effect() -> None:
    for reject in corpus.rejects():
        if reject.options == corpus.options("-"):
            continue
        given = {**reject.options, "tolerate": [] if reject.options["canonical"] else reject.options["tolerate"]}
        assert zten.check(reject.path, sandbox=True, **given) == zten.check(reject.path, **given)
    for root in corpus.sharded()[::4]:
        for given in ({}, {"shards": False}, {"manifest_only": True}, {"limits": {"shards": 1}}):
            assert zten.check(root.path, sandbox=True, **given) == zten.check(root.path, **given)


@confined
def test_names_are_taken_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    # An option parser, a list, a shell or a terminal would interpret these names. One of them is not valid text.
    names = ["-", "--help", "-q", "a\nb.zt", "\n", " ", "'$(x)'", "\x1b[2J\u202e.zt", os.fsdecode(b"\xff\xfe.zt"), "http:x"]
    names += ["folder/model.zt", "*.zt", "./~", "~x", "--files-from=-", "a\rb", "\u2028"]
    for name in names:
        shutil.copy(DENSE, tmp_path / name)
    # Names that no file has, a device, and a folder with several files, which is no model.
    missing = ["", "no such file", "a\0b", "/dev/null", ".", "x" * 5000, "x/" * 4000, "x" * 100_000]
    given = [*names, *missing, "folder", names[0], names[0]]
    there = rows(zten.check_batch(given, sandbox=True, jobs=2))
    assert there == rows(zten.check_batch(given))
    assert [row["verdict"] for row in there[: len(names)]] == ["valid"] * len(names)
    assert {row["verdict"] for row in there[len(names) : len(names) + len(missing)]} == {"error"}
    # The package and the command may be built with or without network access independently, so only the verdict is
    # compared.
    assert zten.check("http://127.0.0.1:1/x", sandbox=True).verdict == "error"
    for name in (names[0], names[1], names[8], missing[0], missing[2], "folder"):
        assert zten.check(name, sandbox=True) == zten.check(name)
    assert zten.check(tmp_path / names[3], sandbox=True).file == str(tmp_path / names[3])


@confined
def test_no_file_is_no_process() -> None:
    assert zten.check_batch([], sandbox=True) == zten.check_batch([])


def children(parent: int) -> list[int]:
    """Returns the ids of the running processes that the process with the id ``parent`` has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def wait_for_worker() -> tuple[int, int]:
    """Waits until a command that this process has started has a confined worker that is reading a large file. Returns the id of
    the command's process and that of the worker."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for command in children(os.getpid()):
            for worker in children(command):
                try:
                    status = Path(f"/proc/{worker}/status").read_text()
                    fields = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                # A worker that has used a fifth of a second of processor time is reading the large file: small files take a
                # hundredth.
                is_reading = int(fields[11]) + int(fields[12]) >= os.sysconf("SC_CLK_TCK") / 5
                if is_reading and "Seccomp:\t2" in status and "NoNewPrivs:\t1" in status:
                    return command, worker
        time.sleep(0.002)
    raise AssertionError("no confined worker was started")


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Returns the path of a valid safetensors file with 64 GiB of bools, which takes long to check. The data is a hole of the
    file, so it takes no space on the disk."""
    size = 64 << 30
    header = b'{"x":{"dtype":"BOOL","shape":[%d],"data_offsets":[0,%d]}}' % (size, size)
    path = tmp_path / "large.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    os.truncate(path, 8 + len(header) + size)
    return path


@confined
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSYS, signal.SIGXCPU, signal.SIGXFSZ])
def test_the_report_says_why_a_process_was_ended(large: Path, number: signal.Signals) -> None:
    found: list[zten.Columns] = []
    thread = threading.Thread(
        target=lambda: found.append(zten.check_batch([DENSE, large, DENSE], sandbox=True, jobs=1))
    )
    thread.start()
    os.kill(wait_for_worker()[1], number)
    thread.join(30)
    verdicts, messages = found[0]["verdict"], found[0]["message"]
    assert verdicts == ["valid", "error", "valid"], found
    expected = {
        signal.SIGKILL: "it was killed",
        signal.SIGSYS: "forbidden system call",
        signal.SIGXCPU: "processor time",
        signal.SIGXFSZ: "wrote more",
    }
    assert expected[number] in messages[1], messages


@confined
def test_a_command_that_ends_is_an_error(large: Path) -> None:
    errors: list[BaseException] = []

    def run() -> None:
        try:
            zten.check(large, sandbox=True)
        except zten.SandboxError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    command, worker = wait_for_worker()
    os.kill(command, signal.SIGKILL)
    thread.join(30)
    assert "0 of 1 files" in str(errors[0]) and "signal 9" in str(errors[0])
    end = time.monotonic() + 30
    while Path(f"/proc/{worker}").exists():
        assert time.monotonic() < end, "the worker outlives the command"
        time.sleep(0.01)


@confined
def test_an_interrupt_ends_the_processes(large: Path) -> None:
    # A shell that starts the tests in the background has them ignore SIGINT, and the processes that they start inherit
    # this.
    code = (
        "import signal, sys, zten\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try: zten.check(sys.argv[1], sandbox=True)\n"
        "except KeyboardInterrupt: sys.exit(77)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(large)]) as process:
        end = time.monotonic() + 30
        workers: list[int] = []
        while not workers and time.monotonic() < end:
            workers = [worker for command in children(process.pid) for worker in children(command)]
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 77
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < end, "a worker outlives the caller"
        time.sleep(0.01)


def command(folder: Path, script: str) -> None:
    """Writes an executable shell script ``zten`` with the lines ``script`` into ``folder``, which stands in for the command."""
    path = folder / "zten"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@linux
def test_a_missing_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sandbox, "_installed", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    for call in (lambda: zten.check(DENSE, sandbox=True), lambda: zten.check_batch([DENSE], sandbox=True)):
        with pytest.raises(zten.SandboxError, match="is not installed: `pip install zten-cli=="):
            call()
    # The file is called `zten` and is executable, but is not a program.
    (tmp_path / "zten").write_bytes(b"\0")
    (tmp_path / "zten").chmod(0o755)
    with pytest.raises(zten.SandboxError, match="cannot be run"):
        zten.check(DENSE, sandbox=True)


@confined
@pytest.mark.skipif(_sandbox._installed() is None, reason="the command is not installed as a package")
def test_the_command_of_the_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command(tmp_path, "echo zten 9.9.9")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert zten.check(DENSE, sandbox=True)


@linux
def test_another_version_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sandbox, "_installed", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    command(tmp_path, "echo zten 9.9.9")
    with pytest.raises(zten.SandboxError, match=f"'zten 9.9.9', expected version {zten.__version__}.*pip install"):
        zten.check(DENSE, sandbox=True)
    # While this process runs, a command of the right version replaces the old one. The cached version of the old one must
    # not be used.
    command(tmp_path, f'[ "$1" = --version ] && echo zten {zten.__version__} || echo "{{}}"')
    with pytest.raises(zten.SandboxError, match="cannot read"):
        zten.check(DENSE, sandbox=True)


@linux
def test_answers_of_the_command_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sandbox, "_installed", lambda: None)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    version = f'[ "$1" = --version ] && {{ echo zten {zten.__version__}; exit; }}\ncat >/dev/null\n'
    for script, message in {
        "echo '--require-sandbox: no Landlock' >&2; exit 2": "0 of 1 files: --require-sandbox: no Landlock",
        "exit 101": "0 of 1 files: it ended with status 101",
        "kill -9 $$": "0 of 1 files: signal 9 ended it",
        "echo '{}'; echo '{}'": "2 of 1 files",
        "echo '{}'; exit 101": "1 of 1 files: it ended with status 101",
        """echo '{"schema":3,"notes":[]}'""": "cannot read",
        "echo '[]'": "cannot read",
        "echo nonsense": "cannot read",
        r"printf '\377\n'": "cannot read",
    }.items():
        command(tmp_path, version + script)
        with pytest.raises(zten.SandboxError, match=message) as raised:
            zten.check(DENSE, sandbox=True)
        # The error is about the command and says nothing about the file, so it is no `zten.Error`.
        assert not isinstance(raised.value, zten.Error)
        assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_wrong_calls() -> None:
    for source in (b"", bytearray(), memoryview(b""), DENSE.open("rb")):
        with pytest.raises(TypeError, match="expected a path"):
            zten.check(source, sandbox=True)
    wrong: list[dict[str, Any]] = [{"limits": {"x": 1}}, {"limits": {"depth": 1 << 60}}, {"tolerate": ["x"]}]
    for given in [*wrong, {"canonical": True, "tolerate": ["shared-blobs"]}]:
        with pytest.raises(ValueError):
            zten.check(DENSE, sandbox=True, **given)
    both: list[dict[str, Any]] = [{"jobs": 1}, {"sandbox": True, "threads": 1}]
    for given in both:
        with pytest.raises(ValueError, match="jobs is for"):
            zten.check_batch([DENSE], **given)
