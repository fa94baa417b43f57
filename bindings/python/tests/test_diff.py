"""Tests of the objects that describe the differences of two files."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import corpus
import ml_dtypes
import numpy as np
import pytest
from test_report import Tags

import zten

ZTEN = shutil.which("zten")

ARRAYS: dict[str, Any] = {
    "f32": np.array([[1.5, -2, 0], [4, 5, 3]], np.float32),
    "bf16": np.arange(4).astype(ml_dtypes.bfloat16),
    "i64": np.array([1 << 60, -1]),
    "none": np.empty((0, 3), np.float32),
}
TARGETS: list[tuple[str, dict[str, Any]]] = [
    ("a.zt", {}), ("b.zt", {"generation": 2, "zstd": 3}), ("c.safetensors", {}), ("d.zt", {"zstd": 1, "digest": "crc32c"}),
]


def saved(arrays: dict[str, Any], path: Path, **how: Any) -> Path:
    zten.numpy.save_file(arrays, path, **how)
    return path


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return saved(ARRAYS, tmp_path / "old.zt", attributes={"step": 1, "kept": "x", "gone": b"\0"})


def test_formats_are_not_content(tmp_path: Path) -> None:
    paths = [saved(ARRAYS, tmp_path / name, **how) for name, how in TARGETS]
    for one in paths:
        for other in paths:
            found = zten.diff(one, other)
            assert found.equal and found.summary["equal"] == len(ARRAYS), (one, other)
            assert not (found.added or found.removed or found.renamed or found.changed or found.attributes or found.unread)
            assert str(found) == "tensors: 0 changed, 0 added, 0 removed, 0 renamed, 4 equal"


def test_each_change_is_an_object(old: Path, tmp_path: Path) -> None:
    arrays = {**ARRAYS, "f32": ARRAYS["f32"] + np.float32(0.25), "first": ARRAYS["i64"], "more": np.ones(3)}
    arrays["bf16"] = ARRAYS["bf16"].astype(np.float16)
    arrays["none"] = np.empty((0, 4), np.float32)
    del arrays["i64"]
    new = saved(arrays, tmp_path / "new.zt", attributes={"step": 1 << 62, "kept": "x", "come": [1]})
    found = zten.diff(old, new)
    assert not found.equal and (found.added, found.removed, found.unread) == (["more"], [], [])
    assert found.summary == {"added": 1, "removed": 0, "renamed": 1, "changed": 3, "equal": 0, "unread": 0}
    (renamed,) = found.renamed
    assert (renamed.old, renamed.name) == ("i64", "first")
    assert {(one.key, one.change, repr(one.old), repr(one.new)) for one in found.attributes} == {
        ("step", "changed", "1", str(1 << 62)), ("gone", "removed", r"b'\x00'", "None"), ("come", "added", "None", "[1]"),
    }
    assert list(found.changed) == ["bf16", "f32", "none"]
    elements = found.changed["f32"].elements
    assert elements is not None and (elements.count, elements.changed, elements.max, elements.mean) == (6, 6, 0.25, 0.25)
    was, now = ARRAYS["f32"].ravel().astype(np.float64), arrays["f32"].ravel().astype(np.float64)
    norm = np.linalg.norm(now - was) / np.linalg.norm(was)
    cosine = now @ was / np.linalg.norm(now) / np.linalg.norm(was)
    assert elements.relative_norm is not None and math.isclose(elements.relative_norm, norm)
    assert elements.cosine is not None and math.isclose(elements.cosine, cosine)
    (component,) = found.changed["bf16"].components
    assert (component.role, component.change, component.dtype, component.content) == ("data", "changed", ("bf16", "f16"), True)
    assert found.changed["none"].shape == ((0, 3), (0, 4)) and found.changed["none"].elements is None
    assert "6 of 6 elements changed (max 0.25" in str(found.changed["f32"]) and "dtype bf16 -> f16" in found.changed["bf16"].text
    back = zten.diff(new, old)
    assert (back.added, back.removed) == (found.removed, found.added)
    assert [(one.old, one.name) for one in back.renamed] == [("first", "i64")]


def test_attributes_of_tensors(tmp_path: Path) -> None:
    for name, unit in (("old.zt", "m"), ("new.zt", "s")):
        with zten.create(tmp_path / name) as writer:
            writer.add("w", np.ones(3), attributes={"unit": unit, "same": 1})
            writer.add("a" if unit == "m" else "b", np.zeros(3), attributes={"unit": unit})
    found = zten.diff(tmp_path / "old.zt", tmp_path / "new.zt")
    for one in (found.changed["w"], found.renamed[0]):
        assert one.attributes == [zten.AttributeChange("unit", "changed", "m", "s")] and one.elements is None


def test_a_tolerance_accepts_elements(old: Path, tmp_path: Path) -> None:
    new = saved({**ARRAYS, "f32": (ARRAYS["f32"] * 1.001).astype(np.float32)}, tmp_path / "new.zt")
    cases: list[tuple[dict[str, Any], int, int]] = [
        ({"rtol": 1e-2}, 1, 0), ({"atol": 0.1}, 1, 0), ({"rtol": 1e-4}, 0, 5), ({"rtol": 0.0}, 0, 5),
    ]
    for how, within, beyond in cases:
        found = zten.diff(old, new, names=list(ARRAYS), **how)
        assert found.summary["within"] == within and found.equal == (within == 1)
        if beyond:
            elements = found.changed["f32"].elements
            assert elements is not None and elements.beyond == beyond
    for how in ({"rtol": -1.0}, {"atol": math.nan}, {"rtol": math.inf}):
        with pytest.raises(ValueError, match="expected a finite number that is not negative"):
            zten.diff(old, new, **how)  # type: ignore[arg-type]


def test_some_tensors_are_compared(old: Path, tmp_path: Path) -> None:
    new = saved({"f32": ARRAYS["f32"], "more": np.ones(1)}, tmp_path / "new.zt")
    assert zten.diff(old, new, names="f32").equal
    found = zten.diff(old, new, names=["f*", "more"])
    assert found.added == ["more"] and found.attributes == [] and found.summary["equal"] == 1
    assert zten.diff(old, new, names=[]).equal
    for kind in (zten.MissingTensor, KeyError, zten.Error):
        with pytest.raises(kind, match="no name of a tensor matches"):
            zten.diff(old, new, names=["f32", "x*"])


def test_a_name_with_brackets_is_a_name(tmp_path: Path) -> None:
    """A text with brackets selects the tensor of this name, as programs that use JAX name tensors. Only a text that is the name
    of no tensor is a pattern."""
    names = ["['params']['w']", "w[0]", "w0", "*"]
    one = saved({name: np.full(2, number) for number, name in enumerate(names)}, tmp_path / "one.safetensors")
    other = saved({name: np.full(2, 9) for name in names}, tmp_path / "other.zt")
    for name in names:
        assert list(zten.diff(one, other, names=name).changed) == [name]
        assert list(zten.stat(one, names=[name])) == list(zten.numpy.load_file(one, names=name)) == [name]
    assert set(zten.diff(one, other, names="w*").changed) == {"w[0]", "w0"}
    assert set(zten.diff(one, other, names=["w[0-9]", "w[0]"]).changed) == {"w[0]", "w0"}


def test_differences_are_not_a_truth(old: Path) -> None:
    with pytest.raises(TypeError, match=r"\.equal"):
        bool(zten.diff(old, old))


def test_the_file_with_the_error_is_named(old: Path, tmp_path: Path) -> None:
    damaged = saved(ARRAYS, tmp_path / "damaged.zt")
    with zten.open(damaged) as file:
        offset = file["f32"].components["data"].offset
    with damaged.open("r+b") as opened:
        opened.seek(offset)
        opened.write(b"\1")
    for pair in ((old, damaged), (damaged, old)):
        with pytest.raises(zten.Invalid) as raised:
            zten.diff(*pair)
        assert (raised.value.rule, raised.value.object, raised.value.file) == ("digest-mismatch", "f32", str(damaged))
        assert zten.diff(*pair, names="i64").equal
    with pytest.raises(FileNotFoundError):
        zten.diff(old, tmp_path / "absent.zt")


def test_large_files_are_compared_on_several_threads(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {f"w{n}": np.full(1 << 17, n, np.float32) for n in range(40)}
    one = saved(arrays, tmp_path / "one.zt")
    other = saved({name: array + (np.arange(1 << 17) < number) for number, (name, array) in enumerate(arrays.items())},
                  tmp_path / "other.safetensors")
    for source in (one, one.read_bytes()):
        found = zten.diff(source, other)
        assert list(found.changed) == [f"w{n}" for n in range(1, 40)] and found.summary["equal"] == 1
        changes = [change.elements for change in found.changed.values()]
        assert [None if change is None else change.changed for change in changes] == list(range(1, 40))
    assert zten.hash(one).text.count("\n") == 41 and zten.stat(one)["w7"].statistics == zten.stat(one, names="w7")["w7"].statistics


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "\"'><img src=x onerror=y>", "\u202egnp.exe", "\x00\x1b[31m\n"])
def test_text_of_the_files_is_escaped_in_notebooks(name: str, tmp_path: Path) -> None:
    one = saved({name: np.zeros(2), "w": np.ones(2), name + "a": np.ones(3), name + "r": np.full(5, 7)}, tmp_path / "one.zt")
    other = saved({name: np.ones(2), "w": np.ones(3), name + "b": np.zeros(4), name + "s": np.full(5, 7)}, tmp_path / "other.zt")
    found = zten.diff(one, other)
    page = found._repr_html_()
    tags = Tags(page)
    assert tags.tags <= {"table", "caption", "tr", "th", "td"} and all(one.isprintable() or one == "\n" for one in page)
    assert "2 of 2" in tags.text and "renamed from" in tags.text and "2 changed" in tags.text
    if name.isprintable():
        assert name in tags.text
    assert all(text.isprintable() for text in (str(found), *(str(one) for one in found.changed.values())))


def test_quantized_tensors_are_compared_by_their_values() -> None:
    folder = corpus.CORPUS / "conventions"
    compared = 0
    for path in sorted(folder.glob("*.safetensors")):
        found, plain = zten.diff(path, path), zten.diff(path, path, plain=True)
        assert found.equal and plain.equal
        with zten.open(path) as file, zten.open(path, conventions=False) as as_stored:
            assert (found.summary["equal"], plain.summary["equal"]) == (len(file), len(as_stored))
        compared += found.summary["equal"] < plain.summary["equal"]
    assert compared > 20


def test_no_file_of_the_corpus_causes_another_exception(old: Path) -> None:
    paths = [*corpus.accepted()[::9], *(one.path for one in corpus.rejects()[::7])]
    paths += [*corpus.others("accept")[::7], *corpus.others("reject")[::7]]
    compared = 0
    for path in paths:
        for pair in ((old, path), (path, old), (path, path)):
            try:
                found = zten.diff(*pair)
            except (zten.Error, OSError):
                continue
            assert found._repr_html_() and sum(found.summary.values()) >= len(found.changed)
            assert pair[0] != pair[1] or found.equal or found.unread, path
            compared += 1
    assert compared > 100


@pytest.mark.skipif(ZTEN is None, reason="the command is not installed")
def test_the_command_says_the_same(tmp_path: Path) -> None:
    """:func:`zten.diff` and ``zten diff --json`` find the same differences of the same two files."""
    paths = sorted((corpus.CORPUS / "conventions").glob("*.safetensors"))[:12] + sorted((corpus.CORPUS / "v2/accept").glob("*.zt"))[::10]
    compared = 0
    for pair in pairwise(paths):
        for rtol in (None, 0.5):
            options = [] if rtol is None else ["--rtol", str(rtol)]
            ended = subprocess.run([str(ZTEN), "diff", "--json", *options, *map(str, pair)], capture_output=True, text=True, check=False)
            try:
                found = zten.diff(*pair, rtol=rtol)
            except zten.Error:
                assert ended.returncode
                continue
            document = json.loads(ended.stdout)
            assert (document["equal"], document["summary"]) == (found.equal, found.summary)
            assert (document["added"], document["removed"], document["unread"]) == (found.added, found.removed, found.unread)
            assert [one["name"] for one in document["changed"]] == list(found.changed)
            for one in document["changed"]:
                ours = found.changed[one["name"]]
                elements = one.get("elements")
                assert elements is None or ours.elements is not None
                assert all(getattr(ours.elements, key) == value for key, value in (elements or {}).items())
                assert [part["role"] for part in one.get("components", [])] == [part.role for part in ours.components]
            compared += 1
    assert compared > 20
