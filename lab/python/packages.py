"""Opens every `.npy`, `.npz`, `.gguf` and `.safetensors` file and every checkpoint of PyTorch in published packages with zten, and
compares every array with the file's own library: zten rejects no file that this library reads without running code, and no array
differs. Checkpoints are recognized by their content. PyTorch reads them with `weights_only=True`; a file that PyTorch rejects then
is counted, and not compared.

packages.py FOLDER ZTEN NAME...

Downloads the wheel of each package called NAME into FOLDER with the `pip` of this Python, and prints a table in Markdown.
"""

import collections
import json
import pathlib
import subprocess
import sys
import warnings
import zipfile

import gguf
import numpy as np
import safetensors
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent / "interop"))
from common import sha256  # noqa: E402

SUFFIXES = (".npy", ".npz", ".gguf", ".safetensors")
OBJECTS = "npy-objects"
# The magic number of the streams that PyTorch wrote before 1.6.
MAGIC = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."


def wheels(folder, names):
    """Downloads the wheels of the packages, and returns their paths."""
    for name in names:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", folder, name]
        if subprocess.run(command, capture_output=True).returncode:
            print(f"{name}: no wheel", file=sys.stderr)
    return sorted(folder.glob("*.whl"))


def is_checkpoint(start):
    """Returns whether a file that begins with the bytes `start` is a checkpoint of PyTorch."""
    return start[:4] == b"PK\x03\x04" and (b"data.pkl" in start or b"/data/" in start) or MAGIC in start[:40]


def members(wheel, folder):
    """Extracts the files of a wheel that are tensor files, and returns their paths."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as file:
                start = file.read(512)
            if entry.filename.lower().endswith(SUFFIXES) or is_checkpoint(start):
                yield pathlib.Path(archive.extract(entry, folder / wheel.name.split("-")[0]))


def numpy_arrays(path):
    """Yields the name and array of each array in a NumPy file; `None` in place of an array that is pickled."""
    if path.suffix.lower() == ".npy":
        arrays = {path.stem: lambda: np.load(path)}
    else:
        archive = np.load(path)
        arrays = {name: lambda name=name: archive[name] for name in archive.files}
    for name, array in arrays.items():
        try:
            read = array()
        except ValueError as error:
            if "allow_pickle" not in str(error):
                raise
            yield name, None
            continue
        # NumPy returns a member that is no array as bytes.
        if isinstance(read, np.ndarray):
            yield name, read


def torch_tensors(value, name=""):
    """Yields the name and each tensor in a value that PyTorch has loaded: the keys that lead to it, with dots between."""
    if isinstance(value, torch.Tensor):
        yield name or "data", value
        return
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for key, item in items:
        yield from torch_tensors(item, f"{name}.{key}" if name else str(key))


def torch_sums(path):
    """Returns the sum of the bytes of each dense tensor in a checkpoint."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = torch.load(path, map_location="cpu", weights_only=True)
    dense = ((name, tensor) for name, tensor in torch_tensors(value) if tensor.layout == torch.strided)
    return {
        name: sha256(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()) for name, tensor in dense
    }


def own(path):
    """Returns the sum of the bytes of each tensor as the file's own library reads it, little-endian numbers in row-major order."""
    if path.suffix.lower() == ".gguf":
        return {tensor.name: sha256(tensor.data.tobytes()) for tensor in gguf.GGUFReader(path).tensors}
    if path.suffix.lower() == ".safetensors":
        return {name: sha256(bytes(held["data"])) for name, held in safetensors.deserialize(path.read_bytes())}
    if not path.name.lower().endswith(SUFFIXES):
        return torch_sums(path)
    sums = {}
    for name, array in numpy_arrays(path):
        if array is None:
            sums[name] = None
        elif array.dtype.kind in "biufc" and array.dtype.itemsize <= (16 if array.dtype.kind == "c" else 8):
            sums[name] = sha256(np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes())
        else:
            sums[name] = sha256(np.ascontiguousarray(array).tobytes())
    return sums


def compared(zten, path, counts):
    """Compares one file, and returns what differs."""
    try:
        wanted = own(path)
    except Exception as error:  # noqa: BLE001
        counts["not read by its own library"] += 1
        return f"its own library fails: {type(error).__name__}: {error}"
    check = json.loads(subprocess.run([zten, "check", "--json", path], capture_output=True).stdout)
    verdict, rule = check["verdict"], check["rule"]
    has_objects = None in wanted.values()
    # NumPy reads arrays of objects only if it may run code, so there is nothing to compare. zten may find the pickle invalid.
    is_pickle = has_objects and rule is not None and rule.startswith("torch-")
    counts["invalid pickles"] += is_pickle
    if verdict != "valid" and not is_pickle and not (has_objects and rule == OBJECTS):
        counts["REJECTED"] += 1
        return f"{verdict}, {rule}: {check['message']}"
    lines = subprocess.run([zten, "hash", "--json", path], capture_output=True).stdout.splitlines()
    found = {}
    for line in lines:
        for entry in json.loads(line)["objects"]:
            found[entry["name"]] = entry["components"][0]["sha256"]
    different = [name for name, digest in wanted.items() if digest is not None and found.get(name) != digest]
    counts["files"] += 1
    counts["arrays"] += len(wanted)
    counts["objects"] += sum(digest is None for digest in wanted.values())
    counts["DIFFERENT"] += len(different)
    return f"different: {different}" if different else None


def main(folder, zten, *names):
    folder = pathlib.Path(folder)
    total, rows, faults = collections.Counter(), [], []
    for wheel in wheels(folder, names):
        counts = collections.Counter()
        for path in members(wheel, folder / "files"):
            if fault := compared(zten, path, counts):
                faults.append((path.relative_to(folder / "files"), fault))
        if counts:
            name, version = wheel.name.split("-")[:2]
            rows.append((f"{name} {version}", counts))
            total += counts
    columns = ["files", "arrays", "objects", "invalid pickles", "REJECTED", "DIFFERENT", "not read by its own library"]
    print("| package |", " | ".join(columns), "|")
    print("| --- " * (len(columns) + 1) + "|")
    for name, counts in [*rows, ("all", total)]:
        print(f"| {name} |", " | ".join(str(counts[column]) for column in columns), "|")
    for path, fault in faults:
        print(f"\n{path}: {fault}", end="")
    print()
    return 1 if total["REJECTED"] or total["DIFFERENT"] else 0


sys.exit(main(*sys.argv[1:]))
