"""Compares zten with PyTorch on files that PyTorch writes: they read equal, and have the verdict that they should.

    python lab/python/torch_checkpoints.py ZTEN

`torch_forms.py` has the forms that PyTorch does not write today, and `torch_mutants.py` damages all of these files.
"""

import argparse
import collections
import datetime
import decimal
import fractions
import json
import pathlib
import pickle
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
# More types of PyTorch, whose files are only checked to be valid and not compared with what
# safetensors reads.
OTHERS = "complex128 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu".split()


def elements(name: str) -> torch.Tensor:
    dtype = getattr(torch, name)
    width = torch.empty((), dtype=dtype).element_size()
    most = 2 if dtype == torch.bool else 256
    return torch.randint(0, most, (6 * width,), dtype=torch.uint8).view(dtype).view(2, 3)


def noted() -> torch.nn.Parameter:
    """Returns a parameter with an attribute of its own."""
    parameter = torch.nn.Parameter(torch.arange(3.0))
    parameter.tag = "x"
    return parameter


def unread() -> dict[str, object]:
    """Returns values with tensors that are not read: the files are unsupported, and never valid or invalid."""
    base = torch.arange(6.0).view(2, 3)
    return {
        "columns": base.to_sparse_csc(),
        "quantized": torch.quantize_per_tensor(base, 0.5, 0, torch.qint8),
        "negated": torch._neg_view(torch.arange(3)),  # noqa: SLF001
        "meta": base.to("meta"),
        "float4": torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2),
    }


class Attributes:
    """A class that zten does not know."""


def values() -> dict[str, object]:
    """Returns tensors together with values of classes that zten knows: the files are valid, perhaps with notes."""
    base = torch.arange(6.0).view(2, 3)
    zone = datetime.timezone(datetime.timedelta(hours=1), "x")
    return {
        "sparse": {"a": base.to_sparse(), "b": base, "c": base.to_sparse_csr()},
        "views": {"a": torch.conj(base.to(torch.complex64)), "b": torch._neg_view(base)},  # noqa: SLF001
        "set": {"a": {base}, "b": base},
        "numpy": {"a": base, "f8": np.float64(0.5), "i4": np.int32(-7), "bool": np.bool_(True), "text": np.str_("ä")},
        "arrays": {
            "a": base,
            "f4": np.arange(6, dtype="f4").reshape(2, 3),
            "f": np.asfortranarray(np.eye(3)),
            "u": np.array(["a"]),
        },
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
    invalid, and a pickle by itself is unsupported, if it is harmless. A file with the types ``OTHERS``, also with deflated members,
    is valid."""
    path, count = folder / "other.pt", 0
    wanted = {"unsupported": unread(), "valid": values(), "invalid": {"class": {"a": Attributes()}}}
    for protocol in range(2, 6):
        for expected, named in wanted.items():
            for name, value in named.items():
                for is_zip in (True, False):
                    # Some of the unsupported tensors cannot be written to a stream, so these tensors are only written
                    # to archives.
                    if not is_zip and expected == "unsupported":
                        continue
                    torch.save(value, path, pickle_protocol=protocol, _use_new_zipfile_serialization=is_zip)
                    found, report = verdict(zten, path)
                    assert found == expected, (name, protocol, is_zip, report)
                    count += 1
    for protocol in range(6):
        for value in (
            {"a": [1, -2, 1 << 80, 0.5, "ä\n", b"x", None, True, (1, 2)]},
            [frozenset((1,)), {2}] if protocol >= 4 else [],
        ):
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
    """Returns values such as people save in checkpoints, by the names of their files."""
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


def compare(zten: str, folder: pathlib.Path) -> None:
    """Checks that zten reads files of PyTorch in `folder` bit by bit as they were written."""
    count = 0
    for name, value in written().items():
        for protocol, is_zip in [(protocol, is_zip) for protocol in range(1, 6) for is_zip in (True, False)]:
            if is_zip and protocol < 2:
                continue
            path, out = folder / f"{name}-{protocol}.pt", folder / "out.safetensors"
            torch.save(value, path, pickle_protocol=protocol, _use_new_zipfile_serialization=is_zip)
            subprocess.run([zten, "check", "-q", path], check=True)
            assert convert(zten, path, out), path
            compare_tensors(path, out, value)
            count += 1
    print(f"{count} files that PyTorch wrote read equal")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("zten")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compare(options.zten, folder)
        compare_others(options.zten, folder)


if __name__ == "__main__":
    main()
