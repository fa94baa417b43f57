"""Measures patches between checkpoints of a small model that is trained here, beside other forms of the same changes.

    python lab/python/patch_pairs.py [--steps 200] [--write lab/results/patch.md]

Needs zten, numpy, torch and the command zstd. A transformer of a few million parameters learns to continue the text of this
repository's pages with Adam for 200 steps: in f32, and in bf16 with weights that are kept in f32 and rounded, as trainers do. Pairs are
the checkpoints of the last step and one or ten steps before it. Each patch is applied, and the result compared. With `--write` the
section at the end of the file is replaced.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import zten.patch
import zten.torch

REPOSITORY = Path(__file__).resolve().parents[2]
TITLE = "## Pairs of a real training run"
WIDTH, LAYERS, HEADS, LENGTH, BATCH = 256, 4, 4, 32, 4


class Model(torch.nn.Module):
    """A model that predicts the next byte."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(256, WIDTH)
        self.places = torch.nn.Embedding(LENGTH, WIDTH)
        layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0.0, batch_first=True, norm_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = torch.nn.Linear(WIDTH, 256)

    def forward(self, tokens: torch.Tensor) -> Any:
        mask = torch.nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        hidden = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.head(self.layers(hidden, mask=mask, is_causal=True))


def train(steps: int, rate: float, keep: set[int]) -> dict[int, dict[str, torch.Tensor]]:
    """Trains for a number of steps, and returns the weights after those in `keep`."""
    torch.manual_seed(1)
    text = b"".join(path.read_bytes() for path in sorted((REPOSITORY / "docs").glob("*.md")))
    data = torch.frombuffer(bytearray(text), dtype=torch.uint8).long()
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    kept = {}
    for step in range(1, steps + 1):
        starts = torch.randint(len(data) - LENGTH - 1, (BATCH,))
        batch = torch.stack([data[at : at + LENGTH + 1] for at in starts.tolist()])
        loss = torch.nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in keep:
            kept[step] = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
            print(f"rate {rate:g}, step {step}: loss {loss.item():.3f}", flush=True)
    return kept


def compressed(data: bytes) -> int:
    """Returns the length of `data` after `zstd -1`."""
    return len(subprocess.run(["zstd", "-1", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout)


def patched(old: Path, new: Path) -> int:
    """Returns the length of what `zstd -1 --patch-from` makes of two files."""
    command = ["zstd", "-1", "-q", "-c", "--long=30", f"--patch-from={old}", str(new)]
    return len(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def joined(tensors: dict[str, torch.Tensor]) -> Any:
    """Returns the bits of all elements as one array of numbers."""
    bits = {2: torch.int16, 4: torch.int32}
    flat = [tensor.contiguous().view(-1).view(bits[tensor.element_size()]) for tensor in tensors.values()]
    return torch.cat(flat).numpy().view({2: np.uint16, 4: np.uint32}[flat[0].element_size()])


def measure(folder: Path, old: dict[str, torch.Tensor], new: dict[str, torch.Tensor]) -> list[str]:
    """Returns the columns of one pair."""
    paths = {}
    for name, tensors in ("old", old), ("new", new):
        paths[name] = folder / f"{name}.safetensors"
        zten.torch.save_file(tensors, paths[name])
    sizes = {}
    for level in (2, 5):
        patch = folder / f"{level}.zt"
        zten.patch.make(old, new, patch, zstd=level)
        sizes[level] = patch.stat().st_size
        zten.patch.apply(paths["old"], patch, folder / "applied.safetensors")
        if (folder / "applied.safetensors").read_bytes() != paths["new"].read_bytes():
            raise AssertionError("the result is not the new file")
    copy = {name: tensor.clone() for name, tensor in old.items()}
    zten.patch.update(copy, folder / "2.zt")
    if any(not torch.equal(copy[name], tensor) for name, tensor in new.items()):
        raise AssertionError("the tensors are not the new ones")
    before, after = joined(old), joined(new)
    changed = np.flatnonzero(before != after)
    xor = compressed((before ^ after).tobytes())
    pairs = changed.astype(np.uint32).tobytes() + after[changed].tobytes()
    by_zstd = patched(paths["old"], paths["new"])
    whole = paths["new"].stat().st_size
    parts = [sizes[2], sizes[5], xor, len(pairs), compressed(pairs), by_zstd]
    texts = [f"{100 * part / whole:.2f} %" for part in parts]
    texts.insert(3, f"{sizes[2] / xor:.2f}")
    return [f"{100 * len(changed) / len(after):.2f} %", *texts]


def section(steps: int) -> str:
    pairs = [(steps - 1, steps), (steps - 10, steps)]
    rows = []
    parameters = 0
    for rate in (1e-3, 1e-5):
        kept = train(steps, rate, {step for pair in pairs for step in pair})
        parameters = sum(tensor.numel() for tensor in kept[steps].values())
        for dtype in (torch.bfloat16, torch.float32):
            for old, new in pairs:
                with tempfile.TemporaryDirectory() as folder:
                    models = [{name: own.to(dtype) for name, own in kept[step].items()} for step in (old, new)]
                    columns = measure(Path(folder), *models)
                rows.append([str(dtype).removeprefix("torch."), f"{rate:g}", f"{old} to {new}", *columns])
    head = [
        "dtype", "rate", "steps", "changed", "patch", "level 5", "XOR, zstd -1", "patch / XOR", "index and value",
        "the same, zstd -1", "zstd --patch-from",
    ]
    table = [head, ["---"] * len(head), *rows]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in table)
    return f"""{TITLE}

`lab/python/patch_pairs.py` trains a transformer of {parameters:,} parameters on the pages of this repository for {steps} steps with
Adam, whose weights are f32. A checkpoint in bf16 has these weights rounded, as trainers with mixed precision send them. Each patch is
made of tensors in memory, and applied to a file and in place. A learning *rate* of 0.001 is usual for training from the start, and 0.00001
for fine-tuning and reinforcement learning. Here both train from the start. Sizes are percentages of the new file.

{lines}

In f32 a step of Adam changes nearly every element, so no form of the changes is small. Rounded to bf16, most elements do not change in a
small step.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--write", type=Path, help="replace the section of this file, or append it")
    arguments = parser.parse_args()
    # Sums in one thread are the same in each run.
    torch.set_num_threads(1)
    text = section(arguments.steps)
    if arguments.write is None:
        print(text)
        return
    before = arguments.write.read_text().partition(TITLE)[0] if arguments.write.exists() else ""
    arguments.write.write_text(f"{before.rstrip()}\n\n{text}".lstrip())


if __name__ == "__main__":
    main()
