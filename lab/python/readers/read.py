"""Reads one file with a Python package within limits, and prints the outcome: `read.py worker READER FILE`.

The lines are those of `zten_lab::readers::subject`: the result of opening, the first error of reading, and a sum for
each tensor, or `-` for a program that scans a file without reading tensors. An exception is an error that a caller
can handle, unless memory ran out.
"""

import contextlib
import hashlib
import importlib
import math
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

# The same limits as in `zten_lab::readers::subject`: address space, seconds of processor time, and how a process ends.
# The limits count from the import of the package on, because torch takes 3 GiB of address space and some seconds before
# it reads anything.
ADDRESSES, SECONDS = 4 << 30, 10
PANICKED, OUT_OF_MEMORY = 101, 99
# The size of the largest tensor that is copied out of PyTorch, in bytes.
COPIED = 1 << 30

Tensors = Iterator[tuple[str, bytes]]


def safetensors(path: Path) -> Tensors:
    from safetensors import deserialize

    for name, tensor in deserialize(path.read_bytes()):
        yield name, bytes(tensor["data"])


def gguf(path: Path) -> Tensors:
    from gguf import GGUFReader

    for tensor in GGUFReader(path).tensors:
        yield tensor.name, tensor.data.tobytes()


def numpy(path: Path) -> Tensors:
    import numpy as np

    def content(array: np.ndarray) -> bytes:
        return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()

    opened = np.load(path, allow_pickle=False)
    if path.suffix == ".npy":
        yield path.stem, content(opened)
        return
    for name in opened.files:
        yield name, content(opened[name])


def torch(path: Path) -> Tensors:
    import torch

    def tensors(value: object, keys: tuple[str, ...], parents: tuple[int, ...] = ()) -> Tensors:
        # A container may contain itself. It is not visited again within itself.
        if id(value) in parents:
            return
        if isinstance(value, torch.Tensor):
            # Strides can repeat a few bytes so that a tensor seems to have gigabytes. Only our own copy would take that
            # memory, so a tensor larger than `COPIED` is not copied.
            flat = value.detach()[:0] if value.nbytes > COPIED else value.detach()
            flat = flat.clone(memory_format=torch.contiguous_format).reshape(-1)
            yield ".".join(keys) or "data", flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        items = enumerate(value) if isinstance(value, (list, tuple)) else ()
        for key, item in value.items() if isinstance(value, dict) else items:
            yield from tensors(item, (*keys, str(key)), (*parents, id(value)))

    yield from tensors(torch.load(path, map_location="cpu", weights_only=True), ())


class Unsafe(Exception):
    """A scanner reports that a file is not safe."""


def fickling(path: Path) -> None:
    from fickling import scan_zip_archive

    for member, result in scan_zip_archive(str(path)).items():
        if not result:
            raise Unsafe(f"{member}: {result.severity.name}")


def picklescan(path: Path) -> None:
    from picklescan.scanner import scan_file_path

    found = scan_file_path(str(path))
    if found.issues_count or found.suspicious_count or found.scan_err:
        raise Unsafe(f"{found.issues_count} issues")


def modelscan(path: Path) -> None:
    from modelscan.modelscan import ModelScan

    found = ModelScan().scan(path)
    # A file of which nothing is scanned counts as rejected, because the command `modelscan` has an exit status of its
    # own for it.
    if found["issues"] or found["errors"] or not found["summary"]["scanned"]["total_scanned"]:
        raise Unsafe(f"{len(found['issues'])} issues")


# The modules and functions of readers of tensors, and of scanners, which return nothing.
READERS: dict[str, tuple[str, Callable[[Path], Tensors | None]]] = {
    "safetensors-python": ("safetensors", safetensors),
    "gguf": ("gguf", gguf),
    "numpy": ("numpy", numpy),
    "torch": ("torch", torch),
    "fickling": ("fickling", fickling),
    "picklescan": ("picklescan.scanner", picklescan),
    "modelscan": ("modelscan.modelscan", modelscan),
}


def line(error: BaseException) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return "".join(c if c.isprintable() else "?" for c in text)


def set_limits() -> None:
    """Sets the limits of this process, in addition to what it uses already."""
    pages, *_ = Path("/proc/self/statm").read_text().split()
    for limit, value in (
        (resource.RLIMIT_AS, int(pages) * resource.getpagesize() + ADDRESSES),
        (resource.RLIMIT_CPU, math.ceil(time.process_time()) + SECONDS),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))


def main(reader: str, path: Path) -> None:
    module, call = READERS[reader]
    importlib.import_module(module)
    set_limits()
    contents, rejected, is_scanned = {}, None, False
    try:
        # Packages print warnings, among which the lines of the report would be lost.
        with contextlib.redirect_stdout(sys.stderr):
            read = call(path)
            is_scanned = read is None
            for name, content in read or ():
                contents[name.encode("utf-8", "surrogateescape")] = hashlib.sha256(content).digest()
    except MemoryError as error:
        print(line(error), file=sys.stderr)
        os._exit(OUT_OF_MEMORY)
    except Exception as error:
        rejected = line(error)
    except BaseException as error:
        # A panic of Rust is a `BaseException`, which callers do not catch with `except Exception`, so it counts as a
        # crash.
        print(f"panicked\t\t{line(error)}", file=sys.stderr)
        os._exit(PANICKED)
    if rejected is not None:
        print(f"opened\t{rejected}" if not contents else f"opened\tyes\nrejected\t{rejected}")
    else:
        print("opened\tyes")
    sums = []
    for name, content in sorted(contents.items()):
        parts = [len(part).to_bytes(8, "little") + part for part in (name, b"data")]
        sums.append(hashlib.sha256(b"".join([*parts, content])).hexdigest())
    print(f"content\t{'-' if is_scanned else ' '.join(sums)}")


if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    _, _, reader, file, *_ = sys.argv
    main(reader, Path(file))
