"""Opens every tensor file in published packages with zten, and compares every array with the file's own library: zten rejects no
file that this library reads without running code, and no array differs.

    packages.py FOLDER ZTEN NAME...

Downloads the wheel of each package called NAME into FOLDER with the `pip` of this Python, and prints tables in Markdown. Checkpoints
of PyTorch are recognized by their content, other files by their names. PyTorch reads checkpoints with `weights_only=True`. A
checkpoint that PyTorch rejects then, because of its classes, is loaded with stand-ins for these classes, and its tensors are compared
with those that `zten --tolerate torch-global` reads.
"""

import collections
import json
import pathlib
import pickle
import re
import subprocess
import sys
import types
import warnings
import zipfile

import gguf
import numpy as np
import safetensors
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent / "interop"))
from common import sha256  # noqa: E402

# The magic number of the streams that PyTorch wrote before 1.6.
MAGIC = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
# The rule about arrays of Python objects, which zten does not read.
OBJECTS = "npy-objects"
COLUMNS = [
    "files",
    "arrays",
    "objects",
    "invalid pickles",
    "with other classes",
    "REJECTED",
    "DIFFERENT",
    "not read by its own library",
]


def wheels(folder, names):
    """Downloads the wheels of the packages, and returns their paths. Names each package without a wheel on stderr, and leaves it
    out."""
    for name in names:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", folder, name]
        if subprocess.run(command, capture_output=True).returncode:
            print(f"{name}: no wheel", file=sys.stderr)
    return sorted(folder.glob("*.whl"))


def kind_of(name, start):
    """Returns the kind of a file called `name`, which begins with the bytes `start`: a key of `READERS`, or `None`."""
    if start[:4] == b"PK\x03\x04" and (b"data.pkl" in start or b"/data/" in start or b"/code/" in start) or MAGIC in start[:40]:
        return "torch"
    suffix = name.lower().rpartition(".")[2]
    return suffix if suffix in READERS else None


def tensor_files(wheel, folder):
    """Extracts the tensor files of a wheel, and yields their kinds and paths."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as file:
                kind = kind_of(entry.filename, file.read(512))
            if kind:
                yield kind, pathlib.Path(archive.extract(entry, folder / wheel.name.split("-")[0]))


# Each reader returns the SHA-256 of every array of a file by its name: little-endian numbers in row-major order. An array that its
# library does not read without running code has `None` in place of the sum.


def numpy_sum(read):
    """Returns the SHA-256 of the array that `read` returns."""
    try:
        array = read()
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        return None
    if array.dtype.kind in "biufc" and array.dtype.itemsize <= (16 if array.dtype.kind == "c" else 8):
        array = array.astype(array.dtype.newbyteorder("<"))
    return sha256(np.ascontiguousarray(array).tobytes())


def read_npy(path):
    return {path.stem: numpy_sum(lambda: np.load(path))}


def read_npz(path):
    archive = np.load(path)
    # NumPy returns a member that is no array as bytes, so such members are left out.
    with zipfile.ZipFile(path) as members:
        arrays = {name.removesuffix(".npy") for name in members.namelist() if members.read(name)[:6] == b"\x93NUMPY"}
    return {name: numpy_sum(lambda name=name: archive[name]) for name in archive.files if name.removesuffix(".npy") in arrays}


def read_gguf(path):
    return {tensor.name: sha256(tensor.data.tobytes()) for tensor in gguf.GGUFReader(path).tensors}


def read_safetensors(path):
    return {name: sha256(bytes(held["data"])) for name, held in safetensors.deserialize(path.read_bytes())}


def torch_tensors(value, name=""):
    """Yields the name and the sum of each tensor in a value that PyTorch has loaded: the keys that lead to it, with dots between."""
    if isinstance(value, torch.Tensor):
        if value.layout == torch.strided:
            elements = value.detach().clone(memory_format=torch.contiguous_format).reshape(-1)
            yield name or "data", sha256(elements.view(torch.uint8).numpy().tobytes() if elements.numel() else b"")
        return
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for key, item in items:
        yield from torch_tensors(item, f"{name}.{key}" if name else str(key))


def read_torch(path):
    return dict(torch_tensors(torch.load(path, map_location="cpu", weights_only=True)))


def read_script(path):
    """Reads the parameters and buffers of a TorchScript program, which `torch.jit.load` does not run."""
    return dict(torch_tensors(dict(torch.jit.load(path, map_location="cpu").state_dict())))


READERS = {"npy": read_npy, "npz": read_npz, "gguf": read_gguf, "safetensors": read_safetensors, "torch": read_torch}


class StandIn:
    """Takes the place of an object of any class: keeps what the pickle gives the object."""

    def __init__(self, *arguments):
        self.parts = [arguments]

    def __setstate__(self, state):
        self.__dict__.setdefault("parts", []).append(state)

    def __call__(self, *arguments):
        return StandIn(self.parts, arguments)

    def __setitem__(self, key, value):
        self.__dict__.setdefault("parts", []).append(value)

    def __hash__(self):
        return id(self)

    def append(self, item):
        self.__dict__.setdefault("parts", []).append(item)

    def extend(self, items):
        self.__dict__.setdefault("parts", []).extend(items)


class Unpickler(pickle.Unpickler):
    """Imports what builds tensors, and makes stand-ins for everything else."""

    def find_class(self, module, name):
        allowed = torch._weights_only_unpickler._get_allowed_globals()
        found = allowed.get(f"{module.replace('__builtin__', 'builtins')}.{name}")
        return super().find_class(module, name) if "Storage" in name else found or type("StandIn", (StandIn,), {})


def stand_in_sums(path):
    """Returns the sums of the tensors in a checkpoint, wherever they are."""
    module = types.SimpleNamespace(
        Unpickler=Unpickler, load=lambda file, **options: Unpickler(file, **options).load(), __name__="stand_ins"
    )
    pending, seen, sums = [torch.load(path, map_location="cpu", weights_only=False, pickle_module=module)], set(), set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor):
            sums |= {digest for _, digest in torch_tensors(value)}
        elif isinstance(value, dict):
            pending += [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple, set)):
            pending += value
        if isinstance(value, StandIn):
            pending += value.__dict__.get("parts", [])
        elif isinstance(value, collections.OrderedDict):
            pending.append(vars(value))
    return sums


def of_zten(zten, path, *options):
    """Returns the sum of every component that zten reads, by the name of its object and its role."""
    lines = subprocess.run([zten, "hash", "--json", *options, path], capture_output=True).stdout.splitlines()
    objects = [entry for line in lines for entry in json.loads(line)["objects"]]
    return {(entry["name"], part["role"]): part["sha256"] for entry in objects for part in entry["components"]}


def compared(zten, kind, path, counts):
    """Compares what zten and the library of the format read in the file at `path`. Returns a
    description of the difference, or `None`. Counts the outcome in `counts`."""
    check = json.loads(subprocess.run([zten, "check", "--json", path], capture_output=True).stdout)
    verdict, rule = check["verdict"], check["rule"]
    is_script = rule == "torch-script"
    try:
        wanted = (read_script if is_script else READERS[kind])(path)
    except Exception as error:
        if kind != "torch" or "GLOBAL" not in str(error):
            counts["not read by its own library"] += 1
            return f"its own library fails: {type(error).__name__}: {error}"
        found = stand_in_sums(path)
        missing = found - set(of_zten(zten, path, "--tolerate", "torch-global").values())
        counts["with other classes"] += 1
        counts["DIFFERENT"] += len(missing)
        named = re.search(r"GLOBAL (\S+)", str(error))[1]
        verdict = (
            f"{verdict}, {rule}" if rule else f"{verdict} with the notes {', '.join(note['rule'] for note in check['notes'])}"
        )
        return f"PyTorch rejects the class {named}; {verdict}; {len(found)} different tensors, {len(missing)} of them not found"
    has_objects = None in wanted.values()
    # NumPy reads arrays of objects only if it may run code, so there is nothing to compare. zten may find the pickle invalid.
    is_pickle = has_objects and rule is not None and rule.startswith("torch-")
    counts["invalid pickles"] += is_pickle
    if verdict != "valid" and not is_pickle and not is_script and not (has_objects and rule == OBJECTS):
        counts["REJECTED"] += 1
        return f"{verdict}, {rule}: {check['message']}"
    found = of_zten(zten, path)
    different = [name for name, digest in wanted.items() if digest is not None and found.get((name, "data")) != digest]
    counts["files"] += 1
    counts["arrays"] += len(wanted)
    counts["objects"] += sum(digest is None for digest in wanted.values())
    counts["DIFFERENT"] += len(different)
    return f"different: {different}" if different else None


def print_table(first, rows, columns=COLUMNS):
    """Prints a table of counts."""
    print(f"\n| {first} |", " | ".join(columns), "|")
    print("| --- " * (len(columns) + 1) + "|")
    for name, counts in rows:
        print(f"| {name} |", " | ".join(str(counts[column]) for column in columns), "|")


def main(folder, zten, *names):
    warnings.simplefilter("ignore")
    folder = pathlib.Path(folder)
    total, of_kinds, rows, faults = collections.Counter(), collections.defaultdict(collections.Counter), [], []
    for wheel in wheels(folder, names):
        of_package = collections.Counter()
        for kind, path in tensor_files(wheel, folder / "files"):
            counts = collections.Counter()
            if fault := compared(zten, kind, path, counts):
                faults.append((path.relative_to(folder / "files"), fault))
            of_package += counts
            of_kinds[kind] += counts
        if of_package:
            name, version = wheel.name.split("-")[:2]
            rows.append((f"{name} {version}", of_package))
            total += of_package
    print_table("package", [*rows, ("all", total)])
    print_table("kind", sorted(of_kinds.items()))
    print()
    for path, fault in faults:
        print(f"- `{path}`: {fault}")
    return 1 if total["REJECTED"] or total["DIFFERENT"] else 0


sys.exit(main(*sys.argv[1:]))
