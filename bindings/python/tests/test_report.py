"""Tests of totals, statistics and digests as objects, and of the tables in notebooks."""

from __future__ import annotations

import hashlib
import html.parser
import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import corpus
import ml_dtypes
import numpy as np
import pytest
from test_dequantize import model, quantized

import zten

ZTEN = shutil.which("zten")

ARRAYS: dict[str, Any] = {
    "f32": np.array([[1.5, -2, 0], [np.nan, np.inf, 3]], np.float32),
    "bf16": np.arange(4).astype(ml_dtypes.bfloat16),
    "i64": np.array([1 << 60, -1]),
    "complex": np.ones(2, np.complex64),
    "none": np.empty((0, 3), np.float32),
}


@pytest.fixture(params=["1.2", "2", "safetensors"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "safetensors":
        zten.numpy.save_file({k: v for k, v in ARRAYS.items() if k != "complex"}, tmp_path / "w.safetensors")
        return tmp_path / "w.safetensors"
    zten.numpy.save_file(ARRAYS, tmp_path / "w.zt", generation=request.param)
    return tmp_path / "w.zt"


def test_statistics_are_those_of_numpy(path: Path) -> None:
    found = zten.stat(path)
    assert list(found) == list(zten.open(path)) and len(found) >= 4
    for name, one in found.items():
        array = ARRAYS[name]
        assert (one.name, one.shape, one.layout, one.implied_zeros) == (name, array.shape, "dense", None)
        if name == "complex":
            assert one.skipped == "complex" and one.statistics is None
            continue
        seen = one.statistics
        assert seen is not None and one.skipped is None
        wide = array.astype(np.float64).ravel()
        finite = wide[np.isfinite(wide)]
        assert (seen.count, seen.zeros, seen.nan) == (wide.size, int((wide == 0).sum()), int(np.isnan(wide).sum()))
        assert seen.infinities == int(np.isinf(wide).sum())
        if not finite.size:
            assert (seen.min, seen.max, seen.mean, seen.deviation) == (None, None, None, None)
            continue
        assert (seen.min, seen.max) == (finite.min(), finite.max())
        assert seen.mean is not None and seen.deviation is not None
        assert math.isclose(seen.mean, finite.mean()) and math.isclose(seen.deviation, finite.std())
    assert {total.dtype for total in found.totals} >= {"f32", "bf16", "i64"}
    (f32,) = (total for total in found.totals if total.dtype == "f32")
    assert (f32.tensors, f32.statistics.count) == (2, 6)
    assert set(zten.stat(path, names=["f*", "i64"])) == {"f32", "i64"}
    for kind in (zten.Error, KeyError):
        with pytest.raises(kind):
            zten.stat(path, names="x*")


def test_statistics_of_quantized_tensors() -> None:
    checked = 0
    for label, source, name, how in quantized():
        with zten.open(source, **how) as file:
            values = file[name].dequantize().numpy().astype(np.float64)
        seen = zten.stat(source, names=[glob(name)], **how)[name].statistics
        finite = values[np.isfinite(values)]
        assert seen is not None and seen.count == values.size, (label, name)
        assert (seen.min, seen.max) == ((finite.min(), finite.max()) if finite.size else (None, None)), (label, name)
        checked += 1
    assert checked > 20


def glob(name: str) -> str:
    """Returns ``name`` as a pattern that matches nothing else: ``*``, ``?`` and ``[`` are put into brackets."""
    return "".join(f"[{one}]" if one in "*?[" else one for one in name)


def test_digests_are_those_of_the_bytes(path: Path) -> None:
    found = zten.hash(path)
    with zten.open(path) as file:
        assert list(found) == sorted(file)
        for name, components in found.items():
            (component,) = components
            content = file[name].components["data"].tobytes()
            assert component.sha256 == hashlib.sha256(content).hexdigest()
            assert (component.role, component.bytes) == ("data", len(content))
            assert component.type.startswith(str(file[name].dtype))
    assert str(found) == found.text and found == zten.hash(path.read_bytes()) and found.content is None
    zten.open(path, digests=found.text).verify()
    zten.convert(path, path.with_name("copy.zt"), generation=2)
    assert zten.hash(path.with_name("copy.zt")) == found
    zten.numpy.save_file({**ARRAYS, "i64": np.array([2, 3])}, path.with_name("other.zt"))
    assert zten.hash(path.with_name("other.zt")) != found and len({found, zten.hash(path)}) == 1


def test_the_content_digest(tmp_path: Path) -> None:
    zten.numpy.save_file(ARRAYS, tmp_path / "w.zt", generation=2, digest="sha256")
    zten.numpy.save_file(ARRAYS, tmp_path / "old.zt")
    digest = zten.hash(tmp_path / "w.zt", content="sha256").content
    assert digest is not None and digest.startswith("sha256:") and len(digest) == 71
    with pytest.raises(zten.Unsupported):
        zten.hash(tmp_path / "old.zt", content="sha256")
    with pytest.raises(ValueError, match="expected"):
        zten.hash(tmp_path / "w.zt", content="md5")  # type: ignore[arg-type]


def test_content_that_breaks_a_rule_has_no_report(tmp_path: Path) -> None:
    zten.numpy.save_file({"w": np.arange(100)}, tmp_path / "w.zt")
    content = bytearray((tmp_path / "w.zt").read_bytes())
    with zten.open(tmp_path / "w.zt") as file:
        content[file["w"].components["data"].offset] ^= 1
    calls: list[Any] = [zten.stat, zten.hash]
    for call in calls:
        with pytest.raises(zten.Invalid) as raised:
            call(bytes(content))
        assert raised.value.rule == "digest-mismatch"


def test_no_file_of_the_corpus_causes_another_exception() -> None:
    """:func:`zten.stat` and :func:`zten.hash` raise only :class:`zten.Error` or :class:`OSError` for about 1,200 files of the
    corpus, and return an entry for each tensor of a file that they accept."""
    read = 0
    paths = [*corpus.accepted()[::5], *(one.path for one in corpus.rejects())][:1200]
    for path in [*paths, *sorted((corpus.CORPUS / "other/gguf/accept").iterdir())]:
        calls: list[Any] = [zten.stat, zten.hash]
        for call in calls:
            try:
                found = call(path)
            except (zten.Error, OSError):
                continue
            with zten.open(path) as file:
                assert set(found) == set(file)
                assert file._repr_html_() and str(file.summary()) and file.summary().objects == len(file)
            read += 1
    assert read > 50


@pytest.mark.skipif(ZTEN is None, reason="the command is not installed")
def test_the_command_says_the_same(path: Path) -> None:
    def told(*arguments: str) -> str:
        ended = subprocess.run([str(ZTEN), *arguments], capture_output=True, text=True, check=True)
        return ended.stdout

    assert told("hash", str(path)) == zten.hash(path).text
    document = json.loads(told("stat", "--json", str(path)))
    ours = zten.stat(path)
    assert [one["name"] for one in document["objects"]] == list(ours)
    for one in document["objects"]:
        assert one["dtype"] == ours[one["name"]].dtype and one["skipped"] == ours[one["name"]].skipped
        if one["statistics"] is not None:
            seen = ours[one["name"]].statistics
            assert seen is not None and (one["statistics"]["mean"], one["statistics"]["nan"]) == (seen.mean, seen.nan)


def test_the_summary_of_a_file(path: Path) -> None:
    with zten.open(path) as file:
        summary = file.summary()
        assert summary.objects == len(file) and summary.parameters == sum(tensor.size for tensor in file.values())
        assert summary.stored == sum(c.stored for t in file.values() for c in t.components.values())
        assert {one.dtype for one in summary.dtypes} >= {"f32", "bf16", "i64"}
        assert f"{summary.parameters} parameters" in str(summary) and "of f32" in str(summary)


class Tags(html.parser.HTMLParser):
    """A parser that collects the tags and the text of an HTML document."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        assert not attrs or tag == "td", (tag, attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", "\"'><img src=x onerror=y>", "a&lt;b&#60;", "\u202egnp.exe", "\x00\x1b[31m\n", "x" * 100_000],
)
def test_text_of_the_file_is_escaped_in_notebooks(name: str, tmp_path: Path) -> None:
    with zten.create(tmp_path / "w.zt") as writer:
        writer.add(name, np.zeros(1, np.float32))
        writer.add_object("x", f"later{name[:200]}", [2], {f"role{name[:200]}": np.zeros(2, np.uint8)})
    with zten.open(tmp_path / "w.zt") as file:
        shown = [file._repr_html_(), zten.stat(tmp_path / "w.zt")._repr_html_(), *(tensor._repr_html_() for tensor in file.values())]
        for page in shown:
            found = Tags(page)
            assert found.tags <= {"table", "caption", "tr", "th", "td"} and len(page) < 10_000
            assert all(one.isprintable() or one == "\n" for one in page)
        if len(name) < 100 and name.isprintable():
            assert name in Tags(shown[0]).text
    assert "closed" in Tags(file._repr_html_()).text


def test_many_tensors_are_cut_in_notebooks(tmp_path: Path) -> None:
    zten.numpy.save_file({f"layers.{n}": np.zeros(1) for n in range(300)}, tmp_path / "w.zt")
    with zten.open(tmp_path / "w.zt") as file:
        page = file._repr_html_()
        assert page.count("<tr>") == 102 and "… and 200 more" in page and "300 parameters" in page


def test_quantized_tensors_are_loaded_as_floats(tmp_path: Path) -> None:
    values = model(tmp_path / "w.gguf", (4, 64))
    with pytest.raises(zten.Unsupported, match="dequantize"):
        zten.numpy.load_file(tmp_path / "w.gguf")
    wanted: list[tuple[Any, Any]] = [
        (True, np.float32), ("f32", np.float32), ("FP16", np.float16), ("bfloat16", ml_dtypes.bfloat16),
    ]
    for dequantize, dtype in wanted:
        arrays = zten.numpy.load_file(tmp_path / "w.gguf", dequantize=dequantize)
        assert list(arrays) == list(zten.open(tmp_path / "w.gguf")) and arrays["w"].dtype == dtype
        assert type(arrays["w"]) is np.ndarray and arrays["bias"].dtype == np.float32
        np.testing.assert_array_equal(arrays["w"], values.astype(dtype))
    for wrong in ("i8", "f33", "f64"):
        with pytest.raises(ValueError, match="dtype|expected"):
            zten.numpy.load_file(tmp_path / "w.gguf", dequantize=wrong)


def test_quantized_tensors_are_loaded_into_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    values = torch.from_numpy(model(tmp_path / "w.gguf", (4, 64)))
    loaded = zten.torch.load_file(tmp_path / "w.gguf", dequantize="bf16")
    assert torch.equal(loaded["w"], values.to(torch.bfloat16)) and loaded["bias"].dtype == torch.float32
    assert torch.equal(zten.torch.load_file(tmp_path / "w.gguf", dequantize=True)["w"], values)


def test_progress_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "w.zt"
    zten.numpy.save_file({"a": np.zeros(1 << 20), "b": np.zeros(3)}, path)
    zten.numpy.load_file(path, progress=True)
    assert capsys.readouterr().err == "w.zt: 100 % of 8.4 MB\n"
    zten.numpy.load_file(path, progress=False)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    zten.numpy.load_file(path, progress=True)
    shown = capsys.readouterr().err
    assert shown.endswith("\rw.zt: 100 % of 8.4 MB\n") and shown.count("\r") >= 2
