"""Tests of files in stores, which name each file by the digest of its content."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
import zten
import zten.numpy
from corpus import CORPUS


def git_sha1(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def blob(folder: Path, name: str, content: bytes) -> Path:
    path = folder / "models--x--y/blobs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    path = tmp_path / "made.safetensors"
    zten.numpy.save_file({"a": np.arange(500_000, dtype=np.float32), "b": np.zeros(3, np.uint8)}, path)
    return path.read_bytes()


@pytest.mark.parametrize("name", [lambda content: hashlib.sha256(content).hexdigest(), git_sha1])
def test_a_blob_is_compared_with_its_name(tmp_path: Path, content: bytes, name: object) -> None:
    assert callable(name)
    path = blob(tmp_path, name(content), content)
    assert zten.check(path)
    for at in (0, 100, len(content) // 2, len(content) - 1):
        changed = bytearray(content)
        changed[at] ^= 1
        path.write_bytes(changed)
        report = zten.check(path)
        assert (report.verdict, report.rule, report.clause) == ("invalid", "store-digest", "policy")
        assert name(content) in report.message and name(bytes(changed)) in report.message
        columns = zten.check_batch([path, path])
        assert columns["rule"] == ["store-digest"] * 2
        assert zten.check(path, manifest_only=True).rule != "store-digest"
    path.write_bytes(content)
    assert zten.check(path).format == "safetensors"


def test_a_snapshot_leads_to_its_blob(tmp_path: Path, content: bytes) -> None:
    path = blob(tmp_path, hashlib.sha256(content).hexdigest(), content[:-1] + b"x")
    snapshot = tmp_path / "models--x--y/snapshots/0123"
    snapshot.mkdir(parents=True)
    link = snapshot / "model.safetensors"
    try:
        os.symlink(f"../../blobs/{path.name}", link)
    except OSError:
        pytest.skip("the system has no links")
    assert zten.check(link).rule == zten.check(snapshot).rule == "store-digest"
    path.write_bytes(content)
    assert zten.check(link) and zten.check(snapshot)
    # Bytes and open files have no name, so their changed content is not compared with the digest in a name.
    path.write_bytes(content[:-1] + b"x")
    with link.open("rb") as file:
        assert zten.check(file) and zten.check(link.read_bytes())


def test_names_of_another_form_are_not_compared(tmp_path: Path, content: bytes) -> None:
    digest = hashlib.sha256(content).hexdigest()
    for name in ("abc", digest.upper(), digest[1:], "sha256-" + digest):
        assert zten.check(blob(tmp_path, name, content + b"")), name
    outside = tmp_path / "blobs" / ("0" * 64)
    outside.parent.mkdir()
    outside.write_bytes(content)
    assert zten.check(outside)


def test_a_blob_of_ollama_is_compared(tmp_path: Path) -> None:
    content = (CORPUS / "other/gguf/accept/two.gguf").read_bytes()
    (tmp_path / "manifests").mkdir()
    (tmp_path / "blobs").mkdir()
    path = tmp_path / "blobs" / ("sha256-" + hashlib.sha256(content).hexdigest())
    path.write_bytes(content)
    assert zten.check(path)
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert zten.check(path).rule == "store-digest"


def test_every_format_is_hashed_as_it_is_read(tmp_path: Path) -> None:
    tried = 0
    for folder in ("accept/1.2.3", "v2/2.1", "v2/accept", *(f"other/{kind}/accept" for kind in ("gguf", "npy", "npz", "torch"))):
        for file in sorted((CORPUS / folder).iterdir())[:30]:
            if not file.is_file():
                continue
            content = file.read_bytes()
            path = blob(tmp_path, hashlib.sha256(content).hexdigest(), content)
            assert zten.check(path).rule != "store-digest", file
            path.write_bytes(content + b"\0")
            assert zten.check(path).rule == "store-digest", file
            tried += 1
    assert tried > 100, tried


def test_rules_of_stores_are_explained() -> None:
    for rule in ("store-digest", "store-manifest", "store-missing", "store-size", "store-unfinished"):
        assert zten.explain(rule).id == rule
