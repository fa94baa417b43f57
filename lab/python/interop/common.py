"""Helpers of all interoperability scripts: digests, expected rejections, and calls of the command
`zten`."""

import collections
import hashlib
import json
import math
import struct
import subprocess

# The name that NumPy and the packages have for each storage type, by its name in zten.
NUMPY_NAMES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u64": "uint64",
    "u32": "uint32",
    "u16": "uint16",
    "u8": "uint8",
    "bool": "bool",
}
ZTEN_NAMES = {numpy: zten for zten, numpy in NUMPY_NAMES.items()}


def sha256(data):
    """Returns the SHA-256 of bytes, or of the little-endian bytes of an array."""
    if hasattr(data, "tobytes"):
        # Only numbers must be little-endian. Arrays of text, records and dates keep the bytes that
        # NumPy wrote, because zten does not interpret them.
        assert data.dtype.byteorder != ">" or data.dtype.kind in "SUVMm", data.dtype
        data = data.tobytes()
    return hashlib.sha256(data).hexdigest()


class Tally:
    """Counts comparisons, and the files that are known to be rejected, skipped or read differently."""

    def __init__(self, title):
        self.title = title
        self.compared = collections.Counter()
        self.known = collections.Counter()

    def rejects(self, why, call, *arguments):
        """Checks that the call fails, and counts the failure under the reason ``why``."""
        try:
            call(*arguments)
        except Exception as error:
            # The packages may raise anything, but this exception is from our own check.
            if isinstance(error, AssertionError):
                raise
            self.known["REJECTED", why] += 1
            return
        raise AssertionError(f"not rejected any more: {why}")

    def skips(self, why):
        self.known["SKIPPED", why] += 1

    def otherwise(self, why):
        self.known["OTHERWISE", why] += 1

    def listed(self, folder, one):
        """Calls `one` with each file that the list in a folder describes, and reports."""
        for name, file in json.loads((folder / "files.json").read_text()).items():
            try:
                one(folder / name, file)
            except BaseException:
                print(f"{self.title}: {name}, seed {file['seed']}")
                raise
        self.report()

    def report(self):
        what = ", ".join(f"{count} {what}" for what, count in sorted(self.compared.items()))
        print(f"{self.title}: {what}")
        for (kind, why), count in sorted(self.known.items()):
            print(f"  {kind}, as known, {count} times: {why}")
        assert self.compared, "nothing was compared"


def kinds(value):
    """Returns the value of an attribute with its type, as the lists of files spell it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": str(value)}
    if isinstance(value, float):
        return {"float": "nan" if value != value else struct.pack(">d", value).hex()}
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, list):
        return {"array": [kinds(item) for item in value]}
    if isinstance(value, dict):
        return {"map": [[kinds(key), kinds(item)] for key, item in value.items()]}
    raise TypeError(type(value))


def unordered(value):
    """Returns `value` with the entries of its maps sorted, at all levels."""
    if isinstance(value, list):
        return [unordered(item) for item in value]
    if isinstance(value, dict):
        if "map" in value:
            entries = [unordered(entry) for entry in value["map"]]
            return {"map": sorted(entries, key=json.dumps)}
        return {key: unordered(item) for key, item in value.items()}
    return value


def run(*command):
    """Returns the exit status, the output and the errors of a command."""
    done = subprocess.run(command, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


class Zten:
    """The command `zten` at a path."""

    def __init__(self, path):
        self.path = path

    def call(self, *arguments):
        return run(self.path, *map(str, arguments))

    def json(self, *arguments):
        status, out, errors = self.call(*arguments)
        assert status == 0, (arguments, status, errors)
        return json.loads(out)

    def agrees(self, path, objects, *options):
        """Checks that `check`, `hash` and `ls` agree with ``objects`` about a file. Returns the number of
        components."""
        status, out, errors = self.call("check", path, *options)
        assert status == 0, (path, out, errors)
        hashed = {
            entry["name"]: {
                part["role"]: (part["bytes"], part["sha256"]) for part in entry["components"]
            }
            for entry in self.json("hash", "--json", path, *options)["objects"]
        }
        wanted = {
            entry["name"]: {
                part["role"]: (part["bytes"], part["sha256"]) for part in entry["components"]
            }
            for entry in objects
        }
        assert hashed == wanted, (path, hashed, wanted)
        listed = self.json("ls", "--json", path, *options)["objects"]
        listed = {entry["name"]: entry for entry in listed}
        for entry in objects:
            found = listed[entry["name"]]
            assert found["shape"] == entry["shape"], (path, found, entry)
            assert found["layout"] == entry["format"], (path, found, entry)
            types = {
                part["role"]: (part["storage"], part["dtype"]) for part in found["components"]
            }
            for part in entry["components"]:
                wanted = (part["dtype"], part["type"] or part["dtype"])
                assert types[part["role"]] == wanted, (path, found, entry)
            if "attributes" in entry:
                assert found["attributes"] == entry["attributes"], (path, found, entry)
        return sum(len(entry["components"]) for entry in objects)


def exact(value):
    """Returns the value of an attribute as `ls --json` writes it (docs/json.md)."""
    if isinstance(value, dict):
        if any(key.startswith("$") for key in value):
            return {"$map": [exact(side) for item in value.items() for side in item]}
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            return {"$nan": struct.pack(">d", value).hex()}
        return {"$float": "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, int) and abs(value) >= 1 << 53:
        return {"$int": str(value)}
    return value


def entry(name, shape, format, parts, **more):
    """Returns an object for `Zten.agrees`. Parts are tuples of role, dtype, type and bytes."""
    components = [
        {"role": role, "dtype": dtype, "type": type, "bytes": len(data), "sha256": sha256(data)}
        for role, dtype, type, data in parts
    ]
    return {"name": name, "shape": list(shape), "format": format, "components": components, **more}
