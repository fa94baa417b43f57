"""Compares zten with PyTorch over the forms of `torch_forms.py` and over damaged copies of them, in bulk.

    python lab/python/torch_mutants.py ZTEN [--files 100000] [--seed 1] [--keep FOLDER]

A form has the verdict that its name says. For a damaged file these rules hold:

- What zten calls valid without the note `torch-weights-only`, `torch.load(weights_only=True)` loads. Exceptions are the pickles of
  protocols 3 to 5 (`docs/decisions/torch.md`).
- What zten calls valid with the note does not end the process of Python's own unpickler, which imports the classes that zten knows.
  Python may refuse to build a value that zten leaves out, such as a date in the month 13: these files are counted by cause.
- `EXCEPTIONS` has what `docs/decisions/torch.md` excepts from these rules.
- Each tensor and each attribute that both read is equal, and both read the same tensors.

Files that break a rule are kept in FOLDER, the smallest for each cause.
"""

import argparse
import collections
import hashlib
import io
import itertools
import json
import math
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import pickle
import pickletools
import random
import re
import resource
import signal
import subprocess
import tempfile
import time
import types
import warnings
import zipfile
from collections.abc import Iterator

import numpy as np
import torch
from torch_checkpoints import values, written
from torch_forms import costs, forms, saved

# The note that PyTorch's reader of weights does not read the file.
NOTE = "torch-weights-only"
# The outcome of a file whose loading ends the process.
ENDS = "ends the process"
BATCH = 500
# The length in bytes of the longest file that is damaged.
LONGEST = 20_000
# The seconds that zten may take for a file of a few megabytes.
MOST_SECONDS = 3
# What PyTorch rejects and zten does not (`docs/decisions/torch.md`): parts of PyTorch's messages, and the reasons.
EXCEPTIONS = {
    "is_coalesced": "zten does not read the mark that the entries of a sparse tensor are sorted",
    "col_indices[..., crow_indices": "zten takes the columns of a row in any order",
    "'torch.storage.UntypedStorage' has no attribute 'dtype'": "PyTorch writes storages without a type into streams, and does not read them",
    "cannot instantiate 'WindowsPath'": "the class is that of another system",
    "Expected one of cpu, cuda": "the kind of a device is that of an extension package",
}
# The modules and names of the classes that zten knows and PyTorch does not import, both separated by spaces.
OTHERS = [
    ("numpy._core.multiarray numpy.core.multiarray numpy.core._internal", "_reconstruct scalar"),
    ("numpy._core.numeric numpy.core.numeric", "_frombuffer"),
    ("numpy", "ndarray recarray matrix dtype record"),
    ("numpy.rec numpy._core.records numpy.core.records", "recarray record"),
    ("numpy.matrixlib.defmatrix", "matrix"),
    (
        "builtins __builtin__",
        "frozenset slice range xrange list dict int float str tuple bool set bytes bytearray complex unicode long",
    ),
    ("collections", "defaultdict deque"),
    ("argparse", "Namespace"),
    ("types", "SimpleNamespace"),
    ("pathlib pathlib._local", "Path PurePath PosixPath PurePosixPath WindowsPath PureWindowsPath"),
    ("datetime", "date time datetime timedelta timezone"),
    ("uuid", "UUID"),
    ("decimal", "Decimal"),
    ("fractions", "Fraction"),
]
# Classes that today's Python has under another name.
RENAMED = {
    "pathlib._local": "pathlib",
    "numpy.core._internal": "numpy._core.multiarray",
    "numpy.core.records": "numpy._core.records",
}


class Unpickler(pickle.Unpickler):
    """Python's unpickler, which imports the classes that zten knows and no others."""

    def find_class(self, module: str, name: str) -> object:
        is_known = any(module in modules.split() and name in names.split() for modules, names in OTHERS)
        is_dtype = module == "numpy.dtypes" and re.fullmatch("[A-Za-z0-9]+DType", name)
        allowed = torch._weights_only_unpickler._get_allowed_globals()  # noqa: SLF001
        path = f"{module.replace('__builtin__', 'builtins')}.{name}"
        if not is_known and not is_dtype and path not in allowed:
            raise pickle.UnpicklingError(f"{module}.{name} is not known")
        if path in allowed and "Storage" not in name:
            return allowed[path]
        return super().find_class(RENAMED.get(module, module), name)


def unpickle(file, **options: object) -> object:
    return Unpickler(file, **options).load()


KNOWN = types.SimpleNamespace(Unpickler=Unpickler, load=unpickle, __name__="known")


def load(path: str, weights_only: bool) -> object:
    """Loads a file with PyTorch's reader of weights, or with the unpickler that knows more classes."""
    # PyTorch keeps the sparse tensors of a load that failed, and validates them with those of the next one.
    torch._utils._get_sparse_tensors_to_validate().clear()  # noqa: SLF001
    if weights_only:
        return torch.load(path, map_location="cpu", weights_only=True)
    return torch.load(path, map_location="cpu", weights_only=False, pickle_module=KNOWN)


def spelled(key: object) -> str | None:
    """Returns the spelling of a key in a name; `None` if zten leaves its value out, or spells the key otherwise than Python."""
    if isinstance(key, str):
        return key
    if isinstance(key, tuple):
        parts = [repr(part) if isinstance(part, str) else None if isinstance(part, tuple) else spelled(part) for part in key]
        return None if None in parts or any('"' in part or "\\" in part for part in parts) else str(key)
    if key is None or isinstance(key, bool):
        return str(key)
    return str(key) if isinstance(key, int) and -(1 << 63) <= key < 1 << 63 else None


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def elements(value: torch.Tensor) -> bytes:
    value = value.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    return value.reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""


def parts(value: torch.Tensor) -> list[torch.Tensor] | None:
    """Returns the dense tensors that make up a tensor; `None` for a tensor that is not compared."""
    if value.device.type != "cpu" or value.is_quantized or value.is_nested:
        return None
    if value.layout == torch.strided:
        return [value]
    if value.layout == torch.sparse_coo:
        return [value._indices(), value._values()]  # noqa: SLF001
    if value.layout == torch.sparse_csr:
        return [value.crow_indices(), value.col_indices(), value.values()]
    return None


def tensors(value: object, name: str = "") -> dict[str, str | None]:
    """Returns the digests of each tensor in a loaded value by its name; `None` for a tensor that is not compared."""
    if isinstance(value, torch.Tensor):
        found = parts(value)
        return {name or "data": found and " ".join(sorted(digest(elements(part)) for part in found))}
    if isinstance(value, np.ndarray):
        kind = value.dtype
        # NumPy reads an array without a state as an empty array of `int8`. zten leaves such an array out, and also an
        # array of objects.
        if kind.hasobject or (value.shape == (0,) and kind == np.int8):
            return {}
        if value.size == 0:
            return {name or "data": digest(b"")}
        if kind.kind in "biufc":
            value = value.astype(kind.newbyteorder("<"))
        return {name or "data": digest(np.ascontiguousarray(value).tobytes())}
    if isinstance(value, (argparse.Namespace, types.SimpleNamespace)):
        value = vars(value)
    if isinstance(value, torch.jit.ScriptModule):
        value = dict(value.state_dict())
    if isinstance(value, dict):
        items = [(spelled(key), item) for key, item in value.items()]
    elif isinstance(value, (list, tuple, collections.deque)):
        items = [(str(place), item) for place, item in enumerate(value)]
    else:
        return {}
    collected: dict[str, str | None] = {}
    for key, item in items:
        # If zten leaves out the values under a key, or spells the key in its own way, the tensors under this key are
        # not compared.
        if key is None:
            collected |= {f"?{name}{len(collected)}.{inner}": None for inner in tensors(item, "?")}
        else:
            collected |= tensors(item, f"{name}.{key}" if name else key)
    return collected


def scalar(value: object) -> object:
    """Returns a scalar as an attribute holds it, or `...` if it is none."""
    if isinstance(value, (np.bool_, np.integer, np.floating)) and value.dtype.itemsize <= 8:  # noqa: PLR2004
        value = value.item()
    if isinstance(value, (torch.dtype, torch.device)):
        return str(value).removeprefix("torch.")
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return ...
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    is_scalar = value is None or type(value) in (bool, int, float, str, bytes)
    return value if is_scalar else ...


def attributes(value: object, name: str = "") -> dict[str, object]:
    """Returns the scalars and lists of scalars in a loaded value by their names."""
    if isinstance(value, (argparse.Namespace, types.SimpleNamespace)):
        value = vars(value)
    if isinstance(value, dict):
        found: dict[str, object] = {}
        for key, item in value.items():
            spelling = spelled(key)
            found |= {} if spelling is None else attributes(item, f"{name}.{spelling}" if name else spelling)
        return found
    if isinstance(value, (list, tuple, collections.deque, set, frozenset)):
        items = [scalar(item) for item in value]
        if ... not in items:
            return {name: sorted(items, key=repr) if isinstance(value, (set, frozenset)) else items}
        found = {}
        if not isinstance(value, (set, frozenset)):
            for place, item in enumerate(value):
                found |= attributes(item, f"{name}.{place}" if name else str(place))
        return found
    held = scalar(value)
    return {} if held is ... else {name or "data": held}


def of_json(value: object) -> object:
    """Returns the value of an attribute that zten has printed."""
    if isinstance(value, dict):
        return bytes.fromhex(value["$bytes"]) if "$bytes" in value else next(iter(value.values()))
    return [of_json(item) for item in value] if isinstance(value, list) else value


def is_equal(ours: object, theirs: object) -> bool:
    """Returns whether two attributes are equal. Lists may have another order, because sets have none. Not compared is a number that
    is NaN or infinite, which zten prints as a text."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and (
            all(map(is_equal, ours, theirs)) or sorted(map(repr, ours)) == sorted(map(repr, theirs))
        )
    if isinstance(theirs, str) and theirs in ("nan", "inf", "-inf"):
        return True
    is_flag = isinstance(ours, bool), isinstance(theirs, bool)
    return ours == theirs and is_flag[0] == is_flag[1]


def attributes_of_zten(zten: str, paths: list[pathlib.Path]) -> dict[str, dict[str, object]]:
    """Returns the attributes of each file that zten lists."""
    if not paths:
        return {}
    others = [part for path in paths[1:] for part in ("--also", path)]
    done = subprocess.run([zten, "ls", "--json", paths[0], *others], capture_output=True, text=True, check=False)
    reports = map(json.loads, done.stdout.splitlines())
    return {report["file"]: {key: of_json(value) for key, value in (report["attributes"] or {}).items()} for report in reports}


def of_zten(zten: str, paths: list[pathlib.Path]) -> dict[str, dict[str, str]]:
    """Returns the digests of each tensor of each file, by its name."""
    if not paths:
        return {}
    done = subprocess.run([zten, "hash", "--json", *paths], capture_output=True, text=True, check=False)
    found = {}
    for line in done.stdout.splitlines():
        report = json.loads(line)
        # A tensor that is not read has no digest.
        found[report["file"]] = {
            entry["name"]: " ".join(sorted(part["sha256"] or "?" for part in entry["components"])) for entry in report["objects"]
        }
    return found


def reports(zten: str, paths: list[pathlib.Path]) -> list[dict]:
    """Returns zten's report on each file."""
    done = subprocess.run([zten, "check", "--json", *paths], capture_output=True, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def cause(error: BaseException) -> str:
    """Returns the part of an error's message that is the same for all errors of one cause, by
    which errors are counted."""
    first = next(iter(str(error).splitlines()), "")
    named = re.search(r"GLOBAL (\S+)|Unsupported operand (\d+)", str(error))
    return f"{type(error).__name__}: {named[0] if named else re.sub(r'[0-9]+', 'N', first)[:70]}"


# --- Damage --------------------------------------------------------------------------------------------------------------------

OPCODES = b"()Rtbcsuqh0.2Q}]NK\x81\x85\x86\x87\x88\x89\x93\x94eaJMGXUCB\x8a\x8f\x90\x91\x96"


def change(content: bytearray, most: int, chance: random.Random) -> None:
    """Changes one or two places in the first `most` bytes of `content`."""
    for _ in range(chance.choice((1, 1, 1, 2))):
        if not content:
            return
        at = chance.randrange(min(most, len(content)))
        match chance.randrange(14):
            case 0:
                content[at] ^= 1 << chance.randrange(8)
            case 1:
                content[at] = chance.choice(OPCODES)
            case 2:
                del content[at : at + chance.randint(1, 4)]
            case 3:
                start = chance.randrange(len(content))
                content[at:at] = content[start : start + chance.randint(1, 12)]
            case 4 | 7 | 8:
                change_number(content, chance)
            case 5:
                # Swaps two neighbors.
                content[at : at + 2] = content[at : at + 2][::-1]
            case 6 | 9:
                # Replaces one reference to the memo by another.
                places = [place for place, byte in enumerate(content[:most]) if byte == ord("h")]
                if places and (place := chance.choice(places)) + 1 < len(content):
                    content[place + 1] = chance.randrange(40)
            case _:
                change_instruction(content, chance)


def change_number(content: bytearray, chance: random.Random) -> None:
    """Changes the operand of one instruction that pushes a number."""
    places = [place for place, byte in enumerate(content[:-5]) if byte in b"KMJ"]
    if places:
        place = chance.choice(places)
        width = {ord("K"): 1, ord("M"): 2, ord("J"): 4}[content[place]]
        number = chance.choice([0, 1, 2, 3, 5, 6, 7, 12, 24, 127, 255, 256, 65535, (1 << 31) - 1, (1 << 32) - 1])
        content[place + 1 : place + 1 + width] = (number & ((1 << 8 * width) - 1)).to_bytes(width, "little")


# Imports of classes and functions, which replace other imports in damaged files.
CLASSES = sorted(
    {f"c{module}\n{name}\n".encode() for modules, names in OTHERS for module in modules.split() for name in names.split()}
    | {
        f"c{module}\n{name}\n".encode()
        for path in torch._weights_only_unpickler._get_allowed_globals()
        for module, _, name in [path.rpartition(".")]
    }  # noqa: SLF001
)


def instructions(content: bytes) -> list[bytes]:
    """Returns the instructions of all pickles at the start of `content`, and in the end what follows them."""
    found, at = [], 0
    while at < len(content):
        file = io.BytesIO(content[at:])
        try:
            places = [place for _, _, place in pickletools.genops(file)]
        except ValueError:
            break
        bounds = itertools.pairwise([*places, file.tell()])
        found += [content[at + start : at + end] for start, end in bounds]
        at += file.tell()
    return [*found, content[at:]]


def change_instruction(content: bytearray, chance: random.Random) -> None:
    """Swaps, drops, repeats or replaces one instruction, without a change of others."""
    parts = instructions(bytes(content))
    if len(parts) < 3:
        return
    at, other = chance.randrange(len(parts) - 2), chance.randrange(len(parts) - 1)
    match chance.randrange(6):
        case 0:
            parts[at : at + 2] = parts[at : at + 2][::-1]
        case 1:
            del parts[at]
        case 2:
            parts.insert(at, parts[at])
        case 3:
            parts[at] = parts[other]
        case 4 | 5:
            classes = [place for place, part in enumerate(parts) if part.startswith(b"c") and part.endswith(b"\n")]
            if classes:
                parts[chance.choice(classes)] = chance.choice(CLASSES)
    content[:] = b"".join(parts)


def damaged(file: bytes, chance: random.Random) -> bytes:
    """Returns a damaged copy of `file`. In one of 16 archives, any bytes are damaged. In the others, members are, and get new
    checksums."""
    if not file.startswith(b"PK") or chance.randrange(16) == 0:
        content = bytearray(file)
        if chance.randrange(10) == 0:
            del content[chance.randrange(len(content)) :]
        else:
            change(content, len(content), chance)
        return bytes(content)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(file)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = bytearray(old.read(name))
            if name.endswith("data.pkl"):
                change(content, len(content), chance)
            elif chance.randrange(40) == 0:
                change(content, len(content), chance)
            new.writestr(zipfile.ZipInfo(name), bytes(content))
    return out.getvalue()


# --- Comparing -----------------------------------------------------------------------------------------------------------------


class Comparison:
    """Compares files, counts what happens, and keeps the smallest file for each cause of a disagreement."""

    def __init__(self, zten: str, kept: pathlib.Path) -> None:
        self.zten, self.kept = zten, kept
        self.counts: collections.Counter[str] = collections.Counter()
        self.rejected: collections.Counter[str] = collections.Counter()
        self.unbuilt: collections.Counter[str] = collections.Counter()
        self.faults: dict[str, tuple[int, pathlib.Path]] = {}
        self.slowest = 0.0

    def fault(self, what: str, path: pathlib.Path) -> None:
        self.counts["FAULTS"] += 1
        count, smallest = self.faults.get(what, (0, None))
        name = re.sub(r"[^a-z0-9]+", "-", what.lower()).strip("-")[:80]
        target = self.kept / f"{name}{path.suffix}"
        if smallest is None or path.stat().st_size < smallest.stat().st_size:
            self.kept.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
            smallest = target
        self.faults[what] = count + 1, smallest

    def compare(self, paths: list[pathlib.Path]) -> None:
        """Compares a batch of files."""
        found = reports(self.zten, paths)
        assert len(found) == len(paths), "zten did not report on each file"
        readable = [pathlib.Path(report["file"]) for report in found if report["verdict"] in ("valid", "unsupported")]
        digests, listed = of_zten(self.zten, readable), attributes_of_zten(self.zten, readable)
        jobs = [(report["file"], report["verdict"] in ("valid", "unsupported")) for report in found]
        for report, theirs in zip(found, outcomes(jobs), strict=True):
            path = pathlib.Path(report["file"])
            is_noted = any(note["rule"] == NOTE for note in report["notes"])
            self.counts[report["verdict"] + (" with the note" if is_noted else "")] += 1
            self.check(path, report, is_noted, theirs, digests.get(report["file"]))
            if report["verdict"] == "valid" and theirs[3] is not None and report["file"] in listed:
                self.equal_attributes(path, theirs[3], listed[report["file"]])

    def check(self, path: pathlib.Path, report: dict, is_noted: bool, theirs: tuple, ours: dict[str, str] | None) -> None:
        """Checks the rules for one file. `theirs` is what [`outcome`] returns for the file, and `ours` are zten's tensors."""
        is_valid = report["verdict"] == "valid"
        weights_error, error, found, _ = theirs
        if report["verdict"] == "error":
            self.fault(f"zten fails: {report['message'][:60]}", path)
        if not is_valid and report["verdict"] != "unsupported":
            if weights_error is None:
                self.counts["rejected, and PyTorch reads it"] += 1
                self.rejected[report["rule"] or report["verdict"]] += 1
            return
        excepted = next((reason for part, reason in EXCEPTIONS.items() if part in f"{weights_error} {error}"), None)
        if is_valid and excepted and (error is not None or not is_noted):
            self.counts[f"excepted, since {excepted}"] += 1
        elif is_valid and weights_error is not None and not is_noted:
            self.fault(f"valid, and PyTorch rejects it: {weights_error}", path)
        elif is_valid and error is not None and ENDS in error:
            self.fault(f"valid with the note, and Python {error}", path)
        elif is_valid and error is not None:
            self.counts["valid with the note, and Python does not build a value"] += 1
            self.unbuilt[error] += 1
        elif error is None and is_valid and ours is None:
            self.fault("zten gives no list of tensors", path)
        elif error is None and ours is not None:
            if is_noted and weights_error is None:
                self.counts["the note, and PyTorch reads it"] += 1
            self.equal(path, found, ours, is_valid)

    def equal(self, path: pathlib.Path, theirs: dict[str, str | None], ours: dict[str, str], is_valid: bool) -> None:
        """Checks that zten and PyTorch read the same tensors in a file, with equal content."""
        is_exact = not any(name.startswith("?") for name in theirs)
        for name, wanted in theirs.items():
            if name.startswith("?") or wanted is None:
                continue
            if name not in ours:
                # Only a file that is valid must have all tensors: a tensor that zten does not
                # read makes a file unsupported.
                if is_valid:
                    self.fault("a tensor is missing", path)
                return
            if ours[name] == "?" and not is_valid:
                self.counts["tensors that zten does not read"] += 1
                continue
            if ours[name] != wanted:
                self.fault("a tensor differs", path)
                return
            self.counts["equal tensors"] += 1
        if is_exact and (more := ours.keys() - theirs.keys()):
            self.fault(f"zten alone has {len(more)} tensors in a file that is {'valid' if is_valid else 'unsupported'}", path)
            return
        self.counts["files compared"] += 1

    def equal_attributes(self, path: pathlib.Path, theirs: dict[str, object], ours: dict[str, object]) -> None:
        """Checks that the attributes that zten lists are those of the loaded value."""
        for name, value in ours.items():
            if name in theirs and is_equal(value, theirs[name]):
                self.counts["equal attributes"] += 1
            elif name in theirs:
                self.fault("an attribute differs", path)
            else:
                self.counts["attributes that are not compared"] += 1


def outcome(path: str, is_compared: bool) -> tuple:
    """Returns why PyTorch's reader of weights rejects a file, why the unpickler that knows more classes rejects it, too, and the
    tensors and attributes that one of them has read. If `is_compared` is false, only the reader of weights loads the file, and its
    error stands for both."""
    try:
        value, weights_error = load(path, weights_only=True), None
    except Exception as error:  # noqa: BLE001: any is a rejection
        weights_error = cause(error)
    if not is_compared:
        return weights_error, weights_error, None, None
    try:
        if weights_error:
            value = load(path, weights_only=False)
        return weights_error, None, tensors(value), attributes(value)
    except Exception as error:  # noqa: BLE001
        return weights_error, cause(error), None, None


def work(jobs: list[tuple[str, bool]], connection: multiprocessing.connection.Connection) -> None:
    """Sends the outcome of each job."""
    # Standard error is closed, because NumPy prints errors there that it cannot raise.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for job in jobs:
        signal.alarm(20)
        connection.send(outcome(*job))


def outcomes(jobs: list[tuple[str, bool]]) -> Iterator[tuple]:
    """Yields the outcome of each job. Loading a file may end the process that does it, so it is a process of its own."""
    while jobs:
        ours, theirs = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(target=work, args=(jobs, theirs))
        process.start()
        theirs.close()
        while jobs:
            try:
                found = ours.recv()
            except EOFError:
                process.join()
                end = f"{ENDS} ({process.exitcode})"
                found = end, end, None, None
                jobs = jobs[1:]
                yield found
                break
            jobs = jobs[1:]
            yield found
        ours.close()
        process.join()


def check_forms(comparison: Comparison, folder: pathlib.Path, files: list[tuple[str, bytes]]) -> None:
    """Checks that each form has the verdict that its name says, and that its tensors and attributes are equal. A form called
    `invalid` may also be unsupported or beyond a limit."""
    paths = []
    for name, data in files:
        path = folder / name
        path.write_bytes(data)
        paths.append(path)
    for report in reports(comparison.zten, paths):
        path = pathlib.Path(report["file"])
        verdict = report["verdict"]
        if verdict == "valid" and any(note["rule"] == NOTE for note in report["notes"]):
            verdict = "note"
        expected = path.name.partition("--")[0]
        if expected not in ("any", verdict) and (expected, verdict) not in {("invalid", "limit"), ("invalid", "unsupported")}:
            comparison.fault(f"form {path.name} is {verdict}", path)
    comparison.compare(paths)
    for path in paths:
        path.unlink()


def check_costs(zten: str, folder: pathlib.Path, comparison: Comparison) -> None:
    """Checks that zten reads pickles whose values are expensive to build in bounded time."""
    for name, data in costs():
        path = folder / name
        path.write_bytes(data)
        for command in ("check", "ls"):
            start = time.monotonic()
            try:
                subprocess.run([zten, command, path], capture_output=True, check=False, timeout=MOST_SECONDS)
            except subprocess.TimeoutExpired:
                comparison.fault(f"{command} of {name} takes more than {MOST_SECONDS} seconds", path)
            comparison.slowest = max(comparison.slowest, time.monotonic() - start)
        path.unlink()


def sources_of_damage(files: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Returns the files that are damaged: the forms that are not wrong, and small files of PyTorch."""
    others = {**written(), **values()}
    found = [
        (f"{name}.{'pt' if is_zip else 'pth'}", saved(value, 2, is_zip))
        for name, value in others.items()
        for is_zip in (True, False)
    ]
    # An archive without checksums is left out, because it cannot be written again.
    found += [(name, data) for name, data in files if not name.startswith(("invalid", "any")) and "zero-sums" not in name]
    found = [(name, data) for name, data in found if len(data) < LONGEST]
    # Damaged files of protocol 2 test more, since PyTorch rejects most instructions of later protocols.
    return found + [(name, data) for name, data in found if b"\x80\x02" in data] * 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zten")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("torch-mutants"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    chance = random.Random(options.seed)
    files = list(forms())
    of_forms = Comparison(options.zten, options.keep / "forms")
    mutants = Comparison(options.zten, options.keep / "mutants")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_forms(of_forms, folder, files)
        check_costs(options.zten, folder, of_forms)
        sources = sources_of_damage(files)
        for first in range(0, options.files, BATCH):
            paths = []
            for number in range(first, min(first + BATCH, options.files)):
                source, data = chance.choice(sources)
                path = folder / f"{number}{pathlib.Path(source).suffix}"
                path.write_bytes(damaged(data, chance))
                paths.append(path)
            mutants.compare(paths)
            for path in paths:
                path.unlink()
    for title, comparison in (("forms", of_forms), ("damaged files", mutants)):
        print(f"{title}:", ", ".join(f"{count} {what}" for what, count in sorted(comparison.counts.items())))
        print("rejected, though PyTorch reads them:", dict(comparison.rejected.most_common()))
        print("not built by Python:", dict(comparison.unbuilt.most_common()))
        for what, (count, path) in sorted(comparison.faults.items(), key=lambda fault: -fault[1][0]):
            print(f"  {count} × {what}: {path}")
    return 1 if of_forms.faults or mutants.faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
