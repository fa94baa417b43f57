"""A strict reader of zTensor, safetensors, GGUF, NumPy and PyTorch files from untrusted sources, and a writer of zTensor
(``.zt``), safetensors and NumPy files.

    import zten

    with zten.open("model.zt") as file:        # a mapping: names to tensors
        tensor = file["layers.0.weight"]       # nothing is read yet
        tensor.shape, tensor.dtype, tensor.format, tensor.attributes
        tensor.numpy()                         # read, decoded, verified
        tensor[0:10].numpy()                   # these rows, and no other byte
        tensor.torch()                         # a torch.Tensor

    file["adjacency"].scipy()                  # sparse: csr_array, coo_array
    file["q_proj"].dequantize()                # quantized, blocks of GGUF too: float32, when it is used
    file["q_proj"][0:10].dequantize()          # these rows, and no other block
    zten.open(path, conventions=False)         # codes and scales of a quantized model as tensors of their own

    zten.numpy.load_file("model.zt")           # all tensors; zten.torch has the same function
    zten.numpy.save_file({"w": array}, "new.zt")

    zten.check("model.zt")                     # a Report, true if the file is valid
    zten.check("upload.pt", sandbox=True)      # the same Report, from a confined process
    zten.check_batch(paths)                    # columns; a bad file does not raise
    zten.stat("model.zt")                      # the range, mean and spread of each tensor
    zten.diff("old.zt", "new.gguf").equal      # what differs, in whatever formats
    zten.hash("model.zt").text                 # a list of digests, as zten.open(digests=...) takes it
    zten.explain(error.rule)                   # what the rule requires, and what to do
    zten.convert("model.gguf", "new.zt")       # any format to zTensor, safetensors or NumPy files
    zten.patch.make("old.zt", tensors, "p.zt") # what changed; zten.patch.apply gives the new file

Every function that takes a file reads zTensor files of the generations 0.1, 1.1, 1.2 and 2, safetensors, also in several
files with an index, GGUF, ``.npy``, ``.npz`` and checkpoints of PyTorch, whose pickles are parsed without executing them.
zTensor files are written as 1.2, or as 2 with ``generation="2"``.

A file that breaks a rule raises :class:`Invalid`, with the rule, the object and the offset. A file that zten does not
interpret, but that may be valid, raises :class:`Unsupported`. A file that needs more than a limit allows raises
:class:`LimitExceeded`.

The library ``zten``, which is written in Rust without ``unsafe``, validates all files. The verdict on a file is the verdict of
the command ``zten check``, which ``pip install zten[cli]`` installs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import numpy, patch
from ._check import Columns, Note, Report, Rule, check, check_batch, explain
from ._component import Component
from ._dequantize import Dequantized
from ._diff import AttributeChange, ComponentChange, ElementChanges, FileChanges, TensorChange, diff
from ._errors import Error, Invalid, LimitExceeded, MissingTensor, SandboxError, Unsupported
from ._file import Digests, File, Limits, open
from ._paths import Source
from ._report import (
    ComponentDigest,
    FileDigests,
    FileStatistics,
    Statistics,
    Summary,
    TensorStatistics,
    TypeStatistics,
    TypeTotals,
    stat,
)
from ._report import hash_file as hash
from ._safe_open import safe_open
from ._tensor import Slice, Tensor
from ._values import Entries, Simple, Tag
from ._write import Writer, append, convert, create

if TYPE_CHECKING:
    from . import torch

__all__ = [
    "AttributeChange",
    "Columns",
    "Component",
    "ComponentChange",
    "ComponentDigest",
    "Dequantized",
    "Digests",
    "ElementChanges",
    "Entries",
    "Error",
    "File",
    "FileChanges",
    "FileDigests",
    "FileStatistics",
    "LimitExceeded",
    "Limits",
    "Invalid",
    "MissingTensor",
    "Note",
    "Report",
    "Rule",
    "SandboxError",
    "Simple",
    "Slice",
    "Source",
    "Statistics",
    "Summary",
    "Tag",
    "Tensor",
    "TensorChange",
    "TensorStatistics",
    "TypeStatistics",
    "TypeTotals",
    "Unsupported",
    "Writer",
    "append",
    "check",
    "check_batch",
    "convert",
    "create",
    "diff",
    "explain",
    "hash",
    "numpy",
    "open",
    "patch",
    "safe_open",
    "stat",
    "torch",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    # Importing PyTorch takes seconds, so it happens only when `zten.torch` is used.
    if name == "torch":
        import importlib

        return importlib.import_module("zten.torch")
    raise AttributeError(f"module 'zten' has no attribute {name!r}")
