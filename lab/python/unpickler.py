"""Compares the recognition of pickles with Python's unpickler: a file with which it calls something is never taken for another.

    python lab/python/unpickler.py ZTEN [--files 100000] [--seed 1]

Python's unpickler runs here with classes and functions that record that they were called, and do nothing else.
"""

import argparse
import collections
import io
import json
import pathlib
import pickle
import pickletools
import random
import resource
import subprocess
import tempfile


class Called(Exception):
    """Something that the pickle imports has been called, or given a state."""


class Recorder:
    """Stands for whatever a pickle imports."""

    def __new__(cls, *_: object, **__: object) -> "Recorder":
        raise Called

    def __call__(self, *_: object, **__: object) -> object:
        raise Called

    def __setstate__(self, _: object) -> None:
        raise Called


class Unpickler(pickle.Unpickler):
    """Python's unpickler, in which every import is a recorder."""

    def find_class(self, module: str, name: str) -> object:
        # Modules and their contents have the names of Python: an import of anything else fails.
        if not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
            raise ImportError
        return Recorder

    def persistent_load(self, _: object) -> object:
        return None


def calls(file: bytes) -> bool:
    """Returns whether unpickling calls something that the pickle imports."""
    try:
        Unpickler(io.BytesIO(file)).load()
    except Called:
        return True
    except (Exception, RecursionError):  # noqa: BLE001: any is a failure of the unpickler
        return False
    return False


class Reduced:
    def __init__(self, *reduced: object) -> None:
        self.reduced = reduced

    def __reduce__(self) -> tuple[object, ...]:
        return self.reduced


def pickles() -> list[bytes]:
    """Returns pickles of every protocol that call functions in several ways, and harmless pickles."""
    values = [
        Reduced(print, ("x",)), {"a": [1, 2.5, None, True, b"x", "ä", (1,), {3}], "b": Reduced(print, ())},
        [Reduced(collections.OrderedDict, (), None, iter([1]), iter([("k", 1)]))], collections.Counter("abc"),
        {"large": list(range(2000)), "text": "x" * 300, "last": Reduced(print, (1, 2, 3, 4))},
        [frozenset((1, 2)), 1 << 70, -5, bytearray(b"xyz"), Reduced(getattr, ("x", "y"))],
    ]
    found = []
    for protocol in range(6):
        for value in values:
            plain = pickle.dumps(value, protocol)
            found += [plain, pickletools.optimize(plain)]
    return found


OPCODES = bytes(opcode.code.encode("latin-1")[0] for opcode in pickletools.opcodes)


def damage(file: bytes, chance: random.Random) -> bytes:
    """Returns a copy of `file` in which some bytes are changed, added and removed, and which may be cut or continued."""
    content = bytearray(file)
    for _ in range(chance.randint(0, 3)):
        at, kind = chance.randrange(len(content)), chance.randrange(5)
        if kind == 0:
            content[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            content[at] = chance.choice(OPCODES)
        elif kind == 2:
            content[at:at] = bytes([chance.choice(OPCODES)])
        elif kind == 3:
            start = chance.randrange(len(content))
            content[at:at] = content[start : start + chance.randint(1, 30)]
        elif len(content) > 8:
            del content[at : at + chance.randint(1, 4)]
        content = content or bytearray(b".")
    if chance.randrange(4) == 0:
        del content[chance.randrange(len(content)) + 1 :]
    if chance.randrange(4) == 0:
        content += chance.choice([b"\0" * 9, b"text\n" * 3, b"\xff\xfe", b"PK\5\6" + bytes(18), b'{"a":1}'])
    return bytes(content)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("zten")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # Python allocates the memory that a pickle claims before it reads the content, so the memory of this process is
    # limited.
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    chance, seeds = random.Random(options.seed), pickles()
    counts: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        for first in range(0, options.files, 1000):
            folder = pathlib.Path(name) / str(first)
            folder.mkdir()
            files = {}
            for at in range(first, min(first + 1000, options.files)):
                files[f"{at}.dat"] = damage(chance.choice(seeds), chance)
                (folder / f"{at}.dat").write_bytes(files[f"{at}.dat"])
            done = subprocess.run([options.zten, "check", "-r", "--json", folder], capture_output=True, text=True, check=False)
            reports = {pathlib.Path(report["file"]).name: report for report in map(json.loads, done.stdout.splitlines())}
            assert reports.keys() == files.keys(), done.stderr
            for file, content in files.items():
                rule = reports[file]["rule"] or ""
                is_found = rule.startswith(("format-pickle", "format-joblib", "format-torch", "torch-"))
                is_call = calls(content)
                counts[f"{'called' if is_call else 'not called'}, {'found' if is_found else 'not found'}"] += 1
                if is_call and not is_found:
                    kept = pathlib.Path("missed.dat").absolute()
                    kept.write_bytes(content)
                    raise SystemExit(f"a pickle passes as another file: {kept}: {reports[file]}")
                (folder / file).unlink()
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    assert counts["called, found"] > options.files // 10, "too few pickles call something"


main()
