"""Tests of rejected files, and of the content of accepted files."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import pytest

import zten

KINDS = (zten.Invalid, zten.Unsupported, zten.LimitExceeded)


def kind_of(rule: str) -> type[zten.Error]:
    if rule.startswith("limit-"):
        return zten.LimitExceeded
    return zten.Unsupported if rule.startswith("unsupported-") else zten.Invalid


VERDICTS = {zten.Invalid: "invalid", zten.Unsupported: "unsupported", zten.LimitExceeded: "limit"}


def open_and_verify(source: Any, options: dict[str, Any]) -> None:
    with zten.open(source, **options) as file:
        file.verify()


def test_every_file_of_the_indices_raises_its_rule_at_its_offset() -> None:
    rejects = corpus.rejects()
    assert len(rejects) > 3000
    for reject in rejects:
        with pytest.raises(KINDS) as raised:
            if reject.stage == "open":
                zten.open(reject.path, **reject.options)
            else:
                open_and_verify(reject.path, reject.options)
        error = raised.value
        assert type(error) is kind_of(reject.rule), reject.path
        assert (error.rule, error.offset) == (reject.rule, reject.offset), reject.path
        assert error.file == str(reject.path)
        assert error.clause
        # The list of rejected files in the corpus has the number of the object, and the error has its name.
        if reject.object is not None and reject.stage == "content":
            with zten.open(reject.path, **reject.options) as file:
                name = list(file)[reject.object]
                assert error.object == name
                if reject.component is not None:
                    roles = list(file[name].components)
                    assert error.component == roles[reject.component]


def test_a_rejected_file_is_rejected_from_memory_and_from_objects() -> None:
    for reject in corpus.rejects()[::17]:
        content = reject.path.read_bytes()
        for source in (content, memoryview(content), bytearray(content), io.BytesIO(content)):
            with pytest.raises(KINDS) as raised:
                open_and_verify(source, reject.options)
            assert (raised.value.rule, raised.value.offset) == (reject.rule, reject.offset)
            assert raised.value.file is None


def test_reports_say_what_is_raised() -> None:
    for reject in corpus.rejects():
        report = zten.check(reject.path, **reject.options)
        assert not report
        assert report.verdict == VERDICTS[kind_of(reject.rule)], reject.path
        assert (report.rule, report.offset) == (reject.rule, reject.offset), reject.path
    plain = [reject for reject in corpus.rejects() if reject.options == corpus.options("-")]
    columns = zten.check_batch([reject.path for reject in plain])
    assert columns["file"] == [str(reject.path) for reject in plain]
    assert columns["rule"] == [reject.rule for reject in plain]
    assert columns["offset"] == [reject.offset for reject in plain]


def test_shards_are_found_beside_the_file() -> None:
    ends = []
    for root in corpus.sharded():
        report = zten.check(root.path, **root.options)
        ends.append(report.rule)
        assert (report.rule or "-") == root.rule, root.path
        if report:
            with zten.open(root.path) as file:
                assert file.shards
                for tensor in file.values():
                    array = tensor.scipy() if tensor.is_sparse else tensor.numpy()
                    assert array.shape == tensor.shape
            with pytest.raises(zten.Unsupported, match="shard"):
                open_and_verify(root.path, {"shards": False})
    assert None in ends and "shard-digest" in ends


def copied(root: Path, folder: Path) -> Path:
    """Copies the file ``root`` and its only shard to ``folder``, where a test can change the shard. Returns the path of the copy of
    ``root``."""
    target = folder / "m.zt"
    target.write_bytes(root.read_bytes())
    (folder / "m-s.zt").write_bytes(root.with_name(root.stem + "-s.zt").read_bytes())
    return target


def reads(path: Path, target: Path) -> list[Callable[[], object]]:
    """Returns a function for each call that returns content of the file at ``path``. ``target`` is where files are written."""

    def opened(read: Callable[[zten.Tensor], object]) -> Callable[[], object]:
        def run() -> object:
            with zten.open(path) as file:
                return read(file["w"])

        return run

    def safe(read: Callable[[Any], object]) -> Callable[[], object]:
        def run() -> object:
            with zten.safe_open(path, framework="np") as file:
                return read(file)

        return run

    return [
        opened(lambda tensor: tensor.numpy()),
        opened(lambda tensor: tensor[1:2].numpy()),
        opened(lambda tensor: tensor.components["data"].tobytes()),
        opened(lambda tensor: tensor.verify()),
        lambda: zten.numpy.load_file(path),
        safe(lambda file: file.get_tensor("w")),
        safe(lambda file: file.get_slice("w")[1:2]),
        lambda: zten.convert(path, target, generation="2"),
    ]


def test_nothing_is_handed_out_of_a_shard_that_was_not_verified(tmp_path: Path) -> None:
    rules = []
    for root in corpus.sharded():
        if root.rule.startswith("shard-digest") or root.rule == "unsupported-digest":
            with zten.open(root.path) as file:
                if file["w"].is_sparse:
                    continue
            for read in reads(root.path, tmp_path / "out.zt"):
                with pytest.raises(zten.Error) as raised:
                    read()
                assert raised.value.rule == root.rule
            rules.append(root.rule)
    assert sorted(rules) == ["shard-digest", "shard-digest", "unsupported-digest"]
    assert not (tmp_path / "out.zt").exists()
    for read in reads(copied(corpus.CORPUS / "v2/shards/dense.zt", tmp_path), tmp_path / "out.zt"):
        read()


def test_what_is_handed_out_of_a_shard_is_what_was_verified(tmp_path: Path) -> None:
    path = copied(corpus.CORPUS / "v2/shards/dense.zt", tmp_path)
    with zten.open(path) as file, zten.safe_open(path, framework="np") as safe:
        tensor = file["w"]
        wanted = tensor.numpy().tobytes()
        assert safe.get_tensor("w").tobytes() == wanted
        with (tmp_path / "m-s.zt").open("r+b") as shard:
            shard.seek(4096)
            shard.write(b"\1")
        for read in (
            tensor.numpy,
            lambda: tensor[1:2].numpy(),
            tensor.components["data"].tobytes,
            tensor.verify,
            file.verify,
            lambda: safe.get_tensor("w"),
            lambda: safe.get_slice("w")[1:2],
        ):
            with pytest.raises(zten.Invalid) as raised:
                read()
            assert raised.value.rule == "shard-digest"


def test_a_file_is_invalid_to_every_function(tmp_path: Path) -> None:
    """Converting a file raises the rule that ``zten.check`` reports for it: if the file both breaks a rule and has an unsupported
    feature, the broken rule."""
    for root in corpus.sharded():
        if root.rule in ("-", "limit-shards"):
            continue
        with pytest.raises(zten.Error) as raised:
            zten.convert(root.path, tmp_path / "out.zt", generation="2")
        assert raised.value.rule == root.rule, root.path


def content_of(tensor: zten.Tensor) -> dict[str, bytes]:
    return {role: part.tobytes() for role, part in tensor.components.items()}


def test_components_are_what_their_writers_say() -> None:
    hashes = corpus.hashes()
    assert len(hashes) > 150
    for entry in hashes:
        with zten.open(entry.path) as file:
            content = file[entry.name].components[entry.role].tobytes()
            assert len(content) == entry.length, entry
            assert hashlib.sha256(content).hexdigest() == entry.sha256, entry


def test_content_of_the_corpus_is_what_the_library_decodes() -> None:
    """The decoded content of all accepted files has the SHA-256 that the Rust tests of the library also expect."""
    content = hashlib.sha256()
    for path in sorted((corpus.CORPUS / "accept").glob("**/*.zt")):
        with zten.open(path) as file:
            for tensor in file.values():
                for component in tensor.components.values():
                    try:
                        decoded = component.tobytes()
                    except zten.Unsupported as error:
                        if error.rule != "unsupported-digest":
                            continue
                        if tensor.format == "dense":
                            decoded = tensor.numpy(verify=False).tobytes()
                        else:
                            # A component with an unsupported digest can be read only if it is of a dense tensor. For any other,
                            # the stored bytes of the file are hashed.
                            assert component.encoding == "raw", path
                            decoded = path.read_bytes()[component.offset:component.offset + component.stored]
                    content.update(len(decoded).to_bytes(8, "little"))
                    content.update(decoded)
    wanted = (corpus.CORPUS / "accept/content.sha256").read_text().strip()
    assert content.hexdigest() == wanted


def test_accepted_files_load_and_every_way_to_read_gives_the_same() -> None:
    seen: set[str] = set()
    for path in corpus.accepted():
        report = zten.check(path)
        assert report, report
        with zten.open(path) as file, zten.open(path, map=True, verify=False) as mapped:
            assert list(file) == list(mapped)
            for name, tensor in list(file.items())[:200]:
                if tensor.format != "dense" or not representable(tensor.shape):
                    continue
                try:
                    array = tensor.numpy()
                except zten.Unsupported:
                    assert tensor.components["data"].tobytes() is not None
                    continue
                seen.add(f"{tensor.dtype}")
                same(mapped[name].numpy(), array, path)
                same(tensor.numpy(verify=False), array, path)
                same(tensor[...].numpy(), array, path)
                if array.ndim:
                    same(tensor[::-1].numpy(), array[::-1], path)
                    same(mapped[name][1:, ...].numpy(), array[1:], path)
                own = tensor.components["data"].numpy()[: array.size]
                if file.generation != "0.1":
                    same(own.reshape(array.shape), array, path)
    known = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8"}
    assert seen >= known | {"bool", "complex64", "complex128", "f8_e4m3fn", "f8_e5m2", "f4_e2m1"}


def representable(shape: tuple[int, ...]) -> bool:
    return all(size < 1 << 31 for size in shape)


def same(one: Any, other: Any, path: Path) -> None:
    assert one.dtype == other.dtype and one.shape == other.shape, path
    assert one.tobytes() == other.tobytes(), path


def test_big_endian_elements_and_other_bools_are_native() -> None:
    found = 0
    for path in sorted((corpus.CORPUS / "accept").glob("*v01*.zt")):
        if "unsupported" in path.name:
            continue
        with zten.open(path) as file:
            for tensor in file.values():
                if tensor.dtype == "bool" and tensor.format == "dense" and representable(tensor.shape):
                    assert set(tensor.numpy().view(np.uint8).ravel().tolist()) <= {0, 1}
                    found += 1
    assert found


@pytest.mark.parametrize("name", ["f8_e4m3fn", "f8_e5m2", "f8_e4m3fnuz", "f8_e5m2fnuz"])
def test_fp8_is_what_ml_dtypes_computed(name: str, tmp_path: Path) -> None:
    from zten import _types

    rows = list(corpus.rows(corpus.CORPUS / f"fp8/{name}.tsv"))
    codes = np.array([int(row["bits"], 16) for row in rows], np.uint8)
    zten.numpy.save_file({"w": codes.view(_types.numpy_dtype(name))}, tmp_path / "w.zt")
    with zten.open(tmp_path / "w.zt") as file:
        assert file["w"].dtype == name
        values = file["w"].numpy().astype(np.float32)
    wanted = np.array([int(row["f32"], 16) for row in rows], np.uint32).view(np.float32)
    np.testing.assert_array_equal(values, wanted)


def test_quantized_weights_are_what_numpy_computed() -> None:
    checked = 0
    with (corpus.CORPUS / "quantized/weights.tsv").open() as lines:
        next(lines)
        for line in lines:
            path, name, inputs, outputs, _, bits = line.rstrip("\n").split("\t")
            with zten.open(corpus.CORPUS / path, tolerate=["missing-zeros"]) as file:
                weights = file[name].dequantize().numpy()
            wanted = np.array([int(word, 16) for word in bits.split()], np.uint32)
            assert weights.shape == (int(inputs), int(outputs)), (path, name)
            assert (weights.view(np.uint32).ravel() == wanted).all(), (path, name)
            checked += 1
    assert checked > 10


@pytest.mark.parametrize(
    ("limits", "name"),
    [({"decoded": 16}, "limit-decoded"), ({"decoded-total": 16}, "limit-decoded-total")],
)
def test_what_decodes_to_more_than_the_limit_is_rejected_before_there_is_memory(
    limits: dict[str, int], name: str, tmp_path: Path
) -> None:
    path = tmp_path / "zeros.zt"
    zten.numpy.save_file({"w": np.zeros(1 << 20, np.uint8)}, path, zstd=3)
    reads: list[Callable[[], Any]] = [
        lambda: zten.numpy.load_file(path, limits=limits),
        lambda: zten.open(path, limits=limits)["w"].numpy(),
        lambda: zten.open(path, limits=limits).verify(),
    ]
    if name == "limit-decoded":
        reads.append(lambda: zten.open(path, limits=limits)["w"][0:2].numpy())
    for read in reads:
        with pytest.raises(zten.LimitExceeded) as raised:
            read()
        assert raised.value.rule == name
