"""Compares `zten` with `torch.load(weights_only=True)`: files that PyTorch writes read equal, and none that it rejects is valid.

    python lab/python/torch_checkpoints.py ZTEN [--files 20000] [--seed 1]
"""

import argparse
import collections
import datetime
import decimal
import fractions
import io
import json
import os
import pathlib
import pickle
import random
import subprocess
import tempfile
import types
import uuid
import warnings
import zipfile

import numpy as np
import torch
from safetensors.torch import load_file

TYPES = """float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 uint16 uint32 uint64
float8_e4m3fn float8_e5m2""".split()
# Types that safetensors does not have.
OTHERS = "complex128 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu".split()


def elements(name: str) -> torch.Tensor:
    dtype = getattr(torch, name)
    width = torch.empty((), dtype=dtype).element_size()
    most = 2 if dtype == torch.bool else 256
    return torch.randint(0, most, (6 * width,), dtype=torch.uint8).view(dtype).view(2, 3)


def noted() -> torch.nn.Parameter:
    """A parameter with an attribute."""
    parameter = torch.nn.Parameter(torch.arange(3.0))
    parameter.tag = "x"
    return parameter


def unread() -> dict[str, object]:
    """Values with tensors that are not read: the files are unsupported, and never valid or invalid."""
    base = torch.arange(6.0).view(2, 3)
    return {
        "columns": base.to_sparse_csc(),
        "quantized": torch.quantize_per_tensor(base, 0.5, 0, torch.qint8),
        "conjugated": torch.conj(base.to(torch.complex64)),
        "meta": base.to("meta"),
        "float4": torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2),
    }


class Attributes:
    """A class that zten does not know."""


def values() -> dict[str, object]:
    """Tensors beside values of classes that zten knows: the files are valid, perhaps with notes."""
    base = torch.arange(6.0).view(2, 3)
    zone = datetime.timezone(datetime.timedelta(hours=1), "x")
    return {
        "sparse": {"a": base.to_sparse(), "b": base, "c": base.to_sparse_csr()},
        "set": {"a": {base}, "b": base},
        "numpy": {"a": base, "f8": np.float64(0.5), "i4": np.int32(-7), "bool": np.bool_(True), "text": np.str_("ä")},
        "arrays": {"a": base, "f4": np.arange(6, dtype="f4").reshape(2, 3), "f": np.asfortranarray(np.eye(3)), "u": np.array(["a"])},
        "objects": {"a": base, "o": np.array([1, "x", None], dtype=object), "dtype": np.dtype("f4"), "r": np.zeros(2, "i4,f8")},
        "containers": {
            "a": base,
            "default": collections.defaultdict(list, {"k": [1]}),
            "counter": collections.Counter("aab"),
            "deque": collections.deque([1, 2], 5),
            "ordered": collections.OrderedDict(k=1),
            "frozen": frozenset([1, 2]),
        },
        "plain": {
            "a": base,
            "values": [complex(1, 2), slice(1, None), range(3), bytearray(b"ab\xff"), b"\x00\xff", 1 << 80],
            "namespace": argparse.Namespace(x=1, t=base),
            "simple": types.SimpleNamespace(x=1),
            "path": pathlib.PurePosixPath("/a/b"),
            "dates": [datetime.date(2024, 1, 2), datetime.time(1, 2), datetime.datetime(2024, 1, 2, tzinfo=zone), zone],
            "numbers": [uuid.UUID(int=5), decimal.Decimal("1.5E+10"), fractions.Fraction(1, 3), datetime.timedelta(3)],
        },
        "keys": {1: base, None: base, 0.5: base, (1, "a"): base, True + 1: base, b"x": base},
    }


def verdict(zten: str, path: pathlib.Path) -> tuple[str, str]:
    done = subprocess.run([zten, "check", "--json", path], capture_output=True, text=True, check=False)
    report = json.loads(done.stdout.splitlines()[0])
    return report["verdict"], done.stdout


def compare_others(zten: str, folder: pathlib.Path) -> None:
    """Checks verdicts: tensors that are not read make a file unsupported, other values leave it valid, an unknown class makes it
    invalid, and a pickle by itself is unsupported, if it is harmless."""
    path, count = folder / "other.pt", 0
    wanted = {"unsupported": unread(), "valid": values(), "invalid": {"class": {"a": Attributes()}}}
    for protocol in range(2, 6):
        for expected, named in wanted.items():
            for name, value in named.items():
                for is_zip in (True, False):
                    # Streams cannot hold tensors of some kinds.
                    if not is_zip and expected == "unsupported":
                        continue
                    torch.save(value, path, pickle_protocol=protocol, _use_new_zipfile_serialization=is_zip)
                    found, report = verdict(zten, path)
                    assert found == expected, (name, protocol, is_zip, report)
                    count += 1
    for protocol in range(6):
        for value in ({"a": [1, -2, 1 << 80, 0.5, "ä\n", b"x", None, True, (1, 2)]}, [frozenset((1,)), {2}] if protocol >= 4 else []):
            path.with_suffix(".pkl").write_bytes(pickle.dumps(value, protocol))
            found, report = verdict(zten, path.with_suffix(".pkl"))
            assert found == "unsupported", (value, protocol, report)
            count += 1
    torch.save({name: elements(name) for name in OTHERS}, path)
    subprocess.run([zten, "check", "-q", path], check=True)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(folder / "deflated.pt", "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name), old.read(name), zipfile.ZIP_DEFLATED)
    subprocess.run([zten, "check", "-q", folder / "deflated.pt"], check=True)
    print(f"{count} other files have the verdict that they should")


def written() -> dict[str, object]:
    """Values as people save them."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    states = {}
    for kind in (torch.optim.AdamW, torch.optim.Adam, torch.optim.RMSprop):
        optimizer = kind(model.parameters())
        model(torch.randn(5, 3)).sum().backward()
        optimizer.step()
        states[kind.__name__] = optimizer.state_dict()
    base = torch.arange(24.0).view(4, 6)
    return {
        "types": {name: elements(name) for name in TYPES},
        "state": model.state_dict(),
        "training": {"model": model.state_dict(), "optimizers": states, "epoch": 7, "loss": 0.25, "none": None, "flag": True},
        "views": {"base": base, "row": base[1], "t": base.t(), "part": base.view(-1)[5:9], "tied": base, "scalar": base[0, 0]},
        "parts": {"row": base[1], "column": base[:, 2]},
        "strides": {
            "column": base[:, 1],
            "every-other": base[::2, 1::2],
            "expanded": base[:1].expand(5, 6),
            "repeated": torch.tensor(1.5).expand(7),
            "windows": base.view(-1).unfold(0, 4, 2),
            "permuted": base.view(2, 3, 4).permute(1, 2, 0),
            "channels": torch.arange(48.0).view(2, 2, 3, 4).to(memory_format=torch.channels_last),
            "flags": (base > 7)[:, ::2],
            "strided-f8": elements("float8_e5m2")[:, ::2],
            "strided-complex": elements("complex64")[:, ::2],
        },
        "parameters": {"weight": model[0].weight, "list": list(model.parameters()), "noted": noted()},
        "devices": {"cpu": torch.device("cpu"), "cuda": torch.device("cuda", 1), "x": base},
        "empty": {"none": torch.zeros(0, 3)},
        "many": {f"layer.{at}.weight": torch.full((3,), float(at)) for at in range(3000)},
    }


def tensors(value: object, keys: tuple[str, ...] = ()) -> dict[str, torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return {".".join(keys): value.detach()}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    found = {}
    for key, item in items:
        found |= tensors(item, (*keys, str(key)))
    return found


def raw(tensor: torch.Tensor) -> bytes:
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def convert(zten: str, path: pathlib.Path, out: pathlib.Path) -> bool:
    """Converts the checkpoint `path` to the safetensors file `out`, and returns whether that succeeded. It fails if safetensors
    does not have a dtype of the checkpoint."""
    command = [zten, "convert", "--force", "--drop-attributes", "--tied", "copy", path, out]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def compare_tensors(path: pathlib.Path, out: pathlib.Path, value: object) -> None:
    """Checks that `out`, to which the checkpoint `path` was converted, has the tensors of `value`, bit by bit."""
    found, wanted = load_file(out), tensors(value)
    assert found.keys() == wanted.keys(), (path, found.keys() ^ wanted.keys())
    for key, tensor in wanted.items():
        other = found[key]
        assert (other.shape, other.dtype) == (tensor.shape, tensor.dtype), (path, key)
        assert raw(other) == raw(tensor), (path, key)


def compare(zten: str, folder: pathlib.Path) -> list[bytes]:
    """Checks that zten reads files of PyTorch in `folder` bit by bit as they were written, and returns the small ones."""
    files = []
    for name, value in written().items():
        for protocol, is_zip in [(protocol, is_zip) for protocol in range(1, 6) for is_zip in (True, False)]:
            if is_zip and protocol < 2:
                continue
            path, out = folder / f"{name}-{protocol}.pt", folder / "out.safetensors"
            torch.save(value, path, pickle_protocol=protocol, _use_new_zipfile_serialization=is_zip)
            files.append(path.read_bytes())
            subprocess.run([zten, "check", "-q", path], check=True)
            assert convert(zten, path, out), path
            compare_tensors(path, out, value)
    print(f"{len(files)} files that PyTorch wrote read equal")
    for value in values().values():
        for is_zip in (True, False):
            held = io.BytesIO()
            torch.save(value, held, _use_new_zipfile_serialization=is_zip)
            files.append(held.getvalue())
    return [file for file in files if len(file) < 20_000]


def change(content: bytearray, most: int, chance: random.Random) -> None:
    """Changes one or two places in the first `most` bytes of `content`."""
    for _ in range(chance.randint(1, 2)):
        at = chance.randrange(min(most, len(content)))
        kind = chance.randrange(4)
        if kind == 0:
            content[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            content[at] = chance.choice(b"()Rtbcsuqh0.2Q}]NK\x81\x85\x86\x87\x88\x89\x93\x94")
        elif kind == 2:
            del content[at : at + chance.randint(1, 4)]
        else:
            start = chance.randrange(len(content))
            content[at:at] = content[start : start + chance.randint(1, 12)]


def damage(file: bytes, chance: random.Random) -> bytes:
    """Changes some bytes of the pickle in `file`. An archive is written again, with correct checksums."""
    if not file.startswith(b"PK"):
        content = bytearray(file)
        change(content, len(content), chance)
        return bytes(content)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(file)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = bytearray(old.read(name))
            if name.endswith("data.pkl"):
                change(content, len(content), chance)
            new.writestr(zipfile.ZipInfo(name), bytes(content))
    return out.getvalue()


def keep(path: pathlib.Path, what: str) -> SystemExit:
    """Moves the file `path` to the current folder, and returns the exception that ends the program with the fault `what`."""
    return SystemExit(f"{what}: {path.rename(f'{os.getcwd()}/wrong.pt')}")


def check_valid(zten: str, path: pathlib.Path) -> bool:
    """Checks that PyTorch loads the file `path`, which zten calls valid, with the same tensors as zten. Returns whether tensors
    were compared: a file that cannot be converted to safetensors is only loaded."""
    try:
        value = torch.load(path, weights_only=True, map_location="cpu")
    except Exception as error:  # noqa: BLE001: any is a rejection
        raise keep(path, "PyTorch rejects what is valid") from error
    out = path.with_suffix(".safetensors")
    if not convert(zten, path, out):
        return False
    try:
        compare_tensors(path, out, value)
    except AssertionError as error:
        raise keep(path, "PyTorch reads something else") from error
    out.unlink()
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("zten")
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    chance, compared, noted = random.Random(options.seed), 0, 0
    counts = {"valid": 0, "invalid": 0, "unsupported": 0, "limit": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = compare(options.zten, folder)
        compare_others(options.zten, folder)
        # PyTorch's safe unpickler rejects most opcodes of later protocols, so damaged files of protocol 2 test more.
        files = [file for file in files if b"\x80\x02" in file]
        for first in range(0, options.files, 500):
            paths = [folder / f"{at}.pt" for at in range(first, min(first + 500, options.files))]
            for path in paths:
                path.write_bytes(damage(chance.choice(files), chance))
            done = subprocess.run([options.zten, "check", "--json", *paths], capture_output=True, text=True, check=False)
            for line in done.stdout.splitlines():
                report = json.loads(line)
                counts[report["verdict"]] += 1
                # A tensor may be the value of a key without a spelling, and then the note says that it is left out.
                rules = ("torch-weights-only", "torch-left-out")
                is_noted = any(note["rule"] in rules for note in report["notes"])
                noted += is_noted
                if report["verdict"] == "valid" and not is_noted:
                    compared += check_valid(options.zten, pathlib.Path(report["file"]))
            for path in paths:
                path.unlink(missing_ok=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()), f"of which {compared} have equal tensors", f"{noted} have the note", sep=", ")
    assert counts["valid"] > options.files // 100, "too few are valid to say something"


main()
