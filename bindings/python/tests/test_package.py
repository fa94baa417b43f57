"""Tests of the package as a whole: its version, its types, and its agreement with the command."""

from __future__ import annotations

import inspect
import json
import pydoc
import shutil
import subprocess

import corpus
import pytest

import zten
from zten import _zten

ZTEN = shutil.which("zten")


def test_everything_public_has_a_docstring() -> None:
    for name in zten.__all__:
        public = getattr(zten, name)
        if not (inspect.isclass(public) or inspect.isfunction(public) or inspect.ismodule(public)):
            continue
        assert public.__doc__, name
        if inspect.isclass(public):
            for member, value in vars(public).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert value.__doc__, f"{name}.{member}"
    text = pydoc.render_doc(zten)
    assert "zten.open(" in text and "strict reader" in text


def test_the_stubs_are_the_native_part() -> None:
    for kind in (_zten.Reader, _zten.Writer):
        native = {name for name in vars(kind) if not name.startswith("__")}
        stub = (corpus.CORPUS.parent / "bindings/python/python/zten/_zten.pyi").read_text()
        own = stub.partition(f"class {kind.__name__}:")[2].partition("@final")[0]
        for name in native:
            assert f"def {name}(" in own, f"{kind.__name__}.{name}"


@pytest.mark.skipif(ZTEN is None, reason="the command is not installed")
def test_the_command_says_the_same() -> None:
    rejects = [r.path for r in corpus.rejects() if r.options == corpus.options("-")][::40]
    paths = [*rejects, *corpus.accepted()[::40], *(root.path for root in corpus.sharded())]
    for path in paths:
        ended = subprocess.run(
            [str(ZTEN), "check", "--json", str(path)], capture_output=True, text=True, check=False
        )
        said = json.loads(ended.stdout)
        report = zten.check(path).as_dict()
        assert said.pop("schema") == 2
        # The command counts all invalid objects in `more`. The package stops at the first one, so it has no such field.
        said.pop("more")
        assert report == said, path
