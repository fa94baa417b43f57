"""Helpers of the scripts about `zten convert`: all kinds of conversion, and the expected rejections."""

import pathlib

from common import Tally, Zten

WAYS = [
    [],
    ["--zstd"],
    ["--zstd=5"],
    ["--digest", "crc32c"],
    ["--digest", "none"],
    ["--digest", "sha256", "--zstd"],
    ["--canonical"],
]


class Conversion:
    def __init__(self, title, zten, folder):
        self.zten = Zten(zten)
        self.folder = pathlib.Path(folder)
        self.tally = Tally(title)
        self.output = self.folder / "converted.zt"

    def accepts(self, path, wanted, attributes=None):
        """Checks that a file converts to the wanted objects, in every way."""
        for way in WAYS:
            self.output.unlink(missing_ok=True)
            status, _, errors = self.zten.call("convert", path, self.output, *way)
            assert status == 0, (path, way, errors)
            self.tally.compared["components"] += self.zten.agrees(self.output, wanted)
            self.as_asked(way, attributes)
            self.tally.compared["conversions"] += 1
        self.tally.compared["files"] += 1

    def as_asked(self, way, attributes):
        listed = self.zten.json("ls", "--json", self.output)
        assert listed["version"] == "1.2.0"
        if attributes is not None:
            assert listed["attributes"] == attributes, (listed["attributes"], attributes)
        prefix = {"crc32c": "crc32c:0x", "none": None}.get(
            way[1] if way[:1] == ["--digest"] else "", "sha256:"
        )
        compressed = any(option.startswith("--zstd") for option in way)
        for part in (part for entry in listed["objects"] for part in entry["components"]):
            digest = (part["digest"] or {}).get("text")
            assert (digest is None) if prefix is None else digest.startswith(prefix), (way, part)
            packed = compressed and part["decoded_length"] > 0
            assert part["encoding"] == ("zstd" if packed else "raw"), (way, part)
        if way == ["--canonical"]:
            status, _, errors = self.zten.call("check", "--canonical", self.output)
            assert status == 0, errors

    def rejects(self, path, name, why):
        """Checks that a file is rejected because of the named tensor, that no output is left behind, and that an existing output
        stays as it was."""
        for there in (None, b"what was there before"):
            self.output.unlink(missing_ok=True)
            if there is not None:
                self.output.write_bytes(there)
            before = sorted(self.folder.iterdir())
            status, _, errors = self.zten.call("convert", "--force", path, self.output)
            # The exit status 1 means that the file is invalid, and 3 that it is unsupported.
            assert status in (1, 3), (path, status, errors)
            assert name in errors, (name, errors)
            assert sorted(self.folder.iterdir()) == before, "something was left behind"
            assert there is None or self.output.read_bytes() == there
        self.output.unlink()
        self.tally.known["REJECTED", why] += 1

    def leaves_out(self, path, name, why, has_others):
        """Checks that the tensor called `name` is left out and named. `has_others` says that the file has other tensors."""
        self.output.unlink(missing_ok=True)
        status, _, errors = self.zten.call("convert", "--force", path, self.output)
        # Leaving out an opaque tensor is no failure (status 0), unless the file has no other tensor
        # (2). Leaving out an unread tensor is a failure (3).
        assert status in ((0, 3) if has_others else (0, 2, 3)), (path, status, errors)
        assert name in errors, (name, errors)
        # If the command succeeds without another tensor, the left-out array is one of records, and
        # its fields that are numbers have been written.
        assert self.output.exists() == (has_others or status == 0), path
        self.output.unlink(missing_ok=True)
        self.tally.known["LEFT OUT", why] += 1

    def report(self):
        self.tally.report()
