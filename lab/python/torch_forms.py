"""Writes one small checkpoint for each form that PyTorch, Python and NumPy have given their files, and wrong variants of them.

    python lab/python/torch_forms.py FOLDER

Writes FOLDER/valid, FOLDER/wrong, FOLDER/any and FOLDER/README.md, which says what PyTorch does with each file. The expectation for
zten is in the name of each file, in front of the dashes: `valid`, `note` (valid, with the note `torch-weights-only`), `unsupported`,
`invalid` (or beyond a limit) or `any`. A form that today's PyTorch does not write is spelled instruction by instruction, as older
releases spell it.
"""

import argparse
import collections
import datetime
import decimal
import fractions
import io
import multiprocessing
import pathlib
import resource
import struct
import types
import uuid
import warnings
import zipfile
from collections.abc import Iterator

import numpy as np
import torch

# --- Pickles, instruction by instruction: each function returns the instructions that push one value. --------------------------

NONE, TRUE, FALSE, EMPTY_TUPLE, EMPTY_LIST, EMPTY_DICT = b"N", b"\x88", b"\x89", b")", b"]", b"}"


def text(value: str) -> bytes:
    data = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(data)) + data


def old_text(value: bytes | str) -> bytes:
    """Returns the instruction of a byte string, as Python 2 wrote it."""
    data = value.encode() if isinstance(value, str) else value
    return b"U" + bytes([len(data)]) + data


def integer(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    return long(value)


def long(value: int) -> bytes:
    data = value.to_bytes((value.bit_length() // 8) + 1, "little", signed=True) if value else b""
    return b"\x8a" + bytes([len(data)]) + data


def real(value: float) -> bytes:
    return b"G" + struct.pack(">d", value)


def tuple_of(*items: bytes) -> bytes:
    return b"(" + b"".join(items) + b"t" if items else EMPTY_TUPLE


def list_of(*items: bytes) -> bytes:
    return EMPTY_LIST + b"(" + b"".join(items) + b"e"


def dict_of(*pairs: tuple[bytes, bytes]) -> bytes:
    return EMPTY_DICT + items_of(*pairs)


def items_of(*pairs: tuple[bytes, bytes]) -> bytes:
    """Returns the instructions that add items to the dictionary that was pushed before."""
    return b"(" + b"".join(key + value for key, value in pairs) + b"u"


def class_of(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def stacked_class(module: str, name: str) -> bytes:
    """Returns the instructions that import a class, as protocol 4 spells them."""
    return text(module) + text(name) + b"\x93"


def call(function: bytes, *arguments: bytes) -> bytes:
    return function + tuple_of(*arguments) + b"R"


def new(class_: bytes, *arguments: bytes) -> bytes:
    return class_ + tuple_of(*arguments) + b"\x81"


def with_state(value: bytes, state: bytes) -> bytes:
    return value + state + b"b"


def encoded(data: bytes) -> bytes:
    """Returns the instructions of a bytes object, as protocol 2 spells them."""
    return call(class_of("_codecs", "encode"), text(data.decode("latin1")), text("latin1"))


ORDERED = call(class_of("collections", "OrderedDict"))


def ordered(*pairs: tuple[bytes, bytes]) -> bytes:
    return ORDERED + items_of(*pairs)


def pickled(value: bytes, protocol: int = 2) -> bytes:
    return b"\x80" + bytes([protocol]) + value + b"."


# --- Tensors -------------------------------------------------------------------------------------------------------------------


def storage(
    kind: str = "FloatStorage",
    key: bytes = text("0"),
    device: bytes = text("cpu"),
    count: int = 6,
    *more: bytes,
    module: str = "torch",
) -> bytes:
    return tuple_of(text("storage"), class_of(module, kind), key, device, integer(count), *more) + b"Q"


def numbers(*values: int) -> bytes:
    return tuple_of(*map(integer, values))


def rebuilt(store: bytes, shape: bytes, strides: bytes, offset: int = 0, *more: bytes) -> bytes:
    """Returns the instructions of a tensor, as PyTorch writes it since 0.4."""
    function = class_of("torch._utils", "_rebuild_tensor_v2")
    return call(function, store, integer(offset), shape, strides, FALSE, ORDERED, *more)


VECTOR = numbers(6), numbers(1)
# The elements 0 to 5 as f32.
SIX = struct.pack("<6f", *range(6))


def tensor(store: bytes) -> bytes:
    """Returns the instructions of a tensor of all six elements of a storage."""
    return rebuilt(store, *VECTOR)


def beside(value: bytes) -> bytes:
    """Returns the instructions of a dictionary of a tensor and another value."""
    return dict_of((text("a"), tensor(storage())), (text("v"), value))


# --- Files ---------------------------------------------------------------------------------------------------------------------


def archive(value: bytes, storages: dict[str, bytes] | None = None, *, order: str | None = "little", protocol: int = 2) -> bytes:
    """Returns an archive, as PyTorch writes it since 1.6."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        members = {"data.pkl": pickled(value, protocol), "version": b"3\n"}
        if order:
            members["byteorder"] = order.encode()
        members |= {f"data/{key}": data for key, data in ({"0": SIX} if storages is None else storages).items()}
        for name, data in members.items():
            file.writestr(zipfile.ZipInfo(f"archive/{name}"), data)
    return out.getvalue()


MAGIC = 0x1950A86A20F9469CFC6C


def system(byte_order: bool | bytes = TRUE, spell=text) -> bytes:
    sizes = dict_of((spell("short"), integer(2)), (spell("int"), integer(4)), (spell("long"), integer(4)))
    facts = (spell("protocol_version"), integer(1001)), (spell("little_endian"), byte_order), (spell("type_sizes"), sizes)
    return dict_of(*facts)


def stream(
    value: bytes,
    storages: list[tuple[bytes, int, bytes]] | None = None,
    *,
    magic: int = MAGIC,
    version: int = 1001,
    facts: bytes | None = None,
    protocol: int = 2,
    tail: bytes = b"",
) -> bytes:
    """Returns a stream, as PyTorch wrote it before 1.6: each storage has a key, its number of elements, and its bytes."""
    held = [(text("0"), 6, SIX)] if storages is None else storages
    values = long(magic), integer(version), facts or system(), value, list_of(*(key for key, _, _ in held))
    pickles = b"".join(pickled(value, protocol) for value in values)
    return pickles + b"".join(struct.pack("<q", count) + data for _, count, data in held) + tail


def saved(value: object, protocol: int = 2, is_zip: bool = True) -> bytes:
    """Returns the bytes of the file in which today's PyTorch saves `value`."""
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.save(value, out, pickle_protocol=protocol, _use_new_zipfile_serialization=is_zip)
    return out.getvalue()


def without_sums(file: bytes, members: int = 1000) -> bytes:
    """Returns the archive `file` with 0 in place of the checksums of its first members."""
    data = bytearray(file)
    for signature, offset in ((b"PK\x03\x04", 14), (b"PK\x01\x02", 16)):
        at = 0
        for _ in range(members):
            if (at := data.find(signature, at)) < 0:
                break
            data[at + offset : at + offset + 4] = bytes(4)
            at += 4
    return bytes(data)


# --- The forms -----------------------------------------------------------------------------------------------------------------

BASE = torch.arange(6.0)
Form = tuple[str, bytes]


def streams() -> Iterator[Form]:
    value = {"a": BASE, "b": BASE.view(2, 3).t(), "n": torch.arange(3), "epoch": 7}
    for protocol in range(1, 6):
        # With `weights_only=True`, PyTorch knows few of the instructions that protocols other than 2 and 3 use in such
        # a stream.
        expected = "valid" if protocol in (2, 3) else "note"
        yield f"{expected}--stream-protocol-{protocol}.pth", saved(value, protocol, is_zip=False)
    whole = tensor(storage("FloatStorage", text("0"), text("cpu"), 6, NONE))
    yield "valid--stream-by-hand.pth", stream(dict_of((text("a"), whole)))
    yield "invalid--stream-without-view.pth", stream(dict_of((text("a"), tensor(storage()))))
    yield "valid--stream-state-alone.pth", stream(whole)
    yield "valid--stream-ordered.pth", stream(with_state(ordered((text("a"), whole)), dict_of((text("_metadata"), ORDERED))))
    yield "valid--stream-big-endian-fact.pth", stream(dict_of((text("a"), whole)), facts=system(FALSE))
    yield "valid--stream-facts-empty.pth", stream(dict_of((text("a"), whole)), facts=EMPTY_DICT)
    yield "valid--stream-no-tensor.pth", stream(dict_of((text("epoch"), integer(3))), [])
    yield (
        "valid--stream-key-of-many-digits.pth",
        stream(
            dict_of((text("a"), tensor(storage("FloatStorage", text("94823274932928"), text("cuda:0"), 6, NONE)))),
            [(text("94823274932928"), 6, SIX)],
        ),
    )

    def view(key: str, offset: int, count: int) -> bytes:
        return storage("FloatStorage", text("0"), text("cpu"), 6, tuple_of(text(key), integer(offset), integer(count)))

    parts = dict_of(
        (text("a"), rebuilt(view("v0", 0, 4), numbers(2, 2), numbers(2, 1))),
        (text("b"), rebuilt(view("v1", 4, 2), numbers(2), numbers(1))),
        (text("c"), rebuilt(view("v1", 4, 2), numbers(1), numbers(1), 1)),
        (text("d"), whole),
    )
    yield "valid--stream-views.pth", stream(parts)
    alone = dict_of((text("a"), rebuilt(view("v0", 2, 3), numbers(3), numbers(1))))
    yield "valid--stream-view-alone.pth", stream(alone)
    for name, at, count in (("beyond", 4, 3), ("negative", -1, 2), ("count-negative", 0, -1), ("offset-far", 1 << 62, 1)):
        wrong = dict_of((text("a"), rebuilt(view("v0", at, count), numbers(1), numbers(1))))
        yield f"invalid--stream-view-{name}.pth", stream(wrong)
    wrong = dict_of((text("a"), rebuilt(view("v0", 0, 2), numbers(6), numbers(1))))
    yield "invalid--stream-tensor-beyond-view.pth", stream(wrong)
    pair = dict_of(
        (text("a"), rebuilt(view("v", 0, 2), numbers(2), numbers(1))),
        (text("b"), rebuilt(view("v", 2, 2), numbers(2), numbers(1))),
    )
    yield "invalid--stream-view-two-meanings.pth", stream(pair)
    pair = dict_of((text("a"), whole), (text("b"), rebuilt(view("0", 2, 2), numbers(2), numbers(1))))
    yield "invalid--stream-view-key-of-storage.pth", stream(pair)
    yield (
        "invalid--stream-view-of-two-values.pth",
        stream(dict_of((text("a"), tensor(storage("FloatStorage", text("0"), text("cpu"), 6, numbers(0, 6)))))),
    )

    shared = dict_of(
        (text("a"), whole),
        (text("b"), rebuilt(storage("FloatStorage", text("0"), text("cpu"), 6, NONE), numbers(2, 3), numbers(3, 1))),
    )
    yield "valid--stream-shared.pth", stream(shared)
    empty = rebuilt(storage("FloatStorage", text("1"), text("cpu"), 0, NONE), numbers(0, 3), numbers(3, 1))
    yield (
        "valid--stream-empty-storage.pth",
        stream(dict_of((text("a"), whole), (text("e"), empty)), [(text("0"), 6, SIX), (text("1"), 0, b"")]),
    )
    kinds = {"HalfStorage": 2, "DoubleStorage": 8, "LongStorage": 8, "ByteStorage": 1, "BoolStorage": 1, "ComplexFloatStorage": 8}
    values = [(text(kind), tensor(storage(kind, text(kind), text("cpu"), 6, NONE))) for kind in kinds]
    data = [(text(kind), 6, bytes(6 * width)) for kind, width in kinds.items()]
    yield "valid--stream-types.pth", stream(dict_of(*values), data)
    of_cuda = tensor(storage("FloatStorage", text("0"), text("cuda:0"), 6, NONE, module="torch.cuda"))
    yield "valid--stream-cuda-class.pth", stream(dict_of((text("a"), of_cuda)))

    one = dict_of((text("a"), whole))
    yield "invalid--stream-version.pth", stream(one, version=1000)
    yield "invalid--stream-trailing.pth", stream(one, tail=b"\0")
    yield "invalid--stream-cut-in-storage.pth", stream(one)[:-1]
    yield "invalid--stream-cut-in-count.pth", stream(one)[:-28]
    yield "invalid--stream-cut-before-storage.pth", stream(one)[:-32]
    yield "invalid--stream-cut-in-pickle.pth", stream(one)[:120]
    yield "invalid--stream-count.pth", stream(one, [(text("0"), 5, SIX)])
    yield "invalid--stream-count-negative.pth", stream(one, [(text("0"), -1, SIX)])
    yield "invalid--stream-count-far.pth", stream(one, [(text("0"), 1 << 62, SIX)])
    yield "invalid--stream-key-unknown.pth", stream(one, [(text("1"), 6, SIX)])
    yield "invalid--stream-key-twice.pth", stream(one, [(text("0"), 6, SIX), (text("0"), 6, SIX)])
    yield "invalid--stream-key-missing.pth", stream(one, [])
    yield "invalid--stream-key-number.pth", stream(one, [(integer(0), 6, SIX)])
    yield "invalid--stream-four-pickles.pth", pickled(long(MAGIC)) + pickled(integer(1001)) + pickled(system()) + pickled(one)
    yield "invalid--stream-class-in-facts.pth", stream(one, facts=call(class_of("os", "getpid")))
    yield "invalid--stream-tensor-in-facts.pth", stream(one, facts=dict_of((text("x"), whole)))
    two = dict_of((text("a"), whole), (text("b"), tensor(storage("DoubleStorage", text("0"), text("cpu"), 6, NONE))))
    yield "invalid--stream-two-classes.pth", stream(two)
    longer = dict_of((text("a"), whole), (text("b"), tensor(storage("FloatStorage", text("0"), text("cpu"), 7, NONE))))
    yield "invalid--stream-two-lengths.pth", stream(longer)
    module = tuple_of(text("module"), class_of("collections", "OrderedDict"), text("x.py"), text("source")) + b"Q"
    yield "invalid--stream-module.pth", stream(dict_of((text("a"), whole), (text("m"), module)))


def python_2() -> Iterator[Form]:
    """Yields streams as Python 2 wrote them: byte strings for texts, long integers in shapes, dictionaries from lists of pairs."""

    def store(key: str = "1153679344", device: str = "cuda:0", count: int = 6) -> bytes:
        return (
            tuple_of(old_text("storage"), class_of("torch", "FloatStorage"), old_text(key), old_text(device), long(count), NONE)
            + b"Q"
        )

    def longs(*values: int) -> bytes:
        return tuple_of(*map(long, values))

    def old_ordered(*pairs: tuple[bytes, bytes], pair=list_of) -> bytes:
        return call(class_of("collections", "OrderedDict"), list_of(*(pair(*items) for items in pairs)))

    def old_stream(value: bytes) -> bytes:
        return stream(value, [(old_text("1153679344"), 6, SIX)], facts=system(TRUE, old_text))

    version_1 = call(class_of("torch._utils", "_rebuild_tensor"), store(), integer(0), longs(6), longs(1))
    hooks = call(class_of("collections", "OrderedDict"), EMPTY_LIST)
    version_2 = call(class_of("torch._utils", "_rebuild_tensor_v2"), store(), integer(0), longs(2, 3), longs(3, 1), FALSE, hooks)
    yield "valid--python-2-tensor-1.pth", old_stream(old_ordered((old_text("weight"), version_1)))
    yield "valid--python-2-tensor-2.pth", old_stream(old_ordered((old_text("weight"), version_2)))
    yield "valid--python-2-pairs-as-tuples.pth", old_stream(old_ordered((old_text("weight"), version_2), pair=tuple_of))
    yield "valid--python-2-dictionary.pth", old_stream(dict_of((old_text("weight"), version_1), (old_text("epoch"), integer(3))))
    state = dict_of((old_text("_metadata"), old_ordered((old_text(""), dict_of((old_text("version"), integer(1)))))))
    yield "valid--python-2-metadata.pth", old_stream(with_state(old_ordered((old_text("weight"), version_2)), state))
    yield "valid--python-2-utf-8.pth", old_stream(dict_of((old_text("ä"), version_1)))
    nested = old_ordered((old_text("model"), old_ordered((old_text("w"), version_1))), (old_text("epoch"), integer(1)))
    yield "valid--python-2-nested.pth", old_stream(nested)
    yield "valid--python-2-archive.pt", archive(old_ordered((text("w"), tensor(storage()))))
    yield "invalid--python-2-not-utf-8.pth", old_stream(dict_of((old_text(b"\xff"), version_1)))
    yield (
        "invalid--python-2-pair-of-three.pth",
        old_stream(call(class_of("collections", "OrderedDict"), list_of(list_of(old_text("a"), version_1, NONE)))),
    )
    yield (
        "invalid--python-2-pair-of-one.pth",
        old_stream(call(class_of("collections", "OrderedDict"), list_of(list_of(old_text("a"))))),
    )
    yield (
        "invalid--python-2-pair-of-text.pth",
        old_stream(call(class_of("collections", "OrderedDict"), list_of(version_1, old_text("ab")))),
    )
    yield "invalid--python-2-key-twice.pth", old_stream(old_ordered((old_text("a"), version_1), (old_text("a"), NONE)))
    yield "invalid--python-2-key-list.pth", old_stream(old_ordered((EMPTY_LIST, version_1)))
    yield (
        "invalid--python-2-three-arguments.pth",
        old_stream(dict_of((old_text("a"), call(class_of("torch._utils", "_rebuild_tensor"), store(), integer(0), longs(6))))),
    )

    old = {
        "set": call(class_of("__builtin__", "set"), list_of(integer(1), integer(2))),
        "bytearray": call(class_of("__builtin__", "bytearray"), text("ab\xff"), old_text("latin-1")),
        "complex": call(class_of("__builtin__", "complex"), real(1), real(2)),
        "counter": call(class_of("collections", "Counter"), dict_of((old_text("a"), integer(2)))),
    }
    for name, value in old.items():
        yield f"valid--python-2-{name}.pth", old_stream(dict_of((old_text("w"), version_1), (old_text("v"), value)))
    noted = {
        "frozenset": call(class_of("__builtin__", "frozenset"), list_of(integer(1))),
        "slice": call(class_of("__builtin__", "slice"), integer(1), NONE, NONE),
        "xrange": call(class_of("__builtin__", "xrange"), integer(0), integer(6), integer(2)),
        "defaultdict": call(class_of("collections", "defaultdict"), class_of("__builtin__", "list"))
        + items_of((old_text("k"), list_of(integer(1)))),
        "deque": call(class_of("collections", "deque"), list_of(integer(1), integer(2)), integer(5)),
        "namespace": with_state(new(class_of("argparse", "Namespace")), dict_of((old_text("a"), integer(1)))),
        "timedelta": call(class_of("datetime", "timedelta"), integer(1), integer(2), integer(3)),
        "uuid": with_state(new(class_of("uuid", "UUID")), dict_of((old_text("int"), integer(5)))),
        "decimal": call(class_of("decimal", "Decimal"), old_text("1.5")),
        "fraction": call(class_of("fractions", "Fraction"), old_text("1/3")),
        "time": call(class_of("datetime", "time"), old_text(bytes([1, 2, 3, 0, 0, 0]))),
        "numpy-scalar": call(
            class_of("numpy.core.multiarray", "scalar"), dtype("f4", spell=old_text), old_text(struct.pack("<f", 2))
        ),
        "numpy-array": with_state(
            call(class_of("numpy.core.multiarray", "_reconstruct"), class_of("numpy", "ndarray"), numbers(0), old_text("b")),
            tuple_of(integer(1), numbers(2), dtype("f4", spell=old_text), FALSE, old_text(struct.pack("<2f", 2, 3))),
        ),
    }
    for name, value in noted.items():
        yield f"note--python-2-{name}.pth", old_stream(dict_of((old_text("w"), version_1), (old_text("v"), value)))


def dtype(
    name: str,
    order: str = "<",
    *,
    spell=text,
    sizes: tuple[int, int] = (-1, -1),
    flags: int = 0,
    aligned: bytes = FALSE,
    copied: bytes = TRUE,
) -> bytes:
    """Returns the instructions of a NumPy dtype. The arguments replace single parts of what NumPy
    writes."""
    made = call(class_of("numpy", "dtype"), spell(name), aligned, copied)
    state = integer(3), spell(order), NONE, NONE, NONE, integer(sizes[0]), integer(sizes[1]), integer(flags)
    return with_state(made, tuple_of(*state))


def records(flags: int, size: int = 4) -> bytes:
    """Returns the instructions of a dtype of records that hold a number each, as NumPy's class `record` has them."""
    made = call(class_of("numpy", "dtype"), class_of("numpy.core.records", "record"), integer(0), integer(1))
    fields = dict_of((text("x"), tuple_of(dtype("f4"), integer(0))))
    return with_state(made, tuple_of(integer(3), text("|"), NONE, tuple_of(text("x")), fields, *map(integer, (size, 1, flags))))


def namespace(**attributes: object) -> types.SimpleNamespace:
    return types.SimpleNamespace(**attributes)


ZONE = datetime.timezone(datetime.timedelta(hours=1), "x")
# Values of classes that PyTorch reads with `weights_only=True`.
PLAIN: dict[str, object] = {
    "ordered": collections.OrderedDict(a=1),
    "counter": collections.Counter("aab"),
    "set": {1, 2},
    "set-empty": set(),
    "bytearray": bytearray(b"a\xff"),
    "bytearray-empty": bytearray(),
    "complex": 1 + 2j,
    "bytes": b"a\xff",
    "size": torch.Size([2, 3]),
    "device": torch.device("cuda", 1),
    "dtype": torch.float16,
    "large": 1 << 80,
    "negative-large": -(1 << 200),
}
# Values of classes that PyTorch does not read with `weights_only=True`, so that zten makes a
# note.
NOTED: dict[str, object] = {
    "defaultdict": collections.defaultdict(list, k=[1]),
    "defaultdict-none": collections.defaultdict(None, k=1),
    "defaultdict-of-set": collections.defaultdict(set, k={1}),
    "deque": collections.deque([1, 2]),
    "deque-of-length": collections.deque([1, 2], 5),
    "deque-empty": collections.deque(),
    "deque-of-tensors": collections.deque([BASE]),
    "frozenset": frozenset([1]),
    "frozenset-empty": frozenset(),
    "slice": slice(1, None, -2),
    "range": range(0, 6, 2),
    "range-large": range(1 << 70),
    "namespace": argparse.Namespace(a=1, b="x", c=BASE),
    "namespace-empty": argparse.Namespace(),
    "simple-namespace": namespace(a=1),
    "simple-namespace-empty": namespace(),
    "path": pathlib.PurePosixPath("/a/b"),
    "path-relative": pathlib.PosixPath("a"),
    "path-empty": pathlib.PurePosixPath(),
    "path-windows": pathlib.PureWindowsPath("c:/a"),
    "date": datetime.date(2024, 1, 2),
    "time": datetime.time(1, 2, 3),
    "time-fold": datetime.time(1, 2, 3, fold=1),
    "time-zone": datetime.time(1, tzinfo=ZONE),
    "datetime": datetime.datetime(2024, 1, 2, 3, 4, 5, 6),  # noqa: DTZ001
    "datetime-utc": datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC),
    "timedelta": datetime.timedelta(-1, 2, 3),
    "timezone": ZONE,
    "uuid": uuid.UUID(int=(1 << 128) - 1),
    "decimal": decimal.Decimal("-1.5E+10"),
    "decimal-nan": decimal.Decimal("NaN"),
    "fraction": fractions.Fraction(-1, 3),
    "numpy-float": np.float64(0.5),
    "numpy-half": np.float16(0.5),
    "numpy-int": np.int32(-7),
    "numpy-bool": np.bool_(True),
    "numpy-text": np.str_("ä"),
    "numpy-bytes": np.bytes_(b"x\xff"),
    "numpy-complex": np.complex64(1 + 2j),
    "numpy-date": np.datetime64("2024-01-02"),
    "numpy-array": np.arange(6, dtype="f4").reshape(2, 3),
    "numpy-array-big": np.arange(6, dtype=">i4"),
    "numpy-array-columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "numpy-array-scalar": np.array(1.5),
    "numpy-array-empty": np.zeros((0, 3)),
    "numpy-array-bool": np.array([True, False]),
    "numpy-array-text": np.array(["a", "ä"]),
    "numpy-array-records": np.zeros(2, "i4,f8"),
    "numpy-array-dates": np.array(["2024-01-02"], dtype="M8[D]"),
    "numpy-array-objects": np.array([1, "x", None], dtype=object),
    "numpy-array-void": np.zeros(2, "V3"),
    "numpy-array-matrix": np.matrix([[1.0, 2.0]]),
    "numpy-dtype": np.dtype("f4"),
    "numpy-dtype-records": np.dtype("i4,f8"),
    "numpy-dtype-class": np.dtypes.Float64DType(),
}
# PyTorch does not read empty bytes with `weights_only=True`: protocol 2 writes them as a call of the class `bytes`, and later
# protocols as an instruction of their own.
EMPTY_BYTES = {"bytes-empty": b""}


def values() -> Iterator[Form]:
    """Yields values of each class that is read, as PyTorch writes them together with a tensor."""
    for protocol in (2, 4, 5):
        for name, value in PLAIN.items():
            # PyTorch knows few instructions of later protocols when it loads with `weights_only=True`.
            expected = "valid" if protocol == 2 else "note"
            yield f"{expected}--{name}-{protocol}.pt", saved({"a": BASE, "v": value}, protocol)
        for name, value in NOTED.items():
            yield f"note--{name}-{protocol}.pt", saved({"a": BASE, "v": value}, protocol)
        for name, value in EMPTY_BYTES.items():
            yield f"note--{name}-{protocol}.pt", saved({"a": BASE, "v": value}, protocol)
    for name, value in NOTED.items():
        yield f"note--stream-{name}.pth", saved({"a": BASE, "v": value}, 2, is_zip=False)

    # The same values in the form in which other releases of Python and NumPy write them.
    others = {
        "bytearray-before-3.8": call(class_of("__builtin__", "bytearray"), text("a\xff"), text("latin-1")),
    }
    for name, value in others.items():
        yield f"valid--{name}.pt", archive(beside(value))
    noted = {
        "fraction-before-3.11": call(class_of("fractions", "Fraction"), text("-1/3")),
        "fraction-whole": call(class_of("fractions", "Fraction"), text("3")),
        "path-3.13": call(class_of("pathlib._local", "PurePosixPath"), text("/a/b")),
        "deque-with-list": call(class_of("collections", "deque"), list_of(integer(1)), integer(5)),
        "numpy-1-array": array("numpy.core.multiarray"),
        "numpy-old-array": array("numpy.core._internal"),
        "numpy-records-before-1.20": array(of=records(0)),
        "numpy-records": array(of=records(16)),
        "numpy-records-aligned": array(of=records(144)),
        "numpy-record-array": array("numpy.core.multiarray", class_of("numpy", "recarray")),
        "numpy-dtype-flags": with_state(
            call(class_of("numpy", "dtype"), text("f4"), integer(0), integer(1)),
            tuple_of(integer(3), text("<"), NONE, NONE, NONE, integer(-1), integer(-1), integer(0)),
        ),
        "numpy-scalar-1": call(class_of("numpy.core.multiarray", "scalar"), dtype("f4"), encoded(struct.pack("<f", 2))),
        "device-of-extension": call(class_of("torch", "device"), text("npu"), integer(0)),
        "uuid-safe": with_state(
            new(class_of("uuid", "UUID")),
            dict_of((text("int"), integer(5)), (text("is_safe"), integer(0))),
        ),
    }
    for name, value in noted.items():
        yield f"note--{name}.pt", archive(beside(value))


def array(
    module: str = "numpy._core.multiarray",
    class_: bytes = class_of("numpy", "ndarray"),
    *,
    first: bytes | None = None,
    code: bytes | None = None,
    version: bytes = integer(1),
    shape: bytes | None = None,
    of: bytes | None = None,
    order: bytes = FALSE,
    content: bytes | None = None,
) -> bytes:
    """Returns the instructions of an array of NumPy: two elements of f4, unless an argument says otherwise."""
    made = call(class_of(module, "_reconstruct"), class_, first or numbers(0), code or encoded(b"b"))
    state = version, shape or numbers(2), of or dtype("f4"), order, content or encoded(struct.pack("<2f", 1, 2))
    return with_state(made, tuple_of(*state))


def wrong_values() -> Iterator[Form]:
    """Yields values of classes that are read, with other arguments than their own pickles have."""

    def of(name: str, *arguments: bytes) -> bytes:
        module, _, class_ = name.rpartition(".")
        return call(class_of(module, class_), *arguments)

    many = text("1" * 5000)
    date, uid = "datetime.date", class_of("uuid", "UUID")
    scalar = "numpy._core.multiarray.scalar"
    hostile = {
        "counter-of-list": of("collections.Counter", list_of(text("a"))),
        "counter-of-text": of("collections.Counter", text("aab")),
        "counter-two": of("collections.Counter", EMPTY_DICT, EMPTY_DICT),
        "defaultdict-factory-class": of("collections.defaultdict", class_of("collections", "OrderedDict")),
        "defaultdict-factory-type": of("collections.defaultdict", class_of("__builtin__", "type")),
        "defaultdict-factory-open": of("collections.defaultdict", class_of("io", "open")),
        "defaultdict-factory-text": of("collections.defaultdict", text("x")),
        "defaultdict-with-items": of("collections.defaultdict", NONE, dict_of((text("a"), integer(1)))),
        "deque-of-text": of("collections.deque", text("ab")),
        "deque-of-range": of("collections.deque", of("__builtin__.xrange", integer(0), integer(1 << 40), integer(1))),
        "deque-shorter": of("collections.deque", list_of(integer(1), integer(2), integer(3)), integer(2)),
        "deque-negative": of("collections.deque", EMPTY_TUPLE, integer(-1)),
        "deque-appended-beyond": of("collections.deque", EMPTY_TUPLE, integer(1)) + b"(" + integer(1) + integer(2) + b"e",
        "deque-length-text": of("collections.deque", EMPTY_TUPLE, text("2")),
        "set-of-text": of("__builtin__.set", text("ab")),
        "set-of-range": of("__builtin__.set", of("__builtin__.xrange", integer(0), integer(1 << 40), integer(1))),
        "set-of-lists": of("__builtin__.set", list_of(EMPTY_LIST)),
        "frozenset-of-dict": of("__builtin__.frozenset", dict_of((text("a"), NONE))),
        "frozenset-of-lists": of("__builtin__.frozenset", list_of(EMPTY_LIST)),
        "frozenset-two": of("__builtin__.frozenset", EMPTY_LIST, EMPTY_LIST),
        "bytearray-length": of("__builtin__.bytearray", integer(1 << 40)),
        "bytearray-negative": of("__builtin__.bytearray", integer(-1)),
        "bytearray-of-list": of("__builtin__.bytearray", list_of(integer(256))),
        "bytearray-utf-16": of("__builtin__.bytearray", text("a"), text("utf-16")),
        "bytearray-beyond-latin-1": of("__builtin__.bytearray", text("\u0100"), text("latin-1")),
        "bytes-length": of("__builtin__.bytes", integer(1 << 40)),
        "bytes-of-list": of("__builtin__.bytes", list_of(integer(1))),
        "complex-text": of("__builtin__.complex", text("1+2j")),
        "complex-integers": of("__builtin__.complex", integer(1), integer(2)),
        "complex-one": of("__builtin__.complex", real(1)),
        "slice-of-list": of("__builtin__.slice", EMPTY_LIST, NONE, NONE),
        "slice-one": of("__builtin__.slice", integer(1)),
        "range-step-zero": of("__builtin__.xrange", integer(0), integer(1), integer(0)),
        "range-floats": of("__builtin__.xrange", real(0), real(1), real(1)),
        "range-one": of("__builtin__.xrange", integer(3)),
        "range-bools": of("__builtin__.xrange", FALSE, TRUE, TRUE),
        "encode-utf-8": of("_codecs.encode", text("a"), text("utf-8")),
        "encode-rot-13": of("_codecs.encode", text("a"), text("rot_13")),
        "encode-one": of("_codecs.encode", text("a")),
        "encode-errors": of("_codecs.encode", text("\u0100"), text("latin1"), text("replace")),
        "encode-beyond-latin-1": of("_codecs.encode", text("\u0100"), text("latin1")),
        "encode-bytes-hex": of("_codecs.encode", encoded(b"a"), text("hex")),
        "encode-bytes-zip": of("_codecs.encode", encoded(b"a"), text("zlib")),
        "encode-bytes-unzip": of("_codecs.encode", encoded(b"a"), text("bz2")),
        "namespace-arguments": new(class_of("argparse", "Namespace"), integer(1)),
        "namespace-slots": with_state(
            new(class_of("argparse", "Namespace")),
            tuple_of(NONE, dict_of((text("__class__"), class_of("argparse", "Namespace")))),
        ),
        "namespace-slot-pair": with_state(
            new(class_of("argparse", "Namespace")), tuple_of(EMPTY_DICT, dict_of((text("a"), NONE)))
        ),
        "namespace-number-key": with_state(new(class_of("argparse", "Namespace")), dict_of((integer(1), NONE))),
        "namespace-list": with_state(new(class_of("argparse", "Namespace")), list_of(integer(1))),
        "namespace-key-twice": with_state(
            new(class_of("argparse", "Namespace")), dict_of((text("a"), integer(1)), (text("a"), integer(2)))
        ),
        "namespace-called": of("argparse.Namespace", integer(1)),
        "simple-namespace-number-key": with_state(of("types.SimpleNamespace"), dict_of((integer(1), NONE))),
        "simple-namespace-arguments": of("types.SimpleNamespace", dict_of((text("a"), NONE))),
        "path-number": of("pathlib.PurePosixPath", integer(1)),
        "path-of-path": of("pathlib.PurePosixPath", of("pathlib.PurePosixPath", text("a"))),
        "path-state": with_state(of("pathlib.PurePosixPath", text("a")), dict_of((text("_str"), text("b")))),
        "path-slots": with_state(
            of("pathlib.PurePosixPath", text("a")), tuple_of(NONE, dict_of((text("_raw_paths"), list_of(text("b")))))
        ),
        "date-of-numbers": of(date, integer(2024), integer(1), integer(2)),
        "date-of-text": of(date, text("2024-01-02")),
        "date-short": of(date, encoded(b"\x07\xe8\x01")),
        "date-month-13": of(date, encoded(b"\x07\xe8\x0d\x02")),
        "date-day-32": of(date, encoded(b"\x07\xe8\x01\x20")),
        "date-day-0": of(date, encoded(b"\x07\xe8\x01\x00")),
        "date-year-0": of(date, encoded(b"\x00\x00\x01\x01")),
        "date-february-30": of(date, encoded(b"\x07\xe8\x02\x1e")),
        "time-hour-24": of("datetime.time", encoded(bytes([24, 0, 0, 0, 0, 0]))),
        "time-minute-60": of("datetime.time", encoded(bytes([1, 60, 0, 0, 0, 0]))),
        "time-microseconds": of("datetime.time", encoded(bytes([1, 0, 0, 255, 255, 255]))),
        "time-zone-text": of("datetime.time", encoded(bytes(6)), text("UTC")),
        "time-zone-delta": of("datetime.time", encoded(bytes(6)), of("datetime.timedelta", integer(0), integer(0), integer(0))),
        "datetime-short": of("datetime.datetime", encoded(bytes([7, 232, 1, 2, 3, 4, 5, 0, 0]))),
        "datetime-month-0": of("datetime.datetime", encoded(bytes([7, 232, 0, 2, 3, 4, 5, 0, 0, 6]))),
        "timedelta-days": of("datetime.timedelta", integer(1_000_000_000), integer(0), integer(0)),
        "timedelta-floats": of("datetime.timedelta", real(1), real(0), real(0)),
        "timedelta-large": of("datetime.timedelta", integer(1 << 100), integer(0), integer(0)),
        "timedelta-seven": of("datetime.timedelta", *[integer(0)] * 7),
        "timezone-day": of("datetime.timezone", of("datetime.timedelta", integer(1), integer(0), integer(0))),
        "timezone-number": of("datetime.timezone", integer(3600)),
        "timezone-name-number": of("datetime.timezone", of("datetime.timedelta", integer(0), integer(0), integer(0)), integer(1)),
        "uuid-text-state": with_state(new(uid), dict_of((text("int"), text("5")))),
        "uuid-more-state": with_state(new(uid), dict_of((text("int"), integer(5)), (text("hex"), text("x")))),
        "uuid-list-state": with_state(new(uid), list_of(text("int"), integer(5))),
        "uuid-called": of("uuid.UUID", text("12345678123456781234567812345678")),
        "decimal-exponent": of("decimal.Decimal", text("1E+999999")),
        "decimal-exponent-of-18-digits": of("decimal.Decimal", text("1E+999999999999999999")),
        "decimal-word": of("decimal.Decimal", text("one")),
        "decimal-float": of("decimal.Decimal", real(0.1)),
        "decimal-tuple": of("decimal.Decimal", tuple_of(integer(0), numbers(1), integer(1 << 40))),
        "decimal-spaces": of("decimal.Decimal", text(" 1.5 ")),
        "decimal-underscore": of("decimal.Decimal", text("1_0")),
        "decimal-arabic": of("decimal.Decimal", text("\u0661")),
        "decimal-context": of("decimal.Decimal", text("1"), NONE),
        "fraction-zero": of("fractions.Fraction", integer(1), integer(0)),
        "fraction-zero-text": of("fractions.Fraction", text("1/0")),
        "fraction-exponent": of("fractions.Fraction", text("1E99999999")),
        "fraction-5000-digits": of("fractions.Fraction", many),
        "fraction-decimal": of("fractions.Fraction", text("1.5")),
        "fraction-spaces": of("fractions.Fraction", text(" 1/3 ")),
        "fraction-float": of("fractions.Fraction", real(0.5)),
        "fraction-state": with_state(
            of("fractions.Fraction", integer(1), integer(3)), tuple_of(NONE, dict_of((text("_denominator"), integer(0))))
        ),
        "reconstruct-shape": array(first=numbers(1 << 40)),
        "reconstruct-shape-two": array(first=numbers(0, 0)),
        "reconstruct-code": array(code=encoded(b"O")),
        "reconstruct-class": array(class_=class_of("__builtin__", "list")),
        "reconstruct-subclass": array(class_=class_of("numpy", "memmap")),
        "array-no-state": call(
            class_of("numpy._core.multiarray", "_reconstruct"), class_of("numpy", "ndarray"), numbers(0), encoded(b"b")
        ),
        "array-class-called": of("numpy.ndarray", numbers(2)),
        "array-class-on-buffer": of("numpy.ndarray", numbers(1), dtype("O"), encoded(bytes(8))),
        "array-version": array(version=integer(2)),
        "array-shape-short": array(shape=numbers(1)),
        "array-shape-long": array(shape=numbers(3)),
        "array-shape-negative": array(shape=numbers(-2)),
        "array-shape-product": array(shape=numbers(1 << 32, 1 << 32), content=encoded(b"")),
        "array-shape-zero-and-large": array(shape=numbers(0, 1 << 62), content=encoded(b"")),
        "array-shape-float": array(shape=tuple_of(real(2))),
        "array-shape-bool": array(shape=tuple_of(TRUE), content=encoded(bytes(4))),
        "array-order-number": array(order=integer(2)),
        "array-content-text": array(content=text("12345678")),
        "array-content-list": array(content=list_of(integer(1), integer(2))),
        "array-objects-from-bytes": array(of=dtype("O", "|"), content=encoded(bytes(16))),
        "array-objects-count": array(of=dtype("O", "|"), content=list_of(NONE)),
        "array-dtype-text": array(of=text("f4")),
        "array-dtype-of-objects-disguised": array(
            of=with_state(
                of("numpy.dtype", text("V8"), FALSE, TRUE),
                tuple_of(
                    integer(3),
                    text("|"),
                    NONE,
                    tuple_of(text("x")),
                    dict_of((text("x"), tuple_of(dtype("O", "|"), integer(0)))),
                    integer(8),
                    integer(1),
                    integer(0),
                ),
            ),
            shape=numbers(1),
            content=encoded(bytes(8)),
        ),
        # An instruction that does not ask for a copy gets the dtype of NumPy itself, which ignores the byte order in
        # the state.
        "array-dtype-not-copied": array(of=dtype("i4", ">", copied=FALSE)),
        "array-dtype-copied-number": array(of=dtype("i4", ">", copied=integer(0))),
        "array-dtype-aligned": array(of=dtype("i4", ">", aligned=TRUE)),
        "array-dtype-itemsize": array(of=dtype("V4", "|", sizes=(24, 1))),
        "array-dtype-objects-flags": array(of=dtype("O8", "|", flags=6), content=list_of(integer(1), NONE)),
        "array-dtype-date-unit": array(
            of=with_state(
                of("numpy.dtype", text("M8"), FALSE, TRUE),
                tuple_of(
                    integer(4),
                    text("<"),
                    NONE,
                    NONE,
                    NONE,
                    integer(-1),
                    integer(-1),
                    integer(0),
                    tuple_of(NONE, tuple_of(encoded(b"R"), integer(1), integer(1), integer(1))),
                ),
            ),
            shape=numbers(1),
        ),
        "array-dtype-flags": array(of=dtype("f4", flags=1)),
        "array-dtype-flags-list": array(of=dtype("f4", flags=63), content=list_of(integer(1), integer(2))),
        "scalar-dtype-flags": of(scalar, dtype("f4", flags=63), encoded(bytes(4))),
        "array-state-twice": with_state(array(), tuple_of(integer(1), numbers(1), dtype("f4"), FALSE, encoded(bytes(4)))),
        "array-state-four": with_state(
            call(class_of("numpy._core.multiarray", "_reconstruct"), class_of("numpy", "ndarray"), numbers(0), encoded(b"b")),
            tuple_of(numbers(2), dtype("f4"), FALSE, encoded(bytes(8))),
        ),
        "array-rank-65": array(shape=numbers(*[1] * 64, 2)),
        "dtype-word": of("numpy.dtype", text("banana"), FALSE, TRUE),
        "dtype-comma": of("numpy.dtype", text("f4,f4"), FALSE, TRUE),
        "dtype-one": of("numpy.dtype", text("f4")),
        "dtype-order": dtype("f4", "!"),
        "dtype-size": dtype("V4", "|", sizes=(1 << 40, 1)),
        "dtype-itemsize-of-number": dtype("f4", "<", sizes=(2, 1)),
        "dtype-version": with_state(
            of("numpy.dtype", text("f4"), FALSE, TRUE),
            tuple_of(integer(99), text("<"), NONE, NONE, NONE, integer(-1), integer(-1), integer(0)),
        ),
        "dtype-of-class": of("numpy.dtype", class_of("collections", "OrderedDict"), FALSE, TRUE),
        "dtype-subarray": with_state(
            of("numpy.dtype", text("V8"), FALSE, TRUE),
            tuple_of(
                integer(3),
                text("|"),
                tuple_of(dtype("f4"), numbers(1 << 30, 1 << 30)),
                NONE,
                NONE,
                integer(8),
                integer(1),
                integer(0),
            ),
        ),
        "scalar-short": of(scalar, dtype("f4"), encoded(bytes(3))),
        "scalar-long": of(scalar, dtype("f4"), encoded(bytes(5))),
        "scalar-object": of(scalar, dtype("O", "|"), encoded(bytes(8))),
        "scalar-object-value": of(scalar, dtype("O", "|"), integer(1)),
        "scalar-dtype-text": of(scalar, text("f4"), encoded(bytes(4))),
        "scalar-one": of(scalar, dtype("f4")),
        "frombuffer-short": call(
            class_of("numpy._core.numeric", "_frombuffer"), encoded(bytes(7)), dtype("f4"), numbers(2), text("C")
        ),
        "frombuffer-order": call(
            class_of("numpy._core.numeric", "_frombuffer"), encoded(bytes(8)), dtype("f4"), numbers(2), text("K")
        ),
        "frombuffer-objects": call(
            class_of("numpy._core.numeric", "_frombuffer"), encoded(bytes(8)), dtype("O", "|"), numbers(1), text("C")
        ),
        "frombuffer-negative-one": call(
            class_of("numpy._core.numeric", "_frombuffer"), encoded(bytes(8)), dtype("f4"), numbers(-1), text("C")
        ),
        "dtype-class-arguments": of("numpy.dtypes.Float64DType", text("x")),
        "dtype-class-other": of("numpy.dtypes.DType"),
        "dtype-class-text": of("numpy.dtypes.StrDType", integer(1 << 40)),
        "size-of-list": of("torch.Size", list_of(integer(1))),
        "size-of-floats": of("torch.Size", tuple_of(real(1))),
        "device-number": of("torch.device", text("cuda"), integer(1 << 40)),
        "layout-word": of("torch.serialization._get_layout", text("torch.banana")),
        "class-with-dot": class_of("pathlib", "os.system"),
        "class-stacked-with-dot": stacked_class("pathlib", "os.system"),
        "class-module-of-path": class_of("./x", "y"),
        "class-that-shadows": call(class_of("datetime2", "date"), encoded(b"\x07\xe8\x01\x02")),
        "class-of-python-2-in-protocol-4": stacked_class("__builtin__", "xrange") + numbers(0, 6, 2) + b"R",
        "class-unknown": new(class_of("omegaconf.listconfig", "ListConfig")),
        "function-of-table-module": call(class_of("numpy", "load"), text("x")),
        "getattr": call(class_of("__builtin__", "getattr"), class_of("datetime", "date"), text("today")),
        "state-for-list": with_state(EMPTY_LIST, EMPTY_DICT),
        "object-as-function": call(call(class_of("collections", "Counter"))),
    }
    # Python builds these values although their arguments are unusual, so a file with one of them is valid with a note.
    built = """array-content-text array-no-state array-shape-zero-and-large date-day-0 date-day-32 date-february-30 date-year-0 dtype-comma
        dtype-subarray time-microseconds time-minute-60""".split()
    # Python refuses to build these values. zten leaves them out, and the rest of the file is valid with a note.
    left_out = """range-step-zero date-month-13 time-hour-24 datetime-month-0 timedelta-days timezone-day fraction-zero fraction-zero-text
        fraction-5000-digits array-dtype-date-unit dtype-word dtype-class-other""".split()
    for name, value in hostile.items():
        protocol = 4 if name.endswith("-4") else 2
        yield f"{'note' if name in built + left_out else 'invalid'}--{name}.pt", archive(beside(value), protocol=protocol)


def tensors() -> Iterator[Form]:
    """Yields sparse, quantized, nested and other special tensors."""
    coo = torch.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse()
    repeated = torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2))
    hybrid = torch.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (2, 2))
    csr = torch.eye(3).to_sparse_csr()
    special = {
        "sparse-coo": ("valid", coo),
        "sparse-coo-not-coalesced": ("valid", repeated),
        "sparse-coo-hybrid": ("unsupported", hybrid),
        "sparse-coo-empty": ("valid", torch.zeros(2, 2).to_sparse()),
        "sparse-csr": ("valid", csr),
        "sparse-csr-int32": (
            "valid",
            torch.sparse_csr_tensor(csr.crow_indices().int(), csr.col_indices().int(), csr.values(), (3, 3)),
        ),
        "sparse-csc": ("unsupported", torch.eye(3).to_sparse_csc()),
        "sparse-bsr": ("unsupported", torch.eye(4).to_sparse_bsr((2, 2))),
        "quantized": ("unsupported", torch.quantize_per_tensor(BASE, 0.5, 1, torch.qint8)),
        "quantized-channels": (
            "unsupported",
            torch.quantize_per_channel(BASE.view(2, 3), torch.tensor([0.5, 0.25]), torch.tensor([0, 1]), 0, torch.quint8),
        ),
        "nested": ("unsupported", torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])),
        "meta": ("unsupported", BASE.to("meta")),
        "conjugated": ("valid", torch.arange(6).to(torch.complex64).conj()),
        "negated": ("valid", torch._neg_view(BASE)),  # noqa: SLF001
        "negated-integers": ("unsupported", torch._neg_view(torch.arange(3))),  # noqa: SLF001
        "imaginary-conjugated": ("valid", torch.view_as_complex(torch.ones(3, 2)).conj().imag),
        "float4": ("unsupported", torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)),
        "complex32": ("unsupported", torch.zeros(2, dtype=torch.complex32)),
    }
    for name, (expected, value) in special.items():
        yield f"{expected}--{name}.pt", saved({"a": BASE, "v": value})
    for name in ("sparse-coo", "sparse-csr"):
        yield f"valid--stream-{name}.pth", saved({"a": BASE, "v": special[name][1]}, 2, is_zip=False)

    def sparse(layout: str, *parts: bytes, function: str = "_rebuild_sparse_tensor") -> bytes:
        kind = call(class_of("torch.serialization", "_get_layout"), text(layout))
        return call(class_of("torch._utils", function), kind, tuple_of(*parts))

    def longs(key: str, *shape: int) -> bytes:
        count = int(np.prod(shape))
        strides = [int(np.prod(shape[place + 1 :])) for place in range(len(shape))]
        return rebuilt(storage("LongStorage", text(key), text("cpu"), count), numbers(*shape), numbers(*strides))

    def reals(key: str, count: int) -> bytes:
        return rebuilt(storage("FloatStorage", text(key), text("cpu"), count), numbers(count), numbers(1))

    def file(part: bytes, **storages: bytes) -> bytes:
        return archive(beside(part), {"0": SIX} | {key.strip("_"): data for key, data in storages.items()})

    def packed(*values: int) -> bytes:
        return struct.pack(f"<{len(values)}q", *values)

    two = struct.pack("<2f", 1, 2)
    size = call(class_of("torch", "Size"), numbers(2, 2))
    yield (
        "valid--sparse-coo-before-2.1.pt",
        file(sparse("torch.sparse_coo", longs("1", 2, 2), reals("2", 2), size), _1=packed(0, 1, 1, 0), _2=two),
    )
    yield (
        "valid--sparse-coo-flag.pt",
        file(sparse("torch.sparse_coo", longs("1", 2, 2), reals("2", 2), size, FALSE), _1=packed(0, 1, 1, 0), _2=two),
    )
    for name, indices in (("beyond", (0, 2, 1, 0)), ("negative", (0, -1, 1, 0)), ("far", (0, 1 << 62, 1, 0))):
        yield (
            f"invalid--sparse-coo-index-{name}.pt",
            file(sparse("torch.sparse_coo", longs("1", 2, 2), reals("2", 2), size, FALSE), _1=packed(*indices), _2=two),
        )
    # These two tensors are wrongly marked as coalesced. PyTorch rejects them, and zten does not read the mark.
    yield (
        "valid--sparse-coo-false-coalesced.pt",
        file(sparse("torch.sparse_coo", longs("1", 2, 2), reals("2", 2), size, TRUE), _1=packed(1, 0, 0, 0), _2=two),
    )
    yield (
        "valid--sparse-coo-repeated-coalesced.pt",
        file(sparse("torch.sparse_coo", longs("1", 2, 2), reals("2", 2), size, TRUE), _1=packed(1, 1, 0, 0), _2=two),
    )
    yield (
        "invalid--sparse-coo-rank.pt",
        file(
            sparse("torch.sparse_coo", longs("1", 2, 2), reals("2", 2), call(class_of("torch", "Size"), numbers(2)), FALSE),
            _1=packed(0, 1, 1, 0),
            _2=two,
        ),
    )
    yield (
        "invalid--sparse-coo-counts.pt",
        file(sparse("torch.sparse_coo", longs("1", 2, 2), reals("2", 1), size, FALSE), _1=packed(0, 1, 1, 0), _2=two[:4]),
    )
    yield (
        "invalid--sparse-coo-float-indices.pt",
        file(sparse("torch.sparse_coo", tensor(storage()), reals("2", 2), size, FALSE), _2=two),
    )
    widths = {"Double": 8, "Float": 4, "Half": 2, "Int": 4, "Short": 2, "Char": 1, "Byte": 1, "Bool": 1, "ComplexFloat": 8}
    for kind, width in widths.items():
        # The indices have another type than the one that PyTorch writes.
        other = rebuilt(storage(f"{kind}Storage", text("1"), text("cpu"), 4), numbers(2, 2), numbers(2, 1))
        # Coordinates of other integer types are not tested: PyTorch converts them, and no program writes them.
        if kind not in ("Int", "Short", "Char", "Byte"):
            yield (
                f"invalid--sparse-coo-indices-{kind.lower()}.pt",
                file(sparse("torch.sparse_coo", other, reals("2", 2), size, FALSE), _1=bytes(4 * width), _2=two),
            )
        if kind == "Int":
            continue
        rows = rebuilt(storage(f"{kind}Storage", text("1"), text("cpu"), 3), numbers(3), numbers(1))
        columns = rebuilt(storage(f"{kind}Storage", text("3"), text("cpu"), 2), numbers(2), numbers(1))
        yield (
            f"invalid--sparse-csr-indices-{kind.lower()}.pt",
            file(
                sparse("torch.sparse_csr", rows, columns, reals("2", 2), size), _1=bytes(3 * width), _3=bytes(2 * width), _2=two
            ),
        )
    yield (
        "invalid--sparse-layout-word.pt",
        file(sparse("torch.banana", longs("1", 2, 2), reals("2", 2), size), _1=packed(0, 1, 1, 0), _2=two),
    )
    yield (
        "invalid--sparse-layout-strided.pt",
        file(sparse("torch.strided", longs("1", 2, 2), reals("2", 2), size), _1=packed(0, 1, 1, 0), _2=two),
    )
    for name, rows, columns in (
        ("falling", (0, 2, 1), (0, 1)),
        ("end", (0, 1, 3), (0, 1)),
        ("start", (1, 1, 2), (0, 1)),
        ("column-beyond", (0, 1, 2), (0, 2)),
        ("column-negative", (0, 1, 2), (-1, 1)),
        ("column-twice", (0, 2, 2), (1, 1)),
        ("columns-falling", (0, 2, 2), (1, 0)),
    ):
        # PyTorch rejects columns that do not ascend, and zten does not.
        expected = "valid" if name in ("column-twice", "columns-falling") else "invalid"
        yield (
            f"{expected}--sparse-csr-{name}.pt",
            file(
                sparse("torch.sparse_csr", longs("1", 3), longs("3", 2), reals("2", 2), size),
                _1=packed(*rows),
                _3=packed(*columns),
                _2=two,
            ),
        )
    yield (
        "valid--sparse-csr-by-hand.pt",
        file(
            sparse("torch.sparse_csr", longs("1", 3), longs("3", 2), reals("2", 2), size),
            _1=packed(0, 1, 2),
            _3=packed(0, 1),
            _2=two,
        ),
    )

    # Tensors whose metadata says that their elements are conjugated or negated when they are
    # read.
    complex_ = storage("ComplexFloatStorage", text("0"), text("cpu"), 3)
    for name, expected, facts in (
        ("metadata-conj", "valid", dict_of((text("conj"), TRUE))),
        ("metadata-neg", "valid", dict_of((text("neg"), TRUE))),
        ("metadata-both", "valid", dict_of((text("conj"), TRUE), (text("neg"), TRUE))),
        ("metadata-false", "valid", dict_of((text("conj"), FALSE))),
        ("metadata-word", "invalid", dict_of((text("banana"), TRUE))),
        ("metadata-number", "invalid", dict_of((text("conj"), integer(1)))),
        ("metadata-list", "invalid", EMPTY_LIST),
    ):
        yield f"{expected}--{name}.pt", archive(dict_of((text("a"), rebuilt(complex_, numbers(3), numbers(1), 0, facts))))
    yield (
        "invalid--metadata-conj-of-reals.pt",
        archive(dict_of((text("a"), rebuilt(storage(), *VECTOR, 0, dict_of((text("conj"), TRUE)))))),
    )


def keys() -> Iterator[Form]:
    """Yields dictionaries with keys that are not texts or are unusual texts, and dictionaries of which two keys, or the names that
    they give to tensors, are equal."""
    of = {
        "tuple": (1, "a"),
        "tuple-one": (1,),
        "tuple-empty": (),
        "tuple-nested": ((1, 2), 3),
        "tuple-quote": ("it's", 1),
        "float": 0.5,
        "float-whole": 1.0,
        "float-large": 1e300,
        "float-nan": float("nan"),
        "bool": True,
        "none": None,
        "integer": 7,
        "negative": -7,
        "large": 1 << 80,
        "bytes": b"x\xff",
        "text-empty": "",
        "text-dot": "a.b",
        "text-line": "a\nb",
        "dtype": torch.float32,
        "complex": 1 + 2j,
    }
    for name, key in of.items():
        yield f"valid--key-{name}.pt", saved({"a": BASE, "d": {key: BASE + 1, "other": 1}})
    yield "note--key-frozenset.pt", saved({"a": BASE, "d": {frozenset([1]): BASE + 1}})
    yield "note--key-numpy.pt", saved({"a": BASE, "d": {np.int64(3): BASE + 1}})
    yield "note--key-path.pt", saved({"a": BASE, "d": {pathlib.PurePosixPath("x"): BASE + 1}})
    one, two = tensor(storage()), tensor(storage())
    for name, first, second in (
        ("integer-and-bool", integer(1), TRUE),
        ("integer-and-float", integer(1), real(1)),
        ("integers", integer(1), long(1)),
        ("tuples", numbers(1, 2), numbers(1, 2)),
        ("tuple-of-bool", numbers(1), tuple_of(TRUE)),
        ("large-and-float", long(1 << 80), real(float(1 << 80))),
        ("zeros", real(0.0), real(-0.0)),
        ("none", NONE, NONE),
        ("large", long(1 << 80), long(1 << 80)),
        ("bytes", encoded(b"x"), encoded(b"x")),
    ):
        # zten does not compare integers of more than 64 bits, and leaves out the values under such keys.
        expected = "valid" if name.startswith("large") else "invalid"
        yield f"{expected}--keys-equal-{name}.pt", archive(dict_of((first, one), (second, two)))
    for name, first, second in (
        ("integer-and-text", integer(1), text("1")),
        ("none-and-text", NONE, text("None")),
        ("dots", text("a.b"), text("a")),
    ):
        other = dict_of((text("b"), two)) if name == "dots" else two
        yield f"invalid--names-equal-{name}.pt", archive(dict_of((first, one), (second, other)))
    for name, key in (
        ("list", EMPTY_LIST),
        ("dictionary", EMPTY_DICT),
        ("set", call(class_of("__builtin__", "set"), EMPTY_LIST)),
    ):
        yield f"invalid--key-{name}.pt", archive(dict_of((key, one)))
    yield "invalid--key-tuple-of-list.pt", archive(dict_of((tuple_of(EMPTY_LIST), one)))


class Module(torch.nn.Module):
    """A small module for TorchScript."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.register_buffer("count", torch.arange(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + self.count


def archives() -> Iterator[Form]:
    """Yields checkpoints whose zip archive has unusual members, headers or checksums, programs of TorchScript, and tensors that are
    made by unusual calls."""
    torch.manual_seed(1)
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(Module()), out)
        traced = io.BytesIO()
        torch.jit.save(torch.jit.trace(Module(), torch.zeros(1, 3)), traced)
    yield "unsupported--script.pt", out.getvalue()
    yield "unsupported--script-traced.pt", traced.getvalue()
    value = {"a": BASE, "b": torch.arange(3)}
    torch.serialization.set_crc32_options(False)
    yield "valid--zero-sums.pt", saved(value)
    torch.serialization.set_crc32_options(True)
    yield "valid--zero-sums-by-hand.pt", without_sums(archive(dict_of((text("a"), tensor(storage())))))
    yield "invalid--one-zero-sum.pt", without_sums(archive(dict_of((text("a"), tensor(storage())))), 1)
    yield "valid--archive-1.6.pt", archive(dict_of((text("a"), tensor(storage()))), order=None)
    yield (
        "valid--archive-old-keys.pt",
        archive(dict_of((text("a"), tensor(storage(key=text("94823274932928"))))), {"94823274932928": SIX}),
    )
    yield (
        "valid--archive-big.pt",
        archive(dict_of((text("a"), tensor(storage()))), {"0": struct.pack(">6f", *range(6))}, order="big"),
    )
    for name, expected in (("UntypedStorage", "valid"), ("TypedStorage", "invalid")):
        other = tensor(storage(name, count=24, module="torch.storage"))
        yield f"{expected}--storage-{name.lower()}.pt", archive(dict_of((text("a"), other)))
    third = class_of("torch._utils", "_rebuild_tensor_v3")
    made = call(
        third,
        storage("UntypedStorage", count=12, module="torch.storage"),
        integer(0),
        *VECTOR,
        FALSE,
        ORDERED,
        class_of("torch", "uint16"),
    )
    yield "valid--rebuild-3.pt", archive(dict_of((text("a"), made)), {"0": struct.pack("<6H", *range(6))})
    view = storage("FloatStorage", text("0"), text("cpu"), 6, NONE)
    yield "invalid--archive-six-elements.pt", archive(dict_of((text("a"), tensor(view))))
    parameter = call(class_of("torch._utils", "_rebuild_parameter"), tensor(storage()), TRUE, ORDERED)
    yield "valid--parameter.pt", archive(dict_of((text("a"), parameter)))
    typed = call(class_of("torch", "FloatTensor"), integer(6))
    yield "invalid--tensor-class-called.pt", archive(beside(typed))
    legacy = with_state(new(class_of("torch", "Tensor")), tuple_of(storage(), integer(0), *VECTOR))
    yield "invalid--tensor-set.pt", archive(dict_of((text("a"), legacy)))
    of_type = call(
        class_of("torch._tensor", "_rebuild_from_type_v2"),
        class_of("torch._utils", "_rebuild_tensor_v2"),
        class_of("torch", "Tensor"),
        tuple_of(storage(), integer(0), *VECTOR, FALSE, ORDERED),
        dict_of((text("tag"), text("x"))),
    )
    yield "valid--tensor-with-attributes.pt", archive(dict_of((text("a"), of_type)))
    for name, state in (
        ("data", dict_of((text("data"), tensor(storage(key=text("1")))))),
        ("grad", dict_of((text("grad"), tensor(storage())))),
        ("class", dict_of((text("__class__"), class_of("torch", "Tensor")))),
        ("ordered", ordered((text("data"), tensor(storage(key=text("1")))))),
        ("slots", tuple_of(NONE, dict_of((text("data"), tensor(storage(key=text("1"))))))),
    ):
        other = call(
            class_of("torch._tensor", "_rebuild_from_type_v2"),
            class_of("torch._utils", "_rebuild_tensor_v2"),
            class_of("torch", "Tensor"),
            tuple_of(storage(), integer(0), *VECTOR, FALSE, ORDERED),
            state,
        )
        both = dict_of((text("a"), other), (text("b"), tensor(storage(key=text("1")))))
        yield f"invalid--tensor-state-{name}.pt", archive(both, {"0": SIX, "1": SIX[::-1]})
        function = class_of("torch._utils", "_rebuild_parameter_with_state")
        other = call(function, tensor(storage()), FALSE, ORDERED, state)
        both = dict_of((text("a"), other), (text("b"), tensor(storage(key=text("1")))))
        yield f"invalid--parameter-state-{name}.pt", archive(both, {"0": SIX, "1": SIX[::-1]})


def classes() -> Iterator[Form]:
    """Yields classes and functions of PyTorch, each as a value that nothing calls: zten may know more of them than PyTorch's reader
    of weights, and less."""
    kinds = """Float Double Half BFloat16 Long Int Short Char Byte Bool ComplexFloat ComplexDouble QUInt8 QInt8 QInt32 QUInt4x2
        QUInt2x4""".split()
    modules = "torch", "torch.cuda", "torch.sparse", "torch.cuda.sparse"
    pairs = [(module, kind + suffix) for module in modules for kind in kinds for suffix in ("Storage", "Tensor")]
    pairs += [("torch", name) for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)]
    pairs += [("torch._utils", name) for name in dir(torch._utils) if name.startswith("_rebuild")]  # noqa: SLF001
    lists = [f"build_{kind}list" for kind in ("int", "tensor", "double", "bool")]
    pairs += [("torch.jit._pickle", name) for name in (*lists, "restore_type_tag")]
    pairs += [
        ("torch.nn", "Parameter"),
        ("torch.nn.parameter", "Parameter"),
        ("torch.nn.parameter", "Buffer"),
        ("torch", "Tensor"),
    ]
    pairs += [("torch.storage", name) for name in ("TypedStorage", "UntypedStorage", "_LegacyStorage")]
    for module, name in pairs:
        yield f"any--class-{module}.{name}.pt", archive(beside(class_of(module, name)))


def costs(count: int = 60_000) -> Iterator[Form]:
    """Yields pickles in which many calls share one long value: a reader that looks at the value in each call takes quadratic time. What
    the verdict is does not matter."""

    def put(number: int) -> bytes:
        return b"r" + struct.pack("<I", number)

    def get(number: int) -> bytes:
        return b"j" + struct.pack("<I", number)

    def calls(module: str, name: str, value: bytes, arguments: bytes) -> bytes:
        """Returns the instructions of a list of many calls of a function. The value 0 of the memo is `value`."""
        return list_of(value + put(0), class_of(module, name) + put(1), *[get(1) + arguments + b"R"] * count)

    integers = [integer(number) for number in range(count)]
    long_list, long_text, digits = list_of(*integers), text("a" * count), text("1" * count)
    pairs = list_of(*(tuple_of(number, number) for number in integers))
    attributes = dict_of(*((text(str(number)), NONE) for number in range(count)))
    of_value, as_arguments = get(0) + b"\x85", get(0)
    files = {
        "set": calls("__builtin__", "set", long_list, of_value),
        "frozenset": calls("__builtin__", "frozenset", long_list, of_value),
        "deque": calls("collections", "deque", long_list, of_value),
        "counter": calls("collections", "Counter", dict_of(*zip(integers, integers, strict=True)), of_value),
        "ordered": calls("collections", "OrderedDict", pairs, of_value),
        "encode": calls("_codecs", "encode", long_text, get(0) + text("latin1") + b"\x86"),
        "bytearray": calls("__builtin__", "bytearray", long_text, get(0) + text("latin-1") + b"\x86"),
        "decimal": calls("decimal", "Decimal", digits, of_value),
        "fraction": calls("fractions", "Fraction", digits, of_value),
        "fraction-pair": calls("fractions", "Fraction", text("1/" + "1" * count), of_value),
        "path": calls("pathlib", "PurePosixPath", tuple_of(*[text("a")] * count), as_arguments),
        "range": calls("__builtin__", "xrange", tuple_of(*integers), as_arguments),
        "size": calls("torch", "Size", tuple_of(*integers), of_value),
        "device": calls("torch", "device", long_text, of_value),
        "date": calls("datetime", "date", long_text, of_value),
        "timezone": calls("datetime", "timezone", long_text, of_value),
        "namespace": list_of(attributes + put(0), *[new(class_of("argparse", "Namespace")) + get(0) + b"b"] * count),
        "ordered-states": list_of(attributes + put(0), *[ORDERED + get(0) + b"b"] * count),
        "tuple-keys": list_of(tuple_of(*integers) + put(0), *[EMPTY_DICT + get(0) + b"Ns"] * count),
        "text-keys": list_of(long_text + put(0), *[EMPTY_DICT + get(0) + b"Ns"] * count),
        "lists": list_of(long_list + put(0), *[get(0)] * count),
        "numpy-shape": list_of(
            tuple_of(*[integer(1)] * count) + put(0),
            dtype("f4") + put(1),
            tuple_of(integer(1), get(0), get(1), FALSE, encoded(bytes(4))) + put(2),
            *[array_without_state() + get(2) + b"b"] * (count // 4),
        ),
        "numpy-content": list_of(
            text("a" * (4 * count)) + put(0),
            dtype("f4") + put(1),
            tuple_of(integer(1), numbers(count), get(1), FALSE, get(0)) + put(2),
            *[array_without_state() + get(2) + b"b"] * (count // 4),
        ),
        "numpy-scalar": list_of(
            long_text + put(0),
            dtype("f4") + put(1),
            class_of("numpy._core.multiarray", "scalar") + put(2),
            *[get(2) + get(1) + get(0) + b"\x86R"] * count,
        ),
        "tensor-shape": list_of(
            tuple_of(*[integer(1)] * count) + put(0),
            storage() + put(1),
            class_of("torch._utils", "_rebuild_tensor_v2") + put(2),
            *[get(2) + tuple_of(get(1), integer(0), get(0), get(0), FALSE, NONE) + b"R"] * (count // 4),
        ),
        "tensor-state": list_of(
            attributes + put(0),
            tensor(storage()) + put(1),
            class_of("torch._utils", "_rebuild_parameter_with_state") + put(2),
            *[get(2) + tuple_of(get(1), FALSE, NONE, get(0)) + b"R"] * (count // 4),
        ),
    }
    for name, value in files.items():
        yield f"cost--{name}.pt", archive(beside(value))


def array_without_state() -> bytes:
    return call(class_of("numpy._core.multiarray", "_reconstruct"), class_of("numpy", "ndarray"), numbers(0), encoded(b"b"))


def forms() -> Iterator[Form]:
    for part in (streams, python_2, values, wrong_values, tensors, keys, archives, classes):
        yield from part()


# --- What PyTorch does with them -----------------------------------------------------------------------------------------------


def loaded(path: str, weights_only: bool, connection) -> None:
    """Loads a file, and sends `reads` or a description of the error to `connection`."""
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    warnings.simplefilter("ignore")
    try:
        torch.load(path, map_location="cpu", weights_only=weights_only)
        connection.send("reads")
    except Exception as error:  # noqa: BLE001
        lines = str(error).splitlines() or [""]
        named = [line.split("GLOBAL ")[1].split()[0] for line in lines if "GLOBAL " in line]
        connection.send(f"{type(error).__name__}: {named[0] if named else lines[0][:80]}")


def outcome(path: pathlib.Path, weights_only: bool) -> str:
    """Returns what PyTorch does with a file, which is loaded in a process of its own."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=loaded, args=(str(path), weights_only, theirs))
    process.start()
    process.join(20)
    if process.is_alive():
        process.kill()
        return "takes more than 20 seconds"
    return ours.recv() if ours.poll() else f"ends the process ({process.exitcode})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = []
    for name, data in forms():
        path = options.folder / ("wrong" if name.startswith("invalid") else "any" if name.startswith("any") else "valid") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        weights, all_ = outcome(path, weights_only=True), outcome(path, weights_only=False)
        lines.append(f"| {name} | {weights} | {all_} |")
    head = ["# Forms of checkpoints", "", f"Each file as PyTorch {torch.__version__.split('+')[0]} loads it.", ""]
    table = ["| file | `weights_only=True` | `weights_only=False` |", "| --- | --- | --- |", *lines]
    (options.folder / "README.md").write_text("\n".join([*head, *table, ""]))
    print(f"{len(lines)} files")


if __name__ == "__main__":
    main()
