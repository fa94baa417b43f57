"""Runs the recipes of the documentation as they are printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import corpus
import pytest

import zten

PAGE = corpus.CORPUS.parent / "bindings/python/docs/recipes.md"


def test_the_recipes_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 8
    names: dict[str, Any] = {}
    ran = 0
    for block in blocks:
        needed = re.findall(r"^import (\w+)  # pip install", block, re.MULTILINE)
        needed += [name for name in ("torch", "accelerate") if name in block]
        try:
            for name in needed:
                __import__(name)
        except ImportError:
            continue
        exec(compile(block, str(PAGE), "exec"), names)
        ran += 1
    assert ran >= 5 and names["zten"] is zten
    shown = capsys.readouterr()
    assert "<Tensor 'weight' gguf.q8_0 [100, 64]>" in shown.out and "model.gguf: " in shown.err
    assert "6,464 parameters" in shown.out
    assert "<Tensor 'experts' MXFP4 [32] [4, 64]>" in shown.out and "['experts_blocks', 'experts_scales']" in shown.out
