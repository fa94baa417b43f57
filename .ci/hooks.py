"""Runs the hook for pre-commit and the action for GitHub on files of every kind, under each example of a policy, and compares
what they find with what is expected. ``.ci/hooks`` calls this program."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# `FILES` has for each file its source in `corpus`, and what is found without a policy and with each of these policies.
# `-` means nothing, and `=` the same as without a policy. The rule by which a file is rejected has no sign before it. A
# rule by which a file is not supported has a `?`, and a rule that is tolerated has a `~`.
POLICIES = (None, "registry", "lab-ci", "air-gapped")
F, D = "policy-format", "policy-digest"
FILES = {
    "digests.zt": ("accept/1.2.3/sha256.zt", "-", "=", "=", "policy-dtype"),
    "v2.zt": ("v2/accept/dense.zt", "-", D, "=", "="),
    "dense.zt": ("v2/shards/dense.zt", "-", D, "=", "="),
    "dense-s.zt": ("v2/shards/dense-s.zt", "-", "=", "=", "="),
    "frames.zt": ("v2/accept/frames.zt", "-", D, "=", "policy-compression"),
    "two.safetensors": ("other/safetensors/accept/two.safetensors", "-", F, "=", "="),
    "a.safetensors": ("other/index/accept/a.safetensors", "-", F, "=", "="),
    "b.safetensors": ("other/index/accept/b.safetensors", "-", F, "=", "="),
    "two.safetensors.index.json": ("other/index/accept/two.index.json", "-", F, "=", "="),
    "blocks.gguf": ("other/gguf/accept/blocks.gguf", "-", F, "=", "="),
    "with space; $(touch x).npy": ("other/npy/accept/two.npy", "-", F, "=", F),
    "compressed.npz": ("other/npz/accept/compressed.npz", "-", F, "=", F),
    "module.pt": ("other/torch/accept/module.pt", "-", F, "=", F),
    "invalid.zt": ("reject/blob-alignment--v12-72.zt", "blob-alignment", "=", "=", "="),
    "element.zt": ("reject/bool-value--v12-2-first.zt", "bool-value", D, "=", "="),
    "invalid.safetensors": (
        "other/safetensors/reject/safetensors-extent--overflow.safetensors", "safetensors-extent", "=", "=", "="),
    "lost.safetensors.index.json": ("other/index/accept/of-one.index.json", "index-file", "=", "=", "="),
    "invalid.gguf": ("other/gguf/reject/gguf-magic--letters.gguf", "gguf-magic", "=", "=", "="),
    "invalid.npy": ("other/npy/reject/tensor-bool-value--2.npy", "tensor-bool-value", F, "~tensor-bool-value", F),
    "invalid.npz": ("other/npz/reject/zip-crc--bool.npz", "zip-crc", F, "=", F),
    "later.zt": ("accept/unsupported-dtype--v01-unknown.zt", "?unsupported-dtype", F, "=", "policy-dtype"),
    "model.pkl": ("other/named/reject/format-pickle--protocol-2.pkl", "?format-pickle", F, F, F),
    "invalid.pt": ("other/torch/reject/torch-global--os.pt", "torch-global", "=", "=", "="),
    "saved.pt": ("other/named/reject/format-torch--old.pth", "?format-torch", F, "=", F),
    "graph.onnx": ("other/named/reject/format-onnx--graph.onnx", "?format-onnx", F, "~format-onnx", F),
    "weights.h5": ("other/named/reject/format-hdf5--weights.h5", "?format-hdf5", F, "~format-hdf5", F),
}
# Maps each file that refers to other files to these files. If one of them is left out of a run, the file that refers to
# it is left out too.
PARTS = {"dense.zt": ["dense-s.zt"], "two.safetensors.index.json": ["a.safetensors", "b.safetensors"]}
LEVELS = {"?": "warning", "~": "note"}


def expected(name: str, number: int) -> str:
    columns = FILES[name][1:]
    return columns[0] if columns[number] == "=" else columns[number]


def status(cells: list[str]) -> int:
    if any(cell[0] not in "-?~" for cell in cells):
        return 1
    return 3 if any(cell[0] == "?" for cell in cells) else 0


def run(command: list[str], folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **more}, capture_output=True, text=True, check=False
    )


def action(folder: Path, policy: str) -> tuple[int, dict[str, str]]:
    """Runs the script of the action on ``folder`` as a runner of GitHub does: the inputs are environment variables that
    `action.yml` names. Returns the exit status, and for each file of the report its mark and rule, as ``FILES`` has them."""
    text = (ROOT / "action.yml").read_text()
    [script] = re.findall(r"run: '\"\$GITHUB_ACTION_PATH(/.*)\"'", text)
    inputs = dict(re.findall(r"(ZTEN_\w+): \$\{\{ inputs\.(\w+) \}\}", text))
    given = {"paths": ".", "options": "", "policy": policy, "sarif": str(folder.parent / "zten.sarif")}
    assert set(inputs.values()) == set(given), inputs
    ended = run([str(ROOT) + script], folder, **{key: given[name] for key, name in inputs.items()})
    [document] = json.loads((folder.parent / "zten.sarif").read_text())["runs"]
    found = {}
    for result in document["results"]:
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        name = re.sub("%(..)", lambda byte: chr(int(byte[1], 16)), uri.removeprefix("./"))
        mark = {level: mark for mark, level in LEVELS.items()}.get(result["level"], "")
        found[name] = mark + result["ruleId"]
        assert result["properties"]["advice"], result
    return ended.returncode, found


def hook(folder: Path, policy: str) -> tuple[int, dict[str, str]]:
    """Runs the hook on ``folder`` by pre-commit, from a repository that contains only the declaration of the hook. Returns the
    exit status of the hook, and for each file that it reports its mark and rule, as ``FILES`` has them, but without the mark ``?``,
    which the output of the hook does not show."""
    source = folder.parent / "hooks-repository"
    if not source.exists():
        source.mkdir()
        shutil.copy(ROOT / ".pre-commit-hooks.yaml", source)
        commit(source)
    revision = run(["git", "rev-parse", "HEAD"], source).stdout.strip()
    args = ["--policy", policy] if policy else []
    own = {"id": "zten-check", "args": args, "verbose": True}
    config = folder.parent / "config.yaml"
    config.write_text(json.dumps({"repos": [{"repo": str(source), "rev": revision, "hooks": [own]}]}))
    commit(folder)
    ended = run(
        ["pre-commit", "run", "--all-files", "--color", "never", "--config", str(config)],
        folder, PRE_COMMIT_HOME=str(folder.parent / "cache"),
    )
    said = ended.stdout
    code = re.search("^- exit code: ([0-9]+)$", said, re.M)
    assert (ended.returncode != 0) == (code is not None), said + ended.stderr
    found = {}
    for block in re.split(r"\n(?! )", said):
        line = re.match(r'"?(.+?)"?: .*\(rule ([a-z0-9-]+), ', block)
        if line:
            mark = "~" if "\n  tolerated by the policy" in block else ""
            found[line[1]] = mark + line[2]
    return int(code[1]) if code else 0, found


def commit(folder: Path) -> None:
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]):
        ended = run(["git", *command], folder)
        assert ended.returncode == 0, ended.stderr


def main(work: Path) -> None:
    ran = 0
    for number, policy in enumerate(POLICIES):
        path = str(ROOT / f"docs/policies/{policy}.toml") if policy else ""
        # Each policy is tried three times: on all files, on all but the rejected files, and on all but the rejected and the
        # unsupported files, so that each exit status occurs.
        for unwanted in ("", "a", "a?"):
            cells = {name: expected(name, number) for name in FILES}
            if unwanted:
                cells = {name: cell for name, cell in cells.items()
                         if cell[0] in "-~" or cell[0] == "?" and "?" not in unwanted}
                cells = {name: cell for name, cell in cells.items() if set(PARTS.get(name, [])) <= set(cells)}
            folder = work / f"{policy}{len(unwanted)}" / "files"
            folder.mkdir(parents=True)
            for name in cells:
                shutil.copy(ROOT / "corpus" / FILES[name][0], folder / name)
            wanted = {name: cell for name, cell in cells.items() if cell != "-"}
            code = status(list(cells.values()))
            assert action(folder, path) == (code, wanted), (policy, unwanted, action(folder, path), code, wanted)
            plain = {name: cell.lstrip("?") for name, cell in wanted.items()}
            assert hook(folder, path) == (code, plain), (policy, unwanted, hook(folder, path), code, plain)
            assert not (folder / "x").exists()
            ran += 1
    print(f"{ran} folders of up to {len(FILES)} files: the hook and the action find what is expected")


main(Path(sys.argv[1]))
