"""Generation 2 and its Python package, both ways: arrays that the package writes, `zten` validates
and converts; arrays that `zten convert` writes, the package reads and verifies. Files with shards, which
`interop shards` has written, both read.

second.py FOLDER ZTEN COUNT SEED SHARDS
"""

import pathlib
import sys
import unicodedata

import ml_dtypes
import numpy as np
import ztensor
import ztensor.numpy

import arrays
from common import Tally, Zten

# The package reads bf16 as bytes, not as an array.
DTYPES = [dtype for dtype in arrays.DTYPES if dtype != ml_dtypes.bfloat16]
# The package writes only names in normal form C. Members of archives have no backslash.
NAMES = [unicodedata.normalize("NFC", name) for name in arrays.NAMES if "\\" not in name]


def same(found, wanted, path):
    assert set(found) == set(wanted), path
    for name, array in wanted.items():
        other = found[name]
        assert other.dtype == array.dtype and other.shape == array.shape, (path, name)
        assert other.tobytes() == array.tobytes(), (path, name)


def one(rng, zten, folder, tally):
    def named():
        return {
            NAMES[rng.integers(len(NAMES))].format(n): np.ascontiguousarray(
                arrays.array(rng, DTYPES[rng.integers(len(DTYPES))])
            )
            for n in range(rng.integers(0, 12))
        }

    def call(*arguments):
        status, _, errors = zten.call(*arguments)
        assert status == 0, (arguments, errors)

    theirs, wanted = folder / "theirs.zt", named()
    ztensor.numpy.save_file(wanted, theirs, compression=bool(rng.integers(2)))
    call("check", theirs)
    call("convert", "--force", theirs, folder / "theirs.npz")
    with np.load(folder / "theirs.npz") as found:
        same(found, wanted, theirs)
    tally.compared["files of the package"] += 1

    wanted = named()
    np.savez(folder / "ours.npz", **wanted)
    for options in ([], ["--zstd"], ["--canonical"], ["--digest", "sha256"]):
        ours = folder / "ours.zt"
        call("convert", "--force", "--to", "2", *options, folder / "ours.npz", ours)
        ztensor.verify(str(ours))
        same(ztensor.numpy.load_file(ours), wanted, (ours, options))
        tally.compared["files of zten"] += 1
    tally.compared["arrays"] += len(wanted)


def sharded(root, zten, folder, tally):
    """Compares the content of shards element by element: as `zten convert` copies it, and as the package reads it. Then damages a
    shard, which the package must reject."""
    one = folder / "one.npz"
    for arguments in (["check", root], ["convert", "--force", root, one]):
        status, _, errors = zten.call(*arguments)
        assert status == 0, (arguments, errors)
    ztensor.verify(str(root), deep=True)
    with np.load(one) as arrays_of_zten:
        same(ztensor.numpy.load_file(root), arrays_of_zten, root)
        tally.compared["arrays"] += len(arrays_of_zten)
    shards = list(root.parent.glob(f"{root.stem}-*.zt"))
    assert shards, root
    # The package must detect damage in a shard, which shows that it reads the shards.
    content = bytearray(shards[0].read_bytes())
    content[-100 % len(content)] ^= 1
    shards[0].write_bytes(content)
    tally.rejects("a damaged shard", lambda: ztensor.verify(str(root), deep=True))
    tally.compared["files of zten with shards"] += 1
    tally.compared["shards"] += len(shards)


def main(folder, zten, count, seed, shards):
    tally = Tally("the package 2.1.2")
    folder = pathlib.Path(folder)
    for root in sorted(pathlib.Path(shards).glob("*.zt")):
        if "-" not in root.stem:
            sharded(root, Zten(zten), folder, tally)
    for number in range(int(count)):
        rng = np.random.default_rng([int(seed), number])
        try:
            one(rng, Zten(zten), folder, tally)
        except BaseException:
            print(f"file {number}, seed {seed}")
            raise
    tally.report()


main(*sys.argv[1:])
